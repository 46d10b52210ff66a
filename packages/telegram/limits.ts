// What the Bot API allows.
export const MAX_TEXT = 4_096; // characters of a message
export const MAX_CAPTION = 1_024;
export const MAX_DOWNLOAD_BYTES = 20_000_000;
export const MAX_UPLOAD_BYTES = 50_000_000;

// What is in the clipboard: an image, else its text. The first program that is there and has
// something gives it.
import type { Programs } from "zz";
import { MAX_MEDIA_BYTES, mediaIn, plural } from "zz/text";
import type { Attachment } from "./index.ts";
import { attachmentOf } from "./load.ts";

const LIMIT_MS = 5_000;
const MAX_TEXT_CHARS = 100_000;

/** A program that gives the clipboard's image, and one that gives its text. */
type Means = { image: string[]; text: string[]; fits: unknown; decode?(output: Buffer): Buffer };

export async function clipboard(programs: Programs, signal: AbortSignal): Promise<Attachment> {
  const { env, platform } = process;
  const isMac = platform === "darwin";
  const allMeans: Means[] = [
    {
      image: ["wl-paste", "--type", "image/png"],
      text: ["wl-paste", "--no-newline"],
      fits: env.WAYLAND_DISPLAY,
    },
    {
      image: ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
      text: ["xclip", "-selection", "clipboard", "-out"],
      fits: env.DISPLAY,
    },
    { image: ["pngpaste", "-"], text: ["pbpaste"], fits: isMac },
    {
      image: ["osascript", "-e", "the clipboard as «class PNGf»"],
      text: ["pbpaste"],
      fits: isMac,
      decode: fromHex,
    },
  ];
  const usable = allMeans.filter(({ fits, image: [name = ""] }) => fits && programs.find(name));
  if (!usable.length)
    throw new Error(
      "Cannot paste: there is no wl-paste, xclip, pngpaste or osascript here. Save the image, and name it with @FILE.",
    );
  for (const { image, decode = (output: Buffer) => output } of usable) {
    const bytes = decode(await outputOf(programs, image, signal));
    const media = bytes.length ? mediaOf(bytes) : undefined;
    if (media) return attachmentOf("the clipboard", media);
  }
  for (const { text } of usable) {
    const bytes = programs.find(text[0]!)
      ? await outputOf(programs, text, signal)
      : Buffer.alloc(0);
    const words = bytes.includes(0) ? "" : bytes.toString("utf8").trimEnd();
    if (!words) continue;
    if (words.length > MAX_TEXT_CHARS)
      throw new Error("Cannot paste: the clipboard's text is too long. Save it to a file.");
    const label = `a text of ${plural(words.split("\n").length, "line")}, since the clipboard holds no image`;
    return { label, what: `--- CLIPBOARD ---\n${words}\n--- END CLIPBOARD ---` };
  }
  throw new Error("Cannot paste: the clipboard holds neither an image nor a text. Copy one first.");
}

function mediaOf(bytes: Buffer): ReturnType<typeof mediaIn> {
  try {
    return mediaIn(bytes);
  } catch (error) {
    throw new Error(`Cannot paste: ${(error as Error).message}`);
  }
}

/** «data PNGf89504E47…» */
const fromHex = (output: Buffer): Buffer =>
  Buffer.from(/«data PNGf([0-9A-F]+)»/.exec(output.toString("utf8"))?.[1] ?? "", "hex");

/** Empty where it fails, says nothing, or takes too long. */
function outputOf(
  programs: Programs,
  [name = "", ...args]: string[],
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve) => {
    const child = programs.start(name, args, {
      stdio: ["ignore", "pipe", "ignore"],
      timeout: LIMIT_MS,
      signal,
    });
    const pieces: Buffer[] = [];
    let size = 0;
    child.stdout!.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size > 2 * MAX_MEDIA_BYTES + 64) child.kill();
      else pieces.push(piece);
    });
    child.on("error", () => resolve(Buffer.alloc(0)));
    child.on("close", (code) => resolve(code === 0 ? Buffer.concat(pieces) : Buffer.alloc(0)));
  });
}

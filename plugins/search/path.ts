// How file names are shown.

/** A name that contains a line break must not look like two names. */
export const shownName = (fileName: string): string =>
  /[\0-\x1f\x7f]/.test(fileName) ? JSON.stringify(fileName) : fileName;

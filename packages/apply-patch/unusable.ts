// How a patch is refused that cannot be read.

export const unusable = (reason: string, next: string): Error =>
  new Error(`Cannot use the patch: ${reason}. Nothing was changed. ${next}`);

/** A line of the patch, quoted in an error. */
export const quote = (line: string): string =>
  `'${line.length > 120 ? `${line.slice(0, 120)}…` : line.trimEnd()}'`;

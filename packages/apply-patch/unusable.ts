// How a patch is refused that cannot be read.

export const unusable = (reason: string, nextStep: string): Error =>
  new Error(`Cannot use the patch: ${reason}. Nothing was changed. ${nextStep}`);

/** A line of the patch, quoted in an error. */
export const quote = (patchLine: string): string =>
  `'${patchLine.length > 120 ? `${patchLine.slice(0, 120)}…` : patchLine.trimEnd()}'`;

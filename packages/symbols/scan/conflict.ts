// Where git left a conflict in the middle of a merge or a rebase: both sides are read, which a
// parser would not do.

const CONFLICT_MARKS = /^(?:<{7}|\|{7}|={7}|>{7})(?: .*)?\r?$/gm;

/** Where the first mark stands; -1: there is none. */
export function conflictIn(sourceText: string): number {
  if (!sourceText.includes("<<<<<<< ")) return -1;
  const conflictStart = sourceText.search(/^<{7} /m);
  const conflictMiddle = conflictStart < 0 ? -1 : sourceText.indexOf("\n=======", conflictStart);
  return conflictMiddle >= 0 && sourceText.indexOf("\n>>>>>>> ", conflictMiddle) >= 0
    ? conflictStart
    : -1;
}

/** Where each mark stands. */
export const conflictMarks = (sourceText: string): number[] =>
  conflictIn(sourceText) < 0
    ? []
    : Array.from(sourceText.matchAll(CONFLICT_MARKS), ({ index }) => index);

/** With spaces in place of the marks, so that all else stays where it is. */
export const bothSides = (sourceText: string): string =>
  conflictIn(sourceText) < 0
    ? sourceText
    : sourceText.replace(CONFLICT_MARKS, (markText) => " ".repeat(markText.length));

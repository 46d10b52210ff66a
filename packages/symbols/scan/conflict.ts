// Where git left a conflict in the middle of a merge or a rebase: both sides are read, which a
// parser would not do.

const MARKS = /^(?:<{7}|\|{7}|={7}|>{7})(?: .*)?\r?$/gm;

/** Where the first mark stands; -1: there is none. */
export function conflictIn(text: string): number {
  if (!text.includes("<<<<<<< ")) return -1;
  const start = text.search(/^<{7} /m);
  const middle = start < 0 ? -1 : text.indexOf("\n=======", start);
  return middle >= 0 && text.indexOf("\n>>>>>>> ", middle) >= 0 ? start : -1;
}

/** Where each mark stands. */
export const conflictMarks = (text: string): number[] =>
  conflictIn(text) < 0 ? [] : Array.from(text.matchAll(MARKS), ({ index }) => index);

/** With spaces in place of the marks, so that all else stays where it is. */
export const bothSides = (text: string): string =>
  conflictIn(text) < 0 ? text : text.replace(MARKS, (mark) => " ".repeat(mark.length));

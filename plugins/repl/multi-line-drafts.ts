// Messages of several lines: a line that ends with a backslash continues on the next, and so does
// everything between """ and """.
const QUOTES = '"""';

export interface Draft {
  lines: string[];
  isQuoted: boolean; // after the opening quotes, before the closing ones
}

export const newDraft = (): Draft => ({ lines: [], isQuoted: false });

export const isStarted = ({ lines, isQuoted }: Draft): boolean => lines.length > 0 || isQuoted;

export function discard(draft: Draft): void {
  Object.assign(draft, newDraft());
}

/** The whole message once the line completes it; undefined if more lines follow. */
export function addLine(draft: Draft, line: string): string | undefined {
  if (!isStarted(draft) && line.trimStart().startsWith(QUOTES)) {
    draft.isQuoted = true;
    line = line.trimStart().slice(QUOTES.length);
    if (!line) return undefined;
  }
  const goesOn = draft.isQuoted ? !line.trimEnd().endsWith(QUOTES) : ENDS_WITH_BACKSLASH.test(line);
  const quotesLength = goesOn ? 0 : QUOTES.length;
  const backslashLength = goesOn ? 1 : 0;
  const markLength = draft.isQuoted ? quotesLength : backslashLength;
  draft.lines.push(markLength ? line.trimEnd().slice(0, -markLength) : line);
  if (goesOn) return undefined;
  const message = draft.lines.join("\n");
  discard(draft);
  return message;
}
const ENDS_WITH_BACKSLASH = /(?:^|[^\\])(?:\\\\)*\\$/; // two of them are a literal one

// Messages of several lines: a line that ends with a backslash continues on the next, and so does
// everything between """ and """.
const TRIPLE_QUOTES = '"""';

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
export function addLine(draft: Draft, typedLine: string): string | undefined {
  if (!isStarted(draft) && typedLine.trimStart().startsWith(TRIPLE_QUOTES)) {
    draft.isQuoted = true;
    typedLine = typedLine.trimStart().slice(TRIPLE_QUOTES.length);
    if (!typedLine) return undefined;
  }
  const isContinued = draft.isQuoted
    ? !typedLine.trimEnd().endsWith(TRIPLE_QUOTES)
    : ENDS_WITH_BACKSLASH.test(typedLine);
  const endsWithMark = isContinued !== draft.isQuoted; // closing quotes, or a backslash
  const markLength = draft.isQuoted ? TRIPLE_QUOTES.length : 1;
  draft.lines.push(endsWithMark ? typedLine.trimEnd().slice(0, -markLength) : typedLine);
  if (isContinued) return undefined;
  const message = draft.lines.join("\n");
  discard(draft);
  return message;
}
const ENDS_WITH_BACKSLASH = /(?:^|[^\\])(?:\\\\)*\\$/; // two of them are a literal one

// Searches a text in linear time, and tells which places in it are only quoted.
import type { Source, Tool } from "./types.ts";

const WORK_PER_CHAR = 6;

export function openSource(text: string, tools: readonly Tool[], ended = false): Source {
  const searches = new Map<
    string,
    { from: number; found: { at: number; end: number } | undefined }
  >();
  const work = { left: text.length * WORK_PER_CHAR + 100_000 };
  return { text, tools, work, ended, next };

  function next(sought: string | RegExp, from: number): { at: number; end: number } | undefined {
    const searchKey = typeof sought === "string" ? sought : sought.source;
    const earlierSearch = searches.get(searchKey);
    if (
      earlierSearch &&
      earlierSearch.from <= from &&
      (!earlierSearch.found || earlierSearch.found.at >= from)
    )
      return earlierSearch.found;
    const searchHit = typeof sought === "string" ? findText(sought) : ofPattern(sought);
    searches.set(searchKey, { from, found: searchHit });
    work.left -=
      earlierSearch && earlierSearch.from > from ? (searchHit?.at ?? text.length) - from : 0;
    return searchHit;

    function findText(soughtText: string) {
      const foundIndex = text.indexOf(soughtText, from);
      return foundIndex < 0 ? undefined : { at: foundIndex, end: foundIndex + soughtText.length };
    }
    function ofPattern(pattern: RegExp) {
      pattern.lastIndex = from;
      const match = pattern.exec(text);
      return match ? { at: match.index, end: match.index + match[0].length } : undefined;
    }
  }
}

/** Matches a sticky pattern at an index. */
export function matchAt(
  pattern: RegExp,
  sourceText: string,
  index: number,
): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(sourceText);
}
/** The index after what a sticky pattern matches at an index, or that index. */
export const skipMatch = (pattern: RegExp, sourceText: string, index: number): number =>
  index + (matchAt(pattern, sourceText, index)?.[0].length ?? 0);

/**
 * Tells whether a place is in a fence, inline code, a quotation or an indented block. Ask from left
 * to right.
 */
export function quotes(sourceText: string) {
  let [scanIndex, lineStart, openFence, isTicked] = [0, 0, "", false];
  return {
    skip(toIndex: number) {
      [scanIndex, openFence, isTicked] = [Math.max(scanIndex, toIndex), "", false];
      lineStart = sourceText.lastIndexOf("\n", scanIndex - 1) + 1;
    },
    how(toIndex: number): "code" | "quoted" | undefined {
      while (scanIndex < toIndex) {
        const charCode = sourceText.charCodeAt(scanIndex);
        if (charCode === 10) {
          lineStart = ++scanIndex;
          isTicked = false;
        } else if (charCode === 96 || charCode === 126)
          scanIndex = skipRun(charCode === 96 ? "`" : "~");
        else scanIndex++;
      }
      if (openFence || isTicked) return "code";
      const textBefore = sourceText.slice(Math.max(lineStart, toIndex - 200), toIndex);
      const isIndented = lineStart > 0 && /^( {4,}|\t+)$/.test(textBefore);
      const isInLine = toIndex - lineStart <= 200;
      return (isInLine && (isIndented || /^\s{0,3}>(?!>>)/.test(textBefore))) ||
        /(?:^|[\s([{=:,>])["'“‘«]$|<(code|pre|kbd|samp)>\s?$/i.test(textBefore)
        ? "quoted"
        : undefined;
    },
  };

  function skipRun(runChar: string): number {
    let runEnd = scanIndex;
    while (sourceText[runEnd] === runChar) runEnd++;
    const runLength = runEnd - scanIndex;
    const isAlone =
      runLength >= 3 && scanIndex - lineStart < 4 && !sourceText.slice(lineStart, scanIndex).trim();
    if (isAlone && !openFence) openFence = sourceText.slice(scanIndex, runEnd);
    else if (
      isAlone &&
      openFence[0] === runChar &&
      runLength >= openFence.length &&
      matchAt(BLANK_REST, sourceText, runEnd)
    )
      openFence = "";
    else if (runChar === "`" && !openFence) isTicked = !isTicked;
    return runEnd;
  }
}
const BLANK_REST = /[ \r]*(?:\n|$)/y;

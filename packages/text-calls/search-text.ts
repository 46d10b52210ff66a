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
    const key = typeof sought === "string" ? sought : sought.source;
    const before = searches.get(key);
    if (before && before.from <= from && (!before.found || before.found.at >= from))
      return before.found;
    const hit = typeof sought === "string" ? ofText(sought) : ofPattern(sought);
    searches.set(key, { from, found: hit });
    work.left -= before && before.from > from ? (hit?.at ?? text.length) - from : 0;
    return hit;

    function ofText(word: string) {
      const index = text.indexOf(word, from);
      return index < 0 ? undefined : { at: index, end: index + word.length };
    }
    function ofPattern(pattern: RegExp) {
      pattern.lastIndex = from;
      const match = pattern.exec(text);
      return match ? { at: match.index, end: match.index + match[0].length } : undefined;
    }
  }
}

/** Matches a sticky pattern at an index. */
export function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

/**
 * Tells whether a place is in a fence, inline code, a quotation or an indented block. Ask from left
 * to right.
 */
export function quotes(text: string) {
  let [index, line, fence, ticked] = [0, 0, "", false];
  return {
    skip(to: number) {
      [index, fence, ticked] = [Math.max(index, to), "", false];
      line = text.lastIndexOf("\n", index - 1) + 1;
    },
    how(to: number): "code" | "quoted" | undefined {
      while (index < to) {
        const code = text.charCodeAt(index);
        if (code === 10) {
          line = ++index;
          ticked = false;
        } else if (code === 96 || code === 126) index = run(code === 96 ? "`" : "~");
        else index++;
      }
      if (fence || ticked) return "code";
      const before = text.slice(Math.max(line, to - 200), to);
      const isStart = Math.max(line, to - 200) === line;
      if (isStart && line > 0 && /^(\s{0,3}>(?!>>)| {4,}$|\t+$)/.test(before)) return "quoted";
      if (isStart && /^\s{0,3}>(?!>>)/.test(before)) return "quoted";
      return /(?:^|[\s([{=:,>])["'“‘«]$|<(code|pre|kbd|samp)>\s?$/i.test(before)
        ? "quoted"
        : undefined;
    },
  };

  function run(char: string): number {
    let end = index;
    while (text[end] === char) end++;
    const length = end - index;
    const isAlone = length >= 3 && !text.slice(line, index).slice(0, 4).trim() && index - line < 4;
    if (isAlone && !fence) fence = text.slice(index, end);
    else if (isAlone && fence[0] === char && length >= fence.length && isBlank(end)) fence = "";
    else if (char === "`" && !fence) ticked = !ticked;
    return end;
  }
  function isBlank(from: number): boolean {
    for (let i = from; i < text.length && text[i] !== "\n"; i++)
      if (text[i] !== " " && text[i] !== "\r") return false;
    return true;
  }
}

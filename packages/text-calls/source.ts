// Searches a text in linear time, and tells which places in it are only quoted.
import type { Source, Tool } from "./types.ts";

const WORK_PER_CHAR = 6;

export function openSource(text: string, tools: readonly Tool[], ended = false): Source {
  const known = new Map<string, { from: number; found: { at: number; end: number } | undefined }>();
  const work = { left: text.length * WORK_PER_CHAR + 100_000 };
  return { text, tools, work, ended, next };

  function next(what: string | RegExp, from: number): { at: number; end: number } | undefined {
    const key = typeof what === "string" ? what : what.source;
    const before = known.get(key);
    if (before && before.from <= from && (!before.found || before.found.at >= from))
      return before.found;
    const found = typeof what === "string" ? ofText(what) : ofPattern(what);
    known.set(key, { from, found });
    work.left -= before && before.from > from ? (found?.at ?? text.length) - from : 0;
    return found;

    function ofText(word: string) {
      const at = text.indexOf(word, from);
      return at < 0 ? undefined : { at, end: at + word.length };
    }
    function ofPattern(pattern: RegExp) {
      pattern.lastIndex = from;
      const found = pattern.exec(text);
      return found ? { at: found.index, end: found.index + found[0].length } : undefined;
    }
  }
}

/** Matches a sticky pattern at an index. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/**
 * Tells whether a place is in a fence, inline code, a quotation or an indented block. Ask from left
 * to right.
 */
export function quotes(text: string) {
  let [at, line, fence, ticked] = [0, 0, "", false];
  return {
    skip(to: number) {
      [at, fence, ticked] = [Math.max(at, to), "", false];
      line = text.lastIndexOf("\n", at - 1) + 1;
    },
    how(to: number): "code" | "quoted" | undefined {
      while (at < to) {
        const code = text.charCodeAt(at);
        if (code === 10) {
          line = ++at;
          ticked = false;
        } else if (code === 96 || code === 126) at = run(code === 96 ? "`" : "~");
        else at++;
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
    let end = at;
    while (text[end] === char) end++;
    const length = end - at;
    const isAlone = length >= 3 && !text.slice(line, at).slice(0, 4).trim() && at - line < 4;
    if (isAlone && !fence) fence = text.slice(at, end);
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

// What a model's answer contains: blocks of code, and JSON that fits a schema.
import type { Schema } from "../kernel/contract.ts";
import { checkValue } from "../kernel/text/json-schema.ts";
import { tryTo } from "../kernel/text/words.ts";

/**
 * A fenced block of Markdown: the first word after the fence, and its lines without indentation and
 * quote marks.
 */
export type CodeBlock = { language: string; text: string };

const OPENS = /^((?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*)(`{3,}|~{3,})(.*)$/;
const CLOSES = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/;

/**
 * All blocks in order. Longer fences may contain shorter ones, tildes backticks; an unclosed block
 * ends with the text.
 */
export function codeBlocks(text: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open:
    | { fence: string; indent: number; quotes: number; language: string; lines: string[] }
    | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (!open) {
      const [, before = "", fence = "", info = ""] = OPENS.exec(line) ?? [];
      if (!fence || (fence[0] === "`" && info.includes("`"))) continue;
      const indent = before.slice(before.lastIndexOf(">") + 1).length;
      const [language = ""] = info.trim().split(/\s/, 1);
      open = { fence, indent, quotes: before.split(">").length - 1, language, lines: [] };
      continue;
    }
    const [, closing = ""] = CLOSES.exec(line) ?? [];
    if (closing[0] !== open.fence[0] || closing.length < open.fence.length)
      open.lines.push(bare(line, open));
    else {
      blocks.push({ language: open.language, text: open.lines.join("\n") });
      open = undefined;
    }
  }
  if (open) blocks.push({ language: open.language, text: open.lines.join("\n").trimEnd() });
  return blocks;
}

function bare(line: string, { indent, quotes }: { indent: number; quotes: number }): string {
  let index = 0;
  for (let quotesLeft = quotes; quotesLeft > 0; quotesLeft--) {
    const [mark] = /^[ \t]{0,3}>/.exec(line.slice(index, index + 4)) ?? [];
    if (!mark) break;
    index += mark.length;
  }
  for (let blanksLeft = indent; blanksLeft > 0 && /[ \t]/.test(line[index] ?? ""); blanksLeft--)
    index++;
  return line.slice(index);
}

/** The result of looking for JSON: its value and text, or why nothing fits. */
export type JsonRead = { value?: any; json?: string; wrong?: string };

/** The last JSON value in an answer that fits a schema: models add fences and words anyway. */
export async function readJson(text: string, schema: Schema): Promise<JsonRead> {
  let wrong: string | undefined;
  for (const candidates of [[text], codeBlocks(text).map((block) => block.text), values(text)])
    for (const json of candidates.reverse()) {
      const parsed = tryTo(() => ({ is: JSON.parse(json) as unknown }));
      if (!parsed) continue;
      const read = await checkValue(schema, parsed.is);
      if (!read.wrong) return { value: read.value, json };
      wrong ??= read.wrong.replace(/(^|; )arguments\b/g, "$1the answer");
    }
  return { wrong: wrong ?? (text.trim() ? "it is not JSON" : "it is empty") };
}

const MAX_VALUES = 100; // candidates per answer

/** Objects and lists in a text, found by their brackets; brackets in strings do not count. */
function values(text: string): string[] {
  const candidates: string[] = [];
  const opening = /[[{]/g;
  for (let tries = 0; tries < MAX_VALUES; tries++) {
    const start = opening.exec(text)?.index;
    if (start === undefined) break;
    const end = endOf(text, start);
    const isCut = end < 0 && /^[[{]\s{0,20}["[{\d\]}-]/.test(text.slice(start, start + 30));
    if (isCut) break; // what is inside of it is not the answer
    if (end < 0) continue;
    candidates.push(text.slice(start, end));
    opening.lastIndex = end;
  }
  return candidates;
}

/** Where a bracket is closed; -1: nowhere. */
function endOf(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index++) {
    const sign = text[index]!;
    if (inString && sign === "\\") index++;
    else if (sign === '"') inString = !inString;
    else if (!inString && (sign === "{" || sign === "[")) depth++;
    else if (!inString && (sign === "}" || sign === "]")) depth--;
    if (!depth) return index + 1;
  }
  return -1;
}

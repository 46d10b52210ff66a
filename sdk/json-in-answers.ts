// What a model's answer contains: blocks of code, and JSON that fits a schema.
import type { Schema } from "../kernel/contract.ts";
import { checkValue } from "../kernel/text/json-schema.ts";
import { tryTo } from "../kernel/text/words.ts";

/**
 * A fenced block of Markdown: the first word after the fence, and its lines without indentation and
 * quote marks.
 */
type CodeBlock = { language: string; text: string };
type OpenBlock = {
  fence: string;
  indent: number;
  quotes: number;
  language: string;
  lines: string[];
};

const FENCE_START = /^((?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*)(`{3,}|~{3,})(.*)$/;
const FENCE_END = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/;

/**
 * All blocks in order. Longer fences may contain shorter ones, tildes backticks; an unclosed block
 * ends with the text.
 */
export function codeBlocks(answerText: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let openBlock: OpenBlock | undefined;
  for (const answerLine of answerText.split(/\r?\n/)) {
    if (!openBlock) {
      const [, linePrefix = "", fence = "", infoWords = ""] = FENCE_START.exec(answerLine) ?? [];
      if (!fence || (fence[0] === "`" && infoWords.includes("`"))) continue;
      const indent = linePrefix.slice(linePrefix.lastIndexOf(">") + 1).length;
      const [language = ""] = infoWords.trim().split(/\s/, 1);
      openBlock = { fence, indent, quotes: linePrefix.split(">").length - 1, language, lines: [] };
      continue;
    }
    const [, closing = ""] = FENCE_END.exec(answerLine) ?? [];
    if (closing[0] !== openBlock.fence[0] || closing.length < openBlock.fence.length)
      openBlock.lines.push(stripMarks(answerLine, openBlock));
    else {
      blocks.push({ language: openBlock.language, text: openBlock.lines.join("\n") });
      openBlock = undefined;
    }
  }
  if (openBlock)
    blocks.push({ language: openBlock.language, text: openBlock.lines.join("\n").trimEnd() });
  return blocks;
}

const stripMarks = (quotedLine: string, { indent, quotes }: OpenBlock): string =>
  quotedLine.replace(new RegExp(`^(?:[ \\t]{0,3}>){0,${quotes}}[ \\t]{0,${indent}}`), "");

/** The result of looking for JSON: its value and text, or why nothing fits. */
type JsonRead = { value?: any; json?: string; wrong?: string };

/** The last JSON value in an answer that fits a schema: models add fences and words anyway. */
export async function readJson(answerText: string, schema: Schema): Promise<JsonRead> {
  let misfitText: string | undefined;
  for (const candidates of [
    [answerText],
    codeBlocks(answerText).map((block) => block.text),
    findValues(answerText),
  ])
    for (const json of candidates.reverse()) {
      const parsedJson = tryTo(() => ({ is: JSON.parse(json) as unknown }));
      if (!parsedJson) continue;
      const checkResult = await checkValue(schema, parsedJson.is);
      if (!checkResult.wrong) return { value: checkResult.value, json };
      misfitText ??= checkResult.wrong.replace(/(^|; )arguments\b/g, "$1the answer");
    }
  return { wrong: misfitText ?? (answerText.trim() ? "it is not JSON" : "it is empty") };
}

const MAX_VALUES = 100; // candidates per answer

/** Objects and lists in a text, found by their brackets; brackets in strings do not count. */
function findValues(answerText: string): string[] {
  const candidates: string[] = [];
  const opening = /[[{]/g;
  for (let attempts = 0; attempts < MAX_VALUES; attempts++) {
    const startOffset = opening.exec(answerText)?.index;
    if (startOffset === undefined) break;
    const endOffset = endOfValue(answerText, startOffset);
    const isCut =
      endOffset < 0 &&
      /^[[{]\s{0,20}["[{\d\]}-]/.test(answerText.slice(startOffset, startOffset + 30));
    if (isCut) break; // what is inside of it is not the answer
    if (endOffset < 0) continue;
    candidates.push(answerText.slice(startOffset, endOffset));
    opening.lastIndex = endOffset;
  }
  return candidates;
}

/** Where a bracket is closed; -1: nowhere. */
function endOfValue(answerText: string, startOffset: number): number {
  let bracketDepth = 0;
  let inString = false;
  for (let index = startOffset; index < answerText.length; index++) {
    const character = answerText[index]!;
    if (inString && character === "\\") index++;
    else if (character === '"') inString = !inString;
    else if (!inString && (character === "{" || character === "[")) bracketDepth++;
    else if (!inString && (character === "}" || character === "]")) bracketDepth--;
    if (!bracketDepth) return index + 1;
  }
  return -1;
}

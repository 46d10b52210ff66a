// The front matter of a SKILL.md: the part of YAML that such files really use. Nested values
// (metadata) are ignored.

type Value = string | string[];
type Head = Record<string, Value>;

const KEY_LINE = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$/;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\0" };

/** Throws a clause that says why it cannot be read. */
export function parseSkill(skillText: string): { head: Head; body: string } {
  const textLines = skillText.replace(/^\ufeff/, "").split(/\r?\n/);
  if (textLines[0]?.trimEnd() !== "---")
    throw new Error("it does not begin with '---', so it has no front matter");
  const closingIndex = textLines.findIndex((line, i) => i > 0 && line.trimEnd() === "---");
  if (closingIndex < 0) throw new Error("its front matter has no second '---'");
  const bodyText = textLines.slice(closingIndex + 1).join("\n");
  return { head: parseHead(textLines.slice(1, closingIndex)), body: bodyText.trim() };
}

function parseHead(headLines: string[]): Head {
  const parsedHead: Head = {};
  for (let index = 0; index < headLines.length; ) {
    const headLine = headLines[index]!;
    const lineNumber = index + 2; // as an editor counts: the first --- is line 1
    index++;
    if (isBlank(headLine)) continue;
    const [, fieldKey, valueText = ""] = KEY_LINE.exec(headLine) ?? [];
    if (!fieldKey) throw new Error(`line ${lineNumber} of its front matter is not 'key: value'`);
    const valueStart = index;
    while (
      index < headLines.length &&
      (isBlank(headLines[index]!) || /^(\s|- |-$|])/.test(headLines[index]!))
    )
      index++;
    try {
      parsedHead[fieldKey.toLowerCase()] = readValue(
        valueText.trim(),
        headLines.slice(valueStart, index),
      );
    } catch (error) {
      throw new Error(`line ${lineNumber} of its front matter ${(error as Error).message}`);
    }
  }
  return parsedHead;
}

const isBlank = (textLine: string): boolean => /^\s*(#.*)?$/.test(textLine);

/** The text after the colon, and the lines below it. */
function readValue(firstText: string, linesBelow: string[]): Value {
  const blockMarker = /^([>|])[+-]?\d?[+-]?(\s+#.*)?$/.exec(firstText);
  if (blockMarker) return blockText(blockMarker[1] === ">", linesBelow);
  const continued = linesBelow
    .filter((lineBelow) => !isBlank(lineBelow))
    .map((lineBelow) => lineBelow.trim());
  if (!firstText || firstText.startsWith("#"))
    return continued.every((listLine) => /^-( |$)/.test(listLine))
      ? parseDashList(continued)
      : continued.join(" ");
  const joinedText = [firstText, ...continued].join(" ");
  if (joinedText.startsWith("[")) return flowList(joinedText);
  return parseScalar(joinedText);
}

const parseDashList = (dashLines: string[]): string[] =>
  dashLines.map((dashLine) => parseScalar(dashLine.slice(1).trim())).filter(Boolean);

function parseScalar(scalarText: string): string {
  if (!/^["']/.test(scalarText)) return scalarText.replace(/\s+#.*$/, "").trim();
  const [quotedValue, remaining] = readQuoted(scalarText);
  if (remaining && !remaining.startsWith("#"))
    throw new Error("goes on behind a closed quotation mark");
  return quotedValue;
}

/** The text in quotation marks, and what follows them. */
function readQuoted(quotedText: string): [value: string, rest: string] {
  const quoteMatch = (
    quotedText[0] === '"' ? /^"((?:[^"\\]|\\.)*)"\s*(.*)$/s : /^'((?:[^']|'')*)'\s*(.*)$/s
  ).exec(quotedText);
  if (!quoteMatch) throw new Error("opens a quotation mark that is never closed");
  const [, inner = "", remaining = ""] = quoteMatch;
  return [quotedText[0] === "'" ? inner.replaceAll("''", "'") : unescaped(inner), remaining];
}

const unescaped = (escapedText: string): string =>
  escapedText.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hexCode, escaped) =>
    hexCode ? String.fromCharCode(Number.parseInt(hexCode, 16)) : (ESCAPES[escaped] ?? escaped),
  );

/** A list such as [a, "b, c"]. */
function flowList(listText: string): string[] {
  const listItems: string[] = [];
  let remaining = listText.slice(1).trim();
  while (remaining && remaining[0] !== "]") {
    if (/^["']/.test(remaining)) {
      const [quotedItem, textAfter] = readQuoted(remaining);
      listItems.push(quotedItem);
      remaining = textAfter;
    } else {
      const plainItem = /^[^,\]]*/.exec(remaining)![0];
      listItems.push(plainItem.trim());
      remaining = remaining.slice(plainItem.length);
    }
    if (remaining[0] === ",") remaining = remaining.slice(1).trim();
    else if (remaining[0] !== "]") break;
  }
  if (remaining[0] !== "]") throw new Error("opens a '[' that is never closed");
  return listItems.filter(Boolean);
}

/** The text of a block: if folded, the lines of a paragraph become one; if literal, they stay. */
function blockText(isFolded: boolean, blockLines: string[]): string {
  const filled = blockLines.filter((blockLine) => blockLine.trim());
  const indent = Math.min(...filled.map((filledLine) => /^\s*/.exec(filledLine)![0].length));
  const unindented = blockLines.map((blockLine) => blockLine.slice(indent).trimEnd()).join("\n");
  return (
    isFolded
      ? unindented.replace(/([^\n])\n(?=[^\n\s])/g, "$1 ").replace(/\n\n/g, "\n")
      : unindented
  ).trim();
}

/** A list, or the parts of a text between its commas. */
export const asList = (headValue: Value | undefined): string[] =>
  (typeof headValue === "string" ? headValue.split(",") : (headValue ?? []))
    .map((listItem) => listItem.trim())
    .filter(Boolean);
export const asText = (headValue: Value | undefined): string =>
  (typeof headValue === "string" ? headValue : (headValue ?? []).join(", "))
    .replace(/\s+/g, " ")
    .trim();

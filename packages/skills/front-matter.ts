// The front matter of a SKILL.md: the part of YAML that such files really use. Nested values
// (metadata) are ignored.

export type Head = Record<string, string | string[]>;
type Value = string | string[];

const KEY = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$/;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\0" };

/** Throws a clause that says why it cannot be read. */
export function parseSkill(text: string): { head: Head; body: string } {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (lines[0]?.trimEnd() !== "---")
    throw new Error("it does not begin with '---', so it has no front matter");
  const end = lines.findIndex((line, i) => i > 0 && line.trimEnd() === "---");
  if (end < 0) throw new Error("its front matter has no second '---'");
  const body = lines.slice(end + 1).join("\n");
  return { head: parseHead(lines.slice(1, end)), body: body.trim() };
}

function parseHead(lines: string[]): Head {
  const head: Head = {};
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]!;
    const number = index + 2; // as an editor counts: the first --- is line 1
    index++;
    if (isBlank(line)) continue;
    const [, key, valueText = ""] = KEY.exec(line) ?? [];
    if (!key) throw new Error(`line ${number} of its front matter is not 'key: value'`);
    const from = index;
    while (index < lines.length && (isBlank(lines[index]!) || /^(\s|- |-$|])/.test(lines[index]!)))
      index++;
    try {
      head[key.toLowerCase()] = readValue(valueText.trim(), lines.slice(from, index));
    } catch (error) {
      throw new Error(`line ${number} of its front matter ${(error as Error).message}`);
    }
  }
  return head;
}

const isBlank = (line: string): boolean => /^\s*(#.*)?$/.test(line);

/** The text after the colon, and the lines below it. */
function readValue(first: string, under: string[]): Value {
  const block = /^([>|])[+-]?\d?[+-]?(\s+#.*)?$/.exec(first);
  if (block) return blockText(block[1] === ">", under);
  const continued = under.filter((line) => !isBlank(line)).map((line) => line.trim());
  if (!first || first.startsWith("#"))
    return continued.every((line) => /^-( |$)/.test(line))
      ? listOf(continued)
      : continued.join(" ");
  const joined = [first, ...continued].join(" ");
  if (joined.startsWith("[")) return flowList(joined);
  return scalar(joined);
}

const listOf = (lines: string[]): string[] =>
  lines.map((line) => scalar(line.slice(1).trim())).filter(Boolean);

function scalar(text: string): string {
  if (!/^["']/.test(text)) return text.replace(/\s+#.*$/, "").trim();
  const [value, remaining] = quoted(text);
  if (remaining && !remaining.startsWith("#"))
    throw new Error("goes on behind a closed quotation mark");
  return value;
}

/** The text in quotation marks, and what follows them. */
function quoted(text: string): [value: string, rest: string] {
  const match = (
    text[0] === '"' ? /^"((?:[^"\\]|\\.)*)"\s*(.*)$/s : /^'((?:[^']|'')*)'\s*(.*)$/s
  ).exec(text);
  if (!match) throw new Error("opens a quotation mark that is never closed");
  const [, inner = "", remaining = ""] = match;
  return [text[0] === "'" ? inner.replaceAll("''", "'") : unescaped(inner), remaining];
}

const unescaped = (text: string): string =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code, escaped) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : (ESCAPES[escaped] ?? escaped),
  );

/** A list such as [a, "b, c"]. */
function flowList(text: string): string[] {
  const items: string[] = [];
  let remaining = text.slice(1).trim();
  while (remaining && remaining[0] !== "]") {
    if (/^["']/.test(remaining)) {
      const [value, after] = quoted(remaining);
      items.push(value);
      remaining = after;
    } else {
      const plain = /^[^,\]]*/.exec(remaining)![0];
      items.push(plain.trim());
      remaining = remaining.slice(plain.length);
    }
    if (remaining[0] === ",") remaining = remaining.slice(1).trim();
    else if (remaining[0] !== "]") break;
  }
  if (remaining[0] !== "]") throw new Error("opens a '[' that is never closed");
  return items.filter(Boolean);
}

/** The text of a block: if folded, the lines of a paragraph become one; if literal, they stay. */
function blockText(folded: boolean, lines: string[]): string {
  const filled = lines.filter((line) => line.trim());
  const indent = Math.min(...filled.map((line) => /^\s*/.exec(line)![0].length));
  const text = lines.map((line) => line.slice(indent).trimEnd()).join("\n");
  return (
    folded ? text.replace(/([^\n])\n(?=[^\n\s])/g, "$1 ").replace(/\n\n/g, "\n") : text
  ).trim();
}

/** A list, or the parts of a text between its commas. */
export const asList = (value: Value | undefined): string[] =>
  (typeof value === "string" ? value.split(",") : (value ?? []))
    .map((part) => part.trim())
    .filter(Boolean);
export const asText = (value: Value | undefined): string =>
  (typeof value === "string" ? value : (value ?? []).join(", ")).replace(/\s+/g, " ").trim();

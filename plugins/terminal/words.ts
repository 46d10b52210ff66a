// Texts made short: for one row, for a few dim ones, for a prompt.
import fs from "node:fs";
import path from "node:path";

/** One line without control bytes, no longer than that. */
export function short(text: string, most = 60): string {
  const head = text.slice(0, 4 * most + 1_000);
  const line = head.replace(/[\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, " ").trim();
  let room = most;
  for (let at = 0; at < line.length; ) {
    const char = String.fromCodePoint(line.codePointAt(at)!);
    room -= columnsOf(char);
    if (room < 0 || (room === 0 && at + char.length < line.length)) return `${line.slice(0, at)}…`;
    at += char.length;
  }
  return line;
}

/** The end of it, as short() gives the beginning. */
export function tail(text: string, most: number): string {
  const turned = (line: string) => [...line].reverse().join("");
  return turned(short(turned(text), most));
}

/** How many columns a text takes, rather too many than too few. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text)
    columns +=
      /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{3fffd}]/u.test(
        char,
      )
        ? 2
        : 1;
  return columns;
}

/** A call's arguments: the first as it is, the others by name. */
export function told(args: Record<string, unknown>): string {
  const word = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  return Object.entries(args)
    .map(([name, value], i) => (i === 0 && typeof value !== "object" ? word(value) : `${name}=${word(value)}`))
    .join("  ");
}

/** A result in one row: how long it is, and how it begins. */
export function gist(text: string): string {
  const rows = text.split("\n").filter((row) => row.trim());
  return rows.length > 1 ? `${rows.length} lines · ${rows[0]}` : text;
}

/** Rows of text no wider than that, and of more than so many the count. */
export function folded(text: string, width: number, most: number): string[] {
  const rows = text
    .split("\n")
    .map((row) => short(row, row.length))
    .filter(Boolean)
    .flatMap((row) => wrapped(row, Math.max(width, 10)));
  if (rows.length <= most + 1) return rows;
  return [...rows.slice(0, most), short(`… ${rows.length - most} more rows (display.thinking full shows them)`, width)];
}

function wrapped(row: string, width: number): string[] {
  const rows: string[] = [];
  let line = "";
  for (const word of row.split(" ")) {
    if (line && line.length + word.length + 1 > width) rows.push(line);
    line = line && line.length + word.length + 1 <= width ? `${line} ${word}` : word;
  }
  return [...rows, line].map((one) => short(one, width));
}

/** The git branch of a folder, read from its files: nothing is run for a prompt. */
export async function branchOf(folder: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    const git = path.join(at, ".git");
    try {
      const stat = await fs.promises.stat(git);
      const linked = stat.isFile() && /^gitdir: (.*)/.exec(await fs.promises.readFile(git, "utf8"))?.[1]?.trim();
      const head = await fs.promises.readFile(path.join(linked ? path.resolve(at, linked) : git, "HEAD"), "utf8");
      return short(/^ref: refs\/heads\/(.*)/.exec(head)?.[1] ?? head.slice(0, 7), 30);
    } catch {
      if (path.dirname(at) === at) return "";
    }
  }
}

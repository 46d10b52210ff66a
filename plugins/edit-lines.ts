// edit_lines: replaces lines of a file by their numbers.
import { isUtf8 } from "node:buffer";
import type { Zz } from "zz";
import { plural } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "edit_lines",
    description:
      "Replace lines start to end (inclusive) of a file that was read by content; empty content deletes them. With end = start - 1, content is inserted before line start.",
    aliases: ["editLines", "replace_lines"],
    also: {
      path: ["file_path", "filePath", "file", "filepath", "filename"],
      start: ["start_line", "startLine", "from", "line"],
      end: ["end_line", "endLine", "to"],
      content: ["contents", "text", "new_string", "new_content"],
    },
    params: {
      path: "string relative to the project",
      start: "integer first line, from 1",
      end: "integer last line, inclusive",
      content: "string the new lines",
    },
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, start, end, content }, { files, chat }) {
      const { text, bytes, hash, seen } = await files.read(path);
      const cannot = (why: string) => new Error(`Cannot edit '${path}': ${why}`);
      if (!isUtf8(bytes) || bytes.subarray(0, 8_192).includes(0))
        throw cannot("it is not UTF-8 text. Leave it, or convert it first.");
      if (seen === undefined && chat.messages.length)
        throw cannot("it was not read in this conversation. Read it first.");
      if (seen !== undefined && seen !== hash)
        throw cannot("it changed since it was read, so its line numbers may be others now. Read it again.");
      const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
      const lines = linesOf(text.slice(bom.length));
      const wrong = outOfRange(start, end, lines.length);
      if (wrong) throw cannot(wrong);
      const changed = bom + withLines(lines, start, end, content);
      const data = { path, start, end };
      if (changed === text) return { text: `Already so: '${path}' reads like that. Nothing was changed.`, data };
      await files.write(path, Buffer.from(changed));
      return { text: resultText(path, start, end, linesOf(content).length), data };
    },
  });

type Line = { text: string; end: string };

function linesOf(text: string): Line[] {
  const parts = text.split(/(\r?\n)/);
  const lines = Array.from({ length: (parts.length + 1) / 2 }, (_, i) => ({
    text: parts[2 * i]!,
    end: parts[2 * i + 1] ?? "",
  }));
  if (lines.at(-1)!.text === "") lines.pop();
  return lines;
}

function outOfRange(start: number, end: number, length: number): string | undefined {
  const has = `it has ${plural(length, "line")}`;
  if (start < 1) return `line ${start} is not there: lines count from 1.`;
  if (start > length + 1) return `line ${start} is not there: ${has}. To append, start at ${length + 1}.`;
  if (end < start - 1) return `the end, ${end}, is before the start, ${start}. To insert before a line, end one less.`;
  if (end > Math.max(length, start === 1 ? 1 : 0)) return `line ${end} is not there: ${has}. End at ${length}.`;
  return undefined;
}

/** New lines get the line ends of those they replace; the file keeps or lacks its final newline as before. */
function withLines(lines: Line[], start: number, end: number, content: string): string {
  if (!lines.length) return content; // the file has no line ends to follow
  const last = lines.at(-1)!.end;
  const place = lines.slice(start - 1, end);
  const usual = mostOf(place) ?? mostOf(lines) ?? "\n";
  const fresh = linesOf(content).map(({ text }, i) => ({ text, end: place[i]?.end || usual }));
  const all = [...lines.slice(0, start - 1), ...fresh, ...lines.slice(end)];
  const ended = (end: string, i: number) => (i === all.length - 1 ? last && (end || usual) : end || usual);
  return all.map((line, i) => line.text + ended(line.end, i)).join("");
}

function mostOf(lines: Line[]): string | undefined {
  const ends = lines.map(({ end }) => end).filter(Boolean);
  if (!ends.length) return undefined;
  return ends.filter((end) => end === "\r\n").length * 2 > ends.length ? "\r\n" : "\n";
}

function resultText(path: string, start: number, end: number, count: number): string {
  const range = (from: number, to: number) => (from === to ? `line ${from}` : `lines ${from}–${to}`);
  const now = range(start, start + count - 1);
  if (end < start) return `Edited ${path}: inserted ${now}.`;
  if (!count) return `Edited ${path}: deleted ${range(start, end)}.`;
  return `Edited ${path}: ${range(start, end)} became ${now}.`;
}

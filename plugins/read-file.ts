// read_file: the numbered lines of a text file, or a picture for the model to look at.
import { isUtf8 } from "node:buffer";
import { basename, extname } from "node:path";
import type { Result, Zz } from "zz";
import { mediaOf, plural } from "zz/text";

const MAX_LINES = 2_000; // per call
const MAX_LINE_CHARS = 2_000;
const MAX_PICTURE_BYTES = 5 * 1024 * 1024;

export default (zz: Zz) =>
  zz.tool({
    name: "read_file",
    kind: "read",
    description:
      "Read a text file, with line numbers, or look at a picture (png, jpg, gif, webp). " +
      "Use start and end for a part of a long text.",
    params: {
      path: "string relative to the project",
      start: "integer? first line, from 1",
      end: "integer? last line, inclusive",
      limit: "integer? how many lines, instead of end",
    },
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, start = 1, end: last, limit }, { files }) {
      const cannot = (subject: string, reason: string) =>
        new Error(`Cannot read '${path}' ${subject}: ${reason}`);
      const { text, bytes, hash } = await files.read(path);
      const picture =
        /^\.(png|jpe?g|gif|webp)$/i.test(extname(path)) && pictureResult(path, Buffer.from(bytes));
      if (picture) return picture;
      if (bytes.subarray(0, 8_192).includes(0))
        throw new Error(`Cannot read '${path}': it is not text. Choose a text file.`);
      const end = last ?? (limit === undefined ? undefined : Math.max(1, start) + limit - 1);
      if (start < 0 || (end !== undefined && end < 1))
        throw cannot(lineRange(start, end), "lines count from 1. Leave out what you do not know.");
      const isEmpty = !text.replace(/^\ufeff/, "");
      const lines = text
        .replace(/^\ufeff/, "")
        .replace(/\r?\n$/, "")
        .split(/\r?\n/);
      if (start > lines.length)
        throw cannot(
          `from line ${start}`,
          `it has ${plural(lines.length, "line")}. Start earlier.`,
        );
      const from = Math.max(1, start);
      if (end !== undefined && end < from)
        throw cannot(lineRange(from, end), "the end is before the start. Swap them.");
      const to = Math.min(lines.length, end ?? lines.length, from + MAX_LINES - 1);
      const shown = lines.slice(from - 1, to).map((line, i) => `${from + i}\t${cutLine(line)}`);
      files.shown(path, [[from, to === lines.length ? Number.POSITIVE_INFINITY : to]], hash);
      const remainingCount = Math.min(end ?? lines.length, lines.length) - to;
      if (remainingCount > 0)
        shown.push(`[${plural(remainingCount, "more line")}; read on from ${to + 1}]`);
      if (!isUtf8(bytes)) shown.push("[not all of it is UTF-8; \ufffd stands for what is not]");
      return {
        text: shown.join("\n"),
        data: { path, start: from, end: to, lines: isEmpty ? 0 : lines.length, hash },
      };
    },
    render({ data }) {
      const { start, end, lines, width, height } = data as Record<string, number>;
      if (lines === undefined) return `picture, ${width} × ${height}`;
      if (lines === 0) return "empty";
      return start === 1 && end === lines
        ? plural(lines, "line")
        : `lines ${start}–${end} of ${lines}`;
    },
  });

const lineRange = (startLine: number, endLine?: number): string =>
  `from line ${startLine}${endLine === undefined ? "" : ` to ${endLine}`}`;

/** Cuts a long line, but not between the two halves of a character. */
function cutLine(longLine: string): string {
  if (longLine.length <= MAX_LINE_CHARS) return longLine;
  const lineHead = longLine.slice(0, MAX_LINE_CHARS).replace(/[\ud800-\udbff]$/, "");
  return `${lineHead}… [cut; the line has ${longLine.length} characters]`;
}

/**
 * The result for a picture. Its bytes decide, not its name: a .png may be text, such as a pointer
 * of Git LFS.
 */
function pictureResult(path: string, imageBytes: Buffer): Result | undefined {
  const { type, width, height, broken } = mediaOf(imageBytes) ?? {};
  if (!type?.startsWith("image/")) return undefined;
  if (imageBytes.length > MAX_PICTURE_BYTES)
    throw new Error(
      `Cannot read '${path}': ` +
        `${imageBytes.length} bytes are too many for a picture (5 MB). Make it smaller.`,
    );
  // Servers refuse such a picture, and so would refuse every later request of the conversation.
  if (broken)
    throw new Error(`Cannot read '${path}': it begins as ${type}, but ${broken}. Choose another.`);
  const aboutWords = [
    `image ${basename(path)}`,
    `${width}×${height}`,
    `${imageBytes.length} bytes`,
  ];
  const data = { path, type, bytes: imageBytes.length, width, height };
  return {
    text: `[${aboutWords.join(", ")}]`,
    data,
    images: [{ type, base64: imageBytes.toString("base64") }],
  };
}

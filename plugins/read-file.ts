// read_file: numbered lines of a text file.
import type { Zz } from "zz";

const MOST = 2_000; // lines a call
const WIDEST = 2_000; // characters a line

export default (zz: Zz) =>
  zz.tool({
    name: "read_file",
    description: "Read a text file, with line numbers. Use start and end for a part of a long one.",
    aliases: ["readFile", "get_lines", "file_read", "read", "cat", "view"],
    params: {
      path: "string relative to the project",
      start: "integer? first line, from 1",
      end: "integer? last line, inclusive",
    },
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, start = 1, end }, { files }) {
      const { text, bytes, hash } = await files.read(path);
      if (bytes.subarray(0, 8_192).includes(0))
        throw new Error(`Cannot read '${path}': it is not text. Choose a text file.`);
      const lines = text.replace(/\r?\n$/, "").split(/\r?\n/);
      if (start > lines.length)
        throw new Error(`Cannot read '${path}' from line ${start}: it has ${lines.length} lines. Start earlier.`);
      const from = Math.max(1, start);
      if (end !== undefined && end < from)
        throw new Error(`Cannot read '${path}' from line ${from} to ${end}: the end is before the start. Swap them.`);
      const to = Math.min(lines.length, end ?? lines.length, from + MOST - 1);
      const shown = lines
        .slice(from - 1, to)
        .map((line, i) => `${from + i}\t${line.length > WIDEST ? `${line.slice(0, WIDEST)}…` : line}`);
      const more = Math.min(end ?? lines.length, lines.length) - to;
      if (more > 0) shown.push(`[${more} more lines; read on from ${to + 1}]`);
      return { text: shown.join("\n"), data: { path, start: from, end: to, lines: lines.length, hash } };
    },
  });

// write_file: writes the whole content of a new or an existing file.
import fs from "node:fs";
import type { FileRead, Zz } from "zz";
import { plural, visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "write_file",
    description:
      "Write a file: its whole content, nothing left out. Replaces a file that was read, " +
      "or makes a new one. To change a part of a file use edit_file.",
    params: { path: "string relative to the project", content: "string all of it" },
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    async run({ path, content }, { files, chat }) {
      const existing = fs.existsSync(files.path(path)) ? await files.read(path) : undefined;
      const data = { path };
      if (existing && existing.seen === undefined && chat.messages.length)
        throw new Error(
          `Cannot write '${path}': ` +
            "it is already there and was not read in this conversation. Read it first.",
        );
      const unread = existing && chat.messages.length && firstUnread(existing);
      if (unread)
        throw new Error(
          `Cannot write '${path}': line ${unread} of it was not read in this conversation. ` +
            "Read all of it first, or use edit_file.",
        );
      if (existing && normalized(existing.text) === normalized(content))
        return { text: `Nothing to change: '${path}' holds exactly that already.`, data };
      await files.write(path, content);
      const lineCount = normalized(content).split("\n").length;
      return {
        text: `${existing ? "Wrote" : "Created"} ${visible(path)} (${plural(lineCount, "line")}).`,
        data,
      };
    },
  });

/**
 * The first line that the model was not shown, provided that the file has not changed since the
 * model saw it.
 */
function firstUnread({ text, lines, seen: seenHash, hash }: FileRead): number | undefined {
  const firstUnseen = lines[0]?.[0] === 1 ? lines[0][1] + 1 : 1;
  return seenHash === hash && firstUnseen <= text.replace(/\n$/, "").split("\n").length
    ? firstUnseen
    : undefined;
}

/** The text without what a write leaves unchanged in the file: BOM, line ends, final newline. */
const normalized = (fileText: string): string =>
  fileText
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .replace(/\n$/, "");

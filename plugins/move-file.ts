// move_file: renames a file, or moves it to another folder; of code, with the imports, where
// refactor can.
import fs from "node:fs";
import type { Zz } from "zz";
import { visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "move_file",
    description:
      "Move a file or folder, with imports. Makes the folders that it needs; fails if the new path is already there.",
    params: { from: "string the file, relative to the project", to: "string its new path" },
    changes: true,
    // under its new name it might be readable without asking
    needs: ({ from }) => ({ read: [from] }),
    async run({ from, to }, { files, call, about }) {
      const cannot = (reason: string) => new Error(`Cannot move '${from}' to '${to}': ${reason}`);
      const [source, target] = [files.path(from), files.path(to)];
      if (source === target) throw cannot("both are the same file. Give it another path.");
      if (isFolder(target)) throw cannot(`'${to}' is a folder. Name the file in it too.`);
      const isOfCode =
        /\.[cm]?[jt]sx?$/.test(from) && about.tools.some(({ name }) => name === "refactor");
      const moved =
        isOfCode || isFolder(source)
          ? await call("refactor", { action: "move", path: from, to })
          : undefined;
      if (moved && (isFolder(source) || !isUnplanned(moved.data))) return moved;
      if (fs.existsSync(target) && !isSameFile(source, target))
        throw cannot(`'${to}' is already there. Choose another path, or delete that file first.`);
      await files.move(from, to);
      const importsNote = moved ? ` [Imports are as they were. ${moved.text}]` : "";
      return {
        text: `Moved ${visible(from)} to ${visible(to)}.${importsNote}`,
        data: { from, to },
      };
    },
  });

/** Nobody was asked yet. */
const isUnplanned = (data: unknown): boolean => Object(data).isPlanned === false;

const isFolder = (file: string): boolean => fs.existsSync(file) && fs.statSync(file).isDirectory();

/** Whether both names are the same file, on a disk that ignores case. */
const isSameFile = (first: string, second: string): boolean =>
  first.toLowerCase() === second.toLowerCase() &&
  fs.existsSync(first) &&
  fs.statSync(first).ino === fs.statSync(second).ino;

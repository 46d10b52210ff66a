// move_file: renames a file, or moves it to another folder; of code, with the imports, where
// refactor can.
import fs from "node:fs";
import type { Zz } from "zz";
import { visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "move_file",
    description:
      "Move a file or folder, with imports. " +
      "Makes the folders that it needs; fails if the new path is already there.",
    params: { from: "string the file, relative to the project", to: "string its new path" },
    changes: true,
    // under its new name it might be readable without asking
    needs: ({ from }) => ({ read: [from] }),
    async run({ from, to }, { files, call, about }) {
      const moveRefusal = (reason: string) =>
        new Error(`Cannot move '${from}' to '${to}': ${reason}`);
      const [sourcePath, targetPath] = [files.path(from), files.path(to)];
      if (sourcePath === targetPath)
        throw moveRefusal("both are the same file. Give it another path.");
      if (isFolder(targetPath)) throw moveRefusal(`'${to}' is a folder. Name the file in it too.`);
      const isOfCode =
        /\.[cm]?[jt]sx?$/.test(from) && about.tools.some(({ name }) => name === "refactor");
      const refactored =
        isOfCode || isFolder(sourcePath)
          ? await call("refactor", { action: "move", path: from, to })
          : undefined;
      if (refactored && (isFolder(sourcePath) || !isUnplanned(refactored.data))) return refactored;
      if (fs.existsSync(targetPath) && !isSameFile(sourcePath, targetPath))
        throw moveRefusal(
          `'${to}' is already there. Choose another path, or delete that file first.`,
        );
      await files.move(from, to);
      const importsNote = refactored ? ` [Imports are as they were. ${refactored.text}]` : "";
      return {
        text: `Moved ${visible(from)} to ${visible(to)}.${importsNote}`,
        data: { from, to },
      };
    },
  });

/** Nobody was asked yet. */
const isUnplanned = (resultData: unknown): boolean => Object(resultData).isPlanned === false;

const isFolder = (absolutePath: string): boolean =>
  fs.existsSync(absolutePath) && fs.statSync(absolutePath).isDirectory();

/** Whether both names are the same file, on a disk that ignores case. */
const isSameFile = (firstPath: string, secondPath: string): boolean =>
  firstPath.toLowerCase() === secondPath.toLowerCase() &&
  fs.existsSync(firstPath) &&
  fs.statSync(firstPath).ino === fs.statSync(secondPath).ino;

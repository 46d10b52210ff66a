// move_file: a file under another name, or in another folder.
import fs from "node:fs";
import type { Zz } from "zz";

export default (zz: Zz) =>
  zz.tool({
    name: "move_file",
    description: "Move or rename one file. Makes the folders that it needs; fails if the new path is already there.",
    aliases: ["moveFile", "rename_file", "renameFile", "mv"],
    also: {
      from: ["source", "src", "old_path", "oldPath", "path"],
      to: ["destination", "dest", "new_path", "newPath", "target"],
    },
    params: { from: "string the file, relative to the project", to: "string its new path" },
    changes: true,
    needs: ({ from }) => ({ read: [from] }), // under another name it may be read by anyone
    async run({ from, to }, { files }) {
      const cannot = (why: string) => new Error(`Cannot move '${from}' to '${to}': ${why}`);
      const [old, fresh] = [files.path(from), files.path(to)];
      if (old === fresh) throw cannot("both are the same file. Give it another path.");
      if (isFolder(old)) throw cannot(`'${from}' is a folder. Move its files one by one; list_dir shows them.`);
      if (isFolder(fresh)) throw cannot(`'${to}' is a folder. Name the file in it too.`);
      if (fs.existsSync(fresh) && !isOnlyCase(old, fresh))
        throw cannot(`'${to}' is already there. Choose another path, or delete that file first.`);
      await files.move(from, to);
      return { text: `Moved ${from} to ${to}.`, data: { from, to } };
    },
  });

const isFolder = (file: string): boolean => fs.existsSync(file) && fs.statSync(file).isDirectory();

/** One file under two spellings, on a disk that does not tell upper case from lower. */
const isOnlyCase = (old: string, fresh: string): boolean =>
  old.toLowerCase() === fresh.toLowerCase() && fs.existsSync(old) && fs.statSync(old).ino === fs.statSync(fresh).ino;

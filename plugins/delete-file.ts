// delete_file: deletes one file; undo brings it back.
import fs from "node:fs";
import type { Zz } from "zz";
import { visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "delete_file",
    description: "Delete one file.",
    params: { path: "string relative to the project" },
    changes: true,
    async run({ path }, { files }) {
      if (fs.statSync(files.path(path), { throwIfNoEntry: false })?.isDirectory())
        throw new Error(
          `Cannot delete '${path}': it is a folder. ` +
            "Delete its files one by one; list_dir shows them.",
        );
      await files.remove(path);
      return { text: `Deleted ${visible(path)}.`, data: { path } };
    },
  });

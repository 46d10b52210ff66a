// create_file: makes a new file, and never replaces one.
import fs from "node:fs";
import type { Zz } from "zz";
import { plural, visible } from "zz/text";

export default (zz: Zz) =>
  zz.tool({
    name: "create_file",
    description: "Make a new file, with the folders that it needs. Fails if it is already there.",
    params: { path: "string relative to the project", content: "string all of it" },
    changes: true,
    async run({ path, content }, { files }) {
      if (fs.existsSync(files.path(path)))
        throw new Error(
          `Cannot create '${path}': it is already there. ` +
            "Use edit_file, or write_file to replace all of it.",
        );
      await files.write(path, content);
      const contentLines = content.replace(/\n$/, "").split("\n").length;
      return {
        text: `Created ${visible(path)} (${plural(contentLines, "line")}).`,
        data: { path },
      };
    },
  });

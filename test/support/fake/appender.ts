// A zz of its own that appends lines to the files of a project, and at last sends those that it was
// told are written.
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createZz } from "../../../zz.ts";

const [root = "", who = "", count = "", ...files] = process.argv.slice(2);
const home = join(tmpdir(), `zz-appender-${process.pid}`);
const ctx = (await createZz({ root, home, allow: { write: true }, save: false })).ctx();
const written: string[] = [];
for (let i = 0; i < Number(count); i++) {
  const path = files[i % files.length]!;
  const line = `${who}-${i}`;
  const read = await ctx.call("read_file", { path });
  if (read.failed) written.push(read.text); // which is in none of the files
  const content = `${readFileSync(join(root, path), "utf8")}${line}\n`;
  const { failed } = await ctx.call("write_file", { path, content });
  if (!failed) written.push(line);
}
process.send!(written, () => process.exit());

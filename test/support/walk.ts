// A snapshot of a tree on the disk, to compare with an earlier one.
import fs from "node:fs";

/** Every path with its type, mode and content; names byte by byte. The repository's own folder is left out. */
export function walk(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (at: Buffer, name: string): void => {
    const stat = fs.lstatSync(at);
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) found[name] = `link ${fs.readlinkSync(at, "latin1")}`;
    else if (stat.isFile()) found[name] = `file ${mode} ${fs.readFileSync(at, "latin1")}`;
    else if (!stat.isDirectory()) found[name] = "special";
    else {
      found[name] = `folder ${mode}`;
      for (const inner of fs.readdirSync(at, { encoding: "latin1" }).sort())
        if (inner !== ".git")
          look(Buffer.concat([at, Buffer.from("/"), Buffer.from(inner, "latin1")]), `${name}/${inner}`);
    }
  };
  look(Buffer.from(root), "");
  return found;
}

// Files that a test writes, by their names.
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Folders end in a slash. A value of `->x` makes a link to x, `|` a FIFO, null nothing; an object
 * is written as JSON.
 */
export type Tree = Record<string, string | Uint8Array | object | null>;

export function put(folder: string, files: Tree): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(name.endsWith("/") ? file : dirname(file), { recursive: true });
    if (content === null || name.endsWith("/")) continue;
    if (content === "|") execFileSync("mkfifo", [file]);
    else if (typeof content === "string" && content.startsWith("->"))
      symlinkSync(content.slice(2), file);
    else if (typeof content === "string" || content instanceof Uint8Array)
      writeFileSync(file, content);
    else writeFileSync(file, JSON.stringify(content));
  }
}

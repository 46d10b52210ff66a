// Files that a test writes, by their names.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after } from "node:test";

/** Folders end in a slash. A value of `->x` makes a link to x, `|` a FIFO, null nothing; an object
 * is written as JSON. */
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

const remaining = new Set<string>();
/** A new folder, in the one for temporary files if its prefix is a mere name. It goes when the test
 * ends; where a process that only ends then writes into it, when the test file ends. A hook that
 * fails would keep those after it from running, which end such processes. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(resolve(tmpdir(), prefix));
  after(() => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      if (!remaining.size) process.once("exit", removeRemaining);
      remaining.add(folder);
    }
  });
  return folder;
}

function removeRemaining(): void {
  for (const folder of remaining) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

// One built zz for many tests of a file, whose project changes from test to test: its compiler is
// warm after the first.
import fs from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { type Harness, standingClock } from "../../sdk/testing.ts";
import { put } from "./repository.ts";
import { harness } from "./script.ts";
import "./lean.ts";

export type Files = Record<string, string | Buffer>;
let opened: Promise<Harness> | undefined;
after(async () => (await opened)?.close());

/** The zz, in a project with these files and no others. */
export async function warm(files: Files): Promise<Harness> {
  const zz = await (opened ??= harness({ own: true, answer: "yes", clock: standingClock() }));
  // the row before had the same, and nothing need be read again
  if (holdsJust(zz.root, files)) return zz;
  for (const name of fs.readdirSync(zz.root)) fs.rmSync(join(zz.root, name), { recursive: true });
  put(zz.root, files);
  return zz;
}

function holdsJust(root: string, files: Files): boolean {
  const there = fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((one) => !one.isDirectory());
  if (there.length !== Object.keys(files).length) return false;
  return Object.entries(files).every(([name, content]) => {
    const file = join(root, name);
    return fs.existsSync(file) && fs.readFileSync(file).equals(Buffer.from(content as string));
  });
}

/** What a tool says in such a project. `standing`: a file's text after that. */
export async function warmCall(files: Files, tool: string, args: object) {
  const zz = await warm(files);
  const { text, failed = false } = await zz.call(tool, args);
  return { said: text.trimEnd(), failed, standing: (name: string) => zz.read(name) };
}

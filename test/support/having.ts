// Places with files in them, and runs of zz there with a model that plays a script.
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import type { Script } from "./fake/http.ts";
import { fakeOpenAI } from "./fake/openai.ts";
import { type How, type Place, place, zz } from "./run.ts";

/** A text, bytes, or an object, which is written as JSON; `->x` is a link to x, `|` a FIFO. */
export type Files = Record<string, string | Buffer | object>;

/** Where a file of a place lies: one whose name begins with ~/ in the home. */
export const at = ({ home, cwd }: Pick<Place, "home" | "cwd">, name: string): string =>
  name.startsWith("~/") ? join(home, name.slice(2)) : join(cwd, name);

/** A place with these files. */
export function having(files: Files, where = place()): Place {
  for (const [name, content] of Object.entries(files)) {
    const file = at(where, name);
    mkdirSync(dirname(file), { recursive: true });
    if (content === "|") execFileSync("mkfifo", [file]);
    else if (typeof content === "string" && content.startsWith("->")) symlinkSync(content.slice(2), file);
    else
      writeFileSync(file, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  }
  return where;
}

/** A run in which the model plays the script, and what the model was sent. */
export async function asks(where: Place, script: Script, args: string[], how: How = {}) {
  const fake = await fakeOpenAI(script);
  after(fake.close);
  const ran = await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args], how);
  return { ...ran, where, fake, sent: fake.requests.map(({ body }) => body) };
}

// Places with files in them, and runs of zz there with a model that plays a script.
import { join } from "node:path";
import { after } from "node:test";
import type { Script } from "./fake/http.ts";
import { fakeOpenAI } from "./fake/openai.ts";
import { put, type Tree } from "./files.ts";
import { type How, type Place, place, zz } from "./run.ts";

/** Where a file of a place lies: one whose name begins with ~/ in the home. */
export const at = ({ home, cwd }: Pick<Place, "home" | "cwd">, name: string): string =>
  name.startsWith("~/") ? join(home, name.slice(2)) : join(cwd, name);

/** A place with these files. */
export function having(files: Tree, where = place()): Place {
  for (const [name, content] of Object.entries(files)) put("/", { [at(where, name)]: content });
  return where;
}

/** A run in which the model plays the script, and what the model was sent. */
export async function asks(where: Place, script: Script, args: string[], how: How = {}) {
  const fake = await fakeOpenAI(script);
  after(fake.close);
  const ran = await zz(
    where,
    ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args],
    how,
  );
  return { ...ran, where, fake, sent: fake.requests.map(({ body }) => body) };
}

// What does not fit in settings. Schemas and values that did are remembered by their hashes, so that a start with the same ones loads no zod.
import fs from "node:fs";
import path from "node:path";
import type { Awaitable, Schema } from "./contract.ts";
import { hashOf } from "./disk.ts";
import { asZod, fit, type Misfit } from "./schema.ts";
import { textOf, tryTo } from "./text.ts";

const MAX_HASHES = 500;

/** Not a promise where the value is known to fit, so that such a start waits for nothing. */
export function misfitsOf(home: string, schema: Schema, value: unknown): Awaitable<Misfit[]> {
  const text = "~standard" in schema ? undefined : tryTo(() => JSON.stringify([schema, value])); // a function may change its mind
  const hash = text && hashOf(Buffer.from(text));
  const file = path.join(home, "accepted.txt");
  const accepted = hash ? textOf(file).split("\n") : [];
  return hash && accepted.includes(hash) ? [] : checked();

  async function checked(): Promise<Misfit[]> {
    const { misfits = [] } = await fit(await asZod(schema), value);
    const flag = accepted.length > MAX_HASHES ? "w" : "a";
    if (hash && !misfits.length) tryTo(() => fs.writeFileSync(file, `${hash}\n`, { flag, mode: 0o600 })); // without it: checked again
    return misfits;
  }
}

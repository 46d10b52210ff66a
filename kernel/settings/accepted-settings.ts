// What does not fit in settings. A schema and a value that fits it are remembered by their hash, so
// that a start with both loads no zod.
import fs from "node:fs";
import path from "node:path";
import type { Awaitable, Schema } from "../contract.ts";
import { asZod, checkAgainstSchema, type Misfit } from "../text/json-schema.ts";
import { textOf } from "../text/read-quietly.ts";
import { unguessable } from "../text/secrets.ts";
import { tryTo } from "../text/words.ts";

const MAX_HASHES = 500;
/**
 * The first line is random, and goes into each hash: no project can make settings that count as
 * checked.
 */
const readAccepted = (file: string) => textOf(file).split("\n");

/** Not a promise where the value is known to fit, so that such a start waits for nothing. */
export function misfitsOf(home: string, schema: Schema, value: unknown): Awaitable<Misfit[]> {
  const file = path.join(home, "accepted.txt");
  // a function may change its mind
  const text = "~standard" in schema ? undefined : tryTo(() => JSON.stringify([schema, value]));
  const [salt = "", ...accepted] = text ? readAccepted(file) : [];
  return text && salt && accepted.includes(hashOf(text, salt)) ? [] : checked();

  async function checked(): Promise<Misfit[]> {
    const { misfits = [] } = await checkAgainstSchema(await asZod(schema), value);
    if (text && !misfits.length) tryTo(() => remember(file, text)); // without it: checked again
    return misfits;
  }
}

function remember(file: string, text: string): void {
  const [before = "", ...hashes] = readAccepted(file);
  const isNew = !before || hashes.length > MAX_HASHES;
  const salt = isNew ? unguessable() : before;
  // zz's own file: never through a link
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = fs.constants;
  fs.writeFileSync(file, `${isNew ? `${salt}\n` : ""}${hashOf(text, salt)}\n`, {
    flag: O_WRONLY | O_CREAT | O_NOFOLLOW | (isNew ? O_TRUNC : O_APPEND),
    mode: 0o600,
  } as never);
}

/**
 * FNV-1a by words of four bytes, twice: Node's crypto takes 5 ms to load, and a loop over bytes 3
 * ms of V8's compiler.
 */
function hashOf(text: string, salt: string): string {
  const salted = `${salt}${text}${salt}`;
  const bytes = Buffer.alloc((Buffer.byteLength(salted) + 3) & ~3);
  bytes.write(salted);
  let [first, two] = [0x811c9dc5, 0x9e3779b9];
  for (const word of new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)) {
    first = Math.imul(first ^ word, 0x01000193);
    two = Math.imul(two ^ word ^ (first >>> 15), 0x85ebca6b);
  }
  return `${first >>> 0} ${two >>> 0}`;
}

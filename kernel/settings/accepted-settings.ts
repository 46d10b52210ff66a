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
const readAccepted = (acceptedFile: string) => textOf(acceptedFile).split("\n");

/** Not a promise where the value is known to fit, so that such a start waits for nothing. */
export function misfitsOf(
  homeFolder: string,
  schema: Schema,
  checkedValue: unknown,
): Awaitable<Misfit[]> {
  const acceptedFile = path.join(homeFolder, "accepted.txt");
  // a function may change its mind
  const schemaAndValue =
    "~standard" in schema ? undefined : tryTo(() => JSON.stringify([schema, checkedValue]));
  const [salt = "", ...accepted] = schemaAndValue ? readAccepted(acceptedFile) : [];
  return schemaAndValue && salt && accepted.includes(computeHash(schemaAndValue, salt))
    ? []
    : checked();

  async function checked(): Promise<Misfit[]> {
    const { misfits = [] } = await checkAgainstSchema(await asZod(schema), checkedValue);
    // without it: checked again
    if (schemaAndValue && !misfits.length) tryTo(() => remember(acceptedFile, schemaAndValue));
    return misfits;
  }
}

function remember(acceptedFile: string, schemaAndValue: string): void {
  const [previousSalt = "", ...savedHashes] = readAccepted(acceptedFile);
  const isNewFile = !previousSalt || savedHashes.length > MAX_HASHES;
  const salt = isNewFile ? unguessable() : previousSalt;
  // zz's own file: never through a link
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = fs.constants;
  fs.writeFileSync(
    acceptedFile,
    `${isNewFile ? `${salt}\n` : ""}${computeHash(schemaAndValue, salt)}\n`,
    {
      flag: O_WRONLY | O_CREAT | O_NOFOLLOW | (isNewFile ? O_TRUNC : O_APPEND),
      mode: 0o600,
    } as never,
  );
}

/**
 * FNV-1a by words of four bytes, twice: Node's crypto takes 5 ms to load, and a loop over bytes 3
 * ms of V8's compiler.
 */
function computeHash(hashedText: string, salt: string): string {
  const saltedText = `${salt}${hashedText}${salt}`;
  const saltedBytes = Buffer.alloc((Buffer.byteLength(saltedText) + 3) & ~3);
  saltedBytes.write(saltedText);
  let [firstHash, secondHash] = [0x811c9dc5, 0x9e3779b9];
  for (const fourBytes of new Int32Array(
    saltedBytes.buffer,
    saltedBytes.byteOffset,
    saltedBytes.length / 4,
  )) {
    firstHash = Math.imul(firstHash ^ fourBytes, 0x01000193);
    secondHash = Math.imul(secondHash ^ fourBytes ^ (firstHash >>> 15), 0x85ebca6b);
  }
  return `${firstHash >>> 0} ${secondHash >>> 0}`;
}

// The text of a file's bytes, in whatever encoding it is.
import { isUtf8 } from "node:buffer";
import type { Ctx } from "zz";

/** UTF-16, if its mark says so, as TypeScript reads it; else UTF-8. */
export function markedText(bytes: Buffer): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return bytes.toString("utf16le", 2);
  if (first === 0xfe && second === 0xff)
    return Buffer.from(bytes.subarray(2, bytes.length & ~1))
      .swap16()
      .toString("utf16le");
  return bytes.toString("utf8");
}
export const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** Undefined: it is none. What is not UTF-8 is UTF-16, if it says so, or Latin-1. */
export function textIn(bytes: Buffer): string | undefined {
  if (isUtf16(bytes)) return markedText(bytes);
  if (bytes.subarray(0, 8_000).includes(0)) return undefined;
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("latin1");
}

/** A file as the index reads it. */
export async function readText(
  { files }: Pick<Ctx, "files">,
  file: string,
): Promise<{ text: string; hash: string }> {
  const { bytes, hash } = await files.read(file);
  const text = textIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (text === undefined)
    throw new Error(`Cannot read '${file}' as text: it is binary. Ask again, if it was changed.`);
  return { text, hash };
}

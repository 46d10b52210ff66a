// The text of a file's bytes, in whatever encoding it is.
import { isUtf8 } from "node:buffer";
import type { Ctx } from "zz";

/** UTF-16, if its mark says so, as TypeScript reads it; else UTF-8. */
export function markedText(fileBytes: Buffer): string {
  const [firstByte, secondByte] = fileBytes;
  if (firstByte === 0xff && secondByte === 0xfe) return fileBytes.toString("utf16le", 2);
  if (firstByte === 0xfe && secondByte === 0xff)
    return Buffer.from(fileBytes.subarray(2, fileBytes.length & ~1))
      .swap16()
      .toString("utf16le");
  return fileBytes.toString("utf8");
}
export const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** Undefined: it is none. What is not UTF-8 is UTF-16, if it says so, or Latin-1. */
export function textIn(fileBytes: Buffer): string | undefined {
  if (isUtf16(fileBytes)) return markedText(fileBytes);
  if (fileBytes.subarray(0, 8_000).includes(0)) return undefined;
  return isUtf8(fileBytes) ? fileBytes.toString("utf8") : fileBytes.toString("latin1");
}

/** A file as the index reads it. */
export async function readText(
  { files }: Pick<Ctx, "files">,
  filePath: string,
): Promise<{ text: string; hash: string }> {
  const { bytes, hash } = await files.read(filePath);
  const text = textIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (text === undefined)
    throw new Error(
      `Cannot read '${filePath}' as text: it is binary. Ask again, if it was changed.`,
    );
  return { text, hash };
}

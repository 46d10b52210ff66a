// The files of a plugin, their checksums and sizes; and makes foreign text safe for a terminal.
import crypto from "node:crypto";

/** A plugin as fetched: each file by its path, with forward slashes. */
export type Contents = Map<string, File>;
export type File = { bytes: Buffer; runs?: boolean }; // runs: executable

export const MAX_FILES = 20_000;
export const MAX_BYTES = 200e6;
export const TOO_MANY = "it holds more than 20,000 files, which is more than a plugin may bring";
export const TOO_LARGE = "it is larger than 200 MB, which is more than a plugin may bring";

/** Foreign text for a terminal: one line, without invisible characters, not too long. */
export const plain = (text: unknown, maxChars = 200): string => {
  const line = String(text)
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "")
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
};

export const sumOf = (bytes: Buffer | string, kind = "sha512"): string =>
  `${kind}-${crypto.createHash(kind).update(bytes).digest("base64")}`;

/** One checksum over all names and bytes of a plugin, whose contents are sorted. */
export const sumOfAll = (contents: Contents): string =>
  sumOf([...contents].map(([name, { bytes }]) => `${name}\0${sumOf(bytes, "sha256")}\n`).join(""));

export const sizeOf = (contents: Contents): number =>
  [...contents.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);

export const inUnits = (bytes: number): string =>
  bytes < 1e3 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** A path in an archive, normalized; undefined if it leads out of it. */
export function safePath(name: string): string | undefined {
  if (/^[/\\]|^[A-Za-z]:|[\0\\]/.test(name)) return undefined;
  const parts = name.split("/").filter((part) => part && part !== ".");
  return parts.includes("..") || !parts.length ? undefined : parts.join("/");
}

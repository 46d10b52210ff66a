// Text that a terminal shows and never obeys, and in which nothing looks like something else.

const UNSEEN_CHARS = String.raw`\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}`;
const UNSAFE_CHARS = new RegExp(String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f${UNSEEN_CHARS}]`, "gu");

/** Text that a terminal shows and never obeys: control bytes become visible. */
export function clean(text: string): string {
  if (!/[^\n\x20-\x7e]/.test(text)) return text; // ten times as fast for most texts
  return text
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE_CHARS, (char) =>
      char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\ufffd",
    );
}
/**
 * A name, or a sentence with names, as one line in which every character shows: no name forges
 * another line.
 */
export const visible = (text: string): string => clean(text).replaceAll("\n", "␊");

/**
 * Two versions of a file, as `clean` shows them, but no line looks like another that differs from
 * it.
 */
export function cleanVersions(versions: Buffer[]): string[] {
  const texts = versions.map((bytes) => bytes.toString("latin1"));
  const isDos = texts.every((text) => !/(?<!\r)\n/.test(text)); // its line ends are no news
  const shown = (char: string, prefix: string) =>
    char < " "
      ? clean(char)
      : `⟨${prefix}${char.codePointAt(0)!.toString(16).toUpperCase().padStart(2, "0")}⟩`;
  const line = (bytes: string) => {
    if (!/[^\t\x20-\x7e]/.test(bytes)) return bytes;
    const text = Buffer.from(bytes, "latin1").toString();
    const isUtf8 = Buffer.from(text).toString("latin1") === bytes;
    return isUtf8
      ? text.replace(UNSAFE_OR_ALIKE, (char) => shown(char, "U+"))
      : bytes.replace(/[^\t\x20-\x7e]/g, (byte) => shown(byte, ""));
  };
  return texts.map((text) =>
    (isDos ? text.replaceAll("\r\n", "\n") : text).split("\n").map(line).join("\n"),
  );
}
// and what stands for others
const UNSAFE_OR_ALIKE = new RegExp(`${UNSAFE_CHARS.source}|[\u2400-\u241f\ufffd⟨]`, "gu");

/**
 * The same for rendered text, whose colours and links stay. The model's own text was cleaned
 * before.
 */
export function cleanRendered(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(PAINT_OR_UNSAFE, (match) => (/^\x1b./.test(match) ? match : clean(match)));
}
const PAINT = "\\x1b\\[[\\d;]*m|\\x1b\\]8;;[!-~]*\\x1b\\\\";
const PAINT_OR_UNSAFE = new RegExp(`${PAINT}|${UNSAFE_CHARS.source}`, "gu");

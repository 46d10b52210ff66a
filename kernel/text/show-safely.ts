// Text that a terminal shows and never obeys, and in which nothing looks like something else.

const UNSEEN_CHARS =
  String.raw`\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069` +
  String.raw`\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}`;
const UNSAFE_CHARS = new RegExp(String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f${UNSEEN_CHARS}]`, "gu");

/** Text that a terminal shows and never obeys: control bytes become visible. */
export function clean(rawText: string): string {
  if (!/[^\n\x20-\x7e]/.test(rawText)) return rawText; // ten times as fast for most texts
  return rawText
    .replace(/\r\n/g, "\n")
    .replace(UNSAFE_CHARS, (unsafeChar) =>
      unsafeChar < " " ? String.fromCharCode(0x2400 + unsafeChar.charCodeAt(0)) : "\ufffd",
    );
}
/**
 * A name, or a sentence with names, as one line in which every character shows: no name forges
 * another line.
 */
export const visible = (rawText: string): string => clean(rawText).replaceAll("\n", "␊");

/**
 * Two versions of a file, as `clean` shows them, but no line looks like another that differs from
 * it.
 */
export function cleanVersions(versions: Buffer[]): string[] {
  const versionTexts = versions.map((versionBytes) => versionBytes.toString("latin1"));
  // its line ends are no news
  const hasDosEnds = versionTexts.every((versionText) => !/(?<!\r)\n/.test(versionText));
  const showChar = (character: string, codePrefix: string) =>
    character < " "
      ? clean(character)
      : `⟨${codePrefix}${character.codePointAt(0)!.toString(16).toUpperCase().padStart(2, "0")}⟩`;
  const cleanLine = (lineBytes: string) => {
    if (!/[^\t\x20-\x7e]/.test(lineBytes)) return lineBytes;
    const decodedText = Buffer.from(lineBytes, "latin1").toString();
    const isValidUtf8 = Buffer.from(decodedText).toString("latin1") === lineBytes;
    return isValidUtf8
      ? decodedText.replace(UNSAFE_OR_ALIKE, (unsafeChar) => showChar(unsafeChar, "U+"))
      : lineBytes.replace(/[^\t\x20-\x7e]/g, (unsafeByte) => showChar(unsafeByte, ""));
  };
  return versionTexts.map((versionText) =>
    (hasDosEnds ? versionText.replaceAll("\r\n", "\n") : versionText)
      .split("\n")
      .map(cleanLine)
      .join("\n"),
  );
}
// and what stands for others
const UNSAFE_OR_ALIKE = new RegExp(`${UNSAFE_CHARS.source}|[\u2400-\u241f\ufffd⟨]`, "gu");

/**
 * The same for rendered text, whose colours and links stay. The model's own text was cleaned
 * before.
 */
export function cleanRendered(renderedText: string): string {
  return renderedText
    .replace(/\r\n/g, "\n")
    .replace(PAINT_OR_UNSAFE, (matchedText) =>
      /^\x1b./.test(matchedText) ? matchedText : clean(matchedText),
    );
}
const PAINT_SEQUENCE = "\\x1b\\[[\\d;]*m|\\x1b\\]8;;[!-~]*\\x1b\\\\";
const PAINT_OR_UNSAFE = new RegExp(`${PAINT_SEQUENCE}|${UNSAFE_CHARS.source}`, "gu");

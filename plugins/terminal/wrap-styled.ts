// Coloured text in lines of so many columns: no style or link leaks into a margin or a border.
import { width } from "zz/text";

export const SEQUENCE = /\x1b\[([\d;]*)m|\x1b\]8;;[^\x1b]*\x1b\\/g;
export const LINK_END = "\x1b]8;;\x1b\\";
/** A sequence that ends a style or a link. */
const ENDS = /^\x1b\[(?:2[1-9]|[34]9)m$|^\x1b\]8;;\x1b/;
const PIECE = /\n| +|[^\n ]+/g; // no sequence contains a space
/**
 * In these scripts a line may end after each character, but not before closing or after opening
 * punctuation.
 */
const SCRIPTS = "\\u3040-\\u30ff\\u3400-\\u9fff\\u{20000}-\\u{3ffff}";
const OPENS = "「『（【《〈〔“";
const CLOSES = "、。，．！？：；」』）】》〉〕”ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ";
const WIDE = new RegExp(`[${SCRIPTS}]`, "u");
const WIDE_PIECE = new RegExp(
  `[${OPENS}]*[${SCRIPTS}][${CLOSES}]*|(?:(?![${OPENS}]+[${SCRIPTS}])[^${SCRIPTS}])+`,
  "gu",
);

/**
 * Lines of at most so many columns, broken between words; hard: also inside longer words. None of
 * our libraries wraps text in which several styles are open at once.
 */
export function wrap(text: string, room: number, hard = false): string[] {
  if (text.length <= room && !/[^\x20-\x7e]/.test(text)) return [text.trim()];
  const lines: string[] = [];
  let [line, used, gap] = ["", 0, ""];
  for (const piece of text.match(PIECE) ?? []) {
    if (piece === "\n") push();
    else if (piece[0] === " ") gap = piece;
    else for (const part of split(piece, hard ? room : Infinity)) put(part, width(part));
  }
  if (line) push();
  return settle(lines);

  /** Adds a part to this line if it fits. */
  function put(part: string, size: number): void {
    if (size && used && used + gap.length + size > room) push();
    const space = size && used ? gap : "";
    if (size) gap = "";
    line += space + part;
    used += space.length + size;
  }
  function push(): void {
    lines.push(line);
    [line, used, gap] = ["", 0, ""];
  }
}

/** A word in the parts between which a line may end, each with its sequences. */
function split(word: string, maxColumns: number): string[] {
  const text = word.includes("\x1b") ? word.replace(SEQUENCE, "") : word;
  const pieces = WIDE.test(text) ? text.match(WIDE_PIECE)! : [text];
  const parts =
    maxColumns === Infinity
      ? pieces
      : pieces.flatMap((part) => (width(part) > maxColumns ? characters(part) : [part]));
  if (parts.length === 1) return [word];
  if (text === word) return parts;
  let offset = 0;
  return parts.map((part, i) => {
    const from = offset;
    for (let remaining = part.length; remaining > 0; ) {
      const size = sequenceAt(word, offset)?.length;
      offset += size ?? 1;
      if (size === undefined) remaining--;
    }
    for (
      let next = sequenceAt(word, offset);
      next && ENDS.test(next);
      next = sequenceAt(word, offset)
    )
      offset += next.length;
    if (i === parts.length - 1) offset = word.length;
    return word.slice(from, offset);
  });
}

const characters = (text: string): string[] =>
  Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);

function sequenceAt(text: string, index: number): string | undefined {
  if (text[index] !== "\x1b") return undefined;
  const sticky = new RegExp(SEQUENCE, "y");
  sticky.lastIndex = index;
  return sticky.exec(text)?.[0];
}

/**
 * Each line ends the open styles and the next one begins them again, so that none leaks into a
 * margin or a border.
 */
function settle(lines: string[]): string[] {
  if (lines.length === 1) return lines;
  const open = new Map<string, string>(); // what begins a style, by what ends it
  return lines.map((line) => {
    if (!open.size && !line.includes("\x1b")) return line;
    const before = [...open.values()].join("");
    for (const [sequence, codes] of line.matchAll(SEQUENCE)) note(open, sequence, codes);
    const after = [...open.keys()].reverse().join("");
    return line && before + line + after;
  });
}

/** The code that ends what this one begins. */
function closing(code: number): number {
  if (code === 1) return 22;
  if (code < 10) return code + 20;
  return (code >= 40 && code < 50) || code >= 100 ? 49 : 39;
}

function note(open: Map<string, string>, sequence: string, codes: string | undefined): void {
  const link = codes === undefined;
  const end = link ? LINK_END : `\x1b[${closing(Number.parseInt(codes, 10))}m`;
  if (ENDS.test(sequence)) open.delete(sequence);
  // bold and dim end together
  else open.set(end, (end === "\x1b[22m" ? (open.get(end) ?? "") : "") + sequence);
}

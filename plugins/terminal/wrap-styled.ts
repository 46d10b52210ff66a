// Coloured text in lines of so many columns: no style or link leaks into a margin or a border.
import { width } from "zz/text";

export const SEQUENCE = /\x1b\[([\d;]*)m|\x1b\]8;;[^\x1b]*\x1b\\/g;
export const LINK_END = "\x1b]8;;\x1b\\";
/** A sequence that ends a style or a link. */
const ENDING_SEQUENCE = /^\x1b\[(?:2[1-9]|[34]9)m$|^\x1b\]8;;\x1b/;
const LINE_PIECE = /\n| +|[^\n ]+/g; // no sequence contains a space
/**
 * In these scripts a line may end after each character, but not before closing or after opening
 * punctuation.
 */
const SCRIPTS = "\\u3040-\\u30ff\\u3400-\\u9fff\\u{20000}-\\u{3ffff}";
const OPENING_MARKS = "「『（【《〈〔“";
const CLOSING_MARKS = "、。，．！？：；」』）】》〉〕”ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ";
const WIDE_CHARACTER = new RegExp(`[${SCRIPTS}]`, "u");
const WIDE_PIECE = new RegExp(
  `[${OPENING_MARKS}]*[${SCRIPTS}][${CLOSING_MARKS}]*|(?:(?![` +
    `${OPENING_MARKS}]+[${SCRIPTS}])[^${SCRIPTS}])+`,
  "gu",
);

/**
 * Lines of at most so many columns, broken between words; hard: also inside longer words. None of
 * our libraries wraps text in which several styles are open at once.
 */
export function wrap(styledText: string, maxColumns: number, hard = false): string[] {
  if (styledText.length <= maxColumns && !/[^\x20-\x7e]/.test(styledText))
    return [styledText.trim()];
  const wrappedLines: string[] = [];
  let [pendingLine, usedColumns, pendingGap] = ["", 0, ""];
  for (const textPiece of styledText.match(LINE_PIECE) ?? []) {
    if (textPiece === "\n") finishLine();
    else if (textPiece[0] === " ") pendingGap = textPiece;
    else
      for (const wordPart of splitWord(textPiece, hard ? maxColumns : Infinity))
        placePart(wordPart, width(wordPart));
  }
  if (pendingLine) finishLine();
  return closeStyles(wrappedLines);

  /** Adds a part to this line if it fits. */
  function placePart(wordPart: string, partWidth: number): void {
    if (partWidth && usedColumns && usedColumns + pendingGap.length + partWidth > maxColumns)
      finishLine();
    const gapBefore = partWidth && usedColumns ? pendingGap : "";
    if (partWidth) pendingGap = "";
    pendingLine += gapBefore + wordPart;
    usedColumns += gapBefore.length + partWidth;
  }
  function finishLine(): void {
    wrappedLines.push(pendingLine);
    [pendingLine, usedColumns, pendingGap] = ["", 0, ""];
  }
}

/** A word in the parts between which a line may end, each with its sequences. */
function splitWord(styledWord: string, maxColumns: number): string[] {
  const plainWord = styledWord.includes("\x1b") ? styledWord.replace(SEQUENCE, "") : styledWord;
  const wordPieces = WIDE_CHARACTER.test(plainWord) ? plainWord.match(WIDE_PIECE)! : [plainWord];
  const wordParts =
    maxColumns === Infinity
      ? wordPieces
      : wordPieces.flatMap((wordPiece) =>
          width(wordPiece) > maxColumns ? characters(wordPiece) : [wordPiece],
        );
  if (wordParts.length === 1) return [styledWord];
  if (plainWord === styledWord) return wordParts;
  let wordOffset = 0;
  return wordParts.map((wordPart, i) => {
    const partStart = wordOffset;
    for (let remaining = wordPart.length; remaining > 0; ) {
      const sequenceLength = sequenceAt(styledWord, wordOffset)?.length;
      wordOffset += sequenceLength ?? 1;
      if (sequenceLength === undefined) remaining--;
    }
    for (
      let nextSequence = sequenceAt(styledWord, wordOffset);
      nextSequence && ENDING_SEQUENCE.test(nextSequence);
      nextSequence = sequenceAt(styledWord, wordOffset)
    )
      wordOffset += nextSequence.length;
    if (i === wordParts.length - 1) wordOffset = styledWord.length;
    return styledWord.slice(partStart, wordOffset);
  });
}

const characters = (plainText: string): string[] =>
  Array.from(new Intl.Segmenter().segment(plainText), ({ segment }) => segment);

function sequenceAt(styledText: string, index: number): string | undefined {
  if (styledText[index] !== "\x1b") return undefined;
  const stickyPattern = new RegExp(SEQUENCE, "y");
  stickyPattern.lastIndex = index;
  return stickyPattern.exec(styledText)?.[0];
}

/**
 * Each line ends the open styles and the next one begins them again, so that none leaks into a
 * margin or a border.
 */
function closeStyles(wrappedLines: string[]): string[] {
  if (wrappedLines.length === 1) return wrappedLines;
  const openStyles = new Map<string, string>(); // what begins a style, by what ends it
  return wrappedLines.map((wrappedLine) => {
    if (!openStyles.size && !wrappedLine.includes("\x1b")) return wrappedLine;
    const openingCodes = [...openStyles.values()].join("");
    for (const [sequence, styleCodes] of wrappedLine.matchAll(SEQUENCE))
      noteSequence(openStyles, sequence, styleCodes);
    const closingCodes = [...openStyles.keys()].reverse().join("");
    return wrappedLine && openingCodes + wrappedLine + closingCodes;
  });
}

/** The code that ends what this one begins. */
function closing(styleCode: number): number {
  if (styleCode === 1) return 22;
  if (styleCode < 10) return styleCode + 20;
  return (styleCode >= 40 && styleCode < 50) || styleCode >= 100 ? 49 : 39;
}

function noteSequence(
  openStyles: Map<string, string>,
  sequence: string,
  styleCodes: string | undefined,
): void {
  const isLink = styleCodes === undefined;
  const endSequence = isLink ? LINK_END : `\x1b[${closing(Number.parseInt(styleCodes, 10))}m`;
  if (ENDING_SEQUENCE.test(sequence)) openStyles.delete(sequence);
  // bold and dim end together
  else
    openStyles.set(
      endSequence,
      (endSequence === "\x1b[22m" ? (openStyles.get(endSequence) ?? "") : "") + sequence,
    );
}

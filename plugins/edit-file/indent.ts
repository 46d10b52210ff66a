// Indentation: how old_string's differs from the file's, and how new lines get the file's.
import { type File, indentOf, isBlank, type Lines } from "./file-text.ts";

/**
 * Gives a new line the file's indentation; `like` is the line of old_string it replaces. Undefined
 * if uncertain.
 */
export type Reindent = (newLine: string, replacedIndex?: number) => string | undefined;
type Indent = (oldIndent: string) => string | undefined;
/** The indentation of each line that is not blank, in old_string and in the file. */
export type IndentPairs = [old: string, own: string][];

export const indentPairs = (openedFile: File, oldLines: string[], startRow: number): IndentPairs =>
  oldLines.flatMap((oldLine, i) =>
    isBlank(oldLine) ? [] : [[indentOf(oldLine), indentOf(openedFile.lines[startRow + i]!)]],
  );

/**
 * Indents new lines as the file does: like the line they replace, like equally indented lines, or
 * all by one rule.
 */
export function indented(openedFile: File, { old }: Lines, startRow: number): Reindent {
  const indents = indentPairs(openedFile, old, startRow);
  const byIndent = Map.groupBy(indents, ([oldIndent]) => oldIndent);
  const indentRule = shift(indents) ?? scale(indents);
  return (newLine, replacedIndex) => {
    if (isBlank(newLine)) return newLine;
    const lineIndent = indentOf(newLine);
    const fileIndents = new Set(byIndent.get(lineIndent)?.map(([, fileIndent]) => fileIndent));
    const hasSameIndent =
      replacedIndex !== undefined &&
      !isBlank(old[replacedIndex]!) &&
      indentOf(old[replacedIndex]!) === lineIndent;
    const modelIndent = hasSameIndent
      ? indentOf(openedFile.lines[startRow + replacedIndex]!)
      : undefined;
    const indentInFile = fileIndents.size === 1 ? [...fileIndents][0] : modelIndent;
    const newIndent = indentInFile ?? (fileIndents.size ? undefined : indentRule?.(lineIndent));
    return newIndent === undefined ? undefined : newIndent + newLine.slice(lineIndent.length);
  };
}

/**
 * The rule that adds the same characters before every line, or removes them; undefined if that does
 * not fit.
 */
export function shift(indents: IndentPairs): Indent | undefined {
  const [firstIndent, fileIndent] = indents[0]!;
  const addedBlanks = fileIndent.endsWith(firstIndent)
    ? fileIndent.slice(0, fileIndent.length - firstIndent.length)
    : undefined;
  const removedBlanks = firstIndent.endsWith(fileIndent)
    ? firstIndent.slice(0, firstIndent.length - fileIndent.length)
    : undefined;
  if (
    addedBlanks !== undefined &&
    indents.every(([oldIndent, ownIndent]) => ownIndent === addedBlanks + oldIndent)
  )
    // never mixes tabs and spaces
    return (lineIndent) =>
      new Set(addedBlanks + lineIndent).size > 1 ? undefined : addedBlanks + lineIndent;
  if (
    removedBlanks !== undefined &&
    indents.every(([oldIndent, ownIndent]) => oldIndent === removedBlanks + ownIndent)
  )
    return (lineIndent) =>
      lineIndent.startsWith(removedBlanks) ? lineIndent.slice(removedBlanks.length) : undefined;
  return undefined;
}

/**
 * The rule that converts indentation at a fixed rate: tabs for spaces, four spaces for two.
 * Undefined if none fits.
 */
export function scale(indents: IndentPairs): Indent | undefined {
  const [oldBlank, fileBlank] = [
    blankCharOf(indents.map(([oldIndent]) => oldIndent)),
    blankCharOf(indents.map(([, fileIndent]) => fileIndent)),
  ];
  if (!oldBlank || !fileBlank) return undefined;
  const indentWidths = indents
    .map(([oldIndent, fileIndent]) => [oldIndent.length, fileIndent.length] as const)
    .sort(([firstWidth], [secondWidth]) => firstWidth - secondWidth);
  const [[minOld, minOwn], [maxOld, maxOwn]] = [indentWidths[0]!, indentWidths.at(-1)!];
  if (minOld === maxOld && oldBlank === fileBlank) return undefined;
  const [widthRate, baseWidth] =
    minOld === maxOld
      ? [minOwn / minOld, 0]
      : [
          (maxOwn - minOwn) / (maxOld - minOld),
          minOwn - (minOld * (maxOwn - minOwn)) / (maxOld - minOld),
        ];
  if (
    !WIDTH_RATES.includes(widthRate) ||
    indentWidths.some(([oldWidth, ownWidth]) => baseWidth + widthRate * oldWidth !== ownWidth)
  )
    return undefined;
  return (lineIndent) => {
    const newWidth = baseWidth + widthRate * lineIndent.length;
    const isConvertible =
      [...lineIndent].every((blankChar) => blankChar === oldBlank) &&
      Number.isInteger(newWidth) &&
      newWidth >= 0;
    return isConvertible ? fileBlank.repeat(newWidth) : undefined;
  };
}
const WIDTH_RATES = [2, 4, 8, 1 / 2, 1 / 4, 1 / 8];

/** The one character that all of the indentations consist of. */
function blankCharOf(indents: string[]): string | undefined {
  const blankChars = new Set(indents.join(""));
  return blankChars.size === 1 ? [...blankChars][0] : undefined;
}

export const isOtherBlank = (indents: IndentPairs): boolean =>
  blankCharOf(indents.map(([old]) => old)) !==
  blankCharOf(indents.map(([, fileIndent]) => fileIndent));

// A difference as a table: both sides stand beside one another, or one under the other, as the
// style of the page says.
import { structuredPatch } from "diff";
import { clean } from "zz/text";
import { colourCode, languageOf } from "./colour-code.ts";

const MAX_DIFFERENCES = 2_000; // with more, all of the text is shown as removed and added
const CONTEXT_LINES = 3;

export type Lines = { added: number; removed: number };
type Row = { sign: string; number: number; code: string };

/** The table, and how many lines came and went. */
export function diffToHtml(
  filePath: string,
  textBefore: string,
  textAfter: string,
): Lines & { html: string } {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_DIFFERENCES };
  const hunks = structuredPatch(filePath, filePath, textBefore, textAfter, "", "", options)
    ?.hunks ?? [makeWholeHunk(textBefore, textAfter)];
  const language = languageOf(filePath);
  const hunkLines = hunks.flatMap((hunk) => hunk.lines);
  const countLines = (lineSign: string) =>
    hunkLines.filter((hunkLine) => hunkLine.startsWith(lineSign)).length;
  const hunkRows = hunks.map((hunk) =>
    blocksOf(hunk)
      .map((block) => blockHtml(block, language))
      .join(""),
  );
  const html = `<table class="diff"><tbody>${hunkRows.join(GAP_ROW)}</tbody></table>`;
  return { html, added: countLines("+"), removed: countLines("-") };
}

const GAP_ROW = '<tr class="gap"><td colspan="2">⋮</td></tr>';

type Hunk = { oldStart: number; newStart: number; lines: string[] };
const makeWholeHunk = (textBefore: string, textAfter: string): Hunk => ({
  oldStart: 1,
  newStart: 1,
  lines: [...signLines("-", textBefore), ...signLines("+", textAfter)],
});
const signLines = (lineSign: string, wholeText: string): string[] =>
  wholeText
    ? wholeText
        .replace(/\n$/, "")
        .split("\n")
        .map((textLine) => lineSign + textLine)
    : [];

type Block = { left: Row[]; right: Row[]; changed: boolean };
/** Runs of lines that are the same on both sides, and of lines that are not. */
function blocksOf({ oldStart, newStart, lines }: Hunk): Block[] {
  const blocks: Block[] = [];
  let [leftNumber, rightNumber] = [oldStart, newStart];
  for (const hunkLine of lines) {
    const [sign = " ", code] = [hunkLine[0], hunkLine.slice(1)];
    if (sign === "\\") continue; // no newline at the end of the file
    const changed = sign !== " ";
    let lastBlock = blocks.at(-1);
    if (lastBlock?.changed !== changed) {
      lastBlock = { left: [], right: [], changed };
      blocks.push(lastBlock);
    }
    if (sign !== "+") lastBlock.left.push({ sign, number: leftNumber++, code });
    if (sign !== "-") lastBlock.right.push({ sign, number: rightNumber++, code });
  }
  return blocks;
}

function blockHtml({ left, right, changed }: Block, language: string): string {
  const cellHtml = (sideRows: Row[], sideClass: string) =>
    "<td " +
    `class="${sideClass}">${sideRows.map((sideRow) => lineHtml(sideRow, language)).join("")}</td>`;
  const rowClass = changed ? "changed" : "same";
  return `<tr class="${rowClass}">${cellHtml(left, "old")}${cellHtml(right, "new")}</tr>`;
}

const SIGN_LOOKS: Record<string, { tag: string; sign: string }> = {
  "-": { tag: "del", sign: "−" },
  "+": { tag: "ins", sign: "+" },
  " ": { tag: "span", sign: " " },
};
function lineHtml({ sign, number, code }: Row, language: string): string {
  const { tag, sign: shownSign } = SIGN_LOOKS[sign]!;
  const codeHtml = colourCode(clean(code), language) || " ";
  const lineContent = `<i>${number}</i><b>${shownSign}</b><code>${codeHtml}</code>`;
  return `<${tag} class="line">${lineContent}</${tag}>`;
}

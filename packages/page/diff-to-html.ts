// A difference as a table: both sides stand beside one another, or one under the other, as the
// style of the page says.
import { structuredPatch } from "diff";
import { clean } from "zz/text";
import { colourCode, languageOf } from "./colour-code.ts";

const DIFF_TIMEOUT = 300; // ms; after that all of the text is shown as removed and added
const CONTEXT_LINES = 3;

export type Lines = { added: number; removed: number };
type Row = { sign: string; number: number; code: string };

/** The table, and how many lines came and went. */
export function diffToHtml(path: string, before: string, after: string): Lines & { html: string } {
  const options = { context: CONTEXT_LINES, timeout: DIFF_TIMEOUT };
  const hunks = structuredPatch(path, path, before, after, "", "", options)?.hunks ?? [
    allOf(before, after),
  ];
  const language = languageOf(path);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const rows = hunks.map((hunk, index) => {
    const gap = index ? '<tr class="gap"><td colspan="2">⋮</td></tr>' : "";
    return (
      gap +
      blocksOf(hunk)
        .map((block) => rowOf(block, language))
        .join("")
    );
  });
  const html = `<table class="diff"><tbody>${rows.join("")}</tbody></table>`;
  return { html, added: count("+"), removed: count("-") };
}

type Hunk = { oldStart: number; newStart: number; lines: string[] };
const allOf = (before: string, after: string): Hunk => ({
  oldStart: 1,
  newStart: 1,
  lines: [...signed("-", before), ...signed("+", after)],
});
const signed = (sign: string, text: string): string[] =>
  text
    ? text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => sign + line)
    : [];

type Block = { left: Row[]; right: Row[]; changed: boolean };
/** Runs of lines that are the same on both sides, and of lines that are not. */
function blocksOf({ oldStart, newStart, lines }: Hunk): Block[] {
  const blocks: Block[] = [];
  let [left, right] = [oldStart, newStart];
  for (const line of lines) {
    const [sign = " ", code] = [line[0], line.slice(1)];
    if (sign === "\\") continue; // no newline at the end of the file
    const changed = sign !== " ";
    let block = blocks.at(-1);
    if (block?.changed !== changed) {
      block = { left: [], right: [], changed };
      blocks.push(block);
    }
    if (sign !== "+") block.left.push({ sign, number: left++, code });
    if (sign !== "-") block.right.push({ sign, number: right++, code });
  }
  return blocks;
}

function rowOf({ left, right, changed }: Block, language: string): string {
  const cell = (rows: Row[], side: string) =>
    `<td class="${side}">${rows.map((row) => lineOf(row, language)).join("")}</td>`;
  const kind = changed ? "changed" : "same";
  return `<tr class="${kind}">${cell(left, "old")}${cell(right, "new")}</tr>`;
}

type Look = { tag: string; sign: string };
const LOOKS: Record<string, Look> = {
  "-": { tag: "del", sign: "−" },
  "+": { tag: "ins", sign: "+" },
  " ": { tag: "span", sign: " " },
};
function lineOf({ sign, number, code }: Row, language: string): string {
  const { tag, sign: shown } = LOOKS[sign] ?? LOOKS[" "]!;
  const text = colourCode(clean(code), language) || " ";
  return `<${tag} class="line"><i>${number}</i><b>${shown}</b><code>${text}</code></${tag}>`;
}

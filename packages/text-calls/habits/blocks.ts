// SEARCH/REPLACE blocks as edits; for an incomplete block, a sentence that says what is missing.

export type Edit = { old_string: string; new_string: string };
const SEARCH_LINE = /^(<{5,9}|-{5,9}) ?SEARCH>?\s*$/;
const MIDDLE_LINE = /^={5,9}\s*$/;
const REPLACE = /^(>{5,9}|\+{5,9}) ?REPLACE\s*$/;
/** The line numbers that some models put in front; the text alone decides where an edit applies. */
const HINTS = /^(?:(?::(?:start|end)_line:[^\S\n]*\d+[^\S\n]*\n)+(?:-{5,9}[^\S\n]*\n)?|-{7}\n)/;
const ESCAPED = /^\\(?=<{5,9}|={5,9}|>{5,9}|-{5,9})/; // a line of the text that looks like a marker

export function editsOfBlocks(blocksText: string): Edit[] | string {
  const parsedEdits: Edit[] = [];
  let [state, search, replace]: ["outside" | "search" | "replace", string[], string[]] = [
    "outside",
    [],
    [],
  ];
  for (const [i, blockLine] of blocksText.split(/\r?\n/).entries()) {
    const reportProblem = (problem: string) => `Line ${i + 1} of the blocks is ${problem}.`;
    if (SEARCH_LINE.test(blockLine)) {
      if (state !== "outside")
        return reportProblem(
          `another SEARCH, though the block before it has no ${missing(state)} line`,
        );
      [state, search, replace] = ["search", [], []];
    } else if (MIDDLE_LINE.test(blockLine)) {
      if (state === "outside")
        return reportProblem("a ======= line without a SEARCH line before it");
      if (state === "replace")
        return reportProblem(
          "a second ======= line; write \\======= for one that belongs to the text",
        );
      state = "replace";
    } else if (REPLACE.test(blockLine)) {
      if (state !== "replace")
        return reportProblem(
          `a REPLACE line without a ${state === "search" ? "=======" : "SEARCH"} line before it`,
        );
      parsedEdits.push({
        old_string: joinLines(search).replace(HINTS, ""),
        new_string: joinLines(replace),
      });
      state = "outside";
    } else if (state === "search") search.push(blockLine.replace(ESCAPED, ""));
    else if (state === "replace") replace.push(blockLine.replace(ESCAPED, ""));
    else if (blockLine.trim() && !/^\s*(```|~~~)/.test(blockLine))
      return reportProblem("outside of them: a block begins with <<<<<<< SEARCH");
  }
  if (state !== "outside") return `The last block has no ${missing(state)} line.`;
  return parsedEdits.length
    ? parsedEdits
    : "There is no SEARCH/REPLACE block: <<<<<<< SEARCH, the old lines, " +
        "=======, the new ones, >>>>>>> REPLACE.";
}

const missing = (state: string): string =>
  state === "search" ? "======= and no >>>>>>> REPLACE" : ">>>>>>> REPLACE";
const joinLines = (blockLines: string[]): string =>
  blockLines.length ? `${blockLines.join("\n")}\n` : "";

// SEARCH/REPLACE blocks as edits; for an incomplete block, a sentence that says what is missing.

type Edit = { old_string: string; new_string: string };
const SEARCH = /^(<{5,9}|-{5,9}) ?SEARCH>?\s*$/;
const MIDDLE = /^={5,9}\s*$/;
const REPLACE = /^(>{5,9}|\+{5,9}) ?REPLACE\s*$/;
const HINT = /^:(start_line|end_line):\s*\d+\s*$/;
const ESCAPED = /^\\(?=<{5,9}|={5,9}|>{5,9}|-{5,9})/; // a line of the text that looks like a marker

export function editsOfBlocks(diff: string): Edit[] | string {
  const edits: Edit[] = [];
  let [state, search, replace]: ["outside" | "search" | "replace", string[], string[]] = [
    "outside",
    [],
    [],
  ];
  for (const [i, line] of diff.split(/\r?\n/).entries()) {
    const wrong = (problem: string) => `Line ${i + 1} of the blocks is ${problem}.`;
    if (SEARCH.test(line)) {
      if (state !== "outside")
        return wrong(`another SEARCH, though the block before it has no ${missing(state)} line`);
      [state, search, replace] = ["search", [], []];
    } else if (MIDDLE.test(line)) {
      if (state === "outside") return wrong("a ======= line without a SEARCH line before it");
      if (state === "replace")
        return wrong("a second ======= line; write \\======= for one that belongs to the text");
      state = "replace";
    } else if (REPLACE.test(line)) {
      if (state !== "replace")
        return wrong(
          `a REPLACE line without a ${state === "search" ? "=======" : "SEARCH"} line before it`,
        );
      edits.push({ old_string: textOf(withoutHints(search)), new_string: textOf(replace) });
      state = "outside";
    } else if (state === "search") search.push(line.replace(ESCAPED, ""));
    else if (state === "replace") replace.push(line.replace(ESCAPED, ""));
    else if (line.trim() && !/^\s*(```|~~~)/.test(line))
      return wrong("outside of them: a block begins with <<<<<<< SEARCH");
  }
  if (state !== "outside") return `The last block has no ${missing(state)} line.`;
  return edits.length
    ? edits
    : "There is no SEARCH/REPLACE block: <<<<<<< SEARCH, the old lines, =======, the new ones, >>>>>>> REPLACE.";
}

const missing = (state: string): string =>
  state === "search" ? "======= and no >>>>>>> REPLACE" : ">>>>>>> REPLACE";
const textOf = (lines: string[]): string => (lines.length ? `${lines.join("\n")}\n` : "");

/**
 * Drops the line numbers that some models put in front; the text alone decides where an edit
 * applies.
 */
function withoutHints(lines: string[]): string[] {
  let index = 0;
  while (HINT.test(lines[index] ?? "")) index++;
  if (index) return lines.slice(/^-{5,9}\s*$/.test(lines[index] ?? "") ? index + 1 : index);
  if (/^-{7}$/.test(lines[0] ?? "")) return lines.slice(1);
  return lines;
}

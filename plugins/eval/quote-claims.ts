// Claims that quote code.
import type { Claim } from "./claims.ts";
import { at, type Facts, locate, type Verdict } from "./facts.ts";
import { compacted, compactedTexts, distance, lineAt, linesOf } from "./texts.ts";

export function quoteVerdict(facts: Facts, claim: Claim): Verdict {
  return claim.name.includes("\n") || (claim.path && !claim.sure)
    ? blockVerdict(facts, claim)
    : lineVerdict(facts, claim);
}

/** The verdict on a block that is claimed to be in a file; dots in it mark omissions. */
function blockVerdict(facts: Facts, claim: Claim): Verdict {
  const [file] = locate(facts, claim.path!).files;
  const text = file && compactedTexts(facts.texts).get(file);
  if (!text) return undefined; // the claim about the path itself reports it
  const quoted = unnumbered(claim.name.split("\n"))
    .map((row) => row.trim())
    .filter((row) => /[\w$]/.test(row) && !OMISSION.test(row));
  const missing = quoted.filter((row) => !text.includes(compacted(row)));
  if (!quoted.length) return undefined;
  if (!missing.length) return ["good", at({ path: file!, line: lineAt(text, text.indexOf(compacted(quoted[0]!))) })];
  const near = nearestLine(facts, missing[0]!, [file!], MAX_DIFFERENCE_SURE);
  const message = `\`${missing[0]!.slice(0, 80)}\` is not in it${near ? `; nearest: ${near}` : ""}`;
  if (claim.sure) return ["bad", message];
  return missing.length < quoted.length / 3 ? ["open", message] : undefined; // else probably a proposal
}

function lineVerdict(facts: Facts, claim: Claim): Verdict {
  const pieces = compacted(claim.name)
    .split(/\s*(?:\.\.\.|…)\s*/)
    .filter((piece) => piece.length > 2);
  if (!pieces.length) return undefined;
  const own = claim.path ? locate(facts, claim.path).files : [];
  const all = [...own, ...facts.texts.names.filter((name) => !own.includes(name))];
  for (const file of all) {
    const text = compactedTexts(facts.texts).get(file);
    if (!text || !pieces.every((piece) => text.includes(piece))) continue;
    return ["good", at({ path: file, line: lineAt(text, text.indexOf(pieces[0]!)) })];
  }
  const sure = claim.sure && !claim.soft;
  const near = nearestLine(
    facts,
    pieces[0]!,
    own.length ? own : all,
    sure ? MAX_DIFFERENCE_SURE : MAX_DIFFERENCE_UNSURE,
  );
  if (!near || pieces.length > 1) return undefined; // nothing is similar, so it may be a proposal or an example
  return [sure ? "bad" : "open", `it stands nowhere like that; nearest: ${near}`];
}

/** The most similar line, among those that contain one of its longest words. */
function nearestLine(facts: Facts, row: string, files: readonly string[], maxDifference: number): string | undefined {
  const wanted = compacted(row).trim().slice(0, MAX_COMPARED_CHARS);
  const words = [...wanted.matchAll(/[\p{L}_$][\p{L}\p{N}_$]{2,}/gu)].sort((a, b) => b[0].length - a[0].length);
  for (const { 0: word, index: before } of words.slice(0, 3)) {
    let [least, found, left] = [maxDifference, "", MAX_PLACES];
    for (const file of files) {
      const text = compactedTexts(facts.texts).get(file) ?? "";
      for (let from = text.indexOf(word); from >= 0 && left; from = text.indexOf(word, from + 1)) {
        left--;
        const start = Math.max(text.lastIndexOf("\n", from) + 1, from - before);
        const [window = ""] = text.slice(start, from - before + wanted.length).split("\n");
        const difference = distance(wanted, window);
        if (difference < least) [least, found] = [difference, placeOfLine(facts, file, lineAt(text, from))];
      }
    }
    if (found) return found;
  }
  return undefined;
}

function placeOfLine(facts: Facts, file: string, line: number): string {
  return `${at({ path: file, line })} \`${linesOf(facts.texts.byName.get(file)!)[line - 1]!.trim().slice(0, 80)}\``;
}
const [MAX_DIFFERENCE_SURE, MAX_DIFFERENCE_UNSURE] = [0.3, 0.15]; // share of a quote's characters that may differ
const MAX_COMPARED_CHARS = 160; // of a quoted line
const MAX_PLACES = 300;
const OMISSION = /^(?:\W*(?:\.\.\.|…)|(?:\/\/|#|\/\*).*(?:\.\.\.|…))/;

/** Rows without the line numbers that tools put before each line. */
function unnumbered(rows: string[]): string[] {
  const numbered = rows.filter((row) => /^\s*\d+[\t|:]/.test(row)).length;
  return numbered > rows.length / 2 ? rows.map((row) => row.replace(/^\s*\d+[\t|:] ?/, "")) : rows;
}

// Claims that quote code.
import type { Claim } from "./claims.ts";
import { at, type Facts, locate, type Verdict } from "./facts.ts";
import { distance, lineAt, linesOf, squeezed, squeezedTexts } from "./texts.ts";

export function quoteVerdict(facts: Facts, claim: Claim): Verdict {
  return claim.name.includes("\n") || (claim.path && !claim.sure)
    ? blockVerdict(facts, claim)
    : lineVerdict(facts, claim);
}

/** A block that is claimed to be in a file; dots mark omissions. */
function blockVerdict(facts: Facts, claim: Claim): Verdict {
  const [file] = locate(facts, claim.path!).files;
  const text = file && squeezedTexts(facts.texts).get(file);
  if (!text) return undefined; // the claim about the path itself reports it
  const told = unnumbered(claim.name.split("\n"))
    .map((row) => row.trim())
    .filter((row) => /[\w$]/.test(row) && !LEFT_OUT.test(row));
  const wrong = told.filter((row) => !text.includes(squeezed(row)));
  if (!told.length) return undefined;
  if (!wrong.length) return ["good", at({ path: file!, line: lineAt(text, text.indexOf(squeezed(told[0]!))) })];
  const near = nearestLine(facts, wrong[0]!, [file!], ALMOST);
  const says = `\`${wrong[0]!.slice(0, 80)}\` is not in it${near ? `; nearest: ${near}` : ""}`;
  if (claim.sure) return ["bad", says];
  return wrong.length < told.length / 3 ? ["open", says] : undefined; // otherwise the answer probably proposes it
}

function lineVerdict(facts: Facts, claim: Claim): Verdict {
  const pieces = squeezed(claim.name)
    .split(/\s*(?:\.\.\.|…)\s*/)
    .filter((piece) => piece.length > 2);
  if (!pieces.length) return undefined;
  const own = claim.path ? locate(facts, claim.path).files : [];
  const all = [...own, ...facts.texts.names.filter((name) => !own.includes(name))];
  for (const file of all) {
    const text = squeezedTexts(facts.texts).get(file);
    if (!text || !pieces.every((piece) => text.includes(piece))) continue;
    return ["good", at({ path: file, line: lineAt(text, text.indexOf(pieces[0]!)) })];
  }
  const sure = claim.sure && !claim.soft;
  const near = nearestLine(facts, pieces[0]!, own.length ? own : all, sure ? ALMOST : NEARLY);
  if (!near || pieces.length > 1) return undefined; // nothing is similar, so it may be a proposal or an example
  return [sure ? "bad" : "open", `it stands nowhere like that; nearest: ${near}`];
}

/** The most similar line, among those that contain one of its longest words. */
function nearestLine(facts: Facts, row: string, files: readonly string[], almost: number): string | undefined {
  const wanted = squeezed(row).trim().slice(0, MAX_COMPARED_CHARS);
  const words = [...wanted.matchAll(/[\p{L}_$][\p{L}\p{N}_$]{2,}/gu)].sort((a, b) => b[0].length - a[0].length);
  for (const { 0: word, index: before } of words.slice(0, 3)) {
    let [least, found, left] = [almost, "", MAX_PLACES];
    for (const file of files) {
      const text = squeezedTexts(facts.texts).get(file) ?? "";
      for (let from = text.indexOf(word); from >= 0 && left; from = text.indexOf(word, from + 1)) {
        left--;
        const start = Math.max(text.lastIndexOf("\n", from) + 1, from - before);
        const [window = ""] = text.slice(start, from - before + wanted.length).split("\n");
        const far = distance(wanted, window);
        if (far < least) [least, found] = [far, spot(facts, file, lineAt(text, from))];
      }
    }
    if (found) return found;
  }
  return undefined;
}

function spot(facts: Facts, file: string, line: number): string {
  return `${at({ path: file, line })} \`${linesOf(facts.texts.byName.get(file)!)[line - 1]!.trim().slice(0, 80)}\``;
}
const [ALMOST, NEARLY] = [0.3, 0.15]; // share of a quote's characters that may differ: sure quotes, unsure ones
const MAX_COMPARED_CHARS = 160; // of a quoted line
const MAX_PLACES = 300;
const LEFT_OUT = /^(?:\W*(?:\.\.\.|…)|(?:\/\/|#|\/\*).*(?:\.\.\.|…))/;

/** Rows without the line numbers that tools put before each line. */
function unnumbered(rows: string[]): string[] {
  const numbered = rows.filter((row) => /^\s*\d+[\t|:]/.test(row)).length;
  return numbered > rows.length / 2 ? rows.map((row) => row.replace(/^\s*\d+[\t|:] ?/, "")) : rows;
}

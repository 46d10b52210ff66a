// Which places of the product each test file runs, in its own process and in every process that it
// starts. Each file is run once, alone.
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ts } from "@ts-morph/common";
import type { Copy } from "./copy.ts";

export interface Covered {
  passes: boolean;
  ms: number;
  /** By file: a 1 for each character that ran. */
  ran: Map<string, Uint8Array>;
}
type Range = { startOffset: number; endOffset: number; count: number };
type Scripts = { result: { url: string; functions: { ranges: Range[] }[] }[] };

const PRODUCT = /^(zz\.ts|(kernel|sdk|plugins|packages)\/.*\.ts)$/;

export async function coverage(tests: string[], copies: Copy[]): Promise<Map<string, Covered>> {
  const all = new Map<string, Covered>();
  const left = [...tests];
  await Promise.all(
    copies.map(async (copy) => {
      for (let test = left.shift(); test !== undefined; test = left.shift()) {
        const covered = await measure(test, copy);
        const took = (covered.ms / 1_000).toFixed(1).padStart(6);
        console.error(`${covered.passes ? "covers" : "FAILS "} ${took} s  ${test}`);
        all.set(test, covered);
      }
    }),
  );
  return all;
}

async function measure(test: string, copy: Copy): Promise<Covered> {
  const to = join(copy.tmp, "coverage");
  const { outcome, ms } = await copy.run(test, { env: { NODE_V8_COVERAGE: to }, toTheEnd: true });
  const ran = new Map<string, Uint8Array>();
  for (const name of globSync("*.json", { cwd: to }))
    addScripts(readFileSync(join(to, name), "utf8"));
  rmSync(to, { recursive: true, force: true });
  return { passes: outcome === "passed", ms, ran };

  function addScripts(json: string): void {
    const base = pathToFileURL(`${copy.root}/`).href;
    for (const { url, functions } of (JSON.parse(json || '{"result":[]}') as Scripts).result) {
      const file = url.startsWith(base)
        ? decodeURIComponent(url.slice(base.length)).replace(/\?.*/, "")
        : "";
      if (!PRODUCT.test(file)) continue;
      const marks =
        ran.get(file) ?? new Uint8Array(readFileSync(join(copy.root, file), "utf8").length);
      ran.set(file, marks);
      const ranges = functions.flatMap((one) => one.ranges);
      addRanges(marks, ranges);
    }
  }
}

/** The innermost range counts; types were made spaces, so that places are those of the source. */
function addRanges(marks: Uint8Array, ranges: Range[]): void {
  const here = new Uint8Array(marks.length);
  const outerFirst = ranges.toSorted(
    (a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset,
  );
  for (const { startOffset, endOffset, count } of outerFirst)
    here.fill(count ? 1 : 0, startOffset, endOffset);
  for (const [i, mark] of here.entries()) marks[i]! |= mark;
}

/** The share of a folder's lines that some test ran, in per cent. Types alone are never run. */
export function shareOfLines(folder: string, root: string, tests: Iterable<Covered>): number {
  let [ranLines, allLines] = [0, 0];
  const measured = [...tests];
  for (const file of globSync(`${folder}/**/*.ts`, { cwd: root })) {
    const text = readFileSync(join(root, file), "utf8");
    if (hasOnlyTypes(text)) continue;
    let start = 0;
    for (const line of text.split("\n")) {
      const [from, to] = [
        start + line.length - line.trimStart().length,
        start + line.trimEnd().length,
      ];
      start += line.length + 1;
      if (!line.trim()) continue;
      allLines++;
      if (measured.some(({ ran }) => ran.get(file)?.subarray(from, to).includes(1))) ranLines++;
    }
  }
  return (100 * ranLines) / allLines;
}

const hasOnlyTypes = (text: string): boolean =>
  ts
    .createSourceFile("", text, ts.ScriptTarget.Latest)
    .statements.every(
      (statement) =>
        ts.isInterfaceDeclaration(statement) ||
        ts.isTypeAliasDeclaration(statement) ||
        ts.isImportDeclaration(statement),
    );

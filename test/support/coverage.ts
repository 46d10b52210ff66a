// Which lines of the product each test file runs, in its own process and in every process that it
// starts. Each file is run once, alone.
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Copy } from "./copy.ts";

export interface Covered {
  passes: boolean;
  ms: number;
  /** By file: which lines ran. */
  lines: Record<string, number[]>;
}
type Range = { startOffset: number; endOffset: number; count: number };
type Scripts = { result: { url: string; functions: { ranges: Range[] }[] }[] };

const PRODUCT = /^(zz\.ts|(kernel|sdk|plugins)\/.*\.ts)$/;

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
  const texts = new Map<string, string>();
  for (const name of globSync("*.json", { cwd: to }))
    addScripts(readFileSync(join(to, name), "utf8"));
  rmSync(to, { recursive: true, force: true });
  const lines = Object.fromEntries(
    [...ran].map(([file, marks]) => [file, linesOf(texts.get(file)!, marks)]),
  );
  return { passes: outcome === "passed", ms, lines };

  function addScripts(json: string): void {
    const base = pathToFileURL(`${copy.root}/`).href;
    for (const { url, functions } of (JSON.parse(json || '{"result":[]}') as Scripts).result) {
      const file = url.startsWith(base)
        ? decodeURIComponent(url.slice(base.length)).replace(/\?.*/, "")
        : "";
      if (!PRODUCT.test(file)) continue;
      if (!texts.has(file)) texts.set(file, readFileSync(join(copy.root, file), "utf8"));
      const marks = ran.get(file) ?? new Uint8Array(texts.get(file)!.length);
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

function linesOf(text: string, marks: Uint8Array): number[] {
  let start = 0;
  return text.split("\n").flatMap((line, i) => {
    const from = start + line.length - line.trimStart().length;
    const ran = marks.subarray(from, start + line.trimEnd().length).includes(1);
    start += line.length + 1;
    return ran ? [i + 1] : [];
  });
}

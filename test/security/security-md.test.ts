// SECURITY.md: every attack that it names has its test, by the name that stands there.
import { ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../support/run.ts";

const text = readFileSync(join(ROOT, "SECURITY.md"), "utf8");
const table = text.slice(text.indexOf("| attack |")).split("\n\n")[0]!;
const rows = table
  .split("\n")
  .slice(2)
  .map((row) => row.replaceAll("\\|", "¦").split("|").slice(1, -1));

/** A test file, and the tables of DANGEROUS lines, whose headings are names of tests of the
 * judge. */
const sourceOf = (name: string): string => {
  const file = join(ROOT, name.startsWith("packages/") ? name : `test/${name}`);
  ok(existsSync(file), `there is a test file '${name}'`);
  const source = readFileSync(file, "utf8");
  const tables = source.includes("DANGEROUS")
    ? readFileSync(join(ROOT, "test/support/dangerous.ts"), "utf8")
    : "";
  return `${source}${tables}`.toLowerCase();
};

test("SECURITY.md names a test for every attack, and it is there", () => {
  ok(rows.length > 25, `${rows.length} rows`);
  for (const [attack = "", , tests = ""] of rows) {
    const files = [...tests.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, name]) => name!);
    ok(files.length, `it names a test file: ${attack}`);
    const all = files.map(sourceOf).join("\n");
    const [, names = ""] = /`: (.*)$/.exec(tests.trim()) ?? [];
    for (const piece of names.split(/;|…|'/))
      ok(all.includes(piece.trim().toLowerCase()), `'${piece.trim()}' names a test, for ${attack}`);
  }
});

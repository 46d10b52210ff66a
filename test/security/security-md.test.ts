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

const sourceOf = (name: string): string => {
  const file = join(ROOT, "test", name);
  ok(existsSync(file), `there is a test file '${name}'`);
  return readFileSync(file, "utf8").toLowerCase();
};

test("SECURITY.md: the table is there", () => ok(rows.length > 25, `${rows.length} rows`));

for (const [attack = "", , tests = ""] of rows)
  test(`SECURITY.md: the test is there for ${attack.trim()}`, () => {
    const files = [...tests.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, name]) => name!);
    ok(files.length, "it names a test file");
    const all = files.map(sourceOf).join("\n");
    const [, names = ""] = /`: (.*)$/.exec(tests.trim()) ?? [];
    for (const part of names.split(/;|…/))
      for (const piece of part.split(/'/))
        ok(all.includes(piece.trim().toLowerCase()), `'${piece.trim()}' names a test`);
  });

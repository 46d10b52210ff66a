// The code stays easy to read: short functions, and lines that fit.
import { deepEqual } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ts } from "@ts-morph/common";
import { ROOT } from "../../support/run.ts";

const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const sources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/^[^/]+\/test\//.test(name)) // a package has its tests beside it
    .map((name) => `${folder}/${name}`);
const linesOf = (file: string): string[] => text(file).split("\n");

test("No line of the kernel is longer than 140 columns", () => {
  const long = sources("kernel").flatMap((file) =>
    linesOf(file).flatMap((line, i) => (line.length > 140 ? `${file}:${i + 1}` : [])),
  );
  deepEqual(long, []);
});

test("No function of kernel/, sdk/, plugins/, packages/ and zz.ts is longer than 80 lines", () => {
  const all = ["kernel", "sdk", "plugins", "packages"].flatMap(sources);
  deepEqual([...all, "zz.ts"].flatMap(longFunctions), []);
});

function longFunctions(file: string): string[] {
  const found: string[] = [];
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  visit(source);
  return found;

  function visit(node: ts.Node): void {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const [first, last] = [node.getStart(), node.end].map((at) => source.getLineAndCharacterOfPosition(at).line + 1);
      if (last! - first! >= 80) found.push(`${file}:${first} has ${last! - first! + 1} lines`);
    }
    node.forEachChild(visit);
  }
}

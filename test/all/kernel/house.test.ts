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
    .filter((name) => /\.[jt]s$/.test(name) && !/^[^/]+\/test\//.test(name)) // a package has its tests beside it
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

test("No literal is spread into another: its fields are written where they are", () => {
  const files = ["build", "kernel", "packages", "plugins", "sdk", "test"].flatMap(sources);
  deepEqual([...files, "zz.ts"].flatMap(spreadLiterals), []);
});

function spreadLiterals(file: string): string[] {
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest);
  const spreads: string[] = [];
  visit(source);
  return spreads;

  function visit(node: ts.Node): void {
    const isLiteral =
      (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
      (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression));
    if (isLiteral)
      spreads.push(
        `${file}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`,
      );
    node.forEachChild(visit);
  }
}

function longFunctions(file: string): string[] {
  const found: string[] = [];
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  visit(source);
  return found;

  function visit(node: ts.Node): void {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const [first, last] = [node.getStart(), node.end].map(
        (at) => source.getLineAndCharacterOfPosition(at).line + 1,
      );
      if (last! - first! >= 80) found.push(`${file}:${first} has ${last! - first! + 1} lines`);
    }
    node.forEachChild(visit);
  }
}

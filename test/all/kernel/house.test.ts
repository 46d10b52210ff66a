// The code stays easy to read: small files and functions, and comments that fit.
import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ts } from "@ts-morph/common";
import { ROOT } from "../../support/run.ts";

const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const sources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    // a package has its tests beside it
    .filter((name) => /\.[jt]s$/.test(name) && !/^[^/]+\/test\//.test(name))
    .map((name) => `${folder}/${name}`);

/** What the code may come to, in tokens: lines follow typesetting, and bytes follow names. */
const BUDGETS = {
  core: 158_000, // 156,300 before what is off, and places of wrong settings; 150,000 before a team's settings, hooks, words alone and flags found by judging
  plugins: 227_500, // 226,000 before vi's keys, lists of models by zod and sentences in two lines
  packages: 377_800, // 350,000 before telegram and hooks, 374,600 before answers of MCP that are none
  file: 6_800,
  function: 1_400,
};
const ROOMS = ["build", "kernel", "packages", "plugins", "sdk"];
/** What can be taken in at a time, in lines, by the folders and files where it is kept to. */
const MOST_LINES: Record<string, { file: number; function: number }> = {
  build: { file: 450, function: 60 },
  kernel: { file: 450, function: 60 },
  packages: { file: 450, function: 60 },
  plugins: { file: 450, function: 60 },
  sdk: { file: 450, function: 60 },
  "zz.ts": { file: 550, function: 60 },
};

test("The code keeps within its budgets", () => {
  const areas = { core: 0, plugins: 0, packages: 0 };
  const tooMuch: string[] = [];
  for (const file of [...ROOMS.slice(1).flatMap(sources), "zz.ts"].filter(isProduct)) {
    const [whole, functions] = tokensIn(file);
    const area = /^(plugins|packages)\//.exec(file)?.[1] ?? "core";
    areas[area as keyof typeof areas] += whole;
    if (whole > BUDGETS.file) tooMuch.push(`${file} has ${whole} tokens`);
    for (const [line, tokens] of functions)
      if (tokens > BUDGETS.function) tooMuch.push(`${file}:${line} has ${tokens} tokens`);
  }
  for (const [area, tokens] of Object.entries(areas))
    if (tokens > BUDGETS[area as keyof typeof areas]) tooMuch.push(`${area} has ${tokens} tokens`);
  deepEqual(tooMuch, []);
});

test("Files and functions are short enough to be taken in at a time", () => {
  const tooLong: string[] = [];
  for (const [place, most] of Object.entries(MOST_LINES))
    for (const file of (place.includes(".") ? [place] : sources(place)).filter(isProduct)) {
      const lines = text(file).split("\n").length - 1;
      if (lines > most.file) tooLong.push(`${file} has ${lines} lines`);
      for (const [line, , length] of tokensIn(file)[1])
        if (length > most.function) tooLong.push(`${file}:${line} has ${length} lines`);
    }
  deepEqual(tooLong, []);
});

test("No line is wider than 100 columns", () => {
  const wide = [...ROOMS.flatMap(sources), "zz.ts"].filter(isProduct).flatMap((file) =>
    text(file)
      .split("\n")
      .flatMap((line, i) => (line.length > 100 ? `${file}:${i + 1}` : [])),
  );
  deepEqual(wide, []);
});

const isProduct = (file: string): boolean => !/\/test\//.test(file);

/** Of the file, and of each of its functions by its line, with how many lines it has. */
function tokensIn(
  file: string,
): [whole: number, functions: [line: number, tokens: number, lines: number][]] {
  const source = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true);
  const functions: [number, number, number][] = [];
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  return [count(source), functions];

  function count(node: ts.Node): number {
    const children = node.getChildren(source);
    if (!children.length) return node.getWidth(source) ? 1 : 0;
    const tokens = children.reduce((sum, child) => sum + count(child), 0);
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const line = lineOf(node.getStart(source));
      functions.push([line, tokens, lineOf(node.end) - line + 1]);
    }
    return tokens;
  }
}

/** Names that say nothing alone. */
const VAGUE =
  /^(one|all|own|given|found|said|told|left|known|more|what|way|much|whole|rest|both|many|few|now|come|made|here|most|seen|taken|place|at|like|apart|why|how|who|thing|some|other|same|kind|entry|its?|out)$/;

test("Names have seven letters on average, and hardly ever are a word that says nothing", () => {
  const names = [...ROOMS.flatMap(sources), "zz.ts"].filter(isProduct).flatMap(declaredNames);
  const average = names.join("").length / names.length;
  ok(average >= 7, `${average} letters`);
  const vague = names.filter((name) => VAGUE.test(name)).length / names.length;
  ok(vague <= 0.015, `${100 * vague} %`);
});

function declaredNames(file: string): string[] {
  const names: string[] = [];
  visit(ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest));
  return names;

  function visit(node: ts.Node): void {
    const hasName =
      ts.isParameter(node) ||
      ts.isVariableDeclaration(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node);
    if (hasName && node.name && ts.isIdentifier(node.name)) names.push(node.name.text);
    node.forEachChild(visit);
  }
}

test("No literal is spread into another: its fields are written where they are", () => {
  const files = [...ROOMS, "test"].flatMap(sources);
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

// The house stays small, and docs/how-it-is-built.md true: every file, function and type that it names is there.
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ts } from "@ts-morph/common";
import { ROOT } from "../support/run.ts";

/** What there was when this was last made smaller. It goes down, not up. */
const MAX_KERNEL_LINES = 8_295;

const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const page = text("docs/how-it-is-built.md");
const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
const contract = text("kernel/contract.ts");

/** The rows of the table under a heading, as cells. */
function tableUnder(heading: string): string[][] {
  const [, section = ""] = new RegExp(`^## ${heading}$(.*?)(?=^## |$(?![^]))`, "ms").exec(page) ?? [];
  const rows = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("|---"));
  return rows.slice(1).map((row) => row.split("|").slice(1, -1));
}

test("The page of the house: every file that it names is there", () => {
  const files = spans.filter((span) => /^(zz\.ts|(kernel|sdk|plugins|prompts|test|docs)\/[\w./-]*)$/.test(span));
  ok(files.length > 50, `${files.length} files`);
  deepEqual(
    files.filter((file) => !existsSync(join(ROOT, file))),
    [],
  );
});

test("The page of the house: every function on the way of a line is there", () => {
  const steps = spans.flatMap((span) => [...span.matchAll(/^(\S+\.ts): (\w+)$/g)]);
  ok(steps.length > 30, `${steps.length} functions`);
  const gone = steps.filter(([, file = "", name]) => {
    const isThere = new RegExp(`\\bfunction\\*? ${name}\\b|\\bconst ${name} = |^ +(async )?${name}\\(.*\\{$`, "m");
    return !existsSync(join(ROOT, file)) || !isThere.test(text(file));
  });
  deepEqual(
    gone.map(([span]) => span),
    [],
  );
});

test("The page of the house: every word is one sentence, and its type or file is there", () => {
  const words = tableUnder("Words");
  ok(words.length > 30, `${words.length} words`);
  for (const [word = "", means = "", where = ""] of words) {
    ok(/^ [A-Z][^|]*[^.]\. $/.test(means) && !/[.!?] [A-Z]/.test(means), `'${word.trim()}' is one sentence`);
    const names = [...where.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    ok(names.length, `'${word.trim()}' names its type or its file`);
    for (const name of names.filter((name) => !name.endsWith(".ts")))
      ok(isInContract(name), `'${name}' of '${word.trim()}' is in kernel/contract.ts`);
  }
});

test("The page of the house: what to add and what to leave alone name their tests", () => {
  for (const row of [...tableUnder("Where to add").slice(0, -1), ...tableUnder("What to leave alone")])
    ok(/`test\/[\w/-]+\.test\.ts`|`npm run bench`/.test(row[2]!), `a test for '${row[0]!.trim()}'`);
});

test("The page of the house is where README.md and CONTRIBUTING.md lead, and their links lead somewhere", () => {
  for (const file of ["README.md", "CONTRIBUTING.md"]) {
    const links = [...text(file).matchAll(/\]\(([\w./-]+)\)/g)].map(([, link]) => link!);
    ok(links.includes("docs/how-it-is-built.md"), file);
    for (const link of links) ok(existsSync(join(ROOT, link)), `'${link}' of ${file}`);
  }
});

/** `Type` or `Type.field`. */
function isInContract(name: string): boolean {
  const [type, field] = name.split(".");
  const [found] =
    new RegExp(`^export (interface ${type}\\b.*?^}|(type|const) ${type}\\b.*?;$)`, "ms").exec(contract) ?? [];
  return Boolean(found && (!field || new RegExp(`\\b${field}[?(<:]`).test(found)));
}

const sources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`);
const linesOf = (file: string): string[] => text(file).split("\n");

test(`The kernel has at most ${MAX_KERNEL_LINES} lines, its contract 550, and zz.ts 600`, () => {
  const kernel = sources("kernel").reduce((sum, file) => sum + linesOf(file).length - 1, 0);
  ok(
    kernel <= MAX_KERNEL_LINES,
    `${kernel} lines in kernel/: what is neither safety nor a conversation is for plugins`,
  );
  ok(linesOf("kernel/contract.ts").length - 1 <= 550, "kernel/contract.ts");
  ok(linesOf("zz.ts").length - 1 <= 600, "zz.ts");
});

test("Biome finds nothing to change: `npx biome check --write` formats", () => {
  const { stdout, stderr, status } = spawnSync(join(ROOT, "node_modules", ".bin", "biome"), ["check", "--colors=off"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  equal(status, 0, stdout + stderr);
});

test("No line of the kernel is longer than 140 columns", () => {
  const long = sources("kernel").flatMap((file) =>
    linesOf(file).flatMap((line, i) => (line.length > 140 ? `${file}:${i + 1}` : [])),
  );
  deepEqual(long, []);
});

test("No function of kernel/, sdk/, plugins/ and zz.ts is longer than 80 lines", () => {
  const all = ["kernel", "sdk", "plugins"].flatMap(sources);
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

// docs/how-it-is-built.md is true: every file, function and type that it names is there.
import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { filesOf } from "../support/rooms.ts";
import { ROOT } from "../support/run.ts";

const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const page = text("docs/how-it-is-built.md");
const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
const contract = ["kernel/contract.ts", ...filesOf("kernel/contract")].map(text).join("\n");

const PACKAGES = readdirSync(join(ROOT, "packages")).map((name) => `packages/${name}/package.json`);

/** The rows of the tables under a heading, as cells. */
function tableUnder(heading: string): string[][] {
  const [, section = ""] =
    new RegExp(`^## ${heading}$(.*?)(?=^## |$(?![^]))`, "ms").exec(page) ?? [];
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("|---"));
  return rows.slice(1).map((row) => row.split("|").slice(1, -1));
}

test("The page of the house: every file that it names is there", () => {
  const files = spans.filter((span) =>
    /^(zz\.ts|(kernel|sdk|plugins|prompts|test|docs)\/[\w./-]*)$/.test(span),
  );
  ok(files.length > 50, `${files.length} files`);
  equal(files.filter((file) => !existsSync(join(ROOT, file))).join(), "");
});

test("The page of the house: every function on the way of a line is there", () => {
  const steps = spans.flatMap((span) => [...span.matchAll(/^(\S+\.ts): (\w+)$/g)]);
  ok(steps.length > 30, `${steps.length} functions`);
  const gone = steps.filter(([, file = "", name]) => {
    const isThere = new RegExp(
      `\\bfunction\\*? ${name}\\b|\\bconst ${name} = |^ +(async )?${name}\\(.*\\{$`,
      "m",
    );
    return !existsSync(join(ROOT, file)) || !isThere.test(text(file));
  });
  equal(gone.map(([span]) => span).join(), "");
});

test("The page of the house: the type or file of every word is there", () => {
  const words = tableUnder("Words");
  ok(words.length > 30, `${words.length} words`);
  for (const [word = "", , where = ""] of words) {
    const names = [...where.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    ok(names.length, `'${word.trim()}' names its type or its file`);
    for (const name of names.filter((name) => !name.endsWith(".ts")))
      ok(isInContract(name), `'${name}' of '${word.trim()}' is in kernel/contract.ts`);
  }
});

test("The page of the house: what to add and what to leave alone name their tests", () => {
  for (const row of [
    ...tableUnder("Where to add").slice(0, -1),
    ...tableUnder("What to leave alone"),
  ])
    ok(
      /`(test|packages)\/[\w/-]+\.test\.ts`|`npm run bench`/.test(row[2]!),
      `a test for '${row[0]!.trim()}'`,
    );
});

test("The page of the house is where README.md and CONTRIBUTING.md lead, and their links lead somewhere", () => {
  for (const file of ["README.md", "CONTRIBUTING.md"]) {
    const links = [...text(file).matchAll(/\]\(([\w./-]+)\)/g)].map(([, link]) => link!);
    ok(links.includes("docs/how-it-is-built.md"), file);
    for (const link of links) ok(existsSync(join(ROOT, link)), `'${link}' of ${file}`);
  }
});

test("The page of the house: every package from npm has its row, with its job, and none is named that is not used", () => {
  const manifests = ["package.json", ...PACKAGES].map((file) => JSON.parse(text(file)));
  const used = manifests.flatMap(({ dependencies, devDependencies, optionalDependencies }) =>
    Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }),
  );
  const rows = tableUnder("What it is made of").filter(([name]) => !/^ (package|-+) $/.test(name!));
  const named = rows.flatMap(([names]) => names!.split(",").map((name) => name.trim()));
  deepEqual(named.sort(), [...new Set(used)].sort());
  for (const [names, job] of rows) ok(job!.trim().length > 10, `the job of ${names}`);
});

/** `Type` or `Type.field`. */
function isInContract(name: string): boolean {
  const [type, field] = name.split(".");
  const [found] =
    new RegExp(`^export (interface ${type}\\b.*?^}|(type|const) ${type}\\b.*?;\n(?! ))`, "ms").exec(
      contract,
    ) ?? [];
  return Boolean(found && (!field || new RegExp(`\\b${field}[?(<:]`).test(found)));
}

// References on real code: as TypeScript's own service over the whole program gives them.
import { deepEqual } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import type { Harness } from "../../../../sdk/testing.ts";
import { codeIn, copyCode } from "../../../../test/support/corpus.ts";
import { random, SEED } from "../../../../test/support/runs.ts";
import { harness } from "../../../../test/support/script.ts";
import type { Group, SymbolSpot } from "../../meaning/code-uses.ts";
import { type Facts, scan } from "../../scan.ts";

const PACKAGES = ["zod/src"];
const DRAWN = 40;
const MEMBERS = 6;
const OPTIONS = {
  target: "esnext",
  module: "esnext",
  moduleResolution: "bundler",
  strict: true,
  types: [],
  lib: ["esnext", "dom"],
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
  allowJs: true,
};

interface Project {
  root: string;
  names: string[];
  texts: Map<string, string>;
  factsOf(name: string): Facts;
}

/** The TypeScript of these packages under one config, and nothing beside it. */
function project(packages: string[], root: string): Project {
  copyCode(packages, root);
  writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS }));
  const names = codeIn(root);
  const texts = new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
  return { root, names, texts, factsOf: (name) => scan(name, texts.get(name)!) };
}

/** TypeScript's own, over everything, with nothing of ours but the disk. */
function wholeProgram({ root, names, texts }: Project): ts.LanguageService {
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [`/lib/${fileName}`, text]));
  const known = new Map([...texts].map(([name, text]) => [join(root, name), text]));
  const textOf = (file: string) => libs.get(file) ?? known.get(file) ?? ts.sys.readFile(file);
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions: OPTIONS }, ts.sys, root);
  return ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => names.map((name) => join(root, name)),
    getScriptVersion: () => "1",
    getScriptSnapshot: (file) => {
      const text = textOf(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (options) => `/lib/${ts.getDefaultLibFileName(options)}`,
    fileExists: (file) => libs.has(file) || known.has(file) || ts.sys.fileExists(file),
    readFile: textOf,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
}

type Drawn = SymbolSpot & { position: number };

/**
 * Of every name that something is declared under, or only of members, where the line has it once.
 */
function draw({ names, texts, factsOf }: Project, many: number, isOfMembers = false): Drawn[] {
  const all = names.flatMap((path) => {
    const lines = texts.get(path)!.split("\n");
    const starts = lines.map((_, i) => lines.slice(0, i).join("\n").length + (i && 1));
    return factsOf(path).symbols.flatMap(({ name, line, owner }) => {
      const [at, ...more] = lines[line - 1]!.matchAll(
        new RegExp(`(?<![\\w$])${name.replace(/\W/g, "\\$&")}(?![\\w$])`, "g"),
      );
      if (!at || more.length || (isOfMembers && !owner)) return [];
      return [{ path, line, name, position: starts[line - 1]! + at.index }];
    });
  });
  const next = random(SEED);
  return Array.from({ length: many }, () => all[Math.floor(next() * all.length)]!);
}

async function answers({ call }: Harness, drawn: Drawn[]): Promise<string[][]> {
  const found: string[][] = [];
  for (const { name: symbol, path, line } of drawn) {
    const { data } = await call("find_references", { symbol, path, line });
    const groups = (data ?? []) as Group[];
    found.push(
      distinct(groups.flatMap(({ places }) => places.map(({ path, start }) => `${path}:${start}`))),
    );
  }
  return found;
}
const without = (list: string[], others: string[]): string[] =>
  list.filter((one) => !others.includes(one));
const distinct = (list: string[]): string[] => [...new Set(list)].sort();

test(`find_references of ${DRAWN} things, and after an edit, are the whole program's own`, async (t) => {
  const zz = await harness({ own: true }, t);
  const own = project(PACKAGES, zz.root);
  const drawn = [...draw(own, DRAWN), ...draw(own, MEMBERS, true)];
  const first = await answers(zz, drawn);
  const [{ path }] = drawn as [Drawn];
  writeFileSync(join(own.root, path), `${own.texts.get(path)}\n`);
  const second = await answers(zz, drawn);
  const expected = expectedOf(own, drawn);
  const wrong = Object.entries({ first, "after an edit": second }).flatMap(([when, found]) =>
    drawn.flatMap(({ path, line, name }, i) => {
      const [more, fewer] = [without(found[i]!, expected[i]!), without(expected[i]!, found[i]!)];
      return more.length || fewer.length
        ? [{ when, at: `${path}:${line} ${name}`, more, fewer }]
        : [];
    }),
  );
  deepEqual(wrong, []);
});

function expectedOf(own: Project, drawn: Drawn[]): string[][] {
  const whole = wholeProgram(own);
  const expected = drawn.map(({ path, position }) => {
    const groups = whole.findReferences(join(own.root, path), position) ?? [];
    const all = groups.flatMap(({ references }) =>
      references.map((one) => `${one.fileName}:${one.textSpan.start}`),
    );
    return distinct(
      all.filter((one) => one.startsWith(own.root)).map((one) => one.slice(own.root.length + 1)),
    );
  });
  whole.dispose();
  return expected;
}

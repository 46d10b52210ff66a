// Semantic references on real code: as a language service over the whole program gives them.
import { deepEqual } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import { type At, openService, type Service } from "../../../../plugins/symbols/refs.ts";
import { type Facts, scan } from "../../../../plugins/symbols/scan.ts";
import { codeIn, copyCode } from "../../../support/corpus.ts";
import { place } from "../../../support/run.ts";
import { random, SEED } from "../../../support/runs.ts";

const PACKAGES = ["zod/src"];
const DRAWN = 40;
const MEMBERS = 6;
const OPTIONS = {
  ...{ target: "esnext", module: "esnext", moduleResolution: "bundler", strict: true, types: [] },
  ...{ lib: ["esnext", "dom"], allowImportingTsExtensions: true, noEmit: true, skipLibCheck: true, allowJs: true },
};

interface Project {
  root: string;
  names: string[];
  texts: Map<string, string>;
  factsOf(name: string): Facts;
  open(): Service;
}

/** The TypeScript of these packages under one config, and nothing beside it. */
function project(packages: string[]): Project {
  const root = place().cwd;
  copyCode(packages, root);
  writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS }));
  const names = codeIn(root);
  const texts = new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
  const usersOf = (wanted: Set<string>) =>
    names.filter((name) => [...wanted].some((one) => holds(texts.get(name)!, one)));
  const facts = new Map<string, Facts>(); // of each file once it is asked for
  const factsOf = (name: string): Facts => {
    if (!facts.has(name)) facts.set(name, scan(name, texts.get(name)!));
    return facts.get(name)!;
  };
  const globals = names.filter((name) => !/^export /m.test(texts.get(name)!) && factsOf(name).global);
  const passing = {
    of: (path: string) => factsOf(path).imports,
    exportsOf: (path: string) => factsOf(path).exports,
    taking: () => names,
  };
  const open = () => {
    const service = openService(root, { usersOf, globals: () => globals, passing });
    service.update(names);
    return service;
  };
  return { root, names, texts, factsOf, open };
}

const words = new Map<string, RegExp>();
function holds(text: string, word: string): boolean {
  if (!text.includes(word)) return false;
  let pattern = words.get(word);
  if (!pattern) words.set(word, (pattern = new RegExp(`(?<![\\w$])${word.replaceAll("$", "\\$")}(?![\\w$])`)));
  return pattern.test(text);
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

type Drawn = At & { position: number };

/** Of every name that something is declared under, or only of members, where the line has it once. */
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

function answers(service: Service, drawn: Drawn[]): string[][] {
  return drawn.map((at) => {
    const groups = service.references(at);
    return distinct(groups.flatMap(({ places }) => places.map(({ path, start }) => `${path}:${start}`)));
  });
}
const distinct = (list: string[]): string[] => [...new Set(list)].sort();

test(`references() of ${DRAWN} symbols are the whole program's own`, () => {
  const own = project(PACKAGES);
  const drawn = draw(own, DRAWN);
  const cold = own.open();
  const first = answers(cold, drawn);
  cold.close();

  const service = own.open();
  while (service.warm());
  const second = answers(service, drawn);
  const [{ path }] = drawn as [Drawn];
  writeFileSync(join(own.root, path), `${own.texts.get(path)}\n`);
  const third = answers(service, drawn);
  service.close();

  const expected = expectedOf(own, drawn);
  for (const [when, found] of Object.entries({ cold: first, warm: second, "after an edit": third }))
    for (const [i, { path, line, name }] of drawn.entries())
      deepEqual(found[i], expected[i], `${when}: ${path}:${line} ${name}`);
});

function expectedOf(own: Project, drawn: Drawn[]): string[][] {
  const whole = wholeProgram(own);
  const expected = drawn.map(({ path, position }) => {
    const groups = whole.findReferences(join(own.root, path), position) ?? [];
    const all = groups.flatMap(({ references }) => references.map((one) => `${one.fileName}:${one.textSpan.start}`));
    return distinct(all.filter((one) => one.startsWith(own.root)).map((one) => one.slice(own.root.length + 1)));
  });
  whole.dispose();
  return expected;
}

test(`references() of ${MEMBERS} members, each asked for in a new service, are the whole program's own`, () => {
  const own = project(PACKAGES);
  const drawn = draw(own, MEMBERS, true);
  const found = drawn.map((at) => {
    const service = own.open();
    const [places] = answers(service, [at]);
    service.close();
    return places;
  });
  deepEqual(found, expectedOf(own, drawn));
});

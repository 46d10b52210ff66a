// Semantic references on real code: as a language service over the whole program gives them, and how long they take.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";
import { type At, type Edit, openService, type Service } from "../../plugins/symbols/refs.ts";
import { type Facts, scan } from "../../plugins/symbols/scan.ts";
import { CORPORA, type Corpus, corporaFolder, unpackCorpora } from "../support/corpora.ts";
import { corpus } from "../support/corpus.ts";
import { runs } from "../support/machine.ts";
import { needs } from "../support/needs.ts";
import { knowsOwnCode } from "../support/own-code.ts";
import { place, ROOT, WAYS } from "../support/run.ts";

const SHORT = process.env.ZZ_SHORT === "1";
const DRAWN = Number(process.env.ZZ_DRAWN ?? (SHORT ? 15 : 300));
const VERSIONS: Record<string, string> = {
  effect: "4.1.0",
  openai: "7.55.0",
  rxjs: "7.8.2",
  viem: "2.57.20",
  zod: "4.6.7",
};
const SEED = Number(process.env.ZZ_SEED ?? 7);
const OPTIONS = {
  ...{ target: "esnext", module: "esnext", moduleResolution: "bundler", strict: true, types: [] },
  ...{ lib: ["esnext", "dom"], allowImportingTsExtensions: true, noEmit: true, skipLibCheck: true, allowJs: true },
  jsx: "preserve",
};
const repositories = corporaFolder();
const PACKAGES = SHORT
  ? [["rxjs"]]
  : [["viem"], ["rxjs", "zod", "openai", "effect"], ...(repositories ? CORPORA.map((name) => [name]) : [])];
const CODE = /(?<!\.d)\.[cm]?tsx?$/;

interface Project {
  root: string;
  names: string[];
  texts: Map<string, string>;
  open(): Service;
}

/** Where the files of a package, or of a repository beside the project, are. */
function sourcesOf(name: string, root: string): string {
  if (!CORPORA.includes(name)) return join(corpus([`${name}@${VERSIONS[name]}`]), `${name}-${VERSIONS[name]}`);
  const [{ root: unpacked }] = unpackCorpora(repositories!, `${root}-repositories`, [name]) as [Corpus];
  after(() => rmSync(`${root}-repositories`, { recursive: true, force: true }));
  return unpacked;
}

/** The TypeScript of these packages under one config, and nothing beside it. */
function project(packages: string[]): Project {
  const root = mkdtempSync(join(tmpdir(), "zz-references-"));
  after(() => rmSync(root, { recursive: true, force: true }));
  for (const name of packages) {
    const from = sourcesOf(name, root);
    for (const file of readdirSync(from, { recursive: true, encoding: "utf8" })) {
      if (!CODE.test(file) || file.includes("node_modules")) continue;
      mkdirSync(dirname(join(root, name, file)), { recursive: true });
      cpSync(join(from, file), join(root, name, file));
    }
  }
  writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS }));
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => CODE.test(file));
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
  return { root, names, texts, open };
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

/** Of every name that something is declared under, the first of that name on its line; two of three at the top level of its file. */
function draw({ names, texts }: Project, many: number, seed: number, isOfMembers = false): Drawn[] {
  const [all, top, members]: Drawn[][] = [[], [], []];
  for (const path of names) {
    const source = ts.createSourceFile(path, texts.get(path)!, ts.ScriptTarget.Latest, true);
    const seen = new Set<string>();
    const tops = new Set(source.statements.flatMap(declaredBy));
    const visit = (node: ts.Node): void => {
      const { name } = node as { name?: ts.Node };
      if (name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) && isDeclared(node)) note(name, name.text);
      if (ts.isConstructorDeclaration(node) && node.body)
        note(node.getChildren().find(({ kind }) => kind === ts.SyntaxKind.ConstructorKeyword)!, "constructor");
      ts.forEachChild(node, visit);
    };
    const note = (node: ts.Node, name: string) => {
      const position = node.getStart(source);
      const line = source.getLineAndCharacterOfPosition(position).line + 1;
      const key = `${line} ${name}`;
      if (!seen.has(key)) all!.push({ path, line, name, position });
      if (!seen.has(key) && MEMBER_KINDS.has(node.parent.kind)) members!.push({ path, line, name, position });
      if (!seen.has(key) && tops.has(node)) top!.push({ path, line, name, position });
      seen.add(key);
    };
    visit(source);
  }
  let state = seed;
  const random = () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  return Array.from({ length: many }, (_, i) => {
    const from = isOfMembers ? members! : i % 3 && top!.length ? top! : all!;
    return from[Math.floor(random() * from.length)]!;
  });
}
const MEMBER_KINDS = new Set([
  ...[ts.SyntaxKind.PropertySignature, ts.SyntaxKind.MethodSignature, ts.SyntaxKind.PropertyDeclaration],
  ...[ts.SyntaxKind.MethodDeclaration, ts.SyntaxKind.GetAccessor, ts.SyntaxKind.PropertyAssignment],
]);
function declaredBy(node: ts.Statement): ts.Node[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name);
  const { name } = node as { name?: ts.Node };
  return name ? [name] : [];
}
const isDeclared = (node: ts.Node): boolean =>
  !ts.isPropertyAccessExpression(node) &&
  !ts.isMetaProperty(node) &&
  !ts.isImportSpecifier(node) &&
  !ts.isExportSpecifier(node);

function figures(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!);
  const over = times.filter((ms) => ms > 300).length;
  return `median ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)} ms; ${over} of ${times.length} over 300 ms`;
}
const memory = () => `${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`;

function timed<T>(times: number[], act: () => T): T {
  const started = performance.now();
  const made = act();
  times.push(performance.now() - started);
  return made;
}

function answers(service: Service, drawn: Drawn[]): string[][] {
  const times: number[] = [];
  const found = drawn.map((at) => {
    const groups = timed(times, () => service.references(at));
    return distinct(groups.flatMap(({ places }) => places.map(({ path, start }) => `${path}:${start}`)));
  });
  console.log(`  first answer ${Math.round(times[0]!)} ms; later ${figures(times.slice(1))}; ${memory()}`);
  return found;
}
const distinct = (list: string[]): string[] => [...new Set(list)].sort();

for (const packages of PACKAGES)
  test(`references() of ${DRAWN} symbols of ${packages.join(", ")} are the whole program's own`, () => {
    const own = project(packages);
    const drawn = draw(own, DRAWN, SEED);
    console.log(`${own.names.length} files, from cold:`);
    const cold = own.open();
    const first = answers(cold, drawn);
    cold.close();

    const service = own.open();
    const steps: number[] = [];
    while (timed(steps, () => service.warm()));
    const total = Math.round(steps.reduce((a, b) => a + b));
    console.log(`after warm() in ${steps.length} steps, ${total} ms: ${figures(steps)}; ${memory()}`);
    const second = answers(service, drawn);
    const [{ path }] = drawn as [Drawn];
    writeFileSync(join(own.root, path), `${own.texts.get(path)}\n`);
    console.log("after an edit, without warm():");
    const third = answers(service, drawn);
    service.close();

    const expected = expectedOf(own, drawn);
    for (const [when, found] of Object.entries({ first, second, third })) {
      const wrong = drawn.flatMap((at, i) => {
        const [extra, missed] = [found[i]!, expected[i]!].map((one, _, [a, b]) =>
          one.filter((place) => !(one === a ? b! : a!).includes(place)),
        );
        return extra!.length || missed!.length ? [{ when, at, extra, missed }] : [];
      });
      deepEqual(wrong, []);
    }
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

const MEMBERS = SHORT ? 15 : 60;

for (const name of SHORT ? ["rxjs"] : repositories ? CORPORA : ["zod"])
  test(`references() of ${MEMBERS} members of ${name}, each asked for in a new service, are the whole program's own`, () => {
    const own = project([name]);
    const drawn = draw(own, MEMBERS, SEED, true);
    const [times, again]: number[][] = [[], []];
    const found = drawn.map((at) => {
      const service = own.open();
      const groups = timed(times!, () => service.references(at));
      timed(again!, () => service.references(at));
      service.close();
      return distinct(groups.flatMap(({ places }) => places.map(({ path, start }) => `${path}:${start}`)));
    });
    console.log(`  ${figures(times!)}; again ${figures(again!)}; ${memory()}`);
    deepEqual(found, expectedOf(own, drawn));
  });

const RENAMED = SHORT ? 2 : 30;
const RENAMED_IN = SHORT ? ["rxjs"] : ["rxjs", "zod"];

test(`rename() of ${RENAMED} symbols of ${RENAMED_IN.join(", ")} to fresh names makes nothing wrong in the whole program`, () => {
  const own = project(RENAMED_IN);
  const service = own.open();
  const before = problems(own);
  const refused: string[] = [];
  const times: number[] = [];
  let [renamed, edited] = [0, 0];
  for (let seed = SEED; renamed + refused.length < RENAMED; seed += 101) {
    const [at] = draw(own, 1, seed) as [Drawn];
    if (at.name === "constructor" || at.name === "this") continue;
    const started = performance.now();
    const { edits, refused: why } = service.rename(at, `${at.name}Fresh${renamed}`);
    times.push(performance.now() - started);
    if (why) refused.push(`${at.path}:${at.line} ${why}`);
    else {
      ok(edits.length, `${at.path}:${at.line} ${at.name}`);
      renamed++;
      edited += edits.length;
      apply(own, edits);
    }
  }
  console.log(`${renamed} renamed in ${edited} places, ${refused.length} refused: ${figures(times)}; ${memory()}`);
  deepEqual([problems(own).filter((one) => !before.includes(one)), refused], [[], []]);
});

function apply({ root, texts }: Project, edits: Edit[]): void {
  for (const { path, start, end, text } of edits.toReversed()) {
    const before = texts.get(path)!;
    texts.set(path, before.slice(0, start) + text + before.slice(end));
  }
  for (const path of new Set(edits.map(({ path }) => path))) writeFileSync(join(root, path), texts.get(path)!);
}

/** By file, code and how many there are of it: where they stand and what they call a thing may change. */
function problems(own: Project): string[] {
  const whole = wholeProgram(own);
  const program = whole.getProgram()!;
  const found = own.names.flatMap((name) => {
    const source = program.getSourceFile(join(own.root, name))!;
    const all = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    const byCode = Map.groupBy(all, ({ code }) => code);
    return [...byCode].map(([code, { length }]) => `${name} ${code} ${length} times`);
  });
  whole.dispose();
  return found;
}

const MUCH_USED = ["pipeArguments", "PipeInspectableProto", "stringifyPrimitive"];
const LIMITS = { cold: 4, again: 0.6, other: 1.2, memory: 450 }; // the first three of what ctags takes for all files

needs("ctags", "git")(
  `references to ${MUCH_USED.join(", ")} in a new process and in the same one, beside ctags`,
  async (t) => {
    const base = mkdtempSync(join(tmpdir(), "zz-much-used-"));
    after(() => rmSync(base, { recursive: true, force: true }));
    const root = join(base, "project");
    cpSync(corpus(["effect@4.1.0", "rxjs@7.8.2", "zod@4.6.7", "openai@7.55.0"]), root, { recursive: true });
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
    ])
      execFileSync("git", args, { cwd: root });
    const env = { ...process.env, ZZ_HOME: join(base, "home") };
    const [node, zz] = WAYS.dist;
    const ask = (symbol: string) => [node, [zz, "--call", "find_references", JSON.stringify({ symbol })]] as const;
    await runs(root, env, ...ask("pipeArguments")); // the index is there, as is the compile cache
    const [ctags, cold, memory]: number[][] = [[], [], []];
    for (let run = 0; run < (SHORT ? 1 : 3); run++)
      for (const symbol of MUCH_USED.slice(0, SHORT ? 1 : undefined)) {
        ctags!.push((await runs(root, env, "ctags", ["-R", "-f", join(base, "tags"), root])).ms);
        const { ms, peak } = await runs(root, env, ...ask(symbol));
        cold!.push(ms);
        memory!.push(peak);
      }
    const own = project(["effect", "rxjs", "zod", "openai"]);
    const service = own.open();
    const place = (name: string): At => {
      const isDefined = new RegExp(`^export (?:const|function) ${name}\\b`, "m");
      const path = own.names.find((path) => isDefined.test(own.texts.get(path)!))!;
      const before = own.texts.get(path)!.slice(0, isDefined.exec(own.texts.get(path)!)!.index);
      return { path, line: before.split("\n").length, name };
    };
    const [first, again, other]: number[][] = [[], [], []];
    for (const name of MUCH_USED) {
      timed(first!.length ? other! : first!, () => ok(service.references(place(name)).length));
      timed(again!, () => ok(service.references(place(name)).length));
    }
    service.close();
    const median = (all: number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
    const ratio = (all: number[]): number => median(all) / median(ctags!);
    t.diagnostic(
      `ctags ${median(ctags!).toFixed(0)} ms; a new process ${median(cold!).toFixed(0)} ms (${ratio(cold!).toFixed(2)} × ctags), ${Math.max(...memory!).toFixed(0)} MB; in one process: first ${first![0]!.toFixed(0)}, again ${median(again!).toFixed(0)}, another name ${median(other!).toFixed(0)} ms`,
    );
    ok(ratio(cold!) <= LIMITS.cold, "a new process");
    ok(ratio(again!) <= LIMITS.again, "the same question again");
    ok(ratio(other!) <= LIMITS.other, "another name in the same process");
    ok(Math.max(...memory!) <= LIMITS.memory, "memory");
  },
);

test("in zz's own folder: who calls collect, the references of runTurn, a map of 1,000 tokens", () =>
  knowsOwnCode({ home: place().home, root: ROOT }));

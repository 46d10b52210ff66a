// Where imports lead. Beside what each row says stands what TypeScript itself, all of it, says over
// the same disk.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { ts } from "ts-morph";
import { temporaryFolder } from "../../../test/support/files.ts";
import { fc } from "../../../test/support/property.ts";
import { runs } from "../../../test/support/runs.ts";
import { waitFor } from "../../../test/support/wait.ts";
import type { Edge, How, Kept } from "../resolve.ts";
import { cycles, entryPoints, folderOf, graphOf, hubs, openResolver } from "../resolve.ts";
import { type Facts, scan } from "../scan.ts";

const BASE = fs.realpathSync(temporaryFolder("zz-resolve-"));

interface More {
  with?: Record<string, string | object>; // files that have content
  from?: string; // who imports; a.ts unless it says otherwise
  how?: How;
  links?: Record<string, string>; // symbolic links
  ignored?: RegExp; // not among the project's files, as git ignores them
  beyond?: true; // TypeScript finds nothing there
}
type Row = [about: string, files: string, spec: string, to: string | undefined, more?: More];

const config = (compilerOptions: object, rest: object = {}) => ({ compilerOptions, ...rest });
const NODENEXT = { "tsconfig.json": config({ module: "nodenext" }) };
const inWorkspaces = (own: object, rest: Record<string, string | object> = {}) => ({
  "package.json": { name: "all", workspaces: ["packages/*"] },
  "packages/b/package.json": { name: "@all/b", ...own },
  ...rest,
});
const LINKED = { "node_modules/@all/b": "../../packages/b" };

// biome-ignore format: one case a row.
const ROWS: Row[] = [
  // names
  [".js stands for .ts, even if .js is there as well", "a.ts b.ts b.js", "./b.js", "b.ts"],
  ["a style sheet has its types in .d.css.ts", "a.ts b.css b.d.css.ts", "./b.css", "b.d.css.ts"],
  // folders
  ["'.' means the index of one's own folder", "d/a.ts d/index.ts", ".", "d/index.ts", { from: "d/a.ts" }],
  ["out of the project", "a.ts", "../../../usr/nothing.js", "", { beyond: true }],
  ["a package.json whose types are not there: index, not main", "a.ts b/m.js b/index.js", "./b", "b/index.js", { with: { "b/package.json": { types: "no.d.ts", main: "m.js" } } }],
  ["a broken package.json: index", "a.ts b/index.ts", "./b", "b/index.ts", { with: { "b/package.json": '{ "main": 5' } }],
  ["a package.json's typesVersions", "a.ts b/new/index.d.ts b/index.d.ts", "./b", "b/new/index.d.ts", { with: { "b/package.json": { types: "index.d.ts", typesVersions: { ">=4": { "*": ["new/*"] } } } } }],
  // beyond TypeScript: what a bundler takes
  ["a style sheet without types is itself", "a.ts b.css", "./b.css", "b.css", { beyond: true }],
  ["what a bundler is told after '?' is not its name", "a.ts b.svg", "./b.svg?raw", "b.svg", { beyond: true }],
  ["no extension, where Node wants one", "a.ts b.ts", "./b", "b.ts", { beyond: true, with: { ...NODENEXT, "package.json": { type: "module" } } }],
  // Node's own, and packages
  ["Node's own, without it", "a.ts", "fs/promises", "node:", { beyond: true }],
  ["an installed package", "a.ts", "p", "", { with: { "node_modules/p/package.json": { types: "i.d.ts" }, "node_modules/p/i.d.ts": "" } }],
  ["a package that is declared and not installed", "src/a.ts", "@s/p/x", "", { from: "src/a.ts", beyond: true, with: { "package.json": { devDependencies: { "@s/p": "1" } } } }],
  ["a relative way into node_modules", "a.ts", "./node_modules/p/index.js", "", { with: { "node_modules/p/index.js": "" } }],
  // tsconfig.json
  ["paths that lead nowhere: the package", "a.ts", "p", "", { with: { "tsconfig.json": config({ paths: { "*": ["./s/*"] } }), "node_modules/p/index.d.ts": "" } }],
  ["baseUrl goes before Node's own", "a.ts src/util.ts", "util", "src/util.ts", { with: { "tsconfig.json": config({ baseUrl: "src" }) } }],
  ["extends: paths count from where they stand", "app/a.ts lib/b.ts", "@/b", "lib/b.ts", { from: "app/a.ts", with: { "app/tsconfig.json": { extends: "../base.json" }, "base.json": config({ paths: { "@/*": ["./lib/*"] } }) } }],
  ["extends what git ignores", "a.ts src/b.ts", "@/b", "src/b.ts", { ignored: /^gen/, with: { "tsconfig.json": { extends: "./gen/t" }, "gen/t.json": config({ paths: { "@/*": ["../src/*"] } }) } }],
  ["extends in a circle", "a.ts src/b.ts", "@/b", "src/b.ts", { with: { "tsconfig.json": { extends: "./t.json", ...config({ paths: { "@/*": ["./src/*"] } }) }, "t.json": { extends: "./tsconfig.json" } } }],
  ["the nearest tsconfig.json counts", "d/a.ts d/b.ts b.ts", "@/b", "d/b.ts", { from: "d/a.ts", with: { "tsconfig.json": config({ paths: { "@/*": ["./*"] } }), "d/tsconfig.json": config({ paths: { "@/*": ["./*"] } }) } }],
  ["a broken tsconfig.json: what can be read of it", "a.ts src/b.ts", "@/b", "src/b.ts", { with: { "tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } ' } }],
  [
    "a tsconfig.json that only names others",
    "src/a.ts src/b.ts",
    "@/b",
    "src/b.ts",
    { beyond: true, from: "src/a.ts", with: { "tsconfig.json": { files: [], references: [{ path: "./tsconfig.node.json" }, { path: "./tsconfig.app.json" }] }, "tsconfig.node.json": config({}, { include: ["vite.config.ts"] }), "tsconfig.app.json": config({ paths: { "@/*": ["./src/*"] } }, { include: ["src"] }) } },
  ],
  ["rootDirs", "src/a.ts gen/b.ts", "./b", "gen/b.ts", { from: "src/a.ts", with: { "tsconfig.json": config({ rootDirs: ["src", "gen"] }) } }],
  ["moduleSuffixes", "a.ts b.ios.ts b.ts", "./b", "b.ios.ts", { with: { "tsconfig.json": config({ moduleSuffixes: [".ios", ""] }) } }],
  // package.json of one's own
  ["imports of what is built, by outDir", "code/a.ts code/b.ts", "#b", "code/b.ts", { from: "code/a.ts", with: { "package.json": { imports: { "#b": "./made/b.js" } }, "tsconfig.json": config({ outDir: "made", rootDir: "code" }) } }],
  ["import or require: the condition for an import", "a.mts i.mts r.cts", "me", "i.mts", { from: "a.mts", with: { ...NODENEXT, "package.json": { name: "me", exports: { import: "./i.mjs", require: "./r.cjs" } } } }],
  ["import or require: import() is one everywhere", "a.ts i.mts r.cts", "me", "i.mts", { how: "dynamic", with: { ...NODENEXT, "package.json": { name: "me", exports: { import: "./i.mjs", require: "./r.cjs" } } } }],
  // workspaces
  ["a linked package that is built leads to its source", "a.ts packages/b/src/index.ts packages/b/dist/index.d.ts", "@all/b", "packages/b/src/index.ts", { beyond: true, links: LINKED, ignored: /dist/, with: inWorkspaces({ types: "dist/index.d.ts" }) }],
  ["a linked package that is not built leads to its source", "a.ts packages/b/src/index.ts", "@all/b", "packages/b/src/index.ts", { beyond: true, links: LINKED, with: inWorkspaces({ types: "dist/index.d.ts", main: "dist/index.js" }) }],
  ["a package that is not linked", "a.ts packages/b/index.ts", "@all/b", "packages/b/index.ts", { beyond: true, with: inWorkspaces({ main: "index.ts" }) }],
  ["a package that is not linked, by its exports", "a.ts packages/b/src/x/y.ts", "@all/b/y", "packages/b/src/x/y.ts", { beyond: true, with: inWorkspaces({ exports: { "./*": { types: "./dist/x/*.d.ts", default: "./dist/x/*.js" } } }) }],
  ["a package of pnpm", "a.ts libs/b/index.ts", "b", "libs/b/index.ts", { beyond: true, with: { "pnpm-workspace.yaml": "packages:\n  - libs/*\n", "libs/b/package.json": { name: "b" } } }],
  ["a package that a test is made of is nobody's", "a.ts test/fixtures/react/index.ts", "react", undefined, { with: { "test/fixtures/react/package.json": { name: "react" } } }],
  ["paths to what is built lead to its source", "a.ts libs/b/src/index.ts", "@/b", "libs/b/src/index.ts", { beyond: true, with: { "libs/b/package.json": {}, "tsconfig.json": config({ paths: { "@/*": ["./libs/*/dist"] } }) } }],
  ["a package goes before a source of that name", "a.ts src/p.ts libs/p/src/index.ts", "p", "libs/p/src/index.ts", { beyond: true, with: { "package.json": {}, "libs/p/package.json": { name: "p", main: "dist/index.js" }, "tsconfig.json": config({ baseUrl: "." }) } }],
];

let count = 0;
const LONG_AGO = new Date("1985-10-26"); // what npm's archives say of all that is in them
/** A project on the disk, and the list of its files. */
function project(files: string, more: More = {}): { root: string; names: string[] } {
  const root = join(BASE, `p${count++}`);
  const contents = Object.entries({
    ...Object.fromEntries(files.split(" ").map((name) => [name, ""])),
    ...more.with,
  });
  for (const [name, content] of contents) unpack(root, name, content);
  for (const [name, to] of Object.entries(more.links ?? {})) {
    fs.mkdirSync(dirname(join(root, name)), { recursive: true });
    fs.symlinkSync(to, join(root, name));
  }
  const names = contents.map(([name]) => name);
  return {
    root,
    names: names.filter((name) => !name.includes("node_modules/") && !more.ignored?.test(name)),
  };
}

async function ask(
  root: string,
  names: string[],
  file: string,
  spec: string,
  how: How = "import",
  kept?: Kept,
) {
  const resolver = openResolver(root, names, kept);
  const one = { from: spec, how };
  await resolver.prepare([[file, [one]]]);
  return { to: resolver.resolve(file, one), kept: resolver.kept() };
}

/** All of TypeScript, over the disk. */
function truth(
  root: string,
  file: string,
  spec: string,
  how: How = "import",
  given?: ts.CompilerOptions,
) {
  const options = given ?? optionsOf(root, folderOf(file));
  const name = join(root, file);
  const impliedNodeFormat = ts.getImpliedNodeFormatForFile(name, undefined, ts.sys, options);
  const text = {
    require: `import x = require(${"''"})`,
    dynamic: "import('')",
    type: "",
    import: "",
    export: "",
  }[how];
  const source = ts.createSourceFile(
    name,
    text || "import ''",
    { languageVersion: 99, impliedNodeFormat },
    true,
  );
  const mode = ts.getModeForUsageLocation(source, literalIn(source)!, options);
  const { resolvedModule } = ts.resolveModuleName(
    spec,
    name,
    options,
    ts.sys,
    undefined,
    undefined,
    mode,
  );
  const to = resolvedModule?.resolvedFileName;
  if (to === undefined) return undefined;
  return to.startsWith(`${root}/`) && !to.includes("/node_modules/")
    ? to.slice(root.length + 1)
    : "";
}
function literalIn(node: ts.Node): ts.StringLiteral | undefined {
  return ts.isStringLiteral(node) ? node : ts.forEachChild(node, literalIn);
}
function optionsOf(root: string, folder: string): ts.CompilerOptions {
  for (const name of ["tsconfig.json", "jsconfig.json"]) {
    const file = join(root, folder, name);
    if (!fs.existsSync(file)) continue;
    const { config } = ts.readConfigFile(file, ts.sys.readFile);
    const host = { ...ts.sys, readDirectory: () => [] };
    return ts.parseJsonConfigFileContent(
      config ?? {},
      host,
      dirname(file),
      { resolveJsonModule: true },
      file,
    ).options;
  }
  if (folder) return optionsOf(root, folderOf(folder));
  return {
    module: 99,
    moduleResolution: 100,
    allowJs: true,
    resolveJsonModule: true,
    allowImportingTsExtensions: true,
  };
}

const placed = ROWS.map(([, files, , , more]) => project(files, more));
const settled = setTimeout(100); // of the disk's clock: what changed just now is not kept

for (const [i, [about, files, spec, to, more = {}]] of ROWS.entries())
  test(`imports: ${about}`, async () => {
    await settled;
    const { root, names } = placed[i]!;
    const file = more.from ?? files.split(" ")[0]!;
    const said = await ask(root, names, file, spec, more.how);
    equal(said.to, to);
    if (!more.beyond) equal(truth(root, file, spec, more.how), to, "TypeScript");
    const again = await ask(root, names, file, spec, more.how, said.kept);
    equal(again.to, to, "when it was kept");
    equal(again.kept, said.kept, "and not asked for again");
  });

/** Names that can be told apart only by TypeScript's order. */
const ENDS = `.ts .tsx .d.ts .js .jsx .mts .d.mts .mjs .cts .cjs .json .d.json.ts`.split(" ");
const someName = fc
  .tuple(
    fc.constantFrom("", "d/", "d/b/", "b/"),
    fc.constantFrom("b", "index", "b.x", "b.d"),
    fc.constantFrom(...ENDS),
  )
  .map((parts) => parts.join(""));
const someSpec = fc
  .tuple(
    fc.constantFrom("./", "../", "./d/", "../d/b/"),
    fc.constantFrom("b", "b", "b.x", "b.d", "index", "", ".", "..", "d", "b/"),
    fc.constantFrom("", "", ".js", ...ENDS, ".css"),
  )
  .map((parts) => parts.join(""));

const RUNS = runs(150, 1_500);

for (const kind of ["bundler", "node10"] as const)
  test(`imports between files of any names lead where TypeScript says (${kind})`, async () => {
    const { root } = project("x", {
      with: { "tsconfig.json": config({ moduleResolution: kind }) },
    });
    const options = { ...optionsOf(root, ""), resolveJsonModule: true };
    const names = fc.uniqueArray(someName, { minLength: 20, maxLength: 60, size: "max" });
    const some = fc.tuple(names, fc.constantFrom("a.ts", "d/a.ts", "d/b/a.ts"), someSpec);
    let found = 0;
    await fc.assert(
      fc.asyncProperty(some, async ([list, file, spec]) => {
        const all = new Set(list.map((name) => join(root, name)));
        const fileExists = (name: string) => all.has(name);
        const host = { fileExists, readFile: () => undefined, directoryExists: () => true };
        const { resolvedModule } = ts.resolveModuleName(spec, join(root, file), options, host);
        const real = resolvedModule?.resolvedFileName.slice(root.length + 1);
        const { to } = await ask(root, [...list, "tsconfig.json"], file, spec);
        if (real !== undefined) found++;
        // Where TypeScript finds nothing, a file that is called so all the same is one.
        const isCalledSo = to === join(folderOf(file), spec) || isOutside(file, spec);
        equal(real === undefined && isCalledSo ? undefined : to || undefined, real);
      }),
      { numRuns: RUNS },
    );
    ok(found > RUNS / 20, `${found} of them lead to a file`);
  });
const isOutside = (file: string, spec: string): boolean =>
  join(folderOf(file), spec).startsWith("..");

const NEEDS = { "package.json": {}, "tsconfig.json": config({ paths: { "@/*": ["./src/*"] } }) };
// biome-ignore format: one case a row.
const CHANGES: [about: string, spec: string, before: string | undefined, after: string | undefined, change: (root: string, names: string[]) => unknown, more?: More][] = [
  ["a file goes", "@/b", "src/b.ts", undefined, (_, names) => names.pop(), { with: { ...NEEDS, "src/b.ts": "" } }],
  ["a tsconfig.json changes", "@/b", "src/b.ts", "t/b.ts", (root) => write(root, "tsconfig.json", config({ paths: { "@/*": ["./t/*"] } })), { with: { ...NEEDS, "src/b.ts": "", "t/b.ts": "" } }],
  ["what it extends comes, outside of the project", "@/b", undefined, "src/b.ts", (root) => write(BASE, "outer.json", config({ paths: { "@/*": [`${root}/src/*`] } })), { with: { "tsconfig.json": { extends: "../outer" }, "src/b.ts": "" } }],
  ["another package of a scope is installed", "@s/p", undefined, "", (root) => write(root, "node_modules/@s/p/index.d.ts", ""), { with: { "node_modules/@s/q/index.d.ts": "" } }],
  ["a package is removed", "p", "", undefined, (root) => fs.rmSync(join(root, "node_modules/p"), { recursive: true }), { with: { "node_modules/p/index.d.ts": "" } }],
  ["a package exports more, and its times stay", "p/x", undefined, "", (root) => unpack(root, "node_modules/p/package.json", { exports: { "./x": "./x.js" } }), { with: { "node_modules/p/package.json": { exports: { "./y": "./x.js" } }, "node_modules/p/x.js": "" } }],
  ["a tsconfig.json comes nearer", "@/b", "src/b.ts", undefined, (root, names) => names.push(write(root, "src/tsconfig.json", {})), { from: "src/a.ts", with: { ...NEEDS, "src/b.ts": "" } }],
];
function write(root: string, name: string, content: object | string): string {
  fs.mkdirSync(dirname(join(root, name)), { recursive: true });
  fs.writeFileSync(
    join(root, name),
    typeof content === "string" ? content : JSON.stringify(content),
  );
  return name;
}
/** As archives are unpacked: with the times that stand in them. */
function unpack(root: string, name: string, content: object | string): void {
  write(root, name, content);
  fs.utimesSync(join(root, name), LONG_AGO, LONG_AGO);
}

const changing = CHANGES.map(([, , , , , more]) => project(more?.from ?? "a.ts", more));
const changingSettled = setTimeout(100);
for (const [i, [about, spec, before, to, change, more = {}]] of CHANGES.entries())
  test(`kept answers are asked anew when ${about}`, async () => {
    await changingSettled;
    const file = more.from ?? "a.ts";
    const { root, names } = changing[i]!;
    const said = await ask(root, names, file, spec);
    equal(said.to, before, "before");
    const kept = JSON.parse(JSON.stringify(said.kept));
    equal((await ask(root, names, file, spec, "import", kept)).kept, kept, "kept until then");
    change(root, names);
    equal((await ask(root, names, file, spec, "import", kept)).to, to, "after");
  });

test("what changed just now is not trusted: the next change may have the same time", async () => {
  const { root, names } = project("a.ts b.ts c.ts", {
    with: { "package.json": { imports: { "#b": "./b.ts" } } },
  });
  await waitFor("an answer soon enough after a change", async () => {
    write(root, "package.json", { imports: { "#b": "./c.ts" } });
    const said = await ask(root, names, "a.ts", "#b");
    equal(said.to, "c.ts");
    return said.kept.seen["package.json"] === "new";
  });
});

for (const kept of [null, { names: 1, seen: {}, ways: {}, found: null }])
  test(`kept answers that are broken are not used: ${JSON.stringify(kept)}`, async () => {
    const { root, names } = project("a.ts src/b.ts", { with: NEEDS });
    equal(
      (await ask(root, names, "a.ts", "@/b", "import", kept as unknown as Kept)).to,
      "src/b.ts",
    );
  });

test("resolve() refuses to guess what it was not prepared for", () => {
  const { root, names } = project("a.ts", { with: NEEDS });
  throws(() => openResolver(root, names).resolve("a.ts", { from: "@/b", how: "import" }), {
    message: "Cannot resolve '@/b' in 'a.ts': prepare() was not asked for it.",
  });
});

const twice = (name: string) => ({ extends: [name, name] });
const chain = (length: number): Record<string, object> =>
  Object.fromEntries(Array.from({ length }, (_, i) => [`t${i}.json`, twice(`./t${i + 1}.json`)]));
// biome-ignore format: one case a row.
const HOSTILE: [about: string, spec: string, files: Record<string, string | object>][] = [
  ["extends that doubles at each of 40 steps", "p", { "tsconfig.json": { extends: "./t0.json" }, ...chain(40) }],
  ["extends of a device that never ends", "p", { "tsconfig.json": { extends: "/dev/zero" } }],
  ["options of the wrong kinds", "p", { "tsconfig.json": config({ baseUrl: {}, paths: [], module: 7, rootDirs: "x", moduleResolution: [] }) }],
  ["references in a circle", "p", { "tsconfig.json": { files: [], references: [{ path: "." }, { path: 7 }, 5] } }],
  ["imports that double at each of 60 steps", Array.from({ length: 40 }, (_, i) => `#${i}`).join(" "), { "package.json": { imports: Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`#${i}`, [`#${i + 1}`, `#${i + 1}`]])) } }],
];

for (const [about, spec, files] of HOSTILE)
  test(`imports survive ${about}`, async () => {
    const { root, names } = project("a.ts", { with: { "b.ts": "", ...files } });
    const resolver = openResolver(root, names);
    const imports = `./b.js ${spec}`.split(" ").map((from) => ({ from, how: "import" as const }));
    await resolver.prepare([["a.ts", imports]]);
    const [near, ...far] = imports.map((one) => resolver.resolve("a.ts", one));
    equal(near, "b.ts");
    deepEqual(new Set(far), new Set([undefined]));
    ok(Array.isArray(resolver.packages()));
  });

const factsOf = (files: Record<string, string>): [string, Facts][] =>
  Object.entries(files).map(([name, text]) => [name, scan(name, text)]);

async function graphFor(files: Record<string, string>, more: Record<string, string | object> = {}) {
  const { root, names } = project(Object.keys({ ...files, ...more }).join(" "), { with: more });
  const resolver = openResolver(root, names);
  return { resolver, graph: await graphOf(factsOf(files), resolver) };
}

test("the graph says of each import where it leads, how, and of what kind it is", async () => {
  const text = `import fs from "node:fs";
import type { B } from "./b.js";
export * from "./b.js";
import p from "p";
const c = import("./c");
import x from "./x.js";
`;
  const files = { "a.ts": text, "b.ts": "", "c.ts": 'import "./c.js";' };
  const { graph } = await graphFor(files, { "package.json": { dependencies: { p: "1" } } });
  const shown = graph.imports
    .get("a.ts")!
    .map(({ to, spec, line, kind, how }) => [line, how, spec, kind, to].join(" "));
  deepEqual(shown, [
    "1 import node:fs builtin ",
    "2 type ./b.js internal b.ts",
    "3 export ./b.js internal b.ts",
    "4 import p external ",
    "5 dynamic ./c internal c.ts",
    "6 import ./x.js missing ",
  ]);
  deepEqual(Object.fromEntries(graph.dependents), { "b.ts": ["a.ts"], "c.ts": ["a.ts"] });
});

test("a hub is what more than five files import", async () => {
  const files: Record<string, string> = { "b.ts": "", "c.ts": "", "d.ts": "" };
  for (const [of, many] of Object.entries({ b: 6, c: 5, d: 7 }))
    for (let i = 0; i < many; i++) files[`${of}${i}.ts`] = `import "./${of}.js";`;
  const { graph } = await graphFor(files);
  const found = hubs(graph).map(({ path, count }) => `${path} ${count}`);
  deepEqual(found, ["d.ts 7", "b.ts 6"]);
});

test("a place to begin is what package.json names, an index at the top, and what nothing imports", async () => {
  const { graph, resolver } = await graphFor(
    {
      "src/index.ts": 'import "./cli.js"; import "./lib/index.js";',
      "src/cli.ts": 'import "./index.js";',
      "src/lib/index.ts": 'import "./part.js"; import "../index.js";',
      "src/lib/part.ts": 'import "../main.js";',
      "src/main.ts": 'import "./cli.js";',
      "test/one.test.ts": 'import "../src/cli.js";',
      "types.d.ts": "",
    },
    {
      "package.json": {
        bin: { it: "dist/cli.js" },
        exports: { ".": { types: "./dist/no.d.ts" }, "./*": "./dist/*.js" },
      },
    },
  );
  const shown = entryPoints(graph, resolver).map(({ path, why }) => `${path} ${why}`);
  deepEqual(shown, [
    "src/index.ts name",
    "src/cli.ts package",
    "src/main.ts name",
    "test/one.test.ts alone",
  ]);
});

// biome-ignore format: one case a row.
const CYCLES: [about: string, files: Record<string, string>, cycles: [files: string, round: string][]][] = [
  ["none: a diamond", { "a.ts": 'import "./b.js"; import "./c.js";', "b.ts": 'import "./d.js";', "c.ts": 'import "./d.js";', "d.ts": "" }, []],
  ["none: types alone", { "a.ts": 'import "./b.js";', "b.ts": 'import type { A } from "./a.js";' }, []],
  ["a short round within a long one", { "a.ts": 'import "./b.js";', "b.ts": 'import "./c.js"; import "./a.js"', "c.ts": 'import "./d.js";', "d.ts": 'import "./a.js";' }, [["a.ts b.ts c.ts d.ts", "a.ts b.ts a.ts"]]],
];
for (const [about, files, expected] of CYCLES)
  test(`cycles: ${about}`, async () => {
    const { graph } = await graphFor(files);
    const found = cycles(graph).map(({ files, round }) => [files.join(" "), round.join(" ")]);
    deepEqual(found, expected);
  });

test("cycles are found in a chain longer than the call stack", async () => {
  const length = 30_000;
  const names = Array.from({ length }, (_, i) => `f${i}.ts`);
  const own = { spec: "", line: 1, kind: "internal", how: "import" } as const;
  const edge = (i: number): Edge => ({ ...own, to: names[(i + 1) % length]! });
  const imports = new Map(names.map((name, i) => [name, [edge(i)]]));
  const [one, ...more] = cycles({ imports, dependents: new Map() });
  equal(one?.round.length, length + 1);
  equal(more.length, 0);
});

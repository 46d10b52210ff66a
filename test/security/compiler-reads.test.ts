// What a compiler is led to, it does not read: by imports, links and settings that lead out of the
// project, or to what is denied. Each way has a canary where it leads, which no answer, message or
// file may hold.
import { deepEqual, doesNotMatch, match } from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { type Harness, harness } from "../../sdk/testing.ts";
import type { Tree } from "../support/files.ts";
import { having } from "../support/having.ts";
import { place, zz as run } from "../support/run.ts";
import { isAll } from "../support/runs.ts";

/** `at` is where the canary lies, as seen from the project; its other half is what leads there. */
interface Way {
  lies: (canary: string) => Record<string, string>; // there
  leads: (at: string) => Record<string, string>; // in the project; `->` makes a link
}
const module = (canary: string) =>
  `export const token = "${canary}" as const;\nexport default token;\n`;
const usesOf = (json: string) => `import data from "${json}";\nexport const use = data.nothing;\n`;
const uses = (name: string) => `export const use: "other" = ${name};\n`;
const LIB = '"lib": ["es5"], "types": []'; // little to check beside what the test is about
const from = (at: string) => (at.startsWith(".") ? at : `./${at}`);

const WAYS: Record<string, Way> = {
  "an import of JSON": {
    lies: (canary) => ({ "a.json": `{ "${canary}": 1 }` }),
    leads: (at) => ({ "a.ts": usesOf(`${from(at)}/a.json`) }),
  },
  "an import of TypeScript": {
    lies: (canary) => ({ "b.ts": module(canary) }),
    leads: (at) => ({ "b.ts": `import { token } from "${from(at)}/b";\n${uses("token")}` }),
  },
  "/// <reference path>": {
    lies: (canary) => ({ "c.d.ts": `declare const inC: "${canary}";\n` }),
    leads: (at) => ({ "c.ts": `/// <reference path="${from(at)}/c.d.ts" />\n${uses("inC")}` }),
  },
  "a path of tsconfig.json": {
    lies: (canary) => ({ "k.ts": module(canary) }),
    leads: (at) => ({
      "k/tsconfig.json": `{ "compilerOptions": { ${LIB}, "module": "esnext", "moduleResolution": "bundler", "paths": { "@k/*": ["../${at}/*"] } } }`,
      "k/k.ts": `import { token } from "@k/k";\n${uses("token")}`,
    }),
  },
  "what tsconfig.json extends": {
    lies: (canary) => ({
      "m.json": `{ "compilerOptions": { "jsx": "react-jsx", "jsxImportSource": "${canary}" } }`,
    }),
    leads: (at) => ({
      "m/tsconfig.json": `{ "extends": "../${at}/m.json", "compilerOptions": { ${LIB} } }`,
      "m/m.tsx": "export const use = <p/>;\n",
    }),
  },
  "a link to a file": {
    lies: (canary) => ({ "o.ts": module(canary) }),
    leads: (at) => ({
      "o.ts": `import { token } from "./o-link";\n${uses("token")}`,
      "o-link.ts": `->${at}/o.ts`,
    }),
  },
  "a link to a folder": {
    lies: (canary) => ({ "p/p.json": `{ "${canary}": 1 }` }),
    leads: (at) => ({ "p.ts": usesOf("./p-link/p.json"), "p-link": `->${at}/p` }),
  },
  "a link in node_modules": {
    lies: (canary) => ({
      "q/index.d.ts": `export const token: "${canary}";\n`,
      "q/package.json": '{ "name": "q" }',
    }),
    leads: (at) => ({
      "q.ts": `import { token } from "q";\n${uses("token")}`,
      "node_modules/q": `->../${at}/q`,
    }),
  },
  "the types of a package.json": {
    lies: (canary) => ({ "r.d.ts": `export const token: "${canary}";\n` }),
    leads: (at) => ({
      "node_modules/r/package.json": `{ "name": "r", "types": "../../${at}/r.d.ts" }`,
      "r.ts": `import { token } from "r";\n${uses("token")}`,
    }),
  },
};

const CONFIG = JSON.stringify({
  compilerOptions: {
    target: "esnext",
    module: "preserve",
    moduleResolution: "bundler",
    strict: true,
    allowJs: true,
    resolveJsonModule: true,
    types: [],
    lib: ["es2018"],
  },
});
/** Where the canaries lie, as seen from the folder of what leads there: outside, and in the project
 * where reading is denied. */
const LAIRS = {
  outside: { folder: ".", at: "../outside" },
  denied: { folder: "inner", at: "private" },
};
type Lair = keyof typeof LAIRS;
const EVERY = Object.keys(LAIRS) as Lair[];
const DENY = { deny: { read: ["inner/private"] } };
const canaryOf = (way: string, lair: Lair) => `CANARY_${lair}_${Object.keys(WAYS).indexOf(way)}`;

async function project(lairs: Lair[], how: object, t?: TestContext): Promise<Harness> {
  const files: Tree = {};
  for (const lair of lairs) {
    const { folder, at } = LAIRS[lair];
    files[join(folder, "tsconfig.json")] = CONFIG;
    files[join(folder, "package.json")] = { type: "module" };
    for (const [way, { lies, leads }] of Object.entries(WAYS)) {
      for (const [name, text] of Object.entries(lies(canaryOf(way, lair))))
        files[join(folder, at, name)] = text;
      for (const [name, text] of Object.entries(leads(at))) files[join(folder, name)] = text;
    }
  }
  const zz = await harness({ own: true, ...how }, t);
  put(zz.root, files);
  return zz;
}
const put = (cwd: string, files: Tree) => having(files, { ...place(), cwd });

/** Everything that the tools say about the project, and all that zz keeps of it. */
async function everything(zz: Harness): Promise<string> {
  const said: string[] = [];
  const tell = async (tool: string, args: object) =>
    said.push(JSON.stringify(await zz.call(tool, args)));
  await tell("check_types", { paths: ["."] });
  for (const symbol of ["token", "use", "inC", "nothing"]) {
    await tell("find_references", { symbol });
    await tell("find_definition", { symbol });
    await tell("rename_symbol", { symbol, to: "other" });
  }
  for (const folder of [".", "inner"]) {
    for (const name of [".", "a.ts", "o-link.ts"])
      await tell("get_structure", { path: join(folder, name) });
    for (const name of ["a.ts", "q.ts", "r.ts"])
      await tell("get_dependencies", { path: join(folder, name) });
  }
  await tell("get_structure", { path: "inner/private" });
  await tell("get_todos", {});
  await tell("find_symbols", { query: "CANARY" });
  await tell("repo_map", {});
  return said.join("\n") + indexOf(zz);
}
const indexOf = (zz: Harness): string =>
  readdirSync(zz.home, { recursive: true, encoding: "utf8" })
    .filter((name) => name.startsWith("index/"))
    .map((name) => readFileSync(join(zz.home, name), "latin1"))
    .join("\n");
const canariesIn = (text: string) => [...new Set(text.match(/CANARY_[a-z]+_\d+/g))].sort();
const waysOf = (canaries: string[]) =>
  canaries.map((one) => Object.keys(WAYS)[Number(/\d+$/.exec(one))]);

/** With canaries in both places: its compiler is started once. What is asked first is what few
 * files lead to: 20 are named. */
const shared = project(EVERY, DENY).then(async (zz) => {
  const { text } = await zz.call("check_types", { paths: ["a.ts", "q.ts", "m", "inner/a.ts"] });
  return { zz, text };
});
after(async () => (await shared).zz.close());

test("the compiler does not read what is outside or denied, and says so without a word of it", async () => {
  const { zz, text } = await shared;
  for (const name of ["../outside/a.json", "q"])
    match(text, new RegExp(`${name}' lies outside of the project: not read\\.`));
  match(text, /private\/a\.json' is denied by --deny-read=inner\/private: not read\./);
  deepEqual(waysOf(canariesIn(text + (await everything(zz)))), []);
});

const allTest = isAll ? test : () => {};
allTest(
  "an answer to read holds for the compiler from then on, in every way, and no longer than that",
  async (t) => {
    const zz = await project(["outside"], {}, t);
    const shows = async () =>
      canariesIn((await zz.call("check_types", { paths: ["b.ts"] })).text).length > 0;
    const rule = { verdict: "allow", kind: "read", from: "answer" } as const;
    const rules = [{ ...rule, name: "../outside" }, rule];
    deepEqual(await shows(), false);
    zz.core.rules.push(rules[0]!);
    deepEqual(await shows(), true);
    zz.core.rules.push(rules[1]!);
    const found = waysOf(canariesIn(await everything(zz)));
    deepEqual(new Set(found), new Set(Object.keys(WAYS)));
    for (const rule of rules) zz.core.rules.splice(zz.core.rules.indexOf(rule), 1);
    deepEqual(await shows(), false);
  },
);

allTest(
  "types of packages above the project, and links between a workspace's own packages, are read",
  async (t) => {
    const use = (name: string) => `import { token } from "${name}";\n${uses("token")}`;
    const files = {
      "tsconfig.json": CONFIG,
      "../node_modules/above/package.json": '{ "name": "above", "types": "main.d.ts" }',
      "../node_modules/above/main.d.ts": 'export const token: "ABOVE";\n',
      "../node_modules/.pnpm/store@1/node_modules/store/package.json":
        '{ "name": "store", "types": "i.d.ts" }',
      "../node_modules/.pnpm/store@1/node_modules/store/i.d.ts": 'export const token: "STORE";\n',
      "packages/own/package.json": '{ "name": "own", "types": "src/own.ts" }',
      "packages/own/src/own.ts": 'export const token = "OWN" as const;\n',
      "above.ts": use("above"),
      "own.ts": use("own"),
      "store.ts": use("store"),
      "node_modules/own": "->../packages/own",
      "node_modules/store": "->../../node_modules/.pnpm/store@1/node_modules/store",
    };
    const zz = await harness({ own: true }, t);
    put(zz.root, files);
    const { text } = await zz.call("check_types", { paths: ["."] });
    for (const token of ["ABOVE", "STORE", "OWN"]) match(text, new RegExp(`'"${token}"'`));
    doesNotMatch(text, /not read/);
  },
);

/** Where the canaries lie, as seen from `root`. */
const places = (root: string) =>
  EVERY.map((lair) => join(root, LAIRS[lair].folder, LAIRS[lair].at));
/** A plugin that is led to canaries in as many ways as one file has. */
const plugin = (
  places: string[],
) => `${places.map((at) => `/// <reference path="${at}/c.d.ts" />\n`).join("")}
import type { Zz } from "zz";
${places
  .map(
    (at, n) => `import data${n} from "${at}/a.json";
import { token as token${n} } from "${at}/b.ts";
const uses${n}: "other"[] = [token${n}, inC, data${n}.nothing];`,
  )
  .join("\n")}
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", run: () => String([uses0, uses1]) });
`;
function putCanaries(root: string): void {
  for (const [way, { lies }] of Object.entries(WAYS))
    for (const lair of EVERY)
      put(join(root, LAIRS[lair].folder, LAIRS[lair].at), lies(canaryOf(way, lair)));
}

/** With canaries and nothing else, for what plugins are led to: their checker is started once. */
let canaries: Promise<Harness> | undefined;
const withCanaries = () =>
  (canaries ??= harness({ own: true, answer: "no", ...DENY }).then((zz) => {
    putCanaries(zz.root);
    return zz;
  }));
after(async () => (await canaries)?.close());
/** What write_plugin says of such code, and what is asked and told meanwhile. */
async function saidOf(zz: Harness, code: string): Promise<string> {
  for (const list of [zz.questions, zz.notes]) list.length = 0;
  const { text } = await zz.call("write_plugin", { name: "lamp", code });
  return [text, ...zz.questions, ...zz.notes].join("\n");
}

allTest("write_plugin does not read files of zz's home or through other plugins", async (t) => {
  const zz = await withCanaries();
  t.after(() => rmSync(join(zz.home, "plugins"), { recursive: true }));
  const others = places(zz.root).map(
    (at, n) => `export { token as token${n} } from "${at}/b.ts";\n`,
  );
  put(zz.home, {
    "keys.json": { CANARY_outside_0: 1 },
    "plugins/note.json": { CANARY_outside_1: 1 },
    "plugins/other.ts": `${others.join("")}export const two = "CANARY_outside_2" as const;\n`,
  });
  const code = `import keys from "../keys.json";
import note from "./note.json";
import { token0, token1, two } from "./other.ts";
import type { Zz } from "zz";
const uses: "other"[] = [keys.nothing, note.nothing, token0, token1, two];
const wrong: number = "a";
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", run: () => String(uses) });\n`;
  const said = await saidOf(zz, code);
  deepEqual(canariesIn(said), []);
  match(said, /is not assignable to type 'number'/);
});

allTest("--check-plugin does not read what is outside or denied", async () => {
  const code = plugin(places(".").map(from));
  const where = having({ "lamp.ts": code });
  putCanaries(where.cwd);
  const ran = await run(
    where,
    "--check-plugin lamp.ts --json --deny-read=inner/private".split(" "),
  );
  deepEqual(waysOf(canariesIn(ran.stdout + ran.stderr)), []);
  match(ran.stdout, /not read\./);
});

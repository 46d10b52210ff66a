// --install, --update, --uninstall: the program itself, with real npm against a registry on loopback, and with real git.
import { deepEqual, doesNotMatch, equal, match, notEqual, ok, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Contents } from "../../../plugins/install/contents.ts";
import { lookAt } from "../../../plugins/install/look.ts";
import { aboutOf } from "../../../plugins/install/package.ts";
import { specOf } from "../../../plugins/install/spec.ts";
import { untar } from "../../../plugins/install/tar.ts";
import "../../support/lean.ts";
import { type Entries, fakeRegistry, tar } from "../../support/fake/registry.ts";
import { needs } from "../../support/needs.ts";
import { repl } from "../../support/repl.ts";
import { type How, type Place, place, ROOT, WAYS, zz } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";

const show = (value: unknown) => JSON.stringify(value);
/** A plugin. Most tests name its file .js: Node loads what compiles TypeScript anew in each process that tries a plugin. */
const tool = (name: string, says: string, more = "") =>
  `${more}\nexport default (zz) => zz.tool({ name: "${name}", description: "D", run: () => ${show(says)} });\n`;
const manifest = (name: string, more: object = {}) =>
  show({ name, version: "1.0.0", license: "MIT", type: "module", zz: "./plugin.js", ...more });

function put(at: string, files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(at, name)), { recursive: true });
    writeFileSync(join(at, name), content);
  }
}
/** A place with these files in its project. */
function having(files: Record<string, string | Buffer>): Place {
  const where = place();
  put(where.cwd, files);
  return where;
}
const ran = zz;
async function does(where: Place, args: string[], how: How = {}) {
  const done = await ran(where, args, how);
  equal(done.code, 0, done.stderr);
  return done;
}
async function refuses(where: Place, args: string[], why: RegExp, code = 1, how: How = {}) {
  const done = await ran(where, args, how);
  match(done.stderr, why);
  doesNotMatch(done.stderr, /^\s+at |node:internal/m);
  equal(done.code, code, done.stderr);
  return done;
}
const says = async (where: Place, name: string, how: How = {}) =>
  (await ran(where, ["--call", name], how)).stdout.trim();
const lockFile = (where: Place) => join(where.home, "plugins.lock.json");
const lockOf = (where: Place) => JSON.parse(readFileSync(lockFile(where), "utf8")).plugins;
/** All that stands in the home, with its bytes. */
function all(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const names = all.filter((name) => name !== "known-plugins.json"); // what the loader keeps
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(files.sort().map((name) => [name, readFileSync(join(folder, name), "latin1")]));
}
const leftovers = (where: Place) => readdirSync(join(where.home, "plugins")).filter((name) => name.startsWith("."));

// ── what can be named ──

for (const [given, kind, text = given] of [
  ["weather", "npm"],
  ["weather@1.2.3", "npm"],
  ["weather@^1", "npm"],
  ["@scope/name", "npm"],
  ["@scope/name@next", "npm"],
  [" weather ", "npm", "weather"],
  ["chart.js", "npm"],
  ["./x.ts", "path", "/p/x.ts"],
  ["../a b/ü.ts", "path", "/a b/ü.ts"],
  [".", "path", "/p"],
  ["/tmp/x", "path"],
  ["plugins/x", "path", "/p/plugins/x"],
  ["./x.tgz", "path", "/p/x.tgz"],
  ["zz/todo", "example"],
  ["git+https://h/x", "git"],
  ["https://h/x.git", "git", "git+https://h/x.git"],
  ["https://h/x.git#v1.0", "git", "git+https://h/x.git#v1.0"],
  ["git@h:a/x.git", "git"],
  ["ssh://git@h/x#main", "git"],
  ["file:///a/x.git#0123abc", "git"],
] as const)
  test(`specOf(${show(given)}) is ${kind}`, () => {
    const spec = specOf(given, "/p");
    deepEqual([spec.kind, spec.text], [kind, text]);
  });

for (const [given, why] of [
  ["", /nothing is named/],
  ["   ", /nothing is named/],
  ["-g", /begins with a dash/],
  ["--registry=x", /begins with a dash/],
  ["a b", /none of what can be installed/],
  ["a\nb", /control characters/],
  ["https://h/x", /may be anything\. Write git\+https/],
  ["https://u:p@h/x.git", /holds a password/],
  ["https://token@h/x.git", /holds a password/],
  ["git+https://h/x.git#--upload-pack=y", /not a branch, tag or commit/],
  ["git+https://h/x.git#a..b", /not a branch, tag or commit/],
  ["git+https://h/a b.git", /no spaces/],
  ["git+ext::sh -c x", /no spaces/],
  ["git+https://", /not a URL/],
  ["git@-oProxy:x", /none of what/],
] as const)
  test(`specOf() refuses ${show(given)}`, () => throws(() => specOf(given, "/p"), why));

// ── archives ──

const pax = (path: string) => {
  const line = (length: number) => `${length} path=${path}\n`;
  const bare = Buffer.byteLength(line(0)) - 1;
  return line(bare + String(bare + 2).length);
};
const long = `p/${"d/".repeat(70)}x`;
for (const [what, entries, names] of [
  [
    "files, without their folder",
    [
      ["p/a", "1"],
      ["p/b/c", "2"],
    ],
    ["a", "b/c"],
  ],
  [
    "folders, which say nothing",
    [
      ["p/", "", { type: "5" }],
      ["p/a", "1"],
    ],
    ["a"],
  ],
  [
    "a long name in pax",
    [
      ["pax", pax(long), { type: "x" }],
      ["short", "1"],
    ],
    [long.slice(2)],
  ],
  [
    "a long name of GNU's",
    [
      ["././@LongLink", `${long}\0`, { type: "L" }],
      ["short", "1"],
    ],
    [long.slice(2)],
  ],
  [
    "a link to a file in it",
    [
      ["p/d/a", "1"],
      ["p/b", "", { type: "2", link: "d/a" }],
    ],
    ["d/a", "b"],
  ],
  [
    "a hard link",
    [
      ["p/a", "1"],
      ["p/b", "", { type: "1", link: "p/a" }],
    ],
    ["a", "b"],
  ],
] as [string, Entries, string[]][])
  test(`untar() reads ${what}`, () => {
    const contents = untar(tar(entries), true);
    deepEqual([...contents.keys()], names);
    if (what.includes("link")) equal(contents.get("b")!.bytes.toString(), "1");
  });

for (const [what, entries, why] of [
  ["..", [["../x", ""]], /'\.\.\/x' leads out/],
  [".. in the middle", [["p/../../x", ""]], /leads out/],
  ["an absolute path", [["/etc/x", ""]], /'\/etc\/x' leads out/],
  ["a backslash", [["p\\..\\x", ""]], /leads out/],
  [
    ".. by pax",
    [
      ["pax", pax("../../x"), { type: "x" }],
      ["p/x", ""],
    ],
    /leads out/,
  ],
  ["a link out of it", [["p/x", "", { type: "2", link: "../../etc/passwd" }]], /link to '.*passwd', which leads out/],
  ["an absolute link", [["p/x", "", { type: "2", link: "/etc/passwd" }]], /leads out/],
  ["a link to nothing", [["p/x", "", { type: "2", link: "y" }]], /link to what is not a file/],
  ["a device", [["p/x", "", { type: "3" }]], /neither a file nor a folder/],
] as [string, Entries, RegExp][])
  test(`untar() refuses ${what}`, () => throws(() => untar(tar(entries), true), why));

test("untar() refuses files of more than 200 MB", () => {
  const large = Buffer.alloc(201e6 + 1024); // nobody touches its pages
  const [head] = [tar([["p/x", ""]]).subarray(0, 512)];
  head.write((201e6).toString(8).padStart(11, "0"), 124);
  head.write(" ".repeat(8), 148);
  const sum = head.reduce((all, byte) => all + byte, 0);
  head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  head.copy(large);
  throws(() => untar(large, true), /larger than 200 MB/);
});

test("untar() refuses what is damaged or cut off", () => {
  const whole = tar([["p/a", "x".repeat(2000)]]);
  throws(() => untar(whole.subarray(0, 1024), true), /cut off/);
  const broken = Buffer.from(whole);
  broken[0]! ^= 1;
  throws(() => untar(broken, true), /damaged/);
});

// ── what a package says ──

const contents = (files: Record<string, string>): Contents =>
  new Map(Object.entries(files).map(([name, text]) => [name, { bytes: Buffer.from(text) }]));

const keyed = { keywords: ["zz-plugin"] };
for (const [what, said, entry] of [
  ["the key zz", { zz: "./src/a.ts" }, "src/a.ts"],
  ["the key zz before the keyword", { zz: "src/a.ts", ...keyed, main: "b.js" }, "src/a.ts"],
  ["the keyword and main", { ...keyed, main: "./b.js" }, "b.js"],
  ["the keyword and exports", { ...keyed, main: "./b.js", exports: "./src/a.ts" }, "src/a.ts"],
  ["conditions", { ...keyed, exports: { ".": { types: "./x", import: { default: "./b.js" } } } }, "b.js"],
  ["the keyword alone", keyed, "index.ts"],
] as const)
  test(`a plugin is found by ${what}`, () => {
    const files = { "package.json": show({ name: "@s/x.y", ...said }), "src/a.ts": "", "b.js": "", "index.ts": "" };
    const { name, entry: found } = aboutOf(contents(files), "b", false);
    deepEqual([name, found], ["x-y", entry]);
  });

for (const [what, files, why] of [
  ["no package.json", { "a.txt": "" }, /neither a package\.json nor an index\.ts/],
  ["no key", { "package.json": "{}", "index.ts": "" }, /neither the key "zz".* nor the keyword "zz-plugin"/],
  [
    "a file that is not there",
    { "package.json": show({ zz: "x.ts" }) },
    /key "zz".* names '"x\.ts"', which is not a file/,
  ],
  ["a file outside", { "package.json": show({ zz: "../x.ts" }) }, /not a file in it/],
  ["a key that is no text", { "package.json": show({ zz: true }) }, /names 'true'/],
  [
    "a main without its ending",
    { "package.json": show({ ...keyed, main: "lib/a" }), "lib/a.js": "" },
    /key "main".*not a file/,
  ],
  ["a keyword alone", { "package.json": show(keyed) }, /no "exports", no "main"/],
  ["no JSON", { "package.json": "{" }, /not a JSON object/],
  ["a list", { "package.json": "[]" }, /not a JSON object/],
  ["a bad name", { "package.json": show({ name: "1x", zz: "a.ts" }), "a.ts": "" }, /'1x' cannot be a plugin's name/],
  [
    "a dependency on the disk",
    { "package.json": show({ zz: "a.ts", dependencies: { x: "file:../x" } }), "a.ts": "" },
    /own disk/,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`a package is refused for ${what}`, () => throws(() => aboutOf(contents(files), "x", false), why));

for (const [text, adds, reaches] of [
  [`zz.tool({ name: "a" })`, ["tool a"], []],
  [`z . command({ description: "x", name: 'b' })`, ["command /b"], []],
  ["zz.flag({ name: `f` }); zz.layer({ name })", ["flag --f", "layer of a name that is made as it runs"], []],
  [`zz.wrap("call", f); zz.on("answered", f); bus.on("data", f)`, ["changes every call", "sees 'answered'"], []],
  [`zz.tool<{}>({ name: "t" })`, ["tool t"], []],
  [`import fs from "node:fs/promises";`, [], [/^files/]],
  [`require('child_process')`, [], [/^other programs/]],
  ["import https from `https`", [], [/^the network \(node:http/]],
  ["await fetch (url)", [], [/^the network \(fetch\)/]],
  ["process.env.X; const { env } = process", [], [/^environment/]],
  ["const { env } = process", [], [/^environment/]],
  ["new Function('x')", [], [/^code that is made/]],
  ["eval(x)", [], [/^code that is made/]],
  ["import(x)", [], [/^modules named/]],
  [`import("./a.ts")`, [], []],
  ["import('./' + a)", [], [/^modules named/]],
  [`new Worker(x); import "worker_threads"`, [], [/^threads/]],
  [`import "node:sqlite"`, [], [/^SQLite files/]],
  ["process.getBuiltinModule(a)", [], [/^Node's inside/]],
  ["  // eval(x) is not used here\nlet retrieval = 1;", [], []],
] as [string, string[], RegExp[]][])
  test(`lookAt() finds in ${show(text)}`, () => {
    const look = lookAt(contents({ "a.ts": text, "readme.md": "eval(" }));
    deepEqual(look.adds, adds);
    equal(look.reaches.length, reaches.length, show(look.reaches));
    for (const [i, words] of reaches.entries()) match(look.reaches[i]!, words);
  });

// ── a file, a folder, an archive ──

const npm = await fakeRegistry();
after(npm.close);

describe("the program", { concurrency: 2 }, () => {
  describe("from the disk", { concurrency: 2 }, () => {
    test("a file is shown, asked for, installed, called, and removed; the lock file is stable and private", async () => {
      const where = having({ "b.ts": tool("b", "B", 'import "node:child_process";'), "a.ts": tool("a", "A") });
      const shown = await refuses(
        where,
        ["--install", "./b.ts"],
        /there is no terminal to ask on\. In a script -A says yes\./,
        4,
      );
      match(shown.stderr, /adds +tool b\n/);
      match(shown.stderr, /reaches +other programs/);
      match(shown.stderr, /runs with all your rights: the gate asks only for what goes through it/);
      deepEqual(all(where.home), {});
      const { stdout } = await does(where, ["-A", "--install", "./b.ts"]);
      equal(stdout, `Installed 'b' in ${join(where.home, "plugins", "b.ts")}.\n`);
      equal(await says(where, "b"), "B");
      const before = readFileSync(lockFile(where), "utf8");
      match((await does(where, ["-A", "--install", "./b.ts"])).stdout, /'b' is installed already/);
      await does(where, ["-A", "--install=a.ts", "--json"]);
      deepEqual(Object.keys(lockOf(where)), ["a", "b"]);
      equal(statSync(lockFile(where)).mode & 0o777, 0o600);
      put(where.cwd, { "a.ts": tool("a", "AA") });
      match((await does(where, ["-A", "--update=a"])).stderr, /changes +~ a\.ts\n/);
      match((await does(where, ["--uninstall", "a"])).stdout, /^Uninstalled 'a'/);
      equal(readFileSync(lockFile(where), "utf8"), before);
      deepEqual(Object.keys(all(where.home)).sort(), ["plugins.lock.json", "plugins/b.ts"]);
      const other = place();
      put(other.home, { "plugins.lock.json": before });
      await refuses(other, ["--install"], /restore puts 'b'.*there is no terminal to ask on/s, 4);
      deepEqual(all(other.home), { "plugins.lock.json": before });
      deepEqual(leftovers(where), []);
    });

    test("a folder: its entry by the key zz, its executables, no .git and no node_modules, an .npmrc left out", async () => {
      const where = having({
        "w/package.json": manifest("weather", { zz: "./plugin.ts", description: "The \x1b[31mweather." }),
        "w/plugin.ts": `import { says } from "./lib/says.ts";\n${tool("weather", "x").replace('"x"', "says")}`,
        "w/lib/says.ts": 'export const says = "sun";',
        "w/run.sh": "#!/bin/sh\n",
        "w/.npmrc": "git=/tmp/evil",
        "w/.git/config": "x",
        "w/node_modules/m/index.js": "x",
      });
      chmodSync(join(where.cwd, "w/run.sh"), 0o755);
      symlinkSync("run.sh", join(where.cwd, "w", "same.sh"));
      const { stderr } = await does(where, ["-A", "--install", "./w"]);
      match(stderr, /plugin +weather 1\.0\.0 \(The \[31mweather\.\)\n/);
      match(stderr, /note +Its \.npmrc is left out\./);
      const at = join(where.home, "plugins", "weather");
      deepEqual(Object.keys(all(at)), ["lib/says.ts", "package.json", "plugin.ts", "run.sh", "same.sh"]);
      equal(statSync(join(at, "run.sh")).mode & 0o777, 0o755);
      equal(await says(where, "weather"), "sun");
      const listed = JSON.parse((await does(where, ["--plugins", "--json"])).stdout);
      equal(listed.find((one: any) => one.from === "home").name, "weather");
    });

    test("what the person changed or put beside it is not lost unasked", async () => {
      const where = having({ "w/package.json": manifest("w"), "w/plugin.js": tool("w", "1") });
      await does(where, ["-A", "--install", "./w"]);
      const at = join(where.home, "plugins", "w");
      put(at, { "mine/notes.md": "mine" });
      appendFileSync(join(at, "plugin.js"), "// mine\n");
      await refuses(
        where,
        ["--uninstall", "w"],
        /files of 'w' were changed since: w\/plugin\.js\.\n.*there is no terminal to ask on/s,
        4,
      );
      put(where.cwd, { "w/plugin.js": tool("w", "2") });
      const kept = all(where.home);
      await refuses(where, ["--update", "w"], /update puts 'w'.*there is no terminal to ask on/s, 4);
      await refuses(where, ["--update"], /update puts 'w'.*there is no terminal to ask on/s, 4);
      deepEqual(all(where.home), kept);
      const { stderr } = await does(where, ["-A", "--update"]);
      match(stderr, /changes +1\.0\.0; ~ plugin\.js; what you changed since is lost: w\/plugin\.js/);
      equal(await says(where, "w"), "2");
      equal(readFileSync(join(at, "mine/notes.md"), "utf8"), "mine");
      match((await does(where, ["--uninstall", "w"])).stdout, /What was not installed stays: w\/mine\/notes\.md/);
      deepEqual(all(where.home), {
        "plugins/w/mine/notes.md": "mine",
        "plugins.lock.json": '{\n  "lockVersion": 1,\n  "plugins": {}\n}\n',
      });
    });

    test("an archive, and what it must not hold", async () => {
      const files: Entries = [
        ["p/package.json", manifest("t")],
        ["p/plugin.js", tool("t", "T")],
      ];
      const many: Entries = Array.from({ length: 20_001 }, (_, i) => [`p/${i}`, ""]);
      const where = having({
        "t.tgz": gzipSync(tar(files)),
        "out.tgz": gzipSync(tar([...files, ["p/../../../x", "x"]])),
        "many.tgz": gzipSync(tar(many)),
        "no.tgz": "no",
        "large.tgz": "",
      });
      truncateSync(join(where.cwd, "large.tgz"), 201e6);
      for (const [name, why] of [
        ["out", /'p\/\.\.\/\.\.\/\.\.\/x' leads out of it/],
        ["large", /larger than 200 MB/],
        ["many", /more than 20,000 files/],
        ["no", /neither a package\.json|damaged/],
      ] as const)
        await refuses(where, ["-A", "--install", `./${name}.tgz`], why);
      deepEqual(all(where.home), {});
      await does(where, ["-A", "--install", "./t.tgz"]);
      equal(await says(where, "t"), "T");
    });

    test("an example that zz brings, and one that it does not", async () => {
      const folder = join(ROOT, "plugins", "examples");
      const [name] = existsSync(folder) ? readdirSync(folder).filter((one) => /^[\w-]+\.ts$/.test(one)) : [];
      const where = place();
      await refuses(
        where,
        ["-A", "--install", "zz/none-such"],
        /Cannot install 'zz\/none-such': there is no such example/,
      );
      if (!name) return;
      await does(where, ["-A", "--install", `zz/${name.replace(".ts", "")}`]);
      ok(existsSync(join(where.home, "plugins", name)));
    });
  });

  describe("what is refused", { concurrency: 2 }, () => {
    for (const [what, files, args, why, code] of [
      [
        "a syntax error",
        { "x.ts": "export default (" },
        ["./x.ts"],
        /it does not load: Cannot load plugin 'x' \(x\.ts:1\)/,
      ],
      ["a throw", { "x.js": "throw new Error('no luck')" }, ["./x.js"], /no luck\. Nothing was changed\./],
      ["an exit", { "x.js": "process.exit(0)" }, ["./x.js"], /it does not load: .*it called process\.exit\(0\)/],
      [
        "an exit a moment later",
        {
          "x.js":
            "setTimeout(() => process.exit(0)); await new Promise((soon) => setTimeout(soon, 500)); export default () => {};",
        },
        ["./x.js"],
        /it called process\.exit\(0\)|zz did not start with it/,
      ],
      ["no export", { "x.js": "export const a = 1" }, ["./x.js"], /no default export/],
      [
        "a missing module",
        { "x.ts": 'import "./y.ts"; export default () => {}' },
        ["./x.ts"],
        /it does not load:.*y\.ts/,
      ],
      ["a tool that zz has", { "x.js": tool("read_file", "x") }, ["./x.js"], /it does not load:.*read_file/],
      ["a name that zz has", { "git.ts": tool("x", "x") }, ["./git.ts"], /zz has a plugin 'git' of its own/],
      ["a folder without a plugin", { "d/x.txt": "" }, ["./d"], /neither a package\.json nor an index\.ts/],
      ["a package without one", { "d/package.json": "{}" }, ["./d"], /neither the key "zz"/],
      [
        "no such file",
        {},
        ["./x.ts"],
        /Cannot install '\.\/x\.ts': there is no such file or folder\. Check the path\./,
      ],
      ["another kind of file", { "x.txt": "" }, ["./x.txt"], /a plugin is a \.ts or \.js file/],
      ["nothing", {}, [""], /Cannot install: nothing is named/, 2],
      ["a dash", {}, ["-g"], /begins with a dash/, 2],
      ["a plugin never installed", {}, null, /Cannot uninstall 'x': it was not installed by zz\. Nothing was\./, 2],
    ] as [string, Record<string, string>, string[] | null, RegExp, number?][])
      test(what, async () => {
        const where = having(files);
        const given = args ? `--install=${args[0]}` : "--uninstall=x";
        await refuses(where, ["-A", given], why, code);
        deepEqual(all(where.home), {});
        if (existsSync(join(where.home, "plugins"))) deepEqual(leftovers(where), []);
      });

    test("a plugin that hangs while it loads is given up, and one that waits for ever too", async () => {
      const where = having({ "x.js": "for (;;);", "y.js": "await new Promise(() => {})" });
      await Promise.all(
        ["./x.js", "./y.js"].map((file) =>
          refuses(
            { ...where, home: `${where.home}-${file[2]}` },
            ["-A", "--install", file],
            /took longer than 1 s|ran for 1 s without an end/,
            1,
            { env: { ZZ_LOAD_LIMIT: "1" }, way: "dist" },
          ),
        ),
      );
      deepEqual(all(`${where.home}-x`), {});
    });

    test("a file that was not installed so, and a plugin that another keeps from loading", async () => {
      const where = having({ "x.ts": tool("x", "1"), "y.js": tool("x", "2") });
      put(where.home, { "plugins/x.js": tool("other", "mine") });
      await refuses(where, ["-A", "--install", "./x.ts"], /x\.js' is there already, and was not installed so/);
      put(where.home, { "plugins/x.js": tool("x", "mine") });
      await refuses(
        where,
        ["-A", "--install", "./y.js"],
        /(does not load|conflicts with what is installed): .*tool 'x'/,
      );
      deepEqual(Object.keys(all(where.home)), ["plugins/x.js"]);
    });

    test("a link that leads out of a folder", async () => {
      const where = having({ "d/index.ts": tool("x", "1"), secret: "s" });
      symlinkSync("../secret", join(where.cwd, "d", "x.txt"));
      await refuses(where, ["-A", "--install", "./d"], /'x\.txt' is a link to '.*secret', which leads out of it/);
    });

    for (const [what, text, why] of [
      ["no JSON", "{", /it is not JSON\. Fix it, or remove it/],
      ["another version", '{"lockVersion":2,"plugins":{}}', /lockVersion is not 1/],
      [
        "a name that leads out",
        show({ lockVersion: 1, plugins: { "../x": {} } }),
        /what it says of '\.\.\/x' is not whole/,
      ],
      [
        "a file that leads out",
        show({
          lockVersion: 1,
          plugins: { x: { spec: "./x", source: "", integrity: "", entry: "x/a.ts", files: { "x/../../y": "" } } },
        }),
        /what it says of 'x' is not whole/,
      ],
    ] as const)
      test(`a lock file with ${what}`, async () => {
        const where = having({ "a.ts": tool("a", "A") });
        put(where.home, { "plugins.lock.json": text });
        for (const args of [["--install"], ["--install", "./a.ts"], ["--update"], ["--uninstall", "x"]])
          await refuses(where, ["-A", ...args], why);
        deepEqual(all(where.home), { "plugins.lock.json": text });
      });

    test("what the gate denies goes before -A", async () => {
      const where = having({ "a.ts": tool("a", "A") });
      const elsewhere = { env: { npm_config_registry: "http://registry.example/" } };
      for (const [deny, spec, why] of [
        ["--deny-write", "./a.ts", /write access to ".*plugins" is denied by --deny-write/],
        ["--deny-read=a.ts", "./a.ts", /read access to ".*a\.ts" is denied/],
        ["--deny-run=npm", "a", /run access to "npm pack a" is denied by --deny-run=npm/],
        ["--deny-run=git", "file:///x.git", /run access to "git fetch/],
        ["--deny-net=h", "git+https://h/x", /net access to "h" is denied/],
        ["--deny-net=registry.example", "a", /net access to "registry\.example" is denied/],
      ] as const)
        await refuses(where, ["-A", deny, "--install", spec], why, 4, deny.includes("example") ? elsewhere : {});
      deepEqual(all(where.home), {});
    });

    needs("bwrap")("a home that can only be read", async () => {
      const where = having({ "a.ts": tool("a", "A") });
      mkdirSync(join(where.home, "plugins"), { recursive: true });
      const [node, entry] = WAYS.dist;
      const args = [
        "--dev-bind",
        "/",
        "/",
        "--ro-bind",
        where.home,
        where.home,
        node!,
        entry!,
        "-A",
        "--install",
        "./a.ts",
      ];
      throws(
        () =>
          execFileSync("bwrap", args, { cwd: where.cwd, env: { ...process.env, ZZ_HOME: where.home }, stdio: "pipe" }),
        ({ stderr }: any) =>
          /Cannot install '\.\/a\.ts': '.*plugins.*' cannot be used: the file system is read-only\. Choose/.test(
            stderr,
          ),
      );
    });
  });

  // ── npm ──

  describe("from npm", () => {
    const cache = place();
    symlinkSync(process.execPath, join(cache.cwd, "node")); // npm by the same Node, which keeps what it compiled
    const PATH = `${cache.cwd}${delimiter}${process.env.PATH}`;
    Object.assign(process.env, { PATH, npm_config_registry: npm.registry, npm_config_cache: join(cache.cwd, "npm") });
    const rain = (version: string, more: object = {}) =>
      npm.publish(
        {
          name: "@sky/rain",
          version,
          license: "MIT",
          type: "module",
          ...keyed,
          main: "index.ts",
          dependencies: { drop: "^1.0.0" },
          peerDependencies: { zz: "*" },
          ...more,
        },
        {
          "index.ts": `import drop from "drop";\n${tool("rain", "x").replace('"x"', `drop + " ${version}"`)}`,
          "README.md": version,
        },
      );
    const script = { scripts: { install: "touch ran" }, hasInstallScript: true };
    npm.publish(
      { name: "drop", version: "1.0.0", ...script },
      { "index.js": 'module.exports = "drop 1.0";', "ran.js": "" },
    );
    rain("1.0.0");

    test("a package with its own packages; a newer one when asked; exactly the old one from the lock file", async () => {
      const where = place();
      const first = await does(where, ["-A", "--install", "@sky/rain"]);
      match(
        first.stderr,
        /plugin +rain 1\.0\.0\n.*from +npm package @sky\/rain\n.*integrity sha512-\S+\n.*license +MIT\n/,
      );
      match(first.stderr, /needs +drop \^1\.0\.0, and what those need; none of their install scripts runs/);
      match(
        first.stdout,
        /^Installed 'rain' 1\.0\.0 in .*\nThese packages have install scripts, which were not run: drop\.\n$/,
      );
      equal(await says(where, "rain"), "drop 1.0 1.0.0");
      ok(!existsSync(join(where.home, "plugins/rain/node_modules/drop/ran")));
      ok(!existsSync(join(where.home, "plugins/rain/node_modules/zz")), "a peer is zz's to lend");
      const lock = readFileSync(lockFile(where), "utf8");

      rain("1.1.0");
      npm.publish({ name: "drop", version: "1.1.0" }, { "index.js": 'module.exports = "drop 1.1";' });
      const other = place();
      put(other.home, { "plugins.lock.json": lock });
      match((await does(other, ["-A", "--install"])).stderr, /restore puts 'rain'/);
      equal(await says(other, "rain"), "drop 1.0 1.0.0");
      equal(readFileSync(lockFile(other), "utf8"), lock);
      match((await does(other, ["--install"])).stdout, /Everything is as it was installed: rain\./);

      const updated = await does(where, ["-A", "--update"]);
      match(updated.stdout, /^Installed 'rain' 1\.1\.0/);
      match(updated.stderr, /changes +1\.0\.0 → 1\.1\.0; ~ README\.md, ~ index\.ts, ~ package\.json\n/);
      equal(await says(where, "rain", { way: "dist" }), "drop 1.1 1.1.0"); // Node keeps a package that it imported
      match((await does(where, ["--update"])).stdout, /'rain' 1\.1\.0 is up to date/);
      await does(where, ["--uninstall", "rain"]);
      deepEqual(Object.keys(all(where.home)), ["plugins.lock.json"]);
    });

    test("other bytes under the same version are an error, whoever tells of them; an update that fails keeps the old", async (t) => {
      const where = place();
      const files = { "plugin.js": tool("snow", "1") };
      npm.publish({ name: "snow", version: "1.0.0", zz: "plugin.js" }, files);
      await does(where, ["-A", "--install", "snow"]);
      const lock = readFileSync(lockFile(where), "utf8");
      const evil = gzipSync(
        tar([
          ["package/package.json", manifest("snow")],
          ["package/plugin.js", tool("snow", "evil")],
        ]),
      );
      const { npm_config_cache } = process.env;
      t.after(() => Object.assign(process.env, { npm_config_cache }));
      const fresh = () => void (process.env.npm_config_cache = join(place().cwd, "npm")); // npm runs in these tests alone
      npm.swap("snow", "1.0.0", evil, false);
      fresh();
      await refuses(place(), ["-A", "--install", "snow"], /EINTEGRITY|integrity differs/);
      npm.swap("snow", "1.0.0", evil, true);
      rmSync(join(where.home, "plugins", "snow"), { recursive: true });
      const told =
        /Cannot restore 'snow': what npm package snow gives is not what was installed \(sha512-\S+ instead of sha512-/;
      fresh();
      await refuses(where, ["-A", "--install"], told);
      deepEqual(all(where.home), { "plugins.lock.json": lock });
      npm.publish({ name: "snow", version: "1.0.0", zz: "plugin.js" }, files);
      fresh();
      await does(where, ["-A", "--install"]);
      npm.publish({ name: "snow", version: "2.0.0", zz: "plugin.js" }, { "plugin.js": "throw new Error('broken')" });
      fresh();
      await refuses(where, ["-A", "--update"], /Cannot update 'snow': it does not load:.*broken/);
      equal(await says(where, "snow"), "1");
      equal(readFileSync(lockFile(where), "utf8"), lock);
    });

    for (const [what, spec, why, more] of [
      [
        "no such package",
        "none-such",
        /Cannot install 'none-such': there is no such package as 'none-such' \(npm: E404\)/,
      ],
      ["no such version", "drop@9", /has no such version \(npm: ETARGET\)/],
      ["no plugin", "drop@1.0.0", /neither the key "zz".* nor the keyword "zz-plugin"/],
      [
        "no network",
        "drop",
        /npm cannot reach its registry \(ECONNREFUSED\)/,
        { npm_config_registry: "http://127.0.0.1:49" },
      ],
      ["no npm", "drop", /there is no npm on the PATH\. Install it\./, { PATH: "/nowhere" }],
    ] as [string, string, RegExp, Record<string, string>?][])
      test(what, async () => {
        const where = place();
        await refuses(where, ["-A", "--install", spec], why, 1, more ? { env: more } : {});
        deepEqual(all(where.home), {});
      });
  });

  // ── git ──

  describe("from git", () => {
    const test = needs("git");
    const git = (cwd: string, ...args: string[]) =>
      execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false", ...args], {
        cwd,
        encoding: "utf8",
      }).trim();
    function repository(files: Record<string, string>) {
      const { cwd } = having(files);
      git(cwd, "init", "-q", "-b", "main");
      const commit = (more: Record<string, string> = {}) => {
        put(cwd, more);
        git(cwd, "add", "-A");
        git(cwd, "commit", "-qm", "x");
        return git(cwd, "rev-parse", "HEAD");
      };
      return { cwd, commit, url: `file://${cwd}` };
    }

    test("a branch, a tag, a commit; an update; the very commit from the lock file; no hook, no filter", async () => {
      const { cwd, commit, url } = repository({
        "package.json": manifest("hail"),
        "plugin.js": tool("hail", "1"),
        ".gitattributes": "* filter=x",
      });
      const one = commit();
      git(cwd, "tag", "-a", "v1", "-m", "x");
      const where = place();
      const { stderr } = await does(where, ["-A", "--install", url]);
      match(stderr, new RegExp(`from +git repository ${url}, commit ${one}`));
      equal(await says(where, "hail"), "1");
      equal(lockOf(where).hail.commit, one);
      const lock = readFileSync(lockFile(where), "utf8");
      const two = commit({ "plugin.js": tool("hail", "2"), "more.ts": "" });
      const updated = await does(where, ["-A", "--update", "hail"]);
      match(
        updated.stderr,
        new RegExp(
          `changes +\\(?1\\.0\\.0 \\(${one.slice(0, 10)}\\) → 1\\.0\\.0 \\(${two.slice(0, 10)}\\); \\+ more\\.ts, ~ plugin\\.js`,
        ),
      );
      equal(await says(where, "hail"), "2");
      writeFileSync(lockFile(where), lock);
      await does(where, ["-A", "--install"]);
      equal(await says(where, "hail"), "1");
      // What is shown before the question is what would be installed, by its commit and the sum of its files.
      const sums = { [one]: lockOf(where).hail.integrity, [two]: updated.stderr.match(/integrity (.*)/)![1] };
      notEqual(sums[one], sums[two]);
      for (const [ref, commit] of [
        ["main", two],
        ["v1", one],
        [two, two],
      ] as const) {
        const other = place();
        const { stderr } = await refuses(
          other,
          ["--install", `git+${url}#${ref}`],
          /there is no terminal to ask on/,
          4,
        );
        match(stderr, new RegExp(`from +git repository .*, commit ${commit}\n`), ref);
        equal(stderr.match(/integrity (.*)/)![1]!.trim(), sums[commit]!.trim(), ref);
      }
      const other = place();
      await does(other, ["-A", "--install", `git+${url}#${one.slice(0, 8)}`]);
      equal(await says(other, "hail"), "1", "a short hash");
      await refuses(where, ["-A", "--install", `${url}#none`], /has no branch, tag or commit 'none'/);
    });

    test("a private repository, none at all, no network, no git: a sentence each, and no password is asked for", async () => {
      const server = createServer((_, response) => response.writeHead(401, { "www-authenticate": "Basic" }).end());
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      after(() => void server.close().closeAllConnections());
      const where = place();
      const closed = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
      await refuses(where, ["-A", "--install", closed], /it is private, or is not there: git was asked to log in/);
      await refuses(where, ["-A", "--install", `file://${where.cwd}/none.git`], /there is no such repository/);
      await refuses(where, ["-A", "--install", "http://127.0.0.1:49/x.git"], /git cannot reach it/);
      await refuses(where, ["-A", "--install", "git@127.0.0.1:x.git"], /Cannot install 'git@127\.0\.0\.1:x\.git': /);
      await refuses(where, ["-A", "--install", closed], /there is no git on the PATH/, 1, {
        env: { PATH: "/nowhere" },
      });
      deepEqual(all(where.home), {});
    });
  });

  // ── kill -9 ──

  describe("killed", () => {
    test("at any time leaves the old or the new, and the next run clears up", async () => {
      const folder = (version: string) => ({
        "w/package.json": manifest("w", { version }),
        "w/plugin.js": `import { says } from "./says.js";\n${tool("w", "x").replace('"x"', "says")}`,
        "w/says.js": `export const says = "${version}";`,
        ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`w/data/${i}`, version])),
      });
      const where = having(folder("1.0.0"));
      await does(where, ["-A", "--install", "./w"]);
      let [version, killed] = [1, 0];
      for (let ms = 60; ms < 340; ms += process.env.ZZ_RUNS ? 5 : 56) {
        version++;
        put(where.cwd, folder(`${version}.0.0`));
        const dies = AbortSignal.timeout(ms);
        const done = ran(where, ["-A", "--update"], { signal: dies });
        if ((await done).code === null) killed++;
        // What a kill between two renames left is made whole by the next run that installs.
        await does(where, ["--uninstall", "none"]).catch(() => {});
        const now = await says(where, "w");
        const said = lockOf(where).w.version;
        equal(now, said);
        deepEqual(
          new Set(Object.entries(all(join(where.home, "plugins", "w", "data"))).map(([, text]) => text)),
          new Set([now]),
        );
        deepEqual(leftovers(where), []);
      }
      ok(killed > 1, `only ${killed} were killed`);
    });

    let installed: Promise<[older: Place, newer: Place]> | undefined;
    /** Two homes, with a plugin as it was and as it is now. */
    async function twoVersions(): Promise<[Place, Place]> {
      const older = having({ "w/package.json": manifest("w"), "w/plugin.js": tool("w", "old") });
      await does(older, ["-A", "--install", "./w"]);
      const newer = { ...older, home: `${older.home}-2` };
      put(older.cwd, { "w/plugin.js": tool("w", "new") });
      await does(newer, ["-A", "--install", "./w"]);
      return [older, newer];
    }

    for (const [what, disturb] of [
      ["before the first rename", () => {}],
      ["between the renames", (place: string, stage: string) => renameSync(join(place, "w"), join(stage, "old"))],
      [
        "before the lock file",
        (place: string, stage: string) => {
          renameSync(join(place, "w"), join(stage, "old"));
          renameSync(join(stage, "home/plugins/w"), join(place, "w"));
        },
      ],
    ] as [string, (place: string, stage: string) => void][])
      test(`what was agreed on is done: killed ${what}`, async () => {
        const [older, newer] = await (installed ??= twoVersions());
        const [where, other] = [{ ...older, home: `${older.home} ${what}` }, newer];
        cpSync(older.home, where.home, { recursive: true });
        const plugins = join(where.home, "plugins");
        const stage = join(plugins, ".install-999999-x");
        cpSync(join(other.home, "plugins"), join(stage, "home/plugins"), { recursive: true });
        put(stage, { "plan.json": show({ name: "w", entry: lockOf(other).w, target: "w", old: "w" }) });
        put(plugins, { ".install-999998-y/home/x": "" });
        disturb(plugins, stage);
        match((await does(where, ["--install"])).stdout, /Everything is as it was installed/);
        equal(await says(where, "w"), "new");
        deepEqual(lockOf(where), lockOf(other));
        deepEqual(leftovers(where), []);
      });
  });
});

// ── at the prompt ──

test("/install asks, a no changes nothing, a yes is live at once; /uninstall takes it away", async (t) => {
  const where = having({
    "w.ts": `export default (zz) => zz.command({ name: "wind", description: "D", run: (_, ctx) => ctx.note("it blows") });`,
  });
  const { type, sees, leave } = await repl(t, { where, rows: 40, cols: 120 });
  type(`/install ./w.ts${KEY.enter}`);
  await sees(/adds +command \/wind/);
  await sees("[y/N]");
  await new Promise((done) => setTimeout(done, 250));
  type("n");
  await sees("you said no");
  ok(!existsSync(join(where.home, "plugins", "w.ts")));
  type(`/install ./w.ts${KEY.enter}`);
  await sees(/\[y\/N\][\s\S]*\[y\/N\]/);
  await new Promise((done) => setTimeout(done, 250));
  type("y");
  await sees("Plugin 'w' loaded");
  type(`/wind${KEY.enter}`);
  await sees("it blows");
  type(`/uninstall w${KEY.enter}`);
  await sees("Plugin 'w' unloaded");
  await leave();
  deepEqual(leftovers(where), []);
});

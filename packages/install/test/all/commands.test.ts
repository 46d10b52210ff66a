// --install, --update, --uninstall. packages/install/test has what takes npm, git and kills many
// times.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { textOf } from "zz/text";
import { standingClock } from "../../../../sdk/testing.ts";
import { type Entries, tar } from "../../../../test/support/fake/registry.ts";
import { put } from "../../../../test/support/files.ts";
import {
  all,
  does,
  leftovers,
  lockFile,
  lockOf,
  manifest,
  NOBODY,
  refuses,
  says,
  show,
  tool,
} from "../../../../test/support/install.ts";
import { place, withEnvironment } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { sumOf } from "../../files.ts";

test("a file is shown, asked for, installed, called, and removed; the lock file is stable and private", async () => {
  const where = place({
    "b.ts": tool("b", "B", 'import "node:child_process";'),
    "a.ts": tool("a", "A"),
  });
  const shown = await refuses(
    where,
    ["--install", "./b.ts"],
    /no terminal to ask on\. In a script -A says yes\./,
    4,
  );
  match(shown.stderr, /adds +tool b\n/);
  match(shown.stderr, /reaches +other programs/);
  match(shown.stderr, /runs with all your rights: the gate asks only for what goes through it/);
  deepEqual(all(where.home), {});
  const { stdout } = await does(where, ["-A", "--install", "./b.ts"]);
  equal(stdout, `Installed 'b' in ${join(where.home, "plugins", "b.ts")}.\n`);
  equal(await says(where, "b"), "B");
  const before = fs.readFileSync(lockFile(where), "utf8");
  match((await does(where, ["-A", "--install", "./b.ts"])).stdout, /'b' is installed already/);
  await does(where, ["-A", "--install=a.ts", "--json"]);
  deepEqual(Object.keys(lockOf(where)), ["a", "b"]);
  equal(fs.statSync(lockFile(where)).mode & 0o777, 0o600);
  match((await does(where, ["--uninstall", "a"])).stdout, /^Uninstalled 'a'/);
  equal(fs.readFileSync(lockFile(where), "utf8"), before);
  deepEqual(Object.keys(all(where.home)).sort(), ["plugins.lock.json", "plugins/b.ts"]);
  const other = place();
  put(other.home, { "plugins.lock.json": before });
  await refuses(other, ["--install", "zz/todo"], /from +an example that zz brings\n/, 4);
  await refuses(other, ["--install"], /restore puts 'b'.*there is no terminal to ask on/s, 4);
  deepEqual(all(other.home), { "plugins.lock.json": before });
  deepEqual(leftovers(where), []);
});

const SCRIPTS = { prepare: "touch ran", prepack: "touch ran", install: "touch ran" };
test("a folder is installed and updated; what the person changed or put beside it is not lost unasked", async () => {
  const where = place({
    "w/package.json": manifest("weather", {
      zz: "./plugin.ts",
      description: "The \x1b[31mweather.",
      scripts: SCRIPTS,
    }),
    "w/plugin.ts": `import { says } from "./lib/says.ts";\n${tool("weather", "x").replace('"x"', "says")}`,
    "w/lib/says.ts": 'export const says = "sun";',
    "w/run.sh": "#!/bin/sh\n",
    "w/.npmrc": "git=/tmp/evil",
    "w/.git/config": "x",
    "w/node_modules/m/index.js": "x",
  });
  fs.chmodSync(join(where.cwd, "w/run.sh"), 0o755);
  fs.symlinkSync("run.sh", join(where.cwd, "w", "same.sh"));
  const installed = await does(where, ["-A", "--install", "./w"]);
  match(installed.stderr, /plugin +weather 1\.0\.0 \(The \[31mweather\.\)\n/);
  const at = join(where.home, "plugins", "weather");
  deepEqual(Object.keys(all(at)), [
    "lib/says.ts",
    "package.json",
    "plugin.ts",
    "run.sh",
    "same.sh",
  ]);
  ok(
    !fs.existsSync(join(where.cwd, "w/ran")) &&
      fs.readFileSync(join(at, "package.json"), "utf8").includes("prepare"),
  );
  equal(fs.statSync(join(at, "run.sh")).mode & 0o777, 0o755);
  equal(await says(where, "weather"), "sun");

  put(at, { "mine/notes.md": "mine" });
  fs.appendFileSync(join(at, "plugin.ts"), "// mine\n");
  const changed =
    /files of 'weather' were changed since: weather\/plugin\.ts\.\n.*there is no terminal to ask on/s;
  await refuses(where, ["--uninstall", "weather"], changed, 4);
  put(where.cwd, { "w/plugin.ts": tool("weather", "rain"), "w/more.ts": "" });
  const kept = all(where.home);
  await refuses(where, ["--update"], /update puts 'weather'.*there is no terminal to ask on/s, 4);
  deepEqual(all(where.home), kept);
  const { stderr } = await does(where, ["-A", "--update"]);
  match(
    stderr,
    /changes +1\.0\.0; \+ more\.ts, ~ plugin\.ts; what you changed since is lost: weather\/plugin\.ts/,
  );
  match(fs.readFileSync(join(at, "plugin.ts"), "utf8"), /"rain"/);
  equal(fs.readFileSync(join(at, "mine/notes.md"), "utf8"), "mine");
  const { stdout } = await does(where, ["--uninstall", "weather"]);
  match(stdout, /What was not installed stays: weather\/mine\/notes\.md/);
  deepEqual(Object.keys(all(where.home)), ["plugins.lock.json", "plugins/weather/mine/notes.md"]);
  deepEqual(lockOf(where), {});
});

test("a folder without a package.json is a plugin, too, and an empty word is one", async () => {
  const where = place({ "rain/index.js": tool("rain", "R") });
  await does(where, ["-A", "--install", "./rain"]);
  equal(await says(where, "rain"), "R");
  await refuses(where, ["-A", "--install", ""], /^Cannot install: nothing is named\. /m, 2);
});

test("an archive is read offline, and nothing in it lands outside or is a link", async () => {
  const files: Entries = [
    ["p/package.json", manifest("t")],
    ["p/plugin.js", tool("t", "T")],
    ["p/../../../../out", "x"],
    ["p\\..\\..\\out", "x"],
    ["p/up", "", { type: "2", link: "../.." }],
    ["p/up/out", "x"],
    ["p/hard", "", { type: "1", link: "p/plugin.js" }],
    ["p/device", "", { type: "3" }],
    ["/etc/out", "x"],
    ["p/.npmrc", "git=evil"],
  ];
  const where = place({ "t.tgz": gzipSync(tar(files)), "no.tgz": "no", "large.tgz": "" });
  fs.truncateSync(join(where.cwd, "large.tgz"), 201e6);
  await refuses(where, ["-A", "--install", "./large.tgz"], /larger than 200 MB/);
  await refuses(where, ["-A", "--install", "./no.tgz"], /the archive is damaged\. Get/);
  const { stderr } = await refuses(where, ["--install", "./t.tgz"], NOBODY, 4);
  const shown =
    /plugin +t 1\.0\.0\n.*integrity sha512-.*files +4, .*: etc\/out, package\.json, plugin\.js, up\/out\n/s;
  match(stderr, shown);
  deepEqual(all(where.home), {});
});

const LINK = { "d/index.ts": tool("x", "1"), secret: "s", "d/x.txt": "->../secret" };
const LATE =
  "setTimeout(() => process.exit(0)); await new Promise(() => {}); export default () => {};";
for (const [what, files, given, why, code] of [
  [
    "what does not load",
    { "x.js": "throw Error('no luck')" },
    "--install=./x.js",
    /: no luck\. Nothing was changed/,
  ],
  [
    "an exit a moment later",
    { "x.js": LATE },
    "--install=./x.js",
    /process\.exit\(0\)|zz did not start with it/,
  ],
  [
    "a name that zz has",
    { "git.ts": tool("x", "x") },
    "--install=./git.ts",
    /zz has a plugin 'git' of its own/,
  ],
  [
    "a plugin that everyone needs, by zz/",
    {},
    "--install=zz/undo",
    /'zz\/undo': zz brings nothing of that name/,
  ],
  [
    "a link that leads out",
    LINK,
    "--install=./d",
    /'x\.txt' is a link to '.*secret', which leads out of it/,
  ],
  [
    "no such example",
    {},
    "--install=zz/none-such",
    /'zz\/none-such': zz brings nothing of that name/,
  ],
  ["no such file", {}, "--install=./x.ts", /Cannot install '\.\/x\.ts': nothing is there\. Check/],
  ["nothing, by an empty variable", {}, "--install=", /^Cannot install: nothing is named\. /m, 2],
  ["blanks", {}, "--install=  ", /^Cannot install: nothing is named\. /m, 2],
  [
    "an address that is none",
    {},
    "--install=file:///…%zz",
    /^Cannot install 'file:\/\/\/…%zz': it is not a URL\. Check it\./m,
    2,
  ],
  ...["git+ssh://", "git+https://h", "git+https://h/", "file://", "ssh://h//"].map((spec) => [
    `no repository: ${spec}`,
    {},
    `--install=${spec}`,
    /^Cannot install '.*': it (names no repository\. Add its path|is not a URL\. Check it)\./m,
    2,
  ]),
  [
    "a FIFO in a folder",
    { "d/index.ts": "", "d/pipe": "|" },
    "--install=./d",
    /^Cannot install '\.\/d': 'pipe' is neither a file nor a folder\. Remove it\./m,
  ],
  [
    "a folder with nothing of a plugin",
    { "d/": null },
    "--install=./d",
    /^Cannot install '\.\/d': it has neither a package\.json nor an index\.ts or index\.js\./m,
  ],
  [
    "the folder that holds the home",
    {},
    "--install=/",
    /^Cannot install '\/': it holds zz's own home\. Name the folder of the plugin alone\./m,
  ],
  [
    "no such archive",
    {},
    "--install=none.tgz",
    /^Cannot install 'none\.tgz': nothing is there\. Check the path\./m,
  ],
  [
    "a plugin never installed",
    {},
    "--uninstall=x",
    /Cannot uninstall 'x': it was not installed by zz\. Nothing/,
    2,
  ],
] as [string, Record<string, string>, string, RegExp, number?][])
  test(`refused: ${what}`, async () => {
    const where = place(files);
    await refuses(where, ["-A", given], why, code);
    deepEqual([all(where.home), leftovers(where)], [{}, []]);
  });

test("refused: a plugin that hangs while it loads", async (t) => {
  const clock = standingClock();
  const run = await harness({ own: true, clock, answer: "yes", files: { "x.js": "for (;;);" } }, t);
  const done = run.command("/install ./x.js").catch(({ message }) => [message]);
  await clock.waits(15_000);
  await clock.pass(15_000);
  match(
    (await done).join(),
    /Cannot install '\.\/x\.js': it did not load within 15 s\. Nothing was changed\./,
  );
  deepEqual(fs.readdirSync(join(run.home, "plugins")), []);
});

test("refused: an npm that hangs; it sees no secret but those that the person's .npmrc names", async (t) => {
  const clock = standingClock();
  const { cwd } = place({
    npmrc: "//h/:_authToken=${MY_TOKEN}",
    npm: '#!/bin/sh\nenv > "$0.env"; sleep 1000\n',
  });
  fs.chmodSync(join(cwd, "npm"), 0o755);
  const own = {
    npm_config_userconfig: join(cwd, "npmrc"),
    OTHER_API_KEY: "hush",
    MY_TOKEN: "t",
    ALL_PROXY: "p",
  };
  using _ = withEnvironment({ ...own, PATH: `${cwd}:${process.env.PATH}` });
  const run = await harness({ own: true, clock, answer: "yes" }, t);
  const done = run.command("/install rain").catch(({ message }) => [message]);
  const env = () => textOf(join(cwd, "npm.env"));
  await waitFor("npm", () => env().includes("PATH="));
  await clock.waits(120_000);
  await clock.pass(120_000);
  match(
    (await done).join(),
    /Cannot install 'rain': npm took longer than 120 s and was stopped\. Try again\./,
  );
  match(env(), /^MY_TOKEN=t$/m);
  match(env(), /^ALL_PROXY=p$/m);
  ok(!env().includes("hush"));
  deepEqual(fs.readdirSync(join(run.home, "plugins")), []);
});

test("refused: a plugin that changes while the question stands", async (t) => {
  const change = async () => {
    const [file] = fs.globSync(join(run.home, "plugins/.install-*/home/plugins/x.js"));
    fs.appendFileSync(file!, "evil()");
    return "y";
  };
  const run = await harness({ own: true, answer: change, files: { "x.js": tool("x", "x") } }, t);
  const done = await run.command("/install ./x.js").catch(({ message }) => [message]);
  match(
    done.join(),
    /Cannot install '\.\/x\.js': its files changed while the question stood\. Try again\./,
  );
});

test("refused: what stands there and was not installed, and a plugin that another keeps from loading", async () => {
  const where = place({ "x.ts": tool("x", "1"), "y.js": tool("x", "2") });
  put(where.home, { "plugins/x.js": tool("x", "mine") });
  await refuses(
    where,
    ["-A", "--install", "./x.ts"],
    /x\.js' is there already, and was not installed so/,
  );
  await refuses(
    where,
    ["-A", "--install", "./y.js"],
    /(does not load|conflicts with what is installed): .*tool 'x'/,
  );
  deepEqual(Object.keys(all(where.home)), ["plugins/x.js"]);
});

test("plugins in folders may all call their file the same", async () => {
  const packages = ["a", "b", "c"].flatMap((name) => [
    [`${name}/package.json`, manifest(`${name}-plug`)],
    [`${name}/plugin.js`, tool(name, name)],
  ]);
  const where = place(Object.fromEntries(packages));
  for (const name of ["a", "b", "c"]) await does(where, ["-A", "--install", `./${name}`]);
  deepEqual(Object.keys(lockOf(where)), ["a-plug", "b-plug", "c-plug"]);
});

const OUT = { spec: "./x", source: "", integrity: "", top: "x/../../y", files: {} };
for (const [what, text, why] of [
  ["no JSON", "{", /it is not JSON\. Fix it, or remove it/],
  [
    "a file that leads out",
    show({ lockVersion: 1, plugins: { x: OUT } }),
    /what it says of 'x' is not whole/,
  ],
] as const)
  test(`refused: a lock file with ${what}`, async () => {
    const where = place({ "a.ts": tool("a", "A") });
    put(where.home, { "plugins.lock.json": text });
    for (const args of [["--install"], ["--install", "./a.ts"], ["--update"], ["--uninstall", "x"]])
      await refuses(where, ["-A", ...args], why);
    deepEqual(all(where.home), { "plugins.lock.json": text });
  });

test("refused: what the gate denies, before -A", async () => {
  const where = place({ "a.ts": tool("a", "A") });
  for (const [deny, spec, why] of [
    ["--deny-write", "./a.ts", /write access to ".*plugins" is denied by --deny-write/],
    ["--deny-read=a.ts", "./a.ts", /read access to ".*a\.ts" is denied/],
    ["--deny-run=npm", "a", /run access to "npm install a" is denied by --deny-run=npm/],
    ["--deny-run=git", "file:///x.git", /run access to "git fetch/],
    ["--deny-net=h", "git+https://h/x", /net access to "h" is denied/],
  ] as const)
    await refuses(where, ["-A", deny, "--install", spec], why, 4);
  deepEqual(all(where.home), {});
});

describe("what was agreed on is done by the next run, if one was killed", () => {
  const [older, newer] = [tool("w", "old"), tool("w", "new")];
  const about = { spec: "/w.js", source: "/w.js", integrity: "sha512-x", top: "w.js" };
  const entry = (text: string) => ({ ...about, files: { "w.js": sumOf(text) } });
  const lock = (text: string) =>
    `${JSON.stringify({ lockVersion: 1, plugins: { w: entry(text) } }, null, 2)}\n`;
  for (const isPlaced of [false, true])
    test(isPlaced ? "before the lock file" : "between the renames", async () => {
      const where = place();
      const stage = join(where.home, "plugins", ".install-999999-x");
      put(where.home, {
        "plugins.lock.json": lock(older),
        "plugins/w.js": older,
        "plugins/.install-999998-y/x": "",
      });
      const plan = { name: "w", entry: entry(newer), target: "w.js", old: "w.js" };
      put(stage, { "home/plugins/w.js": newer, "plan.json": plan });
      fs.renameSync(join(where.home, "plugins/w.js"), join(stage, "old"));
      if (isPlaced)
        fs.renameSync(join(stage, "home/plugins/w.js"), join(where.home, "plugins/w.js"));
      match((await does(where, ["--install"])).stdout, /Everything is as it was installed/);
      deepEqual(all(where.home), { "plugins.lock.json": lock(newer), "plugins/w.js": newer });
    });
});

test("/install asks, a no changes nothing, a yes is live at once; /uninstall takes it away", async (t) => {
  const says = ["n", "y"];
  const wind = `export default (zz) => zz.command({ name: "wind", description: "D", run: (_, ctx) => ctx.note("it blows") });`;
  const run = await harness(
    { own: true, files: { "w.js": wind }, answer: async () => says.shift()! },
    t,
  );
  const plugins = () => fs.readdirSync(join(run.home, "plugins"));
  match(
    (await run.command("/install ./w.js").catch(({ message }) => [message])).join(),
    /you said no/,
  );
  match(run.questions[0]!, /adds +command \/wind[\s\S]*\[y\/N\]/);
  deepEqual(plugins(), []);
  match((await run.command("/install ./w.js")).join("\n"), /Plugin 'w' loaded/);
  deepEqual(plugins(), ["w.js"]);
  deepEqual(await run.command("/wind"), ["it blows"]);
  match((await run.command("/uninstall w")).join("\n"), /Plugin 'w' unloaded/);
  deepEqual(plugins(), []);
});

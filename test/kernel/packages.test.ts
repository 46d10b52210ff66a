// packages/: each is a plugin package as a stranger would write it, and what a home or a version
// does to one.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { whyWrongVersion } from "../../kernel/plugins/import-plugin.ts";
import { put } from "../support/files.ts";
import { place, ROOT, zz } from "../support/run.ts";
import { harness } from "../support/script.ts";

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
const root = JSON.parse(read("package.json"));
const NAMES = readdirSync(join(ROOT, "packages")).filter((name) => !name.startsWith("."));
const manifests = new Map(
  NAMES.map((name) => [name, JSON.parse(read(`packages/${name}/package.json`))]),
);
const ONE_SCREEN = 40; // lines

/** The first cells of a README's tables: `tool x`, or the name of a package. */
const cellsOf = (readme: string, table: string): string[] => {
  const [, rows = ""] = readme.split(`| ${table} |`);
  const body = rows.split("\n\n")[0]!.split("\n").slice(2);
  return body.map((row) => row.split("|")[1]!.trim().replaceAll("`", ""));
};

describe("each package", () => {
  test("describes itself: its job, what it brings and needs, how to turn it off, on one screen", async (t) => {
    const { ctx } = await harness({ own: true }, t);
    const LISTED = ["tool", "command", "flag", "layer"];
    for (const name of NAMES) {
      const readme = read(`packages/${name}/README.md`);
      const { description, dependencies, optionalDependencies } = manifests.get(name);
      equal(readme.split("\n")[0], description, name);
      ok(readme.split("\n").length <= ONE_SCREEN + 1, `${name}: more than ${ONE_SCREEN} lines`);
      const { adds } = ctx.about.plugins.find((plugin) => plugin.name === name)!;
      const shown = { command: "/", flag: "--" } as Record<string, string>;
      const { settings } = await import(`../../packages/${name}/index.ts`);
      const registered = [
        ...adds
          .filter(({ kind }) => LISTED.includes(kind))
          .map(({ kind, name }) => `${kind} ${shown[kind] ?? ""}${name}`),
        ...(settings ? [`setting ${settings.name ?? name}`] : []),
      ];
      const brings = cellsOf(readme, "it brings").filter((cell) => !cell.startsWith("wrapper "));
      deepEqual(brings.sort(), [...new Set(registered)].sort(), name);
      for (const key of Object.keys(settings?.schema.properties ?? {}))
        match(readme, new RegExp(`\`${key}\``), name);
      const needs = Object.keys({ ...dependencies, ...optionalDependencies });
      deepEqual(cellsOf(readme, "it needs of npm"), needs, name);
      for (const words of [
        `/plugins off ${name}`,
        `"plugins": { "off": ["${name}"] }`,
        `zz --install zz/${name}`,
      ])
        ok(readme.includes(words), `${name}: ${words}`);
    }
  });

  test("is a plugin's package: a workspace of this version, which names each dependency as the others do", () => {
    const versions: Record<string, string> = {
      ...root.devDependencies,
      ...root.dependencies,
      ...root.optionalDependencies,
    };
    for (const [name, manifest] of manifests) {
      const { keywords, type, zz, engines, version, private: isPrivate } = manifest;
      deepEqual(
        [manifest.name, keywords, type, zz, isPrivate],
        [`zz-${name}`, ["zz-plugin"], "module", "./index.ts", true],
      );
      deepEqual([version, engines.zz], [root.version, `^${root.version}`], name);
      const { dependencies, devDependencies, optionalDependencies } = manifest;
      for (const [needed, range] of Object.entries<string>({
        ...dependencies,
        ...devDependencies,
        ...optionalDependencies,
      }))
        equal((versions[needed] ??= range), range, `${needed} of ${name}`);
    }
    const locked = JSON.parse(read("package-lock.json")).packages;
    for (const [name, { dependencies = {} }] of manifests)
      deepEqual(
        locked[`packages/${name}`]?.dependencies ?? {},
        dependencies,
        `${name} in package-lock.json: npm install`,
      );
  });
});

describe("what a package brings that is off", () => {
  test("is gone, and who asks for a tool or command of it is told how to turn it on", async (t) => {
    const on = (await harness({ own: true }, t)).ctx.about.plugins;
    const { ctx } = await harness({ own: true, settings: { plugins: { off: NAMES } } }, t);
    for (const { name, adds } of on.filter((plugin) => NAMES.includes(plugin.name))) {
      const plugin = ctx.about.plugins.find((plugin) => plugin.name === name)!;
      deepEqual([plugin.disabled, plugin.adds], [true, []], name);
      const why = `the plugin '${name}' is off. /plugins on ${name} turns it on.`;
      for (const { kind, name: added } of adds)
        if (kind === "tool")
          equal((await ctx.call(added, {})).text, `Cannot call '${added}': ${why}`);
        else if (kind === "command")
          await rejects(ctx.command(added), { message: `Cannot run '/${added}': ${why}` });
    }
  });

  test("the same for a flag; what nothing brings is unknown as ever, and so is what a replacement lacks", async () => {
    const off = place({}, { plugins: { off: ["mcp", "eval"] } });
    const saysOf = async (where: ReturnType<typeof place>, word: string) =>
      (await zz(where, [word])).stderr.trim();
    equal(
      await saysOf(off, "--mcp"),
      "Cannot use --mcp: the plugin 'mcp' is off. /plugins on mcp turns it on.",
    );
    const noLists = place({}, { plugins: { off: ["lists"] } });
    match(
      await saysOf(noLists, "/plugins"),
      /^Cannot run '\/plugins': the plugin 'lists' is off\. Take it out of "plugins\.off" in '.*'\.$/,
    );
    match(await saysOf(off, "--mcpp"), /^Unknown flag --mcpp\./);
    match(await saysOf(off, "/mccp"), /there is no command '\/mccp'/);
    const replaced = place({}, {}, { "plugins/eval/index.js": says("mine", "mine") });
    match(await saysOf(replaced, "/eval"), /there is no command '\/eval'/);
  });
});

test("a provider of a plugin that is off is told as that, also where nothing else is one", async () => {
  const off = ["wires", "offline", "ollama"];
  for (const [name, plugin] of [
    ["openai/m", "wires"],
    ["offline", "offline"],
  ]) {
    const why = `Cannot use model '${name}': the plugin '${plugin}' is off. /plugins on ${plugin} turns it on.`;
    const named = await zz(place({}, { plugins: { off } }), ["-m", name!, "hi"]);
    const set = await zz(place({}, { plugins: { off }, model: name }), ["hi"]);
    deepEqual([named.stderr.trim(), set.stderr.trim()], [why, why]);
  }
  const { stderr } = await zz(place({}, { plugins: { off } }), ["-m", "nope/m", "hi"]);
  match(stderr, /there is no provider 'nope'\. There are: none\.$/m);
});

const says = (name: string, text: string) =>
  `export default (zz) => zz.command({ name: "${name}", description: "d", run: (_, ctx) => ctx.note("${text}") });`;
/** The state of all plugins of a name, zz's first. */
async function statesOf(where: ReturnType<typeof place>, name: string, ...args: string[]) {
  const { stdout } = await zz(where, ["--plugins", "--json", ...args]);
  const all = JSON.parse(stdout).filter((plugin: any) => plugin.name === name);
  return all.map(
    ({ from, disabled, failure }: any) => `${from} ${failure ?? (disabled ? "off" : "on")}`,
  );
}

describe("a plugin of the person's with the name of one of zz's", () => {
  test("replaces a package, from the home or by --plugin; --no-plugins brings zz's back", async () => {
    const where = place({}, {}, { "plugins/eval/index.js": says("eval", "mine") });
    deepEqual(await statesOf(where, "eval"), ["zz off", "home on"]);
    deepEqual(await statesOf(where, "eval", "--no-plugins"), ["zz on"]);
    const other = place({ "eval/index.js": says("eval", "mine") });
    deepEqual(await statesOf(other, "eval", "--plugin", "./eval"), ["zz off", "flag on"]);
  });

  test("replaces nothing that everyone needs", async () => {
    const where = place({}, {}, { "plugins/undo.js": says("mine", "mine") });
    const [zzs, own] = await statesOf(where, "undo");
    equal(zzs, "zz on");
    match(
      own,
      /^home Cannot load plugin 'undo'.*: a plugin 'undo' is already there .*\. Rename one of them\.$/,
    );
  });

  test("takes zz's place, and gives it back, while a conversation goes on", async (t) => {
    const zz = await harness({ own: true }, t);
    const folder = join(zz.home, "plugins");
    const did = (all: { name: string; did: string }[]) =>
      all.map(({ name, did }) => `${name} ${did}`);
    put(folder, { "eval/index.js": says("eval", "mine") });
    deepEqual(did(await zz.ctx.plugins.refresh()), ["eval unloaded", "eval loaded"]);
    await zz.command("/eval");
    equal(zz.notes.at(-1), "mine");
    const hasEval = () => zz.ctx.about.commands.some(({ name }) => name === "eval");
    for (const [word, is] of Object.entries({
      disable: false,
      enable: true,
      off: false,
      on: true,
    })) {
      await zz.command(`/plugins ${word} eval`);
      equal(hasEval(), is, word);
    }
    process.getBuiltinModule("fs").rmSync(join(folder, "eval"), { recursive: true });
    deepEqual(did(await zz.ctx.plugins.refresh()), ["eval unloaded", "eval loaded"]);
    equal(zz.ctx.about.commands.find(({ name }) => name === "eval")?.usage !== undefined, true);
  });
});

describe("a package of another version of zz", () => {
  for (const [range, own, why] of [
    ["^0.1.0", "0.1.0"],
    ["^0.1.0", "0.1.7"],
    ["^0.1.2", "0.1.1",
      /^it is for zz \^0\.1\.2, and this is 0\.1\.1\. Install the one for this version\.$/],
    ["^0.1.0", "0.2.0", /and this is 0\.2\.0/],
    ["^1.2.0", "1.10.0"],
    ["^1.2.0", "2.0.0", /it is for zz/],
    ["^0.0.3", "0.0.4", /it is for zz/],
    [">=0.1", "3.0.0"],
    [">=0.1.2", "0.1.1", /it is for zz/],
    ["0.1.0", "0.1.0"],
    ["0.1", "0.1.9"],
    ["0.1.0", "0.1.1", /it is for zz/],
    [
      "latest",
      "0.1.0",
      /^its package\.json says that it is for zz 'latest', and that names no version\. Write it as "\^0\.1\.0" under engines\.$/,
    ],
  ] as [string, string, RegExp?][]) // biome-ignore format: a table
    test(`${range} with zz ${own}: ${why ? "refused" : "loads"}`, () => {
      const said = whyWrongVersion(range, own);
      if (why) match(said ?? "", why);
      else equal(said, undefined);
    });

  test("is named and skipped before anything of it runs, and zz answers", async () => {
    const manifest = { name: "later", type: "module", zz: "./index.js", engines: { zz: "^9.0.0" } };
    const where = place(
      {},
      {},
      { "plugins/later/package.json": manifest, "plugins/later/index.js": "console.log('ran');" },
    );
    const { code, stdout, stderr } = await zz(where, ["--call", "list_dir"]);
    deepEqual([code, stdout.includes("ran")], [0, false]);
    match(
      stderr,
      /^Cannot load plugin 'later' \(.*index\.js\): it is for zz \^9\.0\.0, and this is \d.*\.$/m,
    );
  });
});

describe("a folder in plugins/ that cannot be loaded is named and skipped, and zz answers", () => {
  const manifest = (fields: object) => ({ "package.json": { type: "module", ...fields } });
  for (const [what, files, why] of [
    ["is empty", {}, "its folder is empty. Put an index.ts there, or remove the folder."],
    ["has a package.json that is cut off",
      { "package.json": '{ "zz": "./main.js', "main.js": "" },
      "its package.json is not a JSON object. Correct it."],
    ["has a package.json that is no object",
      { "package.json": "[1]", "index.js": says("bad", "ran") },
      "its package.json is not a JSON object. Correct it."],
    ["names a file that is not there", manifest({ zz: "./gone.js" }),
      "its package.json names './gone.js', which is not there. Correct it under \"zz\"."],
    ["names no file", manifest({ zz: 3 }),
      'its package.json names no file. Correct it under "zz".'],
    ["is for a version that is no text",
      { ...manifest({ engines: { zz: 9 } }), "index.js": says("bad", "ran") },
      `it is for zz 9, and this is ${root.version}. Install the one for this version.`],
    ["is no plugin at all", { "shared.js": "" }, ""],
  ] as [string, Record<string, string | object>, string][]) // biome-ignore format: a table
    test(`one that ${what}`, async () => {
      const where = place();
      const folder = join(where.home, "plugins", "bad");
      mkdirSync(folder, { recursive: true });
      put(folder, files);
      const { code, stderr } = await zz(where, ["--call", "list_dir"]);
      equal(code, 0);
      const [, said = ""] = /^Cannot load plugin 'bad' \(.*?\): (.*)$/m.exec(stderr) ?? [];
      equal(said, why);
    });

  test("it is loaded once its package.json is put right", async (t) => {
    const zz = await harness({ own: true }, t);
    const folder = join(zz.home, "plugins", "bad");
    put(folder, { "package.json": "{", "index.js": says("good", "now") });
    const did = async () => (await zz.ctx.plugins.refresh()).map(({ did }) => did);
    deepEqual(await did(), ["failed"]);
    deepEqual(await did(), []);
    put(folder, { "package.json": { type: "module" } });
    deepEqual(await did(), ["reloaded"]);
    await zz.command("/good");
    equal(zz.notes.at(-1), "now");
  });
});

// zz.config.json, the home's and the project's: which counts, what a project may not say, and what
// is said of mistakes.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Errors } from "typebox/schema";
import { harness, type Inline } from "zz/test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { put } from "../support/files.ts";
import { repl } from "../support/repl.ts";
import { type Place, place, TELLING_LOADS, zz, zzProcess } from "../support/run.ts";

const text = (settings: unknown) =>
  typeof settings === "string" ? settings : JSON.stringify(settings);
const homeFile = ({ home }: Place) => join(home, "zz.config.json");
const projectFile = ({ cwd }: Place) => join(cwd, ".zz", "zz.config.json");

/** A home and a project with these settings, and a plugin that lists what is in force. */
function having(home?: unknown, project?: unknown): Place {
  const homes = {
    "plugins/probe.js": PROBE,
    ...(home !== undefined && { "zz.config.json": text(home) }),
  };
  return place(project === undefined ? {} : { ".zz/zz.config.json": text(project) }, {}, homes);
}
const PROBE = `export const defaults = { deep: { a: 1, b: { c: 2, d: [3] } }, own: "mine" };
export const settings = { project: ["deep"] };
export default (zz) => zz.flag({ name: "probe", description: "d", run: (_, { settings }) => ({
  text: JSON.stringify({ all: settings.list(), live: zz.config }) }) });`;

/** What is in force, by name, and what stderr says. */
async function inForce(where: Place, args: string[] = []) {
  const { stdout, stderr, code } = await zz(where, [...args, "--probe"]);
  equal(code, 0, stderr);
  const { all, live } = JSON.parse(stdout);
  const found = Object.fromEntries(all.map((one: any) => [one.name, one]));
  const value = (name: string) => found[name]?.value;
  return { found, live, value, notes: stderr.split("\n").filter(Boolean) };
}

/** One answer; which model was asked for it, by which server. */
async function asked(
  t: TestContext,
  where: Place,
  args: string[] = [],
  env: Record<string, string> = {},
) {
  const fake = await fakeOpenAI([say("Good.")]);
  t.after(fake.close);
  const ran = await zz(where, [...args, "hi"], {
    env: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: fake.url, ...env },
  });
  return { ...ran, model: fake.requests[0]?.body.model };
}

describe("two files", { concurrency: 2 }, () => {
  test("The project's goes before the home's, and that before the defaults; objects are merged, all else is replaced", async () => {
    const where = having(
      {
        rounds: 5,
        timeout: 9,
        display: { theme: "light", stats: false },
        probe: { deep: { b: { c: 7, d: [8, 9] } } },
      },
      { rounds: 2, display: { theme: "none" }, probe: { deep: { b: { d: [1] } } } },
    );
    const { found, value, live, notes } = await inForce(where);
    deepEqual(notes, []);
    const names = ["rounds", "timeout", "display.theme", "display.stats", "display.bell"];
    deepEqual(names.map(value), [2, 9, "none", false, true]);
    const from = names.map((name) => String(found[name].from ?? ""));
    deepEqual(from, ["home,project", "home", "home,project", "home", ""]);
    deepEqual(live, { deep: { a: 1, b: { c: 7, d: [1] } }, own: "mine" });
  });

  test("A project's file counts alone, and --config takes the place of the home's only", async () => {
    const { value } = await inForce(having(undefined, { rounds: 2 }));
    equal(value("rounds"), 2);
    const where = having({ rounds: 5, timeout: 9 }, { rounds: 2 });
    writeFileSync(join(where.cwd, "own.json"), '{ "timeout": 4, "rounds": 3 }');
    const named = await inForce(where, ["--config", "own.json"]);
    deepEqual([named.value("rounds"), named.value("timeout")], [2, 4]);
  });

  test("What either file denies is denied", async () => {
    const where = having(
      { permissions: { deny: { read: ["mine"], net: true } } },
      { permissions: { deny: { read: ["theirs", "mine"], net: ["x"], run: ["make"] } } },
    );
    for (const name of ["mine", "theirs", "free"]) writeFileSync(join(where.cwd, name), "text");
    const codes = ["mine", "theirs", "free"].map((path) =>
      zz(where, ["--call", "read_file", JSON.stringify({ path })]),
    );
    equal((await Promise.all(codes)).map(({ code }) => code).join(), "4,4,0");
    const deny = (await inForce(where)).value("permissions").deny;
    deepEqual(deny, { read: ["mine", "theirs"], net: true, run: ["make"] });
  });

  test("What either file asks for is asked for, and a project lifts no `only` of the home's", async () => {
    const where = having(
      { permissions: { ask: { run: ["make"] }, only: { write: ["docs"] } } },
      {
        permissions: {
          ask: { run: ["npm"] },
          only: { write: true, net: ["example.com"] },
          allow: { write: true },
        },
      },
    );
    const { ask, only, allow } = (await inForce(where)).value("permissions");
    deepEqual(
      [ask, only, allow],
      [{ run: ["make", "npm"] }, { write: ["docs"], net: ["example.com"] }, undefined],
    );
  });

  test("Where the home is the project's .zz, its file is the person's own", async () => {
    const where = place();
    const home = join(where.cwd, ".zz");
    const settings = { options: { seed: 1 }, shell: { sandbox: "off" } };
    put(home, { "zz.config.json": settings });
    const { stderr, stdout } = await zz(
      { ...where, home },
      "-m openai/m --key k --dry-run hi".split(" "),
    );
    deepEqual([stderr, JSON.parse(stdout).seed], ["", 1]);
  });
});

describe("what a project may not say", { concurrency: 2 }, () => {
  const rows: [what: object, left: string, name: string, value: unknown][] = [
    [{ providers: { openai: { url: "http://evil" } } }, "providers", "providers",
      { openai: { url: "http://mine" } }],
    [{ options: { messages: [] } }, "options", "options", undefined],
    [{ permissions: { allow: { run: true } } }, "permissions.allow", "permissions", {}],
    [{ shell: { sandbox: "off", except: ["sudo"] } }, "shell", "shell.sandbox", "auto"],
    [{ probe: { own: "theirs", deep: {} } }, "probe.own", "probe.own", "mine"],
    [{ model: "other/m" }, "model", "model", "openai/mine"],
    [{ models: { summary: "other/m", chat: "openai/x" } }, "models.summary", "models",
      { chat: "openai/x" }],
  ]; // biome-ignore format: a table
  for (const [given, left, name, value] of rows)
    test(`${JSON.stringify(given)} is left out, and one note names it: ${left}`, async () => {
      const where = having(
        { model: "openai/mine", providers: { openai: { url: "http://mine" } } },
        given,
      );
      const { value: inFact, notes } = await inForce(where);
      deepEqual([inFact(name), notes.length], [value, 1]);
      ok(
        notes[0]!.startsWith(
          `Cannot take ${left} from '${projectFile(where)}': a project may not `,
        ),
        notes[0],
      );
    });

  test("All of it together is one note; what it may say counts all the same", async () => {
    const given = Object.assign({ rounds: 4 }, ...rows.slice(0, -1).map(([one]) => one));
    const { notes, value } = await inForce(having({ model: "openai/mine" }, given));
    equal(value("rounds"), 4);
    equal(notes.length, 1);
    match(
      notes[0]!,
      /^Cannot take model, options, permissions\.allow, probe\.own, providers, shell from '/,
    );
  });

  test("Nothing goes to a server that only the project names", async (t) => {
    const evil = await fakeOpenAI([say("Mine now.")]);
    t.after(evil.close);
    const project = { model: "openai/theirs", providers: { openai: { url: evil.url, key: "x" } } };
    const ran = await asked(t, having({ model: "openai/mine" }, project));
    deepEqual([ran.stdout, ran.model, evil.requests.length], ["Good.\n", "theirs", 0]);
  });

  for (const [what, home, project, model] of [
    ["another model of the person's provider counts", { model: "openai/mine" },
      { model: "openai/theirs" }, "theirs"],
    ["one of another provider does not", { model: "openai/mine" }, { model: "offline/router" },
      "mine"],
    ["nor any where the person named none", {}, { model: "offline/router" }, "gpt-4o-mini"],
  ] as const) // biome-ignore format: a table
    test(`A project's model: ${what}`, async (t) =>
      equal((await asked(t, having(home, project))).model, model));
});

describe("the home's file that cannot be read ends zz, since it may hold denials:", () => {
  const rows: [what: string, lay: (file: string) => void][] = [
    ["a pipe", (file) => execFileSync("mkfifo", [file])],
    ["a device", (file) => symlinkSync("/dev/zero", file)],
    ["a folder", (file) => mkdirSync(file)],
    ["a link that leads round", (file) => symlinkSync(file, file)],
  ];
  for (const [what, lay] of rows)
    test(what, async () => {
      const where = place({}, {}, { x: "" });
      const file = join(where.home, "zz.config.json");
      lay(file);
      const { code, stderr } = await zzProcess(where, ["-m", "offline", "--once", "hello"]);
      equal(code, 2, stderr);
      match(stderr, /^Cannot (use|read) the settings '.*zz\.config\.json': /);
    });
});

describe("a project's file that is of no use is named and passed over:", { concurrency: 2 }, () => {
  const big = JSON.stringify({ rounds: 2, x: "x".repeat(5_000_000) });
  const deep = `${'{"a":'.repeat(12_000)}1${"}".repeat(12_000)}`;
  const rows: [what: string, lay: (file: string, where: Place) => void, words: RegExp][] = [
    ["not JSON", (file) => writeFileSync(file, '{ "rounds": 2,\n\x1b[2J }'),
      /: not JSON \(.*\)\. They/],
    ["an array", (file) => writeFileSync(file, "[]"), /: they must be a JSON object\. They/],
    ["5 MB", (file) => writeFileSync(file, big), /: 50\d+ bytes are too many\. They/],
    ["a pipe", (file) => execFileSync("mkfifo", [file]), /: it is not a regular file\. They/],
    ["a device", (file) => symlinkSync("/dev/zero", file),
      /: they lead out of the project, to '\/dev\/zero'\. They/],
    ["nested 12,000 deep", (file) => writeFileSync(file, deep), /^Unknown setting "a" in /],
  ]; // biome-ignore format: a table
  for (const [what, lay, words] of rows)
    test(what, async () => {
      const where = having({ rounds: 5 });
      mkdirSync(join(where.cwd, ".zz"));
      lay(projectFile(where), where);
      const { notes, value } = await inForce(where);
      equal(value("rounds"), 5);
      equal(notes.length, 1, notes.join("\n"));
      ok(notes[0]!.includes(`'${projectFile(where)}'`), notes[0]);
      match(notes[0]!, words);
      doesNotMatch(notes[0]!, /\x1b/);
    });

  test("no .zz at all, one that is a file, and a link that leads nowhere are no settings: nothing is said", async () => {
    for (const lay of [
      () => {},
      ({ cwd }: Place) => writeFileSync(join(cwd, ".zz"), "text"),
      (where: Place) =>
        mkdirSync(join(where.cwd, ".zz")) ?? symlinkSync("nowhere", projectFile(where)),
    ]) {
      const where = having({ rounds: 5 });
      lay(where);
      deepEqual((await inForce(where)).notes, []);
    }
  });

  test("a thousand unknown keys, one of them a book: a few lines tell of them", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, i) => [`odd${i}\nAll is well.`, i]),
    );
    const { notes } = await inForce(having({}, { [`b${"o".repeat(50_000)}k`]: 1, ...many }));
    equal(notes.length, 6);
    ok(notes.every((note) => note.length < 1000 && !note.startsWith("All is well.")));
    match(notes.at(-1)!, /^There are 996 more such problems in '/);
  });

  test("__proto__ changes nothing", async () => {
    const where = having(
      {},
      '{ "__proto__": { "rounds": 1 }, "probe": { "__proto__": { "own": "theirs" } } }',
    );
    const { value, live } = await inForce(where);
    deepEqual([value("rounds"), live.own], [undefined, "mine"]);
  });
});

describe("what is wrong is named with the nearest right one", { concurrency: 2 }, () => {
  const rows: [given: object, home: string, project: string][] = [
    [{ rouds: 3 }, `Unknown setting "rouds" in FILE: there is no setting 'rouds'. Did you mean 'rounds'?`, `Unknown setting "rouds" in FILE: there is no setting 'rouds'. Did you mean 'rounds'?`],
    [{ models: { sumary: "x/y" } }, `Unknown setting "models.sumary" in FILE: there is no setting 'sumary'. Did you mean 'summary'?`, ""],
    [{ providers: { opnai: { url: "u" } } }, `Unknown setting "providers.opnai" in FILE: there is no setting 'opnai'. Did you mean 'openai'?`, ""],
    [{ display: { theme: "drak" } }, `Cannot use the setting "display.theme" in FILE: it must be one of auto, dark, light, none; nearest to "drak" is "dark". It is ignored.`, `Cannot use the setting "display.theme" in FILE: it must be one of auto, dark, light, none; nearest to "drak" is "dark". It is ignored.`],
    [{ git: { seconds: "long" } }, `Cannot use the setting "git.seconds" in FILE: it must be a number. It is ignored.`, `Cannot use the setting "git.seconds" in FILE: it must be a number. It is ignored.`],
    [{ providers: { work: { like: "openia" } } }, `Cannot use the setting "providers.work.like" in FILE: there is no provider 'openia'. Did you mean 'openai'?`, ""],
    [{ display: { colours: { headding: "bold" } } }, `Unknown setting "display.colours.headding" in FILE: there is no setting 'headding'. Did you mean 'heading'?`, ""],
    [{ mcpServers: { a: { command: "x", sandbox: "no" } } }, `Cannot use the setting "mcpServers.a.sandbox" in FILE: it must be true or false, or an object. It is ignored.`, ""],
    [{ display: 5 }, `Cannot use the setting "display" in FILE: it must be an object. It is ignored.`, `Cannot use the setting "display" in FILE: it must be an object. It is ignored.`],
    [{ budget: { dollars: 2 } }, `Cannot use the setting "budget" in FILE: it must be a number. It is ignored.`, ""],
    [{ rounds: "x" }, "", `Cannot use the setting "rounds" in FILE: it must be a number. It is ignored.`],
    [{ permissions: { dney: { read: true } } }, "", `Cannot use the setting "permissions.dney" in FILE: it is not known; nearest to "dney" is "deny". It is ignored.`],
    [{ permissions: { deny: { net: ["a b"] } } }, "", `Cannot use deny net "a b" in the settings: it is not a host's name. Write a host alone, such as example.com, *.example.com or example.com:443. This is in FILE, whose permissions are ignored.`],
  ]; // biome-ignore format: a table
  for (const [given, home, project] of rows) {
    if (home)
      test(`home: ${JSON.stringify(given)}`, async () => {
        const where = having(given);
        const { notes } = await inForce(where);
        deepEqual(notes, [home.replace("FILE", `'${homeFile(where)}'`)]);
      });
    if (project)
      test(`project: ${JSON.stringify(given)}`, async () => {
        const where = having({}, given);
        deepEqual((await inForce(where)).notes, [
          project.replace("FILE", `'${projectFile(where)}'`),
        ]);
      });
  }

  for (const [setting, value, near] of [
    ["shell.sandbox", "on", "auto"], ["shell.sandbox", true, "auto"], ["shell.sandbox", "never", "off"], ["shell.sandbox", false, "off"],
    ["shell.sandbox", "enabled", "auto"], ["shell.sandbox", "requierd", "required"], ["shell.sandbox", "no", "off"], ["shell.sandbox", 3, ""],
    ["display.images", "on", "auto"], ["display.images", false, "off"], ["display.thinking", "on", ""], ["display.thinking", "none", "off"],
    ["display.theme", "off", "none"], ["display.theme", true, "auto"], ["symbols.map", "on", "always"], ["symbols.map", "off", "never"],
  ] as const) // biome-ignore format: a table
    test(`${setting} of ${JSON.stringify(value)} ${near ? `suggests ${near}` : "suggests nothing"}`, async () => {
      const [part, name] = setting.split(".") as [string, string];
      const { notes } = await inForce(having({ [part]: { [name]: value } }));
      equal(/nearest to ".*" is "(.*)"/.exec(notes.join("\n"))?.[1] ?? "", near, notes.join("\n"));
      match(notes.join("\n"), /it must be one of/);
    });

  for (const [given, words] of [
    [{ rounds: -1 }, `"rounds" must be at least 0`],
    [{ providers: { openai: "url" } }, `"providers.openai" must be an object`],
    [{ permissions: { alow: {} } },
      `"permissions.alow" is not known; nearest to "alow" is "allow"`],
    [{ permissions: { deny: { raed: true } } },
      `"permissions.deny.raed" is not known; nearest to "raed" is "read"`],
    [{ permissions: { allow: { run: [3] } } },
      `"permissions.allow.run" must be true, or its entry 0 must be a string`],
    [{ permissions: [] }, `"permissions" must be an object`],
    [{ permissions: { deny: ["a"] } }, `"permissions.deny" must be an object`],
    [{ permissions: { deny: { read: "a" } } },
      `"permissions.deny.read" must be true, or a list`],
    [{ window: 0 }, `"window" must be more than 0`],
    [{ window: 0.5 }, `"window" must be a whole number`],
    [{ rounds: 1.5 }, `"rounds" must be a whole number`],
    [{ disabled: [""] }, `"disabled.0" must not be empty`],
    [{ plugins: { off: [""] } }, `"plugins.off.0" must not be empty`],
    [{ plugins: { off: "git" } }, `"plugins.off" must be a list`],
    [{ plugins: { of: [] } }, `"plugins.of" is not known; nearest to "of" is "off"`],
    [{ budget: "x" }, `"budget" must be a number, or an object`],
  ] as const) // biome-ignore format: a table
    test(`home: ${JSON.stringify(given)} ends zz with 2`, async () => {
      const where = having(given);
      const { code, stderr } = await zz(where, ["--plugins"]);
      const why = `Cannot use the settings '${homeFile(where)}': ${words}. Fix it or move it away.\n`;
      deepEqual([code, stderr], [2, why]);
    });

  test("The settings of a plugin that is switched off are not unknown", async () => {
    const where = having({ lamp: { unit: "F" }, disabled: ["lamp"] });
    const code = "export const defaults = { unit: 'C' }; export default () => {};";
    writeFileSync(join(where.home, "plugins", "lamp.js"), code);
    equal((await zz(where, ["--permissions"])).stderr, "");
  });

  test("The same for a section that is not named after its plugin, of zz or of the person", async () => {
    const off = ["mcp", "terminal", "cost", "lamp"];
    const sections = {
      mcpServers: {},
      display: { theme: "light" },
      prices: {},
      light: { unit: "F" },
    };
    const where = having({ ...sections, plugins: { off }, rouds: 3 });
    const code = "export const settings = { name: 'light' }; export default () => {};";
    writeFileSync(join(where.home, "plugins", "lamp.js"), code);
    equal(
      (await zz(where, ["--permissions"])).stderr,
      `Unknown setting "rouds" in '${homeFile(where)}': there is no setting 'rouds'. Did you mean 'rounds'?\n`,
    );
  });

  test("A section whose plugin is gone: one short note says what to do, and --no-plugins says nothing", async () => {
    const where = having({ "zz-plain": { unit: "F" } });
    const remedy = "Remove it there, or install the plugin that takes it.";
    deepEqual((await inForce(where)).notes, [
      `Unknown setting "zz-plain" in '${homeFile(where)}': there is no setting 'zz-plain'. ${remedy}`,
    ]);
    equal((await zz(where, ["--no-plugins", "--tools"])).stderr, "");
    const theirs = having(undefined, { "zz-plain": {} });
    const [note] = (await inForce(theirs)).notes;
    match(
      note!,
      /^Unknown setting "zz-plain" in '.*': there is no setting 'zz-plain'\. Remove it there, or install/,
    );
  });

  test("A wrong value leaves the others of its section in force, and what was in force before", async () => {
    const display = { bell: false, theme: "drak", stats: false, wordsPerSecond: "fast" };
    const { value, notes } = await inForce(having({ display: { theme: "light" } }, { display }));
    const names = ["display.theme", "display.bell", "display.stats", "display.wordsPerSecond"];
    deepEqual(names.map(value), ["light", false, false, 40]);
    equal(notes.length, 2, notes.join("\n"));
  });

  test("Of a schema that takes no other keys, a misspelt one leaves the rest in force; what is missing is named", async () => {
    const where = having({ lamp: { unti: "F", watts: 40 }, lock: { tires: 3 } });
    const shape = (more: object) =>
      JSON.stringify({ type: "object", additionalProperties: false, ...more });
    const [unit, watts] = [{ type: "string" }, { type: "number" }];
    const tries = { tires: watts, code: unit };
    for (const [name, schema, defaults] of [
      ["lamp", shape({ properties: { unit, watts } }), '{ unit: "C", watts: 60 }'],
      ["lock", shape({ properties: tries, required: ["code"] }), "{ tires: 1 }"],
    ])
      writeFileSync(
        join(where.home, "plugins", `${name}.js`),
        `export const defaults = ${defaults}; export const settings = { schema: ${schema} }; export default () => {};`,
      );
    const { value, notes } = await inForce(where);
    deepEqual([value("lamp.unit"), value("lamp.watts"), value("lock.tires")], ["C", 40, 1]);
    deepEqual(notes, [
      `Cannot use the settings under "lock" in '${homeFile(where)}': code is missing. They are ignored.`,
      `Unknown setting "lamp.unti" in '${homeFile(where)}': there is no setting 'unti'. Did you mean 'unit'?`,
    ]);
  });
});

test("A switch is true and false, or on and off; where off is a word of its own it stays one", async () => {
  const given = {
    display: { stats: "off", bell: "on", plain: "off", thinking: "off" },
    probe: { own: "off" },
  };
  const { value, notes } = await inForce(having(given));
  const names = ["display.stats", "display.bell", "display.plain", "display.thinking", "probe.own"];
  deepEqual([names.map(value), notes], [[false, true, false, "off", "off"], []]);
});

test("Settings that were found right are not looked at again, and zod is not loaded for them", async () => {
  const where = having({ rounds: 5, git: { seconds: 9 } });
  const loaded = async () => {
    const { stderr } = await zzProcess(where, ["--plugins"], { env: TELLING_LOADS });
    return /loads \S*zod/.test(stderr);
  };
  deepEqual([await loaded(), await loaded()], [true, false]);
  writeFileSync(homeFile(where), text({ rounds: 5, git: { seconds: "x" } }));
  deepEqual([await loaded(), await loaded()], [true, true]);
  writeFileSync(homeFile(where), text({}));
  equal(await loaded(), false);
});

describe("the model", { concurrency: 2 }, () => {
  for (const [what, settings, args, env, model] of [
    ["model before models.chat", { model: "openai/own", models: { chat: "openai/chat" } }, [], {},
      "own"],
    ["ZZ_MODEL before both", { models: { chat: "openai/chat" } }, [], { ZZ_MODEL: "openai/env" },
      "env"],
    ["--model before all", {}, ["-m", "openai/flag"], { ZZ_MODEL: "openai/env" }, "flag"],
  ] as const) // biome-ignore format: a table
    test(what, async (t) => equal((await asked(t, having(settings), [...args], env)).model, model));
});

test("--config-schema has every setting with its default and what it is for, and lets through what zz takes", async () => {
  const where = having();
  const weather = `import { z } from "zod";
    export const defaults = { city: "Rome" };
    export const settings = { schema: z.object({ city: z.string().describe("where"), days: z.number().optional() }) };
    export default () => {};`;
  writeFileSync(join(where.home, "plugins", "weather.ts"), weather);
  const { stdout, stderr, code } = await zz(where, ["--config-schema"]);
  deepEqual([code, stderr], [0, ""]);
  const schema = JSON.parse(stdout);
  const { found } = await inForce(where);
  for (const [name, { about, default: before }] of Object.entries<any>(found)) {
    const [section, ...keys] = name.split(".");
    const top = schema.properties[section!];
    const told = keys.length ? top.properties[keys.join(".")] : top;
    deepEqual([told.description, told.default], [about, before], name);
  }
  deepEqual(schema.properties.weather.properties.city, {
    type: "string",
    description: "where",
    default: "Rome",
  });
  deepEqual(schema.properties.display.properties.theme.enum, ["auto", "dark", "light", "none"]);
  for (const [given, fits] of [
    [
      {
        $schema: "x",
        model: "a/b",
        models: { chat: "a/b" },
        window: 9,
        display: { theme: "dark" },
        prices: {},
      },
      true,
    ],
    [{ providers: { openai: { url: "u" }, mine: { key: "k" } }, options: { temperature: 0 } },
      true],
    [{ permissions: { allow: { run: ["npm test"] }, deny: { read: true } } }, true],
    [{ models: { sumary: "a/b" } }, true],
    // a task of a plugin, for all that an editor knows
    [{ rouds: 3 }, false],
    [{ display: { theme: "drak" } }, false],
    [{ window: 0 }, false],
  ] as const) // biome-ignore format: a table
    equal(Errors(schema, given)[0], fits, JSON.stringify(given));
});

describe("/config", { concurrency: 2 }, () => {
  const modeOf = (file: string) => statSync(file).mode & 0o777;
  const written = (where: Place) => readFileSync(homeFile(where), "utf8");
  const schemaFile = ({ home }: Place) => join(home, "zz.config.schema.json");

  async function sitting(t: TestContext, where: Place) {
    const term = await repl(t, { where, script: [say("A.")], cols: 200 });
    const gives = (line: string, sees: string | RegExp) => term.say(line, sees);
    return { gives, ...term };
  }

  test("writes the first settings with a schema beside them, which later ones keep", async (t) => {
    const where = having();
    const { gives } = await sitting(t, where);
    await gives("/config display.theme light", 'display.theme is "light" now');
    equal(
      written(where),
      '{\n  "$schema": "./zz.config.schema.json",\n  "display": {\n    "theme": "light"\n  }\n}\n',
    );
    deepEqual([modeOf(homeFile(where)), modeOf(schemaFile(where))], [0o600, 0o600]);
    const schema = JSON.parse(readFileSync(schemaFile(where), "utf8"));
    deepEqual(Errors(schema, JSON.parse(written(where)))[0], true);
    await gives("/config display.stats off", "display.stats is false now (was true)");
    await gives("/config models.chat openai/x", 'models.chat is "openai/x" now');
    deepEqual(Object.keys(JSON.parse(written(where))), ["$schema", "display", "models"]);
  });

  test("keeps what it does not know, and adds no schema to settings that were there", async (t) => {
    const where = having({ odd: { of: ["yours"] }, display: { thme: 1 } });
    const { gives } = await sitting(t, where);
    await gives("/config rounds 7", "rounds is 7 now");
    deepEqual(JSON.parse(written(where)), {
      odd: { of: ["yours"] },
      display: { thme: 1 },
      rounds: 7,
    });
    equal(existsSync(schemaFile(where)), false);
    await gives("/config schema", "Wrote zz.config.schema.json beside your settings");
    equal(JSON.parse(written(where)).$schema, "./zz.config.schema.json");
    equal(JSON.parse(readFileSync(schemaFile(where), "utf8")).type, "object");
  });

  test("shows who set what, and says so where the project goes before", async (t) => {
    const where = having({ timeout: 9 }, { rounds: 2, display: { theme: "light" } });
    const { gives } = await sitting(t, where);
    await gives(
      "/config",
      /^display\.theme = "light" \(set in the project's .*\n {4}Colours [\s\S]*^model = [\s\S]*^rounds = 2 \(set in the project's [\s\S]*^timeout = 9 \(set in your own settings\)\n {4}Seconds /m,
    );
    await gives(
      "/config rounds",
      /rounds = 2\n.*\ndefault: 30\na setting of zz itself; set in the project's .zz\/zz\.config\.json$/m,
    );
    await gives("/config timeout", /a setting of zz itself; set in your own settings$/m);
    const screen = await gives(
      "/config display.theme none",
      'Saved in your own settings: display.theme is "none".',
    );
    match(
      screen,
      /What the project says goes before it: display\.theme is "light" in '.*\.zz\/zz\.config\.json'\./,
    );
    deepEqual(JSON.parse(written(where)).display, { theme: "none" });
    await gives(
      "/config display.theme",
      /display\.theme = "light"[\s\S]*your own settings and the project's/,
    );
    equal(
      readFileSync(projectFile(where), "utf8"),
      text({ rounds: 2, display: { theme: "light" } }),
    );
  });

  test("shows sections with names of the person's own, set or not, and hides their secrets", async (t) => {
    const secret = "sk-of-a-server-0123456789";
    const servers = { notes: { command: "true", env: { NOTES_TOKEN: secret }, disabled: true } };
    const { gives, screen } = await sitting(t, having({ mcpServers: servers }));
    await gives("/config prices", /^prices = not set\n.*per million tokens.*\nplugin: cost$/m);
    await gives(
      "/config mcpServers",
      /^mcpServers = .*"command":"true"[\s\S]*plugin: mcp; set in your own settings$/m,
    );
    await gives(
      "/config",
      /^mcpServers = .*\(set in your own settings\)\n[\s\S]*^prices = not set \(by default\)\n {4}/m,
    );
    doesNotMatch(screen(), /sk-of|^mcpServers\.|^prices\./m);
  });

  test("names the nearest value, and leaves a file alone that was broken meanwhile", async (t) => {
    const where = having({ rounds: 3 });
    const { gives } = await sitting(t, where);
    await gives(
      "/config display.theme drak",
      `theme must be one of auto, dark, light, none; nearest to "drak" is "dark". Give`,
    );
    writeFileSync(homeFile(where), '{ "rounds": 3,');
    await gives(
      "/config rounds 4",
      /Cannot change '.*config\.json': it is not a JSON object any more\. Fix it first/,
    );
    equal(written(where), '{ "rounds": 3,');
  });
});

describe("a setting that is set beside wrong ones", { concurrency: 2 }, () => {
  const unit = { enum: ["C", "F"] };
  const shape = {
    unit,
    limit: { type: "number", minimum: 1 },
    tags: { type: "array", items: { type: "string" } },
  };
  const tuned: Inline = {
    name: "tuned",
    defaults: { unit: "C", limit: 3, tags: [] },
    settings: { schema: { type: "object", properties: shape } },
    default: () => {},
  };
  const wrong = { unit: "K", limit: 0, tags: ["x", 3] };
  const sets = async (t: TestContext) => {
    const zz = await harness({ plugins: [tuned], settings: { tuned: wrong } }, t);
    const value = (name: string) =>
      zz.ctx.settings.list().find((one) => one.name === `tuned.${name}`)?.value;
    return { value, set: (name: string, to: unknown) => zz.ctx.settings.set(`tuned.${name}`, to) };
  };

  test("is checked by itself, and the others stay as they are", async (t) => {
    const { set, value } = await sets(t);
    await set("unit", "F");
    deepEqual(["unit", "limit", "tags"].map(value), ["F", 3, []]);
    await set("limit", 7);
    await set("tags", undefined);
    deepEqual(["unit", "limit", "tags"].map(value), ["F", 7, []]);
  });

  test("is refused if it is wrong too, with what is wrong in it alone and what to do", async (t) => {
    const { set } = await sets(t);
    const next = "Give another value; /config tuned.limit tells about it.";
    const bare = await harness(
      { plugins: [{ name: "bare", defaults: { n: 1, open: null }, default: () => {} }] },
      t,
    );
    await rejects(
      bare.ctx.settings.set("bare.n", "x"),
      /^Error: Cannot set 'bare.n': n must be a number. Give/,
    );
    await bare.ctx.settings.set("bare.open", 5);
    await rejects(bare.ctx.settings.set("open", 1), /Did you mean 'bare\.open'\?$/);
    await rejects(set("limit", -1), {
      message: `Cannot set 'tuned.limit': limit must be at least 1. ${next}`,
    });
  });
});

describe("a settings file that is edited by hand while zz runs", () => {
  const SHOWS = `export const defaults = { word: "old" };
    export default (zz) => {
      zz.command({ name: "word", description: "d", run: (_, { note, settings }) => note("word " + zz.config.word + ", rounds " + settings.list().find(({ name }) => name === "rounds").value) });
      zz.on("configured", ({ names }, { note }) => note("configured " + names.join(" ")));
    };`;
  const edited = async (t: TestContext) => {
    const where = having({ rounds: 3 });
    writeFileSync(join(where.home, "plugins", "shows.ts"), SHOWS);
    // also where the folder for temporary files has a long name
    const it = await repl(t, { where, cols: 240 });
    await it.say("/word", "word old, rounds 3");
    return { ...it, where };
  };

  test("is read again before the next line, also after one that cannot be used, and plugins hear of it", async (t) => {
    const { say, where, sees, leave } = await edited(t);
    writeFileSync(homeFile(where), text({ rounds: 7, shows: { word: "new" } }));
    await say("/word", "word new, rounds 7");
    await sees("configured rounds shows");
    writeFileSync(homeFile(where), '{ "rounds": ');
    await say("/word", /rounds 7[\s\S]*word new, rounds 7/);
    await sees(/Cannot use the settings '[^']*': not JSON/);
    writeFileSync(homeFile(where), text({ rounds: 9 }));
    await say("/word", "word old, rounds 9");
    await say("/config rounds 5", /configured rounds\b(?! shows)/);
    await leave();
  });

  test("leaves what --only-write said in force", async (t) => {
    const where = having({ rounds: 3 });
    const { say, leave } = await repl(t, { where, args: ["--only-write=docs/**"] });
    await say("/permissions", /all but docs/);
    writeFileSync(
      homeFile(where),
      text({ rounds: 7, permissions: { deny: { net: ["a.example"] } } }),
    );
    await say("/permissions", /all but docs[^›]*a\.example/);
    await leave();
  });
});

// What the gate says, by rules, paths and what a tool says of its own needs; and what a call may
// then do to files.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { Ask, Kind, Need, Needs, Rule, Tool, Verdict, Zz } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import { compilerGate } from "../../kernel/gate/compiler-gate.ts";
import { judgeCall } from "../../kernel/gate/gate.ts";
import type { Core, Options } from "../../kernel/instance.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { harness } from "../../sdk/testing.ts";
import { createZz } from "../../zz.ts";
import { needs } from "../support/needs.ts";
import { place, ROOT, zz } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const where = place();
const root = fs.realpathSync(where.cwd);
const evil = `${root}-evil`;
for (const folder of [
  evil,
  join(root, "src"),
  join(root, "app", "[...slug]"),
  join(root, ".git", "hooks"),
])
  fs.mkdirSync(folder, { recursive: true });
fs.writeFileSync(join(evil, "x"), "");
fs.symlinkSync(evil, join(root, "out"));
fs.symlinkSync(join(root, "src"), join(root, "in"));
fs.symlinkSync("/nowhere/at/all", join(root, "dangling"));

/** As -A does. */
const ALL: Options["allow"] = { read: true, write: true, run: true, net: true, env: true };
/** What zz goes by in its home, and what the model is told from there. */
const OWN = `zz.config.json permissions.json keys.json history sessions/s.jsonl plugins/x.ts
  prompts/x.md skills/x/SKILL.md memory/INDEX.md SOUL.md .zz/SOUL.md trust.json`.split(/\s+/);
const tool: Tool = { name: "t", description: "d", run: () => "ran" };
/** An instance in the project, what it says of a need, and of a call of a tool with these needs. */
async function opened(options: Options = {}) {
  const core = await createZz({ root, home: where.home, save: false, ...options });
  const chat = openChat(core, "x/y");
  const ctx = createCtx(core, chat);
  const weighed = (needs: Needs) => judgeCall({ core, chat, ctx }, tool, {}, needs);
  return { core, ctx, weighed, ...ctx.permissions };
}
const saying = (name: string, verdict: Verdict): Need => ({ name, verdict, why: "so it is" });
const UNSURE = saying("echo $(x)", "ask");
const byName = (name: string): Need => ({ name, verdict: "ask", why: "so it is", exact: true });

// biome-ignore format: one case a row.
for (const [what, rules, kind, need, verdict] of [
  ["reading the project is allowed", {}, "read", "src/a.ts", "allow"],
  ["a neighbour whose name begins the same is outside", {}, "read", `${evil}/x`, "ask"],
  ["a link that leaves is outside", {}, "read", "out/x", "ask"],
  ["a new file under a link that leaves is outside", { allow: { write: ["."] } }, "write", "out/new", "ask"],
  ["a link that stays is inside", { allow: { write: ["src"] } }, "write", "in/new.ts", "allow"],
  ["a dangling link is judged by its target", { allow: { write: ["."] } }, "write", "dangling", "ask"],
  ["brackets and dots are a plain path", { allow: { write: ["app"] } }, "write", "app/[...slug]/page.tsx", "allow"],
  ["writing where it is allowed", { allow: { write: ["src"] } }, "write", "src/a.ts", "allow"],
  ["a folder's name is not a prefix of another", { allow: { write: ["src"] } }, "write", "srcs/a.ts", "ask"],
  ["out of an allowed folder by dots", { allow: { write: ["src"] } }, "write", "src/../a.ts", "ask"],
  ["deny beats allow", { allow: { write: true }, deny: { write: ["src"] } }, "write", "src/a.ts", "deny"],
  ["git's own files are not in a list", { allow: { write: ["."] } }, "write", ".git/hooks/pre-commit", "ask"],
  ["git's own files by name", { allow: { write: [".git/config"] } }, "write", ".git/config", "allow"],
  ["git's own files when all writing is allowed", { allow: { write: true } }, "write", ".git/config", "ask"],
  ["git's own files with -A", { allow: ALL }, "write", ".git/config", "allow"],
  ["outside by name", { allow: { write: [".."] } }, "write", "../x", "allow"],
  ["a project's .zz is not in a list", { allow: { write: ["."] } }, "write", ".zz/plugins/x.ts", "ask"],
  ["a project's .zz with -A", { allow: ALL }, "write", ".zz/skills/x/SKILL.md", "allow"],
  ["outside with -A", { allow: ALL }, "write", "../x", "ask"],
  ["secrets ask", {}, "read", ".env", "ask"],
  ["secrets by name", { allow: { read: [".env"] } }, "read", ".env", "allow"],
  ["a denied command", { allow: { run: true }, deny: { run: ["npm publish"] } }, "run", "npm publish --tag x", "deny"],
  ["what a tool calls harmless", {}, "run", saying("git status", "allow"), "allow"],
  ["what is harmless, and denied", { deny: { run: ["git"] } }, "run", saying("git status", "allow"), "deny"],
  ["what a tool denies, whatever else allows", { allow: { run: true } }, "run", saying("rm -r x", "deny"), "deny"],
  ["what a tool is not sure of is not in a list", { allow: { run: ["echo"] } }, "run", UNSURE, "ask"],
  ["what a tool is not sure of, word for word", { allow: { run: ["echo $(x)"] } }, "run", UNSURE, "allow"],
  ["what a tool is not sure of, when all is allowed", { allow: { run: true } }, "run", UNSURE, "allow"],
  ["what a tool is not sure of, by a star", { allow: { run: ["echo *"] } }, "run", UNSURE, "ask"],
  ["what only its name allows, when all is allowed", { allow: ALL }, "run", byName("$x y"), "ask"],
  ["what only its name allows, by that", { allow: { run: ["$x y"] } }, "run", byName("$x y"), "allow"],
  ["what only its name allows, denied", { allow: ALL, deny: { run: true } }, "run", byName("$x y"), "deny"],
  ["a denied command by a star in a word", { allow: ALL, deny: { run: ["*/evil"] } }, "run", "./bin/evil x", "deny"],
  ["a host at another port", { allow: { net: ["example.com:80"] } }, "net", "example.com:443", "ask"],
] as [string, Pick<Options, "allow" | "deny">, Kind, Need, Verdict][])
  test(`judge() ${what}: ${verdict}`, async () => {
    equal((await opened(rules)).judge(kind, need).verdict, verdict);
  });

for (const [name, flag] of Object.entries({
  "$x y": "--allow-run='$x y'",
  "eval '$x', y": undefined,
}))
  test(`What only its name allows is asked for under --allow-run, once: ${name}`, async () => {
    const asked: string[] = [];
    const { core, weighed: weigh } = await opened({ allow: { run: true } });
    const weighed = () => weigh({ run: [byName(name)] });
    const why =
      /is asked for even where all is allowed, and there is no terminal to ask on: so it is\.$/;
    match(String(await weighed()), why);
    core.ask = async (question) => {
      asked.push(question);
      return asked.length === 1 ? "?" : "A";
    };
    deepEqual(Object(await weighed()).run, [name]);
    deepEqual(Object(await weighed()).run, [name]);
    equal(asked.length, 2, "the question, and what its keys mean");
    equal(/┠ (.*) skips this question/.exec(asked[1]!)?.[1], flag);
  });

test("In a home that is the project, its own files are in no list, only by name or with -A", async () => {
  const home = fs.realpathSync(place().cwd);
  for (const [allow, allowed] of [
    [{}, []],
    [{ write: true }, ["a.ts"]],
    [{ write: ["plugins"] }, []],
    [{ write: ["skills"] }, ["skills/x/SKILL.md"]],
    [ALL, ["a.ts", ...OWN]],
  ] as [Options["allow"], string[]][]) {
    const { judge } = await opened({ root: home, home, own: false, ...(allow && { allow }) });
    const found = ["a.ts", ...OWN].filter((name) => judge("write", name).verdict === "allow");
    deepEqual(found, allowed, JSON.stringify(allow));
  }
});

test("A for one of zz's own files in the project allows that file, and not the project's", async () => {
  const home = fs.realpathSync(place().cwd);
  const { core, ctx, judge } = await opened({ root: home, home });
  core.ask = async (_, keys) => (keys ? "A" : "");
  const { failed } = await ctx.call("create_file", { path: "skills/x/SKILL.md", content: "x" });
  equal(failed, undefined);
  const names = ["skills/x/SKILL.md", "skills/y/SKILL.md", "a.ts"];
  equal(names.map((name) => judge("write", name).verdict).join(), "allow,ask,ask");
});

test("An answer kept for the project holds in the next zz, in this folder alone, and can be taken back", async () => {
  const make = async (root: string) => (await opened({ root })).ctx.permissions;
  const first = await make(root);
  first.add({ verdict: "allow", kind: "run", name: "npm test", from: "project" });
  const second = await make(root);
  equal(second.judge("run", "npm test").verdict, "allow");
  equal((await make(evil)).judge("run", "npm test").verdict, "ask");
  equal(fs.statSync(join(where.home, "permissions.json")).mode & 0o777, 0o600);
  second.drop(second.rules[0]!);
  equal((await make(root)).judge("run", "npm test").verdict, "ask");
});

const settled = (permissions: object) => ({ settings: { permissions } }) as Options;
const SRC = { write: ["src"] };
const PLUGINS_ALONE = { only: { write: ["plugins/**", "notes.md"] } };
// biome-ignore format: one case a row.
for (const [what, permissions, allow, kind, need, verdict] of [
  ["an ask rule beats an allowance", { ask: { write: ["src"] } }, { write: true }, "write", "src/a.ts", "ask"],
  ["an ask rule beats -A", { ask: { run: ["git push"] } }, ALL, "run", "git push origin", "ask"],
  ["an ask rule beats what is harmless", { ask: { run: ["git"] } }, {}, "run", saying("git log", "allow"), "ask"],
  ["an ask rule is of its own kind", { ask: { write: ["src"] } }, {}, "read", "src/a.ts", "allow"],
  ["a denial beats an ask rule", { ask: SRC, deny: SRC }, ALL, "write", "src/a.ts", "deny"],
  ["what is not among the only ones, with -A", PLUGINS_ALONE, ALL, "write", "src/a.ts", "deny"],
  ["one of the only ones may be allowed", PLUGINS_ALONE, { write: true }, "write", "plugins/a/b.ts", "allow"],
  ["one of the only ones that leads elsewhere", { only: { write: ["in/**"] } }, ALL, "write", "in/a.ts", "allow"],
  ["a link among the only ones that leaves", { only: { write: ["o*"] } }, ALL, "write", "out/x", "deny"],
  ["the only ones are of their own kind", PLUGINS_ALONE, {}, "read", "src/a.ts", "allow"],
  ["only commands", { only: { run: ["npm test", "git *"] } }, { run: true }, "run", "npm publish", "deny"],
  ["true limits nothing", { only: { write: true } }, { write: true }, "write", "src/a.ts", "allow"],
] as [string, object, Options["allow"], Kind, Need, Verdict][])
  test(`judge() by the settings, ${what}: ${verdict}`, async () => {
    const { judge } = await opened({ allow: allow!, ...settled(permissions) });
    equal(judge(kind, need).verdict, verdict);
  });

test("What an ask rule names is asked for each time, and refused where nobody is there", async () => {
  const rules = settled({ ask: { run: ["make"] } });
  const { core, weighed: weigh } = await opened({ allow: ALL, ...rules });
  const weighed = () => weigh({ run: ["make x"] });
  match(String(await weighed()), /there is no terminal to ask on: asked for by the settings\.$/);
  const asked: string[] = [];
  core.ask = async (question, keys = "") => {
    asked.push(`${keys} ${question}`);
    return keys && "y";
  };
  await weighed();
  deepEqual(Object(await weighed()).run, ["make x"]);
  equal(asked.length, 2);
  match(asked[0]!, /^yn\? [\s\S]*┠ asked for by the settings\.\n/, "no key for always");
});

test("With `only` in the settings everything else is refused, and says what is allowed", async () => {
  const where = place({}, { permissions: { only: { write: ["plugins/**"] } } });
  const create = (path: string) =>
    zz(where, ["-A", "--call", "create_file", `{"path":"${path}","content":"x"}`]);
  const { code, stderr } = await create("src/new.ts");
  const refused =
    'create_file: Refused: write access to "src/new.ts" is denied by the settings (only plugins/**).\n';
  deepEqual([code, stderr], [4, refused]);
  equal((await create("plugins/new.ts")).code, 0);
  const { stdout } = await zz(where, ["--permissions"]);
  match(stdout, /deny {3}write {2}\(all but plugins\/\*\*\) {2}\(the settings\)/);
});

/** A tool that does what it is told to, in one call. */
const act = (name: string, run: Tool["run"], more: Partial<Tool> = {}) =>
  ({ owner: "test", value: { name, description: name, run, changes: true, ...more } }) as {
    owner: string;
    value: Tool;
  };

async function doing(
  run: Tool["run"],
  options: Options & { ask?: Ask; setup?: (core: Core) => void } = {},
) {
  const { ask, setup, ...rest } = options;
  const project = place();
  const core = await createZz({ root: project.cwd, home: project.home, save: false, ...rest });
  if (ask) core.ask = ask;
  core.tools.set("act", act("act", run));
  setup?.(core);
  const chat = openChat(core, "x/y");
  const ctx = createCtx(core, chat);
  return {
    at: project.cwd,
    file: (name: string) => join(project.cwd, name),
    ctx,
    chat,
    go: () => ctx.call("act", {}),
  };
}

/** A tool that writes one file. */
const writing = (
  name: string,
  text: string,
  options: Parameters<typeof doing>[1] = { allow: { write: true } },
) => doing(async (_, { files }) => files.write(name, text).then(() => "done"), options);

test("A compiler may list what it checks outside of the project, unless that is denied, and nothing else there", () => {
  const mayList = (folder: string, ...rules: Rule[]) =>
    compilerGate(
      { module: "", rules, where: { root, home: where.home, settings: {} } },
      { near: [evil] },
    ).mayList(folder);
  deepEqual([mayList(root), mayList(evil), mayList(dirname(root))], [true, true, false]);
  equal(mayList(evil, { verdict: "deny", kind: "read", from: "flag" }), false);
});

for (const [what, before, given, after] of [
  ["keeps CRLF", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"],
  ["keeps LF", "a\nb\n", "a\r\nc\r\n", "a\nc\n"],
  ["keeps mixed ends as given", "a\r\nb\n", "a\nc\n", "a\nc\n"],
  ["keeps a BOM", "\ufeffa\n", "b\n", "\ufeffb\n"],
  ["adds no second BOM", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"],
  ["keeps a last newline", "a\n", "b", "b\n"],
  ["keeps a missing last newline", "a", "b\n", "b"],
  ["writes a new file as given", undefined, "a\r\nb", "a\r\nb"],
] as [string, string | undefined, string, string][])
  test(`files.write() ${what}`, async () => {
    const { file, go } = await writing("t.txt", given);
    if (before !== undefined) fs.writeFileSync(file("t.txt"), before, { mode: 0o754 });
    equal((await go()).text, "done");
    equal(fs.readFileSync(file("t.txt"), "utf8"), after);
    equal(
      fs.statSync(file("t.txt")).mode & 0o777,
      before === undefined ? 0o666 & ~process.umask() : 0o754,
    );
  });

test("A tool that fails after writing has written nothing", async () => {
  const { at, go } = await doing(
    async (_, { files }) => {
      await files.write("one", "1");
      await files.write("two", "2");
      throw new Error("no");
    },
    { allow: { write: true } },
  );
  equal((await go()).text, "no");
  deepEqual(fs.readdirSync(at), []);
});

test("A tool sees its own changes before they are made", async () => {
  const { go, file } = await doing(
    async (_, { files }) => {
      await files.write("one", "1");
      await files.move("one", "two");
      const moved = (await files.read("two")).text;
      await files.write("two", `${moved}2`);
      return `${moved}, ${await files.read("one").catch((error) => error.message)}`;
    },
    { allow: { write: true } },
  );
  equal((await go()).text, "1, Cannot read 'one': no such file or folder. Check the path.");
  equal(fs.readFileSync(file("two"), "utf8"), "12");
  ok(!fs.existsSync(file("one")));
});

test("A tool that does not say that it changes files cannot", async () => {
  const setup = (core: Core) => void delete core.tools.get("act")!.value.changes;
  const { go } = await writing("one", "1", { allow: { write: true }, setup });
  match((await go()).text, /^Cannot write 'one': 'act' does not say that it changes files\./);
});

test("One refused file of several leaves all as they were", async () => {
  const { at, go } = await doing(
    async (_, { files }) => {
      await files.write("ok/one", "1");
      await files.write("no/two", "2");
      return "done";
    },
    { allow: { write: ["ok"] } },
  );
  const refusal =
    'Refused: requires write access to "no/two"; run again with --allow-write=no/two.';
  deepEqual(await go(), { text: refusal, failed: true, refused: true });
  deepEqual(fs.readdirSync(at), []);
});

const toONE: Tool["run"] = async (_, { files }) =>
  files.write("t", (await files.read("t")).text.replace("1", "ONE")).then(() => "done");
const [LINES, GROWN] = ["1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nNEW\n"];
for (const [what, meanwhile, answers, after, says] of [
  ["elsewhere, and yes again", GROWN, ["y", "y"], GROWN.replace("1", "ONE"), /^done$/],
  ["elsewhere, and then no", GROWN, ["y", "n"], GROWN, /^Refused: the person said no/],
  ["in the same line", "other\n2\n", ["y"], "other\n2\n",
    /^Cannot write 't': it changed meanwhile\. Read it again\.$/],
  ["it is gone", undefined, ["y"], undefined, /^Cannot write 't': it changed meanwhile/],
] as [string, string | undefined, string[], string | undefined, RegExp][]) // biome-ignore format: a table
  test(`A file that changes while the question is open: ${what}`, async () => {
    const told: string[] = [];
    let changed = false;
    const { file, go } = await doing(toONE, {
      ask: async (question, keys) => {
        if (!keys) return "";
        told.push(question);
        if (!changed && meanwhile === undefined) fs.rmSync(file("t"));
        else if (!changed) fs.writeFileSync(file("t"), meanwhile!);
        changed = true;
        return answers.shift()!;
      },
    });
    fs.writeFileSync(file("t"), LINES);
    match((await go()).text, says);
    equal(fs.existsSync(file("t")) ? fs.readFileSync(file("t"), "utf8") : undefined, after);
    if (told.length > 1) match(told[1]!, /'t' changed meanwhile; the change still applies\./);
  });

test("What the person saved in the editor is what is written, recorded and told", async () => {
  const { file, go, ctx } = await writing("t", "proposed\n", {
    ask: async (_, keys) => (keys ? "e" : ""),
    setup: (core) => void (core.edit = async (text) => text.replace("proposed", "edited")),
  });
  fs.writeFileSync(file("t"), "before\n");
  const { text } = await go();
  match(
    text,
    /^done\nThe person edited the proposal before it was written:\n[\s\S]*-proposed\n\+edited$/,
  );
  equal(fs.readFileSync(file("t"), "utf8"), "edited\n");
  await ctx.files.undo();
  equal(fs.readFileSync(file("t"), "utf8"), "before\n");
  await ctx.files.redo();
  equal(fs.readFileSync(file("t"), "utf8"), "edited\n");
});

test("An editor that is left without saving leads back to the question", async () => {
  const answers = ["e", "y"];
  const { file, go } = await writing("t", "proposed", {
    ask: async (_, keys) => (keys ? answers.shift()! : ""),
    setup: (core) => void (core.edit = async () => undefined),
  });
  equal((await go()).text, "done");
  equal(fs.readFileSync(file("t"), "utf8"), "proposed");
});

test("A question shows no control bytes and no second line of a name", async () => {
  const asked: string[] = [];
  const ask: Ask = async (question) => (asked.push(question) ? "" : "");
  const { go } = await writing("a\nb\x1b[2J\u202e", "x\x1b]0;y\x07\n", { ask });
  match((await go()).text, /^Refused: the person said no/);
  ok(
    !/[\x00-\x09\x0b-\x1f\u202e]/.test(asked[0]!.replace(/\x1b\[\d+m/g, "")),
    JSON.stringify(asked),
  );
  match(asked[0]!, /"a␊b␛\[2J�"\./);
});

test("A folder that zz made goes with the last file in it, and undo brings both back", async () => {
  const { at, file, ctx } = await doing(() => "", { allow: { write: true } });
  const all = () => fs.readdirSync(at, { recursive: true }).sort();
  fs.mkdirSync(file("mine"));
  fs.writeFileSync(file("mine/a"), "1");
  await ctx.files.write("deep/er/b", "2");
  await ctx.files.write("deep/c", "3");
  await ctx.files.remove("deep/er/b");
  deepEqual(all(), ["deep", "deep/c", "mine", "mine/a"]);
  await ctx.files.move("deep/c", "mine/c");
  await ctx.files.remove("mine/c");
  await ctx.files.remove("mine/a");
  deepEqual(all(), ["mine"]);
  await ctx.files.undo("3");
  deepEqual(all(), ["deep", "deep/c", "mine", "mine/a"]);
  await ctx.files.redo("3");
  deepEqual(all(), ["mine"]);
  await ctx.files.undo("6");
  deepEqual(all(), ["mine", "mine/a"]);
});

test("A folder that somebody made stays, though zz once made one of that name", async () => {
  const { at, file, ctx } = await doing(() => "", { allow: { write: true } });
  await ctx.files.write("d/a", "1");
  await ctx.files.undo();
  fs.mkdirSync(file("d"));
  fs.writeFileSync(file("d/b"), "2");
  await ctx.files.remove("d/b");
  deepEqual(fs.readdirSync(at), ["d"]);
});

test("A deleted link comes back as a link, and what it led to is not touched", async () => {
  const { file, ctx } = await doing(() => "", { allow: { write: true } });
  fs.writeFileSync(file("a"), "1");
  fs.symlinkSync("a", file("l"));
  await ctx.files.remove("l");
  deepEqual([fs.existsSync(file("l")), fs.existsSync(file("a"))], [false, true]);
  await ctx.files.undo();
  equal(fs.readlinkSync(file("l")), "a");
});

for (const [key, after, says] of [
  ["m", "1\nTWO\n3\n4\n5\n6\n7\nEIGHT\n", /^Undid 1 change: /],
  ["o", "1\nTWO\n3\n4\n5\n6\n7\n8\n", /^Undid 1 change: /],
  ["n", "ONE\nTWO\n3\n4\n5\n6\n7\nEIGHT\n",
    /^Cannot undo 'a': it has changed since\. Nothing was touched\.$/],
] as const) // biome-ignore format: a table
  test(`Undo of a file that somebody changed since asks: ${key}`, async () => {
    const { file, ctx } = await doing(() => "", { allow: { write: true }, ask: async () => key });
    fs.writeFileSync(file("a"), "1\nTWO\n3\n4\n5\n6\n7\n8\n");
    await ctx.files.write("a", "ONE\nTWO\n3\n4\n5\n6\n7\n8\n");
    fs.writeFileSync(file("a"), "ONE\nTWO\n3\n4\n5\n6\n7\nEIGHT\n");
    match((await ctx.files.undo()).text, says);
    equal(fs.readFileSync(file("a"), "utf8"), after);
  });

test("What was sent back is told as not allowed, also after a yes to another version of the change", async (t) => {
  const answers = ["y", "r"];
  const edits = (zz: Zz) => zz.tool({ name: "edits", description: "d", changes: true, run: toONE });
  const answer = async (_: string, keys?: string) => {
    if (keys && answers.length === 2) zz.write("t", GROWN);
    return keys ? answers.shift()! : "";
  };
  const zz = await harness({ plugins: [edits], files: { t: LINES }, answer }, t);
  match((await zz.call("edits")).text, /sent it back/);
  const decided = zz.events.flatMap((fact) =>
    fact.type === "decided" ? [`${fact.allowed}: ${fact.why}`] : [],
  );
  deepEqual(decided.slice(-2), ["true: the person said yes", "false: the person sent it back"]);
});

test("What was allowed while another question stood open needs no question; what else the call needs does", async (t) => {
  const questions: string[] = [];
  let release = () => {};
  const open = new Promise<void>((resolve) => (release = resolve));
  const reader = (zz: Zz) =>
    zz.tool({
      name: "look",
      kind: "read",
      description: "looks",
      params: { paths: "string[]" },
      needs: ({ paths }) => ({ read: paths }),
      run: () => "seen",
    });
  const answer = async (question: string, keys?: string) => {
    if (!keys) return "";
    questions.push(question);
    if (questions.length > 1) return "n";
    await open;
    return "A";
  };
  const zz = await harness({ plugins: [reader], answer }, t);
  const asked = [["/etc/hosts"], ["/etc/hosts", "/etc/fstab"], ["/etc/hosts"]];
  const calls = asked.map((paths) => zz.call("look", { paths }));
  await waitFor("the first question", () => questions.length);
  release();
  const failed = (await Promise.all(calls)).map((one) => one.failed === true);
  deepEqual(failed, [false, true, false]);
  equal(questions.length, 2);
  match(questions[1]!, /\/etc\/fstab/);
});

test("Files that are written leave nothing open", {
  skip: process.platform !== "linux",
}, async (t) => {
  const zz = await harness({ answer: async (_, keys) => (keys ? "A" : "") }, t);
  await zz.call("write_file", { path: "a/0", content: "x" });
  const before = fs.readdirSync("/proc/self/fd").length;
  for (let i = 1; i <= 20; i++) await zz.call("write_file", { path: `a/${i}`, content: "x" });
  equal(fs.readdirSync("/proc/self/fd").length, before);
});

const tools = place();
const empty = (file: string): void => fs.closeSync(fs.openSync(file, "w"));
// biome-ignore format: one case a row.
for (const [what, make, name, says] of [
  ["a NUL in the path", () => {}, "a\0b", /^Cannot use path 'a\\0b': it holds a NUL byte/],
  ["a FIFO", (file) => execFileSync("mkfifo", [file]), "fifo", /^Cannot (write|change) .*not a regular file/],
  ["a device", () => {}, "/dev/null", /not a regular file/],
  ["a folder", (file) => fs.mkdirSync(file), "folder", /it is a folder\./],
  ["a file of 2 GB", (file) => fs.truncateSync(file, 2 ** 31), "big", /2147483648 bytes are too many/],
  ["a read-only file", (file) => fs.chmodSync(file, 0o444), "ro", /^Cannot write 'ro': it is read-only\./],
  ["a path below a file", (file) => empty(dirname(file)), "plain/x", /^Cannot write 'plain\/x': .*(folder|not)/],
  ["a name that is too long", () => {}, "n".repeat(300), /^Cannot write 'n+': .*too long/],
] as [string, (file: string) => void, string, RegExp][])
  test(`files.write() on ${what} is a sentence, and nothing is left behind`, async () => {
    const { at, file, go } = await writing(name, "new", {
      allow: { write: name.startsWith("/") ? [name] : true },
    });
    if (/^(big|ro)$/.test(name)) empty(file(name));
    make(file(name));
    const before = fs.readdirSync(at, { recursive: true });
    const { text, failed } = await go();
    equal(failed, true, text);
    match(text, says);
    deepEqual(fs.readdirSync(at, { recursive: true }), before);
  });

test("A folder that is swapped for a link between the question and the write is not followed", async () => {
  const swap = () => {
    fs.renameSync(file("dir"), file("old"));
    fs.symlinkSync(tools.cwd, file("dir"));
  };
  const ask: Ask = async (_, keys) => {
    if (keys) swap();
    return "y";
  };
  const { file, go } = await writing("dir/t", "x", { ask });
  fs.mkdirSync(file("dir"));
  match((await go()).text, /^Cannot write '.*dir\/t': its folder was swapped for a link/);
  deepEqual(fs.readdirSync(tools.cwd), []);
  deepEqual(fs.readdirSync(file("old")), []);
});

needs("bwrap")("Undo on a read-only disk says which file and why, and touches nothing", () => {
  const { cwd, home } = place();
  const file = join(cwd, "t");
  fs.writeFileSync(file, "before\n");
  const zz = [process.execPath, join(ROOT, "dist", "zz.js")];
  const run = (...words: string[]) =>
    spawnSync(words[0]!, words.slice(1), {
      cwd,
      env: { ...process.env, ZZ_HOME: home },
      encoding: "utf8",
    });
  const args = JSON.stringify({ path: "t", content: "after\n" });
  equal(run(...zz, "--call", "write_file", args, "--allow-write").status, 0);
  const sandbox = ["--dev-bind", "/", "/", "--ro-bind", cwd, cwd, "--chdir", cwd];
  const { stderr, status } = run("bwrap", ...sandbox, ...zz, "--undo");
  match(stderr, /Cannot undo 't': the file system is read-only/);
  deepEqual([status, fs.readFileSync(file, "utf8")], [1, "after\n"]);
});

const bytes = (latin1: string): Buffer => Buffer.from(latin1, "latin1");
const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
/** Files as latin1, and lines of the question; those of a change have a sign. */
const EDITS: [what: string, before: string, after: string, shown: string[]][] = [
  ["line ends, and a word", "cd x || exit\nrm y\n#1\n", "cd x || exit\r\nrm y\r\n#2\n",
    ["-cd x || exit", "+cd x || exit␍", "-rm y", "+rm y␍", "-#1", "+#2"]],
  ["one line end of many", "a\r\nb\r\nc\n", "a\r\nb\nd\n", [" a␍", "-b␍", "+b", "-c", "+d"]],
  ["bytes that are not UTF-8", "caf\xe9\n1\n", "caf\xe8\n2\n", ["-caf⟨E9⟩", "+caf⟨E8⟩", "-1", "+2"]],
  ["characters without width", utf8("if (a\u200b)\n1\n"), utf8("if (a\u2060)\n2\n"), ["-if (a⟨U+200B⟩)", "+if (a⟨U+2060⟩)"]],
  ["a mark at the start", "a\n1\n", utf8("\ufeffa\n2\n"), ["-a", "+⟨U+FEFF⟩a"]],
  ["line ends alone", "a\nb\n", "a\r\nb\r\n", ["only line ends or bytes that do not show"]],
]; // biome-ignore format: a table
test("What differs between two versions of a file is seen in the question", async (t) => {
  let content: Uint8Array = Buffer.alloc(0);
  const tool = (zz: Zz) =>
    zz.tool({
      name: "put",
      description: "d",
      params: {},
      changes: true,
      run: (_, { files }) => files.write("file", content).then(() => ""),
    });
  const zz = await harness({ plugins: [{ name: "put", default: tool }] }, t);
  for (const [what, before, after, shown] of EDITS) {
    zz.write("file", bytes(before));
    content = bytes(after);
    await zz.call("put");
    const [question = ""] = zz.questions.splice(0);
    for (const line of shown) ok(question.includes(line), `${what}: '${line}' is in\n${question}`);
  }
});

test("A refusal of what needs many names gives the first few, once each, and how many more there are", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `/nowhere/${i}`);
  for (const ask of [undefined, async () => "n"]) {
    const { core, weighed } = await opened();
    if (ask) core.ask = ask as unknown as Ask;
    const refusal = String(await weighed({ read: names }));
    for (const [i, name] of names.entries())
      equal(refusal.split(`"${name}"`).length - 1, i < 6 ? 1 : 0, refusal);
    match(refusal, /"\/nowhere\/5" and 34 more/);
    if (!ask) match(refusal, /; run again with --allow-read\.$/);
  }
});

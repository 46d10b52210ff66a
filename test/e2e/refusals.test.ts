// Faults that were found by trying everything as a user and as a plugin author: each sentence is a promise to keep.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openChat } from "../../kernel/chat.ts";
import { context } from "../../kernel/context.ts";
import type { Ask, Result, Tool } from "../../kernel/contract.ts";
import type { Options } from "../../kernel/core.ts";
import { createZz } from "../../zz.ts";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { needs as needing } from "../support/needs.ts";
import { repl } from "../support/repl.ts";
import { asksBefore, type Place, place, zz } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", ...more];
const create = (where: Place, path: string) =>
  zz(where, ["--call", "create_file", JSON.stringify({ path, content: "1\n" }), "--allow-write"]);
const at = (where: Place, name: string) => join(where.cwd, name);

/** Runs a command with a settings file. */
function withSettings(where: Place, settings: unknown, args: string[]) {
  writeFileSync(`${where.cwd}.json`, JSON.stringify(settings));
  return zz(where, ["--config", `${where.cwd}.json`, ...args]);
}

/** One call of a tool in its own project, where a person answers with these keys. */
async function answered(
  where: Place,
  name: string,
  args: object,
  keys: string[],
  more: Options & { tool?: Tool; edit?: (text: string) => string } = {},
): Promise<{ result: Result; questions: string[]; offered: string[]; rules: number }> {
  const core = await createZz({ root: where.cwd, home: where.home, save: false, ...more });
  if (more.tool) core.tools.set(more.tool.name, { owner: "test", value: more.tool });
  const questions: string[] = [];
  const offered: string[] = [];
  const ask: Ask = async (question, all = "") => {
    questions.push(question);
    offered.push(all);
    return keys.shift() ?? "";
  };
  core.ask = ask;
  core.edit = async (text) => more.edit?.(text) ?? text;
  const result = await context(core, openChat(core, "none/none")).call(name, args);
  return { result, questions, offered, rules: core.rules.length };
}

test("zz --undo 2 takes back two changes, as the README says", async (t) => {
  const fake = await fakeOpenAI([
    call(["create_file", { path: "a", content: "1" }]),
    call(["create_file", { path: "b", content: "1" }]),
    say("Done."),
  ]);
  t.after(fake.close);
  const where = place();
  await zz(where, asks(fake.url, "--once", "--allow-write"), { input: "go" });
  ok(existsSync(at(where, "a")) && existsSync(at(where, "b")));
  const ran = await zz(where, ["--undo", "2"]);
  equal(ran.stdout, "Undone: created b, created a.\n");
});

for (const args of [
  ["--judge", "npm", "test"],
  ["--changes", "3"],
  ["--tools", "read_file"],
])
  test(`A word that '${args.join(" ")}' would pass over is refused`, async () => {
    const ran = await zz(place(), args);
    equal(ran.code, 2, ran.stdout);
    match(ran.stderr, new RegExp(`'${args.at(-1)}'`));
  });

for (const [form, stdout] of [
  [[], /^$/],
  [["--json"], /^\{"type":"error","kind":"failed","message":"Cannot undo 'a'.*","exit":1\}\n$/],
] as const)
  test(`An undo that is refused says so on stderr ${form}`, async () => {
    const where = place();
    await create(where, "a");
    writeFileSync(at(where, "a"), "other");
    const ran = await zz(where, ["--undo", ...form]);
    equal(ran.code, 1);
    match(ran.stderr, /^Cannot undo 'a': it has changed since\./);
    match(ran.stdout, stdout);
  });

test("--undo is about the last session that changed anything, and --changes shows what was undone", async () => {
  const where = place();
  await create(where, "old");
  await create(where, "new");
  await zz(where, ["--undo"]);
  const changes = await zz(where, ["--changes"]);
  match(changes.stdout, /created {2}new {2}\(create_file, undone\)/);
  const again = await zz(where, ["--undo"]);
  equal(again.stdout, "Nothing to undo.\n");
  ok(existsSync(at(where, "old")), "an older session's file was taken away");
});

test("--undo, --redo and --changes work with a model in the settings that has no key", async () => {
  const where = place();
  await create(where, "a");
  writeFileSync(join(where.home, "zz.config.json"), '{"model": "openai/gpt-4o"}');
  const said = async (flag: string) => (await zz(where, [flag])).stdout;
  match(await said("--changes"), /created {2}a {2}\(create_file\)/);
  equal(await said("--undo"), "Undone: created a.\n");
  equal(await said("--redo"), "Redone: created a.\n");
});

test("--undo, --redo and --changes with --session are about that session", async () => {
  const where = place();
  await create(where, "old");
  await create(where, "new");
  const [old] = where.sessions().find((lines) => JSON.stringify(lines).includes("old"))!;
  const said = async (flag: string) => (await zz(where, ["--session", old.id, flag])).stdout;
  match(await said("--changes"), /created {2}old {2}\(create_file\)/);
  equal(await said("--undo"), "Undone: created old.\n");
  ok(existsSync(at(where, "new")));
  equal(await said("--redo"), "Redone: created old.\n");
  const unknown = await zz(where, ["--undo", "--session", "nowhere"]);
  match(unknown.stderr, /^Cannot open session 'nowhere': there is none\./);
});

test("-c goes on with the last talk, not with what --call left", async (t) => {
  const fake = await fakeOpenAI([say("One."), say("Two.")]);
  t.after(fake.close);
  const where = place();
  await zz(where, asks(fake.url, "--once"), { input: "the first word" });
  await create(where, "a");
  await zz(where, asks(fake.url, "--once", "-c"), { input: "the second" });
  match(JSON.stringify(fake.requests.at(-1)!.body.messages), /the first word/);
});

for (const permissions of [
  { deny: { read: "a.txt" } },
  { deny: { raed: ["a.txt"] } },
  { deny: ["a.txt"] },
  { deny: { read: [5] } },
  [],
])
  test(`Permissions that cannot be understood are refused: ${JSON.stringify(permissions)}`, async () => {
    const where = place();
    writeFileSync(at(where, "a.txt"), "kept to oneself");
    const ran = await withSettings(where, { permissions }, ["--call", "read_file", '{"path":"a.txt"}']);
    equal(ran.code, 2, ran.stdout);
    match(ran.stderr, /^Cannot use the settings '.*': .*"?permissions.*\n$/);
    equal(ran.stdout, "");
  });

for (const [settings, why] of [
  [{ sandbox: "requird" }, /"sandbox" is "requird"\. It is "auto", "required" or "off"/],
  [{ except: "chmod" }, /"except" must be a list/],
  [{ seconds: -1 }, /"seconds" is -1\. It is a number of seconds up to 1000000; 0: no limit\. Fix it\./],
  ["off", /there is no "0"/],
] as const)
  test(`A setting of 'shell' that cannot be understood lets no command run: ${JSON.stringify(settings)}`, async () => {
    const ran = await withSettings(place(), { shell: settings }, [
      "--call",
      "run_command",
      '{"command":"echo ran"}',
      "-A",
    ]);
    match(ran.stderr, why);
    ok(ran.code);
    equal(ran.stdout, "");
  });

test("A misspelt setting of 'shell' leaves the plugin loaded, and says at the start what is wrong", async () => {
  const ran = await withSettings(place(), { shell: { sandbx: "off" } }, ["--plugins"]);
  match(
    ran.stderr,
    /^Cannot run commands: in the settings under "shell", there is no "sandbx"\. There are: sandbox, except, seconds, maxSeconds, effects, maxCopyMB; /,
  );
  match(ran.stdout, /^shell +zz +[\d.]+ ms /m);
});

test("Where there is no text to edit, e is not offered", async () => {
  const where = place();
  writeFileSync(at(where, "a.txt"), "1\n");
  const { offered, result } = await answered(where, "delete_file", { path: "a.txt" }, ["e"]);
  deepEqual(offered, ["ynA?"]);
  ok(result.refused);
  ok(existsSync(at(where, "a.txt")), "e deleted it");
});

test("A yes for always is one rule, however many files there are", async () => {
  const where = place();
  writeFileSync(at(where, "a.txt"), "1\n");
  const { questions, rules } = await answered(where, "move_file", { path: "a.txt", to: "b.txt" }, ["?", "A"]);
  match(questions[1]!, /^┠ A {2}always, in this session: edits in this project$/m);
  equal(rules, 1);
});

test("What the person edited is told without a ruler of equal signs", async () => {
  const edit = (text: string) => text.replace("1", "2");
  const { result } = await answered(place(), "create_file", { path: "a.txt", content: "1\n" }, ["e"], { edit });
  match(result.text, /-1\n\+2/);
  doesNotMatch(result.text, /={10}/);
});

for (const needs of [{ rnu: ["make"] }, { run: "make" }, { run: [5] }])
  test(`Needs that cannot be understood are refused: ${JSON.stringify(needs)}`, async () => {
    const tool: Tool = { name: "careless", description: "-", needs: () => needs as any, run: () => "ran" };
    const { result } = await answered(place(), "careless", {}, ["y"], { tool });
    ok(result.failed);
    match(result.text, /'careless'.*needs/);
  });

for (const [by, flags, permissions] of [
  ["a denial", ["--deny-write=src"], {}],
  ["an `ask` of the settings", [], { ask: { write: ["src"] } }],
] as const)
  needing("bwrap")(`What may not be written by ${by}, a command cannot write either`, async () => {
    const where = place();
    mkdirSync(at(where, "src"));
    writeFileSync(at(where, "src/a"), "1");
    const command = `node -e "require('fs').writeFileSync('src/a', '2')"`;
    const args = ["--call", "run_command", JSON.stringify({ command }), "--allow-run", ...flags];
    await withSettings(where, { permissions }, args);
    equal(readFileSync(at(where, "src/a"), "utf8"), "1");
  });

test("--judge - prints an object a line and nothing else, also with --json", async () => {
  const ran = await zz(asksBefore(place()), ["--judge", "-", "--json"], { input: '"ls"\n"make"\n' });
  deepEqual(
    ran.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).verdict),
    ["allow", "ask"],
  );
});

for (const [file, why] of [
  ["nowhere/audit", "no such file or folder"],
  [".", "it is a folder"],
] as const)
  test(`An audit that cannot be written is a sentence: '${file}'`, async () => {
    const ran = await zz(place(), [`--audit=${file}`, "--call", "read_file", '{"path":"a"}']);
    equal(ran.code, 2);
    match(ran.stderr, new RegExp(`^Cannot write the audit to '${file.replace(".", "\\.")}': ${why}\\. .*\\n$`));
  });

test("A command is not run for 0 ms", async () => {
  const ran = await zz(place(), ["--call", "run_command", JSON.stringify({ command: "ls", timeout_ms: 0 })]);
  equal(ran.code, 1);
  match(ran.stderr, /^Cannot run it for .* ms\. Give a timeout_ms from 1 to 600000\.\n$/);
});

for (const [shell, timeout_ms, ends] of [
  [{ seconds: 0.3 }, undefined, "killed after 0.3 s: it did not end by itself. Give it a longer timeout_ms (up to 600000), or"],
  [{ maxSeconds: 0.3, seconds: 0.2 }, 9_000, "killed after 0.3 s: it did not end by itself. Let it do less;"],
  [{ maxSeconds: 0 }, 200, "killed after 0.2 s: it did not end by itself. Give it a longer timeout_ms, or let it do less;"],
  [{ maxSeconds: 0.3, seconds: 0 }, 9_000, "exit code 0 "],
] as const) // biome-ignore format: a table
  test(`How long a command may take: shell ${JSON.stringify(shell)}, timeout_ms ${timeout_ms}`, async () => {
    const seconds = ends.startsWith("exit") ? 0.6 : 20;
    const call = JSON.stringify({ command: `sleep ${seconds}`, timeout_ms });
    const ran = await withSettings(place(), { shell }, ["--call", "run_command", call, "-A"]);
    ok(`${ran.stdout}${ran.stderr}`.includes(`[${ends}`), ran.stdout + ran.stderr);
  });

test("The model is told how long a command may take", async () => {
  const told = async (shell: object) => {
    const { stdout } = await withSettings(place(), { shell }, ["--tools", "--json"]);
    const { schema } = JSON.parse(stdout).find(({ name }: Tool) => name === "run_command");
    return schema.properties.timeout_ms.description;
  };
  equal(await told({}), "120000 unless it says otherwise, at most 600000");
  equal(await told({ seconds: 900 }), "900000 unless it says otherwise, at most 900000");
  equal(await told({ seconds: 0 }), "no limit unless it says otherwise");
});

test("/auto-apply does not say that edits ask while a flag allows them", async (t) => {
  const term = await repl(t, { args: ["--allow-write"] });
  term.type(`/auto-apply${KEY.enter}`);
  await term.sees("/auto-apply is on by --allow-write; /permissions lists it; use on or off.");
  term.type(`/auto-apply off${KEY.enter}`);
  await term.sees("Edits are still made without asking by --allow-write");
});

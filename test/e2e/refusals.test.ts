// Faults that were found by trying everything as a user and as a plugin author: each sentence is a
// promise to keep.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Tool } from "../../kernel/contract.ts";
import { harness, type Setup } from "../../sdk/testing.ts";
import { askable, call, say } from "../support/fake/openai.ts";
import { asksBefore, type Place, place, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";

const create = (where: Place, path: string) =>
  zz(where, ["--call", "create_file", JSON.stringify({ path, content: "1\n" }), "--allow-write"]);
const at = (where: Place, name: string) => join(where.cwd, name);

/** Runs a command with a settings file. */
function withSettings(where: Place, settings: unknown, args: string[]) {
  writeFileSync(`${where.cwd}.json`, JSON.stringify(settings));
  return zz(where, ["--config", `${where.cwd}.json`, ...args]);
}

test("A word that a flag would pass over is refused", async () => {
  for (const args of ["--judge npm test", "--changes 3", "--tools read_file"].map((line) =>
    line.split(" "),
  )) {
    const ran = await zz(place(), args);
    equal(ran.code, 2, ran.stdout);
    match(ran.stderr, new RegExp(`'${args.at(-1)}'`));
  }
});

test("--undo takes back the last change of the last session that changed anything, or of --session, and needs no model", async () => {
  const where = place();
  for (const name of ["old", "new"]) await create(where, name);
  writeFileSync(join(where.home, "zz.config.json"), '{"model": "openai/gpt-4o"}'); // without a key
  const said = async (...flags: string[]) => (await zz(where, flags)).stdout;
  equal(await said("--undo"), "Undid 1 change: new (removed, 1 line).\n");
  match(await said("--changes"), /created {2}new {2}\(create_file, undone\)/);
  equal(await said("--undo"), "Nothing to undo.\n");
  ok(existsSync(at(where, "old")), "an older session's file was taken away");
  equal(await said("--redo"), "Redid 1 change: new (back, 1 line).\n");
  const [{ id }] = where.sessions().find((lines) => JSON.stringify(lines).includes('/old"')) as any;
  match(await said("--session", id, "--changes"), /created {2}old {2}\(create_file\)/);
  equal(await said("--session", id, "--undo"), "Undid 1 change: old (removed, 1 line).\n");
  ok(existsSync(at(where, "new")));
  const { stderr } = await zz(where, ["--undo", "--session", "nowhere"]);
  match(stderr, /^Cannot open session 'nowhere': there is none\./);
  await create(where, "third");
  writeFileSync(at(where, "third"), "other");
  const refused = await zz(where, ["--undo", "--json"]);
  equal(refused.code, 1);
  match(refused.stderr, /^Cannot undo 'third': it has changed since\./);
  match(
    refused.stdout,
    /^\{"type":"error","kind":"failed","message":"Cannot undo 'third'.*","exit":1\}\n$/,
  );
});

test("--undo 2 takes back two changes; -c goes on with the last talk, not with what --call left", async () => {
  const made = ["a", "b"].map((path) => call(["create_file", { path, content: "1" }]));
  const model = await askable([...made, say("One."), say("Two.")]);
  const where = place();
  const args = [...model.args, "--once", "--allow-write"];
  await zz(where, args, { input: "the first word" });
  const { stdout } = await zz(where, ["--undo", "2"]);
  equal(stdout, "Undid 2 changes: b (removed, 1 line), a (removed, 1 line).\n");
  await create(where, "a");
  await zz(where, [...args, "-c"], { input: "the second" });
  match(JSON.stringify(model.requests.at(-1)!.body.messages), /the first word/);
});

test("A setting of 'shell' that cannot be understood lets no command run", async () => {
  for (const [shell, why] of [
    [
      { sandbox: "requird" },
      /"shell\.sandbox" must be one of auto, required, off; nearest .* is "required"\. Fix/,
    ],
    [{ except: "chmod" }, /the setting "shell\.except" must be a list\. Fix it\./],
    [5, /^Cannot run commands: the setting "shell" must be an object\. Fix it\./m],
    [["sandbox"], /^Cannot run commands: the setting "shell" must be an object\. Fix it\./m],
    ["required", /^Cannot run commands: the setting "shell" must be an object\. Fix it\./m],
    [{ seconds: -1 }, /the setting "shell\.seconds" must be at least 0\. Fix it\./],
    [
      { sandbx: "off" },
      /^Cannot run commands: the setting "shell\.sandbx" is not known; .* is "sandbox"\. Fix/m,
    ],
  ] as const) {
    const ran = await withSettings(place(), { shell }, [
      "--call",
      "run_command",
      '{"command":"echo ran"}',
      "-A",
    ]);
    match(ran.stderr, why);
    deepEqual([ran.code !== 0, ran.stdout], [true, ""]);
  }
});

/** One call of a tool, where a person answers with these keys; and which keys could be answered
 * with. */
async function answered(
  t: TestContext,
  name: string,
  args: object,
  keys: string[],
  setup: Setup = {},
) {
  const offered: string[] = [];
  const answer = async (_: string, all = "") => {
    offered.push(all);
    return keys.shift() ?? "";
  };
  const it = await harness({ own: true, files: { "a.txt": "1\n" }, answer, ...setup }, t);
  it.core.edit = async (text) => text.replace("1", "2");
  return { it, offered, result: await it.call(name, args) };
}

test("Where there is no text to edit, e is not offered", async (t) => {
  const { offered, result, it } = await answered(t, "delete_file", { path: "a.txt" }, ["e"]);
  deepEqual(offered, ["ynA?"]);
  ok(result.refused);
  equal(it.read("a.txt"), "1\n", "e deleted it");
});

test("A yes for always is one rule, however many files there are", async (t) => {
  const { it } = await answered(t, "move_file", { from: "a.txt", to: "b.txt" }, ["?", "A"]);
  match(it.questions[1]!, /^┠ A {2}always, in this session: edits in this project$/m);
  equal(it.core.rules.length, 1);
});

test("What the person edited is told without a ruler of equal signs", async (t) => {
  const { result } = await answered(t, "create_file", { path: "b.txt", content: "1\n" }, ["e"]);
  match(result.text, /^(?![\s\S]*={10})[\s\S]*-1\n\+2/);
});

test("Needs that cannot be understood are refused", async (t) => {
  for (const needs of [{ rnu: ["make"] }, { run: "make" }, { run: [5] }]) {
    const tool: Tool = {
      name: "careless",
      description: "-",
      needs: () => needs as any,
      run: () => "ran",
    };
    const { result } = await answered(t, "careless", {}, ["y"], {
      plugins: [(zz) => zz.tool(tool)],
    });
    ok(result.failed);
    match(result.text, /'careless'.*needs/);
  }
});

test("--judge - prints an object a line and nothing else, also with --json", async () => {
  const ran = await zz(asksBefore(place()), ["--judge", "-", "--json"], {
    input: '"ls"\n"make"\n',
  });
  const lines = ran.stdout.trimEnd().split("\n");
  deepEqual(lines.map((line) => JSON.parse(line).verdict), ["allow", "ask"]); // biome-ignore format: short
});

test("How long a command may take is in the settings, told to the model and kept to; 0 ms is refused", async () => {
  const run = async (shell: object, timeout_ms?: number, command = "sleep 20") => {
    const call = ["--call", "run_command", JSON.stringify({ command, timeout_ms }), "-A"];
    const ran = await withSettings(place(), { shell }, call);
    return ran.stdout + ran.stderr;
  };
  for (const [shell, timeout_ms, ends] of [
    [{ seconds: 0.3 }, undefined, "killed after 0.3 s: it did not end by itself. Give it a longer timeout_ms (up to 600000), or"],
    [{ maxSeconds: 0.3, seconds: 0.2 }, 9_000, "killed after 0.3 s: it did not end by itself. Let it do less;"],
    [{ maxSeconds: 0 }, 200, "killed after 0.2 s: it did not end by itself. Give it a longer timeout_ms, or let it do less;"],
  ] as const) // biome-ignore format: a table
    ok((await run(shell, timeout_ms)).includes(`[${ends}`), ends);
  match(await run({ maxSeconds: 0.3, seconds: 0 }, 9_000, "sleep 0.6"), /\[exit code 0 /);
  match(await run({}, 0), /^Cannot run it for .* ms\. Give a timeout_ms from 1 to 600000\.\n$/);
  for (const [shell, told] of [
    [{}, "120000 unless it says otherwise, at most 600000"],
    [{ seconds: 900 }, "900000 unless it says otherwise, at most 900000"],
    [{ seconds: 0 }, "no limit unless it says otherwise"],
  ] as const) {
    const tools = JSON.parse(
      (await withSettings(place(), { shell }, ["--tools", "--json"])).stdout,
    );
    const { schema } = tools.find(({ name }: Tool) => name === "run_command");
    equal(schema.properties.timeout_ms.description, told);
  }
});

test("/auto-apply does not say that edits ask while a flag allows them", async (t) => {
  const { tells } = await sit(t, { allow: { write: ["."] } });
  await tells(
    "/auto-apply",
    "/auto-apply is on by --allow-write=.; /permissions lists it. /auto-apply off turns it off.",
  );
  await tells("/auto-apply off", "Edits are still made without asking by --allow-write=.");
});

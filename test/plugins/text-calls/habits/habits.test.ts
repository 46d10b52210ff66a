// Calls in the shapes of other programs, through the turn loop: each is shown, judged and saved as zz's own, and does what it says.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Zz } from "../../../../kernel/contract.ts";
import type { Asked, Harness, Setup } from "../../../../sdk/testing.ts";
import { harness } from "../../../support/script.ts";
import "../../../support/lean.ts";
import { call, say } from "../../../support/fake/openai.ts";
import { needs } from "../../../support/needs.ts";
import { repl } from "../../../support/repl.ts";
import { place, ROOT } from "../../../support/run.ts";
import { KEY } from "../../../support/terminal.ts";
import { CALLS, FILES, READ, type Row } from "./calls.ts";

const TODOS: Asked[] = [
  ["TodoWrite", { todos: [step("content", "one", "completed"), step("content", "two", "in_progress")] }],
  ["todowrite", { todos: [{ content: "one", status: "completed", id: "1" }, step("content", "two", "pending")] }],
  ["update_plan", { explanation: "x", plan: [step("step", "one", "completed"), step("step", "two", "pending")] }],
  ["write_todos", { todos: [step("description", "one", "completed"), step("description", "two", "pending")] }],
  ["update_todo_list", { todos: "[x] one\n[ ] two" }],
  ["SetTodoList", { todos: [step("title", "one", "Done"), step("title", "two", "Pending")] }],
];

describe("Calls as other programs' models make them", () => {
  let opened: Promise<Harness> | undefined;
  let next: Asked[][] = [];
  const script = () => ({ calls: next.shift() ?? [], text: next.length ? "" : "done" });
  after(async () => (await opened)?.close());
  for (const [program, rows] of Map.groupBy(CALLS, ([program]) => program))
    test(`work here: ${program}`, async (t) => {
      const it = await (opened ??= harness({ own: true, files: FILES, script: [script], answer: "yes" }));
      for (const [, tool, given, expected] of rows)
        await t.test(`${tool} ${JSON.stringify(given)?.slice(0, 120)}`, async () => {
          for (const [name, content] of Object.entries({ "new.txt": null, ...FILES }))
            if (content === null) rmSync(join(it.root, name), { force: true });
            else if (it.read(name) !== content) it.write(name, content);
          const args = JSON.parse(JSON.stringify(given).replaceAll("ROOT", it.root));
          await it.command("clear"); // sending all rows before it again takes longer each time
          it.requests.length = 0;
          next = [READ.map((path) => ["read_file", { path }]), [[tool, args]]];
          const { results, calls } = await it.ask("go");
          await looksRight(expected, calls.slice(READ.length), results.slice(READ.length));
          for (const [name, content] of Object.entries(expected.files ?? {}))
            if (content === null) ok(!existsSync(join(it.root, name)), `${name} is there`);
            else equal(it.read(name), content, name);
        });
    });
});

describe("A call from another program", () => {
  const project = (calls: Asked[], more: Setup = {}) =>
    harness({ own: true, files: FILES, script: [{ calls }, "done"], answer: "yes", ...more });
  const EDIT: Asked = ["Edit", { file_path: "a.ts", old_string: "return 1;", new_string: "return 2;" }];
  const READ_A: Asked = ["Read", { file_path: "a.ts" }];

  test("is saved as zz's own, sent back so, and can be undone", async () => {
    await using it = await project([READ_A, EDIT]);
    await it.ask("go");
    const saved = it.chat.messages.flatMap((one) => (one.role === "assistant" ? (one.calls ?? []) : []));
    const own = { path: "a.ts", old_string: "return 1;", new_string: "return 2;" };
    const expected: Asked[] = [
      ["read_file", { path: "a.ts" }],
      ["edit_file", own],
    ];
    const named = (calls: { name: string; args: unknown }[]) => calls.map(({ name, args }) => [name, args]);
    deepEqual(named(saved), expected);
    const sent = it.requests.at(-1)!.messages.flatMap((one) => (one.role === "assistant" ? (one.calls ?? []) : []));
    deepEqual(named(sent), expected);
    equal(it.read("a.ts"), FILES["a.ts"]!.replace("return 1", "return 2"));
    await it.command("/undo");
    equal(it.read("a.ts"), FILES["a.ts"]);
  });

  test("is never advertised", async () => {
    await using it = await project([]);
    await it.ask("go");
    const { tools, system } = it.requests[0]!;
    const names = /MultiEdit|TodoWrite|str_replace_editor|apply_diff|run_terminal|search_file_content/;
    ok(!names.test(JSON.stringify(tools) + system));
  });

  test("is judged as zz's own", async () => {
    await using it = await project([["Bash", { command: "touch x", cwd: "src" }]], { deny: { run: ["touch"] } });
    const { results } = await it.ask("go");
    match(results[0]!.text, /denied|forbid/i);
    ok(!existsSync(join(it.root, "src", "x")));
  });

  needs("bwrap")("that only reads in a folder runs without a question", async () => {
    await using it = await project([["Bash", { command: "ls; cat b.ts", cwd: "src" }]], { answer: "no" });
    const { results } = await it.ask("go");
    match(results[0]!.text, /needle/);
    deepEqual(it.questions, []);
  });

  test("that reads several files gives each a result of its own", async () => {
    await using it = await project([["read_many_files", { paths: ["a.ts", "my file.txt"] }], READ_A]);
    await it.ask("go");
    const ids = it.chat.messages.flatMap((one) => (one.role === "tool" ? one.id : []));
    equal(ids.length, 3);
    equal(new Set(ids).size, 3);
  });

  test("cannot edit a notebook that was not read", async () => {
    await using it = await project([["NotebookEdit", { notebook_path: "n.ipynb", cell_id: "c1", new_source: "y" }]]);
    const { results } = await it.ask("go");
    match(results[0]!.text, /was not read/);
    equal(it.read("n.ipynb"), FILES["n.ipynb"]);
  });

  test("reaches nothing outside of the project", async () => {
    const calls: Asked[] = [
      ["NotebookEdit", { notebook_path: "/etc/passwd", cell_id: "c1", new_source: "y" }],
      ["insert_content", { path: "/etc/passwd", line: 0, content: "y" }],
      ["str_replace_editor", { command: "view", path: "/etc/ssl" }],
      ["read_many_files", { paths: ["/etc/*.conf", "/etc/passwd"] }],
    ];
    await using it = await project(calls, { answer: "no" });
    const { results } = await it.ask("go");
    for (const { text, failed } of results) ok(failed || /^No file matches/.test(text), text);
  });

  test("goes to the person's own tool of that name", async () => {
    const bash = (zz: Zz) =>
      zz.tool({ name: "bash", description: "x", params: { cmd: "string" }, run: ({ cmd }) => cmd });
    await using it = await project([["bash", { cmd: "mine" }]], { plugins: [bash] });
    const { results, calls } = await it.ask("go");
    deepEqual([calls[0]!.name, results[0]!.text], ["bash", "mine"]);
  });

  test("keeps the parameters of the tool that stands instead of zz's", async () => {
    const run = ({ command, cwd }: Record<string, string>) => `${command} in ${cwd}`;
    const params = { command: "string", cwd: "string?" };
    const mine = (zz: Zz) =>
      zz.tool({ name: "run_command", description: "x", params, run: run as any, override: true });
    await using it = await project([["Bash", { command: "ls", cwd: "src" }]], { plugins: [mine] });
    equal((await it.ask("go")).results[0]!.text, "ls in src");
  });

  test("finds a tool that can be called though this request does not describe it", async () => {
    const fewer = (zz: Zz) =>
      zz.wrap("request", (one, next) => next({ ...one, tools: one.tools.slice(0, 1) }), "first");
    await using it = await project([["Grep", { pattern: "needle", output_mode: "files_with_matches" }]], {
      plugins: [{ name: "a-few", default: fewer }],
    });
    const { calls, results } = await it.ask("go");
    deepEqual([calls[0]!.name, results[0]!.text], ["grep", "src/b.ts\nsrc/deep/c.py"]);
  });

  test("is refused where its tool is not offered", async () => {
    await using it = await project([EDIT], { tools: ["read_file"] });
    match((await it.ask("go")).results[0]!.text, /^Cannot call 'Edit'/);
  });

  for (const [tool, args] of TODOS)
    test(`sets the steps of a list where there is one: ${tool} ${JSON.stringify(args)}`, async () => {
      await using it = await project([[tool, args]], { plugins: [join(ROOT, "plugins/examples/todo.ts")] });
      const { results } = await it.ask("go");
      equal(results[0]!.text, "1. [x] one\n2. [ ] two");
    });
});

for (const cols of [80, 40])
  test(`At ${cols} columns a call from another program is shown as zz's own`, async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "a.ts"), FILES["a.ts"]!);
    const script = [
      call(["Read", { file_path: join(where.cwd, "a.ts"), offset: 1, limit: 2 }]),
      call(["shell", { command: ["bash", "-lc", "echo hello"], workdir: where.cwd }]),
      call(["Grep", { pattern: "one", output_mode: "count" }]),
      say("Done."),
    ];
    const zz = await repl(t, { where, cols, rows: 24, script });
    zz.type(`go${KEY.enter}`);
    const shown = await zz.sees("Done.");
    match(shown, /^✓ read_file a\.ts · lines 1–2 o/m);
    match(shown, /^✓ run_command echo he.* · 1 line/m);
    match(shown, /^✓ grep one/m);
    for (const row of shown.split("\n")) ok(row.length <= cols, row);
  });

type Got = { name: string; args: unknown }[];
async function looksRight(
  { to, says = "", not, failed }: Row[3],
  calls: Got,
  results: { text: string; failed?: boolean }[],
): Promise<void> {
  const text = results.map((one) => one.text).join("\n");
  const about = `${JSON.stringify(calls)}\n${text}`;
  deepEqual(calls.map(({ name }) => name).join(" "), to, about);
  equal(results.some((one) => one.failed) ? true : undefined, failed, about);
  if (typeof says === "string") ok(text.includes(says), about);
  else match(text, says, about);
  if (not) ok(!not.test(text), about);
}

function step(field: string, text: string, status: string) {
  return { [field]: text, status };
}

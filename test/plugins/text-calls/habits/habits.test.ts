// Calls in the shapes of other programs: each becomes a call of zz's own, which is shown, judged and saved as such.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Zz } from "../../../../kernel/contract.ts";
import { check } from "../../../../kernel/schema.ts";
import { ownCalls } from "../../../../plugins/text-calls/habits/calls.ts";
import type { Asked, Harness, Setup } from "../../../../sdk/testing.ts";
import { harness } from "../../../support/script.ts";
import "../../../support/lean.ts";
import { call, say } from "../../../support/fake/openai.ts";
import { needs } from "../../../support/needs.ts";
import { repl } from "../../../support/repl.ts";
import { place, ROOT } from "../../../support/run.ts";
import { KEY } from "../../../support/terminal.ts";
import { CALLS, FILES } from "./calls.ts";

const TODOS: Asked[] = [
  ["TodoWrite", { todos: [step("content", "one", "completed"), step("content", "two", "in_progress")] }],
  ["todowrite", { todos: [{ content: "one", status: "completed", id: "1" }, step("content", "two", "pending")] }],
  ["update_plan", { explanation: "x", plan: [step("step", "one", "completed"), step("step", "two", "pending")] }],
  ["write_todos", { todos: [step("description", "one", "completed"), step("description", "two", "pending")] }],
  ["update_todo_list", { todos: "[x] one\n[ ] two" }],
  ["SetTodoList", { todos: [step("title", "one", "Done"), step("title", "two", "Pending")] }],
];

const PATCH = "*** Begin Patch\n*** Update File: a.ts\n@@\n-  return 1;\n+  return 2;\n*** End Patch";

describe("Calls as other programs' models make them", () => {
  let opened: Promise<Harness> | undefined;
  const house = () => (opened ??= harness({ own: true, files: FILES }));
  after(async () => (await opened)?.close());
  /** The calls that this one becomes; of one that cannot run, why. */
  async function become(name: string, given: unknown): Promise<[name: string, args: any][]> {
    const { ctx, root } = await house();
    const args = JSON.parse(JSON.stringify(given).replaceAll("ROOT", root));
    const own = await ownCalls([{ id: "1", name, args }], ctx.about.tools, ctx);
    return own.map(({ name, args, broken }) => [
      name,
      broken?.replace(`Cannot call '${name}': `, "") ?? JSON.parse(JSON.stringify(args)),
    ]);
  }

  for (const [program, rows] of Map.groupBy(CALLS, ([program]) => program))
    test(`are translated: ${program}`, async () => {
      const { tools } = (await house()).ctx.about;
      for (const [, tool, given, ...own] of rows) {
        const about = `${tool} ${JSON.stringify(given)?.slice(0, 200)}`;
        const made = await become(tool, given);
        deepEqual(made.map(([name, args], i) => (own[i]?.[1] === undefined ? [name] : [name, args])), own, about); // biome-ignore format: short
        if (program === "hostile") continue;
        for (const [name, args] of made)
          if (typeof args !== "string")
            equal((await check(tools.find((one) => one.name === name)!.schema, args)).wrong, undefined, about);
      }
    });

  // biome-ignore format: one case a row.
  const CELLS: [args: object, cells: string[] | RegExp][] = [
    [{ notebook_path: "ROOT/n.ipynb", cell_id: "c1", new_source: "x = 2\ny = 3" }, ["# Title\ntext", "x = 2\ny = 3"]],
    [{ notebook_path: "n.ipynb", cell_id: "c1", cell_type: "markdown", new_source: "x" }, ["# Title\ntext", "x"]],
    [{ notebook_path: "n.ipynb", cell_id: "m1", edit_mode: "delete", new_source: "" }, ["x = 1"]],
    [{ notebook_path: "n.ipynb", cell_id: "cell-1", edit_mode: "delete", new_source: "" }, ["# Title\ntext"]],
    [{ notebook_path: "n.ipynb", cell_number: 0, edit_mode: "insert", cell_type: "code", new_source: "z" }, ["z", "# Title\ntext", "x = 1"]],
    [{ notebook_path: "n.ipynb", cell_id: "m1", edit_mode: "insert", new_source: "z" }, ["# Title\ntext", "z", "x = 1"]],
    [{ notebook_path: "n.ipynb", cell_id: "zz", new_source: "z" }, /no cell 'zz'; it has 2/],
    [{ notebook_path: "n.ipynb", cell_id: "c1", edit_mode: "move", new_source: "z" }, /edit_mode must be/],
    [{ notebook_path: "a.ts", cell_id: "x", new_source: "y" }, /'a\.ts' is not a notebook/],
  ];
  for (const [given, cells] of CELLS)
    test(`edit the cells of a notebook: ${JSON.stringify(given)}`, async () => {
      const { ctx } = await house();
      await ctx.call("read_file", { path: "n.ipynb" });
      const [[name, args] = ["", ""]] = await become("NotebookEdit", given);
      equal(name, "edit_file");
      if (cells instanceof RegExp) return match(args, cells);
      const edited = JSON.parse(FILES["n.ipynb"]!.replace(args.old_string, () => args.new_string));
      deepEqual(edited.cells.map(({ source }: any) => source.join("")), cells); // biome-ignore format: short
      for (const { cell_type, outputs } of edited.cells) equal(Boolean(outputs), cell_type === "code");
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

  test("sets the steps of a list where there is one", async () => {
    await using it = await project(TODOS, { plugins: [join(ROOT, "plugins/examples/todo.ts")] });
    const { results } = await it.ask("go");
    deepEqual(results.map(({ text }) => text), TODOS.map(() => "1. [x] one\n2. [ ] two")); // biome-ignore format: short
  });

  test("does what it says, whatever the tool", async () => {
    const calls: [tool: string, args: object, says: RegExp][] = [
      ["Grep", { pattern: "return 1;", output_mode: "content", "-A": 1 }, /^a\.ts:2: {3}return 1;\na\.ts-3- }$/],
      ["Grep", { pattern: "needle", type: "py", output_mode: "files_with_matches" }, /^src\/deep\/c\.py$/],
      ["LS", { path: "src" }, /^b\.ts\ndeep\/ \(1 file\)$/],
      ["shell", { command: ["printf", "%s", 'it\'s $HOME `x` "q"'], workdir: "src" }, /^it's \$HOME `x` "q"$/m],
      ["Bash", { command: "echo hello", run_in_background: true }, /hello[\s\S]*\[Ignored: run_in_background\./],
      ["NotebookEdit", { notebook_path: "n.ipynb", cell_id: "c1", new_source: "x = 2" }, /^Edited n\.ipynb/],
      ["insert_content", { path: "my file.txt", line: 2, content: "new" }, /my file\.txt/],
      [
        "replace_in_file",
        {
          path: "src/b.ts",
          diff: "<<<<<<< SEARCH\nexport const needle = one();\n=======\nexport const needle = 2;\n>>>>>>> REPLACE",
        },
        /^Edited src\/b\.ts/,
      ],
      ["shell", { command: ["apply_patch", PATCH] }, /^Applied: edited a\.ts/],
    ];
    const read: Asked[] = Object.keys(FILES).map((path) => ["Read", { path }]);
    const steps = [{ calls: read }, ...calls.map(([tool, args]) => ({ calls: [[tool, args] as Asked] })), "done"];
    await using it = await harness({ own: true, files: FILES, answer: "yes", script: steps });
    const { results } = await it.ask("go");
    for (const [i, [, , says]] of calls.entries()) match(results[read.length + i]!.text, says);
    equal(it.read("my file.txt"), "alpha\nnew\nbeta\ngamma\n");
  });
});

test("At 40 columns a call from another program is shown as zz's own", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "a.ts"), FILES["a.ts"]!);
  const script = [
    call(["Read", { file_path: join(where.cwd, "a.ts"), offset: 1, limit: 2 }]),
    call(["shell", { command: ["bash", "-lc", "echo hello"], workdir: where.cwd }]),
    call(["Grep", { pattern: "one", output_mode: "count" }]),
    say("Done."),
  ];
  const zz = await repl(t, { where, cols: 40, rows: 24, script });
  zz.type(`go${KEY.enter}`);
  const shown = await zz.sees("Done.");
  match(shown, /^✓ read_file a\.ts · lines 1–2 o/m);
  match(shown, /^✓ run_command echo he.* · 1 line/m);
  match(shown, /^✓ grep one/m);
  for (const row of shown.split("\n")) ok(row.length <= 40, row);
});

function step(field: string, text: string, status: string) {
  return { [field]: text, status };
}

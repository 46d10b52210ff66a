// Calls in the shapes of other programs: each becomes a call of zz's own, which is shown, judged
// and saved as such.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { after, describe, test } from "node:test";
import type { Zz } from "../../../../kernel/contract.ts";
import { checkValue } from "../../../../kernel/text/json-schema.ts";
import type { Asked, Harness, Setup } from "../../../../sdk/testing.ts";
import { harness } from "../../../../test/support/script.ts";
import { ownCalls } from "../../habits/calls.ts";
import "../../../../test/support/lean.ts";
import { ROOT } from "../../../../test/support/run.ts";
import { CALLS, FILES } from "./calls.ts";

const TODOS: Asked[] = [
  [
    "TodoWrite",
    { todos: [step("content", "one", "completed"), step("content", "two", "in_progress")] },
  ],
  [
    "update_plan",
    { explanation: "x", plan: [step("step", "one", "completed"), step("step", "two", "pending")] },
  ],
  ["update_todo_list", { todos: "[x] one\n[ ] two" }],
  ["SetTodoList", { todos: [step("title", "one", "Done"), step("title", "two", "Pending")] }],
];

describe("Calls as other programs' models make them", () => {
  let opened: Promise<Harness> | undefined;
  const house = () => (opened ??= harness({ own: true, files: FILES }));
  after(async () => (await opened)?.close());
  /** The calls that this one becomes; of one that cannot run, why. */
  async function become(name: string, given: unknown): Promise<[name: string, args: any][]> {
    const { ctx, root } = await house();
    const args = JSON.parse(JSON.stringify(given).replaceAll("ROOT", root));
    const own = await ownCalls({ id: "1", name, args }, ctx.about.tools, ctx);
    const why = (broken: string, name: string) => broken.replace(`Cannot call '${name}': `, "");
    return own.map(({ name, args, broken }) => [
      name,
      broken ? why(broken, name) : JSON.parse(JSON.stringify(args)),
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
            equal(
              (await checkValue(tools.find((one) => one.name === name)!.schema, args)).wrong,
              undefined,
              about,
            );
      }
    });

  // biome-ignore format: one case a row.
  const CELLS: [args: { notebook_path: string; [more: string]: unknown }, cells: string[] | RegExp][] = [
    [{ notebook_path: "ROOT/n.ipynb", cell_id: "c1", new_source: "x = 2\ny = 3" }, ["# Title\ntext", "x = 2\ny = 3"]],
    [{ notebook_path: "n.ipynb", cell_id: "c1", cell_type: "markdown", new_source: "x" }, ["# Title\ntext", "x"]],
    [{ notebook_path: "n.ipynb", cell_id: "m1", edit_mode: "delete", new_source: "" }, ["x = 1"]],
    [{ notebook_path: "n.ipynb", cell_id: "cell-1", edit_mode: "delete", new_source: "" }, ["# Title\ntext"]],
    [{ notebook_path: "n.ipynb", cell_number: 0, edit_mode: "insert", cell_type: "code", new_source: "z" }, ["z", "# Title\ntext", "x = 1"]],
    [{ notebook_path: "n.ipynb", cell_id: "m1", edit_mode: "insert", new_source: "z" }, ["# Title\ntext", "z", "x = 1"]],
    [{ notebook_path: "narrow.ipynb", cell_id: "c1", new_source: "x = 2" }, ["# Title\ntext", "x = 2"]],
    [{ notebook_path: "n.ipynb", cell_id: "zz", new_source: "z" }, /no cell 'zz'; it has 2/],
    [{ notebook_path: "n.ipynb", cell_id: "c1", edit_mode: "move", new_source: "z" }, /edit_mode must be/],
    [{ notebook_path: "a.ts", cell_id: "x", new_source: "y" }, /'a\.ts' is not a notebook/],
  ];
  for (const [given, cells] of CELLS)
    test(`edit the cells of a notebook: ${JSON.stringify(given)}`, async () => {
      const { ctx } = await house();
      const path = basename(given.notebook_path);
      await ctx.call("read_file", { path });
      const [[name, args] = ["", ""]] = await become("NotebookEdit", given);
      equal(name, "edit_file");
      if (cells instanceof RegExp) return match(args, cells);
      const edited = JSON.parse(FILES[path]!.replace(args.old_string, () => args.new_string));
      deepEqual(edited.cells.map(({ source }: any) => source.join("")), cells); // biome-ignore format: short
      for (const { cell_type, outputs } of edited.cells)
        equal(Boolean(outputs), cell_type === "code");
    });
});

describe("A call from another program", () => {
  const project = (calls: Asked[], more: Setup = {}) =>
    harness({ own: true, files: FILES, script: [{ calls }, "done"], answer: "yes", ...more });
  const EDIT: Asked = [
    "Edit",
    { file_path: "a.ts", old_string: "return 1;", new_string: "return 2;" },
  ];
  const READ_A: Asked = ["Read", { file_path: "a.ts" }];

  test("is saved as zz's own, sent back so, and can be undone", async () => {
    await using it = await project([READ_A, EDIT]);
    await it.ask("go");
    const own = { path: "a.ts", old_string: "return 1;", new_string: "return 2;" };
    for (const messages of [it.chat.messages, it.requests.at(-1)!.messages]) {
      const calls = messages.flatMap((one) => (one.role === "assistant" ? (one.calls ?? []) : []));
      const [read, edit] = calls.map(({ name, args }) => [name, args]);
      deepEqual(
        [read, edit, calls.length],
        [["read_file", { path: "a.ts" }], ["edit_file", own], 2],
      );
    }
    equal(it.read("a.ts"), FILES["a.ts"]!.replace("return 1", "return 2"));
    await it.command("/undo");
    equal(it.read("a.ts"), FILES["a.ts"]);
  });

  test("is never advertised", async () => {
    await using it = await project([]);
    await it.ask("go");
    const { tools, system } = it.requests[0]!;
    const names =
      /MultiEdit|TodoWrite|str_replace_editor|apply_diff|run_terminal|search_file_content/;
    ok(!names.test(JSON.stringify(tools) + system));
  });

  test("is judged as zz's own", async () => {
    await using it = await project([["Bash", { command: "touch x", cwd: "src" }]], {
      deny: { run: ["touch"] },
    });
    const { results } = await it.ask("go");
    match(results[0]!.text, /denied|forbid/i);
    ok(!existsSync(join(it.root, "src", "x")));
  });

  test("that reads several files gives each a result of its own", async () => {
    await using it = await project([
      ["read_many_files", { paths: ["a.ts", "my file.txt"] }],
      READ_A,
    ]);
    await it.ask("go");
    const ids = it.chat.messages.flatMap((one) => (one.role === "tool" ? one.id : []));
    deepEqual([ids.length, new Set(ids).size], [3, 3]);
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
      zz.wrap("request", (it, next) => next({ ...it, tools: it.tools.slice(0, 1) }), "first");
    const plugins = [{ name: "a-few", default: fewer }];
    await using it = await project(
      [["Grep", { pattern: "needle", output_mode: "files_with_matches" }]],
      { plugins },
    );
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
});

function step(field: string, text: string, status: string) {
  return { [field]: text, status };
}

// What the model was shown of a file, in whatever way the conversation and the file go on.
import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Ctx, Message, Zz } from "../../kernel/contract.ts";
import { type Asked, harness, type Step } from "../../sdk/testing.ts";
import { needs } from "../support/needs.ts";
import { random, runs, SEED } from "../support/runs.ts";

const FILES = ["a.ts", "b.ts"];

/** A project whose model makes the call that it is told to, and then says "done". */
async function calling(t: TestContext, files: Record<string, string>, run: true | string[] = true) {
  const model: { call: Asked } = { call: ["list_dir", {}] };
  const script: Step[] = [
    ({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : { call: model.call }),
  ];
  const it = await harness({ own: true, allow: { write: true, run }, files, script }, t);
  const does = async (tool: string, args: object) => {
    model.call = [tool, args];
    return (await it.ask("go")).results[0]!;
  };
  return { it, model, does };
}

test("edit_file changes a file only as the model was last shown it in the messages that it has, and always then", async (t) => {
  const { it, model, does } = await calling(t, { "a.ts": "0\n", "b.ts": "0\n" });
  const shown = new Map<string, { message: Message; text: string }[]>(
    FILES.map((file) => [file, []]),
  );
  const keyOf = (message?: Message) =>
    JSON.stringify([message?.role, message?.text, (message as any)?.calls]);
  const isHere = (message?: Message) =>
    it.chat.messages.some((one) => keyOf(one) === keyOf(message));
  const note = (file: string, role = "assistant"): void => {
    const isShowing = (one: Message) =>
      one.role === role && (role === "user" ? !("aside" in one) : "calls" in one);
    const message = it.chat.messages.findLast(isShowing)!;
    shown.get(file)!.push({ message, text: it.read(file)! });
  };
  const next = random(SEED);
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const done: string[] = [];
  let version = 0;
  const DEEDS: Record<string, (file: string) => unknown> = {
    read: async (file) => (await does("read_file", { path: file })).failed || note(file),
    edit: async (file) => {
      const text = it.read(file)!;
      const known = shown.get(file)!.findLast(({ message }) => isHere(message));
      const said = await does("edit_file", {
        path: file,
        old_string: text,
        new_string: `${++version}\n`,
      });
      if (!said.failed)
        equal(
          known?.text,
          text,
          `changed what the model does not know: ${done.slice(-12).join(", ")}`,
        );
      if (said.failed)
        equal(known?.text === text, false, `${said.text} ${done.slice(-12).join(", ")}`);
      if (!said.failed) note(file);
    },
    mention: async (file) => {
      model.call = ["list_dir", {}];
      await it.ask(`${++version}: look at @${file}`);
      note(file, "user");
    },
    write: (file) => it.write(file, `${++version}\n`),
    "write as it was": (file) => it.write(file, one(shown.get(file)!)?.text ?? "0\n"),
    undo: () => it.command("/undo"),
    redo: () => it.command("/redo"),
    back: () => it.chat.messages.length && it.command("/back"),
    jump: () => {
      const { entries } = it.chat.tree();
      const own = entries.filter(({ message }) => message?.role === "user" && !message.aside);
      return own.length && it.command(`/back #${one(own).id}`);
    },
    retry: () => {
      model.call = ["list_dir", {}];
      return it.chat.messages.length && it.command("/retry");
    },
    clear: () => it.command("/clear"),
    new: () => it.command("/new"),
    restart: () => it.restart(),
  };
  const often = `read read read edit edit edit edit write undo back jump`.split(" ");
  for (let round = 0; round < runs(60, 1_000); round++) {
    const [deed, file] = [one([...often, ...Object.keys(DEEDS)]), one(FILES)];
    done.push(`${deed} ${file}`);
    await DEEDS[deed]!(file);
    if (!existsSync(join(it.root, file))) it.write(file, `${++version}\n`);
  }
});

needs("bwrap")(
  "what a command changed, the model has not seen: only the lines around it are known",
  async (t) => {
    const { it, does } = await calling(t, { "a.ts": "1\n2\n3\n", "b.ts": "1\n" }, []); // on a copy
    const edits = async (path: string, line: number) =>
      (await does("edit_lines", { path, start: line, end: line, content: "x" })).text;
    await does("read_file", { path: "a.ts" });
    await does("run_command", {
      command: "sed -i s/[23]/x/ a.ts; echo 2 >> b.ts; seq 3 > made.txt",
    });
    match(await edits("made.txt", 1), /not read/);
    match(await edits("b.ts", 2), /not read/);
    for (const line of [2, 3]) match(await edits("a.ts", line), /not (read|shown)/);
    await edits("a.ts", 1);
    equal(it.read("a.ts"), "x\nx\nx\n");
  },
);

/** What happens between reading a file, changing it and changing it again, and whether the model
 * still knows it as it is then. */
const MOVES: [what: string, moves: string[], isKnown: boolean][] = [
  ["undo and retry", ["edit", "/undo", "/retry"], true],
  ["undo and back", ["edit", "/undo", "/back"], true],
  ["back without undo", ["edit", "/back"], false],
  ["back, then undo", ["edit", "/back", "/undo"], true],
  ["undo and redo", ["edit", "/undo", "/redo"], true],
  ["undo, redo and retry", ["edit", "/undo", "/redo", "/retry"], false],
  ["another process", ["restart"], true],
  ["an edit, then another process", ["edit", "restart"], true],
  ["another process after undo and retry", ["edit", "/undo", "/retry", "restart"], true],
  ["undo in another process", ["edit", "restart", "/undo", "/back"], true],
  ["a fork", ["edit", "/fork"], true],
  ["a fork after undo and retry", ["edit", "/undo", "/retry", "/fork"], true],
  ["a compaction, then another process", ["compact", "restart"], true],
  ["a new conversation", ["/new"], false],
  ["back behind the reading", ["/back"], false],
];
for (const [what, moves, isKnown] of MOVES)
  test(`after ${what} an edit is ${isKnown ? "made" : "refused"}`, async (t) => {
    const { it, model, does } = await calling(t, { "a.ts": "one\n" });
    await does("read_file", { path: "a.ts" });
    for (const move of moves) {
      if (move === "restart") await it.restart();
      else if (move === "compact") it.chat.compact({ upTo: 2, summary: "a.ts was read." });
      else if (move === "edit")
        await does("edit_file", { path: "a.ts", old_string: "one", new_string: "two" });
      else {
        model.call = ["list_dir", {}];
        await it.command(move);
      }
    }
    const text = it.read("a.ts")!;
    const said = await does("edit_file", {
      path: "a.ts",
      old_string: text.trim(),
      new_string: "three",
    });
    equal(said.failed ?? false, !isKnown, said.text);
    equal(it.read("a.ts"), isKnown ? "three\n" : text);
  });

test("a file that a plugin's tool read whole counts as shown", async (t) => {
  const needs = () => ({ read: ["a.ts"] });
  const run = async (_: unknown, { files }: Ctx) => (await files.read("a.ts")).text;
  const plugin = (zz: Zz) => zz.tool({ name: "peek", description: "d", needs, run });
  const edit: Step = { call: ["edit_file", { path: "a.ts", old_string: "0", new_string: "1" }] };
  const script = [edit, "", { call: ["peek"] } as Step, "", edit, ""];
  const it = await harness(
    { own: true, allow: { write: true }, files: { "a.ts": "0\n" }, plugins: [plugin], script },
    t,
  );
  const failed: unknown[] = [];
  for (const _ of [1, 2, 3]) failed.push((await it.ask("go")).results[0]!.failed ?? false);
  deepEqual(failed, [true, false, false]);
});

// What the model was shown of a file, in whatever way the conversation and the file go on.
import { equal, match } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Message } from "../../kernel/contract.ts";
import { type Asked, harness } from "../../sdk/testing.ts";
import { needs } from "../support/needs.ts";
import { random, runs, SEED } from "../support/runs.ts";

const FILES = ["a.ts", "b.ts"];
const LEAVING = new Set(["back", "jump", "retry", "clear", "new", "restart"]); // then a mention counts no more

test("edit_file changes a file only as the model was last shown it in the messages that it has, and always then", async (t) => {
  let call: Asked;
  const it = await harness(
    {
      ...{ own: true, allow: { write: true, run: true }, files: { "a.ts": "0\n", "b.ts": "0\n" } },
      script: [({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : { call })],
    },
    t,
  );
  const shown = new Map<string, { message: Message; text: string }[]>(FILES.map((file) => [file, []]));
  const does = async (tool: string, args: object): Promise<{ text: string; failed?: boolean | undefined }> => {
    call = [tool, args];
    return (await it.ask("go")).results[0]!;
  };
  const isHere = (message?: Message) =>
    it.chat.messages.some((one) => one === message || (one.role === "user" && one.text === message?.text));
  const lost = new Set<string>(); // once the conversation has gone back behind it, it is read again
  const note = (file: string, role = "assistant"): void => {
    const isShowing = (one: Message) => one.role === role && (role === "user" ? !("aside" in one) : "calls" in one);
    const message = it.chat.messages.findLast(isShowing)!;
    shown.get(file)!.push({ message, text: it.read(file)! });
    lost.delete(file);
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
      const said = await does("edit_file", { path: file, old_string: text, new_string: `${++version}\n` });
      if (!said.failed) equal(known?.text, text, `changed what the model does not know: ${done.slice(-12).join(", ")}`);
      if (said.failed && !lost.has(file))
        equal(known?.text === text, false, `${said.text} ${done.slice(-12).join(", ")}`);
      if (!said.failed) note(file);
    },
    mention: async (file) => {
      call = ["list_dir", {}];
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
      call = ["list_dir", {}];
      return it.chat.messages.length && it.command("/retry");
    },
    clear: () => it.command("/clear"),
    new: () => it.command("/new"),
    restart: () => it.restart(),
  };
  const often = ["read", "read", "read", "edit", "edit", "edit", "edit", "write", "undo", "back", "jump"];
  for (let round = 0; round < runs(60, 1_000); round++) {
    const [deed, file] = [one([...often, ...Object.keys(DEEDS)]), one(FILES)];
    done.push(`${deed} ${file}`);
    await DEEDS[deed]!(file);
    for (const file of FILES) {
      const last = shown.get(file)!.at(-1)?.message;
      if (!isHere(last) || (last?.role === "user" && LEAVING.has(deed))) lost.add(file);
    }
    if (!existsSync(join(it.root, file))) it.write(file, `${++version}\n`);
  }
});

needs("bwrap")(
  "what a command changed on a copy, the model has not seen: only the lines around it are known",
  async (t) => {
    let call: Asked = ["read_file", { path: "a.ts" }];
    const it = await harness(
      {
        ...{ own: true, allow: { write: true }, files: { "a.ts": "1\n2\n3\n", "b.ts": "1\n" } },
        script: [({ messages }) => (messages.at(-1)!.role === "tool" ? "done" : { call })],
      },
      t,
    );
    const does = async (tool: string, args: object): Promise<string> => {
      call = [tool, args];
      const { text, failed } = (await it.ask("go")).results[0]!;
      return failed ? text : "done";
    };
    const edits = (path: string, line: number) => does("edit_lines", { path, start: line, end: line, content: "x" });
    await it.ask("go");
    equal(await does("run_command", { command: "sed -i s/2/two/ a.ts; echo 2 >> b.ts; seq 3 > made.txt" }), "done");
    equal(it.read("made.txt"), "1\n2\n3\n");
    match(await edits("made.txt", 1), /not read/);
    match(await edits("b.ts", 2), /not read/);
    match(await edits("a.ts", 2), /not (read|shown)/);
    equal(await edits("a.ts", 3), "done");
    equal(it.read("a.ts"), "1\ntwo\nx\n");
    it.write("a.ts", "1\ntwo\nx\n4\n");
    equal(await does("run_command", { command: "sed -i s/4/four/ a.ts" }), "done");
    match(await edits("a.ts", 3), /changed since it was read/);
  },
);

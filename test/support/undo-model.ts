// Random lives of a project (changes by zz, changes by others, undo, redo, restarts), compared with a plain model.
import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { openChat } from "../../kernel/chat.ts";
import { context } from "../../kernel/context.ts";
import type { LiveChat } from "../../kernel/core.ts";
import { openSession } from "../../kernel/sessions.ts";
import { createZz } from "../../zz.ts";
import { fc } from "./property.ts";
import { place } from "./run.ts";

type World = Map<string, string>; // by path; bytes as latin1
type Done = { path: string; before: string | undefined; after: string | undefined; undone: boolean; group: number };

const paths = fc.constantFrom("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.bin", "[...slug]/e f.txt", "-n.txt");
const contents = fc
  .oneof(
    fc.constantFrom(
      "",
      "x",
      "one\ntwo\nthree\n",
      "one\r\ntwo\r\n",
      "\ufeffbom\n",
      "no newline",
      "$& $1 $$\n",
      "\xff\xfe\0binary",
    ),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.array(fc.constantFrom("alpha", "beta", "", "  gamma"), { maxLength: 12 }).map((lines) => lines.join("\n")),
  )
  .map((text) => latin(text));
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), path: paths, content: contents }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("edit" as const),
        path: paths,
        content: fc.string({ maxLength: 4 }),
        at: fc.nat(30),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), path: paths }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), path: paths, to: paths }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("outside" as const), path: paths, content: fc.option(contents) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("undo" as const),
        what: fc.oneof(fc.constantFrom("1", "1", "2", "turn"), paths),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("redo" as const), what: fc.constantFrom("1", "2") }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("turn" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  ),
  { minLength: 1, maxLength: 14 },
);

/** All that is on the disk. */
function worldAt(root: string): World {
  const world: World = new Map();
  for (const name of fs.readdirSync(root, { recursive: true, encoding: "utf8" }))
    if (fs.statSync(join(root, name)).isFile()) world.set(name, fs.readFileSync(join(root, name), "latin1"));
  return new Map([...world].sort());
}

/** Runs that many lives; throws at the first that differs from the model. */
export async function livesHold(runs: number): Promise<{ undone: number; refused: number }> {
  const { home, cwd } = place();
  const core = await createZz({ home, root: cwd, allow: { write: true, read: true } });
  const root = core.options.root;
  const counts = { undone: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(steps, async (life) => {
      for (const name of fs.readdirSync(root)) fs.rmSync(join(root, name), { recursive: true });
      let chat = openChat(core, "script/m");
      try {
        await live(
          life,
          () => chat,
          (next) => (chat = next),
        );
      } finally {
        chat.session?.close();
        if (chat.id) fs.rmSync(join(home, "sessions", `${chat.id}.jsonl`));
      }
    }),
    { numRuns: runs },
  );
  return counts;

  async function live(life: any[], chat: () => LiveChat, renew: (chat: LiveChat) => void): Promise<void> {
    const world: World = new Map();
    const log: Done[] = [];
    let redo: number[][] = []; // indexes into the log
    let groups = 0;
    const turns = new Map<number, number>(); // by group
    const files = () => context(core, chat()).files;
    const check = (what: string) => deepEqual(worldAt(root), new Map([...world].sort()), what);

    for (const step of life) {
      const { path } = step;
      const before = world.get(path);
      if (step.do === "write")
        await change(() => files().write(path, Buffer.from(step.content, "latin1")), [[path, step.content]]);
      else if (step.do === "edit" && before !== undefined) {
        const after = before.slice(0, step.at) + step.content + before.slice(step.at + 1);
        await change(() => files().write(path, Buffer.from(after, "latin1")), [[path, latin(after)]]);
      } else if (step.do === "remove" && before !== undefined)
        await change(() => files().remove(path), [[path, undefined]]);
      else if (step.do === "move" && before !== undefined && !world.has(step.to) && step.to !== path)
        await change(
          () => files().move(path, step.to),
          [
            [step.to, before],
            [path, undefined],
          ],
        );
      else if (step.do === "outside") {
        const file = join(root, path);
        fs.mkdirSync(join(file, ".."), { recursive: true });
        if (step.content === null) fs.rmSync(file, { force: true });
        else fs.writeFileSync(file, step.content, "latin1");
        if (step.content === null) world.delete(path);
        else world.set(path, latin(step.content));
      } else if (step.do === "undo") await travel("undo", step.what);
      else if (step.do === "redo") await travel("redo", step.what);
      else if (step.do === "turn") chat().turn++;
      else if (step.do === "restart" && chat().session) {
        const { id, turn } = chat();
        chat().session!.close();
        renew(
          openChat(
            core,
            "script/m",
            openSession(home, id!, () => {}),
          ),
        );
        chat().turn = turn;
      }
      check(JSON.stringify(step));
    }
    while (log.some(({ undone }) => !undone)) if (!(await travel("undo", "1"))) return; // refused: an outside change is in the way
    if (!life.some((step) => step.do === "outside"))
      deepEqual(fs.readdirSync(root), [], "no file and no folder is left");

    async function change(act: () => Promise<void>, to: [string, string | undefined][]): Promise<void> {
      await act();
      const changed = to.filter(([path, after]) => world.get(path) !== after);
      if (!changed.length) return;
      turns.set(++groups, chat().turn);
      for (const [path, after] of changed) {
        log.push({ path, before: world.get(path), after, undone: false, group: groups });
        if (after === undefined) world.delete(path);
        else world.set(path, after);
      }
      redo = [];
    }

    async function travel(way: "undo" | "redo", what: string): Promise<boolean> {
      const batches = way === "undo" ? toUndo(what) : redo.slice(0, Number(what));
      const indexes = batches.flat();
      const order = way === "undo" ? indexes.toSorted((a, b) => b - a) : indexes.toSorted((a, b) => a - b);
      const next = new Map(world);
      let fits = true;
      for (const path of new Set(order.map((i) => log[i]!.path))) {
        let now = world.get(path);
        for (const i of order.filter((i) => log[i]!.path === path)) {
          const [from, to] = way === "undo" ? [log[i]!.after, log[i]!.before] : [log[i]!.before, log[i]!.after];
          fits &&= now === from || now === to;
          now = to;
        }
        if (now === undefined) next.delete(path);
        else next.set(path, now);
      }
      const { text, failed } = await files()[way](what);
      if (!indexes.length) {
        equal(text.startsWith("Nothing to"), true, text);
        return false;
      }
      equal(Boolean(failed), !fits, text);
      counts[fits ? "undone" : "refused"]++;
      if (fits) {
        world.clear();
        for (const [path, content] of next) world.set(path, content);
        for (const i of indexes) log[i]!.undone = way === "undo";
        if (way === "redo") redo = redo.slice(batches.length);
        else for (const batch of batches) redo.unshift(batch);
      }
      check(`${way} ${what}: ${text}`);
      return fits;
    }

    function toUndo(what: string): number[][] {
      const open = log.flatMap((one, i) => (one.undone ? [] : [i]));
      const last = open.at(-1);
      if (last === undefined) return [];
      if (what === "turn") return [open.filter((i) => turns.get(log[i]!.group) === turns.get(log[last]!.group))];
      if (!/^\d+$/.test(what)) {
        const own = open.findLast((i) => log[i]!.path === what);
        return own === undefined ? [] : [[own]];
      }
      const all = [...new Set(open.map((i) => log[i]!.group))].slice(-Number(what)).reverse();
      return all.map((group) => open.filter((i) => log[i]!.group === group));
    }
  }
}

const latin = (text: string): string => Buffer.from(text, "latin1").toString("latin1");

// Random lives of a project (changes by zz, changes by others, undo, redo, restarts), compared with
// a plain model.
import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { openChat } from "../../kernel/conversation/chat.ts";
import { openSession } from "../../kernel/conversation/session-files.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { createZz } from "../../zz.ts";
import { fc } from "./property.ts";
import { place } from "./run.ts";

type World = Map<string, string>; // by path; bytes as latin1
type Done = {
  path: string;
  before: string | undefined;
  after: string | undefined;
  undone: boolean;
  group: number;
};

const paths = fc.constantFrom(
  "a.txt",
  "b.txt",
  "sub/c.txt",
  "sub/deep/d.bin",
  "[...slug]/e f.txt",
  "-n.txt",
);
const SPECIAL = [
  "",
  "x",
  "1\n2\n3\n",
  "one\r\ntwo\r\n",
  "\ufeffbom\n",
  "no newline",
  "$& $1 $$\n",
  "\xff\xfe\0binary",
];
const contents = fc
  .oneof(fc.constantFrom(...SPECIAL), fc.string({ unit: "binary", maxLength: 40 }))
  .map(latin);
const step = <Fields extends object>(
  weight: number,
  name: string,
  fields: { [K in keyof Fields]: fc.Arbitrary<Fields[K]> },
) => ({ weight, arbitrary: fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<any> });
const steps = fc.array(
  fc.oneof(
    step(8, "write", { path: paths, content: contents }),
    step(2, "remove", { path: paths }),
    step(2, "move", { path: paths, to: paths }),
    step(2, "outside", { path: paths, content: fc.option(contents) }),
    step(5, "undo", { what: fc.oneof(fc.constantFrom("1", "1", "2", "turn"), paths) }),
    step(3, "redo", { what: fc.constantFrom("1", "2") }),
    step(1, "turn", {}),
    step(1, "restart", {}),
  ),
  { minLength: 1, maxLength: 14 },
);

/** All that is on the disk. */
function worldAt(root: string): World {
  const world: World = new Map();
  for (const name of fs.readdirSync(root, { recursive: true, encoding: "utf8" }))
    if (fs.statSync(join(root, name)).isFile())
      world.set(name, fs.readFileSync(join(root, name), "latin1"));
  return new Map([...world].sort());
}

/** Runs that many lives; throws at the first that differs from the model. Tells how many changes
 * were undone or redone. */
export async function livesHold(runs: number): Promise<number> {
  const { home, cwd } = place();
  const core = await createZz({ home, root: cwd, allow: { write: true, read: true } });
  const root = core.options.root;
  let travelled = 0;
  await fc.assert(fc.asyncProperty(steps, live), { numRuns: runs });
  return travelled;

  async function live(life: any[]): Promise<void> {
    for (const name of fs.readdirSync(root)) fs.rmSync(join(root, name), { recursive: true });
    let chat = openChat(core, "script/m");
    const world: World = new Map();
    const log: Done[] = [];
    let redo: number[][] = []; // indexes into the log
    let groups = 0;
    const turns = new Map<number, number>(); // by group
    const files = () => createCtx(core, chat).files;
    const check = (what: string) => deepEqual(worldAt(root), new Map([...world].sort()), what);

    for (const step of life) {
      const { path, to, content } = step;
      const before = world.get(path);
      if (step.do === "write")
        await change(() => files().write(path, Buffer.from(content, "latin1")), {
          [path]: content,
        });
      else if (step.do === "remove" && before !== undefined)
        await change(() => files().remove(path), { [path]: undefined });
      else if (step.do === "move" && before !== undefined && !world.has(to))
        await change(() => files().move(path, to), { [to]: before, [path]: undefined });
      else if (step.do === "outside") {
        const file = join(root, path);
        fs.mkdirSync(join(file, ".."), { recursive: true });
        if (content === null) fs.rmSync(file, { force: true });
        else fs.writeFileSync(file, content, "latin1");
        put(world, path, content ?? undefined);
      } else if (step.do === "undo" || step.do === "redo") await travel(step.do, step.what);
      else if (step.do === "turn") chat.turn++;
      else if (step.do === "restart" && chat.session) {
        const { id, turn } = chat;
        chat.session.close();
        const session = openSession(home, id!, () => {});
        chat = Object.assign(openChat(core, "script/m", session), { turn });
      }
      check(JSON.stringify(step));
    }
    let left = true;
    // an outside change may be in the way
    while (left && log.some(({ undone }) => !undone)) left = await travel("undo", "1");
    if (!life.some((step) => step.do === "outside"))
      deepEqual(fs.readdirSync(root), [], "no file and no folder is left");
    chat.session?.close();

    async function change(act: () => Promise<void>, to: Record<string, string | undefined>) {
      await act();
      const changed = Object.entries(to).filter(([path, after]) => world.get(path) !== after);
      if (!changed.length) return;
      turns.set(++groups, chat.turn);
      for (const [path, after] of changed) {
        log.push({ path, before: world.get(path), after, undone: false, group: groups });
        put(world, path, after);
      }
      redo = [];
    }

    async function travel(way: "undo" | "redo", what: string): Promise<boolean> {
      const batches = way === "undo" ? toUndo(what) : redo.slice(0, Number(what));
      const indexes = batches.flat();
      const order =
        way === "undo" ? indexes.toSorted((a, b) => b - a) : indexes.toSorted((a, b) => a - b);
      const next = new Map(world);
      let fits = true;
      for (const path of new Set(order.map((i) => log[i]!.path))) {
        let now = world.get(path);
        for (const i of order.filter((i) => log[i]!.path === path)) {
          const [from, to] =
            way === "undo" ? [log[i]!.after, log[i]!.before] : [log[i]!.before, log[i]!.after];
          fits &&= now === from || now === to;
          now = to;
        }
        put(next, path, now);
      }
      const { text, failed } = await files()[way](what);
      if (!indexes.length) {
        equal(text.startsWith("Nothing to"), true, text);
        return false;
      }
      equal(Boolean(failed), !fits, text);
      if (fits) {
        travelled++;
        for (const path of world.keys()) put(world, path, next.get(path));
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
      if (what === "turn")
        return [open.filter((i) => turns.get(log[i]!.group) === turns.get(log[last]!.group))];
      if (!/^\d+$/.test(what)) {
        const own = open.findLast((i) => log[i]!.path === what);
        return own === undefined ? [] : [[own]];
      }
      const all = [...new Set(open.map((i) => log[i]!.group))].slice(-Number(what)).reverse();
      return all.map((group) => open.filter((i) => log[i]!.group === group));
    }
  }
}

function put(world: World, path: string, content: string | undefined): void {
  if (content === undefined) world.delete(path);
  else world.set(path, content);
}
function latin(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

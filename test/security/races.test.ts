// Between a look at a path and its use somebody swaps a link in: what is read is what was judged,
// or nothing. Each read is made again and again, and the swap comes before its first look at the
// disk, before its second, and so on: there is nothing between.
import { equal, ok } from "node:assert/strict";
import child from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { test } from "node:test";
import type { Ctx } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { createZz } from "../../zz.ts";
import { place } from "../support/run.ts";
import { isAll, some } from "../support/runs.ts";

const CANARY = "the-canary-of-another-folder";

/** What is swapped: a file for a link to one, a link for another one, a folder for a link to
 * one. */
type How = "file" | "link" | "folder";
type Row = [what: string, how: How, at: string, read: (ctx: Ctx) => Promise<unknown>];

const called = async (ctx: Ctx, tool: string, args: object) => {
  const { text, data, images } = await ctx.call(tool, args);
  return { text, data, images };
};
const prompt = (ctx: Ctx) => {
  Object.assign(ctx.chat, { prompt: undefined });
  return ctx.about.prompt();
};

const ROWS: Row[] = [
  ["read_file", "file", "f.ts", (ctx) => called(ctx, "read_file", { path: "f.ts" })],
  ["read_file", "link", "at", (ctx) => called(ctx, "read_file", { path: "at/f.ts" })],
  ["read_file", "folder", "at", (ctx) => called(ctx, "read_file", { path: "at/f.ts" })],
  ["ctx.files.read", "file", "f.ts", (ctx) => ctx.files.read("f.ts").then(({ text }) => text)],
  ["ctx.files.read", "folder", "at", (ctx) => ctx.files.read("at/f.ts").then(({ text }) => text)],
  ["grep in one file", "file", "f.ts",
    (ctx) => called(ctx, "grep", { query: "zeta", path: "f.ts" })],
  ["grep", "folder", "at", (ctx) => called(ctx, "grep", { query: "zeta" })],
  ["find_definition", "file", "f.ts", (ctx) => called(ctx, "find_definition", { symbol: "zeta" })],
  ["edit_file", "file", "f.ts",
    (ctx) => called(ctx, "edit_file", { path: "f.ts", old_text: "zeta", new_text: "x" })],
  ["the prompt's rules", "file", "AGENTS.md", prompt],
  ["the prompt's memory", "file", ".zz/MEMORY.md", prompt],
  ["the prompt's skills", "file", ".zz/skills/kept/SKILL.md", prompt],
  ["read_skill", "folder", ".zz/skills/kept", (ctx) => called(ctx, "read_skill", { name: "kept" })],
]; // biome-ignore format: a table

const LOOKS =
  `access existsSync lstat lstatSync open openSync opendir readFile readFileSync readdir readdirSync readlink
  readlinkSync realpath realpathSync stat statSync`.split(/\s+/);
/** Runs something, and `before` ahead of each of its looks at the disk and each start of a program.
 * Returns how many there were. */
async function looking(act: () => Promise<unknown>, before: (look: number) => void) {
  let looks = 0;
  const undo: (() => void)[] = [];
  const patch = (owner: any, name: string) => {
    const own = owner[name];
    if (typeof own !== "function") return;
    const patched = (...args: unknown[]) => {
      before(looks++);
      return own.apply(owner, args);
    };
    owner[name] = Object.assign(patched, own, own.native && { native: patched });
    undo.push(() => (owner[name] = own));
  };
  for (const name of LOOKS) for (const owner of [fs, fs.promises]) patch(owner, name);
  for (const name of ["spawn", "spawnSync", "execFileSync"]) patch(child, name);
  syncBuiltinESMExports();
  try {
    await act();
  } finally {
    for (const one of undo) one();
    syncBuiltinESMExports();
  }
  return looks;
}

const { lstatSync, renameSync, symlinkSync, unlinkSync, copyFileSync } = fs;
/** Puts a link to what lies outside in its place, or what was there. */
function swapper(how: How, at: string, inside: string, outside: string): (isOut: boolean) => void {
  const aside = `${at}.aside`;
  const link = (to: string) => {
    symlinkSync(to, aside);
    renameSync(aside, at);
  };
  const isOut = () => lstatSync(at).isSymbolicLink();
  if (how === "link") return (out) => link(out ? outside : inside);
  if (how === "file")
    return (out) => {
      if (out) return link(outside);
      copyFileSync(inside, aside);
      renameSync(aside, at);
    };
  return (out) => {
    if (out === isOut()) return;
    if (out) renameSync(at, aside);
    if (out) return symlinkSync(outside, at);
    unlinkSync(at);
    renameSync(aside, at);
  };
}

/** How many of the moments of a read, evenly; those of a search start programs and threads. */
const most = (what: string): number => {
  if (isAll) return 400;
  if (/^(grep|find)/.test(what)) return 8;
  return 30;
};
for (const [what, how, name, read] of some(ROWS, 3))
  test(`${what} reads nothing beside the project while ${name} is swapped for a link (${how})`, async () => {
    const where = place();
    const root = fs.realpathSync(where.cwd);
    const outside = `${root}-outside`;
    const at = join(root, name);
    const harmless = [root, join(root, "kept"), join(root, ".zz"), join(root, ".zz/skills/kept")];
    for (const folder of [...harmless, ...(how === "folder" ? [at] : [])]) fill(folder, "harmless");
    for (const folder of [outside, join(outside, "kept")]) fill(folder, CANARY);
    const inside = how === "file" ? join(root, "kept", basename(name)) : join(root, "kept");
    const swap = swapper(how, at, inside, how === "file" ? join(outside, basename(name)) : outside);
    swap(false);
    const core = await createZz({ root, home: where.home, save: false });
    const ctx = createCtx(core, openChat(core, "x/y"));
    let told = "";
    const reading = async () => void (told = JSON.stringify(await read(ctx).catch(String)) ?? "");
    await looking(reading, () => {});
    const isKept = (text: string) => !text.includes(CANARY);
    ok(what === "edit_file" || told.includes("harmless"), `it is read: ${told}`);
    let looks = await looking(reading, () => {}); // not the first time, when much more is looked at
    const step = Math.ceil(looks / most(what));
    for (let moment = 0; moment < looks; moment += step)
      for (const back of [1, Number.POSITIVE_INFINITY]) {
        const many = await looking(reading, (look) => {
          if (look === moment) swap(true);
          if (look === moment + back) swap(false);
        });
        swap(false);
        ok(isKept(told), `swapped before look ${moment} of ${many}: ${told.slice(0, 300)}`);
        looks = Math.max(looks, Math.min(many, 2 * looks));
      }
    equal(
      fs.readFileSync(join(outside, "f.ts"), "utf8").includes(CANARY),
      true,
      "and nothing is written there",
    );
  });

function fill(folder: string, text: string): void {
  fs.mkdirSync(folder, { recursive: true });
  const all = `---\nname: kept\ndescription: ${text}\n---\nexport const zeta = "${text}"; // ${text}\n`;
  for (const name of ["f.ts", "AGENTS.md", "MEMORY.md", "SKILL.md"])
    fs.writeFileSync(join(folder, name), all);
}

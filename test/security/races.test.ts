// Between a look at a path and its use somebody swaps a link in: what is read is what was judged, or nothing.
import { equal, ok } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import { openChat } from "../../kernel/chat.ts";
import { context } from "../../kernel/context.ts";
import type { Ctx } from "../../kernel/contract.ts";
import { createZz } from "../../zz.ts";
import "../support/lean.ts";
import { place, ROOT } from "../support/run.ts";

const CANARY = "the-canary-of-another-folder";
const PNG = Buffer.from("iVBORw0KGgo=", "base64");

type How = "file" | "link" | "folder";
/** What is swapped, what it is, how often it is read, and by what. */
type Row = [what: string, how: How, at: string, times: number, read: (ctx: Ctx) => Promise<unknown>];

const called = async (ctx: Ctx, tool: string, args: object) => {
  const { text, data, images } = await ctx.call(tool, args);
  return { text, data, images };
};

const ROWS: Row[] = [
  ["read_file", "file", "f.ts", 600, (ctx) => called(ctx, "read_file", { path: "f.ts" })],
  ["read_file", "link", "at", 600, (ctx) => called(ctx, "read_file", { path: "at/f.ts" })],
  ["read_file", "folder", "at", 600, (ctx) => called(ctx, "read_file", { path: "at/f.ts" })],
  ["ctx.files.read", "file", "f.ts", 600, (ctx) => ctx.files.read("f.ts").then(({ text }) => text)],
  ["ctx.files.read", "link", "at", 600, (ctx) => ctx.files.read("at/f.ts").then(({ text }) => text)],
  ["ctx.files.read", "folder", "at", 600, (ctx) => ctx.files.read("at/f.ts").then(({ text }) => text)],
  ["grep in one file", "file", "f.ts", 300, (ctx) => called(ctx, "grep", { query: "zeta", path: "f.ts" })],
  ["grep", "folder", "at", 20, (ctx) => called(ctx, "grep", { query: "zeta" })],
  ["grep", "file", "f.ts", 20, (ctx) => called(ctx, "grep", { query: "zeta" })],
  ["find_definition", "file", "f.ts", 20, (ctx) => called(ctx, "find_definition", { symbol: "zeta" })],
  ["find_definition", "folder", "at", 20, (ctx) => called(ctx, "find_definition", { symbol: "zeta" })],
  [
    "edit_file",
    "file",
    "f.ts",
    200,
    (ctx) => called(ctx, "edit_file", { path: "f.ts", old_text: "zeta", new_text: "x" }),
  ],
  ["the prompt's rules", "file", "AGENTS.md", 100, (ctx) => ctx.about.prompt()],
  ["the prompt's memory", "file", ".zz/MEMORY.md", 100, (ctx) => ctx.about.prompt()],
  ["the prompt's skills", "file", ".zz/skills/kept/SKILL.md", 100, (ctx) => ctx.about.prompt()],
  ["the prompt's skills", "folder", ".zz/skills", 100, (ctx) => ctx.about.prompt()],
  ["read_skill", "folder", ".zz/skills/kept", 200, (ctx) => called(ctx, "read_skill", { name: "kept" })],
  ["read_file of a picture", "file", "a.png", 200, (ctx) => called(ctx, "read_file", { path: "a.png" })],
];

/** One process for all rows. It answers once it swaps, or has stopped. */
const swapper = fork(join(ROOT, "test/support/fake/swapper.ts"));
swapper.unref();
after(async () => {
  swapper.ref();
  swapper.kill("SIGKILL");
  await once(swapper, "close");
});
const swap = (...job: string[]): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  swapper.once("message", () => resolve());
  swapper.once("exit", () => reject(new Error("the swapper ended")));
  swapper.send(job);
  return promise.finally(() => swapper.removeAllListeners());
};

for (const [what, how, name, times, read] of ROWS)
  test(`${what} reads nothing beside the project while ${name} is swapped for a link (${how})`, async () => {
    const where = place();
    const root = fs.realpathSync(where.cwd);
    const outside = `${root}-outside`;
    const at = join(root, name);
    for (const [folder, text] of [
      ...[root, join(root, "kept"), join(root, ".zz"), join(root, ".zz/skills/kept")].map((one) => [one, "harmless"]),
      ...(how === "folder" ? [[at, "harmless"]] : []),
      ...[outside, join(outside, "kept")].map((one) => [one, CANARY]),
    ] as const)
      fill(folder!, text!);
    const inside = how === "file" ? join(root, "kept", basename(name)) : join(root, "kept");
    const other = how === "file" ? join(outside, basename(name)) : outside;
    const ctx = await opened(root, where.home);
    await swap(how, at, inside, other);
    const told: string[] = [];
    try {
      const wasRead = () => times <= 500 || told.some((text) => text.includes("harmless"));
      for (let i = 0; i < times || (i < 20 * times && !wasRead()); i++) {
        if (what.startsWith("the prompt")) Object.assign(ctx.chat, { prompt: undefined });
        const given = await read(ctx).catch((error) => String(error));
        told.push(JSON.stringify(given) ?? "");
      }
    } finally {
      await swap();
    }
    const leaked = told.filter((text) => text.includes(CANARY) || text.includes(inBase64(CANARY)));
    equal(leaked.length, 0, `${leaked.length} of ${times}: ${leaked[0]?.slice(0, 300)}`);
    if (times > 500)
      ok(
        told.some((text) => text.includes("harmless")),
        `nothing was read: ${told[0]}`,
      );
  });

const inBase64 = (text: string): string =>
  Buffer.concat([PNG, Buffer.from(text)])
    .toString("base64")
    .slice(12, 30);

function fill(folder: string, text: string): void {
  fs.mkdirSync(folder, { recursive: true });
  const all = `---\nname: kept\ndescription: ${text}\n---\nexport const zeta = "${text}"; // ${text}\n`;
  for (const name of ["f.ts", "AGENTS.md", "MEMORY.md", "SKILL.md"]) fs.writeFileSync(join(folder, name), all);
  fs.writeFileSync(join(folder, "a.png"), Buffer.concat([PNG, Buffer.from(text)]));
  ok(fs.existsSync(dirname(folder)));
}

async function opened(root: string, home: string): Promise<Ctx> {
  const core = await createZz({ root, home, save: false });
  return context(core, openChat(core, "x/y"));
}

// Where zz works is said once: settings, permissions, prompts and programs are those of that
// folder, wherever the process stands.
import { deepEqual, match, ok, rejects } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openChat } from "../../kernel/conversation/chat.ts";
import { keepTrust } from "../../kernel/gate/trust.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { rereadSettings } from "../../kernel/settings/plugin-settings.ts";
import { readSettings } from "../../kernel/settings/settings-files.ts";
import { createZz, embed } from "../../zz.ts";
import { put } from "../support/repository.ts";
import { place } from "../support/run.ts";

/** A project `b`, and a process that stands in another, whose settings say the opposite. */
function two(theirs: object, others: object = {}, more: Record<string, string> = {}) {
  const where = place();
  const b = join(fs.realpathSync(where.cwd), "b");
  put(b, { ".zz/zz.config.json": JSON.stringify(theirs), ...more });
  put(where.cwd, { ".zz/zz.config.json": JSON.stringify(others) });
  return { where, b, home: where.home };
}
async function standing<T>(folder: string, act: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    return await act();
  } finally {
    process.chdir(before);
  }
}

const DENY = {
  permissions: {
    deny: { write: ["secret"], read: ["hidden"], run: ["rm"], net: ["a.example"], env: ["X"] },
  },
};

test("embed() elsewhere heeds what the root's own settings deny, not those of the current folder", async () => {
  const { where, b, home } = two(
    DENY,
    { permissions: { deny: { write: true } } },
    { f: "x", "hidden/f": "x" },
  );
  await standing(where.cwd, async () => {
    const script = await embed({ root: b, home, save: false, allow: { write: true, read: true } });
    for (const [tool, args, denied] of [
      ["write_file", { path: "secret/x", content: "x" },
        /write access to "secret\/x" is denied by the settings/],
      ["grep", { query: "x", path: "hidden" }, /read access to "hidden" is denied by the settings/],
      ["move_file", { from: "f", to: "secret/f" }, /"secret\/f" is denied by the settings/],
    ] as const) // biome-ignore format: a table
      match((await script.call(tool, args)).text, denied);
    await script.call("write_file", { path: "x", content: "x" });
    ok(fs.existsSync(join(b, "x")), "what only the current folder denies is allowed");
  });
});

test("settings() and reread() elsewhere read the root's own settings", async () => {
  const { where, b, home } = two({ rounds: 3 }, { rounds: 4 });
  await standing(where.cwd, async () => {
    const core = await createZz({ root: b, home, save: false });
    await rereadSettings(core);
    deepEqual(
      [(await readSettings({ home, root: b })).settings.rounds, core.options.settings?.rounds],
      [3, 3],
    );
  });
});

test("Settings of a root that is gone, a root that is a file, and a root that is a link", async () => {
  const { b, home } = two({ rounds: 3 }, {}, { file: "x" });
  await rejects(embed({ root: join(b, "gone"), home }), /Cannot work in '.*gone': no such folder/);
  await rejects(embed({ root: join(b, "file"), home }), /Cannot work in '.*file': no such folder/);
  fs.symlinkSync(b, `${b}-link`);
  const script = await embed({ root: `${b}-link`, home, save: false, allow: { run: true } });
  match((await script.call("run_command", { command: "pwd" })).text, new RegExp(`${b}$`, "m"));
});

test("embed() elsewhere takes a trusted root's settings in full, and no other's", async () => {
  const { where, b, home } = two({ options: { temperature: 0 } }, { options: { temperature: 1 } });
  const core = await createZz({ root: b, home, save: false });
  const options = async (trusted: boolean) =>
    (await readSettings({ home, root: b, brought: { given: trusted, agreed: [] } })).settings
      .options;
  deepEqual([await options(false), await options(true)], [undefined, { temperature: 0 }]);
  keepTrust({ root: b, home }, core.extras!.hashes);
  await standing(where.cwd, async () => {
    const again = await createZz({ root: b, home, save: false });
    await rereadSettings(again);
    deepEqual([again.extras!.given, again.options.settings.options], [true, { temperature: 0 }]);
  });
});

test("embed() elsewhere: a relative home is where the process stood when it began", async () => {
  const { where, b } = two({});
  await standing(where.cwd, async () => {
    const script = await embed({ root: b, home: "my-home", allow: { write: true } });
    process.chdir(b);
    await script.call("write_file", { path: "x", content: "x" });
  });
  ok(fs.existsSync(join(where.cwd, "my-home/sessions")));
  ok(!fs.existsSync(join(b, "my-home")));
});

test("Rules, prompts and search elsewhere are the root's", async () => {
  const { where, b, home } = two(
    {},
    {},
    { "AGENTS.md": "the rules of b", "only-here.txt": "needle" },
  );
  fs.writeFileSync(join(where.cwd, "AGENTS.md"), "the rules of the current folder");
  fs.writeFileSync(join(where.cwd, "elsewhere.txt"), "needle");
  await standing(where.cwd, async () => {
    const core = await createZz({ root: b, home, save: false });
    const ctx = createCtx(core, openChat(core, "x/y"));
    const prompt = JSON.stringify(await ctx.about.prompt());
    deepEqual(
      [prompt.includes("the rules of b"), prompt.includes("of the current folder")],
      [true, false],
    );
    match((await ctx.call("grep", { query: "needle" })).text, /^only-here\.txt:1: needle$/);
  });
});

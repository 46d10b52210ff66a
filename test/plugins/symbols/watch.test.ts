// A watched project: a question with nothing changed looks at no file, and whatever changed is in the next answer.
import { equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openChat } from "../../../kernel/chat.ts";
import { context } from "../../../kernel/context.ts";
import { openAnswers } from "../../../plugins/symbols/answers.ts";
import { defaults } from "../../../plugins/symbols/index.ts";
import { createZz } from "../../../zz.ts";
import { needs } from "../../support/needs.ts";
import { place } from "../../support/run.ts";

const isLinux = process.platform === "linux";
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

async function watched(files: Record<string, string>, { isGit = true, debounce = 60_000 } = {}) {
  const { home, cwd } = place();
  const put = (name: string, text: string) => {
    fs.mkdirSync(dirname(join(cwd, name)), { recursive: true });
    fs.writeFileSync(join(cwd, name), text);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  if (isGit) {
    git(cwd, "init", "-q", "-b", "main");
    git(cwd, "add", "-A");
    git(cwd, "commit", "-qm", "first");
  }
  const core = await createZz({ root: cwd, home, save: false });
  const ctx = context(core, openChat(core, "none/none"));
  const answers = openAnswers(ctx, { ...defaults, debounce }, () => true);
  after(() => answers.close());
  const ask = async (symbol: string): Promise<string> => {
    try {
      return (await answers.definition(symbol, ctx)).text;
    } catch (error) {
      return (error as Error).message;
    }
  };
  /** Until a question looks at no file: the folders are watched a moment after the first. */
  const settle = async () => {
    for (let i = 0; i < 20; i++) {
      if ((await looks(() => ask("first"))) === 0) return true;
      await sleep(50);
    }
    return false;
  };
  return { cwd, put, ask, settle };
}

/** How many files are looked at meanwhile. */
async function looks(act: () => Promise<unknown>): Promise<number> {
  const system = fs as { -readonly [name in keyof typeof fs]: (typeof fs)[name] };
  const { statSync } = fs;
  let many = 0;
  system.statSync = ((...args: Parameters<typeof statSync>) => {
    if (/\.ts$/.test(String(args[0]))) many++;
    return statSync(...args);
  }) as typeof statSync;
  try {
    await act();
    return many;
  } finally {
    system.statSync = statSync;
  }
}

const FILES = {
  "a.ts": "export const first = 1;\n",
  "src/b.ts": "export const second = 1;\n",
  "src/deep/c.ts": "export const third = 1;\n",
  "other/d.ts": "export const fourth = 1;\n",
  ".gitignore": "out/\n*.log\n",
};

for (const isGit of [true, false])
  needs("git")(
    `nothing changed: no file is looked at; one changed: that one (${isGit ? "git" : "no git"})`,
    async () => {
      const { ask, put, settle } = await watched(FILES, { isGit });
      match(await ask("third"), /^src\/deep\/c\.ts:1/);
      equal(await settle(), isLinux);
      if (!isLinux) return;
      put("src/b.ts", "\nexport const second = 2;\n");
      put("out/x.ts", "export const built = 1;\n"); // ignored
      await settle();
      put("src/b.ts", "\n\nexport const second = 3;\n");
      let answer = "";
      const many = await looks(async () => (answer = await ask("second")));
      equal(answer, "src/b.ts:3: export const second = 3");
      ok(many > 0 && many <= 3, `${many} of four files`);
      match(await ask("built"), /^Cannot find|^No definition/);
    },
  );

type World = Awaited<ReturnType<typeof watched>>;
for (const [what, act, symbol, expected] of [
  ["a new file", ({ put }: World) => put("src/e.ts", "export const fifth = 1;\n"), "fifth", "src/e.ts:1: "],
  [
    "a new folder",
    ({ put }: World) => put("new/deeper/e.ts", "export const fifth = 1;\n"),
    "fifth",
    "new/deeper/e.ts:1: ",
  ],
  [
    "a file in a folder that was empty",
    ({ put }: World) => put("empty/in/e.ts", "export const fifth = 1;\n"),
    "fifth",
    "empty/in/e.ts:1: ",
  ],
  [
    "a file renamed",
    ({ cwd }: World) => fs.renameSync(join(cwd, "src/b.ts"), join(cwd, "src/z.ts")),
    "second",
    "src/z.ts:1: ",
  ],
  [
    "a folder renamed",
    ({ cwd }: World) => fs.renameSync(join(cwd, "src"), join(cwd, "lib")),
    "third",
    "lib/deep/c.ts:1: ",
  ],
  [
    "two folders that change places",
    ({ cwd }: World) => {
      for (const [from, to] of [
        ["src", "x"],
        ["other", "src"],
        ["x", "other"],
      ])
        fs.renameSync(join(cwd, from!), join(cwd, to!));
    },
    "third",
    "other/deep/c.ts:1: ",
  ],
  ["a file that is gone", ({ cwd }: World) => fs.rmSync(join(cwd, "src/b.ts")), "second", "Cannot find|No definition"],
  [
    "a file put in the place of another, as editors save",
    ({ cwd, put }: World) => {
      put("src/.b.ts.tmp", "\nexport const second = 9;\n");
      fs.renameSync(join(cwd, "src/.b.ts.tmp"), join(cwd, "src/b.ts"));
    },
    "second",
    "src/b.ts:2: ",
  ],
  ["a rule of .gitignore that is gone", ({ put }: World) => put(".gitignore", ""), "ignored", "out/i.ts:1: "],
  ["a file that git is told of", ({ cwd }: World) => git(cwd, "add", "-f", "out/i.ts"), "ignored", "out/i.ts:1: "],
  [
    "a file in place of a folder",
    ({ cwd, put }: World) => {
      fs.rmSync(join(cwd, "other"), { recursive: true });
      fs.renameSync(join(cwd, "src/b.ts"), join(cwd, "other.ts"));
      put("other", "");
    },
    "second",
    "other.ts:1: ",
  ],
] as const)
  needs("git")(`the next answer has ${what}, and later ones as well`, async () => {
    const world = await watched(FILES);
    const { ask, put, cwd, settle } = world;
    fs.mkdirSync(join(cwd, "empty/in"), { recursive: true });
    put("out/i.ts", "export const ignored = 1;\n");
    match(await ask("first"), /^a\.ts:1/);
    equal(await settle(), isLinux);
    act(world);
    match(await ask(symbol), new RegExp(`^(?:${expected})`));
    equal(await settle(), isLinux);
    match(await ask(symbol), new RegExp(`^(?:${expected})`));
    put("a.ts", "\nexport const first = 1;\n");
    match(await ask("first"), /^a\.ts:2/);
    if (!/^Cannot/.test(expected)) {
      const file = expected.split(":")[0]!; // it is watched where it is now
      put(file, `\n\n\n${fs.readFileSync(join(cwd, file), "utf8")}`);
      match(await ask(symbol), new RegExp(`^${file}:[45]:`));
    }
  });

needs("git")("a branch with many other files: all of them are in the next answer", async () => {
  const { cwd, put, ask, settle } = await watched(FILES);
  git(cwd, "checkout", "-qb", "many");
  for (let i = 0; i < 100; i++) put(`m${i % 20}/f${i}.ts`, `export const many${i} = 1;\n`);
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", "many");
  git(cwd, "checkout", "-q", "main");
  match(await ask("first"), /^a\.ts:1/);
  equal(await settle(), isLinux);
  git(cwd, "checkout", "-q", "many");
  equal(await ask("many99"), "m19/f99.ts:1: export const many99 = 1");
  await settle();
  git(cwd, "checkout", "-q", "main");
  match(await ask("many99"), /^Cannot find|^No definition/);
  match(await ask("first"), /^a\.ts:1/);
});

test("where the system has no watchers left, every question looks for itself", async (t) => {
  const { put, ask, settle } = await watched(FILES, { isGit: false });
  const { watch } = fs;
  let left = 2;
  t.after(() => (fs.watch = watch));
  fs.watch = ((...args: Parameters<typeof watch>) => {
    if (left-- <= 0)
      throw Object.assign(new Error("ENOSPC: System limit for number of file watchers reached"), { code: "ENOSPC" });
    return watch(...args);
  }) as typeof watch;
  match(await ask("first"), /^a\.ts:1/);
  await ask("first");
  put("src/deep/c.ts", "\nexport const third = 1;\n");
  equal(await ask("third"), "src/deep/c.ts:2: export const third = 1");
  ok((await looks(() => ask("first"))) >= 4);
  fs.watch = watch; // they are there again, and a new file makes it try
  put("src/e.ts", "export const fifth = 1;\n");
  await ask("fifth");
  equal(await settle(), isLinux);
});

needs("git")("a repository in the project has a list of its own: every question looks for itself", async () => {
  const { cwd, put, ask } = await watched(FILES);
  put("inner/e.ts", "export const fifth = 1;\n");
  git(join(cwd, "inner"), "init", "-q");
  for (let i = 0; i < 3; i++) {
    equal(await ask("fifth"), "inner/e.ts:1: export const fifth = 1");
    await sleep(50);
  }
  put("inner/.git/info/exclude", "e.ts\n");
  match(await ask("fifth"), /^Cannot find|^No definition/);
});

needs("git")("very many changes at once, of which the system tells a part: all files are looked at", async () => {
  const { cwd, put, ask, settle } = await watched(FILES);
  await ask("first");
  equal(await settle(), isLinux);
  for (let i = 0; i < 4_100; i++) fs.utimesSync(join(cwd, i % 2 ? "a.ts" : "src/b.ts"), i, i);
  put("src/b.ts", "\nexport const second = 2;\n");
  let answer = "";
  const many = await looks(async () => (answer = await ask("second")));
  equal(answer, "src/b.ts:2: export const second = 2");
  ok(many >= 4 || !isLinux, `${many} of four files`);
});

// What a project brings in its .zz/: left out until the person says yes, by the bytes that they
// said yes to.
import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { harness } from "../../sdk/testing.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { put } from "../support/repository.ts";
import { place, zz } from "../support/run.ts";

const HELLO = `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({ name: "hello", description: "greets", run: () => "Hello from the project." });
`;

function project(files: Record<string, string>) {
  const where = place(files);
  const puts = (name: string, text: string, base = where.cwd) => put(base, { [name]: text });
  return { where, put: puts, zz: (...args: string[]) => zz(where, args) };
}

const RUNS = `${HELLO}import { writeFileSync } from "node:fs"; writeFileSync(new URL("../../ran", import.meta.url), "");\n`;

test("A project's plugin does not run before a yes, runs after it, and not after a change", async () => {
  const { where, put, zz } = project({ ".zz/plugins/hello.ts": RUNS });
  const before = await zz("--call", "hello");
  equal(before.code, 2);
  const left =
    "Left out what this folder brings: nobody has trusted .zz/plugins/hello.ts. Look at it, then: zz --trust";
  ok(before.stderr.split("\n").includes(left), before.stderr);
  ok(!existsSync(join(where.cwd, "ran")), "not even imported");

  const yes = await zz("--trust");
  equal(yes.stdout, "Trusted, as they are now: .zz/plugins/hello.ts.\n");
  equal(statSync(join(where.home, "trust.json")).mode & 0o777, 0o600);
  equal((await zz("--call", "hello")).stdout, "Hello from the project.\n");
  ok(existsSync(join(where.cwd, "ran")), "it runs then");
  match((await zz("--plugins")).stdout, /^hello +project .*hello\.ts$/m);
  equal((await zz("--no-plugins", "--call", "hello")).code, 2);

  put(".zz/plugins/hello.ts", HELLO.replace("Hello", "Bye"));
  const changed = await zz("--call", "hello");
  equal(changed.code, 2);
  match(
    changed.stderr,
    /\.zz\/plugins\/hello\.ts changed since you trusted it\. Look at it, then: zz --trust$/m,
  );
  put(".zz/plugins/hello.ts", RUNS);
  equal((await zz("--call", "hello")).stdout, "Hello from the project.\n", "the very bytes again");

  equal((await zz("--trust=no")).stdout, "This folder is not trusted.\n");
  equal((await zz("--call", "hello")).code, 2);
});

for (const name of ["a new plugin", "a file that is gone"])
  test(`A yes holds no longer after ${name}`, async () => {
    const { where, put, zz } = project({
      ".zz/plugins/hello.ts": HELLO,
      ".zz/plugins/words.ts": "export {};",
    });
    await zz("--trust");
    equal((await zz("--call", "hello")).code, 0);
    if (name === "a new plugin") put(".zz/plugins/other.ts", HELLO);
    else rmSync(join(where.cwd, ".zz/plugins/words.ts"));
    const after = await zz("--call", "hello");
    equal(after.code, 2);
    match(after.stderr, /changed since you trusted it/);
  });

test("A file that changes while the question stands is left out, and named", async (t) => {
  const it = await harness({ own: true, files: { ".zz/plugins/hello.ts": HELLO }, answer }, t);
  async function answer(): Promise<string> {
    writeFileSync(join(it.root, ".zz/plugins/hello.ts"), HELLO.replace("Hello", "Bye"));
    return "y";
  }
  deepEqual(await it.command("/trust"), [
    "Left out: .zz/plugins/hello.ts changed while you were asked. Look at it, then: /trust",
  ]);
  ok(!(await it.command("/plugins")).join("\n").includes("hello"));
});

test("A yes is for one folder: a copy of it elsewhere is asked for again", async () => {
  const { where, put, zz } = project({
    ".zz/plugins/hello.ts": HELLO,
    "sub/.zz/plugins/hello.ts": HELLO,
  });
  await zz("--trust");
  equal((await zz("--call", "hello")).code, 0);
  equal((await zz("--cwd", "sub", "--call", "hello")).code, 2);
  put("x", "");
  deepEqual(Object.keys(JSON.parse(readFileSync(join(where.home, "trust.json"), "utf8"))), [
    where.cwd,
  ]);
});

for (const file of ["keys.json", "permissions.json", "trust.json"])
  test(`A ${file} that is no JSON object is told at the start`, async () => {
    const { where, put, zz } = project({});
    for (const text of ['{ "/a": [', "[1]"]) {
      put(file, text, where.home);
      const { stderr } = await zz("/status");
      const path = join(where.home, file);
      equal(stderr, `Cannot use '${path}': it is not a JSON object. Fix it or move it away.\n`);
    }
  });

test("The rules in a permissions.json that is no JSON are not written over", async (t) => {
  const { ctx } = await harness({}, t);
  const file = join(ctx.about.home, "permissions.json");
  const rule = { verdict: "deny", kind: "run", name: "rm", from: "project" } as const;
  put(ctx.about.home, { "permissions.json": "{ cut" });
  throws(() => ctx.permissions.add(rule), {
    message: /^Cannot change '.*permissions\.json': it is/,
  });
  equal(readFileSync(file, "utf8"), "{ cut");
});

const OUTSIDE = {
  "a package of the project": `import "far";\n${HELLO}`,
  "a file, when it is called": `export default (zz) => zz.tool({ name: "hello", description: "d", run: () => import("../../lib.ts").then(() => "got it") });`,
  "a file, by require": `import { createRequire } from "node:module";\ncreateRequire(import.meta.url)("../../lib.ts");\n${HELLO}`,
};
for (const [name, file] of Object.entries(OUTSIDE))
  test(`A project's plugin that imports ${name} is refused: nobody said yes to that`, async () => {
    const { zz } = project({
      ".zz/plugins/hello.ts": file,
      "lib.ts": "export {};",
      "node_modules/far/index.js": "",
      "node_modules/far/package.json": '{ "name": "far", "version": "1.0.0" }',
    });
    await zz("--trust");
    const { stdout, stderr, code } = await zz("--call", "hello");
    ok(code, stdout);
    match(
      stderr,
      /it imports '[^']+' from outside of \.zz\/plugins, which nobody trusted\. Copy it there/,
    );
  });

test("Its own files and packages within .zz/plugins, zz, zod and node's modules are there", async () => {
  const { zz } = project({
    ".zz/plugins/hello.ts": `import { z } from "zod"; import { join } from "node:path"; import { word } from "./lib/word.ts"; import near from "near";
export default (zz) => zz.tool({ name: "hello", description: "d", params: z.object({}), run: () => join(word, near) });`,
    ".zz/plugins/lib/word.ts": `export const word: string = "own";`,
    ".zz/plugins/node_modules/near/index.js": `module.exports = require("./more.js");`,
    ".zz/plugins/node_modules/near/more.js": `module.exports = "package";`,
    ".zz/plugins/node_modules/near/package.json": '{ "name": "near", "version": "1.0.0" }',
  });
  await zz("--trust");
  equal((await zz("--call", "hello")).stdout, "own/package\n");
});

test("A link in .zz/plugins leads to nothing that is loaded", async () => {
  const { where, put, zz } = project({
    "evil.ts": HELLO,
    ".zz/plugins/a.ts": "export default () => {};",
  });
  symlinkSync("../../evil.ts", join(where.cwd, ".zz/plugins/hello.ts"));
  await zz("--trust");
  put("evil.ts", `${HELLO}console.error("EVIL");`);
  const { code, stderr } = await zz("--call", "hello");
  equal(code, 2);
  doesNotMatch(stderr, /EVIL/);
});

test("Prompts of a project: layers and commands, the nearest winning, once the person said yes", async () => {
  const fake = await fakeOpenAI([say("Good.")]);
  try {
    const layer = (text: string) => `---\nslot: rules\n---\n${text}`;
    const { where, put, zz } = project({
      ".zz/prompts/kind.md": layer("Be kind, says the project."),
      ".zz/prompts/review.md": "---\ndescription: our own review\n---\nReview it our way: $@",
    });
    put("prompts/kind.md", layer("Be kind, says the home."), where.home);
    const flags = `--once -m openai/m --base-url ${fake.url} --key x`.split(" ");
    const asks = [...flags, "/review the README"];
    match((await zz("--prompt")).stdout, /Be kind, says the home\./);
    const before = await zz(...asks);
    match(before.stderr, /nobody has trusted \.zz\/prompts\/kind\.md, \.zz\/prompts\/review\.md\./);
    doesNotMatch(JSON.stringify(fake.requests.at(-1)!.body), /our way|says the project/);
    await zz("--trust");
    const after = await zz(...asks);
    equal(after.stderr, "");
    const body = fake.requests.at(-1)!.body;
    match(body.messages.at(-1).content, /Review it our way: the README/);
    match(body.messages[0].content, /says the project/);
    doesNotMatch(body.messages[0].content, /says the home/);
  } finally {
    await fake.close();
  }
});

test("A project's settings that loosen something count once the person said yes, and are named before", async () => {
  const { zz } = project({
    ".zz/zz.config.json": JSON.stringify({ permissions: { allow: { write: ["out"] } } }),
  });
  const write = ["--call", "write_file", JSON.stringify({ path: "out/a.txt", content: "a" })];
  const before = await zz(...write);
  equal(before.code, 4);
  const why =
    /Cannot take permissions\.allow from .*Trust the folder \(--trust, \/trust\), or set it in your own settings\./;
  match(before.stderr, why);
  match(before.stderr, /nobody has trusted \.zz\/zz\.config\.json/);
  await zz("--trust");
  equal((await zz(...write, "--no-plugins")).code, 4);
  const after = await zz(...write);
  deepEqual([after.code, after.stderr], [0, ""]);
});

for (const [name, kept] of Object.entries({
  "no JSON": "{",
  "other shapes": '{ "/": 3, "x": null }',
}))
  test(`A trust.json that is ${name} means no`, async () => {
    const { where, put, zz } = project({ ".zz/plugins/hello.ts": HELLO });
    put("trust.json", kept, where.home);
    equal((await zz("--call", "hello")).code, 2);
    equal((await zz("--trust")).code, 0);
    equal((await zz("--call", "hello")).code, 0);
  });

test("Too much to look at is never loaded, and a sentence says why", async () => {
  const { where, put, zz } = project({ ".zz/plugins/hello.ts": HELLO });
  for (let i = 0; i < 2_001; i++) put(`.zz/plugins/lib/${i}.ts`, ""); // beyond MAX_FILES
  const isRefused = async () => {
    const { code, stderr } = await zz("--trust");
    deepEqual(
      [code, stderr],
      [2, "Cannot trust this folder: there is too much in .zz/ to look at.\n"],
    );
  };
  await isRefused();
  rmSync(join(where.cwd, ".zz/plugins/lib"), { recursive: true });
  put(".zz/plugins/large.ts", " ".repeat(20_000_000)); // beyond MAX_BYTES
  await isRefused();
});

const HOOKS = ".claude/settings.json";
for (const unread of [".zz/plugins/hello.ts", HOOKS, ".agents/commands", ".codex"])
  test(`'${unread}' cannot be read, and is not said yes to`, {
    skip: process.getuid?.() === 0 && "root reads all",
  }, async () => {
    const { where, put, zz } = project({ ".zz/plugins/hello.ts": HELLO, [HOOKS]: '{"hooks":{}}' });
    for (const file of [".agents/commands/x.md", ".codex/hooks.json"]) put(file, "{}");
    chmodSync(join(where.cwd, unread), 0);
    const { code, stderr } = await zz("--trust");
    chmodSync(join(where.cwd, unread), 0o700);
    deepEqual([code, stderr.includes(`folder: ${unread}`)], [2, true], stderr);
    match(stderr, /permission denied\. Check its mode\.\n$/);
  });

for (const name of [".zz", ".claude", ".agents", ".codex"])
  test(`A file where the folder ${name} could be brings nothing`, async () => {
    const { code, stderr } = await project({ [name]: "../elsewhere\n" }).zz("--call", "list_dir");
    deepEqual([code, stderr], [0, ""]);
  });

test("An answer that cannot be kept is a sentence, and no yes", async () => {
  const { where, zz: run } = project({ ".zz/plugins/hello.ts": HELLO });
  writeFileSync(where.home, "a file where the home should be");
  const { code, stderr } = await run("--trust");
  equal(code, 1);
  match(stderr, /^Cannot keep your answer in '.*trust\.json': .+\.$/m);
  doesNotMatch(stderr, /^E[A-Z]+:/m);
  equal((await run("--call", "hello")).code, 2);
});

// Every snippet of the README, run as it is printed.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Script } from "../support/fake/http.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { type How, place, ROOT, WAYS, zz } from "../support/run.ts";
import { transcript } from "../support/transcript.ts";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const snippets = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, text]) => ({ kind, text: text! }));
const snippet = (holds: string) => {
  const found = snippets.filter(({ text }) => text.includes(holds));
  equal(found.length, 1, `one snippet with ${holds}`);
  return found[0]!.text;
};
const checkout = () => ({ ...place(), cwd: ROOT });

test("README: every snippet is covered by a test here", () => {
  const covered = [
    '"--cached"',
    "You read server logs",
    "List what is left",
    "npm ci &&",
    "$ npx zz --model",
    "$ npx zz --call",
    "$ npx zz\n",
    'name: "now"',
    "zz/test",
    "zz/text",
    "Say hi",
    "weather",
    '"rounds": 30',
    '"projects"',
    "createZz",
    "Translate the comments",
    "prepare-commit-msg",
    "You read server logs",
    "List what is left",
  ];
  deepEqual(
    snippets.filter(({ text }) => !covered.some((word) => text.includes(word))),
    [],
  );
});

test("README: the two commands are what .ci/run runs, and npm test runs everything", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const ci = readFileSync(join(ROOT, ".ci", "run"), "utf8");
  for (const command of snippet("npm ci &&")
    .trim()
    .split(/\n| && /))
    ok(ci.includes(command), command);
  match(scripts.test, /npm run build && npm run check && node --test/);
  match(scripts.check, /tsc && biome check/);
});

test("README: the offline answer is what zz prints, but for line numbers", async () => {
  const [command, ...expected] = snippet("$ npx zz --model").trimEnd().split("\n");
  const args = /^\$ npx zz (.*) "(.*)"$/.exec(command!)!;
  const ran = await zz(checkout(), [...args[1]!.split(" "), args[2]!, "-n"]);
  equal(ran.code, 0);
  const even = (text: string) => text.replace(/:\d+/g, ":N");
  equal(even(ran.stdout.split("\n").slice(0, expected.length).join("\n")), even(expected.join("\n")));
});

test("README: the references are what zz prints, but for line numbers", async () => {
  const [command, ...expected] = snippet("$ npx zz --call").trimEnd().split("\n");
  const [, tool, args] = /^\$ npx zz --call (\w+) '(.*)'$/.exec(command!)!;
  const ran = await zz(checkout(), ["--call", tool!, args!, "-n"]);
  equal(ran.code, 0, ran.stderr);
  const even = (text: string) => text.trimEnd().replace(/:\d+/g, ":N");
  equal(even(ran.stdout.split("\n").slice(0, expected.length).join("\n")), even(expected.join("\n")));
});

test("README: the transcript is what the screen shows, but for times and ids", async () => {
  const even = (text: string) =>
    text
      .trimEnd()
      .replace(/\d+\.\d s\b/g, "N s")
      .replace(/\b\d{8}-\d{6}-\w{8}\b/, "ID");
  equal(even(await transcript()), even(snippet("$ npx zz\n")));
});

test("README: the five-line plugin works as printed", async () => {
  const where = place();
  equal(snippet('name: "now"').trim().split("\n").length, 5);
  writeFileSync(join(where.cwd, "now.ts"), snippet('name: "now"'));
  const ran = await zz(where, ["--plugin", "now.ts", "--call", "now"]);
  match(ran.stdout, /^\d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
});

test("README: the test of a plugin passes as printed, by plain node", () => {
  const { cwd } = place();
  writeFileSync(join(cwd, "now.ts"), snippet('name: "now"'));
  writeFileSync(join(cwd, "now.test.ts"), snippet("zz/test"));
  mkdirSync(join(cwd, "node_modules"));
  symlinkSync(ROOT, join(cwd, "node_modules", "zz"));
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  match(execFileSync(process.execPath, ["--test", "now.test.ts"], { cwd, env, encoding: "utf8" }), /pass 1\n/);
});

test("README: the plugin with words of zz/text works as printed, and the table has all of them", async () => {
  const where = place();
  writeFileSync(join(where.cwd, "count.ts"), snippet("zz/text"));
  const ran = await zz(where, ["--plugin", "count.ts", "--call", "count", '{"text":"a line\\nand another"}']);
  equal(ran.stdout, "2 lines, about 5 tokens\n");
  const section = readme.slice(readme.indexOf("### Words for plugins")).split("\n### ")[0]!;
  const names = Object.keys(await import("../../sdk/text.ts"));
  deepEqual(namesIn(section), names.sort());
});

test("README: the table of what a plugin may register has every verb of its handle", () => {
  const [, handle = ""] = /^export interface Zz<.*?\n(.*?)^}/ms.exec(
    readFileSync(join(ROOT, "kernel/contract.ts"), "utf8"),
  )!;
  const verbs = [...handle.matchAll(/^ {2}(\w+)(?:<[^(]*)?\(/gm)].map(([, name]) => name!);
  const section = readme.slice(readme.indexOf("## Writing a plugin")).split("\n### ")[0]!;
  const others = ["fetch", "secret", "veil"].filter((name) => section.includes(`\`zz.${name}\``));
  deepEqual([...namesIn(section), ...others].sort(), verbs.sort());
});

/** Of the first column of the tables in a section: what stands before a parenthesis or alone. */
const namesIn = (section: string): string[] =>
  [...section.matchAll(/^\| (`.*?) \|/gm)]
    .flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)[^`]*`/g)].map(([, name]) => name!))
    .filter((name) => name !== "zz")
    .sort();

test("README: every command is in its table, and the template is a command", async () => {
  const where = place();
  mkdirSync(join(where.home, "prompts"), { recursive: true });
  writeFileSync(join(where.home, "prompts", "translate.md"), snippet("Translate the comments"));
  const ran = await zz(where, ["-m", "offline/router", "/help", "-n"]);
  const names = [...ran.stderr.matchAll(/^ *\/([\w-]+)/gm)].map(([, name]) => name!);
  ok(names.length > 30, ran.stderr);
  deepEqual(
    names.filter((name) => !readme.includes(`/${name}`)),
    [],
  );
  ok(names.includes("translate"));
  const fake = await fakeOpenAI([say("Done.")]);
  await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "/translate a.ts French"]);
  await fake.close();
  const sent = "Translate the comments in a.ts into French. Leave the code as it is.";
  equal(fake.requests[0]!.body.messages.at(-1).content, sent);
});

needs("git")(
  "README: the hook writes the commit message that the model gave, and leaves a message of one's own alone",
  async () => {
    const where = place();
    const fake = await fakeOpenAI([say("Add the number one\n")]);
    const git = (...args: string[]) => {
      const path = [join(where.cwd, "..", "bin"), join(process.execPath, ".."), process.env.PATH].join(":");
      const env = { ...process.env, PATH: path, ZZ_HOME: where.home, EDITOR: "true", GIT_CONFIG_GLOBAL: "/dev/null" };
      const who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
      return new Promise<string>((resolve, reject) => {
        const child = spawn("git", [...who, ...args], { cwd: where.cwd, env, stdio: ["ignore", "pipe", "pipe"] });
        let text = "";
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (text += piece));
        child.on("close", (code) => (code ? reject(new Error(text)) : resolve(text)));
      });
    };
    try {
      mkdirSync(join(where.cwd, "..", "bin"));
      symlinkSync(join(ROOT, "dist", "zz.js"), join(where.cwd, "..", "bin", "zz"));
      const settings = { model: "openai/m", providers: { openai: { url: fake.url, key: "x" } } };
      mkdirSync(where.home);
      writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
      await git("init");
      const hook = join(where.cwd, ".git", "hooks", "prepare-commit-msg");
      mkdirSync(join(hook, ".."), { recursive: true });
      writeFileSync(hook, snippet('"--cached"'));
      chmodSync(hook, 0o755);
      writeFileSync(join(where.cwd, "a.txt"), "1\n");
      await git("add", ".");
      await git("commit");
      equal((await git("log", "--format=%B")).trim(), "Add the number one");
      match(fake.requests[0]!.body.messages.at(-1).content, /^Write a commit message[\s\S]*\+1/);
      writeFileSync(join(where.cwd, "a.txt"), "2\n");
      await git("commit", "-a", "-m", "mine");
      equal((await git("log", "-1", "--format=%B")).trim(), "mine");
      equal(fake.requests.length, 1);
    } finally {
      await fake.close();
    }
  },
);

const scripted = async (snippetOf: string, script: Script, args: string[], how: How = {}) => {
  const where = place();
  const fake = await fakeOpenAI(script);
  writeFileSync(join(where.cwd, "it.ts"), snippet(snippetOf));
  writeFileSync(join(where.cwd, "a.ts"), "// TODO one\n");
  writeFileSync(join(where.cwd, "b.ts"), "// nothing\n");
  const ran = await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "--run", "it.ts", ...args], how);
  await fake.close();
  return { ...ran, said: fake.requests.map(({ body }) => body.messages.at(-1).content) };
};

test("README: the log in a pipe is read for what went wrong, in two turns", async () => {
  const log = ["10:00 started", "10:01 WARN slow disk", "10:02 fine", "10:03 ERROR no disk"].join("\n");
  const ran = await scripted("You read server logs", [say("The disk."), say("The cable.")], [], { input: log });
  deepEqual([ran.stdout, ran.stderr, ran.code], ["The disk.\nThe cable.\n", "", 0]);
  deepEqual(ran.said, [
    "What went wrong here?\n10:01 WARN slow disk\n10:03 ERROR no disk",
    "What should I look at first?",
  ]);
});

test("README: the batch over files gives a line of JSON for each thing to do", async () => {
  const found = { todos: [{ line: 1, text: "one", urgent: false }] };
  const answers = [say(JSON.stringify(found)), say(JSON.stringify({ todos: [] }))];
  const ran = await scripted("List what is left", answers, ["a.ts", "b.ts"]);
  deepEqual([ran.stdout, ran.stderr, ran.code], [`${JSON.stringify({ file: "a.ts", ...found.todos[0] })}\n`, "", 0]);
  match(ran.said[0], /--- FILE a\.ts ---\n\/\/ TODO one\n/);
});

test("README: the weather plugin works as printed, asks for the network, and takes its settings", async () => {
  const where = place();
  writeFileSync(join(where.cwd, "weather.ts"), snippet("weather"));
  writeFileSync(join(where.cwd, "zz.json"), '{"weather": {"unit": "F"}}');
  const words = ["--plugin", "weather.ts", "--config", "zz.json", "--call", "weather", '{"city":"Oslo","days":2}'];
  const refused = await zz(where, words);
  equal(refused.code, 4);
  match(refused.stderr, /--allow-net=weather\.example/);
  const ran = await zz(where, [...words, "--allow-net=weather.example"]);
  equal(ran.stdout, "Oslo in 2 days: 20 F\n");
});

test("README: the snippets are right by their types", () => {
  const folder = join(ROOT, "dist", "readme");
  mkdirSync(folder, { recursive: true });
  for (const [i, { kind, text }] of snippets.entries()) if (kind === "ts") writeFileSync(join(folder, `${i}.ts`), text);
  try {
    const config = { extends: "../../tsconfig.json", include: ["*.ts"], exclude: [], compilerOptions: { paths: {} } };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    execFileSync(join(ROOT, "node_modules", ".bin", "tsc"), ["-p", folder], { encoding: "utf8" });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

needs("git")("README: the lines for scripts run as printed", async (t) => {
  const fake = await fakeOpenAI([say("Hi.")]);
  t.after(fake.close);
  const where = place();
  const bin = join(where.cwd, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "zz"), `#!/bin/sh\nexec ${WAYS.dist.map((word) => `'${word}'`).join(" ")} "$@"\n`);
  chmodSync(join(bin, "zz"), 0o755);
  writeFileSync(join(where.cwd, "report.txt"), "All is well.\n");
  execFileSync("git", ["init", "-q"], { cwd: where.cwd });
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    ZZ_HOME: where.home,
    ZZ_MODEL: "openai/m",
    OPENAI_BASE_URL: fake.url,
  };
  const shell = spawn("sh", ["-e"], { cwd: where.cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  shell.stdin.end(snippet("Say hi"));
  let out = "";
  shell.stdout.on("data", (text) => (out += text));
  equal(await new Promise((done) => shell.on("close", done)), 0);
  equal(out, "Hi.\nHi.\n");
  equal(readFileSync(join(where.cwd, "summary.txt"), "utf8"), "Hi.\n");
  equal(JSON.parse(readFileSync(join(where.cwd, "answer.json"), "utf8")).text, "Hi.");
  match(fake.requests[2]!.body.messages.at(-1).content, /FILE report\.txt[\s\S]*All is well\.[\s\S]*Three sentences/);
});

test("README: the settings are accepted as printed", async () => {
  const where = place();
  writeFileSync(join(where.cwd, "zz.json"), snippet('"rounds": 30'));
  const ran = await zz(where, ["--config", "zz.json", "--once", "-m", "openai/m", "--dry-run", "hi"]);
  equal(JSON.parse(ran.stdout).temperature, 0);
});

test("README: the other projects are reached as printed", async () => {
  const where = place();
  writeFileSync(join(where.cwd, "zz.json"), snippet('"projects"'));
  const [file] = /lib:src\/a\.ts/.exec(readme)!;
  mkdirSync(join(where.cwd, "work", "lib", "src"), { recursive: true });
  writeFileSync(join(where.cwd, "work", "lib", "src", "a.ts"), "x\n");
  const args = ["--config", "zz.json", "--call", "read_file", JSON.stringify({ path: file })];
  equal((await zz(where, args, { env: { HOME: where.cwd } })).stdout, "1\tx\n");
});

test("README: the program runs as printed", async () => {
  const file = join(ROOT, "dist", "readme-program.ts");
  writeFileSync(file, snippet("createZz"));
  try {
    const out = execFileSync(process.execPath, [file], { cwd: ROOT, encoding: "utf8" });
    match(out, /zz\.ts:\d+: export async function runTurn/);
  } finally {
    rmSync(file);
  }
  ok(existsSync(join(ROOT, "dist", "types", "zz.d.ts")));
});

// What a hostile model, or a hostile project, must not get: each row was tried and went through
// once, or shows where it would.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Result } from "../../kernel/contract.ts";
import type { Options } from "../../kernel/instance.ts";
import { needs } from "../support/needs.ts";
import { fill, INIT, shell } from "../support/repository.ts";
import { type Place, place, zz } from "../support/run.ts";
import { kernel } from "../support/script.ts";

const GIT = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
Object.assign(process.env, GIT); // no configuration of this machine's own
const WHO = ["-c", "user.name=a", "-c", "user.email=a@example.com"];

function put(where: Place, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(join(where.cwd, name, ".."), { recursive: true });
    fs.writeFileSync(join(where.cwd, name), text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
}

/** A repository with one commit of these files. */
function repo(files: Record<string, string>): Place {
  const where = place();
  fill(where.cwd, JSON.stringify(files), (cwd) => {
    put({ ...where, cwd }, files);
    shell(cwd, `${INIT}; git add -A -f; git ${WHO.join(" ")} commit -qm x`);
  });
  return where;
}

const tool = (
  where: Place,
  name: string,
  args: unknown,
  flags: string[] = [],
  env: Record<string, string> = {},
) => zz(where, ["--call", name, JSON.stringify(args), ...flags], { env });

/** A command is asked for before it runs, not about what it changed on a copy. */
const BEFORE: Options = { settings: { shell: { effects: "before" } } };

/** In this process, with answers given ahead; what was asked is kept. */
async function held(where: Place, answers: string[] = [], more: Options = {}) {
  const core = await kernel.createZz({ root: where.cwd, home: where.home, save: false, ...more });
  const asked: string[] = [];
  core.ask = async (question) => (asked.push(question) && answers.shift()) || "";
  kernel.openChat(core, "x/y");
  const ctx = core.ctx();
  return {
    core,
    asked,
    call: (name: string, args: unknown): Promise<Result> => ctx.call(name, args),
  };
}

// ── secrets ──

for (const flag of ["--deny-read=.env", "--no-prompt"])
  test(`A secret cannot be moved to where it may be read (${flag})`, async () => {
    const where = place({ ".env": "K=secret\n" });
    const { code } = await tool(where, "move_file", { from: ".env", to: "e.txt" }, [
      "--allow-write=.",
      flag,
    ]);
    deepEqual([code, fs.existsSync(join(where.cwd, "e.txt"))], [4, false]);
  });

for (const command of ["git show HEAD", "rg secret"])
  needs("git")(`'${command}' shows nothing of a file that is denied, sandbox or not`, async () => {
    const where = repo({ "private/k": "secret\n" });
    const config = join(where.cwd, "..", "c.json");
    fs.writeFileSync(config, '{"shell":{"sandbox":"off"}}');
    for (const more of [[], ["--config", config]]) {
      const { stdout } = await tool(where, "run_command", { command }, [
        "--deny-read=private",
        ...more,
      ]);
      doesNotMatch(stdout, /secret/);
    }
  });

test("install_skill takes more than --allow-write, whatever else is allowed", async () => {
  const where = place();
  for (const more of [{ where: "project" }, {}]) {
    const args = { name: "x", content: "---\nname: x\ndescription: x\n---\nx\n", ...more };
    const { code, stderr } = await tool(where, "install_skill", args, [
      "--allow-write",
      "--allow-read",
      "--allow-run",
    ]);
    equal(code, 4);
    match(stderr, /requires write access to .*; run again with --allow-write=/);
  }
});

test("--deny-read= with nothing in it is refused rather than nothing denied", async () => {
  const { code } = await zz(place(), ["--deny-read=", "--call", "list_dir", "{}"]);
  equal(code, 2);
});

test("A for 'rm a' allows 'rm a' and not 'rm a b'", async () => {
  const where = place({ a: "", b: "" });
  const { call, asked } = await held(where, ["A"], BEFORE);
  await call("run_command", { command: "rm a" });
  await call("run_command", { command: "rm -f a b" });
  await call("run_command", { command: "rm a b" });
  ok(fs.existsSync(join(where.cwd, "b")), "b was removed");
  equal(asked.filter((question) => question.includes("Allow?")).length, 3);
});

// ── what is shown is what is done ──

test("The question shows all of a command, what hides in the middle of a long line too", async () => {
  const { call, asked } = await held(place(), [], BEFORE);
  const long = `touch ${"x".repeat(200_000)} EVIL ${"x".repeat(200_000)}END`;
  for (const command of [
    "echo 'touch evil' | sh",
    "sh <<E\ntouch evil\nE",
    "touch a < evil",
    long,
  ]) {
    await call("run_command", { command });
    for (const line of command.split("\n"))
      ok(asked.at(-1)!.includes(line), `'${line}' is missing in:\n${asked.at(-1)}`);
  }
});

test("The question shows that a moved file is a link, or can run", async () => {
  const where = place();
  put(where, { a: "x\n", "a.sh": "#!/bin/sh\n" });
  fs.symlinkSync("a", join(where.cwd, "l"));
  const { call, asked } = await held(where);
  await call("move_file", { from: "l", to: "m" });
  match(asked[0]!, /link/);
  await call("move_file", { from: "a.sh", to: "b.sh" });
  match(asked.at(-1)!, /mode|runs|executable/);
});

const TWO = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n";

test("What was edited before the editor was left is told to the model, however the question ends", async () => {
  const where = place({ a: "1\n", b: "1\n" });
  const { core, call } = await held(where, ["e", "y"]);
  core.edit = async (text, name) => (name === "a" ? `${text}mine\n` : undefined);
  const { text } = await call("apply_patch", { patch: TWO });
  equal(fs.readFileSync(join(where.cwd, "a"), "utf8"), "2\nmine\n");
  match(text, /The person edited the proposal[\s\S]*mine/);
});

needs("bwrap")(
  "In the sandbox nothing is made where --deny-write says so, also if a folder in it is allowed",
  async () => {
    const where = place({ "src/gen/k": "k\n" });
    const flags = ["--allow-run", "--deny-write=src", "--allow-write=src/gen"];
    equal((await tool(where, "run_command", { command: "touch src/gen/b" }, flags)).code, 1);
    deepEqual(fs.readdirSync(join(where.cwd, "src/gen")), ["k"]);
  },
);

needs("bwrap")("A command cannot make the rules of a home that lies in the project", async () => {
  const where = place();
  const home = join(where.cwd, "home");
  fs.mkdirSync(join(home, "plugins"), { recursive: true });
  const command = "touch home/permissions.json home/zz.config.json home/plugins/x.ts";
  await tool(where, "run_command", { command }, ["--allow-run"], { ZZ_HOME: home });
  equal(
    fs.readdirSync(home, { recursive: true }).filter((name) => /json|x\.ts/.test(String(name)))
      .length,
    0,
  );
});

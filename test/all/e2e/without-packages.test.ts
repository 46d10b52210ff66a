// A copy of the checkout without packages/, without one of them, and a build without them: zz
// starts, and does what everyone needs.
import { deepEqual, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import { temporaryFolder } from "../../support/files.ts";
import { place, ROOT } from "../../support/run.ts";

const base = temporaryFolder("zz-without-");

function copyOf(name: string): string {
  const folder = join(base, name);
  for (const part of `zz.ts kernel sdk plugins packages prompts build package.json tsconfig.json
    LICENSE`.split(/\s+/))
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  cpSync(join(ROOT, "dist", "plugins.json"), join(folder, "dist", "plugins.json"));
  return folder;
}

/** A model answers, edits, runs a command; the person undoes. */
async function works(program: string): Promise<void> {
  const where = place({ "a.txt": "one\n" });
  const fake = await fakeOpenAI([
    call(["read_file", { path: "a.txt" }]),
    call(["edit_file", { path: "a.txt", old_string: "one", new_string: "two" }]),
    call(["run_command", { command: "echo $((20 + 3)) > b.txt; cat b.txt" }]),
    say("Done."),
  ]);
  after(() => fake.close());
  const env = { OPENAI_API_KEY: "x" };
  const run = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      const { execFile } = process.getBuiltinModule("node:child_process");
      const clean = {
        ...process.env,
        ...env,
        ZZ_HOME: where.home,
        OLLAMA_HOST: "http://127.0.0.1:49",
      };
      const child = execFile(
        process.execPath,
        [program, ...args],
        { cwd: where.cwd, env: clean },
        (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
      child.stdin!.end();
    });
  const asked = await run("-A", "--model", "openai/m", "--base-url", fake.url, "change it");
  deepEqual([asked.code, asked.stdout, asked.stderr], [0, "Done.\n", ""]);
  match(JSON.stringify(fake.requests.at(-1)!.body), /23/);
  equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "two\n");
  await run("--undo=turn");
  equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "one\n");
  const { stdout } = await run("--plugins", "--json");
  deepEqual(
    JSON.parse(stdout).filter(
      ({ name, failure }: any) => failure || name === "mcp" || name === "symbols",
    ),
    [],
  );
}

test("without packages/ it runs from its source, and nothing is missing to who edits, runs commands and undoes", async () => {
  const copy = copyOf("none");
  rmSync(join(copy, "packages"), { recursive: true });
  await works(join(copy, "zz.ts"));
});

test("one that is missing, or broken, is named and skipped, and zz answers", async () => {
  const copy = copyOf("some");
  rmSync(join(copy, "packages", "mcp"), { recursive: true });
  rmSync(join(copy, "packages", "eval", "index.ts"));
  cpSync(join(copy, "LICENSE"), join(copy, "packages", "js", "index.ts"));
  const { home, cwd } = place();
  const env = { ...process.env, ZZ_HOME: home };
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const ran = spawnSync(process.execPath, [join(copy, "zz.ts"), "--call", "list_dir"], {
    cwd,
    env,
    encoding: "utf8",
  });
  equal(ran.status, 0, ran.stderr);
  const missing = "it is missing, and was there when zz was built\\.";
  for (const [name, reason] of Object.entries({ mcp: missing, eval: missing, js: "" }))
    match(
      ran.stderr,
      new RegExp(
        `^Cannot load plugin '${name}' \\(.*packages/${name}/index\\.ts.*\\): ${reason}`,
        "m",
      ),
    );
  equal(ran.stderr.trim().split("\n").length, 3, ran.stderr);
});

describe("a build", () => {
  const copy = copyOf("built");
  before(
    () => void execFileSync(process.execPath, ["build/program.js", "--without"], { cwd: copy }),
  );
  test("--without packages has none of them, and works", () => works(join(copy, "dist", "zz.js")));
  test("--without has the others", async () => {
    execFileSync(process.execPath, ["build/program.js", "--without=mcp,symbols"], { cwd: copy });
    await works(join(copy, "dist", "zz.js"));
    const { packages } = JSON.parse(readFileSync(join(copy, "dist", "plugins.json"), "utf8"));
    deepEqual([packages.includes("mcp"), packages.includes("web")], [false, true]);
  });
});

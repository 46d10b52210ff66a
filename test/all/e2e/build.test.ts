// `npm run build`: a step runs only if its inputs or its outputs have changed.
import { deepEqual, equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { put } from "../../support/repository.ts";
import { place, ROOT } from "../../support/run.ts";

/** The real script, in a checkout where each step writes a file, and a word to a log. */
function checkout() {
  const { cwd } = place();
  const write = (name: string, text: string) => put(cwd, { [name]: text });
  const step = (word: string, made: string) => `
    const fs = process.getBuiltinModule("node:fs");
    fs.appendFileSync("log", "${word} ");
    if (fs.existsSync("fail-${word}")) process.exit(3);
    fs.mkdirSync("${dirname(made)}", { recursive: true });
    fs.writeFileSync("${made}", "made");`;
  put(cwd, {
    "package.json": { type: "module" },
    "build/program.js": step("program", "dist/kernel.js"),
    "node_modules/typescript/bin/tsc": step("types", "dist/types/zz.d.ts"),
    "build/single-file.js": step("file", "dist/zz.mjs"),
    "zz.ts": "1",
    "plugins/a.ts": "1",
    "test/a.test.ts": "1",
  });
  cpSync(join(ROOT, "build/build.js"), join(cwd, "build/build.js"));
  const run = (...args: string[]) => {
    writeFileSync(join(cwd, "log"), "");
    const { status } = spawnSync(process.execPath, [join(cwd, "build/build.js"), ...args], {
      stdio: "ignore",
    });
    return `${readFileSync(join(cwd, "log"), "utf8")}${status || ""}`.trim();
  };
  return {
    cwd,
    put: write,
    run,
    drop: (name: string) => rmSync(join(cwd, name), { recursive: true }),
  };
}

const ALL = "program types file";
const ROWS: [what: string, change: (at: ReturnType<typeof checkout>) => void, runs: string][] = [
  ["a source file", ({ put }) => put("plugins/a.ts", "2"), ALL],
  ["a new source file", ({ put }) => put("kernel/b.ts", "1"), ALL],
  ["a source file that is gone", ({ drop }) => drop("plugins/a.ts"), ALL],
  ["a test", ({ put }) => put("test/a.test.ts", "2"), "types"],
  ["a prompt", ({ put }) => put("prompts/a.md", "1"), "file"],
  ["an installed package", ({ put }) => put("node_modules/.package-lock.json", "{}"), ALL],
  ["the program that was built", ({ put }) => put("dist/kernel.js", "spoilt"), "program"],
  ["types that are gone", ({ drop }) => drop("dist/types"), "types"],
  ["stamps that cannot be read", ({ put }) => put("dist/built.json", "{"), ALL],
];

test("What is up to date is not built again; after a change, what hangs on it; types of files that are gone do not stay", () => {
  const at = checkout();
  equal(at.run(), ALL);
  equal(at.run(), "");
  for (const [what, change, runs] of ROWS) {
    change(at);
    equal(at.run(), runs, what);
  }
  at.put("dist/types/plugins/old.d.ts", "old");
  equal(at.run("--all"), ALL);
  deepEqual(readdirSync(join(at.cwd, "dist/types")), ["zz.d.ts"]);
});

test("A step that fails ends the build with its exit code, and is not taken for done", () => {
  const { run, put, drop } = checkout();
  put("fail-types", "");
  equal(run(), "program types 3");
  equal(run(), "types 3");
  drop("fail-types");
  equal(run(), "types file");
});

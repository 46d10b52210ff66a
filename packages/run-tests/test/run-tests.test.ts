// run_tests: how it finds the way that a project tests, and what it makes of the runners' own
// output.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Ask, Result } from "../../../kernel/contract.ts";
import type { Core } from "../../../kernel/instance.ts";
import type { Tree } from "../../../test/support/files.ts";
import { having } from "../../../test/support/having.ts";
import { type Place, place } from "../../../test/support/run.ts";
import { createZz } from "../../../zz.ts";

/**
 * What run_command would have given: where the runners themselves are not here, their real output
 * is.
 */
type Ran = (args: { command: string }) => Result;
const LOOKED: Ran = ({ command }) => ({ text: command, data: { exit: 0, stdout: "", stderr: "" } });

const open = ({ cwd: root, home }: Place, allow: true | string[] = true) =>
  createZz({
    root,
    home,
    save: false,
    allow: { run: allow },
    settings: { shell: { effects: "before" } },
  });

async function run(where: Place, args: object, ask?: Ask, allow?: string[]): Promise<Result> {
  const core = await open(where, allow);
  if (ask) core.ask = ask;
  const { NODE_TEST_CONTEXT } = process.env; // our own runner's word for being inside of a test
  delete process.env.NODE_TEST_CONTEXT;
  const done = core.ctx().call("run_tests", args);
  return done.finally(() => NODE_TEST_CONTEXT && Object.assign(process.env, { NODE_TEST_CONTEXT }));
}

const bench = place();
let looking: Promise<Core> | undefined;
/**
 * In a project of these files, where run_command gives what it is told to; `within`: in this folder
 * of it.
 */
async function look(files: Tree, args: object, gives = LOOKED, within = ""): Promise<Result> {
  rmSync(bench.cwd, { recursive: true, force: true });
  having(files, bench);
  mkdirSync(bench.cwd, { recursive: true });
  const inner = { ...bench, cwd: join(bench.cwd, within) };
  const core = await (within ? open(inner) : (looking ??= open(bench)));
  core.tools.set("run_command", {
    owner: "test",
    value: { name: "run_command", description: "x", run: gives },
  });
  return core.ctx().call("run_tests", args);
}

const script = (test: string, more: object = {}): Tree => ({
  "package.json": { scripts: { test, ...more } },
});
const NAMES = ["a.test.js", "b c.test.js", "[x].test.js", "src/in/deep.test.ts", "-x.test.js"];
const T = Object.fromEntries(NAMES.map((name) => [name, ""]));
const F = { filter: "a" };
const A = { path: "a.test.js", filter: "adds" };
const BIN = {
  "node_modules/.bin/vitest": "",
  "node_modules/.bin/jest": "",
  "node_modules/.bin/mocha": "",
};
const of = (test: string): Tree => ({ ...script(test), ...T, ...BIN });
const named = (packageManager: string): Tree => ({
  "package.json": { packageManager, scripts: { test: "x" } },
});
const JEST_BY_NODE = "node --experimental-vm-modules node_modules/jest/bin/jest.js";

type Row = [what: string, files: Tree, args: object, command: string | RegExp];
const COMMANDS: Row[] = [
  ["a test script", script("anything | at all"), {}, "npm test"],
  ["pnpm by its lock file", { ...script("x"), "pnpm-lock.yaml": "" }, {}, "pnpm test"],
  [
    "the manager that package.json names",
    { ...named("pnpm@9.0.0"), "yarn.lock": "" },
    {},
    "pnpm test",
  ],
  [
    "npm's own placeholder",
    { ...script('echo "Error: no test specified" && exit 1'), ...T },
    {},
    "node --test",
  ],
  [
    "vitest by its configuration",
    { "vitest.config.ts": "", ...BIN },
    {},
    "node_modules/.bin/vitest run",
  ],
  ["a script that watches", { ...script("vitest"), ...BIN }, {}, "node_modules/.bin/vitest run"],
  ["node, a file with a space", T, { path: "b c.test.js" }, "node --test 'b c.test.js'"],
  [
    "node, a file that looks like a glob",
    T,
    { path: "[x].test.js" },
    "node --test '[[]x].test.js'",
  ],
  ["node, a file that looks like an option", T, { path: "-x.test.js" }, "node --test ./-x.test.js"],
  [
    "node, instead of the script's files",
    of("tsx --test --import ./x.js 'test/*.js'"),
    { path: "src", filter: "a" },
    "tsx --test --test-name-pattern=a --import ./x.js src/in/deep.test.ts",
  ],
  [
    "vitest",
    of("vitest run --ui"),
    A,
    "node_modules/.bin/vitest run --testNamePattern=adds --ui a.test.js",
  ],
  [
    "jest",
    of("jest --ci test"),
    A,
    "node_modules/.bin/jest --testNamePattern=adds --ci --runTestsByPath a.test.js",
  ],
  [
    "jest by node, with its settings",
    { ...script(`cross-env NODE_ENV=test X='a b' ${JEST_BY_NODE}`), ...T },
    F,
    `NODE_ENV=test X='a b' ${JEST_BY_NODE} --testNamePattern=a`,
  ],
  [
    "mocha",
    of("nyc mocha --require x '**/*.js'"),
    A,
    "node_modules/.bin/mocha --grep=adds --require x a.test.js",
  ],
  [
    "another",
    { ...script("npm run a:b", { "a:b": "jest" }), ...BIN },
    F,
    "node_modules/.bin/jest --testNamePattern=a",
  ],
  [
    "the last of several",
    of("npm run x && node --test"),
    F,
    /^\$ node .*=a\n\[Without what .* first: npm run x\]\n/,
  ],
  [
    "the project itself is no narrowing",
    { ...script("ava"), ...T },
    { path: ".", filter: "" },
    "npm test",
  ],
  [
    "a regular expression",
    T,
    { filter: "^adds|takes$" },
    "node --test '--test-name-pattern=^adds|takes$'",
  ],
  [
    "no pattern",
    T,
    { filter: "a (b) [1] $2" },
    "node --test '--test-name-pattern=a \\(b\\) \\[1\\] \\$2'",
  ],
  [
    "what sh would run",
    T,
    { filter: "'; touch x; `touch z`" },
    /^\$ node --test '--test-name-pattern='\\''; touch x;/,
  ],
];
for (const [what, files, args, command] of COMMANDS)
  test(`run_tests finds the command: ${what}`, async () => {
    const { text } = await look(files, args);
    if (typeof command === "string") equal(text.split("\n")[0], `$ ${command}`);
    else match(text, command);
  });

const REFUSED: [what: string, files: Tree, args: object, expected: RegExp][] = [
  [
    "nothing to test by",
    { "a.js": "" },
    {},
    /^found no test script in package\.json, .* and no \*\.test\.\* file\. /,
  ],
  [
    "a path for an unknown runner",
    { ...script("ava"), ...T },
    { path: "src" },
    /^path cannot .*'ava' is of no runner/,
  ],
  ["no such path", T, { path: "nope" }, /^there is no file or folder 'nope'\. Check the path\.$/],
  [
    "no such runner",
    { "vitest.config.ts": "" },
    {},
    /^vitest is not installed\. Install it first: npm install/,
  ],
  ["a broken package.json", { "package.json": "{" }, {}, /^package\.json cannot be read \(.*JSON/],
];
for (const [what, files, args, expected] of REFUSED)
  test(`run_tests refuses ${what}`, async () => {
    const { text, failed } = await look(files, args);
    const [, why = ""] = /^Cannot run tests: (.*)$/s.exec(text) ?? [];
    match(why, expected);
    equal(failed, true);
  });

const adding = (more: string) => ({
  ...script("node --test"),
  "test/a.test.js": `const { test } = require("node:test"), assert = require("node:assert");
    test("adds", () => {}); test("adds (badly)", () => assert.equal(1 + 1, 3)); ${more}`,
});
const real = having({
  ...adding('test.skip("later", () => {});'),
  "test/b.test.js": 'require("node:test").test("fine", () => {});',
  "test/c [1] 'x'.test.js": 'require("node:test").test("$(touch planted)", () => {});',
});
/** Each file is a process, so filters are tried on one. */
const oneFile = having(adding('test("$(touch planted)", () => {});'));
const COUNTS: [args: object, counts: string, failures: string[]][] = [
  [{}, "passed 3, failed 1, skipped 1 (exit code 1)", ["adds (badly)"]],
  [{ path: "test/c [1] 'x'.test.js" }, "passed 1, failed 0 (exit code 0)", []],
  [{ filter: "adds (badly)" }, "passed 0, failed 1 (exit code 1)", ["adds (badly)"]],
];
for (const [args, counts, failures] of COUNTS)
  test(`run_tests, for real, with ${JSON.stringify(args)}: ${counts}`, async () => {
    const result = await run("filter" in args ? oneFile : real, args);
    equal(result.text.split("\n")[1], counts, result.text);
    deepEqual((result.data as any).failures, failures);
    equal(Boolean(result.failed), failures.length > 0);
    for (const name of failures) ok(result.text.includes(`\nfailed: ${name}\n`), result.text);
    equal(
      /AssertionError.*\n.*test\/a\.test\.js/.test(result.text),
      failures.length > 0,
      result.text,
    );
    if (Object.keys(args).length) return;
    const { command, runner, exit, output } = result.data as any;
    deepEqual([command, runner, exit], ["npm test", "node", 1]);
    match(output, /✔ fine[\s\S]*✖ failing tests:/, "the whole output is in the data");
  });

test("run_tests: a name that no test has is a failure that says so", async () => {
  const { text, failed } = await run(oneFile, { filter: "nope" });
  equal(
    text,
    "$ node --test --test-name-pattern=nope\nNo test ran: nothing matches filter 'nope'.",
  );
  equal(failed, true);
});

test("run_tests: what runs is asked for, as a command; a no comes back as one", async () => {
  const questions: string[] = [];
  const ask = async (question: string) => (questions.push(question) ? "n" : "");
  const { text, refused } = await run(real, { filter: "a b" }, ask, []);
  match(questions[0]!, /run_command[\s\S]*wants to run "node --test '--test-name-pattern=a b'"/);
  match(text, /^Refused: the person said no to run access to "node --test/);
  equal(refused, true);
});

test("run_tests: a script that ends before its tests shows how", async () => {
  const where = having({
    ...script("node build.js && node --test"),
    "build.js": 'throw new Error("no lamp")',
  });
  const { text, failed } = await run(where, {});
  match(text, /^\$ npm test\nEnded with exit code 1\.\n\n[\s\S]*Error: no lamp/);
  equal(failed, true);
});

test("run_tests: a runner in a folder above, as workspaces have it", async () => {
  const { text } = await look({ ...BIN, "in/vitest.config.ts": "" }, {}, LOOKED, "in");
  equal(text.split("\n")[0], "$ ../node_modules/.bin/vitest run");
});

/** vitest 5.1.1, colours and all: what fails is on stderr. */
const VITEST = {
  stdout: [
    " \u001b[31m❯\u001b[39m a.test.mjs \u001b[2m(\u001b[22m\u001b[2m3 tests\u001b[22m\u001b[2m | \u001b[22m\u001b[31m1 failed\u001b[39m\u001b[2m)\u001b[22m",
    "\u001b[31m     \u001b[31m×\u001b[31m adds (badly)\u001b[39m\u001b[32m 4\u001b[2mms\u001b[22m\u001b[39m",
    "\u001b[2m Test Files \u001b[22m \u001b[1m\u001b[31m1 failed\u001b[39m\u001b[22m\u001b[2m | \u001b[22m\u001b[1m\u001b[32m1 passed\u001b[39m\u001b[22m\u001b[90m (2)\u001b[39m",
    "\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[31m1 failed\u001b[39m\u001b[22m\u001b[2m | \u001b[22m\u001b[1m\u001b[32m2 passed\u001b[39m\u001b[22m\u001b[2m | \u001b[22m\u001b[33m1 skipped\u001b[39m\u001b[90m (4)\u001b[39m",
    "",
  ].join("\n"),
  stderr: [
    "\u001b[31m⎯⎯⎯⎯⎯⎯⎯\u001b[39m\u001b[1m\u001b[41m Failed Tests 1 \u001b[49m\u001b[22m\u001b[31m⎯⎯⎯⎯⎯⎯⎯\u001b[39m",
    "",
    "\u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m a.test.mjs\u001b[2m > \u001b[22msums\u001b[2m > \u001b[22madds (badly)",
    "\u001b[31m\u001b[1mAssertionError\u001b[22m: expected 2 to be 3 // Object.is equality\u001b[39m",
    "",
  ].join("\n"),
};
/** jest 30.5.2: all of it is on stderr. */
const JEST = {
  stderr: [
    "FAIL ./a.test.js",
    "  ● sums › adds (badly)",
    "",
    "    Expected: 3",
    "    Received: 2",
    "",
    "Test Suites: 1 failed, 1 passed, 2 total",
    "Tests:       1 failed, 1 skipped, 2 passed, 4 total",
    "",
  ].join("\n"),
};
/** mocha 12.0.3 */
const MOCHA = {
  stdout: [
    "  sums",
    "    1) adds (badly)",
    "",
    "  1 passing (3ms)",
    "  1 pending",
    "  1 failing",
    "",
    "  1) sums",
    "       adds (badly):",
    "",
    "      AssertionError [ERR_ASSERTION]: 2 == 3",
    "",
  ].join("\n"),
};
/** node 24.21.0 with --test-reporter=tap */
const TAP = {
  stdout: [
    "TAP version 13",
    "    # Subtest: adds (badly)",
    "    not ok 2 - adds (badly)",
    "      ---",
    "      error: '2 == 3'",
    "      ...",
    "    ok 3 - later # SKIP",
    "not ok 2 - sums",
    "  ---",
    "  failureType: 'subtestsFailed'",
    "  ...",
    "1..3",
    "# pass 3",
    "# fail 1",
    "# skipped 1",
    "",
  ].join("\n"),
};

type Output = Partial<Record<"stdout" | "stderr", string>>;
const OUTPUTS: [runner: string, output: Output, passed: number, failure: string, why: RegExp][] = [
  [
    "vitest run",
    VITEST,
    2,
    "a.test.mjs > sums > adds (badly)",
    /\n⎯+ Failed Tests 1 ⎯+\n[\s\S]*expected 2 to be 3/,
  ],
  ["jest", JEST, 2, "sums › adds (badly)", /Expected: 3\n {4}Received: 2/],
  ["mocha", MOCHA, 1, "sums › adds (badly)", /\n1 failing\n[\s\S]*AssertionError/],
  ["node --test --test-reporter=tap", TAP, 3, "adds (badly)", /error: '2 == 3'/],
];
for (const [runner, output, passed, failure, why] of OUTPUTS)
  for (const known of [true, false])
    test(`run_tests reads what \`${runner}\` prints, ${known ? "known" : "behind another script"}`, async () => {
      const gives: Ran = () => ({
        text: "x",
        failed: true,
        data: { exit: 1, stdout: "", stderr: "", ...output },
      });
      const result = await look(script(known ? runner : "make check"), {}, gives);
      equal(result.text.split("\n")[1], `passed ${passed}, failed 1, skipped 1 (exit code 1)`);
      deepEqual((result.data as any).failures, [failure]);
      match(result.text, why);
      doesNotMatch(result.text, /\x1b/);
      equal(result.failed, true);
    });

test("run_tests: an output too long is cut in what the model reads", async () => {
  const data = {
    exit: null,
    timedOut: true,
    stdout: `${"line\n".repeat(99999)}the end`,
    stderr: "",
  };
  const gives: Ran = () => ({ text: "x", data });
  const { text } = await look(script("make check"), {}, gives);
  match(
    text,
    /^\$ npm test\nEnded with stopped: it took too long\.\n\n\[…\]\nline\n[\s\S]*the end$/,
  );
  ok(text.length < 5_000);
});

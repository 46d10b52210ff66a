// Plugins as someone has them who installed zz: without the packages that only zz's own tests need.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { standingClock } from "../../../../sdk/clock.ts";
import { put } from "../../../../test/support/files.ts";
import { repl } from "../../../../test/support/repl.ts";
import { type Place, place, ROOT } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";

const run = promisify(execFile);
const FILE = join(ROOT, "dist", "zz.mjs");
const LINKS = ["@types", "typebox", "zod", "zz"];
const START_DELAY_MS = 1_000; // after the first prompt
const EXAMPLES = join(ROOT, "plugins", "examples");

/** What npm does where it fetches Node's types. */
const TYPES = `mkdir -p node_modules/@types
cp -rL ${ROOT}/node_modules/@types/node node_modules/@types/
cp -rL ${ROOT}/node_modules/undici-types node_modules/`;

/** zz in one file, which brings no types of Node's; `npm` is what npm does. */
async function installed(where: Place, args: string[], npm = "exit 1") {
  const bin = join(where.home, "..", "bin");
  put(bin, { npm: `#!/bin/sh\n${npm}\n` });
  chmodSync(join(bin, "npm"), 0o755);
  const path = `${bin}${delimiter}${process.env.PATH}`;
  const cache = join(where.home, "..", "cache");
  const env = { ...process.env, PATH: path, ZZ_HOME: where.home, XDG_CACHE_HOME: cache };
  return run(process.execPath, [FILE, ...args], { cwd: where.cwd, env });
}

describe("in an installed zz", () => {
  test("each example passes --check-plugin", async () => {
    const where = place();
    const examples = readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts"));
    equal(examples.length, 8);
    for (const name of examples) {
      const { stdout } = await installed(where, ["--check-plugin", join(EXAMPLES, name)]);
      match(stdout, /has no type errors/, name);
    }
  });

  test("what Node alone has is no type error, with Node's types in the home or without", async () => {
    const uses = `setTimeout(() => {}, 1).unref();
setImmediate(() => {});
export const bytes = (text: string): Buffer => Buffer.from(text, "utf8");
export default () => void bytes("x").toString("hex");\n`;
    for (const npm of [TYPES, "exit 1"]) {
      const where = place({}, {}, { "plugins/bytes.ts": uses });
      await installed(where, ["--new-plugin", "lamp"], npm);
      const { stdout } = await installed(where, ["--check-plugin", "bytes"]);
      match(stdout, /has no type errors/);
    }
    const where = place({}, {}, { "plugins/bytes.ts": `${uses}Buffer.from(1, 2, 3, 4);\n` });
    await installed(where, ["--new-plugin", "lamp"], TYPES);
    const told = await installed(where, ["--check-plugin", "bytes"]).catch((error) => error);
    match(told.stdout + told.stderr, /bytes\.ts:5:\d+: /);
  });

  test("--new-plugin brings Node's types, so that an editor finds no error in the test", async () => {
    const where = place();
    await installed(where, ["--new-plugin", "lamp"], TYPES);
    const { devDependencies } = JSON.parse(readFileSync(join(where.home, "package.json"), "utf8"));
    deepEqual(Object.keys(devDependencies), ["@types/node"]);
    const tsc = join(ROOT, "node_modules", ".bin", "tsc");
    const { stdout } = await run(tsc, ["-p", where.home, "--listFilesOnly"]);
    ok(stdout.includes("@types/node/assert/strict.d.ts"), stdout);
    await run(tsc, ["-p", where.home]);
  });

  test("at the prompt, links that npm removed are made again, but only where --new-plugin made some", async (t) => {
    for (const isMade of [true, false]) {
      const where = place({}, {}, isMade ? { "tsconfig.json": "{}\n" } : {});
      const modules = join(where.home, "node_modules");
      const clock = standingClock();
      const it = await repl(t, { where, clock });
      await clock.waits(START_DELAY_MS);
      await clock.pass(START_DELAY_MS);
      if (isMade) await waitFor("the links", () => existsSync(join(modules, "typebox")));
      await it.say("hello");
      deepEqual(existsSync(modules) ? readdirSync(modules).sort() : [], isMade ? LINKS : []);
      await it.leave();
    }
  });

  test("--new-plugin works without npm, and says what is missing", async () => {
    const where = place();
    const { stdout } = await installed(where, ["--new-plugin", "lamp"]);
    match(stdout, /^Node's types could not be fetched\. .*: @types\/node@\d+ of npm has them\.$/m);
    ok(existsSync(join(where.home, "node_modules", "zz")));
    ok(!existsSync(join(where.home, "package.json")));
  });
});

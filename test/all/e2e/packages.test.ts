// What people install: the packed tarball with the two packages that it needs, and the single file.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { askable, call, say } from "../../support/fake/openai.ts";
import { temporaryFolder } from "../../support/files.ts";
import { ROOT } from "../../support/run.ts";

const base = temporaryFolder("zz-packages-");
const npm = (args: string[], cwd: string) =>
  execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

let count = 0;
/** A program in an empty home and an empty project. */
function newcomer(file: string, env: Record<string, string> = {}) {
  const [home, cwd] = [join(base, `home${++count}`), join(base, `project${count}`)];
  for (const folder of [home, cwd]) mkdirSync(folder);
  const clean = { PATH: process.env.PATH!, HOME: home, OLLAMA_HOST: "http://127.0.0.1:49", ...env };
  const run = async (...args: string[]) => {
    const running = promisify(execFile)(process.execPath, [file, ...args], { cwd, env: clean });
    running.child.stdin!.end();
    const { stdout, stderr } = await running;
    return { stdout, stderr };
  };
  return { home, cwd, run, cache: join(home, ".cache", "zz") };
}

const PLUGIN = `import type { Zz } from "zz";
import { Type } from "typebox";
import { z } from "zod";
import { plural } from "zz/text";
export default (zz: Zz) => {
  zz.tool({ name: "by_zod", description: "d", params: z.object({ n: z.number() }), run: ({ n }) => plural(n, "thing") });
  zz.tool({ name: "by_typebox", description: "d", params: Type.Object({ n: Type.Number() }), run: ({ n }) => plural(n, "thing") });
  zz.tool({ name: "by_both", description: "d", params: z.object({ n: z.number() }), run: async (args, ctx) =>
    (await Promise.all(["by_zod", "by_typebox"].map((name) => ctx.call(name, args)))).map(({ text }) => text).join() });
};
`;

/** A model answers, a file is edited, a plugin is checked and loaded. */
async function works({ cwd, home, run }: ReturnType<typeof newcomer>): Promise<void> {
  const write = call([
    "write_file",
    { path: "a.ts", content: "export const abc = () => 1;\nabc();\n" },
  ]);
  const { args } = await askable([write, say("Written.")]);
  const asked = await run("-A", ...args, "hello");
  deepEqual(asked, { stdout: "Written.\n", stderr: "" });
  writeFileSync(join(cwd, "own.ts"), PLUGIN);
  match((await run("--check-plugin", "own.ts")).stdout, /no type errors/);
  const { stdout } = await run("--plugin", "./own.ts", "--call", "by_both", '{"n":3}');
  equal(stdout, "3 things,3 things\n");
  ok(
    existsSync(join(home, ".zz", "sessions")),
    "an installed zz keeps the person's things in ~/.zz",
  );
}

describe("the packed tarball", () => {
  const installed = join(base, "lib", "node_modules");
  let packed: { unpackedSize: number; files: { path: string }[]; filename: string };
  before(() => {
    [packed] = JSON.parse(
      npm(["pack", "--json", "--ignore-scripts", "--pack-destination", base], ROOT),
    );
    mkdirSync(installed, { recursive: true });
    execFileSync("tar", ["-xzf", join(base, packed.filename), "-C", installed]);
    fs.renameSync(join(installed, "package"), join(installed, "zz"));
  });

  test("brings every page that its README leads to, for who has no checkout", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const links = [...readme.matchAll(/\]\(([\w./-]+)[#)]|(?:src|srcset)="([^"]+)"/g)];
    ok(links.length > 12);
    for (const [, one, link = one] of links)
      ok(
        packed.files.some(({ path }) => path === link || path.startsWith(`${link}/`)),
        link,
      );
  });

  test("brings two packages that bring no others, none with an install script", () => {
    const { dependencies, scripts } = JSON.parse(
      readFileSync(join(installed, "zz", "package.json"), "utf8"),
    );
    const warned = Object.keys(scripts).filter((name) =>
      /^((pre|post)?install|prepare|prepublish)$/.test(name),
    );
    deepEqual(warned, [], "npm warns of these at an install");
    const names = Object.keys(dependencies);
    deepEqual(names, ["typebox", "zod"]);
    for (const name of names) {
      const theirs = JSON.parse(
        readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"),
      );
      deepEqual([theirs.dependencies ?? {}, theirs.scripts?.postinstall], [{}, undefined]);
      cpSync(join(ROOT, "node_modules", name), join(installed, name), { recursive: true });
    }
    ok(!packed.files.some(({ path }) => /zz\.mjs$|^test\//.test(path)));
  });

  test("works in a clean home, and reads code", async () => {
    const one = newcomer(join(installed, "zz", "dist", "zz.js"));
    await works(one);
    const { stdout } = await one.run("--call", "find_references", '{"symbol":"abc"}');
    match(stdout, /a\.ts:2: abc\(\);/);
  });
});

describe("the one file", { concurrency: 2 }, () => {
  const file = join(base, "zz.mjs");
  before(() => cpSync(join(ROOT, "dist", "zz.mjs"), file));
  const unpacked = (cache: string) => readdirSync(cache);
  describe("in an empty folder", { concurrency: 1 }, () => {
    const one = newcomer(file);
    before(() => {
      for (const [name, age] of [
        [".new-abc", 7_200],
        ["0123456789abcdef", 40 * 86_400],
        ["fedcba9876543210", 86_400],
      ] as const) {
        mkdirSync(join(one.cache, name), { recursive: true, mode: 0o700 });
        const then = Date.now() / 1000 - age;
        fs.utimesSync(join(one.cache, name), then, then);
      }
      fs.chmodSync(one.cache, 0o700);
    });

    test("works in an empty folder", () => works(one));
    test("what killed runs and old versions left is swept", () => {
      equal(unpacked(one.cache).length, 2);
      ok(unpacked(one.cache).includes("fedcba9876543210"));
    });
  });

  test("two at once unpack it once, and leave nothing half-done", async () => {
    const one = newcomer(file);
    const runs = await Promise.all(Array.from({ length: 2 }, () => one.run("--version")));
    deepEqual(new Set(runs.map(({ stdout, stderr }) => stdout + stderr)).size, 1);
    equal(unpacked(one.cache).length, 1);
    ok(existsSync(join(one.cache, unpacked(one.cache)[0]!, "dist", "zz.js")));
  });

  /** The beginning of the one file, with little to unpack: what it does with a cache does not
   * depend on how much that is. */
  const small = join(base, "small.mjs");
  before(() => {
    const program = 'console.log("zz 1");\n';
    const index = JSON.stringify([["dist/zz.js", program.length]]);
    const packed = brotliCompressSync(`${index}\n${program}`).toString("base64");
    const text = readFileSync(file, "latin1");
    writeFileSync(small, `${text.slice(0, text.lastIndexOf("\n//"))}\n//${packed}\n`, "latin1");
  });

  test("where neither the cache nor the folder for temporary files can be written, it runs all the same", async () => {
    const one = newcomer(small, { TMPDIR: join(base, "none") });
    mkdirSync(join(one.home, ".cache"));
    writeFileSync(one.cache, "");
    const { stdout, stderr } = await one.run("--version");
    match(stdout, /^zz \d/);
    match(stderr, /^Cannot keep zz unpacked in '.*': .*\. It is unpacked for this run alone/);
  });

  const HOSTILE: Record<string, (cache: string, elsewhere: string) => unknown> = {
    "that others may write": (cache) => [mkdirSync(cache), fs.chmodSync(cache, 0o777)],
    "that is a link": (cache, elsewhere) => fs.symlinkSync(elsewhere, cache),
    "that is a file": (cache) => writeFileSync(cache, ""),
  };
  for (const [what, prepare] of Object.entries(HOSTILE))
    test(`a cache ${what} is not used: it runs from a folder of its own, and says so`, async () => {
      const tmp = mkdtempSync(join(base, "tmp-"));
      const one = newcomer(small, { TMPDIR: tmp });
      mkdirSync(join(one.home, ".cache"));
      prepare(one.cache, mkdtempSync(join(base, "else-")));
      const { stdout, stderr } = await one.run("--version");
      match(stdout, /^zz \d/);
      match(stderr, /^Cannot keep zz unpacked in '.*': .*XDG_CACHE_HOME names another place\.$/m);
      ok(!readdirSync(tmp).some((name) => name.startsWith("zz-")));
    });
});

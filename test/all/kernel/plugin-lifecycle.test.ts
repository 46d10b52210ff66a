// Endless loops in plugins that are being loaded, wherever they are: zz ends them, names them, and the others load.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { place, zzProcess } from "../../support/run.ts";

const tool = (name: string) =>
  `export default (zz) => zz.tool({ name: "${name}", description: "d", run: () => "on" });\n`;
const LOOP = "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);";

function home() {
  const where = place();
  const put = (name: string, text: string) => {
    const file = join(where.home, "plugins", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return { where, put };
}

test("A loop at the top, at set-up, after an await and in an import", async () => {
  const { where, put } = home();
  const LOOPS: [name: string, source: string][] = [
    ["a_at_the_top", "for (;;);\nexport default () => {};"],
    ["b_at_set_up", `export default () => { ${LOOP} };`],
    ["c_after_an_await", `await 1;\n${LOOP}\nexport default () => {};`],
    ["d_in_an_import", 'import "./lib/endless.ts";\nexport default () => {};'],
  ];
  put("lib/endless.ts", LOOP);
  for (const [name, source] of LOOPS) {
    put(`${name}.ts`, source);
    put(`${name}_next.ts`, tool(`after_${name}`));
  }
  const { stdout, stderr, code } = await zzProcess(where, ["--tools"], { env: { ZZ_LOAD_LIMIT: "4" } });
  equal(code, 0);
  for (const [name] of LOOPS) {
    match(stdout, new RegExp(`^after_${name} `, "m"));
    ok(stderr.includes(`Cannot load plugin '${name}' (`), stderr);
  }
  equal(stderr.match(/it ran for 4 s without an end\. Fix its loop\./g)?.length, LOOPS.length);
});

test("One that loaded before, and one that loops, are tried once, and again with more time", async () => {
  const { where, put } = home();
  const note = join(where.home, "tries.txt");
  const notes = `import { appendFileSync } from "node:fs";\nappendFileSync(${JSON.stringify(note)}, "x");\n`;
  put("known.ts", `${notes}if (process.env.STUCK) await new Promise(() => {});\n${tool("known")}`);
  put("z.ts", tool("after"));
  const start = (seconds: string, env: Record<string, string> = { STUCK: "1" }) =>
    zzProcess(where, ["--call", "after"], { env: { ZZ_LOAD_LIMIT: seconds, ...env } });
  const tries = () => readFileSync(note, "utf8").length;
  equal((await start("4", {})).stderr, "");
  match((await start("4")).stderr, /^Cannot load plugin 'known' .*longer than 4 s\./m);
  deepEqual(tries(), 2);
  const again = await start("4");
  match(again.stderr, /^Cannot load plugin 'known' .*loading took longer than 4 s before\./m);
  deepEqual([again.stdout, tries()], ["on\n", 2]);
  await start("5");
  equal(tries(), 3);
});

// decode(): a job in a process of its own, and how it ends.
import { deepEqual, equal, rejects } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type Decoding, decode } from "../../sdk/decode.ts";
import { harness, standingClock } from "../../sdk/testing.ts";
import { running } from "../support/children.ts";
import { ROOT } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const SHELL = [join(ROOT, "plugins/shell/index.ts")];
const FOREVER = "for (;;);";

/** A zz with one job: the body of a function of `bytes` and `how`. */
async function having(t: TestContext, body: string, more: Parameters<typeof harness>[0] = {}) {
  const files = { "job.ts": `export default async (bytes: Buffer, how: any) => {${body}};` };
  const zz = await harness({ plugins: SHELL, files, ...more }, t);
  const near = pathToFileURL(join(zz.root, "any.ts")).href;
  const run = (rest: Partial<Decoding> = {}) =>
    decode<any>({ job: "job", near, bytes: Buffer.from("bytes"), ...rest }, zz.ctx);
  return { zz, run };
}

test("decode() gives what a job makes of bytes", async (t) => {
  const { run } = await having(
    t,
    "console.log(1); return { value: `${how} ${bytes}`, bytes: [bytes.subarray(0, 2), bytes] }",
  );
  const { value, bytes } = await run({ how: "some" });
  deepEqual([value, ...bytes.map(String)], ["some bytes", "by", "bytes"]);
});

const [TOO_MUCH, SMALL] = ["reading it takes too much memory", { megabytes: 64 }];
const FAILURES: [what: string, body: string, why: string, how?: Partial<Decoding>][] = [
  ["says why", `throw Object.assign(new Error("it needs a key"), { sentence: true })`,
    "it needs a key"],
  ["throws another's words", `throw new Error("FlateStream: bad block type")`, "it is damaged"],
  ["ends", "process.exit(3)", "what reads it ended"],
  ["fills its heap", "const all = []; for (;;) all.push([bytes]);", TOO_MUCH, SMALL],
  ["takes memory beside its heap", "const all = []; for (;;) all.push(Buffer.alloc(2 ** 24, 1));",
    TOO_MUCH, SMALL],
  ["writes too much", `return { value: "x".repeat(2 ** 21) }`, "it unpacks to more than 1 MB",
    { most: 1 }],
]; // biome-ignore format: a table
for (const [what, body, why, how] of FAILURES)
  test(`decode() of a job that ${what}: ${why}`, async (t) => {
    const { run } = await having(t, body);
    await rejects(run(how), { message: why });
  });

test("decode() ends a job that takes too long, and one of a turn that is stopped", async (t) => {
  const clock = standingClock();
  const { zz, run } = await having(t, FOREVER, { clock });
  const isGone = () => waitFor("its end", () => !running(zz.root).length);
  const late = rejects(run({ seconds: 7 }), { message: "reading it took longer than 7 s" });
  await waitFor("its process", () => running(zz.root).length);
  await clock.waits(7_000);
  await clock.pass(7_000);
  await late;
  await isGone();
  const stopped = rejects(run(), { name: "AbortError" });
  await waitFor("its process", () => running(zz.root).length);
  zz.stop();
  await stopped;
  await isGone();
  await rejects(run(), { name: "AbortError" });
});

test("a job is not begun by a process that nobody can end any more", async (t) => {
  const { zz } = await having(t, FOREVER);
  const decoder = join(ROOT, "sdk/decoder.ts");
  const { stdout, status } = spawnSync(
    process.execPath,
    ["--no-warnings", decoder, join(zz.root, "job.ts")],
    { input: "", encoding: "utf8" },
  );
  deepEqual([stdout, status], ["\n", 0]);
});

const REACH = `
const { readFileSync, writeFileSync } = await import("node:fs");
const { connect } = await import("node:net");
const { spawnSync } = await import("node:child_process");
const tried = { read: () => readFileSync(how.secret), system: () => readFileSync("/etc/passwd"), write: () => writeFileSync(how.secret, "x"),
  start: () => spawnSync("true"), net: () => new Promise((done, fail) => connect(how.port, "127.0.0.1").on("connect", done).on("error", fail)) };
const could = [];
for (const [name, act] of Object.entries(tried)) try { await act(); could.push(name); } catch {}
return { value: could };`;
for (const [what, plugins] of [["in the sandbox", SHELL] as const, ["without one", []] as const])
  test(`a job reads its own code ${what}, writes nothing and starts nothing`, async (t) => {
    const { zz, run } = await having(t, REACH, { plugins: [...plugins], home: { secret: "s" } });
    const sandbox = await zz.ctx.service("sandbox")?.name(zz.ctx);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const how = {
      secret: join(zz.home, "secret"),
      port: (server.address() as { port: number }).port,
    };
    // Node's own walls have none for the network
    deepEqual((await run({ how })).value, sandbox ? [] : ["net"]);
    equal(zz.questions.length, 0);
  });

test("where the system sets no limits, a job's process ends itself when it takes too much memory", async (t) => {
  const { zz } = await having(
    t,
    "const all = []; for (let i = 0; i < 60; i++) all.push(Buffer.alloc(2 ** 24, 1)); for (;;);",
  );
  const args = [join(ROOT, "sdk/decoder.ts"), join(zz.root, "job.ts"), "null", `${300e6}`];
  const { signal } = spawnSync(process.execPath, args, {
    input: "\n",
    timeout: 60_000,
    killSignal: "SIGTERM",
  });
  equal(signal, "SIGKILL");
});

test("nothing else in zz loads what decodes", () => {
  const decoders =
    /["'](?:pngjs|jpeg-js|sixel\/.*|unpdf|@mozilla\/readability|turndown|@mixmark-io\/domino|(?:node:)?zlib)["']/;
  // checksums; grammars that zz brings
  const others = ["packages/symbols/store.ts", "packages/symbols/languages/grammar.ts"];
  // unpacked piece by piece, off the main thread, as far as its reader asks
  const streams = ["kernel/conversation/http-transport.ts"];
  const folders = ["kernel", "plugins", "packages", "sdk"].flatMap((at) =>
    readdirSync(join(ROOT, at), { recursive: true, encoding: "utf8" }).map((name) =>
      join(at, name),
    ),
  );
  const isFree = (name: string) =>
    /^(?!packages\/[^/]+\/test\/).*\.ts$/.test(name) && !basename(name).startsWith("decode-");
  const found = ["zz.ts", ...folders.filter(isFree)].filter((name) =>
    decoders.test(readFileSync(join(ROOT, name), "utf8")),
  );
  deepEqual(found.sort(), [...others, ...streams].sort());
});

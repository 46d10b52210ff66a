// What may take long, and how long.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { slowness } from "../support/machine.ts";
import { place, zz } from "../support/run.ts";

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", "--once", ...more];

test("A wrapper that hangs after what it wraps is cut off after 5 s and named", async (t) => {
  const fake = await fakeOpenAI([call(["list_dir", {}]), say("Went on.")]);
  t.after(fake.close);
  const where = place();
  const hang = `export default (zz) => zz.wrap("call", async (call, next) => { await next(call); await new Promise(() => {}); });`;
  writeFileSync(join(where.cwd, "hang.ts"), hang);
  const ran = await zz(where, asks(fake.url, "--plugin", "hang.ts", "hi"));
  deepEqual([ran.stdout, ran.code], ["Went on.\n", 0]);
  match(
    fake.requests[1]!.body.messages.at(-1).content,
    /^Plugin 'hang' was cut off in 'call': it took longer than 5 s\./,
  );
  ok(ran.ms > 4_900 && ran.ms < 20_000 * slowness(), `${ran.ms}`);
});

test("A path of many parts is refused at once", async () => {
  const ran = await zz(place(), ["--call", "read_file", JSON.stringify({ path: `${"a/".repeat(20_000)}b` })]);
  equal(ran.code, 1, ran.stderr);
  ok(ran.ms < 1_500 * slowness(), `it took ${Math.round(ran.ms)} ms`);
});

test("A line without end costs no more than its length", async (t) => {
  const bomb = gzipSync(Buffer.concat([Buffer.from("data: "), Buffer.alloc(100 << 20, 120)]), { level: 1 });
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" }).end(bomb),
  );
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as { port: number };
  const { ms, stderr } = await zz(place(), asks(`http://127.0.0.1:${port}/v1`, "hi"));
  match(stderr, /sent a line of more than 8 MB, and was given up/);
  ok(ms < 8_000 * slowness(), `it took ${Math.round(ms)} ms`);
});

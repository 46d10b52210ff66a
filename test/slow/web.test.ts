// What a very large page and one that unpacks to very much take: the memory of the whole process, thread and all.
import { equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createGzip } from "node:zlib";
import { place, WAYS } from "../support/run.ts";

const MAX_MB = 150;
const PAGE = Buffer.from(
  "<p>Some <a href='/x'>long</a> text, with commas, and more of it here. <b>bold</b></p>".repeat(12_000),
);

for (const [what, isPacked] of [
  ["a page of 100 MB", false],
  ["a page that unpacks to 1,000 MB", true],
] as const)
  test(`${what} is cut within ${MAX_MB} MB`, { skip: process.platform !== "linux" }, async (t) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html", ...(isPacked && { "content-encoding": "gzip" }) });
      const to = isPacked ? createGzip() : response;
      if (to !== response) to.pipe(response);
      let left = isPacked ? 1e9 : 1e8;
      const send = (): void => {
        for (; left > 0 && !response.destroyed; ) {
          left -= PAGE.length;
          if (!to.write(PAGE)) return void to.once("drain", send);
        }
        to.end();
      };
      to.on("error", () => {});
      send();
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const where = place();
    const args = [...WAYS.dist.slice(1), `--allow-net=${host}`, "--call", "web_fetch", `{"url":"http://${host}/"}`];
    const child = spawn(WAYS.dist[0], args, { cwd: where.cwd, env: { ...process.env, ZZ_HOME: where.home } });
    let [most, text] = [0, ""];
    child.stdout.on("data", (piece) => (text += piece));
    const clock = setInterval(() => {
      try {
        const [, kb = "0"] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
        most = Math.max(most, Number(kb) / 1000);
      } catch {} // it has ended
    }, 10);
    const code = await new Promise((done) => child.on("close", done));
    clearInterval(clock);
    equal(code, 0);
    match(text, /Only the first 3 MB were read\./);
    t.diagnostic(`${Math.round(most)} MB`);
    ok(most > 20 && most <= MAX_MB, `${most} MB`);
  });

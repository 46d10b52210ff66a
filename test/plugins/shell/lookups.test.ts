// Which hosts a command without a network looked up, as the C library asks for them.
import { deepEqual, equal } from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { recordLookups } from "../../../plugins/shell/host-lookups.ts";
import { temporaryFolder } from "../../support/files.ts";

const request = (type: number, name: string, length = name.length + 1): Buffer => {
  const head = Buffer.alloc(12);
  [2, type, length].forEach((value, i) => void head.writeInt32LE(value, 4 * i));
  return Buffer.concat([head, Buffer.from(`${name}\0`, "latin1")]);
};

/** Sends it in these pieces, and waits until it was hung up on. */
const ask = (socket: string, ...pieces: Buffer[]) =>
  new Promise<number>((done) => {
    let answered = 0;
    const client = net.connect(socket, async () => {
      for (const piece of pieces) {
        client.write(piece);
        // in which it is read by itself
        for (let rounds = 0; rounds < 3; rounds++) await nextRound();
      }
    });
    client.on("data", (bytes) => (answered += bytes.length)).on("error", () => {});
    client.on("close", () => done(answered));
  });

async function hear(t: TestContext) {
  const own = temporaryFolder("zz-names-");
  const heard = await recordLookups(own);
  t.after(heard.close);
  return heard;
}

test("a host is heard, in one piece or several, once, and nothing is answered", async (t) => {
  const heard = await hear(t);
  equal(await ask(heard.socket, request(14, "API.Example.com.")), 0);
  const whole = request(4, "two.example");
  await ask(heard.socket, whole.subarray(0, 5), whole.subarray(5, 15), whole.subarray(15));
  await ask(heard.socket, request(5, "two.example"));
  deepEqual(heard.names(), ["api.example.com", "two.example"]);
});

test("hosts are heard at a socket whose name is too long for the system, and it is removed at the end", async (t) => {
  const own = mkdtempSync(join(tmpdir(), "long".repeat(40)));
  t.after(() => rmSync(own, { recursive: true, force: true }));
  const heard = await recordLookups(own);
  await ask(heard.socket, request(14, "a.example"));
  deepEqual(heard.names(), ["a.example"]);
  heard.close();
  equal(existsSync(dirname(heard.socket)), false);
});

test("nothing of what is garbled, names no host of elsewhere, or is more than a few", async (t) => {
  const heard = await hear(t);
  const odd = [
    "localhost",
    "localhost.localdomain",
    "10.0.0.1",
    "",
    "x'; rm.example",
    "\x1b[31m.example",
    "-.example",
  ];
  for (const name of odd) await ask(heard.socket, request(14, name));
  await ask(heard.socket, request(0, "root.example")); // asks for a user
  await ask(heard.socket, request(14, "long.example", 2 ** 31 - 1));
  await ask(heard.socket, request(14, "minus.example", -5));
  await ask(heard.socket, Buffer.alloc(100_000, "x"));
  await ask(heard.socket, Buffer.from("ab")); // and no more: it is hung up on
  deepEqual(heard.names(), []);
  for (let i = 0; i < 40; i++) await ask(heard.socket, request(14, `n${i}.example`));
  equal(heard.names().length, 20);
});

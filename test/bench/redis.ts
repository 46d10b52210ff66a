// What sessions in Redis cost: an append beside a bare one, and the list of many.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listSessions, openSession } from "../../kernel/conversation/session-files.ts";
import { openRedis } from "../../packages/redis/store.ts";
import { freePort, LASTING, tell } from "../../packages/redis/test/server.ts";
import type { Bench, Figure } from "../support/bench.ts";
import { figure, median, timed } from "../support/machine.ts";
import { has } from "../support/needs.ts";
import { waitFor } from "../support/wait.ts";

const APPENDS = 200;
const SESSIONS = 10_000;
const OPTIONS = {
  password: "",
  prefix: "zz",
  cluster: false,
  replicas: 0,
  seconds: 60,
  lockSeconds: 60,
};
const HEAD = {
  zz: 1 as const,
  id: "s0",
  at: "2026-11-27T00:00:00Z",
  root: "/p",
  model: "a/b",
  title: "A conversation about many things",
};
const VALUE = "x".repeat(500);

export const figures: Figure[] = [
  figure("append to Redis", "ms", 5,
    "How much longer an entry takes through the store than a bare RPUSH of it; at most 1.5.",
    async (bench) => {
      const opened = await openStore(bench);
      if (!opened) return undefined;
      const { session, bare } = opened;
      return async () => {
        const more: number[] = [];
        for (let i = 0; i < APPENDS; i++) {
          const alone = await timed(() => bare("RPUSH", "bare", VALUE));
          const whole = await timed(() => session.append("state", { plugin: "x", value: VALUE }));
          more.push(whole - alone);
        }
        return median(more);
      };
    }),
  figure("list of sessions in Redis", "ms", 5, `The list of ${SESSIONS} sessions; at most 100.`,
    async (bench) => {
      const opened = await openStore(bench);
      if (!opened) return undefined;
      const { store, bare } = opened;
      const entry = await bare("HGET", "{zz}:index", HEAD.id);
      for (let i = 1; i < SESSIONS; i++)
        await bare("HSET", "{zz}:index", `s${i}`, entry.replace('"s0"', `"s${i}"`));
      if (listSessions(store).length !== SESSIONS) throw new Error("The list is not whole.");
      return () => timed(() => listSessions(store));
    }),
]; // biome-ignore format: a table

async function openStore(bench: Bench) {
  if (!has("redis-server")) return undefined;
  const port = await startServer(bench);
  const url = `redis://127.0.0.1:${port}`;
  const store = openRedis({ url, where: url, ...OPTIONS });
  bench.after(() => store.close?.());
  const session = openSession(store, HEAD, () => {});
  session.append("state", { plugin: "x", value: VALUE });
  return { store, session, bare: await openBare(port, bench) };
}

async function startServer(bench: Bench): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "redis-"));
  const port = await freePort();
  const given = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, ...LASTING];
  const server: ChildProcess = spawn("redis-server", given, { stdio: "ignore" });
  bench.after(async () => {
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await waitFor("the server", () =>
    tell(port, "PING").then(
      () => true,
      () => false,
    ),
  );
  return port;
}

/** Commands on one connection, one after the other; gives the last line of each answer. */
async function openBare(port: number, bench: Bench) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  bench.after(() => socket.destroy());
  return async (...words: string[]): Promise<string> => {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${parts.join("")}`);
    const [answer] = await once(socket, "data");
    return String(answer).trimEnd().split("\r\n").at(-1)!;
  };
}

// A redis-server of its own for a test: on a port of loopback, in a folder of its own, ended by its
// number.
import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after } from "node:test";
import { temporaryFolder } from "../../../test/support/files.ts";
import { waitFor } from "../../../test/support/wait.ts";
import type { Options } from "../protocol.ts";
import { openRedis } from "../store.ts";

/**
 * Below those that systems give out by themselves: nobody takes it while a server starts again. The
 * nodes of a cluster talk with one another on the port that is 10,000 above.
 */
export async function freePort(): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 12_000);
  const server = createServer();
  const isFree = await new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
  return isFree ? port : freePort();
}

/** One command by hand, and a line of what comes back. */
export function tell(port: number, line: string, index = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${line}\r\n`));
    socket.once("data", (data) => {
      resolve(String(data).split("\r\n")[index]!);
      socket.destroy();
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("closed")));
  });
}

export interface Server {
  port: number;
  url: string;
  start(): Promise<void>;
  kill(): Promise<void>; // -9
  tell(line: string): Promise<string>; // the first line of its answer
  whole(line: string): Promise<string>;
}

/** Another one, such as valkey-server. */
const PROGRAM = process.env.REDIS_SERVER ?? "redis-server";

export const LASTING = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

/** On another port where one was taken after all, or the one of a cluster's node. */
export async function redisServer(...options: string[]): Promise<Server> {
  for (let tries = 1; ; tries++) {
    const server = serverOn(await freePort(), options);
    try {
      await server.start();
      return server;
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}

function serverOn(port: number, options: string[]): Server {
  const folder = mkdtempSync(join(tmpdir(), "zz-redis-"));
  let child: ChildProcess | undefined;
  const server: Server = {
    port,
    url: `redis://127.0.0.1:${port}`,
    tell: (line) => tell(port, line),
    whole(line) {
      const socket = connect(port, "127.0.0.1", () => socket.write(`${line}\r\nQUIT\r\n`));
      return text(socket);
    },
    async start() {
      const given = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, ...options];
      child = spawn(PROGRAM, given, { stdio: "ignore" });
      const started = child;
      await waitFor("the server to answer", () => {
        if (started.exitCode !== null) throw new Error(`${PROGRAM} ended: is port ${port} taken?`);
        return tell(port, "PING").then(
          (said) => !/LOADING|MASTERDOWN/.test(said),
          () => false,
        );
      });
    },
    async kill() {
      if (!child || child.exitCode !== null) return;
      const gone = new Promise((resolve) => child!.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
      child = undefined;
    },
  };
  after(async () => {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return server;
}

/** A server that encrypts, with a certificate for 127.0.0.1 that is its own CA. */
export async function encryptingServer(...options: string[]) {
  const folder = temporaryFolder("zz-tls-");
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const made = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=zz -keyout".split(" ");
  const names = ["-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", [...made, key, "-out", certificate, ...names], { stdio: "ignore" });
  const port = await freePort();
  const files = ["--tls-cert-file", certificate, "--tls-key-file", key];
  const own = ["--tls-port", `${port}`, ...files, "--tls-ca-cert-file", certificate];
  const server = await redisServer(...own, "--tls-auth-clients", "no", ...options);
  return { ...server, certificate, tlsPort: port };
}

/** As the settings would give them. */
export const optionsOf = ({ url }: Pick<Server, "url">) => ({
  url,
  where: url,
  password: "",
  prefix: "zz",
  cluster: false,
  replicas: 0,
  seconds: 60,
  lockSeconds: 10,
});

export function storeOf(server: Pick<Server, "url">, more: Partial<Options> = {}) {
  const store = openRedis({ ...optionsOf(server), ...more });
  after(() => store.close?.());
  return store;
}

/** What stands before a server (proxy.ts): its port, and a way to tell it what to do. */
export async function proxy(port: number) {
  const child = fork(join(import.meta.dirname, "proxy.ts"), [`${port}`]);
  after(() => child.kill());
  const heard = () => new Promise((resolve) => child.once("message", resolve));
  const own = (await heard()) as number;
  return {
    url: `redis://127.0.0.1:${own}`,
    tell(mode: "old" | "aged" | "mute" | "slow") {
      child.send(mode);
      return heard();
    },
  };
}

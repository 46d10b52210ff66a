// What tools cost: searches, commands on a copy of the project, MCP servers, very large answers.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Harness, harness } from "../../sdk/testing.ts";
import { embed } from "../../zz.ts";
import type { Bench, Figure } from "../support/bench.ts";
import { having } from "../support/having.ts";
import { figure, timed, took } from "../support/machine.ts";
import { has } from "../support/needs.ts";
import { environment, place, ROOT, WAYS } from "../support/run.ts";
import { random } from "../support/runs.ts";
import "../support/ripgrep.ts";

const [node, zz] = WAYS.dist;
const MCP = join(ROOT, "test/support/fake/mcp.ts");
const server = (how: string) => ({ command: node, args: [MCP, how], sandbox: false });

export const figures: Figure[] = [
  figure("grep", "times", 15, "A text in 10,000 files of a repository, beside ripgrep alone.",
    async (bench) => {
      const { root, grep } = await greps(bench, "rg");
      return async () => {
        const { ms } = await took("rg", ["-nF", "needle_in", "./"], { cwd: root });
        return (await grep()) / ms;
      };
    }),
  figure("grep without ripgrep", "ms", 7, "The same, where it is missing.",
    async (bench) => (await greps(bench, "")).grep),
  figure("command on a copy", "ms", 11, "What it takes more than in the sandbox without one.",
    async (bench) => {
      const own = await repository(bench);
      if (!own) return undefined;
      let count = 0;
      const run = (more: object) =>
        timed(() => own.call("run_command", { command: `sh -c 'echo ${count++} > it'`, ...more }));
      return async () => (await run({})) - (await run({ direct: true }));
    }),
  figure("memory of an MCP result", "MB", 3, "While a server's result of 100 MB is cut.",
    async () => {
      const where = having({ "~/zz.config.json": { mcpServers: { big: server("huge") } } });
      return () =>
        peakOf(where, ["--allow-run", "--call", "mcp_call", '{"server":"big","tool":"one"}']);
    }),
  ...["a page of 100 MB", "a page that unpacks to 1,000 MB"].map((page) =>
    figure(`memory of ${page}`, "MB", 3, "The most memory that zz has while it is fetched and cut.",
      async (bench) => {
        const host = await hugePage(bench, page.includes("unpacks"));
        return () =>
          peakOf(place(), [
            `--allow-net=${host}`,
            "--call",
            "web_fetch",
            `{"url":"http://${host}/"}`,
          ]);
      }),
  ),
]; // biome-ignore format: a table

const peakOf = async (where: ReturnType<typeof place>, args: string[]) =>
  (await took(node, [zz, ...args], { cwd: where.cwd, env: environment(where, {}) })).peak;

/** 10,000 files of up to 8 KB in 600 folders, up to four deep; one in 200 holds what is looked
 * for. */
async function greps(bench: Bench, ripgrep: string) {
  const { cwd: root, home } = place();
  const next = random(42);
  const folders = Array.from({ length: 600 }, (_, i) =>
    join(root, `a${i % 5}/b${i % 25}/c${i % 150}/d${i}`),
  );
  for (const folder of folders) fs.mkdirSync(folder, { recursive: true });
  const line = (i: number) =>
    `  const value${i} = await result(list, path); // the error of file ${Math.floor(next() * 1e6)}\n`;
  for (let i = 0; i < 10_000; i++) {
    const text = Array.from({ length: Math.floor(next() * 100) }, (_, n) => line(n)).join("");
    const needle = i % 200 ? "" : "here is the needle_in_it\n";
    fs.writeFileSync(join(folders[i % folders.length]!, `file${i}.ts`), needle + text);
  }
  execFileSync("git", ["init", "-q"], { cwd: root });
  execFileSync("git", ["add", "-A"], { cwd: root });
  let called = 0;
  const on = { called: ({ ms }: { ms: number }) => void (called = ms) };
  const own = await embed({ root, home, save: false, settings: { search: { ripgrep } }, on });
  bench.after(() => own.close());
  const grep = async () => {
    await own.call("grep", { query: "needle_in" });
    return called;
  };
  return { root, grep };
}

/** A project in git; undefined where commands cannot run on a copy. */
async function repository(bench: Bench): Promise<Harness | undefined> {
  if (!has("bwrap") || !has("unshare")) return undefined;
  const own = await harness({ own: true, answer: async (_, keys) => (keys ? "y" : "") }, bench);
  execFileSync("git", ["init", "-q", own.root]);
  return own;
}

async function hugePage(bench: Bench, isPacked: boolean): Promise<string> {
  const { createGzip } = await import("node:zlib");
  const piece = Buffer.from(
    "<p>Some <a href='/x'>long</a> text, with commas. <b>bold</b></p>".repeat(12_000),
  );
  const server = createServer(async (_, response) => {
    response.writeHead(200, {
      "content-type": "text/html",
      ...(isPacked && { "content-encoding": "gzip" }),
    });
    const to = isPacked ? createGzip() : response;
    to.on("error", () => {});
    if (to !== response) to.pipe(response);
    for (let left = isPacked ? 1e9 : 1e8; left > 0 && !response.destroyed; left -= piece.length)
      if (!to.write(piece))
        await Promise.race(
          ["drain", "close"].map((event) => new Promise((on) => to.once(event, on))),
        );
    to.end();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  bench.after(() => server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

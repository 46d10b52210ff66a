// What a start costs.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { having } from "../support/having.ts";
import { figure, timed, took } from "../support/machine.ts";
import { environment, type Place, place, ROOT, WAYS } from "../support/run.ts";

const [node, zz] = WAYS.dist;
const ONE_FILE = join(ROOT, "dist", "zz.mjs");
const RUNS = 25;

/** The least that fetches the same stream and prints the same answer. */
const BARE = `
const response = await fetch(process.argv[2] + "/chat/completions", {
  method: "POST",
  headers: { "content-type": "application/json", authorization: "Bearer x" },
  body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] }),
});
let text = "";
const decoder = new TextDecoder();
for await (const bytes of response.body) text += decoder.decode(bytes, { stream: true });
let answer = "";
for (const line of text.split("\\n"))
  if (line.startsWith("data: {")) answer += JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "";
console.log(answer);
`;

export const figures: Figure[] = [
  figure("one answer", "times", RUNS, "Beside a bare script that fetches the same stream.",
    (bench) => besideBare(bench, zz, BARE)),
  figure("one answer by zz.mjs", "times", RUNS, "The same, beside a script of its size.", (bench) =>
    besideBare(bench, ONE_FILE, `${BARE}\n//${"x".repeat(statSync(ONE_FILE).size)}\n`)),
  figure("memory of one answer", "MB", 7, "The most memory that `zz.js --once` has.",
    async (bench) => {
      const { where, asks } = await answering(bench);
      return async () => (await start(where, [...asks, "hi"])).peak;
    }),
  figure("zz.mjs", "MB", 1, "The size of the one file.",
    async () => () => statSync(ONE_FILE).size / 1e6),
  figure("package", "MB", 1, "As it is installed, unpacked.", async () => () => packed() / 1e6),
  figure("package with what it needs", "MB", 1, "And all that npm installs with it; at most 60.",
    async () => () => installed() / 1e6),
  figure("package without options", "MB", 1,
    "What npm install --omit=optional leaves of that; at most 32.",
    async () => () => installed("--omit=optional") / 1e6),
  figure("prompt", "times", RUNS, "Until the prompt of the REPL shows, beside `node -e 0`.",
    async () => {
      const where = place();
      return async () => (await untilPrompt(where)) / (await took(node, ["-e", "0"], where)).ms;
    }),
  figure("100 plugins", "ms", RUNS, "What a hundred plugins of five lines add to a start.",
    async () => {
      const [without, where] = [place(), place()];
      for (let i = 0; i < 100; i++) {
        having({ [`~/plugins/p${i}.ts`]: fiveLines(`now_${i}`) }, where);
        utimesSync(join(where.home, "plugins", `p${i}.ts`), 1, 1);
      }
      const args = ["--call", "list_dir", "{}"];
      return async () => (await start(where, args)).ms - (await start(without, args)).ms;
    }),
]; // biome-ignore format: a table

const fiveLines = (name: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({
  name: "${name}", description: "The current time, ISO 8601.",
  run: () => new Date().toISOString(),
});
`;

/** A model that answers, and the arguments that lead to it. */
async function answering(bench: Bench) {
  const fake = await fakeOpenAI([say("A short answer, as a person would get it.")]);
  bench.after(fake.close);
  return {
    where: place(),
    url: fake.url,
    asks: ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x"],
  };
}

/** How many bytes of this folder are published. */
function packed(): number {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const [about] = Object.values(
    JSON.parse(execFileSync("npm", args, { cwd: ROOT, encoding: "utf8" })),
  ) as any[];
  return about.unpackedSize;
}

/** And of what it depends on. What packages/ need is in dist/. */
function installed(...omitted: string[]): number {
  const args = ["ls", "--omit=dev", "--all", "--parseable", "--workspaces=false", ...omitted];
  const list = execFileSync("npm", args, { cwd: ROOT, encoding: "utf8" });
  const folders = list.trim().split("\n").slice(1); // the first is this one
  return folders.map(sizeOf).reduce((all, size) => all + size, packed());
}

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .reduce((all, { parentPath, name }) => all + statSync(join(parentPath, name)).size, 0);

const start = (where: Place, args: string[], file: string = zz) =>
  took(node, [file, ...args], { cwd: where.cwd, env: environment(where, {}) });

async function besideBare(bench: Bench, file: string, script: string): Promise<Measure> {
  const { where, url, asks } = await answering(bench);
  const bare = join(where.cwd, "bare.mjs");
  writeFileSync(bare, script);
  return async () => {
    const { ms } = await start(where, [url], bare);
    return (await start(where, [...asks, "hi"], file)).ms / ms;
  };
}

const untilPrompt = (where: Place): Promise<number> =>
  timed(() => {
    const pty = spawn(node, [zz], {
      cwd: where.cwd,
      env: environment(where, {}),
      cols: 80,
      rows: 24,
    });
    let shown = "";
    pty.onData((data) => (shown += data));
    return new Promise<void>((resolve) => {
      pty.onData(() => {
        if (!shown.includes("›")) return;
        resolve();
        pty.kill("SIGKILL");
      });
    });
  });

// What a start costs.
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { timed, took } from "../support/machine.ts";
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
  {
    name: "one answer",
    what: "`zz.js --once` beside a bare script that fetches the same stream.",
    unit: "times",
    runs: RUNS,
    prepare: (bench) => besideBare(bench, zz, BARE),
  },
  {
    name: "one answer by zz.mjs",
    what: "The same of the one file, beside a bare script of its size.",
    unit: "times",
    runs: RUNS,
    prepare: (bench) => besideBare(bench, ONE_FILE, `${BARE}\n//${"x".repeat(statSync(ONE_FILE).size)}\n`),
  },
  {
    name: "memory of one answer",
    what: "The most memory that `zz.js --once` has.",
    unit: "MB",
    async prepare(bench) {
      const { where, asks } = await answering(bench);
      return async () => (await start(where, [...asks, "hi"])).peak;
    },
  },
  {
    name: "zz.mjs",
    what: "The size of the one file.",
    unit: "MB",
    runs: 1,
    prepare: async () => () => statSync(ONE_FILE).size / 1e6,
  },
  {
    name: "prompt",
    what: "Until the prompt of the REPL shows, beside `node -e 0`.",
    unit: "times",
    runs: RUNS,
    async prepare() {
      const where = place();
      return async () => (await untilPrompt(where)) / (await took(node, ["-e", "0"], where)).ms;
    },
  },
  {
    name: "100 plugins",
    what: "What a hundred plugins of five lines add to a start.",
    unit: "ms",
    runs: RUNS,
    async prepare() {
      const [without, having] = [place(), place()];
      mkdirSync(join(having.home, "plugins"), { recursive: true });
      for (let i = 0; i < 100; i++) {
        const file = join(having.home, "plugins", `p${i}.ts`);
        writeFileSync(file, fiveLines(`now_${i}`));
        utimesSync(file, 1, 1);
      }
      const args = ["--call", "list_dir", "{}"];
      return async () => (await start(having, args)).ms - (await start(without, args)).ms;
    },
  },
  {
    name: "20 idle MCP servers",
    what: "One answer where twenty servers are configured and not used, beside one where there are none.",
    unit: "times",
    runs: RUNS,
    async prepare(bench) {
      const { where: without, asks } = await answering(bench);
      const having = place();
      const server = { command: node, args: [join(ROOT, "test/support/fake/mcp.ts"), "env"], sandbox: false };
      const mcpServers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`s${i}`, server]));
      mkdirSync(having.home);
      writeFileSync(join(having.home, "zz.config.json"), JSON.stringify({ mcpServers }));
      return async () => (await start(having, [...asks, "hi"])).ms / (await start(without, [...asks, "hi"])).ms;
    },
  },
];

export const fiveLines = (name: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({
  name: "${name}", description: "The current time, ISO 8601.",
  run: () => new Date().toISOString(),
});
`;

/** A model that answers, and the arguments that lead to it. */
async function answering(bench: Bench) {
  const fake = await fakeOpenAI([say("A short answer, as a person would get it.")]);
  bench.after(fake.close);
  return { where: place(), url: fake.url, asks: ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x"] };
}

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
    const pty = spawn(node, [zz], { cwd: where.cwd, env: environment(where, {}), cols: 80, rows: 24 });
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

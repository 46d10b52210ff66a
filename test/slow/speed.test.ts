// How fast zz starts, as ratios taken alternately in one run: the machine's noise falls on both sides alike.
import { equal, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { spawn as spawnPty } from "@lydell/node-pty";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { median } from "../support/machine.ts";
import { place, ROOT, zzProcess } from "../support/run.ts";

const RUNS = process.env.ZZ_SHORT ? 25 : 40;
const where = place();
const bare = join(where.cwd, "bare.mjs");
const large = join(where.cwd, "large.mjs"); // the same, as long as zz.mjs: all of a file is read at each start
let fake: Awaited<ReturnType<typeof fakeOpenAI>>;

before(async () => {
  fake = await fakeOpenAI([say("A short answer, as a person would get it.")]);
  writeFileSync(bare, BARE);
  writeFileSync(large, `${BARE}\n//${"x".repeat(statSync(join(ROOT, "dist", "zz.mjs")).size)}\n`);
  for (let i = 0; i < 3; i++) for (const file of SHIPPED) await oneShot(file); // fills the compile cache
});
test.after(() => fake.close());

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

const asks = () => ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x"];
const SHIPPED = ["zz.js", "zz.mjs"] as const;
const LIMITS = { "zz.js": { of: bare, times: 1.5 }, "zz.mjs": { of: large, times: 1.25 } };
const MAX_FILE_BYTES = 7_000_000; // of zz.mjs
const oneShot = (file: string) => timed(process.execPath, [join(ROOT, "dist", file), ...asks(), "hi"], ENV);
const ENV = {
  ...process.env,
  ...{ ZZ_HOME: where.home, XDG_CACHE_HOME: join(where.home, "..", "cache"), OLLAMA_HOST: "http://127.0.0.1:49" },
};

function timed(command: string, args: string[], env = process.env): Promise<{ ms: number; stdout: string }> {
  const started = performance.now();
  const child = spawn(command, args, { env, cwd: where.cwd, stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.on("data", (piece) => (stdout += piece));
  return new Promise((resolve) => child.on("close", () => resolve({ ms: performance.now() - started, stdout })));
}

test("zz.mjs has at most 7 MB", () => {
  const { size } = statSync(join(ROOT, "dist", "zz.mjs"));
  ok(size <= MAX_FILE_BYTES, `${size} bytes`);
});

for (const file of SHIPPED) {
  const { of, times } = LIMITS[file];
  const as = of === large ? " of its size" : "";
  test(`A one-shot of ${file} takes at most ${times} times a bare script${as} that fetches the same stream`, async (t) => {
    const [script, ours]: [number[], number[]] = [[], []];
    for (let i = 0; i < RUNS; i++) {
      const plain = await timed(process.execPath, [of, fake.url]);
      const run = await oneShot(file);
      equal(run.stdout, plain.stdout);
      script.push(plain.ms);
      ours.push(run.ms);
    }
    const ratio = median(ours) / median(script);
    t.diagnostic(
      `one-shot ${median(ours).toFixed(0)} ms, bare script ${median(script).toFixed(0)} ms: ${ratio.toFixed(2)} times`,
    );
    ok(ratio <= times, `${ratio}`);
  });
}

test("A one-shot needs at most 80 MB", { skip: process.platform !== "linux" && "reads /proc" }, async (t) => {
  const peaks: number[] = [];
  for (let i = 0; i < 5; i++) {
    let [peak, open] = [0, true];
    const run = zzProcess(where, asks(), { input: "hi\n", started: (child) => void watch(child.pid!) });
    await run;
    open = false;
    peaks.push(peak);

    async function watch(pid: number): Promise<void> {
      while (open) {
        try {
          peak = Math.max(
            peak,
            Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
          );
        } catch {}
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  }
  t.diagnostic(`peak memory ${median(peaks).toFixed(0)} MB`);
  ok(median(peaks) > 30 && median(peaks) <= 80, `${median(peaks)}`);
});

test("The prompt of the REPL is ready within 4 times `node -e 0`", async (t) => {
  const [empty, ours]: [number[], number[]] = [[], []];
  for (let i = 0; i < RUNS; i++) {
    empty.push((await timed(process.execPath, ["-e", "0"])).ms);
    ours.push(await untilPrompt());
  }
  const ratio = median(ours) / median(empty);
  t.diagnostic(
    `prompt ${median(ours).toFixed(0)} ms, node -e 0 ${median(empty).toFixed(0)} ms: ${ratio.toFixed(2)} times`,
  );
  ok(ratio <= 4, `${ratio}`);
});

function untilPrompt(): Promise<number> {
  const started = performance.now();
  const env = { ...process.env, ZZ_HOME: where.home, OLLAMA_HOST: "http://127.0.0.1:49" };
  const pty = spawnPty(process.execPath, [join(ROOT, "dist", "zz.js")], { cwd: where.cwd, env, cols: 80, rows: 24 });
  return new Promise((resolve) => {
    let shown = "";
    let ms = 0;
    pty.onExit(() => resolve(ms));
    pty.onData((data) => {
      shown += data;
      if (ms || !shown.includes("›")) return;
      ms = performance.now() - started;
      pty.kill("SIGKILL");
    });
  });
}

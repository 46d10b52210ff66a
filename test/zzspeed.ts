import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { fakeOpenAI, say } from "./support/fake/openai.ts";

const fake = await fakeOpenAI([say("A short answer.")]);
const d = mkdtempSync("/tmp/sp-");
const BARE = `const response = await fetch(process.argv[2] + "/chat/completions", {method: "POST",headers: { "content-type": "application/json", authorization: "Bearer x" },body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] }),});let text = "";const decoder = new TextDecoder();for await (const bytes of response.body) text += decoder.decode(bytes, { stream: true });let answer = "";for (const line of text.split("\\n")) if (line.startsWith("data: {")) answer += JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "";console.log(answer);`;
writeFileSync(d + "/bare.mjs", BARE);
const asks = ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"];
const cases: Record<string, string[]> = {
  bare: [d + "/bare.mjs", fake.url],
  before: ["/work/wt/before/dist/zz.js", ...asks],
  now: ["/work/main/dist/zz.js", ...asks],
  mjs: ["/work/main/dist/zz.mjs", ...asks],
};
const N = Number(process.argv[2] ?? 30);
const t: Record<string, number[]> = {};
const run = (k: string) =>
  new Promise<number>((r) => {
    const s = performance.now();
    const c = spawn(process.execPath, cases[k]!, {
      cwd: d,
      env: { ...process.env, ZZ_HOME: d + "/home-" + k, OLLAMA_HOST: "http://127.0.0.1:49" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    c.stdout.resume();
    c.on("close", () => r(performance.now() - s));
  });
if (process.argv[3]) {
  console.log(JSON.stringify([cases.before, cases.now, d]));
  await new Promise(() => {});
}
for (let i = 0; i < N + 4; i++)
  for (const k in cases) {
    const ms = await run(k);
    if (i > 3) (t[k] ??= []).push(ms);
  }
for (const k in t) {
  t[k]!.sort((a, b) => a - b);
  console.log(k, t[k]![0]!.toFixed(1), t[k]![N >> 1]!.toFixed(1));
}
fake.close();
process.exit(0);

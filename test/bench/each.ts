// What many inputs cost: time beside the same requests sent bare, and memory.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Figure } from "../support/bench.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { figure, took } from "../support/machine.ts";
import { environment, place, WAYS } from "../support/run.ts";

const [node, zz] = WAYS.dist;
const ANSWER_MS = 500; // that a fast model takes
const JOBS = 8;
const INPUTS = 400;
const MANY = 3_000;

/** The same requests, so many at a time, and the same lines. */
const BARE = `
import { readFileSync } from "node:fs";
const inputs = readFileSync(0, "utf8").split("\\n");
const answers = [];
const decoder = new TextDecoder();
async function ask(input) {
  const response = await fetch(process.argv[2] + "/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer x" },
    body: JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "Say. " + input }] }),
  });
  let text = "";
  for await (const bytes of response.body) text += decoder.decode(bytes, { stream: true });
  let answer = "";
  for (const line of text.split("\\n"))
    if (line.startsWith("data: {")) answer += JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "";
  return answer;
}
let next = 0;
await Promise.all(Array.from({ length: ${JOBS} }, async () => {
  for (let n; (n = next++) < inputs.length; ) answers[n] = await ask(inputs[n]);
}));
for (const [n, answer] of answers.entries()) console.log(JSON.stringify({ input: inputs[n], answer }));
`;

export const figures: Figure[] = [
  figure("many inputs", "times", 3,
    `--each over ${INPUTS} inputs, ${JOBS} at a time, each answered after ${ANSWER_MS} ms, beside a bare script; at most 1.15.`,
    async (bench) => {
      const { each, bare } = await asking(bench, INPUTS, ANSWER_MS);
      return async () => {
        const { ms } = await bare();
        return (await each()).ms / ms;
      };
    }),
  figure("memory of many inputs", "MB", 3,
    `The most memory that --each over ${MANY} inputs has; at most 150.`,
    async (bench) => {
      const { each } = await asking(bench, MANY, 0);
      return async () => (await each()).peak;
    }),
]; // biome-ignore format: a table

async function asking(bench: Bench, count: number, ms: number) {
  const fake = await fakeOpenAI(async () => {
    await sleep(ms);
    return say("A short answer, as a person would get it.");
  });
  bench.after(fake.close);
  const where = place();
  const [input, script] = [join(where.cwd, "inputs"), join(where.cwd, "bare.mjs")];
  writeFileSync(input, Array.from({ length: count }, (_, n) => `item ${n}`).join("\n"));
  writeFileSync(script, BARE);
  const how = { cwd: where.cwd, env: environment(where, {}), input };
  const model = ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "--no-tools"];
  const each = [zz, ...model, "--jobs", `${JOBS}`, "--each-line", "Say."];
  return { each: () => took(node, each, how), bare: () => took(node, [script, fake.url], how) };
}

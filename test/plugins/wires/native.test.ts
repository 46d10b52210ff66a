// Whatever comes in a stream of the two native protocols, a turn ends with an answer or a sentence.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import * as anthropic from "../../support/fake/anthropic.ts";
import * as gemini from "../../support/fake/gemini.ts";
import { type Turn, turnWith } from "../../support/wires.ts";

const STREAMS = {
  anthropic: [
    anthropic.start(),
    anthropic.thinking(0, "how bright?", "sig"),
    anthropic.redacted(1, "x"),
    anthropic.text(2, "Hello"),
    anthropic.block(3, { type: "server_tool_use", id: "s", name: "w", input: {} }, { type: "input_json_delta", partial_json: '{"a":' }), // biome-ignore format: one
    anthropic.use(4, "lamp_dim", { level: 8 }),
    anthropic.end("tool_use"),
  ].join(""),
  gemini: [
    gemini.parts({ text: "how bright?", thought: true }),
    gemini.parts({ text: "Hello", thoughtSignature: "s" }, { executableCode: { code: "1" } }),
    gemini.parts({ functionCall: { name: "lamp_dim", args: { level: 8 } }, thoughtSignature: "t" }),
    gemini.data({ promptFeedback: {} }),
    gemini.end(),
  ].join(""),
};
const ODD = [null, 0, -1, 1e9, true, "", "x", "{", [], {}, [null], [[]], { a: null }];

/** Numbers from 0 to 1, the same in each run. */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const placesOf = (value: any, at: string[] = []): string[][] =>
  value && typeof value === "object" ? [at, ...Object.keys(value).flatMap((key) => placesOf(value[key], [...at, key]))] : [at]; // biome-ignore format: one

/** The stream with something odd in some of its events, with events gone and repeated, or with its end cut off. */
function mutated(stream: string, next: () => number): string {
  const pick = <T>(all: T[]): T => all[Math.floor(next() * all.length)]!;
  const events = stream.split(/(?<=\n\r?\n)/);
  for (let times = 1 + Math.floor(next() * 3); times; times--) {
    const at = Math.floor(next() * events.length);
    const how = next();
    if (how < 0.1) events.splice(at, 1);
    else if (how < 0.2) events.splice(Math.floor(next() * events.length), 0, events[at]!);
    else events[at] = events[at]!.replace(/(?<=data: ).*/, (text) => JSON.stringify(changed(JSON.parse(text))));
    if (!events.length) break;
  }
  const whole = events.join("");
  return next() < 0.1 ? whole.slice(0, Math.floor(next() * whole.length)) : whole;

  function changed(value: any): any {
    const place = pick(placesOf(value));
    const last = place.at(-1);
    if (last === undefined) return pick(ODD);
    const inner = place.slice(0, -1).reduce((one, key) => one[key], value);
    inner[last] = pick(ODD);
    return value;
  }
}

const RUNS = Number(process.env.ZZ_RUNS ?? 60);
for (const [name, fakeOf, done, model] of [
  ["anthropic", anthropic.fakeAnthropic, anthropic.say("done"), "anthropic/claude-sonnet-4-5"],
  ["gemini", gemini.fakeGemini, gemini.say("done"), "gemini/gemini-2.5-flash"],
] as const)
  test(`${name}: ${RUNS} streams with something odd in them`, async () => {
    const ends: ({ seed: number } & Pick<Turn, "answer" | "error">)[] = [];
    for (let seed = 0; seed < RUNS; seed++) {
      const body = [mutated(STREAMS[name], random(seed))];
      const step = { headers: { "content-type": "text/event-stream" }, body };
      const { answer, error } = await turnWith(await fakeOf([step, done]), model);
      ends.push({ seed, ...(answer && { answer }), ...(error && { error }) });
    }
    deepEqual(ends.filter(({ error }) => error && !/^[A-Z1].*[.!?]$/s.test(error.message)), []); // biome-ignore format: one
    deepEqual(ends.filter(({ error }) => /undefined|not a function|not iterable|Cannot read prop|is not a delta/.test(error?.message ?? "")), []); // biome-ignore format: one
    const answered = ends.filter(({ answer }) => answer);
    ok(answered.length > RUNS * 0.8, `${answered.length} answered`);
  });

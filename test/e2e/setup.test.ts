// /setup and /keys: at a terminal where something is drawn or typed hidden, else in an instance of
// the test's own.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { CLOCK } from "../../kernel/text/clock.ts";
import { ollamaAt } from "../../packages/setup/pull.ts";
import { json, refuse as refuseAnthropic, say as sayAnthropic } from "../support/fake/anthropic.ts";
import { serve } from "../support/fake/http.ts";
import { fakeOllama, notInRegistry, pulling, say } from "../support/fake/ollama.ts";
import { refuse, say as sayOpenAI } from "../support/fake/openai.ts";
import { type Place, place, withEnvironment, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";
import { walk } from "../support/walk.ts";

const SECRET = "sk-right-0123456789abcdef";
const [DOWN, ESCAPE, ENTER, SELECT] = ["\x1b[B", "\x1b", KEY.enter, "↑↓ navigate"];
const PROMPT = /›\s*$/;

/** A server that accepts one key, and refuses others as OpenAI does. */
async function keyed(t: TestContext) {
  const keys: string[] = [];
  const data = ["gpt-4o", "gpt-4o-mini", "text-embedding-3-small"].map((id) => ({
    id,
    object: "model",
  }));
  const fake = await serve([sayOpenAI("From the server.")], {
    "GET /v1/models": ({ headers }) => {
      keys.push(String(headers.authorization).replace("Bearer ", ""));
      if (keys.at(-1) === SECRET) return refuse(200, { data: [null, { id: {} }, ...data] });
      const message = `Incorrect API key provided: ${keys.at(-1)}. You can find your key in your account.`;
      return refuse(401, {
        error: { message, type: "invalid_request_error", code: "invalid_api_key" },
      });
    },
  });
  t.after(fake.close);
  return { ...fake, keys, env: { OPENAI_BASE_URL: `${fake.url}/v1` } };
}
async function ollama(
  t: TestContext,
  ...more: Parameters<typeof fakeOllama> extends [any, ...infer R] ? R : never
) {
  const fake = await fakeOllama([say("From Ollama.")], ...more);
  t.after(fake.close);
  return fake;
}

/** Types the keys once the screen shows the text. */
async function at(term: Terminal, text: string | RegExp, ...keys: string[]): Promise<void> {
  await term.sees(text);
  for (const key of keys) term.type(key);
}
async function leave(term: Terminal, code = 0): Promise<void> {
  await at(term, PROMPT, KEY.ctrlD);
  equal(await term.exited, code);
}
const kept = ({ home }: Place, name: string): any =>
  existsSync(join(home, name)) ? JSON.parse(readFileSync(join(home, name), "utf8")) : undefined;
/** The keys that only their owner can read. */
const keys = (where: Place) => {
  equal(statSync(join(where.home, "keys.json")).mode & 0o777, 0o600);
  return kept(where, "keys.json");
};
/** All that the home holds, except the keys. */
const rest = ({ home }: Place): string => JSON.stringify({ ...walk(home), "/keys.json": "" });

/** /setup, answered as said: the first row whose words the question has is taken. What is asked
 * twice takes its next answer. */
async function setUp(
  t: TestContext,
  rows: [question: string, ...answers: string[]][],
  settings = {},
) {
  const left = rows.map(([question, ...answers]) => ({ question, answers }));
  const answer = async (question: string) =>
    left.find((row) => question.includes(row.question))?.answers.shift() ?? "";
  const { it } = await sit(t, { settings, answer });
  const notes = (await it.command("/setup")).join("\n");
  return { it, notes, where: { ...place(), home: it.home } };
}

test("Without a model, a folder that brings something is asked about after /setup", async () => {
  const term = terminal(
    place({ ".zz/plugins/hello.ts": "export default () => {};", ".mcp.json": "{}" }),
    [],
  );
  await at(term, SELECT, DOWN, DOWN, DOWN, ENTER);
  await term.sees(/offline[\s\S]*› \/trust\n[\s\S]*\.zz\/plugins\/hello\.ts\n[\s\S]*Load it\?/);
  match(
    term.screen(),
    /\.mcp\.json\s+are\s+left\s+out,\s+like\s+1\s+other\s+file\s+of\s+this\s+folder:/,
  );
  term.type("n");
  await term.sees(/Left out\. \/trust asks again\.[\s\S]*›\s*$/);
  await leave(term);
});

test("Going on offline is kept: the next start does not ask", async () => {
  const where = place();
  const term = terminal(where, []);
  await term.sees(
    /ollama {2}does not answer at http:\/\/127\.0\.0\.1:49\nopenai {2}no key is set \(OPENAI_API_KEY\)/,
  );
  await at(term, SELECT, DOWN, DOWN, DOWN, ENTER);
  await term.sees(
    /From now on zz is offline, without a model, also next time\. \/setup does this\s+again\./,
  );
  deepEqual(kept(where, "zz.config.json"), { model: "offline/router" });
  await leave(term);
  const again = terminal(where, []);
  await at(again, PROMPT, "todos", ENTER);
  doesNotMatch(await again.sees(/zz is offline|No TODO|todo/i), /Which model should answer/);
  await leave(again);
});

test("`zz words` without a model first helps to set one up, then asks it", async (t) => {
  const server = await keyed(t);
  const term = terminal(place(), ["good", "day"], { env: server.env });
  await at(term, SELECT, ENTER);
  await at(term, "OpenAI key:", SECRET, ENTER);
  await at(term, /gpt-4o\n[\s\S]*gpt-4o-mini/, ENTER);
  await term.sees("From the server.");
  equal(server.requests.at(-1)!.body.messages.at(-1).content, "good day");
  await leave(term);
});

test("A wrong key is told and can be entered again; the right one is kept with mode 0600 and shown nowhere", async (t) => {
  const server = await keyed(t);
  const where = place();
  const term = terminal(where, [], { env: server.env });
  await at(term, SELECT, ENTER);
  await at(term, "OpenAI key:", "sk-wrong-key-99", ENTER);
  await at(
    term,
    /127\.0\.0\.1:\d+ refused the key \(401\)\. Enter it again\.\n\? OpenAI key:\s*$/,
    SECRET,
    ENTER,
  );
  const shown = await term.sees(/gpt-4o\n[\s\S]*gpt-4o-mini/);
  doesNotMatch(shown, /sk-|embedding/);
  await at(term, SELECT, ENTER); // the small one is first
  await at(term, "From now on openai/gpt-4o-mini answers, also next time.", `hi${ENTER}`);
  await term.sees("From the server.");
  doesNotMatch(term.screen(), /sk-/);
  await leave(term);
  deepEqual(server.keys.slice(0, 3), ["none", "sk-wrong-key-99", SECRET]);
  equal(server.requests[0]!.headers.authorization, `Bearer ${SECRET}`);
  deepEqual(keys(where), { openai: SECRET });
  deepEqual(kept(where, "zz.config.json"), { model: "openai/gpt-4o-mini" });
  ok(where.sessions().length === 1 && rest(where).includes("From the server."));
  doesNotMatch(rest(where), /sk-/);
  const again = terminal(where, [], { env: server.env });
  await at(again, PROMPT, `hi${ENTER}`);
  await again.sees("From the server.");
  await leave(again);
});

test("A key for another provider is tried there, kept with the model that is chosen, and dropped with neither", async (t) => {
  const asked: string[] = [];
  const server = await serve([sayAnthropic("From Claude.")], {
    "GET /v1/models?limit=1000": ({ headers }) => {
      asked.push(String(headers["x-api-key"]));
      return asked.at(-1) === SECRET
        ? json({ data: [{ type: "model", id: "claude-sonnet-4-5" }], has_more: false })
        : refuseAnthropic(401, "authentication_error", "invalid x-api-key");
    },
  });
  t.after(server.close);
  const settings = { providers: { anthropic: { url: server.url } } };
  const choices: [string, ...string[]][] = [
    ["Which model should", "Enter a key for another provider"],
    ["Which provider", "anthropic"],
    ["Key for anthropic", "sk-wrong-0123456789", SECRET],
  ];
  const left = await setUp(t, choices, settings);
  match(left.notes, /Check the key:[\s\S]*Nothing was changed/);
  deepEqual(kept(left.where, "keys.json") ?? {}, {});
  const { notes, where } = await setUp(
    t,
    [...choices, ["Which model?", "anthropic/claude-sonnet-4-5"]],
    settings,
  );
  match(notes, /From now on anthropic\/claude-sonnet-4-5 answers/);
  deepEqual(
    [...new Set(asked.filter((key) => key !== "undefined"))],
    ["sk-wrong-0123456789", SECRET],
  );
  equal(kept(where, "keys.json").anthropic, SECRET);
  equal(kept(where, "zz.config.json").model, "anthropic/claude-sonnet-4-5");
  doesNotMatch(rest(where), new RegExp(SECRET));
});

test("A model is pulled with a bar on one line, then used and kept", async (t) => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fake = await ollama(t, [], undefined, pulling(2.6, first.promise, second.promise));
  let ahead = 0;
  const where = place();
  const clock = { ...CLOCK, now: () => CLOCK.now() + ahead };
  const term = terminal(where, [], { env: { OLLAMA_HOST: fake.url }, clock });
  await term.sees(`ollama  answers at ${fake.url}, no models`);
  await at(term, SELECT, ENTER);
  await at(term, "qwen3:8b", DOWN, ENTER);
  await term.sees(/\[> +\] {2}0% {2}0\.0 of 2\.6 GB/);
  ahead = 100; // it is drawn ten times a second
  first.resolve();
  const shown = await term.sees(/\[=+> +\] 50% {2}1\.3 of 2\.6 GB/);
  equal(shown.match(/of 2\.6 GB/g)?.length, 1);
  second.resolve();
  await at(term, "From now on ollama/qwen3:8b answers, also next time.", `hi${ENTER}`);
  doesNotMatch(await term.sees("From Ollama."), /of 2\.6 GB/);
  ok(fake.asked.includes("POST /api/pull qwen3:8b"));
  deepEqual(kept(where, "zz.config.json"), { model: "ollama/qwen3:8b" });
  await leave(term);
});

const NEVER = new Promise(() => {});
test("Escape stops a pull: the connection closes, nothing is kept", async (t) => {
  const fake = await ollama(t, [], undefined, pulling(2.6, NEVER, NEVER));
  const where = place();
  const term = terminal(where, [], { env: { OLLAMA_HOST: fake.url } });
  await at(term, SELECT, ENTER);
  await at(term, "qwen3:8b", ENTER);
  await at(term, /of 2\.6 GB/, "typed meanwhile", ESCAPE);
  await term.sees("Nothing was changed: zz is offline, without a model.");
  doesNotMatch(term.screen(), /typed meanwhile/);
  await waitFor("the end of the connection", () => fake.asked.includes("closed /api/pull"));
  equal(kept(where, "zz.config.json"), undefined);
  await leave(term);
});

test("A model that there is not is told in the registry's words, and the choice comes again", async (t) => {
  const fake = await ollama(t, [], undefined, notInRegistry);
  using _ = withEnvironment({ OLLAMA_HOST: fake.url });
  const { notes, it } = await setUp(t, [
    ["Which model should", "Pull a model with Ollama"],
    ["", "another one, by name", "no-such:1b"],
  ]);
  match(
    notes,
    /Cannot pull 'no-such:1b': pull model manifest: file does not exist[\s\S]*Nothing was changed/,
  );
  ok(fake.asked.includes("POST /api/pull no-such:1b"), it.questions.join("\n"));
});

test("A model that is there is offered first; pulling is not offered then", async (t) => {
  const fake = await ollama(t, [{ name: "m:latest" }, { name: "n:latest" }]);
  const term = terminal(place(), ["-m", "offline/router"], { env: { OLLAMA_HOST: fake.url } });
  await at(term, PROMPT, `/setup${ENTER}`);
  doesNotMatch(await term.sees(SELECT), /Pull a model/);
  await at(term, "Use one of the 2 models found", ENTER);
  await at(term, "ollama/n:latest", DOWN, ENTER);
  await at(term, "From now on ollama/n:latest answers", `hi${ENTER}`);
  await term.sees("From Ollama.");
  equal(fake.requests[0]!.body.model, "n:latest");
  await leave(term);
});

test("/keys tells where each key is and shows none; PROVIDER enters one hidden, drop removes it", async (t) => {
  using _ = withEnvironment({ OLLAMA_API_KEY: "from-outside", OLLAMA_HOST: "http://127.0.0.1:49" });
  const settings = { providers: { openai: { url: "http://127.0.0.1:49/v1", key: SECRET } } };
  const home = { "zz.config.json": JSON.stringify(settings) };
  const answer = async (question: string) => (/Key for/.test(question) ? "sk-another-one-99" : "");
  const { it, tells } = await sit(t, { home, answer });
  const where = { ...place(), home: it.home };
  await tells(
    "/keys",
    /ollama {4}OLLAMA_API_KEY, goes to 127\.0\.0\.1:49\nopenai {4}zz\.config\.json, goes to/,
  );
  const before =
    /is kept in \S+keys\.json, which only you can read\. The one in zz\.config\.json goes before it\./;
  await tells("/keys openai", before);
  equal(keys(where).openai, "sk-another-one-99");
  await tells("/keys", "openai    zz.config.json, then keys.json");
  await tells(
    "/keys drop openai",
    "The key for 'openai' is dropped from zz.config.json and keys.json.",
  );
  equal(kept(where, "keys.json").openai, undefined);
  deepEqual(kept(where, "zz.config.json").providers.openai, { url: "http://127.0.0.1:49/v1" });
  await tells(
    "/keys drop ollama",
    "No key is kept for 'ollama'. The one in use is in OLLAMA_API_KEY.",
  );
  await tells(
    "/keys opnai",
    "Cannot keep a key: there is no provider 'opnai'. Did you mean 'openai'?",
  );
  await tells(`/keys openai ${SECRET}`, "Cannot take a key from the line");
  doesNotMatch(it.notes.join("\n") + rest(where), /sk-|from-outside/);
});

test("--keys names --key, and says which providers need no key", async () => {
  const { stdout } = await zz(
    place(),
    `--keys --key ${SECRET} --base-url http://127.0.0.1:49/v1`.split(" "),
  );
  match(stdout, /^openai +--key, goes to 127\.0\.0\.1:49$/m);
  match(stdout, /^Without a key, and so not asked: (?!.*(llamacpp|lmstudio|sglang|vllm)).*groq/m);
  match(stdout, /^Asked by name alone, without a key: llamacpp, lmstudio, sglang, vllm\.$/m);
  doesNotMatch(stdout, /sk-/);
});

test("In a pipe /setup and /keys PROVIDER name the variables and flags", async () => {
  for (const words of ["/setup", "/keys openai"]) {
    const { code, stdout } = await zz(place(), ["--once", "-m", "offline/router", words]);
    match(
      stdout,
      /Set OPENAI_API_KEY .*OLLAMA_HOST.*--model PROVIDER\/MODEL with --base-url URL and --key KEY\./,
    );
    equal(code, 0);
  }
});

test("OLLAMA_HOST may leave out the scheme and the port, and 0.0.0.0 is this machine", () => {
  deepEqual([undefined, "0.0.0.0"].map(ollamaAt), Array(2).fill("http://127.0.0.1:11434"));
  deepEqual(["box:99", "https://box/sub/"].map(ollamaAt), ["http://box:99", "https://box/sub"]);
});

test("zz --keys set takes a key from stdin, tells where it is, removes it, and never shows it", async () => {
  const where = place();
  const set = await zz(where, ["--keys", "set", "groq"], { input: `${SECRET}\n` });
  deepEqual([set.code, set.stderr], [0, ""]);
  match(set.stdout, /^The key for 'groq' is kept in .*keys\.json, which only you can read\.\n$/);
  deepEqual(keys(where), { groq: SECRET });
  const list = await zz(where, ["--keys"]);
  match(list.stdout, /^groq +keys\.json, goes to its own address$/m);
  match(
    list.stdout,
    /^openai +not set \(zz --keys set openai enters one, or set OPENAI_API_KEY\)$/m,
  );
  const json = JSON.parse((await zz(where, ["--keys", "--json"])).stdout);
  deepEqual(json.filter(({ from }: any) => from), [{ provider: "groq", from: "keys.json", to: null }]); // biome-ignore format: short
  const gone = await zz(where, ["--keys", "remove", "groq"]);
  equal(gone.stdout, "The key for 'groq' is dropped from keys.json.\n");
  equal(kept(where, "keys.json")?.groq, undefined);
  for (const { stdout, stderr } of [set, list, gone])
    doesNotMatch(stdout + stderr, new RegExp(SECRET));
});

test("zz --keys set keeps nothing of what is no key or given on the line, and says why", async () => {
  for (const [words, input, sentence] of [
    [
      ["groq", SECRET],
      "",
      /^Cannot take a key from the line, where others can see it\. Give it on stdin\.\n$/,
    ],
    [["groq"], "\n", /^Cannot keep a key for 'groq': none was given\./],
    [["groq"], "a line\nand another\n", /: what was given is not a key, which is one word\./],
    [["grok"], SECRET, /^Cannot keep a key: there is no provider 'grok'/],
  ] as const) {
    const where = place();
    const { code, stdout, stderr } = await zz(where, ["--keys", "set", ...words], { input });
    deepEqual([code, stdout, kept(where, "keys.json")], [2, "", undefined]);
    match(stderr, sentence);
  }
});

// /setup and /keys in a real pseudo-terminal: what the screen shows, the files hold and the servers are asked.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { CLOCK } from "../../kernel/clock.ts";
import { bar, ollamaAt } from "../../plugins/setup/pull.ts";
import { json, refuse as refuseAnthropic, say as sayAnthropic } from "../support/fake/anthropic.ts";
import { type Fake, serve } from "../support/fake/http.ts";
import { fakeOllama, notInRegistry, pulling, say } from "../support/fake/ollama.ts";
import { refuse, say as sayOpenAI } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { rare } from "../support/runs.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";

const SECRET = "sk-right-0123456789abcdef";
const [DOWN, ESCAPE, ENTER, SELECT] = ["\x1b[B", "\x1b", KEY.enter, "↑↓ navigate"];
const PROMPT = /›\s*$/;

/** A server that accepts one key, and refuses others as OpenAI does. */
async function keyed(
  t: TestContext,
  models = ["gpt-4o", "gpt-4o-mini", "text-embedding-3-small"],
): Promise<Fake & { keys: string[] }> {
  const keys: string[] = [];
  const fake = await serve([sayOpenAI("From the server.")], {
    "GET /v1/models": ({ headers }) => {
      keys.push(String(headers.authorization).replace("Bearer ", ""));
      if (keys.at(-1) === SECRET)
        return refuse(200, { object: "list", data: models.map((id) => ({ id, object: "model" })) });
      const message = `Incorrect API key provided: ${keys.at(-1)}. You can find your key in your account.`;
      return refuse(401, { error: { message, type: "invalid_request_error", code: "invalid_api_key" } });
    },
  });
  t.after(fake.close);
  return { ...fake, keys };
}
async function ollama(t: TestContext, ...more: Parameters<typeof fakeOllama> extends [any, ...infer R] ? R : never) {
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
const kept = (where: Place, name: string): any => {
  const file = join(where.home, name);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
};
/** All that the home holds, except the keys. */
const rest = ({ home }: Place): string =>
  (readdirSync(home, { recursive: true }) as string[])
    .map((name) => join(home, name))
    .filter((file) => statSync(file).isFile() && !file.endsWith("keys.json"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");

test("Going on offline is kept: the next start does not ask", async () => {
  const where = place();
  const term = terminal(where, []);
  await term.sees(/ollama {2}does not answer at http:\/\/127\.0\.0\.1:49\nopenai {2}no key is set \(OPENAI_API_KEY\)/);
  await at(term, SELECT, DOWN, DOWN, DOWN, ENTER);
  await term.sees(/From now on zz is offline, without a model, also next time\. \/setup does this\s+again\./);
  deepEqual(kept(where, "zz.config.json"), { model: "offline/router" });
  await leave(term);
  const again = terminal(where, []);
  await at(again, PROMPT, "todos", ENTER);
  doesNotMatch(await again.sees(/zz is offline|No TODO|todo/i), /Which model should answer/);
  await leave(again);
});

rare("A list of /setup follows the window, with the same row selected", async () => {
  const term = terminal(place(), [], { cols: 80, rows: 24 });
  await at(term, SELECT, DOWN, DOWN);
  const before = term.raw().length;
  term.resize(40, 16);
  await waitFor("the list in the new width", () => term.raw().length > before);
  await at(term, /❯ Enter another server's address/, ENTER);
  await term.sees(/^✔ Which model should answer\? Enter ano…\n\? Base URL/m);
  equal(term.screen().match(/Which model/g)?.length, 1, term.screen());
  await at(term, "Base URL", ESCAPE);
  await leave(term);
});

test("`zz words` without a model first helps to set one up, then asks it", async (t) => {
  const server = await keyed(t);
  const term = terminal(place(), ["good", "day"], { env: { OPENAI_BASE_URL: server.url + "/v1" } });
  await at(term, SELECT, ENTER);
  await at(term, "OpenAI key:", SECRET, ENTER);
  await at(term, /gpt-4o\n[\s\S]*gpt-4o-mini/, ENTER);
  await term.sees("From the server.");
  equal(server.requests.at(-1)!.body.messages.at(-1).content, "good day");
  await leave(term);
});

test("Escape and Ctrl+C mean offline this time, and nothing is kept", async () => {
  const where = place();
  for (const [key, way] of [
    [ESCAPE, []],
    [KEY.ctrlC, [ENTER]], // at the password
  ] as const) {
    const term = terminal(where, []);
    await at(term, SELECT, ...way);
    if (way.length) await term.sees("OpenAI key:");
    await at(term, /answer|key/, key);
    await term.sees("Nothing was changed: zz is offline, without a model. /setup asks again.");
    doesNotMatch(term.screen(), /navigate|OpenAI key:/, "a question that was left is no longer there");
    equal(kept(where, "zz.config.json"), undefined);
    equal(kept(where, "keys.json"), undefined);
    await leave(term);
  }
});

test("A wrong key is told and can be entered again; the right one is kept with mode 0600 and shown nowhere", async (t) => {
  const server = await keyed(t);
  const where = place();
  const term = terminal(where, [], { env: { OPENAI_BASE_URL: server.url + "/v1" } });
  await at(term, SELECT, ENTER);
  await at(term, "OpenAI key:", "sk-wrong-key-99", ENTER);
  await at(term, /127\.0\.0\.1:\d+ refused the key \(401\)\. Enter it again\.\n\? OpenAI key:\s*$/, SECRET, ENTER);
  const shown = await term.sees(/gpt-4o\n[\s\S]*gpt-4o-mini/);
  doesNotMatch(shown, /sk-|embedding/);
  await at(term, SELECT, ENTER); // the small one is first
  await at(term, "From now on openai/gpt-4o-mini answers, also next time.", `hi${ENTER}`);
  await term.sees("From the server.");
  doesNotMatch(term.screen(), /sk-/);
  await leave(term);
  deepEqual(server.keys.slice(0, 3), ["none", "sk-wrong-key-99", SECRET]);
  equal(server.requests[0]!.headers.authorization, `Bearer ${SECRET}`);
  deepEqual(kept(where, "keys.json"), { openai: SECRET });
  equal(statSync(join(where.home, "keys.json")).mode & 0o777, 0o600);
  deepEqual(kept(where, "zz.config.json"), { model: "openai/gpt-4o-mini" });
  ok(where.sessions().length === 1 && rest(where).includes("From the server."));
  doesNotMatch(rest(where), /sk-/);
  const again = terminal(where, [], { env: { OPENAI_BASE_URL: server.url + "/v1" } });
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
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const settings = { providers: { anthropic: { url: server.url } } };
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  const term = terminal(where, []);
  await at(term, SELECT, DOWN, ENTER);
  await at(term, /Which provider\?\s+❯ anthropic\n/, ENTER);
  await at(term, "Key for anthropic:", "sk-wrong-0123456789", ENTER);
  await at(term, /Check the key:[\s\S]*\? Key for anthropic:\s*$/, SECRET, ENTER);
  await at(term, /Which model\?\s+❯ anthropic\/claude-sonnet-4-5/, ESCAPE);
  await term.sees("Nothing was changed");
  deepEqual(kept(where, "keys.json") ?? {}, {});
  await leave(term);
  const again = terminal(where, []);
  await at(again, SELECT, DOWN, ENTER);
  await at(again, /Which provider\?\s+❯ anthropic\n/, ENTER);
  await at(again, /\? Key for anthropic:\s*$/, SECRET, ENTER);
  await at(again, /Which model\?\s+❯ anthropic\/claude-sonnet-4-5/, ENTER);
  await at(again, "From now on anthropic/claude-sonnet-4-5 answers", `hi${ENTER}`);
  await again.sees("From Claude.");
  await leave(again);
  deepEqual(
    asked.filter((key) => key !== "undefined"),
    ["sk-wrong-0123456789", SECRET, SECRET],
  );
  equal(kept(where, "keys.json").anthropic, SECRET);
  equal(kept(where, "zz.config.json").model, "anthropic/claude-sonnet-4-5");
  doesNotMatch(rest(where), new RegExp(SECRET));
});

test("Another server is found by its address alone: /v1 is added, and a server without a key gets a dash", async (t) => {
  const server = await serve([sayOpenAI("From mine.")], {
    "GET /v1/models": () => refuse(200, { data: [{ id: "own-7b" }] }),
    "GET /models": () => refuse(404, "404 page not found"),
  });
  t.after(server.close);
  const where = place();
  const term = terminal(where, []);
  await at(term, SELECT, DOWN, DOWN, ENTER);
  await at(term, "Base URL", `127.0.0.1:${server.port}`, ENTER);
  await at(term, "Its key", "-", ENTER);
  await at(term, "own-7b", ENTER);
  await at(term, /From now on local-\d+\/own-7b answers/, `hi${ENTER}`);
  await term.sees("From mine.");
  await leave(term);
  const url = `http://127.0.0.1:${server.port}/v1`;
  const name = `local-${server.port}`;
  deepEqual(kept(where, "zz.config.json"), { providers: { [name]: { like: "openai", url } }, model: `${name}/own-7b` });
  equal(kept(where, "keys.json")?.openai, undefined);
});

rare("An address that nobody answers at is told in a sentence and asked for again", async () => {
  const term = terminal(place(), []);
  await at(term, SELECT, DOWN, DOWN, ENTER);
  await at(term, "Base URL", "-", ENTER);
  await at(term, "Cannot use '-': not a URL.", "http://127.0.0.1:49/v1", ENTER);
  await at(term, "Its key", "x", ENTER);
  await at(term, /Cannot reach '127\.0\.0\.1:49'.*\n[\s\S]*\? Base URL, as http:\/\/host:port\/v1:\s*$/, KEY.ctrlC);
  await term.sees("Nothing was changed");
  await leave(term);
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

rare("A model that there is not is told in the registry's words, and the choice comes again", async (t) => {
  const fake = await ollama(t, [], undefined, notInRegistry);
  const term = terminal(place(), [], { env: { OLLAMA_HOST: fake.url } });
  await at(term, SELECT, ENTER);
  await at(term, "another one, by name", DOWN, DOWN, DOWN, DOWN, ENTER);
  await at(term, "Its name:", "no-such:1b", ENTER);
  await term.sees("Cannot pull 'no-such:1b': pull model manifest: file does not exist");
  await at(term, /file does not exist[\s\S]*Which model should answer\?[\s\S]*navigate/, ESCAPE);
  await term.sees("Nothing was changed");
  ok(fake.asked.includes("POST /api/pull no-such:1b"));
  await leave(term);
});

test("A model that is there is offered first; pulling is not offered then", async (t) => {
  const fake = await ollama(t, [{ name: "m:latest" }, { name: "n:latest" }]);
  const where = place();
  const term = terminal(where, ["-m", "offline/router"], { env: { OLLAMA_HOST: fake.url } });
  await at(term, PROMPT, `/setup${ENTER}`);
  doesNotMatch(await term.sees(SELECT), /Pull a model/);
  await at(term, "Use one of the 2 models found", ENTER);
  await at(term, "ollama/n:latest", DOWN, ENTER);
  await at(term, "From now on ollama/n:latest answers", `hi${ENTER}`);
  await term.sees("From Ollama.");
  equal(fake.requests[0]!.body.model, "n:latest");
  await leave(term);
});

rare("At 40 columns no line of the first picker is broken", async () => {
  const term = terminal(place(), [], { cols: 40 });
  const shown = await term.sees(SELECT);
  match(
    shown,
    /\? Which model should answer\?\n❯ Enter a key for OpenAI\n {2}Enter a key for another provider\n {2}Enter another server's address\n {2}Continue offline, without a model\n/,
  );
  await at(term, SELECT, ESCAPE);
  await term.sees("Nothing was changed");
  await leave(term);
});

rare("At 40 columns what is typed begins a row of its own, and only the terminal breaks it", async () => {
  const url = "http://models.example-company.internal:8080/some/long/path/v1";
  const term = terminal(place(), ["-m", "offline"], { cols: 40 });
  await at(term, PROMPT, `/setup${ENTER}`);
  await at(term, SELECT, DOWN, DOWN, ENTER);
  await at(term, /\? Base URL, as http:\/\/host:port\/v1:\s*$/, url);
  const shown = await term.sees(/path\/v1$/);
  const [first, ...rest] = shown.slice(shown.indexOf("? Base URL")).split("\n");
  equal(first, "? Base URL, as http://host:port/v1:");
  equal(rest.join("").trim(), url, shown);
  ok(/^ ?http:\/\/models\.example-company/.test(rest[0]!), shown);
  await at(term, /v1$/, ENTER);
  const key = await term.sees(/^\? Its key \(a dash for none\):$/m);
  ok(key.includes("✔ Base URL, as http://host:port/v1:\n"), key);
  await at(term, /none\):\s*$/, ESCAPE);
  await term.sees("Nothing was changed");
  await leave(term);
});

test("/keys tells which are set and shows none; PROVIDER enters one hidden, drop removes it", async () => {
  const where = place();
  const term = terminal(where, ["-m", "offline/router"], { env: { OLLAMA_API_KEY: "from-outside" } });
  await at(term, PROMPT, `/keys${ENTER}`);
  await term.sees(/ollama {4}OLLAMA_API_KEY, goes to 127\.0\.0\.1:49\nopenai {4}not set/);
  await at(term, PROMPT, `/keys openai${ENTER}`);
  await at(term, "Key for openai:", SECRET, ENTER);
  await term.sees(/The key for 'openai' is kept in [\s\S]*keys\.json, which[\s\S]*read\./);
  equal(kept(where, "keys.json").openai, SECRET);
  equal(statSync(join(where.home, "keys.json")).mode & 0o777, 0o600);
  await at(term, PROMPT, `/keys${ENTER}`);
  await term.sees(/openai {4}keys\.json, goes to its own address\n/);
  await at(term, PROMPT, `/keys drop openai${ENTER}`);
  await term.sees("The key for 'openai' is dropped from keys.json.");
  equal(kept(where, "keys.json").openai, undefined);
  await at(term, PROMPT, `/keys opnai${ENTER}`);
  await term.sees("Cannot keep a key: there is no provider 'opnai'. Did you mean 'openai'?");
  doesNotMatch(term.screen() + rest(where), /sk-|from-outside/);
  await at(term, PROMPT, `/keys openai ${SECRET}${ENTER}`);
  await term.sees("Cannot take a key from the line");
  equal(kept(where, "keys.json").openai, undefined);
  doesNotMatch(rest(where), /sk-/);
  await leave(term);
});

test("--keys names --key, and says which providers need no key", async () => {
  const { stdout } = await zz(place(), ["--keys", "--key", SECRET, "--base-url", "http://127.0.0.1:49/v1"]);
  match(stdout, /^openai +--key, goes to 127\.0\.0\.1:49$/m);
  match(stdout, /^No key, and so not asked: (?!.*(llamacpp|lmstudio|sglang|vllm)).*groq/m);
  match(stdout, /^No key needed, asked when named: llamacpp, lmstudio, sglang, vllm\.$/m);
  doesNotMatch(stdout, /sk-/);
});

test("/keys names where a key is, drops it from there, and says where another is", async () => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const settings = { providers: { openai: { url: "http://127.0.0.1:49/v1", key: SECRET } } };
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  const env = { OLLAMA_API_KEY: "from-outside" };
  const term = terminal(where, ["-m", "offline/router"], { env });
  await at(term, PROMPT, `/keys${ENTER}`);
  await term.sees(/ollama {4}OLLAMA_API_KEY, goes to 127\.0\.0\.1:49\nopenai {4}zz\.config\.json, goes to/);
  await at(term, PROMPT, `/keys openai${ENTER}`);
  await at(term, "Key for openai:", "sk-another-one-99", ENTER);
  await term.sees(/The one in\s+zz\.config\.json\s+goes\s+before\s+it\./);
  await at(term, PROMPT, `/keys${ENTER}`);
  await term.sees("openai    zz.config.json, then keys.json");
  await at(term, PROMPT, `/keys drop openai${ENTER}`);
  await term.sees("The key for 'openai' is dropped from zz.config.json and keys.json.");
  equal(kept(where, "keys.json").openai, undefined);
  equal(kept(where, "zz.config.json").providers.openai.key, undefined);
  equal(kept(where, "zz.config.json").providers.openai.url, "http://127.0.0.1:49/v1");
  await at(term, PROMPT, `/keys drop ollama${ENTER}`);
  await term.sees("No key is kept for 'ollama'. The one in use is in OLLAMA_API_KEY.");
  await leave(term);
});

test("Without pickers (TERM=dumb) it asks in plain lines, and the key is not echoed", async (t) => {
  const server = await keyed(t);
  const where = place();
  const term = terminal(where, [], {
    env: { TERM: "dumb", OPENAI_BASE_URL: `${server.url}/v1` },
    process: true, // stty of the key takes the terminal of the process
  });
  const first =
    / 1 {2}Enter a key for OpenAI[\s\S]* 4 {2}Continue offline, without a model[\s\S]*A number \(Enter leaves\):/;
  await at(term, first, "7\r");
  await at(term, /the numbers go from 1 to 4\.[\s\S]*A number/, "1\r");
  await at(term, "OpenAI key: (hidden)", `${SECRET}\r`);
  await at(term, /2 {2}gpt-4o-mini[\s\S]*A number/, "2\r");
  await at(term, "From now on openai/gpt-4o-mini answers", "hi\r");
  await at(term, "From the server.", KEY.ctrlD);
  await term.exited;
  doesNotMatch(term.raw(), /sk-|\x1b/);
  deepEqual(kept(where, "keys.json"), { openai: SECRET });
});

rare("Without pickers an empty line leaves and nothing is kept", async () => {
  const where = place();
  const term = terminal(where, [], { env: { TERM: "dumb" } });
  await at(term, "A number (Enter leaves):", "\r");
  await at(term, /Nothing was changed: zz is offline[\s\S]*asks again[\s\S]*›/, KEY.ctrlD);
  await term.exited;
  equal(kept(where, "zz.config.json"), undefined);
});

rare("The terminal is as it was: stty says the same before and after, whatever was done in between", async () => {
  const term = terminal(place(), [], { shell: (zz) => `stty -g; ${zz}; stty -g` });
  const tty = () => readlinkSync(`/proc/${term.pty.pid}/fd/0`);
  const isRaw = () => / -icanon /.test(execFileSync("stty", ["-a", "-F", tty()], { encoding: "utf8" }));
  const press = async (text: string | RegExp, keys: string) => {
    await term.sees(text);
    await waitFor("zz to read single keys, which it does once it has drawn the question", isRaw);
    term.type(keys);
  };
  await press(SELECT, ENTER);
  await press("OpenAI key:", KEY.ctrlC);
  await press(/asks again[\s\S]*›/, `!stty -echo${ENTER}`);
  await press(/exit code 0[\s\S]*›$/, `/setup${ENTER}`);
  await press(/asks again[\s\S]*navigate/, ESCAPE);
  await press(/asks again[\s\S]*asks again[\s\S]*›$/, KEY.ctrlD);
  await term.exited;
  const [before, after] = term.raw().match(/[\da-f]+(:[\da-f]+){10,}/g) ?? [];
  ok(before);
  equal(after, before);
});

test("In a pipe /setup and /keys PROVIDER name the variables and flags", async () => {
  for (const words of ["/setup", "/keys openai"]) {
    const { code, stderr } = await zz(place(), ["--once", "-m", "offline/router", words]);
    match(stderr, /Set OPENAI_API_KEY .*OLLAMA_HOST.*--model PROVIDER\/MODEL with --base-url URL and --key KEY\./);
    equal(code, 0);
  }
});

test("The bar fits its width", () => {
  equal(bar(1.2e9, 2.6e9, 36), "[======>      ] 46%  1.2 of 2.6 GB");
  for (const width of [12, 20, 30, 40, 80, 200])
    for (const done of [0, 1, 1.3e9, 2.6e9])
      ok(bar(done, 2.6e9, width).length < width, `${width}: ${bar(done, 2.6e9, width)}`);
  match(bar(2.6e9, 2.6e9, 40), /^\[=+\]100% {2}2\.6 of 2\.6 GB$/);
  match(bar(500, 11_357, 40), /0\.5 of 11\.4 kB$/);
});

for (const [host, url] of [
  [undefined, "http://127.0.0.1:11434"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["box:99", "http://box:99"],
  ["https://box/sub/", "https://box/sub"],
] as const)
  test(`OLLAMA_HOST=${host} is at ${url}`, () => equal(ollamaAt(host), url));

describe("zz --keys", { concurrency: 4 }, () => {
  const sets = (where: Place, input: string, ...more: string[]) =>
    zz(where, ["--keys", "set", "groq", ...more], { input });

  test("takes a key from stdin, tells where it is, removes it, and never shows it", async () => {
    const where = place();
    const set = await sets(where, `${SECRET}\n`);
    deepEqual([set.code, set.stderr], [0, ""]);
    match(set.stdout, /^The key for 'groq' is kept in .*keys\.json, which only you can read\.\n$/);
    deepEqual(kept(where, "keys.json"), { groq: SECRET });
    equal(statSync(join(where.home, "keys.json")).mode & 0o777, 0o600);
    const list = await zz(where, ["--keys"]);
    match(list.stdout, /^groq +keys\.json, goes to its own address$/m);
    match(list.stdout, /^openai +not set \(zz --keys set openai enters one, or set OPENAI_API_KEY\)$/m);
    const json = JSON.parse((await zz(where, ["--keys", "--json"])).stdout);
    deepEqual(json.filter(({ from }: any) => from), [{ provider: "groq", from: "keys.json", to: null }]); // biome-ignore format: short
    const gone = await zz(where, ["--keys", "remove", "groq"]);
    equal(gone.stdout, "The key for 'groq' is dropped from keys.json.\n");
    equal(kept(where, "keys.json")?.groq, undefined);
    for (const { stdout, stderr } of [set, list, gone]) doesNotMatch(stdout + stderr, new RegExp(SECRET));
  });

  // [the arguments, stdin, the error]
  // biome-ignore format: one case a row.
  const WRONG: [words: string[], input: string, words: RegExp][] = [
    [["set", "groq", SECRET], "", /^Cannot take a key from the line, where others can see it\. Give it on stdin\.\n$/],
    [["set", "groq"], "\n", /^Cannot keep a key for 'groq': none was given\./],
    [["set", "groq"], "a line\nand another\n", /^Cannot keep a key for 'groq': what was given is not a key, which is one word\./],
    [["set", "grok"], SECRET, /^Cannot keep a key: there is no provider 'grok'/],
  ];
  for (const [words, input, sentence] of WRONG)
    test(`${words.join(" ")} with ${JSON.stringify(input)} keeps nothing and says why`, async () => {
      const where = place();
      const { code, stdout, stderr } = await zz(where, ["--keys", ...words], { input });
      deepEqual([code, stdout, kept(where, "keys.json")], [2, "", undefined]);
      match(stderr, sentence);
    });
});

// Providers of the person's own, in the settings: like another, with a command that prints their
// key.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Fake } from "../support/fake/http.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, zz, zzProcess } from "../support/run.ts";

const KEY = "sk-of-work-0123456789";
const LOG = "ran.log";

/** With these settings, where FAKE is the address of a server that answers and HERE the folder of
 * the home. */
async function asks(
  settings: object,
  args: string[],
  { env = {}, project, kept, start = zz, user = "" }: More = {},
) {
  const fake = await fakeOpenAI([say("Hi")]);
  const where = place();
  const put = (file: string, given?: object) => {
    if (!given) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      JSON.stringify(given)
        .replaceAll("FAKE", fake.url.replace("://", `://${user}`))
        .replaceAll("HERE", where.home),
    );
  };
  put(join(where.home, "zz.config.json"), settings);
  put(join(where.home, "keys.json"), kept);
  put(join(where.cwd, ".zz", "zz.config.json"), project);
  const ran = await start(where, args, { env });
  await fake.close();
  const log = join(where.home, LOG);
  const { path, body, headers } = fake.requests[0] ?? ({ headers: {} } as Fake["requests"][number]);
  const runs = existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0;
  return { ...ran, fake, path, body, headers, runs, key: headers.authorization };
}
type More = Partial<{
  env: Record<string, string>;
  project: object;
  kept: object;
  start: typeof zz;
  user: string; // of FAKE
}>;
const WORK = { like: "openai", url: "FAKE", key_command_seconds: 150 };
const work = (more: object) => ({ providers: { work: { ...WORK, ...more } } });
const counted = (command: string) => `echo x >> HERE/${LOG}; ${command}`;
const once = ["--once", "-m", "work/m", "hi"];

describe("a provider of one's own", { concurrency: 4 }, () => {
  const BEARER = `Bearer ${KEY}`;
  test("is like the one that it names, with the key that its command prints, run once", async () => {
    const settings = work({ key_command: counted(`echo ${KEY}; echo login: me`) });
    const { stdout, stderr, key, runs } = await asks(settings, once, { start: zzProcess });
    deepEqual([stdout, key, runs], ["Hi\n", BEARER, 1], stderr);
  });
  test("goes by the wire that it says, sends what it says beside, and whom it is billed to", async () => {
    const more = {
      wire: "responses",
      headers: { "x-team": "lamps" },
      organization: "org-1",
      project: "proj-1",
    };
    const { path, headers } = await asks(work({ key: KEY, ...more }), once);
    equal(path, "/v1/responses");
    equal(
      `${headers["x-team"]} ${headers["openai-organization"]} ${headers["openai-project"]}`,
      "lamps org-1 proj-1",
    );
  });
  test("gets nothing from OpenAI's own variables, and no word about this machine", async () => {
    const more = [
      "x-gateway: secret",
      "authorization: Bearer other",
      "api-key: other",
      "OpenAI-Organization: org-3",
    ];
    const env = { OPENAI_CUSTOM_HEADERS: more.join("\n"), OPENAI_ORG_ID: "org-2" };
    const { headers } = await asks(work({ key: KEY }), once, { env, start: zzProcess });
    const named = Object.entries(headers).filter(
      ([name]) => !/^(host|connection|content-length)$/.test(name),
    );
    deepEqual(Object.fromEntries(named), {
      accept: "application/json",
      authorization: BEARER,
      "content-type": "application/json",
      "user-agent": "zz",
    });
  });
  test("has its own variable before its command, which is not run then", async () => {
    const said = work({ key_command: counted("echo no-key-of-mine") });
    const { key, runs } = await asks(said, once, { env: { WORK_API_KEY: KEY } });
    deepEqual([key, runs], [BEARER, 0]);
  });
  test("has its command before the key that is kept", async () => {
    const kept = { work: "sk-that-was-kept-01" };
    equal((await asks(work({ key_command: `echo ${KEY}` }), once, { kept })).key, BEARER);
  });
  test("never gets the key of the one that it is like", async () => {
    equal((await asks(work({}), once, { env: { OPENAI_API_KEY: KEY } })).key, "Bearer none");
  });
  test("gets the user and the password of its address where it has no key", async () => {
    const BASIC = `Basic ${Buffer.from("me:open-1").toString("base64")}`;
    for (const wire of ["chat", "responses"])
      for (const [more, sent] of [
        [{}, BASIC],
        [{ key: KEY }, BEARER],
      ] as const)
        equal((await asks(work({ wire, ...more }), once, { user: "me:open-1@" })).key, sent);
  });
  test("is not asked for its key while another is asked", async () => {
    const { work: own } = work({ key_command: counted(`echo ${KEY}`) }).providers;
    const providers = { work: own, groq: { url: "FAKE" } };
    const { runs, stdout } = await asks({ providers }, ["--once", "-m", "groq/m", "hi"]);
    deepEqual([stdout, runs], ["Hi\n", 0]);
  });
  test("without an address is another name for the one that it is like, and a model of it", async () => {
    const providers = { groq: { url: "FAKE" }, fast: { like: "groq", model: "llama-x" } };
    const env = { GROQ_API_KEY: KEY };
    const { stdout, key, body } = await asks({ providers }, ["--once", "-m", "fast", "hi"], {
      env,
    });
    deepEqual([stdout, key, body.model], ["Hi\n", BEARER, "llama-x"]);
  });
  test("that is like nobody is told of", async () => {
    const { stderr, code } = await asks(
      { providers: { work: { like: "opnai", url: "FAKE" } } },
      once,
    );
    match(
      stderr,
      /Cannot use provider 'work': it is said to be like 'opnai', and .*Did you mean '?openai/,
    );
    equal(code, 2);
  });
  test("shows its key nowhere", async () => {
    const args = ["--once", "--json", "--debug", ...once.slice(1)];
    const { stdout, stderr } = await asks(work({ key_command: `echo ${KEY}` }), args);
    doesNotMatch(stdout + stderr, new RegExp(KEY));
  });
  test("takes its command from the person's settings, never from a project's", async () => {
    const project = { providers: { work: { key_command: counted("echo stolen-key-0") } } };
    for (const args of [once, ["--trust", ...once]]) {
      const { runs, fake } = await asks(work({}), args, { project });
      equal(runs, 0);
      for (const { headers } of fake.requests)
        doesNotMatch(String(headers.authorization), /stolen/);
    }
  });
});

// biome-ignore format: one case a row.
const WRONG: [what: string, command: string, words: RegExp, seconds?: number][] = [
  ["that prints nothing", "true", /its first line is empty/],
  ["that fails", "exit 3", /it ended with exit code 3/],
  ["that prints a file", "seq 1000 2000", /what it printed is not a key, which is one word in one line/],
  ["that asks", "read key; echo key-$key-0000; test -n \"$key\"", /exit code 1/],
  ["that hangs", "sleep 300", /it took longer than 0\.2 s \(key_command_seconds\), or waits for somebody to answer/, 0.2],
];
describe("a key_command", { concurrency: 4 }, () => {
  for (const [what, command, words, key_command_seconds = 100] of WRONG)
    test(`${what} is told of in a sentence`, async () => {
      const { stderr, stdout, code, fake } = await asks(
        work({ key_command: command, key_command_seconds }),
        once,
      );
      match(stderr, /Cannot get the key of 'work' by its key_command: /);
      match(stderr, words);
      match(stderr, /Run it yourself, and fix it\./);
      deepEqual([stdout, code, fake.requests.length], ["", 2, 0]);
    });
});

describe("What is not a key is refused before any request", { concurrency: 4 }, () => {
  const BAD: [what: string, key: string][] = [
    ["a line break", "sk-one\nX-Evil: 1"],
    ["a carriage return", "sk-one\rX-Evil: 1"],
    ["a tab", "sk-one\ttwo"],
    ["a blank", "sk-one two"],
    ["an escape", "sk-\u001b[31mone"],
    ["a backspace", "sk-one\b"],
    ["a delete", "sk-one\u007ftwo"],
    ["a control of 8 bits", "sk-one\u009btwo"],
    ["an accent", "sk-oné"],
    ["an ellipsis, as a page shortens it", "sk-one…two"],
    ["a sign that nobody sees", "sk-one\u200btwo"],
    ["letters of another direction", "sk-\u202eone"],
  ];
  const NOT_ONE = (source: string) =>
    new RegExp(
      `^Cannot use the key of 'work': what ${source} gives is not one\\. A key is one word`,
    );
  for (const [what, key] of BAD)
    test(what, async () => {
      const inSettings = await asks(work({ key }), once);
      const onLine = await asks(work({}), [...once, "--key", key]);
      const kept = await asks(work({}), once, { kept: { work: key } });
      for (const [ran, source] of [
        [inSettings, "the setting"],
        [onLine, "--key"],
        [kept, "keys.json"],
      ] as const) {
        equal(ran.code, 2, ran.stderr);
        match(ran.stderr, NOT_ONE(source));
        equal(ran.fake.requests.length, 0);
        doesNotMatch(ran.stderr, /sk-/);
      }
    });

  test("in a variable, as a token of Telegram's has to look, and blanks around it do no harm", async () => {
    const rows: [token: string, says: RegExp][] = [
      ["123:AA\nX: 1",
        /^Cannot use the key of 'telegram': what TELEGRAM_BOT_TOKEN gives is not one\./],
      ["123:AA/../x", /^Cannot use the key of 'telegram'/],
      ["123:AA?x=1", /^Cannot use the key of 'telegram'/],
      ["sk-of-another", /^Cannot use the key of 'telegram'/],
    ]; // biome-ignore format: a table
    for (const [token, says] of rows) {
      const url = "http://127.0.0.1:9";
      const env = { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_URL: url };
      const { code, stderr } = await zz(place(), ["--telegram", "-m", "offline"], { env });
      equal(code, 2, stderr);
      match(stderr, says);
    }
    equal((await asks(work({}), [...once, "--key", ` ${KEY}\n`])).key, `Bearer ${KEY}`);
  });
});

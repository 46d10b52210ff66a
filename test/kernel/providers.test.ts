// Providers of the person's own, in the settings: like another, with a command that prints their key.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, type Ran, zz, zzProcess } from "../support/run.ts";

const KEY = "sk-of-work-0123456789";
const LOG = "ran.log";

/** With these settings, where FAKE is the address of a server that answers and HERE the folder of the home. */
async function asks(
  settings: object,
  args: string[],
  env: Record<string, string> = {},
  project?: object,
  kept?: object,
  start: typeof zz = zz,
) {
  const fake = await fakeOpenAI([say("Hi")]);
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const fill = (given: object) => JSON.stringify(given).replaceAll("FAKE", fake.url).replaceAll("HERE", where.home);
  writeFileSync(join(where.home, "zz.config.json"), fill(settings));
  if (kept) writeFileSync(join(where.home, "keys.json"), fill(kept));
  if (project) mkdirSync(join(where.cwd, ".zz"));
  if (project) writeFileSync(join(where.cwd, ".zz", "zz.config.json"), fill(project));
  const ran: Ran = await start(where, args, { env });
  await fake.close();
  const log = join(where.home, LOG);
  return { ...ran, fake, runs: existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0 };
}
const work = (more: object) => ({
  providers: { work: { like: "openai", url: "FAKE", key_command_seconds: 150, ...more } },
});
const counted = (command: string) => `echo x >> HERE/${LOG}; ${command}`;
const once = ["--once", "-m", "work/m", "hi"];

describe("a provider of one's own", { concurrency: 4 }, () => {
  test("is like the one that it names, with the key that its command prints, run once", async () => {
    const { stdout, fake, stderr, runs } = await asks(
      ...([
        work({ key_command: counted(`echo ${KEY}; echo login: me`) }),
        once,
        {},
        undefined,
        undefined,
        zzProcess,
      ] as const),
    );
    equal(stdout, "Hi\n", stderr);
    equal(fake.requests[0]!.headers.authorization, `Bearer ${KEY}`);
    equal(runs, 1);
  });
  test("goes by the wire that it says", async () => {
    const { fake } = await asks(work({ key: KEY, wire: "responses" }), once);
    equal(fake.requests[0]!.path, "/v1/responses");
  });
  test("sends what it says beside, and whom it is billed to", async () => {
    const more = { key: KEY, headers: { "x-team": "lamps" }, organization: "org-1", project: "proj-1" };
    const { fake } = await asks(work(more), once);
    const { headers } = fake.requests[0]!;
    equal(`${headers["x-team"]} ${headers["openai-organization"]} ${headers["openai-project"]}`, "lamps org-1 proj-1");
  });
  test("has its own variable before its command, which is not run then", async () => {
    const said = work({ key_command: counted("echo no-key-of-mine") });
    const { fake, runs } = await asks(said, once, { WORK_API_KEY: KEY });
    equal(fake.requests[0]!.headers.authorization, `Bearer ${KEY}`);
    equal(runs, 0);
  });
  test("has its command before the key that is kept", async () => {
    const { fake } = await asks(work({ key_command: `echo ${KEY}` }), once, {}, undefined, {
      work: "sk-that-was-kept-01",
    });
    equal(fake.requests[0]!.headers.authorization, `Bearer ${KEY}`);
  });
  test("never gets the key of the one that it is like", async () => {
    const { fake } = await asks(work({}), once, { OPENAI_API_KEY: KEY });
    equal(fake.requests[0]!.headers.authorization, "Bearer none");
  });
  test("is not asked for its key while another is asked", async () => {
    const { runs, stdout } = await asks(
      { providers: { work: { like: "openai", url: "FAKE", key_command: counted(`echo ${KEY}`) }, groq: { url: "FAKE" } } },
      ["--once", "-m", "groq/m", "hi"],
    ); // biome-ignore format: short
    equal(stdout, "Hi\n");
    equal(runs, 0);
  });
  test("without an address is another name for the one that it is like, and a model of it", async () => {
    const { fake, stdout } = await asks(
      { providers: { groq: { url: "FAKE" }, fast: { like: "groq", model: "llama-x" } } },
      ["--once", "-m", "fast", "hi"],
      { GROQ_API_KEY: KEY },
    );
    equal(stdout, "Hi\n");
    equal(fake.requests[0]!.headers.authorization, `Bearer ${KEY}`);
    equal(fake.requests[0]!.body.model, "llama-x");
  });
  test("that is like nobody is told of", async () => {
    const { stderr, code } = await asks({ providers: { work: { like: "opnai", url: "FAKE" } } }, once);
    match(stderr, /Cannot use provider 'work': it is said to be like 'opnai', and .*Did you mean '?openai/);
    equal(code, 2);
  });
  test("shows its key nowhere", async () => {
    const { stdout, stderr } = await asks(work({ key_command: `echo ${KEY}` }), [
      "--once",
      "--json",
      "--debug",
      ...once.slice(1),
    ]);
    doesNotMatch(stdout + stderr, new RegExp(KEY));
  });
  test("takes its command from the person's settings, never from a project's", async () => {
    const project = { providers: { work: { key_command: counted("echo stolen-key-0") } } };
    for (const args of [once, ["--trust", ...once]]) {
      const { runs, fake } = await asks(work({}), args, {}, project);
      equal(runs, 0);
      for (const { headers } of fake.requests) doesNotMatch(String(headers.authorization), /stolen/);
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
      const { stderr, stdout, code, fake } = await asks(work({ key_command: command, key_command_seconds }), once);
      match(stderr, /Cannot get the key of 'work' by its key_command: /);
      match(stderr, words);
      match(stderr, /Run it yourself, and fix it\./);
      equal(stdout, "");
      equal(code, 2);
      equal(fake.requests.length, 0);
    });
});

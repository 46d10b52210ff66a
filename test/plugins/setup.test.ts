// Whatever is configured for a provider goes where the person meant it: keys to the address that they were given for, prompts to a server
// whose settings are understood.
import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { serve } from "../support/fake/http.ts";
import { refuse, say } from "../support/fake/openai.ts";
import { place, zz } from "../support/run.ts";
import { harness } from "../support/script.ts";

const KEY = "sk-given-for-another-server";

/** An OpenAI-compatible server, and the keys that it got. */
async function server(t: TestContext) {
  const keys: string[] = [];
  const fake = await serve([say("Good.")], {
    "GET /v1/models": ({ headers }) => {
      keys.push(String(headers.authorization));
      return refuse(200, { object: "list", data: [{ id: "own-7b", object: "model" }] });
    },
  });
  t.after(fake.close);
  return { url: `${fake.url}/v1`, port: fake.port, keys };
}

describe("/setup for another server's address", () => {
  async function setUp(t: TestContext, url: string, key: string) {
    const asked: string[] = [];
    const answer = async (question: string) => {
      asked.push(question);
      if (/Which model should/.test(question)) return "Enter another server's address";
      if (/Base URL/.test(question)) return url;
      return /key/.test(question) ? key : "own-7b";
    };
    const it = await harness({ own: true, answer }, t);
    const notes = await it.command("setup");
    return { ...it, notes, settings: JSON.parse(readFileSync(join(it.home, "zz.config.json"), "utf8")) };
  }

  for (const key of [KEY, "-"])
    test(`makes it a provider of its own, ${key === "-" ? "without" : "with"} a key, and leaves openai as it is`, async (t) => {
      const { url, port, keys } = await server(t);
      const { settings, notes, home } = await setUp(t, url, key);
      const name = `local-${port}`;
      deepEqual(settings, { providers: { [name]: { like: "openai", url } }, model: `${name}/own-7b` });
      match(notes.join("\n"), new RegExp(`From now on ${name}/own-7b answers`));
      if (key === KEY) deepEqual(JSON.parse(readFileSync(join(home, "keys.json"), "utf8")), { [name]: KEY });
      deepEqual([...new Set(keys)], [key === KEY ? `Bearer ${KEY}` : "Bearer none"]);
    });
});

describe("What is configured for a provider, but not understood, is not used", () => {
  const run = async (providers: object) => {
    const where = place();
    writeFileSync(join(where.cwd, "settings.json"), JSON.stringify({ providers }));
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: "http://127.0.0.1:49/vendor" };
    return zz(where, ["--config", join(where.cwd, "settings.json"), "--once", "-m", "openai/m", "hi"], { env });
  };
  const url = "http://127.0.0.1:49/v1";
  for (const [providers, code, words] of [
    [{ openai: { base_url: url } }, 2, /^Cannot use provider 'openai': .*'base_url'\. Did you mean 'url'\?/m],
    [{ openai: { ur: url } }, 2, /^Cannot use provider 'openai': .*'ur'\. Did you mean 'url'\?/m],
    [{ openai: { apiKey: url } }, 2, /^Cannot use provider 'openai': .*'apiKey'\. Did you mean 'key'\?/m],
    [{ opneai: { url } }, 2, /^Cannot use provider 'openai': the settings describe 'opneai', which nobody has\./m],
    [{ groq: { baseUrl: url } }, 1, /Cannot reach '127\.0\.0\.1:49'/],
  ] as const)
    test(JSON.stringify(providers), async () => {
      const ran = await run(providers);
      equal(ran.code, code, ran.stderr);
      match(ran.stderr, words);
    });
});

// Whatever is configured for a provider goes where the person meant it: keys to the address that
// they were given for, prompts to a server whose settings are understood.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { serve } from "../../../../test/support/fake/http.ts";
import { refuse, say } from "../../../../test/support/fake/openai.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";

const KEY = "sk-given-for-another-server";

test("/setup makes another server's address a provider of its own, with its key, and leaves openai as it is", async (t) => {
  const keys: string[] = [];
  const fake = await serve([say("Good.")], {
    "GET /v1/models": ({ headers }) => {
      keys.push(String(headers.authorization));
      return refuse(200, { object: "list", data: [{ id: "own-7b", object: "model" }] });
    },
  });
  t.after(fake.close);
  const url = `${fake.url}/v1`;
  const secret = ["me:open-1@127.0.0.1/v1", "https://tok-1@a.example", "a.example/v1?key=open-1"];
  const given = ["-", ...secret, "http://127.0.0.1:49/v1", `127.0.0.1:${fake.port}`];
  const answer = async (question: string) => {
    if (/Which model should/.test(question)) return "Enter another server's address";
    if (/Base URL/.test(question)) return given.shift()!;
    return /key/.test(question) ? KEY : "own-7b";
  };
  const it = await harness({ own: true, answer }, t);
  const said = (await it.command("setup")).join("\n");
  match(
    said,
    /Cannot use '-': not a URL\.[\s\S]*(Cannot use that address[\s\S]*){3}Cannot reach '127\.0\.0\.1:49'/,
  );
  doesNotMatch(said, /open-1|tok-1/);
  const name = `local-${fake.port}`;
  const kept = (file: string) => JSON.parse(readFileSync(join(it.home, file), "utf8"));
  const settings = { providers: { [name]: { like: "openai", url } }, model: `${name}/own-7b` };
  deepEqual([kept("zz.config.json"), kept("keys.json")], [settings, { [name]: KEY }]);
  deepEqual([...new Set(keys)], [`Bearer ${KEY}`]);
});

describe("What is configured for a provider, but not understood, is not used", () => {
  const run = async (providers: object) => {
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: "http://127.0.0.1:49/vendor" };
    return zz(place({}, { providers }), ["--once", "-m", "openai/m", "hi"], { env });
  };
  const url = "http://127.0.0.1:49/v1";
  for (const [providers, code, words] of [
    [
      { openai: { base_url: url } },
      2,
      /^Cannot use provider 'openai': .*'base_url'\. Did you mean 'url'\?/m,
    ],
    [{ openai: { ur: url } }, 2, /^Cannot use provider 'openai': .*'ur'\. Did you mean 'url'\?/m],
    [
      { openai: { apiKey: url } },
      2,
      /^Cannot use provider 'openai': .*'apiKey'\. Did you mean 'key'\?/m,
    ],
    [
      { opneai: { url } },
      2,
      /^Cannot use provider 'openai': the settings describe 'opneai', which nobody has\./m,
    ],
    [{ groq: { baseUrl: url } }, 1, /Cannot reach '127\.0\.0\.1:49'/],
  ] as const)
    test(JSON.stringify(providers), async () => {
      const ran = await run(providers);
      equal(ran.code, code, ran.stderr);
      match(ran.stderr, words);
    });
});

describe("What of the settings is not understood, and would send words elsewhere, is not used", () => {
  const url = "http://127.0.0.1:49/v1";
  const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url, BRAVE_API_KEY: KEY };
  const meant = (name: string) =>
    new RegExp(`^Cannot .*(to ".*" is "${name}"|mean '${name}'\\?)`, "m");
  const hi = ["--once", "hi"];
  const queue = "redis://127.0.0.1:1";
  const rows: [settings: object, args: string[], meant: string][] = [
    [{ modle: "ollama/m" }, hi, "model"],
    [{ Model: "ollama/m" }, hi, "model"],
    [{ modles: { chat: "ollama/m" } }, hi, "model"],
    [{ models: { caht: "ollama/m" } }, hi, "chat"],
    [{ providrs: { openai: { url } } }, [...hi, "-m", "openai/m"], "providers"],
    [{ provider: { openai: { url } } }, [...hi, "-m", "openai/m"], "providers"],
    [{ store: queue, redis: { prefx: "a" } }, hi, "prefix"],
    [{ store: queue, redis: { key_comand: "a" } }, [...hi, "-m", "offline"], "key_command"],
    [{ queue: { prefx: "a" } }, [...hi, "-m", "openai/m", "--queue", queue], "prefix"],
    [{ queue: { prefx: "a" } }, ["--work", queue], "prefix"],
    [{ web: { ulr: url } }, ["--call", "web_search", '{"query":"x"}'], "web_fetch"],
  ];
  for (const [settings, args, name] of rows)
    test(`${JSON.stringify(settings)} ${args.join(" ")}`, async () => {
      const { code, stderr } = await zz(place({}, settings), args, { env });
      equal(code, 2, stderr);
      match(stderr, meant(name));
    });

  const used: [settings: object, args: string[]][] = [
    [{ modle: "ollama/m" }, ["-m", "offline"]],
    [{ providrs: {} }, ["-m", "offline"]],
    [{ model: "offline", modle: "x" }, []],
    [{ models: { chat: "offline", caht: "x" } }, []],
  ];
  for (const [settings, args] of used)
    test(`a model that is named all the same: ${JSON.stringify(settings)} ${args}`, async () => {
      const { code, stderr } = await zz(place({}, settings), [...args, ...hi], { env });
      equal(code, 0, stderr);
    });
});

test("a server of MCP with a setting that zz does not know is not used, and fields of other programs are left alone", async (t) => {
  const misspelt =
    "comand enviroment header arg urls cwdir timeOut oath sandBox read_only hosts".split(" ");
  const servers = misspelt.map((field, i) => [`s${i}`, { command: "true", [field]: "x" }]);
  const mcpServers = {
    ...Object.fromEntries(servers),
    fine: { command: "true", type: "stdio", alwaysAllow: [] },
  };
  const zz = await harness({ own: true, settings: { mcpServers } }, t);
  const said = (await zz.command("mcp")).join("\n");
  const why = "which zz does not know\\. (Did you mean|Its fields are)";
  for (const [i, field] of misspelt.entries())
    match(said, new RegExp(`'s${i}' is left out: it has "${field}", ${why}`));
  equal(/'fine' is left out/.test(said), false, said);
});

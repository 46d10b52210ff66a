// web_search, against servers that speak as Brave, Tavily and SearXNG do.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { harness, type Setup, standingClock } from "zz/test";
import { type Seen, type Step, serve } from "../../../test/support/fake/http.ts";
import { place, zz as program, ROOT } from "../../../test/support/run.ts";

const KEY = "search-key-0123456789";
const json = (body: unknown, status = 200): Step => ({ status, body: [JSON.stringify(body)] });
const described = { url: "https://tea.example/pot", description: "About <strong>tea</strong>." };
const hits = [
  { title: "The <strong>tea</strong> &amp; pot", ...described },
  { title: "Second", url: "https://two.example/", description: "More." },
  { title: "Bad", url: "javascript:alert(1)", description: "x" },
];
const plain = hits.map(({ description, ...rest }) => ({ ...rest, content: description }));

const ENGINES: [name: string, answer: unknown, path: string, asked: (seen: Seen) => unknown, expected: unknown][] = [
  ["brave", { web: { results: hits } }, "/res", ({ headers, path }) => [path, headers["x-subscription-token"]], ["/res?q=hot+tea&count=2", KEY]],
  ["tavily", { results: plain }, "/search", ({ headers, body }) => [headers.authorization, body], [`Bearer ${KEY}`, { query: "hot tea", max_results: 2 }]],
  ["searxng", { results: plain }, "", ({ path }) => path, "/search?q=hot+tea&count=2&format=json"],
]; // biome-ignore format: a table

async function having(t: TestContext, engine: string, path: string, step: Step, more: Setup = {}) {
  const server = await serve([step]);
  t.after(server.close);
  const settings = { web: { engine, key: KEY, url: `${server.url}${path}`, seconds: 1 } };
  const plugins = [join(ROOT, "packages/web/index.ts")];
  return {
    zz: await harness({ allow: { net: ["127.0.0.1"] }, settings, plugins, ...more }, t),
    server,
  };
}

describe("web_search", () => {
  for (const [engine, answer, path, asked, expected] of ENGINES)
    test(`${engine}: asked and read in its own words, with its key, which nobody else sees`, async (t) => {
      const { zz, server } = await having(t, engine, path, json(answer));
      const { text, data } = await zz.call("web_search", { query: "hot tea", count: 2 });
      match(
        text,
        /^1\. The tea & pot\n {3}https:\/\/tea\.example\/pot\n {3}About tea\.\n2\. Second\n.*\n {3}More\.$/,
      );
      equal((data as unknown[]).length, 2);
      deepEqual(asked(server.requests[0]!), expected);
      doesNotMatch(JSON.stringify(zz.events), new RegExp(KEY));
    });

  const faults: [what: string, engine: string, step: Step, says: RegExp][] = [
    [
      "a key that is refused",
      "brave",
      json({ error: "no" }, 401),
      /brave refused the key\. Check it\.$/,
    ],
    [
      "SearXNG without JSON",
      "searxng",
      { body: ["<html>"] },
      /sent no JSON\. Add "json" to search\.formats/,
    ],
    [
      "SearXNG that forbids it",
      "searxng",
      { status: 403 },
      /refused\. Add "json" to search\.formats/,
    ],
    ["something else", "brave", json([1, 2]), /^Nothing was found for 'tea'\.$/],
  ];
  for (const [what, engine, step, says] of faults)
    test(`${what}: a sentence`, async (t) => {
      const { zz } = await having(t, engine, "", step);
      match((await zz.call("web_search", { query: "tea" })).text, says);
    });

  test("a server that hangs: a sentence", async (t) => {
    const clock = standingClock();
    const { zz } = await having(t, "tavily", "", { ending: "hang" }, { clock });
    const searched = zz.call("web_search", { query: "tea" });
    await clock.waits(1_000);
    await clock.pass(1_000);
    match((await searched).text, /took longer than 1 s\. Try again\.$/);
  });

  test("asks for the engine's host, as any call does", async (t) => {
    const { zz, server } = await having(t, "brave", "", json({}), { allow: {} });
    ok((await zz.call("web_search", { query: "tea" })).refused);
    equal(server.requests.length, 0);
  });

  test("without a key or an address it is not there; with one of the environment it is", async () => {
    const names = async (env: Record<string, string> = {}) =>
      JSON.parse((await program(place(), ["--tools", "--json"], { env })).stdout).map(
        ({ name }: any) => name,
      );
    ok(!(await names()).includes("web_search"));
    ok((await names({ BRAVE_API_KEY: KEY })).includes("web_search"));
  });

  test("it comes with the settings, and goes with them", async (t) => {
    const zz = await harness({ plugins: [join(ROOT, "packages/web/index.ts")] }, t);
    const offered = async () => (await zz.ctx.about.offered()).map(({ name }) => name).join();
    equal(await offered(), "web_fetch");
    await zz.ctx.settings.set("web.url", "http://127.0.0.1:1");
    equal(await offered(), "web_fetch,web_search");
    await zz.ctx.settings.set("web.url", undefined);
    equal(await offered(), "web_fetch");
    match(
      (await zz.call("web_search", { query: "x" })).text,
      /^Cannot search: no search engine is set up|^Refused/,
    );
  });
});

// README.md and the pages of docs/: every sample is run as it is printed (those that start
// programs: test/all/e2e/readme.test.ts), and every table lists all that it should.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { EVENTS, STEPS } from "../../kernel/contract.ts";
import { type Script, serve } from "../support/fake/http.ts";
import { askable, say } from "../support/fake/openai.ts";
import { DOCS, inRoot, PAGES, page, snippet, snippets } from "../support/pages.ts";
import { type How, place, ROOT, withEnvironment, zz } from "../support/run.ts";
import { testFiles } from "../support/suites.ts";

test("README.md leads to every page, and links of all pages lead somewhere, to a heading too", () => {
  for (const name of DOCS) ok(page("README.md").includes(`](docs/${name})`), name);
  const plain = (heading: string) => heading.toLowerCase().replace(/[^\w\- ]/g, "");
  const anchor = (heading: string) => plain(heading).replaceAll(" ", "-");
  for (const [name, text] of [...PAGES, ["CONTRIBUTING.md", inRoot("CONTRIBUTING.md")] as const])
    for (const [, link = "", heading] of text.matchAll(/\]\(([\w./-]*)(?:#([\w-]+))?\)/g)) {
      const file = link ? join(ROOT, dirname(name), link) : join(ROOT, name);
      ok(existsSync(file), `'${link}' of ${name}`);
      if (!heading) continue;
      const headings = [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
        anchor(text!),
      );
      ok(headings.includes(heading), `'${link}#${heading}' of ${name}`);
    }
  for (const [, image = ""] of page("README.md").matchAll(/(?:src|srcset)="([^"]+)"/g))
    ok(existsSync(join(ROOT, image)), image);
});

test("each page has its first example within ten lines", () => {
  for (const name of DOCS) {
    const line = page(`docs/${name}`)
      .split("\n")
      .findIndex((text) => text.startsWith("```"));
    ok(line >= 0 && line < 10, `docs/${name}: line ${line + 1}`);
  }
});

test("the first examples of pages are what zz prints, for the shop that they are about", async () => {
  const where = place({
    "src/cart.ts":
      'import { euros } from "./price.ts";\n\nexport function total(prices: number[]): string {\n  return euros(prices.reduce((sum, price) => sum + price, 0));\n}\n',
    "src/price.ts":
      "/** A price as the shop shows it. */\nexport const euros = (price: number): string => `${price.toFixed(2)} €`;\n",
  });
  const words = (line: string) =>
    [...line.matchAll(/'(.*?)'|"(.*?)"|(\S+)/g)].map(([, one, two, three]) => one ?? two ?? three!);
  for (const begin of ["$ zz --call find_references", "$ zz --call write_file"]) {
    const [command = "", ...expected] = snippet(begin).trimEnd().split("\n");
    const { stdout, stderr } = await zz(where, ["-n", ...words(command).slice(2)]);
    deepEqual((stdout + stderr).trimEnd().split("\n"), expected);
  }
  match((await zz(where, words(snippet("zz --prompt\n")).slice(1))).stdout, /^\[base: identity/);
  const debug = words(snippet("zz --debug --model offline")).slice(2);
  equal((await zz(where, ["-n", ...debug])).code, 0);
  const { agent_servers: servers } = JSON.parse(snippet('"agent_servers"'));
  deepEqual(servers, { zz: { command: "zz", args: ["--acp"] } });
});

test("README.md and docs/install.md install what test/all/e2e/packages.test.ts tries", () => {
  for (const { text, page } of snippets.filter(({ text }) => text.includes("npm pack")))
    match(text, /npm pack( && |\n)npm install -g \.\/zz-\*\.tgz/, page);
  const { name, private: isPrivate } = JSON.parse(inRoot("package.json"));
  deepEqual([name, isPrivate], ["zz", true], "CONTRIBUTING.md says how it would be published");
  equal(inRoot(".node-version").trim(), JSON.parse(inRoot("package.json")).devDependencies.node);
});

test("README: the two commands are what .ci/run runs, and npm test runs everything", () => {
  const { scripts } = JSON.parse(inRoot("package.json"));
  const ci = inRoot(".ci/run");
  const commands = snippet("npm ci &&").trim();
  for (const command of commands.split(/\n| && /)) ok(ci.includes(command), command);
  equal(scripts.test, "npm run build && node test/support/all.ts");
  const folders = new Set(
    testFiles(false).flatMap((file) => /^test\/(\w+)\//.exec(file)?.[1] ?? []),
  );
  const others = ["all", "bench", "slow", "support"]; // of `npm run test:all` and `npm run bench`
  const there = readdirSync(join(ROOT, "test")).filter((name) => !others.includes(name));
  deepEqual([...folders].sort(), there.sort());
  match(scripts.check, /tsc && biome check/);
  match(inRoot("build/build.js"), /tsc", "-p", "tsconfig\.json"/, "the build checks all types");
  ok(ci.includes("npm run check"), "the style is a step of its own");
});

test("README: the five-line plugin works as printed", async () => {
  const now = snippet('name: "now"');
  equal(now.trim().split("\n").length, 5);
  const ran = await zz(place({ "now.ts": now }), ["--plugin", "now.ts", "--call", "now"]);
  match(ran.stdout, /^\d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
});

test("README: the plugin with words of zz/text works as printed, and the table has all of them", async () => {
  const where = place({ "count.ts": snippet("plural, tokensOf") });
  const ran = await zz(where, [
    "--plugin",
    "count.ts",
    "--call",
    "count",
    '{"text":"a line\\nand another"}',
  ]);
  equal(ran.stdout, "2 lines, about 5 tokens\n");
  const section = sectionOf("docs/plugins.md", "Words for plugins");
  const names = Object.keys(await import("../../sdk/text.ts"));
  deepEqual(namesIn(section), names.sort());
});

test("README: the table of what a plugin may register has every verb of its handle", () => {
  const [, handle = ""] = /^export interface Zz<.*?\n(.*?)^}/ms.exec(inRoot("kernel/contract.ts"))!;
  const verbs = [...handle.matchAll(/^ {2}(\w+)(?:<[^(]*)?\(/gm)].map(([, name]) => name!);
  const section = sectionOf("docs/plugins.md", "The handle");
  const others = ["events", "fetch", "secret", "veil"].filter((name) =>
    section.includes(`\`zz.${name}\``),
  );
  deepEqual([...namesIn(section), ...others].sort(), verbs.sort());
});

test("docs/plugins.md has every event and every step", () => {
  deepEqual(namesIn(sectionOf("docs/plugins.md", "Events")), [...EVENTS].sort());
  deepEqual(namesIn(sectionOf("docs/plugins.md", "Steps")), [...STEPS].sort());
});

test("docs/settings.md has every setting, and each is described", async () => {
  const { stdout } = await zz(place(), ["--config-schema"]);
  const settings = namesIn(sectionOf("docs/settings.md", "All settings"), /`([\w.$-]+)`/g);
  const undescribed: string[] = [];
  deepEqual(settings, leavesOf(JSON.parse(stdout)).sort());
  deepEqual(undescribed, []);

  function leavesOf(
    { properties = {} }: { properties?: Record<string, any> },
    above = "",
    described = "", // by what holds them
  ): string[] {
    return Object.entries(properties).flatMap(([name, shape]) => {
      const isLeaf =
        !Object.keys(shape.properties ?? {}).length || /^(providers|permissions)$/.test(name);
      const description = described || shape.description;
      if (isLeaf && !description) undescribed.push(`${above}${name}`);
      return isLeaf ? `${above}${name}` : leavesOf(shape, `${above}${name}.`, description);
    });
  }
});

const sectionOf = (name: string, heading: string): string => {
  const sections = page(name).split(/^## /m);
  return sections.find((text) => text.startsWith(`${heading}\n`))!;
};

/** The names in the first column of a section's tables, before a parenthesis or alone. */
const namesIn = (section: string, name = /`(\w+)[^`]*`/g): string[] =>
  [...section.matchAll(/^\| (`.*?) \|/gm)]
    .flatMap(([, cell]) => [...cell!.matchAll(name)].map(([, name]) => name!))
    .filter((name) => name !== "zz")
    .sort();

test("README: every command is in its table, and the template is a command", async () => {
  const where = place({}, {}, { "prompts/translate.md": snippet("Translate the comments") });
  const ran = await zz(where, ["-m", "offline/router", "/help", "-n"]);
  const names = [...ran.stdout.matchAll(/^ *\/([\w-]+)/gm)].map(([, name]) => name!);
  ok(names.length > 30, ran.stdout);
  for (const name of names) ok(page("docs/prompt.md").includes(`/${name}`), name);
  ok(names.includes("translate"));
  const { args, requests } = await askable([say("Done.")]);
  await zz(where, [...args, "/translate a.ts French"]);
  const sent = "Translate the comments in a.ts into French. Leave the code as it is.";
  equal(requests[0]!.body.messages.at(-1).content, sent);
});

const scripted = async (snippetOf: string, script: Script, args: string[], how: How = {}) => {
  const where = place({
    "it.ts": snippet(snippetOf),
    "a.ts": "// TODO one\n",
    "b.ts": "// nothing\n",
  });
  const model = await askable(script);
  const ran = await zz(where, [...model.args, "--run", "it.ts", ...args], how);
  return { ...ran, said: model.requests.map(({ body }) => body.messages.at(-1).content) };
};

test("README: the log in a pipe is read for what went wrong, in two turns", async () => {
  const log = ["10:00 started", "10:01 WARN slow disk", "10:02 fine", "10:03 ERROR no disk"].join(
    "\n",
  );
  const ran = await scripted("You read server logs", [say("The disk."), say("The cable.")], [], {
    input: log,
  });
  deepEqual([ran.stdout, ran.stderr, ran.code], ["The disk.\nThe cable.\n", "", 0]);
  deepEqual(ran.said, [
    "What went wrong here?\n10:01 WARN slow disk\n10:03 ERROR no disk",
    "What should I look at first?",
  ]);
});

test("README: the batch over files gives a line of JSON for each thing to do", async () => {
  const found = { todos: [{ line: 1, text: "one", urgent: false }] };
  const answers = [say(JSON.stringify(found)), say(JSON.stringify({ todos: [] }))];
  const ran = await scripted("List what is left", answers, ["a.ts", "b.ts"]);
  deepEqual(
    [ran.stdout, ran.stderr, ran.code],
    [`${JSON.stringify({ file: "a.ts", ...found.todos[0] })}\n`, "", 0],
  );
  match(ran.said[0], /--- FILE a\.ts ---\n\/\/ TODO one\n/);
});

test("README: the weather plugin works as printed, asks for the network, and takes its settings", async () => {
  const weather = snippet("export const defaults = { unit");
  const where = place({ "weather.ts": weather, "zz.json": { weather: { unit: "F" } } });
  const words =
    '--plugin weather.ts --config zz.json --call weather {"city":"Oslo","days":2}'.split(" ");
  const refused = await zz(where, words);
  equal(refused.code, 4);
  match(refused.stderr, /--allow-net=weather\.example/);
  const ran = await zz(where, [...words, "--allow-net=weather.example"]);
  equal(ran.stdout, "Oslo in 2 days: 20 F\n");
});

test("docs/plugins.md: the provider works as printed: key, models, pieces, calls, an error that may pass", async (t) => {
  const lines = (...all: object[]) => ({ body: all.map((line) => `${JSON.stringify(line)}\n`) });
  const answers = [
    lines({ call: { id: "1", name: "now", input: {} } }, { end: "calls" }),
    { status: 503, headers: { "retry-after-ms": "1" }, body: ['{"error": "overloaded"}'] },
    lines(
      { thought: "Easy." },
      { text: "It is " },
      { text: "late." },
      { tokens: { in: 7, out: 3 } },
      { end: "stop" },
    ),
  ];
  const fake = await serve(answers, {
    "GET /v1/models": () => ({ body: ['[{"name": "large", "window": 9000}]'] }),
  });
  t.after(fake.close);
  const where = place({ "acme.ts": snippet("acme/large"), "now.ts": snippet('name: "now"') });
  const env = { ACME_URL: `${fake.url}/v1`, ACME_API_KEY: "sesame-sesame" };
  const plugins = ["--plugin", "acme.ts", "--plugin", "now.ts"];
  match((await zz(where, [...plugins, "--models"], { env })).stdout, /acme\/large +9000/);
  const ran = await zz(where, [...plugins, "--once", "--json", "What time is it?"], { env });
  const { text, thinking, model, usage, calls } = JSON.parse(ran.stdout);
  deepEqual([text, thinking, model], ["It is late.", "Easy.", "acme/large"]);
  deepEqual([usage, calls], [{ input: 7, output: 3 }, [{ name: "now", args: {}, ok: true }]]);
  equal(fake.requests[0]!.headers.authorization, "Bearer sesame-sesame");
  equal(
    fake.requests[2]!.body.messages.map(({ role }: { role: string }) => role).join(),
    "user,model,result",
  );
});

test("docs/plugins.md: a package as printed is installed as a plugin", async () => {
  const weather = snippet("export const defaults = { unit");
  const where = place({
    "weather/package.json": snippet('"zz-plugin"'),
    "weather/weather.ts": weather,
  });
  const ran = await zz(where, ["-A", "--install=./weather"]);
  equal(ran.code, 0, ran.stderr);
  match((await zz(where, ["--plugins"])).stdout, /^weather +home/m);
});

test("README: the settings and the other projects work as printed", async () => {
  const settings = { "zz.json": snippet('"projects"'), "2.json": snippet('"rounds": 30') };
  const where = place({ ...settings, "work/lib/src/a.ts": "x\n" });
  const [file] = /lib:src\/a\.ts/.exec(page("docs/permissions.md"))!;
  const args = ["--config", "zz.json", "--call", "read_file", JSON.stringify({ path: file })];
  using _ = withEnvironment({ HOME: where.cwd });
  equal((await zz(where, args)).stdout, "1\tx\n");
  const ran = await zz(where, "--config 2.json --once -m openai/m --dry-run hi".split(" "));
  equal(JSON.parse(ran.stdout).temperature, 0);
});

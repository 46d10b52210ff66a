// Keys are shown nowhere: a canary from each place that a key may come from is looked for in all
// that zz prints and writes.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify, stripVTControlCharacters } from "node:util";
import { KERNEL_FLAGS } from "../../kernel/settings/flag-table.ts";
import { type Seen, type Step, serve } from "../support/fake/http.ts";
import { call, data, delta, fakeOpenAI, refuse, say, stream } from "../support/fake/openai.ts";
import { mains } from "../support/mains.ts";
import { place, type Ran, ROOT, zz, zzProcess } from "../support/run.ts";
import { some } from "../support/runs.ts";
import { KEY, terminal } from "../support/terminal.ts";

const SPY = join(ROOT, "test", "support", "fake", "spy.ts");
type Canaries = Record<
  "flag" | "environment" | "settings" | "kept" | "password" | "question" | "variable",
  string
>;
/** Known by their values, with what JSON, an address and a terminal write otherwise. */
const LONG: Canaries = {
  flag: 'canary-FLAG"1/a+b',
  environment: "canary-ENVI/2+b=",
  settings: "canary-SETT'3/c+d",
  kept: "canary-KEPT/4+e",
  password: "canary-PASS5~f",
  question: "canaryQUEST6g",
  variable: 'canary VARI "7" h',
};
/** Too short to be looked for in texts: what keeps them from being shown is that no object holds
 * them. */
const SHORT: Canaries = {
  flag: "q~F1^",
  environment: "q~E2^",
  settings: "q~S3^",
  kept: "q~K4^",
  password: "q~P5~",
  question: "q~Q6~",
  variable: "q~V7^ no",
};

/** Others for each run, since many runs share a process, which must not know them from an earlier
 * one. */
let runs = 0;
const another = (canaries: Canaries): Canaries => {
  const run = `-${++runs}-`;
  const values = Object.entries(canaries).map(([source, value]) => [
    source,
    value.replace(/[1-7]/, `$&${run}`),
  ]);
  // nothing learns those that are short
  return canaries === SHORT ? SHORT : Object.fromEntries(values);
};

const base64 = (text: string): string => Buffer.from(text).toString("base64").replace(/=+$/, "");
/** As it is, in JSON, in JSON in JSON, in an address, in base64, and as basic authorization has
 * it. */
function forms(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  return [
    value,
    json(value),
    json(json(value)),
    encodeURIComponent(value),
    base64(value),
    base64(`me:${value}`),
  ];
}
function leaks(text: string, canaries: Canaries): string[] {
  return Object.entries(canaries).flatMap(([source, value]) =>
    forms(value).some((form) => text.includes(form)) ? [source] : [],
  );
}

/** Where the keys come from; nobody looks for them there. */
const SOURCES = ["keys.json", "env.json", "zz.config.json"];
/** All that the run wrote, by file. A checkout's node_modules leads to the checkout itself. */
function written(folder: string, canaries: Canaries): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") return written(file, canaries);
    const isSource = SOURCES.includes(entry.name) && basename(folder) === "home";
    if (!entry.isFile() || isSource) return [];
    return leaks(readFileSync(file, "latin1"), canaries).map((source) => `${source} in ${file}`);
  });
}

function filled(canaries: Canaries) {
  const where = place();
  const { settings: key, password, question } = canaries;
  const address = `https://me:${password}@box.example/`;
  const settings = {
    providers: { openai: { key }, mine: { url: `${address}v1?api_key=${question}`, key } },
    search: { apiKey: key, address },
  };
  const home = {
    "keys.json": JSON.stringify({ openai: canaries.kept, mine: canaries.kept }),
    "env.json": JSON.stringify({ DEPLOY_TOKEN: canaries.variable, PLAIN: "on" }),
    "zz.config.json": JSON.stringify(settings),
  };
  mkdirSync(where.home);
  mkdirSync(join(where.home, "..", "tmp"));
  for (const [name, text] of Object.entries(home)) writeFileSync(join(where.home, name), text);
  writeFileSync(join(where.cwd, "a.txt"), "one\n");
  return { where, base: dirname(where.home), home, settings };
}

const withoutKeys = (): NodeJS.ProcessEnv => {
  const { OPENAI_API_KEY, OPENAI_BASE_URL, ZZ_MODEL, ZZ_HOME, ...rest } = process.env;
  const { FORCE_COLOR, NODE_TEST_CONTEXT, ...env } = rest;
  return env;
};
const envOf = ({ environment: key, password, question }: Canaries, base: string) => ({
  OPENAI_API_KEY: key,
  OLLAMA_API_KEY: key,
  GITHUB_TOKEN: key,
  DATABASE_URL: `postgres://me:${password}@db.example/x?sslmode=on&token=${question}`,
  TMPDIR: join(base, "tmp"),
});

/** A server that says all that it was sent, and does as the model's name says. */
async function echoing(t: TestContext) {
  const [fake, other] = [await fakeOpenAI(step), await serve(() => ({ body: ["{}"] }))];
  t.after(() => Promise.all([fake.close(), other.close()]));
  return { url: fake.url, requests: fake.requests, elsewhere: other.requests };

  function step({ headers, path, body }: Seen): Step {
    const said = `you sent ${headers.authorization} to ${path}, as ${JSON.stringify(headers)}`;
    const bare = String(headers.authorization).replace(/^Bearer /, "");
    if (/models$/.test(path)) return refuse(401, { error: { message: said } });
    const last = body?.messages.at(-1);
    const steps: Record<string, () => Step> = {
      refused: () =>
        refuse(401, { error: { message: `Incorrect API key provided: ${bare}. ${said}` } }),
      page: () => refuse(403, `<html><title>${bare}</title>${said}</html>`),
      stream: () =>
        stream(
          delta({ content: "Well, " }),
          data({ error: { message: said, code: "invalid_key" } }),
        ),
      cut: () => ({ ...stream(delta({ content: said })), ending: "cut" }),
      elsewhere: () => ({
        status: 307,
        headers: { location: `${other.url}/v1/chat/completions?${bare}` },
      }),
      answer: () => say(`<think>${said}</think>It is ${bare}: ${said}`),
      calls: () =>
        call(
          ["read_file", { path: bare }],
          ["grep", { query: bare }],
          ["no_such_tool", { [bare]: said }],
        ),
    };
    if (body?.model === "calls" && last?.role === "tool") return say(`It gave ${last.content}`);
    return steps[body?.model]?.() ?? say("hi");
  }
}

function clean({ stdout, stderr, code }: Ran, canaries: Canaries, what: string): void {
  const text = stripVTControlCharacters(`${stdout}\n${stderr}`);
  deepEqual(leaks(text, canaries), [], `${what}\n${text}`);
  ok(code !== null, what);
}

test("every command and every tool shows no key, long or short, to people and to plugins", async (t) => {
  const { base, home, settings } = filled(LONG);
  const fake = await fakeOpenAI(() => say("Well."));
  t.after(fake.close);
  /** What is read on purpose holds only keys that are known by their values; all else short ones,
   * too. */
  const reading = { home, settings };
  const own = (file: keyof typeof home) => JSON.parse(home[file]!);
  const near = { like: "openai", url: fake.url, key: SHORT.settings };
  const all = {
    ...settings,
    providers: { ...settings.providers, near },
    other: {
      apiKey: SHORT.settings,
      address: `https://me:${SHORT.password}@box.example/?api_key=${SHORT.question}`,
    },
  };
  const walking = {
    settings: all,
    home: {
      "keys.json": JSON.stringify({ ...own("keys.json"), other: SHORT.kept }),
      "env.json": JSON.stringify({ ...own("env.json"), SHORT_TOKEN: SHORT.variable }),
      "zz.config.json": JSON.stringify(all),
    },
  };
  const file = join(base, "home", "zz.config.json"); // where nobody looks for canaries
  writeFileSync(file, JSON.stringify({ walking, reading }));
  const env = {
    ...withoutKeys(),
    ...envOf(LONG, base),
    OLLAMA_API_KEY: SHORT.environment,
    OPENAI_BASE_URL: fake.url,
    OLLAMA_HOST: "http://127.0.0.1:49",
  };
  const args = [join(ROOT, "test", "support", "fake", "walk.ts"), base, file];
  const ran = await promisify(execFile)(process.execPath, args, {
    env,
    cwd: base,
    maxBuffer: 1 << 30,
  });
  ok(JSON.parse(readFileSync(join(base, "commands.json"), "utf8")).length > 150);
  const sent = fake.requests.map(({ headers }) => headers.authorization);
  for (const { settings } of [LONG, SHORT])
    ok(sent.includes(`Bearer ${settings}`), "each key was used");
  for (const canaries of [LONG, { ...SHORT, variable: "is known by its value alone" }]) {
    deepEqual(leaks(ran.stdout + ran.stderr, canaries), []);
    deepEqual(written(base, canaries), []);
  }
  ok(statSync(join(base, "spy.log")).size > 100_000, "the spy saw something");
});

// ── the program itself ──

const zzAgain = mains();

const MODELS = ["refused", "page", "stream", "cut", "elsewhere", "answer", "calls"];
const FORMATS = ["--json-lines --usage", "--json --debug=log.jsonl", "--debug --raw"].map((flags) =>
  flags.split(" "),
);

/** As `who@where`, with a key in its question. */
const addressOf = (url: string, { password, question }: Canaries): string =>
  `${url.replace("//", `//me:${encodeURIComponent(password)}@`)}?api_key=${encodeURIComponent(question)}`;

const IN_ANSWERS = /^(stream|cut|answer|calls)$/; // a short key in an answer is a word as any other
for (const [size, given] of Object.entries({ long: LONG, short: SHORT }))
  describe(`whatever a server does with a ${size} key`, () => {
    for (const [i, model] of MODELS.entries())
      if (size === "long" || !IN_ANSWERS.test(model))
        test(`${model}: it is in no output and no file`, async (t) => {
          const server = await echoing(t);
          const canaries = another(given);
          const { where, base } = filled(canaries);
          const env = {
            ...envOf(canaries, base),
            SPY: base,
            OLLAMA_HOST: addressOf("http://127.0.0.1:49", canaries),
          };
          // the arguments of a call are what runs
          const spy = model === "calls" ? [] : ["--plugin", SPY];
          const to = `-m openai/${model} --base-url ${server.url} -A --key ${canaries.flag}`;
          const first = [...spy, ...to.split(" ")];
          clean(
            await zzAgain(where, [...first, ...FORMATS[i % 3]!, "hello"], { env }),
            canaries,
            model,
          );
          deepEqual(written(base, canaries), []);
          deepEqual(server.requests[0]?.headers.authorization, `Bearer ${canaries.flag}`);
          deepEqual(server.elsewhere, []); // no request follows
        });
  });

/** Addresses that are wrong, or not there, with what is secret in them; what stands for the keys is
 * in $P and $Q. */
const ADDRESSES = [
  "http://me:$P@127.0.0.1:9/v1?key=$Q",
  "http://127.0.0.1:9/v1?token=$Q&x=1",
  "http://me:$P/with/slashes@127.0.0.1:9/v1",
  "https://:$P@[::1/v1?access_token=$Q",
  "wss://me:$P@127.0.0.1:9#auth=$Q",
];
const WAYS: [args: string[], variable?: string][] = [
  [["-m", "openai/m"]],
  [["-m", "openai/m"], "OPENAI_BASE_URL"],
  [["-m", "ollama/m"], "OLLAMA_HOST"],
];
for (const [i, address] of ADDRESSES.entries())
  test(`a key in an address that leads nowhere is in no output and no file: ${address}`, async () => {
    const [args, variable] = WAYS[i % 3]!;
    const { where, base } = filled(SHORT);
    const url = address.replace("$P", SHORT.password).replace("$Q", SHORT.question);
    const flags = ["--debug", "--json-lines", "--plugin", SPY, "--key", SHORT.flag, ...args];
    const env = { ...envOf(SHORT, base), SPY: base, ...(variable ? { [variable]: url } : {}) };
    const ran = await zzAgain(
      where,
      [...flags, ...(variable ? [] : ["--base-url", url]), "hello"],
      { env },
    );
    clean(ran, SHORT, address);
    ok(ran.code === 1 || ran.code === 2, ran.stdout);
    deepEqual(written(base, SHORT), []);
  });

test("a key goes to nobody but its own provider", async (t) => {
  const rows: [
    args: string[],
    env: Record<string, string>,
    openai: string,
    ollama: string | undefined,
  ][] = [
    [["--key", LONG.flag], {}, `Bearer ${LONG.flag}`, undefined],
    [["--key", LONG.flag, "-m", "openai/m"], {}, `Bearer ${LONG.flag}`, undefined],
    [["--key", "k", "-m", "ollama/m"], { OPENAI_API_KEY: "o" }, "Bearer o", "Bearer k"],
    [[], { OPENAI_API_KEY: "o", OLLAMA_API_KEY: "l" }, "Bearer o", "Bearer l"],
  ];
  const run = "async (_, ctx) => { await ctx.about.models(true); return { text: '' }; }";
  for (const [args, keys, openai, ollama] of rows) {
    const [one, two] = [await fakeOpenAI([say("hi")]), await serve([{ status: 404 }])];
    t.after(() => Promise.all([one.close(), two.close()]));
    const env = { OPENAI_BASE_URL: one.url.replace("/v1", "/x"), OLLAMA_HOST: two.url, ...keys };
    const where = place();
    const plugin = join(where.cwd, "all.ts");
    writeFileSync(
      plugin,
      `export default (zz) => zz.flag({ name: "all", description: "-", run: ${run} });`,
    );
    await zz(where, ["--plugin", plugin, ...args, "--all"], { env });
    const sent = [one, two].map(({ requests }) => requests[0]?.headers.authorization);
    deepEqual(sent, [openai, ollama], args.join(" "));
  }
});

test("every flag shows no key", async (t) => {
  const server = await echoing(t);
  const { where, base } = filled(LONG);
  const env = { ...envOf(LONG, base), SPY: base, OLLAMA_HOST: "http://127.0.0.1:49" };
  const help = await zz(where, ["--help", "--json"]);
  const told = help.stdout.matchAll(/--([a-z][a-z-]+)/g);
  const names = [...new Set(Array.from(told, ([, name]) => name!))];
  ok(names.length > 60, String(names.length));
  const config = join(where.home, "zz.config.json");
  const [run, audit] = [join(base, "run.ts"), join(base, "audit.txt")];
  const VALUES: Record<string, string> = {
    file: "a.txt",
    model: "openai/m",
    session: "2",
    cwd: where.cwd,
    home: where.home,
    tool: "read_file",
    rounds: "1",
    config,
    plugin: SPY,
    call: "list_dir",
    run,
    completion: "bash",
    judge: "env",
    audit,
    option: "api_key=canary-SETT'3/c+d",
    "check-plugin": SPY,
    context: "x",
    debug: "d.log",
    functions: "x",
    "new-plugin": "mine",
    system: "s",
    uninstall: "x",
  };
  writeFileSync(run, 'import { zz } from "zz";\nthrow new Error(await zz.ask("hello"));\n');
  const isOwn = new Set(KERNEL_FLAGS.map(({ name }) => name)); // the plugins' run instead of a turn
  // the last ones stay until they are ended, or read stdin to its end
  const LEFT_OUT = /^(install|update|key|base-url|home|help-.*|acp|mcp|serve|work)$/;
  const address = addressOf(server.url, LONG);
  const first = ["--no-stdin", "--base-url", address, "--key", LONG.flag, "--home", where.home];
  const sorted = Object.values(
    Object.groupBy(names, (name) => (isOwn.has(name) ? "zz" : "plugin")),
  );
  const lines = sorted
    .flatMap((group) => some(group!, 6))
    .filter((name) => !LEFT_OUT.test(name))
    .map((name) => {
      const flag = VALUES[name] === undefined ? [`--${name}`] : [`--${name}`, VALUES[name]];
      const model = name === "model" ? [] : ["-m", "openai/answer"];
      const form = name.length % 2 ? "--json-lines" : "--json";
      const asks = [...first, ...model, form, "--debug", ...flag, "hello"];
      return isOwn.has(name)
        ? asks
        : [...first, ...model, ...(name.length % 3 ? [] : ["--json"]), ...flag];
    });
  writeFileSync(
    join(base, "mains.mjs"),
    `import ${JSON.stringify(join(ROOT, "test", "support", "lean.ts"))};
    import { main } from ${JSON.stringify(join(ROOT, "dist", "kernel.js"))};
    process.setMaxListeners(0);
    for (const line of ${JSON.stringify(lines)}) {
      process.chdir(${JSON.stringify(where.cwd)});
      process.argv.splice(2, Infinity, ...line);
      console.error(process.argv.length, await main(line).catch(String));
    }
    process.exit(0);`,
  );
  // The list of lines is no output of zz.
  const all = { ...withoutKeys(), ...env };
  const how = { env: all, cwd: where.cwd, maxBuffer: 1 << 30 };
  const ran = await promisify(execFile)(process.execPath, [join(base, "mains.mjs")], how);
  equal(ran.stderr.match(/^\d+ \d+$/gm)?.length, lines.length);
  deepEqual(leaks(ran.stdout + ran.stderr, LONG), []);
  const leaked = written(base, LONG).filter((one) => !one.endsWith("mains.mjs"));
  deepEqual(leaked, []);
  const got = server.requests.filter(
    ({ headers }) => headers.authorization === `Bearer ${LONG.flag}`,
  );
  ok(got.length > 5, String(got.length));
});

test("--acp and --mcp show no key", async (t) => {
  const server = await echoing(t);
  const { where, base } = filled(LONG);
  const env = { ...envOf(LONG, base), OLLAMA_HOST: "http://127.0.0.1:49" };
  const first = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
  const next = {
    jsonrpc: "2.0",
    id: 2,
    method: LONG.flag,
    params: { cwd: where.cwd, mcpServers: [] },
  };
  const input = `${JSON.stringify(first)}\n${JSON.stringify(next)}\nnonsense\n`;
  const to = ["--base-url", addressOf(server.url, LONG), "--key", LONG.flag];
  for (const flag of ["--acp", "--mcp"]) {
    const args = [flag, "-m", "openai/answer", ...to];
    const ran = await zzProcess(where, args, { env, input });
    match(ran.stdout, /"id":1/);
    clean(ran, LONG, flag);
  }
});

describe("what fails outside of any turn", () => {
  test("a crash shows no key", async () => {
    const { where, base } = filled(LONG);
    const flags = `-m openai/m --key ${LONG.flag} --json-lines --debug /crash`.split(" ");
    const args = ["--plugin", SPY, ...flags];
    const ran = await zz(where, args, { env: { ...envOf(LONG, base), SPY: base } });
    equal(ran.code, 1);
    match(ran.stderr, /out of nowhere/);
    clean(ran, LONG, "crash");
    deepEqual(written(base, LONG), []);
  });

  test("settings that are broken are refused without what stands there", async () => {
    for (const text of ['{ "providers": { "openai": { "key": "$K" } ', '{"key":"$K"}}', "$K"]) {
      const { where, base } = filled(SHORT);
      const env = envOf(SHORT, base);
      for (const file of [
        join(where.home, "zz.config.json"),
        join(where.cwd, ".zz", "zz.config.json"),
      ]) {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text.replace("$K", SHORT.settings));
        const ran = await zzAgain(where, ["--debug", "--json", "-m", "offline/router", "hello"], {
          env,
        });
        clean(ran, SHORT, text);
        match(
          ran.stderr,
          /^Cannot use the (project's )?settings '.*': (not JSON|they must be a JSON object)/m,
        );
        writeFileSync(file, "{}");
      }
    }
  });

  test("who looks at the processes of the machine sees no key", async (t) => {
    let seen = "";
    const fake = await fakeOpenAI(() => {
      seen = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      return say("hi");
    });
    t.after(fake.close);
    let pid = 0;
    const args = ["-m", "openai/m", "--base-url", fake.url, "--key", LONG.flag, "hello"];
    const ran = await zz(place(), args, { started: (child) => void (pid = child.pid!) });
    equal(ran.stdout, "hi\n");
    ok(seen.startsWith("zz"), seen);
    deepEqual(leaks(seen, LONG), []);
  });
});

test("a conversation at a terminal shows no key, nor do its files", async (t) => {
  const server = await echoing(t);
  const { where, base } = filled(LONG);
  const env = { ...envOf(LONG, base), SPY: base };
  const args = ["-m", "openai/answer", "--base-url", server.url, "--key", LONG.flag, "--debug"];
  const term = terminal(where, args, { env, cols: 160, rows: 50 });
  await term.sees(/\/help lists the commands[\s\S]*›/);
  for (const [line, sees] of [
    ["hello", /It is \[key\]/],
    ["/keys", /openai.*keys\.json/],
    ["/config providers", /"key":"\[key\]"/],
    ["/config providers.mine.url", "https://me:[key]@box.example/v1?api_key=[key]"],
    ["/env", /DEPLOY_TOKEN/],
    [`echo ${LONG.flag.slice(0, 5)} is not it`, /It is \[key\][\s\S]*It is \[key\]/],
  ] as const) {
    term.type(line + KEY.enter);
    await term.sees(sees);
  }
  term.type(LONG.flag + KEY.enter); // pasted by mistake: it is sent, and kept nowhere
  await term.sees(/(It is \[key\][\s\S]*){3}/);
  term.type(`/save all.txt all${KEY.enter}`);
  await term.sees(/Wrote \S*all\.txt/);
  term.type(KEY.ctrlD);
  await term.exited;
  deepEqual(written(base, LONG), []);
  ok(statSync(join(where.home, "history")).size > 0);
});

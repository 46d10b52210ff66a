// /env, set_env, delete_env: what commands get, what the model is sent, what lies where, by running
// the program.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Options } from "../../../../kernel/instance.ts";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { asks, having } from "../../../../test/support/having.ts";
import { needs } from "../../../../test/support/needs.ts";
import { repl } from "../../../../test/support/repl.ts";
import { type Place, place, type Ran, zz } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";
import "../../../../test/support/lean.ts";
import { KEY } from "../../../../test/support/terminal.ts";

/** As all values here, one that no other test has: what one zz in this process keeps, all hide. */
const VALUE = "hunter-$&-2222";

/** A home that keeps these for commands. */
function keeping(variables: Record<string, string>, settings?: object, where = place()): Place {
  mkdirSync(where.home, { mode: 0o700 });
  return having(
    { "~/env.json": variables, ...(settings && { "~/zz.config.json": settings }) },
    where,
  );
}
const kept = ({ home }: Pick<Place, "home">): unknown =>
  JSON.parse(readFileSync(join(home, "env.json"), "utf8"));
const env = (where: Place, rest: string, ...flags: string[]): Promise<Ran> =>
  zz(where, ["-m", "offline", ...flags, `/env ${rest}`]);
const run = (where: Place, command: string, ...flags: string[]): Promise<Ran> =>
  zz(where, ["--allow-run", ...flags, "--call", "run_command", JSON.stringify({ command })]);

/** A turn in which the model makes these calls; what it was sent. */
async function turn(where: Place, calls: [tool: string, args: object][], ...flags: string[]) {
  const words = flags.includes("--once") ? [] : ["--once", "go"];
  const ran = await asks(
    where,
    [...calls.map((one) => call(one)), say("Done.")],
    [...flags, ...words],
  );
  const { messages } = ran.sent.at(-1);
  const texts: string[] = messages
    .filter(({ role }: any) => role === "tool")
    .map(({ content }: any) => content);
  return { ...ran, texts, system: messages[0].content as string, sent: JSON.stringify(ran.sent) };
}
/** Every file of a home but the one, as text. */
const elsewhere = ({ home }: Place): string =>
  (readdirSync(home, { recursive: true }) as string[])
    .map((name) => join(home, name))
    .filter((file) => statSync(file).isFile() && !file.endsWith("env.json"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");

describe("/env", () => {
  test("set keeps a value for the person alone, list tells its name, unset forgets it", async () => {
    const where = keeping({});
    chmodSync(join(where.home, "env.json"), 0o644); // as a person's own file may be
    const set = await env(where, `set DB_URL ${VALUE} and more`);
    equal(set.code, 0, set.stderr);
    match(set.stdout, /DB_URL is kept in .*env\.json, which only you can read/);
    deepEqual(kept(where), { DB_URL: `${VALUE} and more` });
    equal(statSync(join(where.home, "env.json")).mode & 0o777, 0o600);
    equal(statSync(where.home).mode & 0o777, 0o700);
    await env(where, "set A=b=c");
    const list = await env(where, "list");
    match(list.stdout, /^A {6} kept in .*env\.json\nDB_URL {2}kept in .*env\.json$/m);
    doesNotMatch(set.stderr + set.stdout + list.stderr + list.stdout, /hunter|b=c/);
    equal((await env(where, "unset DB_URL")).code, 0);
    deepEqual(kept(where), { A: "b=c" });
  });

  test("list tells what hides another, what is denied, and what a flag lets through", async () => {
    const where = keeping({ A: "1", HOME: "/x" });
    const args = ["-m", "offline", "--deny-env=A", "--allow-env=SOME_TOKEN,NONE", "/env"];
    const ran = await zz(where, args, { env: { SOME_TOKEN: "s" } });
    match(ran.stdout, /^A {11}kept in .*; denied, so the model's commands go without$/m);
    match(ran.stdout, /^HOME {8}kept in .*, instead of what zz was started with$/m);
    match(ran.stdout, /^SOME_TOKEN {2}zz was started with it, and commands may see it$/m);
    doesNotMatch(ran.stdout, /NONE/);
  });

  const wrong: [rest: string, words: RegExp][] = [
    ["set 1A x", /^Cannot set '1A': a name is made of letters, digits and _/],
    ["set A", /^Cannot ask for 'A': there is no terminal to ask on\. Give it: \/env set A VALUE\./],
    ["unset NOPE", /^Cannot unset 'NOPE': it is not kept\. \/env list/],
  ];
  for (const [rest, words] of wrong)
    test(`${rest} is refused, and nothing is written`, async () => {
      const where = place();
      const { code, stderr } = await env(where, rest);
      equal(code, 2);
      match(stderr, words);
      ok(!existsSync(join(where.home, "env.json")));
    });

  test("a file that is not JSON is named and left alone, and nothing of it is shown", async () => {
    const where = having({ "~/env.json": `{ "A": ${VALUE} }` });
    const words =
      /Cannot use '.*env\.json': it is not readable as JSON\. Fix it, or move it away\./;
    const shown = [await env(where, "set B 2"), await env(where, "list"), await run(where, "true")];
    for (const { stderr } of shown) match(stderr, words);
    const { stderr, sent } = await turn(where, [["list_dir", { path: "." }]]);
    match(stderr, words);
    doesNotMatch(shown.map(({ stderr }) => stderr).join() + stderr + sent, /hunter/);
    match(readFileSync(join(where.home, "env.json"), "utf8"), /hunter/);
  });
});

describe("commands", () => {
  for (const sandbox of ["auto", "off"])
    test(`have them, whatever they are called, sandbox ${sandbox}`, async () => {
      const where = keeping({ GH_TOKEN: VALUE, PLAIN: "1" }, { shell: { sandbox } });
      const { stdout, stderr } = await run(
        where,
        `[ "$GH_TOKEN" = '${VALUE}' ] && echo same $PLAIN`,
      );
      match(stdout, /^same 1\n/, stderr);
    });

  test("have them instead of what zz was started with, without what is denied or steers bash, and no other secret", async () => {
    const where = keeping({ A: "1", MY_TOKEN: "2", BASH_ENV: "/dev/null", IFS: "x" });
    const args = ["--allow-run", "--deny-env=A", "--call", "run_command", '{"command":"env"}'];
    const { stdout } = await zz(where, args, { env: { MY_TOKEN: "old", OTHER_TOKEN: "x" } });
    match(stdout, /^MY_TOKEN=2$/m);
    doesNotMatch(stdout, /^(A|BASH_ENV|IFS|OTHER_TOKEN)=/m);
  });

  needs("bwrap")(
    "do not see the file that they lie in, though the home lies in the project",
    async () => {
      const base = place();
      const home = join(base.cwd, "home");
      const where = keeping({ A: "short" }, { shell: { sandbox: "required" } }, { ...base, home });
      const { stdout, stderr } = await run(
        where,
        "ls home; cat home/env.json",
        "--allow-read=home/env.json",
      );
      match(stdout + stderr, /^env\.json$/m);
      doesNotMatch(stdout + stderr, /short/);
    },
  );

  needs("bwrap")("are judged in the environment that they have", async () => {
    const where = keeping({ DB_NAME: "x", CDPATH: "/tmp" }, { shell: { effects: "before" } });
    const judge = async (command: string) => (await zz(where, ["--judge", command])).stdout;
    mkdirSync(join(where.cwd, "src"));
    match(await judge("DB_NAME=y; ls"), /^ask: asked for before it runs: it sets DB_NAME/);
    match(
      await judge("cd src && ls"),
      /^ask: asked for before it runs: CDPATH may lead cd elsewhere/,
    );
  });
});

describe("the model", () => {
  test("is told nothing where there are none, or all are denied", async () => {
    doesNotMatch((await turn(keeping({}), [])).system, /--- ENV/);
    doesNotMatch((await turn(keeping({ A: "1" }), [], "--deny-env")).system, /--- ENV/);
  });

  test("reads a name where a value would stand, and so do the session and the events", async () => {
    const kept = keeping({ GH_TOKEN: VALUE, LONGER: `${VALUE}-and-more` });
    const where = having({ "notes.txt": `see ${VALUE}\n` }, kept);
    const calls: [string, object][] = [
      ["run_command", { command: 'echo "t=$GH_TOKEN"; echo "l=$LONGER" >&2' }],
      ["read_file", { path: "notes.txt" }],
    ];
    const { texts, sent, stdout, stderr } = await turn(where, calls, "--allow-run", "--json-lines");
    match(texts[0]!, /^(t=\[value of GH_TOKEN\]\nl=\[value of LONGER\]|l=.*\nt=.*)\n\[exit code 0/);
    equal(texts[1], "1\tsee [value of GH_TOKEN]");
    doesNotMatch(sent + stdout + stderr + elsewhere(where), /hunter/);
    match(elsewhere(where), /l=\[value of LONGER\]/);
    match(stdout, /"stdout":"t=\[value of GH_TOKEN\]/, "in the data, too");
  });

  test("reads no value of what a command prints, also in the file with all of it, be it a plain word", async () => {
    const where = keeping({ NODE_ENV: "production" });
    const command = 'for i in $(seq 4000); do echo "$i $NODE_ENV"; done';
    const first = await zz(where, [
      "--allow-run",
      "--json",
      "--call",
      "run_command",
      JSON.stringify({ command }),
    ]);
    doesNotMatch(first.stdout, /production/);
    const { file } = JSON.parse(first.stdout).data;
    equal(file.startsWith(join(where.home, "outputs/output-")), true, file);
    const read = JSON.stringify({ path: file, start: 2000, end: 2001 });
    const second = await zz(where, [`--allow-read=${file}`, "--call", "read_file", read]);
    match(second.stdout, /^2000\t2000 \[value of NODE_ENV\]/);
  });

  test("is sent none by other ways: rules, a file that is mentioned, the person's words", async () => {
    const where = having(
      { "AGENTS.md": `Rule: ${VALUE}`, "a.txt": `File: ${VALUE}` },
      keeping({ GH_TOKEN: VALUE }),
    );
    const { sent } = await turn(where, [], "--once", `see @a.txt and ${VALUE} too`);
    doesNotMatch(sent, /hunter/);
    for (const text of [
      "Rule: [value of GH_TOKEN]",
      "File: [value of GH_TOKEN]",
      "and [value of GH_TOKEN] too",
    ])
      ok(sent.includes(text), `${text} is missing in ${sent}`);
  });

  const PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----";
  const rows: [what: string, value: string, text: string, expected: string][] = [
    ["six characters", "q7w3e9", "is q7w3e9", "is [value of V]"],
    ["each line of several", PEM, "  MIIEvQIBADANBgkqhkiG", "  [value of V]"],
    ["addresses", "https://a.example/v1", "at https://a.example/v1", "at https://a.example/v1"],
    [
      "addresses with a password",
      "https://a:b@c.example",
      "at https://a:b@c.example",
      "at [value of V]",
    ],
    ["paths that are not", "/no/such/place", "in /no/such/place", "in [value of V]"],
    ["what a pattern would read otherwise", "a.*+?^$|[b]", "a.*+?^$|[b] axb", "[value of V] axb"],
  ];
  for (const [what, value, text, expected] of rows)
    test(`values that are hidden: ${what}`, async () => {
      const where = having({ "a.txt": `${text}\n` }, keeping({ V: value }));
      const { stdout } = await zz(where, ["--call", "read_file", '{"path":"a.txt"}']);
      equal(stdout, `1\t${expected}\n`);
    });

  test("reads no part of a long value", async () => {
    const long = Array.from({ length: 1_000 }, (_, i) => `k${i}`.padEnd(8, "+")).join("");
    const where = having({ "a.txt": long.slice(0, 6_000) }, keeping({ LONG: long }));
    const { stdout } = await zz(where, ["--call", "read_file", '{"path":"a.txt"}']);
    match(stdout, /\[value of LONG\]/);
    doesNotMatch(stdout, /k\d+\+\+/);
  });

  test("cannot write the name's sign into a file, where it would be taken for the value", async () => {
    const where = keeping({ GH_TOKEN: VALUE });
    const written = { "a.txt": "t=[value of GH_TOKEN]\n", "b.txt": "t=[value of OTHER]\n" };
    const calls = Object.entries(written).map(([path, content]): [string, object] => [
      "create_file",
      { path, content },
    ]);
    const { texts } = await turn(where, calls, "--allow-write");
    match(
      texts[0]!,
      /^Cannot call 'create_file': '\[value of GH_TOKEN\]' stands for a text that you are not shown\./,
    );
    deepEqual(readdirSync(where.cwd), ["b.txt"]);
  });
});

describe("set_env and delete_env", () => {
  /** Kept by one zz, whose calls are answered so. */
  const keeper = async (
    t: TestContext,
    answer: "yes" | "no" | "nobody",
    allow: Options["allow"] = {},
  ) => {
    const zz = await harness({ own: true, home: { "env.json": '{"A":"1"}' }, answer, allow }, t);
    return { ...zz, kept: () => kept({ home: zz.home }) };
  };

  test("are asked for, with name and value in full, and then done; names that steer programs may only look so", async (t) => {
    const zz = await keeper(t, "yes");
    const value = `${"only-here ".repeat(199)}END`;
    equal(
      (await zz.call("set_env", { name: "DB_URL", value })).text,
      "DB_URL is set; commands have it from now on.",
    );
    match(zz.questions[0]!, /^┏ set_env wants to use "set DB_URL"\.\n┠ it holds for every command/);
    ok(zz.questions[0]!.includes(`┃ DB_URL=${value}\n`), zz.questions[0]);
    equal(statSync(join(zz.home, "env.json")).mode & 0o777, 0o600);
    await zz.call("delete_env", { name: "A" });
    match(zz.questions[1]!, /^┏ delete_env wants to use "delete A"/);
    deepEqual(zz.kept(), { DB_URL: value });
    for (const name of ["NODE_ENV", "MY_PATH_NAME", "GITHUB_TOKEN", "__proto__"]) {
      equal((await zz.call("set_env", { name, value: "v" })).failed, undefined, name);
      equal((zz.kept() as any)[name], "v");
    }
  });

  for (const [what, answer, allow] of [
    ["a no", "no", {}],
    ["nobody there", "nobody", {}],
    ["a list that allows everything that begins so", "nobody", { env: ["A", "DB_*", "set*", "*"] }],
  ] as const)
    test(`${what} changes nothing`, async (t) => {
      const zz = await keeper(t, answer, allow as Options["allow"]);
      match((await zz.call("set_env", { name: "A", value: "2" })).text, /^Refused: /);
      match((await zz.call("delete_env", { name: "A" })).text, /^Refused: /);
      deepEqual(zz.kept(), { A: "1" });
    });

  test("names and values that the model may not set are refused before anybody is asked", async (t) => {
    const zz = await keeper(t, "yes");
    const STEERING =
      "PATH LD_PRELOAD NODE_OPTIONS PROMPT_COMMAND GIT_SSH_COMMAND PYTHONSTARTUP https_proxy CC RUSTC_WRAPPER SSL_CERT_FILE";
    const byPerson = /so that only the person does that, by \/env\.$/;
    for (const name of STEERING.split(" "))
      match((await zz.call("set_env", { name, value: "x" })).text, byPerson, name);
    for (const [name, value, words] of [
      ["", "x", /a name is made of letters/],
      ["A", "x".repeat(2_001), /2001 characters are too many to be shown/],
      ["A", "a\0b", /holds U\+0000, which nobody can be shown/],
      ["A", "a\u{e0041}b", /holds U\+e0041/],
    ] as const)
      match((await zz.call("set_env", { name, value })).text, words);
    match((await zz.call("delete_env", { name: "PATH" })).text, /only the person/);
    match(
      (await zz.call("delete_env", { name: "NOPE" })).text,
      /^Cannot delete 'NOPE': it is not kept\. \/env list/,
    );
    deepEqual([zz.questions, zz.kept()], [[], { A: "1" }]);
  });
});

describe("at the prompt", () => {
  test("/env set NAME asks unseen; what is typed is kept, and shown nowhere; a value of several lines may be pasted", async (t) => {
    const it = await repl(t);
    await it.say("hello");
    await it.say("/env set GH_TOKEN", "? Value of GH_TOKEN:");
    it.type(VALUE);
    await it.sees("*".repeat(VALUE.length));
    it.type(KEY.enter);
    await it.sees(/GH_TOKEN is kept in/);
    await it.say("hi");
    await it.asked(2);
    const [first, second] = it.fake.requests.map(({ body }) => JSON.stringify(body));
    doesNotMatch(first!, /Variables that commands have/);
    match(second!, /Variables that commands have: GH_TOKEN\./);
    it.type("/env set PEM \x1b[200~one-secret\ntwo-secret\x1b[201~");
    await it.sees("two-secret");
    it.type(KEY.enter);
    await it.sees("PEM is kept");
    await it.say("and now?");
    await it.asked(3);
    match(
      JSON.stringify(it.fake.requests[2]!.body),
      /Variables that commands have: GH_TOKEN, PEM\./,
    );
    await it.leave();
    deepEqual(kept(it.where), { GH_TOKEN: VALUE, PEM: "one-secret\ntwo-secret" });
    doesNotMatch(it.raw() + JSON.stringify(it.fake.requests) + elsewhere(it.where), /hunter/);
  });

  test("!command has them; what it prints goes to the model without", async (t) => {
    const it = await repl(t, { where: keeping({ GH_TOKEN: VALUE }), env: { SHELL: "/bin/sh" } });
    await it.say('!echo "t=$GH_TOKEN"', `t=${VALUE}`);
    await it.sees("gives it to the model");
    await it.say("!!", "with your next message");
    await it.say("see?");
    match(await it.asked(), /\nt=\[value of GH_TOKEN\]\n/);
    await it.leave();
    doesNotMatch(JSON.stringify(it.fake.requests) + elsewhere(it.where), /hunter/);
  });

  test("the live line of a command shows a name", async (t) => {
    const where = keeping({ GH_TOKEN: VALUE }, { shell: { sandbox: "off", effects: "before" } });
    const command = 'echo "now $GH_TOKEN"; until [ -e go ]; do sleep 0.01; done';
    const script = [call(["run_command", { command }]), say("Good.")];
    const it = await repl(t, { where, args: ["--allow-run"], script, cols: 140 });
    await it.say("go", "now [value of GH_TOKEN]");
    having({ go: "" }, where);
    await it.sees("Good.");
    await it.leave();
    doesNotMatch(it.raw(), /hunter/);
  });
});

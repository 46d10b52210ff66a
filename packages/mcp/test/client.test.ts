// MCP servers of others, as the model and the person use them: real servers over their own stdin
// and stdout.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Harness, harness, standingClock } from "zz/test";
import { tryTo } from "../../../sdk/text.ts";
import { call, say } from "../../../test/support/fake/openai.ts";
import { asks } from "../../../test/support/having.ts";
import { command, fake, PLUGIN, started } from "../../../test/support/mcp.ts";
import { place, ROOT, withEnvironment, zz, zzProcess } from "../../../test/support/run.ts";
import { waitFor } from "../../../test/support/wait.ts";

const MODULES = join(ROOT, "node_modules", "@modelcontextprotocol");
// each start of such a server compiles a megabyte of code
const { NODE_COMPILE_CACHE = "" } = process.env;
const args = [join(MODULES, "server-everything/dist/index.js")];
const everything = { e: { command, args, env: { NODE_COMPILE_CACHE }, sandbox: false } };

/** What a tool says. */
const said = async (zz: Harness, server: string, tool: string, args: object = {}) =>
  (await zz.call("mcp_call", { server, tool, arguments: args })).text;
/** The tools of servers that are described to the model. */
const told = async (zz: Harness) =>
  (await zz.ctx.about.offered()).filter(({ name }) => /__/.test(name));
const names = async (zz: Harness) => (await told(zz)).map(({ name }) => name);

describe("MCP servers", { concurrency: 2 }, () => {
  test("a scripted model calls a tool of server-everything through zz --once", async () => {
    const where = place({}, { mcpServers: everything });
    const calls = [
      call(["mcp_tools", { servers: ["e"] }]),
      call(["e__echo", { message: "hello there" }]),
    ];
    const ran = await asks(where, [...calls, say("Done.")], ["--once", "--allow-run=mcp:e", "hi"]);
    deepEqual([ran.code, ran.stdout, ran.stderr], [0, "Done.\n", ""]);
    const [one, two, three] = ran.sent;
    match(JSON.stringify(one.tools), /Get the tools of MCP servers.* e \(not started yet\)\./);
    doesNotMatch(JSON.stringify(one.tools), /e__|mcp_call|mcp_sampling/);
    match(
      two.messages.at(-1).content,
      /^Described from now on:\ne__echo: MCP server 'e' says: Echoes/,
    );
    const echo = two.tools.find((tool: any) => tool.function.name === "e__echo").function;
    deepEqual(echo.parameters.required, ["message"]);
    equal(three.messages.at(-1).content, "Echo: hello there");

    const again = await asks(where, [say("Done.")], ["--once", "hi"]);
    const names = again.sent[0].tools.map((tool: any) => tool.function.name);
    ok(names.includes("e__echo"), "what it has is known from the last time, without starting it");
    equal(statSync(join(where.home, "mcp-tools.json")).mode & 0o777, 0o600);
  });

  test("what a server says that is none of the protocol is passed over, and told by name where it matters", async (t) => {
    const ended = "^MCP server 'it' ended before it could answer 'one': ";
    const rows: [how: string, result: RegExp][] = [
      ["garbage", /^one \{"text":"x"\}/],
      ["modern", /^one \{"text":"x"\}/],
      ["strict", /^one \{"text":"x"\}/], // it ends at what it does not know, and is greeted
      ["nonsense", /^MCP server 'it' sent something that is not an answer: /],
      ["null", /^MCP server 'it' sent something that is not an answer: .*"result":null\}\.$/],
      [
        "odd-error",
        /^MCP server 'it' sent something that is not an .*"error":"the disk is full"\}\.$/,
      ],
      ["both", /^Fine\.$/],
      ["no-picture", /^\[image\/png, 4 bytes, left out\]$/],
      ["prints", /: it ended with exit code 2; its last words: Error: no key is set\.$/],
      ["refuses", /^MCP server 'it' says: the disk is full\.$/],
      [
        "version",
        /^Cannot start MCP server 'it': .*version is not supported: 1999-01-01\. Update it, or zz\.$/,
      ],
      [
        "later",
        /^Cannot start MCP server 'it': .*version is not supported: 2031-01-01\. Update it, or zz\.$/,
      ],
      ["unsaid", /^Cannot start MCP server 'it': it sent something that is not an answer: /],
      [
        "future",
        /^Cannot start MCP server 'it': Unsupported protocol version \(it speaks 2031-01-01, 2031-06-01\)\. Update it, or zz\.$/,
      ],
      [
        "ageless",
        /^Cannot start MCP server 'it': Unsupported protocol version\. Update it, or zz\.$/,
      ],
      [
        "vague",
        /^Cannot start MCP server 'it': Unsupported protocol version\. Update it, or zz\.$/,
      ],
      [
        "quits",
        /^Cannot start MCP server 'it': .* before it could say what it is: it ended with exit code 1\.$/,
      ],
      ["dies", new RegExp(`${ended}it ended with exit code 3; its last words: out of memory\\.$`)],
      ["dies-held", new RegExp(`${ended}it ended with exit code 3`)],
      [
        "throws",
        /its last words: node:internal.* throw err; \^ Error: Cannot find module '\/x\.js' Node\.js v24\.$/,
      ],
      ["flood", new RegExp(`${ended}it sent far more than anybody asked for, and was ended`)],
    ];
    const servers = Object.fromEntries(rows.map(([how]) => [how, fake(how)]));
    const zz = await started(t, servers);
    const results = await Promise.all(rows.map(([how]) => said(zz, how, "one", { text: "x" })));
    for (const [i, [how, expected]] of rows.entries())
      match(results[i]!.replaceAll(`'${how}'`, "'it'"), expected, how);
    const missing = await started(t, {
      gone: { command: "no-such-program-of-mine", sandbox: false },
      off: { command: "x", disabled: true },
    });
    match(await said(missing, "off", "x"), /'off': it is disabled where it is configured\.$/);
    match(await said(missing, "gone", "x"), /'gone': 'no-such-program-of-mine' was not found: /);
    match(
      await said(missing, "other", "x"),
      /'other': no server has that name\. There are: gone\.$/,
    );
  });

  test("a server that hangs is given up after its time", async (t) => {
    const clock = standingClock();
    const zz = await started(t, { slow: { ...fake("hang"), timeout: 0.3 } }, { clock });
    await zz.call("mcp_tools", { servers: ["slow"] });
    const called = said(zz, "slow", "one");
    await clock.waits(300);
    await clock.pass(300);
    equal(
      await called,
      `MCP server 'slow' did not answer 'one' within 0.3 s. Try again, or raise its "timeout".`,
    );
  });

  test("a server that ended is started again once, and then named until the person restarts it, or some time has passed", async (t) => {
    const clock = standingClock();
    const zz = await started(t, { frail: fake("dies") }, { clock });
    const one = () => said(zz, "frail", "one");
    match(await one(), /ended before it could answer/);
    match(await one(), /ended before it could answer/);
    const left =
      /^MCP server 'frail' failed twice and is left alone: .*exit code 3.* \/mcp restart frail tries it/;
    match(await one(), left);
    match(
      (await zz.command("/mcp")).join(),
      /^frail {2}failed: it ended \(it ended with exit code 3/,
    );
    deepEqual(await zz.command("/mcp restart frail"), ["MCP server 'frail' runs: 1 tool."]);
    for (let i = 0; i < 2; i++) await one();
    match(await one(), left);
    await clock.pass(600_001);
    match(await one(), /ended before it could answer/);
    const counted = join(zz.root, "starts");
    const again = await started(t, { once: fake("dies-once", counted) });
    match(await said(again, "once", "one"), /ended before it could answer/);
    match(await said(again, "once", "one"), /^one \{\}/);
    equal(readFileSync(counted, "utf8"), "2");
  });

  test("no server outlives a zz that is ended by a signal", {
    skip: process.platform !== "linux",
  }, async () => {
    const file = join(place().cwd, "starts");
    const where = place({}, { mcpServers: { it: fake("hang", file) } });
    const begun = waitFor("the server", () => existsSync(file));
    const started = (child: ChildProcess) => void begun.then(() => child.kill("SIGHUP"));
    const call = ["--allow-run", "--call", "mcp_call", '{"server":"it","tool":"one"}'];
    equal((await zzProcess(where, call, { started })).code, 129);
    const commands = () =>
      readdirSync("/proc").map((pid) => tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")));
    await waitFor("its end", () => !commands().some((command) => command?.includes(file)));
  });

  test("what would steer the model is shown first, and left out where nobody agrees", async (t) => {
    const servers = { sly: fake("steer") };
    const nobody = await started(t, servers, { answer: "nobody" });
    const { text } = await nobody.call("mcp_tools", { servers: ["sly"] });
    doesNotMatch(text, /says of itself|before any other tool/);
    match(
      nobody.notes.join(),
      /What MCP server 'sly' says of itself is left out, since it would steer the model: Adds\. Always/,
    );
    match(
      nobody.notes.join(),
      /Tools of MCP server 'sly' are left out: bad \(its description would steer the model\)/,
    );
    const where = place({}, { mcpServers: servers });
    const call = ["--allow-run", "--call", "mcp_call", '{"server":"sly","tool":"bad"}'];
    match((await zz(where, call)).stderr, /^Cannot call 'bad'/m);
    const agreed = await zz(where, ["--accept-tools", ...call]);
    match(
      agreed.stdout + agreed.stderr,
      /^bad \{\}[\s\S]*<IMPORTANT>Do not tell .*id_rsa<\/IMPORTANT> \{"text"/,
    );
    deepEqual(await names(nobody), ["sly__fine"]);
    match(
      await said(nobody, "sly", "bad"),
      /^Cannot call 'bad' of MCP server 'sly': its description would steer/,
    );
    await nobody.command("/mcp accept sly");
    match(await said(nobody, "sly", "bad"), /^bad /);
    const asked = await started(t, servers, { answer: "yes" });
    await asked.call("mcp_tools", { servers: ["sly"] });
    match(
      asked.questions.join(),
      /says what would steer the model:\n +\+ Adds\. <IMPORTANT>Do not tell the user/,
    );
    deepEqual(await names(asked), ["sly__bad", "sly__fine"]);
  });

  test("a description that changes is asked for again, and does not count until then", async (t) => {
    let answer = "n";
    const zz = await started(
      t,
      { fickle: fake("changes", "../starts") },
      { answer: async () => answer },
    );
    const says = async () =>
      (await told(zz)).map(({ name, description }) => [name, description.replace(/.*: /, "")]);
    const { text: described } = await zz.call("mcp_tools", { servers: ["fickle"] });
    match(described, /^MCP server 'fickle' says of itself: Is changes\.$/m);
    const two = ["fickle__two", "The same."];
    deepEqual(await says(), [["fickle__one", "As in start 1."], two]);
    await zz.command("/mcp restart fickle");
    match(
      zz.questions.join(),
      /one says something else than before:\n +- As in start 1\..*\n +\+ As in start 2\./,
    );
    deepEqual(await says(), [two]);
    const { text } = await zz.call("fickle__one", {});
    match(text, /its description changed, and nobody has agreed to it\. .*\/mcp accept/);
    answer = "y";
    await zz.command("/mcp accept fickle");
    deepEqual(await says(), [["fickle__one", "As in start 2."], two]);
  });

  test("a tool that goes and comes back must be what it was, in this run and in the next one", async (t) => {
    for (const again of ["restart", "start"]) {
      const zz = await started(
        t,
        { fickle: fake("returns", `../starts-${again}`) },
        { answer: "no" },
      );
      await zz.call("mcp_tools", { servers: ["fickle"] });
      for (let times = 2; times <= 3; times++)
        if (again === "restart") await zz.command("/mcp restart fickle");
        else {
          await zz.restart();
          await zz.call("mcp_start", { server: "fickle" });
        }
      match(
        zz.questions.join(),
        /one says something else than before:\n +- As in start 1\..*\n +\+ As in start 3\./,
      );
      match(await said(zz, "fickle", "one"), /nobody has agreed to it/);
    }
  });

  test("a list that changes is followed; a new tool is named; a built-in's name is no danger", async (t) => {
    const zz = await started(t, { more: fake("grows"), files: fake("builtin") });
    await zz.call("mcp_tools", { servers: ["more", "files"] });
    deepEqual(await names(zz), ["files__read_file", "more__one"]);
    await zz.call("more__one", { text: "x" });
    await waitFor("the new tool", async () => (await names(zz)).includes("more__later"));
    deepEqual(zz.notes, ["MCP server 'more' has 1 new tool: later."]);
    match((await zz.call("files__read_file", {})).text, /^read_file \{\}/);
  });

  test("the settings of other programs work as they are; what zz does not use of them is said once", async (t) => {
    const theirs = { type: "stdio", alwaysAllow: ["two"], autoApprove: [], disabledTools: ["one"] };
    const zz = await started(t, { it: { ...fake("changes", "../starts"), ...theirs } });
    await zz.call("mcp_tools", { servers: ["it"] });
    deepEqual(await names(zz), ["it__two"]);
    await zz.command("/mcp restart it");
    const told =
      "MCP server 'it': zz does not use alwaysAllow, autoApprove in its settings; --allow-run=mcp:it allows its tools.";
    deepEqual(zz.notes.filter((note) => /does not use/.test(note)), [told]); // biome-ignore format: short
  });

  test("of very many tools the first are taken, and it is said; a name is one line", async (t) => {
    const zz = await started(t, { it: { ...fake("crowd"), disabledTools: ["tool\n0"] } });
    const [, tools = ""] = await zz.command("/mcp tools it");
    deepEqual([tools.split("\n").length, /^tool 1: tool 1$/m.test(tools)], [500, true]);
    match(zz.notes.join(), /^MCP server 'it' has 599 tools, and zz takes the first 500\. /);
  });

  test("a server's patterns cannot keep zz busy, and what does not fit is told before it is called", async (t) => {
    const zz = await started(t, { odd: fake("patterns") });
    await zz.call("mcp_tools", { servers: ["odd"] });
    match((await zz.call("odd__check", { text: `${"a".repeat(40)}!` })).text, /^check /);
    match(
      (await zz.call("odd__check", { text: { no: 1 } })).text,
      /^Cannot call 'odd__check': text must be a string/,
    );
  });

  test("a call is asked for unless its hints are believed; rules know servers from commands", async (t) => {
    const asking = await started(t, { e: fake("hints") }, { allow: {}, answer: "no" });
    await asking.call("mcp_tools", { servers: ["e"] });
    const refused = await asking.call("e__echo", { text: "x" });
    match(refused.text, /^Refused: the person said no to run access to "mcp:e echo"/);
    match(asking.questions[0]!, /"text": "x"[\s\S]*By the word of MCP server 'e', it only reads\./);
    const e = { ...fake("hints"), readOnly: "believe" };
    const believing = await started(t, { e }, { allow: {} });
    await believing.call("mcp_tools", { servers: ["e"] });
    match((await believing.call("e__echo", { text: "x" })).text, /^echo /);
    match((await believing.call("e__toggle", {})).text, /^Refused: the person said no/);
    const denied = await started(t, { e }, { deny: { run: ["mcp:e echo"] } });
    match(await said(denied, "e", "echo"), /^Refused: run access to "mcp:e echo" is denied/);
  });

  test("what a server gets of the environment", async (t) => {
    using _ = withEnvironment({ SECRET_OF_MINE: "not for servers", SSL_CERT_DIR: "/certs" });
    const f = { ...fake("env"), env: { SECRET_OF_MINE: "${env:MY_TOKEN:-given}" } };
    const zz = await started(t, { f, g: fake("env") });
    deepEqual(
      [await said(zz, "f", "one"), await said(zz, "g", "one")],
      ["one {} given/certs", "one {} /certs"],
    );
    const wanting = await started(t, { f: { ...fake("env"), env: { X: "${NO_SUCH_VARIABLE}" } } });
    match(
      await said(wanting, "f", "one"),
      /^Cannot start MCP server 'f': the variable NO_SUCH_VARIABLE is not set\./,
    );
  });
});

describe("MCP: servers of a project, prompts, resources, and what servers ask", {
  concurrency: 2,
}, () => {
  const theirs = { ...fake("env"), env: { SECRET_OF_MINE: "from the project" } };
  const PROJECT = { ".mcp.json": JSON.stringify({ mcpServers: { theirs } }) };

  test("a project's .mcp.json is named and not started before it is trusted, and not after it changed", async () => {
    const where = place(PROJECT);
    const args = ["-m", "openai/m", "--key", "x", "--once", "/mcp"];
    const before = await zz(where, args);
    match(
      before.stderr,
      /^Left out what .*: nobody has trusted \.mcp\.json\. Look at it, then: zz --trust$/m,
    );
    match(before.stdout, /^The MCP servers of \.mcp\.json are left out: nobody has trusted it\./m);
    equal((await zz(where, ["--trust"])).stdout, "Trusted, as they are now: .mcp.json.\n");
    match(
      (await zz(where, args)).stdout,
      /^theirs {2}not needed yet · not started yet · .*· of this project$/m,
    );
    writeFileSync(
      join(where.cwd, ".mcp.json"),
      PROJECT[".mcp.json"].replace("from the", "from another"),
    );
    match((await zz(where, args)).stderr, /\.mcp\.json changed since you trusted it/);
  });

  test("what is wrong in a trusted project's file is one sentence with the field, and switches may be on and off", async (t) => {
    // biome-ignore format: a server a row
    const rows: [server: unknown, wrong: string][] = [
      [{ command: "x", args: "y" }, "args must be a list"],
      [{ command: "x", args: [3] }, "args.0 must be a string"],
      [{ command: "x", env: { A: 3 } }, "env.A must be a string"],
      [{ command: 3, url: "http://127.0.0.1:1/" }, "command must be a string"],
      [{ serverUrl: 3 }, "url must be a string"],
      [{ command: "x", timeout: "soon" }, "timeout must be a number"],
      [{ command: "x", readOnly: "yes" }, "readOnly must be one of ask, believe"],
      [{ command: "x", disabledTools: "a" }, "disabledTools must be a list"],
      [{ command: "x", sandbox: "no" }, "sandbox must be true or false, or an object"],
      [{ command: "x", oauth: 3 }, "oauth must be an object"],
      [{ command: "x", disabled: "maybe" }, "disabled must be true or false"],
      [{ url: "ftp://x" }, "its url is not one of the web"],
      [{ url: "http://[" }, "its url is not one of the web"],
      [3, "it must be an object"],
      [{ commnd: "x" }, 'it has neither "command" nor "url". Add one'],
    ];
    const servers = Object.fromEntries(rows.map(([server], i) => [`s${i}`, server]));
    const mcpServers = { ...servers, off: { command: "x", disabled: "on" }, it: { command: "x" } };
    const files = { ".mcp.json": JSON.stringify({ mcpServers }) };
    const zz = await harness({ plugins: [PLUGIN], files }, t);
    await zz.ctx.plugins.trust(true);
    const notes = await zz.command("/mcp");
    const wrong = rows.map(([, wrong], i) => {
      const remedy = /Add one$/.test(wrong) ? "." : ". Fix it.";
      return `MCP server 's${i}' of .mcp.json is left out: ${wrong}${remedy}`;
    });
    deepEqual(notes.at(-1)!.split("\n").slice(1), wrong);
    match(notes.at(-1)!, /^it {2}not needed yet/);
  });

  test("a trusted project's server outside of the sandbox, its hosts and variables are asked for", async (t) => {
    const theirs = { ...fake("env"), env: { X: "${HOME}" } };
    const mcpServers = JSON.stringify({
      mcpServers: { theirs, far: { url: "https://mcp.example.com/x" } },
    });
    const zz = await harness(
      { plugins: [PLUGIN], files: { ".mcp.json": mcpServers }, answer: "no" },
      t,
    );
    await zz.ctx.plugins.trust(true);
    await zz.call("mcp_call", { server: "theirs", tool: "one" });
    await zz.command("/mcp");
    await zz.call("mcp_call", { server: "theirs", tool: "one" });
    match(
      zz.questions.join(),
      /wants to run "mcp:theirs one" and ".*mcp\.mjs env" and to use HOME/,
    );
    await zz.call("mcp_call", { server: "far", tool: "one" });
    match(zz.questions.at(-2)!, /to reach mcp\.example\.com\./);
  });

  test("pictures and structured answers; prompts are slash commands, and resources go with a message", async (t) => {
    const zz = await started(t, everything, { own: true, plugins: [], script: ["ok"] });
    const one = (tool: string, args = {}) =>
      zz.call("mcp_call", { server: "e", tool, arguments: args });
    const { images, text } = await one("get-tiny-image");
    deepEqual([images?.[0]?.type, /image/.test(text)], ["image/png", true]);
    const { data } = await one("get-structured-content", { location: "New York" });
    deepEqual(Object.keys(data as object).sort(), ["conditions", "humidity", "temperature"]);
    await zz.call("mcp_tools", { servers: ["e"] });
    await zz.ask("/e__args-prompt Paris state=Texas");
    match(JSON.stringify(zz.requests.at(-1)!.messages), /weather in Paris, Texas/);
    await rejects(zz.ask("/e__args-prompt"), /Cannot send 'args-prompt': it needs city/);
    await zz.ask("Sum up @e:demo://resource/static/document/features.md, please.");
    const sent = JSON.stringify(zz.requests.at(-1)!.messages.at(-1));
    match(
      sent,
      /--- RESOURCE e:demo:\/\/resource\/static\/.*\/features\.md ---\\n.*--- END RESOURCE.*Sum up @e:demo:/,
    );
    const said = await zz.ask("And @e:demo://no/such?");
    match(said.notes.join(), /@e:demo:\/\/no\/such is not attached: MCP server 'e' says: /);
    match(
      (await zz.call("mcp_resource", { server: "e" })).text,
      /^demo:\/\/resource\/static\/document\//,
    );
  });

  test("a server asks the model only when the person agrees, and the person at the prompt", async (t) => {
    const ask = async (question: string, keys?: string) => {
      if (keys) return "y";
      if (question.includes("legal name")) return "Ada";
      if (question.includes("Agree")) return "yes";
      return "";
    };
    const zz = await started(t, everything, {
      allow: { run: ["mcp:e"] },
      answer: ask,
      script: ["The model's word."],
    });
    const one = (tool: string, args: object) =>
      zz.call("mcp_call", { server: "e", tool, arguments: args });
    match(
      (await one("trigger-sampling-request", { prompt: "What is up?", maxTokens: 20 })).text,
      /The model's word\./,
    );
    match(
      zz.questions[0]!,
      /wants to run "mcp:e sampling\/createMessage".*your model, at your cost.*What is up/s,
    );
    match((await one("trigger-elicitation-request", {})).text, /Ada/);
    match(zz.questions.join("\n"), /MCP server 'e' asks: .*Give it no password\./);
    delete zz.core.ask; // nobody is there any more
    const { text: refused } = await one("trigger-sampling-request", { prompt: "x" });
    match(
      refused,
      /Refused: requires run access to "mcp:e sampling\/createMessage"; run again with --allow-run\./,
    );
    match((await one("trigger-elicitation-request", {})).text, /cancel/i);
    match(zz.notes.join(), /asked for something, and there is no terminal to ask on/);
    const made = await zz.call("mcp_sampling", { id: "made up" });
    deepEqual([made.failed, /no server asks/.test(made.text)], [true, true]);
  });
});

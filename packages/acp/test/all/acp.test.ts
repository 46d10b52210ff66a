// An editor drives the built program by the Agent Client Protocol: the SDK's own client, and the
// process itself.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, describe, test } from "node:test";
import * as acp from "@agentclientprotocol/sdk";
import { tryTo } from "zz/text";
import { childrenOf } from "../../../../test/support/children.ts";
import type { Script } from "../../../../test/support/fake/http.ts";
import { call, fakeOpenAI, refuse, say, stream } from "../../../../test/support/fake/openai.ts";
import { snippet } from "../../../../test/support/pages.ts";
import { environment, type Place, place, WAYS, zz } from "../../../../test/support/run.ts";
import { stripped } from "../../../../test/support/stripped.ts";
import { viewTest } from "../../../../test/support/view.ts";
import { waitFor } from "../../../../test/support/wait.ts";

/** What the editor and the model do in the test that runs. */
const now = {
  updates: [] as acp.SessionUpdate[],
  asked: [] as acp.RequestPermissionRequest[],
  script: [] as Script,
  say: "y", // the option that is chosen; "": the question is left
  unsaved: {} as Record<string, string>,
  meanwhile: () => {}, // what happens while a question stands
};
const house = place(); // of the process that all tests share
let shared: ReturnType<typeof open> | undefined;
after(async () => {
  const one = await shared; // the last test ends it, where it is among those that run
  one?.process.kill("SIGKILL");
  await one?.fake.close();
});

const { session } = acp.methods.agent;
const FLAGS = (url: string) => ["--acp", "-m", "openai/m", "--base-url", url, "--key", "x"];
const [node, program] = WAYS.dist;

/**
 * The editor of all tests, with zz as it starts it: one process for all sessions, and one more for
 * each.
 */
async function open() {
  let [at, played] = [0, now.script];
  const fake = await fakeOpenAI((seen) => {
    if (played !== now.script) [at, played] = [0, now.script];
    const script = now.script;
    return typeof script === "function"
      ? script(seen, at++)
      : script[Math.min(at++, script.length - 1)]!;
  });
  mkdirSync(house.home);
  const mcpServers = { mine: { command: node, args: ["-e", "0"], sandbox: false } };
  writeFileSync(join(house.home, "zz.config.json"), JSON.stringify({ mcpServers }));
  const how = { cwd: house.cwd, env: environment(house, {}), stdio: "pipe" as const };
  const child = spawn(node, [program, ...FLAGS(fake.url)], how);
  const app = acp
    .client({ name: "test" })
    .onNotification(
      acp.methods.client.session.update,
      ({ params }) => void now.updates.push(params.update),
    )
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      now.asked.push(params);
      now.meanwhile();
      return {
        outcome: now.say ? { outcome: "selected", optionId: now.say } : { outcome: "cancelled" },
      };
    })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
      const content = now.unsaved[params.path];
      if (content === undefined) throw acp.RequestError.resourceNotFound(params.path);
      return { content };
    });
  const [to, from] = [Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)] as any;
  const { agent } = app.connect(acp.ndJsonStream(to, from));
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  const clientCapabilities = { fs: { readTextFile: true } };
  await agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities,
  });
  const close = async () => {
    child.stdin.end();
    const code = await exited;
    await fake.close();
    return code;
  };
  return { agent, process: child, fake, close };
}

/** The editor with a project of this test's own, and what is asked of the model from now on. */
async function editor(wish: Partial<typeof now>) {
  Object.assign(now, {
    updates: [],
    asked: [],
    say: "y",
    unsaved: {},
    meanwhile: () => {},
    ...wish,
  });
  const one = await (shared ??= open());
  one.fake.requests.length = 0;
  return { ...one, updates: now.updates, asked: now.asked, where: place() };
}

const SAID = say("Done.");
type At = { agent: acp.ClientContext; where: Place };
const begin = async ({ agent, where: { cwd } }: At, mcpServers: acp.McpServer[] = []) =>
  (await agent.request(session.new, { cwd, mcpServers })).sessionId;
const prompt = (agent: acp.ClientContext, sessionId: string, text: string) =>
  agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text }] });
const textIn = (updates: acp.SessionUpdate[], kind = "agent_message_chunk") =>
  updates
    .flatMap((one: any) =>
      one.sessionUpdate === kind && one.content.type === "text" ? [one.content.text] : [],
    )
    .join("");

/** An editor of one's own, with a home of its own, that sees each line. */
async function ownEditor(where: Place, flags: string[]) {
  const how = { cwd: where.cwd, env: environment(where, {}), stdio: "pipe" as const };
  const child = spawn(node, [program, "--acp", ...flags], how);
  let [out, stderr, count] = ["", "", 0];
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const exited = new Promise((done) => child.once("close", done));
  const lines = () => out.split("\n").slice(0, -1);
  const ask = async (method: string, params: object): Promise<any> => {
    const id = ++count;
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const answer = (line: string) => tryTo(() => JSON.parse(line).id) === id;
    return JSON.parse(await waitFor(`the answer to ${method}`, () => lines().find(answer)));
  };
  await ask("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  const end = async () => {
    child.stdin.end();
    await exited;
    return { lines: lines(), stderr };
  };
  return { where, ask, end };
}

const textOfCommands = (updates: acp.SessionUpdate[]) =>
  JSON.stringify(
    updates
      .flatMap((one: any) => one.availableCommands ?? [])
      .map(({ name }: { name: string }) => name),
  ).replace(/^\[\]$/, "");
const sessionPids = (parent: number): number[] => childrenOf(parent);

describe("--acp", () => {
  test("a turn with a question and a difference: yes writes the file", async () => {
    const one = await editor({
      script: [call(["write_file", { path: "a.txt", content: "new\n" }]), say("Written.")],
    });
    const id = await begin(one);
    equal((await prompt(one.agent, id, "write it")).stopReason, "end_turn");
    equal(readFileSync(join(one.where.cwd, "a.txt"), "utf8"), "new\n");
    const [question] = one.asked;
    equal(question!.options.map(({ kind }) => kind).join(), "allow_once,allow_always,reject_once");
    const words = "write_file wants to change a.txt.\na.txt: new";
    deepEqual(question!.toolCall.content, [
      { type: "content", content: { type: "text", text: words } },
      { type: "diff", path: join(one.where.cwd, "a.txt"), oldText: null, newText: "new\n" },
    ]);
    equal(textIn(one.updates), "Written.");
    const calls = one.updates.filter(({ sessionUpdate }) =>
      /^tool_call/.test(sessionUpdate),
    ) as any[];
    deepEqual([calls[0]?.status, calls[0].kind], ["in_progress", "edit"]);
    const { status, content, toolCallId } = calls.at(-1);
    deepEqual(
      [status, content[0].type, toolCallId],
      ["completed", "diff", question!.toolCall.toolCallId],
    );
    ok(calls.some(({ locations }) => locations?.[0]?.path === join(one.where.cwd, "a.txt")));
  });

  viewTest(
    "a command's question says all that the prompt would: modes, links, what goes or is ignored",
    async () => {
      const command =
        "chmod 777 a.txt; ln -s /etc/passwd lnk; rm gone; mkdir -p out .husky; echo 1 > out/x; echo rm > .husky/pre-push";
      const one = await editor({
        script: [call(["run_command", { command }]), say("Done.")],
        say: "n",
      });
      for (const name of ["a.txt", "gone"]) writeFileSync(join(one.where.cwd, name), "1\n");
      writeFileSync(join(one.where.cwd, ".gitignore"), "out/\n.husky/\n");
      await prompt(one.agent, await begin(one), "do it");
      const [first, ...diffs] = one.asked.at(-1)!.toolCall.content as any[];
      const { text } = first.content;
      const parts = [
        command,
        "a.txt: changed, executable, another mode: 644 to 777",
        "lnk: new, a link",
        "gone: deleted",
        ".husky/pre-push: new",
        "out/x: new",
      ];
      deepEqual(parts.filter((part) => !text.includes(part)), [], text); // biome-ignore format: short
      ok(diffs.some(({ path, newText }) => path.endsWith(".husky/pre-push") && newText === "rm\n"));
    },
  );

  viewTest("a question is the one that docs/editors.md shows", async () => {
    const shown = snippet("[ Always allow").split("\n").slice(0, -2); // the last row is the editor's
    const [, command = ""] = /^\$ (.*)$/m.exec(shown.join("\n"))!;
    const one = await editor({ script: [call(["run_command", { command }]), SAID], say: "n" });
    mkdirSync(join(one.where.cwd, ".husky"));
    for (const name of ["a.txt", "gone", ".husky/x"])
      writeFileSync(join(one.where.cwd, name), "1\n");
    await prompt(one.agent, await begin(one), "do it");
    const { title, content } = one.asked.at(-1)!.toolCall as any;
    const text = `${title}\n${content[0].content.text}`;
    deepEqual(shown.filter((row) => !text.includes(row)), [], text); // biome-ignore format: short
  });

  test("no, or a question that is left, changes nothing; the model is told", async () => {
    for (const say of ["n", ""]) {
      const one = await editor({
        script: [call(["write_file", { path: "a.txt", content: "x" }]), SAID],
        say,
      });
      const id = await begin(one);
      await prompt(one.agent, id, "write it");
      ok(!existsSync(join(one.where.cwd, "a.txt")));
      match(JSON.stringify(one.fake.requests.at(-1)!.body), /the person said no/);
    }
  });

  test("what the editor has and did not save: shown with what is read, and never written over", async () => {
    const edit = { path: "a.txt", old_string: "saved", new_string: "mine" };
    const one = await editor({
      script: [call(["read_file", { path: "a.txt" }]), call(["edit_file", edit]), SAID],
    });
    const file = join(one.where.cwd, "a.txt");
    writeFileSync(file, "saved\n");
    now.unsaved[file] = "typed\n";
    await prompt(one.agent, await begin(one), "edit it");
    equal(readFileSync(file, "utf8"), "saved\n");
    const [, second, third] = one.fake.requests.map(({ body }) => JSON.stringify(body));
    match(second!, /changes that are not saved\. With them it is:\\\\?ntyped|typed/);
    match(third!, /changes in the editor that are not saved\. Ask the person to save it first/);
  });

  test("what the editor did not save of a file is kept back where the person says no to reading it", async () => {
    const reads = ["../out.txt", ".env"].map((path) => call(["read_file", { path }]));
    const one = await editor({ script: [...reads, SAID], say: "n" });
    for (const name of ["../out.txt", ".env"]) {
      writeFileSync(join(one.where.cwd, name), "saved\n");
      now.unsaved[join(one.where.cwd, name)] = "typed-canary\n";
    }
    const id = await begin(one);
    for (const words of ["read them", "see @.env and @../out.txt"])
      await prompt(one.agent, id, words);
    const sent = JSON.stringify(one.fake.requests.map(({ body }) => body));
    ok(sent.includes("the person said no"));
    ok(!(sent + JSON.stringify(one.updates)).includes("typed-canary"));
  });

  test("sessions: listed, loaded with what was said, closed, deleted", async () => {
    const one = await editor({ script: [call(["list_dir", {}]), say("First."), say("Second.")] });
    const id = await begin(one);
    await prompt(one.agent, id, "hello");
    const { sessions } = await one.agent.request(session.list, { cwd: one.where.cwd });
    deepEqual(sessions.map(({ sessionId, title }) => [sessionId, title]), [[id, "hello"]]); // biome-ignore format: short
    await one.agent.request(session.close, { sessionId: id });
    await rejects(prompt(one.agent, id, "again"), /there is no session/);
    one.updates.length = 0;
    await one.agent.request(session.load, { sessionId: id, cwd: one.where.cwd, mcpServers: [] });
    equal(textIn(one.updates, "user_message_chunk"), "hello");
    equal(textIn(one.updates), "First.");
    ok(
      one.updates.some(
        (update: any) => update.sessionUpdate === "tool_call" && update.name === "list_dir",
      ),
    );
    await prompt(one.agent, id, "and now?");
    match(textIn(one.updates), /Second\.$/);
    await one.agent.request(session.delete, { sessionId: id });
    deepEqual((await one.agent.request(session.list, { cwd: one.where.cwd })).sessions, []);
  });

  test("a turn is cancelled; the next one runs", async () => {
    const one = await editor({
      script: [{ ...stream("data: {}\n\n"), ending: "hang" }, say("Here.")],
    });
    const id = await begin(one);
    const first = prompt(one.agent, id, "wait");
    await waitFor("the request", () => one.fake.requests.length);
    await one.agent.notify(session.cancel, { sessionId: id });
    equal((await first).stopReason, "cancelled");
    equal((await prompt(one.agent, id, "again")).stopReason, "end_turn");
    equal(textIn(one.updates), "Here.");
  });

  test("a process that is killed in its first turn: its session is loaded by its name, with the key of the message", async () => {
    const one = await editor({ script: [{ ...stream("data: {}\n\n"), ending: "hang" }, SAID] });
    const before = new Set(childrenOf(one.process.pid!));
    const id = await begin(one);
    const [pid] = childrenOf(one.process.pid!).filter((child) => !before.has(child));
    const first = one.agent.request(session.prompt, {
      sessionId: id,
      prompt: [{ type: "text", text: "remember" }],
      _meta: { zz: { key: "message 1" } },
    });
    await waitFor("the request", () => one.fake.requests.length);
    process.kill(pid!, "SIGKILL");
    await rejects(first, /The process of this session ended/);
    const loaded = await one.agent.request(session.load, {
      sessionId: id,
      cwd: one.where.cwd,
      mcpServers: [],
    });
    equal(textIn(one.updates, "user_message_chunk"), "remember");
    deepEqual(loaded._meta, { zz: { last: "message 1" } });
  });

  test("what cannot be done is said by the protocol's codes, or where the person looks", async () => {
    const one = await editor({ script: [SAID] });
    const { agent, where, updates } = one;
    const unknown = { sessionId: "nope", cwd: where.cwd, mcpServers: [] };
    for (const method of [session.load, session.resume])
      await rejects(agent.request(method, unknown as never), {
        code: -32002,
        message: `Cannot do '${method}': there is no session 'nope'. session/list names them.`,
      });
    await rejects(agent.request("session/nope" as never, {} as never), { code: -32601 });
    const id = await begin(one);
    await agent.request(session.load, { ...unknown, sessionId: id }); // it was never prompted
    await waitFor("the commands", () => textOfCommands(updates));
    doesNotMatch(textOfCommands(updates), /\b(exit|quit|paste|copy|edit)\b/);
    const pixel = (data: string) => ({ type: "image" as const, mimeType: "image/png", data });
    for (const [block, message] of [
      [{ type: "audio" as const, mimeType: "audio/wav", data: "AAAA" }, /^Cannot take a sound: /],
      [pixel("bm8="), /^Cannot take the image \(image\/png\): it is no PNG/],
      [
        pixel("iVBORw0KGgo="),
        /^Cannot take the image \(image\/png\): it begins as image\/png, but/,
      ],
    ] as const)
      await rejects(
        agent.request(session.prompt, { sessionId: id, prompt: [block] }),
        (error: any) => {
          equal(error.code, -32602);
          match(error.message, message);
          return true;
        },
      );
    equal((await prompt(agent, id, "/back 9")).stopReason, "end_turn");
    match(textIn(updates), /^Cannot go back: nothing was said yet/);
  });

  test("a process that died is started again by the next prompt, in the mode in which it was", async () => {
    const write = call(["write_file", { path: "a.txt", content: "x" }]);
    const one = await editor({ script: [SAID, write, SAID] });
    // what holds its stderr, so that it is not known soon what it said last
    const holds = "zz.programs.start('sleep', ['9'], { stdio: 'inherit' })";
    const plugins = join(house.home, "plugins");
    mkdirSync(plugins);
    writeFileSync(join(plugins, "holds.js"), `export default (zz) => void ${holds};`);
    const id = await begin(one);
    await prompt(one.agent, id, "hi");
    await one.agent.request(session.setMode, { sessionId: id, modeId: "read" });
    const pid = sessionPids(one.process.pid!).at(-1)!;
    process.kill(pid, "SIGKILL");
    await waitFor("its end", () => !sessionPids(one.process.pid!).includes(pid));
    rmSync(plugins, { recursive: true });
    equal((await prompt(one.agent, id, "again")).stopReason, "end_turn");
    const { messages } = one.fake.requests.at(-1)!.body;
    match(JSON.stringify(messages), /"hi".*"Done\.".*again".*the editor is in the mode Read/);
    deepEqual([one.asked.length, existsSync(join(one.where.cwd, "a.txt"))], [0, false]);
  });

  test("the limit of rounds ends the turn, and asks for no permission", async () => {
    const script = ({ body }: any) =>
      body.tools ? call(["list_dir", { path: `${body.messages.length}` }]) : say("So far.");
    const one = await editor({ script });
    equal((await prompt(one.agent, await begin(one), "loop")).stopReason, "max_turn_requests");
    deepEqual([one.asked.length, textIn(one.updates)], [0, "So far."]);
  });

  test("why a session cannot start is in its error, and stderr has one line of it", async () => {
    const editor = await ownEditor(place(), ["-m", "nope/m"]);
    const { error } = await editor.ask("session/new", { cwd: editor.where.cwd, mcpServers: [] });
    equal(error.code, -32603);
    match(error.message, /^Cannot use model 'nope\/m': .* there is no provider 'nope'/);
    const { lines, stderr } = await editor.end();
    deepEqual(
      lines.filter((line) => !line.startsWith('{"jsonrpc":"2.0"')),
      [],
    );
    match(stderr, /^Cannot use model 'nope\/m'[^\n]*\n$/);
  });

  test("with display.live the text comes as it is written, once; stderr stays empty beside an edit", async () => {
    const write = call(["write_file", { path: "a.txt", content: "x\n" }]);
    const where = place({}, { display: { live: true } });
    const fake = await fakeOpenAI([write, say("One two three four five.")]);
    after(fake.close);
    const flags = FLAGS(fake.url).slice(1);
    const editor = await ownEditor(where, [...flags, "--allow-write"]);
    const { result } = await editor.ask("session/new", { cwd: where.cwd, mcpServers: [] });
    const prompt = [{ type: "text", text: "write" }];
    await editor.ask("session/prompt", { sessionId: result.sessionId, prompt });
    const { lines, stderr } = await editor.end();
    const chunks = lines
      .map((line) => JSON.parse(line).params?.update)
      .filter((update) => update?.sessionUpdate === "agent_message_chunk")
      .map(({ content }) => content.text);
    deepEqual([chunks.join(""), stderr], ["One two three four five.", ""]);
    ok(existsSync(join(where.cwd, "a.txt")));
  });

  test("modes: Edit asks for no edit, Read refuses it; the model is an option", async () => {
    const write = (n: number) => call(["write_file", { path: `${n}.txt`, content: "x" }]);
    const one = await editor({ script: [write(1), say("a"), write(2), say("b")] });
    const made = await one.agent.request(session.new, { cwd: one.where.cwd, mcpServers: [] });
    deepEqual(made.modes!.availableModes.map(({ id }) => id), ["ask", "edit", "read"]); // biome-ignore format: short
    const { sessionId } = made;
    await one.agent.request(session.setMode, { sessionId, modeId: "edit" });
    await prompt(one.agent, sessionId, "write");
    equal(one.asked.length, 0);
    ok(existsSync(join(one.where.cwd, "1.txt")));
    await one.agent.request(session.setMode, { sessionId, modeId: "read" });
    await prompt(one.agent, sessionId, "write");
    ok(!existsSync(join(one.where.cwd, "2.txt")));
    const nope = one.agent.request(session.setMode, { sessionId, modeId: "nope" });
    await rejects(nope, /no mode 'nope'/);
    const model = { sessionId, configId: "model", value: "openai/n" };
    const { configOptions } = await one.agent.request(session.setConfigOption, { ...model });
    equal((configOptions[0] as any).currentValue, "openai/n");
  });

  test("a failed request is an error in zz's words; a command answers as a message", async () => {
    const one = await editor({ script: [refuse(401, { error: { message: "bad key" } })] });
    const id = await begin(one);
    await rejects(prompt(one.agent, id, "hello"), /bad key/);
    equal((await prompt(one.agent, id, "/model")).stopReason, "end_turn");
    await prompt(one.agent, id, "/status");
    match(textIn(one.updates), /openai\/m/);
  });

  test("garbage is refused, and the conversation goes on; what came before 'initialize' is refused", async () => {
    const one = await editor({ script: [say("Fine.")] });
    one.process.stdin!.write(
      'nonsense\n[1]\n{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{}}\n',
    );
    await rejects(prompt(one.agent, "x", "hello"), /there is no session 'x'/);
    const unknown = { code: -32601, message: /^Cannot do '.*': zz has no such method\.$/ };
    for (const method of ["nope/nope", "session/nope", "_ours/nope"])
      for (const params of [{ sessionId: "x" }, {}, undefined])
        await rejects(one.agent.request(method, params), unknown);
    const beginIn = (cwd: string) => one.agent.request(session.new, { cwd, mcpServers: [] });
    await rejects(beginIn("relative"), /absolute path/);
    const nowhere = join(one.where.cwd, "nowhere");
    await rejects(beginIn(nowhere), /Cannot begin a session in '.*nowhere': no such folder/);
    await prompt(one.agent, await begin(one), "hello");
    equal(textIn(one.updates), "Fine.");
  });

  test("an editor that leaves in the middle of a question: nothing is written, nothing stays behind", async () => {
    const where = place();
    const fake = await fakeOpenAI([
      call(["write_file", { path: "a.txt", content: "x" }]),
      say("no"),
    ]);
    const env = environment(where, {});
    const child = spawn(node, [program, ...FLAGS(fake.url)], {
      cwd: where.cwd,
      env,
      stdio: "pipe",
    });
    after(() => child.exitCode === null && child.kill("SIGKILL"));
    const lines = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    let text = "";
    const exited = new Promise((done) => child.once("exit", done));
    lines({ id: 1, method: "initialize", params: { protocolVersion: 1 } });
    lines({ id: 2, method: "session/new", params: { cwd: where.cwd, mcpServers: [] } });
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      const had = text;
      text += piece;
      const [, id] = /"sessionId":"([^"]+)"/.exec(text) ?? [];
      if (id && !/"sessionId"/.test(had))
        lines({
          id: 3,
          method: "session/prompt",
          params: { sessionId: id, prompt: [{ type: "text", text: "go" }] },
        });
      if (/request_permission/.test(text) && !/request_permission/.test(had)) child.stdin.destroy();
    });
    equal(await exited, 0);
    ok(!existsSync(join(where.cwd, "a.txt")));
    fake.close();
  });

  test("MCP servers that the editor names: asked for like any, for that session alone, and ended with it", async () => {
    const mark = `of-${process.pid}-${Date.now()}`;
    const look = call(["mcp_tools", { servers: ["Note_pad"] }]);
    const one = await editor({
      script: [look, call(["Note_pad__one", { text: "${HOME}" }]), SAID, SAID],
    });
    const env = [
      { name: "SECRET_OF_MINE", value: "sesame-4711" },
      { name: "WORD_OF_MINE", value: ", ${HOME} of it" },
    ];
    const args = [stripped("test/support/fake/mcp.ts"), "env", "", mark];
    const named = { name: "Note pad!", command: process.execPath, args, env };
    const sse = { type: "sse" as const, name: "old", url: "http://127.0.0.1:1", headers: [] };
    const sessionId = await begin(one, [named, { ...named, name: "Note_pad" }, sse]);
    equal((await prompt(one.agent, sessionId, "note it")).stopReason, "end_turn");
    match(textIn(one.updates), /MCP server 'old' is left out: zz speaks MCP over stdio and HTTP/);
    const [first, , third] = one.fake.requests.map(({ body }) => JSON.stringify(body));
    match(first!, /Note_pad \(not started yet\); Note_pad-2 \(not started yet\)/);
    match(third!, /one \{.*HOME.*\} \[key\], \$\{HOME\} of it/, "its words are taken as they are");
    match(JSON.stringify(one.asked.map(({ toolCall }) => toolCall)), /Note_pad__one/);
    const commandOf = (pid: string) =>
      tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "";
    const running = () =>
      readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(mark));
    ok(running(), "it runs");
    await prompt(one.agent, await begin(one), "and here?");
    doesNotMatch(JSON.stringify(one.fake.requests.at(-1)!.body), /Note_pad/);
    await one.agent.request(session.close, { sessionId });
    await waitFor("its end", () => !running());
  });

  test("the host of an MCP server that the editor names is asked for; a name of the settings stays theirs", async () => {
    const one = await editor({
      script: [call(["mcp_tools", { servers: ["far"] }]), say("No.")],
      say: "n",
    });
    const http = (name: string) => ({
      type: "http" as const,
      name,
      url: "http://127.0.0.1:9/mcp",
      headers: [],
    });
    const sessionId = await begin(one, [http("far"), http("mine")]);
    await prompt(one.agent, sessionId, "look");
    match(JSON.stringify(one.asked), /127\.0\.0\.1:9/);
    match(JSON.stringify(one.fake.requests.at(-1)!.body), /the person said no/);
    match(
      textIn(one.updates),
      /The editor's MCP server 'mine' is left out: the settings have one of that name/,
    );
  });

  test("zz ends when the editor closes its end", async () => {
    const { close } = await editor({});
    shared = undefined;
    equal(await close(), 0);
  });

  test("a conversation without an editor is refused", async () => {
    const { code, stderr } = await zz(place(), ["--acp-session"]);
    equal(code, 2);
    match(stderr, /^Cannot hold a conversation without an editor: use --acp/m);
  });
});

// An editor drives the built program by the Agent Client Protocol: the SDK's own client, and the process itself.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, describe, test } from "node:test";
import * as acp from "@agentclientprotocol/sdk";
import type { Script } from "../../support/fake/http.ts";
import { call, fakeOpenAI, refuse, say, stream } from "../../support/fake/openai.ts";
import { type Place, place, ROOT, zz } from "../../support/run.ts";
import { stripped } from "../../support/stripped.ts";

interface Editor {
  agent: acp.ClientContext;
  process: ChildProcess;
  updates: acp.SessionUpdate[];
  asked: acp.RequestPermissionRequest[];
  close(): Promise<number | null>;
}
interface Wish {
  script: Script;
  say?: string; // the option that is chosen; "": the question is left
  unsaved?: Record<string, string>;
  flags?: string[];
  where?: Place;
}

/** An editor, and zz as it starts it. */
async function editor({
  script,
  say = "y",
  unsaved,
  flags = [],
  where = place(),
}: Wish): Promise<Editor & { where: Place; fake: { close(): unknown; requests: any[] } }> {
  const fake = await fakeOpenAI(script);
  const { OPENAI_BASE_URL, ZZ_MODEL, ...rest } = process.env;
  const child = spawn(
    process.execPath,
    [join(ROOT, "dist", "zz.js"), "--acp", "-m", "openai/m", "--base-url", fake.url, "--key", "x", ...flags],
    {
      cwd: where.cwd,
      env: { ...rest, ZZ_HOME: where.home, OLLAMA_HOST: "http://127.0.0.1:49" },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  const updates: acp.SessionUpdate[] = [];
  const asked: acp.RequestPermissionRequest[] = [];
  const app = acp
    .client({ name: "test" })
    .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      return { outcome: say ? { outcome: "selected", optionId: say } : { outcome: "cancelled" } };
    })
    .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
      const content = unsaved?.[params.path];
      if (content === undefined) throw acp.RequestError.resourceNotFound(params.path);
      return { content };
    });
  const connection = app.connect(
    acp.ndJsonStream(Writable.toWeb(child.stdin!) as WritableStream<Uint8Array>, Readable.toWeb(child.stdout!) as any),
  );
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  after(() => void fake.close());
  const close = async () => {
    child.stdin!.end();
    const code = await exited;
    fake.close();
    return code;
  };
  after(() => child.exitCode === null && child.kill("SIGKILL"));
  await connection.agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: unsaved !== undefined } },
  });
  return { agent: connection.agent, process: child, updates, asked, close, where, fake };
}

const begin = async ({ agent, where }: { agent: acp.ClientContext; where: Place }) =>
  (await agent.request(acp.methods.agent.session.new, { cwd: where.cwd, mcpServers: [] })).sessionId;
const prompt = (agent: acp.ClientContext, sessionId: string, text: string) =>
  agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
const textIn = (updates: acp.SessionUpdate[], kind = "agent_message_chunk") =>
  updates
    .flatMap((one: any) => (one.sessionUpdate === kind && one.content.type === "text" ? [one.content.text] : []))
    .join("");

describe("--acp", { concurrency: 2 }, () => {
  test("a turn with a question and a difference: yes writes the file", async () => {
    const one = await editor({ script: [call(["write_file", { path: "a.txt", content: "new\n" }]), say("Written.")] });
    const id = await begin(one);
    equal((await prompt(one.agent, id, "write it")).stopReason, "end_turn");
    equal(readFileSync(join(one.where.cwd, "a.txt"), "utf8"), "new\n");
    const [question] = one.asked;
    deepEqual(
      question!.options.map(({ kind }) => kind),
      ["allow_once", "allow_always", "reject_once"],
    );
    const diff = question!.toolCall.content?.[0];
    deepEqual(diff, { type: "diff", path: join(one.where.cwd, "a.txt"), oldText: null, newText: "new\n" });
    equal(textIn(one.updates), "Written.");
    const calls = one.updates.filter(({ sessionUpdate }) => /^tool_call/.test(sessionUpdate)) as any[];
    equal(calls[0].status, "in_progress");
    equal(calls[0].kind, "edit");
    equal(calls.at(-1).status, "completed");
    equal(calls.at(-1).content[0].type, "diff");
    equal(calls.at(-1).toolCallId, question!.toolCall.toolCallId);
    ok(calls.some(({ locations }) => locations?.[0]?.path === join(one.where.cwd, "a.txt")));
    equal(await one.close(), 0);
  });

  test("no, or a question that is left, changes nothing; the model is told", async () => {
    for (const answer of ["n", ""]) {
      const one = await editor({
        script: [call(["write_file", { path: "a.txt", content: "x" }]), say("Not written.")],
        say: answer,
      });
      const id = await begin(one);
      await prompt(one.agent, id, "write it");
      ok(!existsSync(join(one.where.cwd, "a.txt")));
      match(JSON.stringify(one.fake.requests.at(-1).body), /the person said no/);
      await one.close();
    }
  });

  test("what the editor has and did not save: shown with what is read, and never written over", async () => {
    const where = place();
    const file = join(where.cwd, "a.txt");
    writeFileSync(file, "saved\n");
    const one = await editor({
      where,
      script: [
        call(["read_file", { path: "a.txt" }]),
        call(["edit_file", { path: "a.txt", old_string: "saved", new_string: "mine" }]),
        say("Done."),
      ],
      unsaved: { [file]: "typed\n" },
    });
    await prompt(one.agent, await begin(one), "edit it");
    equal(readFileSync(file, "utf8"), "saved\n");
    const [, second, third] = one.fake.requests.map(({ body }) => JSON.stringify(body));
    match(second!, /changes that are not saved\. With them it is:\\\\?ntyped|typed/);
    match(third!, /changes in the editor that are not saved\. Ask the person to save it first/);
    await one.close();
  });

  test("sessions: listed, loaded with what was said, closed, deleted", async () => {
    const one = await editor({ script: [call(["list_dir", {}]), say("First."), say("Second.")] });
    const id = await begin(one);
    await prompt(one.agent, id, "hello");
    const { sessions } = await one.agent.request(acp.methods.agent.session.list, { cwd: one.where.cwd });
    equal(sessions.length, 1);
    equal(sessions[0]!.sessionId, id);
    equal(sessions[0]!.title, "hello");
    await one.agent.request(acp.methods.agent.session.close, { sessionId: id });
    await rejects(prompt(one.agent, id, "again"), /there is no session/);
    one.updates.length = 0;
    await one.agent.request(acp.methods.agent.session.load, { sessionId: id, cwd: one.where.cwd, mcpServers: [] });
    equal(textIn(one.updates, "user_message_chunk"), "hello");
    equal(textIn(one.updates), "First.");
    ok(one.updates.some((update: any) => update.sessionUpdate === "tool_call" && update.name === "list_dir"));
    await prompt(one.agent, id, "and now?");
    match(textIn(one.updates), /Second\.$/);
    await one.agent.request(acp.methods.agent.session.delete, { sessionId: id });
    deepEqual((await one.agent.request(acp.methods.agent.session.list, {})).sessions, []);
    await one.close();
  });

  test("a turn is cancelled; the next one runs", async () => {
    const one = await editor({ script: [stream("data: {}\n\n", 60_000), say("Here.")] });
    const id = await begin(one);
    const first = prompt(one.agent, id, "wait");
    while (!one.fake.requests.length) await new Promise((done) => setTimeout(done, 20));
    await one.agent.notify(acp.methods.agent.session.cancel, { sessionId: id });
    equal((await first).stopReason, "cancelled");
    equal((await prompt(one.agent, id, "again")).stopReason, "end_turn");
    equal(textIn(one.updates), "Here.");
    await one.close();
  });

  test("modes: Edit asks for no edit, Read refuses it; the model is an option", async () => {
    const write = (n: number) => call(["write_file", { path: `${n}.txt`, content: "x" }]);
    const one = await editor({ script: [write(1), say("a"), write(2), say("b")] });
    const made = await one.agent.request(acp.methods.agent.session.new, { cwd: one.where.cwd, mcpServers: [] });
    deepEqual(
      made.modes!.availableModes.map(({ id }) => id),
      ["ask", "edit", "read"],
    );
    const sessionId = made.sessionId;
    await one.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "edit" });
    await prompt(one.agent, sessionId, "write");
    equal(one.asked.length, 0);
    ok(existsSync(join(one.where.cwd, "1.txt")));
    await one.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "read" });
    await prompt(one.agent, sessionId, "write");
    ok(!existsSync(join(one.where.cwd, "2.txt")));
    await rejects(
      one.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId: "nope" }),
      /no mode 'nope'/,
    );
    const { configOptions } = await one.agent.request(acp.methods.agent.session.setConfigOption, {
      ...{ sessionId, configId: "model", value: "openai/n" },
    });
    equal((configOptions[0] as any).currentValue, "openai/n");
    await one.close();
  });

  test("two sessions at once, each in its folder", async () => {
    const one = await editor({ script: () => say("Hello.") });
    const other = place();
    const [first, second] = [await begin(one), await begin({ agent: one.agent, where: other })];
    const [a, b] = await Promise.all([prompt(one.agent, first, "x"), prompt(one.agent, second, "y")]);
    deepEqual([a.stopReason, b.stopReason], ["end_turn", "end_turn"]);
    await one.close();
  });

  test("a failed request is an error in zz's words; a command answers as a message", async () => {
    const one = await editor({ script: [refuse(401, { error: { message: "bad key" } })] });
    const id = await begin(one);
    await rejects(prompt(one.agent, id, "hello"), /bad key/);
    equal((await prompt(one.agent, id, "/model")).stopReason, "end_turn");
    await prompt(one.agent, id, "/status");
    match(textIn(one.updates), /openai\/m/);
    await one.close();
  });

  test("nothing moves in the editor's log, which is not a terminal", async () => {
    const one = await editor({ script: [call(["run_command", { command: "sleep 0.4" }]), say("Slept.")] });
    let log = "";
    one.process.stderr!.setEncoding("utf8").on("data", (text) => (log += text));
    await prompt(one.agent, await begin(one), "sleep");
    await one.close();
    match(log, /^■ run_command sleep 0\.4$/m);
    doesNotMatch(log, /\x1b/);
  });

  test("garbage is refused, and the conversation goes on; what came before 'initialize' is refused", async () => {
    const one = await editor({ script: [say("Fine.")] });
    one.process.stdin!.write('nonsense\n[1]\n{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{}}\n');
    await rejects(prompt(one.agent, "x", "hello"), /there is no session 'x'/);
    for (const method of ["nope/nope", "session/nope", "_ours/nope"])
      for (const params of [{ sessionId: "x" }, {}, undefined])
        await rejects(one.agent.request(method, params), {
          code: -32601,
          message: `Cannot do '${method}': zz has no such method.`,
        });
    await rejects(
      one.agent.request(acp.methods.agent.session.new, { cwd: "relative", mcpServers: [] }),
      /absolute path/,
    );
    const nowhere = join(one.where.cwd, "nowhere");
    await rejects(
      one.agent.request(acp.methods.agent.session.new, { cwd: nowhere, mcpServers: [] }),
      new RegExp(`Cannot begin a session in '${nowhere}': there is no such folder`),
    );
    await prompt(one.agent, await begin(one), "hello");
    equal(textIn(one.updates), "Fine.");
    equal(await one.close(), 0);
  });

  test("an editor that leaves in the middle of a question: nothing is written, nothing stays behind", async () => {
    const where = place();
    const fake = await fakeOpenAI([call(["write_file", { path: "a.txt", content: "x" }]), say("no")]);
    const child = spawn(
      process.execPath,
      [join(ROOT, "dist", "zz.js"), "--acp", "-m", "openai/m", "--base-url", fake.url, "--key", "x"],
      { cwd: where.cwd, env: { ...process.env, ZZ_HOME: where.home }, stdio: ["pipe", "pipe", "inherit"] },
    );
    after(() => child.exitCode === null && child.kill("SIGKILL"));
    const lines = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    let text = "";
    const exited = new Promise((done) => child.once("exit", done));
    lines({ id: 1, method: "initialize", params: { protocolVersion: 1 } });
    lines({ id: 2, method: "session/new", params: { cwd: where.cwd, mcpServers: [] } });
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      const had = text;
      text += piece;
      const [, id] = /"sessionId":"([^"]+)"/.exec(text) ?? [];
      if (id && !/"sessionId"/.test(had))
        lines({ id: 3, method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "go" }] } });
      if (/request_permission/.test(text) && !/request_permission/.test(had)) child.stdin.destroy();
    });
    equal(await exited, 0);
    ok(!existsSync(join(where.cwd, "a.txt")));
    fake.close();
  });

  test("MCP servers that the editor names: asked for like any, for that session alone, and ended with it", async () => {
    const mark = `of-${process.pid}-${Date.now()}`;
    const one = await editor({
      script: [
        call(["mcp_tools", { servers: ["Note_pad"] }]),
        call(["Note_pad__one", { text: "${HOME}" }]),
        say("Called."),
        say("Elsewhere."),
      ],
    });
    const env = [
      { name: "SECRET_OF_MINE", value: "sesame-4711" },
      { name: "WORD_OF_MINE", value: ", ${HOME} of the editor" },
    ];
    const args = [stripped("test/support/fake/mcp.ts"), "env", "", mark];
    const named = { name: "Note pad!", command: process.execPath, args, env };
    const sse = { type: "sse" as const, name: "old", url: "http://127.0.0.1:1", headers: [] };
    const { sessionId } = await one.agent.request<acp.NewSessionResponse>(acp.methods.agent.session.new, {
      ...{ cwd: one.where.cwd, mcpServers: [named, { ...named, name: "Note_pad" }, sse] },
    });
    equal((await prompt(one.agent, sessionId, "note it")).stopReason, "end_turn");
    match(textIn(one.updates), /MCP server 'old' is left out: zz speaks MCP over stdio and HTTP/);
    const [first, , third] = one.fake.requests.map(({ body }) => JSON.stringify(body));
    match(first!, /Note_pad \(not started yet\); Note_pad-2 \(not started yet\)/);
    match(third!, /one \{.*HOME.*\} \[key\], \$\{HOME\} of the editor/, "its words are taken as they are");
    ok(
      one.asked.some(({ toolCall }) => /Note_pad__one/.test(JSON.stringify(toolCall))),
      JSON.stringify(one.asked),
    );
    const titles = one.updates.flatMap((update: any) => (update.sessionUpdate === "tool_call" ? [update.name] : []));
    deepEqual(titles, ["mcp_tools", "Note_pad__one"], "what plugins say to one another is no call");
    const running = () => spawnSync("pgrep", ["-f", mark], { encoding: "utf8" }).stdout.trim();
    ok(running(), "it runs");
    await prompt(one.agent, await begin(one), "and here?");
    doesNotMatch(JSON.stringify(one.fake.requests.at(-1)!.body), /Note_pad/);
    await one.agent.request(acp.methods.agent.session.close, { sessionId });
    equal(running(), "");
    equal(await one.close(), 0);
  });

  test("the host of an MCP server that the editor names is asked for; a name of the settings stays theirs", async () => {
    const where = place();
    mkdirSync(where.home, { recursive: true });
    const mcpServers = { mine: { command: process.execPath, args: ["-e", "0"], sandbox: false } };
    writeFileSync(join(where.home, "zz.config.json"), JSON.stringify({ mcpServers }));
    const one = await editor({ script: [call(["mcp_tools", { servers: ["far"] }]), say("No.")], say: "n", where });
    const http = (name: string) => ({ type: "http" as const, name, url: "http://127.0.0.1:9/mcp", headers: [] });
    const { sessionId } = await one.agent.request<acp.NewSessionResponse>(acp.methods.agent.session.new, {
      ...{ cwd: where.cwd, mcpServers: [http("far"), http("mine")] },
    });
    await prompt(one.agent, sessionId, "look");
    match(JSON.stringify(one.asked), /127\.0\.0\.1:9/);
    match(JSON.stringify(one.fake.requests.at(-1)!.body), /the person said no/);
    match(textIn(one.updates), /The editor's MCP server 'mine' is left out: the settings have one of that name/);
    equal(await one.close(), 0);
  });

  test("a conversation without an editor is refused", async () => {
    const { code, stderr } = await zz(place(), ["--acp-session"]);
    equal(code, 2);
    match(stderr, /^Cannot hold a conversation without an editor: use --acp/m);
  });
});

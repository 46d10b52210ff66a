// zz as a server of MCP and of ACP, with a client that sends a thousand requests, fifty at a time,
// cancels a third of them, repeats ids, and sends what is none of the protocol: every request is
// answered once, nothing is held on to, and all ends with the client.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { askable, say } from "../../support/fake/openai.ts";
import { fake, started } from "../../support/mcp.ts";
import { environment, type Place, place, WAYS } from "../../support/run.ts";
import { runs } from "../../support/runs.ts";
import { waitFor } from "../../support/wait.ts";

const REQUESTS = runs(100, 1_000);
const AT_ONCE = 50;
type Request = { method: string; params?: object };

const params = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "t", version: "1" },
};

function begun(t: TestContext, args: string[], where: Place, more: NodeJS.ProcessEnv = {}) {
  const how = {
    cwd: where.cwd,
    env: { ...environment(where, {}), ...more },
    stdio: "pipe" as const,
  };
  const child = spawn(WAYS.dist[0], [WAYS.dist[1], ...args], how);
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function serving(t: TestContext, args: string[], hello: Request) {
  const where = place({ "a.txt": "first\n" });
  const child = begun(t, args, where);
  const answers = new Map<unknown, any[]>();
  createInterface(child.stdout).on("line", (line) => {
    const { id, method, ...rest } = JSON.parse(line);
    if (method === undefined) answers.set(id, [...(answers.get(id) ?? []), rest]);
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  child.stdin.on("error", () => {}); // seen by what it no longer answers
  const raw = (text: string) => child.stdin.write(text);
  const send = (message: object) => raw(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const heard = () => said;
  const answer = async (id: unknown) =>
    (await waitFor(`an answer to ${id}`, () => answers.get(id), heard))[0];
  const ask = (id: string, request: Request) => {
    send({ id, ...request });
    return answer(id);
  };
  const childrenOf = (pid: number) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .split(" ")
      .filter(Boolean)
      .map(Number);
  const held = () =>
    [child.pid!, ...childrenOf(child.pid!)].map((pid) => readdirSync(`/proc/${pid}/fd`).length);
  await ask("hello", hello);
  return {
    where,
    child,
    raw,
    send,
    answer,
    answers,
    ask,
    held,
    children: () => childrenOf(child.pid!),
    said: heard,
  };
}
type Served = Awaited<ReturnType<typeof serving>>;

/** All at once, as many as are allowed; which of them never got an answer, or got two. */
async function load(
  { send, answers }: Served,
  name: string,
  requests: Request[],
  cancel: (i: number, id: string) => object,
) {
  const ids = requests.map((_, i) => `${name}${i}`);
  const cancelled = new Set<string>();
  const isOpen = (id: string) => !answers.has(id) && !cancelled.has(id);
  for (const [i, request] of requests.entries()) {
    await waitFor("room for a request", () => ids.slice(0, i).filter(isOpen).length < AT_ONCE);
    send({ id: ids[i], ...request });
    if (i % 3) continue;
    if (name !== "acp") cancelled.add(ids[i]!); // MCP wants no answer to those
    send(cancel(i, ids[i]!));
  }
  await waitFor("all answers", () => !ids.some(isOpen));
  const twice = ids.filter((id) => (answers.get(id)?.length ?? 0) > 1);
  deepEqual(twice, [], "answered twice");
}

/** Open files of each process: a connection or two to a model's server may be kept for the next
 * request. */
function isNoMore(held: number[], before: number[]): void {
  equal(held.length, before.length);
  const isHeld = held.every((count, i) => count <= before[i]! + 3);
  ok(isHeld, `${before} became ${held}`);
}

/** What is none of the protocol, and the code of its answer; undefined: it gets none. `SESSION` is
 * one that is open. */
const BAD: [line: string, id: unknown, codes?: number[]][] = [
  ["garbage", null, [-32700]],
  ["5", null, [-32600, -32700]],
  ["[]", null, [-32600, -32700]],
  ['{"id":"b1","method":5}', "b1", [-32600, -32601]],
  ['{"jsonrpc":"2.0","id":"b2","method":"no/such"}', "b2", [-32601]],
  ['{"jsonrpc":"2.0","id":"b3","method":"tools/call","params":5}', "b3", [-32600, -32602]],
  ['{"jsonrpc":"2.0","id":"b5","method":"session/prompt","params":{"sessionId":"nobody"}}', "b5",
    [-32002, -32601]],
  ['{"jsonrpc":"2.0","id":"0 garbage","result":{}}', "0 garbage"],
  ['{"jsonrpc":"2.0","id":"9 9","error":{}}', "9 9"],
  ['{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}', 77],
  ['{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}',
    undefined],
  ["\r", undefined],
]; // biome-ignore format: a table

async function isUnmoved(one: Served, ping: Request): Promise<void> {
  for (const [i, [line, id, codes]] of BAD.entries()) {
    one.answers.clear();
    one.raw(`${line}\n`);
    const half = JSON.stringify({ jsonrpc: "2.0", id: `after ${i}`, ...ping });
    one.raw(half.slice(0, 20));
    await sleep(1);
    one.raw(`${half.slice(20)}\n`);
    ok("result" in (await one.answer(`after ${i}`)), line);
    const [answer] = one.answers.get(id) ?? [];
    ok(codes ? codes.includes(answer?.error.code) : !answer, `${line}: ${JSON.stringify(answer)}`);
  }
}

test("zz --mcp answers each of a thousand requests once, ends a cancelled command, and says what it cannot read", async (t) => {
  const one = await serving(t, ["--mcp", "--allow-run"], { method: "initialize", params });
  const tool = (name: string, args: object): Request => ({
    method: "tools/call",
    params: { name, arguments: args },
  });
  const all = [
    tool("read_file", { path: "a.txt" }),
    tool("list_dir", { path: "." }),
    { method: "tools/list" },
    tool("none", {}),
    { method: "none" },
  ];
  const cancel = (_: number, requestId: string) => ({
    method: "notifications/cancelled",
    params: { requestId },
  });
  const some = (count: number) => Array.from({ length: count }, (_, i) => all[i % all.length]!);
  await load(one, "first", some(AT_ONCE), cancel);
  const before = one.held();
  await load(one, "then", some(REQUESTS), cancel);
  isNoMore(one.held(), before);
  await isUnmoved(one, { method: "ping" });
  const [a, b] = ["a", "b"].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  one.raw(`${JSON.stringify([a, b])}\n`); // as older versions of the protocol do
  for (const id of ["a", "b"]) deepEqual(await one.answer(id), { jsonrpc: "2.0", result: {} });
  const big = await one.ask(
    "big",
    tool("write_file", { path: "b", content: "x".repeat(12_000_000) }),
  );
  match(big.error.message, /^Cannot read this message: it has 12 MB, more than zz takes in\.$/);
  one.send({ id: "long", ...tool("run_command", { command: "sleep 1000" }) });
  await waitFor("the command", () => one.children().length);
  one.send(cancel(0, "long"));
  match(
    (await one.ask("after", tool("read_file", { path: "a.txt" }))).result.content[0].text,
    /first/,
  ); // calls run in turn
  one.send({ id: "last", ...tool("run_command", { command: "sleep 1000" }) });
  const pid = await waitFor("the command", () => one.children()[0]);
  one.child.stdin.end();
  equal((await once(one.child, "exit"))[0], 0);
  await waitFor("its command to end", () => !isAlive(pid));
  equal(one.said(), "");
});

test("zz --acp answers each of a thousand requests once, whatever else comes, and leaves no process behind", async (t) => {
  const server = await askable(() => say("Good."));
  const params = { protocolVersion: 1, clientCapabilities: {} };
  const one = await serving(t, ["--acp", ...server.args], { method: "initialize", params });
  const fresh: Request = { method: "session/new", params: { cwd: one.where.cwd, mcpServers: [] } };
  const opened = await Promise.all(["n0", "n1"].map((id) => one.ask(id, fresh)));
  const ids: string[] = opened.map(({ result }) => result.sessionId);
  const of = (method: string, more: object) => (i: number) => ({
    method,
    params: { sessionId: ids[i % 2], ...more },
  });
  const prompt = of("session/prompt", { prompt: [{ type: "text", text: "hi" }] });
  const all = [
    prompt,
    of("session/set_mode", { modeId: "ask" }),
    of("session/set_mode", { modeId: "none" }),
    () => ({ method: "none" }),
  ];
  const some = (count: number) =>
    Array.from({ length: count }, (_, i) => all[i % all.length]!(i >> 2));
  const cancel = (i: number) => ({ method: "session/cancel", params: { sessionId: ids[i % 2] } });
  await load(one, "acp", some(AT_ONCE), cancel);
  one.answers.clear();
  const before = one.held();
  await load(one, "acp", some(REQUESTS), cancel);
  isNoMore(one.held(), before);
  await isUnmoved(one, { method: "session/list", params: {} });
  for (const i of [0, 1]) one.send({ id: "same", ...prompt(i) });
  const { result } = await waitFor("both answers", () => one.answers.get("same")?.[1]);
  const refused =
    /^Cannot do 'session\/prompt': a request with the id 'same' is under way\. Give each its own\.$/;
  match(one.answers.get("same")![0].error.message, refused);
  deepEqual(result, { stopReason: "end_turn" });
  for (const id of ["late0", "late1"]) one.send({ id, ...fresh });
  const running = await waitFor("their processes", () =>
    one.children().length === 4 ? one.children() : undefined,
  );
  one.child.stdin.end();
  equal((await once(one.child, "exit"))[0], 0);
  await waitFor("all processes to end", () => !running.some(isAlive));
});

test("zz --mcp=PORT goes on taking clients in, however many were cut off without a word", async (t) => {
  const token = "a-token-of-this-test";
  const child = begun(t, ["--mcp=0"], place(), { ZZ_MCP_TOKEN: token });
  const [said] = await once(child.stderr.setEncoding("utf8"), "data");
  const [url] = /http:\S+\/mcp/.exec(said)!;
  const accept = "application/json, text/event-stream";
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept };
  const post = async (method: string, session: object = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(url, { method: "POST", headers: { ...headers, ...session }, body });
    await answer.text();
    return answer;
  };
  const begin = async () => ({
    "mcp-session-id": (await post("initialize")).headers.get("mcp-session-id")!,
  });
  const first = await begin();
  const silent = await begin();
  for (let i = 0; i < 40; i++) {
    equal((await post("ping", await begin())).status, 200);
    equal((await post("ping", first)).status, 200, "one that is in use stays");
  }
  equal((await post("ping", silent)).status, 404);
});

test("an MCP server that answers late, twice, in any order, what nobody asked, and dies in between gets each call its own answer", async (t) => {
  const counter = join(place().cwd, "starts");
  const zz = await started(t, { it: fake("muddle", counter) });
  let [answered, ended] = [0, 0];
  const ask = async (i: number) => {
    const args = { server: "it", tool: "one", arguments: { text: String(i) } };
    const { text } = await zz.call("mcp_call", args);
    if (text === `one {"text":"${i}"}`) answered++;
    else if (/^MCP server 'it' (has )?ended/.test(text)) ended++;
    else throw new Error(`${i}: ${text}`);
  };
  const calls = 240;
  for (let i = 0; i < calls; i += 20)
    await Promise.all(Array.from({ length: 20 }, (_, k) => ask(i + k)));
  equal(answered + ended, calls);
  const starts = readFileSync(counter, "utf8");
  equal(starts, "2", "however many calls wait for it, it is started again once");
  ok(answered > calls / 3, `${answered} answered, ${ended} ended`);
});

function isAlive(pid: number): boolean {
  try {
    return !/^\S+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

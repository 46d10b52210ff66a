// MCP servers at an address: streamable HTTP, and what is too long in it.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, type TestContext, test } from "node:test";
import { listen } from "../../../test/support/fake/http.ts";
import { isNoCall, replyTo, started } from "../../../test/support/mcp.ts";
import { withEnvironment } from "../../../test/support/run.ts";

/** A server of ours: each request in a list, answered by hand. */
type Serve = (request: IncomingMessage, body: string, response: ServerResponse) => void;
const serving = (t: TestContext, answer: Serve) =>
  listen(t, (request, response) => {
    let body = "";
    request.on("data", (bytes) => (body += bytes)).on("end", () => answer(request, body, response));
  });

describe("MCP over HTTP", { concurrency: 2 }, () => {
  test("a call and its progress, as a stream of events, beside one that stays open", async (t) => {
    const url = await serving(t, (request, body, response) => {
      const reply = replyTo(body, () => "Done.");
      if (request.method === "GET")
        return void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      if (!reply) return void response.writeHead(202).end();
      const { method, params } = JSON.parse(body);
      const progressToken = params?._meta?.progressToken;
      const told = { progressToken, progress: 1, total: 2 };
      const progress = { jsonrpc: "2.0", method: "notifications/progress", params: told };
      const all = method === "tools/call" ? [progress, reply] : [reply];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(all.map((one) => `event: message\ndata: ${JSON.stringify(one)}\n\n`).join(""));
    });
    const zz = await started(t, { far: { type: "http", serverUrl: url } });
    equal((await zz.call("mcp_call", { server: "far", tool: "one" })).text, "Done.");
    deepEqual(zz.events.flatMap((fact) => (fact.type === "progressed" && / of /.test(fact.text) ? fact.text : [])), ["1 of 2"]); // biome-ignore format: short
  });

  for (const kind of ["application/json", "text/event-stream"])
    test(`an answer of 10 MB as ${kind} is cut`, async (t) => {
      const url = await serving(t, (request, body, response) => {
        const reply = replyTo(body, () => "@");
        if (isNoCall(request, reply, response)) return;
        response.writeHead(200, { "content-type": kind });
        const [before, after] = JSON.stringify(reply).split("@");
        const isStream = kind !== "application/json";
        response.write(`${isStream ? "event: message\ndata: " : ""}${before}`);
        if (after !== undefined) for (let i = 0; i < 10; i++) response.write("x".repeat(1_000_000));
        response.end(`${after ?? ""}${isStream ? "\n\n" : ""}`);
      });
      const zz = await started(t, { big: { httpUrl: url } });
      const given = await zz.call("mcp_call", { server: "big", tool: "one" });
      match(given.text, /^x{1000}[\s\S]*\[The whole result has 10 MB/);
    });

  test("a resource of 10 MB is cut, and not called empty", async (t) => {
    const url = await serving(t, (request, body, response) => {
      const reply: any = replyTo(body, () => "");
      if (isNoCall(request, reply, response)) return;
      const { id, method } = JSON.parse(body);
      if (method === "initialize") reply.result.capabilities = { resources: {} };
      const contents = [{ uri: "a:b", text: "x".repeat(10_000_000) }];
      const isRead = method === "resources/read";
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRead ? { jsonrpc: "2.0", id, result: { contents } } : reply));
    });
    const zz = await started(t, { big: { url } });
    const { text } = await zz.call("mcp_resource", { server: "big", uri: "a:b" });
    match(text, /^x{1000}[\s\S]*\[The whole result has 10 MB/);
  });

  test("headers go with each request and are shown nowhere; what is wrong is a sentence", async (t) => {
    using _ = withEnvironment({ FAR_TOKEN: "tok-1234567890abcdef" });
    const url = await serving(t, (request, body, response) => {
      const isMine = request.headers.authorization === "Bearer tok-1234567890abcdef";
      const reply = replyTo(body, () => `You sent ${request.headers.authorization}`);
      if (!isMine) return void response.writeHead(401).end();
      if (isNoCall(request, reply, response)) return;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
    const far = { url, headers: { Authorization: "Bearer ${FAR_TOKEN}" } };
    const zz = await started(t, { far, shut: { url }, gone: { url: "http://127.0.0.1:9/mcp" } });
    const one = (server: string) =>
      zz.call("mcp_call", { server, tool: "one" }).then(({ text }) => text);
    equal(await one("far"), "You sent Bearer [key]");
    equal(await one("shut"), "MCP server 'shut' wants a login. Type: /mcp login shut");
    match(
      await one("gone"),
      /^Cannot start MCP server 'gone': cannot reach '127\.0\.0\.1:9': connection refused\. Is the server running there\?$/,
    );
    doesNotMatch(JSON.stringify([zz.notes, zz.events]), /tok-1234567890abcdef/);
  });

  const CALLS: Record<string, [status: number, type: string, body: string, told: RegExp]> = {
    "a stream that breaks off": [
      200,
      "text/event-stream",
      'data: {"js',
      /^MCP server 'it' ended its stream before the answer\. Try again\.$/,
    ],
    "no body": [202, "text/plain", "", /^MCP server 'it' answered with nothing\.$/],
    "a page": [
      200,
      "text/html",
      "<p>",
      /^MCP server 'it' sent something that is not an answer: .*text\/html\.$/,
    ],
    "no JSON": [
      200,
      "application/json",
      "{]",
      /^MCP server 'it' sent something that is not an answer: \{\]\.$/,
    ],
    "an error for nobody": [
      200,
      "application/json",
      '{"id":null,"error":{"code":1,"message":"It is full."}}',
      /^MCP server 'it' says: It is full\.$/,
    ],
    "another's answer": [
      200,
      "application/json",
      '{"id":77,"result":{}}',
      /^MCP server 'it' sent something that is not an answer: \{"id":77/,
    ],
    elsewhere: [
      307,
      "http://127.0.0.2/",
      "",
      /^Cannot reach '.*': it has moved to 'http:\/\/127\.0\.0\.2\/', another/,
    ],
    "more rights": [
      403,
      'Bearer error="insufficient_scope", scope="a b"',
      "",
      /^MCP server 'it' wants a login for more \(a b\)\. Type: \/mcp login it$/,
    ],
  };
  for (const [name, [status, type, sent, told]] of Object.entries(CALLS))
    test(`a call that gets ${name} ends at once`, async (t) => {
      const url = await serving(t, (request, body, response) => {
        const reply = replyTo(body, () => "");
        if (isNoCall(request, reply, response)) return;
        const isCall = JSON.parse(body).method === "tools/call";
        const header = { 307: "location", 403: "www-authenticate" }[status] ?? "content-type";
        if (isCall) response.writeHead(status, { [header]: type }).end(sent);
        else
          response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify(reply));
      });
      const zz = await started(t, { it: { url } });
      match((await zz.call("mcp_call", { server: "it", tool: "one" })).text, told);
    });

  test("a server that was started again gets a new session, unasked", async (t) => {
    let [session, calls] = [1, 0];
    const url = await serving(t, (request, body, response) => {
      const reply = replyTo(body, () => `Call ${++calls} of session ${session}.`);
      if (isNoCall(request, reply, response)) return;
      const { "mcp-session-id": given = `${session}` } = request.headers;
      if (given !== `${session}`) return void response.writeHead(404).end();
      const headers = { "content-type": "application/json", "mcp-session-id": `${session}` };
      response.writeHead(200, headers).end(JSON.stringify(reply));
    });
    const zz = await started(t, { it: { url } });
    const one = async () => (await zz.call("mcp_call", { server: "it", tool: "one" })).text;
    equal(await one(), "Call 1 of session 1.");
    session = 2;
    equal(await one(), "Call 3 of session 2.");
    deepEqual(zz.notes, []);
  });
});

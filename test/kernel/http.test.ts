// Requests of providers, against servers on loopback: what comes, what goes where, how it ends.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import {
  type ClientRequest,
  createServer,
  globalAgent,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createSecure } from "node:https";
import { type AddressInfo, createServer as createSocket, type Server, type Socket } from "node:net";
import { after, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { sendHttp } from "../../kernel/conversation/http-transport.ts";
import { fetchForPlugin } from "../../kernel/conversation/server-errors.ts";
import type { Core } from "../../kernel/instance.ts";
import { place, zz } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

type Answering = (request: IncomingMessage & { body: string }, response: ServerResponse) => void;

async function open(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  for (const event of ["connection", "secureConnection"])
    server.on(
      event,
      (socket: Socket) => void sockets.add(socket.once("close", () => sockets.delete(socket))),
    );
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = async (answer: Answering): Promise<string> =>
  `http://${await open(createServer(take(answer)))}`;

const take = (answer: Answering) => async (request: IncomingMessage, response: ServerResponse) => {
  let body = "";
  for await (const piece of request) body += piece;
  answer(Object.assign(request, { body }), response);
};

test("What is read as JSON and is none is told with its server", async () => {
  const url = await serve((_, response) => response.end("<html>"));
  const { json } = await sendHttp(url);
  const message = `Cannot use what '${new URL(url).host}' sent: it is not JSON.`;
  await rejects(json(), { name: "SyntaxError", message });
});

const PACKED: [name: string, pack: (text: string) => Buffer][] = [
  ["utf-8", Buffer.from],
  ["gzip, gzip", (text) => gzipSync(gzipSync(text))],
  ["deflate, x-gzip", (text) => gzipSync(deflateSync(text))],
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
];
for (const [name, pack] of PACKED)
  test(`An answer packed with ${name} is unpacked`, async () => {
    const text = "äöü 🙂 ".repeat(20_000);
    const url = await serve((_, response) =>
      response.setHeader("content-encoding", name).end(pack(text)),
    );
    equal(await (await sendHttp(url)).text(), text);
  });

for (const name of ["gzip", "deflate", "br", "zstd"])
  test(`An answer that is not packed with ${name}, although it says so, is a sentence`, async () => {
    const url = await serve((_, response) =>
      response.setHeader("content-encoding", name).end("plain words, and no more"),
    );
    await rejects(
      (await sendHttp(url)).text(),
      /^Error: Cannot unpack what '127\.0\.0\.1:\d+' sent: it is damaged, or packed/,
    );
  });

for (const [name, pack] of PACKED.slice(1))
  test(`What is packed with ${name} and cut anywhere broke off; nothing at all and events that go on are as they came`, async () => {
    const text = "data: äöü\n\n".repeat(9);
    const packed = pack(text);
    let sent = packed;
    let type = "text/plain";
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-encoding": name, "content-type": type }).end(sent),
    );
    for (let size = 1; size < packed.length; size++) {
      sent = packed.subarray(0, size);
      await rejects((await sendHttp(url)).text(), {
        message: /^What '127[^']+' sent broke off\. Try again\.$/,
        code: "ECONNRESET",
      });
    }
    sent = Buffer.alloc(0);
    equal(await (await sendHttp(url)).text(), "");
    [sent, type] = [packed.subarray(0, -1), "text/event-stream"];
    ok(text.startsWith(await (await sendHttp(url)).text()));
  });

test("What is packed in unknown ways, or too often, is said to be", async () => {
  for (const name of ["gzip, rar", "gzip, gzip, gzip, gzip"]) {
    const url = await serve((_, response) =>
      response.setHeader("content-encoding", name).end(gzipSync("x")),
    );
    await rejects(
      sendHttp(url),
      /^Error: Cannot read what '127\.0\.0\.1:\d+' sent: it is packed in a way/,
    );
  }
});

test("A server that sends nothing at all is given up in words", async (t) => {
  const url = await serve(() => {});
  // as Node does in its time
  const giveUp = (start: any) => (start.request as ClientRequest).emit("timeout");
  subscribe("http.client.request.start", giveUp);
  t.after(() => unsubscribe("http.client.request.start", giveUp)); // its port is another's later
  await rejects(sendHttp(url), { message: "no answer in time", code: "ETIMEDOUT" });
});

test("A request arrives as it was given: method, headers, body and its length", async () => {
  const url = await serve(({ method, headers, body, url }, response) =>
    response.end(JSON.stringify({ method, headers, body, url })),
  );
  const request = { method: "POST", headers: { authorization: "Bearer k" }, body: "äh 🙂" };
  const {
    method,
    headers,
    body,
    url: path,
  } = (await (await sendHttp(`${url}/v1/x?a=b`, request)).json()) as any;
  deepEqual([method, path, body], ["POST", "/v1/x?a=b", "äh 🙂"]);
  deepEqual(
    [headers.authorization, headers["content-length"], headers["user-agent"]],
    ["Bearer k", "8", "zz"],
  );
  equal(headers["transfer-encoding"], undefined);
});

const MOVED: [status: number, method: string, arrives: string | RegExp][] = [
  [302, "GET", "GET"],
  [308, "POST", "POST body"],
  [303, "POST", "GET"],
  [301, "POST", /Cannot reach '.*': it has moved to 'http.*\/there'\. Give that address\./],
];
for (const [status, method, arrives] of MOVED)
  test(`${method} to an address that moved with ${status}`, async () => {
    const url = await serve((request, response) =>
      request.url === "/there"
        ? response.end(`${request.method} ${request.body}`.trim())
        : response.writeHead(status, { location: "/there" }).end("moved"),
    );
    const asked = sendHttp(`${url}/here`, { method, ...(method === "POST" && { body: "body" }) });
    if (arrives instanceof RegExp) await rejects(asked, arrives);
    else equal(await (await asked).text(), arrives);
  });

test("A key is not sent on to another server, only to the same one", async () => {
  const other = await serve(({ headers }, response) => response.end(JSON.stringify(headers)));
  const url = await serve(({ url, headers }, response) => {
    if (url === "/same") response.end(JSON.stringify(headers));
    else response.writeHead(307, { location: url === "/a" ? "/same" : other }).end();
  });
  const headers = { Authorization: "Bearer secret", "x-api-key": "secret", accept: "text/plain" };
  equal(
    ((await (await sendHttp(`${url}/a`, { headers })).json()) as any).authorization,
    "Bearer secret",
  );
  const far = await (await sendHttp(`${url}/b`, { headers })).text();
  ok(far.includes("text/plain") && !far.includes("secret"), far);
});

test("A body is not sent on to another server; where nothing listens is said of the server that it leads to", async () => {
  let arrived = 0;
  const other = await serve((_, response) => response.end(`${++arrived}`));
  const url = await serve(({ url }, response) =>
    response
      .writeHead(307, { location: url === "/gone" ? "http://127.0.0.1:9/x" : `${other}/there` })
      .end(),
  );
  await rejects(
    sendHttp(`${url}/a`, { method: "POST", body: "words" }),
    /Cannot reach '.*\/a': it has moved to 'http.*\/there', another server, and nothing was sent there\. Give that address\./,
  );
  equal(arrived, 0);
  equal(await (await sendHttp(`${url}/a`)).text(), "1");
  await rejects(sendHttp(`${url}/gone`), { host: "127.0.0.1:9", code: "ECONNREFUSED" });
});

for (const [model, path, at, told, ...more] of [
  ["openai/m", "/v1", "/v1/chat/completions", "/v1"],
  ["openai/gpt-5", "/v1", "/v1/responses", "/v1", "-o", "wire=responses"],
  ["anthropic/m", "", "/v1/messages", "/v1"],
  ["gemini/m", "/v1beta", "/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta"],
  ["ollama/m", "", "/api/chat", ""],
] as const)
  test(`A provider's server that leads to another one gets nothing sent there: ${model}`, async () => {
    let arrived = 0;
    const other = await serve((_, response) => response.end(`${++arrived}`));
    const url = await serve(({ url }, response) =>
      url === "/api/show"
        ? response.end("{}")
        : response.writeHead(308, { location: `${other}${url}` }).end(),
    );
    const flags = `--once -m ${model} --base-url ${url}${path} --key x`.split(" ");
    const { code, stderr } = await zz(place(), [...flags, ...more, "hi"]);
    const why = `it has moved to '${other}${at}', another server, and nothing was sent there.`;
    const next = `If you trust it: --base-url ${other}${told}.`;
    deepEqual([code, stderr, arrived], [2, `Cannot reach '${url}${at}': ${why} ${next}\n`, 0]);
  });

test("An address that moves for ever is given up with a sentence", async () => {
  const url = await serve((_, response) => response.writeHead(302, { location: "/again" }).end());
  await rejects(sendHttp(url), /it redirects without end/);
});

// biome-ignore format: one case a row.
const SERVERS_OWN: [what: string, answering: Answering, says: RegExp][] = [
  ...["gzip", "deflate", "br", "zstd"].map((name): [string, Answering, RegExp] => [
    `an answer damaged in ${name}`,
    (_, response) => response.setHeader("content-encoding", name).end("plain words, no more"),
    /^Cannot unpack what /,
  ]),
  ["an answer packed in an unknown way", (_, response) => response.setHeader("content-encoding", "gzip, rar").end("x"), /^Cannot read what .* packed in a way that zz cannot unpack/],
  ["an endless way round", (_, response) => response.writeHead(307, { location: "/v1/chat/completions" }).end(), /it redirects without end/],
  [
    "a way to another protocol",
    (_, response) => response.writeHead(303, { location: "ftp://127.0.0.1/x" }).end(),
    /it has moved to 'ftp:\/\/127\.0\.0\.1\/x', neither http nor https/,
  ],
  ["another protocol", (_, response) => response.writeHead(101, { connection: "upgrade", upgrade: "foo" }).end("\r\n"), /wants a protocol other than HTTP/],
  ["an answer that breaks off", (_, { socket }) => void socket!.destroy(), /connection was closed/],
  ["a page", (_, response) => response.end("<html><title>Log in</title></html>"), /./],
  ["nothing", (_, response) => response.end(), /./],
  ["an error of its own", (_, response) => response.writeHead(500).end("{}"), /answered 500/],
];
for (const [what, answering, says] of SERVERS_OWN)
  test(`What a server does is no mistake of the person's: ${what} ends with exit code 1`, async () => {
    const url = `${await serve(answering)}/v1`;
    const asks = ["--once", "-m", "openai/m", "--base-url", url, "--key", "x", "--json", "hi"];
    const { code, stdout, stderr } = await zz(place(), asks);
    const { kind, message = "" } = JSON.parse(stdout);
    deepEqual([code, kind === "network" || kind === "provider"], [1, true], `${stdout}${stderr}`);
    match(message, says);
  });

test("A connection that was kept and is closed by then is made anew", async () => {
  let asked = 0;
  const listening = createSocket((socket) => {
    let first = true;
    socket.on("error", () => {});
    socket.on("data", () => {
      asked++;
      if (!first) return socket.resetAndDestroy();
      first = false;
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  const url = `http://${await open(listening)}`;
  for (let i = 0; i < 3; i++)
    equal(await (await sendHttp(url, { method: "POST", body: "x" })).text(), "ok");
  equal(asked, 5); // the second and the third were each sent twice
});

test("A new connection that is reset is not asked again", async () => {
  let asked = 0;
  const listening = createSocket((socket) => {
    asked++;
    socket.on("error", () => {}).on("data", () => socket.resetAndDestroy());
  });
  await rejects(sendHttp(`http://${await open(listening)}`), { code: "ECONNRESET" });
  equal(asked, 1);
});

for (const when of ["before it began", "before an answer", "in mid-answer"])
  test(`An abort ${when} ends it with the abort's own reason and closes the connection`, async () => {
    const stop = new AbortController();
    const why = new Error("the person's own reason");
    const closed = Promise.withResolvers<void>();
    const url = await serve((_, response) => {
      response.on("close", closed.resolve);
      if (when === "in mid-answer") response.write("a beginning");
      else stop.abort(why);
    });
    if (when === "before it began") stop.abort(why);
    await rejects(async () => {
      for await (const _ of (await sendHttp(url, { signal: stop.signal })).body) stop.abort(why);
    }, why);
    if (when !== "before it began") await closed.promise;
  });

test("An abort while its host is looked up sends nothing", async () => {
  const stop = new AbortController();
  const url = await serve((_, response) => void response.end("sent"));
  const via = async () => stop.abort(new Error("late")) as never;
  await rejects(sendHttp(url, { signal: stop.signal, via }), { message: "late" });
});

test("An abort in the moment when an answer ends harms nobody: its connection may be another's by then", async () => {
  const url = await serve((_, response) => response.end("whole"));
  const moments: ((f: () => void) => void)[] = [
    (f) => f(),
    process.nextTick,
    queueMicrotask,
    setImmediate,
    setTimeout,
  ];
  for (let i = 0; i < 50; i++)
    for (const moment of moments) {
      const stop = new AbortController();
      const answer = await sendHttp(url, { signal: stop.signal });
      if (i % 2) moment(() => stop.abort());
      await answer.text().catch((error: Error) => equal(error.name, "AbortError"));
      if (i % 2 === 0) moment(() => stop.abort());
    }
  equal(await (await sendHttp(url)).text(), "whole");
});

test("An answer that is left at its last event keeps its connection for the next request", async () => {
  let connections = 0;
  const server = createServer((_, response) => {
    response.write("data: [DONE]\n\n");
    setImmediate(() => response.end(": the end comes later\n\n"));
  });
  server.on("connection", () => connections++);
  const url = `http://${await open(server)}`;
  for (let i = 0; i < 3; i++) {
    for await (const bytes of (await sendHttp(url)).body) if (bytes.length) break;
    await waitFor("the end to arrive", () => hasFreeConnection(url));
  }
  equal(connections, 1);
});
const hasFreeConnection = (url: string): boolean =>
  (globalAgent.freeSockets[`${new URL(url).host}:`]?.length ?? 0) > 0;

test("An answer that is left half read closes its connection", async () => {
  const closed = Promise.withResolvers<void>();
  const url = await serve((_, response) => {
    response.on("close", closed.resolve);
    const more = setInterval(() => response.write("more and more "), 1);
    response.on("close", () => clearInterval(more));
  });
  for await (const bytes of (await sendHttp(url)).body) if (bytes.length) break;
  await closed.promise;
});

const BROKEN: [name: string, wire: string, code: RegExp][] = [
  ["nothing", "", /ECONNRESET/],
  ["less than was announced", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", /ECONNRESET/],
  ["a chunk that is cut", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    /ECONNRESET/],
]; // biome-ignore format: a table
for (const [name, wire, code] of BROKEN)
  test(`A server that sends ${name} is an error with a code, never an answer`, async () => {
    const url = `http://${await open(createSocket((socket) => void socket.on("error", () => {}).end(wire)))}`;
    await rejects(async () => (await sendHttp(url)).text(), { code });
  });

test("What is neither http nor https is refused", () =>
  rejects(sendHttp("file:///etc/passwd"), /neither http nor https/));

test("https: a certificate nobody signed is refused by name; with NODE_EXTRA_CA_CERTS the answer comes", async () => {
  const events = [
    { choices: [{ delta: { content: "safely" } }] },
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ];
  const stream = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
  const server = createSecure({ key: KEY, cert: CERT }, (_, response) => {
    response.setHeader("content-type", "text/event-stream").end(stream);
  });
  const url = `https://${await open(server)}/v1`;
  const where = place();
  const asks = ["--once", "-m", "openai/m", "--base-url", url, "--key", "x", "hi"];
  const refused = await zz(where, asks);
  equal(refused.code, 1, refused.stderr);
  ok(/Cannot reach '127\.0\.0\.1:\d+': .*certificate/i.test(refused.stderr), refused.stderr);
  const file = `${where.cwd}/ca.pem`;
  writeFileSync(file, CERT);
  equal((await zz(where, asks, { env: { NODE_EXTRA_CA_CERTS: file } })).stdout, "safely\n");
});

test("What keeps a request from a server is a sentence of zz's own, and tried again only if that may help", async () => {
  const secure = await open(createSecure({ key: KEY, cert: CERT }, (_, answer) => answer.end()));
  const plain = await open(createServer((_, answer) => answer.end()));
  const speaks = (words: string) =>
    open(createSocket((socket) => socket.on("error", () => {}).end(words)));
  const [ssh, silent] = [await speaks("SSH-2.0-OpenSSH\r\n"), await open(createSocket(() => {}))];
  const halfway = await open(createServer((_, answer) => answer.writeHead(200).write("{")));
  const long = await speaks(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}\r\n\r\n`);
  for (const [url, why, transient] of [
    [`https://${plain}`, "what answers there speaks no https, or another version of it.", false],
    [`https://${ssh}`, "what answers there speaks no https, or another version of it.", false],
    [`http://${ssh}`, "what answers there speaks no HTTP that zz understands.", false],
    [`http://${long}`, "what answers there speaks no HTTP that zz understands.", false],
    [`https://${secure}`, "nobody that this machine trusts signed its certificate.", false],
    ["http://255.255.255.255", "nothing leads there from this machine.", true],
    [`http://${silent}`, "no answer in time.", true],
    [`https://${silent}`, "no answer in time.", true],
    [`http://${halfway}`, "no answer in time.", true],
  ] as const) {
    const signal = AbortSignal.timeout(why === "no answer in time." ? 300 : 60_000);
    const asked = fetchForPlugin({ options: {} } as Core, url, { signal });
    await rejects(
      asked.then((answer) => answer.text()),
      (error: Error & { transient?: boolean }) => {
        ok(error.message.startsWith(`Cannot reach '${new URL(url).host}': ${why}`), error.message);
        match(error.message, /^[^\n]+\.$/);
        equal(error.transient, transient, error.message);
        return true;
      },
      url,
    );
  }
});

/** For these tests alone: "localhost", signed by itself, for a hundred years. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9Soo5Xjo1X0Zlrzr
LJlDs2mIwZtAVPmBUVnsI3d2OoahRANCAATSMtvxFzolDP3/hIGvd2q5mxN19+s7
JR0nLGcbT/Ii73+Ki3GvcZiJFVDCGp66XGK5BFGZgHK6LBeMJTZ5s8g6
-----END PRIVATE KEY-----`;
const CERT = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUKE9Xz3J5t42+zdYX/CAQvGk9anAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTExMDQxMloYDzIxMjYxMDI4
MTEwNDEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATSMtvxFzolDP3/hIGvd2q5mxN19+s7JR0nLGcbT/Ii73+Ki3GvcZiJ
FVDCGp66XGK5BFGZgHK6LBeMJTZ5s8g6o28wbTAdBgNVHQ4EFgQU4kj7qSgCaLE7
tivfGZ9JxCYBaokwHwYDVR0jBBgwFoAU4kj7qSgCaLE7tivfGZ9JxCYBaokwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgGqkwpfl4jHVkPlSL4ZYqQNIYnzNenVyzV2SuV3omsdoCIQDY
7qYI0oxkT3Clwi/x42SDCSSdUFVQ+AxSt5aF0ARa4w==
-----END CERTIFICATE-----`;

// The interface of --serve: whom it answers, and what several readers of a conversation see.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, test } from "node:test";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { has } from "../../../../test/support/needs.ts";
import { snippet } from "../../../../test/support/pages.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { ID, said, saveSession } from "../saved-session.ts";
import { begun, serving } from "./serving.ts";

const EDIT = { path: "a.ts", old_string: "let a = 1;", new_string: "let a = 2;" };
const FILES = { "a.ts": "let a = 1;\n" };

const served = await serving([say("hello")]); // here, so that it is there for all of them

describe("Whom --serve answers", () => {
  /** With headers that fetch() does not let one choose. */
  const rawly = (path: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const { hostname: host, port } = new URL(served.origin);
      const asked = request({ host, port, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      asked.on("error", reject);
      asked.end();
    });
  const token = () => ({ authorization: `Bearer ${new URL(served.url).hash.slice(1)}` });
  const host = () => new URL(served.origin).host;

  const REFUSED: [what: string, status: number, headers: () => Record<string, string>][] = [
    ["no token", 401, () => ({ host: host() })],
    ["a wrong token", 401, () => ({ host: host(), authorization: "Bearer nope" })],
    [
      "a token that is longer",
      401,
      () => ({ host: host(), authorization: `${token().authorization}x` }),
    ],
    ["an empty token", 401, () => ({ host: host(), authorization: "Bearer " })],
    ["another way to give it", 401, () => ({ host: host(), cookie: "token=x" })],
    ["a rebound name", 403, () => ({ ...token(), host: "evil.example" })],
    [
      "a rebound name with the port",
      403,
      () => ({ ...token(), host: host().replace("127.0.0.1", "evil.example") }),
    ],
    ["another port", 403, () => ({ ...token(), host: "127.0.0.1:1" })],
    ["another origin", 403, () => ({ ...token(), host: host(), origin: "https://evil.example" })],
    [
      "another port as origin",
      403,
      () => ({ ...token(), host: host(), origin: "http://127.0.0.1:1" }),
    ],
    ["a sandboxed frame", 403, () => ({ ...token(), host: host(), origin: "null" })],
    [
      "a page from elsewhere",
      403,
      () => ({ ...token(), host: host(), "sec-fetch-site": "cross-site" }),
    ],
    [
      "a page of the same site",
      403,
      () => ({ ...token(), host: host(), "sec-fetch-site": "same-site" }),
    ],
  ];
  for (const [what, status, headers] of REFUSED)
    test(`${what}: ${status}`, async () => equal(await rawly("/chats", headers()), status));

  test("its own page, and a program with the token", async () => {
    equal(await rawly("/", { host: host() }), 200);
    equal(await rawly("/", { host: "evil.example" }), 403);
    const own = {
      ...token(),
      host: host(),
      origin: served.origin,
      "sec-fetch-site": "same-origin",
    };
    equal(await rawly("/chats", own), 200);
    equal(
      await rawly("/chats", { ...token(), host: host().replace("127.0.0.1", "localhost") }),
      200,
    );
  });

  test("the page holds no token, and a policy that lets nothing in", async () => {
    const response = await fetch(served.origin);
    const page = await response.text();
    doesNotMatch(page, new RegExp(new URL(served.url).hash.slice(1)));
    match(
      response.headers.get("content-security-policy")!,
      /default-src 'none'.*frame-ancestors 'none'/,
    );
  });

  const WRONG: [what: string, status: number, method: string, path: string, body?: unknown, headers?: object][] = [
    ["a path that is not there", 404, "GET", "/nothing"],
    ["a chat that is not there", 404, "GET", "/chats/nope/events"],
    ["a way out of the folder", 404, "GET", "/chats/..%2f..%2fetc/events"],
    ["a method that is not there", 404, "DELETE", "/chats"],
    ["JSON that is none", 400, "POST", "/chats/ID/messages", "{"],
    ["another type", 415, "POST", "/chats/ID/messages", "text=hi", { "content-type": "application/x-www-form-urlencoded" }],
    ["nothing said", 400, "POST", "/chats/ID/messages", { text: " " }],
    ["a text that is none", 400, "POST", "/chats/ID/messages", { text: 1 }],
    ["an SVG as a picture", 400, "POST", "/chats/ID/messages", { text: "x", attachments: [{ type: "image/svg+xml", base64: "" }] }],
    ["an answer to no question", 409, "POST", "/chats/ID/questions/nope", { hash: "x", answer: "y" }],
    ["a model that is not there", 400, "POST", "/chats/ID/model", { model: "nope" }],
    ["too much at once", 413, "POST", "/chats/ID/messages", { text: "x".repeat(33 << 20) }],
  ]; // biome-ignore format: a table
  for (const [what, status, method, path, body, headers] of WRONG)
    test(`${what}: ${status}, in a sentence`, async () => {
      const { body: chat } = await served.ask("POST", "/chats", {});
      const asked = await served.ask(method, path.replace("ID", chat.id), body, headers);
      equal(asked.status, status, JSON.stringify(asked.body));
      match(asked.body.error, /^[A-Z].*\.$/s);
    });
});

describe("A conversation over HTTP", () => {
  test("is answered, and every reader sees all of it, also from where it left", async () => {
    const served = await serving([say("It is **two**."), say("Yes.")]);
    const { id, listener } = await begun(served, "1 + 1?");
    await listener.sees("end");
    const shown = listener.events.filter(({ type }) => /user|text|end/.test(type));
    deepEqual(
      shown.map(({ type, text }) => [type, text]),
      [
        ["user", "1 + 1?"],
        ["text", "It is **two**."],
        ["end", "end_turn"],
      ],
    );
    match(shown[1]!.html!, /It is <strong>two<\/strong>\./);
    listener.close();
    const last = listener.events.at(-1)!.id;
    await served.ask("POST", `/chats/${id}/messages`, { text: "Sure?" });
    const [late, again] = [served.listen(id, last), served.listen(id)];
    await late.sees("end");
    await again.sees("end", 2);
    equal(late.events[0]!.id, last + 1);
    deepEqual(
      again.events.map((event) => event.id),
      again.events.map((_, index) => index + 1),
    );
  });

  test("is found in the list by those who did not begin it, and is the same for them", async () => {
    const served = await serving([say("one"), say("two")]);
    const { id, listener } = await begun(served, "remember one");
    await listener.sees("end");
    const { body } = await served.ask("GET", "/chats");
    deepEqual(
      body.map((chat: any) => [chat.id, chat.title]),
      [[id, "remember one"]],
    );
    const [file = ""] = readdirSync(join(served.where.home, "sessions"));
    const other = served.listen(file.replace(".jsonl", "")); // its session's own id
    await other.sees("end");
    await served.ask("POST", `/chats/${file.replace(".jsonl", "")}/messages`, { text: "and?" });
    equal((await listener.sees("text", 2)).text, "two");
    equal((await other.sees("text", 2)).text, "two");
  });

  test("goes on while nobody reads it", async () => {
    const served = await serving([call(["read_file", { path: "a.ts" }]), say("done")], FILES);
    const { id, listener } = await begun(served, "look");
    listener.close();
    const back = served.listen(id);
    await back.sees("end");
    deepEqual(
      back.events.filter(({ type }) => type === "text").map(({ text }) => text),
      ["done"],
    );
  });

  test("asks every reader and counts one of ten answers", async () => {
    const served = await serving(
      [call(["read_file", { path: "a.ts" }]), call(["edit_file", EDIT]), say("done")],
      FILES,
    );
    const { id, listener } = await begun(served, "make it 2");
    const readers = Array.from({ length: 9 }, () => served.listen(id)).concat(listener);
    const { name, hash, html, options } = await listener.sees("question");
    match(html!, /<del class="line">.*let.*1.*<ins class="line">.*let.*2/s);
    const answer = options!.find((option) => option.name === "Allow")!.id;
    equal(
      (await served.ask("POST", `/chats/${id}/questions/${name}`, { hash: "another", answer }))
        .status,
      409,
    );
    equal(
      (await served.ask("POST", `/chats/${id}/questions/${name}`, { hash, answer: "maybe" }))
        .status,
      400,
    );
    const asked = await Promise.all(
      readers.map(() => served.ask("POST", `/chats/${id}/questions/${name}`, { hash, answer })),
    );
    deepEqual(asked.map(({ status }) => status).sort(), [202, ...Array(9).fill(409)]);
    for (const reader of readers) {
      await reader.sees("end");
      equal(reader.events.filter(({ type }) => type === "answered").length, 1);
    }
    equal(readFileSync(join(served.where.cwd, "a.ts"), "utf8"), "let a = 2;\n");
  });

  test("is stopped, and while it is busy takes no other message", async () => {
    const served = await serving(
      [call(["read_file", { path: "a.ts" }]), call(["edit_file", EDIT]), say("done")],
      FILES,
    );
    const { id, listener } = await begun(served, "make it 2");
    await listener.sees("question");
    equal((await served.ask("POST", `/chats/${id}/messages`, { text: "more" })).status, 409);
    equal((await served.ask("POST", `/chats/${id}/stop`, {})).status, 202);
    equal((await listener.sees("end")).text, "cancelled");
    equal(readFileSync(join(served.where.cwd, "a.ts"), "utf8"), "let a = 1;\n");
  });

  test("is there after zz was ended, and is gone on with", async () => {
    const where = place();
    const first = await serving([say("one")], {}, where);
    const { listener } = await begun(first, "remember one");
    await listener.sees("end");
    first.child.kill("SIGINT");
    await first.exited;
    const second = await serving([say("two")], {}, where);
    const { body } = await second.ask("GET", "/chats");
    deepEqual(
      body.map(({ title }: any) => title),
      ["remember one"],
    );
    const again = second.listen(body[0].id);
    equal((await again.sees("text")).text, "one");
    await second.ask("POST", `/chats/${body[0].id}/messages`, { text: "and?" });
    equal((await again.sees("text", 2)).text, "two");
  });
});

test("Of a conversation that is too large for a browser the last comes, and how much does not", async () => {
  const where = place();
  const long = "long ".repeat(2_000_000);
  const parts = Array.from({ length: 9 }, (_, i) => said("user", `${i} ${long}`));
  saveSession(where, [...parts, said("assistant", "Fine.")]);
  const { listen } = await serving([say("Yes.")], {}, where);
  const { events, sees } = listen(ID);
  await sees("text");
  deepEqual(
    events.slice(0, 2).map(({ id, text }) => [id, text.slice(0, 80)]),
    [
      [2, "2 earlier parts left out: the page would be too large. zz --export has them."],
      [3, `2 ${long}`.slice(0, 80)],
    ],
  );
});

test("--serve=PORT that is none, or taken, is a sentence", async () => {
  match(
    (await zz(place(), ["--serve=http"])).stderr,
    /Cannot serve on port 'http': it is a number/,
  );
  const { port } = new URL(served.origin);
  const { code, stderr } = await zz(place(), ["-m", "openai/m", "--key", "x", `--serve=${port}`]);
  equal(code, 2);
  match(stderr, /Cannot serve on port \d+: .*Choose another, --serve=PORT\./);
});

describe("The samples of docs/page.md", () => {
  test("--export and --serve are lines that zz takes", async () => {
    const [line = "", serve = ""] = snippet("zz --export 4f2a").replace(/ +#.*/g, "").split("\n");
    const where = place();
    saveSession(where, [said("user", "what is **2 + 2**?")]);
    const [, ...args] = line.replace("4f2a", ID).split(" > ")[0]!.split(" ");
    match((await zz(where, args)).stdout, /^<!doctype html>/);
    equal(serve, "zz --serve"); // as serving() starts it
  });

  test("curl reads what happens in a conversation", { skip: !has("curl") }, async (t) => {
    const { origin, url, ask } = served;
    const { body } = await ask("POST", "/chats", {});
    const line = snippet("curl -N -H").replace("http://127.0.0.1:8080", origin);
    const env = { ...process.env, TOKEN: new URL(url).hash.slice(1), ID: body.id };
    const child = spawn("sh", ["-c", `exec ${line}`], { env, stdio: ["ignore", "pipe", "ignore"] });
    t.after(() => child.kill());
    let out = "";
    child.stdout.on("data", (piece) => (out += piece));
    await ask("POST", `/chats/${body.id}/messages`, { text: "hi" });
    await waitFor(
      "the end",
      () => /"type":"end"/.test(out),
      () => out,
    );
    match(out, /^id: 1\n/m);
  });
});

// What of the store needs no server: it costs nothing unless it is set, what is wrong is said, and
// a conversation goes on without it.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { KeptSession, SessionStore, Zz } from "../../../kernel/contract.ts";
import { openChat } from "../../../kernel/conversation/chat.ts";
import { reachStore } from "../../../kernel/conversation/session-store.ts";
import { createCtx } from "../../../kernel/plugins/create-ctx.ts";
import { having } from "../../../test/support/having.ts";
import { place, TELLING_LOADS, zz, zzProcess } from "../../../test/support/run.ts";
import { harness } from "../../../test/support/script.ts";
import { refusalOf } from "../server.ts";

const PLUGIN = new URL("../index.ts", import.meta.url);
const NOWHERE = "redis://127.0.0.1:1"; // a port that nothing listens on
const offline = ["-m", "offline", "--once", "hello"];

test("without the setting nothing of it is loaded, and no thread runs", async () => {
  const { code, stderr } = await zzProcess(place(), offline, { way: "node", env: TELLING_LOADS });
  equal(code, 0);
  match(stderr, /loads file:.*packages\/redis\/index\.ts/);
  doesNotMatch(stderr, /ioredis|redis\/(worker|server|copy)\.ts/);
});

describe("a store that cannot be used", () => {
  const rows: [store: string, message: RegExp][] = [
    ["redis://", /it is no URL of a server\. Write it like redis:\/\/USER:PASSWORD@HOST:6379\/0\./],
    ["redis://host/name", /it is no URL of a server/],
    ["redsi://host", /Cannot use the store 'redsi:': .*Did you mean/],
    ["ftp://host", /Cannot use the store 'ftp:'/],
  ];
  for (const [store, message] of rows)
    test(`'${store}'`, async () => {
      const { code, stderr } = await zz(place({}, { store }), offline);
      equal(code, 2, stderr);
      match(stderr, message);
    });

  test("a project cannot name one", async () => {
    const where = having({ ".zz/zz.config.json": JSON.stringify({ store: NOWHERE }) });
    const { stderr } = await zz(where, offline);
    match(stderr, /store/);
    equal(where.sessions().length, 1, "it is in a file");
  });

  test("out of reach: the answer comes all the same, and what was said stays in a file that can be copied there", async () => {
    const where = place({}, { store: NOWHERE, redis: { seconds: 1 } });
    const { code, stderr } = await zz(where, offline);
    equal(code, 0);
    match(stderr, /it cannot be reached \(ECONNREFUSED\)/);
    match(
      stderr,
      /is in '.*\/sessions\/\d{8}-\d{6}-\w{8}\.jsonl'\. zz --store-copy files redis:\/\/127\.0\.0\.1:1 puts it there/,
    );
    const [lines = []] = where.sessions();
    deepEqual(
      lines.flatMap(({ message }) => (message?.role === "user" ? message.text : [])),
      ["hello"],
    );
  });

  for (const [key, ends] of [
    ["m", "goes on"],
    ["l", "leaves"],
  ] as const)
    test(`out of reach, with a person to ask: r tries again, ${key} ${ends}`, async () => {
      const questions: string[] = [];
      await using zz = await harness({
        plugins: [PLUGIN],
        settings: { store: NOWHERE, redis: { seconds: 1 } },
      });
      zz.core.ask = async (question) => {
        questions.push(question);
        return questions.length > 1 ? key : "r";
      };
      const end = await reachStore(zz.core).then(
        () => "goes on",
        () => "leaves",
      );
      equal(end, ends);
      equal(questions.length, 2);
      match(
        questions[0]!,
        /\(ECONNREFUSED\)\. Start it, .* \[r\]etry, go on in \[m\]emory and save later, or \[l\]eave\? /,
      );
    });

  test("a key_command that fails is said, without what it printed", async () => {
    const redis = { key_command: "echo hidden-word >&2; exit 3" };
    const { code, stdout, stderr } = await zz(place({}, { store: NOWHERE, redis }), offline);
    equal(code, 2);
    match(
      stderr,
      /Cannot get the password by redis\.key_command: it failed\. Run it yourself, and fix it\./,
    );
    doesNotMatch(`${stdout}${stderr}`, /hidden-word/);
  });
});

/** What a stranger's plugin would offer: sessions in a map. */
function inMemory(kept: Map<string, string[]>): SessionStore {
  const bytes = (id: string) =>
    Buffer.from(
      kept
        .get(id)!
        .map((line) => `${line}\n`)
        .join(""),
    );
  const listed = (id: string) => ({
    ...JSON.parse(kept.get(id)![0]!),
    used: "",
    bytes: bytes(id).length,
  });
  return {
    where: "map:",
    ids: () => [...kept.keys()],
    list: () => [...kept.keys()].map(listed),
    recent: (root) => [...kept.keys()].filter((id) => listed(id).root === root),
    read: bytes,
    open(id, isNew): KeptSession {
      if (isNew) kept.set(id, []);
      return {
        read: () => bytes(id),
        append: (lines) => void kept.get(id)!.push(...lines),
        async sync() {},
        syncNow() {},
        close() {},
      };
    },
    rename() {},
    remove: (id) => void kept.delete(id),
  };
}

test("a plugin of one's own can be the store: turns, a restart, undo, --continue and the list go through it", async () => {
  const kept = new Map<string, string[]>();
  const plugin = (zz: Zz) => zz.store({ name: "map", open: () => inMemory(kept) });
  await using zz = await harness({
    plugins: [plugin],
    settings: { store: "map:" },
    script: [{ text: "one" }, { text: "two" }],
  });
  await zz.ask("first");
  const id = zz.chat.id!;
  await zz.restart();
  equal(zz.chat.id, id);
  await zz.ask("second");
  deepEqual(
    zz.ctx.sessions.list().map((session) => session.title),
    ["first"],
  );
  deepEqual(
    zz.chat.messages.map(({ text }) => text),
    ["first", "one", "second", "two"],
  );
  equal(existsSync(join(zz.home, "sessions")), false);
  zz.ctx.sessions.open();
  zz.ctx.sessions.remove(id);
  equal(kept.size, 0);
});

test("what a session of a store changed is undone from outside of the conversation, as by --undo", async () => {
  const kept = new Map<string, string[]>();
  const plugin = (zz: Zz) => {
    zz.store({ name: "map", open: () => inMemory(kept) });
    zz.tool({
      name: "make",
      description: "makes a file",
      changes: true,
      async run(_, { files }) {
        await files.write("made.txt", "x\n");
        return "made";
      },
    });
  };
  await using zz = await harness({
    plugins: [plugin],
    settings: { store: "map:" },
    allow: { write: true },
    script: [{ calls: [["make"]] }, "done"],
  });
  await zz.ask("make it");
  equal(zz.read("made.txt"), "x\n");
  const chat = Object.assign(openChat(zz.core, ""), { past: true as const });
  const { text } = await createCtx(zz.core, chat).files.undo();
  match(text, /^Undid 1 change: made\.txt/);
  equal(zz.read("made.txt"), undefined);
});

describe("--store-copy between folders", () => {
  test("needs no server; needs two places; a torn end is left behind", async () => {
    const [from, to] = [place(), place()];
    equal((await zz(from, offline)).code, 0);
    const [name] = readdirSync(join(from.home, "sessions")).filter((file) =>
      file.endsWith(".jsonl"),
    );
    const { appendFileSync } = await import("node:fs");
    appendFileSync(join(from.home, "sessions", name!), '{"id":9,"torn');
    const { stdout } = await zz(from, ["--store-copy", "files", to.home]);
    equal(
      stdout,
      `${from.home}/sessions to ${to.home}/sessions: 1 copied, 0 continued, 0 there already.\n`,
    );
    const [copy = []] = to.sessions();
    equal(copy.length > 1 && copy.every((line) => line.torn === undefined), true);
    const { code, stderr } = await zz(from, ["--store-copy", "files"]);
    equal(code, 2);
    match(stderr, /Cannot copy sessions: name two places/);
  });
});

describe("--store-team takes a folder, and nothing else in its place", () => {
  const rows: [given: string, said: RegExp][] = [
    ["team/zz.config.json", /Cannot put '.*' into the store: it is no folder\. Name one\./],
    ["nowhere", /Cannot put '.*' into the store: it is not there\. Check the name\./],
    ["list", /its zz\.config\.json is not a JSON object\. Fix it\./],
    ["null", /its zz\.config\.json is not a JSON object\. Fix it\./],
  ];
  for (const [given, said] of rows)
    test(`'${given}'`, async () => {
      const files = {
        "team/zz.config.json": "{}",
        "list/zz.config.json": "[]",
        "null/zz.config.json": "null",
      };
      const where = place(files, { store: NOWHERE, redis: { seconds: 1 } });
      const { code, stderr } = await zz(where, ["--store-team", given]);
      equal(code, 2, stderr);
      match(stderr, said);
    });
});

test("what a node says that is no longer the primary is a fail-over, and passes", () => {
  for (const said of [
    "UNBLOCKED force unblock from blocking operation",
    "CLUSTERDOWN x",
    "TRYAGAIN x",
  ])
    deepEqual(refusalOf(new Error(said), { seconds: 5, cluster: true }), {
      why: "its cluster is in a fail-over. Try again soon",
      again: true,
    });
});

test("all that the package says of a connection that is gone is tried again", () => {
  for (const said of [
    "Cluster is ended.",
    "Cluster is disconnected.",
    "Cluster is disconnecting.",
    "Cluster isn't ready and enableOfflineQueue options is false",
    "Command aborted due to connection close",
    "Command timed out",
    "Connection is aborted",
    "Connection is closed.",
    "Connection is discarded because a new connection is made",
    "Node is disconnected",
    "None of startup nodes is available",
    "Reached the max retries per request limit (which is 0).",
    "Socket timeout. Expecting data, but didn't receive any in 5ms.",
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Too many Cluster redirections. Last error: Error: Connection is closed.",
  ])
    equal(refusalOf(new Error(said), { seconds: 5, cluster: true })?.again, true, said);
});

// Sessions in a real redis-server: through kills of either side, by two at once, by a server that
// is full, slow or wrong.
import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, describe } from "node:test";
import { tryTo } from "zz/text";
import {
  listSessions,
  openSession,
  readSession,
} from "../../../../kernel/conversation/session-files.ts";
import { having } from "../../../../test/support/having.ts";
import { has, needs } from "../../../../test/support/needs.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { openServer } from "../../server.ts";
import {
  encryptingServer,
  LASTING,
  optionsOf,
  proxy,
  redisServer,
  type Server,
  storeOf,
  tell,
} from "../server.ts";

const test = needs("redis-server");
const PLUGIN = new URL("../../index.ts", import.meta.url);
const head = (id: string) => ({
  zz: 1 as const,
  id,
  at: "2026-11-27T00:00:00Z",
  root: "/p",
  model: "a/b",
  title: id,
});
const silent = () => {};
const server: Server = has("redis-server") ? await redisServer(...LASTING) : (undefined as never);

/** A child that says a line for each thing that it did. */
function child(file: string, ...args: (string | number)[]) {
  const process_ = spawn(
    process.execPath,
    [join(import.meta.dirname, "..", file), ...args.map(String)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const said: string[] = [];
  let rest = "";
  process_.stdout.on("data", (data) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop()!;
    said.push(...lines);
  });
  const ended = new Promise<number | null>((resolve) => process_.once("close", resolve));
  after(() => process_.kill("SIGKILL"));
  return { process: process_ as ChildProcess, said, ended };
}

describe("through kills", () => {
  test("1,000 turns through ten kills of either side lose nothing that was acknowledged, and nothing is there twice", async () => {
    const acknowledged: number[] = [];
    let session = "";
    for (let kills = 0, next = 1; next <= 1_000; ) {
      const writer = child("writer.ts", server.url, session, next, 1_001 - next);
      const until = kills < 20 ? 40 : 1_000;
      await waitFor("turns", () => writer.said.length >= until || writer.process.exitCode !== null);
      if (kills++ % 2 && kills <= 20) {
        // in the midst of whatever it does; the writer tries again until it is back
        await server.kill();
        await server.start();
        const seen = writer.said.length;
        await waitFor(
          "the writer to go on",
          () => writer.said.length > seen || writer.process.exitCode !== null,
        );
      }
      if (kills <= 20) writer.process.kill("SIGKILL");
      await writer.ended;
      for (const line of writer.said) {
        const [id, turn] = line.split(" ");
        if (session) equal(id, session, "it stays one session");
        session = id!;
        acknowledged.push(Number(turn));
      }
      next = acknowledged.at(-1)! + 1;
    }
    deepEqual(
      acknowledged,
      Array.from({ length: 1_000 }, (_, i) => i + 1),
    );
    const { entries } = readSession(storeOf(server), session);
    const said = entries.flatMap(({ message }) =>
      message?.role === "user" ? Number(message.text.slice(5)) : [],
    );
    deepEqual([...new Set(said)], acknowledged);
    deepEqual(
      entries.map(({ id }) => id),
      entries.map((_, i) => i + 1),
      "each entry once, in order",
    );
    const answers = entries.flatMap(({ message }) =>
      message?.role === "assistant" ? message.text : [],
    );
    for (const turn of acknowledged)
      ok(answers.includes(`answer ${turn}`), `the answer of turn ${turn}`);
  });
});

describe("two at once", () => {
  test("one writes at a time; who was stopped and overtaken is refused, and no entry is lost", async () => {
    openSession(storeOf(server), head("fight"), silent).close();
    const stopping = child("fighter.ts", server.url, "fight", "a", 40, 10, 20, 30);
    const other = child("fighter.ts", server.url, "fight", "b", 1_000_000);
    const count = (word: string) => stopping.said.filter((line) => line === `a ${word}`).length;
    for (const stop of [1, 2, 3]) {
      await waitFor("a stop", () => count("stops") === stop);
      const seen = other.said.length;
      await waitFor(
        "the other to take over, once the lock has expired",
        () => other.said.length > seen + 5,
      );
      stopping.process.kill("SIGCONT");
      await waitFor("the refusal", () => count("refused") === stop);
    }
    equal(await stopping.ended, 0);
    other.process.kill("SIGKILL");
    await other.ended;
    const fighters = [stopping, other];
    const { entries } = readSession(storeOf(server), "fight");
    deepEqual(
      entries.map(({ id }) => id),
      entries.map((_, i) => i + 1),
      "nobody wrote on what had gone on",
    );
    const kept = entries.map(({ plugin, value }) => `${plugin} ${value}`);
    const acknowledged = fighters.flatMap(({ said }) => said.filter((line) => /\d$/.test(line)));
    for (const line of acknowledged) {
      const [name, count, begun] = line.split(" ");
      const index = kept.indexOf(`${name} ${count}`);
      ok(index >= 0, `'${line}' is there`);
      for (const between of kept.slice(Number(begun), index))
        equal(between.split(" ")[0], name, `nobody wrote between ${line}`);
    }
  });

  test("a lock is told by whom it is held; that of a dead process of this machine is no hindrance", async () => {
    const [one, other] = [storeOf(server), storeOf(server)];
    const session = openSession(one, head("held"), silent);
    throws(
      () => openSession(other, "held", silent),
      /another zz \(process \d+ on [\w.-]+\) has it open/,
    );
    throws(() => openSession(one, "held", silent), /another zz/);
    session.close();
    openSession(other, "held", silent).close();
    const writer = child("writer.ts", server.url, "", 1, 1);
    await writer.ended;
    const [id] = writer.said[0]!.split(" ");
    const taken = openSession(other, id!, silent);
    ok(taken.entries.length >= 2);
    taken.close();
  });

  test("two machines go on in one session in turn, and undo, tree and list are the same", async () => {
    const settings = { store: server.url };
    const [here, there] = [place({}, settings), place({}, settings)];
    equal((await zz(here, ["-m", "offline", "--once", "first words"])).code, 0);
    const { id } = listSessions(storeOf(server)).find(({ title }) => title === "first words")!;
    equal((await zz(there, ["-m", "offline", "--once", "--session", id, "second words"])).code, 0);
    equal((await zz(here, ["-m", "offline", "--once", "--session", id, "third words"])).code, 0);
    const said = readSession(storeOf(server), id)
      .branch()
      .flatMap(({ message }) => (message?.role === "user" ? message.text : []));
    deepEqual(said, ["first words", "second words", "third words"]);
    for (const { home } of [here, there]) ok(!existsSync(join(home, "sessions")), "no file of it");
    match((await zz(there, ["--sessions"])).stdout, new RegExp(`${id}.*first words`));
  });
});

describe("the list", () => {
  test("asks three things at once, however many there are; renamed, failed and deleted ones are as with files", async () => {
    const store = storeOf(server, { prefix: "list" });
    for (let i = 0; i < 20; i++) {
      const session = openSession(store, head(`s${i}`), silent);
      session.append("message", { message: { role: "user", text: "words" } });
      session.append("message", {
        message: { role: "assistant", text: "x", model: "other/model", ms: 3 },
      });
      if (i === 3) session.append("failed", {});
      session.close();
    }
    store.rename("s4", "a new title");
    store.remove("s5");
    const calls = async () =>
      Number(/cmdstat_eval:calls=(\d+)/.exec(await server.whole("INFO commandstats"))?.[1] ?? 0);
    const earlier = await calls();
    const listed = listSessions(store);
    equal((await calls()) - earlier, 1);
    equal(listed.length, 18);
    equal(listed[0]!.id, "s19");
    equal(listed[0]!.model, "other/model");
    equal(listed.find(({ id }) => id === "s4")!.title, "a new title");
    equal(listed[0]!.bytes, readBytes(store.read("s19")));
  });
});
const readBytes = (bytes: Buffer): number => bytes.length;

describe("a server that is not as it should be", () => {
  const write = (store: ReturnType<typeof storeOf>, id: string) => {
    const session = openSession(store, head(id), silent);
    try {
      for (let i = 0; i < 20; i++)
        session.append("state", { plugin: "x", value: "x".repeat(200_000) });
    } finally {
      session.close();
    }
  };

  test("full: says so, and what was acknowledged is there, whole", async () => {
    const full = await redisServer("--maxmemory", "3mb", "--maxmemory-policy", "noeviction");
    const store = storeOf(full);
    throws(
      () => write(store, "big"),
      /its memory is full \(maxmemory\)\. Raise it, or delete old sessions\./,
    );
    await full.tell("CONFIG SET maxmemory 100mb");
    const { entries } = readSession(store, "big");
    ok(entries.length > 3 && entries.every(({ value }) => String(value).length === 200_000));
    const again = openSession(store, "big", silent);
    again.append("state", { plugin: "x", value: 1 });
    again.close();
  });

  test("a read-only replica: says so; a list and a reading work", async () => {
    openSession(storeOf(server), head("copied"), silent).close();
    const replica = await redisServer("--replicaof", "127.0.0.1", `${server.port}`);
    const store = storeOf(replica);
    await waitFor("the copy", () => store.ids().includes("copied"));
    throws(
      () => openSession(store, "copied", silent),
      /it is a read-only replica\. Name the primary/,
    );
    equal(readSession(store, "copied").header.title, "copied");
  });

  test("too few replicas for `replicas`: a change is asked for before it is made, an answer is shown with a warning", async () => {
    const heard: string[] = [];
    const session = openSession(
      storeOf(server, { replicas: 3, seconds: 5 }),
      head("alone"),
      (text) => heard.push(text),
    );
    await session.sync();
    await session.sync();
    match(heard.join("\n"), /^Session 'alone' may not be saved: \d of 3 replicas have it\.$/);
    throws(() => session.syncNow(), /\d of 3 replicas have it/);
    session.close();
  });

  test("slow beyond its time: says so, sends nothing late, and one that was taken all the same is there once", async () => {
    const between = await proxy(server.port);
    const store = storeOf(between, { seconds: 1 });
    const opened = () => tryTo(() => openSession(store, head("slow"), silent));
    const session = await waitFor("the session", opened);
    await between.tell("mute");
    throws(
      () => session.append("state", { plugin: "x", value: "lost answer" }),
      /it did not answer in 1 s/,
    );
    session.append("state", {
      plugin: "x",
      value: "lost answer",
      at: readSession(storeOf(server), "slow").entries[0]!.at,
    });
    equal(readSession(storeOf(server), "slow").entries.length, 1);
    session.close();
  });

  test("too old: says which version it has", async () => {
    const between = await proxy(server.port);
    await between.tell("old");
    const store = storeOf(between);
    const old = /it is version 3\.2\.1\d*, and zz needs 5 or newer\. Update it/;
    for (const ask of ["first", "later"]) throws(() => store.ids(), old, ask);
  });

  test("a password: wrong, none, one that it does not want; none of them is shown", async () => {
    const shut = await redisServer("--requirepass", "sesame-1");
    const at = (user: string) => ({ url: shut.url.replace("//", `//${user}`) });
    const rows: [string, Partial<Parameters<typeof storeOf>[1]>, RegExp][] = [
      ["", {}, /it wants a password/],
      [":wrong@", {}, /its user or password is wrong/],
      ["nobody:sesame-1@", {}, /its user or password is wrong/],
    ];
    for (const [user, more, message] of rows) throws(() => storeOf(at(user), more).ids(), message);
    deepEqual(storeOf(at(":sesame-1@")).ids(), []);
    deepEqual(storeOf(at(""), { password: "sesame-1" }).ids(), []);
    ok(storeOf({ url: server.url.replace("//", "//:x@") }).ids());
    const where = having({}, place({}, { store: at(":wrong-pass-9@").url }));
    const { stdout, stderr } = await zz(where, ["-m", "offline", "--once", "hello"]);
    match(stderr, /its user or password is wrong/);
    ok(!`${stdout}${stderr}`.includes("wrong-pass-9"));
  });

  needs("redis-server", "openssl")(
    "encrypted: as the URL says, and by a CA that is trusted; else it is said",
    async () => {
      const secret = await encryptingServer(...LASTING);
      const { certificate, port, tlsPort } = secret;
      const trusting = { NODE_EXTRA_CA_CERTS: certificate };
      const unfit =
        /its certificate or its encryption does not fit\. Use redis:\/\/ or rediss:\/\//;
      const rows: [url: string, env: Record<string, string>, said: RegExp | undefined][] = [
        [`rediss://127.0.0.1:${tlsPort}`, trusting, undefined],
        [`rediss://127.0.0.1:${tlsPort}`, {}, unfit],
        [`rediss://localhost:${tlsPort}`, trusting, unfit],
        [`rediss://127.0.0.1:${port}`, trusting, /it did not answer in 5 s/],
        [`redis://127.0.0.1:${tlsPort}`, trusting, /cannot be reached|does not fit|did not answer/],
      ];
      for (const [store, env, said] of rows) {
        const where = place({}, { store, redis: { seconds: said ? 5 : 60 } });
        const { code, stderr } = await zz(where, ["-m", "offline", "--once", "hello"], { env });
        equal(code, 0, stderr);
        if (said) match(stderr, said);
        else equal(stderr, "");
      }
      equal(storeOf(secret).ids().length, 1);
    },
  );

  test("a cluster: without its slots it is said, with them it works, and a fail-over is passed through", async () => {
    const cluster = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", ...LASTING];
    const nodes = [redisServer(...cluster), redisServer(...cluster), redisServer(...cluster)];
    const [first, second, third] = (await Promise.all(nodes)) as [Server, Server, Server];
    throws(
      () => storeOf(first, { cluster: true, seconds: 10 }).ids(),
      /its cluster did not answer in 10 s, as in a fail-over/,
    );
    // the first has zz's keys and a replica, the third neither
    const slot = Number((await first.tell("CLUSTER KEYSLOT {zz}:x")).slice(1));
    const halves = ["0 8191", "8192 16383"];
    if (slot > 8_191) halves.reverse();
    equal(await first.tell(`CLUSTER ADDSLOTSRANGE ${halves[0]}`), "+OK");
    equal(await third.tell(`CLUSTER ADDSLOTSRANGE ${halves[1]}`), "+OK");
    await third.tell(`CLUSTER MEET 127.0.0.1 ${first.port}`);
    await waitFor("the cluster", async () => (await first.tell("SET {zz}:x 1")) === "+OK");
    const id = (await tell(first.port, "CLUSTER MYID", 1))!;
    await second.tell(`CLUSTER MEET 127.0.0.1 ${first.port}`);
    await waitFor(
      "a replica",
      async () => (await second.tell(`CLUSTER REPLICATE ${id}`)) === "+OK",
    );
    await waitFor("the copy", async () => (await first.tell("WAIT 1 100")) === ":1");
    await waitFor("its news", async () =>
      (await first.whole("CLUSTER SLOTS")).includes(`${second.port}`),
    );
    const store = storeOf(first, { cluster: true, replicas: 1 });
    const session = openSession(store, head("in a cluster"), silent);
    session.append("state", { plugin: "x", value: 1 });
    for (let i = 0; i < 10; i++) session.syncNow(); // each asks the node that has the session
    await waitFor(
      "the fail-over",
      async () => (await second.tell("CLUSTER FAILOVER TAKEOVER")) === "+OK",
    );
    await first.kill();
    session.append("state", { plugin: "x", value: 2 });
    session.close();
    deepEqual(
      readSession(storeOf(second, { cluster: true }), "in a cluster").entries.map(
        ({ value }) => value,
      ),
      [1, 2],
    );
  });

  test("that keeps nothing on disk, or throws away: said when a conversation begins", async () => {
    const rows: [string[], RegExp][] = [
      [
        ["--save", "", "--appendonly", "no"],
        /keeps nothing on disk: all sessions are lost when it restarts/,
      ],
      [
        ["--save", "3600 1", "--appendonly", "no"],
        /writes to its disk only now and then \(save 3600 1\)/,
      ],
      [
        [...LASTING, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"],
        /throws data away when its memory is full/,
      ],
    ];
    for (const [options, message] of rows) {
      const one = await redisServer(...options);
      const where = place({}, { store: one.url });
      match((await zz(where, ["-m", "offline", "--once", "hello"])).stderr, message);
    }
    deepEqual(storeOf(server).reach!(), []);
  });

  test("that lost the end of a session: it is said, and put there again from memory", async () => {
    const forgetful = await redisServer(...LASTING);
    const zz = await harness({
      plugins: [PLUGIN],
      settings: { store: forgetful.url },
      script: Array.from({ length: 3 }, (_, i) => ({ text: `answer ${i}` })),
    });
    await zz.ask("one");
    const id = zz.chat.id!;
    equal(await forgetful.tell(`RPOP {zz}:lines:${id}`).then((said) => said[0]), "$");
    await zz.ask("two");
    match(
      zz.notes.join("\n"),
      /the server has \d+ lines of it, and had more: it lost some\. It goes on in memory/,
    );
    await zz.ask("three");
    match(zz.notes.join("\n"), new RegExp(`saved again, as '${id}'`));
    await zz.close();
    const said = readSession(storeOf(forgetful), id)
      .branch()
      .flatMap(({ message }) => message?.text ?? []);
    deepEqual(said, ["one", "answer 0", "two", "answer 1", "three", "answer 2"]);
  });

  test("that is gone for a while: the conversation goes on in memory, and is there when it is back", async () => {
    const gone = await redisServer(...LASTING);
    const script = Array.from({ length: 3 }, (_, i) => ({ text: `answer ${i}` }));
    const zz = await harness({
      plugins: [PLUGIN],
      settings: { store: gone.url, redis: { seconds: 10 } },
      script,
    });
    await zz.ask("one");
    const id = zz.chat.id!;
    await gone.kill();
    await zz.ask("two");
    match(
      zz.notes.join("\n"),
      /it cannot be reached \(ECONNREFUSED\).* It goes on in memory, and is saved once/,
    );
    await gone.start();
    await zz.ask("three");
    equal(zz.chat.id, id);
    await zz.close();
    const said = readSession(storeOf(gone), id)
      .branch()
      .flatMap(({ message }) => message?.text ?? []);
    deepEqual(said, ["one", "answer 0", "two", "answer 1", "three", "answer 2"]);
  });
});

describe("a server's question", () => {
  test("that fails for its whole time names the last reason with a code, not the end of a connection", async () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const failures = [refused];
    const { ask } = openServer({ ...optionsOf(server), owner: "test", seconds: 0.3 });
    await rejects(
      ask(() => {
        throw failures.shift() ?? new Error("Connection is closed.");
      }),
      /it cannot be reached \(ECONNREFUSED\)\. Start it/,
    );
  });
});

describe("--store-copy", () => {
  test("copies both ways, goes on where a session went on, and leaves out what went another way", async () => {
    const redis = { prefix: "copied" };
    const files = place({}, { redis });
    equal((await zz(files, ["-m", "offline", "--once", "hello"])).code, 0);
    const [[header]] = files.sessions() as [[{ id: string }]];
    const copied = await zz(files, ["--store-copy", "files", server.url]);
    equal(
      copied.stdout,
      `${files.home}/sessions to ${server.url}: 1 copied, 0 continued, 0 there already.\n`,
    );
    const remote = place({}, { store: server.url, redis });
    equal((await zz(remote, ["-m", "offline", "--once", "--session", header.id, "more"])).code, 0);
    match(
      (await zz(files, ["--store-copy", server.url, "files"])).stdout,
      /0 copied, 1 continued, 0 there/,
    );
    match(
      (await zz(files, ["--store-copy", server.url, "files"])).stdout,
      /0 copied, 0 continued, 1 there/,
    );
    deepEqual(
      Buffer.from(storeOf(server, redis).read(header.id)),
      Buffer.from(
        files
          .sessions()[0]!
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(""),
      ),
    );
    for (const where of [files, remote])
      await zz(where, [
        "-m",
        "offline",
        "--once",
        "--session",
        header.id,
        `apart in ${where.home}`,
      ]);
    const apart = await zz(files, ["--store-copy", "files", server.url]);
    equal(apart.code, 1);
    match(`${apart.stdout}${apart.stderr}`, /1 left out:\n.*it went on in another way/);
  });

  test("the password comes from key_command, all keys have the prefix", async () => {
    const shut = await redisServer("--requirepass", "open-sesame-2");
    const redis = { key_command: "echo open-sesame-2", prefix: "team-1" };
    const where = place({}, { store: shut.url, redis });
    const { code, stderr } = await zz(where, ["-m", "offline", "--once", "hello"]);
    equal(code, 0, stderr);
    const store = storeOf(shut, { password: "open-sesame-2", prefix: "team-1" });
    equal(store.ids().length, 1);
    equal(storeOf(shut, { password: "open-sesame-2" }).ids().length, 0);
  });
});

// The queue in a real redis-server: what travels and what does not, who answers, and servers and
// jobs that are wrong.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { askable, call, refuse, say } from "../../../../test/support/fake/openai.ts";
import { has, needs } from "../../../../test/support/needs.ts";
import { place, ROOT, zz } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { LASTING, proxy, redisServer, type Server } from "../../../redis/test/server.ts";
import { hashOf, keysOf, QUEUE } from "../../job.ts";
import { LEASE, rowsOf, start, worker } from "../machines.ts";

const test = needs("redis-server");
const server: Server = has("redis-server") ? await redisServer(...LASTING) : (undefined as never);
const asked = (body: any): string => body.messages.at(-1).content;
const echo = ({ body }: { body: any }) =>
  say(`about ${/--- (?:FILE .*?|INPUT) ---\n(.*)/.exec(asked(body))?.[1]}`);
/** A queue of its own for each test, in the one server. */
let count = 0;
function queueOf(url = server.url) {
  const queue = { ...LEASE.queue, prefix: `q${count++}` };
  const asking = ["-m", "openai/m", "--no-tools", "--queue", url];
  const machine = (files = {}, homes = {}) => place(files, { queue }, homes);
  return { machine, asking, prefix: queue.prefix, work: worker.bind(undefined, url) };
}
const answersOf = (ran: { stdout: string }) =>
  rowsOf(ran).map(({ input, answer, error }) => [input, answer ?? error]);

describe("a run by the queue", () => {
  test("files travel by their content, also with a newline in their names, each once; the same content twice is two answers; what is secret or no text stays", async () => {
    const model = await askable(echo);
    const { machine, asking, work } = queueOf();
    const far = work(model.args, machine({ "a.txt": "of the worker" }));
    const where = machine({
      "a.txt": "ay",
      "b.txt": "ay",
      "new\nline.txt": "named so",
      "c.bin": new Uint8Array([1, 0, 2]),
      "huge.txt": `huge\n${"x".repeat(3_000_000)}`,
      ".env": "TOKEN=not-for-others",
    });
    const ran = await zz(where, [...asking, "--each", "*.txt", "*.bin", ".env", "What?"]);
    deepEqual(answersOf(ran), [
      ["a.txt", "about ay"],
      ["b.txt", "about ay"],
      ["c.bin", "Cannot ask about 'c.bin': it is neither text nor an image."],
      ["huge.txt", "about huge"],
      ["new\nline.txt", "about named so"],
    ]);
    match(ran.stderr, /1 file may not be read without a question .*\.env/);
    equal(model.requests.length, 4);
    ok(model.requests.some(({ body }) => asked(body).length > 3_000_000));
    doesNotMatch(JSON.stringify(model.requests), /not-for-others|of the worker/);
    far.child().kill("SIGINT");
    equal((await far.ended).code, 130);
    match(far.said(), /4 jobs done\./);
  });

  test("persona, prompt and schema travel; the worker's own words, keys and flags play no part, and no key is ever in the server", async () => {
    const model = await askable([
      call(["read_file", { path: "note.txt" }], ["write_file", { path: "made.txt", content: "x" }]),
      say('{"n": "seven"}'),
      say('{"n": 7}'),
    ]);
    const { machine, work } = queueOf();
    const far = machine(
      { "AGENTS.md": "WORKER-RULES", "note.txt": "WORKER-NOTE" },
      { "SOUL.md": "WORKER-SOUL" },
    );
    const flags = ["-A", "-m", "openai/other", "--base-url", model.args[3]!];
    const worked = work([...flags, "--key", "key-of-the-worker"], far);
    const near = machine({ "note.txt": "ASKER-NOTE" }, { "SOUL.md": "ASKER-SOUL" });
    const own = ["-m", "openai/m", "--key", "key-of-the-asker", "-o", "temperature", "0"];
    const ran = await zz(
      near,
      [...own, "--queue", server.url, "--schema", "n int", "--each-line", "Count."],
      { input: "one\n" },
    );
    deepEqual(
      rowsOf(ran).map(({ input, answer, model }) => [input, answer, model]),
      [["one", { n: 7 }, "openai/m"]],
      ran.stderr + worked.said(),
    );
    const all = JSON.stringify(model.requests.map(({ body }) => body));
    match(all, /ASKER-SOUL/);
    match(all, /ASKER-NOTE/);
    doesNotMatch(all, /WORKER-/);
    deepEqual(
      model.requests.map(({ headers, body }) => [
        headers.authorization,
        body.model,
        body.temperature,
      ]),
      Array(3).fill(["Bearer key-of-the-worker", "m", 0]),
    );
    ok(!existsSync(join(far.cwd, "made.txt")), "-A of the worker allows nothing here");
    ok(!existsSync(join(near.cwd, "made.txt")), "and nobody allowed it there");
    const kept = await filesOf(server);
    match(kept, /ASKER-SOUL/);
    doesNotMatch(kept, /key-of-the-|not-for-others/);
  });

  test("Ctrl+C finishes what is under way and leaves the rest; nothing is asked twice", async () => {
    const gate = Promise.withResolvers<void>();
    const model = await askable(async (seen) => {
      await gate.promise;
      return echo(seen);
    });
    const { machine, asking, work } = queueOf();
    const first = work([...model.args, "--jobs", "1"], machine());
    const input = Array.from({ length: 6 }, (_, n) => `item ${n}\n`).join("");
    const ran = zz(machine(), [...asking, "--each-line", "Say."], { input });
    await waitFor("a request", () => model.requests.length === 1);
    first.child().kill("SIGINT");
    await waitFor("the worker to hear of it", () =>
      /Finishing what is under way/.test(first.said()),
    );
    gate.resolve();
    equal((await first.ended).code, 130);
    match(first.said(), /1 job done\./);
    work(model.args, machine());
    equal(rowsOf(await ran).length, 6);
    equal(model.requests.length, 6);
  });

  test("a worker that sleeps through its lease loses its job, and its late answer is dropped", async () => {
    const quick = await askable([say("first")]);
    const held = Promise.withResolvers<void>();
    const holding = await askable(async () => {
      await held.promise;
      return say("late");
    });
    const { machine, asking, work } = queueOf();
    const sleeper = work(holding.args, machine());
    const ran = zz(machine(), [...asking, "--each-line", "Say."], { input: "one\n" });
    await waitFor("the sleeper's request", () => holding.requests.length === 1);
    sleeper.child().kill("SIGSTOP");
    work(quick.args, machine());
    deepEqual(answersOf(await ran), [["one", "first"]]);
    held.resolve();
    sleeper.child().kill("SIGCONT");
    sleeper.child().kill("SIGINT");
    equal((await sleeper.ended).code, 130);
    equal(quick.requests.length, 1);
  });

  test("what a worker has no key for is left to one that has, and both sides say so once", async () => {
    const model = await askable(echo);
    const { machine, asking, work } = queueOf();
    const poor = work([], machine());
    const ran = start(machine(), [...asking, "--each-line", "Say."], "one\ntwo\nthree\n");
    await waitFor("the poor worker", () => /Left to other workers: /.test(poor.said()));
    await waitFor("the news", () => /A worker leaves it to others: /.test(ran.said()));
    work(model.args, machine());
    equal((await ran.ended).code, 0);
    equal(poor.said().match(/Left to other workers/g)!.length, 1);
    equal(rowsOf(await ran.ended).length, 3);
  });

  test("what fails for good is a dead letter: --status shows it on any machine, --resume asks it again", async () => {
    let isBad = true;
    const model = await askable((seen) =>
      isBad && asked(seen.body).includes("two")
        ? refuse(400, { error: { message: "bad words" } })
        : echo(seen),
    );
    const { machine, asking, work } = queueOf();
    work(model.args, machine());
    const home = machine();
    const first = await zz(home, [...asking, "--each-line", "Say."], {
      input: "one\ntwo\nthree\n",
    });
    equal(first.code, 1);
    match(first.stderr, /1 input of 3 could not be answered\. Ask them again: .* --queue redis:/);
    const elsewhere = machine();
    const status = [...asking, "--each", "--status"];
    const told = await zz(elsewhere, status);
    match(
      told.stdout,
      /2 of 3 answered\. Go on with it on \S+: zz --each --resume \S+ --queue redis:/,
    );
    match(told.stdout, /The queue has 1 worker; 0 of its jobs are under way, 0 wait\./);
    match(told.stdout, /1 dead letter, asked again by --resume:\n {2}input 2: .*bad words/);
    const { dead, answered } = JSON.parse((await zz(elsewhere, [...status, "--json"])).stdout);
    deepEqual([dead.map(({ input }: any) => input), answered], [[2], 2]);
    match((await zz(elsewhere, [...status, "2099"])).stderr, /does not know it\. The last is /);
    isBad = false;
    const again = await zz(home, [...asking, "--each", "--resume"]);
    equal(again.code, 0, again.stderr);
    equal(model.requests.length, 4);
    match(
      (await zz(elsewhere, status)).stdout,
      /3 of 3 answered\.\nThe queue has 1 worker;[^\n]*\n$/,
    );
  });

  test("--reduce folds by the workers, too; --batch is refused", async () => {
    const model = await askable((seen) =>
      /Sum up/.test(JSON.stringify(seen.body)) ? say("all in all") : echo(seen),
    );
    const { machine, asking, work } = queueOf();
    work(model.args, machine());
    const folding = [...asking, "--each-line", "Say.", "--reduce", "Sum up."];
    const { stdout, stderr } = await zz(machine(), folding, { input: "one\ntwo\n" });
    equal(stdout, "all in all\n", stderr);
    const refused = await zz(machine(), [...asking, "--batch", "--each-line", "Say."], {
      input: "one\n",
    });
    equal(refused.code, 2);
    match(refused.stderr, /Cannot use --batch with --queue: a batch is not for workers/);
  });

  test("without a worker it waits, and says how to start one", async () => {
    const model = await askable(echo);
    const { machine, asking, work } = queueOf();
    const ran = start(machine(), [...asking, "--each-line", "Say."], "one\n");
    await waitFor("the hint", () =>
      /Nobody works for redis:\S+ yet\. .* zz --work /.test(ran.said()),
    );
    work(model.args, machine());
    equal((await ran.ended).code, 0);
  });
});

describe("a server", () => {
  const input = "one\ntwo\n";
  const both = [
    ["one", "about one"],
    ["two", "about two"],
  ];

  test("with a password: a wrong one and none are said; queue.key_command gives it", async () => {
    const shut = await redisServer("--requirepass", "open-sesame-2");
    const model = await askable(echo);
    const wrong = shut.url.replace("//", "//:not-that-one@");
    const ask = (url: string, where = place()) =>
      zz(where, ["-m", "openai/m", "--queue", url, "--each-line", "Say."], { input });
    for (const [url, said] of [
      [shut.url, /it wants a password\. Put one into --queue, or let key_command print it/],
      [wrong, /its user or password is wrong\. Correct them in --queue, or key_command/],
    ] as const) {
      const { code, stderr } = await ask(url);
      equal(code, 2);
      match(stderr, said);
      doesNotMatch(stderr, /not-that-one/);
    }
    const queue = { key_command: "echo open-sesame-2" };
    worker(shut.url, model.args, place({}, { queue }));
    deepEqual(answersOf(await ask(shut.url, place({}, { queue }))), both);
  });

  test("with a user that may do no more than docs/many.md says; one that may do less is told", async () => {
    const page = readFileSync(join(ROOT, "docs/many.md"), "utf8");
    const [line = ""] = /ACL SETUSER zz on >PASSWORD ~\{zz\}[^`]*/.exec(page) ?? [];
    const guarded = await redisServer();
    equal(await guarded.tell(line), "+OK");
    await guarded.tell(line.replace(" zz ", " less ").replace("+time", "-time"));
    await guarded.tell("ACL SETUSER default off");
    const model = await askable(echo);
    const url = (user: string) => guarded.url.replace("//", `//${user}:PASSWORD@`);
    const poor = worker(url("less"), model.args);
    const asking = ["-m", "openai/m", "--queue", url("zz"), "--each-line", "Say."];
    const ran = start(place(), asking, input);
    await waitFor("the refusal", () =>
      /this user may not do that there\. Give it the keys and commands that docs\/many\.md names/.test(
        poor.said(),
      ),
    );
    worker(url("zz"), model.args);
    deepEqual(answersOf(await ran.ended), both);
  });

  test("that is too old", async () => {
    const old = await proxy(server.port);
    await old.tell("old");
    for (const args of [
      ["--work", old.url],
      ["--queue", old.url, "--each-line", "Say."],
    ]) {
      const { code, stderr } = await zz(place(), ["-m", "openai/m", ...args], { input });
      equal(code, 2);
      match(stderr, /it is version 3\.2\.1\d*, and zz needs 5 or newer\. Update it\./);
    }
  });

  test("that is old and will do: it works, and nothing is said of it", async () => {
    const aged = await proxy(server.port);
    await aged.tell("aged");
    const model = await askable(echo);
    const { machine, asking, work } = queueOf(aged.url);
    const far = work(model.args, machine());
    const ran = await zz(machine(), [...asking, "--each-line", "Say."], { input });
    deepEqual(answersOf(ran), both);
    doesNotMatch(ran.stderr + far.said(), /version|recommended/i);
  });

  test("that is a cluster", async () => {
    const own = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", ...LASTING];
    const cluster = await redisServer(...own);
    const queue = { cluster: true };
    const asking = ["-m", "openai/m", "--queue", cluster.url, "--each-line", "Say."];
    const early = await zz(place({}, { queue, redis: { seconds: 10 } }), asking, { input });
    equal(early.code, 1);
    match(
      early.stderr,
      /Cannot use the queue \S+: its cluster (did not answer in 10 s|is in a fail)/,
    );
    equal(await cluster.tell("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK");
    await waitFor("the cluster", async () => (await cluster.tell("SET x 1")) === "+OK");
    const model = await askable(echo);
    worker(cluster.url, model.args, place({}, { queue }));
    deepEqual(answersOf(await zz(place({}, { queue }), asking, { input })), both);
  });

  test("that is a read-only replica", async () => {
    const replica = await redisServer("--replicaof", `127.0.0.1 ${server.port}`);
    for (const [flag, args] of [
      ["--work", []],
      ["--queue", ["--each-line", "Say."]],
    ] as const) {
      const { code, stderr } = await zz(place(), ["-m", "openai/m", flag, replica.url, ...args], {
        input,
      });
      equal(code, 2, stderr);
      match(stderr, new RegExp(`it is a read-only replica\\. Name the primary in ${flag}\\.`));
    }
  });

  test("that is full: it is said, and the run goes on once there is room", async () => {
    const full = await redisServer(...LASTING, "--maxmemory-policy", "noeviction");
    const model = await askable(echo);
    const { machine, asking, work } = queueOf(full.url);
    const far = work(model.args, machine());
    await waitFor("the worker", () => /Working for/.test(far.said()));
    await full.tell("CONFIG SET maxmemory 1");
    const ran = start(machine(), [...asking, "--each-line", "Say."], input);
    await waitFor("the sentence", () =>
      /its memory is full \(maxmemory\)\. Raise it/.test(ran.said()),
    );
    await full.tell("CONFIG SET maxmemory 0");
    deepEqual(answersOf(await ran.ended), both);
    equal(model.requests.length, 2);
  });

  test("that stays full: Ctrl+C ends the wait at once", async () => {
    const full = await redisServer("--maxmemory", "1kb", "--maxmemory-policy", "noeviction");
    const ran = start(
      place(),
      ["-m", "openai/m", "--queue", full.url, "--each-line", "Say."],
      input,
    );
    await waitFor("the note", () =>
      /its memory is full \(maxmemory\)\. Raise it\.$/m.test(ran.said()),
    );
    ran.child().kill("SIGINT");
    equal((await ran.ended).code, 130);
    doesNotMatch(ran.said(), /outside of any turn/);
  });

  test("that is slow", async () => {
    const slow = await proxy(server.port);
    await slow.tell("slow");
    const model = await askable(echo);
    const { machine, asking, work } = queueOf(slow.url);
    work(model.args, machine());
    deepEqual(answersOf(await zz(machine(), [...asking, "--each-line", "Say."], { input })), both);
    equal(model.requests.length, 2);
  });

  test("that kept nothing through a restart: what it lost is put there again", async () => {
    const forgetful = await redisServer("--save", "", "--appendonly", "no");
    const model = await askable(echo);
    const { machine, asking, work } = queueOf(forgetful.url);
    const ran = start(machine(), [...asking, "--each-line", "Say."], input);
    await waitFor("a job", async () => /:ask:.*\.0\.0\./.test(await forgetful.whole("KEYS *")));
    match(ran.said(), /keeps no log on its disk: what is under way is asked again/);
    await forgetful.kill();
    await waitFor("the outage", () => /is out of reach\. zz goes on as soon as/.test(ran.said()));
    await forgetful.start();
    work(model.args, machine());
    deepEqual(answersOf(await ran.ended), both);
  });
});

describe("in the queue", () => {
  test("jobs of another version are left, garbage is not done, each said once, and the run goes on", async () => {
    const model = await askable(echo);
    const { machine, asking, prefix, work } = queueOf();
    const keys = keysOf(prefix);
    const client = new Redis(server.port, { maxRetriesPerRequest: null });
    const jobs = new Queue(QUEUE, { connection: client as never, prefix: keys.base });
    const text = (what: string) => ({ zz: 1, run: "r", text: hashOf(what) });
    await client.hset(keys.texts("r"), hashOf("no request"), "no request");
    await client.hset(keys.texts("r"), hashOf("another"), "changed on its way");
    const garbage = [
      null,
      "words",
      [1],
      {},
      { zz: 1 },
      text("gone"),
      text("another"),
      text("no request"),
    ];
    for (const data of [...garbage, { zz: 2, what: "ever" }, { zz: 2, what: "else" }])
      await jobs.add("ask", data);
    await client.lpush(`${keys.base}:${QUEUE}:wait`, "no-such-job");
    await client.hset(keys.job("torn"), "data", "{", "name", "ask", "opts", "{}", "timestamp", "1");
    await client.lpush(`${keys.base}:${QUEUE}:wait`, "torn");
    await client.xadd(
      `${keys.base}:${QUEUE}:events`,
      "*",
      "event",
      "completed",
      "returnvalue",
      "{",
    );
    const far = work(model.args, machine());
    const ran = await zz(machine(), [...asking, "--each-line", "Say."], { input: "one\n" });
    deepEqual(answersOf(ran), [["one", "about one"]]);
    await waitFor("all to be looked at", async () => {
      const { failed, delayed } = await jobs.getJobCounts("failed", "delayed");
      return failed! >= garbage.length && delayed === 2;
    });
    equal(model.requests.length, 1);
    const said = far.said();
    equal(said.match(/Jobs of another version of zz \(2, this is 1\) are left/g)?.length, 1, said);
    match(said, /The queue has jobs that zz did not make, such as '\w+'\. They are not done\./);
    doesNotMatch(said, /\n\s+at /);
    await jobs.close();
    client.disconnect();
  });
});

/** All that the server wrote to its disk. */
async function filesOf({ whole }: Server): Promise<string> {
  const folder = (await whole("CONFIG GET dir")).split("\r\n")[4]!;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("");
}

// Sessions: what was saved stays saved. On real files and real processes.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Entry, Header } from "../../kernel/contract.ts";
import { lastSession, listSessions, openSession } from "../../kernel/conversation/session-files.ts";
import { processStartTime } from "../../kernel/system/temporary-files.ts";
import { harness } from "../../sdk/testing.ts";
import { createZz, type Zz } from "../../zz.ts";
import "../support/lean.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { type How, type Place, place, type Ran, ROOT, zz } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const ID = "20260101-000000-aaaaaaaa";
const AT = "2026-01-01T00:00:00.000Z";
const head = (id = ID, root = "/p"): Header => ({
  zz: 1,
  id,
  at: AT,
  root,
  model: "openai/m",
  title: id,
});
const entry = (id: number, parent: number | null, text: string): Entry =>
  ({
    id,
    parent,
    at: AT,
    type: "message",
    message: { role: id % 2 ? "user" : "assistant", text },
  }) as Entry;
const said = (count: number): Entry[] =>
  Array.from({ length: count }, (_, i) => entry(i + 1, i || null, `said ${i + 1}`));
const lines = (...all: unknown[]): string =>
  all.map((one) => (typeof one === "string" ? one : JSON.stringify(one)) + "\n").join("");
const textsOf = (branch: Entry[]) =>
  branch.flatMap(({ message }) => message?.text ?? []).join(", ");
const ids = (entries: readonly Entry[]): number[] => entries.map(({ id }) => id);

/** Puts a session file down as bytes and says where it is. */
function put(home: string, bytes: string | Buffer, id = ID): string {
  const file = join(home, "sessions", `${id}.jsonl`);
  fs.mkdirSync(join(home, "sessions"), { recursive: true, mode: 0o700 });
  fs.writeFileSync(file, bytes, { mode: 0o600 });
  return file;
}
const folder = (home: string): string[] => fs.readdirSync(join(home, "sessions")).sort();

/** Opens what is there, closes it again; gives the entries and what was said about it. */
function look(home: string, id = ID) {
  const heard: string[] = [];
  const session = openSession(home, id, (text) => heard.push(text));
  const [entries, branch] = [session.entries, session.branch()];
  session.close();
  return { entries, branch, heard };
}
const silent = (text: string): never => {
  throw new Error(`nothing should be said, but: ${text}`);
};

const server = await fakeOpenAI([say("pong")]);
after(() => server.close());
/** One turn of the program against the fake server. */
const ask = (where: Place, flags: string[], how: How = {}): Promise<Ran> =>
  zz(where, ["--once", "--base-url", server.url, "-m", "openai/m", ...flags, "ping"], how);
const asked = (): string[] =>
  server.requests.at(-1)!.body.messages.map((message: any) => message.content);
const answered = (ran: Ran): void => deepEqual([ran.stdout, ran.code], ["pong\n", 0], ran.stderr);

const ODD = "a\nb\r\nc\u2028d \0\x07\x1b[31m \ud83d"; // with half an emoji
test("append() is on the disk when it returns, and is as it was given when the session is opened again", () => {
  const { home } = place();
  const session = openSession(home, head(), silent);
  session.append("message", { message: { role: "user", text: ODD } });
  session.append("made-up", { some: { thing: [ODD] } });
  match(fs.readFileSync(join(home, "sessions", `${ID}.jsonl`), "utf8"), /"thing":\[[^\n]*\n$/);
  session.close();
  const { entries, heard } = look(home);
  const [first, second] = entries.map(({ at, ...rest }) => rest);
  deepEqual([heard, entries.length], [[], 2]);
  deepEqual(first, { id: 1, parent: null, type: "message", message: { role: "user", text: ODD } });
  deepEqual(second, { id: 2, parent: 1, type: "made-up", some: { thing: [ODD] } });
});

for (const [what, entries, expected] of [
  ["branches of branches", [...said(4), entry(5, 2, "b"), entry(6, 5, "b"), entry(7, 3, "c")],
    [1, 2, 3, 7]],
  ["a parent that was lost", [entry(1, null, "a"), entry(2, 1, "b"), entry(4, 3, "d")], [1, 2, 4]],
  ["a parent that is itself", [entry(1, null, "a"), entry(2, 2, "b")], [1, 2]],
  ["a parent that comes later", [entry(1, null, "a"), entry(2, 3, "b"), entry(3, 2, "c")],
    [1, 2, 3]],
  ["no entries", [], []],
] as const) // biome-ignore format: a table
  test(`branch() follows parents: ${what}`, () => {
    const { home } = place();
    put(home, lines(head(), ...entries));
    const { branch, entries: all } = look(home);
    deepEqual(ids(branch), expected);
    equal(all.length, entries.length, "the other branches are still there");
  });

const whole = lines(head(), ...said(3));
for (const [what, tail] of [
  ["half a line", '{"id":4,"parent":3,"type":"mess'],
  ["a line that lacks only its line end", JSON.stringify(entry(4, 3, "never confirmed"))],
  ["half a letter", Buffer.from('{"text":"ż').subarray(0, -1)],
] as const)
  test(`a torn end is cut off and reported, all before it kept: ${what}`, () => {
    const { home } = place();
    const file = put(home, Buffer.concat([Buffer.from(whole), Buffer.from(tail)]));
    const { entries, heard } = look(home);
    deepEqual(ids(entries), [1, 2, 3]);
    equal(fs.readFileSync(file, "utf8"), whole);
    const size = Buffer.byteLength(tail);
    deepEqual(heard, [
      `Session file '${file}' ended in the middle of a line; its last ${size} bytes, never confirmed as saved, were cut off.`,
    ]);
    deepEqual(look(home).heard, [], "once only");
  });

for (const [what, line] of [
  ["half a line", '{"id":2,"par'],
  ["zeros", "\0".repeat(300)],
  ["null", "null"],
  ["an object that is no entry", "{}"],
] as const)
  test(`a spoilt line is passed over, reported and left where it is: ${what}`, () => {
    const { home } = place();
    const bytes = lines(
      head(),
      ...said(1),
      line,
      entry(3, 2, "said 3"),
      entry(4, 3, "said 4"),
      line,
    );
    const file = put(home, bytes);
    const { branch, heard } = look(home);
    deepEqual(ids(branch), [1, 3, 4]);
    deepEqual(heard, [`Session file '${file}' has 2 unreadable lines, which were ignored.`]);
    equal(fs.readFileSync(file, "utf8"), bytes);
    const session = openSession(home, ID, () => {});
    session.append("message", { message: { role: "user", text: "more" } });
    session.close();
    ok(fs.readFileSync(file, "utf8").startsWith(bytes));
    deepEqual(ids(look(home).branch), [1, 3, 4, 5], "what is added hangs on what was there");
  });

const UNREADABLE: [string, string | Buffer, RegExp][] = [
  ["full of zeros", Buffer.alloc(65_536), /it holds no readable header/],
  ["empty", "", /it is empty/],
  ["a header without its line end", JSON.stringify(head()), /it holds no readable header/],
  ["of a later format", lines({ ...head(), zz: 2 }, ...said(2)),
    /a newer zz made it\. .*Open it with that one/],
  ["text of another kind", "# notes\nbuy milk\n", /it holds no readable header/],
]; // biome-ignore format: a table
for (const [what, bytes, why] of UNREADABLE)
  test(`openSession() refuses a file that is ${what}, leaves it byte-identical and keeps no lock`, () => {
    const { home } = place();
    const file = put(home, bytes);
    const message = new RegExp(`^Cannot open session file '${file}': ${why.source}`);
    throws(() => openSession(home, ID, silent), { message });
    deepEqual(fs.readFileSync(file), Buffer.from(bytes));
    deepEqual(folder(home), [`${ID}.jsonl`]);
  });

for (const [what, bytes] of UNREADABLE.filter(([what]) => /^full of zeros|later/.test(what)))
  test(`zz -c passes over a file that is ${what}, with one sentence, and goes on with the session before it`, async () => {
    const where = place();
    const good = put(where.home, lines(head(ID, fs.realpathSync(where.cwd)), ...said(2)));
    const bad = put(where.home, bytes, "20260202-000000-bbbbbbbb");
    fs.utimesSync(good, 1, 1); // the bad one was used last
    const before = fs.readFileSync(good, "utf8");
    const ran = await ask(where, ["-c"]);
    answered(ran);
    const why = /later/.test(what) ? "is of a newer zz" : "holds no readable header";
    equal(ran.stderr, `Session file '${bad}' ${why}; it was ignored and left as it is.\n`);
    deepEqual(fs.readFileSync(bad), Buffer.from(bytes));
    ok(fs.readFileSync(good, "utf8").startsWith(before));
    deepEqual(asked().slice(1), ["said 1", "said 2", "ping"]);
  });

test("The session that was used last is known on a disk that keeps times to two seconds", () => {
  const { home, cwd } = place();
  const second = Date.parse(AT) / 1_000;
  const order = ["b", "d", "a", "c"].map((letter) => `20260101-000000-${letter.repeat(8)}`);
  for (const [i, id] of order.entries()) {
    const last = { ...entry(1, null, "hi"), at: new Date(Date.parse(AT) + i * 400).toISOString() };
    fs.utimesSync(put(home, lines(head(id, cwd), last), id), second, second);
  }
  const strange = { ...entry(1, null, "hi"), at: "2222-01-01T00:00:00.000Z" }; // a clock gone wrong
  const old = "20250101-000000-eeeeeeee";
  fs.utimesSync(put(home, lines(head(old, cwd), strange), old), second - 9, second - 9);
  const last = [...order.toReversed(), old];
  deepEqual(
    listSessions(home).map(({ id }) => id),
    last,
  );
  const seen: string[] = [];
  lastSession(home, cwd, silent, (id) => !seen.push(id));
  deepEqual(seen, last);
});

const lockOf = (home: string, id = ID): string => join(home, "sessions", `${id}.lock`);
let ended: number[] = [];
/** Made by the hundred in a shell, which forks cheaper than this process. */
const dead = (): number => {
  if (!ended.length)
    ended = String(
      spawnSync("sh", ["-c", "for i in $(seq 100); do (:) & echo $!; wait; done"]).stdout,
    )
      .trim()
      .split("\n")
      .map(Number);
  return ended.pop()!;
};

for (const [what, text] of [
  ["of a dead process", () => `${dead()} 1`],
  ["of a number that another process has now", () => `${process.pid} 1`],
  ["that is empty", () => ""],
] as const)
  test(`a lock ${what} is taken over`, () => {
    const { home } = place();
    put(home, whole);
    fs.writeFileSync(lockOf(home), text());
    const session = openSession(home, ID, silent);
    equal(fs.readFileSync(lockOf(home), "utf8").split(" ")[0], String(process.pid));
    session.close();
    deepEqual(folder(home), [`${ID}.jsonl`], "nothing else stays behind");
  });

test("a lock of a process that was killed but not yet reaped (a container without an init) is taken over", async (t) => {
  if (process.platform !== "linux") return t.skip("zombies can be told apart only by /proc");
  const { home } = place();
  put(home, whole);
  const code = `import { lastSession, listSessions, openSession } from ${JSON.stringify(join(ROOT, "kernel/conversation/session-files.ts"))};
    openSession(${JSON.stringify(home)}, ${JSON.stringify(ID)}, console.error); process.kill(process.pid, "SIGKILL");`;
  // The shell becomes a sleep, which never waits for its children.
  const script = '"$0" --input-type=module -e "$1" & echo $!; exec sleep 60';
  const parent = spawn("sh", ["-c", script, process.execPath, code]);
  t.after(() => parent.kill("SIGKILL"));
  const pid = Number(
    await new Promise<string>((told) => parent.stdout.once("data", (data) => told(String(data)))),
  );
  await waitFor("the process to be dead and not reaped", () =>
    /\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8")),
  );
  match(fs.readFileSync(lockOf(home), "utf8"), new RegExp(`^${pid} `));
  openSession(home, ID, silent).close();
});

test("what a plugin remembers of what it told is on the disk before the answer", async (t) => {
  const teller = (zz: Zz) => {
    const kept = zz.state({ n: 0 });
    zz.layer({ name: "l", slot: "turn", text: () => `told ${++kept.n}` });
  };
  const saved = () => fs.readFileSync(join(it.home, "sessions", `${it.chat.id}.jsonl`), "utf8");
  const it = await harness({ plugins: [teller], script: [saved] }, t);
  match((await it.ask("first")).text, /"n":1\b/);
});

test("a lock of a live process refuses with a sentence that names it, and stays", async () => {
  const where = place();
  const file = put(where.home, whole);
  const session = openSession(where.home, ID, silent);
  try {
    const held = fs.readFileSync(lockOf(where.home), "utf8");
    const { code, stdout, stderr } = await ask(where, ["--session", ID]);
    deepEqual([code, stdout], [1, ""]);
    equal(
      stderr,
      `Cannot open session '${ID}': another zz (process ${process.pid}) has it open. Go on there, or close it; --fork goes on in a copy.\n`,
    );
    equal(fs.readFileSync(file, "utf8"), whole);
    equal(fs.readFileSync(lockOf(where.home), "utf8"), held);
    answered(await ask(where, ["--fork", ID]));
    const changes = await zz(where, ["--session", ID, "--changes"]);
    deepEqual([changes.code, changes.stderr], [0, ""], "to look at them needs no lock");
    throws(() => openSession(where.home, ID, silent), /another zz/, "nor twice in one process");
    const locks = folder(where.home).filter((name) => !name.endsWith(".jsonl"));
    deepEqual(locks, [`${ID}.lock`]);
  } finally {
    session.close();
  }
  answered(await ask(where, ["--session", ID]));
});

const mode = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8);

test("session files and locks are the person's alone, whatever the umask", () => {
  const { home } = place();
  const umask = process.umask(0);
  try {
    const session = openSession(home, head(), silent);
    session.append("message", { message: { role: "user", text: "secret" } });
    const at = join(home, "sessions");
    deepEqual([mode(join(at, `${ID}.jsonl`)), mode(lockOf(home)), mode(at)], ["600", "600", "700"]);
    session.close();
  } finally {
    process.umask(umask);
  }
});

test("a sessions folder that was there before (git makes it 755) becomes the person's alone", async () => {
  const where = place();
  fs.mkdirSync(join(where.home, "sessions"), { recursive: true });
  fs.chmodSync(join(where.home, "sessions"), 0o755);
  answered(await ask(where, []));
  equal(mode(join(where.home, "sessions")), "700");
});

test("a session that another zz has open is not renamed, and the list keeps its title", async () => {
  const { home, cwd: root } = place();
  put(home, lines(head(ID, root), ...said(1)));
  const open = openSession(home, ID, silent);
  const { sessions } = (await createZz({ home, root, bare: true })).ctx();
  throws(() => sessions.rename(ID, "another"), /another zz \(process \d+\) has it open/);
  deepEqual(sessions.list()[0]?.title, ID);
  open.close();
  sessions.rename(ID, "another");
  deepEqual(sessions.list()[0]?.title, "another");
  openSession(home, ID, silent).close(); // it was let go
});

test("a list opens each short session once, and a long one twice", (t) => {
  const { home } = place();
  const folder = join(home, "sessions");
  fs.mkdirSync(folder, { recursive: true });
  for (let n = 0; n < 500; n++) {
    const lines = [head(), ...(n % 100 ? [] : [{ text: "long".repeat(5_000) }])];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    fs.writeFileSync(join(folder, `20260101-${String(n).padStart(6, "0")}-abcdefgh.jsonl`), text);
  }
  const opened = t.mock.method(fs, "openSync");
  equal(listSessions(home).length, 500);
  const sessions = opened.mock.calls.filter((call) => String(call.arguments[0]).endsWith(".jsonl"));
  equal(sessions.length, 505);
});

test("zz -c does not go on with a session of another folder", async () => {
  const where = place();
  const file = put(where.home, lines(head(ID, "/somewhere/else"), ...said(2)));
  const before = fs.readFileSync(file);
  const ran = await ask(where, ["-c"]);
  answered(ran);
  equal(ran.stderr, "There is no earlier session in this folder; this is a new one.\n");
  deepEqual(asked().slice(1), ["ping"]);
  deepEqual(fs.readFileSync(file), before);
  equal(folder(where.home).length, 2);
});

test("zz --fork leaves the original byte-identical: a torn end, too", async () => {
  const where = place();
  const file = put(
    where.home,
    lines(head(ID, fs.realpathSync(where.cwd)), ...said(2)) + '{"id":9,"par',
  );
  const before = fs.readFileSync(file);
  for (const flag of ["--fork", `--fork=${ID}`]) {
    answered(await ask(where, [flag]));
    deepEqual(asked().slice(1), ["said 1", "said 2", "ping"], flag);
    deepEqual(fs.readFileSync(file), before, flag);
  }
  const copies = folder(where.home).filter((name) => !name.startsWith(ID));
  equal(copies.length, 2, "and no locks");
  const { branch } = look(where.home, copies[0]!.replace(".jsonl", ""));
  equal(textsOf(branch), "said 1, said 2, ping, pong");
});

test("zz -n -c reads the last session, tells the model and writes nothing", async () => {
  const where = place();
  const file = put(where.home, lines(head(ID, fs.realpathSync(where.cwd)), ...said(2)) + '{"torn');
  const before = [fs.readFileSync(file), fs.statSync(file).mtimeMs] as const;
  answered(await ask(where, ["-n", "-c"]));
  deepEqual(asked().slice(1), ["said 1", "said 2", "ping"]);
  deepEqual([fs.readFileSync(file), fs.statSync(file).mtimeMs], before);
  deepEqual(folder(where.home), [`${ID}.jsonl`]);
});

for (const [what, home] of [
  ["under a file", (where: Place) => join(where.cwd, "file", "home")],
  ["under /proc", () => "/proc/self/zz-home"],
] as const)
  test(`a home that cannot be made (${what}) costs the saving, not the answer`, async () => {
    const where = place();
    fs.writeFileSync(join(where.cwd, "file"), "mine\n");
    const ran = await ask({ ...where, home: home(where) }, []);
    answered(ran);
    const why =
      /^Cannot save the session in '.+': .+\. It goes on unsaved; --home or ZZ_HOME names another place\.\n$/;
    match(ran.stderr, why);
    equal(fs.readFileSync(join(where.cwd, "file"), "utf8"), "mine\n");
  });

test("A lock whose process died before the session had a first line goes with the next -c; one that is held stays", async () => {
  const where = place();
  const folder = join(where.home, "sessions");
  fs.mkdirSync(folder, { recursive: true });
  const held = `${process.pid} ${processStartTime(process.pid)}`;
  const files = { "a.lock": "999999999 1", "b.lock": "999999999 1", "b.jsonl": "", "c.lock": held };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(join(folder, name), text);
  await zz(where, ["-c", "-m", "offline/router", "/help"]);
  const locks = fs.readdirSync(folder).filter((name) => /^[abc]\.lock/.test(name));
  deepEqual(locks, ["c.lock"]);
});

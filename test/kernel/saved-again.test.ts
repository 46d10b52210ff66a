// A disk that is full while zz talks: the conversation goes on, and its session is whole again once
// there is room.
import { deepEqual, equal, match, throws } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Header } from "../../kernel/contract.ts";
import { openSession } from "../../kernel/conversation/session-files.ts";
import { harness } from "../../sdk/testing.ts";
import { place, zz } from "../support/run.ts";

/** While `isFull`, nothing is written into sessions. */
async function conversation(t: TestContext) {
  const it = { isFull: false };
  const real = fs.writeSync;
  t.after(() => Object.assign(fs, { writeSync: real }));
  fs.writeSync = ((...given: Parameters<typeof real>) => {
    if (it.isFull) real(...(given.slice(0, 3) as [number, Buffer, number]), 5); // half a line
    if (it.isFull)
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    return real(...given);
  }) as typeof real;
  const zz = await harness(
    { script: ["one", "two", "three", "four"].map((text) => ({ text })) },
    t,
  );
  const files = () =>
    fs.readdirSync(join(zz.home, "sessions")).filter((name) => name.endsWith(".jsonl"));
  const saved = (name = files()[0]!) =>
    fs
      .readFileSync(join(zz.home, "sessions", name), "utf8")
      .trim()
      .split("\n")
      .flatMap((line) => JSON.parse(line).message?.text ?? []);
  return { it, zz, files, saved };
}

test("with an entry that does not fit, and later ones: all of them are in the same file once there is room", async (t) => {
  const { it, zz, files, saved } = await conversation(t);
  await zz.ask("first");
  const { id } = zz.chat;
  it.isFull = true;
  await zz.ask("second");
  await zz.ask("third");
  deepEqual([saved(), zz.chat.id], [["first", "one"], ""]);
  it.isFull = false;
  await zz.ask("fourth");
  deepEqual(saved(), ["first", "one", "second", "two", "third", "three", "fourth", "four"]);
  deepEqual([files().length, zz.chat.id], [1, id]);
  match(zz.notes.join("\n"), /goes on unsaved; .*\n.*The session is saved again, as '/);
  await zz.restart();
  equal(zz.chat.messages.length, 8);
});

test("from the first entry on: a session is made once there is room", async (t) => {
  const { it, zz, files, saved } = await conversation(t);
  it.isFull = true;
  await zz.ask("first");
  const header: Header = { zz: 1, id: "own", at: "", root: "/p", model: "a/b", title: "t" };
  throws(() => openSession(zz.home, header, () => {}), /ENOSPC/);
  deepEqual(files(), [], "no empty file is left");
  it.isFull = false;
  await zz.ask("second");
  deepEqual([files().length, saved()], [1, ["first", "one", "second", "two"]]);
});

test("where another zz went on with the file meanwhile, both are kept, each in its own", async (t) => {
  const { it, zz, files, saved } = await conversation(t);
  await zz.ask("first");
  const name = files()[0]!;
  it.isFull = true;
  await zz.ask("second");
  it.isFull = false;
  const theirs = {
    id: 4,
    parent: 3,
    at: new Date(0).toISOString(),
    type: "message",
    message: { role: "user", text: "theirs" },
  };
  fs.appendFileSync(join(zz.home, "sessions", name), `${JSON.stringify(theirs)}\n`);
  await zz.ask("third");
  deepEqual(saved(name), ["first", "one", "theirs"]);
  deepEqual(
    saved(files().find((one) => one !== name)),
    "first one second two third three".split(" "),
  );
});

for (const makesRoom of [true, false])
  test(`--changes and --undo run while the home is full; the undo is ${makesRoom ? "kept, since it made room" : "told as one that is not kept"}`, async (t) => {
    const where = place();
    await zz(where, ["--allow-write", "--call", "write_file", '{"path":"big","content":"x"}']);
    const real = fs.writeFileSync;
    t.after(() => Object.assign(fs, { writeFileSync: real }));
    const isFull = () => !makesRoom || fs.existsSync(join(where.cwd, "big"));
    fs.writeFileSync = ((...given: Parameters<typeof real>) => {
      if (`${given[0]}`.startsWith(where.home) && isFull())
        throw Object.assign(new Error(), { code: "ENOSPC" });
      return real(...given);
    }) as typeof real;
    match((await zz(where, ["--changes"])).stdout, /created +big/);
    const { code, stdout, stderr } = await zz(where, ["--undo"]);
    deepEqual(
      [
        code,
        /^Undid 1 change: big \(removed, .*\)\.\n$/.test(stdout),
        fs.existsSync(join(where.cwd, "big")),
      ],
      [0, true, false],
      stderr,
    );
    match(
      stderr,
      makesRoom ? /The session is saved again/ : /zz does not remember that it undid this/,
    );
    const again = (await zz(where, ["--undo"])).stdout;
    equal(/^Nothing to undo/.test(again), makesRoom, again);
    if (makesRoom) return;
    const args = '{"path":"more","content":"x"}';
    const refused = await zz(where, ["--allow-write", "--call", "write_file", args]);
    match(
      refused.stderr,
      /^Cannot write 'more': what would undo it cannot be saved\. Cannot save the/,
    );
    deepEqual([refused.code, fs.existsSync(join(where.cwd, "more"))], [1, false]);
  });

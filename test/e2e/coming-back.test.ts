// Leaving a conversation and coming back to it: what zz says at the end, shows at the start, and
// lists of each session.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { processStartTime } from "../../kernel/system/temporary-files.ts";
import { askable, DONE, delta, refuse, say, stream } from "../support/fake/openai.ts";
import { repl, TAB } from "../support/repl.ts";
import { place, zz } from "../support/run.ts";

test("Leaving says how to come back; the last conversation is offered once, and Tab on the empty line continues it", async (t) => {
  const size = { cols: 40, rows: 15 };
  const silent = await repl(t, size);
  await silent.leave();
  ok(!silent.screen().includes("come back"), "nothing was said");
  const zz = await repl(t, size);
  await zz.say("mend the typo in the long explanation of prices");
  await zz.leave();
  match(zz.screen(), /^To come back: zz -c, or\nzz --session \S+$/m);
  const again = await repl(t, { where: zz.where, ...size });
  const shown = await again.sees(/^Tab continues “mend.*” \(just now\)$/m);
  for (const row of shown.split("\n")) ok(row.length < size.cols, row);
  await again.hit(TAB, /Now in “mend[\s\S]*1 message\s+of\s+yours/);
  await again.say("and now?", /and now\?[\s\S]*Good\./);
  equal(again.fake.requests[0]!.body.messages.filter((one: any) => one.role === "user").length, 2);
  await again.leave();
  equal(zz.where.sessions().length, 1);
  const typed = await repl(t, { where: zz.where, ...size });
  await typed.sees("Tab continues");
  await typed.say("something new");
  // it would be answered in the other one
  await typed.say(`${TAB}more`, /more[\s\S]*Good\.[\s\S]*›$/);
  await typed.leave();
  equal(zz.where.sessions().length, 2);
});

test("The last conversation is not offered with -c, where the settings say so, or while another zz has it", async (t) => {
  const model = await askable([say("Good.")]);
  for (const args of [["-c"], ["--config", "off.json"], []]) {
    const where = place({ "off.json": { repl: { offer: false } } });
    await zz(where, [...model.args, "--once", "hi"]);
    const lock = join(where.home, "sessions", `${where.sessions()[0]![0].id}.lock`);
    if (!args.length) writeFileSync(lock, `${process.ppid} ${processStartTime(process.ppid)}`);
    const talk = await repl(t, { where, args });
    await talk.say("again", /again[\s\S]*Good\./);
    doesNotMatch(talk.screen(), /Tab continues/);
  }
});

test("-c after a crash in a turn shows no earlier answer under the last message", async (t) => {
  const where = place();
  const { args } = await askable([say("The capital is Paris.")]);
  await zz(where, [...args, "--once", "the capital of France?"]);
  const [lines = []] = where.sessions();
  const { id } = lines.at(-1);
  const message = { role: "user", text: "and of Spain?" };
  const entry = { id: id + 1, parent: id, at: new Date(0).toISOString(), type: "message", message };
  appendFileSync(
    join(where.home, "sessions", `${lines[0].id}.jsonl`),
    `${JSON.stringify(entry)}\n`,
  );
  const again = await repl(t, { where, args: ["-c"] });
  await again.sees(/goes on\s+after 3\s+messages/);
  match(again.screen(), /\nYou: and of Spain\?\nIt has no answer yet: \/retry asks again\./);
  doesNotMatch(again.screen(), /Paris/);
  await again.say("/retry", "Good.");
  await again.leave();
});

test("-c after a crash in the middle of changes says how to go on, and how to take them back", async (t) => {
  const where = place();
  const kill = new AbortController();
  const write = (name: string) => {
    const called = {
      name: "write_file",
      arguments: JSON.stringify({ path: name, content: "new\n" }),
    };
    const tool_calls = [{ index: 0, id: name, type: "function", function: called }];
    return stream(
      delta({ content: "I write it." }),
      delta({ tool_calls }),
      delta({}, "tool_calls"),
      DONE,
    );
  };
  const { args } = await askable((_, turn) => {
    if (turn === 2) kill.abort();
    return turn === 2 ? { ending: "hang" } : write(`${turn}.txt`);
  });
  await zz(where, [...args, "--allow-write", "--once", "write two"], { signal: kill.signal });
  const again = await repl(t, { where, args: ["-c"] });
  match(
    again.screen(),
    /\nYou: write two\nzz: I write it\.\nIts turn did not end: \/continue goes on, \/undo takes back the last of its 2\s+changes to\s+files\./,
  );
  await again.say("/undo", /Undid 1 change: 1\.txt \(removed, 1 line\)/);
  await again.leave();
});

test("A one-shot that failed leaves no entry in the list, until it goes on", async () => {
  const no = refuse(400, "no");
  const { args } = await askable([no, no, say("Yes."), no]);
  const where = place();
  for (const [words, code, listed] of [
    [["one"], 1, 0],
    [["-c", "two"], 1, 0],
    [["-c", "three"], 0, 1],
    [["-c", "four"], 1, 1],
  ] as const) {
    equal((await zz(where, [...args, ...words])).code, code);
    equal((await zz(where, ["--sessions"])).stdout.split("\n").filter(Boolean).length, listed);
  }
  const said = where
    .sessions()
    .map((lines) => lines.filter(({ type }) => type === "message").length);
  deepEqual(said, [5], "nothing was lost");
});

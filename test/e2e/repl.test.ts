// The prompt's loop, in a real pseudo-terminal: what the screen shows and what the files hold.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, fakeOpenAI, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { place } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const asks = (url: string) => ["-m", "openai/m", "--base-url", url, "--key", "x"];

test("The REPL answers, remembers, and leaves at Ctrl+D with 0", async (t) => {
  const fake = await fakeOpenAI([say("Good day."), say("You said hello.")]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`hello${KEY.enter}`);
  await term.sees("Good day.");
  await term.sees(/61 tokens in, 9 out · 0 calls/);
  term.type(`what did I say?${KEY.enter}`);
  await term.sees("You said hello.");
  deepEqual(
    fake.requests[1]!.body.messages.slice(1).map((message: any) => message.content),
    ["hello", "Good day.", "what did I say?"],
  );
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
  equal(where.sessions()[0]!.filter(({ type }) => type === "message").length, 4);
});

test("Words on a terminal are answered first, then the prompt is there", async (t) => {
  const fake = await fakeOpenAI([say("First."), say("Second.")]);
  t.after(fake.close);
  const term = terminal(place(), [...asks(fake.url), "one", "two"]);
  await term.sees("First.");
  equal(fake.requests[0]!.body.messages.at(-1).content, "one two");
  term.type(`more${KEY.enter}`);
  await term.sees("Second.");
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("Calls are announced before they run, and their results are told", async (t) => {
  const fake = await fakeOpenAI([call(["list_dir", {}], ["read_file", { path: "a.txt" }]), say("Seen.")]);
  t.after(fake.close);
  const where = place();
  writeFileSync(join(where.cwd, "a.txt"), "x\n");
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`look${KEY.enter}`);
  const shown = await term.sees("Seen.");
  match(shown, /■ list_dir[\s\S]*■ read_file[\s\S]*✓ (list_dir|read_file)[\s\S]*✓ (list_dir|read_file)[\s\S]*Seen\./);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("Ctrl+C aborts a turn: the socket closes, the session stays, the next message is answered", async (t) => {
  const fake = await fakeOpenAI([{ ...stream(), ending: "hang" }, say("Back.")]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, asks(fake.url), { process: true });
  await term.sees("›");
  term.type(`wait${KEY.enter}`);
  while (!fake.requests.length) await new Promise((resolve) => setTimeout(resolve, 10));
  term.type(KEY.ctrlC);
  await fake.requests[0]!.aborted;
  await term.sees("Stopped.");
  term.type(`again${KEY.enter}`);
  await term.sees("Back.");
  deepEqual(problems(fake.requests[1]!.body), []);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("Ctrl+C clears what is typed; at an empty prompt twice it leaves with 130", async () => {
  const term = terminal(place(), ["-m", "offline/router"]);
  await term.sees("›");
  term.type("half a thought");
  await term.sees("half a thought");
  term.type(KEY.ctrlC);
  await term.sees("^C");
  term.type(KEY.ctrlC);
  await term.sees("Ctrl+C again to leave.");
  term.type(KEY.ctrlC);
  equal(await term.exited, 130);
});

test("A failing provider leaves a choice: retry asks again", async (t) => {
  const broken = refuse(400, { error: { message: "no such engine" } });
  const fake = await fakeOpenAI([broken, say("Now it works.")]);
  t.after(fake.close);
  const term = terminal(place(), asks(fake.url));
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("[r]etry");
  await new Promise((soon) => setTimeout(soon, 400)); // the live line must not write over the question
  match(term.screen(), /no such engine\.?\n\[r\]etry, \[S\]kip, \[a\]bort and take the message back/);
  term.type(`r${KEY.enter}`);
  await term.sees("Now it works.");
  term.type(KEY.ctrlD);
  await term.exited;
});

test("A failing provider leaves a choice: abort takes the message back, skip keeps it", async (t) => {
  const broken = refuse(400, { error: { message: "no such engine" } });
  const fake = await fakeOpenAI([broken, broken, say("Fine.")]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`lost${KEY.enter}`);
  await term.sees("[r]etry");
  term.type(`a${KEY.enter}`);
  await term.sees(/›\s*$/);
  term.type(`kept${KEY.enter}`);
  await term.sees(/kept[\s\S]*\[r\]etry/);
  term.type(`s${KEY.enter}`);
  await term.sees(/› s?\n?[\s\S]*›\s*$/);
  term.type(`last${KEY.enter}`);
  await term.sees("Fine.");
  const last = fake.requests.at(-1)!.body.messages.slice(1);
  deepEqual(last, [{ role: "user", content: "kept\n\nlast" }]);
  term.type(KEY.ctrlD);
  await term.exited;
  ok(JSON.stringify(where.sessions()).includes("lost"), "the file keeps what was taken back");
  const again = terminal(where, [...asks(fake.url), "-c"]);
  await again.sees("›");
  again.type(`more${KEY.enter}`);
  await again.sees("Fine.");
  ok(!JSON.stringify(fake.requests.at(-1)!.body).includes("lost"));
  again.type(KEY.ctrlD);
  await again.exited;
});

test("At the cap the person is asked whether to go on", async (t) => {
  const fake = await fakeOpenAI([call(["list_dir", {}]), call(["list_dir", { path: "." }]), say("Enough.")]);
  t.after(fake.close);
  const where = place();
  mkdirSync(join(where.cwd, "sub"));
  const term = terminal(where, [...asks(fake.url), "--rounds", "1"]);
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("1 round used up. Go on? [y/N]");
  term.type(`y${KEY.enter}`);
  await term.sees("2 rounds used up");
  term.type(`n${KEY.enter}`);
  await term.sees("Enough.");
  ok(!("tools" in fake.requests[2]!.body));
  term.type(KEY.ctrlD);
  await term.exited;
});

test("Without a model the REPL opens offline and says how to get one", async () => {
  const term = terminal(place(), []);
  await term.sees(/openai {2}no key is set \(OPENAI_API_KEY\)[\s\S]*Which model should answer\?[\s\S]*navigate/);
  term.type("\x1b");
  await term.sees(/Nothing was changed: zz is offline[\s\S]*›$/);
  term.type(`todos${KEY.enter}`);
  await term.sees("not a model");
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("A misspelt command names the nearest one, and a double slash is text", async (t) => {
  const fake = await fakeOpenAI([say("A path.")]);
  t.after(fake.close);
  const term = terminal(place(), asks(fake.url));
  await term.sees("›");
  term.type(`/hlep${KEY.enter}`);
  await term.sees("Did you mean '/help'?");
  term.type(`//etc${KEY.enter}`);
  await term.sees("A path.");
  equal(fake.requests[0]!.body.messages.at(-1).content, "/etc");
  term.type(`/quit${KEY.enter}`);
  equal(await term.exited, 0);
});

test("Escape codes from a model are shown, never obeyed", async (t) => {
  const fake = await fakeOpenAI([say("safe\x1b[2J\x1b[H\x07end\u202egnp")]);
  t.after(fake.close);
  const term = terminal(place(), asks(fake.url));
  await term.sees("›");
  term.type(`hi${KEY.enter}`);
  match(await term.sees("end"), /hi\n[\s\S]*safe␛\[2J␛\[H␇end�gnp/);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("SIGTERM leaves with 143 and the terminal in its normal state", async (t) => {
  const fake = await fakeOpenAI([{ ...stream(), ending: "hang" }]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, asks(fake.url), { process: true });
  await term.sees("›");
  term.type(`wait${KEY.enter}`);
  while (!fake.requests.length) await new Promise((resolve) => setTimeout(resolve, 10));
  process.kill(term.pty.pid, "SIGTERM");
  equal(await term.exited, 143);
  equal(where.sessions()[0]![1].message.text, "wait");
});

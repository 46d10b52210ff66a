// Slash commands in a real pseudo-terminal: what the screen shows, the session files hold and the server is asked.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import type { Entry, Message } from "../../kernel/contract.ts";
import { fillTemplate, frontMatter } from "../../kernel/prompt.ts";
import { codeBlocks } from "../../plugins/answer.ts";
import { drawTree, endOfTurn } from "../../plugins/conversation.ts";
import { costs } from "../../plugins/cost.ts";
import { page } from "../../plugins/lists.ts";
import { aligned, chart, filesRead, groups } from "../../plugins/status.ts";
import { harness } from "../../sdk/testing.ts";
import type { Fake, Step } from "../support/fake/http.ts";
import { call, fakeOpenAI, refuse, say } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { repl, sharedRepl } from "../support/repl.ts";
import { type Place, place, ROOT, zz } from "../support/run.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", ...more];

type How = { where?: Place; args?: string[]; cols?: number; rows?: number; env?: Record<string, string> };
/** A conversation at a terminal. `gives` types a line and waits for what the screen then shows. */
async function talk(t: TestContext, script: Parameters<typeof fakeOpenAI>[0], how: How = {}) {
  const { where = place(), args = [], ...size } = how;
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const term = terminal(where, asks(fake.url, ...args), { rows: 50, ...size });
  return talkAt({ ...term, where, fake });
}

/** The same at a prompt that tests share: of those that leave no more behind than a conversation. */
async function talkAgain(t: TestContext, prompt: Prompt, script: Step[] = []) {
  const before = prompt.free;
  const { promise, resolve } = Promise.withResolvers<void>();
  prompt.free = promise;
  t.after(() => resolve());
  await before;
  return talkAt(await prompt.open(script));
}
interface Prompt {
  open: Awaited<ReturnType<typeof sharedRepl>>;
  free: Promise<void>; // once the test before has ended
}
const prompt = async (cols: number): Promise<Prompt> => ({
  open: await sharedRepl({ cols, rows: 50 }),
  free: Promise.resolve(),
});
const [narrow, usual, wide] = await Promise.all([prompt(40), prompt(80), prompt(120)]);

function talkAt({ where, fake, ...term }: Terminal & { where: Place; fake: Fake }) {
  return {
    ...{ where, term, fake, raw: term.raw },
    async gives(line: string, text: string | RegExp) {
      await term.sees(/(^|\n)[^\n]*›$/); // ready: text typed ahead would be elsewhere
      term.type(line + KEY.enter);
      return term.sees(text);
    },
    /** The last request to the model, without the system prompt. */
    sent: () =>
      fake.requests
        .at(-1)!
        .body.messages.slice(1)
        .map((message: any) => message.content),
    async leaves() {
      term.type(KEY.ctrlD);
      equal(await term.exited, 0);
      return where.sessions();
    },
  };
}

describe("the conversation", { concurrency: 2 }, () => {
  test("/clear empties what the model is sent, not the file, and files can still be undone", async (t) => {
    const { gives, sent, leaves, where } = await talk(
      t,
      [call(["write_file", { path: "a.txt", content: "x\n" }]), say("Written."), say("Afresh.")],
      { args: ["--allow-write"] },
    );
    await gives("write it", "Written.");
    await gives("/clear", "The conversation starts over.");
    await gives("hello", "Afresh.");
    deepEqual(sent(), ["hello"]);
    await gives("/undo", "Undone");
    equal(existsSync(join(where.cwd, "a.txt")), false);
    const [lines] = await leaves();
    ok(lines!.some((line) => line.message?.text === "write it"));
    equal(lines!.find((line) => line.type === "back").parent, null);
  });

  test("/clear keeps the pinned files, also for the next process", async (t) => {
    const it = await harness({ own: true, files: { "a.ts": "PINNED TEXT\n" }, script: ["hello"] }, t);
    await it.command("/add a.ts");
    await it.ask("forget this");
    await it.command("/clear");
    match((await it.command("/add"))[0]!, /^Pinned: a\.ts\.$/);
    await it.restart();
    match((await it.command("/add"))[0]!, /^Pinned: a\.ts\.$/);
    await it.ask("second");
    const told = JSON.stringify(it.requests.at(-1));
    deepEqual([told.includes("PINNED TEXT"), told.includes("forget this")], [true, false]);
  });

  test("/new begins another session and names the one that is kept", async (t) => {
    const { gives, sent, leaves } = await talk(t, [say("First."), say("Second.")]);
    await gives("one", "First.");
    await gives("/new", /A new conversation\. The other is kept: \/sessions load \d{8}-/);
    await gives("two", "Second.");
    deepEqual(sent(), ["two"]);
    const sessions = await leaves();
    deepEqual(
      sessions
        .map((lines) => lines.filter(({ message }) => message?.role === "user").map(({ message }) => message.text))
        .sort(),
      [["one"], ["two"]],
    );
  });

  test("/fork goes on in a copy that is saved under the id it says", async (t) => {
    const { gives, sent, leaves, term } = await talk(t, [say("First."), say("Second.")], { cols: 120 });
    await gives("one", "First.");
    await gives("/fork", "This is a copy now");
    const [, id] = /copy now: (\S+)\./.exec(term.screen())!;
    await gives("two", "Second.");
    deepEqual(sent(), ["one", "First.", "two"]);
    const sessions = await leaves();
    const texts = (lines: any[]) => lines.flatMap(({ message }) => message?.text ?? []);
    const copy = sessions.find((lines) => lines[0].id === id)!;
    const [other] = sessions.filter((lines) => lines !== copy);
    deepEqual(
      [texts(copy), texts(other!)],
      [
        ["one", "First.", "two", "Second."],
        ["one", "First."],
      ],
    );
  });

  test("/fork of nothing, and of what is not saved, says why not", async (t) => {
    const { gives } = await talk(t, [say("First.")], { args: ["--no-session"] });
    await gives("/fork", "nothing was said in it yet");
    await gives("one", "First.");
    await gives("/fork", "it is not saved");
  });

  test("/back takes the last message back, /back 2 two of them", async (t) => {
    const { gives, sent } = await talkAgain(t, usual, [say("A."), say("B."), say("C."), say("D."), say("E.")]);
    for (const [said, answer] of [
      ["one", "A."],
      ["two", "B."],
      ["three", "C."],
    ] as const)
      await gives(said, answer);
    await gives("/back", "Took back “three”. /back #6 brings it back.");
    await gives("four", "D.");
    deepEqual(sent(), ["one", "A.", "two", "B.", "four"]);
    await gives("/back 2", "Took back 2 messages, from “two” on.");
    await gives("five", "E.");
    deepEqual(sent(), ["one", "A.", "five"]);
  });

  test("/back #ID goes on after that message and its answer, also on another branch", async (t) => {
    const { gives, sent } = await talkAgain(t, usual, [say("A."), say("B."), say("C.")]);
    await gives("one", "A.");
    await gives("/clear", "starts over");
    await gives("two", "B.");
    await gives("/back #1", "Back at #1, “one”, after its answer.");
    await gives("three", "C.");
    deepEqual(sent(), ["one", "A.", "three"]);
  });

  const refusals: [line: string, says: string][] = [
    ["/back 9", "Cannot go back 9: 1 message of yours can be taken back."],
    ["/back 0", "Cannot go back 0: 1 message"],
    ["/back soon", "Cannot go back 'soon': give how many messages, or #ID as /tree shows it."],
    ["/back #77", "Cannot go to #77: there is no entry with that number."],
  ];
  test("/back refuses what it cannot do, and the conversation stays", async (t) => {
    const { gives, sent } = await talkAgain(t, usual, [say("A."), say("B.")]);
    await gives("one", "A.");
    for (const [line, says] of refusals) await gives(line, says);
    await gives("two", "B.");
    deepEqual(sent(), ["one", "A.", "two"]);
  });

  test("/back says that changes to files stay", async (t) => {
    const { gives, where } = await talk(t, [call(["write_file", { path: "a.txt", content: "x\n" }]), say("Written.")], {
      args: ["--allow-write"],
      cols: 120,
    });
    await gives("write it", "Written.");
    await gives("/back", "1 change to files stays: /undo takes back the last.");
    ok(existsSync(join(where.cwd, "a.txt")));
  });

  test("/retry sends the same words and the same image again, in place of the first time", async (t) => {
    const where = place();
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    writeFileSync(join(where.cwd, "p.png"), Buffer.from(pixel, "base64"));
    const { gives, sent, leaves, fake } = await talk(t, [say("Red."), say("Blue.")], {
      where,
      args: ["-f", "p.png", "which colour"],
    });
    await gives("", "Red.");
    await gives("/retry", "Again: “which colour”.");
    await gives("", "Blue.");
    equal(sent().length, 1);
    deepEqual(fake.requests[1]!.body.messages.slice(1), fake.requests[0]!.body.messages.slice(1));
    ok(JSON.stringify(sent()).includes(pixel.slice(0, 40)));
    equal((await leaves())[0]!.filter((line) => line.message?.role === "user").length, 2);
  });

  test("a message with a file is named by the person's words, wherever zz quotes it", async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "price.ts"), "export const price = 1;\n");
    const { gives, leaves, fake } = await talk(t, [say("A price."), say("The price.")], { where, cols: 120 });
    await gives("what does @price.ts hold?", "A price.");
    match(
      fake.requests[0]!.body.messages.at(-1).content,
      /^--- FILE price\.ts ---\n[\s\S]*what does @price\.ts hold\?$/,
    );
    await gives("/status", "“what does @price.ts hold?”");
    await gives("/tree", "#1 what does @price.ts hold? → A price.");
    await gives("/retry", "Again: “what does @price.ts hold?”.");
    await gives("", "The price.");
    await gives("/back", "Took back “what does @price.ts hold?”");
    equal((await leaves())[0]![0]!.title, "what does @price.ts hold?");
  });

  test("/retry with nothing said says so; in one go it asks the last question again", async (t) => {
    const { gives, where, fake, leaves } = await talk(t, [say("Red."), say("Blue.")]);
    await gives("/retry", "Cannot try again: nothing was said yet.");
    await gives("which colour", "Red.");
    await leaves();
    const { stdout, code } = await zz(where, asks(fake.url, "-c", "/retry"));
    deepEqual([stdout, code], ["Blue.\n", 0]);
    deepEqual(fake.requests[1]!.body.messages.slice(1), [{ role: "user", content: "which colour" }]);
  });

  test("/tree shows every branch with its numbers, and which is in force", async (t) => {
    const { gives } = await talkAgain(t, usual, [say("A."), say("B."), say("C.")]);
    await gives("one", "A.");
    await gives("two", "B.");
    await gives("/retry", "C.");
    await gives("/tree", /● #1 one → A\.\n {2}○ #4 two → B\.\n● #7 two → C\.\n● this branch; \/back #ID goes there\./);
    await gives("/clear", "starts over");
    await gives("/tree", /○ #1 one → A\.[\s\S]*No branch is in use/);
  });

  test("/tree cuts to a narrow window, wide letters too", async (t) => {
    const { gives, term } = await talkAgain(t, narrow, [say("日本語".repeat(20))]);
    await gives("a question that is much too long for so narrow a window 日本語", "日本語日本語");
    await gives("/tree", "this branch");
    const row = term
      .screen()
      .split("\n")
      .find((line) => line.startsWith("● #1"))!;
    match(row, /^● #1 a question .*… → 日.*…$/);
    equal(
      term
        .screen()
        .split("\n")
        .filter((line) => /^(● #|.*→)/.test(line)).length,
      1,
      term.screen(),
    );
  });
});

describe("models", { concurrency: 2 }, () => {
  test("/models lists them all, marks the one in use and names who does not answer", async (t) => {
    const { gives } = await talkAgain(t, wide);
    await gives("/models", / {2}offline\/router\n\* openai\/m\n {2}openai\/n {2}8192 tokens\nollama: Cannot reach/);
  });

  test("/model NAME asks that model from now on, and the session remembers it", async (t) => {
    const { gives, fake, leaves } = await talk(t, [say("A.")]);
    await gives("/model openai/n", "Now openai/n, with a window of 8192 tokens.");
    await gives("hello", "A.");
    equal(fake.requests[0]!.body.model, "n");
    equal((await leaves())[0]![0].model, "openai/n");
  });

  test("/sessions names the model that was chosen last, also after it has answered", async (t) => {
    const { gives } = await talk(t, [say("A."), say("B.")]);
    await gives("hello", "A.");
    await gives("/sessions", /\n\* \w{4} .* hello +openai\/m\n/);
    await gives("/model openai/n", "Now openai/n");
    await gives("/sessions", /\n\* \w{4} .* hello +openai\/n\n/);
    await gives("again", "B.");
    await gives("/sessions", /openai\/n[\s\S]*\n\* \w{4} .* hello +openai\/n\n[\s\S]*›\s*$/);
  });

  test("/model takes a part of a name; of a wrong one it names the nearest or asks", async (t) => {
    const { gives, term } = await talk(t, []);
    await gives("/model rout", "Now offline/router");
    await gives("/model zebra", "Cannot use model 'zebra': there is none. /models lists them.");
    await gives("/model openai/nn", /openai does not list 'openai\/nn'\. The nearest: openai\/n,[\s\S]*\[y\/N\]/);
    term.type("n");
    await term.sees("Still offline/router");
  });

  test("/model without a name is a picker: what is typed narrows it, Enter takes it", async (t) => {
    const { gives, term, fake } = await talk(t, [say("A.")]);
    await gives("/model", /\? Model \(now openai\/m\)[\s\S]*openai\/n {2}8192 tokens/);
    term.type("/n");
    await term.sees(/\? Model \(now openai\/m\) \/n[\s\S]*❯ openai\/n/);
    term.type(KEY.enter);
    await term.sees("Now openai/n");
    await gives("hello", "A.");
    equal(fake.requests[0]!.body.model, "n");
  });

  test("Ctrl+C in the picker means no, and the conversation goes on", async (t) => {
    const { gives, term, leaves } = await talk(t, [say("A.")]);
    await gives("/model", "❯ openai/m");
    term.type(KEY.ctrlC);
    await term.sees("Still openai/m");
    await gives("hello", "A.");
    await leaves();
  });

  test("/model in one go prints the one in force; a terminal that cannot move its cursor as well", async (t) => {
    const fake = await fakeOpenAI([]);
    t.after(fake.close);
    const ran = await zz(place(), asks(fake.url, "/model"));
    deepEqual([ran.code, ran.stderr], [0, "openai/m; its provider does not say how large its window is.\n"]);
    const where = place();
    const env = { ...process.env, ZZ_HOME: where.home, OLLAMA_HOST: "http://127.0.0.1:49" };
    const pty = spawn(process.execPath, [join(ROOT, "dist/zz.js"), ...asks(fake.url)], {
      name: "dumb",
      cwd: where.cwd,
      env,
    });
    t.after(() => pty.kill("SIGKILL"));
    const seen = new Promise<string>((resolve) => {
      let raw = "";
      pty.onData((data) => (raw += data).includes("how large") && resolve(raw));
    });
    pty.write("/model\r");
    match(await seen, /openai\/m; its provider does not say how large its window is\./);
  });
});

describe("status", { concurrency: 2 }, () => {
  test("/status counts turns, tokens, calls, edits applied, undone and refused", async (t) => {
    const write = (path: string) => call(["write_file", { path, content: "x\n" }]);
    const { gives, term, where } = await talk(t, [write("a.txt"), say("Done."), write("b.txt"), say("Pity.")], {
      cols: 160,
      args: ["--allow-write=a.txt"],
    });
    await gives("write a", "Done.");
    await gives("write b", "[y/N");
    term.type("n");
    await term.sees("Why not?");
    term.type(KEY.enter);
    await term.sees("Pity.");
    const shown = await gives("/status", "settings  ");
    match(shown, /^session {7}\d{8}-\d{6}-\w{8} “write a”$/m);
    match(shown, new RegExp(`^stored in {5}${where.home}/sessions/.*\\.jsonl \\(\\d+ bytes\\)$`, "m"));
    match(shown, /^model {9}openai\/m$/m);
    match(shown, /^since start {3}\d+ s; 2 turns in this conversation$/m);
    match(shown, /^tokens {8}244 in, 36 out$/m);
    match(shown, /^tools {9}2 calls, 1 of them failed$/m);
    match(shown, /^edits {9}1 applied, 0 undone, 1 refused$/m);
    match(shown, /^plugins {7}\d+ loaded, 0 failed$/m);
    match(shown, /^permissions {3}1 rule beside zz's own/m);
  });

  test("/status says the window and how much of it is used, and fits 40 columns", async (t) => {
    const { gives, term } = await talkAgain(t, narrow, [say("A.")]);
    await gives("/model n", "Now openai/n");
    await gives("hello", "A.");
    await gives("/status", /window\n {2}8192 tokens, 0\.9 % used \(70\)[\s\S]*settings\n/);
    doesNotMatch(term.screen(), /^\S+ {2,}\S/m);
  });

  test("/status counts answers that failed, /context names what was drawn into the prompt", async (t) => {
    const where = place();
    for (const [name, text] of Object.entries({
      "project/AGENTS.md": "Rules.\n@docs/more.md",
      "project/docs/more.md": "more",
      "home/skills/knots/SKILL.md": "---\nname: knots\ndescription: ties\ntriggers: rope\n---\nPull.",
    })) {
      mkdirSync(dirname(join(where.cwd, "..", name)), { recursive: true });
      writeFileSync(join(where.cwd, "..", name), text);
    }
    const script = [refuse(400, { error: { message: "no such model" } }), say("Good.")];
    const zz = await repl(t, { where, script, cols: 120, rows: 60 });
    await zz.say("tie a rope", /\[a\]bort/);
    zz.type("a");
    await zz.sees(/›\s*$/);
    await zz.say("tie another rope", /Good\.[\s\S]*›\s*$/);
    await zz.say("/status", /errors +1, the last: .*no such model[\s\S]*settings/);
    await zz.say("/context", /Drawn into the prompt: AGENTS\.md, docs\/more\.md, the skill knots\./);
    await zz.leave();
  });
  needs("git")("/status and /context in one go, in a git repository", async () => {
    const where = place();
    mkdirSync(join(where.cwd, ".git"));
    for (const [name, text] of [
      ["HEAD", "ref: refs/heads/topic\n"],
      ["config", ""],
    ] as const)
      writeFileSync(join(where.cwd, ".git", name), text);
    for (const name of ["objects", "refs"]) mkdirSync(join(where.cwd, ".git", name));
    const fake = await fakeOpenAI([]);
    const ran = await zz(where, asks(fake.url, "/status"));
    const context = await zz(where, ["-m", "openai/n", "--base-url", fake.url, "--key", "x", "/context"]);
    await fake.close();
    deepEqual([ran.code, ran.stdout], [0, ""]);
    match(ran.stderr, /^session {7}not saved\nstored in {5}nothing yet$/m);
    match(ran.stderr, /^folder .*project, branch topic$/m);
    match(context.stderr, /^About \d+ tokens of 8192 \(\d+ %\)\.$/m);
  });

  test("/context shows the biggest first, with results by tool", async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "big.txt"), "word ".repeat(8_000));
    const { gives } = await talk(t, [call(["read_file", { path: "big.txt" }]), say("Read.")], { where });
    await gives("read it", "Read.");
    const shown = await gives("/context", /About \d+ tokens[\s\S]*\nFiles read: big\.txt\.\n/);
    const rows = shown
      .slice(shown.indexOf("/context"))
      .split("\n")
      .filter((row) => row.includes("█"));
    const tokens = rows.map((row) => Number(/ {2}(\d+) {2}/.exec(row)![1]));
    deepEqual(
      tokens,
      tokens.toSorted((a, b) => b - a),
    );
    ok(
      rows.some((row) => /^results of read_file \(1\) /.test(row)) && rows.some((row) => /^prompt: base /.test(row)),
      shown,
    );
  });

  test("/prompt LAYER shows that one alone; of a wrong name what there is", async (t) => {
    const { gives } = await talkAgain(t, usual);
    const shown = await gives(
      "/prompt session",
      /\[session: project, from surroundings, about \d+ tokens\]\n[\s\S]*Folder: [\s\S]*›$/,
    );
    doesNotMatch(shown, /\[base: |in all\]/);
    await gives("/prompt nothing", "There are: base, session");
  });

  test("/prompt and --prompt show the very text that the model is sent", async (t) => {
    const { gives, fake, where, leaves } = await talk(t, [say("A.")], { args: ["--tool", "read_file"] });
    await gives("/prompt", /\[base: identity, from zz, about \d+ tokens\]\n\s*You are zz/);
    await gives("hello", "A.");
    await leaves();
    const { stdout } = await zz(where, ["--prompt", "--json", "--tool", "read_file", "-m", "openai/m"]);
    const parts = JSON.parse(stdout).map(({ text }: any) => text);
    const sent: string = fake.requests[0]!.body.messages[0].content;
    const minute = (text: string) => text.replace(/\d\d:\d\d \(UTC/, "(UTC"); // the minute may have changed
    equal(minute(parts.join("\n\n")), minute(sent));
    match(
      (await zz(where, ["--prompt"])).stdout,
      /^\[base: identity.*\]\nYou are zz[\s\S]*\[about \d+ tokens in all\]\n$/,
    );
  });
});

describe("cost", { concurrency: 2 }, () => {
  test("/cost adds up by the prices in the settings, also what was taken back", async (t) => {
    const where = place();
    mkdirSync(where.home);
    writeFileSync(
      join(where.home, "zz.config.json"),
      JSON.stringify({ prices: { "openai/m": { input: 1000, output: 10_000 } } }),
    );
    const { gives } = await talk(t, [say("A."), say("B."), say("C.")], { where });
    await gives("one", "A.");
    await gives("/retry", "B.");
    await gives("/model n", "Now openai/n");
    await gives("two", "C.");
    await gives(
      "/cost",
      /openai\/m {2}122 in {2}18 out {4}0\.3020\nopenai\/n {3}61 in {3}9 out {2}no price\nin all +0\.3020/,
    );
  });

  test("/cost, /status and the answer tell what came from a cache, where anything did", async (t) => {
    const prices = {
      "script/model": { input: 1000, output: 10_000, cached: 100, written: 2000 },
      "script/other": { input: 1000, output: 0 },
    };
    const usages = [
      { input: 100, output: 10, cached: 60, written: 20 },
      { input: 50, output: 5 },
    ];
    const script = [...usages.map((usage) => ({ text: "A.", usage })), { text: "B.", usage: usages[0]! }];
    const it = await harness({ own: true, settings: { prices }, script }, t);
    deepEqual((await it.ask("one")).usage, usages[0]);
    await it.ask("two");
    const cost = async () => (await it.command("/cost")).join("\n");
    equal(await cost(), "script/model  150 in  60 cached  15 out  0.2660");
    match((await it.command("/status")).join("\n"), /^tokens +150 in \(60 cached\), 15 out$/m);
    await it.chat.use("script/other");
    await it.ask("three");
    match(await cost(), /^script\/other {2}100 in {2}60 cached {2}10 out {2}0\.1000\nin all +0\.3660$/m);
    await it.restart();
    match(await cost(), /^script\/model {2}150 in {2}60 cached/);
  });

  for (const line of ["/compact", "/eval"])
    test(`/cost and /status count what ${line} used`, async (t) => {
      const usage = { input: 100, output: 10 };
      const it = await harness(
        {
          ...{
            own: true,
            files: { "a.ts": "1\n" },
            settings: { prices: { "script/model": { input: 1000, output: 0 } } },
          },
          script: ["one", "two", "three", "four"].map((text) => ({ text, usage })),
        },
        t,
      );
      for (const word of ["first", "second", "third"]) await it.ask(`${word} `.repeat(500));
      const before = it.requests.length;
      await it.command(line);
      const count = it.requests.length;
      ok(count > before, "nothing was asked");
      match(
        (await it.command("/cost")).join("\n"),
        new RegExp(`script/model {2}${count}00 in {2}${count}0 out {2}0\\.${count}000`),
      );
      match((await it.command("/status")).join("\n"), new RegExp(`^tokens +${count}00 in, ${count}0 out$`, "m"));
      await it.restart();
      match((await it.command("/cost")).join("\n"), new RegExp(`${count}00 in`));
    });

  test("/cost without prices says how to give them, and reckons with what was given", async (t) => {
    const { gives } = await talkAgain(t, wide, [say("A.")]);
    const [, advice] = /^(\/config prices .*)$/m.exec(await gives("/cost", /No price is known\.[\s\S]*›$/))!;
    equal(advice, '/config prices {"openai/m": {"input": 0.15, "output": 0.6}}');
    await gives(advice.replace("0.15", "1000"), "prices is {");
    await gives("one", "A.");
    await gives("/cost", "openai/m  61 in  9 out  0.0610");
  });

  test("prices of another shape are refused in words", async () => {
    const where = place();
    mkdirSync(where.home);
    writeFileSync(join(where.home, "zz.config.json"), `{ "prices": { "openai/m": { "input": "much" } } }`);
    match(
      (await zz(where, ["--tools"])).stderr,
      /^Cannot use the setting "prices\.openai\/m": .*input must be a number/m,
    );
  });
});

describe("settings", { concurrency: 2 }, () => {
  test("/config NAME VALUE is in force, in the file, marked; unset and --reset take it back", async (t) => {
    const { gives, where } = await talkAgain(t, wide);
    const file = () => JSON.parse(readFileSync(join(where.home, "zz.config.json"), "utf8"));
    await gives("/config rounds 5", "rounds is 5 now (was not set).");
    equal(file().rounds, 5);
    await gives("/config", /^\* rounds +5 +rounds of tools/m);
    await gives("/config symbols.map never", `symbols.map is "never" now (was "sessions").`);
    equal(file().symbols.map, "never");
    await gives("/config symbols.map --reset", `symbols.map is "sessions" now (was "never").`);
    await gives("/config unset rounds", "rounds is not set now (was 5).");
    deepEqual(Object.keys(file().symbols ?? {}).concat(Object.keys(file()).filter((key) => key === "rounds")), []);
  });

  test("/config shows whole names at 40 columns, where values are cut first", async (t) => {
    const { gives } = await talk(t, [], { cols: 40, rows: 100 });
    await gives("/config", /^ {2}display\.wordsPerSecond +40$[\s\S]*^\* set by you/m);
  });

  test("/config NAME tells what it is for; a wrong value or name is refused in words", async (t) => {
    const { gives } = await talkAgain(t, wide);
    await gives("/config timeout", "timeout = not set (300)\nseconds that a provider may be silent");
    await gives("/config rounds many", `Cannot set 'rounds': "rounds" must be a number from 0 up to 1000000000.`);
    await gives("/config symbols.most lots", "Cannot set 'symbols.most': most must be a whole number.");
    await gives(
      "/config symbols.map sometimes",
      "Cannot set 'symbols.map': map must be one of sessions, always, never. Give another value; /config symbols.map tells",
    );
    await gives("/config symbols.map", `one of: "sessions", "always", "never"`);
    await gives("/config symbols.moost 3", "Did you mean 'symbols.most'?");
    await gives("/config colour", "Cannot show 'colour': there is no such setting.");
  });

  test("/config never shows a key, kept apart in a file of mode 0600", async (t) => {
    const { gives, where, term } = await talk(t, [], { cols: 120 });
    await gives("/config providers.openai.key k-hidden-123", `providers.openai.key is "[key]" now`);
    await gives("/config providers", /providers = \{"openai":\{"key":"\[key\]"/);
    await gives("/config providers.openai.key", `providers.openai.key = "[key]"`);
    equal(term.screen().split("k-hidden-123").length, 2, "only where it was typed");
    equal(JSON.parse(readFileSync(join(where.home, "keys.json"), "utf8")).openai, "k-hidden-123");
  });
});

describe("answers", { concurrency: 2 }, () => {
  const CODE = "Two of them:\n\n```js\nlet a = 1;\n```\n\nand\n\n~~~\nb\n~~~\n";

  test("/copy sends the last answer to the terminal's clipboard, /copy 2 the one before, /copy code 2 a block", async (t) => {
    const { gives, raw } = await talkAgain(t, usual, [say("The first answer."), say(CODE)]);
    await gives("one", "The first answer.");
    await gives("two", "Two of them");
    const osc = (text: string) => `\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`;
    await gives("/copy", "Copied 51 characters (through the terminal).");
    ok(raw().includes(osc(CODE)));
    await gives("/copy 2", "Copied 17 characters");
    ok(raw().includes(osc("The first answer.")));
    await gives("/copy code", "Copied 10 characters");
    ok(raw().includes(osc("let a = 1;")));
    await gives("/copy code 2", "Copied 1 character (");
    ok(raw().includes(osc("b")));
    await gives("/copy code 3", "Cannot copy code 3: there are 2.");
    await gives("/copy that", "Cannot copy 'that': use /copy,");
  });

  test("/copy uses xclip where there is a display", async (t) => {
    const where = place();
    const bin = join(where.cwd, "..", "bin"); // not in the project, whose programs zz does not start
    mkdirSync(bin);
    writeFileSync(join(bin, "xclip"), `#!/bin/sh\ncat > "${where.cwd}/clip.txt"\n`);
    chmodSync(join(bin, "xclip"), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ":9", WAYLAND_DISPLAY: "", WSL_DISTRO_NAME: "" };
    const { gives } = await talk(t, [say("To keep.")], { where, env });
    await gives("/copy", "Cannot copy: there is no answer yet.");
    await gives("one", "To keep.");
    await gives("/copy", "(through the terminal and xclip)");
    equal(readFileSync(join(where.cwd, "clip.txt"), "utf8"), "To keep.");
  });

  test("/save writes the last answer, or all; what is there is asked for; /undo takes it back", async (t) => {
    const { gives, where, term } = await talkAgain(t, usual, [say("To keep.")]);
    const file = join(where.cwd, "notes", "a b.md");
    await gives("one", "To keep.");
    await gives("/save notes/a b.md", "Wrote notes/a b.md (9 characters). /undo takes it back.");
    equal(readFileSync(file, "utf8"), "To keep.\n");
    await gives("/save notes/a b.md all", "[y/N");
    term.type("n");
    await term.sees(/› \/save notes\/a b\.md all[\s\S]*›$/);
    equal(readFileSync(file, "utf8"), "To keep.\n");
    await gives("/save notes/a b.md all", /\[y\/N[\s\S]*\[y\/N/);
    term.type("y");
    await term.sees(/Wrote notes\/a b\.md \(\d\d characters\)/);
    equal(readFileSync(file, "utf8"), "## You\n\none\n\n## zz\n\nTo keep.\n");
    await gives("/undo 2", /Undone[\s\S]*›\s*$/);
    equal(existsSync(file), false);
  });

  test("/save outside of the project asks before it overwrites, and says that a folder is missing", async (t) => {
    const where = place();
    const file = join(where.cwd, "..", "out.md");
    const { gives, term } = await talk(t, [say("To keep.")], { where, cols: 160 });
    await gives("one", "To keep.");
    await gives("/save ../out.md", "Wrote ../out.md (9 characters).");
    writeFileSync(file, "mine");
    await gives("/save ../out.md", "Overwrite it? [y/N]");
    term.type("n");
    await term.sees("Nothing was written.");
    equal(readFileSync(file, "utf8"), "mine");
    await gives("/save ../no/out.md", "its folder does not exist. Make it first.");
  });

  test("/edit opens the editor with the last message, or with what was typed, and sends what was saved", async (t) => {
    const where = place();
    const editor = join(where.cwd, "ed");
    writeFileSync(editor, `#!/bin/sh\nprintf ' edited' >> "$1"\n`);
    chmodSync(editor, 0o755);
    const { gives, sent } = await talk(t, [say("A."), say("B."), say("C.")], {
      where,
      env: { EDITOR: editor, VISUAL: "" },
    });
    await gives("one", "A.");
    await gives("/edit", "B.");
    equal(sent().at(-1), "one edited");
    await gives("/edit two", "C.");
    equal(sent().at(-1), "two edited");
  });

  test("/edit sends nothing when nothing was saved", async (t) => {
    const { gives, fake } = await talk(t, [say("A.")], { env: { EDITOR: "true", VISUAL: "" } });
    await gives("/edit two", "Nothing was sent.");
    equal(fake.requests.length, 0);
  });
});

describe("help and templates", { concurrency: 2 }, () => {
  /** A prompt that several tests type at, one after the other; they ask the model nothing. */
  const shared = talk({ after } as TestContext, [call(["create_file", { path: "a.txt", content: "x\n" }]), say("Made.")], { args: ["--allow-write"] }); // biome-ignore format: one line
  let before: Promise<void> = Promise.resolve();
  const there = (act: (at: Awaited<typeof shared>) => Promise<void>) => () => {
    const done = before.then(async () => act(await shared));
    before = done.catch(() => {});
    return done;
  };

  test("/help has every command in its group, plugins' own under other, and the keys", async (t) => {
    const where = place();
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    writeFileSync(
      join(where.home, "plugins", "mine.js"),
      `export default (zz) => { zz.command({ name: "dance", usage: "[HOW]", description: "a dance", run() {} });
       zz.key({ name: "f9", description: "a key of mine", press() {} }); };`,
    );
    const { gives } = await talk(t, [], { where });
    const shown = await gives("/help all", /typing:[\s\S]*f9 +a key of mine/);
    match(
      shown,
      /^conversation:$[\s\S]*^ {2}\/quit [\s\S]*^sessions and model:$[\s\S]*^ {2}\/status [\s\S]*^files and undo:$[\s\S]*^ {2}\/undo [\s\S]*^code:$[\s\S]*^settings:$[\s\S]*^templates:$[\s\S]*^ {2}\/review \[WHAT\] [\s\S]*^other:$\n {2}\/dance \[HOW\] +a dance \(mine\)$/m,
    );
    await gives("/help /dance", /\/dance \[HOW\]\n {2}a dance\n {2}group: other; plugin: mine \(.*\n?.*mine\.js\)/);
    await gives("/help F9", /\n {2}f9 +a key of mine\n/);
    await gives("/help Alt+Enter", /\n {2}meta\+return +\w/);
    for (const sign of ["@FILE", "@", "!", "//"]) await gives(`/help ${sign}`, new RegExp(`\\n {2}${sign}[A-Z]* +\\w`));
    await gives("/help other", /other:\n {2}\/dance \[HOW\] +a dance \(mine\)\n\n?.*›/);
    await gives("/help danc", "There is no command or key 'danc'. There is: /dance.");
  });

  test(
    "/help COMMAND tells its arguments with examples",
    there(async ({ gives }) => {
      await gives("/help back", /\/back \[N \| #ID\]\n.*\n {2}\/back {2,}take back your last message\n {2}\/back 3 /);
      await gives("/help meta+return", /meta\+return +\S+ .*\n/);
      await gives("/help tests", /\/tests WHAT\n.*\n {2}\/tests parsePrice +write tests/);
    }),
  );

  /** The keys in docs/prompt.md's table of what is typed. */
  const documentedKeys = () => {
    const [, table = ""] = /^## Typing\n([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, "docs/prompt.md"), "utf8"))!;
    const cells = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) => cell.split(/[,;] /));
    return cells.flatMap((cell) => /^(?:(?:Ctrl|Alt)\+\w+|Up|Down|Tab|Escape)/.exec(cell) ?? []);
  };

  test(
    "/help KEY explains every key that the documents name, and the prompt's own, which /help lists",
    there(async ({ gives }) => {
      const keys = documentedKeys();
      ok(keys.length >= 10 && keys.includes("Up") && keys.includes("Escape"), keys.join());
      const others = ["ctrl+c", "control-c", "^D", "ctrl+l", "enter", "esc", "Alt-Enter", "\\ ", '"""', "!!", "!+"];
      for (const key of [...keys, ...others]) {
        const typed = `/help ${key}`.replace(/[.*+?^$\\]/g, "\\$&");
        await gives(`/help ${key}`, new RegExp(`› ${typed}\n {2}\\S+ +\\w.*\n(?:.*\n)*.*›$`));
      }
      await gives("/help typing", /ctrl\+c +stop the answer[\s\S]*escape +stop the answer[\s\S]*ctrl\+d +on an empty/);
    }),
  );

  test("every command of zz's own that takes something has an example that it takes", async (t) => {
    const { core } = await harness({ own: true }, t);
    const commands = [...core.commands.values()].map(({ value }) => value).filter(({ usage }) => usage);
    ok(commands.length > 25, `${commands.length} commands`);
    for (const { name, examples = {} } of commands) {
      ok(Object.keys(examples).length, `/${name}`);
      for (const [line, does] of Object.entries(examples))
        ok(new RegExp(`^/${name}( |$)`).test(line) && /^[a-z].*[^.]$/.test(does), line);
    }
  });

  test("/context shows names of files in one row, whatever they hold", async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "a\nb.txt"), "");
    const { gives } = await talk(t, [call(["read_file", { path: "a\nb.txt" }]), say("Read.")], { where, cols: 120 });
    await gives("read it", /Read\.[\s\S]*›$/);
    await gives("/context", /^Files read: a(?!\n).+b\.txt\.$/m);
  });

  test("/status and /rename say that -n saves nothing; an empty file is called empty", async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "a.txt"), "");
    const script = [call(["read_file", { path: "a.txt" }]), say("Read.")];
    const { gives } = await talk(t, script, { where, args: ["-n"], cols: 120 });
    await gives("read it", /✓ read_file .* · empty[\s\S]*Read\.[\s\S]*›$/);
    await gives("/status", /^stored in {5}nothing: it is not saved \(--no-session\)$/m);
    await gives("/rename Fine", "Cannot rename this conversation: it is not saved (--no-session).");
    await gives("/permissions drop", "Cannot drop a rule: give its number, /permissions drop N.");
    await gives("/permissions", "the project, except files that hold secrets");
  });

  test("/help gives the names alone where the window is too low for more; a group and a command tell more", async (t) => {
    const { gives, term } = await talk(t, [], { rows: 24 });
    const shown = await gives("/help", /typing .*\/\/TEXT {2}!COMMAND .*@FILE[\s\S]*\/help all lists it all.*\n.*›$/);
    match(shown, /^files and undo {6}\/changes {2}\/redo {2}\/undo$/m);
    ok(shown.split("\n").length <= 24, shown);
    await gives(
      "/help files",
      /files and undo:\n {2}\/changes \[N\] +what .*\n[\s\S]*\/undo \[N \| turn \| FILE\] +take back/,
    );
    await gives("/help sessions", "/sessions [WHAT …]\n  the saved conversations");
    term.resize(80, 150);
    await sleep(300); // a signal tells zz of it
    await gives("/help", /\/retry +take back your last message[\s\S]*ctrl\+z +undo/);
  });

  test(
    "/tools NAME tells what one takes; of a wrong name the nearest",
    there(async ({ gives }) => {
      await gives(
        "/tools read_file",
        /read_file \(read-file\)\n[\s\S]*takes:\n {2}path +string: relative .*\n {2}start +integer, optional: first/,
      );
      await gives("/tools edit", "There is: edit_file, edit_lines.");
    }),
  );

  test("/plugins names one's own and the failed a line each, zz's in a few", async (t) => {
    const where = place();
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    writeFileSync(join(where.home, "plugins", "mine.js"), "export default () => {};");
    const { gives } = await talk(t, [], { where, cols: 120 });
    const shown = await gives("/plugins", /zz's own, \d+ in [\d.]+ ms: acp, answer, apply-patch/);
    match(shown, /^mine {2}home {2}[\d.]+ ms {2}\/.*mine\.js$/m);
  });

  for (const cols of [80, 40])
    test(`/plugins says all of why one failed, ${cols} columns wide`, async (t) => {
      const where = place();
      mkdirSync(join(where.home, "plugins"), { recursive: true });
      writeFileSync(
        join(where.home, "plugins", "typo.js"),
        'export default (zz) =>\n  zz.tool({ name: "typo", descripton: "d", run: () => "" });',
      );
      const { gives } = await talk(t, [], { where, cols });
      const shown = await gives("/plugins", /zz's own/);
      match(
        shown,
        /^typo {2}home {2}failed .*…?\n {4}line 2: there is no tool field\s+'descripton'\.\s+Did\s+you\s+mean\s+'description'\?$/m,
      );
    });

  test(
    "/plugins disable without a name asks for one",
    there(async ({ gives }) => {
      await gives("/plugins disable", "Name a plugin: /plugins disable NAME. /plugins lists them.");
    }),
  );

  for (const [line, menu] of [
    ["/config keys.ctrlZ ", /keys\.ctrlZ undo\n.*keys\.ctrlZ suspend\n.*keys\.ctrlZ off/],
    ["/config symbols.map ", /symbols\.map sessions\n.*symbols\.map always\n.*symbols\.map never/],
    ["/permissions ", /allow +do it without asking.*\n.*deny/],
    ["/permissions deny ", /deny read\n.*deny write\n.*deny run/],
    ["/install zz/", /zz\/attach\n.*zz\/budget\n.*zz\/data\n/],
    ["/tools edit", /edit_file +Replace text.*\n.*edit_lines/],
    ["/undo ", /turn +everything that the last turn did\n.*a\.txt +created in turn 1/],
  ] as const)
    test(
      `Tab after ${line}offers its values`,
      there(async ({ gives, term }) => {
        if (line === "/undo ") await gives("make it", "Made.");
        await term.sees(/(^|\n)[^\n]*›$/);
        term.type(`${line}\t`);
        await term.sees(menu);
        term.type(KEY.ctrlC);
      }),
    );

  test("/help fits 40 columns", async (t) => {
    const { gives, raw } = await talkAgain(t, narrow);
    await gives("/help all", "//TEXT");
    for (const line of raw().slice(raw().indexOf("conversation:")).split("\r\n"))
      ok(line.length <= 40 || line.includes("\x1b"), line);
  });

  test("/review sends the flow, about the changes or about what was said", async (t) => {
    const { gives, sent } = await talkAgain(t, usual, [say("A."), say("B.")]);
    await gives("/review", "A.");
    match(
      sent().at(-1),
      /^Review the changes that git_diff shows\. If there are none, say so and stop\.\n[\s\S]*get_dependencies[\s\S]*get_todos[\s\S]*file:line/,
    );
    await gives("/review src/a.ts and its callers", "B.");
    match(sent().at(-1), /^Review src\/a\.ts and its callers\.\n/);
  });
});

describe("tables", () => {
  const entry = (id: number, parent: number | null, role: string, text = `m${id}`): Entry =>
    ({ id, parent, at: "", type: "message", message: { role, text } }) as Entry;

  const trees: [what: string, entries: Entry[], branch: number[], lines: string[]][] = [
    ["nothing", [], [], []],
    [
      "a line",
      [entry(1, null, "user"), entry(2, 1, "assistant"), entry(3, 2, "user")],
      [1, 2, 3],
      ["● #1 m1 → m2", "● #3 m3"],
    ],
    [
      "what hangs on a back",
      [
        entry(1, null, "user"),
        entry(2, 1, "assistant"),
        { id: 3, parent: null, at: "", type: "back" },
        entry(4, 3, "user"),
      ],
      [3, 4],
      ["  ○ #1 m1 → m2", "● #4 m4"],
    ],
    ["an entry whose parent was lost", [entry(1, null, "user"), entry(9, 7, "user")], [1, 9], ["● #1 m1", "● #9 m9"]],
    [
      "what zz told, which is nobody's message",
      [
        entry(1, null, "user"),
        { ...entry(2, 1, "user"), message: { role: "user", text: "undone", aside: true } },
        entry(3, 2, "user"),
      ],
      [1, 2, 3],
      ["● #1 m1", "    told: undone", "● #3 m3"],
    ],
    [
      "what plugins told, in a turn and on another branch",
      [
        entry(1, null, "user"),
        entry(2, 1, "assistant", ""),
        ...[3, 4].map((id) => ({
          ...entry(id, id - 1, "user"),
          message: { role: "user" as const, text: `lint\n${id}`, aside: true as const },
        })),
        entry(5, 4, "assistant"),
        entry(6, null, "user"),
      ],
      [6],
      ["  ○ #1 m1 → m5", "      told: lint 4 (and 1 more)", "● #6 m6"],
    ],
  ];
  for (const [what, entries, branch, lines] of trees)
    test(`drawTree() of ${what}`, () =>
      deepEqual(
        drawTree(
          entries,
          entries.filter(({ id }) => branch.includes(id)),
          80,
        ),
        lines,
      ));

  test("drawTree() of 10,000 messages in a row is flat, of 200 retries two deep, and fits", () => {
    const row = Array.from({ length: 10_000 }, (_, i) => entry(i + 1, i || null, "user", "x".repeat(200)));
    const lines = drawTree(row, row, 40);
    ok(lines.length === 10_000 && lines.every((line) => line.startsWith("● ") && line.length < 40));
    const retried = Array.from({ length: 200 }, (_, i) => entry(i + 1, i < 2 ? null : Math.floor(i / 2) * 2, "user"));
    const drawn = drawTree(
      retried,
      retried.filter(({ id }) => id % 2 === 0),
      40,
    );
    ok(drawn.length === 200 && drawn.every((line) => /^(● | {2}○ )/.test(line)), drawn.slice(0, 9).join("\n"));
  });

  test("endOfTurn() goes on to the answer, not into another message, not over a way back", () => {
    const entries = [
      entry(1, null, "user"),
      entry(2, 1, "assistant"),
      entry(3, 2, "tool"),
      { id: 4, parent: 3, at: "", type: "back" },
      entry(5, 3, "user"),
    ];
    deepEqual(
      [1, 2, 5].map((id) => endOfTurn(entries, entries[id - 1]!).id),
      [3, 2, 5],
    );
  });

  test("endOfTurn() takes along what was told in the midst of a turn, and not what was undone after it", () => {
    const aside = (id: number): Entry => ({
      ...entry(id, id - 1, "user"),
      message: { role: "user", text: "t", aside: true },
    });
    const entries = [
      ...[entry(1, null, "user"), entry(2, 1, "assistant"), entry(3, 2, "tool"), aside(4), aside(5)],
      ...[entry(6, 5, "assistant"), { id: 7, parent: 6, at: "", type: "state" }, aside(8)],
      { id: 9, parent: 8, at: "", type: "undone" },
    ];
    equal(endOfTurn(entries, entries[0]!).id, 7);
  });

  const markdown: [text: string, blocks: string[]][] = [
    ["no code", []],
    ["```\na\n```", ["a"]],
    ["```js\na\n```\nb\n~~~\nc\n\n~~~", ["a", "c\n"]],
    ["````md\n```\na\n```\n````", ["```\na\n```"]],
    ["- one\n  ```\n  a\n    b\n  ```", ["a\n  b"]],
    ["```\nnever closed", ["never closed"]],
  ];
  for (const [text, blocks] of markdown)
    test(`codeBlocks() of ${JSON.stringify(text)}`, () => deepEqual(codeBlocks(text), blocks));

  test("costs() of what no server counted is nothing", () => {
    const made = (model: string, usage?: object) =>
      ({ ...entry(1, null, "assistant"), message: { role: "assistant", text: "", model, usage } }) as Entry;
    deepEqual(costs([made("a/b"), entry(1, null, "user")], {}), []);
    deepEqual(costs([made("a/b", { input: 1_000_000, output: 500_000 })], { "a/b": { input: 2, output: 4 } }), [
      "a/b  1000000 in  500000 out  4.0000",
    ]);
    deepEqual(costs([made("toString", { input: 1, output: 1 })], {}), ["toString  1 in  1 out  no price"]);
  });

  test("groups() and chart(): by who said it, the server's count before a guess, biggest first", () => {
    const messages = [
      { role: "user", text: "x".repeat(40) },
      { role: "assistant", text: "y".repeat(400), usage: { input: 5, output: 7 } },
      { role: "tool", id: "1", name: "grep", text: "z".repeat(80) },
      { role: "tool", id: "2", name: "grep", text: "z".repeat(80) },
    ] as Message[];
    deepEqual(groups(messages), [
      { name: "your messages (1)", tokens: 10 },
      { name: "answers and calls (1)", tokens: 7 },
      { name: "results of grep (2)", tokens: 40 },
    ]);
    deepEqual(chart(groups(messages), 400, 39), [
      "results of grep (2)    40    10 %",
      "your messages (1)      10   2.5 %",
      "answers and calls (1)   7   1.8 %",
    ]);
    for (const room of [20, 39, 79])
      for (const line of chart(groups(messages), 400, room)) ok(line.length <= room, line);
  });

  test("filesRead() names each file once, without those that could not be read", () => {
    const calls = (...paths: string[]) => paths.map((path) => ({ id: path, name: "read_file", args: { path } }));
    const messages = [
      { role: "assistant", text: "", calls: calls("a", "b", "gone") },
      { role: "tool", id: "gone", name: "read_file", text: "no", failed: true },
      { role: "assistant", text: "", calls: calls("a") },
    ] as Message[];
    deepEqual(filesRead(messages), ["a", "b"]);
  });

  test("aligned() puts the second column below where it is narrow, and cuts words that are too long", () => {
    equal(aligned([["a", "b c"]], 79), "a             b c");
    equal(aligned([["a", `one ${"x".repeat(20)}`]], 20), "a\n  one\n  xxxxxxxxxxxxxxxxxx\n  xx");
  });

  test("page() keeps to any width", () => {
    const commands = [
      { name: "a", description: "word ".repeat(40).trim(), group: "code", owner: "x" },
      { name: "b", usage: "[N | #ID of a thing]", description: "short", owner: "x" },
      { name: "c", usage: "[NAME | enable NAME | disable NAME]", description: "long usage", owner: "x" },
    ];
    for (const room of [30, 59, 60, 119])
      for (const line of page({ commands, keys: [] }, room).split("\n")) ok(line.length <= room, line);
  });

  for (const name of ["review", "refactor", "tests", "explain", "commit"])
    test(`prompts/${name}.md is a command that leaves no place unfilled, and names tools that there are`, async () => {
      const { head, body } = frontMatter(readFileSync(join(ROOT, "prompts", `${name}.md`), "utf8"));
      deepEqual([head.name, Boolean(head.description), head.slot], [name, true, undefined]);
      const [bare, told] = [fillTemplate(body, ""), fillTemplate(body, "src/a.ts and more")];
      doesNotMatch(bare + told, /\$[\d@{]/);
      ok(told.includes("src/a.ts and more") && !bare.includes("src/a.ts"));
      const tools = JSON.parse((await zz(place(), ["--tools", "--json"])).stdout).map((tool: any) => tool.name);
      const named = body.match(/\b[a-z]+_[a-z]+\b/g)!;
      deepEqual(
        named.filter((word) => !tools.includes(word)),
        [],
      );
    });
});

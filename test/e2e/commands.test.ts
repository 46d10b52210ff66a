// Slash commands: in an instance of the test's own where the words are all; in a terminal where something is drawn or typed.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Entry, Message } from "../../kernel/contract.ts";
import { fillTemplate, frontMatter } from "../../kernel/prompt.ts";
import { codeBlocks } from "../../plugins/answer.ts";
import { drawTree, endOfTurn } from "../../plugins/conversation.ts";
import { costs } from "../../plugins/cost.ts";
import { page } from "../../plugins/lists.ts";
import { aligned, chart, filesRead, groups } from "../../plugins/status.ts";
import { harness, type Setup } from "../../sdk/testing.ts";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { type Place, place, ROOT, zz } from "../support/run.ts";
import { rare } from "../support/runs.ts";
import { KEY, terminal } from "../support/terminal.ts";

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", ...more];

/** An instance with zz's own plugins. `tells`: what a command says, or why it fails, holds this. */
async function sit(t: TestContext, setup: Setup = {}) {
  const it = await harness({ own: true, ...setup }, t);
  return {
    it,
    async tells(line: string, text: string | RegExp): Promise<string> {
      const told = await it.command(line).catch((error: Error) => [error.message]);
      const all = told.join("\n");
      if (typeof text === "string") ok(all.includes(text), `${line} told: ${all}`);
      else match(all, text);
      return all;
    },
    async say(...lines: string[]) {
      for (const line of lines) await it.ask(line);
    },
    /** What the model was sent last. */
    sent: () => it.requests.at(-1)!.messages.map(({ text }) => text),
  };
}
const linesOf = (home: string, name: string): any[] =>
  readFileSync(join(home, "sessions", name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const written = (path: string) => ({ call: ["write_file", { path, content: "x\n" }] }) as { call: [string, unknown] };

type How = { where?: Place; args?: string[]; cols?: number; rows?: number; env?: Record<string, string> };
/** A conversation at a terminal. `gives` types a line and waits for what the screen then shows. */
async function talk(t: Pick<TestContext, "after">, script: Parameters<typeof fakeOpenAI>[0], how: How = {}) {
  const { where = place(), args = [], ...size } = how;
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const term = terminal(where, asks(fake.url, ...args), { rows: 50, ...size });
  t.after(term.hangUp);
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

describe("the conversation", () => {
  test("/clear empties what the model is sent, not the file, and files can still be undone", async (t) => {
    const script = [written("a.txt"), "Written.", "Afresh."];
    const { it, say, tells, sent } = await sit(t, { script, allow: { write: ["."] } });
    await say("write it");
    await tells("/clear", "The conversation starts over.");
    await say("hello");
    deepEqual(sent(), ["hello"]);
    await tells("/undo", "Undone");
    equal(it.read("a.txt"), undefined);
    const [name] = readdirSync(join(it.home, "sessions")).filter((name) => name.endsWith(".jsonl"));
    const saved = linesOf(it.home, name!);
    ok(saved.some((line) => line.message?.text === "write it"));
    equal(saved.find((line) => line.type === "back").parent, null);
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

  test("/new begins another session and names the one that is kept; /fork goes on in a copy", async (t) => {
    const { it, say, tells, sent } = await sit(t);
    await tells("/fork", "nothing was said in it yet");
    await say("one");
    await tells("/new", /A new conversation\. The other is kept: \/sessions load \d{8}-/);
    await say("two");
    deepEqual(sent(), ["two"]);
    const [, id] = /This is a copy now: (\S+)\./.exec(await tells("/fork", "This is a copy now"))!;
    await say("three");
    deepEqual(sent(), ["two", "ok", "three"]);
    const texts = (name: string) => linesOf(it.home, name).flatMap(({ message }) => message?.text ?? []);
    deepEqual(texts(`${id}.jsonl`), ["two", "ok", "three", "ok"]);
    const sessions = readdirSync(join(it.home, "sessions")).filter((name) => name.endsWith(".jsonl"));
    deepEqual(sessions.map((name) => texts(name).length).sort(), [2, 2, 4]);
  });

  test("/back takes messages back, /back #ID goes to another branch, and what it cannot do it refuses", async (t) => {
    const { say, tells, sent } = await sit(t, { script: ["A.", "B.", "C.", "D.", "E.", "F."] });
    await say("one", "two", "three");
    await tells("/back", "Took back “three”. /back #6 brings it back.");
    await say("four");
    deepEqual(sent(), ["one", "A.", "two", "B.", "four"]);
    await tells("/back 2", "Took back 2 messages, from “two” on.");
    await say("five");
    deepEqual(sent(), ["one", "A.", "five"]);
    await tells("/back #4", "Back at #4, “two”, after its answer.");
    for (const [line, says] of [
      ["/back 9", "Cannot go back 9: 2 messages of yours can be taken back."],
      ["/back 0", "Cannot go back 0: 2 messages"],
      ["/back soon", "Cannot go back 'soon': give how many messages, or #ID as /tree shows it."],
      ["/back #77", "Cannot go to #77: there is no entry with that number."],
    ] as const)
      await tells(line, says);
    await say("six");
    deepEqual(sent(), ["one", "A.", "two", "B.", "six"]);
  });

  test("/back says that changes to files stay", async (t) => {
    const { it, say, tells } = await sit(t, { script: [written("a.txt"), "Written."], allow: { write: ["."] } });
    await say("write it");
    await tells("/back", "1 change to files stays: /undo takes back the last.");
    equal(it.read("a.txt"), "x\n");
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
    const fake = await fakeOpenAI([say("Red."), say("Blue.")]);
    t.after(fake.close);
    const where = place();
    const none = await zz(where, asks(fake.url, "/retry"));
    match(none.stderr, /^Cannot try again: nothing was said yet\./m);
    await zz(where, asks(fake.url, "which colour"));
    deepEqual((await zz(where, asks(fake.url, "-c", "/retry"))).stdout, "Blue.\n");
    deepEqual(fake.requests[1]!.body.messages.slice(1), [{ role: "user", content: "which colour" }]);
  });

  test("/tree shows every branch with its numbers, and which is in force", async (t) => {
    const { say, tells } = await sit(t, { script: ["A.", "B.", "C."] });
    await say("one", "two", "/retry");
    await tells("/tree", /● #1 one → A\.\n {2}○ #4 two → B\.\n● #7 two → C\.\n● this branch; \/back #ID goes there\./);
    await tells("/clear", "starts over");
    await tells("/tree", /○ #1 one → A\.[\s\S]*No branch is in use/);
  });
});

describe("models", () => {
  test("/models lists them all; /model NAME asks that one from now on", async (t) => {
    const { gives, fake } = await talk(t, [say("A."), say("B.")], { cols: 120 });
    await gives("/models", / {2}offline\/router\n\* openai\/m\n {2}openai\/n {2}8192 tokens\nollama: Cannot reach/);
    await gives("hello", "A.");
    await gives("/model openai/n", "Now openai/n, with a window of 8192 tokens.");
    await gives("/sessions", /\n\* \w{4} .* hello +openai\/n\n/);
    await gives("again", "B.");
    await gives("/sessions", /openai\/n[\s\S]*\n\* \w{4} .* hello +openai\/n\n[\s\S]*›\s*$/);
    equal(fake.requests[1]!.body.model, "n");
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
    const term = terminal(place(), asks(fake.url), { env: { TERM: "dumb" } });
    await term.sees("›");
    term.type(`/model${KEY.enter}`);
    await term.sees("openai/m; its provider does not say how large its window is.");
  });
});

describe("status", () => {
  test("/status counts turns, tokens, calls, edits applied and refused, and what failed", async (t) => {
    const usage = { input: 61, output: 9 };
    const script = [
      ...[
        { ...written("a.txt"), usage },
        { text: "Done.", usage },
        { ...written("b.txt"), usage },
        { text: "Pity.", usage },
      ],
      { fail: "no such model" },
    ];
    const { it, say, tells } = await sit(t, { script, allow: { write: ["a.txt"] } });
    await say("write a", "write b");
    await it.ask("more").catch(() => {});
    const shown = await tells("/status", "settings  ");
    match(shown, /^session {7}\d{8}-\d{6}-\w{8} “write a”$/m);
    match(shown, new RegExp(`^stored in {5}${it.home}/sessions/.*\\.jsonl\\s+\\(\\d+ bytes\\)$`, "m"));
    match(shown, /^model {9}script\/model$/m);
    match(shown, /^since start {3}\d+ s; 3 turns in this conversation$/m);
    match(shown, /^tokens {8}244 in, 36 out$/m);
    match(shown, /^tools {9}2 calls, 1 of them failed$/m);
    match(shown, /^edits {9}1 applied, 0 undone, 1 refused$/m);
    match(shown, /^plugins {7}\d+ loaded, 0 failed$/m);
    match(shown, /^errors +1, the last: .*no such model/m);
    match(shown, /^permissions {3}1 rule beside zz's own/m);
  });

  test("/status says the window and how much of it is used, and fits 40 columns", async (t) => {
    const { gives, term } = await talk(t, [say("A.")], { cols: 40 });
    await gives("/model n", "Now openai/n");
    await gives("hello", "A.");
    await gives("/status", /window\n {2}8192 tokens, 0\.9 % used \(70\)[\s\S]*settings\n/);
    doesNotMatch(term.screen(), /^\S+ {2,}\S/m);
  });

  test("/context names what was drawn into the prompt, and the files read", async (t) => {
    const files = { "AGENTS.md": "Rules.\n@docs/more.md", "docs/more.md": "more", "big.txt": "word ".repeat(8_000) };
    const home = { "skills/knots/SKILL.md": "---\nname: knots\ndescription: ties\ntriggers: rope\n---\nPull." };
    const script = [{ call: ["read_file", { path: "big.txt" }] as [string, unknown] }, "Read."];
    const { say, tells } = await sit(t, { files, home, script });
    await say("read of a rope");
    const shown = await tells("/context", /^results of read_file \(1\) [\s\S]*^prompt: base /m);
    match(shown, /^Drawn into the prompt: AGENTS\.md, docs\/more\.md, the skill knots\.$/m);
    match(shown, /^Files read: big\.txt\.$/m);
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

  test("/prompt and --prompt show the very text that the model is sent; /prompt LAYER one part alone", async (t) => {
    const { tells } = await sit(t);
    await tells("/prompt", /\[base: identity, from zz, about \d+ tokens\]\n\s*You are zz/);
    const one = await tells(
      "/prompt session",
      /\[session: project, from surroundings, about \d+ tokens\]\n[\s\S]*Folder: /,
    );
    doesNotMatch(one, /\[base: |in all\]/);
    await tells("/prompt nothing", "There are: base, session");
    const where = place();
    const args = ["--tool", "read_file", "-m", "openai/m", "--key", "x"];
    const parts = JSON.parse((await zz(where, ["--prompt", "--json", ...args])).stdout).map(({ text }: any) => text);
    const sent = JSON.parse((await zz(where, ["--dry-run", ...args, "hi"])).stdout).messages[0].content;
    const minute = (text: string) => text.replace(/\d\d:\d\d \(UTC/, "(UTC"); // the minute may have changed
    equal(minute(parts.join("\n\n")), minute(sent));
    match(
      (await zz(where, ["--prompt"])).stdout,
      /^\[base: identity.*\]\nYou are zz[\s\S]*\[about \d+ tokens in all\]\n$/,
    );
  });
});

describe("cost", () => {
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

  test("/cost and /status count what /compact used", async (t) => {
    const usage = { input: 100, output: 10 };
    const settings = { prices: { "script/model": { input: 1000, output: 0 } } };
    const script = ["one", "two", "three", "four"].map((text) => ({ text, usage }));
    const it = await harness({ own: true, settings, script }, t);
    for (const word of ["first", "second", "third"]) await it.ask(`${word} `.repeat(500));
    await it.command("/compact");
    equal(it.requests.length, 4);
    const cost = async () => (await it.command("/cost")).join("\n");
    match(await cost(), /script\/model {2}400 in {2}40 out {2}0\.4000/);
    match((await it.command("/status")).join("\n"), /^tokens +400 in, 40 out$/m);
    await it.restart();
    match(await cost(), /400 in/);
  });

  test("/cost without prices says how to give them, and reckons with what was given, also what was taken back", async (t) => {
    const usage = { input: 61, output: 9 };
    const { it, tells, say } = await sit(t, { script: [{ text: "A.", usage }] });
    const advice = await tells(
      "/cost",
      /^No price is known\.[\s\S]*^\/config prices \{"script\/model": \{"input": 0\.15, "output": 0\.6\}\}$/m,
    );
    const [, line] = /^(\/config prices .*)$/m.exec(advice)!;
    await tells(line!.replace("0.15", "1000"), "prices is {");
    await say("one", "/retry");
    await it.chat.use("script/other");
    await say("two");
    await tells(
      "/cost",
      /script\/model {2}122 in {2}18 out {4}0\.1220\nscript\/other +61 in +9 out {2}no price\nin all +0\.1220/,
    );
  });
});

describe("settings", () => {
  test("/config NAME VALUE is in force, in the file, marked; unset and --reset take it back", async (t) => {
    const { it, tells } = await sit(t);
    const file = () => JSON.parse(readFileSync(join(it.home, "zz.config.json"), "utf8"));
    await tells("/config rounds 5", "rounds is 5 now (was not set).");
    equal(file().rounds, 5);
    await tells("/config", /^\* rounds +5 +rounds of tools/m);
    await tells("/config symbols.map never", `symbols.map is "never" now (was "sessions").`);
    await tells("/config symbols.map --reset", `symbols.map is "sessions" now (was "never").`);
    await tells("/config unset rounds", "rounds is not set now (was 5).");
    deepEqual([file().symbols ?? {}, file().rounds], [{}, undefined]);
  });

  rare("/config shows whole names at 40 columns, where values are cut first", async (t) => {
    const { gives } = await talk(t, [], { cols: 40, rows: 100 });
    await gives("/config", /^ {2}display\.wordsPerSecond +40$[\s\S]*^\* set by you/m);
  });

  test("/config NAME tells what it is for; a wrong value or name is refused in words", async (t) => {
    const { tells } = await sit(t);
    await tells("/config timeout", "timeout = not set (300)\nseconds that a provider may be silent");
    await tells("/config rounds many", `Cannot set 'rounds': "rounds" must be a number from 0 up to 1000000000.`);
    await tells("/config symbols.most lots", "Cannot set 'symbols.most': most must be a whole number.");
    await tells(
      "/config symbols.map sometimes",
      "Cannot set 'symbols.map': map must be one of sessions, always, never.",
    );
    await tells("/config symbols.map", `one of: "sessions", "always", "never"`);
    await tells("/config symbols.moost 3", "Did you mean 'symbols.most'?");
    await tells("/config colour", "Cannot show 'colour': there is no such setting.");
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

describe("answers", () => {
  const CODE = "Two of them:\n\n```js\nlet a = 1;\n```\n\nand\n\n~~~\nb\n~~~\n";

  test("/copy sends the last answer to the terminal's clipboard, /copy 2 the one before, /copy code 2 a block", async (t) => {
    const { gives, raw } = await talk(t, [say("The first answer."), say(CODE)]);
    await gives("/copy", "Cannot copy: there is no answer yet.");
    await gives("one", "The first answer.");
    await gives("two", "Two of them");
    const osc = (text: string) => `\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`;
    await gives("/copy", "Copied 51 characters (through the terminal).");
    ok(raw().includes(osc(CODE)));
    await gives("/copy 2", "Copied 17 characters");
    ok(raw().includes(osc("The first answer.")));
    await gives("/copy code 2", "Copied 1 character (");
    ok(raw().includes(osc("b")));
    await gives("/copy code 3", "Cannot copy code 3: there are 2.");
    await gives("/copy that", "Cannot copy 'that': use /copy,");
  });

  rare("/copy uses xclip where there is a display", async (t) => {
    const where = place();
    const bin = join(where.cwd, "..", "bin"); // not in the project, whose programs zz does not start
    mkdirSync(bin);
    writeFileSync(join(bin, "xclip"), `#!/bin/sh\ncat > "${where.cwd}/clip.txt"\n`);
    chmodSync(join(bin, "xclip"), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ":9", WAYLAND_DISPLAY: "", WSL_DISTRO_NAME: "" };
    const { gives } = await talk(t, [say("To keep.")], { where, env });
    await gives("one", "To keep.");
    await gives("/copy", "(through the terminal and xclip)");
    equal(readFileSync(join(where.cwd, "clip.txt"), "utf8"), "To keep.");
  });

  test("/save writes the last answer, or all; what is there is asked for; /undo takes it back", async (t) => {
    const keys: string[] = [];
    const { it, say, tells } = await sit(t, { script: ["To keep."], answer: async () => keys.shift() ?? "n" });
    await say("one");
    await tells("/save notes/a b.md", "Wrote notes/a b.md (9 characters). /undo takes it back.");
    equal(it.read("notes/a b.md"), "To keep.\n");
    await tells("/save notes/a b.md all", "");
    equal(it.read("notes/a b.md"), "To keep.\n");
    keys.push("y");
    await tells("/save notes/a b.md all", /Wrote notes\/a b\.md \(\d\d characters\)/);
    equal(it.read("notes/a b.md"), "## You\n\none\n\n## zz\n\nTo keep.\n");
    await tells("/undo 2", "Undone");
    equal(it.read("notes/a b.md"), undefined);
    await tells("/save ../out.md", "Wrote ../out.md (9 characters).");
    it.write("../out.md", "mine");
    await tells("/save ../out.md", "Nothing was written.");
    match(it.questions.at(-1)!, /Overwrite it\? \[y\/N\]/);
    equal(it.read("../out.md"), "mine");
    await tells("/save ../no/out.md", "its folder does not exist. Make it first.");
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

describe("help and templates", () => {
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

  /** The keys in docs/prompt.md's table of what is typed. */
  const documentedKeys = () => {
    const [, table = ""] = /^## Typing\n([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, "docs/prompt.md"), "utf8"))!;
    const cells = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) => cell.split(/[,;] /));
    return cells.flatMap((cell) => /^(?:(?:Ctrl|Alt)\+\w+|Up|Down|Tab|Escape)/.exec(cell) ?? []);
  };

  test("/help KEY explains every key that the documents name, and the prompt's own, which /help lists", async (t) => {
    const { gives } = await talk(t, []);
    const keys = documentedKeys();
    ok(keys.length >= 10 && keys.includes("Up") && keys.includes("Escape"), keys.join());
    const others = ["ctrl+c", "control-c", "^D", "ctrl+l", "enter", "esc", "Alt-Enter", "\\ ", '"""', "!!", "!+"];
    for (const key of [...keys, ...others]) {
      const typed = `/help ${key}`.replace(/[.*+?^$\\]/g, "\\$&");
      await gives(`/help ${key}`, new RegExp(`› ${typed}\n {2}\\S+ +\\w.*\n(?:.*\n)*.*›$`));
    }
    await gives("/help typing", /ctrl\+c +stop the answer[\s\S]*escape +stop the answer[\s\S]*ctrl\+d +on an empty/);
  });

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

  test("/status and /rename say that -n saves nothing", async (t) => {
    const { gives } = await talk(t, [say("A.")], { args: ["-n"] });
    await gives("hello", "A.");
    await gives("/status", /^stored in {5}nothing: it is not saved \(--no-session\)$/m);
    await gives("/rename Fine", "Cannot rename this conversation: it is not saved (--no-session).");
    await gives("/fork", "it is not saved");
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
    await gives("/help", /\/retry +take back your last message[\s\S]*ctrl\+z +undo/);
  });

  test("/tools NAME, /plugins and /permissions tell what there is; of a wrong name the nearest", async (t) => {
    const { tells } = await sit(t, { home: { "plugins/mine.js": "export default () => {};" } });
    await tells(
      "/tools read_file",
      /read_file \(read-file\)\n[\s\S]*takes:\n {2}path +string: relative .*\n {2}start +integer, optional: first/,
    );
    await tells("/tools edit", "There is: edit_file, edit_lines.");
    await tells("/plugins disable", "Name a plugin: /plugins disable NAME. /plugins lists them.");
    await tells("/permissions drop", "Cannot drop a rule: give its number, /permissions drop N.");
    await tells("/permissions", "the project, except files that hold secrets");
    await tells("/help tests", /\/tests WHAT\n.*\n {2}\/tests parsePrice +write tests/);
    await tells("/help back", /\/back \[N \| #ID\]\n.*\n {2}\/back {2,}take back your last message\n {2}\/back 3 /);
  });

  rare("/plugins says all of why one failed, 40 columns wide", async (t) => {
    const where = place();
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    const code = 'export default (zz) =>\n  zz.tool({ name: "typo", descripton: "d", run: () => "" });';
    writeFileSync(join(where.home, "plugins", "typo.js"), code);
    const { gives } = await talk(t, [], { where, cols: 40 });
    match(
      await gives("/plugins", /zz's own/),
      /^typo {2}home {2}failed .*…?\n {4}line 2: there is no tool field\s+'descripton'\.\s+Did\s+you\s+mean\s+'description'\?$/m,
    );
  });

  test("Tab after a command offers its values", async (t) => {
    const script = [call(["create_file", { path: "a.txt", content: "x\n" }]), say("Made.")];
    const { gives, term } = await talk(t, script, { args: ["--allow-write"] });
    await gives("make it", "Made.");
    for (const [line, menu] of [
      ["/config keys.ctrlZ ", /keys\.ctrlZ undo\n.*keys\.ctrlZ suspend\n.*keys\.ctrlZ off/],
      ["/permissions ", /allow +do it without asking.*\n.*deny/],
      ["/permissions deny ", /deny read\n.*deny write\n.*deny run/],
      ["/install zz/", /zz\/attach\n.*zz\/budget\n.*zz\/data\n/],
      ["/tools edit", /edit_file +Replace text.*\n.*edit_lines/],
      ["/undo ", /turn +everything that the last turn did\n.*a\.txt +created in turn 1/],
    ] as const) {
      await term.sees(/(^|\n)[^\n]*›$/);
      term.type(`${line}\t`);
      await term.sees(menu);
      term.type(KEY.ctrlC);
    }
  });

  rare("/help fits 40 columns", async (t) => {
    const { gives, raw } = await talk(t, [], { cols: 40 });
    await gives("/help all", "//TEXT");
    for (const line of raw().slice(raw().indexOf("conversation:")).split("\r\n"))
      ok(line.length <= 40 || line.includes("\x1b"), line);
  });

  test("/review sends the flow, about the changes or about what was said", async (t) => {
    const { it, say, sent } = await sit(t);
    await say("/review");
    match(
      sent().at(-1)!,
      /^Review the changes that git_diff shows\. If there are none, say so and stop\.\n[\s\S]*get_dependencies[\s\S]*get_todos[\s\S]*file:line/,
    );
    await it.ask("/review src/a.ts and its callers");
    match(sent().at(-1)!, /^Review src\/a\.ts and its callers\.\n/);
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

  test("drawTree() of messages in a row is flat, of 200 retries two deep, and fits", () => {
    const row = Array.from({ length: 200 }, (_, i) => entry(i + 1, i || null, "user", "x".repeat(200)));
    const lines = drawTree(row, row, 40);
    ok(lines.length === 200 && lines.every((line) => line.startsWith("● ") && line.length < 40));
    const retried = Array.from({ length: 200 }, (_, i) => entry(i + 1, i < 2 ? null : Math.floor(i / 2) * 2, "user"));
    const inForce = retried.filter(({ id }) => id % 2 === 0);
    const drawn = drawTree(retried, inForce, 40);
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

  test("codeBlocks() are those of longer fences, of lists, and one that never closes", () =>
    deepEqual(codeBlocks("````md\n```\na\n```\n````\n- one\n  ```\n  a\n    b\n  ```\n~~~\nnever closed"), [
      ...["```\na\n```", "a\n  b"],
      "never closed",
    ]));

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

  test("each of prompts/*.md is a command that leaves no place unfilled, and names tools that there are", async () => {
    const listed = JSON.parse((await zz(place(), ["--tools", "--json"])).stdout).map((tool: any) => tool.name);
    for (const name of ["review", "refactor", "tests", "explain", "commit"]) {
      const { head, body } = frontMatter(readFileSync(join(ROOT, "prompts", `${name}.md`), "utf8"));
      deepEqual([head.name, Boolean(head.description), head.slot], [name, true, undefined]);
      const [bare, told] = [fillTemplate(body, ""), fillTemplate(body, "src/a.ts and more")];
      doesNotMatch(bare + told, /\$[\d@{]/);
      ok(told.includes("src/a.ts and more") && !bare.includes("src/a.ts"));
      for (const tool of body.match(/\b[a-z]+_[a-z]+\b/g)!) ok(listed.includes(tool), tool);
    }
  });
});

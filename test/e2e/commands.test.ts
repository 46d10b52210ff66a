// Slash commands: in an instance of the test's own where the words are all; in a terminal where
// something is drawn or typed.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Entry } from "../../kernel/contract.ts";
import { fillTemplate, frontMatter } from "../../kernel/conversation/prompt-files.ts";
import { drawTree } from "../../plugins/conversation.ts";
import { page } from "../../plugins/lists/help-page.ts";
import { aligned } from "../../plugins/status.ts";
import { askable, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { place, ROOT, sessionsIn, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";
import { KEY } from "../support/terminal.ts";

const written = (path: string) =>
  ({ call: ["write_file", { path, content: "x\n" }] }) as { call: [string, unknown] };

/** A conversation at a terminal. `gives` types a line and waits for what the screen then shows. */
async function talk(t: TestContext, options: Parameters<typeof repl>[1] = {}) {
  const term = await repl(t, { rows: 50, ...options });
  return {
    ...term,
    async gives(line: string, text: string | RegExp) {
      await term.sees(/(^|\n)[^\n]*›$/); // ready: text typed ahead would be elsewhere
      return term.say(line, text);
    },
  };
}

describe("the conversation", () => {
  test("/back says that changes to files stay; /clear empties what the model is sent, not the file, and files can still be undone", async (t) => {
    const script = [written("a.txt"), "Written.", written("a.txt"), "Written.", "Afresh."];
    const { it, say, tells, sent } = await sit(t, { script, allow: { write: ["."] } });
    await say("write it");
    await tells("/back", "1 change to files stays: /undo takes back the last.");
    equal(it.read("a.txt"), "x\n");
    await tells("/undo", "Undid");
    await say("write it");
    await tells("/clear", "The conversation starts over.");
    await say("hello");
    deepEqual(sent(), ["hello"]);
    await tells("/undo", "Undid");
    equal(it.read("a.txt"), undefined);
    const [saved = []] = sessionsIn(it.home);
    ok(saved.some((line) => line.message?.text === "write it"));
    equal(saved.find((line) => line.type === "back").parent, null);
  });

  test("/new begins another session and names the one that is kept; /fork goes on in a copy", async (t) => {
    const { it, say, tells, sent } = await sit(t);
    await tells("/fork", "nothing was said in it yet");
    await say("one");
    await tells("/new", /A new conversation\. The other is kept: \/sessions load \d{8}-/);
    await say("two");
    deepEqual(sent(), ["two"]);
    const [, id] = /You are in a copy now: (\S+)\./.exec(
      await tells("/fork", "You are in a copy now"),
    )!;
    await say("three");
    deepEqual(sent(), ["two", "ok", "three"]);
    const texts = (lines: any[]) => lines.flatMap(({ message }) => message?.text ?? []);
    const sessions = sessionsIn(it.home);
    deepEqual(texts(sessions.find(([header]) => header.id === id)!), ["two", "ok", "three", "ok"]);
    deepEqual(sessions.map((lines) => texts(lines).length).sort(), [2, 2, 4]);
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

  test("a message with a file is named by the person's words, wherever zz quotes it", async (t) => {
    const files = { "price.ts": "export const price = 1;\n" };
    const { it, say, tells, sent } = await sit(t, { files, script: ["A price."] });
    await say("what does @price.ts hold?");
    match(sent().at(-1)!, /^--- FILE price\.ts ---\n[\s\S]*what does @price\.ts hold\?$/);
    await tells("/status", "“what does @price.ts hold?”");
    await tells("/tree", "#1 what does @price.ts hold? → A price.");
    await tells("/retry", "Again: “what does @price.ts hold?”.");
    equal(sent().length, 1);
    await tells("/back", "Took back “what does @price.ts hold?”");
    equal(it.chat.messages.length, 0);
  });

  test("/retry in one go asks the last question again, with its file; with nothing said it says so", async () => {
    const { args, requests } = await askable([say("Red."), say("Blue.")]);
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const where = place({ "p.png": Buffer.from(pixel, "base64") });
    const { stderr } = await zz(where, [...args, "/retry"]);
    match(stderr, /^Cannot try again: nothing was said yet\./m);
    await zz(where, [...args, "-f", "p.png", "which colour"]);
    equal((await zz(where, [...args, "-c", "/retry"])).stdout, "Blue.\n");
    const [first, second] = requests.map(({ body }) => body.messages.slice(1));
    deepEqual(second, first);
    ok(JSON.stringify(second).includes(pixel.slice(0, 40)));
  });

  test("/tree shows every branch with its numbers, and which is in force", async (t) => {
    const { say, tells } = await sit(t, { script: ["A.", "B.", "C."] });
    await say("one", "two", "/retry");
    await tells(
      "/tree",
      /● #1 one → A\.\n {2}○ #4 two → B\.\n● #7 two → C\.\n● this branch; \/back #ID goes there\./,
    );
    await tells("/clear", "starts over");
    await tells("/tree", /○ #1 one → A\.[\s\S]*No branch is in use/);
  });
});

describe("models", () => {
  test("/models lists them all; /model NAME asks that one from now on; without a name it is a picker", async (t) => {
    const { gives, hit, fake } = await talk(t, { script: [say("A."), say("B.")], cols: 120 });
    await gives(
      "/models",
      / {2}offline\/router\n\* openai\/m\n {2}openai\/n {2}8192 tokens\nollama: Cannot reach/,
    );
    await gives("/model openai/n", "Now openai/n, with a window of 8192 tokens.");
    await gives("hello", "A.");
    await gives("/sessions", /\n\* \w{4} .* hello +openai\/n\n/);
    await gives("/status", /window +8192 tokens, 0\.9 % used \(70\)/);
    await gives("/context", /About \d+ tokens of 8192 \(\d+ %\)\./);
    await gives(
      "/model openai/nn",
      /openai does not list 'openai\/nn'\. The nearest: openai\/n,[\s\S]*\[y\/N\]/,
    );
    await hit("n", "Still openai/n");
    await gives("/model", /\? Model \(now openai\/n\)[\s\S]*openai\/n {2}8192 tokens/);
    await hit("/m", /\? Model \(now openai\/n\) \/m[\s\S]*❯ openai\/m/);
    await hit(KEY.enter, "Now openai/m");
    await gives("again", "B.");
    deepEqual(fake.requests.map(({ body }) => body.model), ["n", "m"]); // biome-ignore format: short
  });

  test("/model is for this conversation, and with --keep for those to come", async (t) => {
    const { it, tells } = await sit(t);
    const kept = () => it.ctx.settings.list().find(({ name }) => name === "model")?.from;
    const before = kept();
    await tells("/model rout", "For this conversation; /model offline/router --keep: from now on.");
    deepEqual(kept(), before);
    await tells(
      "/model offline/router --keep",
      /Still offline\/router[\s\S]*From now on: it is the setting model\./,
    );
    deepEqual(kept(), ["home"]);
    const file = readFileSync(join(it.ctx.about.home, "zz.config.json"), "utf8");
    equal(JSON.parse(file).model, "offline/router");
  });

  test("/model says which is in force, and refuses a wrong one", async (t) => {
    const { tells } = await sit(t, { model: "offline/router" });
    await tells("/model zebra", "Cannot use model 'zebra': there is none. /models lists them.");
    await tells("/model", "offline/router; its provider does not say how large its window is.");
  });
});

describe("status", () => {
  test("/status counts turns, tokens, calls, edits applied and refused, and what failed", async (t) => {
    const usage = { input: 61, output: 9 };
    const writes = (name: string) => [
      { ...written(name), usage },
      { text: "Done.", usage },
    ];
    const script = [...writes("a.txt"), ...writes("b.txt"), { fail: "no such model" }];
    const { it, say, tells } = await sit(t, { script, allow: { write: ["a.txt"] } });
    await say("write a", "write b");
    await it.ask("more").catch(() => {});
    const shown = await tells("/status", "settings  ");
    // in several rows, where the home's path is long
    const [, stored = ""] = /^stored in {5}(.*?)^provider/ms.exec(shown) ?? [];
    match(stored.replace(/\s/g, ""), new RegExp(`^${it.home}/sessions/.*\\.jsonl\\(\\d+bytes\\)$`));
    for (const row of [
      /^session {7}\d{8}-\d{6}-\w{8} “write a”$/m,
      /^model {9}script\/model$/m,
      /^since start {3}\d+ s; 3 turns in this conversation\ntokens {8}244 in, 36 out\ntools {9}2 calls, 1 of them failed$/m,
      /^errors +1, the last: .*no such model\nedits {9}1 applied, 0 undone, 1 refused\nplugins {7}\d+ loaded, 0 failed$/m,
      /^permissions {3}1 rule besides zz's own/m,
    ])
      match(shown, row);
  });

  test("/context names what was drawn into the prompt, and the files read", async (t) => {
    const files = {
      "AGENTS.md": "Rules.\n@docs/more.md",
      "docs/more.md": "more",
      "big.txt": "word ".repeat(8_000),
    };
    const home = {
      "skills/knots/SKILL.md": "---\nname: knots\ndescription: ties\ntriggers: rope\n---\nPull.",
    };
    const script = [{ call: ["read_file", { path: "big.txt" }] as [string, unknown] }, "Read."];
    const { say, tells } = await sit(t, { files, home, script });
    await say("read of a rope");
    const shown = await tells("/context", /^results of read_file \(1\) [\s\S]*^prompt: base /m);
    match(shown, /^Drawn into the prompt: AGENTS\.md, docs\/more\.md, the skill knots\.$/m);
    match(shown, /^Files read: big\.txt\.$/m);
  });

  test("/prompt shows the very text that the model is sent; /prompt LAYER one part alone", async (t) => {
    const { tells } = await sit(t);
    await tells("/prompt", /\[base: identity, from zz, about \d+ tokens\]\n\s*You are zz/);
    const session = /\[session: project, from surroundings, about \d+ tokens\]\n[\s\S]*Folder: /;
    doesNotMatch(await tells("/prompt session", session), /\[base: |in all\]/);
    await tells("/prompt nothing", "There are: base, session");
  });
});

describe("cost", () => {
  test("/cost, /status and the answer tell what came from a cache, where anything did, and count what /compact used", async (t) => {
    const own = { input: 1000, output: 10_000, cached: 100, written: 2000 };
    const prices = { "script/model": own, "script/other": { input: 1000, output: 0 } };
    const usage = { input: 100, output: 10, cached: 60, written: 20 };
    const script = [usage, { input: 50, output: 5 }, usage].map((usage) => ({ text: "A.", usage }));
    const { it, say, tells } = await sit(t, { settings: { prices }, script });
    deepEqual((await it.ask(`one ${"word ".repeat(500)}`)).usage, usage);
    await say(`two ${"word ".repeat(500)}`);
    await tells("/cost", /^script\/model {2}150 in {2}60 cached {2}15 out {2}0\.2660$/);
    await tells("/status", /^tokens +150 in \(60 cached\), 15 out$/m);
    await it.chat.use("script/other");
    await say(`three ${"word ".repeat(500)}`);
    const cost = /^script\/other {2}100 in {2}60 cached {2}10 out {2}0\.1000\nin all +0\.3660$/m;
    await tells("/cost", cost);
    await it.restart();
    await tells("/cost", cost);
    await it.command("/compact");
    equal(it.requests.length, 4);
    await tells(
      "/cost",
      /^script\/model +250 in +120 cached +25 out +0\.4320\n[\s\S]*in all +0\.5320$/,
    );
  });

  test("/cost without prices says how to give them, and reckons with what was given, also what was taken back", async (t) => {
    const usage = { input: 61, output: 9 };
    const { it, tells, say } = await sit(t, { script: [{ text: "A.", usage }] });
    const line = /^\/config prices \{"script\/model": \{"input": 0\.15, "output": 0\.6\}\}$/m;
    const [advice] = line.exec(await tells("/cost", /^No price is known\./))!;
    await tells(advice.replace("0.15", "1000"), "prices is {");
    await say("one", "/retry");
    await it.chat.use("script/other");
    await say("two");
    const cost =
      /script\/model {2}122 in {2}18 out +0\.1220\nscript\/other +61 in +9 out +no price\nin all +at least 0\.1220/;
    await tells("/cost", cost);
    await tells("/config unset prices", "prices is not set now");
    await tells("/cost", /^in all +no price$/m);
  });
});

describe("settings", () => {
  test("/config NAME VALUE is in force, in the file, marked; unset and --reset take it back; NAME alone tells of it", async (t) => {
    const { it, tells } = await sit(t);
    const file = () => JSON.parse(readFileSync(join(it.home, "zz.config.json"), "utf8"));
    await tells(
      "/config timeout",
      "timeout = not set (300)\nseconds that a provider may be silent",
    );
    await tells("/config qqq", "Cannot show 'qqq': no such setting.");
    await tells("/config background", /^display\.theme = /m);
    await tells("/config rounds 5", "rounds is 5 now (was not set).");
    equal(file().rounds, 5);
    await tells("/config", /^rounds = 5 \(set in your own settings\)\n {4}Rounds of tools/m);
    await tells("/config symbols.map never", `symbols.map is "never" now (was "sessions").`);
    await tells("/config symbols.map --reset", `symbols.map is "sessions" now (was "never").`);
    await tells("/config unset rounds", "rounds is not set now (was 5).");
    deepEqual([file().symbols ?? {}, file().rounds], [{}, undefined]);
  });
});

describe("answers", () => {
  const CODE = "Two of them:\n\n```js\nlet a = 1;\n```\n\nand\n\n~~~\nb\n~~~\n";

  test("/copy sends the last answer to the terminal's clipboard, /copy 2 the one before, /copy code 2 a block", async (t) => {
    const { gives, raw } = await talk(t, { script: [say("The first answer."), say(CODE)] });
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

  test("/save writes the last answer, or all; what is there is asked for; /undo takes it back", async (t) => {
    const keys: string[] = [];
    const { it, say, tells } = await sit(t, {
      script: ["To keep."],
      answer: async () => keys.shift() ?? "n",
    });
    await say("one");
    await tells("/save notes/a b.md", "Wrote notes/a b.md (9 bytes). /undo takes it back.");
    await tells("/save notes/a b.md all", "");
    equal(it.read("notes/a b.md"), "To keep.\n");
    keys.push("y");
    await tells("/save notes/a b.md all", /Wrote notes\/a b\.md \(\d\d bytes\)/);
    equal(it.read("notes/a b.md"), "## You\n\none\n\n## zz\n\nTo keep.\n");
    await tells("/undo 2", "Undid");
    equal(it.read("notes/a b.md"), undefined);
    it.write("../out.md", "mine");
    await tells("/save --all", "there is no flag '--all' here. A file of that name is './--all'.");
    await tells("/save ../out.md", "Nothing was written.");
    match(it.questions.at(-1)!, /Overwrite it\? \[y\/N\]/);
    equal(it.read("../out.md"), "mine");
    await tells("/save ../no/out.md", "its folder does not exist. Make it first.");
  });

  test("/edit opens the editor with the last message, or with what was typed, and sends what was saved", async (t) => {
    const where = place({ ed: `#!/bin/sh\nprintf ' edited' >> "$1"\n` });
    const editor = join(where.cwd, "ed");
    chmodSync(editor, 0o755);
    const script = [say("A."), say("B."), say("C.")];
    const { gives, sent } = await talk(t, { script, where, env: { EDITOR: editor, VISUAL: "" } });
    await gives("one", "A.");
    await gives("/edit", "B.");
    equal(sent().at(-1), "one edited");
    await gives("/edit two", "C.");
    equal(sent().at(-1), "two edited");
    writeFileSync(editor, "#!/bin/sh\n");
    await gives("/edit three", "Nothing was sent.");
    equal(sent().length, 3);
  });
});

describe("help and templates", () => {
  const mine = `export default (zz) => { zz.command({ name: "dance", usage: "[HOW]", description: "a dance", run() {} });
    zz.key({ name: "f9", description: "a key of mine", press() {} }); };`;
  /** The keys in docs/prompt.md's table of what is typed. */
  const documentedKeys = () => {
    const [, table = ""] = /^## Typing\n([\s\S]*?)^## /m.exec(
      readFileSync(join(ROOT, "docs/prompt.md"), "utf8"),
    )!;
    const cells = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) =>
      cell.split(/[,;] /),
    );
    return cells.flatMap((cell) => /^(?:(?:Ctrl|Alt)\+\w+|Up|Down|Tab|Escape)/.exec(cell) ?? []);
  };

  test("/help has every command in its group, plugins' own under other, and explains every key that the documents name", async (t) => {
    const { tells } = await sit(t, { home: { "plugins/mine.js": mine } });
    const all = await tells("/help all", /typing:[\s\S]*F9 +a key of mine/);
    const groups = [...all.matchAll(/^([a-z ]+):$/gm)].map(([, group]) => group);
    const own = `conversation § sessions and model § files and undo § code § settings § templates
      other`.split(/ § |\n */);
    for (const group of own) ok(groups.includes(group), group);
    match(all, /^ {2}\/review \[WHAT\] [\s\S]*^other:$\n {2}\/dance \[HOW\] +a dance \(mine\)$/m);
    await tells(
      "/help /dance",
      /\/dance \[HOW\]\n {2}a dance\n {2}group: other; plugin: mine \(.*mine\.js\)/,
    );
    await tells("/help other", /^other:\n {2}\/dance \[HOW\] +a dance \(mine\)$/);
    await tells("/help danc", /^other:\n {2}\/dance \[HOW\] +a dance \(mine\)$/);
    await tells(
      "/help qqq",
      "There is no command or key 'qqq'. /help lists them, and /config qqq looks among",
    );
    await tells(
      "/help clipboard image",
      /conversation:\n {2}\/paste +attach the image[\s\S]*typing:\n {2}Ctrl\+V/,
    );
    const files =
      /files and undo:\n {2}\/changes \[N\] +what .*\n[\s\S]*\/undo \[N \| turn \| FILE\] +take back/;
    await tells("/help files", files);
    const keys = documentedKeys();
    ok(keys.length >= 10 && keys.includes("Up") && keys.includes("Escape"), keys.join());
    const others =
      `F9 § control-c § ^D § esc § Alt-Enter § \\  § """ § @FILE § @ § ! § !! § //`.split(" § ");
    for (const key of [...keys, ...others]) await tells(`/help ${key}`, /^ *\S+ +\w/);
  });

  test("every command of zz's own that takes something has an example that it takes", async (t) => {
    const { it } = await sit(t);
    const commands = [...it.core.commands.values()]
      .map(({ value }) => value)
      .filter(({ usage }) => usage);
    ok(commands.length > 25, `${commands.length} commands`);
    for (const { name, examples = {} } of commands) {
      ok(Object.keys(examples).length, `/${name}`);
      for (const [line, does] of Object.entries(examples))
        ok(new RegExp(`^/${name}( |$)`).test(line) && /^[a-z].*[^.]$/.test(does), line);
    }
  });

  test("/help gives the names alone where the window is too low for more", async (t) => {
    const { gives, resize } = await talk(t, { rows: 24 });
    const shown = await gives(
      "/help",
      /typing .*\/\/TEXT {2}!COMMAND .*@FILE[\s\S]*\/help all lists it all.*\n.*›$/,
    );
    match(shown, /^files and undo {6}\/changes {2}\/redo {2}\/undo$/m);
    ok(shown.split("\n").length <= 24, shown);
    resize(80, 150);
    await gives("/help", /\/retry +take back your last message[\s\S]*Ctrl\+Z +stop zz/);
  });

  test("/tools NAME, /plugins and /permissions tell what there is; of a wrong name the nearest", async (t) => {
    const { tells } = await sit(t, { home: { "plugins/mine.js": "export default () => {};" } });
    const takes = /takes:\n {2}path +string: relative .*\n {2}start +integer, optional: first/;
    match(await tells("/tools read_file", takes), /read_file \(read-file\)\n/);
    await tells("/tools edit_fil", "There is: edit_file");
    await tells("/plugins off", "Name a plugin: /plugins off NAME. /plugins lists them.");
    await tells("/permissions drop", "Cannot drop a rule: give its number, /permissions drop N.");
    await tells("/permissions", "the project, except files that hold secrets");
    await tells("/help tests", /\/tests WHAT\n.*\n {2}\/tests parsePrice +write tests/);
    await tells(
      "/help back",
      /\/back \[N \| #ID\]\n.*\n {2}\/back {2,}take back your last message\n {2}\/back 3 /,
    );
  });
});

describe("tables", () => {
  const entry = (id: number, parent: number | null, role: string, text = `m${id}`): Entry =>
    ({ id, parent, at: "", type: "message", message: { role, text } }) as Entry;

  test("drawTree() hangs branches on a back, keeps an entry whose parent was lost, and shows what plugins told", () => {
    const back = { id: 3, parent: null, at: "", type: "back" } as Entry;
    const aside = { role: "user" as const, text: "lint\n5", aside: true as const };
    const entries = [
      entry(1, null, "user"),
      entry(2, 1, "assistant", ""),
      back,
      entry(4, 3, "user"),
      { ...entry(5, 4, "user"), message: aside },
      entry(6, 5, "assistant"),
      entry(9, 7, "user"),
    ];
    const branch = entries.filter(({ id }) => id > 2);
    deepEqual(drawTree(entries, branch, 80), [
      "  ○ #1 m1",
      "● #4 m4 → m6",
      "    told: lint 5",
      "● #9 m9",
    ]);
  });

  test("drawTree() of messages in a row is flat, of 200 retries two deep, and fits", () => {
    const row = Array.from({ length: 200 }, (_, i) =>
      entry(i + 1, i || null, "user", "x".repeat(200)),
    );
    const lines = drawTree(row, row, 40);
    ok(lines.length === 200 && lines.every((line) => line.startsWith("● ") && line.length < 40));
    const retried = Array.from({ length: 200 }, (_, i) =>
      entry(i + 1, i < 2 ? null : Math.floor(i / 2) * 2, "user"),
    );
    const inForce = retried.filter(({ id }) => id % 2 === 0);
    const drawn = drawTree(retried, inForce, 40);
    ok(
      drawn.length === 200 && drawn.every((line) => /^(● | {2}○ )/.test(line)),
      drawn.slice(0, 9).join("\n"),
    );
  });

  test("aligned() puts the second column below where it is narrow, and cuts words that are too long", () => {
    equal(aligned([["a", "b c"]], 79), "a             b c");
    equal(aligned([["a", `one ${"x".repeat(20)}`]], 20), "a\n  one\n  xxxxxxxxxxxxxxxxxx\n  xx");
  });

  test("page() keeps to any width", () => {
    const commands = [
      { name: "a", description: "word ".repeat(40).trim(), group: "code", owner: "x" },
      {
        name: "c",
        usage: "[NAME | enable NAME | disable NAME]",
        description: "long usage",
        owner: "x",
      },
    ];
    for (const room of [30, 59, 60, 119])
      for (const line of page({ commands, keys: [] }, room).split("\n"))
        ok(line.length <= room, line);
  });

  test("each of prompts/*.md is a command that leaves no place unfilled, and names tools that there are", async () => {
    const listed = JSON.parse((await zz(place(), ["--tools", "--json"])).stdout).map(
      (tool: any) => tool.name,
    );
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

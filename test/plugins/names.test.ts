// What other agents call things: a line with a name of theirs, and words alone on the command line.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { COMMANDS, WORDS } from "../../plugins/names/other-names.ts";
import { page, snippet } from "../support/pages.ts";
import { place, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";

/** Of each agent, what people type there. */
const TYPED: [agent: string, names: string][] = [
  [
    "what people type first",
    "resume continue rewind checkpoint usage stats tokens share init theme themes login logout settings diff history agents hooks memory bug exit q",
  ],
  [
    "Claude Code",
    "add-dir clear compact config cost doctor export help ide mcp model output-style permissions plugin review security-review statusline terminal-setup todos vim skills context release-notes upgrade",
  ],
  ["codex", "approvals mention new status quit undo fork"],
  ["opencode", "connect details editor models redo sessions unshare summarize thinking"],
  ["pi", "session name clone tree hotkeys changelog scoped-models copy reload"],
  ["gemini", "chat compress restore about auth extensions tools privacy"],
  [
    "aider",
    "add drop ask code architect chat-mode read-only ls run test git lint web map map-refresh reset commit paste voice reasoning-effort think-tokens weak-model copy-context multiline-mode save",
  ],
  ["goose", "mode extension recipe prompts plan"],
];

describe("Names from other agents", () => {
  test("lead to a command of zz, or to a sentence that says what to do", async (t) => {
    const { it } = await sit(t);
    const commands = it.ctx.about.commands.map(({ name }) => name);
    const names = TYPED.flatMap(([, row]) => row.split(" "));
    deepEqual(
      names.filter((name) => !commands.includes(name) && !Object.hasOwn(COMMANDS, name)),
      [],
    );
    for (const [name, meant] of Object.entries(COMMANDS)) {
      ok(!commands.includes(name), `/${name} is a command: its row would never count`);
      if (!meant.startsWith("/")) match(meant, /^[A-Z/].*\.$|^zz .*\.$/, name);
      else ok(commands.includes(meant.slice(1).split(" ")[0]!), `/${name}: ${meant}`);
      // what a sentence names is there
      for (const [, named] of meant.matchAll(/(?<![\w.])\/([a-z-]+)(?= |\.|$)/g))
        ok(commands.includes(named!), `/${name} names /${named}`);
    }
  });

  test("docs/coming-from.md shows what zz says", async (t) => {
    const { it } = await sit(t);
    const [typed = "", ...told] = snippet("› /settings").trimEnd().split("\n");
    deepEqual(
      (await it.command(typed.slice(2))).join("\n").split("\n").slice(0, told.length),
      told,
    );
  });

  test("are obeyed with the words after them, and explained once", async (t) => {
    const { it, tells } = await sit(t);
    match(
      await tells("/settings display.theme", "display.theme = "),
      /^\/settings is \/config here\.\n/,
    );
    doesNotMatch(await tells("/settings display.theme", "display.theme = "), /here\./);
    await tells("/THEMES", /^\/THEMES is \/config display\.theme here\.\ndisplay\.theme = /);
    await tells("/ide", "Editors drive zz by its flag --acp");
    await tells("/help resume", "/resume is /sessions load here.");
    await tells("/help bug", "debug.log");
    await tells("/undo --help", /^\/undo [\s\S]*group: /m);
    await tells("/settings --help", /^\/config [\s\S]*group: /m);
    equal(it.requests.length, 0);
  });

  test("are nobody's once a command of the person has the name, and unknown ones stay unknown", async (t) => {
    const home = { "prompts/diff.md": "---\ndescription: mine\n---\nMy own diff." };
    const { it, tells } = await sit(t, { home });
    await it.ask("/diff");
    equal(it.requests[0]!.messages[0]!.text, "My own diff.");
    await tells("/constructor", "Cannot run '/constructor'");
    await it.ask("/settings\nis a message of two lines");
    match(it.requests[1]!.messages.at(-1)!.text, /^\/settings\nis/);
    await it.ask("/settings\n--help");
    match(it.requests[2]!.messages.at(-1)!.text, /^\/settings\n--help/);
  });
});

test("docs/coming-from.md says of each name what the table says", () => {
  const rows = page("docs/coming-from.md")
    .split("\n")
    .flatMap((line) => {
      const [, typed, meant] = /^\| ((?:`(?:\/|zz )[\w-]+` ?)+) \| (.*) \|$/.exec(line) ?? [];
      const names = [...(typed ?? "").matchAll(/`(?:\/|zz )([\w-]+)`/g)].map(([, name]) => name!);
      return names.map(
        (name) => [name, meant!.replace(/^`(.*)`$/, "$1"), /`zz /.test(typed!)] as const,
      );
    });
  const told = (ofWords: boolean) =>
    Object.fromEntries(
      rows.filter(([, , isWord]) => isWord === ofWords).map(([name, meant]) => [name, meant]),
    );
  deepEqual(told(false), COMMANDS);
  deepEqual(
    told(true),
    Object.fromEntries(Object.entries(WORDS).map(([word, line]) => [word, `zz ${line.join(" ")}`])),
  );
});

describe("/init", () => {
  test("has the model write an AGENTS.md, which is asked for like any file", async (t) => {
    const script = [
      { call: ["write_file", { path: "AGENTS.md", content: "Use tabs.\n" }] as const },
    ];
    const { it } = await sit(t, { script: script as never, answer: "yes" });
    await it.ask("/init mind the tests");
    match(
      it.requests[0]!.messages[0]!.text,
      /AGENTS\.md at its top\. mind the tests\n[\s\S]*edit_file only where/,
    );
    match(it.questions[0]!, /AGENTS\.md/);
    equal(it.read("AGENTS.md"), "Use tabs.\n");
  });
});

describe("A word alone on the command line", () => {
  const where = place({}, {}, {});
  const rows: [word: string, code: number, says: RegExp][] = [
    ["help", 0, /zz \[flags\] \[words\]/],
    ["sessions", 0, /^'sessions' alone is a command\. To ask the model: zz --once sessions$/m],
    ["mcp", 0, /'mcp' alone is a command\.[\s\S]*MCP/],
    ["update", 0, /'update' alone is a command\./],
    ["models", 0, /offline/],
    ["resume", 2, /'resume' alone is a command \(--continue\)\.[\s\S]*Nothing to ask/],
    ["setup", 0, /'setup' alone is a command/],
    ["login", 0, /'login' alone is a command \(\/setup\)/],
  ];
  for (const [word, code, says] of rows)
    test(`zz ${word}`, async () => {
      const { code: left, stdout, stderr } = await zz(where, [word]);
      match(stderr + stdout, says);
      equal(left, code, stdout + stderr);
    });

  test("does not make a template do without a model", async () => {
    const { code, stderr } = await zz(where, ["--once", "/explain a.ts"]);
    match(stderr, /^No model to ask/);
    equal(code, 2);
  });

  test("is a question with --once, with more words, and where it is no such word", async () => {
    for (const args of [["--once", "help"], ["help", "me"], ["constructor"], ["help!"]]) {
      const { stderr } = await zz(where, ["--dry-run", ...args]);
      doesNotMatch(stderr, /alone is a command/, args.join(" "));
    }
    ok(Object.keys(WORDS).length > 6);
  });
});

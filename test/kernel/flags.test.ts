// The small pure functions of the kernel, a table each.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { exitCode } from "../../kernel/cli.ts";
import { type Answer, PHASES, type Phase, type Tool } from "../../kernel/contract.ts";
import { checkMove, during, type LiveChat } from "../../kernel/core.ts";
import { FLAGS, parseFlags } from "../../kernel/flags.ts";
import { parseCommand } from "../../kernel/obey.ts";
import { fit, frontMatter } from "../../kernel/prompt.ts";
import { clean, nearest } from "../../kernel/text.ts";
import { findTool } from "../../kernel/tools.ts";

const show = (value: unknown) => JSON.stringify(value);

// ── parseFlags ──

const parsed: [argv: string[], values: Record<string, unknown[]>, words?: string[], unknown?: string[]][] = [
  [[], {}],
  [["hi", "there"], {}, ["hi", "there"]],
  [["--once", "hi"], { once: [true] }, ["hi"]],
  [["hi", "--once"], { once: [true] }, ["hi"]],
  [["--model", "openai/m"], { model: ["openai/m"] }],
  [["--model=openai/m"], { model: ["openai/m"] }],
  [["-m", "openai/m"], { model: ["openai/m"] }],
  [["-mopenai/m"], { model: ["openai/m"] }],
  [["-m", "a/b", "-m", "c/d"], { model: ["c/d"] }],
  [["--model=a=b"], { model: ["a=b"] }],
  [["-f", "a", "-f", "b"], { file: ["a", "b"] }],
  [["-cn"], { continue: [true], "no-session": [true] }],
  [["-cm", "a/b"], { continue: [true], model: ["a/b"] }],
  [["-s", ""], { system: [""] }],
  [["-s", "You are --json."], { system: ["You are --json."] }],
  [["--system=--json"], { system: ["--json"] }],
  [["--rounds", "-1"], { rounds: ["-1"] }],
  [["-o", "temperature", "0"], { option: ["temperature=0"] }],
  [["-o", "temperature", "0", "hi"], { option: ["temperature=0"] }, ["hi"]],
  [["-o", "temperature=0", "hi"], { option: ["temperature=0"] }, ["hi"]],
  [["--option", "top_p", "1", "-o", "seed=7"], { option: ["top_p=1", "seed=7"] }],
  [["-o", "stop", "a b=c"], { option: ["stop=a b=c"] }],
  [["-o", "temperature", "--json"], { option: ["temperature"], json: [true] }],
  [["--fork"], { fork: [true] }],
  [["--fork", "hi"], { fork: [true] }, ["hi"]],
  [["--fork=20"], { fork: ["20"] }],
  [["--allow-read"], { "allow-read": [true] }],
  [["--allow-read=a,b", "c"], { "allow-read": ["a,b"] }, ["c"]],
  [["-A"], { "allow-all": [true] }],
  [["-"], {}, ["-"]],
  [["--", "--once", "-x"], {}, ["--once", "-x"]],
  [["--once", "--", "-o", "a", "b"], { once: [true] }, ["-o", "a", "b"]],
  [["--onse"], {}, [], ["--onse"]],
  [["--max-rounds", "5"], { rounds: ["5"] }],
  [["--yes", "--new"], { "allow-all": [true], new: [true] }],
  [["--resume=abc", "--api-key", "k"], { session: ["abc"], key: ["k"] }],
  [["--provider", "openai"], { provider: ["openai"] }],
  [["-x", "hi"], {}, ["hi"], ["-x"]],
  [["--onse=3", "--modle", "m"], {}, ["m"], ["--onse", "--modle"]],
];
for (const [argv, values, words = [], unknown = []] of parsed)
  test(`parseFlags() splits ${show(argv)}`, () => {
    const cli = parseFlags(argv, FLAGS);
    deepEqual({ ...cli, values: Object.fromEntries(cli.values) }, { values, words, unknown });
  });

const misused: [argv: string[], error: RegExp][] = [
  [["--model"], /^Flag --model needs a value: --model PROVIDER\/MODEL\.$/],
  [["-m"], /^Flag -m needs a value: -m PROVIDER\/MODEL\.$/],
  [["--model", "--json"], /^Flag --model needs a value/],
  [["-f", "--once"], /^Flag -f needs a value: -f FILE\.$/],
  [["-o"], /^Flag -o needs a value: -o KEY VALUE\.$/],
  [["--once=yes"], /^Flag --once takes no value\. Leave out '=yes'\.$/],
  [["--json="], /^Flag --json takes no value/],
];
for (const [argv, message] of misused)
  test(`parseFlags() refuses ${show(argv)}`, () => throws(() => parseFlags(argv, FLAGS), { message, exit: 2 }));

test("parseFlags() knows the flags it is given, not only zz's own", () => {
  const cli = parseFlags(["--mood", "good"], [...FLAGS, { name: "mood", value: "WORD", description: "how" }]);
  deepEqual([cli.values.get("mood"), cli.words, cli.unknown], [["good"], [], []]);
});

test("FLAGS has no name and no short form twice, and a sentence for each", () => {
  const names = FLAGS.flatMap(({ name, short }) => [name, ...(short ? [short] : [])]);
  deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  );
  for (const { name, description, short } of FLAGS) {
    ok(/^[a-z][a-z-]+$/.test(name), name);
    ok(description.length > 5, name);
    if (short) equal(short.length, 1, name);
  }
});

// ── parseCommand ──

for (const [line, name, rest] of [
  ["/undo 2", "undo", "2"],
  ["/undo", "undo", ""],
  ["/undo turn  all ", "undo", "turn  all"],
  ["  /undo 2", "undo", "2"],
  ["/model\topenai/m", "model", "openai/m"],
  ["/say one\ntwo", "say", "one\ntwo"],
  ["/dry-run", "dry-run", ""],
  ["/", "", ""],
  ["//x", "", ""],
  ["/ undo", "", ""],
  ["/2", "", ""],
  ["/usr/bin", "", ""],
  ["undo 2", "", ""],
  ["see /undo", "", ""],
  ["", "", ""],
] as const)
  test(`parseCommand() splits ${show(line)}`, () => deepEqual(parseCommand(line), { name, rest }));

// ── nearest ──

const flagNames = FLAGS.map((flag) => flag.name);
for (const [word, known, near] of [
  ["modle", flagNames, "model"],
  ["jsn", flagNames, "json"],
  ["MODEL", flagNames, "model"],
  ["jsonlines", flagNames, "json-lines"],
  ["contin", flagNames, "continue"],
  ["onse", flagNames, "once"],
  ["called", ["called", "call"], "called"],
  ["caled", ["failed", "called"], "called"],
  ["descripton", ["name", "description"], "description"],
  ["quit", ["exit"], "exit"],
  ["banana", flagNames, undefined],
  ["x", flagNames, undefined],
  ["", ["model"], undefined],
  ["model", [], undefined],
] as const)
  test(`nearest() finds ${near ?? "nothing"} for ${show(word)}`, () => equal(nearest(word, known), near));

// ── frontMatter ──

for (const [text, head, body] of [
  ["just words", {}, "just words"],
  ["\n words \n", {}, "words"],
  ["---\nslot: rules\n---\nBe brief.\n", { slot: "rules" }, "Be brief."],
  ["---\r\nslot: rules\r\nbudget: 20\r\n---\r\nBe\r\nbrief.\r\n", { slot: "rules", budget: "20" }, "Be\r\nbrief."],
  ["---\nname:  two words  \n---\n", { name: "two words" }, ""],
  ["---\nurl: http://x:1\n---\nx", { url: "http://x:1" }, "x"],
  ["---\n# a remark\nslot: turn\n---\nx", { slot: "turn" }, "x"],
  ["---\nslot: rules\n---\nbefore\n---\nafter", { slot: "rules" }, "before\n---\nafter"],
  ["---\nslot: rules\nno end", {}, "---\nslot: rules\nno end"],
  ["text\n---\nslot: rules\n---\n", {}, "text\n---\nslot: rules\n---"],
  ["", {}, ""],
] as const)
  test(`frontMatter() takes ${show(text)} apart`, () => deepEqual(frontMatter(text), { head, body }));

// ── fit ──

for (const [length, tokens] of [
  [0, 10],
  [40, 10],
  [4_000, 1_000],
] as const)
  test(`fit() leaves ${length} characters alone within ${tokens} tokens`, () =>
    equal(fit("x".repeat(length), tokens), "x".repeat(length)));

for (const [length, tokens] of [
  [401, 100],
  [1_000, 100],
  [100_000, 2_000],
] as const)
  test(`fit() cuts ${length} characters to ${tokens} tokens: head 70, tail 20 in the hundred`, () => {
    const text = Array.from({ length }, (_, i) => String.fromCharCode(0x4e00 + (i % 20_000))).join("");
    const cut = fit(text, tokens);
    const [head = "", marker = "", tail = ""] = cut.split("\n");
    ok(cut.length <= tokens * 4, `${cut.length}`);
    equal(head, text.slice(0, tokens * 2.8));
    equal(tail, text.slice(-tokens * 0.8));
    equal(Number(/\d+/.exec(marker)?.[0]), length - head.length - tail.length);
  });

// ── clean ──

for (const [text, shown] of [
  ["plain, ümlaut, 漢字, 🙂", "plain, ümlaut, 漢字, 🙂"],
  ["a\tb\nc", "a\tb\nc"],
  ["a\r\nb", "a\nb"],
  ["hidden\rshown", "hidden␍shown"],
  ["\x1b[2J", "␛[2J"],
  ["\x1b]0;title\x07", "␛]0;title␇"],
  ["\x00\b\v\f", "␀␈␋␌"],
  ["\x7f", "\ufffd"],
  ["\x9b31m", "\ufffd31m"],
  ["\u202egpj.exe", "\ufffdgpj.exe"],
  ["\u2066\u2069\u200e\u200f\u061c", "\ufffd".repeat(5)],
] as const)
  test(`clean() shows ${show(text)} and obeys nothing`, () => equal(clean(text), shown));

// ── exitCode ──

for (const [finish, refused, code, text = "yes"] of [
  ["stop", false, 0],
  ["stop", false, 1, " \n"],
  ["stop", true, 1, ""],
  ["refusal", false, 1],
  ["refusal", true, 1],
  ["filter", false, 3],
  ["length", false, 3, ""],
  ["stop", true, 4],
  ["length", false, 3],
  ["rounds", false, 3],
  ["repeat", false, 3],
  ["rounds", true, 3],
] as const)
  test(`exitCode() is ${code} after '${finish}'${refused ? " with a refused call" : ""}${text.trim() ? "" : ", without words"}`, () => {
    const calls = [
      { name: "a", args: {}, ok: false },
      ...(refused ? [{ name: "b", args: {}, ok: false, refused }] : []),
      { name: "c", args: {}, ok: true },
    ];
    equal(exitCode({ finish, calls, text } as unknown as Answer), code);
  });

// ── checkMove ──

/** As the design draws it. */
const LEGAL: Record<Phase, Phase[]> = {
  idle: ["thinking"],
  thinking: ["planning_tools", "responding"],
  planning_tools: ["executing_tools"],
  executing_tools: ["thinking", "responding"],
  responding: ["done"],
  done: ["idle"],
  error: ["idle"],
  aborted: ["idle"],
};
const phases = Object.keys(LEGAL) as Phase[];
test("PHASES is the design's table", () => deepEqual(PHASES, LEGAL));
for (const from of phases)
  for (const to of phases)
    if (LEGAL[from].includes(to) || to === "error" || to === "aborted")
      test(`checkMove() lets '${from}' become '${to}'`, () => checkMove(from, to));
    else
      test(`checkMove() stops '${from}' from becoming '${to}'`, () =>
        throws(() => checkMove(from, to), { message: new RegExp(`^Cannot go from '${from}' to '${to}':`) }));

// ── findTool ──

function having(...tools: [name: string, ...aliases: string[]][]) {
  const run = () => "";
  const all = tools.map(([name, ...aliases]): Tool => ({ name, description: "d", aliases, run }));
  return { tools: new Map(all.map((value) => [value.name, { owner: "test", value }])) };
}
const house = having(["read_file", "cat", "readFile"], ["lamp_dim"], ["move-crate"], ["functions_list"], ["dim"]);
for (const [given, found] of [
  ["read_file", "read_file"],
  ["cat", "read_file"],
  ["readFile", "read_file"],
  [" read_file ", "read_file"],
  ["read_file\n", "read_file"],
  ["read_file\n<args>", "read_file"],
  ["read_file<|channel|>commentary", "read_file"],
  ['read_file{"path": "a"}', "read_file"],
  ['read_file("a")', "read_file"],
  ["read_file[0]", "read_file"],
  ['read_file" verbose="no', "read_file"],
  ["read_file</tool>", "read_file"],
  ["'read_file'", "read_file"],
  ["functions.read_file", "read_file"],
  ["function.read_file", "read_file"],
  ["functions_read_file", "read_file"],
  ["tools.read_file", "read_file"],
  ["default_api.read_file", "read_file"],
  ["read_file:0", "read_file"],
  ["functions.read_file:12", "read_file"],
  ["functions.lamp_dim:0<|tool_call_argument_begin|>", "lamp_dim"],
  ["functions_list", "functions_list"],
  ["repo_browser.read_file", "read_file"],
  ["read-file", "read_file"],
  ["read.file", "read_file"],
  ["move_crate", "move-crate"],
  ["functions.move.crate", "move-crate"],
  ["lamp_dimlamp_dim", "lamp_dim"],
  ["lamp_dimlamp_dimlamp_dim", undefined],
  ["lamp_dim_dim", undefined],
  ["read_files", undefined],
  ["lamp", undefined],
  ["(read_file)", undefined],
  ["functions.", undefined],
  ["", undefined],
] as const)
  test(`findTool() takes ${show(given)} for ${found ?? "nothing"}`, () => equal(findTool(house, given)?.name, found));

test("findTool() takes a name that fits two tools for neither", () =>
  equal(findTool(having(["move-crate"], ["move_crate"]), "move.crate"), undefined));
test("findTool() takes the exact name before one that is only like it", () =>
  equal(findTool(having(["move-crate"], ["move_crate"]), "move_crate")?.name, "move_crate"));

test("during() lets pass what belongs to the phase, and names a bug otherwise", () => {
  const chat = { phase: "thinking" } as LiveChat;
  during(chat, "thinking", "planning_tools");
  throws(
    () => during(chat, "executing_tools", "responding"),
    /^Error: Cannot do this while 'thinking', only while 'executing_tools' or 'responding'\. This is a bug in zz\.$/,
  );
});

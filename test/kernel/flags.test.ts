// The small pure functions of the kernel, a table each.
import { deepEqual, doesNotMatch, equal, notEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import type { Answer, Tool } from "../../kernel/contract.ts";
import { frontMatter } from "../../kernel/conversation/prompt-files.ts";
import { shortenToTokens } from "../../kernel/conversation/system-prompt.ts";
import { assertPhaseChange } from "../../kernel/events.ts";
import { findTool } from "../../kernel/plugins/run-call.ts";
import { exitCode, parseCommand } from "../../kernel/program/command-line.ts";
import { parseFlags } from "../../kernel/program/parse-flags.ts";
import { KERNEL_FLAGS } from "../../kernel/settings/flag-table.ts";
import { nearest } from "../../kernel/text/did-you-mean.ts";
import { errnoSentence, sentenceOf } from "../../kernel/text/faults.ts";
import { clean, cleanRendered } from "../../kernel/text/show-safely.ts";

const show = (value: unknown) => JSON.stringify(value);

const parsed: [
  argv: string[],
  values: Record<string, unknown[]>,
  words?: string[],
  unknown?: string[],
][] = [
  [[], {}],
  [["--once", "hi"], { once: [true] }, ["hi"]],
  [["--model=openai/m"], { model: ["openai/m"] }],
  [["-mopenai/m"], { model: ["openai/m"] }],
  [["-m", "a/b", "-m", "c/d"], { model: ["c/d"] }],
  [["--model=a=b"], { model: ["a=b"] }],
  [["-f", "a", "-f", "b"], { file: ["a", "b"] }],
  [["-cn"], { continue: [true], "no-session": [true] }],
  [["-cm", "a/b"], { continue: [true], model: ["a/b"] }],
  [["-s", ""], { system: [""] }],
  [["--rounds", "-1"], { rounds: ["-1"] }],
  [["-o", "temperature", "0", "hi"], { option: ["temperature=0"] }, ["hi"]],
  [["-o", "temperature", "--json"], { option: ["temperature"], json: [true] }],
  [["--fork"], { fork: [true] }],
  [["--fork=20"], { fork: ["20"] }],
  [["-"], {}, ["-"]],
  [["--", "--once", "-x"], {}, ["--once", "-x"]],
  [["--yes", "--new"], { "allow-all": [true], new: [true] }],
  [["--resume=abc", "--api-key", "k"], { session: ["abc"], key: ["k"] }],
  [["--resume", "--api-key", "k"], { continue: [true], key: ["k"] }],
  [["-x", "hi"], {}, ["hi"], ["-x"]],
  [["--onse=3", "--modle", "m"], {}, ["m"], ["--onse", "--modle"]],
];
for (const [argv, values, words = [], unknown = []] of parsed)
  test(`parseFlags() splits ${show(argv)}`, () => {
    const cli = parseFlags(argv, KERNEL_FLAGS);
    deepEqual({ ...cli, values: Object.fromEntries(cli.values) }, { values, words, unknown });
  });

const misused: [argv: string[], error: RegExp][] = [
  [["--model"], /^Flag --model needs a value: --model PROVIDER\/MODEL\.$/],
  [["--model", "--json"], /^Flag --model needs a value/],
  [["--run"], /^Flag --run needs a value: --run SCRIPT \[ARGS\]\.$/],
  [["-o"], /^Flag -o needs a value: -o KEY VALUE\.$/],
  [["--once=yes"], /^Flag --once takes no value\. Leave out '=yes'\.$/],
];
for (const [argv, message] of misused)
  test(`parseFlags() refuses ${show(argv)}`, () =>
    throws(() => parseFlags(argv, KERNEL_FLAGS), { message, exit: 2 }));

for (const [line, name, rest] of [
  ["/undo 2", "undo", "2"],
  ["  /undo 2", "undo", "2"],
  ["/model\topenai/m", "model", "openai/m"],
  ["/say one\ntwo", "say", "one\ntwo"],
  ["/", "", ""],
  ["/usr/bin", "", ""],
  ["undo 2", "", ""],
  ["", "", ""],
] as const)
  test(`parseCommand() splits ${show(line)}`, () =>
    deepEqual(parseCommand(line), { name, words: rest }));

const flagNames = KERNEL_FLAGS.map((flag) => flag.name);
for (const [word, known, near] of [
  ["modle", flagNames, "model"],
  ["jsonlines", flagNames, "json-lines"],
  ["contin", flagNames, "continue"],
  ["caled", ["failed", "called"], "called"],
  ["quit", ["exit"], "exit"],
  ["banana", flagNames, undefined],
  ["pexxxxsion", ["permission"], "permission"],
  ["prmsxsnnnn", ["permission"], undefined],
] as const)
  test(`nearest() finds ${near ?? "nothing"} for ${show(word)}`, () =>
    equal(nearest(word, known), near));

for (const [text, head, body] of [
  ["just words", {}, "just words"],
  ["---\nslot: rules\n---\nBe brief.\n", { slot: "rules" }, "Be brief."],
  ["---\r\nslot: rules\r\nbudget: 20\r\n---\r\nBe\r\nbrief.\r\n", { slot: "rules", budget: "20" },
    "Be\r\nbrief."],
  ["---\nurl: http://x:1\n---\nx", { url: "http://x:1" }, "x"],
  ["---\nslot: rules\n---\nbefore\n---\nafter", { slot: "rules" }, "before\n---\nafter"],
  ["---\nslot: rules\nno end", {}, "---\nslot: rules\nno end"],
  ["", {}, ""],
] as const) // biome-ignore format: a table
  test(`frontMatter() takes ${show(text)} apart`, () =>
    deepEqual(frontMatter(text), { head, body }));

test("fit() leaves what fits, and cuts the rest: head 70, tail 20 in the hundred", () => {
  equal(shortenToTokens("x".repeat(40), 10), "x".repeat(40));
  const text = Array.from({ length: 1_000 }, (_, i) => String.fromCharCode(0x4e00 + i)).join("");
  deepEqual(shortenToTokens(text, 100).split("\n"), [
    text.slice(0, 280),
    "[… 640 characters left out …]",
    text.slice(-80),
  ]);
});

for (const [text, shown] of [
  ["plain, ümlaut, 漢字, 🙂", "plain, ümlaut, 漢字, 🙂"],
  ["a\r\nb", "a\nb"],
  ["hidden\rshown", "hidden␍shown"],
  ["\x1b]0;title\x07", "␛]0;title␇"],
  ["\x9b31m", "\ufffd31m"],
  ["\u202egpj.exe", "\ufffdgpj.exe"],
] as const)
  test(`clean() shows ${show(text)} and obeys nothing`, () => equal(clean(text), shown));

for (const [text, shown] of [
  ["\x1b[1mbold\x1b[0m\r\n", "\x1b[1mbold\x1b[0m\n"],
  ["\x1b]8;;https://a.example\x1b\\a\x1b]8;;\x1b\\",
    "\x1b]8;;https://a.example\x1b\\a\x1b]8;;\x1b\\"],
  ["\x1b[2J\x1b[1m", "␛[2J\x1b[1m"],
  ["\x1b\\ of nothing", "␛\\ of nothing"],
] as const) // biome-ignore format: a table
  test(`cleanRendered() leaves paint and links of ${show(text)}`, () =>
    equal(cleanRendered(text), shown));

for (const [finish, refused, code, text = "yes"] of [
  ["stop", false, 0],
  ["stop", false, 1, " \n"],
  ["stop", true, 1, ""],
  ["refusal", false, 1],
  ["refusal", true, 1],
  ["filter", false, 3],
  ["stop", true, 4],
  ["length", false, 3],
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

for (const [from, to, isLegal] of [
  ["idle", "thinking", true],
  ["thinking", "aborted", true],
  ["executing_tools", "error", true],
  ["idle", "done", false],
  ["done", "thinking", false],
] as const)
  test(`checkMove() ${isLegal ? "lets" : "does not let"} '${from}' become '${to}'`, () => {
    if (isLegal) assertPhaseChange(from, to);
    else
      throws(() => assertPhaseChange(from, to), {
        message: new RegExp(`^Cannot go from '${from}' to '${to}':`),
      });
  });

function having(...tools: [name: string, ...aliases: string[]][]) {
  const run = () => "";
  const all = tools.map(([name, ...aliases]): Tool => ({ name, description: "d", aliases, run }));
  return { tools: new Map(all.map((value) => [value.name, { owner: "test", value }])) };
}
const house = having(
  ["read_file", "cat", "readFile"],
  ["lamp_dim"],
  ["move-crate"],
  ["functions_list"],
  ["dim"],
);
for (const [given, found] of [
  ["read_file", "read_file"],
  ["cat", "read_file"],
  [" read_file ", "read_file"],
  ["read_file\n<args>", "read_file"],
  ["read_file<|channel|>commentary", "read_file"],
  ['read_file{"path": "a"}', "read_file"],
  ['read_file" verbose="no', "read_file"],
  ["functions.read_file", "read_file"],
  ["default_api.read_file", "read_file"],
  ["functions.lamp_dim:0<|tool_call_argument_begin|>", "lamp_dim"],
  ["functions_list", "functions_list"],
  ["read-file", "read_file"],
  ["lamp_dimlamp_dim", "lamp_dim"],
  ["lamp_dimlamp_dimlamp_dim", undefined],
  ["(read_file)", undefined],
  ["", undefined],
] as const)
  test(`findTool() takes ${show(given)} for ${found ?? "nothing"}`, () =>
    equal(findTool(house, given)?.name, found));

test("findTool() takes a name that fits two tools for neither", () =>
  equal(findTool(having(["move-crate"], ["move_crate"]), "move.crate"), undefined));
test("findTool() takes the exact name before one that is only like it", () =>
  equal(findTool(having(["move-crate"], ["move_crate"]), "move_crate")?.name, "move_crate"));

const RAW = /\bE[A-Z]{3,}\b|errno|syscall/;
const CODES =
  `ENOENT EACCES EPERM EROFS ENOSPC EDQUOT EMFILE ENFILE EISDIR ENOTDIR ELOOP ENAMETOOLONG EBUSY ETXTBSY EXDEV EEXIST ENOTEMPTY
  EFBIG EIO ESTALE E2BIG ENOMEM EAGAIN ENXIO ENODEV EMLINK EINVAL ENOEXEC`.split(/\s+/);
test("Each fault of the disk has its sentence", () => {
  for (const code of CODES) {
    const error = Object.assign(new Error(`${code}: raw words, write`), { code, syscall: "write" });
    notEqual(errnoSentence(error), "", code);
    doesNotMatch(sentenceOf(error), RAW, code);
    equal(
      sentenceOf(Object.assign(error, { syscall: "spawn" })),
      `Cannot start it: ${errnoSentence(error)}`,
    );
  }
});

test("A NUL in a name is told in words", () => {
  const error = new Error("The argument must be a string without null bytes");
  equal(
    sentenceOf(error),
    "Cannot use a name or an argument with a NUL character in it. Leave it out.",
  );
});

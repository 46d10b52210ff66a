// The history of what was typed: what of it is kept, and what of a file is read.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Zz } from "zz";
import {
  addEntry,
  MAX_ENTRIES,
  MAX_ENTRY_CHARS,
  openHistory,
} from "../../../plugins/repl/typed-history.ts";

const zz = {
  veil: (text: string) => text.replaceAll("hidden", "[key]"),
  config: { history: true },
} as unknown as Zz;

function historyOf(text: string) {
  const update = (change: (text: string) => string) => void (file.text = change(file.text));
  const file = { text, read: () => file.text, update };
  return { file, history: openHistory({ history: file } as never) };
}

for (const [what, typed, kept] of [
  ["a message", ["a", "b"], ['"a"', '"b"']],
  ["the same again once", ["a", "a"], ['"a"']],
  ["nothing of blanks", [" ", ""], []],
  ["nothing that begins with a space", [" a"], []],
  ["no command that sets a key", ["/keys set openai x", "/env set A=b"], []],
  ["no secret that zz knows", ["it is hidden"], []],
  ["nothing overlong", ["x".repeat(MAX_ENTRY_CHARS + 1)], []],
] as const)
  test(`addEntry() keeps ${what}`, () => {
    const { file, history } = historyOf("");
    for (const text of typed) addEntry(history, text, zz);
    deepEqual(file.text.split("\n").filter(Boolean), kept);
  });

test("two zz that keep one history lose nothing, keep nothing twice in a row, and keep the order in which it was typed", () => {
  const { file, history } = historyOf("");
  const other = openHistory({ history: file } as never);
  const type = (...lines: [typeof history, string][]) => {
    for (const [where, text] of lines) addEntry(where, text, zz);
  };
  type(
    [history, "make"],
    [other, "make"],
    [other, "git log"],
    [history, "make"],
    [history, "ls"],
    [other, "git log"],
  );
  deepEqual(openHistory({ history: file } as never).entries, [
    "git log",
    "ls",
    "make",
    "git log",
    "make",
  ]);
  deepEqual(history.entries, ["ls", "make"]);
  deepEqual(other.entries, ["git log", "make"]);
});

test("addEntry() remembers in this conversation what it does not keep", () => {
  const { file, history } = historyOf("");
  addEntry(history, " a", zz);
  addEntry(history, "b", { ...zz, config: { history: false } } as unknown as Zz);
  deepEqual([file.text, history.entries], ["", ["b", " a"]]);
});

for (const [what, text, entries] of [
  ["newest first", '"a"\n"b"\n', ["b", "a"]],
  ["without lines that are no text", '"a"\n{"b": 1}\n12\n', ["a"]],
  ["with control characters made visible", '"\\u001b[2J"\n', ["␛[2J"]],
  ["without overlong lines", `${JSON.stringify("x".repeat(MAX_ENTRY_CHARS + 1))}\n"a"\n`, ["a"]],
] as const)
  test(`openHistory() reads the file ${what}`, () =>
    deepEqual(historyOf(text).history.entries, entries));

test("openHistory() cuts a file that grew far too long, and reads its end", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, i) => `"${i}"\n`).join("");
  const { file, history } = historyOf(lines(MAX_ENTRIES * 1.2 + 1));
  equal(file.text.split("\n").length, MAX_ENTRIES);
  deepEqual([history.entries.length, history.entries[0]], [MAX_ENTRIES, `${MAX_ENTRIES * 1.2}`]);
  equal(historyOf(lines(MAX_ENTRIES + 1)).file.text, lines(MAX_ENTRIES + 1));
});

test("A file that cannot be written does not end the conversation", () => {
  const update = () => {
    throw new Error("disk full");
  };
  const history = openHistory({ history: { read: () => "", update } } as never);
  addEntry(history, "a", zz);
  deepEqual(history.entries, ["a"]);
});

// Rows of the screen, and pages of them: nothing is left out, and no answer counts before all was
// shown.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import widthOf from "string-width";
import { PASTED, putQuestion, rowsOf } from "../../../plugins/repl/page-questions.ts";

const bare = (text: string) => text.replace(/\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\/g, "");

for (const [what, line] of [
  ["ASCII", "x".repeat(1_000)],
  ["the head's bar", `┏ run_command wants to run "${"z ".repeat(400)}"`],
  ["emoji", "👩‍💻🇩🇪👍🏽".repeat(50)],
  ["colours", "\x1b[31mred \x1b[1mstrong\x1b[0m plain ".repeat(40)],
  ["a line of a diff", `┃     2 - ${"word wordwordword ".repeat(30)}`],
  ["a link", `\x1b]8;;https://a.example/${"p".repeat(300)}\x1b\\text\x1b]8;;\x1b\\`],
  ["tabs", "a\tb\tlonger\t".repeat(30)],
] as const)
  for (const columns of [40, 10])
    test(`Rows of ${what} fit ${columns} columns and hold all of it`, () => {
      const rows = rowsOf(line, columns).map(({ text }) => text);
      for (const row of rows) ok(widthOf(row) <= columns, `${widthOf(row)}: ${row}`);
      const own = /^[┏┠┃┗] /.test(line) ? 2 : 0;
      const joined = bare(rows.map((row, i) => (i ? row.slice(own) : row)).join(""));
      const squeeze = (text: string) => text.replaceAll(/[\t ]/g, "");
      equal(squeeze(joined), squeeze(bare(line)));
      if (own) for (const row of rows.slice(1)) ok(/^(┃ | {2})/.test(row), row);
    });

test("Rows end between words, and within one that is longer than a row", () => {
  const rows = rowsOf(
    "┃ one to three four\n┃ \x1b[31mfive sixseveneightnine\x1b[0m ten\n┗ Go on? [y/N] ",
    12,
  );
  const shown = rows.map(({ text }) => bare(text).trimEnd());
  deepEqual(shown, [
    "┃ one to",
    "┃ three four",
    "┃ five",
    "┃ sixsevenei",
    "┃ ghtnine",
    "┃ ten",
    "┗ Go on?",
    "  [y/N]",
  ]);
  for (const { text } of rows.slice(2, 5))
    ok(!text.includes("\x1b[31m") || text.includes("\x1b[0m"), text);
});

test("A line of a diff goes on under its text, not under its number, unless the window is too narrow", () => {
  const rows = (columns: number) =>
    rowsOf("┃ \x1b[31m   12 - one two three\x1b[0m", columns).map(({ text }) => bare(text));
  deepEqual(rows(28), ["┃    12 - one two three"]);
  const narrow = [...rows(26), ...rows(18)].map((row) => row.trimEnd());
  deepEqual(narrow, ["┃    12 - one two three", "┃    12 - one two", "┃ three"]);
  const wide = rowsOf(`┃    12 + ${"ab ".repeat(14)}`, 30).map(({ text }) => text.trimEnd());
  deepEqual(wide, ["┃    12 + ab ab ab ab ab ab ab", "┃         ab ab ab ab ab ab ab"]);
});

test("No row begins or ends with the space behind a word that fills a row", () => {
  const rows = (line: string) => rowsOf(line, 12).map(({ text }) => text);
  deepEqual(rows("┃ tenletters more"), ["┃ tenletters", "┃ more"]);
  deepEqual(rows("┃ tenletters "), ["┃ tenletters"]);
});

test("A letter that is hard to measure is measured once", () => {
  const fastest = (text: string) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const started = performance.now();
        rowsOf(text, 80);
        return performance.now() - started;
      }),
    );
  ok(fastest("ไ".repeat(20_000)) < 10 * fastest("中".repeat(20_000)));
});

/** A screen of so many rows, and somebody who presses these keys. */
async function put(
  text: string,
  keys: string,
  typed: string[],
  size = { columns: 40, rows: 6 },
  plain = false,
) {
  const pages: string[] = [""];
  const left = [...typed];
  const answer = await putQuestion(text, keys, {
    size: () => size,
    plain,
    write: (text) => void (pages[pages.length - 1] += text),
    async press() {
      pages.push("");
      return left.shift() ?? "\x03";
    },
  });
  return { answer, left, pages: pages.filter(Boolean) };
}
const LONG = Array.from({ length: 12 }, (_, i) => `line ${i + 1}`).join("\n");

for (const [columns, keys, bar] of [
  [80, "yn", "── line 8 of 12 · 3 unseen · space goes on · G = end · n = no · b = back "],
  [41, "yn", "─ 8/12 · space: more · n: no · b: back "],
  [38, "q", "─ 8/12 · space: more · Esc: leave "],
  [31, "yn", "─ 8/12 · space: more · n: no "],
  [20, "yn", "space: more "],
] as const)
  test(`At ${columns} columns the bar of a page says '${bar.trim()}', and on the first page nothing of going back`, async () => {
    const { pages } = await put(LONG, keys, [" "], { columns, rows: 6 });
    // the last row is the end of the question
    const bars = pages.map((page) => page.split("\n").at(-2));
    equal(bars[1], bar);
    doesNotMatch(bars[0]!, /back/);
    ok(bar.length < columns);
  });

for (const [what, typed, answer, left] of [
  ["y at once is no answer", ["y", "y", " ", " ", "y"], "y", 0],
  ["nor is it at the end, if that was jumped to", ["G", "y", " ", "y"], "y", 0],
  ["End jumps as well, and n counts there", ["\x1b[F", "n"], "n", 0],
  ["? explains at any time", ["?", "y"], "?", 1],
  ["n counts at any time", ["n", "y"], "n", 1],
  ["Ctrl+C counts at any time", [" ", "\x03", "y"], "\x03", 1],
  ["Ctrl+C counts in one piece with other keys", [" ", "x\x03", "y"], "x\x03", 1],
  ["a question that is closed", ["", "y"], "", 1],
  ["Enter and arrow down go on", ["\r", "\x1b[B", "y"], "y", 0],
  ["back: what was seen counts", [" ", " ", "b", "y"], "y", 0],
  ["what was typed ahead in one piece is nothing", ["   y", " ", " ", "y"], "y", 0],
  ["another key at the end is no answer", [" ", " ", "x", "\x1b[D", "\x1b[5~ ", "y"], "y", 0],
] as const)
  test(`Of three pages: ${what}`, async () => {
    const done = await put(LONG, "yneAr?", [...typed]);
    deepEqual([done.answer, done.left.length], [answer, left]);
  });

/** Somebody types in bursts, whose letters follow each other at once. What the question comes to,
 * and the words that were said. */
async function talk(text: string, bursts: string[]): Promise<string[]> {
  const left = [...bursts];
  const next = (now = left[0] ?? "\x03", count = now.startsWith(PASTED) ? now.length : 1) => {
    left[0] = now.slice(count);
    return now.slice(0, count);
  };
  let said = "";
  const answer = await putQuestion(text, "yneAr?", {
    size: () => ({ columns: 40, rows: 6 }),
    write: () => {},
    async press() {
      if (!left[0]) left.shift();
      return next();
    },
    soon: async () => (left[0] ? next() : ""),
    async words(first) {
      said = (first + left[0]).replace(PASTED, "").trim();
      left.shift();
      return /^y(es)?$/.test(said) ? "y" : "n";
    },
  });
  return [answer, said];
}
const SHORT = "one\ntwo [y/n] ";
for (const [text, bursts, answer, said] of [
  [LONG, ["name it\r"], "n", "name it"],
  [LONG, ["but why\r"], "n", "but why"],
  [LONG, [`${PASTED}name`, "\r"], "n", "name"],
  [LONG, ["yes\r", "y", " ", " ", "y"], "y", "yes"], // too early
  [LONG, ["n"], "n", ""],
  [LONG, ["n\r"], "n\r", ""],
  [SHORT, ["you should\r"], "n", "you should"],
  [SHORT, ["no, not so\r"], "n", "no, not so"],
  [SHORT, [`${PASTED}y`, "\r"], "y", "y"], // with Enter, and seen before
  [SHORT, ["y"], "y", ""],
  [SHORT, ["y\r"], "y", ""],
  [SHORT, ["y\x03"], "\x03", ""],
] as const)
  test(`Of ${text === LONG ? "three pages" : "one"}, ${JSON.stringify(bursts)} means ${JSON.stringify(answer)}: no letter of a word is a key`, async () =>
    deepEqual(await talk(text, [...bursts]), [answer, said]));

test("Each line is on a page, its end on all of them; the bar tells how much is left, and the last page has none", async () => {
  const { pages } = await put(LONG, "yn", [" ", " ", "y"]);
  const all = pages.join("");
  for (const line of LONG.split("\n")) ok(all.includes(line), line);
  deepEqual(all.match(/\d+\/12/g), ["4/12", "8/12"]);
  for (const page of pages.slice(0, 3)) match(page, /\nline 12$/);
  match(pages[2]!, /Jline 9\nline 10\nline 11\nline 12$/);
});

test("An answer that comes too early is told what is missing", async () => {
  const { pages } = await put(LONG, "yn", ["y", "G", "y", " ", " ", "y"]);
  match(pages[1]!, /space first: 7 lines unseen/);
  match(pages[3]!, /space first: 3 lines unseen/);
});

test("In a window that grows after a jump to the end, y counts once the middle was drawn", async () => {
  const size = { columns: 40, rows: 6 };
  const typed = ["G", "y", "y"];
  let shown = "";
  const answer = await putQuestion(LONG, "yn", {
    size: () => ({ ...size }),
    write: (text) => void (shown += text),
    async press() {
      if (typed.length === 2) size.rows = 40;
      return typed.shift() ?? "\x03";
    },
  });
  equal(answer, "y");
  for (const line of LONG.split("\n"))
    ok(shown.includes(`${line}\n`) || shown.endsWith(line), line);
});

test("Where a plain yes is wanted, it counts at once", async () => {
  const { answer, left } = await put(LONG, "yn", ["y", " "], undefined, true);
  deepEqual([answer, left], ["y", [" "]]);
});

test("What fits the screen is answered at once", async () => {
  const { answer, pages } = await put("one\ntwo [y/n] ", "yn", ["y"]);
  deepEqual([answer, pages.join("")], ["y", "one\ntwo [y/n] "]);
});

test("In a window that was made narrower it goes on from the same line", async () => {
  const size = { columns: 40, rows: 6 };
  const text = Array.from({ length: 9 }, (_, i) => `${i}${"x".repeat(30)}`).join("\n");
  let [shown, typed] = ["", 0];
  const answer = await putQuestion(text, "yn", {
    size: () => ({ ...size }),
    write: (text) => void (shown += text),
    async press() {
      if (typed++ === 0) size.columns = 20;
      return typed > 8 ? "y" : " ";
    },
  });
  equal(answer, "y");
  for (let i = 0; i < 9; i++) match(shown, new RegExp(`(^|\n|K)${i}xx`));
});

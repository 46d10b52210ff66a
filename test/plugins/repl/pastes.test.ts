// Pastes: told apart from keys in whatever pieces the bytes come, and long ones named in the line.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import * as pasting from "../../../plugins/repl/pastes.ts";
import { standingClock } from "../../../sdk/clock.ts";

const { expandPastes, newPastes, normalizePaste, openPasteReader, readInput, textInLine } = pasting;
const [START, END] = ["\x1b[200~", "\x1b[201~"];

/** What a reader makes of the pieces: keys as they are, joined; pastes in brackets. */
function reading() {
  let seen = "";
  const clock = standingClock();
  const see = (text: string | Buffer) => void (seen += text);
  const reader = openPasteReader({ clock, onKeys: see, onPaste: (text) => see(`[${text}]`) });
  return {
    clock,
    read: (piece: string) => readInput(reader, Buffer.from(piece)),
    seen: () => seen,
  };
}

for (const [what, pieces, seen] of [
  ["a paste between keys", [`a${START}b\nc${END}d`], "a[b\nc]d"],
  ["a paste byte by byte", [..."a", ...START, ..."b", ...END, ..."c"], "a[b]c"],
  ["an arrow key, which begins as a marker does", ["\x1b[A"], "\x1b[A"],
  ["the first marker again in a paste", [`${START}a${START}b${END}`], `[a${START}b]`],
  ["a wide sign torn in two", [`${START}é`, `${END}`], "[é]"],
  ["Ctrl+C in a paste is text", [`${START}a`, "\x03", END], "[a\x03]"],
] as const)
  test(`readInput(): ${what}`, () => {
    const { read, seen: got } = reading();
    for (const piece of pieces) read(piece);
    equal(got(), seen);
  });

/** What terminals answer to questions that no key press asks. */
const REPORTS = `[?62;4;6c § [24;80R § [6;20;10t § [0n § [?0u § [?2026;2$y
  ]11;rgb:1e1e/1e1e/1e1e\x07 § ]10;rgb:ffff/ffff/ffff\x1b\\ § ]52;c;aGk=\x07
  P>|kitty(0.40.1)\x1b\\ § P1+r544e=787465\x1b\\ § P1$r0 q\x1b\\ § P!|00000000\x1b\\
  _Gi=31;OK\x1b\\`
  .split(/ § |\n */)
  .map((report) => `\x1b${report}`);
for (const report of REPORTS)
  test(`readInput() types no report of the terminal, however it is split: ${JSON.stringify(report)}`, async () => {
    for (let at = 0; at <= report.length; at++) {
      const { clock, read, seen } = reading();
      for (const piece of ["a", report.slice(0, at), report.slice(at), "b"]) read(piece);
      read(`${report}${START}${report}${END}${report}c`);
      await clock.pass(1_000);
      equal(seen(), `ab[${report}]c`, `split at ${at}`);
    }
    const { read, seen } = reading();
    for (const byte of `a${report}b`) read(byte);
    equal(seen(), "ab");
  });

for (const [start, rest] of [
  ["[6;", "20;10t"],
  ["[6;20", ";10t"],
  ["[6;20;10", "t"],
  ["[24;8", "0R"],
  ["[?62;4", "c"],
  ["[?2026;2$", "y"],
  ["]11;rgb:1e1e/", "1e1e/1e1e\x07"],
  ["P>|kit", "ty\x1b\\"],
] as const)
  test(`readInput() types no report whose rest is slow: ${JSON.stringify(start)}`, async () => {
    const { clock, read, seen } = reading();
    read(`a\x1b${start}`);
    await clock.pass(900);
    read(`${rest}b`);
    equal(seen(), "ab");
  });

for (const keys of `\x1b[1;2R \x1b[27;5;9~ \x1b] \x1bP \x1bOP \x1b[200 \x1b\x1b[A`.split(" "))
  test(`readInput() takes a key for a key: ${JSON.stringify(keys)}`, async () => {
    const { clock, read, seen } = reading();
    read(keys);
    await clock.pass(50);
    equal(seen(), keys);
  });

for (const rest of ["", "[A"])
  test(`readInput() waits 50 ms for what belongs to Escape: '${rest}'`, async () => {
    const { clock, read, seen } = reading();
    read("a\x1b");
    equal(seen(), "a");
    await clock.pass(49);
    equal(seen(), "a");
    if (rest) read(rest);
    else await clock.pass(1);
    equal(seen(), `a\x1b${rest}`);
  });

for (const [pause, made] of [
  [500, ""],
  [501, "[a]b"],
] as const)
  test(`readInput(): after ${pause} ms Ctrl+C ${made ? "ends a paste whose end was lost" : "is part of a paste"}`, async () => {
    const { clock, read, seen } = reading();
    read(`${START}a`);
    await clock.pass(pause);
    read("\x03");
    read("b");
    equal(seen(), made);
  });

for (const [what, text, shown] of [
  ["a short text stands as it is", "a\nb", "a\nb"],
  ["a long line is shown by its characters", "x".repeat(401), "[paste 1: 401 characters]"],
  ["more than 8 lines by their number", "x\n".repeat(8), "[paste 1: 9 lines]"],
] as const)
  test(`textInLine(): ${what}`, () => {
    const pastes = newPastes();
    equal(textInLine(pastes, text), shown);
    equal(expandPastes(pastes, `see ${shown} please`), `see ${text} please`);
  });

test("textInLine(): the last ten long pastes are kept, and $& in them is text", () => {
  const pastes = newPastes();
  const names = Array.from({ length: 11 }, (_, i) => textInLine(pastes, `$& ${i} `.repeat(100)));
  equal(expandPastes(pastes, names[0]!), names[0]);
  equal(expandPastes(pastes, names[1]!), "$& 1 ".repeat(100));
});

test("normalizePaste() makes line ends plain and control characters visible", () =>
  deepEqual(normalizePaste("a\r\nb\rc\x1b[2J"), "a\nb\nc␛[2J"));

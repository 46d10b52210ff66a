// Pastes: told apart from keys in whatever pieces the bytes come, and long ones named in the line.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  expandPastes,
  newPastes,
  normalizePaste,
  openPasteReader,
  readInput,
  textInLine,
} from "../../../plugins/repl/pastes.ts";

const [START, END] = ["\x1b[200~", "\x1b[201~"];

/** What a reader makes of the pieces: keys as they are, joined; pastes in brackets. */
function reading() {
  let seen = "";
  const reader = openPasteReader(
    (bytes) => void (seen += bytes),
    (text) => void (seen += `[${text}]`),
  );
  return { read: (piece: string) => readInput(reader, Buffer.from(piece)), seen: () => seen };
}

for (const [what, pieces, seen] of [
  ["keys", ["a", "b\r"], "ab\r"],
  ["a paste between keys", [`a${START}b\nc${END}d`], "a[b\nc]d"],
  ["two pastes", [`${START}a${END}${START}b${END}`], "[a][b]"],
  ["an empty paste", [START + END], "[]"],
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

test("readInput(): the Escape key comes when no marker follows it", async () => {
  const { read, seen } = reading();
  read("\x1b");
  equal(seen(), "");
  await sleep(60);
  equal(seen(), "\x1b");
});

test("readInput(): after a pause Ctrl+C ends a paste whose end was lost", async () => {
  const { read, seen } = reading();
  read(`${START}a`);
  await sleep(550);
  read("\x03");
  read("b");
  equal(seen(), "[a]b");
});

for (const [what, text, shown] of [
  ["a short text stands as it is", "a\nb", "a\nb"],
  ["400 characters, too", "x".repeat(400), "x".repeat(400)],
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

// vi's keys for the line: a text with its cursor (|), the keys pressed in normal mode, and what
// stands there then.
import { equal } from "node:assert/strict";
import readline from "node:readline";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import type { Editor, Keyboard } from "../../../plugins/repl/input-line.ts";
import { openViKeys } from "../../../plugins/repl/vi-keys.ts";
import { LEFT, repl, UP } from "../../support/repl.ts";
import { place } from "../../support/run.ts";

const ESC = "\x1b";
const ESCAPE = { name: "escape", ctrl: false, meta: false, shift: false, sequence: ESC };
const FAMILY = "👨‍👩‍👧";
const E = "e\u0301"; // two code points, one letter

/** A line of readline's with vi's keys. */
function line(history: string[] = []) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const editor = readline.createInterface({ input, output, terminal: true, history }) as Editor;
  after(() => editor.close());
  editor.setPrompt("› ");
  const keyboard = { editor, question: {}, draft: { lines: [] }, prompt: "› " };
  let searches = 0;
  const zz = { io: { variable: () => {} } };
  const host = { ctx: () => {} };
  const edit = editor._ttyWrite.bind(editor);
  editor._ttyWrite = openViKeys(
    Object.assign(keyboard, { zz, host }) as unknown as Keyboard,
    edit,
    () => void searches++,
  );
  return {
    press(keys: string) {
      for (const piece of keys.split(/(\x1b)/).filter(Boolean))
        if (piece === ESC) editor._ttyWrite(undefined, ESCAPE);
        else input.emit("data", Buffer.from(piece));
    },
    set: (text: string) => {
      const cursor = text.indexOf("|");
      Object.assign(editor, { line: text.replace("|", ""), cursor });
    },
    shows: () => `${editor.line.slice(0, editor.cursor)}|${editor.line.slice(editor.cursor)}`,
    prompt: () => editor.getPrompt(),
    searches: () => searches,
  };
}

for (const [text, keys, becomes] of [
  // moving
  ["one |two", "h", "one| two"], ["one |two", "2h", "on|e two"], ["|one", "h", "|one"],
  ["o|ne", "l", "on|e"], ["on|e", "l", "on|e"], ["|one two", "3 ", "one| two"],
  ["  one |two", "0", "|  one two"], ["  one |two", "^", "  |one two"], ["|one two", "$", "one tw|o"],
  ["|one two", "w", "one |two"], ["|a.b, c", "w", "a|.b, c"], ["|a.b, c", "W", "a.b, |c"],
  ["|a b c d", "3w", "a b c |d"], ["one tw|o", "w", "one tw|o"],
  ["one t|wo", "b", "one |two"], ["one |two", "b", "|one two"], ["a.b |c", "2b", "a|.b c"], ["a.b |c", "B", "|a.b c"],
  ["|one two", "e", "on|e two"], ["on|e two", "e", "one tw|o"], ["|a.b c", "E", "a.|b c"], ["|a b c", "2e", "a b |c"],
  ["|one two", "fo", "one tw|o"], ["|a.b.c.d", "2f.", "a.b|.c.d"], ["|a.b.c", "t.", "|a.b.c"], ["|ab.c", "t.", "a|b.c"],
  ["a.b.|c", "F.", "a.b|.c"], ["a.b|c", "T.", "a.|bc"], ["|one", "fz", "|one"],
  ["|a.b.c.d", "f.;", "a.b|.c.d"], ["|a.b.c.d", "f.2;", "a.b.c|.d"], ["|a.b.c.d", "3f.,", "a.b|.c.d"],
  ["|ab.c.d", "t.;", "ab.|c.d"], ["a.b.c|d", "T.;", "a.|b.cd"], ["|one", ";", "|one"], ["|one", ",", "|one"],
  // inserting
  ["|one", "ix", "x|one"], ["o|ne", "ax", "onx|e"], ["  o|ne", "Ix", "  x|one"], ["|one", "Ax", "onex|"], ["|", "ax", "x|"],
  ["|one", `ix${ESC}`, "|xone"], ["|one", `Axy${ESC}`, "onex|y"],
  // deleting
  ["o|ne", "x", "o|e"], ["on|e", "x", "o|n"], ["|one", "2x", "|e"], ["|one", "9x", "|"], ["|", "x", "|"],
  ["on|e", "X", "o|e"], ["|one", "X", "|one"], ["one| two", "D", "on|e"], ["|one", "D", "|"],
  ["|one two", "dw", "|two"], ["one |two", "dw", "one| "], ["|a b c d", "2dw", "|c d"], ["|a b c d", "d2w", "|c d"],
  ["|a b c d e", "2d2w", "|e"], ["|one two", "de", "| two"], ["one tw|o", "db", "one |o"], ["a.b |c", "dB", "|c"],
  ["one |two", "d0", "|two"], ["one |two", "d$", "one| "], ["  one |two", "d^", "  |two"], ["|a.b.c", "df.", "|b.c"],
  ["|ab.c", "dt.", "|.c"], ["a.b|c", "dF.", "a|c"], ["|one", "dfz", "|one"], ["|a.b.c", "f.d;", "a|c"], ["a|bc", "dl", "a|c"], ["a|bc", "dh", "|bc"],
  ["one t|wo three", "diw", "one | three"], ["one t|wo three", "daw", "one |three"], ["one t|wo", "daw", "on|e"],
  ["a.b| c", "diw", "a.b|c"], ["x a.|b c", "diW", "x | c"], ["x a.|b c", "daW", "x |c"], ["|one", "diq", "|one"],
  ["one |two", "dd", "|"], ["|one", "dq", "|one"], ["|one", `d${ESC}x`, "|ne"],
  // changing
  ["|one two", "cwx", "x| two"], ["|one two", `cwx${ESC}`, "|x two"], ["|one two three", "c2wx", "x| three"], ["one| two", "cwx", "onex|two"],
  ["on|e two", "cwx", "onx| two"], ["|a.b c", "cWx", "x| c"], ["one t|wo three", "ciwx", "one x| three"], ["one |two", "Cx", "one x|"],
  ["one |two", "ccx", "x|"], ["one |two", "Sx", "x|"], ["o|ne", "sx", "ox|e"], ["|one", "2sx", "x|e"], ["|", "cwx", "x|"], ["|", "sx", "x|"],
  ["o|ne", "rx", "o|xe"], ["|one", "2rx", "x|xe"], ["|one", `r${ESC}`, "|one"], ["|oNe", "~", "O|Ne"], ["|oNe", "3~", "On|E"], ["|oNe", "9~", "On|E"],
  // copying and putting back
  ["|one two", "yw$p", "one twoone| "], ["|ab", "xp", "b|a"], ["|abc", "x$p", "bc|a"], ["a|bc", "xP", "a|bc"], ["|abc", "x2p", "ba|ac"],
  ["|abc", "ylp", "a|abc"], ["o|ne", "yyp", "one\n|one"], ["o|ne", "yyP", "|one\none"], ["o|ne", "Yp", "one\n|one"], ["|one", "ddp", "on|e"], ["o|ne", "p", "o|ne"], ["one |two", "yiw0P", "tw|oone two"],
  // undoing and repeating
  ["|one two", "dwu", "|one two"], ["|one", "xxu", "|ne"], ["|one", "xxuu", "|one"], ["|one", `Ax${ESC}u`, "|one"], ["|one", `cwx${ESC}u`, "|one"], ["|ab", "rxu", "|ab"],
  ["|a b c", "dw.", "|c"], ["|a b c d e", "2dw.", "|e"], ["|a b c d e", "dw3.", "|e"], ["|abc", "x.", "|c"], ["|a b", `cwxy${ESC}w.`, "xy x|y"],
  ["|a b", `Ax${ESC}.`, "a bx|x"], ["|ab", `ix${ESC}.`, "|xxab"], ["|abc", "rxl.", "x|xc"], ["|abc", "~.", "AB|c"], ["|a.b.c.", "df..", "|c."], ["|one", ".", "|one"],
  // whole letters
  [`a|${FAMILY}b`, "x", "a|b"], [`|a${FAMILY}b`, "2l", `a${FAMILY}|b`], [`a${FAMILY}|b`, "h", `a|${FAMILY}b`], [`a${FAMILY}|b`, "X", "a|b"], [`c|${E}d`, "x", "c|d"], [`c|${E}d`, "rx", "c|xd"],
  [`|c${E} d`, "dw", "|d"], [`|c${E} d`, "w", `c${E} |d`], [`|a ${FAMILY} b`, "2w", `a ${FAMILY} |b`], [`|a${FAMILY}`, "f👨", `a|${FAMILY}`], [`|${FAMILY}a`, "xp", `a|${FAMILY}`], [`|${FAMILY}`, `Ax${ESC}`, `${FAMILY}|x`], [`|${E}a`, "~", `${E.toUpperCase()}|a`], ["|漢字 かな", "w", "漢字 |かな"],
  // rows
  ["one\n|two", "0", "one\n|two"], ["one\ntw|o", "dd", "|one"], ["o|ne\ntwo", "dd", "|two"], ["o|ne\ntwo\nsix", "2dd", "|six"], ["one\nt|wo\nsix", "ccx", "one\nx|\nsix"], ["o|ne\ntwo", "$", "on|e\ntwo"], ["on|e\ntwo", "l", "on|e\ntwo"], ["on|e\ntwo", "w", "one\n|two"],
  ["one\n|two", "b", "|one\ntwo"], ["o|ne\ntwo", "D", "|o\ntwo"], ["on|e\ntwo", "dw", "o|n\ntwo"], ["o|ne\ntwo", "j", "one\nt|wo"], ["one\nt|wo", "k", "o|ne\ntwo"], ["o\ntw|o", "k", "|o\ntwo"], ["on|e\nt\nx", "j", "one\n|t\nx"], ["one\n|\nx", "k", "|one\n\nx"], ["|one\n\nx", "j", "one\n|\nx"], ["o|ne\ntwo", "G", "one\n|two"], ["o|ne\ntwo", "ddp", "two\n|one"], ["one\nt|wo", "ddP", "|two\none"], ["o|ne\n\ntwo", "ft", "o|ne\n\ntwo"], ["one\n|\ntwo", "x", "one\n|\ntwo"], ["|one\ntwo", "Ax", "onex|\ntwo"],
] as const) // biome-ignore format: a table
  test(`vi: ${JSON.stringify(text)} and ${JSON.stringify(keys)} give ${JSON.stringify(becomes)}`, () => {
    const it = line();
    it.press(ESC);
    it.set(text);
    it.press(keys);
    equal(it.shows(), becomes);
  });

test("Escape shows another sign until letters are inserted again, Enter, or Ctrl+C", () => {
  const it = line();
  for (const [keys, sign] of [
    ["one", "› "],
    [ESC, "‹ "],
    ["x", "‹ "],
    ["i", "› "],
    [ESC, "‹ "],
    ["\r", "› "],
    [`two${ESC}`, "‹ "],
    ["\x03", "› "],
  ] as const) {
    // biome-ignore format: a table
    it.press(keys);
    equal(it.prompt(), sign, JSON.stringify(keys));
  }
});

test("j and k go through the history by what the whole line begins with, G comes back to it, / searches", () => {
  const it = line(["fix b", "list", "fix a"]);
  it.press(`fix${ESC}`);
  for (const [keys, shows] of [
    ["k", "fix |b"],
    ["k", "fix |a"],
    ["j", "fix |b"],
    ["xk", "fix |a"],
    ["u", "fix| "],
    ["kG", "fix| "],
    ["ddkk", "lis|t"],
    ["G", "|"],
  ] as const) {
    // biome-ignore format: a table
    it.press(keys);
    equal(it.shows(), shows, keys);
  }
  it.press("/");
  equal(it.searches(), 1);
});

test("In a terminal: vi's keys by the setting, Escape with a letter right after it, an arrow, the history's search", async (t) => {
  const it = await repl(t, { where: place({}, { repl: { keys: "vi" } }), cols: 40 });
  const long = "0123456789".repeat(8);
  await it.hit(`${long}${ESC}`, /‹ 0123456789[\s\S]*89$/);
  await it.hit("0d8l", /‹ 89012345/);
  await it.hit(`ccone two${ESC}b`, /‹ one two$/);
  await it.hit("x", /‹ one wo$/);
  await it.hit(`${LEFT}x`, /‹ onewo$/);
  await it.hit("i-\r", /› one-wo\n+Good\.[\s\S]*› *$/);
  equal(await it.asked(), "one-wo");
  await it.hit(`${ESC}/wo`, /search 'wo' › one-wo$/);
  await it.hit(ESC, /‹ *$/);
  await it.hit(UP, /‹ one-wo$/);
  await it.hit("\x03", /\^C\n[^\n]*› *$/);
  await it.hit("dd", /› dd$/);
});

test("/vim turns vi's keys on for a conversation, and /vim off ends them", async (t) => {
  const it = await repl(t);
  await it.say("/vim", /keeps them on[\s\S]*› *$/);
  await it.hit(`one${ESC}`, /‹ one$/);
  await it.hit("cc/vim off\r", /those of Emacs and bash[\s\S]*› *$/);
  await it.hit(`one${ESC} two`, /› one ?two$/);
  await it.hit(`${LEFT}${LEFT}\x03`, /two\^C\n[^\n]*› *$/);
  await it.say("/config repl.keys vi", /repl\.keys is "vi" now[\s\S]*› *$/);
  await it.hit(`one${ESC}`, /‹ one$/);
});

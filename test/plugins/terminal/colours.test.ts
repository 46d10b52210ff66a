// The person's own colours: display.colours, in chalk's words.
import { deepEqual, equal, match, throws } from "node:assert/strict";
import { test } from "node:test";
import { themeOf } from "../../../plugins/terminal/theme.ts";
import { say } from "../../support/fake/openai.ts";
import { put } from "../../support/files.ts";
import { ESC, repl } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";

const ROWS: [words: string, depth: number, shown: string][] = [
  ["bold red", 24, "\x1b[1m\x1b[31mx\x1b[39m\x1b[22m"],
  ["#ff8800", 24, "\x1b[38;2;255;136;0mx\x1b[39m"],
  ["#f80", 8, "\x1b[38;5;214mx\x1b[39m"],
  ["#f80", 4, "\x1b[93mx\x1b[39m"],
  ["bg#ff8800 italic", 24, "\x1b[48;2;255;136;0m\x1b[3mx\x1b[23m\x1b[49m"],
  ["  bgBlue  ", 4, "\x1b[44mx\x1b[49m"],
];
for (const [words, depth, shown] of ROWS)
  test(`'${words}' on a terminal with ${depth} bits of colour`, () =>
    equal(themeOf("dark", { heading: words }, depth).heading("x"), shown));

test("a word that no style has is refused with the setting's name and the nearest word", () =>
  throws(() => themeOf("dark", { heading: "boldd" }), {
    message: `Cannot use the setting "display.colours.heading": there is no style 'boldd'. Did you mean 'bold'?`,
  }));

test("they replace the theme's for their styles alone, and nothing where colours are off", () => {
  const own = { heading: "red" };
  const [dark, usual, none] = [themeOf("dark", own), themeOf("dark"), themeOf("none", own)];
  deepEqual(
    [dark.heading("x"), dark.code("x"), none.heading("x")],
    ["\x1b[31mx\x1b[39m", usual.code("x"), "x"],
  );
});

test("at the prompt an answer has them, and what is wrong is said", async (t) => {
  const where = place({}, { display: { colours: { heading: "magenta", heading1: "magenta" } } });
  const term = await repl(t, { where, script: [say("# Title\n\nWords.")] });
  await term.say("go", "Words.");
  match(term.raw(), new RegExp(`${ESC}\\[35m[^\\n]*Title`));
  put(where.home, { "zz.config.json": { display: { colours: { heading1: "magneta" } } } });
  term.type(`/reload${KEY.enter}`);
  await term.sees(/display\.colours\.heading1.*no style 'magneta'/s);
});

// Keys at the prompt: what stands on the screen when many of them arrive at once, and the line
// takes several rows.
import { equal } from "node:assert/strict";
import { test } from "node:test";
import { repl, UP } from "../../support/repl.ts";

const [CTRL_A, CTRL_E, CTRL_U] = ["\x01", "\x05", "\x15"];
const TEXT = "0123456789".repeat(30);

test("letters that arrive at once leave no row of theirs behind", async (t) => {
  const cols = 40;
  const it = await repl(t, { cols });
  await it.sees(/commands\n.*›$/);
  const rows = () => it.screen().split("\n");
  // the prompt's row and columns
  const [first, before] = [rows().length - 1, rows().at(-1)!.length + 1];
  for (const length of [1, 2, 3].flatMap((full) =>
    [-1, 0, 1, 2].map((more) => full * cols - before + more),
  )) {
    const text = TEXT.slice(0, length);
    for (const [keys, shows] of [
      [text, text],
      [CTRL_U, ""],
      [`${text}${CTRL_U}`, ""],
      [`${text}${CTRL_A}abc`, `abc${text}`],
      [`${CTRL_E}${CTRL_U}`, ""],
    ] as const) {
      await it.press(keys);
      await it.drawn();
      equal(rows().slice(first).join("").slice(before), shows, it.screen());
    }
  }
});

test("Up finds what begins as the line does, also after a message of several lines was sent or dropped", async (t) => {
  const it = await repl(t);
  for (const line of ["explain a", "list files", "one\x1b\rtwo", "other"])
    await it.say(line, new RegExp(`${line.slice(-3)}\n+Good\\.[\\s\\S]*›$`));
  it.type(`${UP}${UP}`);
  await it.sees(/› one\n\| two$/);
  it.type("\x03");
  await it.sees(/\^C\n.*›$/);
  it.type(`exp${UP}`);
  await it.sees(/› explain a$/);
  it.type(`\x03${UP}${UP}\r`);
  await it.sees(/\^C\n.*› one\n\| two\n+Good\.[\s\S]*›$/);
  it.type(`exp${UP}`);
  await it.sees(/› explain a$/);
});

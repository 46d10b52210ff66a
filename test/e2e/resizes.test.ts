// Several changes of the window's size, one straight after the other: what is left on the screen is what there is, once.
import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, delta, say, stream } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

const WIDTHS = [40, 80, 33, 100, 40];
type Repl = Awaited<ReturnType<typeof repl>>;

async function resize(zz: Repl, pause: number): Promise<string> {
  for (const cols of WIDTHS) {
    zz.resize(cols, 24);
    if (pause) await sleep(pause);
  }
  await sleep(500);
  return zz.screen();
}
/** The terminal breaks lines wherever they end. */
const count = (text: string, part: string): number =>
  text.replace(/\s+/g, "").split(part.replace(/\s+/g, "")).length - 1;

for (const reflow of [false, true])
  for (const pause of [0, 15, 90])
    for (const [what, typed] of [
      ["a line of one row", "short words"],
      [
        "a line that wraps",
        "first the quick brown fox jumps over the lazy dog, and then it sleeps until the evening comes last",
      ],
    ] as const)
      test(`${what} stands there once after five resizes, ${pause} ms apart${reflow ? ", where the terminal breaks it anew" : ""}`, async (t) => {
        const zz = await repl(t, { cols: 100, env: { TMUX: "", TERM_PROGRAM: "", VTE_VERSION: reflow ? "7600" : "" } });
        zz.view.options.reflowCursorLine = reflow;
        zz.type(typed);
        await zz.sees(typed.slice(-8));
        const shown = await resize(zz, pause);
        const first = typed.split(" ")[0]!;
        equal(count(shown, `› ${first}`), 1, shown);
        equal(count(shown, typed.split(" ").at(-1)!), 1, shown);
        ok(shown.trimEnd().split("\n").length <= 2 + Math.ceil((typed.length + 10) / 40), shown);
        zz.type(`!${KEY.enter}`);
        equal(await zz.asked(), `${typed}!`);
      });

for (const pause of [0, 15, 60])
  test(`The live line leaves nothing behind after five resizes, ${pause} ms apart`, async (t) => {
    const said = "a rather long thought that takes the whole of a row of the screen, up to its very end";
    const thoughts = Array.from({ length: 25 }, () => [delta({ reasoning_content: `${said} ` }), 100]).flat();
    const zz = await repl(t, {
      cols: 100,
      process: true,
      script: [stream(...thoughts, ...say("Thought over.").body!)],
    });
    zz.type(`go${KEY.enter}`);
    await zz.sees(/thinking · \d\.\d s · \d+ tokens/);
    const shown = await resize(zz, pause);
    ok(count(shown, "thinking · ") <= 1, shown);
    equal(count(await zz.sees("Thought over."), "thinking · "), 0, zz.screen());
  });

test("The live line leaves nothing behind, and erases nothing else, where zz hears of a new width late", async (t) => {
  const said = "a rather long thought that takes the whole of a row of the screen, up to its very end";
  const thoughts = Array.from({ length: 30 }, () => [delta({ reasoning_content: `${said} ` }), 100]).flat();
  const zz = await repl(t, { cols: 100, process: true, script: [stream(...thoughts, ...say("Thought over.").body!)] });
  zz.type(`go${KEY.enter}`);
  await zz.sees(/thinking · \d\.\d s · \d+ tokens/);
  for (const cols of [40, 100, 33, 60]) {
    zz.view.resize(cols, 24);
    await sleep(250); // rows are drawn each 100 ms
    zz.pty.resize(cols, 24);
    await sleep(250);
    ok(count(zz.screen(), "thinking · ") <= 1, zz.screen());
    equal(count(zz.screen(), "› go"), 1, zz.screen());
  }
  equal(count(await zz.sees("Thought over."), "thinking · "), 0, zz.screen());
});

for (const pause of [0, 15, 60])
  test(`A question stands there once, and whole, after five resizes, ${pause} ms apart`, async (t) => {
    const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
    const zz = await repl(t, { cols: 100, script });
    zz.type(`go${KEY.enter}`);
    await zz.sees(/\[y\/n|\[y\/N|Allow/);
    const before = zz.screen();
    const shown = await resize(zz, pause);
    equal(count(shown, "new.txt"), count(before, "new.txt"), shown);
    zz.type("y");
    await zz.sees("Written.");
  });

// Questions and results that are longer than the screen: a yes counts only once all of it has been
// on the screen.
import { equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type StandingClock, standingClock } from "../../sdk/clock.ts";
import { askable, call, say } from "../support/fake/openai.ts";
import { nobodyTypes, pressKey, repl } from "../support/repl.ts";
import { asksBefore, place } from "../support/run.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";

const lines = Array.from({ length: 60 }, (_, i) =>
  i === 30 ? "the hidden middle" : `line ${i + 1}`,
);
const WRITE: [string, object] = ["write_file", { path: "a.txt", content: lines.join("\n") }];
const command = `touch ${"x".repeat(700)} hidden-middle ${"y".repeat(700)}`;
const COMMAND: [string, object] = ["run_command", { command }];
const BAR = /─ (?:line )?(\d+)(?: of |\/)(\d+)[^─]*$/;

/** Reads page by page, pressing y on each, and once more too early. Returns all that was on the
 * screen. */
async function readAll(term: Terminal, clock: StandingClock, end: RegExp): Promise<string> {
  await nobodyTypes(clock); // then it shows
  await term.sees(BAR);
  for (;;) {
    await clock.waits(50);
    const page = await term.drawn();
    match(page, end);
    await term.press(" "); // a key that is held down
    await clock.pass(150);
    if (!BAR.test(page)) return page;
    await pressKey(clock, term, "y");
    await term.sees(/space first: \d+ lines? unseen[^─]*$/);
    await nobodyTypes(clock);
    await term.press(" ");
  }
}

test("In the conversation y counts once all of a new file has been shown", async (t) => {
  const [where, clock] = [place(), standingClock()];
  const zz = await repl(t, {
    where,
    cols: 40,
    rows: 15,
    clock,
    script: [call(WRITE), say("Done.")],
  });
  const file = join(where.cwd, "a.txt");
  zz.type(`go${KEY.enter}`);
  const seen = await readAll(zz, clock, /Allow\? \[y\/n\/e\/A\/\?\][^─]*$/);
  for (const line of lines) ok(seen.includes(line), line);
  equal(existsSync(file), false);
  await pressKey(clock, zz, "y");
  await zz.sees("Done.");
  equal(readFileSync(file, "utf8"), lines.join("\n"));
});

test("In a one-shot n counts at once, and y only after the hidden middle of a command", async () => {
  const [where, clock] = [asksBefore(place()), standingClock()];
  const { args, requests } = await askable([call(COMMAND), call(COMMAND), say("Done.")]);
  const term = terminal(where, ["--once", ...args, "go"], { cols: 40, rows: 15, clock });
  const seen = await readAll(term, clock, /Allow\? \[y\/n\/e\/A\/F\/\?\][^─]*$/);
  match(seen.replaceAll(/\n┃ /g, ""), /hidden-middle/);
  equal(requests.length, 1);
  for (const no of ["n", "n"]) {
    await pressKey(clock, term, no);
    await term.sees(/Why not\?[^─]*$/);
    term.type(KEY.enter);
    if (requests.length > 1) break;
    await nobodyTypes(clock); // the second command's first page
    await term.sees(BAR);
    await nobodyTypes(clock);
  }
  await term.sees("Done.");
  equal(await term.exited, 4);
});

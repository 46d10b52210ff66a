// A question that is longer than the screen: a yes counts only once all of it has been on the screen.
import { equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { asksBefore, place } from "../support/run.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";

const lines = Array.from({ length: 120 }, (_, i) => (i === 60 ? "the hidden middle" : `line ${i + 1}`));
const WRITE = ["write_file", { path: "a.txt", content: lines.join("\n") }] as [string, object];
const COMMAND = ["run_command", { command: `touch ${"x".repeat(1_500)} hidden-middle ${"y".repeat(1_500)}` }] as [
  string,
  object,
];
const BAR = /─ (?:line )?(\d+)(?: of |\/)(\d+)/g;
const PAUSE = 250; // longer than zz waits for a key that is held down

/** Reads page by page, pressing y too early on each. Returns all that was on the screen. */
async function readAll(
  term: Pick<Terminal, "screen" | "type" | "sees">,
  end: RegExp,
  done: () => boolean,
): Promise<string> {
  await term.sees(BAR);
  for (let pages = 0; pages < 60; pages++) {
    await sleep(PAUSE);
    if (end.test(term.screen())) return term.screen();
    term.type("y");
    await sleep(PAUSE);
    ok(!done(), "y counted before the end had been shown");
    const before = [...term.screen().matchAll(BAR)].length;
    term.type(" ");
    await sleep(PAUSE);
    ok([...term.screen().matchAll(BAR)].length <= Math.max(before, 1));
  }
  throw new Error(`The end was never shown:\n${term.screen()}`);
}

/** The terminal keeps what has scrolled away, so a test sees all of it. */
describe("a question longer than the screen", { concurrency: 4 }, () => {
  for (const [cols, rows] of [
    [80, 24],
    [40, 15],
  ] as const) {
    test(`In the conversation at ${cols}×${rows}, y counts once all of a new file has been shown`, async (t: TestContext) => {
      const where = place();
      const zz = await repl(t, { where, cols, rows, script: [call(WRITE), say("Done.")] });
      const file = join(where.cwd, "a.txt");
      zz.type(`go${KEY.enter}`);
      const seen = await readAll(zz, /Allow\? \[y\/N\/e\/A\/\?\]/, () => existsSync(file));
      match(seen, /the hidden middle/);
      for (let i = 1; i < 120; i += 7) if (i !== 61) match(seen, new RegExp(`line ${i}\\b`));
      equal(existsSync(file), false);
      zz.type("y");
      await zz.sees("Done.");
      equal(readFileSync(file, "utf8"), lines.join("\n"));
      await zz.leave();
    });

    test(`One answer at ${cols}×${rows}: n counts at once, and y only after the hidden middle of a command`, async (t: TestContext) => {
      const where = asksBefore(place());
      const fake = await fakeOpenAI([call(COMMAND), call(COMMAND), say("Done.")]);
      t.after(fake.close);
      const args = ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x", "go"];
      const term = terminal(where, args, { cols, rows });
      const seen = await readAll(term, /Allow\? \[y\/N\/e\/A\/F\/\?\]/, () => fake.requests.length > 1);
      match(seen.replaceAll(/\n┃ /g, ""), /hidden-middle/);
      term.type("n");
      await term.sees("Why not?");
      term.type(KEY.enter);
      for (let left = 40; left && !/Why not\?[\s\S]*Why not\?/.test(term.screen()); left--) {
        if (fake.requests.length > 1) term.type("n"); // at once, on the first page
        await sleep(PAUSE);
      }
      term.type(KEY.enter);
      await term.sees("Done.");
      equal(await term.exited, 4);
    });
  }
});

// The folders of commands among the temporary files, their private /tmp and their copy of the
// project, are gone however zz ends.
import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "../../support/fake/openai.ts";
import { repl } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { KEY, type Terminal } from "../../support/terminal.ts";
import { viewTest as test } from "../../support/view.ts";
import { waitFor } from "../../support/wait.ts";

/** A command that leaves files in /tmp, one of them in a folder that nobody may enter, and prints
 * what it sees of another's. */
const LEAVES = `node -e 'const fs = require("fs"), d = os.tmpdir() + "/shut"; console.log("left", fs.readdirSync(os.tmpdir()).length);
fs.mkdirSync(d + "/in", { recursive: true }); fs.writeFileSync(d + "/in/f", "x"); fs.chmodSync(d, 0)'`;
const RUNS = `node -e 'require("fs").writeFileSync(os.tmpdir() + "/f", "x"); setTimeout(() => {}, 60_000)'`;

const ENDS: [what: string, end: (term: Terminal) => unknown, code: number | undefined][] = [
  ["SIGTERM", ({ pty }) => process.kill(pty.pid, "SIGTERM"), 143],
  ["SIGHUP", ({ pty }) => process.kill(pty.pid, "SIGHUP"), 129],
  ["Ctrl+D", ({ type }) => type(KEY.ctrlD), 0],
  ["the terminal's end", ({ pty }) => (pty as unknown as { destroy(): void }).destroy(), undefined],
];

for (const [what, end, code] of ENDS)
  for (const isRunning of what === "Ctrl+D" ? [false] : [false, true])
    test(`after ${what} ${isRunning ? "while a command runs" : "at the prompt"}`, async (t) => {
      const where = place();
      const tmp = join(where.home, "tmp");
      mkdirSync(tmp, { recursive: true });
      const own = () => readdirSync(tmp).filter((name) => name.startsWith("zz-"));
      const [leaves, runs] = [LEAVES, RUNS].map((command) => call(["run_command", { command }]));
      const script = [leaves!, say("First."), runs!];
      const term = await repl(t, { where, script, env: { TMPDIR: tmp }, process: true });
      await term.say("one", "First.");
      ok(own().length > 0, "it has such a folder");
      if (isRunning) {
        term.type(`two${KEY.enter}`);
        const isThere = () => own().some((name) => existsSync(join(tmp, name, "tmp/f")));
        await waitFor("the command's file", isThere, term.screen);
      }
      end(term);
      if (code !== undefined) equal(await term.exited, code);
      // a terminal that has ended does not tell
      await waitFor("its process to be gone", () => !existsSync(`/proc/${term.pty.pid}`));
      deepEqual(own(), []);
    });

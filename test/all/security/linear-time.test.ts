// Nothing that zz does with a text takes for ever, whoever wrote the text: see
// test/support/linear-time.ts for what it does and for the texts. They run in processes of their
// own, each ended when it says nothing for so long that it hangs. No other time is looked at.
import { deepEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { ENTRIES } from "../../support/linear-time.ts";
import { ROOT } from "../../support/run.ts";

const SIZE = "4000"; // characters; what takes their third power hangs
const HANGS_MS = 150_000; // for one text
const IN_ONE_PROCESS = 10;

/** At which text the process hung, or ended for another reason. */
async function hung(entries: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [
    join(ROOT, "test", "support", "linear-time.ts"),
    SIZE,
    ...entries,
  ]);
  let [said, errors] = ["", ""];
  const limit = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said = (said + text).slice(-1_000);
    limit.refresh();
  });
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const code = await new Promise((done) => child.on("close", done));
  clearTimeout(limit);
  return code === 0
    ? []
    : [`${said.slice(said.lastIndexOf("> ")).trimEnd()} ${errors.slice(0, 1_000)}`];
}

const names = Object.keys(ENTRIES);
for (let i = 0; i < names.length; i += IN_ONE_PROCESS) {
  const some = names.slice(i, i + IN_ONE_PROCESS);
  test(`whatever the text, these come to an end: ${some.join(", ")}`, {
    timeout: 1_800_000,
  }, async () => {
    deepEqual(await hung(some), []);
  });
}

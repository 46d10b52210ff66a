// Nothing that zz does with a text takes for ever, whoever wrote the text: see test/support/linear-time.ts for what it does and for the texts.
// They run in processes of their own, each ended when it says nothing for so long that it hangs. No other time is looked at.
import { deepEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { ENTRIES } from "../support/linear-time.ts";
import { ROOT } from "../support/run.ts";

const IS_SHORT = Boolean(process.env.ZZ_SHORT);
const SIZE = process.env.ZZ_LINEAR_SIZE ?? (IS_SHORT ? "2500" : "30000"); // characters
const HANGS = 20_000; // ms for one text
/** To start a process takes longer than an entry does with short texts. */
const IN_ONE_PROCESS = IS_SHORT ? 10 : 1;

/** At which text the process hung, or ended for another reason. */
async function hung(entries: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [join(ROOT, "test", "support", "linear-time.ts"), SIZE, ...entries]);
  let [out, errors] = ["", ""];
  let timer: NodeJS.Timeout | undefined;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => child.kill("SIGKILL"), HANGS);
  };
  wait();
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
    wait();
  });
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const code = await new Promise((done) => child.on("close", done));
  clearTimeout(timer);
  const at = out.slice(out.lastIndexOf("> ")).trimEnd();
  return code === 0 ? [] : [`${at} ${errors.slice(0, 1_000)}`];
}

const names = Object.keys(ENTRIES);
for (let i = 0; i < names.length; i += IN_ONE_PROCESS) {
  const some = names.slice(i, i + IN_ONE_PROCESS);
  test(`whatever the text, these come to an end: ${some.join(", ")}`, { timeout: 300_000 }, async () => {
    deepEqual(await hung(some), []);
  });
}

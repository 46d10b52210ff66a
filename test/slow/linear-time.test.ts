// Nothing that zz does with a text takes for ever, whoever wrote the text: see linear.ts for what it does and for the texts.
// Each is in a process of its own, ended when it says nothing for so long that it hangs; no other time is looked at.
import { deepEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { ENTRIES } from "../support/linear-time.ts";
import { ROOT } from "../support/run.ts";

const SIZE = process.env.ZZ_LINEAR_SIZE ?? (process.env.ZZ_SHORT ? "2500" : "30000"); // characters
const HANGS = 20_000; // ms for one text

/** The texts that hang it, and what else it ended of. */
async function hung(entry: string): Promise<string[]> {
  const child = spawn(process.execPath, [join(ROOT, "test", "support", "linear-time.ts"), entry, SIZE]);
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
  const at = out.trimEnd().split("\n").at(-1) ?? "";
  return code === 0 ? [] : [`${entry}: ${at} ${errors.slice(0, 1_000)}`];
}

for (const entry of Object.keys(ENTRIES))
  test(`${entry} comes to an end, whatever the text`, { timeout: 300_000 }, async () => {
    deepEqual(await hung(entry), []);
  });

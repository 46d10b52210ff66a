// How fast each wire reads a whole answer, from the socket to what the turn makes of it: in CPU time of the reading process, whatever
// else the machine does. The events are as small as they come: a few words in 120 to 400 bytes.
import { ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { slowness } from "../support/machine.ts";
import { ROOT } from "../support/run.ts";
import { STREAMS } from "../support/streams.ts";

const MB = 1024 * 1024;
const MB_PER_SECOND = 50; // on a quiet machine
const BYTES = (process.env.ZZ_SHORT ? 6 : 24) * MB;

for (const name of Object.keys(STREAMS))
  test(`${name}: a stream is read at ${MB_PER_SECOND} MB/s`, { timeout: 600_000 }, async (t) => {
    const args = [join(ROOT, "test", "support", "streams.ts"), name, String(BYTES)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { said, seconds } = JSON.parse(stdout) as { said: number; seconds: number[] };
    ok(said > BYTES / 40, `${said} characters came`);
    const rates = seconds.map((one) => BYTES / MB / one);
    t.diagnostic(`${rates.map((rate) => rate.toFixed(0)).join(", ")} MB/s`);
    ok(Math.max(...rates) >= MB_PER_SECOND / slowness(), `${Math.max(...rates).toFixed(0)} MB/s`); // others may be at work on the machine
  });

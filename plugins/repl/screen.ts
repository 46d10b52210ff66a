// What questions and notes need of the screen and of single keys.
import timers from "node:timers/promises";
import type { Zz } from "zz";
import { clean, terminalColumns, wrap } from "zz/text";

/** To the person; lines end between words. */
export function say(zz: Zz, text: string): void {
  const columns = terminalColumns();
  const shown = clean(zz.veil(text))
    .split("\n")
    .flatMap((line) => wrap(line, columns));
  zz.io.stderr.write(`${shown.join("\n")}\n`);
}

/** The key, if it is one of those offered, with or without Enter, also as its capital; else "". */
export function keyOf(typed: string, keys: string): string {
  const key = typed.replace(/[\r\n]+$/, "");
  const found = [key, key.toLowerCase()].find((one) => one.length === 1 && keys.includes(one));
  return found ?? "";
}

const QUIET_MS = 100; // a key that is held down repeats faster

/** Waits until nothing was typed for a moment: input from before a question does not answer it. */
export async function waitForQuiet(listen: (onNoise: () => void) => void): Promise<void> {
  let lastNoise = Number.NEGATIVE_INFINITY;
  listen(() => (lastNoise = performance.now()));
  do await timers.setTimeout(50);
  while (performance.now() - lastNoise < QUIET_MS);
}

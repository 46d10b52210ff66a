// Functions for the screen and for single keys, used by questions and notes.
import type { Zz } from "zz";
import { clean, terminalColumns, wrap } from "zz/text";

/** Shows a text to the person, wrapped between words. */
export function say(zz: Zz, text: string): void {
  const columns = terminalColumns(zz.io);
  const shown = clean(zz.veil(text))
    .split("\n")
    .flatMap((line) => wrap(line, columns));
  zz.io.stderr.write(`${shown.join("\n")}\n`);
}

/** The key that was pressed, if it is offered, with or without Enter, in either case; else "". */
export function matchKey(typed: string, keys: string): string {
  const key = typed.replace(/[\r\n]+$/, "");
  const match = [key, key.toLowerCase()].find(
    (candidate) => candidate.length === 1 && keys.includes(candidate),
  );
  return match ?? "";
}

/** The same; Enter asks what the keys mean, where a question can say that. */
export function keyMeant(typed: string, keys: string): string {
  const explains = /^[\r\n]+$/.test(typed) && keys.includes("?");
  return explains ? "?" : matchKey(typed, keys);
}

/**
 * How long a key waits for the next letter of a word: longer where it would allow more than this
 * once. In ms.
 */
export const timeAfter = (key: string): number => (/^[AF]$/.test(key) ? 600 : 250);

const QUIET_MS = 100; // a key that is held down repeats faster
const LOOK_MS = 50;

/** Waits until nothing was typed for a moment: input from before a question does not answer it. */
export async function waitForQuiet(
  { clock }: Zz["io"],
  listen: (onNoise: () => void) => void,
): Promise<void> {
  let lastNoise = Number.NEGATIVE_INFINITY;
  listen(() => (lastNoise = clock.now()));
  do await clock.sleep(LOOK_MS);
  while (clock.now() - lastNoise < QUIET_MS);
}

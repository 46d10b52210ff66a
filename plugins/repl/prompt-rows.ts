// Functions for the screen and for single keys, used by questions and notes.
import type { Zz } from "zz";
import { clean, terminalColumns, wrap } from "zz/text";

/** Shows a text to the person, wrapped between words. */
export function say(zz: Zz, shownText: string): void {
  const columns = terminalColumns(zz.io);
  const wrappedRows = clean(zz.veil(shownText))
    .split("\n")
    .flatMap((textLine) => wrap(textLine, columns));
  zz.io.stderr.write(`${wrappedRows.join("\n")}\n`);
}

/** The key that was pressed, if it is offered, with or without Enter, in either case; else "". */
export function matchKey(typedText: string, offeredKeys: string): string {
  const pressedKey = typedText.replace(/[\r\n]+$/, "");
  const matchingKey = [pressedKey, pressedKey.toLowerCase()].find(
    (candidate) => candidate.length === 1 && offeredKeys.includes(candidate),
  );
  return matchingKey ?? "";
}

/** The same; Enter asks what the keys mean, where a question can say that. */
export function keyMeant(typedText: string, offeredKeys: string): string {
  const explains = /^[\r\n]+$/.test(typedText) && offeredKeys.includes("?");
  return explains ? "?" : matchKey(typedText, offeredKeys);
}

/**
 * What is typed after a key, if it comes within a moment, as the next letter of a word does: a
 * longer one where the key would allow more than this once.
 */
export function typedSoon(
  { clock }: Zz["io"],
  pressedKey: string,
  startListening: (onTyped: (typedText: string) => void) => void,
): Promise<string> {
  return new Promise((resolve) => {
    const waitMs = /^[AF]$/.test(pressedKey) ? 600 : 250;
    const cancelTimer = clock.timer(waitMs, () => resolve(""));
    startListening((typedText) => {
      cancelTimer();
      resolve(typedText);
    });
  });
}

const QUIET_MS = 100; // a key that is held down repeats faster
const LOOK_MS = 50;

/** Waits until nothing was typed for a moment: input from before a question does not answer it. */
export async function waitForQuiet(
  { clock }: Zz["io"],
  startListening: (onNoise: () => void) => void,
): Promise<void> {
  let lastNoise = Number.NEGATIVE_INFINITY;
  startListening(() => (lastNoise = clock.now()));
  do await clock.sleep(LOOK_MS);
  while (clock.now() - lastNoise < QUIET_MS);
}

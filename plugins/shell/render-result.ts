// A command and how it ended, as a person sees them.
import { plural } from "zz/text";

/** The whole line: what feeds a command matters as much as its own words. */
export const shownAsTyped = (command: string): string =>
  command
    .trim()
    .split("\n")
    .map((line, i) => `${i ? " " : "$"} ${line}`)
    .join("\n");
export type Shown = { exit: number | null; stdout: string; stderr: string; unkept?: string };
export function renderRow({ exit, stdout, stderr, unkept }: Shown): string {
  const shown = [stdout, stderr].join("\n");
  const omittedLines = [...shown.matchAll(/^\[… (\d+) lines?, /gm)].reduce(
    (sum, [, count]) => sum + Number(count) - 2,
    0,
  );
  const lines = shown.split("\n").filter((line) => line.trim()).length + omittedLines;
  const exitWords = exit ? `exit ${exit}` : "";
  const end = exit === null ? "killed" : exitWords;
  return [end, lines ? plural(lines, "line") : "no output", unkept].filter(Boolean).join(" · ");
}

// A command and how it ended, as a person sees them.
import { plural } from "zz/text";

/** The whole line: what feeds a command matters as much as its own words. */
export const shownAsTyped = (command: string): string =>
  command
    .trim()
    .split("\n")
    .map((commandLine, i) => `${i ? " " : "$"} ${commandLine}`)
    .join("\n");
export type Shown = { exit: number | null; stdout: string; stderr: string; effect?: string };
export function renderRow({ exit, stdout, stderr, effect }: Shown): string {
  const bothOutputs = [stdout, stderr].join("\n");
  const omittedLines = [...bothOutputs.matchAll(/^\[… (\d+) lines?, /gm)].reduce(
    (sum, [, lineCount]) => sum + Number(lineCount) - 2,
    0,
  );
  const totalLines =
    bothOutputs.split("\n").filter((outputLine) => outputLine.trim()).length + omittedLines;
  const exitWords = exit ? `exit ${exit}` : "";
  const noOutputWords = effect ? "" : "no output";
  const outputWords = totalLines ? plural(totalLines, "line") : noOutputWords;
  const endWords = exit === null ? "killed" : exitWords;
  return [endWords, outputWords, effect].filter(Boolean).join(" · ");
}

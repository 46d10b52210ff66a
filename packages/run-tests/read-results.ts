// Reads a runner's plain output: how many tests passed, which failed and why.
import type { Runner } from "./find-runner.ts";

export interface Reading {
  passed: number;
  failed: number;
  skipped: number;
  failures: string[];
}
interface Reader {
  counts: RegExp; // where the numbers are
  failures(output: string): string[];
  why: RegExp; // where the failures are explained
}

const MAX_NAMES = 50; // of failed tests
const MAX_REASON_CHARS = { head: 6_000, tail: 2_000 };
const MAX_TAIL_CHARS = 4_000; // of the output, if nothing better is known

const READERS: Record<Runner, Reader> = {
  node: {
    counts: /^(?:ℹ|#) pass \d+(?:\n(?:ℹ|#) [a-z]+ \d+)*$/gm,
    failures: (output) => [
      ...namesIn(
        output.slice(Math.max(0, output.search(/^✖ failing tests:$/m))),
        /^✖ (.+) \([\d.]+ms\)(?: #.*)?$/gm,
      ),
      ...tapFailures(output),
    ],
    why: /^✖ failing tests:$|^ *not ok /m,
  },
  vitest: {
    counts: /^ *Tests {2}(?:.*\(\d+\).*|no tests)$/gm,
    failures: (output) => namesIn(output, /^ FAIL {2}(.+)$/gm),
    why: /^⎯+ ?Failed (Tests|Suites)|^ FAIL {2}/m,
  },
  jest: {
    counts: /^Tests: +.*total$/gm,
    failures: (output) =>
      namesIn(output, /^ {2}● (.+)$/gm).filter((testName) => !/^Console$/.test(testName)),
    why: /^ {2}● /m,
  },
  mocha: {
    counts: /^ {2}\d+ passing\b.*(?:\n {2}\d+ (?:pending|failing)\b.*)*/gm,
    failures: (output) =>
      namesIn(
        output.slice(Math.max(0, output.search(/^ {2}\d+ failing$/m))),
        /^ {2}\d+\) (.+(?:\n {7,}.+?)*?):$/gm,
      ).map((testName) => testName.split(/\n +/).join(" › ")),
    why: /^ {2}\d+ failing$/m,
  },
};

export function summarise(
  { exit, signal, timedOut, stdout, stderr }: Output,
  runner?: Runner,
  filter?: string,
): Reading & { text: string; read: boolean } {
  const output = `${stdout.trimEnd()}\n${stderr.trimEnd()}`
    .replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "")
    .replaceAll("\r", "");
  const readers = runner ? [READERS[runner]] : Object.values(READERS);
  const reader = readers.find(({ counts }) => output.search(counts) >= 0);
  const countLines = reader ? output.match(reader.counts)!.join("\n") : "";
  const failed = sumIn(countLines, "fail|failed|failing|cancelled");
  const skipped = sumIn(countLines, "skipped|todo|pending");
  const emptyFileCount = reader === READERS.node && filter ? emptyFiles(output) : 0;
  const passed = sumIn(countLines, "pass|passed|passing") - emptyFileCount;
  const failures = [...new Set(reader?.failures(output) ?? [])];
  const exitReason = signal ? `stopped by ${signal}` : `exit code ${exit}`;
  const endReason = timedOut ? "stopped: it took too long" : exitReason;
  const countsText = `passed ${passed}, failed ${failed}${skipped ? `, skipped ${skipped}` : ""}`;
  const failuresStart = reader ? output.search(reader.why) : -1;
  const failureText = () =>
    failuresStart < 0 ? cutToTail(output) : middleCut(output.slice(failuresStart));
  const reasonText = exit === 0 ? "" : failureText();
  const summaryLines = [
    reader ? `${countsText} (${endReason})` : `Ended with ${endReason}.`,
    ...failures.slice(0, MAX_NAMES).map((testName) => `failed: ${testName}`),
    ...(failures.length > MAX_NAMES ? [`failed: ${failures.length - MAX_NAMES} more`] : []),
    ...(reasonText || !reader ? ["", reasonText || cutToTail(output)] : []),
  ];
  return {
    passed,
    failed,
    skipped,
    failures,
    text: summaryLines.join("\n").trimEnd(),
    read: Boolean(reader),
  };
}
/** What run_command gives. */
export interface Output {
  exit: number | null;
  signal?: string;
  timedOut?: boolean;
  stdout: string;
  stderr: string;
  file?: string;
}

const namesIn = (output: string, pattern: RegExp): string[] =>
  [...output.matchAll(pattern)].map(([, matchedName]) => matchedName!.trim());

/** The numbers before or behind these words: "1 failed | 2 passed (3)", "# pass 2". */
const sumIn = (countLines: string, words: string): number =>
  (
    countLines.match(new RegExp(`\\d+(?= (${words})\\b)|(?<=\\b(${words}) )\\d+`, "g")) ?? []
  ).reduce((runningTotal, number) => runningTotal + Number(number), 0);

/** Files in which no test matches the filter; node counts each as a passed test. */
const emptyFiles = (output: string): number =>
  namesIn(output, /^(?:✔|ok \d+ -) (.+\.[cm]?[jt]sx?)(?: \([\d.]+ms\))?$/gm).length;

/** Failed tests without the suites, which fail together with the tests in them. */
const tapFailures = (output: string): string[] =>
  [...output.matchAll(/^( *)not ok \d+ - (.*)\n\1 {2}---\n([\s\S]*?)\n\1 {2}\.\.\.$/gm)]
    .filter(([, , , details]) => !details!.includes("failureType: 'subtestsFailed'"))
    .map(([, , testName]) => testName!);

function cutToTail(output: string): string {
  const trimmed = output.trim();
  return trimmed.length > MAX_TAIL_CHARS
    ? "[…]\n" +
        trimmed.slice(trimmed.indexOf("\n", trimmed.length - MAX_TAIL_CHARS) + 1 || -MAX_TAIL_CHARS)
    : trimmed;
}

function middleCut(failureDetails: string): string {
  const trimmed = failureDetails.trim();
  if (trimmed.length <= MAX_REASON_CHARS.head + MAX_REASON_CHARS.tail) return trimmed;
  const keptHead = trimmed.slice(0, MAX_REASON_CHARS.head);
  return `${keptHead}\n[…]\n${trimmed.slice(-MAX_REASON_CHARS.tail)}`;
}

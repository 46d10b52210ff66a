// Reads a runner's plain output: how many tests passed, which failed and why.
import type { Runner } from "./find-runner.ts";

export interface Reading {
  passed: number;
  failed: number;
  skipped: number;
  failures: string[];
}
interface Reader {
  /** The numbers, or undefined if this is not its output. */
  count(text: string): Omit<Reading, "failures"> | undefined;
  failures(text: string): string[];
  why: RegExp; // where the failures are explained
}

const MAX_NAMES = 50; // of failed tests
const MAX_REASON_CHARS = { head: 6_000, tail: 2_000 };
const MAX_TAIL_CHARS = 4_000; // of the output, if nothing better is known

const READERS: Record<Runner, Reader> = {
  node: {
    count: (text) => {
      const of = (word: string) => sum(text, new RegExp(`^(?:ℹ|#) ${word} (\\d+)$`, "gm"));
      return /^(?:ℹ|#) pass \d+$/m.test(text)
        ? {
            passed: of("pass"),
            failed: of("fail") + of("cancelled"),
            skipped: of("skipped") + of("todo"),
          }
        : undefined;
    },
    failures: (text) => [
      ...namesIn(
        text.slice(Math.max(0, text.search(/^✖ failing tests:$/m))),
        /^✖ (.+) \([\d.]+ms\)(?: #.*)?$/gm,
      ),
      ...tapFailures(text),
    ],
    why: /^✖ failing tests:$|^ *not ok /m,
  },
  vitest: {
    count: (text) => countWords(text, /^ *Tests {2}(.*\(\d+\).*|no tests)$/gm),
    failures: (text) => namesIn(text, /^ FAIL {2}(.+)$/gm),
    why: /^⎯+ ?Failed (Tests|Suites)|^ FAIL {2}/m,
  },
  jest: {
    count: (text) => countWords(text, /^Tests: +(.*total)$/gm),
    failures: (text) => namesIn(text, /^ {2}● (.+)$/gm).filter((name) => !/^Console$/.test(name)),
    why: /^ {2}● /m,
  },
  mocha: {
    count: (text) => {
      const of = (word: string) => sum(text, new RegExp(`^ {2}(\\d+) ${word}\\b`, "gm"));
      return /^ {2}\d+ passing\b/m.test(text)
        ? { passed: of("passing"), failed: of("failing"), skipped: of("pending") }
        : undefined;
    },
    failures: (text) =>
      namesIn(
        text.slice(Math.max(0, text.search(/^ {2}\d+ failing$/m))),
        /^ {2}\d+\) (.+(?:\n {7,}.+?)*?):$/gm,
      ).map((name) => name.split(/\n +/).join(" › ")),
    why: /^ {2}\d+ failing$/m,
  },
};

export function summarise(
  { exit, signal, timedOut, stdout, stderr }: Output,
  runner?: Runner,
  filter?: string,
): Reading & { text: string; read: boolean } {
  const text = `${stdout.trimEnd()}\n${stderr.trimEnd()}`
    .replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "")
    .replaceAll("\r", "");
  const readers = runner ? [READERS[runner]] : Object.values(READERS);
  const reader = readers.find((candidate) => candidate.count(text));
  const { passed, failed, skipped } = reader?.count(text) ?? { passed: 0, failed: 0, skipped: 0 };
  const idle = reader === READERS.node && filter ? emptyFiles(text) : 0;
  const failures = [...new Set(reader?.failures(text) ?? [])];
  const ended = signal ? `stopped by ${signal}` : `exit code ${exit}`;
  const end = timedOut ? "stopped: it took too long" : ended;
  const counts = `passed ${passed - idle}, failed ${failed}${skipped ? `, skipped ${skipped}` : ""}`;
  const index = reader ? text.search(reader.why) : -1;
  const failureText = () => (index < 0 ? tail(text) : middleCut(text.slice(index)));
  const reasonText = exit === 0 ? "" : failureText();
  const lines = [
    reader ? `${counts} (${end})` : `Ended with ${end}.`,
    ...failures.slice(0, MAX_NAMES).map((name) => `failed: ${name}`),
    ...(failures.length > MAX_NAMES ? [`failed: ${failures.length - MAX_NAMES} more`] : []),
    ...(reasonText || !reader ? ["", reasonText || tail(text)] : []),
  ];
  return {
    passed: passed - idle,
    failed,
    skipped,
    failures,
    text: lines.join("\n").trimEnd(),
    read: Boolean(reader),
  };
}
interface Output {
  exit: number | null;
  signal?: string;
  timedOut?: boolean;
  stdout: string;
  stderr: string;
}

const namesIn = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name!.trim());
const sum = (text: string, pattern: RegExp): number =>
  namesIn(text, pattern).reduce((total, number) => total + Number(number), 0);

/** "1 failed | 2 passed | 1 skipped (4)" and "1 failed, 2 passed, 3 total" */
function countWords(text: string, pattern: RegExp): Omit<Reading, "failures"> | undefined {
  const lines = namesIn(text, pattern);
  const of = (word: string) => sum(lines.join("\n"), new RegExp(`(\\d+) ${word}`, "g"));
  return lines.length
    ? { passed: of("passed"), failed: of("failed"), skipped: of("skipped") + of("todo") }
    : undefined;
}

/** Files in which no test matches the filter; node counts each as a passed test. */
const emptyFiles = (text: string): number =>
  namesIn(text, /^(?:✔|ok \d+ -) (.+\.[cm]?[jt]sx?)(?: \([\d.]+ms\))?$/gm).length;

/** Failed tests without the suites, which fail together with the tests in them. */
const tapFailures = (text: string): string[] =>
  [...text.matchAll(/^( *)not ok \d+ - (.*)\n\1 {2}---\n([\s\S]*?)\n\1 {2}\.\.\.$/gm)]
    .filter(([, , , details]) => !details!.includes("failureType: 'subtestsFailed'"))
    .map(([, , name]) => name!);

function tail(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > MAX_TAIL_CHARS
    ? `[…]\n${trimmed.slice(trimmed.indexOf("\n", trimmed.length - MAX_TAIL_CHARS) + 1 || -MAX_TAIL_CHARS)}`
    : trimmed;
}

function middleCut(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= MAX_REASON_CHARS.head + MAX_REASON_CHARS.tail) return trimmed;
  return `${trimmed.slice(0, MAX_REASON_CHARS.head)}\n[…]\n${trimmed.slice(-MAX_REASON_CHARS.tail)}`;
}

// Earlier input: read when the conversation begins, and saved in the home, except what looks like a
// secret.
import type { DialogHost, Zz } from "zz";
import { anyOf, clean, jsonOrText, tryTo } from "zz/text";

export const MAX_ENTRIES = 10_000;
export const MAX_ENTRY_CHARS = 10_000;
const SECRET_PATTERN = anyOf(
  /\b(sk-|ghp_|gho_|github_pat_|glpat-|xox[abps]-|AKIA|AIza|eyJ)[\w-]{8,}|-----BEGIN/i,
  /\b(pass(word|wd|phrase)?|secret|token|api[_-]?key)\b\s*[=:]/i,
  /^\/keys?\b|^\/env\s+set\b|^\/config\s+\S*key|^\s/i,
);

export interface History {
  readonly entries: string[]; // newest first; a message of several lines is one entry
  readonly file: DialogHost["history"];
}

export function openHistory({ history: file }: DialogHost): History {
  const savedLines = linesOf(file.read());
  if (savedLines.length > MAX_ENTRIES * 1.2)
    tryTo(() => file.update((savedText) => linesOf(savedText).slice(-MAX_ENTRIES).join("\n")));
  const entries = savedLines
    .slice(-MAX_ENTRIES)
    .map(jsonOrText)
    .flatMap((savedEntry) =>
      typeof savedEntry === "string" && savedEntry.length <= MAX_ENTRY_CHARS
        ? [clean(savedEntry)]
        : [],
    )
    .reverse();
  return { entries, file };
}

/**
 * Adds an entry. It is not saved if it looks like a secret, begins with a space, or the settings
 * turn saving off.
 */
export function addEntry({ entries, file }: History, typedText: string, zz: Zz): void {
  if (!typedText.trim()) return;
  if (typedText !== entries[0]) entries.unshift(typedText);
  entries.length = Math.min(entries.length, MAX_ENTRIES);
  const { history: isHistorySaved } = zz.config as { history?: boolean };
  if (
    isHistorySaved === false ||
    SECRET_PATTERN.test(typedText) ||
    zz.veil(typedText) !== typedText ||
    typedText.length > MAX_ENTRY_CHARS
  )
    return;
  const savedLine = JSON.stringify(typedText);
  tryTo(() =>
    file.update((savedText) =>
      [...without(savedLine, linesOf(savedText)).slice(1 - MAX_ENTRIES), savedLine].join("\n"),
    ),
  );
}

/** Another zz may have kept the same line last. */
const without = (repeatedLine: string, savedLines: string[]): string[] =>
  savedLines.at(-1) === repeatedLine ? savedLines.slice(0, -1) : savedLines;

const linesOf = (savedText: string): string[] => savedText.split("\n").filter(Boolean);

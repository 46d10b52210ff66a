// Earlier input: read when the conversation begins, and saved in the home, except what looks like a
// secret.
import type { DialogHost, Zz } from "zz";
import { clean, jsonOrText, tryTo } from "zz/text";

export const MAX_ENTRIES = 10_000;
export const MAX_ENTRY_CHARS = 10_000;
const SECRET =
  /\b(sk-|ghp_|gho_|github_pat_|glpat-|xox[abps]-|AKIA|AIza|eyJ)[\w-]{8,}|-----BEGIN|\b(pass(word|wd|phrase)?|secret|token|api[_-]?key)\b\s*[=:]|^\/keys?\b|^\/env\s+set\b|^\/config\s+\S*key|^\s/i;

export interface History {
  readonly entries: string[]; // newest first; a message of several lines is one entry
  readonly file: DialogHost["history"];
}

export function openHistory({ history: file }: DialogHost): History {
  const lines = linesOf(file.read());
  if (lines.length > MAX_ENTRIES * 1.2)
    tryTo(() => file.update((kept) => linesOf(kept).slice(-MAX_ENTRIES).join("\n")));
  const entries = lines
    .slice(-MAX_ENTRIES)
    .map(jsonOrText)
    .flatMap((line) =>
      typeof line === "string" && line.length <= MAX_ENTRY_CHARS ? [clean(line)] : [],
    )
    .reverse();
  return { entries, file };
}

/**
 * Adds an entry. It is not saved if it looks like a secret, begins with a space, or the settings
 * turn saving off.
 */
export function addEntry({ entries, file }: History, text: string, zz: Zz): void {
  if (!text.trim()) return;
  if (text !== entries[0]) entries.unshift(text);
  entries.length = Math.min(entries.length, MAX_ENTRIES);
  const { history: isKept } = zz.config as { history?: boolean };
  if (
    isKept === false ||
    SECRET.test(text) ||
    zz.veil(text) !== text ||
    text.length > MAX_ENTRY_CHARS
  )
    return;
  const line = JSON.stringify(text);
  tryTo(() =>
    file.update((kept) =>
      [...without(line, linesOf(kept)).slice(1 - MAX_ENTRIES), line].join("\n"),
    ),
  );
}

/** Another zz may have kept the same line last. */
const without = (line: string, lines: string[]): string[] =>
  lines.at(-1) === line ? lines.slice(0, -1) : lines;

const linesOf = (text: string): string[] => text.split("\n").filter(Boolean);

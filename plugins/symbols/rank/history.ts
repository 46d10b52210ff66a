// Past commits as the ranks use them: the words of their messages, as hashes, and the files that they changed.
import { hashesIn } from "../scan/words.ts";

export interface Commit {
  words: number[]; // hashes, each once
  files: number[]; // positions in `paths`
  size: number; // how many files it changed, with those that are not listed
}
export interface History {
  head: string; // the commit that it was read at
  paths: string[];
  commits: Commit[]; // newest first
}

export const MAX_COMMITS = 5_000;
export const LOG_FORMAT = "%x01%s"; // with --name-only -z: the subject, then the names
const [MAX_COMMIT_FILES, MAX_SUBJECT_CHARS] = [100, 300]; // a commit of more files says nothing about one of them

/** What `git log -z --name-only` printed, before what is known already. `mayKeep`: whether a path may be kept. */
export function readLog(log: string, head: string, mayKeep: (path: string) => boolean, known?: History): History {
  const numbers = new Map<string, number>();
  const paths: string[] = [];
  const numberOf = (path: string): number => {
    let number = numbers.get(path);
    if (number === undefined) numbers.set(path, (number = mayKeep(path) ? paths.push(path) - 1 : -1));
    return number;
  };
  const commits = log
    .split("\x01")
    .slice(1)
    .map((one): Commit => {
      const [subject = "", ...names] = one.split("\0");
      const all = names.map((name) => name.replace(/^\n/, "")).filter(Boolean);
      const files = all.length > MAX_COMMIT_FILES ? [] : all.map(numberOf).filter((number) => number >= 0);
      return { words: [...new Set(hashesIn(subject.slice(0, MAX_SUBJECT_CHARS)))], files, size: all.length };
    });
  for (const { words, files, size } of known?.commits ?? []) {
    if (commits.length >= MAX_COMMITS) break;
    const moved = files.map((file) => numberOf(known!.paths[file]!)).filter((number) => number >= 0);
    commits.push({ words, files: moved, size });
  }
  return { head, paths, commits };
}

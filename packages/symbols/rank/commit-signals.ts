// Past commits as the ranks use them: the words of their messages, as hashes, and the files that
// they changed. From these: whose messages share a query's words, and which files change often.
import { hashesIn } from "../scan/word-bag.ts";
import type { Survey } from "./survey.ts";

interface Commit {
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
// a commit of more files says nothing about one of them
const [MAX_COMMIT_FILES, MAX_SUBJECT_CHARS] = [100, 300];

/**
 * What `git log -z --name-only` printed, before what is known already. `mayKeep`: whether a path
 * may be kept.
 */
export function readLog(
  log: string,
  head: string,
  mayKeep: (path: string) => boolean,
  earlier?: History,
): History {
  const numbers = new Map<string, number>();
  const paths: string[] = [];
  const numberOf = (path: string): number => {
    let number = numbers.get(path);
    if (number === undefined)
      numbers.set(path, (number = mayKeep(path) ? paths.push(path) - 1 : -1));
    return number;
  };
  const commits = log
    .split("\x01")
    .slice(1)
    .map((record): Commit => {
      const [subject = "", ...names] = record.split("\0");
      const changedPaths = names.map((name) => name.replace(/^\n/, "")).filter(Boolean);
      const files =
        changedPaths.length > MAX_COMMIT_FILES
          ? []
          : changedPaths.map(numberOf).filter((number) => number >= 0);
      return {
        words: [...new Set(hashesIn(subject.slice(0, MAX_SUBJECT_CHARS)))],
        files,
        size: changedPaths.length,
      };
    });
  for (const { words, files, size } of earlier?.commits ?? []) {
    if (commits.length >= MAX_COMMITS) break;
    const moved = files
      .map((file) => numberOf(earlier!.paths[file]!))
      .filter((number) => number >= 0);
    commits.push({ words, files: moved, size });
  }
  return { head, paths, commits };
}

/** In commits: after so many, one counts half. */
const HALF = { messages: 500, churn: 100 };
const MAX_CHURN_FILES = 60; // a commit of more files says nothing about one of them

interface Past {
  messages: Float64Array;
  churn: Float64Array;
}

export function historySignals(
  { docs }: Survey,
  terms: number[],
  { commits, paths }: History,
): Past {
  const places = docIndexes(
    docs.map(({ path }) => path),
    paths,
  );
  const messages = new Float64Array(docs.length);
  const churn = new Float64Array(docs.length);
  const changed = commits.map(({ files }) => [
    ...new Set(files.map((file) => places[file]!).filter((doc) => doc >= 0)),
  ]);
  const likeness = likenessOf(terms, commits);
  const highest = likeness.reduce((a, b) => Math.max(a, b), 0) || 1;
  for (const [age, { size }] of commits.entries()) {
    const share = 1 / Math.sqrt(size || 1);
    const alike = (likeness[age]! / highest) ** 2;
    for (const doc of changed[age]!) {
      if (size <= MAX_CHURN_FILES) churn[doc]! += share / (1 + age / HALF.churn);
      if (alike) messages[doc]! += (alike * share) / (1 + age / HALF.messages);
    }
  }
  for (let doc = 0; doc < docs.length; doc++) churn[doc] = Math.log(1 + 5 * churn[doc]!);
  return { messages, churn };
}

/** How much of the query each commit's message has, by how rare its words are among messages. */
function likenessOf(terms: number[], commits: History["commits"]): number[] {
  const wanted = new Set(terms);
  const having = new Map<number, number>();
  const shared = commits.map(({ words }) => words.filter((word) => wanted.has(word)));
  for (const words of shared)
    for (const word of words) having.set(word, (having.get(word) ?? 0) + 1);
  const weight = (word: number) => Math.log(1 + commits.length / (1 + having.get(word)!));
  return shared.map((words) => words.reduce((sum, word) => sum + weight(word), 0));
}

/**
 * Where each path is now: a file that was moved as a whole keeps its name and its folder's name.
 */
function docIndexes(docs: string[], paths: string[]): Int32Array {
  const byPath = new Map(docs.map((path, doc) => [path, doc]));
  const byEnd = new Map<string, number>();
  for (const [doc, path] of docs.entries())
    byEnd.set(endOf(path), byEnd.has(endOf(path)) ? -1 : doc);
  return Int32Array.from(paths, (path) => byPath.get(path) ?? byEnd.get(endOf(path)) ?? -1);
}
const endOf = (path: string): string => path.split("/").slice(-2).join("/");

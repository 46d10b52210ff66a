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
  gitLog: string,
  head: string,
  mayKeep: (filePath: string) => boolean,
  earlier?: History,
): History {
  const numbers = new Map<string, number>();
  const paths: string[] = [];
  const numberOf = (filePath: string): number => {
    let pathNumber = numbers.get(filePath);
    if (pathNumber === undefined) {
      pathNumber = mayKeep(filePath) ? paths.push(filePath) - 1 : -1;
      numbers.set(filePath, pathNumber);
    }
    return pathNumber;
  };
  const commits = gitLog
    .split("\x01")
    .slice(1)
    .map((record): Commit => {
      const [subject = "", ...changedNames] = record.split("\0");
      const changedPaths = changedNames
        .map((changedName) => changedName.replace(/^\n/, ""))
        .filter(Boolean);
      const files =
        changedPaths.length > MAX_COMMIT_FILES
          ? []
          : changedPaths.map(numberOf).filter((pathNumber) => pathNumber >= 0);
      return {
        words: [...new Set(hashesIn(subject.slice(0, MAX_SUBJECT_CHARS)))],
        files,
        size: changedPaths.length,
      };
    });
  for (const { words, files, size } of earlier?.commits ?? []) {
    if (commits.length >= MAX_COMMITS) break;
    const renumbered = files
      .map((fileNumber) => numberOf(earlier!.paths[fileNumber]!))
      .filter((pathNumber) => pathNumber >= 0);
    commits.push({ words, files: renumbered, size });
  }
  return { head, paths, commits };
}

/** In commits: after so many, one counts half. */
const HALF_LIFE = { messages: 500, churn: 100 };
const MAX_CHURN_FILES = 60; // a commit of more files says nothing about one of them

export function historySignals(
  { docs }: Survey,
  queryTerms: number[],
  { commits, paths }: History,
) {
  const currentDocs = docIndexes(
    docs.map(({ path }) => path),
    paths,
  );
  const messages = new Float64Array(docs.length);
  const churn = new Float64Array(docs.length);
  const changed = commits.map(({ files }) => [
    ...new Set(
      files.map((fileNumber) => currentDocs[fileNumber]!).filter((docIndex) => docIndex >= 0),
    ),
  ]);
  const likeness = likenessOf(queryTerms, commits);
  const highest = likeness.reduce((a, b) => Math.max(a, b), 0) || 1;
  for (const [commitAge, { size }] of commits.entries()) {
    const fileShare = 1 / Math.sqrt(size || 1);
    const relevance = (likeness[commitAge]! / highest) ** 2;
    for (const docIndex of changed[commitAge]!) {
      if (size <= MAX_CHURN_FILES)
        churn[docIndex]! += fileShare / (1 + commitAge / HALF_LIFE.churn);
      if (relevance)
        messages[docIndex]! += (relevance * fileShare) / (1 + commitAge / HALF_LIFE.messages);
    }
  }
  for (let doc = 0; doc < docs.length; doc++) churn[doc] = Math.log(1 + 5 * churn[doc]!);
  return { messages, churn };
}

/** How much of the query each commit's message has, by how rare its words are among messages. */
function likenessOf(queryTerms: number[], commits: History["commits"]): number[] {
  const wantedTerms = new Set(queryTerms);
  const commitCounts = new Map<number, number>();
  const sharedWords = commits.map(({ words }) => words.filter((word) => wantedTerms.has(word)));
  for (const commitWords of sharedWords)
    for (const word of commitWords) commitCounts.set(word, (commitCounts.get(word) ?? 0) + 1);
  const weighWord = (word: number) => Math.log(1 + commits.length / (1 + commitCounts.get(word)!));
  return sharedWords.map((commitWords) =>
    commitWords.reduce((total, word) => total + weighWord(word), 0),
  );
}

/**
 * Where each path is now: a file that was moved as a whole keeps its name and its folder's name.
 */
function docIndexes(docPaths: string[], loggedPaths: string[]): Int32Array {
  const docByPath = new Map(docPaths.map((docPath, docIndex) => [docPath, docIndex]));
  const docByEnding = new Map<string, number>();
  for (const [docIndex, docPath] of docPaths.entries())
    docByEnding.set(getEnding(docPath), docByEnding.has(getEnding(docPath)) ? -1 : docIndex);
  return Int32Array.from(
    loggedPaths,
    (loggedPath) => docByPath.get(loggedPath) ?? docByEnding.get(getEnding(loggedPath)) ?? -1,
  );
}
const getEnding = (filePath: string) => filePath.split("/").slice(-2).join("/");

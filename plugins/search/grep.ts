// grep: finds lines by their content.
import { type Stats, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Ctx, Infer, Zz } from "zz";
import { notUtf8, plural } from "zz/text";
import {
  createFinder,
  type Finder,
  type Hit,
  isBinary,
  linesOf,
  MAX_HITS,
  newYielder,
  openReader,
  type Query,
} from "./find-in-lines.ts";
import { shownName } from "./path.ts";
import { compilePattern } from "./pattern.ts";
import { askRipgrep } from "./ripgrep.ts";
import { type Once, sharing } from "./together.ts";

const MAX_LINE_CHARS = 200;
const CHARS_BEFORE_HIT = 60; // in longer lines
const MAX_QUERY_CHARS = 10_000;
const BATCH_CHARS = 1 << 18; // searched at a time
const MAX_NEAR_LINES = 20; // on each side of a hit
const MAX_NEAR = 500; // around all hits together
const OUTPUTS = ["lines", "files", "count"];

const PARAMS = {
  query: "string what to find, within one line",
  path: "string? only under this file or folder",
  regex:
    "boolean? query is a JavaScript regular expression; leaves out files that may hold secrets",
  glob: "string? only in such files: *.ts, src/**",
  ignore_case: "boolean? take a for A",
  before: "integer? lines before each hit",
  after: "integer? lines after it",
  output: "string? lines, or only files or count",
  limit: "integer? hits at most",
} as const;
type Args = Infer<typeof PARAMS>;
type Line = { line: number; text: string };
interface Search {
  ctx: Ctx;
  once: Once;
  finder: Finder;
  isFolder: boolean;
  most: number; // hits to show
  around: [before: number, after: number]; // lines to show with each
  near: number; // how many of these lines there are so far
  found: { path: string; count: number }[]; // every file with hits
  hits: (Hit & { path: string; near: Line[] })[];
  stuck: string[]; // lines on which the regular expression takes too long
  lost: string[]; // a row on files that could not be searched
  more: number; // hits that are not shown
  moreFiles: number; // files with such hits
  batch: { name: string; text: string }[]; // read, but not searched yet
  batchChars: number;
}

export function grep(zz: Zz<{ ripgrep: string }>): void {
  const once = sharing();
  zz.tool({
    name: "grep",
    kind: "read",
    description:
      "Find the lines that hold a text, in all files or under one path. " +
      "Ignored and binary files are left out.",
    params: PARAMS,
    needs: ({ path = "." }) => ({ read: [path] }),
    run: (callArguments, ctx) => searchFor(callArguments, ctx, zz.config.ripgrep, once),
  });
}

async function searchFor(callArguments: Args, ctx: Ctx, ripgrep: string, once: Once) {
  const { query, path = ".", regex = false, glob, ignore_case: ignoreCase = false } = callArguments;
  const matches = checkedArgs(callArguments);
  const askedQuery = { query, regex, ignoreCase };
  const search: Search = {
    ctx,
    once,
    finder: createFinder(askedQuery, ctx.signal, ctx.io.clock),
    isFolder: false,
    hits: [],
    stuck: [],
    found: [],
    most: Math.min(callArguments.limit ?? MAX_HITS, MAX_HITS),
    around: [callArguments.before ?? 0, callArguments.after ?? 0],
    near: 0,
    more: 0,
    moreFiles: 0,
    batch: [],
    batchChars: 0,
    lost: [],
  };
  const searchedPath = ctx.files.path(path);
  const stat: Stats | undefined = statSync(searchedPath, { throwIfNoEntry: false });
  if (!stat) throw new Error(`Cannot search '${path}': no such file or folder. Check the path.`);
  search.isFolder = stat.isDirectory();
  const fileNames = search.isFolder
    ? await searchFolder(search, searchedPath, path, { ...askedQuery, glob }, matches, ripgrep)
    : await searchFile(search, searchedPath, path);
  if (callArguments.output === "files" || callArguments.output === "count")
    return filesResult(search, callArguments, fileNames);
  const isWhole = ({ text }: Line) => text.trim().length <= MAX_LINE_CHARS;
  for (const [fileName, fileHits] of Map.groupBy(search.hits, ({ path: fileName }) => fileName)) {
    const shownLines = fileHits.flatMap((hit) => [hit, ...hit.near]).filter(isWhole);
    if (shownLines.length)
      ctx.files.shown(
        resolve(ctx.root, fileName),
        shownLines.map(({ line }) => [line, line]),
      );
  }
  return {
    text: resultText(search, callArguments, fileNames),
    data: search.hits.map(({ path, line, text, at }) => ({
      path,
      line,
      text: shownLine(text, at),
    })),
  };
}

/**
 * Checks the arguments, and returns the test of names that `glob` stands for. Throws if they cannot
 * be used.
 */
function checkedArgs({ query, glob, ...how }: Args): ((fileName: string) => boolean) | undefined {
  if (!query) throw new Error("Cannot search for nothing. Say what to find.");
  const { output = "lines", before = 0, after = 0, limit = 1 } = how;
  if (!OUTPUTS.includes(output))
    throw new Error(`Cannot give output '${output}'. It is one of ${OUTPUTS.join(", ")}.`);
  if (before < 0 || after < 0 || Math.max(before, after) > MAX_NEAR_LINES)
    throw new Error(
      `Cannot show ${before} lines before and ${after} after each hit: ` +
        `from 0 to ${MAX_NEAR_LINES} are possible.`,
    );
  if (limit < 1) throw new Error(`Cannot show ${limit} hits. Give a limit from 1, or none.`);
  if (query.length > MAX_QUERY_CHARS)
    throw new Error(
      `Cannot search for ${query.length} characters: at most ${MAX_QUERY_CHARS} are allowed. ` +
        "Search for a part of them.",
    );
  const matches =
    glob === undefined ? undefined : compilePattern(glob.includes("/") ? glob : `**/${glob}`);
  if (query.includes("\n"))
    throw new Error(
      "Cannot search for more than one line: only single lines are searched. " +
        "Search for one of them.",
    );
  return matches;
}

/** Returns the names of the files that were searched. */
async function searchFolder(
  search: Search,
  searchedPath: string,
  askedPath: string,
  askedQuery: Query & { glob?: string | undefined },
  matches: ((fileName: string) => boolean) | undefined,
  ripgrep: string,
): Promise<string[]> {
  const { once, ctx } = search;
  const { root, files, signal } = ctx;
  const yieldIfDue = newYielder(signal);
  const [canMatch, listedNames] = await Promise.all([
    askRipgrep(ctx, once, ripgrep, askedQuery, searchedPath), // first, since it takes longest
    // git needs several processes for a list
    once(`files ${askedPath}`, () => files.list(askedPath)),
  ]);
  signal.throwIfAborted();
  // a glob may be relative to the project or to the path
  const prefixLength = relative(root, searchedPath).length + 1;
  const fileNames = matches
    ? listedNames.filter(
        (fileName) =>
          matches(fileName) || (prefixLength > 1 && matches(fileName.slice(prefixLength))),
      )
    : listedNames;
  const bytesOf = openReader(files.open);
  for (const fileName of fileNames) {
    if (canMatch.get(fileName) === false || (askedQuery.regex && !mayTryRegex(search, fileName)))
      continue;
    const fileBytes = bytesOf(resolve(root, fileName));
    if (fileBytes) await addToBatch(search, fileName, fileBytes);
    await yieldIfDue();
  }
  await searchBatch(search);
  search.lost = notUtf8(root, fileNames, "not searched");
  return fileNames;
}

async function searchFile(
  search: Search,
  searchedPath: string,
  askedPath: string,
): Promise<string[]> {
  const { root, files, signal } = search.ctx;
  signal.throwIfAborted();
  const fileBytes = Buffer.from((await files.read(askedPath)).bytes);
  files.shown(askedPath, []); // only the lines that are found count as shown, later
  if (isBinary(fileBytes))
    throw new Error(`Cannot search '${askedPath}': it is not text. Choose a text file.`);
  const fileName = relative(root, searchedPath);
  await addToBatch(search, fileName, fileBytes);
  await searchBatch(search);
  return [fileName];
}

async function addToBatch(search: Search, name: string, fileBytes: Buffer): Promise<void> {
  if (!search.finder.mayMatch(fileBytes)) return;
  const text = fileBytes.toString();
  search.batch.push({ name, text });
  search.batchChars += text.length;
  if (search.batchChars > BATCH_CHARS) await searchBatch(search);
}

async function searchBatch(search: Search): Promise<void> {
  const { hits, batch, most } = search;
  const results = await search.finder.find(batch.map(({ text }) => text));
  for (const [i, { count, hits: fileHits, stuck }] of results.entries()) {
    const { name, text } = batch[i]!;
    search.stuck.push(...stuck.map((stuckLine) => `${shownName(name)}:${stuckLine}`));
    if (!count || !(await mayShow(search, name))) continue;
    search.found.push({ path: name, count });
    const remaining = count - (most - hits.length);
    const findNearby = remaining < count ? prepareNearby(search, text) : () => [];
    hits.push(
      ...fileHits
        .slice(0, most - hits.length)
        .map((hit) => ({ path: name, ...hit, near: findNearby(hit) })),
    );
    search.more += Math.max(0, remaining);
    if (remaining > 0) search.moreFiles++;
  }
  search.batch = [];
  search.batchChars = 0;
}

/** The lines around a hit. */
function prepareNearby(search: Search, fileText: string): (hit: Hit) => Line[] {
  const [linesBefore, linesAfter] = search.around;
  if (!linesBefore && !linesAfter) return () => [];
  const fileLines = linesOf(fileText);
  return ({ line }) => {
    if (search.near > MAX_NEAR) return [];
    const firstLine = Math.max(1, line - linesBefore);
    const nearLines = fileLines
      .slice(firstLine - 1, line + linesAfter)
      .map((text, i) => ({ line: firstLine + i, text }));
    search.near += nearLines.length - 1;
    return nearLines.filter((nearLine) => nearLine.line !== line);
  };
}

/**
 * Whether to try a regular expression on a file: the time that it takes tells what the file
 * contains.
 */
const mayTryRegex = ({ ctx }: Search, fileName: string): boolean =>
  ctx.permissions.judge("read", fileName).verdict === "allow";

/**
 * Whether to show hits of a file: a search reaches files that the call does not name, some of them
 * with secrets.
 */
async function mayShow(
  { ctx: { permissions, files }, isFolder }: Search,
  fileName: string,
): Promise<boolean> {
  if (!isFolder || permissions.judge("read", fileName).verdict === "allow") return true;
  return files.read(fileName).then(
    () => true, // the person allowed it
    () => false,
  );
}

function resultText(search: Search, callArguments: Args, fileNames: string[]): string {
  const { hits, more, moreFiles } = search;
  const resultRows = search.around.some(Boolean)
    ? rowsAround(hits)
    : hits.map(({ path, line, text, at }) => `${shownName(path)}:${line}: ${shownLine(text, at)}`);
  if (more)
    resultRows.push(
      `[${plural(more, "more hit")} in ${plural(moreFiles, "file")}; ` +
        "narrow the query, the path or the glob]",
    );
  if (search.near > MAX_NEAR)
    resultRows.push("[the lines around further hits are left out; ask for fewer]");
  return withNotes(resultRows, search, callArguments, fileNames);
}

function withNotes(
  resultRows: string[],
  search: Search,
  callArguments: Args,
  fileNames: string[],
): string {
  const { stuck, lost } = search;
  if (!resultRows.length) resultRows.push(noHitText(search, callArguments, fileNames));
  if (stuck.length)
    resultRows.push(
      `[ignored, for the regular expression takes too long on it: ${stuck.join(", ")}]`,
    );
  return [...resultRows, ...lost].join("\n");
}

/** Hits among the lines around them, as grep shows them: a:3: is a hit, a-4- is not. */
function rowsAround(hits: Search["hits"]): string[] {
  const resultRows: string[] = [];
  for (const [filePath, fileHits] of Map.groupBy(hits, ({ path }) => path)) {
    const rowsByLine = new Map<number, string>();
    const formatLine = (lineMark: string, { line, text }: Line) =>
      `${shownName(filePath)}${lineMark}${line}${lineMark} ` +
      text.trimEnd().slice(0, MAX_LINE_CHARS);
    for (const hit of fileHits)
      for (const nearLine of hit.near) rowsByLine.set(nearLine.line, formatLine("-", nearLine));
    for (const hit of fileHits) {
      const isWhole = hit.text.trimEnd().length <= MAX_LINE_CHARS;
      rowsByLine.set(
        hit.line,
        formatLine(":", isWhole ? hit : { line: hit.line, text: shownLine(hit.text, hit.at) }),
      );
    }
    let previousLine = 0;
    for (const [lineNumber, rowText] of [...rowsByLine].sort(
      ([firstLine], [secondLine]) => firstLine - secondLine,
    )) {
      if (resultRows.length && lineNumber !== previousLine + 1) resultRows.push("--");
      resultRows.push(rowText);
      previousLine = lineNumber;
    }
  }
  return resultRows;
}

/** The result for the outputs `files` and `count`: which files have hits, or how many. */
function filesResult(search: Search, callArguments: Args, fileNames: string[]) {
  const { found } = search;
  const shownFiles = found.slice(0, search.most);
  const resultRows = shownFiles.map(({ path, count }) =>
    callArguments.output === "count" ? `${shownName(path)}: ${count}` : shownName(path),
  );
  if (found.length > shownFiles.length)
    resultRows.push(
      `[${plural(found.length - shownFiles.length, "more file")}; ` +
        "narrow the query, the path or the glob]",
    );
  return { text: withNotes(resultRows, search, callArguments, fileNames), data: found };
}

function noHitText(
  { isFolder }: Search,
  { query, path = ".", regex, glob }: Args,
  fileNames: string[],
): string {
  if (isFolder && !fileNames.length)
    return (
      "Nothing to search: " +
      `${glob ? `no file matches '${glob}'` : `'${path}' holds no files, or only ignored ones`}.`
    );
  if (regex)
    return (
      "Nothing holds " +
      `'${query}'.${/\\[nr]/.test(query) ? " Only single lines are searched." : ""}`
    );
  const regexHint = /[\\^$*+?|]|\[.+\]/.test(query)
    ? " as it stands; with regex it is a regular expression"
    : "";
  return `Nothing holds '${query}'${regexHint}.`;
}

/** Cuts a long line so that the hit can be seen. */
function shownLine(hitLine: string, hitOffset: number): string {
  const trimmedLine = hitLine.trim();
  const hitStart = hitOffset - (hitLine.length - hitLine.trimStart().length);
  const cutStart =
    hitStart + CHARS_BEFORE_HIT < MAX_LINE_CHARS
      ? 0
      : Math.max(0, Math.min(hitStart - CHARS_BEFORE_HIT, trimmedLine.length - MAX_LINE_CHARS));
  return (cutStart ? "…" : "") + trimmedLine.slice(cutStart, cutStart + MAX_LINE_CHARS);
}

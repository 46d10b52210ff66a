// grep: finds lines by their content.
import { type Stats, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Ctx, Zz } from "zz";
import { notUtf8, plural } from "zz/text";
import {
  type Finder,
  finder,
  type Hit,
  isBinary,
  linesOf,
  MAX_HITS,
  newYielder,
  type Query,
  reader,
} from "./find-in-lines.ts";
import { shownName } from "./path.ts";
import { matcher } from "./pattern.ts";
import { askRipgrep } from "./ripgrep.ts";
import { type Once, sharing } from "./together.ts";

const MAX_LINE_CHARS = 200;
const CHARS_BEFORE_HIT = 60; // in longer lines
const MAX_QUERY_CHARS = 10_000;
const BATCH_CHARS = 1 << 18; // searched at a time
const MAX_NEAR_LINES = 20; // on each side of a hit
const MAX_NEAR = 500; // around all hits together
const OUTPUTS = ["lines", "files", "count"];

interface Args {
  query: string;
  path?: string | undefined;
  regex?: boolean | undefined;
  glob?: string | undefined;
  ignore_case?: boolean | undefined;
  before?: number | undefined;
  after?: number | undefined;
  output?: string | undefined;
  limit?: number | undefined;
}
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
      "Find the lines that hold a text, in all files or under one path. Ignored and binary files are left out.",
    params: {
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
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    run: (args, ctx) => searchFor(args, ctx, zz.config.ripgrep, once),
  });
}

async function searchFor(args: Args, ctx: Ctx, ripgrep: string, once: Once) {
  const { query, path = ".", regex = false, glob, ignore_case: ignoreCase = false } = args;
  const matches = checkedArgs(args);
  const asked = { query, regex, ignoreCase };
  const search: Search = {
    ctx,
    once,
    finder: finder(asked, ctx.signal, ctx.io.clock),
    isFolder: false,
    hits: [],
    stuck: [],
    found: [],
    most: Math.min(args.limit ?? MAX_HITS, MAX_HITS),
    around: [args.before ?? 0, args.after ?? 0],
    near: 0,
    more: 0,
    moreFiles: 0,
    batch: [],
    batchChars: 0,
    lost: [],
  };
  const where = ctx.files.path(path);
  const stat: Stats | undefined = statSync(where, { throwIfNoEntry: false });
  if (!stat) throw new Error(`Cannot search '${path}': no such file or folder. Check the path.`);
  search.isFolder = stat.isDirectory();
  const names = search.isFolder
    ? await searchFolder(search, where, path, { ...asked, glob }, matches, ripgrep)
    : await searchFile(search, where, path);
  if (args.output === "files" || args.output === "count") return filesResult(search, args, names);
  const isWhole = ({ text }: Line) => text.trim().length <= MAX_LINE_CHARS;
  for (const [name, hits] of Map.groupBy(search.hits, ({ path: name }) => name)) {
    const lines = hits.flatMap((hit) => [hit, ...hit.near]).filter(isWhole);
    if (lines.length)
      ctx.files.shown(
        resolve(ctx.root, name),
        lines.map(({ line }) => [line, line]),
      );
  }
  return {
    text: resultText(search, args, names),
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
function checkedArgs({ query, glob, ...how }: Args): ((name: string) => boolean) | undefined {
  if (!query) throw new Error("Cannot search for nothing. Say what to find.");
  const { output = "lines", before = 0, after = 0, limit = 1 } = how;
  if (!OUTPUTS.includes(output))
    throw new Error(`Cannot give output '${output}'. It is one of ${OUTPUTS.join(", ")}.`);
  if (before < 0 || after < 0 || Math.max(before, after) > MAX_NEAR_LINES)
    throw new Error(
      `Cannot show ${before} lines before and ${after} after each hit: from 0 to ${MAX_NEAR_LINES} are possible.`,
    );
  if (limit < 1) throw new Error(`Cannot show ${limit} hits. Give a limit from 1, or none.`);
  if (query.length > MAX_QUERY_CHARS)
    throw new Error(
      `Cannot search for ${query.length} characters: at most ${MAX_QUERY_CHARS} are allowed. Search for a part of them.`,
    );
  const matches =
    glob === undefined ? undefined : matcher(glob.includes("/") ? glob : `**/${glob}`);
  if (query.includes("\n"))
    throw new Error(
      "Cannot search for more than one line: only single lines are searched. Search for one of them.",
    );
  return matches;
}

/** Returns the names of the files that were searched. */
async function searchFolder(
  search: Search,
  where: string,
  path: string,
  asked: Query & { glob?: string | undefined },
  matches: ((name: string) => boolean) | undefined,
  ripgrep: string,
): Promise<string[]> {
  const { once, ctx } = search;
  const { root, files, signal } = ctx;
  const yieldIfDue = newYielder(signal);
  const [canMatch, listed] = await Promise.all([
    askRipgrep(ctx, once, ripgrep, asked, where), // first, since it takes longest
    once(`files ${path}`, () => files.list(path)), // git needs several processes for a list
  ]);
  signal.throwIfAborted();
  // a glob may be relative to the project or to the path
  const below = relative(root, where).length + 1;
  const names = matches
    ? listed.filter((name) => matches(name) || (below > 1 && matches(name.slice(below))))
    : listed;
  const bytesOf = reader(files.open);
  for (const name of names) {
    if (canMatch.get(name) === false || (asked.regex && !mayTry(search, name))) continue;
    const bytes = bytesOf(resolve(root, name));
    if (bytes) await addToBatch(search, name, bytes);
    await yieldIfDue();
  }
  await searchBatch(search);
  search.lost = notUtf8(root, names, "not searched");
  return names;
}

async function searchFile(search: Search, where: string, path: string): Promise<string[]> {
  const { root, files, signal } = search.ctx;
  signal.throwIfAborted();
  const bytes = Buffer.from((await files.read(path)).bytes);
  files.shown(path, []); // only the lines that are found count as shown, later
  if (isBinary(bytes))
    throw new Error(`Cannot search '${path}': it is not text. Choose a text file.`);
  const name = relative(root, where);
  await addToBatch(search, name, bytes);
  await searchBatch(search);
  return [name];
}

async function addToBatch(search: Search, name: string, bytes: Buffer): Promise<void> {
  if (!search.finder.mayMatch(bytes)) return;
  const text = bytes.toString();
  search.batch.push({ name, text });
  search.batchChars += text.length;
  if (search.batchChars > BATCH_CHARS) await searchBatch(search);
}

async function searchBatch(search: Search): Promise<void> {
  const { hits, batch, most } = search;
  const results = await search.finder.find(batch.map(({ text }) => text));
  for (const [i, { count, hits: fileHits, stuck }] of results.entries()) {
    const { name, text } = batch[i]!;
    search.stuck.push(...stuck.map((line) => `${shownName(name)}:${line}`));
    if (!count || !(await mayShow(search, name))) continue;
    search.found.push({ path: name, count });
    const remaining = count - (most - hits.length);
    const nearOf = remaining < count ? nearby(search, text) : () => [];
    hits.push(
      ...fileHits
        .slice(0, most - hits.length)
        .map((hit) => ({ path: name, ...hit, near: nearOf(hit) })),
    );
    search.more += Math.max(0, remaining);
    if (remaining > 0) search.moreFiles++;
  }
  search.batch = [];
  search.batchChars = 0;
}

/** The lines around a hit. */
function nearby(search: Search, text: string): (hit: Hit) => Line[] {
  const [before, after] = search.around;
  if (!before && !after) return () => [];
  const lines = linesOf(text);
  return ({ line }) => {
    if (search.near > MAX_NEAR) return [];
    const from = Math.max(1, line - before);
    const near = lines.slice(from - 1, line + after).map((text, i) => ({ line: from + i, text }));
    search.near += near.length - 1;
    return near.filter((nearLine) => nearLine.line !== line);
  };
}

/**
 * Whether to try a regular expression on a file: the time that it takes tells what the file
 * contains.
 */
const mayTry = ({ ctx }: Search, name: string): boolean =>
  ctx.permissions.judge("read", name).verdict === "allow";

/**
 * Whether to show hits of a file: a search reaches files that the call does not name, some of them
 * with secrets.
 */
async function mayShow(
  { ctx: { permissions, files }, isFolder }: Search,
  name: string,
): Promise<boolean> {
  if (!isFolder || permissions.judge("read", name).verdict === "allow") return true;
  return files.read(name).then(
    () => true, // the person allowed it
    () => false,
  );
}

function resultText(search: Search, args: Args, names: string[]): string {
  const { hits, more, moreFiles } = search;
  const rows = search.around.some(Boolean)
    ? rowsAround(hits)
    : hits.map(({ path, line, text, at }) => `${shownName(path)}:${line}: ${shownLine(text, at)}`);
  if (more)
    rows.push(
      `[${plural(more, "more hit")} in ${plural(moreFiles, "file")}; narrow the query, the path or the glob]`,
    );
  if (search.near > MAX_NEAR)
    rows.push("[the lines around further hits are left out; ask for fewer]");
  return withNotes(rows, search, args, names);
}

function withNotes(rows: string[], search: Search, args: Args, names: string[]): string {
  const { stuck, lost } = search;
  if (!rows.length) rows.push(noHitText(search, args, names));
  if (stuck.length)
    rows.push(`[ignored, for the regular expression takes too long on it: ${stuck.join(", ")}]`);
  return [...rows, ...lost].join("\n");
}

/** Hits among the lines around them, as grep shows them: a:3: is a hit, a-4- is not. */
function rowsAround(hits: Search["hits"]): string[] {
  const rows: string[] = [];
  for (const [path, fileHits] of Map.groupBy(hits, ({ path }) => path)) {
    const lines = new Map<number, string>();
    const row = (mark: string, { line, text }: Line) =>
      `${shownName(path)}${mark}${line}${mark} ${text.trimEnd().slice(0, MAX_LINE_CHARS)}`;
    for (const hit of fileHits)
      for (const nearLine of hit.near) lines.set(nearLine.line, row("-", nearLine));
    for (const hit of fileHits) {
      const isWhole = hit.text.trimEnd().length <= MAX_LINE_CHARS;
      lines.set(
        hit.line,
        row(":", isWhole ? hit : { line: hit.line, text: shownLine(hit.text, hit.at) }),
      );
    }
    let last = 0;
    for (const [line, text] of [...lines].sort(([a], [b]) => a - b)) {
      if (rows.length && line !== last + 1) rows.push("--");
      rows.push(text);
      last = line;
    }
  }
  return rows;
}

/** The result for the outputs `files` and `count`: which files have hits, or how many. */
function filesResult(search: Search, args: Args, names: string[]) {
  const { found } = search;
  const shown = found.slice(0, search.most);
  const rows = shown.map(({ path, count }) =>
    args.output === "count" ? `${shownName(path)}: ${count}` : shownName(path),
  );
  if (found.length > shown.length)
    rows.push(
      `[${plural(found.length - shown.length, "more file")}; narrow the query, the path or the glob]`,
    );
  return { text: withNotes(rows, search, args, names), data: found };
}

function noHitText(
  { isFolder }: Search,
  { query, path = ".", regex, glob }: Args,
  names: string[],
): string {
  if (isFolder && !names.length)
    return `Nothing to search: ${glob ? `no file matches '${glob}'` : `'${path}' holds no files, or only ignored ones`}.`;
  if (regex)
    return `Nothing holds '${query}'.${/\\[nr]/.test(query) ? " Only single lines are searched." : ""}`;
  const hint = /[\\^$*+?|]|\[.+\]/.test(query)
    ? " as it stands; with regex it is a regular expression"
    : "";
  return `Nothing holds '${query}'${hint}.`;
}

/** Cuts a long line so that the hit can be seen. */
function shownLine(line: string, offset: number): string {
  const text = line.trim();
  const begins = offset - (line.length - line.trimStart().length);
  const from =
    begins + CHARS_BEFORE_HIT < MAX_LINE_CHARS
      ? 0
      : Math.max(0, Math.min(begins - CHARS_BEFORE_HIT, text.length - MAX_LINE_CHARS));
  return (from ? "…" : "") + text.slice(from, from + MAX_LINE_CHARS);
}

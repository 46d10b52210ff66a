// grep: finds lines by their content.
import { type Stats, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Ctx, Zz } from "zz";
import { plural } from "zz/text";
import { type Finder, finder, type Hit, isBinary, MAX_HITS, newYielder, type Query, reader } from "./lines.ts";
import { shownName } from "./path.ts";
import { matcher } from "./pattern.ts";
import { askRipgrep } from "./ripgrep.ts";

const MAX_LINE_CHARS = 200;
const CHARS_BEFORE_HIT = 60; // in longer lines
const MAX_QUERY_CHARS = 10_000;
const BATCH_CHARS = 1 << 18; // searched at a time

interface Args {
  query: string;
  path?: string | undefined;
  regex?: boolean | undefined;
  glob?: string | undefined;
  ignore_case?: boolean | undefined;
}
interface Search {
  ctx: Ctx;
  finder: Finder;
  isFolder: boolean;
  hits: (Hit & { path: string })[];
  stuck: string[]; // lines on which the regular expression takes too long
  more: number; // hits that are not shown
  moreFiles: number; // files with such hits
  batch: { name: string; text: string }[]; // read, but not searched yet
  batchChars: number;
}

export const grep = (zz: Zz<{ ripgrep: string }>) =>
  zz.tool({
    name: "grep",
    kind: "read",
    description:
      "Find the lines that hold a text, in all files of the project or under one path. Literal unless regex is true. Ignored and binary files are left out.",
    aliases: ["search", "search_files", "rg", "grep_search", "ripgrep", "search_text"],
    params: {
      query: "string what to find, within one line",
      path: "string? only under this file or folder",
      regex: "boolean? read query as a JavaScript regular expression; files that may hold secrets are left out then",
      glob: "string? only in files of these names, such as *.ts or src/**",
      ignore_case: "boolean? take a for A",
    },
    ...{
      also: {
        query: ["pattern", "text", "search"],
        path: ["file", "folder", "directory", "dir", "file_path"],
        glob: ["include", "include_pattern", "filter"],
        ignore_case: ["ignoreCase", "case_insensitive", "-i"],
      },
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    run: (args, ctx) => searchFor(args, ctx, zz.config.ripgrep),
  });

async function searchFor(args: Args, ctx: Ctx, ripgrep: string) {
  const { query, path = ".", regex = false, glob, ignore_case: ignoreCase = false } = args;
  const matches = checkedArgs(args);
  const asked = { query, regex, ignoreCase };
  const search: Search = {
    ...{ ctx, finder: finder(asked, ctx.signal), isFolder: false, hits: [], stuck: [] },
    ...{ more: 0, moreFiles: 0, batch: [], batchChars: 0 },
  };
  const where = ctx.files.path(path);
  const stat: Stats | undefined = statSync(where, { throwIfNoEntry: false });
  if (!stat) throw new Error(`Cannot search '${path}': no such file or folder. Check the path.`);
  search.isFolder = stat.isDirectory();
  const names = search.isFolder
    ? await searchFolder(search, where, path, { ...asked, glob }, matches, ripgrep)
    : await searchFile(search, where, path);
  const isWhole = ({ text }: Hit) => text.trim().length <= MAX_LINE_CHARS;
  for (const [name, hits] of Map.groupBy(search.hits.filter(isWhole), ({ path: name }) => name))
    ctx.files.shown(
      resolve(ctx.root, name),
      hits.map(({ line }) => [line, line]),
    );
  return {
    text: resultText(search, args, names),
    data: search.hits.map(({ path, line, text, at }) => ({ path, line, text: shownLine(text, at) })),
  };
}

/** The test of names that glob stands for. Throws if the arguments cannot be searched for. */
function checkedArgs({ query, glob }: Args): ((name: string) => boolean) | undefined {
  if (!query) throw new Error("Cannot search for nothing. Say what to find.");
  if (query.length > MAX_QUERY_CHARS)
    throw new Error(
      `Cannot search for ${query.length} characters: at most ${MAX_QUERY_CHARS} are allowed. Search for a part of them.`,
    );
  const matches = glob === undefined ? undefined : matcher(glob.includes("/") ? glob : `**/${glob}`);
  if (query.includes("\n"))
    throw new Error("Cannot search for more than one line: only single lines are searched. Search for one of them.");
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
  const { root, files, programs, signal } = search.ctx;
  const yieldIfDue = newYielder(signal);
  const [canMatch, listed] = await Promise.all([
    askRipgrep(programs, ripgrep, asked, where, root, signal), // first, since it takes longest
    files.list(path),
  ]);
  signal.throwIfAborted();
  const below = relative(root, where).length + 1; // a glob may be relative to the project or to the path
  const names = matches ? listed.filter((name) => matches(name) || (below > 1 && matches(name.slice(below)))) : listed;
  const bytesOf = reader(files.open);
  for (const name of names) {
    if (canMatch.get(name) === false || (asked.regex && !mayTry(search, name))) continue;
    const bytes = bytesOf(resolve(root, name));
    if (bytes) await addToBatch(search, name, bytes);
    await yieldIfDue();
  }
  await searchBatch(search);
  return names;
}

async function searchFile(search: Search, where: string, path: string): Promise<string[]> {
  const { root, files, signal } = search.ctx;
  signal.throwIfAborted();
  const bytes = Buffer.from((await files.read(path)).bytes);
  files.shown(path, []); // but for the lines that are found
  if (isBinary(bytes)) throw new Error(`Cannot search '${path}': it is not text. Choose a text file.`);
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
  const { hits, batch } = search;
  const found = await search.finder.find(batch.map(({ text }) => text));
  for (const [i, { count, hits: here, stuck }] of found.entries()) {
    const { name } = batch[i]!;
    search.stuck.push(...stuck.map((line) => `${shownName(name)}:${line}`));
    if (!count || !(await mayShow(search, name))) continue;
    const left = count - (MAX_HITS - hits.length);
    hits.push(...here.slice(0, MAX_HITS - hits.length).map((hit) => ({ path: name, ...hit })));
    search.more += Math.max(0, left);
    if (left > 0) search.moreFiles++;
  }
  search.batch = [];
  search.batchChars = 0;
}

/** How long a regular expression takes tells what is in a file, also when no hit is shown. */
const mayTry = ({ ctx }: Search, name: string): boolean => ctx.permissions.judge("read", name).verdict === "allow";

/** A search finds files that nobody named, and some of them contain secrets. */
async function mayShow({ ctx: { permissions, files }, isFolder }: Search, name: string): Promise<boolean> {
  if (!isFolder || permissions.judge("read", name).verdict === "allow") return true;
  return files.read(name).then(
    () => true, // the person allowed it
    () => false,
  );
}

function resultText(search: Search, args: Args, names: string[]): string {
  const { hits, more, moreFiles, stuck } = search;
  const rows = hits.map(({ path, line, text, at }) => `${shownName(path)}:${line}: ${shownLine(text, at)}`);
  if (more)
    rows.push(`[${plural(more, "more hit")} in ${plural(moreFiles, "file")}; narrow the query, the path or the glob]`);
  if (!rows.length) rows.push(noHitText(search, args, names));
  if (stuck.length) rows.push(`[ignored, for the regular expression takes too long on it: ${stuck.join(", ")}]`);
  return rows.join("\n");
}

function noHitText({ isFolder }: Search, { query, path = ".", regex, glob }: Args, names: string[]): string {
  if (isFolder && !names.length)
    return `Nothing to search: ${glob ? `no file matches '${glob}'` : `'${path}' holds no files, or only ignored ones`}.`;
  if (regex) return `Nothing holds '${query}'.${/\\[nr]/.test(query) ? " Only single lines are searched." : ""}`;
  const hint = /[\\^$*+?|]|\[.+\]/.test(query) ? " as it stands; with regex it is a regular expression" : "";
  return `Nothing holds '${query}'${hint}.`;
}

/** Cuts a long line so that the hit can be seen. */
function shownLine(line: string, at: number): string {
  const text = line.trim();
  const begins = at - (line.length - line.trimStart().length);
  const from =
    begins + CHARS_BEFORE_HIT < MAX_LINE_CHARS
      ? 0
      : Math.max(0, Math.min(begins - CHARS_BEFORE_HIT, text.length - MAX_LINE_CHARS));
  return (from ? "…" : "") + text.slice(from, from + MAX_LINE_CHARS);
}

// The index of a project: what each code file defines and uses, updated before every question.
import fs from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import v8 from "node:v8";
import vm from "node:vm";
import type { LowSync } from "lowdb";
import type { Ctx } from "zz";
import { errnoSentence, tryTo } from "zz/text";
import { codeAmong } from "./code-files.ts";
import { type Counts, type Index, indexOf, rowOf } from "./index-view.ts";
import { deniesReading, mayRead } from "./may-read.ts";
import { statOf } from "./resolve/disk.ts";
import type { Entry, Row } from "./rows.ts";
import {
  type Data,
  memoryPage,
  openStore,
  type Scope,
  type StoredRow,
  sortFiles,
  storeFile,
} from "./store.ts";
import type { Watch } from "./watch.ts";

// such a name could look like a row of an answer, or control the terminal
const CONTROL = /[\x00-\x1f\x7f-\x9f]/;
const MAX_LOCAL_FILES = 24; // files read in this process, since a worker takes longer to start
const MAX_LOCAL_BYTES = 400_000;
const MAX_UNLISTED = 1_000; // names that are known not to be listed
const MANY_FILES = 1_000; // files, from which on memory is given back

export type Project = ReturnType<typeof openProject>;
/** Decides what to do with a project of very many files. */
type Limit = (fileCount: number, ctx: Ctx, current: Scope) => Promise<Scope>;

export function openProject(
  root: string,
  home: string,
  limit: Limit,
  patterns: () => readonly string[],
  watch?: Pick<Watch, "takeTouched" | "generation">,
) {
  const indexFile = storeFile(root, home);
  const state: ProjectState = { root, limit, patterns, list: [] };
  let running: Promise<Index> | undefined;
  let waiting: Promise<Index> | undefined;
  return { fresh, drop };

  /**
   * A question asked during an update waits for an update of its own, since the running one may
   * have missed changes.
   */
  function fresh(ctx: Ctx): Promise<Index> {
    if (!running)
      return (running = updateIndex(state, home, watch, ctx).finally(() => (running = undefined)));
    return (waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = undefined;
        return fresh(ctx);
      }));
  }

  function drop(): void {
    [state.db, state.last] = [undefined, undefined];
    fs.rmSync(indexFile, { force: true });
  }
}

async function updateIndex(
  state: ProjectState,
  homeFolder: string,
  watch: Pick<Watch, "takeTouched" | "generation"> | undefined,
  ctx: Ctx,
): Promise<Index> {
  const { root } = state;
  const started = performance.now();
  const before = watch?.generation ?? 0;
  const touched = await watch?.takeTouched();
  const lastLook = state.last;
  state.last = undefined; // until it has been looked at
  const db = state.db ?? openStore(root, homeFolder, ctx.note);
  const { data } = db;
  const look: Look = { ctx, root, data, fresh: new Map(), stored: new Map() };
  const isWatched =
    before === lastLook?.generation &&
    before === watch?.generation &&
    lastLook.rules === rulesOf(state, ctx);
  const changed =
    lastLook && touched && isWatched ? await changesIn(state, touched, lastLook, look) : undefined;
  if (!lastLook || !changed) {
    const maybeUnlisted = [...(lastLook?.unlisted ?? []), ...(touched ?? [])].filter((filePath) =>
      isThere(path.join(root, filePath)),
    );
    return await lookAtAll(state, look, db, started, before, maybeUnlisted.slice(-MAX_UNLISTED));
  }
  await readHere(look, changed);
  if (look.fresh.size) {
    applyChange(data, [...look.fresh.values()], look.stored, []);
    save(db, ctx);
  }
  state.last = lastLook;
  return indexFor(db, ctx, lastLook.list, { ...lastLook.counts, ms: performance.now() - started });
}

/** What may be read, and what is to be indexed. */
function rulesOf(state: ProjectState, { permissions }: Ctx): string {
  return JSON.stringify([permissions.rules, state.patterns()]);
}

/**
 * The files to read again of what a watch told; undefined: a file came or went, so that all have to
 * be looked at.
 */
async function changesIn(
  state: ProjectState,
  touched: ReadonlySet<string>,
  lastLook: LastLook,
  { ctx, data }: Look,
): Promise<string[] | undefined> {
  // to be read again
  const changed = [...data.files.keys()].filter(
    (filePath) => data.files.get(filePath)!.mtime === -1,
  );
  for (const name of touched) {
    const stored = data.files.get(name);
    const fileStats = tryTo(() => fs.lstatSync(path.join(state.root, name)));
    if (cameOrWent(name, Boolean(stored), fileStats, lastLook)) return undefined;
    if (stored && stored.mtime !== -1 && isChanged(path.join(state.root, name), stored))
      changed.push(name);
  }
  const current = await state.limit(lastLook.code, ctx, data);
  return current.scope === data.scope &&
    current.most === data.most &&
    fitsLocally(state.root, changed)
    ? changed
    : undefined;
}

function cameOrWent(
  filePath: string,
  isIndexed: boolean,
  stat: fs.Stats | undefined,
  { unlisted, names }: LastLook,
): boolean {
  if (isIndexed) return !stat?.isFile();
  if (stat) return stat.isDirectory() || !unlisted.has(filePath);
  return names.has(filePath);
}

async function lookAtAll(
  state: ProjectState,
  look: Look,
  db: LowSync<Data>,
  started: number,
  generation: number,
  maybeUnlisted: string[],
): Promise<Index> {
  const { ctx, data, stored } = look;
  const rules = rulesOf(state, ctx);
  const listing = ctx.files.list();
  listing.catch(() => {}); // awaited below
  const changed: string[] = [];
  // path.join() would take as long again
  for (const indexed of data.files)
    if (isChanged(`${state.root}/${indexed[0]}`, indexed[1])) changed.push(indexed[0]);
  if (fitsLocally(state.root, changed)) await readHere(look, changed); // while the files are listed
  const listed = await listing;
  const showable = listed.filter((name) => !CONTROL.test(name));
  if (!isDeepStrictEqual(state.list, showable)) state.list = showable;
  const names = state.list;
  const { code, texts, ignored } = await codeAmong(names, state.patterns(), ctx.note);
  Object.assign(data, await state.limit(code.length, ctx, data));
  const isInScope = (name: string) => !data.scope || name.startsWith(`${data.scope}/`);
  const inScope = code.filter(isInScope);
  const isDenied = deniesReading(ctx);
  const isReadable = (name: string) => (data.files.has(name) && !isDenied) || mayRead(ctx, name);
  const readable = inScope.filter(isReadable);
  const wanted = new Set(readable.slice(0, data.most));
  const leftOut = readable.length - dropLinks(look, wanted, readable, changed) - wanted.size;
  const isText = (name: string) =>
    isInScope(name) &&
    (data.files.has(name) || !isLink(path.join(state.root, name))) &&
    isReadable(name);
  for (const filePath of texts.filter(isText).slice(0, data.most)) wanted.add(filePath);
  const failure = await readMissing(state, look, wanted, changed);
  keepRead(db, look, wanted, changed);
  if (failure) throw failure;
  state.db = db;
  if (stored.size > MANY_FILES || data.files.size > 5 * MANY_FILES) freeMemorySoon();
  const [ms, beyond] = [performance.now() - started, code.length - inScope.length];
  const counts = { ms, leftOut, beyond, scope: data.scope, ignored };
  const listedNames = new Set(listed);
  const unlisted = new Set(
    maybeUnlisted.filter((name) => !listedNames.has(name) && !name.endsWith(".gitignore")),
  );
  state.last = {
    generation,
    rules,
    names: listedNames,
    list: names,
    counts,
    code: code.length,
    unlisted,
  };
  return indexFor(db, ctx, names, counts);
}

/** Returns why not all of it could be read. */
async function readMissing(
  state: ProjectState,
  look: Look,
  wanted: ReadonlySet<string>,
  changed: string[],
): Promise<unknown> {
  const { data, fresh } = look;
  const missing = [...wanted]
    .filter((filePath) => !data.files.has(filePath))
    .concat(changed.filter((filePath) => wanted.has(filePath)));
  const unread = missing.filter((filePath) => !fresh.has(filePath));
  if (!fitsLocally(state.root, unread)) return readInWorkers(look, unread).catch((error) => error);
  await readHere(look, unread);
  return undefined;
}

function keepRead(
  store: LowSync<Data>,
  { ctx, data, fresh, stored }: Look,
  wanted: ReadonlySet<string>,
  changed: string[],
): void {
  const stalePaths = new Set(
    changed.filter((filePath) => !fresh.has(filePath) && !stored.has(filePath)),
  );
  const gone = [...data.files.keys()].filter(
    (filePath) => !wanted.has(filePath) || stalePaths.has(filePath),
  );
  if (fresh.size || stored.size || gone.length) {
    applyChange(
      data,
      [...fresh.values()].filter((row) => wanted.has(row.path)),
      stored,
      gone,
    );
    save(store, ctx);
  }
}

function indexFor(
  store: LowSync<Data>,
  ctx: Ctx,
  listedPaths: readonly string[],
  counts: Counts,
): Index {
  const { data } = store;
  return indexOf(data, listedPaths, counts, (resolved) => {
    if (isDeepStrictEqual(resolved, data.resolved)) return;
    data.resolved = resolved;
    data.change = { rows: [], gone: [] };
    save(store, ctx);
  });
}

/** What is known of a project between two questions. */
interface ProjectState {
  root: string;
  limit: Limit;
  patterns: () => readonly string[];
  db?: LowSync<Data> | undefined;
  last?: LastLook | undefined;
  list: readonly string[]; // of all files, the same object until one comes or goes
}
/** The last look at all files. */
interface LastLook {
  generation: number; // of the watch when it began
  rules: string;
  names: ReadonlySet<string>; // of all that were listed
  list: readonly string[]; // without those that cannot be shown
  counts: Counts;
  code: number; // how many files of code there were
  // what is there and not listed, as what an editor writes beside a file: a file that is gone may
  // come back
  unlisted: ReadonlySet<string>;
}

/**
 * Drops links to files that are indexed anyway: their names would count twice. Returns how many
 * there were.
 */
function dropLinks(
  { root, data }: Look,
  wanted: Set<string>,
  readable: string[],
  changed: string[],
): number {
  const [readablePaths, touched] = [new Set(readable), new Set(changed)];
  const countBefore = wanted.size;
  for (const name of wanted) {
    const isKnown = data.files.has(name) && !touched.has(name); // and so is not one
    if (isKnown) continue;
    const file = path.join(root, name);
    if (!isLink(file)) continue;
    const linkTarget = tryTo(() =>
      path.relative(root, fs.realpathSync(file)).split(path.sep).join("/"),
    );
    if (linkTarget !== undefined && readablePaths.has(linkTarget)) wanted.delete(name);
  }
  return countBefore - wanted.size;
}

/** What is read of a project: here, and in other threads. */
interface Look {
  ctx: Ctx;
  root: string;
  data: Data;
  fresh: Map<string, Row>;
  stored: Map<string, StoredRow>;
}

async function readHere({ ctx, root, data, fresh }: Look, names: string[]): Promise<void> {
  if (!names.length) return;
  const [{ readRow }, { prepare }] = await Promise.all([
    import("./read-row.ts"),
    import("./languages/grammar.ts"),
  ]);
  await prepare(names);
  for (const name of names) {
    const row = mayRead(ctx, name) && readRow(root, name, withoutPage(data.files.get(name)));
    if (row) fresh.set(name, row);
  }
}

async function readInWorkers(
  { ctx, root, data, stored }: Look,
  filePaths: string[],
): Promise<void> {
  const { readAll } = await import("./reader-pool.ts");
  const order = filePaths
    .filter((filePath) => mayRead(ctx, filePath))
    .map((filePath) => [filePath, withoutPage(data.files.get(filePath))] as const);
  let doneCount = 0;
  await readAll(ctx.programs, root, order, ctx.signal, ({ files, read }, page) => {
    for (const { path: filePath, ...row } of files)
      stored.set(
        filePath,
        row.length ? { ...row, page } : { ...data.files.get(filePath)!, ...withoutPage(row) },
      );
    ctx.progress(progressBar((doneCount += read), order.length));
  });
}

/**
 * Node frees memory only when it needs some, and a conversation may go on for hours without that.
 */
function freeMemorySoon(): void {
  const freeMemory = () => {
    v8.setFlagsFromString("--expose-gc");
    vm.runInNewContext("gc")();
  };
  // the second run returns what the first one freed
  for (const delayMs of [1_000, 3_000]) setTimeout(freeMemory, delayMs).unref();
}

/** Without its page, since it goes to another process. */
const withoutPage = (saved: Entry | undefined): Entry | undefined =>
  saved && { mtime: saved.mtime, ctime: saved.ctime, size: saved.size, hash: saved.hash };

/** Stores what was read. A file with unchanged content keeps its row. */
function applyChange(
  data: Data,
  rows: Row[],
  stored: Map<string, StoredRow>,
  gone: string[],
): void {
  const wholeRows = rows.map((row) =>
    row.text.length ? row : { ...row, text: rowOf(data, row.path) },
  );
  const page = memoryPage(Buffer.concat(wholeRows.map(({ text }) => text)));
  const files: Data["files"] = new Map([...data.files, ...stored]);
  for (const gonePath of gone) files.delete(gonePath);
  let offset = 0;
  for (const { path: filePath, text, ...rowEntry } of wholeRows) {
    files.set(filePath, { ...rowEntry, page, offset, length: text.length });
    offset += text.length;
  }
  data.files = sortFiles(files);
  data.change = stored.size ? undefined : { rows: wholeRows, gone };
}

const isLink = (file: string) => tryTo(() => fs.lstatSync(file).isSymbolicLink()) === true;
const isThere = (file: string) => tryTo(() => fs.lstatSync(file)) !== undefined;

function isChanged(file: string, { mtime, ctime, size }: Entry): boolean {
  const stat = statOf(file);
  return !stat || stat.mtimeMs !== mtime || stat.ctimeMs !== ctime || stat.size !== size;
}

function fitsLocally(root: string, filePaths: string[]): boolean {
  if (filePaths.length > MAX_LOCAL_FILES) return false;
  const fileSizes = filePaths.map((filePath) => statOf(path.join(root, filePath))?.size ?? 0);
  return fileSizes.reduce((totalSize, fileSize) => totalSize + fileSize, 0) <= MAX_LOCAL_BYTES;
}

function progressBar(done: number, total: number): string {
  const part = done / total;
  const drawnBar = `${"=".repeat(Math.round(part * 10))}>`.padEnd(11, "-");
  return `Indexing [${drawnBar}] ${Math.floor(part * 100)}% (${done}/${total} files)`;
}

/** An index that cannot be saved is still useful. */
function save(store: LowSync<Data>, ctx: Ctx): void {
  try {
    store.write();
  } catch (error) {
    const reason = errnoSentence(error) || `${(error as Error).message}.`;
    ctx.note(`Cannot keep the index of this project: ${reason} It is made again next time.`);
  }
}

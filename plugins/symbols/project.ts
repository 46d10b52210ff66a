// The index of a project: what each of its code files holds, brought up to date at every question.
import fs from "node:fs";
import path from "node:path";
import v8 from "node:v8";
import vm from "node:vm";
import type { LowSync } from "lowdb";
import type { Ctx } from "zz";
import type { Kept } from "./resolve.ts";
import { type Entry, type Leaf, type Row, unpack } from "./rows.ts";
import type { Facts } from "./scan/facts.ts";
import { type Data, inOrder, leavesOf, memoryPage, openStore, type Placed, type Scope, storeFile } from "./store.ts";

export const CODE = /\.(?:[cm]?[jt]sx?|json|ya?ml)$/i;
const CONTROL = /[\x00-\x1f\x7f-\x9f]/; // a name that holds one could pass for a row of an answer, or for a terminal's orders
const FEW = 24; // files that are read here, since a worker thread takes longer to start
const FEW_BYTES = 400_000;
const MANY = 1_000; // files, after which memory is given back

/** The index at one moment. */
export interface Index {
  readonly names: readonly string[]; // every file of the project, also those that are not read
  readonly files: readonly string[]; // those that are, in order
  readonly version: object; // the same as long as nothing has changed
  readonly ms: number; // what it took to bring it up to date
  readonly read: number; // how many files were read for that
  readonly left: number; // how many there are beyond what is indexed
  facts(name: string): Facts | undefined;
  readonly leaves: Leaf[]; // to search in
  resolved?: Kept | undefined;
  keep(resolved: Kept): void;
}

export interface Project {
  fresh(ctx: Ctx): Promise<Index>;
  drop(): void;
}
/** What to do about a project of very many files. */
export type Limit = (count: number, ctx: Ctx, now: Scope) => Promise<Scope>;

export function openProject(root: string, home: string, limit: Limit): Project {
  const file = storeFile(root, home);
  let held: Data | undefined;
  let running: Promise<Index> | undefined;
  let waiting: Promise<Index> | undefined;
  return { fresh, drop };

  /** A question that comes while another is at it waits for its own turn: what changes now may have been missed. */
  function fresh(ctx: Ctx): Promise<Index> {
    if (!running) return (running = update(ctx).finally(() => (running = undefined)));
    return (waiting ??= running
      .catch(() => {})
      .then(() => {
        waiting = undefined;
        return fresh(ctx);
      }));
  }

  function drop(): void {
    held = undefined;
    fs.rmSync(file, { force: true });
  }

  async function update(ctx: Ctx): Promise<Index> {
    const started = performance.now();
    const db = openStore(root, home, ctx.note);
    if (held) db.data = held;
    else db.read();
    const { data } = db;
    const look: Look = { ctx, root, data, fresh: new Map(), placed: new Map() };
    const { fresh, placed } = look;
    const listing = ctx.files.list();
    listing.catch(() => {}); // it is waited for below
    const changed = [...data.files]
      .filter(([name, entry]) => isChanged(path.join(root, name), entry))
      .map(([name]) => name);
    if (isFew(root, changed)) await readHere(look, changed); // while the list is made
    const names = (await listing).filter((name) => !CONTROL.test(name));
    const code = names.filter((name) => CODE.test(name));
    Object.assign(data, await limit(code.length, ctx, data));
    const inScope = data.scope ? code.filter((name) => name.startsWith(`${data.scope}/`)) : code;
    const isDenied = ctx.permissions.rules.some(({ kind, verdict }) => kind === "read" && verdict === "deny");
    const readable = inScope.filter((name) => (data.files.has(name) && !isDenied) || mayRead(ctx, name));
    const wanted = new Set(readable.slice(0, data.most));
    const missing = [...wanted]
      .filter((name) => !data.files.has(name))
      .concat(changed.filter((name) => wanted.has(name)));
    const unread = missing.filter((name) => !fresh.has(name));
    let failure: unknown;
    if (isFew(root, unread)) await readHere(look, unread);
    else await readThere(look, unread).catch((error) => (failure = error));
    const stale = new Set(changed.filter((name) => !fresh.has(name) && !placed.has(name)));
    const gone = [...data.files.keys()].filter((name) => !wanted.has(name) || stale.has(name));
    if (fresh.size || placed.size || gone.length) {
      change(
        data,
        [...fresh.values()].filter((row) => wanted.has(row.path)),
        placed,
        gone,
      );
      save(db, ctx);
    }
    if (failure) throw failure;
    held = data;
    if (placed.size > MANY || data.files.size > 5 * MANY) giveBackSoon();
    const ms = performance.now() - started;
    const counts = { ms, read: fresh.size + placed.size, left: readable.length - wanted.size };
    return indexOf(data, names, counts, (resolved) => {
      if (JSON.stringify(resolved) === JSON.stringify(data.resolved)) return;
      data.resolved = resolved;
      data.change = { rows: [], gone: [] };
      save(db, ctx);
    });
  }
}

/** What is read of a project: here, and in other threads. */
interface Look {
  ctx: Ctx;
  root: string;
  data: Data;
  fresh: Map<string, Row>;
  placed: Map<string, Placed>;
}

async function readHere({ ctx, root, data, fresh }: Look, some: string[]): Promise<void> {
  if (!some.length) return;
  const { readRow } = await import("./read.ts");
  for (const name of some) {
    const row = mayRead(ctx, name) && readRow(root, name, known(data.files.get(name)));
    if (row) fresh.set(name, row);
  }
}

async function readThere({ ctx, root, data, placed }: Look, many: string[]): Promise<void> {
  const { readAll } = await import("./pool.ts");
  const order = many.filter((name) => mayRead(ctx, name)).map((name) => [name, known(data.files.get(name))] as const);
  let done = 0;
  await readAll(ctx.programs, root, order, ctx.signal, ({ files, read }, page) => {
    for (const { path: name, ...row } of files)
      placed.set(name, row.length ? { ...row, page } : { ...data.files.get(name)!, ...known(row) });
    ctx.progress(bar((done += read), order.length));
  });
}

/** Node gives memory back when it needs some; a conversation may go on for hours without. */
function giveBackSoon(): void {
  const giveBack = () => {
    v8.setFlagsFromString("--expose-gc");
    vm.runInNewContext("gc")();
  };
  for (const ms of [1_000, 3_000]) setTimeout(giveBack, ms).unref(); // what the first one freed, the second one gives back
}

/** Without the bytes that it lies in: it goes to another thread. */
const known = (entry: Entry | undefined): Entry | undefined =>
  entry && { mtime: entry.mtime, ctime: entry.ctime, size: entry.size, hash: entry.hash };

/** Takes in what was read. The row of a file that holds what it held is what it was. */
function change(data: Data, rows: Row[], placed: Map<string, Placed>, gone: string[]): void {
  const whole = rows.map((row) => (row.text.length ? row : { ...row, text: rowOf(data, row.path) }));
  const page = memoryPage(Buffer.concat(whole.map(({ text }) => text)));
  const files: Data["files"] = new Map([...data.files, ...placed]);
  for (const name of gone) files.delete(name);
  let at = 0;
  for (const { path: name, text, ...entry } of whole) {
    files.set(name, { ...entry, page, at, length: text.length });
    at += text.length;
  }
  const isNew = placed.size || files.size !== data.files.size || rows.some(({ path: name }) => !data.files.has(name));
  data.files = isNew ? inOrder(files) : files;
  data.change = placed.size ? undefined : { rows: whole, gone };
}

function rowOf({ files }: Pick<Data, "files">, name: string): Buffer {
  const { page, at, length } = files.get(name)!;
  return page.read(at, length);
}

function indexOf(data: Data, names: string[], counts: Pick<Index, "ms" | "read" | "left">, keep: Index["keep"]): Index {
  const { files, resolved } = data; // as they are now: a later question puts others in their place
  return {
    ...{ ...counts, names, files: [...files.keys()], version: files, resolved, keep },
    get leaves() {
      return leavesOf({ files });
    },
    facts: (name) => (files.has(name) ? unpack(rowOf({ files }, name).toString()) : undefined),
  };
}

function isChanged(file: string, { mtime, ctime, size }: Entry): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return !stat || stat.mtimeMs !== mtime || stat.ctimeMs !== ctime || stat.size !== size;
}

function isFew(root: string, names: string[]): boolean {
  if (names.length > FEW) return false;
  const sizes = names.map((name) => fs.statSync(path.join(root, name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0) <= FEW_BYTES;
}

export const mayRead = ({ permissions }: Ctx, name: string): boolean =>
  permissions.judge("read", name).verdict === "allow";

function bar(done: number, all: number): string {
  const part = all ? done / all : 1;
  const drawn = `${"=".repeat(Math.round(part * 10))}>`.padEnd(11, "-");
  return `Indexing [${drawn}] ${Math.floor(part * 100)}% (${done}/${all} files)`;
}

/** An index that cannot be kept is of use all the same. */
function save(db: LowSync<Data>, ctx: Ctx): void {
  try {
    db.write();
  } catch (error) {
    ctx.note(`Cannot keep the index of this project: ${(error as Error).message}. It is made anew next time.`);
  }
}

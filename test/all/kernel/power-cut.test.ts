// The power goes at any moment: what was acknowledged is there, each file is old or new, and undo
// takes all of it back.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { askable, call, say } from "../../support/fake/openai.ts";
import { type Place, place, zz } from "../../support/run.ts";
import { random, runs, SEED } from "../../support/runs.ts";

// What a program in this process does to a folder is recorded, and then laid out as a disk might have
// it after a cut at any moment. Names change in their order; what was not synced of a file's bytes
// may be missing, and so may the last changes of names.
interface Moment {
  names: Map<string, string>; // each path's file; "" for a folder, "->…" for a link
  bytes: Map<string, Buffer>; // by file
}
interface Recorded {
  moments: Moment[];
  // files whose bytes, and folders whose names, are on the disk as of that moment
  synced: { file: string; at: number }[];
  stop(): unknown;
}

const CHANGES = [
  ...([
    "openSync",
    "writeFileSync",
    "writeSync",
    "appendFileSync",
    "ftruncateSync",
    "truncateSync",
  ] as const),
  ...(["copyFileSync", "linkSync", "renameSync", "unlinkSync", "rmSync"] as const),
  ...(["rmdirSync", "mkdirSync", "symlinkSync"] as const),
];
const SYNCS = ["fsyncSync", "fdatasyncSync", "fsync", "fdatasync"] as const;

function record(root: string): Recorded {
  const seen = new Map<string, { stamp: string; bytes: Buffer }>();
  const real = { ...fs };
  const look = (): Moment => {
    const [names, bytes]: [Moment["names"], Moment["bytes"]] = [new Map(), new Map()];
    const walk = (folder: string): void => {
      for (const entry of real.readdirSync(folder, { withFileTypes: true })) {
        const at = join(folder, entry.name);
        const stat = real.lstatSync(at, { bigint: true, throwIfNoEntry: false });
        if (!stat) continue;
        const linkOrFile = () =>
          stat.isSymbolicLink() ? `->${real.readlinkSync(at)}` : fileOf(stat);
        names.set(at, stat.isDirectory() ? "" : linkOrFile());
        if (stat.isDirectory()) walk(at);
        else if (stat.isFile()) bytes.set(fileOf(stat), bytesOf(at, stat));
      }
    };
    walk(root);
    return { names, bytes };
  };
  const bytesOf = (at: string, stat: fs.BigIntStats): Buffer => {
    const stamp = `${stat.size} ${stat.mtimeNs}`;
    const known = seen.get(fileOf(stat));
    if (known?.stamp === stamp && stat.size === BigInt(known.bytes.length)) return known.bytes;
    const read = real.readFileSync(at);
    seen.set(fileOf(stat), { stamp, bytes: read });
    return read;
  };
  const moments = [look()];
  const synced: Recorded["synced"] = [];
  const note = (): void => void moments.push(look());
  const sync = (fd: number): void => {
    const stat = real.fstatSync(fd, { bigint: true });
    note();
    synced.push({
      file: stat.isDirectory() ? real.readlinkSync(`/proc/self/fd/${fd}`) : fileOf(stat),
      at: moments.length - 1,
    });
  };
  for (const name of CHANGES)
    Object.assign(fs, {
      [name](...given: unknown[]) {
        const isRead =
          name === "openSync" &&
          (given[1] === "r" ||
            given[1] === undefined ||
            (typeof given[1] === "number" && !(given[1] & 0o103)));
        const result = (real[name] as (...given: unknown[]) => unknown)(...given);
        if (!isRead) note();
        return result;
      },
    });
  for (const name of SYNCS)
    Object.assign(fs, {
      [name](fd: number, done?: (error: Error | null) => void) {
        if (!name.endsWith("Sync"))
          return real[name](fd, (error) => {
            if (!error) sync(fd);
            done!(error);
          });
        (real[name] as (fd: number) => void)(fd);
        sync(fd);
      },
    });
  return {
    moments,
    synced,
    stop: () =>
      Object.assign(
        fs,
        Object.fromEntries([...CHANGES, ...SYNCS].map((name) => [name, real[name]])),
      ),
  };
}
const fileOf = ({ ino, birthtimeNs }: fs.BigIntStats): string => `${ino} ${birthtimeNs}`;

/** Lays out in its place what a cut right after that moment may leave. */
function cut({ moments, synced }: Recorded, root: string, at: number, next: () => number) {
  const before = synced.filter((one) => one.at <= at);
  const least = Math.max(
    0,
    ...before.filter(({ file }) => file.startsWith("/")).map((one) => lastChange(one.file, one.at)),
  );
  const { names } = moments[least + Math.floor(next() * (at - least + 1))]!;
  fs.mkdirSync(root);
  for (const [name, file] of names) {
    if (file === "") fs.mkdirSync(name);
    else if (file.startsWith("->")) fs.symlinkSync(file.slice(2), name);
    else fs.writeFileSync(name, bytesLeft(file));
  }

  /** When a name in this folder changed last, as of that moment. */
  function lastChange(folder: string, until: number): number {
    const listed = (i: number) =>
      JSON.stringify([...moments[i]!.names].filter(([name]) => dirname(name) === folder));
    let i = until;
    while (i > 0 && listed(i - 1) === listed(until)) i--;
    return i;
  }

  /** What was synced is there; of later bytes all, some, none, or zeros. */
  function bytesLeft(file: string): Buffer {
    const synced = before.findLast((one) => one.file === file);
    const kept = moments[synced?.at ?? 0]!.bytes.get(file) ?? Buffer.alloc(0);
    const now = moments
      .slice(0, at + 1)
      .findLast(({ bytes }) => bytes.has(file))!
      .bytes.get(file)!;
    if (now.equals(kept) || next() < 0.3) return now;
    if (!now.subarray(0, kept.length).equals(kept)) return next() < 0.5 ? now : kept;
    const length = kept.length + Math.floor(next() * (now.length - kept.length));
    const part = next() < 0.5 ? kept : now.subarray(0, length);
    return next() < 0.2 ? Buffer.concat([kept, Buffer.alloc(length - kept.length)]) : part;
  }
}

const CUTS = runs(40, 60);
const OLD = { "a.txt": "one\ntwo\n", "deep/b.txt": "b\n", "gone.txt": "it goes\n" };
const next = random(SEED);

/** What the model does in each turn, and what the project then holds. */
const edit = (old: string, to: string): [string, object][] => [
  ["read_file", { path: "a.txt" }],
  ["edit_file", { path: "a.txt", edits: [{ old, new: to }] }],
];
const LONG = "c\n".repeat(3_000);
const TURNS: [calls: [string, object][], files: Record<string, string | undefined>][] = [
  [[["write_file", { path: "new/in/c.txt", content: LONG }]], { "new/in/c.txt": LONG }],
  [edit("one", "1"), { "a.txt": "1\ntwo\n" }],
  [[...edit("two", "2"), ["delete_file", { path: "gone.txt" }]],
    { "a.txt": "1\n2\n", "gone.txt": undefined }],
  [[["move_file", { from: "deep/b.txt", to: "new/b.txt" }]],
    { "deep/b.txt": undefined, "new/b.txt": "b\n" }],
]; // biome-ignore format: a table

const read = (cwd: string, name: string): string | undefined =>
  fs.existsSync(join(cwd, name)) ? fs.readFileSync(join(cwd, name), "utf8") : undefined;
/** All whole lines of all sessions. */
function saved({ home }: Place): string {
  const folder = join(home, "sessions");
  const names = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
    : [];
  return names
    .map((name) => fs.readFileSync(join(folder, name), "utf8").replace(/[^\n]*$/, ""))
    .join("");
}

test("after a power cut all that was acknowledged is there, each file is old or new, and undo takes it back", async () => {
  const server = await askable(({ body }) => {
    const since = body.messages.slice(
      body.messages.findLastIndex((one: any) => one.role === "user"),
    );
    const turn = body.messages.filter((one: any) => one.role === "user").length - 1;
    return since.length > 1 || !TURNS[turn]
      ? say(`answer ${turn}.`)
      : call(...TURNS[turn]![0].map(([name, args]) => [name, args] as [string, object]));
  });
  const where = place(OLD);
  const root = dirname(where.cwd);
  const inProject = () =>
    [...versions].map(([name, all]) => [name, read(where.cwd, name), all.at(-1)!.text]);
  const tape = record(root);
  /** From which moment on what must be there. */
  const acknowledged: { at: number; words: string[] }[] = [];
  const versions = new Map<string, { from: number; text: string | undefined }[]>();
  for (const [name, text] of Object.entries(OLD)) versions.set(name, [{ from: 0, text }]);
  for (const [turn, [, files]] of TURNS.entries()) {
    const { code, stderr } = await zz(where, [
      "--once",
      "-c",
      "-A",
      ...server.args,
      `message ${turn}`,
    ]);
    equal(code, 0, stderr);
    const at = tape.moments.length - 1;
    acknowledged.push({ at, words: [`message ${turn}`, `answer ${turn}.`] });
    for (const [name, text] of Object.entries(files))
      versions.set(name, [
        ...(versions.get(name) ?? [{ from: 0, text: undefined }]),
        { from: at, text },
      ]);
  }
  for (const [name, now, text] of inProject()) equal(now, text, name);
  const beforeUndo = tape.moments.length - 1;
  equal((await zz(where, ["--undo"])).code, 0);
  tape.stop();
  const end = tape.moments.length - 1;
  const wrong: string[] = [];
  for (let i = 0; i < CUTS; i++) {
    const at = i === 0 ? end : Math.floor(next() * end);
    fs.rmSync(root, { recursive: true });
    cut(tape, root, at, next);
    fs.mkdirSync(where.cwd, { recursive: true });
    age(where.home);
    const said = saved(where);
    for (const { at: since, words } of acknowledged)
      for (const word of words)
        if (since <= at && !said.includes(word))
          wrong.push(`cut ${at} of ${end}: '${word}' is lost`);
    if (at <= beforeUndo)
      for (const [name, all] of versions) {
        const from = all.findLastIndex((one) => one.from <= at);
        const now = read(where.cwd, name);
        const isWhole =
          all.slice(from, from + 2).some(({ text }) => text === now) ||
          all.some((one, i) => i > from && one.text === now);
        if (!isWhole)
          wrong.push(
            `cut ${at} of ${end}: '${name}' is ${JSON.stringify(now)?.slice(0, 40)}, ${now?.length} long`,
          );
      }
    const undone = await zz(where, ["--undo=99"]);
    if (undone.code !== 0 && !/Nothing to undo|no session/i.test(undone.stderr))
      wrong.push(`cut ${at} of ${end}: undo: ${undone.stderr}`);
    const left = Object.fromEntries(
      [...versions.keys()].flatMap((name) =>
        read(where.cwd, name) === undefined ? [] : [[name, read(where.cwd, name)]],
      ),
    );
    if (JSON.stringify(Object.entries(left).sort()) !== JSON.stringify(Object.entries(OLD).sort()))
      wrong.push(
        `cut ${at} of ${end}: after undo ${JSON.stringify(left).slice(0, 200)}; ${undone.stdout}${undone.stderr}`,
      );
  }
  ok(end > 50);
  deepEqual(wrong, []);
});

/** After a cut no process is left: the locks in this image name the test's own, which lives. */
function age(home: string): void {
  const folder = join(home, "sessions");
  if (!fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".lock")))
    if (fs.statSync(join(folder, name)).size) fs.writeFileSync(join(folder, name), `${2 ** 30} 1`);
}

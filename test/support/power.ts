// A disk that loses power: what a program in this process does to a folder is recorded, and then
// laid out as a disk might have it after a cut at any moment. Names change in their order; what was
// not synced of a file's bytes may be missing, and so may the last changes of names.
import fs from "node:fs";
import { dirname, join } from "node:path";

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

export function record(root: string): Recorded {
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
export function cut({ moments, synced }: Recorded, root: string, at: number, next: () => number) {
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

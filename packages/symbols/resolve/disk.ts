// The project on the disk. Everything read is recorded, so that answers are renewed once that
// changes.

import fs from "node:fs";
import path from "node:path";
import type { CompilerGate } from "zz";
import { tryTo } from "zz/text";
import { markedText } from "../encoding.ts";
import { folderOf, IN_NODE_MODULES, join, SCRIPT, slashes, upwards } from "./paths.ts";
import type { Disk, Json, Kept } from "./resolver-types.ts";

const MAX_CONFIG_BYTES = 4_000_000; // of a package.json or tsconfig.json
const CLOCK_TICK_MS = 50;

/**
 * Reads the disk and records it: in a project only its package.json and tsconfig.json; elsewhere,
 * folders as well.
 */
interface DiskState {
  root: string;
  roots: string[]; // also with links followed
  names: ReadonlySet<string>;
  packages: Map<string, Json | undefined>;
  seen: Map<string, string>;
  gate: CompilerGate | undefined;
}

export function openDisk(
  folder: string,
  names: ReadonlySet<string>,
  kept?: Kept,
  gate?: CompilerGate,
) {
  const root = slashes(folder).replace(/\/$/, "");
  const isFresh = !!kept && isKept(kept) && isUnchanged(root, kept.seen);
  const seenStamps = new Map(isFresh ? Object.entries(kept.seen) : []);
  const state: DiskState = {
    root,
    roots: [...new Set([root, realOf(root)])],
    names,
    packages: new Map(),
    seen: seenStamps,
    gate,
  };
  const disk: Disk = {
    root,
    names,
    local: (file) => local(state, file),
    isFile: (file) => isFile(state, file),
    isFolder: (file) => isFolder(state, file),
    read: (file) => read(state, file),
    packageIn: (packageFolder) => packageIn(state, packageFolder),
    sourceOf: (file, outFolders, isNamed) => sourceOf(state, file, outFolders, isNamed),
  };
  return { disk, seenStamps, isFresh };
}

/** Whether everything that was read still is as it was then. */
export const isUnchanged = (root: string, stamps: Kept["seen"]): boolean =>
  Object.entries(stamps).every(([name, when]) => stampOf(path.resolve(root, name)) === when);

function noteStamp(state: DiskState, file: string): void {
  const name = file.startsWith(`${state.root}/`) ? file.slice(state.root.length + 1) : file;
  if (!state.seen.has(name)) state.seen.set(name, isSettled(file) ? stampOf(file) : "new");
}

function local(state: DiskState, file: string): string | undefined {
  for (const root of state.roots) {
    if (file === root) return "";
    if (!file.startsWith(`${root}/`)) continue;
    const inside = file.slice(root.length + 1).replace(/\/$/, "");
    return IN_NODE_MODULES.test(inside) ? undefined : inside;
  }
  return undefined;
}

function isFile(state: DiskState, file: string): boolean {
  noteStamp(state, file.includes("/node_modules/") ? folderOf(file) : file);
  return statOf(file)?.isFile() === true && state.gate?.mayLookUp(file) !== false;
}

function isFolder(state: DiskState, file: string): boolean {
  if (!IN_NODE_MODULES.test(file)) return true; // its files are checked one by one
  noteStamp(state, file);
  return statOf(file)?.isDirectory() === true && state.gate?.mayList(file) !== false;
}

function read(state: DiskState, file: string): string | undefined {
  noteStamp(state, file);
  const stat = statOf(file);
  if (!stat?.isFile() || stat.size > MAX_CONFIG_BYTES || state.gate?.mayLookUp(file) === false)
    return undefined;
  return tryTo(() => (stat.size ? markedText(fs.readFileSync(file)).replace(/^\ufeff/, "") : ""));
}

function packageIn(state: DiskState, folder: string): Json | undefined {
  if (!state.packages.has(folder))
    state.packages.set(
      folder,
      parseJson(read(state, path.posix.join(state.root, folder, "package.json"))),
    );
  return state.packages.get(folder);
}

/**
 * The source that a missing file is built from: dist/index.js is made from src/index.ts. If a
 * package.json names it, so may index.js be.
 */
function sourceOf(
  state: DiskState,
  file: string,
  outFolders: readonly [string, string][] = [],
  isNamed = false,
): string | undefined {
  // "@/logo.svg.ts": as TypeScript asks for a picture
  const [, asset = ""] = /^(.*(?<!\.d\.\w+))\.ts$/.exec(file) ?? [];
  if (state.names.has(asset) && !SCRIPT.test(asset)) return asset;
  const [, base = file, extension = ""] = /^(.*?)(\.(?:d\.)?[cm]?[jt]sx?)?$/.exec(file) ?? [];
  const bases = outFolders
    .filter(([from]) => file.startsWith(`${from}/`))
    .map(([from, to]) => join(to, base.slice(from.length))!);
  for (const home of upwards(folderOf(file))) {
    if (!state.names.has(home ? `${home}/package.json` : "package.json")) continue;
    const parts = base.slice(home ? home.length + 1 : 0).split("/");
    for (; parts.length > 1 && BUILD_FOLDER.test(parts[0]!); parts.shift())
      for (const folder of ["src", ""])
        bases.push(join(home, [folder, ...parts.slice(1)].join("/"))!);
    if (isNamed) bases.push(join(home, `src/${parts.join("/")}`)!);
  }
  const moduleKind = /[cm]/.exec(extension.replace(/^\.d/, ""))?.[0] ?? "";
  const extensions = [
    ...(moduleKind ? [`.${moduleKind}ts`] : []),
    ".ts",
    ".tsx",
    ...(moduleKind ? [`.${moduleKind}js`] : []),
    ".js",
    ".jsx",
  ];
  for (const candidate of bases)
    for (const each of extensions)
      if (candidate + each !== file && state.names.has(candidate + each)) return candidate + each;
  return undefined;
}

const BUILD_FOLDER =
  /^(?:_?(?:esm|cjs|types)|es|es\d+|umd|typings|commonjs|module|(?:dist|lib|build|out|output)(?:-\w+)?)$/;

function isKept(kept: Partial<Kept>): boolean {
  const { seen: stamps, ways, found: answers } = kept;
  return [stamps, ways, answers].every((part) => !!part && typeof part === "object");
}

/**
 * Also undefined where a file stands in place of the folder: the system reports that as another
 * error than a missing file.
 */
export const statOf = (file: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));
/** The modification time alone would miss a package that was unpacked, since unpacking sets it. */
function stampOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size}` : "";
}
/** Changes within the same tick of the clock look the same. */
const isSettled = (file: string): boolean =>
  !((statOf(file)?.ctimeMs ?? 0) > Date.now() - CLOCK_TICK_MS);

export const realOf = (file: string): string =>
  tryTo(() => slashes(fs.realpathSync.native(file))) ?? file;

export function parseJson(text: string | undefined): Json | undefined {
  const value: unknown = tryTo(() => JSON.parse(text ?? ""));
  return value && typeof value === "object" ? (value as Json) : undefined;
}

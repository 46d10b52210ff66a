// The project on the disk. Everything read is recorded, so that answers are renewed once that
// changes.

import fs from "node:fs";
import path from "node:path";
import type { CompilerGate } from "zz";
import { anyOf, stampOf, tryTo } from "zz/text";
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
  rootFolder: string,
  names: ReadonlySet<string>,
  keptAnswers?: Kept,
  gate?: CompilerGate,
) {
  const root = slashes(rootFolder).replace(/\/$/, "");
  const isFresh = !!keptAnswers && isValidKept(keptAnswers) && isUnchanged(root, keptAnswers.seen);
  const seenStamps = new Map(isFresh ? Object.entries(keptAnswers.seen) : []);
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
    local: (filePath) => localPath(state, filePath),
    isFile: (filePath) => isFile(state, filePath),
    isFolder: (filePath) => isFolder(state, filePath),
    read: (filePath) => readFile(state, filePath),
    packageIn: (packageFolder) => packageIn(state, packageFolder),
    sourceOf: (filePath, outFolders, isNamed) => sourceOf(state, filePath, outFolders, isNamed),
  };
  return { disk, seenStamps, isFresh };
}

/** Whether everything that was read still is as it was then. */
export const isUnchanged = (root: string, keptStamps: Kept["seen"]): boolean =>
  Object.entries(keptStamps).every(([name, when]) => stampOf(path.resolve(root, name)) === when);

function noteStamp(state: DiskState, filePath: string): void {
  const stampName = filePath.startsWith(`${state.root}/`)
    ? filePath.slice(state.root.length + 1)
    : filePath;
  if (!state.seen.has(stampName))
    state.seen.set(stampName, isSettled(filePath) ? stampOf(filePath) : "new");
}

function localPath(state: DiskState, filePath: string): string | undefined {
  for (const rootFolder of state.roots) {
    if (filePath === rootFolder) return "";
    if (!filePath.startsWith(`${rootFolder}/`)) continue;
    const innerPath = filePath.slice(rootFolder.length + 1).replace(/\/$/, "");
    return IN_NODE_MODULES.test(innerPath) ? undefined : innerPath;
  }
  return undefined;
}

function isFile(state: DiskState, filePath: string): boolean {
  noteStamp(state, filePath.includes("/node_modules/") ? folderOf(filePath) : filePath);
  return statOf(filePath)?.isFile() === true && state.gate?.mayLookUp(filePath) !== false;
}

function isFolder(state: DiskState, filePath: string): boolean {
  if (!IN_NODE_MODULES.test(filePath)) return true; // its files are checked one by one
  noteStamp(state, filePath);
  return statOf(filePath)?.isDirectory() === true && state.gate?.mayList(filePath) !== false;
}

function readFile(state: DiskState, filePath: string): string | undefined {
  noteStamp(state, filePath);
  const fileStat = statOf(filePath);
  if (
    !fileStat?.isFile() ||
    fileStat.size > MAX_CONFIG_BYTES ||
    state.gate?.mayLookUp(filePath) === false
  )
    return undefined;
  return tryTo(() =>
    fileStat.size ? markedText(fs.readFileSync(filePath)).replace(/^\ufeff/, "") : "",
  );
}

function packageIn(state: DiskState, packageFolder: string): Json | undefined {
  if (!state.packages.has(packageFolder))
    state.packages.set(
      packageFolder,
      parseJson(readFile(state, path.posix.join(state.root, packageFolder, "package.json"))),
    );
  return state.packages.get(packageFolder);
}

/**
 * The source that a missing file is built from: dist/index.js is made from src/index.ts. If a
 * package.json names it, so may index.js be.
 */
function sourceOf(
  state: DiskState,
  filePath: string,
  outFolders: readonly [string, string][] = [],
  isNamed = false,
): string | undefined {
  // "@/logo.svg.ts": as TypeScript asks for a picture
  const [, assetPath = ""] = /^(.*(?<!\.d\.\w+))\.ts$/.exec(filePath) ?? [];
  if (state.names.has(assetPath) && !SCRIPT.test(assetPath)) return assetPath;
  const [, basePath = filePath, extension = ""] =
    /^(.*?)(\.(?:d\.)?[cm]?[jt]sx?)?$/.exec(filePath) ?? [];
  const basePaths = outFolders
    .filter(([outFolder]) => filePath.startsWith(`${outFolder}/`))
    .map(([outFolder, sourceFolder]) => join(sourceFolder, basePath.slice(outFolder.length))!);
  for (const packageFolder of upwards(folderOf(filePath))) {
    if (!state.names.has(packageFolder ? `${packageFolder}/package.json` : "package.json"))
      continue;
    const pathParts = basePath.slice(packageFolder ? packageFolder.length + 1 : 0).split("/");
    for (; pathParts.length > 1 && BUILD_FOLDER.test(pathParts[0]!); pathParts.shift())
      for (const sourceFolder of ["src", ""])
        basePaths.push(join(packageFolder, [sourceFolder, ...pathParts.slice(1)].join("/"))!);
    if (isNamed) basePaths.push(join(packageFolder, `src/${pathParts.join("/")}`)!);
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
  for (const candidate of basePaths)
    for (const sourceEnding of extensions)
      if (candidate + sourceEnding !== filePath && state.names.has(candidate + sourceEnding))
        return candidate + sourceEnding;
  return undefined;
}

const BUILD_FOLDER = anyOf(
  /^(?:_?(?:esm|cjs|types)|es|es\d+|umd|typings|commonjs|module)$/,
  /^(?:dist|lib|build|out|output)(?:-\w+)?$/,
);

function isValidKept(keptAnswers: Partial<Kept>): boolean {
  const { seen: keptStamps, ways, found: answers } = keptAnswers;
  return [keptStamps, ways, answers].every(
    (keptPart) => !!keptPart && typeof keptPart === "object",
  );
}

/**
 * Also undefined where a file stands in place of the folder: the system reports that as another
 * error than a missing file.
 */
export const statOf = (filePath: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(filePath, { throwIfNoEntry: false }));
/** Changes within the same tick of the clock look the same. */
const isSettled = (filePath: string) =>
  !((statOf(filePath)?.ctimeMs ?? 0) > Date.now() - CLOCK_TICK_MS);

export const realOf = (filePath: string): string =>
  tryTo(() => slashes(fs.realpathSync.native(filePath))) ?? filePath;

export function parseJson(jsonText: string | undefined): Json | undefined {
  const parsedValue: unknown = tryTo(() => JSON.parse(jsonText ?? ""));
  return parsedValue && typeof parsedValue === "object" ? (parsedValue as Json) : undefined;
}

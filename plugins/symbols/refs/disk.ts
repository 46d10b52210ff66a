// Paths, files and what may be read of them. What was read from the disk stays the same during one question.
import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { ts } from "ts-morph";
import type { CompilerGate } from "zz";
import { markedText } from "../encoding.ts";
import type { State } from "./state.ts";
import { tryTo } from "./words.ts";

/** The disk as TypeScript sees it. */
export function diskOf(state: State): State["disk"] {
  const { root, libs, gate } = state;
  const directoryExists = (path: string) =>
    statOf(state, path)?.isDirectory() === true && (root.startsWith(`${path}/`) || gate.mayList(path));
  return {
    useCaseSensitiveFileNames: ts.sys.useCaseSensitiveFileNames,
    getCurrentDirectory: () => root,
    fileExists: (path) => libs.has(path) || (statOf(state, path)?.isFile() === true && gate.mayLookUp(path)),
    directoryExists,
    readFile: (path) => (libs.has(path) || mayLookUp(state, path) ? textOf(state, path) : undefined),
    realpath: (path) => tryTo(() => realpathSync.native(path)) ?? path,
    readDirectory: () => [],
    getDirectories: (path) =>
      (gate.mayList(path) ? (tryTo(() => readdirSync(path)) ?? []) : []).filter((name) =>
        directoryExists(`${path}/${name}`),
      ),
  };
}

export function absolute(state: State, path: string): string {
  return `${state.root}/${path}`;
}

export function relative(state: State, file: string): string {
  return file.startsWith(`${state.root}/`) ? file.slice(state.root.length + 1) : file;
}

export function isInProject(state: State, file: string): boolean {
  return file.startsWith(`${state.root}/`) && !file.includes("/node_modules/");
}

export function statOf(state: State, path: string): Stats | undefined {
  if (state.stats.has(path)) return state.stats.get(path);
  const found = tryTo(() => statSync(path, { throwIfNoEntry: false }));
  state.stats.set(path, found);
  return found;
}

export function stampOf(state: State, path: string): string {
  const { mtimeMs, ctimeMs, size } = statOf(state, path) ?? {};
  return `${mtimeMs}:${ctimeMs}:${size}`;
}

export function versionOf(state: State, file: string): string | undefined {
  return state.libs.has(file) ? "lib" : isText(state, file) ? stampOf(state, file) : undefined;
}

export function isText(state: State, file: string): boolean {
  return state.libs.has(file) || (statOf(state, file)?.isFile() === true && state.gate.mayRead(file));
}

/** Settings and package.json files. One that must not be read is reported as unread, whether it exists or not. */
function mayLookUp(state: State, file: string): boolean {
  if (!IMPORT_LOOKUP.test(file) && !state.gate.mayLookUp(file)) state.gate.mayRead(file);
  return state.disk.fileExists(file);
}

export function textOf(state: State, file: string): string {
  if (!state.libs.has(file) && !state.gate.mayLookUp(file)) return "";
  return state.libs.get(file) ?? tryTo(() => markedText(readFileSync(file))) ?? ""; // deleted meanwhile
}

export function pathAndLine(state: State, file: string, start: number): string {
  const before = textOf(state, file).slice(0, start);
  return `${relative(state, file)}:${before.split("\n").length}`;
}

const IMPORT_LOOKUP = /\/node_modules\/|\/package\.json$/; // wherever an import of a package may lead
/** For a project without restrictions on reading. */
export const OPEN_GATE: CompilerGate = {
  ...{ mayRead: () => true, mayLookUp: () => true, mayList: () => true },
  ...{ leadsOut: () => {}, unread: () => [], again: () => {} },
};
export const isScript = (file: string): boolean => /\.[cm]?jsx?$/.test(file);

// Which files can contain a use of a name: those that contain the name, or an alias under which it is passed on.
import { ts } from "ts-morph";
import type { At } from "./contract.ts";
import { absolute } from "./disk.ts";
import { treeOf } from "./documents.ts";
import { isMainExport, linksOf } from "./links.ts";
import { type Found, isLocal, locate, wordOf } from "./locate.ts";
import { membersOf } from "./members.ts";
import { importersOf, resolve } from "./modules.ts";
import { begin, grow, has, sliceOf, slimOf } from "./programs.ts";
import { isCleared, reachOf } from "./reach.ts";
import type { Link, Slice, State } from "./state.ts";

/** The position of the name, after loading everything that could use it; `isWhole`: with all their types. */
export function load(state: State, at: At, isWhole = true): Target {
  begin(state);
  const file = codeFile(state, at.path);
  const slice = sliceOf(state, file);
  const source = treeOf(state, slice, file)!;
  const found = locate(source, at.line, at.name);
  if (!found)
    throw new Error(
      `Cannot find '${at.name}' at ${at.path}:${at.line}: nothing there has that name for TypeScript. Use grep, or read_file there.`,
    );
  const position = found.name.getStart(source);
  const slim = isWhole ? undefined : slimTarget(state, slice, file, found);
  if (slim) return { file, position, ...slim };
  const { files, words } = candidates(state, slice, file, source, found);
  grow(state, slice, files, true);
  return { slice, isSlim: false, file, position, files, words };
}

/** Without the types of files that cannot matter, if those are not needed. */
function slimTarget(state: State, slice: Slice, file: string, found: Found) {
  const reached = reachOf(state, slice, file, found);
  if (!reached) {
    const members = membersOf(state, slice, file, found);
    if (!members) return undefined;
    const isLoaded = has(slice, members);
    const typed = isLoaded ? slice : slimOf(state, slice, members, members.isBrowser ? "typed" : "plain");
    return { slice: typed, isSlim: !isLoaded, files: members.files, words: members.words };
  }
  const { files, words, doubts } = reached;
  const isLoaded = has(slice, reached);
  const slim = isLoaded ? slice : slimOf(state, slice, reached);
  return isCleared(slim.program!, doubts) ? { slice: slim, isSlim: !isLoaded, files, words } : undefined;
}

export function codeFile(state: State, path: string): string {
  if (!/\.[cm]?[jt]sx?$/.test(path))
    throw new Error(`Cannot look into '${path}': it is neither TypeScript nor JavaScript. Name a code file.`);
  const file = absolute(state, path);
  if (!state.disk.fileExists(file))
    throw new Error(`Cannot look into '${path}': there is no such file. Name one that exists.`);
  return file;
}

/** The files that contain the name, or an alias under which it is passed on. */
function candidates(
  state: State,
  slice: Slice,
  file: string,
  source: ts.SourceFile,
  { name, within }: Found,
): Candidates {
  if (isLocal(source, name, within, linksOf(state, slice, file))) return { files: [file], words: new Set() };
  const isConstructor = ts.isConstructorDeclaration(within.at(-1)!);
  const targetName = isConstructor ? wordOf((within.at(-2) as ts.ClassLikeDeclaration).name) : wordOf(name);
  const known = new Set<string>();
  const defaultExports = new Set<string>(); // files whose default export is the target
  const files = new Set([file]);
  let mayBeAnywhere = false;
  if (targetName === undefined || targetName === "default") defaultExports.add(file);
  else addName(targetName);
  let [size, searched] = [-1, 0];
  while (!mayBeAnywhere && size !== known.size + defaultExports.size + files.size) {
    size = known.size + defaultExports.size + files.size;
    if (searched !== known.size) for (const user of state.index.usersOf(known)) files.add(absolute(state, user));
    searched = known.size;
    for (const defaultExport of defaultExports)
      for (const user of importersOf(state, slice, defaultExport)) files.add(user);
    for (const one of files) for (const link of linksOf(state, slice, one, isConstructor)) follow(one, link);
  }
  return { files: [...(mayBeAnywhere ? state.names : files)], words: known };

  function addName(word: string): void {
    if (/^#?[\p{L}_$][\p{L}\p{N}_$]{0,47}$/u.test(word)) known.add(word);
    else mayBeAnywhere = true; // not in the index
  }
  function follow(one: string, { how, from, to, module, isAmbient }: Link): void {
    const isDefault = from === "default" || how === "all";
    if (isAmbient && (isDefault || to === "default") && (known.has(from) || known.has(to))) mayBeAnywhere = true;
    const target = module !== undefined && isDefault ? resolve(state, slice, module, one) : undefined;
    if (to === "default" ? defaultExports.has(one) : known.has(to)) addSource();
    if (isDefault ? target !== undefined && defaultExports.has(target) : known.has(from)) addUser();

    function addSource(): void {
      if (how === "extends") return;
      if (!isDefault) return void (from !== to && addName(from));
      if (target === undefined || !state.names.has(target)) return;
      if (how === "import" || how === "export" || linksOf(state, slice, target).some(isMainExport))
        defaultExports.add(target);
    }
    function addUser(): void {
      const isPassedOn = how === "export" || how === "extends" || isConstructor;
      if (to === "default") defaultExports.add(one);
      else if (
        isPassedOn ||
        linksOf(state, slice, one).some((link) => link.how === "export" && !link.module && link.from === to)
      )
        addName(to);
    }
  }
}

interface Candidates {
  files: string[];
  words: Set<string>; // the name and its aliases
}
export interface Target extends Candidates {
  slice: Slice;
  isSlim: boolean; // types from other files are unknown
  file: string;
  position: number;
}

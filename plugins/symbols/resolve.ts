// Where imports lead, as TypeScript sees it, and the graph made of them. What is near is found among the names of the
// project's files alone; modules.ts asks TypeScript for the rest, and its answers are kept while nothing changes.
import crypto from "node:crypto";
import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import type { Modules } from "./modules.ts";
import type { Facts, Import } from "./scan.ts";

/**
 * Where imports lead: a file of the project; "" for what lies outside of it; "node:" for one of Node's own; undefined for
 * nowhere. It is made for one list of names: open another one when files came or went.
 */
export interface Resolver {
  prepare(files: Iterable<readonly [file: string, imports: readonly Asked[]]>): Promise<void>; // before they are resolved
  resolve(file: string, one: Asked): string | undefined;
  packages(): { folder: string; mains: string[] }[]; // mains: what package.json names as main, bin, exports …
  kept(): Kept; // the very object that was given, unless something was asked anew
}
/** Plain JSON, to be given to openResolver() next time. */
export interface Kept {
  names: string; // the list of files, as a hash
  seen: Record<string, string>; // what the answers were made from, and when it last changed
  ways: Record<string, string>; // what a tsconfig.json asks for, one letter each: see Place
  found: Record<string, string | null>;
}
export type Asked = Pick<Import, "from" | "how">;
export type How = Import["how"];

export interface Edge {
  to: string | undefined; // of an internal one
  spec: string;
  line: number;
  kind: "internal" | "external" | "builtin" | "missing";
  how: How;
}
export interface Graph {
  imports: Map<string, Edge[]>;
  dependents: Map<string, string[]>;
}

/** The project as it is found on the disk, for modules.ts. All that it reads is noted. */
export interface Disk {
  readonly root: string;
  readonly names: ReadonlySet<string>;
  local(file: string): string | undefined; // relative to the project; undefined: outside, or in node_modules
  isFile(file: string): boolean;
  isFolder(file: string): boolean;
  read(file: string): string | undefined;
  packageIn(folder: string): Json | undefined; // its package.json
  sourceOf(file: string, out?: readonly [from: string, to: string][], isNamed?: boolean): string | undefined;
}
export type Json = Record<string, unknown>;

/** A folder with the tsconfig.json that it goes by. */
interface Place {
  folder: string;
  config: string | undefined;
  way: string | undefined; // p: paths or baseUrl; n: the order of "node10"; t: nothing is found without TypeScript; undefined: not read yet
  near: Map<string, string | null>;
}

const LARGEST = 4_000_000; // bytes of a package.json or tsconfig.json
const SURE = 50; // ms
const UNSURE = "?"; // only TypeScript knows
const NEAR = /^\.\.?(?:$|[\\/])/;
const MODULES = /(?:^|\/)node_modules(?:\/|$)/;
const CODE = /\.[cm]?[jt]sx?$/;

export function openResolver(root: string, list: readonly string[], kept?: Kept): Resolver {
  const names = new Set(list);
  const above = configAbove(root);
  const hash = crypto.hash("sha256", [above, ...list].join("\n")).slice(0, 32);
  const { disk, seen, isFresh } = openDisk(root, names, kept);
  const isSame = isFresh && kept!.names === hash;
  const ways = new Map(isFresh ? Object.entries(kept!.ways) : []);
  const found = new Map(isSame ? Object.entries(kept!.found) : []);
  const places = new Map<string, Place>();
  let last: { file: string; place: Place } = { file: "", place: placeOf("") };
  let modules: Modules | undefined;
  let asked = false;
  return { prepare, resolve, packages, kept: () => (isSame && !asked ? kept! : keep()) };

  async function prepare(files: Parameters<Resolver["prepare"]>[0]): Promise<void> {
    for (const [file, imports] of files) {
      if (!imports.length) continue;
      const place = placeOf(folderOf(file));
      place.way ??= await wayOf(place.config!);
      for (const { from, how } of imports) {
        if (near(place, from) !== UNSURE) continue;
        const key = keyOf(file, from, how);
        if (found.has(key)) continue;
        asked = true;
        found.set(key, (await load()).answer(file, from, how, place.config) ?? null);
      }
    }
  }

  function resolve(file: string, { from, how }: Asked): string | undefined {
    if (file !== last.file) last = { file, place: placeOf(folderOf(file)) };
    const { place } = last;
    const to = place.way === undefined ? UNSURE : near(place, from);
    if (to !== UNSURE) return to;
    const known = found.get(keyOf(file, from, how));
    if (known === undefined) throw new Error(`Cannot resolve '${from}' in '${file}': prepare() was not asked for it.`);
    if (!known && isBuiltin(from)) return "node:";
    return known ?? undefined;
  }

  /** Without TypeScript, or UNSURE. */
  function near(place: Place, spec: string): string | undefined {
    const known = place.near.get(spec);
    if (known !== undefined) return known ?? undefined;
    const to = nearest(place, spec);
    place.near.set(spec, to ?? null);
    return to;
  }
  function nearest(place: Place, spec: string): string | undefined {
    if (NEAR.test(spec)) return place.way!.includes("t") ? UNSURE : relative(place, spec.replaceAll("\\", "/"));
    const isNodes = spec.startsWith("node:") || (isBuiltin(spec) && !/[pt]/.test(place.way!));
    return isNodes ? "node:" : UNSURE;
  }

  function relative(place: Place, spec: string): string | undefined {
    const at = join(place.folder, spec);
    if (at === undefined || (at.includes("node_modules") && MODULES.test(at))) return "";
    const isFolder = /(?:^|\/)(?:\.\.?)?$/.test(spec);
    for (const tier of place.way!.includes("n") ? [TYPED, PLAIN] : [ALL]) {
      const to = (isFolder || !at ? undefined : fileAt(at, tier)) ?? folderAt(at, tier);
      if (to !== undefined) return to;
    }
    if (!isFolder && names.has(at)) return at; // a picture, a style sheet
    const query = spec.search(/[?#]/);
    return query > 0 ? relative(place, spec.slice(0, query)) : undefined;
  }

  function fileAt(at: string, tier: Tier): string | undefined {
    const dot = at.indexOf(".", at.lastIndexOf("/") + 1);
    return (dot < 0 ? undefined : exchanged(at, tier)) ?? withExtension(at, "", tier);
  }
  function exchanged(at: string, tier: Tier): string | undefined {
    const extension = KNOWN.exec(at)?.[0] ?? at.slice(at.lastIndexOf("."));
    return withExtension(at.slice(0, -extension.length), extension, tier);
  }
  function withExtension(base: string, extension: string, tier: Tier): string | undefined {
    const tried = Object.hasOwn(tier, extension) ? tier[extension]! : tier === PLAIN ? [] : [`.d${extension}.ts`];
    for (const one of tried) if (names.has(base + one)) return base + one;
    return undefined;
  }
  function folderAt(at: string, tier: Tier): string | undefined {
    const prefix = at && `${at}/`;
    if (names.has(`${prefix}package.json`)) {
      const { typings, types, main, typesVersions } = disk.packageIn(at) ?? {};
      if (typesVersions && typeof typesVersions === "object") return UNSURE;
      const field = [...(tier === PLAIN ? [] : [typings, types]), main].find((it) => it && typeof it === "string");
      const to = field === undefined ? undefined : fromField(at, field as string, tier);
      if (to !== undefined) return to;
    }
    return withExtension(`${prefix}index`, "", tier);
  }
  /** What a package.json names may be a file, a file without its extension, or a folder. */
  function fromField(folder: string, field: string, tier: Tier): string | undefined {
    const at = field.startsWith("/") ? undefined : join(folder, field);
    if (at === undefined) return undefined;
    if (tier !== PLAIN && /\.(?:[cm]?ts|tsx)$/.test(at) && names.has(at)) return at;
    const file = field.endsWith("/") || !at ? undefined : fileAt(at, tier);
    return file ?? withExtension(at ? `${at}/index` : "index", "", tier);
  }

  function placeOf(folder: string): Place {
    const place = places.get(folder);
    if (place) return place;
    const config = configOf(folder);
    const made = { folder, config, way: config === undefined ? "" : ways.get(config), near: new Map() };
    places.set(folder, made);
    return made;
  }
  function configOf(folder: string): string | undefined {
    for (const up of upwards(folder))
      for (const name of ["tsconfig.json", "jsconfig.json"])
        if (names.has(up ? `${up}/${name}` : name)) return up ? `${up}/${name}` : name;
    return above;
  }
  async function wayOf(config: string): Promise<string> {
    const known = ways.get(config);
    if (known !== undefined) return known;
    asked = true;
    const way = (await load()).wayOf(config);
    ways.set(config, way);
    return way;
  }

  async function load(): Promise<Modules> {
    if (modules) return modules;
    const { openModules } = await import("./modules.ts");
    return (modules = openModules(disk));
  }

  function packages(): ReturnType<Resolver["packages"]> {
    const folders = list.filter((name) => /(?:^|\/)package\.json$/.test(name)).map(folderOf);
    return folders.map((folder) => ({ folder, mains: mainsOf(folder, disk) }));
  }

  function keep(): Kept {
    return {
      ...{ names: hash, seen: Object.fromEntries(seen) },
      ...{ ways: Object.fromEntries(ways), found: Object.fromEntries(found) },
    };
  }
}

type Tier = Record<string, readonly string[]>;
const KNOWN = /\.(?:d\.[cm]?ts|[cm]?[jt]s|[jt]sx|json)$/;
/** What an extension in an import may stand for, in TypeScript's order. */
const ALL: Tier = {
  ...Object.fromEntries([".mjs", ".mts", ".d.mts"].map((name) => [name, [".mts", ".d.mts", ".mjs"]])),
  ...Object.fromEntries([".cjs", ".cts", ".d.cts"].map((name) => [name, [".cts", ".d.cts", ".cjs"]])),
  ...Object.fromEntries(["", ".ts", ".d.ts", ".js"].map((name) => [name, [".ts", ".tsx", ".d.ts", ".js", ".jsx"]])),
  ...Object.fromEntries([".tsx", ".jsx"].map((name) => [name, [".tsx", ".ts", ".d.ts", ".jsx", ".js"]])),
  ".json": [".d.json.ts", ".json"],
};
/** Under "node10" types go before folders, and folders before scripts. */
const TYPED = tierOf((name) => /tsx?$/.test(name));
const PLAIN = tierOf((name) => !/tsx?$/.test(name));
function tierOf(isIn: (name: string) => boolean): Tier {
  return Object.fromEntries(Object.entries(ALL).map(([name, tried]) => [name, tried.filter(isIn)]));
}

export const folderOf = (file: string): string => file.slice(0, Math.max(file.lastIndexOf("/"), 0));

export function* upwards(folder: string): Generator<string> {
  for (let up = folder; up; up = folderOf(up)) yield up;
  yield "";
}

/** Undefined: outside of the project. */
function join(folder: string, spec: string): string | undefined {
  let [at, start] = [folder, 0];
  for (; ; start += 3)
    if (spec.startsWith("./", start)) start -= 1;
    else if (!spec.startsWith("../", start)) break;
    else if (!at) return undefined;
    else at = folderOf(at);
  const rest = spec.slice(start);
  if (!/(?:^|\/)\.{0,2}(?:\/|$)/.test(rest)) return at ? `${at}/${rest}` : rest;
  for (const part of rest.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") at = at ? `${at}/${part}` : part;
    else if (!at) return undefined;
    else at = folderOf(at);
  }
  return at;
}

/** Whether an import is a require(), and of which kind its file is, decides which conditions of `exports` hold. */
function keyOf(file: string, spec: string, how: How): string {
  const [, kind = ""] = /\.([cm])[jt]s$/.exec(file) ?? [];
  return `${how === "require" ? "r" : how === "dynamic" ? "d" : "i"}${kind}\n${folderOf(file)}\n${spec}`;
}

/** A project that is part of a repository may go by a tsconfig.json above it. */
function configAbove(root: string): string | undefined {
  const found: string[] = [];
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (folder !== root)
      for (const name of ["tsconfig.json", "jsconfig.json"])
        if (fs.existsSync(path.join(folder, name))) found.push(slashes(path.join(folder, name)));
    if (fs.existsSync(path.join(folder, ".git"))) return found[0];
    if (folder === path.dirname(folder)) return undefined;
  }
}

const slashes = (file: string): string => (path.sep === "/" ? file : file.replaceAll(path.sep, "/"));

/** Reads, and notes what it looked at: in a project, only its package.json and tsconfig.json; elsewhere, folders as well. */
function openDisk(folder: string, names: ReadonlySet<string>, kept?: Kept) {
  const root = slashes(folder).replace(/\/$/, "");
  const roots = [...new Set([root, realOf(root)])];
  const packages = new Map<string, Json | undefined>();
  const known = kept && isKept(kept) ? Object.entries(kept.seen) : [];
  const isFresh = !!kept && isKept(kept) && known.every(([name, when]) => stampOf(path.resolve(root, name)) === when);
  const seen = new Map(isFresh ? known : []);
  const disk: Disk = { root, names, local, isFile, isFolder, read, packageIn, sourceOf };
  return { disk, seen, isFresh };

  function note(file: string): void {
    const name = file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
    if (!seen.has(name)) seen.set(name, isSettled(file) ? stampOf(file) : "new");
  }
  function local(file: string): string | undefined {
    for (const one of roots) {
      if (file === one) return "";
      if (!file.startsWith(`${one}/`)) continue;
      const inside = file.slice(one.length + 1).replace(/\/$/, "");
      return MODULES.test(inside) ? undefined : inside;
    }
    return undefined;
  }
  function isFile(file: string): boolean {
    note(file.includes("/node_modules/") ? folderOf(file) : file);
    return statOf(file)?.isFile() ?? false;
  }
  function isFolder(file: string): boolean {
    if (!MODULES.test(file)) return true; // its files are asked for one by one
    note(file);
    return statOf(file)?.isDirectory() ?? false;
  }
  function read(file: string): string | undefined {
    note(file);
    const stat = statOf(file);
    if (!stat?.isFile() || stat.size > LARGEST) return undefined;
    try {
      return stat.size ? fs.readFileSync(file, "utf8").replace(/^\ufeff/, "") : "";
    } catch {
      return undefined;
    }
  }
  function packageIn(at: string): Json | undefined {
    if (!packages.has(at)) packages.set(at, parsed(read(path.posix.join(root, at, "package.json"))));
    return packages.get(at);
  }
  /**
   * The source that a file is built from, when that file is not there: dist/index.js is made of src/index.ts. If a
   * package.json names it, index.js may be as well.
   */
  function sourceOf(file: string, out: readonly [string, string][] = [], isNamed = false): string | undefined {
    const asset = file.endsWith(".ts") ? file.slice(0, -3) : "";
    if (names.has(asset) && !CODE.test(asset)) return asset; // "@/logo.svg", as TypeScript asks for it
    const [, base = file, extension = ""] = /^(.*?)(\.(?:d\.)?[cm]?[jt]sx?)?$/.exec(file) ?? [];
    const bases = out
      .filter(([from]) => file.startsWith(`${from}/`))
      .map(([from, to]) => join(to, base.slice(from.length))!);
    for (const home of upwards(folderOf(file))) {
      if (!names.has(home ? `${home}/package.json` : "package.json")) continue;
      const parts = base.slice(home ? home.length + 1 : 0).split("/");
      for (; parts.length > 1 && BUILT.test(parts[0]!); parts.shift())
        for (const folder of ["src", ""]) bases.push(join(home, [folder, ...parts.slice(1)].join("/"))!);
      if (isNamed) bases.push(join(home, `src/${parts.join("/")}`)!);
    }
    const kind = /[cm]/.exec(extension.replace(/^\.d/, ""))?.[0] ?? "";
    const extensions = [...(kind ? [`.${kind}ts`] : []), ".ts", ".tsx", ...(kind ? [`.${kind}js`] : []), ".js", ".jsx"];
    for (const one of bases)
      for (const each of extensions) if (one + each !== file && names.has(one + each)) return one + each;
    return undefined;
  }
}
const BUILT = /^(?:_?(?:esm|cjs|types)|es|es\d+|umd|typings|commonjs|module|(?:dist|lib|build|out|output)(?:-\w+)?)$/;

function isKept(kept: Partial<Kept>): boolean {
  const { seen, ways, found } = kept;
  return [seen, ways, found].every((one) => !!one && typeof one === "object");
}

function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
/** The time of the last change alone would miss a package that was unpacked: that sets it. */
function stampOf(file: string): string {
  const stat = statOf(file);
  return stat ? `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size}` : "";
}
/** What changes within the same tick of the clock looks the same. */
const isSettled = (file: string): boolean => !((statOf(file)?.ctimeMs ?? 0) > Date.now() - SURE);

export function realOf(file: string): string {
  try {
    return slashes(fs.realpathSync.native(file));
  } catch {
    return file;
  }
}

export function parsed(text: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return value && typeof value === "object" ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function mainsOf(folder: string, { names, packageIn, sourceOf }: Disk): string[] {
  const { main, module, types, typings, bin, exports } = packageIn(folder) ?? {};
  return textsIn([main, module, types, typings, bin, exports]).flatMap((text) => {
    const at = join(folder, text);
    if (at === undefined || text.includes("*")) return [];
    const to = [at, `${at}.js`, `${at}/index.js`].flatMap((one) =>
      names.has(one) ? one : (sourceOf(one, [], true) ?? []),
    )[0];
    return to !== undefined && CODE.test(to) ? [to] : [];
  });
}
/** All texts in a value, however deep. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const all = [value];
  for (const one of all)
    if (typeof one === "string") texts.push(one);
    else if (one && typeof one === "object") for (const inner of Object.values(one)) all.push(inner);
  return texts;
}

// ── The graph ────────────────────────────────────────────────────────────────────────────

export async function graphOf(files: Iterable<readonly [string, Facts]>, resolver: Resolver): Promise<Graph> {
  const all = [...files];
  await resolver.prepare(all.map(([file, { imports }]) => [file, imports]));
  const imports = new Map<string, Edge[]>();
  const dependents = new Map<string, Set<string>>();
  for (const [file, facts] of all) {
    const edges = facts.imports.map((one) => edgeOf(one, resolver.resolve(file, one)));
    imports.set(file, edges);
    for (const { to } of edges) {
      if (to === undefined || to === file) continue;
      const by = dependents.get(to);
      if (by) by.add(file);
      else dependents.set(to, new Set([file]));
    }
  }
  return { imports, dependents: new Map(Array.from(dependents, ([file, by]) => [file, [...by].sort()])) };
}

function edgeOf({ from: spec, line, how }: Import, to: string | undefined): Edge {
  const kind = to === undefined ? "missing" : to === "" ? "external" : to === "node:" ? "builtin" : "internal";
  return { to: kind === "internal" ? to : undefined, spec, line, kind, how };
}

const MANY = 5;

/** The files that more than five others import, those with the most first. */
export function hubs({ dependents }: Graph): { path: string; count: number }[] {
  const all = Array.from(dependents, ([path, by]) => ({ path, count: by.length }));
  return all.filter(({ count }) => count > MANY).sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
}

/** Where to begin to read: what a package.json names, an index or main at the top, and what nothing imports. */
export function entryPoints(
  { imports, dependents }: Graph,
  resolver: Resolver,
): { path: string; why: "package" | "name" | "alone" }[] {
  const packages = resolver.packages();
  const mains = new Set(packages.flatMap(({ mains }) => mains));
  const tops = new Set(["", ...packages.map(({ folder }) => folder)].flatMap((at) => [at, at ? `${at}/src` : "src"]));
  return [...imports.keys()]
    .filter((path) => CODE.test(path) && !/\.d\.[cm]?ts$/.test(path))
    .flatMap((path) => {
      const isTop = /(?:^|\/)(?:index|main)\.\w+$/.test(path) && tops.has(folderOf(path));
      const why = mains.has(path) ? "package" : isTop ? "name" : !dependents.has(path) ? "alone" : undefined;
      return why ? [{ path, why } as const] : [];
    });
}

/** Files that import one another in a round; types alone make none. `round` is the shortest way from the first of them back to it. */
export function cycles({ imports }: Graph): { files: string[]; round: string[] }[] {
  const next = new Map(
    Array.from(imports, ([file, edges]) => [
      file,
      [...new Set(edges.filter(({ kind, how }) => kind === "internal" && how !== "type").map(({ to }) => to!))],
    ]),
  );
  return groupsOf(next)
    .filter(([first, second]) => second !== undefined || next.get(first!)?.includes(first!))
    .map((group) => group.sort())
    .map((files) => ({ files, round: roundOf(files, next) }))
    .sort((a, b) => (a.files[0]! < b.files[0]! ? -1 : 1));
}

/** Tarjan's strongly connected components, with a stack of its own: a chain of imports may be longer than the call stack. */
function groupsOf(next: Map<string, string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const groups: string[][] = [];
  for (const start of next.keys()) if (!order.has(start)) walk(start);
  return groups;

  function walk(start: string): void {
    const open = [enter(start)];
    for (let frame = open.at(-1); frame; frame = open.at(-1)) {
      const to = frame.left.pop();
      if (to === undefined) {
        open.pop();
        leave(frame.file, open.at(-1)?.file);
      } else if (!order.has(to)) open.push(enter(to));
      else if (onStack.has(to)) low.set(frame.file, Math.min(low.get(frame.file)!, order.get(to)!));
    }
  }
  function enter(file: string) {
    order.set(file, order.size);
    low.set(file, order.size - 1);
    stack.push(file);
    onStack.add(file);
    return { file, left: [...(next.get(file) ?? [])] };
  }
  function leave(file: string, by: string | undefined): void {
    if (by !== undefined) low.set(by, Math.min(low.get(by)!, low.get(file)!));
    if (low.get(file) !== order.get(file)) return;
    const group = stack.splice(stack.lastIndexOf(file));
    for (const one of group) onStack.delete(one);
    groups.push(group);
  }
}

function roundOf(files: string[], next: Map<string, string[]>): string[] {
  const [first] = files;
  const inside = new Set(files);
  const cameFrom = new Map<string, string>();
  const queue = [first!];
  for (const file of queue)
    for (const to of next.get(file) ?? []) {
      if (to === first) return [...wayBack(file, cameFrom).reverse(), first];
      if (!inside.has(to) || cameFrom.has(to)) continue;
      cameFrom.set(to, file);
      queue.push(to);
    }
  return files;
}
function wayBack(file: string, cameFrom: Map<string, string>): string[] {
  const way = [file];
  for (let at = cameFrom.get(file); at !== undefined; at = cameFrom.get(at)) way.push(at);
  return way;
}

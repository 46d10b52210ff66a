// Imports of nearby files, found among the names of the project's files alone.
import { isBuiltin } from "node:module";
import { IN_NODE_MODULES, join } from "./paths.ts";
import { type Place, type State, UNSURE } from "./state.ts";

const RELATIVE = /^\.\.?(?:$|[\\/])/;

/** Without TypeScript, or UNSURE. */
export function findNearby(state: State, place: Place, spec: string): string | undefined {
  const known = place.near.get(spec);
  if (known !== undefined) return known ?? undefined;
  const to = findUncached(state, place, spec);
  place.near.set(spec, to ?? null);
  return to;
}

function findUncached(state: State, place: Place, spec: string): string | undefined {
  if (RELATIVE.test(spec))
    return place.way!.includes("t") ? UNSURE : relative(state, place, spec.replaceAll("\\", "/"));
  const isNodes = spec.startsWith("node:") || (isBuiltin(spec) && !/[pt]/.test(place.way!));
  return isNodes ? "node:" : UNSURE;
}

function relative(state: State, place: Place, spec: string): string | undefined {
  const at = join(place.folder, spec);
  if (at === undefined || (at.includes("node_modules") && IN_NODE_MODULES.test(at))) return "";
  const isFolder = /(?:^|\/)(?:\.\.?)?$/.test(spec);
  for (const tier of place.way!.includes("n") ? [TYPED_EXTENSIONS, SCRIPT_EXTENSIONS] : [ALL_EXTENSIONS]) {
    const to = (isFolder || !at ? undefined : fileAt(state, at, tier)) ?? folderAt(state, at, tier);
    if (to !== undefined) return to;
  }
  if (!isFolder && state.names.has(at)) return at; // a picture, a style sheet
  const query = spec.search(/[?#]/);
  return query > 0 ? relative(state, place, spec.slice(0, query)) : undefined;
}

function fileAt(state: State, at: string, tier: Tier): string | undefined {
  const dot = at.indexOf(".", at.lastIndexOf("/") + 1);
  return (dot < 0 ? undefined : withSwappedExtension(state, at, tier)) ?? withExtension(state, at, "", tier);
}

function withSwappedExtension(state: State, at: string, tier: Tier): string | undefined {
  const extension = EXTENSION.exec(at)?.[0] ?? at.slice(at.lastIndexOf("."));
  return withExtension(state, at.slice(0, -extension.length), extension, tier);
}

function withExtension(state: State, base: string, extension: string, tier: Tier): string | undefined {
  const tried = Object.hasOwn(tier, extension)
    ? tier[extension]!
    : tier === SCRIPT_EXTENSIONS
      ? []
      : [`.d${extension}.ts`];
  for (const one of tried) if (state.names.has(base + one)) return base + one;
  return undefined;
}

function folderAt(state: State, at: string, tier: Tier): string | undefined {
  const prefix = at && `${at}/`;
  if (state.names.has(`${prefix}package.json`)) {
    const { typings, types, main, typesVersions } = state.disk.packageIn(at) ?? {};
    if (typesVersions && typeof typesVersions === "object") return UNSURE;
    const field = [...(tier === SCRIPT_EXTENSIONS ? [] : [typings, types]), main].find(
      (it) => it && typeof it === "string",
    );
    const to = field === undefined ? undefined : fromField(state, at, field as string, tier);
    if (to !== undefined) return to;
  }
  return withExtension(state, `${prefix}index`, "", tier);
}

/** What a package.json names may be a file, a file without its extension, or a folder. */
function fromField(state: State, folder: string, field: string, tier: Tier): string | undefined {
  const at = field.startsWith("/") ? undefined : join(folder, field);
  if (at === undefined) return undefined;
  if (tier !== SCRIPT_EXTENSIONS && /\.(?:[cm]?ts|tsx)$/.test(at) && state.names.has(at)) return at;
  const file = field.endsWith("/") || !at ? undefined : fileAt(state, at, tier);
  return file ?? withExtension(state, at ? `${at}/index` : "index", "", tier);
}

type Tier = Record<string, readonly string[]>;
const EXTENSION = /\.(?:d\.[cm]?ts|[cm]?[jt]s|[jt]sx|json)$/;
/** The extensions that one in an import may stand for, in TypeScript's order. */
const ALL_EXTENSIONS: Tier = {
  ...Object.fromEntries([".mjs", ".mts", ".d.mts"].map((name) => [name, [".mts", ".d.mts", ".mjs"]])),
  ...Object.fromEntries([".cjs", ".cts", ".d.cts"].map((name) => [name, [".cts", ".d.cts", ".cjs"]])),
  ...Object.fromEntries(["", ".ts", ".d.ts", ".js"].map((name) => [name, [".ts", ".tsx", ".d.ts", ".js", ".jsx"]])),
  ...Object.fromEntries([".tsx", ".jsx"].map((name) => [name, [".tsx", ".ts", ".d.ts", ".jsx", ".js"]])),
  ".json": [".d.json.ts", ".json"],
};
/** Under "node10" types come before folders, and folders before scripts. */
const TYPED_EXTENSIONS = tierOf((name) => /tsx?$/.test(name));
const SCRIPT_EXTENSIONS = tierOf((name) => !/tsx?$/.test(name));
function tierOf(isIn: (name: string) => boolean): Tier {
  return Object.fromEntries(Object.entries(ALL_EXTENSIONS).map(([name, tried]) => [name, tried.filter(isIn)]));
}

// What a package says about itself: whether it is a plugin, its entry file, its name, and what it needs.
import { fault } from "zz/text";
import { type Contents, plain, safePath } from "./contents.ts";

export interface About {
  name: string;
  entry: string; // among its contents
  version?: string;
  license?: string;
  description?: string;
  typeless?: boolean; // Node must guess whether its files are modules, and warns each time
  manifest: Manifest;
  dependencies: [name: string, range: string][];
}
type Manifest = { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> };

const KEYWORD = "zz-plugin";
const PROVIDED = /^(zz|zod|typebox)$/;
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const INDEXES = ["index.ts", "index.js"];

export function aboutOf(contents: Contents, base: string, single: boolean): About {
  if (single) return { name: nameFrom(base), entry: [...contents.keys()][0]!, manifest: {}, dependencies: [] };
  const declared = packageOf(contents);
  const entry = declared ? entryOf(declared, contents) : INDEXES.find((name) => contents.has(name));
  if (!entry)
    throw fault(
      'it has neither a package.json nor an index.ts or index.js. A plugin\'s package.json names its file under "zz"',
    );
  const { name, version, license, description } = declared ?? {};
  const manifest = manifestOf(declared ?? {});
  const text = (value: unknown, key: string) => (typeof value === "string" && value ? { [key]: plain(value) } : {});
  return {
    name: nameFrom(typeof name === "string" ? name : base),
    entry,
    ...text(version, "version"),
    ...text((license as { type?: string })?.type ?? license, "license"),
    ...text(description, "description"),
    ...(declared && declared.type === undefined && /\.[jt]s$/.test(entry) && { typeless: true }),
    manifest,
    dependencies: Object.entries({ ...manifest.optionalDependencies, ...manifest.dependencies }).sort(),
  };
}

function packageOf(contents: Contents): Record<string, unknown> | undefined {
  const bytes = contents.get("package.json")?.bytes;
  if (!bytes) return undefined;
  try {
    const declared = JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
    if (typeof declared === "object" && declared && !Array.isArray(declared)) return declared;
  } catch {}
  throw fault("its package.json is not a JSON object. Fix it");
}

/** The entry file, found as zz's loader finds it. */
function entryOf(declared: Record<string, unknown>, contents: Contents): string {
  const { zz, keywords, exports, main } = declared;
  const byKeyword = Array.isArray(keywords) && keywords.includes(KEYWORD);
  if (zz === undefined && !byKeyword)
    throw fault(
      `its package.json has neither the key "zz" with a plugin's file, nor the keyword "${KEYWORD}". It is a package, but not a plugin of zz`,
    );
  const named = zz ?? conditional(exports) ?? main;
  if (named === undefined) {
    const index = INDEXES.find((name) => contents.has(name));
    if (index) return index;
    throw fault(
      `its package.json has the keyword "${KEYWORD}", but no "exports", no "main", and no index.ts or index.js beside it`,
    );
  }
  const key = zz !== undefined ? "zz" : conditional(exports) ? "exports" : "main";
  const file = typeof named === "string" ? safePath(named) : undefined;
  if (!file || !contents.has(file))
    throw fault(
      `the key "${key}" of its package.json names '${plain(JSON.stringify(named))}', which is not a file in it`,
    );
  return file;
}

function conditional(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  const { ".": dot, import: imported, default: otherwise } = exports as Record<string, unknown>;
  return conditional(dot ?? imported ?? otherwise);
}

function nameFrom(given: string): string {
  const name = given
    .split("/")
    .at(-1)!
    .replace(/[^\w-]/g, "-");
  if (!NAME.test(name) || name === "index")
    throw fault(
      `'${plain(given)}' cannot be a plugin's name: letters, digits, - and _ make one, a letter first, at most 64. Rename it`,
    );
  return name;
}

/**
 * The package.json for npm: what it needs to run, except what zz provides. Scripts, workspaces and tools are left out.
 */
function manifestOf({ name, version, overrides, optionalDependencies, ...declared }: Record<string, any>): Manifest {
  const meta = Object(declared.peerDependenciesMeta);
  const peers = Object.entries(Object(declared.peerDependencies)).filter(
    ([peer]) => !PROVIDED.test(peer) && !meta[peer]?.optional,
  );
  const dependencies = { ...Object.fromEntries(peers), ...declared.dependencies };
  delete dependencies.zz;
  const all = Object.entries({ ...dependencies, ...optionalDependencies });
  for (const [one, range] of all)
    if (typeof range !== "string" || /^(file|link|portal|workspace):|^[./~]/.test(range))
      throw fault(`it needs '${plain(one)}' from '${plain(range)}', which is a place on the author's own disk`);
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof version === "string" && { version }),
    dependencies,
    ...(optionalDependencies && { optionalDependencies }),
    ...(overrides && { overrides }),
  };
}

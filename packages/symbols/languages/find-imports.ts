// Where imports of other languages lead: to files of the project, by their names alone, as far as
// their rules go without the settings of a build. What is found nowhere is taken for a package of
// others.

import { firstOf, folderOf, join, under, upwards } from "../resolve/paths.ts";
import type { Import } from "../scan/facts.ts";
import { type Crates, noteCrate, rust } from "./crates.ts";
import { languageOf } from "./table.ts";

type AskedImport = Pick<Import, "from" | "names" | "inside">;
/**
 * The files, the first one before others; "" for something outside, "node:" for what comes with the
 * language; none: missing.
 */
type ImportFinder = (file: string, asked: AskedImport) => string[];

interface Project {
  names: ReadonlySet<string>;
  byEnd: Map<string, string[]>; // the files, by their own names
  byFolder: Map<string, string[]>;
  modules: { name: string; folder: string }[]; // what go.mod files say
  crates: Crates;
}
const OUTSIDE = [""];
const BUILT_IN = ["node:"];
const MAX_FILES = 100; // of one package

/** `read` gives the text of a file of the project. */
export function openImportFinder(
  list: readonly string[],
  read: (name: string) => string | undefined,
): ImportFinder {
  let project: Project | undefined;
  return (file, asked) => {
    const look = LOOKS[languageOf(file)?.name ?? ""];
    if (!look) return OUTSIDE;
    project ??= projectOf(list, read);
    const files = new Set(look(project, file, asked));
    if (files.size > 1) files.delete(file);
    return [...files].slice(0, MAX_FILES);
  };
}

function projectOf(list: readonly string[], read: (name: string) => string | undefined): Project {
  const project: Project = {
    names: new Set(list),
    byEnd: new Map(),
    byFolder: new Map(),
    modules: [],
    crates: { libs: new Map(), roots: new Set() },
  };
  const add = (map: Map<string, string[]>, key: string, name: string) =>
    void (map.get(key)?.push(name) ?? map.set(key, [name]));
  for (const name of list) {
    add(project.byEnd, name.slice(name.lastIndexOf("/") + 1), name);
    add(project.byFolder, folderOf(name), name);
    if (/(?:^|\/)Cargo\.toml$/.test(name)) noteCrate(project.crates, name, read(name) ?? "");
    if (!/(?:^|\/)go\.mod$/.test(name)) continue;
    const [, module] = /^module\s+"?([^\s"]+)/m.exec(read(name) ?? "") ?? [];
    if (module) project.modules.push({ name: module, folder: folderOf(name) });
  }
  project.modules.sort((a, b) => b.name.length - a.name.length);
  return project;
}

/** Of several files that end so, those nearest to the one that asks. */
function filesEnding({ byEnd }: Project, near: string, paths: readonly string[]): string[] {
  for (const path of paths) {
    const candidates = (byEnd.get(path.slice(path.lastIndexOf("/") + 1)) ?? []).filter((name) =>
      `/${name}`.endsWith(`/${path}`),
    );
    if (candidates.length < 2) {
      if (candidates.length) return candidates;
      continue;
    }
    const shared = (name: string) => {
      let sharedLength = 0;
      while (sharedLength < name.length && name[sharedLength] === near[sharedLength])
        sharedLength++;
      return sharedLength;
    };
    return [candidates.reduce((best, name) => (shared(name) > shared(best) ? name : best))];
  }
  return [];
}

/** The files of a language right in a folder. */
function filesWithin({ byFolder }: Project, folder: string, ends: RegExp): string[] {
  return (byFolder.get(folder) ?? []).filter((name) => ends.test(name));
}

const tails = (path: string, least: number): string[] => {
  const parts = path.split("/");
  return parts
    .slice(0, Math.max(1, parts.length - least + 1))
    .map((_, index) => parts.slice(index).join("/"));
};

function python(project: Project, file: string, { from, names }: AskedImport): string[] {
  const [, dots = "", dottedName = ""] = /^(\.*)(.*)$/.exec(from)!;
  const path = dottedName.replaceAll(".", "/");
  const pythonFiles = (base: string | undefined) =>
    base === undefined ? [] : [`${base}.py`, `${base}/__init__.py`, `${base}.pyi`];
  const look = (root: string): string[] => {
    const base = path ? under(root, path) : root;
    const parts = names.map((name) =>
      firstOf(project, pythonFiles(under(base, name.split(" as ")[0]!))),
    );
    const packageFiles = path
      ? firstOf(project, pythonFiles(base))
      : firstOf(project, [under(base, "__init__.py")]);
    return [
      ...parts.flat(),
      ...(parts.length && parts.every(({ length }) => length) ? [] : packageFiles),
    ];
  };
  if (dots) {
    const root =
      dots.length > 1 ? join(folderOf(file), "../".repeat(dots.length - 1)) : folderOf(file);
    return root === undefined ? [] : look(root);
  }
  for (const up of upwards(folderOf(file)))
    for (const root of [up, under(up, "src"), under(up, "lib"), under(up, "python")]) {
      const files = look(root);
      if (files.length) return files;
    }
  return PYTHONS.test(from) ? BUILT_IN : OUTSIDE;
}
const PYTHONS =
  /^(?:__future__|abc|argparse|array|ast|asyncio|base64|bisect|builtins|calendar|collections|concurrent|configparser|contextlib|copy|csv|ctypes|dataclasses|datetime|decimal|difflib|email|enum|errno|fnmatch|fractions|functools|gc|getpass|glob|gzip|hashlib|heapq|hmac|html|http|importlib|inspect|io|ipaddress|itertools|json|logging|math|mimetypes|multiprocessing|operator|os|pathlib|pickle|platform|pprint|queue|random|re|secrets|select|shlex|shutil|signal|socket|sqlite3|ssl|stat|statistics|string|struct|subprocess|sys|tarfile|tempfile|textwrap|threading|time|timeit|tomllib|traceback|types|typing|unicodedata|unittest|urllib|uuid|venv|warnings|weakref|xml|zipfile|zlib|zoneinfo)\b/;

function go(project: Project, _: string, { from }: AskedImport): string[] {
  const ownModule = project.modules.find(
    ({ name }) => from === name || from.startsWith(`${name}/`),
  );
  const files = (folder: string) => filesWithin(project, folder, /(?<!_test)\.go$/);
  if (ownModule)
    return files(under(ownModule.folder, from.slice(ownModule.name.length + 1)).replace(/\/$/, ""));
  if (!from.split("/")[0]!.includes(".")) return BUILT_IN;
  const near = project.modules.length ? [] : tails(from, 2).find((tail) => files(tail).length);
  return typeof near === "string" ? files(near) : OUTSIDE;
}

/** Packages are folders; a name may be in a file that is called otherwise. */
function jvm(project: Project, file: string, { from, names }: AskedImport): string[] {
  const path = from.replaceAll(".", "/");
  const [typePath, outer] = [path, folderOf(path)];
  if (names[0] === "*") {
    const folder = [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${typePath}`));
    if (folder !== undefined) return filesWithin(project, folder, /\.(?:java|kts?)$/);
  }
  const matches = filesEnding(project, file, [
    `${typePath}.java`,
    `${typePath}.kt`,
    ...(outer.includes("/") ? [`${outer}.java`, `${outer}.kt`] : []),
  ]);
  if (matches.length) return matches;
  const folder =
    outer.includes("/") &&
    [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${outer}`));
  if (folder && /\.kt$/.test(file)) return filesWithin(project, folder, /\.kt$/);
  return /^(?:java|javax|kotlin|jdk)\./.test(from) ? BUILT_IN : OUTSIDE;
}

function csharp(project: Project, file: string, { from }: AskedImport): string[] {
  if (/^System\b/.test(from)) return BUILT_IN;
  const path = from.replaceAll(".", "/");
  const single = filesEnding(
    project,
    file,
    tails(path, 2).map((tail) => `${tail}.cs`),
  );
  if (single.length) return single;
  for (const tail of tails(path, 1)) {
    const folder = [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${tail}`));
    const files = folder === undefined ? [] : filesWithin(project, folder, /\.cs$/);
    if (files.length) return files;
  }
  return OUTSIDE;
}

function php(project: Project, file: string, { from }: AskedImport): string[] {
  const isPath = /\.(?:php|inc|phtml)$/.test(from);
  if (isPath) return firstOf(project, [join(folderOf(file), from), join("", from)]);
  const matches = filesEnding(
    project,
    file,
    tails(from.replaceAll("\\", "/"), 2).map((tail) => `${tail}.php`),
  );
  return matches.length ? matches : OUTSIDE;
}

function include(project: Project, file: string, { from }: AskedImport): string[] {
  const isSystem = from.startsWith("<");
  const path = from.replace(/^<|>$/g, "");
  const beside = isSystem ? [] : firstOf(project, [join(folderOf(file), path)]);
  if (beside.length) return beside;
  const matches = filesEnding(project, file, [path.replace(/^(?:\.\.?\/)+/, "")]);
  if (matches.length && (!isSystem || path.includes("/"))) return matches;
  if (!isSystem) return [];
  if (/[./]/.test(path) && !/^(?:sys|std)/.test(path)) return OUTSIDE;
  return BUILT_IN;
}

const relative = (
  project: Project,
  file: string,
  from: string,
  ends: readonly string[],
): string[] => {
  const base = join(folderOf(file), from);
  return firstOf(
    project,
    ["", ...ends].map((end) => base && base + end),
  );
};

const LOOKS: Record<string, (project: Project, file: string, asked: AskedImport) => string[]> = {
  Python: python,
  Go: go,
  Rust: rust,
  Java: jvm,
  Kotlin: jvm,
  "C#": csharp,
  PHP: php,
  C: include,
  "C++": include,
  Ruby: (project, file, { from }) => {
    if (/^\.\.?\//.test(from))
      return relative(project, file, from.replace(/^\.\/(?=\.)/, ""), [".rb"]);
    const name = from.replace(/\.rb$/, "");
    const matches = filesEnding(project, file, [
      `lib/${name}.rb`,
      `app/${name}.rb`,
      ...(name.includes("/") ? [`${name}.rb`] : []),
    ]);
    return matches.length ? matches : OUTSIDE;
  },
  Lua: (project, file, { from }) => {
    const path = from.replace(/\.lua$/, "").replaceAll(".", "/");
    const matches = filesEnding(project, file, [`${path}.lua`, `${path}/init.lua`]);
    return matches.length ? matches : OUTSIDE;
  },
  Swift: (project, _, { from }) => {
    const folder = [...project.byFolder.keys()].filter((name) =>
      `/${name}/`.includes(`/${from.split(".")[0]}/`),
    );
    const files = folder.flatMap((path) => filesWithin(project, path, /\.swift$/));
    return files.length ? files : OUTSIDE;
  },
  Bash: (project, file, { from }) => {
    const files = relative(project, file, from, []);
    return files.length ? files : firstOf(project, [join("", from)]);
  },
  CSS: (project, file, { from }) => {
    const files = /^[a-z]+:|^\/\//i.test(from)
      ? OUTSIDE
      : relative(project, file, from.replace(/^~/, ""), [".css"]);
    return files.length || /^\.?\//.test(from) ? files : OUTSIDE;
  },
};

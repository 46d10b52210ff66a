// Where imports of other languages lead: to files of the project, by their names alone, as far as
// their rules go without the settings of a build. What is found nowhere is taken for a package of
// others.

import { firstOf, folderOf, join, under, upwards } from "../resolve/paths.ts";
import type { Import } from "../scan/facts.ts";
import { type Crates, noteCrate, rust } from "./crates.ts";
import { languageOf } from "./table.ts";

type Asked = Pick<Import, "from" | "names" | "inside">;
/**
 * The files, the first one before others; "" for something outside, "node:" for what comes with the
 * language; none: missing.
 */
export type Others = (file: string, one: Asked) => string[];

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
export function openOthers(
  list: readonly string[],
  read: (name: string) => string | undefined,
): Others {
  let project: Project | undefined;
  return (file, one) => {
    const look = LOOKS[languageOf(file)?.name ?? ""];
    if (!look) return OUTSIDE;
    project ??= projectOf(list, read);
    const found = new Set(look(project, file, one));
    if (found.size > 1) found.delete(file);
    return [...found].slice(0, MAX_FILES);
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
function ending({ byEnd }: Project, near: string, paths: readonly string[]): string[] {
  for (const path of paths) {
    const all = (byEnd.get(path.slice(path.lastIndexOf("/") + 1)) ?? []).filter((name) =>
      `/${name}`.endsWith(`/${path}`),
    );
    if (all.length < 2) {
      if (all.length) return all;
      continue;
    }
    const shared = (name: string) => {
      let at = 0;
      while (at < name.length && name[at] === near[at]) at++;
      return at;
    };
    return [all.reduce((best, name) => (shared(name) > shared(best) ? name : best))];
  }
  return [];
}

/** The files of a language right in a folder. */
function within({ byFolder }: Project, folder: string, ends: RegExp): string[] {
  return (byFolder.get(folder) ?? []).filter((name) => ends.test(name));
}

const tails = (path: string, least: number): string[] => {
  const parts = path.split("/");
  return parts
    .slice(0, Math.max(1, parts.length - least + 1))
    .map((_, at) => parts.slice(at).join("/"));
};

function python(project: Project, file: string, { from, names }: Asked): string[] {
  const [, dots = "", rest = ""] = /^(\.*)(.*)$/.exec(from)!;
  const path = rest.replaceAll(".", "/");
  const at = (base: string | undefined) =>
    base === undefined ? [] : [`${base}.py`, `${base}/__init__.py`, `${base}.pyi`];
  const look = (root: string): string[] => {
    const base = path ? under(root, path) : root;
    const parts = names.map((name) => firstOf(project, at(under(base, name.split(" as ")[0]!))));
    const whole = path
      ? firstOf(project, at(base))
      : firstOf(project, [under(base, "__init__.py")]);
    return [...parts.flat(), ...(parts.length && parts.every(({ length }) => length) ? [] : whole)];
  };
  if (dots) {
    const root =
      dots.length > 1 ? join(folderOf(file), "../".repeat(dots.length - 1)) : folderOf(file);
    return root === undefined ? [] : look(root);
  }
  for (const up of upwards(folderOf(file)))
    for (const root of [up, under(up, "src"), under(up, "lib"), under(up, "python")]) {
      const found = look(root);
      if (found.length) return found;
    }
  return PYTHONS.test(from) ? BUILT_IN : OUTSIDE;
}
const PYTHONS =
  /^(?:__future__|abc|argparse|array|ast|asyncio|base64|bisect|builtins|calendar|collections|concurrent|configparser|contextlib|copy|csv|ctypes|dataclasses|datetime|decimal|difflib|email|enum|errno|fnmatch|fractions|functools|gc|getpass|glob|gzip|hashlib|heapq|hmac|html|http|importlib|inspect|io|ipaddress|itertools|json|logging|math|mimetypes|multiprocessing|operator|os|pathlib|pickle|platform|pprint|queue|random|re|secrets|select|shlex|shutil|signal|socket|sqlite3|ssl|stat|statistics|string|struct|subprocess|sys|tarfile|tempfile|textwrap|threading|time|timeit|tomllib|traceback|types|typing|unicodedata|unittest|urllib|uuid|venv|warnings|weakref|xml|zipfile|zlib|zoneinfo)\b/;

function go(project: Project, _: string, { from }: Asked): string[] {
  const own = project.modules.find(({ name }) => from === name || from.startsWith(`${name}/`));
  const files = (folder: string) => within(project, folder, /(?<!_test)\.go$/);
  if (own) return files(under(own.folder, from.slice(own.name.length + 1)).replace(/\/$/, ""));
  if (!from.split("/")[0]!.includes(".")) return BUILT_IN;
  const near = project.modules.length ? [] : tails(from, 2).find((tail) => files(tail).length);
  return typeof near === "string" ? files(near) : OUTSIDE;
}

/** Packages are folders; a name may be in a file that is called otherwise. */
function jvm(project: Project, file: string, { from, names }: Asked): string[] {
  const path = from.replaceAll(".", "/");
  const [own, outer] = [path, folderOf(path)];
  if (names[0] === "*") {
    const folder = [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${own}`));
    if (folder !== undefined) return within(project, folder, /\.(?:java|kts?)$/);
  }
  const found = ending(project, file, [
    `${own}.java`,
    `${own}.kt`,
    ...(outer.includes("/") ? [`${outer}.java`, `${outer}.kt`] : []),
  ]);
  if (found.length) return found;
  const folder =
    outer.includes("/") &&
    [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${outer}`));
  if (folder && /\.kt$/.test(file)) return within(project, folder, /\.kt$/);
  return /^(?:java|javax|kotlin|jdk)\./.test(from) ? BUILT_IN : OUTSIDE;
}

function csharp(project: Project, file: string, { from }: Asked): string[] {
  if (/^System\b/.test(from)) return BUILT_IN;
  const path = from.replaceAll(".", "/");
  const single = ending(
    project,
    file,
    tails(path, 2).map((tail) => `${tail}.cs`),
  );
  if (single.length) return single;
  for (const tail of tails(path, 1)) {
    const folder = [...project.byFolder.keys()].find((name) => `/${name}`.endsWith(`/${tail}`));
    const files = folder === undefined ? [] : within(project, folder, /\.cs$/);
    if (files.length) return files;
  }
  return OUTSIDE;
}

function php(project: Project, file: string, { from }: Asked): string[] {
  const isPath = /\.(?:php|inc|phtml)$/.test(from);
  if (isPath) return firstOf(project, [join(folderOf(file), from), join("", from)]);
  const found = ending(
    project,
    file,
    tails(from.replaceAll("\\", "/"), 2).map((tail) => `${tail}.php`),
  );
  return found.length ? found : OUTSIDE;
}

function include(project: Project, file: string, { from }: Asked): string[] {
  const isSystem = from.startsWith("<");
  const path = from.replace(/^<|>$/g, "");
  const beside = isSystem ? [] : firstOf(project, [join(folderOf(file), path)]);
  if (beside.length) return beside;
  const found = ending(project, file, [path.replace(/^(?:\.\.?\/)+/, "")]);
  if (found.length && (!isSystem || path.includes("/"))) return found;
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
  const at = join(folderOf(file), from);
  return firstOf(
    project,
    ["", ...ends].map((end) => at && at + end),
  );
};

const LOOKS: Record<string, (project: Project, file: string, one: Asked) => string[]> = {
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
    const found = ending(project, file, [
      `lib/${name}.rb`,
      `app/${name}.rb`,
      ...(name.includes("/") ? [`${name}.rb`] : []),
    ]);
    return found.length ? found : OUTSIDE;
  },
  Lua: (project, file, { from }) => {
    const path = from.replace(/\.lua$/, "").replaceAll(".", "/");
    const found = ending(project, file, [`${path}.lua`, `${path}/init.lua`]);
    return found.length ? found : OUTSIDE;
  },
  Swift: (project, _, { from }) => {
    const folder = [...project.byFolder.keys()].filter((name) =>
      `/${name}/`.includes(`/${from.split(".")[0]}/`),
    );
    const files = folder.flatMap((one) => within(project, one, /\.swift$/));
    return files.length ? files : OUTSIDE;
  },
  Bash: (project, file, { from }) => {
    const found = relative(project, file, from, []);
    return found.length ? found : firstOf(project, [join("", from)]);
  },
  CSS: (project, file, { from }) => {
    const found = /^[a-z]+:|^\/\//i.test(from)
      ? OUTSIDE
      : relative(project, file, from.replace(/^~/, ""), [".css"]);
    return found.length || /^\.?\//.test(from) ? found : OUTSIDE;
  },
};

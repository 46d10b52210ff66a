// Where imports of other languages lead: to files of the project, by their names alone, as far as
// their rules go without the settings of a build. What is found nowhere is taken for a package of
// others.

import { firstOf, folderOf, join, under, upwards } from "../resolve/paths.ts";
import type { Import } from "../scan/facts.ts";
import { type Crates, noteCrate, partsOrWhole, rust } from "./crates.ts";
import { languageOf } from "./table.ts";

type AskedImport = Pick<Import, "from" | "names" | "inside">;

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

/**
 * Finds the files, the first one before others; "" for something outside, "node:" for what comes
 * with the language; none: missing. `read` gives the text of a file of the project.
 */
export function openImportFinder(
  fileNames: readonly string[],
  read: (fileName: string) => string | undefined,
) {
  let project: Project | undefined;
  return (importer: string, askedImport: AskedImport): string[] => {
    const findTargets = IMPORT_FINDERS[languageOf(importer)?.name ?? ""];
    if (!findTargets) return OUTSIDE;
    project ??= projectOf(fileNames, read);
    const targetFiles = new Set(findTargets(project, importer, askedImport));
    if (targetFiles.size > 1) targetFiles.delete(importer);
    return [...targetFiles].slice(0, MAX_FILES);
  };
}

function projectOf(
  fileNames: readonly string[],
  read: (fileName: string) => string | undefined,
): Project {
  const project: Project = {
    names: new Set(fileNames),
    byEnd: new Map(),
    byFolder: new Map(),
    modules: [],
    crates: { libs: new Map(), roots: new Set() },
  };
  const addTo = (nameMap: Map<string, string[]>, mapKey: string, fileName: string) =>
    void (nameMap.get(mapKey)?.push(fileName) ?? nameMap.set(mapKey, [fileName]));
  for (const fileName of fileNames) {
    addTo(project.byEnd, fileName.slice(fileName.lastIndexOf("/") + 1), fileName);
    addTo(project.byFolder, folderOf(fileName), fileName);
    if (/(?:^|\/)Cargo\.toml$/.test(fileName))
      noteCrate(project.crates, fileName, read(fileName) ?? "");
    if (!/(?:^|\/)go\.mod$/.test(fileName)) continue;
    const [, moduleName] = /^module\s+"?([^\s"]+)/m.exec(read(fileName) ?? "") ?? [];
    if (moduleName) project.modules.push({ name: moduleName, folder: folderOf(fileName) });
  }
  project.modules.sort((first, second) => second.name.length - first.name.length);
  return project;
}

/** Of several files that end so, those nearest to the one that asks. */
function filesEnding(
  { byEnd }: Project,
  importer: string,
  pathEndings: readonly string[],
): string[] {
  for (const pathEnding of pathEndings) {
    const candidates = (byEnd.get(pathEnding.slice(pathEnding.lastIndexOf("/") + 1)) ?? []).filter(
      (fileName) => `/${fileName}`.endsWith(`/${pathEnding}`),
    );
    if (candidates.length < 2) {
      if (candidates.length) return candidates;
      continue;
    }
    const sharedWith = (fileName: string) => {
      let sharedLength = 0;
      while (sharedLength < fileName.length && fileName[sharedLength] === importer[sharedLength])
        sharedLength++;
      return sharedLength;
    };
    return [
      candidates.reduce((bestFile, fileName) =>
        sharedWith(fileName) > sharedWith(bestFile) ? fileName : bestFile,
      ),
    ];
  }
  return [];
}

const orOutside = (foundFiles: string[]) => (foundFiles.length ? foundFiles : OUTSIDE);

/** The first folder that ends so. */
const folderEnding = ({ byFolder }: Project, pathEnding: string) =>
  [...byFolder.keys()].find((folderPath) => `/${folderPath}`.endsWith(`/${pathEnding}`));

/** The files of a language right in a folder. */
function filesWithin({ byFolder }: Project, folderPath: string, namePattern: RegExp): string[] {
  return (byFolder.get(folderPath) ?? []).filter((fileName) => namePattern.test(fileName));
}

const pathTails = (wholePath: string, leastParts: number): string[] => {
  const pathParts = wholePath.split("/");
  return pathParts
    .slice(0, Math.max(1, pathParts.length - leastParts + 1))
    .map((_, partIndex) => pathParts.slice(partIndex).join("/"));
};

function findPython(project: Project, importer: string, { from, names }: AskedImport): string[] {
  const [, leadingDots = "", dottedName = ""] = /^(\.*)(.*)$/.exec(from)!;
  const modulePath = dottedName.replaceAll(".", "/");
  const pythonFiles = (basePath: string | undefined) =>
    basePath === undefined ? [] : [`${basePath}.py`, `${basePath}/__init__.py`, `${basePath}.pyi`];
  const findFrom = (rootFolder: string): string[] => {
    const basePath = modulePath ? under(rootFolder, modulePath) : rootFolder;
    const partFiles = names.map((importedName) =>
      firstOf(project, pythonFiles(under(basePath, importedName.split(" as ")[0]!))),
    );
    const packageFiles = modulePath
      ? firstOf(project, pythonFiles(basePath))
      : firstOf(project, [under(basePath, "__init__.py")]);
    return partsOrWhole(partFiles, packageFiles);
  };
  if (leadingDots) {
    const rootFolder =
      leadingDots.length > 1
        ? join(folderOf(importer), "../".repeat(leadingDots.length - 1))
        : folderOf(importer);
    return rootFolder === undefined ? [] : findFrom(rootFolder);
  }
  for (const ancestor of upwards(folderOf(importer)))
    for (const rootFolder of [
      ancestor,
      under(ancestor, "src"),
      under(ancestor, "lib"),
      under(ancestor, "python"),
    ]) {
      const moduleFiles = findFrom(rootFolder);
      if (moduleFiles.length) return moduleFiles;
    }
  return PYTHONS.test(from) ? BUILT_IN : OUTSIDE;
}
const PYTHON_MODULES = (
  "__future__ abc argparse array ast asyncio base64 bisect builtins calendar collections " +
  "concurrent configparser contextlib copy csv ctypes dataclasses datetime decimal difflib " +
  "email enum errno fnmatch fractions functools gc getpass glob gzip hashlib heapq hmac html " +
  "http importlib inspect io ipaddress itertools json logging math mimetypes multiprocessing " +
  "operator os pathlib pickle platform pprint queue random re secrets select shlex shutil " +
  "signal socket sqlite3 ssl stat statistics string struct subprocess sys tarfile tempfile " +
  "textwrap threading time timeit tomllib traceback types typing unicodedata unittest urllib " +
  "uuid venv warnings weakref xml zipfile zlib zoneinfo"
).split(" ");
const PYTHONS = new RegExp(`^(?:${PYTHON_MODULES.join("|")})\\b`);

function findGo(project: Project, _: string, { from }: AskedImport): string[] {
  const ownModule = project.modules.find(
    ({ name }) => from === name || from.startsWith(`${name}/`),
  );
  const goFilesIn = (folderPath: string) => filesWithin(project, folderPath, /(?<!_test)\.go$/);
  if (ownModule)
    return goFilesIn(
      under(ownModule.folder, from.slice(ownModule.name.length + 1)).replace(/\/$/, ""),
    );
  if (!from.split("/")[0]!.includes(".")) return BUILT_IN;
  const tails = project.modules.length ? [] : pathTails(from, 2);
  return tails.map(goFilesIn).find(({ length }) => length) ?? OUTSIDE;
}

/** Packages are folders; a name may be in a file that is called otherwise. */
function findJvm(project: Project, importer: string, { from, names }: AskedImport): string[] {
  const slashedPath = from.replaceAll(".", "/");
  const [typePath, outerPath] = [slashedPath, folderOf(slashedPath)];
  if (names[0] === "*") {
    const packageFolder = folderEnding(project, typePath);
    if (packageFolder !== undefined) return filesWithin(project, packageFolder, /\.(?:java|kts?)$/);
  }
  const matches = filesEnding(project, importer, [
    `${typePath}.java`,
    `${typePath}.kt`,
    ...(outerPath.includes("/") ? [`${outerPath}.java`, `${outerPath}.kt`] : []),
  ]);
  if (matches.length) return matches;
  const outerFolder = outerPath.includes("/") && folderEnding(project, outerPath);
  if (outerFolder && /\.kt$/.test(importer)) return filesWithin(project, outerFolder, /\.kt$/);
  return /^(?:java|javax|kotlin|jdk)\./.test(from) ? BUILT_IN : OUTSIDE;
}

function findCsharp(project: Project, importer: string, { from }: AskedImport): string[] {
  if (/^System\b/.test(from)) return BUILT_IN;
  const slashedPath = from.replaceAll(".", "/");
  const namedFiles = filesEnding(
    project,
    importer,
    pathTails(slashedPath, 2).map((tail) => `${tail}.cs`),
  );
  if (namedFiles.length) return namedFiles;
  for (const tail of pathTails(slashedPath, 1)) {
    const tailFolder = folderEnding(project, tail);
    const folderFiles = tailFolder === undefined ? [] : filesWithin(project, tailFolder, /\.cs$/);
    if (folderFiles.length) return folderFiles;
  }
  return OUTSIDE;
}

function findPhp(project: Project, importer: string, { from }: AskedImport): string[] {
  const isFilePath = /\.(?:php|inc|phtml)$/.test(from);
  if (isFilePath) return firstOf(project, [join(folderOf(importer), from), join("", from)]);
  const endings = pathTails(from.replaceAll("\\", "/"), 2).map((tail) => `${tail}.php`);
  return orOutside(filesEnding(project, importer, endings));
}

function include(project: Project, importer: string, { from }: AskedImport): string[] {
  const isSystem = from.startsWith("<");
  const includePath = from.replace(/^<|>$/g, "");
  const besideFiles = isSystem ? [] : firstOf(project, [join(folderOf(importer), includePath)]);
  if (besideFiles.length) return besideFiles;
  const matches = filesEnding(project, importer, [includePath.replace(/^(?:\.\.?\/)+/, "")]);
  if (matches.length && (!isSystem || includePath.includes("/"))) return matches;
  if (!isSystem) return [];
  if (/[./]/.test(includePath) && !/^(?:sys|std)/.test(includePath)) return OUTSIDE;
  return BUILT_IN;
}

const relative = (
  project: Project,
  importer: string,
  relativePath: string,
  endings: readonly string[],
): string[] => {
  const basePath = join(folderOf(importer), relativePath);
  return firstOf(
    project,
    ["", ...endings].map((ending) => basePath && basePath + ending),
  );
};

const IMPORT_FINDERS: Record<
  string,
  (project: Project, importer: string, askedImport: AskedImport) => string[]
> = {
  Python: findPython,
  Go: findGo,
  Rust: rust,
  Java: findJvm,
  Kotlin: findJvm,
  "C#": findCsharp,
  PHP: findPhp,
  C: include,
  "C++": include,
  Ruby: (project, importer, { from }) => {
    if (/^\.\.?\//.test(from))
      return relative(project, importer, from.replace(/^\.\/(?=\.)/, ""), [".rb"]);
    const requiredName = from.replace(/\.rb$/, "");
    return orOutside(
      filesEnding(project, importer, [
        `lib/${requiredName}.rb`,
        `app/${requiredName}.rb`,
        ...(requiredName.includes("/") ? [`${requiredName}.rb`] : []),
      ]),
    );
  },
  Lua: (project, importer, { from }) => {
    const modulePath = from.replace(/\.lua$/, "").replaceAll(".", "/");
    return orOutside(
      filesEnding(project, importer, [`${modulePath}.lua`, `${modulePath}/init.lua`]),
    );
  },
  Swift: (project, _, { from }) => {
    const moduleFolders = [...project.byFolder.keys()].filter((folderPath) =>
      `/${folderPath}/`.includes(`/${from.split(".")[0]}/`),
    );
    return orOutside(
      moduleFolders.flatMap((moduleFolder) => filesWithin(project, moduleFolder, /\.swift$/)),
    );
  },
  Bash: (project, importer, { from }) => {
    const shellFiles = relative(project, importer, from, []);
    return shellFiles.length ? shellFiles : firstOf(project, [join("", from)]);
  },
  CSS: (project, importer, { from }) => {
    const styleFiles = /^[a-z]+:|^\/\//i.test(from)
      ? OUTSIDE
      : relative(project, importer, from.replace(/^~/, ""), [".css"]);
    return styleFiles.length || /^\.?\//.test(from) ? styleFiles : OUTSIDE;
  },
};

// Rust: where `use` and `mod` lead, by the usual places of modules, and by the names that
// Cargo.toml files give to crates.

import { firstOf, folderOf, join, under, upwards } from "../resolve/paths.ts";
import type { Import } from "../scan/facts.ts";

export interface Crates {
  libs: Map<string, string>; // the root file of each library, by its name in code
  roots: Set<string>; // files where a crate begins that are not called lib.rs or main.rs
}
interface Project {
  names: ReadonlySet<string>;
  byEnd: Map<string, string[]>;
  crates: Crates;
}
interface Module {
  folder: string; // where its submodules are
  file?: string | undefined; // its own file, if known
}

/** Takes libraries and crate roots from the text of a Cargo.toml. */
export function noteCrate({ libs, roots }: Crates, cargoFile: string, cargoText: string): void {
  const crateFolder = folderOf(cargoFile);
  const section = (sectionTitle: string) =>
    cargoText.split(/^\s*\[/m).find((tomlBlock) => tomlBlock.startsWith(`${sectionTitle}]`)) ?? "";
  const settingOf = (settingKey: string, sectionText: string) =>
    new RegExp(`^\\s*${settingKey}\\s*=\\s*["']([^"']+)["']`, "m").exec(sectionText)?.[1];
  const [packageSection, libSection] = [section("package"), section("lib")];
  const crateName = settingOf("name", libSection) ?? settingOf("name", packageSection);
  if (crateName)
    libs.set(
      crateName.replaceAll("-", "_"),
      under(crateFolder, settingOf("path", libSection) ?? "src/lib.rs"),
    );
  for (const [, targetPath] of cargoText.matchAll(/^\s*path\s*=\s*["']([^"']+\.rs)["']/gm)) {
    const rootFile = join(crateFolder, targetPath!);
    if (rootFile) roots.add(rootFile);
  }
}

/** The files of the imported names; also the whole module's, unless each name has its own. */
export const partsOrWhole = (partFiles: string[][], wholeFiles: string[]): string[] => [
  ...partFiles.flat(),
  ...(partFiles.length && partFiles.every(({ length }) => length) ? [] : wholeFiles),
];

export function rust(
  project: Project,
  importer: string,
  askedImport: Pick<Import, "from" | "names" | "inside">,
): string[] {
  const { from, names } = askedImport;
  const pathParts = from.split("::");
  if (/^(?:std|core|alloc|proc_macro|test)$/.test(pathParts[0]!)) return ["node:"];
  const { origin, remaining } =
    startOf(project, importer, pathParts, askedImport.inside ?? 0) ?? {};
  // the variants of a type
  if (!origin || !remaining) return /^\p{Lu}/u.test(from) ? [importer] : [""];
  const moduleFiles = names.map((importedName) =>
    moduleOf([...remaining, importedName.split(" as ")[0]!]),
  );
  const wholeFiles =
    pathParts[0] === "self" && !names.length ? moduleOf(remaining) : holderOf(remaining);
  return partsOrWhole(moduleFiles, wholeFiles);

  function moduleOf(modulePath: string[]): string[] {
    const basePath = [origin!.folder, ...modulePath].filter(Boolean).join("/");
    if (modulePath.length) return firstOf(project, [`${basePath}.rs`, `${basePath}/mod.rs`]);
    if (origin!.file) return [origin!.file];
    return firstOf(project, [
      ...["lib.rs", "main.rs", "mod.rs"].map((rootName) => under(basePath, rootName)),
      `${basePath}.rs`,
    ]);
  }
  /** A type, or a module within a file, is in the file of the module around it. */
  function holderOf(modulePath: string[]): string[] {
    const holderFiles = moduleOf(modulePath);
    return holderFiles.length || !modulePath.length
      ? holderFiles
      : holderOf(modulePath.slice(0, -1));
  }
}

/**
 * The module that a path begins at, and the rest of the path. `inside` counts the modules of the
 * same file that are around it.
 */
function startOf(project: Project, file: string, pathParts: string[], inside: number) {
  const ownModule: Module = {
    folder:
      /(?:^|\/)mod\.rs$/.test(file) || isCrateRoot(project, file)
        ? folderOf(file)
        : file.replace(/\.rs$/, ""),
    file,
  };
  const [firstPart] = pathParts;
  if (firstPart === "crate") {
    const origin = isCrateRoot(project, file) ? ownModule : rootAbove(project, file);
    return origin && { origin, remaining: pathParts.slice(1) };
  }
  if (firstPart === "self" || firstPart === "super") {
    const remaining = pathParts.slice(firstPart === "self" ? 1 : 0);
    let origin = ownModule;
    for (let remainingLevels = inside; remaining[0] === "super"; remaining.shift())
      if (remainingLevels-- <= 0) origin = { folder: folderOf(origin.folder) };
    return { origin, remaining };
  }
  const libFile = findLib(project, firstPart!);
  if (libFile)
    return { origin: { folder: folderOf(libFile), file: libFile }, remaining: pathParts.slice(1) };
  const besidePaths = [
    `${ownModule.folder}/${firstPart}.rs`,
    `${ownModule.folder}/${firstPart}/mod.rs`,
  ].map((modulePath) => modulePath.replace(/^\//, ""));
  return firstOf(project, besidePaths).length
    ? { origin: ownModule, remaining: pathParts }
    : undefined;
}

function findLib({ crates, byEnd, names }: Project, crateName: string): string | undefined {
  const libFile = crates.libs.get(crateName);
  if (libFile && names.has(libFile)) return libFile;
  return byEnd
    .get("lib.rs")
    ?.find((libPath) => libPath.split("/").at(-3)?.replaceAll("-", "_") === crateName);
}

/** Where a crate begins: also each test, benchmark, example and further program of a package. */
function isCrateRoot({ names, crates }: Project, filePath: string): boolean {
  if (/(?:^|\/)(?:lib|main)\.rs$/.test(filePath) || crates.roots.has(filePath)) return true;
  const [, packagePrefix = ""] =
    /^(.*?)(?:(?:tests|benches|examples|src\/bin)\/[^/]+|build)\.rs$/.exec(filePath) ?? [
      "",
      "none",
    ];
  return names.has(`${packagePrefix}Cargo.toml`);
}
function rootAbove(project: Project, filePath: string): Module | undefined {
  for (const folder of upwards(folderOf(filePath))) {
    const [rootFile] = firstOf(project, [under(folder, "lib.rs"), under(folder, "main.rs")]);
    if (rootFile) return { folder, file: rootFile };
  }
  return undefined;
}

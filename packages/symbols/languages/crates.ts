// Rust: where `use` and `mod` lead, by the usual places of modules, and by the names that
// Cargo.toml files give to crates.

import { firstOf, folderOf, join, under, upwards } from "../resolve/paths.ts";
import type { Import } from "../scan/facts.ts";

export interface Crates {
  libs: Map<string, string>; // the file of each library, by the name that code has for it
  roots: Set<string>; // files where a crate begins that are not called lib.rs or main.rs
}
interface Project {
  names: ReadonlySet<string>;
  byEnd: Map<string, string[]>;
  crates: Crates;
}
interface Module {
  folder: string; // of what is in it
  file?: string | undefined; // where that is known
}

/** What the text of a Cargo.toml says. */
export function noteCrate({ libs, roots }: Crates, name: string, text: string): void {
  const folder = folderOf(name);
  const section = (title: string) =>
    text.split(/^\s*\[/m).find((block) => block.startsWith(`${title}]`)) ?? "";
  const settingOf = (key: string, of: string) =>
    new RegExp(`^\\s*${key}\\s*=\\s*["']([^"']+)["']`, "m").exec(of)?.[1];
  const [packageSection, lib] = [section("package"), section("lib")];
  const crate = settingOf("name", lib) ?? settingOf("name", packageSection);
  if (crate)
    libs.set(crate.replaceAll("-", "_"), under(folder, settingOf("path", lib) ?? "src/lib.rs"));
  for (const [, path] of text.matchAll(/^\s*path\s*=\s*["']([^"']+\.rs)["']/gm)) {
    const root = join(folder, path!);
    if (root) roots.add(root);
  }
}

export function rust(
  project: Project,
  file: string,
  asked: Pick<Import, "from" | "names" | "inside">,
): string[] {
  const { from, names } = asked;
  const parts = from.split("::");
  if (/^(?:std|core|alloc|proc_macro|test)$/.test(parts[0]!)) return ["node:"];
  const { origin, remaining } = startOf(project, file, parts, asked.inside ?? 0) ?? {};
  if (!origin || !remaining) return /^\p{Lu}/u.test(from) ? [file] : [""]; // the variants of a type
  const moduleFiles = names.map((name) => moduleOf([...remaining, name.split(" as ")[0]!])[0]);
  const wholeFiles =
    parts[0] === "self" && !names.length ? moduleOf(remaining) : holderOf(remaining);
  return [
    ...moduleFiles.filter((file) => file !== undefined),
    ...(moduleFiles.length && moduleFiles.every((file) => file !== undefined) ? [] : wholeFiles),
  ];

  function moduleOf(path: string[]): string[] {
    const base = [origin!.folder, ...path].filter(Boolean).join("/");
    if (path.length) return firstOf(project, [`${base}.rs`, `${base}/mod.rs`]);
    if (origin!.file) return [origin!.file];
    return firstOf(project, [
      ...["lib.rs", "main.rs", "mod.rs"].map((name) => under(base, name)),
      `${base}.rs`,
    ]);
  }
  /** A type, or a module within a file, is in the file of what is around it. */
  function holderOf(path: string[]): string[] {
    const holder = moduleOf(path);
    return holder.length || !path.length ? holder : holderOf(path.slice(0, -1));
  }
}

/**
 * The module that a path begins at, and what follows. `inside`: so many modules of the file itself
 * are around it.
 */
function startOf(project: Project, file: string, parts: string[], inside: number) {
  const ownModule: Module = {
    folder:
      /(?:^|\/)mod\.rs$/.test(file) || isRoot(project, file)
        ? folderOf(file)
        : file.replace(/\.rs$/, ""),
    file,
  };
  const [first] = parts;
  if (first === "crate") {
    const origin = isRoot(project, file) ? ownModule : rootAbove(project, file);
    return origin && { origin, remaining: parts.slice(1) };
  }
  if (first === "self" || first === "super") {
    const remaining = parts.slice(first === "self" ? 1 : 0);
    let origin = ownModule;
    for (let remainingLevels = inside; remaining[0] === "super"; remaining.shift())
      if (remainingLevels-- <= 0) origin = { folder: folderOf(origin.folder) };
    return { origin, remaining };
  }
  const lib = libOf(project, first!);
  if (lib) return { origin: { folder: folderOf(lib), file: lib }, remaining: parts.slice(1) };
  const beside = [`${ownModule.folder}/${first}.rs`, `${ownModule.folder}/${first}/mod.rs`].map(
    (path) => path.replace(/^\//, ""),
  );
  return firstOf(project, beside).length ? { origin: ownModule, remaining: parts } : undefined;
}

function libOf({ crates, byEnd, names }: Project, crate: string): string | undefined {
  const lib = crates.libs.get(crate);
  if (lib && names.has(lib)) return lib;
  return byEnd
    .get("lib.rs")
    ?.find((path) => path.split("/").at(-3)?.replaceAll("-", "_") === crate);
}

/** Where a crate begins: also each test, benchmark, example and further program of a package. */
function isRoot({ names, crates }: Project, file: string): boolean {
  if (/(?:^|\/)(?:lib|main)\.rs$/.test(file) || crates.roots.has(file)) return true;
  const [, home = ""] = /^(.*?)(?:(?:tests|benches|examples|src\/bin)\/[^/]+|build)\.rs$/.exec(
    file,
  ) ?? ["", "none"];
  return names.has(`${home}Cargo.toml`);
}
function rootAbove(project: Project, file: string): Module | undefined {
  for (const folder of upwards(folderOf(file))) {
    const [root] = firstOf(project, [under(folder, "lib.rs"), under(folder, "main.rs")]);
    if (root) return { folder, file: root };
  }
  return undefined;
}

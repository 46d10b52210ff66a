// Where zz itself lies, and what its plugins may be called.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";

/** The folder of zz's package: above plugins/ in a checkout, above dist/ where it was built. */
export function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!fs.existsSync(path.join(folder, "package.json")) && folder !== path.dirname(folder))
    folder = path.dirname(folder);
  return folder;
}

/** The program as it runs here: built, or from source. */
export function programFile(): string {
  const folder = packageFolder();
  const isBuilt = path.relative(folder, import.meta.dirname).split(path.sep)[0] === "dist";
  return path.join(folder, isBuilt ? "dist/zz.js" : "zz.ts");
}

/** A package of zz's own, wherever npm has put it. */
export function packageAt(name: string): string | undefined {
  for (let folder = packageFolder(); ; folder = path.dirname(folder)) {
    const found = path.join(folder, "node_modules", name);
    if (fs.existsSync(found)) return fs.realpathSync(found);
    if (folder === path.dirname(folder)) return undefined;
  }
}

export const pluginFile = (home: string, name: string): string => path.join(home, "plugins", `${name}.ts`);

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** What stands in the settings, or in a folder of plugins, under a meaning of its own. */
const RESERVED =
  "index zz zod typebox model models window rounds timeout options providers permissions projects schema constructor".split(
    " ",
  );

/** Throws what is wrong with the name. `cannot` begins the sentence. */
export function checkName(cannot: string, name: string, { about }: Pick<Ctx, "about">): void {
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  const refuse = (why: string) => wrong(`${cannot} '${shown}': ${why}`);
  if (!NAME.test(name))
    throw refuse("a name begins with a letter and has letters, digits, _ and -, at most 64. Choose another.");
  if (RESERVED.includes(name)) throw refuse("the name has a meaning of its own. Choose another.");
  const present = about.plugins.find((plugin) => plugin.name.toLowerCase() === name.toLowerCase());
  if (present?.from === "zz") throw refuse("one of zz's own plugins is called so. Choose another name.");
  if (present && present.file !== pluginFile(about.home, name))
    throw refuse(`there is one of that name in ${present.file}. Edit that, or choose another name.`);
}

/** A sentence for whoever typed it; in a shell it ends with the exit code of wrong usage. */
export const wrong = (message: string): Error => Object.assign(new Error(message), { exit: 2 });
export const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const DISK: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOENT: "no folder can be made there",
  EEXIST: "something is in the way",
  ENOTDIR: "a part of the path is not a folder",
};

/** What the disk said, as a sentence. */
export function diskReason(error: unknown): string {
  const { code = "", path: file = "" } = error as NodeJS.ErrnoException;
  const where = file && ` (${file})`;
  return `${DISK[code] ?? why(error)}${where}. Name another home with --home, or mend that.`;
}

/** With those above it; gives those that were made, outermost first. (mkdirSync's `recursive` never ends in /proc.) */
export function makeFolder(folder: string): string[] {
  if (fs.existsSync(folder)) return [];
  const above = makeFolder(path.dirname(folder));
  fs.mkdirSync(folder);
  return [...above, folder];
}

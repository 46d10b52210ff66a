// Where zz itself is, and how plugins may be named.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Ctx } from "zz";
import { sentenceOf, usage } from "zz/text";

/** zz.ts in a checkout, a file in dist/ in a build. */
const findZzFile = (): string => fileURLToPath(import.meta.resolve("zz"));

/** The folder of zz's package. */
export function packageFolder(): string {
  const entryFolder = path.dirname(findZzFile());
  return path.basename(entryFolder) === "dist" ? path.dirname(entryFolder) : entryFolder;
}

/** The files that declare the API of plugins. */
export function contractFiles(): string[] {
  return ["zz.ts", "kernel", "sdk", "dist", "package.json"].map((contractName) =>
    path.join(packageFolder(), contractName),
  );
}

/** The program that is running: built, or from source. */
export function programFile(): string {
  return findZzFile().endsWith(".ts") ? findZzFile() : path.join(packageFolder(), "dist", "zz.js");
}

/** The folder of a package that zz (or what is in `from`) depends on, wherever npm has put it. */
export function packageAt(packageName: string, from = packageFolder()): string | undefined {
  for (let searchFolder = from; ; searchFolder = path.dirname(searchFolder)) {
    const candidate = path.join(searchFolder, "node_modules", packageName);
    if (fs.existsSync(candidate)) return fs.realpathSync(candidate);
    if (searchFolder === path.dirname(searchFolder)) return undefined;
  }
}

export const pluginFile = (homeFolder: string, pluginName: string): string =>
  path.join(homeFolder, "plugins", `${pluginName}.ts`);

const PLUGIN_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Names that mean something else in the settings or in a folder of plugins. */
const RESERVED = (
  "index zz zod typebox model models window rounds timeout options providers " +
  "permissions projects schema constructor"
).split(" ");

/** Throws when the name is not allowed. `cannot` is the beginning of the sentence. */
export function checkName(cannot: string, pluginName: string, { about }: Pick<Ctx, "about">): void {
  const shownName = pluginName.length > 80 ? `${pluginName.slice(0, 80)}…` : pluginName;
  const refuse = (reason: string) => usage(`${cannot} '${shownName}': ${reason}`);
  if (!PLUGIN_NAME.test(pluginName))
    throw refuse(
      "a name begins with a letter and has letters, digits, _ and -, at most 64. Choose another.",
    );
  if (RESERVED.includes(pluginName))
    throw refuse("the name has a meaning of its own. Choose another.");
  const present = about.plugins.find(
    (plugin) => plugin.name.toLowerCase() === pluginName.toLowerCase(),
  );
  if (present?.from === "zz")
    throw refuse("one of zz's own plugins has that name. Choose another name.");
  if (present && present.file !== pluginFile(about.home, pluginName))
    throw refuse(
      `there is one of that name in ${present.file}. Edit that, or choose another name.`,
    );
}

/**
 * Why a plugin cannot be written: like errnoSentence() of zz/text, but the next step is about the
 * home.
 */
const DISK_REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOENT: "no folder can be made there",
  EEXIST: "something is in the way",
  ENOTDIR: "a part of the path is not a folder",
};

/** Turns a disk error into a sentence. */
export function diskReason(error: unknown): string {
  const { code = "", path: failedPath = "" } = error as NodeJS.ErrnoException;
  const pathNote = failedPath && ` (${failedPath})`;
  return (
    `${DISK_REASONS[code] ?? sentenceOf(error)}${pathNote}. ` +
    "Name another home with --home, or fix that."
  );
}

// Where zz itself is, and how plugins may be named.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Ctx } from "zz";
import { sentenceOf, usage } from "zz/text";

/** zz.ts in a checkout, a file in dist/ in a build. */
const zzFile = (): string => fileURLToPath(import.meta.resolve("zz"));

/** The folder of zz's package. */
export function packageFolder(): string {
  const folder = path.dirname(zzFile());
  return path.basename(folder) === "dist" ? path.dirname(folder) : folder;
}

/** The files that declare the API of plugins. */
export function contractFiles(): string[] {
  return ["zz.ts", "kernel", "sdk", "dist", "package.json"].map((name) =>
    path.join(packageFolder(), name),
  );
}

/** The program that is running: built, or from source. */
export function programFile(): string {
  return zzFile().endsWith(".ts") ? zzFile() : path.join(packageFolder(), "dist", "zz.js");
}

/** The folder of a package that zz depends on, wherever npm has put it. */
export function packageAt(name: string): string | undefined {
  for (let folder = packageFolder(); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, "node_modules", name);
    if (fs.existsSync(candidate)) return fs.realpathSync(candidate);
    if (folder === path.dirname(folder)) return undefined;
  }
}

export const pluginFile = (home: string, name: string): string =>
  path.join(home, "plugins", `${name}.ts`);

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Names that mean something else in the settings or in a folder of plugins. */
const RESERVED =
  "index zz zod typebox model models window rounds timeout options providers permissions projects schema constructor".split(
    " ",
  );

/** Throws when the name is not allowed. `cannot` is the beginning of the sentence. */
export function checkName(cannot: string, name: string, { about }: Pick<Ctx, "about">): void {
  const shown = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  const refuse = (reason: string) => usage(`${cannot} '${shown}': ${reason}`);
  if (!NAME.test(name))
    throw refuse(
      "a name begins with a letter and has letters, digits, _ and -, at most 64. Choose another.",
    );
  if (RESERVED.includes(name)) throw refuse("the name has a meaning of its own. Choose another.");
  const present = about.plugins.find((plugin) => plugin.name.toLowerCase() === name.toLowerCase());
  if (present?.from === "zz")
    throw refuse("one of zz's own plugins has that name. Choose another name.");
  if (present && present.file !== pluginFile(about.home, name))
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
  const { code = "", path: file = "" } = error as NodeJS.ErrnoException;
  const where = file && ` (${file})`;
  return `${DISK_REASONS[code] ?? sentenceOf(error)}${where}. Name another home with --home, or fix that.`;
}

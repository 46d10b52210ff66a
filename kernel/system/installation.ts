// Where zz itself is installed, and where the person's home is.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { textOf } from "../text/read-quietly.ts";

/**
 * The folder of zz.ts, or of the build: this file is in one of its rooms, one of its chunks, or the
 * whole program.
 */
export const ZZ_FOLDER = fileURLToPath(
  new URL(relativeZzFolder(import.meta.url), import.meta.url),
).replace(/[/\\]$/, "");
function relativeZzFolder(moduleUrl: string): string {
  if (/\/kernel\/system\/[^/]*$/.test(moduleUrl)) return "../..";
  return /\/chunks\/[^/]*$/.test(moduleUrl) ? ".." : ".";
}
export const SELF_URL = pathToFileURL(ZZ_FOLDER).href;
export const IS_BUILT = path.basename(ZZ_FOLDER) === "dist";
export const PACKAGE_FOLDER = IS_BUILT ? path.dirname(ZZ_FOLDER) : ZZ_FOLDER;

/** Whether Node was started with this file: zz's source runs as a program only then. */
export const isProgram = (moduleUrl: string): boolean =>
  !IS_BUILT &&
  process.argv[1] !== undefined &&
  fs.realpathSync(process.argv[1]) === fileURLToPath(moduleUrl);

/** What plugins import by these names, wherever they lie. */
export const modulesForPlugins = (): Record<string, string> => ({
  zz: `${SELF_URL}/${IS_BUILT ? "kernel.js" : "zz.ts"}`,
  "zz/text": `${SELF_URL}/${IS_BUILT ? "text.js" : "sdk/text.ts"}`,
});

/** A checkout is its own home; an installed zz uses ~/.zz. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  if (environment.ZZ_HOME) return path.resolve(environment.ZZ_HOME);
  return fs.existsSync(path.join(PACKAGE_FOLDER, "sessions"))
    ? PACKAGE_FOLDER
    : path.join(os.homedir(), ".zz");
}

let knownVersion: string | undefined;
export const version = (): string =>
  (knownVersion ??= JSON.parse(textOf(path.join(PACKAGE_FOLDER, "package.json")))
    .version as string);

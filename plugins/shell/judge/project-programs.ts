// Programs that the project itself brings under well-known names.
import fs from "node:fs";
import path from "node:path";
import type { Programs } from "zz";

/** Whether bash would run a program of the project: npx and npm put node_modules/.bin into PATH. */
export function isProgramOfProject(name: string, cwd: string, folders = "", find?: Programs["find"]): boolean {
  if (name.includes("/") || !find) return false;
  const first = folders.split(path.delimiter).map((folder) => path.resolve(cwd, folder, name));
  const chosen = first.find(isProgram);
  return chosen !== undefined && chosen !== find(name, folders);
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

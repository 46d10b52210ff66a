// Names to real paths, in this project and in others that the settings name.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { PathScope } from "../instance.ts";
import { fault, usage } from "../text/faults.ts";
import { isInside } from "../text/read-quietly.ts";
import { visible } from "../text/show-safely.ts";
import { tryTo } from "../text/words.ts";
import { followLinks } from "./open-real.ts";

const MAX_PATH_DEPTH = 1_000;

/**
 * The absolute path that a name really stands for: links are followed as far as the path exists.
 */
export function realPath(where: PathScope, name: string): string {
  if (name.includes("\0"))
    throw fault(
      `Cannot use path '${name.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`,
    );
  if (name.split("/").length > MAX_PATH_DEPTH)
    throw fault(`Cannot use path '${name.slice(0, 60)}…': it is nested too deep. Check it.`);
  return followLinks(absolutePath(where, name));
}

/** Another project that the settings name. The current project has no id. */
type Project = { id: string; folder: string; rights: "read" | "write" };
const PROJECT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]+$/; // a single letter is a drive on Windows
const PROJECT_EXAMPLE =
  '{ "path": "~/lib", "rights": "read" }, or "write", with "about" for a line on it';

export function projectsOf({ settings: { projects = {} } }: PathScope): Project[] {
  checkProjects(projects); // settings may have changed since
  return Object.entries(
    projects as Record<string, { path: string; rights: Project["rights"] }>,
  ).map(([id, { path: name, rights }]) => {
    return {
      id,
      folder: followLinks(path.resolve(name.replace(/^~(?=\/|$)/, os.homedir()))),
      rights,
    };
  });
}

/** Refuses a misspelt right, instead of taking it for another. */
function checkProjects(projects: unknown): void {
  const refuse = (subject: string, reason: string) =>
    usage(`Cannot use ${subject} in the settings: ${reason}. Fix it.`);
  const isMap = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMap(projects))
    throw refuse('"projects"', `they must be by id, as in { "lib": ${PROJECT_EXAMPLE} }`);
  for (const [id, project] of Object.entries(projects as object)) {
    const { path: name, rights, about = "", ...others } = Object(project);
    const shown = `project '${visible(id)}'`;
    if (!PROJECT_ID.test(id))
      throw refuse(shown, "an id is two or more letters, digits, '.', '_' or '-'");
    const isPath = typeof name === "string" && /^(~?\/|~$)/.test(name);
    const isRight = ["read", "write"].includes(rights);
    if (!isPath || !isRight || typeof about !== "string" || Object.keys(others).length)
      throw refuse(shown, `it must be like ${PROJECT_EXAMPLE}`);
  }
}

/**
 * The path of a name, without following links. `id:path` is in another project, unless a file here
 * has that name.
 */
export function absolutePath(where: PathScope, name: string): string {
  const [first = "", id] = /^([^/:]+):[^/]*/.exec(name) ?? [];
  const otherProject =
    id === undefined ? undefined : projectsOf(where).find((project) => project.id === id);
  const isHere =
    otherProject && tryTo(() => fs.lstatSync(path.join(where.root, first))) !== undefined;
  return otherProject && !isHere
    ? path.join(otherProject.folder, name.slice(otherProject.id.length + 1))
    : path.resolve(where.root, name);
}

/** The innermost project that a file belongs to, the current one included. */
export function projectContaining(where: PathScope, file: string): Project | undefined {
  const current: Project = { id: "", folder: where.root, rights: "write" };
  return [current, ...projectsOf(where)]
    .filter(({ folder }) => isInside(folder, file))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}

/** The shortest name for a file. */
export function shortestName(where: PathScope, file: string): string {
  const { root } = where;
  const { id, folder } = isInside(root, file)
    ? { id: "", folder: root }
    : (projectContaining(where, file) ?? {});
  const name = folder === undefined ? file : (id && `${id}:`) + path.relative(folder, file);
  return absolutePath(where, name) === file ? name : file;
}

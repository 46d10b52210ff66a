// Names to real paths, in this project and in others that the settings name.
import fs from "node:fs";
import path from "node:path";
import type { PathScope } from "../instance.ts";
import { fault, usage } from "../text/faults.ts";
import { expandHome, isInside } from "../text/read-quietly.ts";
import { visible } from "../text/show-safely.ts";
import { isObject, tryTo } from "../text/words.ts";
import { followLinks } from "./open-real.ts";

const MAX_PATH_DEPTH = 1_000;

/**
 * The absolute path that a name really stands for: links are followed as far as the path exists.
 */
export function realPath(pathScope: PathScope, pathName: string): string {
  if (pathName.includes("\0"))
    throw fault(
      `Cannot use path '${pathName.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`,
    );
  if (pathName.split("/").length > MAX_PATH_DEPTH)
    throw fault(`Cannot use path '${pathName.slice(0, 60)}…': it is nested too deep. Check it.`);
  return followLinks(absolutePath(pathScope, pathName));
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
  ).map(([id, { path: folderName, rights }]) => ({
    id,
    folder: followLinks(path.resolve(expandHome(folderName))),
    rights,
  }));
}

/** Refuses a misspelt right, instead of taking it for another. */
function checkProjects(projects: unknown): void {
  const refuse = (subject: string, reason: string) =>
    usage(`Cannot use ${subject} in the settings: ${reason}. Fix it.`);
  if (!isObject(projects))
    throw refuse('"projects"', `they must be by id, as in { "lib": ${PROJECT_EXAMPLE} }`);
  for (const [id, project] of Object.entries(projects)) {
    const { path: folderName, rights, about = "", ...others } = Object(project);
    const shownProject = `project '${visible(id)}'`;
    if (!PROJECT_ID.test(id))
      throw refuse(shownProject, "an id is two or more letters, digits, '.', '_' or '-'");
    const isFolderPath = typeof folderName === "string" && /^(~?\/|~$)/.test(folderName);
    const isRight = ["read", "write"].includes(rights);
    if (!isFolderPath || !isRight || typeof about !== "string" || Object.keys(others).length)
      throw refuse(shownProject, `it must be like ${PROJECT_EXAMPLE}`);
  }
}

/**
 * The path of a name, without following links. `id:path` is in another project, unless a file here
 * has that name.
 */
export function absolutePath(pathScope: PathScope, pathName: string): string {
  const [firstSegment = "", id] = /^([^/:]+):[^/]*/.exec(pathName) ?? [];
  const otherProject =
    id === undefined ? undefined : projectsOf(pathScope).find((project) => project.id === id);
  const existsHere =
    otherProject &&
    tryTo(() => fs.lstatSync(path.join(pathScope.root, firstSegment))) !== undefined;
  return otherProject && !existsHere
    ? path.join(otherProject.folder, pathName.slice(otherProject.id.length + 1))
    : path.resolve(pathScope.root, pathName);
}

/** The innermost project that a file belongs to, the current one included. */
export function projectContaining(pathScope: PathScope, filePath: string): Project | undefined {
  const current: Project = { id: "", folder: pathScope.root, rights: "write" };
  return [current, ...projectsOf(pathScope)]
    .filter(({ folder }) => isInside(folder, filePath))
    .sort((first, second) => second.folder.length - first.folder.length)[0];
}

/** The shortest name for a file. */
export function shortestName(pathScope: PathScope, filePath: string): string {
  const { root } = pathScope;
  const { id, folder } = isInside(root, filePath)
    ? { id: "", folder: root }
    : (projectContaining(pathScope, filePath) ?? {});
  const shortName =
    folder === undefined ? filePath : (id && `${id}:`) + path.relative(folder, filePath);
  return absolutePath(pathScope, shortName) === filePath ? shortName : filePath;
}

// Tells the model which other folders it may reach: those in the settings, which the gate uses too.
import fs from "node:fs";
import type { Zz } from "zz";
import { expandHome, oneLine } from "zz/text";

type Project = { path: string; rights: "read" | "write"; about?: string };

const PROJECTS_PREFACE = `Other folders of the person's. read_file, list_dir, glob, grep and what
edits files reach them: a file in one is named ID:PATH, the folder itself ID:, and what a search
finds there is named from here. Commands and code tools know this project alone.
read: not to be written. write: every change is shown to the person first, as here.`;

export default (zz: Zz<Record<string, Project>>) =>
  zz.layer({
    name: "projects",
    slot: "project",
    text({ root }) {
      const projectLines = Object.entries(zz.config).flatMap(([id, project]) =>
        projectLine(id, project, root),
      );
      return projectLines.length ? [PROJECTS_PREFACE, ...projectLines].join("\n") : undefined;
    },
  });

/** A line for a folder; none for the one that zz runs in. */
function projectLine(id: string, { path, rights, about = "" }: Project, root: string): string[] {
  const expandedPath = expandHome(path);
  const isThere = fs.existsSync(`${expandedPath}/.`); // a folder, and it may be entered
  const realFolder = isThere ? fs.realpathSync(expandedPath) : expandedPath;
  if (realFolder === root) return [];
  const description = oneLine(about);
  const missing = isThere ? "" : "; missing: no such folder";
  return [`- ${id}: ${realFolder} (${rights}${missing})${description ? `: ${description}` : ""}`];
}

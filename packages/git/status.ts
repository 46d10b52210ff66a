// The output of `git status` as data.
import type { Repository } from "./run-git.ts";

export interface File {
  state: string; // git's two letters: staged, not staged
  path: string; // relative to the project
  from?: string; // its previous name
}

export async function branchAndFiles(
  { git, fromProject }: Repository,
  pathspecs: string[],
  extraArgs: string[] = [],
): Promise<{ branch: string; files: File[] }> {
  const statusOptions = [
    "--short",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=dirty",
    "--no-column",
  ];
  const { stdout } = await git(["status", ...statusOptions, ...extraArgs, "--", ...pathspecs]);
  const [branchLine = "", ...entries] = stdout.split("\0");
  const files: File[] = [];
  for (const fields = entries.values(), nextField = () => fields.next().value; ; ) {
    const entryField = nextField();
    if (!entryField) return { branch: branchLine.replace(/^## /, ""), files };
    const [state, projectPath] = [entryField.slice(0, 2), fromProject(entryField.slice(3))];
    files.push({
      state,
      path: projectPath,
      ...(/[RC]/.test(state) && { from: fromProject(nextField() ?? "") }),
    });
  }
}

/** A file's row: one line, even if a name contains line breaks. */
export function row({ state, path, from }: File): string {
  const showName = (fileName: string) =>
    /[\x00-\x1f\x7f]/.test(fileName) ? JSON.stringify(fileName) : fileName;
  return `${state} ${from === undefined ? "" : `${showName(from)} -> `}${showName(path)}`;
}

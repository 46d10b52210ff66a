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
  const [branchLine = "", ...entries] = stdout.split("\0").filter(Boolean);
  const files: File[] = [];
  const fields = entries.values();
  for (const entryField of fields) {
    const state = entryField.slice(0, 2);
    files.push({
      state,
      path: fromProject(entryField.slice(3)),
      // the field after it
      ...(/[RC]/.test(state) && { from: fromProject(fields.next().value ?? "") }),
    });
  }
  return { branch: branchLine.replace(/^## /, ""), files };
}

/** A file's row: one line, even if a name contains line breaks. */
export function row({ state, path, from }: File): string {
  const showName = (fileName: string) =>
    /[\x00-\x1f\x7f]/.test(fileName) ? JSON.stringify(fileName) : fileName;
  return `${state} ${from === undefined ? "" : `${showName(from)} -> `}${showName(path)}`;
}

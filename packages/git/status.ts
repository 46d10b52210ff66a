// The output of `git status` as data.
import type { Repository } from "./run-git.ts";

export interface File {
  state: string; // git's two letters: staged, not staged
  path: string; // relative to the project
  from?: string; // its previous name
}

export async function branchAndFiles(
  { git, fromProject }: Repository,
  where: string[],
  extraArgs: string[] = [],
): Promise<{ branch: string; files: File[] }> {
  const shape = [
    "--short",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--ignore-submodules=dirty",
    "--no-column",
  ];
  const { stdout } = await git(["status", ...shape, ...extraArgs, "--", ...where]);
  const [branch = "", ...entries] = stdout.split("\0");
  const files: File[] = [];
  for (const fields = entries.values(), next = () => fields.next().value; ; ) {
    const field = next();
    if (!field) return { branch: branch.replace(/^## /, ""), files };
    const [state, name] = [field.slice(0, 2), fromProject(field.slice(3))];
    files.push({
      state,
      path: name,
      ...(/[RC]/.test(state) && { from: fromProject(next() ?? "") }),
    });
  }
}

/** A file's row: one line, even if a name contains line breaks. */
export function row({ state, path, from }: File): string {
  const plain = (name: string) => (/[\x00-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name);
  return `${state} ${from === undefined ? "" : `${plain(from)} -> `}${plain(path)}`;
}

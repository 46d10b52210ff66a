// git_status: branch and changed files.
import { execFile } from "node:child_process";
import type { Zz } from "zz";

export default (zz: Zz) =>
  zz.tool({
    name: "git_status",
    description: "Show the git branch and the files that were changed, added or are not tracked.",
    aliases: ["gitStatus"],
    run: (_, { root, signal }) =>
      new Promise((resolve, reject) =>
        execFile("git", ["status", "--short", "--branch"], { cwd: root, signal }, (error, out, errors) => {
          if (!error) resolve(out.trimEnd());
          else
            reject(new Error(`Cannot ask git: ${errors.split("\n")[0] || error.message}. Is '${root}' a repository?`));
        }),
      ),
  });

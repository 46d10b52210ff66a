// What git lists of the project's repositories.
import type { Ctx } from "zz";

/** Names as latin1, for they are bytes. Nothing that the repository names runs for that. */
export function listedByGit(
  { git, programs }: Ctx,
  cwd: string,
  gitArguments: string[],
  input?: Buffer,
): string[] {
  const { stdout } = programs.run("git", [...git.quiet, ...gitArguments], {
    cwd,
    env: git.env(),
    ...(input && { input }),
    timeout: 10_000,
    maxBuffer: 1 << 26,
    stdio: [input ? "pipe" : "ignore", "pipe", "ignore"],
  });
  return stdout?.toString("latin1").split("\0").filter(Boolean) ?? [];
}

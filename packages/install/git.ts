// Gets a commit as an archive. npm's own way with git checks it out, with submodules, and runs a
// second npm there that obeys the repository's .npmrc; an archive runs no filter, no hook and no
// npm.
import path from "node:path";
import type { Ctx } from "zz";
import { anyOf, fault } from "zz/text";
import { plain } from "./files.ts";
import { type ProgramResult, run } from "./program.ts";

const TIMEOUT_MS = 120_000;
const SETTINGS = ["core.hooksPath=/dev/null", "credential.interactive=false", "gc.auto=0"].flatMap(
  (setting) => ["-c", setting],
);
const FETCH = ["fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];

/** Writes `archive` in the folder `work`. Returns the commit that was meant. */
export async function archiveCommit(
  repositoryUrl: string,
  wantedRef: string,
  { work, archive }: { work: string; archive: string },
  ctx: Ctx,
): Promise<string> {
  const runGit = async (...commandArgs: string[]) => {
    const env = { GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh" };
    const gitArgs = [...SETTINGS, "--git-dir", path.join(work, "git"), ...commandArgs];
    const gitResult = await run(ctx, "git", gitArgs, { cwd: work, env, limit: TIMEOUT_MS });
    if (gitResult.code) throw faultOf(gitResult, wantedRef);
    return gitResult.stdout.trim();
  };
  await runGit("init", "-q", "--bare", "--template=", path.join(work, "git"));
  let fetchedName = "refs/zz/wanted";
  await runGit(
    ...FETCH,
    "--depth=1",
    "--",
    repositoryUrl,
    `+${wantedRef || "HEAD"}:${fetchedName}`,
  ).catch(async (error) => {
    // Not every server gives a commit by its hash, and a short hash can only be found after
    // fetching everything.
    if (!/^[0-9a-f]{7,64}$/.test(wantedRef)) throw error;
    await runGit(...FETCH, "--", repositoryUrl, "+refs/*:refs/zz/*");
    fetchedName = wantedRef;
  });
  const commitHash = await runGit(
    "rev-parse",
    "--verify",
    "--end-of-options",
    `${fetchedName}^{commit}`,
  );
  await runGit(
    "archive",
    "--format=tar",
    "--prefix=package/",
    "-o",
    path.join(work, archive),
    commitHash,
  );
  return commitHash;
}

const FAILURE_HINTS: [says: RegExp, why: string][] = [
  [
    anyOf(
      /could not read (Username|Password)|Authentication failed|terminal prompts disabled/i,
      /Permission denied|Host key verification|returned error: 40[13]/i,
    ),
    "it is private, or is not there: git was asked to log in, and nothing was typed for it. " +
      "Let git's credentials or an ssh agent know it",
  ],
  [
    anyOf(
      /Could not resolve|Failed to connect|Couldn't connect/i,
      /Connection (refused|timed out)|unreachable/i,
    ),
    "git cannot reach it. Check the network",
  ],
  [
    /SSL|certificate/,
    "its server's certificate is not trusted here. Check the network, and git's http.sslCAInfo",
  ],
  [
    /Unable to find remote helper|transport '.*' not allowed/,
    "git speaks no such protocol. Use https or ssh",
  ],
  [
    /early EOF|unexpected disconnect|hung up|RPC failed|bad object|corrupt/i,
    "what came is not whole. Try again",
  ],
  [/No space left/, "the disk is full. Make room"],
  [
    /not appear to be a git repository|repository .*not found|not found$/im,
    "git finds no repository there. Check the URL",
  ],
];

function faultOf({ stderr, code }: ProgramResult, wantedRef: string): Error {
  if (/couldn't find remote ref|Needed a single revision/.test(stderr))
    return fault(
      wantedRef
        ? `it has no branch, tag or commit '${plain(wantedRef)}'. Check what follows the #`
        : "it is empty",
    );
  const failureHint = FAILURE_HINTS.find(([saysPattern]) => saysPattern.test(stderr))?.[1];
  const errorLine =
    /^(?:fatal|error|ERROR): (.*)/m.exec(stderr)?.[1] ?? stderr.trim().split("\n")[0];
  const shownError = plain(errorLine || `exit code ${code}`);
  return fault(failureHint ?? `git failed and said "${shownError}". Try git by itself`);
}

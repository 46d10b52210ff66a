// Gets a commit as an archive. npm's own way with git checks it out, with submodules, and runs a
// second npm there that obeys the repository's .npmrc; an archive runs no filter, no hook and no
// npm.
import path from "node:path";
import type { Ctx } from "zz";
import { fault } from "zz/text";
import { plain } from "./files.ts";
import { type ProgramResult, run } from "./program.ts";

const TIMEOUT_MS = 120_000;
const SETTINGS = ["core.hooksPath=/dev/null", "credential.interactive=false", "gc.auto=0"].flatMap(
  (setting) => ["-c", setting],
);
const FETCH = ["fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];

/** Writes `archive` in the folder `work`. Returns the commit that was meant. */
export async function archiveCommit(
  url: string,
  wanted: string,
  { work, archive }: { work: string; archive: string },
  ctx: Ctx,
): Promise<string> {
  const git = async (...args: string[]) => {
    const env = { GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh" };
    const gitArgs = [...SETTINGS, "--git-dir", path.join(work, "git"), ...args];
    const ran = await run(ctx, "git", gitArgs, { cwd: work, env, limit: TIMEOUT_MS });
    if (ran.code) throw faultOf(ran, wanted);
    return ran.stdout.trim();
  };
  await git("init", "-q", "--bare", "--template=", path.join(work, "git"));
  let name = "refs/zz/wanted";
  await git(...FETCH, "--depth=1", "--", url, `+${wanted || "HEAD"}:${name}`).catch(
    async (error) => {
      // Not every server gives a commit by its hash, and a short hash can only be found after
      // fetching everything.
      if (!/^[0-9a-f]{7,64}$/.test(wanted)) throw error;
      await git(...FETCH, "--", url, "+refs/*:refs/zz/*");
      name = wanted;
    },
  );
  const commit = await git("rev-parse", "--verify", "--end-of-options", `${name}^{commit}`);
  await git("archive", "--format=tar", "--prefix=package/", "-o", path.join(work, archive), commit);
  return commit;
}

const HINTS: [says: RegExp, why: string][] = [
  [
    /could not read (Username|Password)|Authentication failed|terminal prompts disabled|Permission denied|Host key verification|returned error: 40[13]/i,
    "it is private, or is not there: git was asked to log in, and nothing was typed for it. Let git's credentials or an ssh agent know it",
  ],
  [
    /Could not resolve|Failed to connect|Couldn't connect|Connection (refused|timed out)|unreachable/i,
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

function faultOf({ stderr, code }: ProgramResult, ref: string): Error {
  if (/couldn't find remote ref|Needed a single revision/.test(stderr))
    return fault(
      ref
        ? `it has no branch, tag or commit '${plain(ref)}'. Check what follows the #`
        : "it is empty",
    );
  const hint = HINTS.find(([says]) => says.test(stderr))?.[1];
  const line = /^(?:fatal|error|ERROR): (.*)/m.exec(stderr)?.[1] ?? stderr.trim().split("\n")[0];
  const said = plain(line || `exit code ${code}`);
  return fault(hint ?? `git failed and said "${said}". Try git by itself`);
}

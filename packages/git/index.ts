// git_status, git_diff and git_log only read. For git_commit the person is asked, and shown
// everything it will do.
import fs from "node:fs";
import type { Ctx, Needs, Zz } from "zz";
import { plural } from "zz/text";
import { changedIn, type Shown } from "./agreed.ts";
import { assertAsShown, carryOut, describePlan, plan } from "./commit.ts";
import {
  capped,
  check,
  DIFF,
  hashOf,
  listSome,
  needsOf,
  ownPath,
  pathspec,
  type Repository,
  repository,
} from "./run-git.ts";
import { branchAndFiles, row } from "./status.ts";

// what git may take to answer; hooks can run a test suite
export const defaults = { seconds: 60, commitSeconds: 600 };

const seconds = { type: "number", minimum: 0.01, maximum: 86_400 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      seconds: { ...seconds, description: "seconds that git may take to answer" },
      commitSeconds: { ...seconds, description: "seconds that a commit may take, with its hooks" },
    },
  },
};

// zz waits this much longer than this plugin, so that the plugin's own error is reported
const SPARE_MS = 10_000;
const MAX_LISTED = 20; // files in a note
const PATH_ALIASES = ["file", "file_path", "filepath"]; // what models call it

type GitZz = Zz<typeof defaults>;

export default (zz: GitZz) => {
  addStatus(zz);
  addDiff(zz);
  addLog(zz);
  addCommit(zz);
};

function addStatus(zz: GitZz): void {
  const { seconds } = zz.config;
  zz.tool({
    name: "git_status",
    description: "Show the git branch and the files that were changed, added or are not tracked.",
    aliases: ["status"],
    params: { path: "string? only under this file or folder" },
    also: { path: PATH_ALIASES },
    ...looking("git status", seconds),
    async run({ path = "." }, ctx) {
      const gitRepository = await repository(ctx, seconds);
      const { branch, files } = await branchAndFiles(gitRepository, [pathspec(path, ctx)]);
      const statusRows = [
        `## ${branch}`,
        ...files.map(row),
        ...(files.length ? [] : ["No changes."]),
      ];
      statusRows.push(
        ...(await unfiltered(
          gitRepository,
          files.map((changedFile) => changedFile.path),
        )),
      );
      return { text: capped(statusRows.join("\n")).text, data: { branch, files } };
    },
  });
}

function addDiff(zz: GitZz): void {
  const { seconds } = zz.config;
  zz.tool({
    name: "git_diff",
    description:
      "Show what changed in the files: not staged, staged, since a commit, between two (a..b).",
    aliases: ["diff"],
    params: {
      path: "string? only under this file or folder",
      staged: "boolean? what is staged for the next commit",
      ref: "string? a commit, branch, tag, or two of them as a..b",
    },
    also: { path: PATH_ALIASES, staged: ["cached"], ref: ["commit", "revision"] },
    ...looking("git diff", seconds),
    run: async ({ path = ".", staged = false, ref }, ctx) => {
      const repo = await repository(ctx, seconds);
      const compared = [
        ...(staged ? ["--cached"] : []),
        ...(ref === undefined ? [] : [await commits(repo, ref)]),
      ];
      const where = pathspec(path, ctx);
      const nameArgs = ["--name-only", "--no-renames", "-z", ...compared, "--", where];
      const names = (await repo.git([...DIFF, ...nameArgs])).stdout.split("\0").filter(Boolean);
      const own = ownPath(path, ctx);
      // hidden: what the gate would not let the model read without asking
      const { shown = [], hidden = [] } = Object.groupBy(names, (name) =>
        name === own || ctx.permissions.judge("read", name).verdict === "allow"
          ? "shown"
          : "hidden",
      );
      if (!names.length)
        return {
          text: await whyEmpty(repo, where, { path, staged, ctx, ref }),
          data: { files: [], hidden, cut: 0 },
        };
      const without = hidden.map((hiddenName) => `:(exclude,literal)${hiddenName}`);
      const { stdout, lost } = shown.length
        ? await repo.git([...DIFF, ...compared, "--", where, ...without], { cut: true })
        : { stdout: "", lost: 0 };
      const { text, cut } = capped(
        stdout,
        lost,
        `; ask for one path at a time: ${listSome(shown, MAX_LISTED)}`,
      );
      const endNotes = hidden.length
        ? [`[Left out, since they may not be read: ${listSome(hidden, MAX_LISTED)}]`]
        : [];
      endNotes.push(...(await unfiltered(repo, shown)));
      return {
        text: [text.trimEnd(), ...endNotes].filter(Boolean).join("\n"),
        data: { files: shown, hidden, cut },
      };
    },
  });
}

function addLog(zz: GitZz): void {
  const { seconds } = zz.config;
  zz.tool({
    name: "git_log",
    description: "Show the latest commits: short hash, date, author, subject.",
    aliases: ["log"],
    params: {
      path: "string? only commits that changed this file or folder",
      count: "integer? how many; 20 if left out",
      since: "string? only later ones: a date, or such as '2 weeks ago'",
    },
    also: { path: PATH_ALIASES, count: ["limit", "n", "max_count"] },
    ...looking("git log", seconds),
    async run({ path = ".", count: maxCommits = 20, since }, ctx) {
      if (maxCommits < 1)
        throw new Error(`Cannot show ${maxCommits} commits: that is none. Ask for 1 or more.`);
      const gitRepository = await repository(ctx, seconds, false);
      const logFormat = "--format=%h%x1f%as%x1f%an%x1f%D%x1f%s";
      const plainLogArgs = [
        "log",
        "-z",
        "--no-color",
        "--no-patch",
        "--no-notes",
        "--no-show-signature",
        "--ignore-submodules",
      ];
      const limitArgs = [
        `--max-count=${maxCommits}`,
        ...(since === undefined ? [] : [`--since=${since}`]),
      ];
      const logPathspecs = path === "." ? [] : [pathspec(path, ctx)];
      const logAnswer = await gitRepository
        .git([...plainLogArgs, logFormat, ...limitArgs, "HEAD", "--", ...logPathspecs])
        .catch(async (error) => {
          if (await hashOf("HEAD", gitRepository)) throw error;
        });
      if (!logAnswer) return { text: "No commits yet.", data: [] };
      const data = logAnswer.stdout
        .split("\0")
        .filter(Boolean)
        .map((commitLine) => {
          const [hash, date, author, refs, subject] = commitLine.split("\x1f");
          return { hash, date, author, refs, subject };
        });
      const commitRows = data.map(
        ({ hash, date, author, refs, subject }) =>
          `${hash} ${date} ${author}: ${subject}${refs && ` (${refs})`}`,
      );
      const noCommitsText =
        `No commits${path === "." ? "" : ` that changed '${path}'`}` +
        `${since ? ` since '${since}'` : ""}.`;
      return { text: capped(commitRows.join("\n")).text || noCommitsText, data };
    },
  });
}

function addCommit(zz: GitZz): void {
  const { seconds, commitSeconds } = zz.config;
  const shownByArgs = new WeakMap<object, Shown>(); // by the arguments of the call
  zz.tool({
    name: "git_commit",
    description:
      "Commit: with files, these as they are now, new ones too; without, what is staged. " +
      "The person is asked. Never amends or pushes.",
    aliases: ["commit"],
    params: {
      message: "string a subject line; a body after an empty line",
      files: "string[]? only these",
    },
    also: { message: ["msg", "commit_message"], files: ["paths"] },
    async needs(_, ctx) {
      const { read = [], run = ["git commit"] } = await needsOf("git commit", ctx, seconds);
      return { run, ...(read.length && { read }) };
    },
    timeout: commitSeconds * 1_000 + SPARE_MS,
    async preview(args, ctx) {
      const { why } = await check(ctx, seconds);
      if (why)
        return `zz cannot show what it would commit: ${why}.\nWith the message:\n${args.message}`;
      const gitRepository = await repository(ctx, seconds);
      const { text, shown } = await describePlan(
        args,
        await plan(args, gitRepository, ctx),
        gitRepository,
        ctx,
      );
      shownByArgs.set(args, shown);
      return text;
    },
    async run(args, ctx) {
      const gitRepository = await repository(ctx, commitSeconds);
      const planned = await plan(args, gitRepository, ctx);
      const shownBefore = shownByArgs.get(args);
      if (shownBefore)
        assertAsShown(shownBefore, (await describePlan(args, planned, gitRepository, ctx)).shown);
      const commitResult = await carryOut(args, planned, gitRepository, () =>
        repository(unstopped(ctx), seconds),
      );
      const otherwise =
        shownBefore && !commitResult.failed
          ? await changedIn(shownBefore, planned, gitRepository, ctx)
          : "";
      const changedNote =
        `\n[Not as it was shown: ${otherwise}. ` +
        "A hook, or another program, changed it at the last moment. Look at the commit.]";
      return otherwise ? { ...commitResult, text: commitResult.text + changedNote } : commitResult;
    },
  });
}

/**
 * Cleans up after a commit that was stopped: the signal that stopped it must not stop the cleanup.
 */
const unstopped = (ctx: Ctx) => {
  const { root, about, git, programs, io } = ctx;
  return { root, about, git, programs, io, signal: new AbortController().signal };
};

/** What the tools have in common that only show something, perhaps of one path. */
const looking = (question: string, seconds: number) => ({
  kind: "read" as const,
  timeout: seconds * 1_000 + SPARE_MS,
  async needs({ path = "." }: { path?: string | undefined }, ctx: Ctx): Promise<Needs> {
    const { read = [], ...others } = await needsOf(question, ctx, seconds);
    return { read: [path, ...read], ...others };
  },
});

/**
 * Resolves `ref` to commit hashes, so that it cannot be an option, a path or a single file's
 * content.
 */
async function commits(gitRepository: Repository, ref: string): Promise<string> {
  const refuse = (reason: string) => new Error(`Cannot compare with '${ref}': ${reason}.`);
  if (ref.startsWith("-")) throw refuse("it begins with a dash. Name a commit, a branch or a tag");
  const [, fromRef = "", rangeDots = "", untilRef = ""] =
    /^(.*?)(?:(\.{2,3})(.*))?$/s.exec(ref) ?? [];
  const commitHashes: string[] = [];
  for (const rangeSide of rangeDots ? [fromRef || "HEAD", untilRef || "HEAD"] : [fromRef]) {
    const commitHash =
      !rangeSide.startsWith("-") && (await hashOf(`${rangeSide}^{commit}`, gitRepository));
    if (!commitHash) throw refuse(`there is no commit '${rangeSide}'. git_log shows what there is`);
    commitHashes.push(commitHash);
  }
  return commitHashes.join(rangeDots);
}

/** Explains why a diff is empty, and says where the changes are that the model may have meant. */
async function whyEmpty(
  gitRepository: Repository,
  diffPathspec: string,
  { path, staged, ref, ctx }: { path: string; staged: boolean; ref?: string; ctx: Ctx },
): Promise<string> {
  const { files } = await branchAndFiles(gitRepository, [diffPathspec]);
  const isTracked = async () =>
    (await gitRepository.git(["ls-files", "-z", "--", diffPathspec])).stdout !== "";
  if (!files.length && !fs.existsSync(ctx.files.path(path)) && !(await isTracked()))
    throw new Error(
      `Cannot show what changed in '${path}': there is no such file or folder, ` +
        "nor does git track one. git_status lists what changed.",
    );
  if (ref !== undefined) return "No changes.";
  const countFiles = (statePattern: RegExp) =>
    files.filter(({ state }) => statePattern.test(state)).length;
  const [inIndex, outside, untracked] = [/^[^ ?!]/, /^[^?!][^ ]/, /^\?\?/].map(countFiles);
  const others: string[] = [];
  if (!staged && inIndex) others.push(`${plural(inIndex, "file")} staged: ask with staged`);
  if (staged && outside)
    others.push(`${plural(outside, "file")} changed and not staged: ask without staged`);
  if (untracked) others.push(`${plural(untracked, "path")} not tracked: git_status lists them`);
  const unstaged = inIndex ? "No unstaged changes" : "No changes";
  const emptySentence = staged ? "No staged changes" : unstaged;
  return others.length ? `${emptySentence} (${others.join("; ")}).` : "No changes.";
}

/** A note on files that may only look changed, because their content filter did not run. */
async function unfiltered({ git, filters }: Repository, fileNames: string[]): Promise<string[]> {
  if (!filters.length || !fileNames.length) return [];
  const input = fileNames.map((fileName) => `${fileName}\0`).join("");
  const { stdout } = await git(["check-attr", "-z", "--stdin", "filter"], {
    input,
    cut: true,
    codes: [0, 128],
  });
  const fields = stdout.split("\0");
  const filteredNames = fileNames.filter((_, i) => filters.includes(fields[i * 3 + 2] ?? ""));
  return filteredNames.length
    ? [
        "[Compared without their content filter, " +
          `so these may only look changed: ${listSome(filteredNames, MAX_LISTED)}]`,
      ]
    : [];
}

// git_status, git_diff and git_log only read. For git_commit the person is asked, and shown
// everything it will do.
import fs from "node:fs";
import type { Ctx, Needs, Zz } from "zz";
import { plural } from "zz/text";
import { changedIn, type Shown } from "./agreed.ts";
import { assertAsShown, carryOut, look, plan } from "./commit.ts";
import {
  capped,
  check,
  DIFF,
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
const PATH = ["file", "file_path", "filepath"]; // what models call it

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
    kind: "read",
    description: "Show the git branch and the files that were changed, added or are not tracked.",
    aliases: ["status"],
    params: { path: "string? only under this file or folder" },
    also: { path: PATH },
    needs: ({ path = "." }, ctx) => needsToLook("git status", path, ctx, seconds),
    timeout: seconds * 1_000 + SPARE_MS,
    async run({ path = "." }, ctx) {
      const repo = await repository(ctx, seconds);
      const { branch, files } = await branchAndFiles(repo, [pathspec(path, ctx)]);
      const rows = [`## ${branch}`, ...files.map(row), ...(files.length ? [] : ["No changes."])];
      rows.push(
        ...(await unfiltered(
          repo,
          files.map((file) => file.path),
        )),
      );
      return { text: capped(rows.join("\n")).text, data: { branch, files } };
    },
  });
}

function addDiff(zz: GitZz): void {
  const { seconds } = zz.config;
  zz.tool({
    name: "git_diff",
    kind: "read",
    description:
      "Show what changed in the files: not yet staged, or staged, or since a commit or between two (a..b).",
    aliases: ["diff"],
    params: {
      path: "string? only under this file or folder",
      staged: "boolean? what is staged for the next commit",
      ref: "string? a commit, branch, tag, or two of them as a..b",
    },
    also: { path: PATH, staged: ["cached"], ref: ["commit", "revision"] },
    needs: ({ path = "." }, ctx) => needsToLook("git diff", path, ctx, seconds),
    timeout: seconds * 1_000 + SPARE_MS,
    run: async ({ path = ".", staged = false, ref }, ctx) => {
      const repo = await repository(ctx, seconds);
      const compared = [
        ...(staged ? ["--cached"] : []),
        ...(ref === undefined ? [] : [await commits(repo, ref)]),
      ];
      const where = pathspec(path, ctx);
      const named = await repo.git([
        ...DIFF,
        "--name-only",
        "--no-renames",
        "-z",
        ...compared,
        "--",
        where,
      ]);
      const names = named.stdout.split("\0").filter(Boolean);
      const hidden = names.filter((name) => name !== ownPath(path, ctx) && !isShown(name, ctx));
      const shown = names.filter((name) => !hidden.includes(name));
      if (!names.length)
        return {
          text: await whyEmpty(repo, where, { path, staged, ctx, ref }),
          data: { files: [], hidden, cut: 0 },
        };
      const without = hidden.map((name) => `:(exclude,literal)${name}`);
      const { stdout, lost } = shown.length
        ? await repo.git([...DIFF, ...compared, "--", where, ...without], { cut: true })
        : { stdout: "", lost: 0 };
      const { text, cut } = capped(
        stdout,
        lost,
        `; ask for one path at a time: ${listSome(shown)}`,
      );
      const notes = hidden.length
        ? [`[Left out, since they may not be read: ${listSome(hidden)}]`]
        : [];
      notes.push(...(await unfiltered(repo, shown)));
      return {
        text: [text.trimEnd(), ...notes].filter(Boolean).join("\n"),
        data: { files: shown, hidden, cut },
      };
    },
  });
}

function addLog(zz: GitZz): void {
  const { seconds } = zz.config;
  zz.tool({
    name: "git_log",
    kind: "read",
    description: "Show the latest commits: short hash, date, author, subject.",
    aliases: ["log"],
    params: {
      path: "string? only commits that changed this file or folder",
      count: "integer? how many; 20 if left out",
      since: "string? only later ones: a date, or such as '2 weeks ago'",
    },
    also: { path: PATH, count: ["limit", "n", "max_count"] },
    needs: ({ path = "." }, ctx) => needsToLook("git log", path, ctx, seconds),
    timeout: seconds * 1_000 + SPARE_MS,
    async run({ path = ".", count: maxCommits = 20, since }, ctx) {
      if (maxCommits < 1)
        throw new Error(`Cannot show ${maxCommits} commits: that is none. Ask for 1 or more.`);
      const repo = await repository(ctx, seconds, false);
      const format = "--format=%h%x1f%as%x1f%an%x1f%D%x1f%s";
      const plain = [
        "log",
        "-z",
        "--no-color",
        "--no-patch",
        "--no-notes",
        "--no-show-signature",
        "--ignore-submodules",
      ];
      const limits = [
        `--max-count=${maxCommits}`,
        ...(since === undefined ? [] : [`--since=${since}`]),
      ];
      const where = path === "." ? [] : [pathspec(path, ctx)];
      const asked = await repo
        .git([...plain, format, ...limits, "HEAD", "--", ...where])
        .catch(async (error) => {
          if (await hasCommits(repo)) throw error;
        });
      if (!asked) return { text: "No commits yet.", data: [] };
      const data = asked.stdout
        .split("\0")
        .filter(Boolean)
        .map((line) => {
          const [hash, date, author, refs, subject] = line.split("\x1f");
          return { hash, date, author, refs, subject };
        });
      const rows = data.map(
        ({ hash, date, author, refs, subject }) =>
          `${hash} ${date} ${author}: ${subject}${refs && ` (${refs})`}`,
      );
      const none = `No commits${path === "." ? "" : ` that changed '${path}'`}${since ? ` since '${since}'` : ""}.`;
      return { text: capped(rows.join("\n")).text || none, data };
    },
  });
}

function addCommit(zz: GitZz): void {
  const { seconds, commitSeconds } = zz.config;
  const asked = new WeakMap<object, Shown>(); // by the arguments of the call
  zz.tool({
    name: "git_commit",
    description:
      "Commit: with files, these as they are now, new ones too; without, what is staged. The person is asked. Never amends or pushes.",
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
      const repo = await repository(ctx, seconds);
      const { text, shown } = await look(args, await plan(args, repo, ctx), repo, ctx);
      asked.set(args, shown);
      return text;
    },
    async run(args, ctx) {
      const repo = await repository(ctx, commitSeconds);
      const planned = await plan(args, repo, ctx);
      const shown = asked.get(args);
      if (shown) assertAsShown(shown, (await look(args, planned, repo, ctx)).shown);
      const result = await carryOut(args, planned, repo, () => repository(unstopped(ctx), seconds));
      const otherwise = shown && !result.failed ? await changedIn(shown, planned, repo, ctx) : "";
      const note = `\n[Not as it was shown: ${otherwise}. A hook, or another program, changed it at the last moment. Look at the commit.]`;
      return otherwise ? { ...result, text: result.text + note } : result;
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

async function needsToLook(
  question: string,
  path: string,
  ctx: Ctx,
  seconds: number,
): Promise<Needs> {
  const { read = [], ...others } = await needsOf(question, ctx, seconds);
  return { read: [path, ...read], ...others };
}

/**
 * Whether a diff may show the file: only if the gate would let the model read it without asking.
 */
function isShown(name: string, { permissions }: Ctx): boolean {
  return permissions.judge("read", name).verdict === "allow";
}

/**
 * Resolves `ref` to commit hashes, so that it cannot be an option, a path or a single file's
 * content.
 */
async function commits({ git }: Repository, ref: string): Promise<string> {
  const refuse = (reason: string) => new Error(`Cannot compare with '${ref}': ${reason}.`);
  if (ref.startsWith("-")) throw refuse("it begins with a dash. Name a commit, a branch or a tag");
  const [, from = "", dots = "", to = ""] = /^(.*?)(?:(\.{2,3})(.*))?$/s.exec(ref) ?? [];
  const hashes: string[] = [];
  for (const side of dots ? [from || "HEAD", to || "HEAD"] : [from]) {
    const codes = [0, 1, 128];
    const answer = side.startsWith("-")
      ? undefined
      : await git(["rev-parse", "--verify", "--quiet", `${side}^{commit}`], { codes });
    if (!answer || answer.code)
      throw refuse(`there is no commit '${side}'. git_log shows what there is`);
    hashes.push(answer.stdout.trim());
  }
  return hashes.join(dots);
}

async function hasCommits({ git }: Repository): Promise<boolean> {
  return (
    (await git(["rev-parse", "--verify", "--quiet", "HEAD"], { codes: [0, 1, 128] })).code === 0
  );
}

/** Explains why a diff is empty, and says where the changes are that the model may have meant. */
async function whyEmpty(
  repo: Repository,
  where: string,
  { path, staged, ref, ctx }: { path: string; staged: boolean; ref?: string; ctx: Ctx },
): Promise<string> {
  const { files } = await branchAndFiles(repo, [where]);
  if (!files.length && !(await isKnown(repo, where, ctx.files.path(path))))
    throw new Error(
      `Cannot show what changed in '${path}': there is no such file or folder, nor does git track one. git_status lists what changed.`,
    );
  if (ref !== undefined) return "No changes.";
  const has = (fits: (state: string) => boolean) => files.filter(({ state }) => fits(state)).length;
  const [inIndex, outside, fresh] = [
    has((state) => !/^[ ?!]/.test(state)),
    has((state) => /^[^?!][^ ]/.test(state)),
    has((state) => state === "??"),
  ];
  const others: string[] = [];
  if (!staged && inIndex) others.push(`${plural(inIndex, "file")} staged: ask with staged`);
  if (staged && outside)
    others.push(`${plural(outside, "file")} changed and not staged: ask without staged`);
  if (fresh) others.push(`${plural(fresh, "path")} not tracked: git_status lists them`);
  const unstaged = inIndex ? "No unstaged changes" : "No changes";
  const which = staged ? "No staged changes" : unstaged;
  return others.length ? `${which} (${others.join("; ")}).` : "No changes.";
}

/** Whether a path is there, or git tracks something at it, now or in the last commit. */
async function isKnown({ git }: Repository, where: string, file: string): Promise<boolean> {
  if (fs.existsSync(file)) return true;
  const tracked = await git(["ls-files", "-z", "--", where]);
  return tracked.stdout !== "";
}

/** A note on files that may only look changed, because their content filter did not run. */
async function unfiltered({ git, filters }: Repository, names: string[]): Promise<string[]> {
  if (!filters.length || !names.length) return [];
  const input = names.map((name) => `${name}\0`).join("");
  const { stdout } = await git(["check-attr", "-z", "--stdin", "filter"], {
    input,
    cut: true,
    codes: [0, 128],
  });
  const fields = stdout.split("\0");
  const under = names.filter((_, i) => filters.includes(fields[i * 3 + 2] ?? ""));
  return under.length
    ? [
        `[Compared without their content filter, so these may only look changed: ${listSome(under)}]`,
      ]
    : [];
}

function listSome(names: string[]): string {
  const unlisted = names.length - 20;
  return names.slice(0, 20).join(", ") + (unlisted > 0 ? ` and ${unlisted} more` : "");
}

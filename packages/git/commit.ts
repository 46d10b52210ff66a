// git_commit: shows with the question what it will do, and makes the commit.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural, tryTo } from "zz/text";
import { differences, type Shown, shownNow } from "./agreed.ts";
import { capped, DIFF, gitErrorOf, ownPath, type Repository } from "./run-git.ts";
import { branchAndFiles, type File, row } from "./status.ts";

interface Args {
  message: string;
  files?: string[];
}
export interface Plan {
  branch: string;
  files: File[]; // one letter: A, M, D, T
  fresh: string[]; // those that git does not track yet
  only: string[]; // the pathspecs of the requested files; empty: what is staged
  against: string[] | undefined; // the arguments of git diff; undefined: there is no commit yet
}

const COMMIT_HOOKS = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-index-change",
  "reference-transaction",
  "post-commit",
];
const literal = (fileName: string): string => `:(literal)${fileName}`;
const refuse = (reason: string): Error => new Error(`Cannot commit: ${reason}`);

export async function plan(
  { message, files: asked = [] }: Args,
  repository: Repository,
  ctx: Ctx,
): Promise<Plan> {
  if (!message.trim()) throw refuse("the message is empty. Say what was changed, and why.");
  const { branch, files } = await branchAndFiles(repository, [], ["--no-renames"]);
  const conflict = files.find(({ state }) => /^(DD|AA|.U|U.)$/.test(state));
  if (conflict) throw refuse(`'${conflict.path}' has a conflict. Resolve it and stage it first.`);
  const askedPaths = asked.map((askedName) => ownPath(askedName, ctx));
  const chosenFiles = asked.length
    ? await toCommit(repository, files, askedPaths)
    : stagedFiles(files);
  if (!chosenFiles.files.length && !(await isMerging(repository, ctx)))
    throw refuse(
      `nothing is staged${offer(files)}. Name the files to commit in 'files', or stage them.`,
    );
  const only = askedPaths.map(literal);
  const unbornBranch = /^No commits yet on (.*)$/.exec(branch);
  const headArgs = unbornBranch ? undefined : ["HEAD"];
  return {
    branch:
      unbornBranch?.[1] ??
      (branch === "HEAD (no branch)" ? "no branch (a detached HEAD)" : branch.split("...")[0]!),
    ...chosenFiles,
    only,
    against: asked.length ? headArgs : ["--cached"],
  };
}

const stagedFiles = (changedFiles: File[]) => ({
  files: changedFiles
    .filter(({ state }) => !/^[ ?!]/.test(state))
    .map(({ state, ...file }) => ({ ...file, state: state[0]! })),
  fresh: [],
});

/** The requested files, and those in requested folders. */
async function toCommit(
  { git }: Repository,
  allFiles: File[],
  askedPaths: string[],
): Promise<Pick<Plan, "files" | "fresh">> {
  const untrackedAnswer = await git([
    "ls-files",
    "--others",
    "--exclude-standard",
    "-z",
    "--",
    ...askedPaths.map(literal),
  ]);
  const fresh = untrackedAnswer.stdout.split("\0").filter(Boolean);
  const isWithin = (askedPath: string, filePath: string) =>
    askedPath === "." || filePath === askedPath || filePath.startsWith(`${askedPath}/`);
  const trackedFiles = allFiles.filter(
    ({ state, path: filePath }) =>
      state !== "??" && askedPaths.some((askedPath) => isWithin(askedPath, filePath)),
  );
  const files = [
    ...trackedFiles.map(({ state, path: filePath }) => ({ path: filePath, state: letter(state) })),
    ...fresh.map((freshPath) => ({ path: freshPath, state: "A" })),
  ];
  for (const askedPath of askedPaths)
    if (!files.some((plannedFile) => isWithin(askedPath, plannedFile.path)))
      throw refuse(
        `there is nothing new in '${askedPath}', or git ignores it. ` +
          "git_status lists what there is.",
      );
  return { files, fresh };
}

const letter = ([inIndex, outside]: string): string =>
  inIndex === "A" || outside === " " || outside === undefined ? inIndex! : outside;

function offer(changedFiles: File[]): string {
  return changedFiles.length
    ? ` (${plural(changedFiles.length, "path")} changed: ` +
        `${changedFiles.slice(0, 10).map(row).join(", ")})`
    : "";
}

async function isMerging({ git }: Repository, { root }: Ctx): Promise<boolean> {
  const { stdout } = await git(["rev-parse", "--git-path", "MERGE_HEAD"]);
  return fs.existsSync(path.resolve(root, stdout.trimEnd()));
}

/**
 * The hooks and configured programs that the commit would run. Git is asked for them with the
 * commit's own options.
 */
async function programs({ git }: Repository, { root }: Ctx): Promise<string[]> {
  const { stdout: hooksFolder } = await git(["rev-parse", "--git-path", "hooks"], { own: true });
  const hookNames = COMMIT_HOOKS.filter((hookName) =>
    isProgram(path.resolve(root, hooksFolder.trimEnd(), hookName)),
  );
  const programKeys = "^(filter\\..*\\.(clean|process)|hook\\..*\\.command|commit\\.gpgsign)$";
  const { stdout } = await git(["config", "-z", "--get-regexp", programKeys], { own: true });
  const configured = stdout.split("\0").filter(Boolean);
  const signing =
    configured.findLast((setting) => setting.startsWith("commit.gpgsign"))?.split("\n")[1] ??
    "false";
  return [
    ...hookNames.map((hookName) => `the hook ${hookName}`),
    ...configured.flatMap((setting) => {
      const [, programKind, programName] = /^(filter|hook)\.(.*)\.[^.]*\n./s.exec(setting) ?? [];
      return programKind === undefined ? [] : [`the ${programKind} '${programName}'`];
    }),
    ...(/^(false|no|off|0|)$/i.test(signing) ? [] : ["the program that signs"]),
  ];
}

const isProgram = (programFile: string): boolean =>
  tryTo(() => fs.accessSync(programFile, fs.constants.X_OK) === undefined) === true;

/** What the person sees with the question, and what it stands for. */
export async function describePlan(
  { message }: Args,
  commitPlan: Plan,
  repository: Repository,
  ctx: Ctx,
): Promise<{ text: string; shown: Shown }> {
  const { branch, files, only, against } = commitPlan;
  const compare = [...DIFF, "--no-relative", "--stat=100"];
  const diffStat =
    against && (await repository.git([...compare, ...against, "--", ...only])).stdout.trimEnd();
  const runPrograms = await programs(repository, ctx);
  const text = [
    `On ${branch}, ${plural(files.length, "file")}:`,
    ...files.map((plannedFile) => `  ${row(plannedFile)}`),
    "With the message:",
    ...message
      .trim()
      .split("\n")
      .map((messageLine) => `  ${messageLine}`),
    ...(diffStat ? diffStat.split("\n") : []),
    ...(runPrograms.length ? [`It will run ${[...new Set(runPrograms)].join(", ")}.`] : []),
  ].join("\n");
  return { text, shown: await shownNow(text, commitPlan, repository, ctx) };
}

/** Looks again after the yes: what differs from what was shown is refused. */
export function assertAsShown(shownBefore: Shown, current: Shown): void {
  const changed = differences(shownBefore, current);
  if (changed)
    throw refuse(
      `${changed} changed while the question stood, so nothing was committed. ` +
        "Call it again: what is asked for then is shown.",
    );
}

/** Lets git commit. If git refuses, what zz staged for the commit is unstaged again. */
export async function carryOut(
  { message }: Args,
  { branch, fresh, only }: Plan,
  repository: Repository,
  reopenRepository: () => Promise<Repository>,
): Promise<Result> {
  await checkIdentity(repository);
  const added = fresh.map(literal); // otherwise `commit --only` does not know the file
  const unstage = async () => {
    if (added.length)
      await (await reopenRepository()).git([
        "rm",
        "-q",
        "--cached",
        "--force",
        "--ignore-unmatch",
        "--",
        ...added,
      ]);
  };
  try {
    if (added.length) await repository.git(["add", "--intent-to-add", "--", ...added]);
    const quietSettings = ["core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"].flatMap(
      (setting) => ["-c", setting],
    );
    const commitArgs = [
      "commit",
      "--quiet",
      "--cleanup=whitespace",
      "--file=-",
      ...(only.length ? ["--only", "--", ...only] : []),
    ];
    const commitAnswer = await repository.git([...quietSettings, ...commitArgs], {
      own: true,
      input: message,
      cut: true,
    });
    const output = capped(
      repository.hideValues(`${commitAnswer.stdout}${commitAnswer.err}`.trim()),
      commitAnswer.lost,
    ).text;
    if (commitAnswer.code) {
      await unstage();
      const reason =
        `git or a hook refused (exit code ${commitAnswer.code}). ` +
        "Nothing was committed; what is staged is as it was.";
      return {
        text: `Cannot commit: ${reason}\n${output}`.trim(),
        failed: true,
        data: { exit: commitAnswer.code, output },
      };
    }
    return await describeCommit(repository, branch, output);
  } catch (error) {
    await unstage();
    throw error;
  }
}

async function checkIdentity({ git }: Repository): Promise<void> {
  for (const identity of ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"]) {
    const identityAnswer = await git(["var", identity], { codes: [0, 128] });
    if (identityAnswer.code)
      throw refuse(
        `git does not know who you are: ${gitErrorOf(identityAnswer)}. ` +
          'Tell it: git config --global user.name "Your Name"; ' +
          "git config --global user.email you@example.com",
      );
  }
}

async function describeCommit(
  { git }: Repository,
  branch: string,
  output: string,
): Promise<Result> {
  const plainLogArgs = [
    "--no-color",
    "--no-show-signature",
    "--no-notes",
    "--no-ext-diff",
    "--no-textconv",
  ];
  const { stdout } = await git([
    "log",
    "--max-count=1",
    ...plainLogArgs,
    "--format=%h%x1f%s%x1f",
    "--shortstat",
  ]);
  const [hash = "", subject = "", countsText = ""] = stdout.split("\x1f");
  const changed = countsText.trim();
  const countOf = (countedWord: string) =>
    Number(new RegExp(`(\\d+) ${countedWord}`).exec(changed)?.[1] ?? 0);
  const summaryLine = `Committed ${hash} on ${branch}: ${subject}${changed && ` (${changed})`}`;
  const data = {
    hash,
    subject,
    branch,
    files: countOf("file"),
    insertions: countOf("insertion"),
    deletions: countOf("del"),
  };
  return { text: output ? `${summaryLine}\n${output}` : summaryLine, data };
}

// git_commit: shows with the question what it will do, and makes the commit.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { differences, type Shown, shownNow } from "./agreed.ts";
import { capped, DIFF, ownPath, type Repository, wordsOf } from "./run-git.ts";
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

const HOOKS = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-index-change",
  "reference-transaction",
];
const literal = (name: string): string => `:(literal)${name}`;
const refuse = (reason: string): Error => new Error(`Cannot commit: ${reason}`);

export async function plan(
  { message, files: asked = [] }: Args,
  repo: Repository,
  ctx: Ctx,
): Promise<Plan> {
  if (!message.trim()) throw refuse("the message is empty. Say what was changed, and why.");
  const { branch, files } = await branchAndFiles(repo, [], ["--no-renames"]);
  const conflict = files.find(({ state }) => /^(DD|AA|.U|U.)$/.test(state));
  if (conflict) throw refuse(`'${conflict.path}' has a conflict. Resolve it and stage it first.`);
  const names = asked.map((name) => ownPath(name, ctx));
  const chosen = asked.length ? await toCommit(repo, files, names) : staged(files);
  if (!chosen.files.length && !(await merges(repo, ctx)))
    throw refuse(
      `nothing is staged${offer(files)}. Name the files to commit in 'files', or stage them.`,
    );
  const only = names.map(literal);
  const unborn = /^No commits yet on (.*)$/.exec(branch);
  const head = unborn ? undefined : ["HEAD"];
  return {
    branch:
      unborn?.[1] ??
      (branch === "HEAD (no branch)" ? "no branch (a detached HEAD)" : branch.split("...")[0]!),
    ...chosen,
    only,
    against: asked.length ? head : ["--cached"],
  };
}

const staged = (files: File[]) => ({
  files: files
    .filter(({ state }) => !/^[ ?!]/.test(state))
    .map(({ state, ...file }) => ({ ...file, state: state[0]! })),
  fresh: [],
});

/** The requested files, and those in requested folders. */
async function toCommit(
  { git }: Repository,
  allFiles: File[],
  names: string[],
): Promise<Pick<Plan, "files" | "fresh">> {
  const others = await git([
    "ls-files",
    "--others",
    "--exclude-standard",
    "-z",
    "--",
    ...names.map(literal),
  ]);
  const fresh = others.stdout.split("\0").filter(Boolean);
  const isIn = (name: string, file: string) =>
    name === "." || file === name || file.startsWith(`${name}/`);
  const trackedFiles = allFiles.filter(
    ({ state, path: file }) => state !== "??" && names.some((name) => isIn(name, file)),
  );
  const files = [
    ...trackedFiles.map(({ state, path: file }) => ({ path: file, state: letter(state) })),
    ...fresh.map((file) => ({ path: file, state: "A" })),
  ];
  for (const name of names)
    if (!files.some((file) => isIn(name, file.path)))
      throw refuse(
        `there is nothing new in '${name}', or git ignores it. git_status lists what there is.`,
      );
  return { files, fresh };
}

const letter = ([inIndex, outside]: string): string =>
  inIndex === "A" || outside === " " || outside === undefined ? inIndex! : outside;

function offer(files: File[]): string {
  return files.length
    ? ` (${plural(files.length, "path")} changed: ${files.slice(0, 10).map(row).join(", ")})`
    : "";
}

async function merges({ git }: Repository, { root }: Ctx): Promise<boolean> {
  const { stdout } = await git(["rev-parse", "--git-path", "MERGE_HEAD"]);
  return fs.existsSync(path.resolve(root, stdout.trimEnd()));
}

/**
 * The hooks and configured programs that the commit would run. Git is asked for them with the
 * commit's own options.
 */
async function programs({ git }: Repository, { root }: Ctx): Promise<string[]> {
  const { stdout: folder } = await git(["rev-parse", "--git-path", "hooks"], { own: true });
  const names = [...HOOKS, "post-commit"].filter((name) =>
    isProgram(path.resolve(root, folder.trimEnd(), name)),
  );
  const keys = "^(filter\\..*\\.(clean|process)|hook\\..*\\.command|commit\\.gpgsign)$";
  const { stdout } = await git(["config", "-z", "--get-regexp", keys], { own: true });
  const configured = stdout.split("\0").filter(Boolean);
  const signing =
    configured.findLast((setting) => setting.startsWith("commit.gpgsign"))?.split("\n")[1] ??
    "false";
  return [
    ...names.map((name) => `the hook ${name}`),
    ...configured.flatMap((setting) => {
      const [, programKind, name] = /^(filter|hook)\.(.*)\.[^.]*\n./s.exec(setting) ?? [];
      return programKind === undefined ? [] : [`the ${programKind} '${name}'`];
    }),
    ...(/^(false|no|off|0|)$/i.test(signing) ? [] : ["the program that signs"]),
  ];
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What the person sees with the question. */
async function describe(
  { message }: Args,
  plan: Plan,
  repo: Repository,
  ctx: Ctx,
): Promise<string> {
  const { branch, files, only, against } = plan;
  const compare = [...DIFF, "--no-relative", "--stat=100"];
  const stat =
    against && (await repo.git([...compare, ...against, "--", ...only])).stdout.trimEnd();
  const runs = await programs(repo, ctx);
  return [
    `On ${branch}, ${plural(files.length, "file")}:`,
    ...files.map((file) => `  ${row(file)}`),
    "With the message:",
    ...message
      .trim()
      .split("\n")
      .map((line) => `  ${line}`),
    ...(stat ? stat.split("\n") : []),
    ...(runs.length ? [`It will run ${[...new Set(runs)].join(", ")}.`] : []),
  ].join("\n");
}

/** Looks again after the yes: what differs from what was shown is refused. */
export async function look(
  args: Args,
  plan: Plan,
  repo: Repository,
  ctx: Ctx,
): Promise<{ text: string; shown: Shown }> {
  const text = await describe(args, plan, repo, ctx);
  return { text, shown: await shownNow(text, plan, repo, ctx) };
}
export function assertAsShown(shown: Shown, current: Shown): void {
  const changed = differences(shown, current);
  if (changed)
    throw refuse(
      `${changed} changed while the question stood, so nothing was committed. Call it again: what is asked for then is shown.`,
    );
}

/** Lets git commit. If git refuses, what zz staged for the commit is unstaged again. */
export async function carryOut(
  { message }: Args,
  { branch, fresh, only }: Plan,
  repo: Repository,
  again: () => Promise<Repository>,
): Promise<Result> {
  await checkIdentity(repo);
  const added = fresh.map(literal); // otherwise `commit --only` does not know the file
  const unstage = async () => {
    if (added.length)
      await (await again()).git([
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
    if (added.length) await repo.git(["add", "--intent-to-add", "--", ...added]);
    const quiet = ["core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"].flatMap(
      (setting) => ["-c", setting],
    );
    const commitArgs = [
      "commit",
      "--quiet",
      "--cleanup=whitespace",
      "--file=-",
      ...(only.length ? ["--only", "--", ...only] : []),
    ];
    const answer = await repo.git([...quiet, ...commitArgs], {
      own: true,
      input: message,
      cut: true,
    });
    const output = capped(
      repo.hideValues(`${answer.stdout}${answer.err}`.trim()),
      answer.lost,
    ).text;
    if (answer.code) {
      await unstage();
      const reason = `git or a hook refused (exit code ${answer.code}). Nothing was committed; what is staged is as it was.`;
      return {
        text: `Cannot commit: ${reason}\n${output}`.trim(),
        failed: true,
        data: { exit: answer.code, output },
      };
    }
    return { ...(await describeCommit(repo, branch, output)) };
  } catch (error) {
    await unstage();
    throw error;
  }
}

async function checkIdentity({ git }: Repository): Promise<void> {
  for (const identity of ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"]) {
    const answer = await git(["var", identity], { codes: [0, 128] });
    if (answer.code)
      throw refuse(
        `git does not know who you are: ${wordsOf(answer)}. ` +
          'Tell it: git config --global user.name "Your Name"; git config --global user.email you@example.com',
      );
  }
}

async function describeCommit(
  { git }: Repository,
  branch: string,
  output: string,
): Promise<Result> {
  const plain = [
    "--no-color",
    "--no-show-signature",
    "--no-notes",
    "--no-ext-diff",
    "--no-textconv",
  ];
  const { stdout } = await git([
    "log",
    "--max-count=1",
    ...plain,
    "--format=%h%x1f%s%x1f",
    "--shortstat",
  ]);
  const [hash = "", subject = "", counts = ""] = stdout.split("\x1f");
  const changed = counts.trim();
  const number = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(changed)?.[1] ?? 0);
  const text = `Committed ${hash} on ${branch}: ${subject}${changed && ` (${changed})`}`;
  const data = {
    hash,
    subject,
    branch,
    files: number("file"),
    insertions: number("insertion"),
    deletions: number("del"),
  };
  return { text: output ? `${text}\n${output}` : text, data };
}

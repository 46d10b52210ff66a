// Runs git so that no program named by a repository's own configuration runs.
import path from "node:path";
import type { Ctx, Needs } from "zz";
import { keptVariables, plural, withoutValues } from "zz/text";

const MAX_KEPT_BYTES = 8 << 20; // from each end of an output
const MAX_SHOWN_CHARS = { head: 20_000, tail: 10_000 };
const KILL_GRACE_MS = 5_000; // in which git removes its lock files, also on a busy machine
const EXIT_GRACE_MS = 500; // ms in which processes that a hook left running may still write

/**
 * The diff comes from git itself: no external diff, no text conversion, and no look into
 * submodules, which have programs of their own.
 */
export const DIFF = [
  "diff",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--ignore-submodules=dirty",
  "--submodule=short",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--relative",
];

export interface Answer {
  code: number;
  stdout: string;
  err: string;
  lost: number; // number of lines missing in the middle of `out`
}
interface AskOptions {
  input?: string;
  codes?: number[]; // exit codes that are an answer; all others throw
  cut?: boolean; // the middle of a very long output may be missing
  own?: boolean; // with the person's own hooks, filters and signing: for a commit
}
export interface Repository {
  git(gitArgs: string[], options?: AskOptions): Promise<Answer>;
  fromProject(repositoryPath: string): string; // for a path relative to the top of the repository
  // hides the values that /env keeps: a hook may have printed them
  hideValues(outputText: string): string;
  // the names of content filters that were switched off; none if the question reads no files
  filters: string[];
}

type RunContext = Pick<Ctx, "root" | "signal" | "about" | "git" | "programs" | "io">;

/**
 * The repository that the project is in. Git must answer all questions to it within that many
 * seconds together. `readsFiles` is false for questions about commits alone, for which no content
 * filter can run.
 */
export async function repository(
  ctx: RunContext,
  seconds: number,
  readsFiles = true,
): Promise<Repository> {
  const {
    root,
    git: { quiet },
  } = ctx;
  const timeLimit = ctx.io.clock.limit(Math.ceil(seconds * 1_000));
  const askGit = async (
    settings: readonly string[],
    gitArgs: string[],
    { codes = [0], ...options }: AskOptions = {},
  ): Promise<Answer> => {
    const env = options.own ? environment(keptVariables(ctx.about.home)) : ctx.git.env();
    const stop = AbortSignal.any([ctx.signal, timeLimit]);
    if (!ctx.programs.find("git")) throw cannot("there is no git here. Install it");
    const gitAnswer = await runGit([...settings, "--no-pager", ...gitArgs], {
      ...options,
      ctx,
      env,
      stop,
    }).catch((error) => {
      throw error === timeLimit.reason ? tooLate(seconds) : error;
    });
    if (gitAnswer.code < 0 || (!codes.includes(gitAnswer.code) && !options.own))
      throw cannot(gitErrorOf(gitAnswer));
    return gitAnswer;
  };
  const location = await askGit(quiet, ["rev-parse", "--show-toplevel", "--show-prefix"], {
    codes: [0, 128],
  });
  if (location.code)
    throw new Error(`Cannot ask git: ${gitErrorOf(location)}. Is '${root}' a repository?`);
  const [topFolder = "", prefix = ""] = location.stdout.split("\n");
  if (path.resolve(topFolder, prefix) !== root)
    throw cannot(
      `the repository's files are in '${topFolder}', outside the project. Look at core.worktree`,
    );
  const filters = readsFiles
    ? await filterNames((gitArgs, options) => askGit(quiet, gitArgs, options))
    : [];
  const filtersOff = filters.flatMap((filterName) =>
    ["clean=", "smudge=", "process=", "required=false"].flatMap((setting) => [
      "-c",
      `filter.${filterName}.${setting}`,
    ]),
  );
  return {
    git: (gitArgs, options = {}) =>
      askGit(options.own ? [] : [...quiet, ...filtersOff], gitArgs, options),
    hideValues: (outputText) => withoutValues(outputText, keptVariables(ctx.about.home)),
    fromProject: (repositoryPath) => (prefix ? relativeTo(prefix, repositoryPath) : repositoryPath),
    filters,
  };
}

/**
 * The content filters to switch off: status and diff would run the clean filter of each file
 * whose date changed, and that may be any program. Without its filter a file is compared as it is
 * on the disk.
 */
async function filterNames(
  askGit: (gitArgs: string[], options: AskOptions) => Promise<Answer>,
): Promise<string[]> {
  const configured = await askGit(["config", "-z", "--name-only", "--get-regexp", "^filter\\."], {
    codes: [0, 1],
  });
  const configuredNames = new Set(
    configured.stdout
      .split("\0")
      .flatMap((configKey) => /^filter\.(.*)\.[^.]*$/s.exec(configKey)?.[1] ?? []),
  );
  for (const filterName of configuredNames)
    if (/[=\n]/.test(filterName))
      throw cannot(`nothing can switch off its content filter '${filterName}'. Rename the filter`);
  return [...configuredNames];
}

const cannot = (reason: string): Error => new Error(`Cannot ask git: ${reason}.`);

const tooLate = (seconds: number): Error =>
  cannot(`it took longer than ${seconds} s and was stopped. Try a smaller part`);

/** Git's own error, without its hints and its full stop. */
export function gitErrorOf({ err, code }: Answer): string {
  const errorLines = err.split("\n").filter(Boolean);
  const errorLine =
    errorLines.find((candidate) => /^(fatal|error): /.test(candidate)) ??
    errorLines[0] ??
    `it ended with exit code ${code}`;
  return errorLine.replace(/^(fatal|error): /, "").replace(/\.$/, "");
}

function relativeTo(prefix: string, repositoryPath: string): string {
  const endingSlash = repositoryPath.endsWith("/") ? "/" : "";
  return (path.posix.relative(prefix, repositoryPath) || ".") + endingSlash;
}

/**
 * What a question about the repository needs: nothing, or what the repository makes git run or
 * show.
 */
export async function needsOf(
  question: string,
  ctx: Pick<Ctx, "root" | "git" | "signal" | "io" | "ask">,
  seconds: number,
): Promise<Needs> {
  const { why, reads } = await check(ctx, seconds);
  // without a terminal to ask on, the refusal says why
  const name = ctx.ask ? question : `${question} (${why})`;
  return {
    ...(reads.length && { read: reads }),
    ...(why && { run: [{ name, verdict: "ask", why }] }),
  };
}

export async function check(
  { root, git, signal, io }: Pick<Ctx, "root" | "git" | "signal" | "io">,
  seconds: number,
) {
  const timeLimit = io.clock.limit(seconds * 1_000);
  return git.check(root, { stop: AbortSignal.any([signal, timeLimit]) }).catch((error) => {
    throw error === timeLimit.reason ? tooLate(seconds) : error;
  });
}

/** The hash that a name stands for; "" if there is none. */
export const hashOf = async (revision: string, { git }: Repository): Promise<string> =>
  (await git(["rev-parse", "--verify", "--quiet", revision], { codes: [0, 1, 128] })).stdout.trim();

/** A path for git: literal, relative to the project, and the link itself rather than its target. */
export function pathspec(givenPath: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  return `:(literal)${ownPath(givenPath, { root, files })}`;
}

export function ownPath(givenPath: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  const absolutePath = path.resolve(root, givenPath);
  const realPath =
    absolutePath === root
      ? root
      : path.join(files.path(path.dirname(absolutePath)), path.basename(absolutePath));
  return path.relative(root, realPath).replaceAll(path.sep, "/") || ".";
}

/**
 * Runs git without a terminal, so that nothing can wait for a passphrase. Stopping git stops all
 * that it started.
 */
function runGit(
  gitArgs: string[],
  {
    ctx,
    env,
    stop,
    input,
    cut,
  }: AskOptions & { ctx: RunContext; env: NodeJS.ProcessEnv; stop: AbortSignal },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { clock } = ctx.io;
  if (stop.aborted) return Promise.reject(stop.reason);
  const child = ctx.programs.start("git", gitArgs, {
    cwd: ctx.root,
    detached: process.platform !== "win32",
    env,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const [stdoutEnds, stderrEnds] = [bothEnds(), bothEnds()];
  child.stdout!.on("data", stdoutEnds.add);
  child.stderr!.on("data", stderrEnds.add);
  child.stdin?.on("error", () => {}); // it ended without reading
  child.stdin?.end(input);
  let cancelGrace = () => {};
  const abortProcess = () => {
    killGroup("SIGTERM"); // lets git remove its lock files
    clock.timer(KILL_GRACE_MS, () => killGroup("SIGKILL"), { background: true });
  };
  stop.addEventListener("abort", abortProcess, { once: true });
  child.on("error", reject);
  child.on("exit", () => {
    const closePipes = () => [child.stdout, child.stderr].forEach((pipe) => void pipe?.destroy());
    cancelGrace = clock.timer(EXIT_GRACE_MS, closePipes, { background: true });
  });
  child.on("close", (exitCode) => {
    cancelGrace();
    stop.removeEventListener("abort", abortProcess);
    if (stop.aborted) reject(stop.reason);
    else if (stdoutEnds.lost() && !cut)
      reject(cannot("the answer is too long to judge. Name a path, a smaller part"));
    else
      resolve({
        code: exitCode ?? -1,
        stdout: stdoutEnds.text(),
        err: stderrEnds.text(),
        lost: stdoutEnds.lost(),
      });
  });
  return promise;

  function killGroup(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32" || !child.pid) child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {} // it has ended
  }
}

/**
 * The environment for a commit that the person allowed: with their hooks, in the repository that
 * they were shown.
 */
function environment(keptValues: Record<string, string>): NodeJS.ProcessEnv {
  const variables: NodeJS.ProcessEnv = { ...process.env, GIT_TERMINAL_PROMPT: "0", ...keptValues };
  for (const variableName of [
    "LITERAL_PATHSPECS",
    "GLOB_PATHSPECS",
    "NOGLOB_PATHSPECS",
    "ICASE_PATHSPECS",
    "DIR",
    "WORK_TREE",
    "COMMON_DIR",
    "INDEX_FILE",
    "PREFIX",
    "NAMESPACE",
  ])
    delete variables[`GIT_${variableName}`];
  delete variables.GPG_TTY; // it names a terminal to ask for a passphrase on
  return variables;
}

/** Keeps both ends of an output of any length. */
function bothEnds() {
  const [headPieces, tailPieces]: [Buffer[], Buffer[]] = [[], []];
  let [headSize, tailSize, lostLines] = [0, 0, 0];
  return {
    add(outputPiece: Buffer): void {
      if (headSize < MAX_KEPT_BYTES) {
        headPieces.push(outputPiece);
        headSize += outputPiece.length;
        return;
      }
      tailPieces.push(outputPiece);
      tailSize += outputPiece.length;
      while (tailSize - tailPieces[0]!.length > MAX_KEPT_BYTES) {
        const droppedPiece = tailPieces.shift()!;
        tailSize -= droppedPiece.length;
        lostLines += Math.max(1, countBreaks(droppedPiece.toString("latin1")));
      }
    },
    text: () => Buffer.concat([...headPieces, ...tailPieces]).toString("utf8"),
    lost: () => lostLines,
  };
}

const countBreaks = (outputText: string): number => outputText.split("\n").length - 1;

/** Head and tail, cut at line ends, with how much is missing in between. */
export function capped(text: string, lostLines = 0, cutAdvice = ""): { text: string; cut: number } {
  if (text.length <= MAX_SHOWN_CHARS.head + MAX_SHOWN_CHARS.tail && !lostLines)
    return { text, cut: 0 };
  const headText = text.slice(
    0,
    text.lastIndexOf("\n", MAX_SHOWN_CHARS.head) + 1 || MAX_SHOWN_CHARS.head,
  );
  const tailStart = text.length - MAX_SHOWN_CHARS.tail;
  const tailText = text.slice(text.indexOf("\n", tailStart) + 1 || tailStart);
  const cut = Math.max(
    1,
    countBreaks(text) - countBreaks(headText) - countBreaks(tailText) + lostLines,
  );
  return {
    text: `${headText}\n[${plural(cut, "line")} left out here${cutAdvice}]\n\n${tailText}`,
    cut,
  };
}

/** The first of these names, and how many more there are. */
export const listSome = (fileNames: string[], maxShown: number): string =>
  fileNames.slice(0, maxShown).join(", ") +
  (fileNames.length > maxShown ? ` and ${fileNames.length - maxShown} more` : "");

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
  git(args: string[], options?: AskOptions): Promise<Answer>;
  fromProject(name: string): string; // for a path relative to the top of the repository
  // hides the values that /env keeps: a hook may have printed them
  hideValues(text: string): string;
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
  const late = ctx.io.clock.limit(Math.ceil(seconds * 1_000));
  const ask = async (
    settings: string[],
    args: string[],
    { codes = [0], ...options }: AskOptions = {},
  ): Promise<Answer> => {
    const env = options.own ? environment(keptVariables(ctx.about.home)) : ctx.git.env();
    const stops = [ctx.signal, late];
    if (!ctx.programs.find("git")) throw cannot("there is no git here. Install it");
    const answer = await runGit([...settings, "--no-pager", ...args], {
      ...options,
      ctx,
      env,
      stops,
    }).catch((error) => {
      if (error === late.reason) throw tooLate(seconds);
      throw error;
    });
    if (answer.code < 0 || (!codes.includes(answer.code) && !options.own))
      throw cannot(wordsOf(answer));
    return answer;
  };
  const location = await ask([...quiet], ["rev-parse", "--show-toplevel", "--show-prefix"], {
    codes: [0, 128],
  });
  if (location.code)
    throw new Error(`Cannot ask git: ${wordsOf(location)}. Is '${root}' a repository?`);
  const [top = "", prefix = ""] = location.stdout.split("\n");
  if (path.resolve(top, prefix) !== root)
    throw cannot(
      `the repository's files are in '${top}', outside the project. Look at core.worktree`,
    );
  const filters = readsFiles
    ? await filterNames((args, options) => ask([...quiet], args, options))
    : [];
  const off = filters.flatMap((name) =>
    ["clean=", "smudge=", "process=", "required=false"].flatMap((setting) => [
      "-c",
      `filter.${name}.${setting}`,
    ]),
  );
  return {
    git: (args, options = {}) => ask(options.own ? [] : [...quiet, ...off], args, options),
    hideValues: (text) => withoutValues(text, keptVariables(ctx.about.home)),
    fromProject: (name) => (prefix ? relativeTo(prefix, name) : name),
    filters,
  };
}

/**
 * The content filters to switch off: status and diff would run the clean filter of each file
 * whose date changed, and that may be any program. Without its filter a file is compared as it is
 * on the disk.
 */
async function filterNames(
  ask: (args: string[], options: AskOptions) => Promise<Answer>,
): Promise<string[]> {
  const configured = await ask(["config", "-z", "--name-only", "--get-regexp", "^filter\\."], {
    codes: [0, 1],
  });
  const names = new Set(
    configured.stdout.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]*$/s.exec(key)?.[1] ?? []),
  );
  for (const name of names)
    if (/[=\n]/.test(name))
      throw cannot(`nothing can switch off its content filter '${name}'. Rename the filter`);
  return [...names];
}

const cannot = (reason: string): Error => new Error(`Cannot ask git: ${reason}.`);

const tooLate = (seconds: number): Error =>
  cannot(`it took longer than ${seconds} s and was stopped. Try a smaller part`);

/** Git's own error, without its hints and its full stop. */
export function wordsOf({ err, code }: Answer): string {
  const lines = err.split("\n").filter(Boolean);
  const line =
    lines.find((line) => /^(fatal|error): /.test(line)) ??
    lines[0] ??
    `it ended with exit code ${code}`;
  return line.replace(/^(fatal|error): /, "").replace(/\.$/, "");
}

function relativeTo(prefix: string, name: string): string {
  const slash = name.endsWith("/") ? "/" : "";
  return (path.posix.relative(prefix, name) || ".") + slash;
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
  const late = io.clock.limit(seconds * 1_000);
  return git.check(root, { stop: AbortSignal.any([signal, late]) }).catch((error) => {
    throw error === late.reason ? tooLate(seconds) : error;
  });
}

/** A path for git: literal, relative to the project, and the link itself rather than its target. */
export function pathspec(name: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  return `:(literal)${ownPath(name, { root, files })}`;
}

export function ownPath(name: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  const absolutePath = path.resolve(root, name);
  const real =
    absolutePath === root
      ? root
      : path.join(files.path(path.dirname(absolutePath)), path.basename(absolutePath));
  return path.relative(root, real).replaceAll(path.sep, "/") || ".";
}

/**
 * Runs git without a terminal, so that nothing can wait for a passphrase. Stopping git stops all
 * that it started.
 */
function runGit(
  args: string[],
  {
    ctx,
    env,
    stops,
    input,
    cut,
  }: AskOptions & { ctx: RunContext; env: NodeJS.ProcessEnv; stops: AbortSignal[] },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const stop = AbortSignal.any(stops);
  const { clock } = ctx.io;
  if (stop.aborted) return Promise.reject(stop.reason);
  const child = ctx.programs.start("git", args, {
    cwd: ctx.root,
    detached: process.platform !== "win32",
    env,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const [stdout, err] = [bothEnds(), bothEnds()];
  child.stdout!.on("data", stdout.add);
  child.stderr!.on("data", err.add);
  child.stdin?.on("error", () => {}); // it ended without reading
  child.stdin?.end(input);
  let cancelGrace = () => {};
  const abort = () => {
    kill("SIGTERM"); // lets git remove its lock files
    clock.timer(KILL_GRACE_MS, () => kill("SIGKILL"), { background: true });
  };
  stop.addEventListener("abort", abort, { once: true });
  child.on("error", reject);
  child.on("exit", () => {
    const close = () => [child.stdout, child.stderr].forEach((pipe) => void pipe?.destroy());
    cancelGrace = clock.timer(EXIT_GRACE_MS, close, { background: true });
  });
  child.on("close", (code) => {
    cancelGrace();
    stop.removeEventListener("abort", abort);
    if (stop.aborted) reject(stop.reason);
    else if (stdout.lost() && !cut)
      reject(cannot("the answer is too long to judge. Name a path, a smaller part"));
    else resolve({ code: code ?? -1, stdout: stdout.text(), err: err.text(), lost: stdout.lost() });
  });
  return promise;

  function kill(signal: NodeJS.Signals): void {
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
  const env: NodeJS.ProcessEnv = { ...process.env, GIT_TERMINAL_PROMPT: "0", ...keptValues };
  for (const name of ["LITERAL", "GLOB", "NOGLOB", "ICASE"]) delete env[`GIT_${name}_PATHSPECS`];
  for (const name of ["DIR", "WORK_TREE", "COMMON_DIR", "INDEX_FILE", "PREFIX", "NAMESPACE"])
    delete env[`GIT_${name}`];
  delete env.GPG_TTY; // it names a terminal to ask for a passphrase on
  return env;
}

/** Keeps both ends of an output of any length. */
function bothEnds() {
  const [head, tail]: [Buffer[], Buffer[]] = [[], []];
  let [first, last, lost] = [0, 0, 0];
  return {
    add(bytes: Buffer): void {
      if (first < MAX_KEPT_BYTES) {
        first += head.push(bytes) && bytes.length;
        return;
      }
      last += tail.push(bytes) && bytes.length;
      while (last - tail[0]!.length > MAX_KEPT_BYTES) {
        const gone = tail.shift()!;
        last -= gone.length;
        lost += Math.max(1, breaksIn(gone));
      }
    },
    text: () => Buffer.concat([...head, ...tail]).toString("utf8"),
    lost: () => lost,
  };
}

function breaksIn(bytes: Buffer): number {
  let count = 0;
  for (let index = bytes.indexOf(10); index >= 0; index = bytes.indexOf(10, index + 1)) count++;
  return count;
}

/** Head and tail, cut at line ends, with how much is missing in between. */
export function capped(text: string, lost = 0, advice = ""): { text: string; cut: number } {
  if (text.length <= MAX_SHOWN_CHARS.head + MAX_SHOWN_CHARS.tail && !lost) return { text, cut: 0 };
  const head = text.slice(
    0,
    text.lastIndexOf("\n", MAX_SHOWN_CHARS.head) + 1 || MAX_SHOWN_CHARS.head,
  );
  const from = text.length - MAX_SHOWN_CHARS.tail;
  const tail = text.slice(text.indexOf("\n", from) + 1 || from);
  const lines = (part: string) => part.split("\n").length - 1;
  const cut = Math.max(1, lines(text) - lines(head) - lines(tail) + lost);
  return { text: `${head}\n[${plural(cut, "line")} left out here${advice}]\n\n${tail}`, cut };
}

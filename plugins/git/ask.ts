// Git, asked so that no program runs that a repository's own configuration names.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";

const KEPT = 8 << 20; // bytes from each end of an output
const SHOWN = { head: 20_000, tail: 10_000 }; // characters
const AT_END = 500; // ms in which what a hook left running may still write

/** Hooks and the file watcher are named by configuration; so is what draws, signs and pages. */
const QUIET = [
  ...["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false"],
  ...["log.showSignature=false", "color.ui=false", "color.status=false", "status.submoduleSummary=false"],
].flatMap((setting) => ["-c", setting]);

/** An object that a partial clone lacks would be fetched, by any program that the remote's configuration names. */
const ALONE = { GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C.UTF-8" };

/** Drawn by git itself: no diff or text conversion program, and no look into submodules, which have programs of their own. */
export const DIFF = [
  ...["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short"],
  ...["--src-prefix=a/", "--dst-prefix=b/", "--relative"],
];

export interface Said {
  code: number;
  out: string;
  err: string;
  lost: number; // lines out of the middle of `out`
}
export interface How {
  input?: string;
  codes?: number[]; // that are an answer; all others throw
  cut?: boolean; // the middle of a very long output may be missing
  own?: boolean; // with the person's own hooks, filters and signing: for a commit
}
export interface Repository {
  git(args: string[], how?: How): Promise<Said>;
  near(name: string): string; // a path from the top of the repository, as seen from the project
  filters: string[]; // the names of content filters that were switched off
}

/** The repository that the project lies in. All that is asked of it must be answered within the seconds. */
export async function repository(ctx: Pick<Ctx, "root" | "signal" | "about">, seconds: number): Promise<Repository> {
  const { root } = ctx;
  const late = AbortSignal.timeout(seconds * 1_000);
  const ask = async (settings: string[], args: string[], { codes = [0], ...how }: How = {}): Promise<Said> => {
    const env = environment(how.own ? variables(ctx.about.home) : ALONE);
    const stops = [ctx.signal, late];
    const said = await speak([...settings, "--no-pager", ...args], { ...how, root, env, stops }).catch((error) => {
      if (error === late.reason) throw cannot(`it took longer than ${seconds} s and was stopped. Try a smaller part`);
      throw error.code === "ENOENT" ? cannot("there is no git here. Install it") : error;
    });
    if (said.code < 0 || (!codes.includes(said.code) && !how.own)) throw cannot(wordsOf(said));
    return said;
  };
  const place = await ask(QUIET, ["rev-parse", "--show-toplevel", "--show-prefix"], { codes: [0, 128] });
  if (place.code) throw new Error(`Cannot ask git: ${wordsOf(place)}. Is '${root}' a repository?`);
  const [top = "", prefix = ""] = place.out.split("\n");
  if (path.resolve(top, prefix) !== root)
    throw cannot(`the repository's files are in '${top}', outside the project. Look at core.worktree`);
  const filters = await filterNames();
  const off = filters.flatMap((name) =>
    ["clean=", "smudge=", "process=", "required=false"].flatMap((setting) => ["-c", `filter.${name}.${setting}`]),
  );
  return {
    git: (args, how = {}) => ask(how.own ? [] : [...QUIET, ...off], args, how),
    near: (name) => (prefix ? nearer(prefix, name) : name),
    filters,
  };

  /** Status and diff put a file whose date changed through its clean filter: any program. Without one it is compared as it is. */
  async function filterNames(): Promise<string[]> {
    const found = await ask(QUIET, ["config", "-z", "--name-only", "--get-regexp", "^filter\\."], { codes: [0, 1] });
    const names = new Set(found.out.split("\0").flatMap((key) => /^filter\.(.*)\.[^.]*$/s.exec(key)?.[1] ?? []));
    for (const name of names)
      if (/[=\n]/.test(name)) throw cannot(`nothing can switch off its content filter '${name}'. Rename the filter`);
    return [...names];
  }
}

const cannot = (why: string): Error => new Error(`Cannot ask git: ${why}.`);

/** Git's own sentence, without its hints and its full stop. */
export function wordsOf({ err, code }: Said): string {
  const lines = err.split("\n").filter(Boolean);
  const line = lines.find((one) => /^(fatal|error): /.test(one)) ?? lines[0] ?? `it ended with exit code ${code}`;
  return line.replace(/^(fatal|error): /, "").replace(/\.$/, "");
}

function nearer(prefix: string, name: string): string {
  const slash = name.endsWith("/") ? "/" : "";
  return (path.posix.relative(prefix, name) || ".") + slash;
}

/** A path as git takes it: to the letter, from the project, and itself rather than what it links to. */
export function pathspec(name: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  return `:(literal)${ownPath(name, { root, files })}`;
}

export function ownPath(name: string, { root, files }: Pick<Ctx, "root" | "files">): string {
  const whole = path.resolve(root, name);
  const real = whole === root ? root : path.join(files.path(path.dirname(whole)), path.basename(whole));
  return path.relative(root, real).replaceAll(path.sep, "/") || ".";
}

/** One run. It has no terminal, so that nothing in it can wait for a passphrase there; what stops it stops all it started. */
function speak(
  args: string[],
  { root, env, stops, input, cut }: How & { root: string; env: NodeJS.ProcessEnv; stops: AbortSignal[] },
): Promise<Said> {
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  const stop = AbortSignal.any(stops);
  if (stop.aborted) return Promise.reject(stop.reason);
  const child = spawn(program(root), args, {
    cwd: root,
    detached: process.platform !== "win32",
    env,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  const [out, err] = [ends(), ends()];
  child.stdout!.on("data", out.add);
  child.stderr!.on("data", err.add);
  child.stdin?.on("error", () => {}); // it ended without reading
  child.stdin?.end(input);
  const abort = () => {
    kill("SIGTERM"); // lets git take its lock files away
    setTimeout(kill, 1_000, "SIGKILL").unref();
  };
  stop.addEventListener("abort", abort, { once: true });
  child.on("error", reject);
  child.on("exit", () => setTimeout(() => [child.stdout, child.stderr].map((pipe) => pipe?.destroy()), AT_END).unref());
  child.on("close", (code) => {
    stop.removeEventListener("abort", abort);
    if (stop.aborted) reject(stop.reason);
    else if (out.lost() && !cut) reject(cannot("the answer is too long to judge. Name a path, a smaller part"));
    else resolve({ code: code ?? -1, out: out.text(), err: err.text(), lost: out.lost() });
  });
  return promise;

  function kill(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32" || !child.pid) child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {} // it is gone
  }
}

/** By its whole path, and never one that the project brings: npx and npm put its node_modules/.bin into PATH. */
function program(root: string): string {
  const name = process.platform === "win32" ? "git.exe" : "git";
  const isInside = (folder: string) => folder === root || folder.startsWith(root + path.sep);
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter(path.isAbsolute);
  const outside = folders.filter((folder) => fs.existsSync(path.join(folder, name)) && !isInside(realOf(folder)));
  return path.join(outside[0] ?? "/nowhere", name);
}

const realOf = (folder: string): string => fs.realpathSync(folder);

function environment(more: Record<string, string>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, GIT_TERMINAL_PROMPT: "0", ...more };
  for (const name of ["LITERAL", "GLOB", "NOGLOB", "ICASE"]) delete env[`GIT_${name}_PATHSPECS`];
  delete env.GPG_TTY; // a terminal by name, to ask for a passphrase on
  return env;
}

/** What /env keeps for commands, { "NAME": "value" }: a hook is one. */
function variables(home: string): Record<string, string> {
  const file = path.join(home, "env.json");
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return {};
  try {
    const kept = Object.entries(JSON.parse(fs.readFileSync(file, "utf8")) as object);
    return Object.fromEntries(kept.filter(([name, value]) => /^[A-Za-z_]\w*$/.test(name) && typeof value === "string"));
  } catch {
    throw cannot(`'${file}' is not readable as JSON. Mend it, or move it away`); // its own words would show values
  }
}

/** Both ends of an output, whatever its length. */
function ends() {
  const [head, tail]: [Buffer[], Buffer[]] = [[], []];
  let [first, last, lost] = [0, 0, 0];
  return {
    add(bytes: Buffer): void {
      if (first < KEPT) {
        first += head.push(bytes) && bytes.length;
        return;
      }
      last += tail.push(bytes) && bytes.length;
      while (last - tail[0]!.length > KEPT) {
        const gone = tail.shift()!;
        last -= gone.length;
        lost += Math.max(1, gone.toString("latin1").split("\n").length - 1);
      }
    },
    text: () => Buffer.concat([...head, ...tail]).toString("utf8"),
    lost: () => lost,
  };
}

/** Head and tail, at line ends, with how much is missing in between. */
export function capped(text: string, lost = 0, advice = ""): { text: string; cut: number } {
  if (text.length <= SHOWN.head + SHOWN.tail && !lost) return { text, cut: 0 };
  const head = text.slice(0, text.lastIndexOf("\n", SHOWN.head) + 1 || SHOWN.head);
  const from = text.length - SHOWN.tail;
  const tail = text.slice(text.indexOf("\n", from) + 1 || from);
  const lines = (part: string) => part.split("\n").length - 1;
  const cut = Math.max(1, lines(text) - lines(head) - lines(tail) + lost);
  return { text: `${head}\n[${cut} ${cut === 1 ? "line" : "lines"} left out here${advice}]\n\n${tail}`, cut };
}

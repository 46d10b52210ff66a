// Git, asked so that a repository can neither start programs nor reveal files elsewhere: git itself
// reports its settings and places.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Clock, Git, GitDoubt, Programs } from "../contract.ts";
import { CLOCK } from "../text/clock.ts";
import { isInside, isInsideAny, repositoryTop } from "../text/read-quietly.ts";
import { learnData, learnSecret } from "../text/secrets.ts";
import { pickKeys, tryTo } from "../text/words.ts";
import harmless from "./git-settings.json" with { type: "json" };
import { followLinks } from "./open-real.ts";
import { isProgram, programs } from "./other-programs.ts";

const GIT_PATIENCE_MS = 10_000; // ms for one question
const MAX_OUTPUT_BYTES = 1 << 28;
const MAX_SUBMODULE_DEPTH = 10; // levels

/**
 * Switched off whatever the repository says: hooks, the file watcher, pagers, colours, signatures,
 * entering submodules.
 */
const QUIET_SETTINGS = [
  "safe.bareRepository=explicit",
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.quotePath=false",
  "core.pager=cat",
  "log.showSignature=false",
  "color.ui=false",
  "color.status=false",
  "submodule.recurse=false",
  "status.submoduleSummary=false",
  "diff.submodule=short",
];
const configOptions = (assignments: string[]): string[] => [
  "--no-pager",
  ...assignments.flatMap((assignment) => ["-c", assignment]),
];

/** Nothing is fetched, written or waited for, whichever helper a remote names. */
const NO_HELPERS = {
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  SSH_ASKPASS: "true",
};
const IN_ENGLISH = { LC_ALL: "C.UTF-8", LANGUAGE: "" };
/**
 * Variables that a surrounding git (a hook, say) sets: they point to another repository or to files
 * to write.
 */
const POINTING_VARIABLES = new RegExp(
  `^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES
  |NAMESPACE|PREFIX|CONFIG|EXTERNAL_DIFF|DIFF_OPTS|ATTR_SOURCE|SHALLOW_FILE|GRAFT_FILE
  |REPLACE_REF_BASE|IMPLICIT_WORK_TREE|QUARANTINE_PATH
  |(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS|TRACE\\w*)$`.replace(/\s+/g, ""),
);

/** Repositories above the person's home are not searched for. */
const ceiling = (): string => path.dirname(followLinks(os.homedir()));

/** The environment of a command, or of zz's own questions. */
function gitEnvironment(command?: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const keptVariables = pickKeys(
    command ?? process.env,
    (variableName) => !POINTING_VARIABLES.test(variableName),
  );
  const overrides = command ? NO_HELPERS : { ...NO_HELPERS, ...IN_ENGLISH };
  return { ...keptVariables, ...overrides, GIT_CEILING_DIRECTORIES: ceiling() };
}

/** Settings of a repository that start no program and reveal no other file; `*` is any. All others
 * make zz ask, also those that later versions of git will bring. The person's own settings, in
 * their home, all count as harmless. */
const HARMLESS: Record<string, string | string[]> = harmless;
/** Harmless only with such a value. */
const BY_VALUE: [key: RegExp, value: RegExp][] = [
  [/^submodule\..*\.update$/s, /^(checkout|rebase|merge|none)$/],
  [/^extensions\.refstorage$/, /^(files|reftable)$/], // newer ones may name a folder elsewhere
  [/^core\.fsmonitor$/, /^(false|no|off|0|)$/i],
];
/**
 * Switched off by name in zz's own questions: see QUIET_SETTINGS, and packages/git for the filters.
 */
const SWITCHED_OFF = new RegExp(
  `^(core\\.(fsmonitor|hookspath|pager)|log\\.showsignature|submodule\\.recurse
  |diff\\.submodule|status\\.submodulesummary
  |filter\\..*\\.(clean|smudge|process|required))$`.replace(/\s+/g, ""),
  "s",
);
const PERSONAL_SCOPES = new Set(["system", "global", "command"]);

type Setting = { scope: string; key: string; value: string };
function isHarmless({ scope, key, value }: Setting): boolean {
  if (PERSONAL_SCOPES.has(scope)) return true;
  const [firstDot, lastDot] = [key.indexOf("."), key.lastIndexOf(".")];
  const section = key.slice(0, firstDot) + (firstDot === lastDot ? "" : ".*");
  const harmlessNames = Object.hasOwn(HARMLESS, section)
    ? [HARMLESS[section]!].flat().join(" ").split(" ")
    : [];
  if (harmlessNames[0] === "*" || harmlessNames.includes(key.slice(lastDot + 1))) return true;
  return BY_VALUE.some(
    ([keyPattern, valuePattern]) => keyPattern.test(key) && valuePattern.test(value),
  );
}

/** Where a repository is, as git finds it from a folder. */
type Repository = { dir: string; common: string; top: string; hooks: string; objects: string };
type GitOutput = { out?: string; err: string };
type GitCall = {
  start: Programs["start"];
  before: readonly string[];
  env: NodeJS.ProcessEnv;
  stop: AbortSignal;
};
type AskGit = (gitArguments: readonly string[], workingFolder: string) => Promise<GitOutput>;

/**
 * Git can hang on a file that never answers, even after zz has ended: what still runs at exit is
 * stopped.
 */
const running = new Set<() => void>();
function stopAtExit(killProcess: () => void): void {
  if (!process.listeners("exit").includes(stopAll)) process.once("exit", stopAll);
  running.add(killProcess);
}
const stopAll = (): void => {
  for (const killProcess of running) killProcess();
};

/** Git for a project: ctx.git of tools and commands. */
export function gitOf(root: string, clock: Clock = CLOCK): Git {
  const { find, start } = programs(root);
  const quiet = configOptions(QUIET_SETTINGS);
  const plainOptions = configOptions(["safe.bareRepository=explicit", "core.fsmonitor=false"]);
  return {
    quiet,
    env: gitEnvironment,
    async check(folder, { stop = clock.limit(GIT_PATIENCE_MS), command } = {}) {
      const pointingName =
        command &&
        Object.keys(command).find((variableName) => POINTING_VARIABLES.test(variableName));
      if (pointingName)
        return {
          why: `${pointingName} is set, so that git may look elsewhere or run something`,
          reads: [],
        };
      if (!find("git")) return { reads: [] };
      const gitCall = {
        start,
        before: command ? plainOptions : quiet,
        env: gitEnvironment(command),
        stop,
      };
      const earlyListing = fs.existsSync(path.join(folder, ".git"))
        ? runGit(LIST_SETTINGS, folder, gitCall)
        : undefined; // at the same time
      earlyListing?.catch(() => {});
      const ask: AskGit = (gitArguments, workingFolder) =>
        (gitArguments === LIST_SETTINGS && workingFolder === folder && earlyListing) ||
        runGit(gitArguments, workingFolder, gitCall);
      return inspectRepository({ root, folder, command, ask });
    },
    async say(gitArguments, workingFolder = root) {
      const gitCall = {
        start,
        before: quiet,
        env: gitEnvironment(),
        stop: clock.limit(3 * GIT_PATIENCE_MS),
      };
      return (
        find("git") &&
        (await runGit(gitArguments, workingFolder, gitCall).catch(() => undefined))?.out
      );
    },
  };
}

/** Rejects when the signal aborts; everything that git started is stopped as well. */
function runGit(
  gitArguments: readonly string[],
  cwd: string,
  { start, before, env, stop }: GitCall,
): Promise<GitOutput> {
  const { promise, resolve, reject } = Promise.withResolvers<GitOutput>();
  if (stop.aborted) return Promise.reject(stop.reason);
  const spawnOptions = { cwd, env, detached: process.platform !== "win32", windowsHide: true };
  const gitProcess = start("git", [...before, ...gitArguments], {
    ...spawnOptions,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [outputChunks, errorChunks]: [Buffer[], Buffer[]] = [[], []];
  let outputSize = 0;
  gitProcess.stdout!.on("data", (outputBytes: Buffer) => {
    outputChunks.push(outputBytes);
    outputSize += outputBytes.length;
    if (outputSize > MAX_OUTPUT_BYTES) killGit();
  });
  gitProcess.stderr!.on(
    "data",
    (errorBytes: Buffer) => errorChunks.length < 100 && errorChunks.push(errorBytes),
  );
  const abortRun = () => {
    killGit();
    reject(stop.reason);
  };
  stop.addEventListener("abort", abortRun, { once: true });
  stopAtExit(killGit);
  gitProcess.on("error", (spawnError) => resolve({ err: spawnError.message }));
  gitProcess.on("close", (exitCode) => {
    stop.removeEventListener("abort", abortRun);
    running.delete(killGit);
    const [outputText, errorText] = [outputChunks, errorChunks].map((chunks) =>
      Buffer.concat(chunks).toString("utf8"),
    ) as [string, string];
    resolve(exitCode === 0 ? { out: outputText, err: errorText } : { err: errorText });
  });
  return promise;

  function killGit(): void {
    const killsOnlyChild = process.platform === "win32" || !gitProcess.pid;
    // it may have ended
    tryTo(() =>
      killsOnlyChild ? gitProcess.kill("SIGKILL") : process.kill(-gitProcess.pid, "SIGKILL"),
    );
  }
}

interface Inspection {
  ask: AskGit;
  root: string;
  folder: string;
  // the environment of a command that runs git itself: then nothing is switched off
  command?: NodeJS.ProcessEnv | undefined;
  depth?: number;
}
const WHAT_GIT_OBEYS = "git would run or read what the repository's own";

async function inspectRepository(inspection: Inspection): Promise<GitDoubt> {
  const { ask, folder, command } = inspection;
  if (
    !fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() ||
    !(command || mayBeInRepository(folder))
  )
    return { reads: [] };
  const repository = await findRepository(inspection);
  if (typeof repository === "string") {
    // zz asks git the same way, and gets the same error.
    if (command) await listSettings(inspection); // the person's own may hold a password as well
    if (!command || /not a git repository/.test(repository)) return { reads: [] };
    return { why: `git cannot use the repository: ${repository}`, reads: [] };
  }
  const allSettings = await listSettings(inspection);
  if (!allSettings) return { why: "git cannot tell what the repository's settings are", reads: [] };
  const settings = allSettings
    .filter((setting) => !isHarmless(setting) && setting.key !== "core.worktree")
    .map(({ key }) => key);
  const obeyedSetting = command
    ? undefined
    : settings.find((settingKey) => !SWITCHED_OFF.test(settingKey));
  if (obeyedSetting)
    return { why: `${WHAT_GIT_OBEYS} setting '${obeyedSetting}' names`, reads: [] };
  const pointed = allSettings.some(
    ({ scope, key }) => key === "core.worktree" && !PERSONAL_SCOPES.has(scope),
  );
  const topGitFolder =
    pointed && (await ask(["rev-parse", "--absolute-git-dir"], repository.top)).out?.trimEnd();
  const { top } = repository;
  if (!isInside(top, folder) || (pointed && topGitFolder !== repository.dir))
    return { why: `${WHAT_GIT_OBEYS} setting 'core.worktree' names`, reads: [] };
  const reads = await foldersElsewhere(inspection, repository, pointed);
  if (!command) return { reads, top };
  if (isProgram(path.join(repository.hooks, "post-index-change")))
    return { why: `${WHAT_GIT_OBEYS} hook post-index-change names`, reads, top };
  const innerDoubt = await inspectSubmodules(inspection, top);
  return {
    ...innerDoubt,
    settings: [...settings, ...(innerDoubt.settings ?? [])],
    reads: [...reads, ...innerDoubt.reads],
    top,
  };
}

/**
 * Folders outside of the project whose contents git would show, except those that belong to this
 * very project.
 */
async function foldersElsewhere(
  { ask, root, folder }: Inspection,
  repository: Repository,
  pointed: boolean,
): Promise<string[]> {
  const { dir, common, top, objects } = repository;
  const ownFolders = [
    root,
    ...(isInside(top, root) && dir === path.join(top, ".git") && followLinks(dir) === dir
      ? [dir]
      : []),
  ];
  // Its own are those of a submodule, whose repository names this folder as its working tree, and
  // those of a linked worktree.
  if (pointed) ownFolders.push(dir);
  if (isInside(path.join(common, "worktrees"), dir)) {
    const { out: worktreeList = "" } = await ask(["worktree", "list", "--porcelain"], folder);
    if (worktreeList.split("\n").includes(`worktree ${top}`)) ownFolders.push(common);
  }
  const hasAlternates = fs.existsSync(path.join(objects, "info", "alternates"));
  const { out: objectCounts = "" } = hasAlternates
    ? await ask(["count-objects", "-v"], folder)
    : {};
  const lentFolders = hasAlternates
    ? [objects, ...(objectCounts.match(/(?<=^alternate: ).*/gm) ?? ["/"])]
    : [];
  const linkTargets = [dir, common, objects, path.join(objects, "pack")].flatMap(linkTargetsIn);
  return [
    ...new Set([dir, common, objects, ...linkTargets, ...lentFolders].map(followLinks)),
  ].filter((targetFolder) => !isInsideAny(ownFolders, targetFolder));
}

/** Checks the submodules that git enters by itself to look for changes. */
async function inspectSubmodules(
  { depth = 0, ...look }: Inspection,
  topFolder: string,
): Promise<GitDoubt> {
  const { out: indexListing = "" } = await look.ask(
    ["ls-files", "-s", "-z", "--full-name", "--", ":/"],
    topFolder,
  );
  const reads: string[] = [];
  const settings: string[] = [];
  for (const [, submoduleName = ""] of indexListing.matchAll(
    /(?<=^|\0)160000 [^\t\0]*\t([^\0]+)/g,
  )) {
    const submoduleFolder = path.join(topFolder, submoduleName);
    if (!fs.existsSync(path.join(submoduleFolder, ".git"))) continue;
    if (depth > MAX_SUBMODULE_DEPTH) return { why: "its submodules are nested too deeply", reads };
    const innerDoubt = await inspectRepository({
      ...look,
      folder: followLinks(submoduleFolder),
      depth: depth + 1,
    });
    reads.push(...innerDoubt.reads);
    settings.push(
      ...(innerDoubt.settings ?? []).map(
        (settingKey) => `${settingKey} of its submodule ${submoduleName}`,
      ),
    );
    if (innerDoubt.why)
      return { why: `in the submodule '${submoduleName}', ${innerDoubt.why}`, reads };
  }
  return { reads, settings };
}

/**
 * False if git would find no repository, as zz asks it: without a `.git` there or above,
 * QUIET_SETTINGS allows none. Spares starting git.
 */
export const mayBeInRepository = (folderPath: string): boolean =>
  repositoryTop(followLinks(folderPath)) !== undefined;

/** Where git finds a repository, or a text that says why it finds none. */
async function findRepository({ ask, folder }: Inspection): Promise<Repository | string> {
  const questions = [
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
    "--git-path",
    "hooks",
    "--git-path",
    "objects",
  ];
  const { out: gitOutput, err } = await ask(["rev-parse", ...questions], folder);
  if (gitOutput === undefined)
    return err.replace(/^fatal: |\.?\s*$/g, "").split("\n")[0] || "it gives no answer";
  const answerPaths = gitOutput.split("\n").map((answerLine) => path.resolve(folder, answerLine));
  if (answerPaths.length !== 6) return "a folder on the way has a line break in its name";
  const [dir, commonFolder, top, hooks, objects] = answerPaths as [
    string,
    string,
    string,
    string,
    string,
  ];
  return { dir, common: path.resolve(commonFolder), top, hooks, objects };
}

const LIST_SETTINGS = ["config", "--list", "-z", "--show-scope", "--no-includes"];
/** Undefined if git cannot tell. */
async function listSettings({ ask, folder }: Inspection): Promise<Setting[] | undefined> {
  const { out: gitOutput } = await ask(LIST_SETTINGS, folder);
  const outputFields = gitOutput?.split("\0").slice(0, -1);
  if (!outputFields || outputFields.length % 2) return undefined;
  return outputFields.flatMap((scope, i) => {
    if (i % 2) return [];
    const [, key = "", value = ""] = /^([^\n]*)\n?(.*)$/s.exec(outputFields[i + 1]!)!;
    learnSetting(key, value);
    return { scope, key, value };
  });
}

/** Git prints a remote's address with the password in it, and headers for http hold tokens. */
function learnSetting(settingKey: string, settingValue: string): void {
  learnData(settingValue, settingKey);
  // url.<address>.insteadOf
  for (const [address] of settingKey.matchAll(/\b[a-z][\w+.-]*:\/\/\S+/g)) learnData(address);
  if (/pass(wd)?$/.test(settingKey)) learnSecret(settingValue); // sendemail.smtpPass, imap.pass
  // credential.helper
  const [, echoedPassword] = /\bpassword=([^\s"';&|]+)/.exec(settingValue) ?? [];
  if (echoedPassword) learnSecret(echoedPassword);
  if (/\.extraheader$/.test(settingKey))
    for (const headerWord of settingValue.split(/[\s:]+/))
      if (headerWord.length >= MIN_HEADER_CHARS) learnSecret(headerWord);
}
const MIN_HEADER_CHARS = 16; // shorter ones may be ordinary words

/** Where the links among a folder's entries lead. Hooks are left out: they are never shown. */
function linkTargetsIn(folderPath: string): string[] {
  const entries = fs.existsSync(folderPath)
    ? fs.readdirSync(folderPath, { withFileTypes: true })
    : [];
  const linkEntries = entries.filter(
    (dirent) => dirent.isSymbolicLink() && dirent.name !== "hooks",
  );
  return linkEntries.map(({ name }) => followLinks(path.join(folderPath, name)));
}

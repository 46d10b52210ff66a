// One refactoring: what it is about, its plan from another process, what that may have missed, and
// the changes.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Result } from "zz";
import { fileBeside, isInside, plural, tryTo, visible } from "zz/text";
import type { RefactorRequest } from "./project.ts";
import type { PlannedChanges } from "./refactor-worker.ts";

const SCRIPT_PATTERN = /\.[cm]?[jt]sx?$/;
const ACTIONS = [
  "move",
  "organize_imports",
  "fix_imports",
  "remove_unused",
  "change_signature",
  "extract_function",
  "extract_constant",
];
const OF_ALL_FILES = new Set(["move", "fix_imports", "change_signature"]);
const MAX_SCRIPTS = 10_000;
const MAX_MOVED = 2_000;
const MAX_CROSS_CHECKED = 30; // moved files whose dependents are looked up
const MAX_NOTES = 40;
const LIMIT_MS = 100_000;

type Args = Pick<RefactorRequest, "to" | "name" | "parameters" | "value" | "code" | "line"> & {
  action: string;
  path: string;
};

export const needsOf = (action: string, givenPath: string, { permissions }: Ctx): Needs => ({
  read: action === "move" ? filesAt(permissions.place(givenPath)) : [givenPath],
});

export async function run(args: Args, ctx: Ctx): Promise<Result> {
  try {
    const request = await requestOf(args, ctx);
    ctx.progress("reading the code");
    const plannedChanges = await requestPlan(request, ctx);
    const missedUses = await missedOf(request, plannedChanges, ctx);
    if (missedUses.length)
      throw new Error(`it would miss ${missedUses.join(", ")}. Edit each place instead.`);
    return await applyPlan(request, plannedChanges, ctx);
  } catch (error) {
    if (ctx.signal.aborted || !(error instanceof Error)) throw error;
    const text = `Cannot ${args.action.replace("_", " ")} '${args.path}': ${error.message}`;
    return { text, failed: true, data: { isPlanned: false } };
  }
}

async function requestOf(
  { action, path: givenPath, ...otherArgs }: Args,
  { files, permissions, root }: Ctx,
): Promise<RefactorRequest> {
  if (!ACTIONS.includes(action))
    throw new Error(`'${action}' is not an action. Choose from ${ACTIONS.join(", ")}.`);
  const absolutePath = files.path(givenPath);
  const relativePath = path.relative(root, absolutePath);
  if (!relativePath || relativePath.startsWith(".."))
    throw new Error("it is not a part of the project. Name a file in it.");
  const fileStats = tryTo(() => fs.statSync(absolutePath));
  if (!fileStats) throw new Error("nothing is there. Check the path.");
  if (absolutePath !== permissions.place(givenPath))
    throw new Error(`a link leads to it. Name '${relativePath}' itself.`);
  const allFiles = await files.list();
  const scripts = allFiles.filter((projectFile) => SCRIPT_PATTERN.test(projectFile));
  const scriptsWithin = scripts.filter((script) => isInside(relativePath, script));
  const request = {
    action,
    root,
    ...otherArgs,
    paths: action === "move" || fileStats.isFile() ? [relativePath] : scriptsWithin,
  };
  if (action === "move") checkMove(relativePath, absolutePath, otherArgs.to, files);
  else if (!scriptsWithin.length)
    throw new Error("no TypeScript or JavaScript is there. Name such a file.");
  else if (fileStats.isDirectory() && !/imports$|unused$/.test(action))
    throw new Error("it is a folder. Name a file.");
  const to = action === "move" ? path.relative(root, files.path(otherArgs.to!)) : undefined;
  const wantedScripts = OF_ALL_FILES.has(action) ? scripts : request.paths;
  const { names = [], hidden = [] } = Object.groupBy(wantedScripts, (script) =>
    permissions.judge("read", script).verdict === "allow" ? "names" : "hidden",
  );
  if (names.length > MAX_SCRIPTS)
    throw new Error(
      `the project has ${names.length} files of code, too many to read. Edit by hand.`,
    );
  const unreadablePath = request.paths.find(
    (requestedPath) => SCRIPT_PATTERN.test(requestedPath) && !names.includes(requestedPath),
  );
  if (unreadablePath) throw new Error(`'${unreadablePath}' is ignored, or may not be read.`);
  return { ...request, names, allFiles: action === "move" ? allFiles : [], to, hidden };
}

function checkMove(
  relativePath: string,
  absolutePath: string,
  givenTarget: string | undefined,
  files: Ctx["files"],
): void {
  if (!givenTarget) throw new Error("to is missing. Give its new path.");
  const targetPath = files.path(givenTarget);
  if (targetPath === absolutePath) throw new Error("that is where it is. Give another path.");
  if (isInside(absolutePath, targetPath))
    throw new Error(`'${givenTarget}' is inside it. Choose another path.`);
  if (fs.existsSync(targetPath))
    throw new Error(`'${givenTarget}' is already there. Choose another path.`);
  const movedFiles = filesAt(absolutePath);
  if (movedFiles.length > MAX_MOVED)
    throw new Error(`it has more than ${MAX_MOVED} files. Use a command.`);
  const unmovableFile = movedFiles.find((movedFile) => !fs.lstatSync(movedFile).isFile());
  if (unmovableFile)
    throw new Error(
      `'${relativePath}' holds a link or no ordinary file ` +
        `(${path.relative(absolutePath, unmovableFile)}). Use a command.`,
    );
}

/** All that is in a folder, or the file. */
function filesAt(absolutePath: string): string[] {
  if (!tryTo(() => fs.lstatSync(absolutePath))?.isDirectory()) return [absolutePath];
  const dirents =
    tryTo(() => fs.readdirSync(absolutePath, { recursive: true, withFileTypes: true })) ?? [];
  return dirents
    .filter((dirent) => !dirent.isDirectory())
    .map((dirent) => path.join(dirent.parentPath, dirent.name));
}

async function requestPlan(
  order: RefactorRequest,
  { programs, permissions, signal, io }: Ctx,
): Promise<PlannedChanges> {
  const { promise, resolve, reject } = Promise.withResolvers<PlannedChanges>();
  const plannerProcess = programs.fork(fileBeside(import.meta.url, "refactor-worker")!, {
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const cancelTimer = io.clock.timer(LIMIT_MS, () =>
    reject(new Error(`it took longer than ${LIMIT_MS / 1_000} s. Edit by hand.`)),
  );
  const rejectOnAbort = () => reject(signal.reason);
  signal.addEventListener("abort", rejectOnAbort);
  plannerProcess.on("message", (outcome: PlannedChanges | { failure: string }) =>
    "failure" in outcome ? reject(new Error(outcome.failure)) : resolve(outcome),
  );
  plannerProcess.on("error", reject);
  plannerProcess.on("exit", () =>
    reject(new Error("the process for it ended, perhaps for want of memory. Edit by hand.")),
  );
  try {
    signal.throwIfAborted();
    // a process that has ended is reported by its exit
    plannerProcess.send({ order, rules: permissions.compiler() }, () => {});
    return await promise;
  } finally {
    promise.catch(() => {});
    cancelTimer();
    signal.removeEventListener("abort", rejectOnAbort);
    plannerProcess.kill("SIGKILL");
  }
}

/**
 * What the index or a language server knows to use it and TypeScript did not see: components,
 * packages that are not built.
 */
async function missedOf(
  { action, paths, names, name, line }: RefactorRequest,
  plannedChanges: PlannedChanges,
  ctx: Ctx,
): Promise<string[]> {
  const [firstPath = ""] = paths;
  if (action === "change_signature") {
    const { data, failed } = await ctx.call("find_references", {
      symbol: name,
      path: firstPath,
      ...(line && { line }),
    });
    const reportedUses = failed
      ? []
      : (data as { places: { path: string; line: number; kind: string }[] }[]).flatMap(
          (symbolUses) => symbolUses.places,
        );
    const useLocations = reportedUses
      .filter(({ kind: useKind }) => useKind !== "definition" && useKind !== "comment")
      .map((symbolUse) => `${symbolUse.path}:${symbolUse.line}`);
    return useLocations.filter((location) => !plannedChanges.seen?.includes(location)).slice(0, 10);
  }
  if (action !== "move") return [];
  const changed = new Set(plannedChanges.changes.map((plannedChange) => plannedChange.path));
  const missedFiles = new Set<string>();
  for (const movedScript of names
    .filter((script) => isInside(firstPath, script))
    .slice(0, MAX_CROSS_CHECKED)) {
    const { data, failed } = await ctx.call("get_dependents", { path: movedScript });
    for (const dependent of failed ? [] : (data as string[]))
      if (!changed.has(dependent) && !isInside(firstPath, dependent)) missedFiles.add(dependent);
  }
  return [...missedFiles].slice(0, 10);
}

async function applyPlan(
  { root, paths, to, hidden }: RefactorRequest,
  plannedChanges: PlannedChanges,
  { files }: Ctx,
) {
  const { changes, summary, unread, dropped = [] } = plannedChanges;
  const [firstPath = ""] = paths;
  for (const change of changes) {
    const { text, bytes } = await files.read(change.path);
    if (!Buffer.from(text).equals(bytes))
      throw new Error(`'${change.path}' is not UTF-8. Edit it by hand.`);
    if (text.replace(/^\ufeff/, "") !== change.before)
      throw new Error(`'${change.path}' has changed meanwhile. Try again.`);
  }
  const newPath = (oldPath: string) =>
    to && isInside(firstPath, oldPath) ? to + oldPath.slice(firstPath.length) : oldPath;
  const movedPaths = to
    ? filesAt(path.join(root, firstPath)).map((movedFile) => path.relative(root, movedFile))
    : [];
  if (to) await files.move(firstPath, to);
  for (const change of changes) await files.write(newPath(change.path), change.after);
  const data = {
    files: changes.map((change) => newPath(change.path)),
    moved: movedPaths.map((from) => ({ from, to: newPath(from) })),
  };
  if (!changes.length && !movedPaths.length) return { text: "Nothing to change.", data };
  const shownFiles = data.files.slice(0, 40).map(visible);
  const remainingCount = data.files.length - shownFiles.length;
  const changeSummary = shownFiles.length
    ? [
        "Changed: " +
          `${shownFiles.join(", ")}` +
          `${remainingCount > 0 ? ` and ${plural(remainingCount, "file")} more` : ""}.`,
      ]
    : [];
  const droppedNotes = dropped
    .slice(0, MAX_NOTES)
    .map((droppedPart) => `no longer passed ${droppedPart}`);
  if (dropped.length > MAX_NOTES)
    droppedNotes.push(`and ${dropped.length - MAX_NOTES} more that are no longer passed`);
  const extraNotes = [
    ...droppedNotes,
    ...hidden.slice(0, 10).map((hiddenFile) => `'${hiddenFile}' may not be read: not looked at.`),
    ...unread,
  ];
  return {
    text: [
      `${visible(summary)}.`,
      ...changeSummary,
      ...extraNotes.map((note) => `[${visible(note)}]`),
    ].join("\n"),
    data,
  };
}

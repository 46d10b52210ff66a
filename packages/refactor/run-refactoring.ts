// One refactoring: what it is about, its plan from another process, what that may have missed, and
// the changes.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Result } from "zz";
import { fileBeside, isInside, plural, tryTo, visible } from "zz/text";
import type { RefactorRequest } from "./project.ts";
import type { PlannedChanges } from "./refactor-worker.ts";

const SCRIPT = /\.[cm]?[jt]sx?$/;
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

export const needsOf = (action: string, name: string, { permissions }: Ctx): Needs => ({
  read: action === "move" ? filesAt(permissions.place(name)) : [name],
});

export async function run(args: Args, ctx: Ctx): Promise<Result> {
  try {
    const order = await requestOf(args, ctx);
    ctx.progress("reading the code");
    const plan = await planOf(order, ctx);
    const missed = await missedOf(order, plan, ctx);
    if (missed.length)
      throw new Error(`it would miss ${missed.join(", ")}. Edit each place instead.`);
    return await applyPlan(order, plan, ctx);
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
  const real = files.path(givenPath);
  const name = path.relative(root, real);
  if (!name || name.startsWith(".."))
    throw new Error("it is not a part of the project. Name a file in it.");
  const stat = tryTo(() => fs.statSync(real));
  if (!stat) throw new Error("nothing is there. Check the path.");
  if (real !== permissions.place(givenPath))
    throw new Error(`a link leads to it. Name '${name}' itself.`);
  const scripts = (await files.list()).filter((file) => SCRIPT.test(file));
  const within = scripts.filter((script) => isInside(name, script));
  const order = {
    action,
    root,
    ...otherArgs,
    paths: action === "move" || stat.isFile() ? [name] : within,
  };
  if (action === "move") checkMove(name, real, otherArgs.to, files);
  else if (!within.length)
    throw new Error("no TypeScript or JavaScript is there. Name such a file.");
  else if (stat.isDirectory() && !/imports$|unused$/.test(action))
    throw new Error("it is a folder. Name a file.");
  const to = action === "move" ? path.relative(root, files.path(otherArgs.to!)) : undefined;
  const meant = OF_ALL_FILES.has(action) ? scripts : order.paths;
  const names = meant.filter((file) => permissions.judge("read", file).verdict === "allow");
  if (names.length > MAX_SCRIPTS)
    throw new Error(
      `the project has ${names.length} files of code, too many to read. Edit by hand.`,
    );
  const unread = order.paths.find((file) => SCRIPT.test(file) && !names.includes(file));
  if (unread) throw new Error(`'${unread}' is ignored, or may not be read.`);
  return {
    ...order,
    names,
    allFiles: action === "move" ? await files.list() : [],
    to,
    hidden: meant.filter((file) => !names.includes(file)),
  };
}

function checkMove(name: string, real: string, to: string | undefined, files: Ctx["files"]): void {
  if (!to) throw new Error("to is missing. Give its new path.");
  const target = files.path(to);
  if (target === real) throw new Error("that is where it is. Give another path.");
  if (isInside(real, target)) throw new Error(`'${to}' is inside it. Choose another path.`);
  if (fs.existsSync(target)) throw new Error(`'${to}' is already there. Choose another path.`);
  const movedFiles = filesAt(real);
  if (movedFiles.length > MAX_MOVED)
    throw new Error(`it has more than ${MAX_MOVED} files. Use a command.`);
  const odd = movedFiles.find((file) => !fs.lstatSync(file).isFile());
  if (odd)
    throw new Error(
      `'${name}' holds a link or no ordinary file (${path.relative(real, odd)}). Use a command.`,
    );
}

/** All that is in a folder, or the file. */
function filesAt(real: string): string[] {
  if (!tryTo(() => fs.lstatSync(real))?.isDirectory()) return [real];
  const dirents = tryTo(() => fs.readdirSync(real, { recursive: true, withFileTypes: true })) ?? [];
  return dirents
    .filter((dirent) => !dirent.isDirectory())
    .map((dirent) => path.join(dirent.parentPath, dirent.name));
}

async function planOf(
  order: RefactorRequest,
  { programs, permissions, signal, io }: Ctx,
): Promise<PlannedChanges> {
  const { promise, resolve, reject } = Promise.withResolvers<PlannedChanges>();
  const child = programs.fork(fileBeside(import.meta.url, "refactor-worker")!, {
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const cancel = io.clock.timer(LIMIT_MS, () =>
    reject(new Error(`it took longer than ${LIMIT_MS / 1_000} s. Edit by hand.`)),
  );
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop);
  child.on("message", (outcome: PlannedChanges | { failure: string }) =>
    "failure" in outcome ? reject(new Error(outcome.failure)) : resolve(outcome),
  );
  child.on("error", reject);
  child.on("exit", () =>
    reject(new Error("the process for it ended, perhaps for want of memory. Edit by hand.")),
  );
  try {
    signal.throwIfAborted();
    // a process that has ended is reported by its exit
    child.send({ order, rules: permissions.compiler() }, () => {});
    return await promise;
  } finally {
    promise.catch(() => {});
    cancel();
    signal.removeEventListener("abort", stop);
    child.kill("SIGKILL");
  }
}

/**
 * What the index or a language server knows to use it and TypeScript did not see: components,
 * packages that are not built.
 */
async function missedOf(
  { action, paths, names, name, line }: RefactorRequest,
  plan: PlannedChanges,
  ctx: Ctx,
): Promise<string[]> {
  const [first = ""] = paths;
  if (action === "change_signature") {
    const { data, failed } = await ctx.call("find_references", {
      symbol: name,
      path: first,
      ...(line && { line }),
    });
    const places = failed
      ? []
      : (data as { places: { path: string; line: number; kind: string }[] }[]).flatMap(
          (symbolUses) => symbolUses.places,
        );
    const used = places
      .filter(({ kind: useKind }) => useKind !== "definition" && useKind !== "comment")
      .map((use) => `${use.path}:${use.line}`);
    return used.filter((location) => !plan.seen?.includes(location)).slice(0, 10);
  }
  if (action !== "move") return [];
  const changed = new Set(plan.changes.map((change) => change.path));
  const missed = new Set<string>();
  for (const file of names
    .filter((script) => isInside(first, script))
    .slice(0, MAX_CROSS_CHECKED)) {
    const { data, failed } = await ctx.call("get_dependents", { path: file });
    for (const user of failed ? [] : (data as string[]))
      if (!changed.has(user) && !isInside(first, user)) missed.add(user);
  }
  return [...missed].slice(0, 10);
}

async function applyPlan(
  { root, paths, to, hidden }: RefactorRequest,
  plan: PlannedChanges,
  { files }: Ctx,
) {
  const { changes, summary, unread, dropped = [] } = plan;
  const [first = ""] = paths;
  for (const change of changes) {
    const { text, bytes } = await files.read(change.path);
    if (!Buffer.from(text).equals(bytes))
      throw new Error(`'${change.path}' is not UTF-8. Edit it by hand.`);
    if (text.replace(/^\ufeff/, "") !== change.before)
      throw new Error(`'${change.path}' has changed meanwhile. Try again.`);
  }
  const newPath = (file: string) =>
    to && isInside(first, file) ? to + file.slice(first.length) : file;
  const moved = to ? filesAt(path.join(root, first)).map((file) => path.relative(root, file)) : [];
  if (to) await files.move(first, to);
  for (const change of changes) await files.write(newPath(change.path), change.after);
  const data = {
    files: changes.map((change) => newPath(change.path)),
    moved: moved.map((from) => ({ from, to: newPath(from) })),
  };
  if (!changes.length && !moved.length) return { text: "Nothing to change.", data };
  const rows = data.files.slice(0, 40).map(visible);
  const remainingCount = data.files.length - rows.length;
  const list = rows.length
    ? [
        `Changed: ${rows.join(", ")}${remainingCount > 0 ? ` and ${plural(remainingCount, "file")} more` : ""}.`,
      ]
    : [];
  const lost = dropped.slice(0, MAX_NOTES).map((droppedPart) => `no longer passed ${droppedPart}`);
  if (dropped.length > MAX_NOTES)
    lost.push(`and ${dropped.length - MAX_NOTES} more that are no longer passed`);
  const notes = [
    ...lost,
    ...hidden.slice(0, 10).map((file) => `'${file}' may not be read: not looked at.`),
    ...unread,
  ];
  return {
    text: [`${visible(summary)}.`, ...list, ...notes.map((note) => `[${visible(note)}]`)].join(
      "\n",
    ),
    data,
  };
}

// One refactoring: what it is about, its plan from another process, what that may have missed, and
// the changes.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Result } from "zz";
import { isInside, plural, tryTo, visible } from "zz/text";
import type { Order } from "./project.ts";
import type { Planned } from "./worker.ts";

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

type Args = Pick<Order, "to" | "name" | "parameters" | "value" | "code" | "line"> & {
  action: string;
  path: string;
};

export const needsOf = (action: string, name: string, { permissions }: Ctx): Needs => ({
  read: action === "move" ? filesAt(permissions.place(name)) : [name],
});

export async function run(args: Args, ctx: Ctx): Promise<Result> {
  try {
    const order = await orderOf(args, ctx);
    ctx.progress("reading the code");
    const plan = await planOf(order, ctx);
    const missed = await missedOf(order, plan, ctx);
    if (missed.length)
      throw new Error(`it would miss ${missed.join(", ")}. Edit each place instead.`);
    return await made(order, plan, ctx);
  } catch (error) {
    if (ctx.signal.aborted || !(error instanceof Error)) throw error;
    const text = `Cannot ${args.action.replace("_", " ")} '${args.path}': ${error.message}`;
    return { text, failed: true, data: { isPlanned: false } };
  }
}

async function orderOf(
  { action, path: given, ...more }: Args,
  { files, permissions, root }: Ctx,
): Promise<Order> {
  if (!ACTIONS.includes(action))
    throw new Error(`'${action}' is not an action. Choose from ${ACTIONS.join(", ")}.`);
  const real = files.path(given);
  const name = path.relative(root, real);
  if (!name || name.startsWith(".."))
    throw new Error("it is not a part of the project. Name a file in it.");
  const stat = tryTo(() => fs.statSync(real));
  if (!stat) throw new Error("nothing is there. Check the path.");
  if (real !== permissions.place(given))
    throw new Error(`a link leads to it. Name '${name}' itself.`);
  const all = (await files.list()).filter((one) => SCRIPT.test(one));
  const within = all.filter((one) => isInside(name, one));
  const order = {
    action,
    root,
    ...more,
    paths: action === "move" || stat.isFile() ? [name] : within,
  };
  if (action === "move") checkMove(name, real, more.to, files);
  else if (!within.length)
    throw new Error("no TypeScript or JavaScript is there. Name such a file.");
  else if (stat.isDirectory() && !/imports$|unused$/.test(action))
    throw new Error("it is a folder. Name a file.");
  const to = action === "move" ? path.relative(root, files.path(more.to!)) : undefined;
  const meant = OF_ALL_FILES.has(action) ? all : order.paths;
  const names = meant.filter((one) => permissions.judge("read", one).verdict === "allow");
  if (names.length > MAX_SCRIPTS)
    throw new Error(
      `the project has ${names.length} files of code, too many to read. Edit by hand.`,
    );
  const unread = order.paths.find((one) => SCRIPT.test(one) && !names.includes(one));
  if (unread) throw new Error(`'${unread}' is ignored, or may not be read.`);
  return {
    ...order,
    names,
    all: action === "move" ? await files.list() : [],
    to,
    hidden: meant.filter((one) => !names.includes(one)),
  };
}

function checkMove(name: string, real: string, to: string | undefined, files: Ctx["files"]): void {
  if (!to) throw new Error("to is missing. Give its new path.");
  const target = files.path(to);
  if (target === real) throw new Error("that is where it is. Give another path.");
  if (isInside(real, target)) throw new Error(`'${to}' is inside it. Choose another path.`);
  if (fs.existsSync(target)) throw new Error(`'${to}' is already there. Choose another path.`);
  const all = filesAt(real);
  if (all.length > MAX_MOVED)
    throw new Error(`it has more than ${MAX_MOVED} files. Use a command.`);
  const odd = all.find((file) => !fs.lstatSync(file).isFile());
  if (odd)
    throw new Error(
      `'${name}' holds a link or no ordinary file (${path.relative(real, odd)}). Use a command.`,
    );
}

/** All that is in a folder, or the file. */
function filesAt(real: string): string[] {
  if (!tryTo(() => fs.lstatSync(real))?.isDirectory()) return [real];
  const all = tryTo(() => fs.readdirSync(real, { recursive: true, withFileTypes: true })) ?? [];
  return all
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

async function planOf(order: Order, { programs, permissions, signal, io }: Ctx): Promise<Planned> {
  const { promise, resolve, reject } = Promise.withResolvers<Planned>();
  const child = programs.fork(workerFile(), {
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const cancel = io.clock.timer(LIMIT_MS, () =>
    reject(new Error(`it took longer than ${LIMIT_MS / 1_000} s. Edit by hand.`)),
  );
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop);
  child.on("message", (outcome: Planned | { failure: string }) =>
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

/** In dist/ it is next to the kernel, in the source it is here. */
function workerFile(): URL {
  const places = ["./worker.ts", "./refactor-worker.js", "../refactor-worker.js"].map(
    (at) => new URL(at, import.meta.url),
  );
  return places.find((place) => fs.existsSync(place))!;
}

/**
 * What the index or a language server knows to use it and TypeScript did not see: components,
 * packages that are not built.
 */
async function missedOf(
  { action, paths, names, name, line }: Order,
  plan: Planned,
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
          (one) => one.places,
        );
    const used = places
      .filter(({ kind }) => kind !== "definition" && kind !== "comment")
      .map((one) => `${one.path}:${one.line}`);
    return used.filter((place) => !plan.seen?.includes(place)).slice(0, 10);
  }
  if (action !== "move") return [];
  const changed = new Set(plan.changes.map((change) => change.path));
  const missed = new Set<string>();
  for (const file of names.filter((one) => isInside(first, one)).slice(0, MAX_CROSS_CHECKED)) {
    const { data, failed } = await ctx.call("get_dependents", { path: file });
    for (const user of failed ? [] : (data as string[]))
      if (!changed.has(user) && !isInside(first, user)) missed.add(user);
  }
  return [...missed].slice(0, 10);
}

async function made({ root, paths, to, hidden }: Order, plan: Planned, { files }: Ctx) {
  const { changes, said, unread, dropped = [] } = plan;
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
  const more = data.files.length - rows.length;
  const list = rows.length
    ? [`Changed: ${rows.join(", ")}${more > 0 ? ` and ${plural(more, "file")} more` : ""}.`]
    : [];
  const lost = dropped.slice(0, MAX_NOTES).map((one) => `no longer passed ${one}`);
  if (dropped.length > MAX_NOTES)
    lost.push(`and ${dropped.length - MAX_NOTES} more that are no longer passed`);
  const notes = [
    ...lost,
    ...hidden.slice(0, 10).map((one) => `'${one}' may not be read: not looked at.`),
    ...unread,
  ];
  return {
    text: [`${visible(said)}.`, ...list, ...notes.map((one) => `[${visible(one)}]`)].join("\n"),
    data,
  };
}

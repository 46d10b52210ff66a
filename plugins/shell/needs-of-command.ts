// What a judged line needs, and whether it may run at once on a copy of the project.
import fs from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import type { Ctx, Kind, Need, Needs, Rule, Verdict } from "zz";
import { isInside, isInsideAny, repositoryTop } from "zz/text";
import { changesOnlyFiles } from "./files-only.ts";
import { ONLY_FILES } from "./judge/denied-commands.ts";
import { gitParts } from "./judge/git-commands.ts";
import type { Judged, Simple } from "./judge/judge-line.ts";
import { inFolder, realOf } from "./resolve-paths.ts";

/**
 * A command whose words do not show what it does depends on the rest of the line, so the whole line
 * is asked for and allowed.
 */
export function needsOf(
  command: string,
  { simple, reads, writes }: Judged,
  hosts: string[],
): Needs {
  const run = simple.map(({ text, verdict, why: reason }): Need => {
    if (verdict === "open") return text || command.trim() || ":";
    if (verdict === "unknown")
      return { name: command.trim(), verdict: "ask", why: reason, exact: true };
    return { name: verdict === "ask" ? command.trim() : text || ":", verdict, why: reason };
  });
  return {
    run,
    ...(reads.length && { read: reads }),
    ...(writes.length && { write: writes }),
    ...(hosts.length && { net: hosts }),
  };
}

/**
 * The needs on a copy: only denials apply, nothing is asked beforehand. exact: it counts as
 * running, not reading.
 */
export function needsOnCopy(
  { simple, reads }: Judged,
  { permissions }: Ctx,
): Needs & { unresolved?: boolean } {
  const reason = "it runs on a copy of the project, and what it changed is asked for";
  const run = simple.map(
    ({ text }): Need => ({ name: text || ":", verdict: "allow", why: reason, exact: true }),
  );
  const read = reads.map((name): Need => {
    const { verdict } = permissions.judge("read", name);
    return verdict === "allow"
      ? name
      : { name, verdict: "allow", why: "a copy shows the system to every command" };
  });
  // what it changed is held, and passes the gate
  return { run, ...(read.length && { read }), unresolved: false };
}

/** Whether a rule denies reading the whole project, or asks for it. */
function deniesReadingIn({ root, permissions }: Ctx) {
  return ({ verdict, kind, name }: Rule): boolean =>
    verdict !== "allow" &&
    kind === "read" &&
    (!name || permissions.matches("read", name)(join(root, "any")));
}

/** Whether a word names a file that may hold secrets: a copy does not have it. */
const namesSecret = ({ simple, writes }: Judged, { permissions }: Ctx): boolean =>
  [...simple.flatMap(({ words }) => words.slice(1)), ...writes].some(
    (word) => !!word && permissions.secret(word),
  );

// the same line, with these denials lifted
type Judge = (except: readonly string[]) => Promise<Judged>;

/**
 * Judges a line that may run at once on a copy of the project. Undefined if it may not: the gate
 * decides as usual.
 */
export async function judgeForCopy(
  command: string,
  first: Judged,
  ctx: Ctx,
  { judge, tmp }: { judge: Judge; tmp(): Promise<string> },
): Promise<Judged | undefined> {
  const { root, permissions, programs } = ctx;
  if (permissions.wide !== undefined || permissions.rules.some(deniesReadingIn(ctx)))
    return undefined;
  const onWrites = permissions.judge("write", join(root, "any")).verdict;
  if (runsOnProjectItself(command, first, ctx, onWrites)) return undefined;
  const mayHarmFiles =
    first.verdict === "deny" || first.simple.some(({ verdict }) => verdict === "unknown");
  const judged =
    mayHarmFiles && (first.verdict === "deny" || onWrites === "allow")
      ? await judge(ONLY_FILES)
      : first;
  if (judged.verdict === "deny") return undefined;
  const isUnknown = judged.simple.some(({ verdict }) => verdict === "unknown");
  // Where all changes are allowed, what cannot be known is asked for beforehand; what only harms
  // files is undone by /undo.
  if (onWrites === "deny" && first.verdict === "deny") return undefined;
  if (onWrites !== "ask" && isUnknown) return undefined;
  if (
    isUnknown &&
    permissions.rules.some(({ verdict, kind }) => verdict === "deny" && kind === "run")
  )
    return undefined;
  const [{ whyNotOnCopy }, { whyNoView }] = await Promise.all([
    import("./not-on-a-copy.ts"),
    import("./try-copy.ts"),
  ]);
  if (whyNotOnCopy(judged.simple)) return undefined;
  if (judged.simple.some((simpleCommand) => asksOtherRepository(simpleCommand, root)))
    return undefined;
  if (!(await hasAllOnCopy(judged, ctx, tmp))) return undefined;
  return (await whyNoView(programs, root, ctx.about.home)) === undefined ? judged : undefined;
}

/** Whether the rules let it run on the project itself, where it needs no copy. */
function runsOnProjectItself(command: string, first: Judged, ctx: Ctx, onWrites: Verdict): boolean {
  const { permissions } = ctx;
  const needs = Object.entries(needsOf(command, first, [])) as [Kind, Need[]][];
  // a sandbox cannot
  const isLimited = permissions.rules.some(({ kind, but }) => kind === "write" && but);
  const isAllowed = needs.every(([needKind, list]) =>
    list.every((need) => permissions.judge(needKind, need).verdict === "allow"),
  );
  const isHeldAnyway = onWrites === "allow" && changesOnlyFiles(first) && !namesSecret(first, ctx);
  return isAllowed && !isLimited && !isHeldAnyway;
}

/** Whether a copy shows and takes what the line names, as the rules would. */
async function hasAllOnCopy(
  judged: Judged,
  { root, permissions }: Ctx,
  tmp: () => Promise<string>,
): Promise<boolean> {
  const named = judged.simple.flatMap(namedPaths).filter((file) => !isInside(root, file));
  const isLooking = judged.reads.length + named.length > 0;
  const hidden = isLooking ? (await import("./copy-on-write.ts")).outsidePaths(root) : [];
  const ownTmp = isLooking ? await tmp() : "";
  // Commands on a copy do not see the machine's own /tmp.
  const isInOwnTmp = (file: string) =>
    fs.existsSync(join(ownTmp, file.slice(OWN_TMP.length))) || !fs.existsSync(file);
  const isShown = (file: string) =>
    !isInside(root, file) &&
    !permissions.secret(file) &&
    !isInsideAny(hidden, file) &&
    (!isInside(OWN_TMP, file) || (file !== OWN_TMP && isInOwnTmp(file)));
  const mayRead = (name: string) => {
    const { verdict } = permissions.judge("read", name);
    const file = permissions.place(name);
    return (
      verdict === "allow" || (verdict === "ask" && isShown(file) && isShown(realOf(file) ?? file))
    );
  };
  const mayWrite = (name: string) =>
    permissions.judge("write", name).verdict !== "deny" &&
    [root, OWN_TMP].some((folder) => isInside(folder, permissions.place(name)));
  return (
    judged.reads.every(mayRead) &&
    named.every((file) => file === OWN_TMP || (isShown(file) && isShown(realOf(file) ?? file))) &&
    judged.writes.every(mayWrite)
  );
}

/**
 * What only harms files of the project, where no copy can hold it: the person may let exactly this
 * line run, whatever is allowed. What names other files, or cannot be known, keeps its denial.
 */
export async function askedInstead(
  first: Judged,
  judge: Judge,
  { root, permissions }: Ctx,
): Promise<Judged> {
  const denied = first.simple.filter(({ verdict }) => verdict === "deny");
  const isInProject = (simpleCommand: Simple) =>
    simpleCommand.words.every((word) => word !== undefined) &&
    !!simpleCommand.dirs?.length &&
    namedPaths(simpleCommand).every((absolutePath) => isInside(root, absolutePath));
  if (permissions.wide !== undefined || !denied.length || !denied.every(isInProject)) return first;
  const lifted = await judge(ONLY_FILES);
  if (lifted.verdict === "deny") return first;
  const instead = "would run on the project itself, since no copy can hold the line";
  const reasons = new Map(
    denied.map((command) => [command.text, command.why.replace(/is on the deny list$/, instead)]),
  );
  const simple = lifted.simple.map((command): Simple => {
    const because = reasons.get(command.text);
    return because === undefined ? command : { ...command, verdict: "unknown", why: because };
  });
  return simple.some(({ text }) => reasons.has(text))
    ? { ...lifted, simple, verdict: "ask", why: first.why }
    : first;
}

/**
 * Without a sandbox nothing holds a denial of files: what names such a file, or a folder around it,
 * is asked for, whatever is allowed.
 */
export function askedForDenied(judged: Judged, { root, permissions }: Ctx): Judged {
  const rules = permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "deny" && /^(read|write)$/.test(kind) && name
      ? [
          {
            kind,
            said: `--deny-${kind}=${name}`,
            fits: permissions.matches(kind, name),
            place: permissions.place(name),
          },
        ]
      : [],
  );
  if (!rules.length) return judged;
  const simple = judged.simple.map((command): Simple => {
    if (command.verdict === "allow" || command.verdict === "deny") return command;
    const named = wordsAsPaths(command).map((absolutePath) =>
      join(realOf(dirname(absolutePath)) ?? dirname(absolutePath), basename(absolutePath)),
    );
    const isDenied = (needKind: Rule["kind"], absolutePath: string) =>
      permissions.judge(needKind, absolutePath).verdict === "deny"; // by another name
    const denied = rules.find(({ kind, fits, place }) =>
      named.some(
        (absolutePath) =>
          fits(absolutePath) || isInside(absolutePath, place) || isDenied(kind, absolutePath),
      ),
    );
    return denied
      ? {
          ...command,
          verdict: "unknown",
          why: `it names what ${denied.said} covers, and there is no sandbox`,
        }
      : command;
  });
  return { ...judged, simple };

  function wordsAsPaths({ words: [, ...args], dirs = [root] }: Simple): string[] {
    const names = args.flatMap((word = "") =>
      word && !word.startsWith("-") ? [word, word.replace(/^[^=/]*=/, "")] : [],
    );
    return names.flatMap((name) =>
      isAbsolute(name) ? [name] : dirs.map((dir) => resolve(dir, name)),
    );
  }
}

/**
 * Whether git is asked of a repository in the project that a copy hides: there, git would find the
 * one around it instead.
 */
function asksOtherRepository(
  { words: [program, ...args], dirs = [] }: Simple,
  root: string,
): boolean {
  if (program === undefined || basename(program) !== "git") return false;
  const projectTop = repositoryTop(root);
  const [options] = gitParts(args, (word) => word);
  if (options.some((word) => /^--(git-dir|work-tree|bare)/.test(word ?? ""))) return true;
  const folders = options.flatMap((word, i) => (word === "-C" ? [options[i + 1] ?? ""] : []));
  const startFolders = [
    ...dirs,
    ...dirs.flatMap((dir) => folders.map((folder) => inFolder(dir, folder))),
  ];
  return startFolders
    .map((folder) => realOf(folder) ?? folder)
    .some((folder) => isInside(root, folder) && repositoryTop(folder) !== projectTop);
}

/**
 * What the words of a command name, as far as it is there. On a copy that hides it, `rm -rf ../old`
 * would find nothing, and succeed. Where zz's tables know that it only reads, a word may be a
 * pattern, and what it reads is judged anyway.
 */
function namedPaths({ verdict, words: [, ...args], dirs = [] }: Simple): string[] {
  if (verdict === "allow") return [];
  const names = new Set(args.flatMap((word = "") => [word, word.replace(/^[^=/]*=/, "")]));
  return [...names]
    .flatMap((name) => (isAbsolute(name) ? [name] : dirs.map((dir) => inFolder(dir, name))))
    .map(existingPart);
}

/**
 * A path, or the nearest folder above it that is there. A link at its end is not followed: it can
 * be removed itself.
 */
function existingPart(absolutePath: string): string {
  if (fs.existsSync(absolutePath))
    return join(realOf(dirname(absolutePath)) ?? dirname(absolutePath), basename(absolutePath));
  return dirname(absolutePath) === absolutePath
    ? absolutePath
    : (realOf(dirname(absolutePath)) ?? existingPart(dirname(absolutePath)));
}

/** Commands on a copy have a private folder there. */
const OWN_TMP = "/tmp";

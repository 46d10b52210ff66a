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
  neededHosts: string[],
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
    ...(neededHosts.length && { net: neededHosts }),
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
type Judge = (liftedDenials: readonly string[]) => Promise<Judged>;

/**
 * Judges a line that may run at once on a copy of the project. Undefined if it may not: the gate
 * decides as usual.
 */
export async function judgeForCopy(
  command: string,
  firstJudgement: Judged,
  ctx: Ctx,
  { judge, tmp }: { judge: Judge; tmp(): Promise<string> },
): Promise<Judged | undefined> {
  const { root, permissions, programs } = ctx;
  if (permissions.wide !== undefined || permissions.rules.some(deniesReadingIn(ctx)))
    return undefined;
  const onWrites = permissions.judge("write", join(root, "any")).verdict;
  if (runsOnProjectItself(command, firstJudgement, ctx, onWrites)) return undefined;
  const isDenied = firstJudgement.verdict === "deny";
  if (isDenied && onWrites === "deny") return undefined;
  const judgement =
    isDenied || (onWrites === "allow" && hasUnknown(firstJudgement))
      ? await judge(ONLY_FILES)
      : firstJudgement;
  if (judgement.verdict === "deny") return undefined;
  // Where all changes are allowed, what cannot be known is asked for beforehand; what only harms
  // files is undone by /undo.
  const mayBeDenied =
    onWrites !== "ask" ||
    permissions.rules.some(({ verdict, kind }) => verdict === "deny" && kind === "run");
  if (mayBeDenied && hasUnknown(judgement)) return undefined;
  const [{ whyNotOnCopy }, { whyNoView }] = await Promise.all([
    import("./not-on-a-copy.ts"),
    import("./try-copy.ts"),
  ]);
  if (whyNotOnCopy(judgement.simple)) return undefined;
  if (judgement.simple.some((simpleCommand) => asksOtherRepository(simpleCommand, root)))
    return undefined;
  if (!(await hasAllOnCopy(judgement, ctx, tmp))) return undefined;
  return (await whyNoView(programs, root, ctx.about.home)) === undefined ? judgement : undefined;
}

const hasUnknown = ({ simple }: Judged): boolean =>
  simple.some(({ verdict }) => verdict === "unknown");

/** Whether the rules let it run on the project itself, where it needs no copy. */
function runsOnProjectItself(
  command: string,
  firstJudgement: Judged,
  ctx: Ctx,
  onWrites: Verdict,
): boolean {
  const { permissions } = ctx;
  const needsByKind = Object.entries(needsOf(command, firstJudgement, [])) as [Kind, Need[]][];
  // a sandbox cannot
  const isLimited = permissions.rules.some(({ kind, but }) => kind === "write" && but);
  const isAllowed = needsByKind.every(([needKind, kindNeeds]) =>
    kindNeeds.every((need) => permissions.judge(needKind, need).verdict === "allow"),
  );
  const isHeldAnyway =
    onWrites === "allow" && changesOnlyFiles(firstJudgement) && !namesSecret(firstJudgement, ctx);
  return isAllowed && !isLimited && !isHeldAnyway;
}

/** Whether a copy shows and takes what the line names, as the rules would. */
async function hasAllOnCopy(
  judgement: Judged,
  { root, permissions }: Ctx,
  privateTmp: () => Promise<string>,
): Promise<boolean> {
  const namedOutside = judgement.simple
    .flatMap(namedPaths)
    .filter((namedFile) => !isInside(root, namedFile));
  const isLooking = judgement.reads.length + namedOutside.length > 0;
  const hiddenPaths = isLooking ? (await import("./copy-on-write.ts")).outsidePaths(root) : [];
  const ownTmp = isLooking ? await privateTmp() : "";
  // Commands on a copy do not see the machine's own /tmp.
  const isInOwnTmp = (namedFile: string) =>
    fs.existsSync(join(ownTmp, namedFile.slice(OWN_TMP.length))) || !fs.existsSync(namedFile);
  const isShown = (namedFile: string) =>
    !isInside(root, namedFile) &&
    !permissions.secret(namedFile) &&
    !isInsideAny(hiddenPaths, namedFile) &&
    (!isInside(OWN_TMP, namedFile) || (namedFile !== OWN_TMP && isInOwnTmp(namedFile)));
  const mayRead = (readName: string) => {
    const { verdict } = permissions.judge("read", readName);
    const absolutePath = permissions.place(readName);
    return (
      verdict === "allow" ||
      (verdict === "ask" && isShown(absolutePath) && isShown(realOf(absolutePath) ?? absolutePath))
    );
  };
  const mayWrite = (writtenName: string) =>
    permissions.judge("write", writtenName).verdict !== "deny" &&
    [root, OWN_TMP].some((folder) => isInside(folder, permissions.place(writtenName)));
  return (
    judgement.reads.every(mayRead) &&
    namedOutside.every(
      (namedFile) =>
        namedFile === OWN_TMP || (isShown(namedFile) && isShown(realOf(namedFile) ?? namedFile)),
    ) &&
    judgement.writes.every(mayWrite)
  );
}

/**
 * What only harms files of the project, where no copy can hold it: the person may let exactly this
 * line run, whatever is allowed. What names other files, or cannot be known, keeps its denial.
 */
export async function askedInstead(
  firstJudgement: Judged,
  judgeAgain: Judge,
  { root, permissions }: Ctx,
): Promise<Judged> {
  const deniedCommands = firstJudgement.simple.filter(({ verdict }) => verdict === "deny");
  const isInProject = (simpleCommand: Simple) =>
    simpleCommand.words.every((word) => word !== undefined) &&
    !!simpleCommand.dirs?.length &&
    namedPaths(simpleCommand).every((absolutePath) => isInside(root, absolutePath));
  if (
    permissions.wide !== undefined ||
    !deniedCommands.length ||
    !deniedCommands.every(isInProject)
  )
    return firstJudgement;
  const liftedJudgement = await judgeAgain(ONLY_FILES);
  if (liftedJudgement.verdict === "deny") return firstJudgement;
  const instead = "would run on the project itself, since no copy can hold the line";
  const reasons = new Map(
    deniedCommands.map((command) => [
      command.text,
      command.why.replace(/is on the deny list$/, instead),
    ]),
  );
  const simple = liftedJudgement.simple.map((command): Simple => {
    const because = reasons.get(command.text);
    return because === undefined ? command : { ...command, verdict: "unknown", why: because };
  });
  return simple.some(({ text }) => reasons.has(text))
    ? { ...liftedJudgement, simple, verdict: "ask", why: firstJudgement.why }
    : firstJudgement;
}

/**
 * Without a sandbox nothing holds a denial of files: what names such a file, or a folder around it,
 * is asked for, whatever is allowed.
 */
export function askedForDenied(judgement: Judged, { root, permissions }: Ctx): Judged {
  const denyRules = permissions.rules.flatMap(({ verdict, kind, name }) =>
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
  if (!denyRules.length) return judgement;
  const simple = judgement.simple.map((command): Simple => {
    if (command.verdict === "allow" || command.verdict === "deny") return command;
    const pathsInWords = wordsAsPaths(command).map((absolutePath) =>
      join(realOf(dirname(absolutePath)) ?? dirname(absolutePath), basename(absolutePath)),
    );
    const isDenied = (needKind: Rule["kind"], absolutePath: string) =>
      permissions.judge(needKind, absolutePath).verdict === "deny"; // by another name
    const deniedRule = denyRules.find(({ kind, fits, place }) =>
      pathsInWords.some(
        (absolutePath) =>
          fits(absolutePath) || isInside(absolutePath, place) || isDenied(kind, absolutePath),
      ),
    );
    return deniedRule
      ? {
          ...command,
          verdict: "unknown",
          why: `it names what ${deniedRule.said} covers, and there is no sandbox`,
        }
      : command;
  });
  return { ...judgement, simple };

  function wordsAsPaths({ words: [, ...argumentWords], dirs = [root] }: Simple): string[] {
    const pathNames = argumentWords.flatMap((word = "") =>
      word && !word.startsWith("-") ? [word, word.replace(/^[^=/]*=/, "")] : [],
    );
    return pathNames.flatMap((pathName) =>
      isAbsolute(pathName)
        ? [pathName]
        : dirs.map((workingFolder) => resolve(workingFolder, pathName)),
    );
  }
}

/**
 * Whether git is asked of a repository in the project that a copy hides: there, git would find the
 * one around it instead.
 */
function asksOtherRepository(
  { words: [program, ...argumentWords], dirs = [] }: Simple,
  root: string,
): boolean {
  if (program === undefined || basename(program) !== "git") return false;
  const projectTop = repositoryTop(root);
  const [options] = gitParts(argumentWords, (argument) => argument);
  if (options.some((argument) => /^--(git-dir|work-tree|bare)/.test(argument ?? ""))) return true;
  const folders = options.flatMap((argument, i) =>
    argument === "-C" ? [options[i + 1] ?? ""] : [],
  );
  const startFolders = [
    ...dirs,
    ...dirs.flatMap((workingFolder) =>
      folders.map((optionFolder) => inFolder(workingFolder, optionFolder)),
    ),
  ];
  return startFolders
    .map((startFolder) => realOf(startFolder) ?? startFolder)
    .some(
      (startFolder) => isInside(root, startFolder) && repositoryTop(startFolder) !== projectTop,
    );
}

/**
 * What the words of a command name, as far as it is there. On a copy that hides it, `rm -rf ../old`
 * would find nothing, and succeed. Where zz's tables know that it only reads, a word may be a
 * pattern, and what it reads is judged anyway.
 */
function namedPaths({ verdict, words: [, ...argumentWords], dirs = [] }: Simple): string[] {
  if (verdict === "allow") return [];
  const pathNames = new Set(
    argumentWords.flatMap((word = "") => [word, word.replace(/^[^=/]*=/, "")]),
  );
  return [...pathNames]
    .flatMap((pathName) =>
      isAbsolute(pathName)
        ? [pathName]
        : dirs.map((workingFolder) => inFolder(workingFolder, pathName)),
    )
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

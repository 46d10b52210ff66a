// What a program may do with its words, by the person's lists, the table of commands that only
// read, and what is known about it.
import { realOf } from "../resolve-paths.ts";
import type { Arg } from "./bash-words.ts";
import { repositoryAt } from "./git-history.ts";
import { holdsCommand, isCommandName } from "./harmless-variables.ts";
import type { ReadRuling } from "./judge-state.ts";
import {
  addCommand,
  addReads,
  addWrites,
  ask,
  type Dirs,
  type Lists,
  ONLY_READS,
  RUNS_NOTHING,
  type Ruling,
  type Run,
  type Scope,
  stayIn,
  textsOf,
  unknown,
  worse,
} from "./judge-state.ts";
import { scriptOf } from "./judge-wrappers.ts";
import { denialInLines, denialInText, denialInWords, runnerEnd } from "./match-denials.ts";
import { hasOption, parseOptions, type Words } from "./parse-options.ts";
import {
  ANY_ARGS,
  ASK_REASONS,
  INTERPRETER_SAFE,
  INTERPRETERS,
  PACKAGE_RUNNERS,
  programOf,
  RUNNING_OPTIONS,
} from "./program-table.ts";
import { readsOf } from "./reading-commands.ts";

/** Judges a command that needs no unwrapping. */
export function judgeProgram(run: Run, args: Arg[], scope: Scope, name: string): Dirs {
  const { ruling: ownRuling, read } = ruleOn(run, args, scope, name);
  const ruling = [
    ruleOnTexts(run, args, name, ownRuling),
    ruleOnPackageRunner(run, args, scope),
  ].reduce<Ruling>(
    (worstSoFar, ruling) => (ruling ? worse(worstSoFar, ruling) : worstSoFar),
    ownRuling,
  );
  const added = addCommand(run, args, scope, ruling);
  const globbed = args.flatMap(({ globbed, text }) => (globbed ? [text!] : []));
  if (read) addReads(run, added, [...read.reads, ...globbed, ...(scope.names ?? [])], scope);
  if (read?.doubt?.writes) addWrites(run, added, read.doubt.writes, scope);
  return stayIn(scope);
}

function ruleOn(
  run: Run,
  args: Arg[],
  { dirs }: Scope,
  name: string,
): { ruling: Ruling; read?: ReadRuling } {
  const words = textsOf(args);
  const unknownArg = args.find(({ text }) => text === undefined);
  if (unknownArg && !(unknownArg.filledBy && ANY_ARGS.has(name)))
    return {
      ruling: {
        verdict: SOURCE.test(name) || evaluates(name, args) ? "unknown" : "ask",
        why: unknownArg.why ?? "one of its words is not known",
      },
    };
  if (run.functions.has(words[0]!)) return { ruling: ask("a function of this line") };
  const read = readsOf(name, args.slice(1), dirs, run.lists.fileFacts, run.lists.repository);
  if (read?.showsUnnamed && run.lists.hidden?.length)
    return { ruling: ask("it may show what may not be read") };
  if (read && name === "git" && !read.doubt && !isInRepositoryOf(run.cwd, dirs))
    return { ruling: ask("after a cd, git may meet another repository") };
  if (read) return { ruling: read.doubt ?? ONLY_READS, read };
  return { ruling: ruleOnUnknown(name, words.slice(1), run.lists) };
}

/** Whether git finds the same repository from all of these folders. */
function isInRepositoryOf(cwd: string, dirs: readonly string[]): boolean {
  const ownRepository = repositoryAt(realOf(cwd) ?? cwd);
  return (
    dirs.length > 0 &&
    dirs.every(
      (dir) =>
        dir === cwd ||
        (ownRepository !== undefined && repositoryAt(realOf(dir) ?? dir) === ownRepository),
    )
  );
}

/** Builtins that, with such a word, make a harmless name mean another command. */
const NAMES_OTHERS: [name: string, test: RegExp][] = [
  ["alias", /=/],
  ["enable", /^-\w*f/],
  ["hash", /^-\w*p/],
  ["shopt", /^(expand_aliases|extdebug)$/],
];
const SOURCE = /^(\.|source)$/;
/** Operands that mean stdin rather than a file. */
export const IS_INPUT = /^-$|^\/dev\/(stdin|fd\b)|^\/proc\/[^/]+\/fd\b/;

/** Whether an interpreter is given an unknown text to run. */
const evaluates = (name: string, args: Arg[]): boolean =>
  INTERPRETERS.has(name) &&
  args.some(
    ({ text, shown }, i) =>
      text === undefined &&
      (/^-\w*[cepEr]$|^--(eval|print)$/.test(args[i - 1]?.text ?? "") || EVALUATES.test(shown)),
  );
const EVALUATES = /^(-[ce]["'$`]|--(eval|print)=)/;

/** Whether it reads command lines, or a file that holds some, from stdin. */
const runsInput = (name: string, words: Words): boolean => {
  if (name === "make" || name === "gmake")
    return words.some(
      (word, i) =>
        IS_INPUT.test((word ?? "").replace(/^(-f|--(make)?file=)/, "")) && (i || word !== "-"),
    );
  if (name === "crontab") return !words.length || words.some((word) => IS_INPUT.test(word ?? ""));
  return /^(at|batch)$/.test(name) && !words.some((word) => /^-[flqrcdV]/.test(word ?? ""));
};

/** Judges commands that are neither denied nor known to only read. */
function ruleOnUnknown(name: string, words: Words, lists: Lists): Ruling {
  const reason = ASK_REASONS.get(name);
  if (
    reason &&
    NAMES_OTHERS.some(
      ([otherName, test]) => otherName === name && words.some((word) => test.test(word ?? "")),
    )
  )
    return unknown("it may give a harmless name to what never runs");
  if (SOURCE.test(name) && words.some((word) => IS_INPUT.test(word ?? "")))
    return unknown("it runs what comes in");
  if (runsInput(name, words)) return unknown("it runs what comes in");
  if (reason) return ask(reason);
  if (Object.hasOwn(RUNNING_OPTIONS, name) && hasOption(words, RUNNING_OPTIONS[name]!))
    return ask(`${name} can run other commands this way`);
  if (INTERPRETERS.has(name) && runsText(words)) return ask("an interpreter runs what it is given");
  const denial = denialInWords(words, lists) ?? denialInLines([name, ...words], lists);
  if (denial) return unknown(denial);
  return {
    verdict: "open",
    why: INTERPRETERS.has(name)
      ? "an interpreter runs what it is given"
      : `'${name}' may change something`,
  };
}

/** A denied command in a text that the program may read as a command line. */
function ruleOnTexts(
  { lists }: Run,
  args: Arg[],
  name: string,
  { verdict }: Ruling,
): Ruling | undefined {
  if (verdict !== "ask") return undefined;
  const texts = args.slice(1).flatMap(({ text }) => text ?? []);
  const changesShell = CHANGES_SHELL.test(name);
  const runs =
    changesShell ||
    /^(git|test|\[|printf)$/.test(name) ||
    ASK_REASONS.has(name) ||
    INTERPRETERS.has(name) ||
    Object.hasOwn(RUNNING_OPTIONS, name);
  const read = runs
    ? texts.filter(
        (text) => !changesShell || holdsCommand(text) || isCommandName(text.split("=")[0]!),
      )
    : [];
  if (name === "sed")
    read.push(...texts.filter((text) => /(^|[\d$;{}/!\s])e\s|s(.).*\2.*\2\w*e/s.test(text)));
  const denialInArgs =
    runs && !changesShell ? denialInWords(textsOf(args.slice(1)), lists) : undefined;
  const denial =
    denialInArgs ??
    read.map((text) => denialInText(text, lists)).find((denied) => denied !== undefined);
  return denial ? unknown(denial) : undefined;
}
const CHANGES_SHELL =
  /^(unalias|set|shopt|hash|unset|export|declare|typeset|local|readonly|read|getopts|let|return|exit)$/;

/** Judges what npx and the like would run, since denials apply to that as well. */
function ruleOnPackageRunner(run: Run, args: Arg[], scope: Scope): Ruling | undefined {
  const texts = textsOf(args);
  const name = programOf(texts[0]!);
  for (const { words, options, script: names = "" } of PACKAGE_RUNNERS) {
    const runnerIndex = runnerEnd(texts, words, name);
    if (runnerIndex === undefined) continue;
    const parsed = parseOptions(args.slice(runnerIndex + 1), options, true);
    if (parsed.unknownOption) {
      const denial = denialInWords(texts.slice(runnerIndex + 1), run.lists);
      return denial || texts.includes(undefined)
        ? unknown(denial ?? "what it runs is not known")
        : undefined;
    }
    const isolated: Run = { ...run, simple: [], runs: [] };
    const inner: Scope = { ...scope, depth: scope.depth + 1 };
    delete inner.floor;
    const line = scriptOf({ options, script: names }, parsed.operands, parsed.values);
    const [first, ...otherOperands] = parsed.operands;
    if (line !== undefined) run.judgeScript(isolated, line, inner);
    else if (first)
      run.judgeArgs(
        isolated,
        [
          { ...first, ...(first.text && { text: first.text.replace(/(?<=.)@.*/s, "") }) },
          ...otherOperands,
        ],
        inner,
      );
    const worst = isolated.simple.reduce<Ruling>(
      (worstSoFar, command) => worse(worstSoFar, command),
      RUNS_NOTHING,
    );
    if (worst.verdict === "deny" || worst.verdict === "unknown") return worst;
  }
  return undefined;
}

/** Whether an interpreter gets its program from anything but the file that is named first. */
function runsText(words: Words): boolean {
  const first = words.findIndex((word) => !word?.startsWith("-") || word === "-");
  const options = first < 0 ? words : words.slice(0, first);
  if (options.some((word) => !INTERPRETER_SAFE.test(word ?? ""))) return true;
  return first < 0 ? !options.length : words[first] === "-";
}

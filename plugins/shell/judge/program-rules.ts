// What a program may do with its words, by the person's lists, the table of commands that only
// read, and what is known about it.
import { ownValue } from "zz/text";
import { realOf } from "../resolve-paths.ts";
import type { Arg } from "./bash-words.ts";
import { repositoryAt } from "./git-history.ts";
import { holdsCommand, isCommandName } from "./harmless-variables.ts";
import {
  addCommand,
  addReads,
  addWrites,
  ask,
  type Dirs,
  type Lists,
  ONLY_READS,
  type ReadRuling,
  RUNS_NOTHING,
  type Ruling,
  type Run,
  type Scope,
  stayIn,
  textsOf,
  unknown,
  worstOf,
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
export function judgeProgram(run: Run, args: Arg[], scope: Scope, programName: string): Dirs {
  const { ruling: ownRuling, read } = ruleOnArgs(run, args, scope, programName);
  const finalRuling = worstOf(
    ownRuling,
    ruleOnTexts(run, args, programName, ownRuling),
    ruleOnPackageRunner(run, args, scope),
  );
  const addedCommand = addCommand(run, args, scope, finalRuling);
  const globbed = args.flatMap(({ globbed, text }) => (globbed ? [text!] : []));
  if (read) addReads(run, addedCommand, [...read.reads, ...globbed, ...(scope.names ?? [])], scope);
  if (read?.doubt?.writes) addWrites(run, addedCommand, read.doubt.writes, scope);
  return stayIn(scope);
}

function ruleOnArgs(
  run: Run,
  args: Arg[],
  { dirs }: Scope,
  programName: string,
): { ruling: Ruling; read?: ReadRuling } {
  const words = textsOf(args);
  const unknownArg = args.find(({ text }) => text === undefined);
  if (unknownArg && !(unknownArg.filledBy && ANY_ARGS.has(programName)))
    return {
      ruling: {
        verdict:
          SOURCE_COMMAND.test(programName) || evaluates(programName, args) ? "unknown" : "ask",
        why: unknownArg.why ?? "one of its words is not known",
      },
    };
  if (run.functions.has(words[0]!)) return { ruling: ask("a function of this line") };
  const read = readsOf(programName, args.slice(1), dirs, run.lists.fileFacts, run.lists.repository);
  if (read?.showsUnnamed && run.lists.hidden?.length)
    return { ruling: ask("it may show what may not be read") };
  if (read && programName === "git" && !read.doubt && !isInRepositoryOf(run.cwd, dirs))
    return { ruling: ask("after a cd, git may meet another repository") };
  if (read) return { ruling: read.doubt ?? ONLY_READS, read };
  return { ruling: ruleOnUnknown(programName, words.slice(1), run.lists) };
}

/** Whether git finds the same repository from all of these folders. */
function isInRepositoryOf(cwd: string, dirs: readonly string[]): boolean {
  const ownRepository = repositoryAt(realOf(cwd) ?? cwd);
  return (
    dirs.length > 0 &&
    dirs.every(
      (folder) =>
        folder === cwd ||
        (ownRepository !== undefined && repositoryAt(realOf(folder) ?? folder) === ownRepository),
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
const SOURCE_COMMAND = /^(\.|source)$/;
/** Operands that mean stdin rather than a file. */
export const IS_INPUT = /^-$|^\/dev\/(stdin|fd\b)|^\/proc\/[^/]+\/fd\b/;

/** Whether an interpreter is given an unknown text to run. */
const evaluates = (programName: string, args: Arg[]): boolean =>
  INTERPRETERS.has(programName) &&
  args.some(
    ({ text, shown }, i) =>
      text === undefined &&
      (/^-\w*[cepEr]$|^--(eval|print)$/.test(args[i - 1]?.text ?? "") || EVALUATES.test(shown)),
  );
const EVALUATES = /^(-[ce]["'$`]|--(eval|print)=)/;

/** Whether it reads command lines, or a file that holds some, from stdin. */
const runsInput = (programName: string, words: Words): boolean => {
  if (programName === "make" || programName === "gmake")
    return words.some(
      (argument, i) =>
        IS_INPUT.test((argument ?? "").replace(/^(-f|--(make)?file=)/, "")) &&
        (i || argument !== "-"),
    );
  if (programName === "crontab")
    return !words.length || words.some((argument) => IS_INPUT.test(argument ?? ""));
  return (
    /^(at|batch)$/.test(programName) &&
    !words.some((argument) => /^-[flqrcdV]/.test(argument ?? ""))
  );
};

/** Judges commands that are neither denied nor known to only read. */
function ruleOnUnknown(programName: string, words: Words, lists: Lists): Ruling {
  const askReason = ASK_REASONS.get(programName);
  if (
    askReason &&
    NAMES_OTHERS.some(
      ([otherName, wordTest]) =>
        otherName === programName && words.some((argument) => wordTest.test(argument ?? "")),
    )
  )
    return unknown("it may give a harmless name to what never runs");
  if (SOURCE_COMMAND.test(programName) && words.some((argument) => IS_INPUT.test(argument ?? "")))
    return unknown("it runs what comes in");
  if (runsInput(programName, words)) return unknown("it runs what comes in");
  if (askReason) return ask(askReason);
  if (hasOption(words, ownValue(RUNNING_OPTIONS, programName) ?? ""))
    return ask(`${programName} can run other commands this way`);
  if (INTERPRETERS.has(programName) && runsText(words))
    return ask("an interpreter runs what it is given");
  const denial = denialInWords(words, lists) ?? denialInLines([programName, ...words], lists);
  if (denial) return unknown(denial);
  return {
    verdict: "open",
    why: INTERPRETERS.has(programName)
      ? "an interpreter runs what it is given"
      : `'${programName}' may change something`,
  };
}

/** A denied command in a text that the program may read as a command line. */
function ruleOnTexts(
  { lists }: Run,
  args: Arg[],
  programName: string,
  { verdict }: Ruling,
): Ruling | undefined {
  if (verdict !== "ask") return undefined;
  const wordTexts = args.slice(1).flatMap(({ text }) => text ?? []);
  const changesShell = SHELL_CHANGERS.has(programName);
  const mayRunText =
    changesShell ||
    /^(git|test|\[|printf)$/.test(programName) ||
    ASK_REASONS.has(programName) ||
    INTERPRETERS.has(programName) ||
    Object.hasOwn(RUNNING_OPTIONS, programName);
  const readTexts = mayRunText
    ? wordTexts.filter(
        (wordText) =>
          !changesShell || holdsCommand(wordText) || isCommandName(wordText.split("=")[0]!),
      )
    : [];
  if (programName === "sed")
    readTexts.push(
      ...wordTexts.filter((wordText) => /(^|[\d$;{}/!\s])e\s|s(.).*\2.*\2\w*e/s.test(wordText)),
    );
  const denialInArgs =
    mayRunText && !changesShell ? denialInWords(textsOf(args.slice(1)), lists) : undefined;
  const denial =
    denialInArgs ??
    readTexts
      .map((wordText) => denialInText(wordText, lists))
      .find((denied) => denied !== undefined);
  return denial ? unknown(denial) : undefined;
}
const SHELL_CHANGERS = new Set(
  `unalias set shopt hash unset export declare typeset local readonly read getopts let return
    exit`.split(/\s+/),
);

/** Judges what npx and the like would run, since denials apply to that as well. */
function ruleOnPackageRunner(run: Run, args: Arg[], scope: Scope): Ruling | undefined {
  const wordTexts = textsOf(args);
  const programName = programOf(wordTexts[0]!);
  for (const runner of PACKAGE_RUNNERS) {
    const runnerIndex = runnerEnd(wordTexts, runner.words, programName);
    if (runnerIndex === undefined) continue;
    const parsedOptions = parseOptions(args.slice(runnerIndex + 1), runner.options, true);
    if (parsedOptions.unknownOption) {
      const denial = denialInWords(wordTexts.slice(runnerIndex + 1), run.lists);
      return denial || wordTexts.includes(undefined)
        ? unknown(denial ?? "what it runs is not known")
        : undefined;
    }
    const isolated: Run = { ...run, simple: [], runs: [] };
    const innerScope: Scope = { ...scope, depth: scope.depth + 1 };
    delete innerScope.floor;
    const scriptLine = scriptOf(runner, parsedOptions);
    const [packageOperand, ...otherOperands] = parsedOptions.operands;
    if (scriptLine !== undefined) run.judgeScript(isolated, scriptLine, innerScope);
    else if (packageOperand)
      run.judgeArgs(
        isolated,
        [
          {
            ...packageOperand,
            ...(packageOperand.text && { text: packageOperand.text.replace(/(?<=.)@.*/s, "") }),
          },
          ...otherOperands,
        ],
        innerScope,
      );
    const worstRuling = worstOf(RUNS_NOTHING, ...isolated.simple);
    if (worstRuling.verdict === "deny" || worstRuling.verdict === "unknown") return worstRuling;
  }
  return undefined;
}

/** Whether an interpreter gets its program from anything but the file that is named first. */
function runsText(words: Words): boolean {
  const operandIndex = words.findIndex(
    (argument) => !argument?.startsWith("-") || argument === "-",
  );
  const options = operandIndex < 0 ? words : words.slice(0, operandIndex);
  if (options.some((argument) => !INTERPRETER_SAFE.test(argument ?? ""))) return true;
  return operandIndex < 0 ? !options.length : words[operandIndex] === "-";
}

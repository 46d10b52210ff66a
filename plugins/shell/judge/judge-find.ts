// It searches, and runs what follows -exec.

import type { Arg } from "./bash-words.ts";
import {
  addCommand,
  addReads,
  ask,
  type Dirs,
  ONLY_READS,
  type Run,
  raise,
  type Scope,
  type SimpleCommand,
  stayIn,
  textsOf,
  withFloor,
} from "./judge-state.ts";
import { fillIfMarked } from "./judge-wrappers.ts";
import { split } from "./parse-options.ts";

export function judgeFind(run: Run, args: Arg[], scope: Scope): Dirs {
  const wordTexts = textsOf(args);
  const findCommand = addCommand(run, args, scope, ONLY_READS);
  const startPaths: string[] = [];
  for (let i = 1, looking = false; i < args.length; i++) {
    const findWord = wordTexts[i];
    looking ||= findWord !== undefined && /^-.|^[(!),]$/.test(findWord) && findWord !== "-P";
    if (findWord === undefined)
      raise([findCommand], ask(args[i]!.why ?? "one of its words is not known"));
    else if (!looking) startPaths.push(...(findWord === "-P" ? [] : [findWord]));
    else if (FIND_RUNS.test(findWord)) i = judgeExec(run, findCommand, args, i, scope);
    else if (FIND_ASKS.test(findWord))
      raise([findCommand], ask(`find ${findWord} does more than look`));
    else if (!Object.hasOwn(FIND_TESTS, findWord))
      raise([findCommand], { verdict: "open", why: `zz does not know '${findWord}' of find` });
    else i += FIND_TESTS[findWord]!;
  }
  if (!scope.dirs.length) raise([findCommand], ask("it reads in a folder that cannot be known"));
  addReads(run, findCommand, startPaths, scope);
  return stayIn(scope);
}

/** Judges the command after -exec; returns the index of its end. */
function judgeExec(
  run: Run,
  findCommand: SimpleCommand,
  args: Arg[],
  execIndex: number,
  scope: Scope,
): number {
  const endIndex = args.findIndex(
    ({ text }, i) =>
      i > execIndex && (text === ";" || (text === "+" && args[i - 1]?.text === "{}")),
  );
  if (endIndex < 0) raise([findCommand], ask("its -exec has no end"));
  const innerArgs = args
    .slice(execIndex + 1, endIndex < 0 ? args.length : endIndex)
    .map((arg) => fillIfMarked(arg, ["{}"], "paths"));
  const action = args[execIndex]!.text!;
  const askedScope = withFloor(scope, action.startsWith("-ok") && ask("find asks on the terminal"));
  if (innerArgs.length)
    run.judgeArgs(run, innerArgs, {
      ...askedScope,
      dirs: action.endsWith("dir") ? [] : scope.dirs,
    });
  return endIndex < 0 ? args.length : endIndex;
}

/** Its tests, and how many words follow each. */
const FIND_TESTS: Record<string, number> = Object.fromEntries([
  ...split(`-print -print0 -ls -o -or -a -and -not ! ( ) , -prune -empty -true -false -depth -mount
    -xdev -daystart -quit -noleaf -nouser -nogroup -readable -writable -executable -P -nowarn
    -warn`).map((testName) => [testName, 0]),
  ...split(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size
    -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user
    -group -uid -gid -links -inum -samefile -printf -regextype -fstype -used -lname -ilname -newermt
    -newerct -newerat -newermm -newercm`).map((testName) => [testName, 1]),
]);
const FIND_ASKS = /^-(delete|fprint0?|fprintf|fls|files0-from|L|H|follow|D|O.*)$/;
const FIND_RUNS = /^-(exec|execdir|ok|okdir)$/;

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
  const words = textsOf(args);
  const findCommand = addCommand(run, args, scope, ONLY_READS);
  const starts: string[] = [];
  for (let i = 1, looking = false; i < args.length; i++) {
    const word = words[i];
    looking ||= word !== undefined && /^-.|^[(!),]$/.test(word) && word !== "-P";
    if (word === undefined)
      raise([findCommand], ask(args[i]!.why ?? "one of its words is not known"));
    else if (!looking) starts.push(...(word === "-P" ? [] : [word]));
    else if (FIND_RUNS.test(word)) i = judgeExec(run, findCommand, args, i, scope);
    else if (FIND_ASKS.test(word)) raise([findCommand], ask(`find ${word} does more than look`));
    else if (!Object.hasOwn(FIND_TESTS, word))
      raise([findCommand], { verdict: "open", why: `zz does not know '${word}' of find` });
    else i += FIND_TESTS[word]!;
  }
  if (!scope.dirs.length) raise([findCommand], ask("it reads in a folder that cannot be known"));
  addReads(run, findCommand, starts, scope);
  return stayIn(scope);
}

/** Judges the command after -exec; returns the index of its end. */
function judgeExec(
  run: Run,
  findCommand: SimpleCommand,
  args: Arg[],
  start: number,
  scope: Scope,
): number {
  const end = args.findIndex(
    ({ text }, i) => i > start && (text === ";" || (text === "+" && args[i - 1]?.text === "{}")),
  );
  if (end < 0) raise([findCommand], ask("its -exec has no end"));
  const inner = args
    .slice(start + 1, end < 0 ? args.length : end)
    .map((arg) => fillIfMarked(arg, ["{}"], "paths"));
  const action = args[start]!.text!;
  const asked = withFloor(scope, action.startsWith("-ok") && ask("find asks on the terminal"));
  if (inner.length)
    run.judgeArgs(run, inner, { ...asked, dirs: action.endsWith("dir") ? [] : scope.dirs });
  return end < 0 ? args.length : end;
}

/** Its tests, and how many words follow each. */
const FIND_TESTS: Record<string, number> = Object.fromEntries([
  ...split(`-print -print0 -ls -o -or -a -and -not ! ( ) , -prune -empty -true -false -depth -mount -xdev -daystart -quit
    -noleaf -nouser -nogroup -readable -writable -executable -P -nowarn -warn`).map((name) => [
    name,
    0,
  ]),
  ...split(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -atime -ctime -mmin
    -amin -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile -printf
    -regextype -fstype -used -lname -ilname -newermt -newerct -newerat -newermm -newercm`).map(
    (name) => [name, 1],
  ),
]);
const FIND_ASKS = /^-(delete|fprint0?|fprintf|fls|files0-from|L|H|follow|D|O.*)$/;
const FIND_RUNS = /^-(exec|execdir|ok|okdir)$/;

// Commands that take scripts, or change the shell itself: bash -c, eval, trap and cd.
import path from "node:path";
import { isInside } from "zz/text";
import { realOf } from "../resolve-paths.ts";
import type { Arg } from "./bash-words.ts";
import {
  addCommand,
  ask,
  type Dirs,
  joinDirs,
  NOWHERE,
  ONLY_READS,
  type Run,
  raise,
  type Scope,
  stayIn,
  textsOf,
  unknown,
  withFloor,
  withNamesOf,
} from "./judge-state.ts";
import { IS_INPUT, judgeProgram } from "./program-rules.ts";
import { INTERPRETER_SAFE } from "./program-table.ts";

/** Syntax that shells other than bash read differently. */
const BASHISM = /[{}]|\$['"]|&>|\|&|[<>]\(|<<</;

export function judgeEval(run: Run, args: Arg[], scope: Scope): Dirs {
  const evalWords = textsOf(args.slice(args[1]?.text === "--" ? 2 : 1));
  if (!evalWords.includes(undefined))
    return run.judgeScript(run, evalWords.join(" "), withNamesOf(scope, args));
  addCommand(run, args, scope, unknown("what it runs is not known"));
  return NOWHERE;
}

/** trap 'line' EXIT runs its line later. */
export function judgeTrap(run: Run, args: Arg[], scope: Scope): Dirs {
  const [trapLine, ...signals] = args.slice(args[1]?.text === "--" ? 2 : 1);
  const addedCommand = addCommand(run, args, scope, ask("it changes the shell itself"));
  if (trapLine && trapLine.text === undefined)
    raise([addedCommand], unknown("what it runs is not known"));
  else if (trapLine?.text && signals.length && trapLine.text !== "-")
    run.judgeScript(run, trapLine.text, withFloor(scope, ask("a trap runs it")));
  return stayIn(scope);
}

/** bash -c 'line', or a script's file, or stdin. */
export function judgeShell(run: Run, shellName: string, args: Arg[], scope: Scope): Dirs {
  const shellWords = textsOf(args);
  let [i, letters, isFamiliar] = [1, "", true];
  for (; i < shellWords.length && /^[-+]./.test(shellWords[i] ?? ""); i++) {
    const shellWord = shellWords[i]!;
    if (shellWord === "--") {
      i++;
      break;
    }
    if (shellWord.startsWith("--"))
      isFamiliar &&= /^--(norc|noprofile|posix|login)$/.test(shellWord);
    else {
      isFamiliar &&= /^-[celuxo]+$/.test(shellWord);
      letters += shellWord.slice(1);
      if (shellWord.includes("o"))
        isFamiliar &&= /^(pipefail|errexit|nounset)$/.test(shellWords[++i] ?? "");
    }
  }
  if (!letters.includes("c")) {
    const scriptFile = args[i];
    const onlyTells = shellWords.length === 2 && INTERPRETER_SAFE.test(shellWords[1] ?? "");
    const isUnknown = scriptFile
      ? scriptFile.text === undefined || letters.includes("s") || IS_INPUT.test(scriptFile.text)
      : !onlyTells;
    judgeProgram(
      run,
      args,
      withFloor(scope, isUnknown && unknown("it runs what comes in, which is not known")),
      shellName,
    );
    return stayIn(scope);
  }
  const template = args[i]?.template;
  const scriptLine = shellWords[i] ?? template;
  if (scriptLine === undefined) {
    addCommand(run, args, scope, unknown(args[i]?.why ?? "what it runs is not known"));
    return stayIn(scope);
  }
  const readsAsBash =
    shellName === "bash" || (/^(sh|dash|ash)$/.test(shellName) && !BASHISM.test(scriptLine));
  const innerScope = withFloor(
    scope,
    template !== undefined && unknown("what is put into it is not known"),
    !isFamiliar && ask(`zz does not know how ${shellName} is told to run it`),
    !readsAsBash && ask(`${shellName} may read it otherwise`),
  );
  run.judgeScript(run, scriptLine, innerScope);
  return stayIn(scope);
}

/**
 * A cd to a literal folder of the project is followed; any other asks, and the folder is unknown
 * after it.
 */
export function judgeCd(run: Run, args: Arg[], scope: Scope): Dirs {
  const [, destination, ...extraArgs] = args;
  const unfollowed = (reason: string): Dirs => {
    addCommand(run, args, scope, ask(reason));
    return NOWHERE;
  };
  if (!destination || extraArgs.length || !destination.text || destination.text.startsWith("-"))
    return unfollowed("zz does not follow this cd");
  if (run.env.CDPATH) return unfollowed("CDPATH may lead cd elsewhere");
  if (scope.looped) return unfollowed("a cd in a loop leads further each time");
  if (!scope.dirs.length) return unfollowed("a cd from a folder that cannot be known");
  const targets: string[] = [];
  const startFolder = realOf(run.cwd) ?? run.cwd;
  for (const fromFolder of scope.dirs) {
    const targetFolder = path.resolve(fromFolder, destination.text);
    const realTarget = realOf(targetFolder);
    if (!realTarget) return unfollowed(`there is no folder '${destination.text}' yet`);
    if (realTarget !== path.resolve(realOf(fromFolder) ?? fromFolder, destination.text))
      return unfollowed("it follows a link");
    if (!isInside(startFolder, realTarget)) return unfollowed("it leaves the folder");
    targets.push(targetFolder);
  }
  addCommand(run, args, scope, ONLY_READS);
  return { any: joinDirs(scope.dirs, targets), ok: targets };
}

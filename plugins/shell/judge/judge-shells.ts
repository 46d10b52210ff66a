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
  const words = textsOf(args.slice(args[1]?.text === "--" ? 2 : 1));
  if (!words.includes(undefined))
    return run.judgeScript(run, words.join(" "), withNamesOf(scope, args));
  addCommand(run, args, scope, unknown("what it runs is not known"));
  return NOWHERE;
}

/** trap 'line' EXIT runs its line later. */
export function judgeTrap(run: Run, args: Arg[], scope: Scope): Dirs {
  const [line, ...signals] = args.slice(args[1]?.text === "--" ? 2 : 1);
  const added = addCommand(run, args, scope, ask("it changes the shell itself"));
  if (line && line.text === undefined) raise([added], unknown("what it runs is not known"));
  else if (line?.text && signals.length && line.text !== "-")
    run.judgeScript(run, line.text, withFloor(scope, ask("a trap runs it")));
  return stayIn(scope);
}

/** bash -c 'line', or a script's file, or stdin. */
export function judgeShell(run: Run, name: string, args: Arg[], scope: Scope): Dirs {
  const words = textsOf(args);
  let [i, letters, isFamiliar] = [1, "", true];
  for (; i < words.length && /^[-+]./.test(words[i] ?? ""); i++) {
    const word = words[i]!;
    if (word === "--") {
      i++;
      break;
    }
    if (word.startsWith("--")) isFamiliar &&= /^--(norc|noprofile|posix|login)$/.test(word);
    else {
      isFamiliar &&= /^-[celuxo]+$/.test(word);
      letters += word.slice(1);
      if (word.includes("o")) isFamiliar &&= /^(pipefail|errexit|nounset)$/.test(words[++i] ?? "");
    }
  }
  if (!letters.includes("c")) {
    const file = args[i];
    const onlyTells = words.length === 2 && INTERPRETER_SAFE.test(words[1] ?? "");
    const isUnknown = file
      ? file.text === undefined || letters.includes("s") || IS_INPUT.test(file.text)
      : !onlyTells;
    judgeProgram(
      run,
      args,
      withFloor(scope, isUnknown && unknown("it runs what comes in, which is not known")),
      name,
    );
    return stayIn(scope);
  }
  const template = args[i]?.template;
  const line = words[i] ?? template;
  if (line === undefined) {
    addCommand(run, args, scope, unknown(args[i]?.why ?? "what it runs is not known"));
    return stayIn(scope);
  }
  const readsAsBash = name === "bash" || (/^(sh|dash|ash)$/.test(name) && !BASHISM.test(line));
  const inner = withFloor(
    scope,
    template !== undefined && unknown("what is put into it is not known"),
    !isFamiliar && ask(`zz does not know how ${name} is told to run it`),
    !readsAsBash && ask(`${name} may read it otherwise`),
  );
  run.judgeScript(run, line, inner);
  return stayIn(scope);
}

/**
 * A cd to a literal folder of the project is followed; any other asks, and the folder is unknown
 * after it.
 */
export function judgeCd(run: Run, args: Arg[], scope: Scope): Dirs {
  const [, to, ...extraArgs] = args;
  const unfollowed = (reason: string): Dirs => {
    addCommand(run, args, scope, ask(reason));
    return NOWHERE;
  };
  if (!to || extraArgs.length || !to.text || to.text.startsWith("-"))
    return unfollowed("zz does not follow this cd");
  if (run.env.CDPATH) return unfollowed("CDPATH may lead cd elsewhere");
  if (scope.looped) return unfollowed("a cd in a loop leads further each time");
  if (!scope.dirs.length) return unfollowed("a cd from a folder that cannot be known");
  const targets: string[] = [];
  const root = realOf(run.cwd) ?? run.cwd;
  for (const dir of scope.dirs) {
    const target = path.resolve(dir, to.text);
    const real = realOf(target);
    if (!real) return unfollowed(`there is no folder '${to.text}' yet`);
    if (real !== path.resolve(realOf(dir) ?? dir, to.text)) return unfollowed("it follows a link");
    if (!isInside(root, real)) return unfollowed("it leaves the folder");
    targets.push(target);
  }
  addCommand(run, args, scope, ONLY_READS);
  return { any: joinDirs(scope.dirs, targets), ok: targets };
}

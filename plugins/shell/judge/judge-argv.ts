// An argument vector: which program really runs, and how its words are judged.
import fs from "node:fs";
import path from "node:path";
import type { Programs } from "zz";
import type { Arg } from "./bash-words.ts";
import { judgeFind } from "./judge-find.ts";
import { judgeCd, judgeEval, judgeShell, judgeTrap } from "./judge-shells.ts";
import {
  addCommand,
  ask,
  type Dirs,
  MAX_DEPTH,
  type Ruling,
  type Run,
  type Scope,
  shownOf,
  stayIn,
  textsOf,
  unknown,
  withFloor,
} from "./judge-state.ts";
import { judgeWrapped } from "./judge-wrappers.ts";
import { denialOf, mayBeDenied } from "./match-denials.ts";
import { judgeProgram } from "./program-rules.ts";
import { programOf, SHELLS, WRAPPERS } from "./program-table.ts";
import { isKnown } from "./reading-commands.ts";

/**
 * Unwraps what runs another command or a script; anything else is judged by the rules for programs.
 */
export function judgeArgs(run: Run, args: Arg[], outerScope: Scope): Dirs {
  if (outerScope.depth > MAX_DEPTH) throw new Error("it is nested too deeply");
  const [first, ...otherArgs] = args;
  if (!first) return stayIn(outerScope);
  const doubt = args.find((arg) => arg.doubt !== undefined)?.doubt;
  const denied = deniedBy(run, args);
  const globbed = first.globbed && unknown("a glob says what runs");
  let scope = withFloor(
    outerScope,
    denied,
    globbed,
    doubt !== undefined && ask(doubt),
    mayHideDenied(run, args),
  );
  if (first.text === undefined) {
    addCommand(run, args, scope, unknown(first.why ?? "what it runs is not known"));
    return stayIn(scope);
  }
  const name = programOf(first.text);
  const isFromProject =
    isKnown(name) && isProgramOfProject(first.text, run.cwd, run.env.PATH, run.lists.find);
  if (isFromProject)
    scope = withFloor(scope, ask(`'${name}' is a program that the project brings`));
  const inner = { ...scope, depth: scope.depth + 1 };
  if (name === "command" && /^-[pvV]*[vV]/.test(otherArgs[0]?.text ?? ""))
    return judgeProgram(run, args, scope, name);
  if (name === "find") return judgeFind(run, args, inner);
  if (name === "eval") return judgeEval(run, args, inner);
  if (name === "trap") return judgeTrap(run, args, inner);
  if (name === "cd") return judgeCd(run, args, scope);
  if (SHELLS.has(name)) return judgeShell(run, name, args, inner);
  if (Object.hasOwn(WRAPPERS, name)) return judgeWrapped(run, name, WRAPPERS[name]!, args, inner);
  return judgeProgram(run, args, scope, name);
}

function deniedBy({ lists }: Run, args: Arg[]): Ruling | undefined {
  const name = denialOf(textsOf(args), lists);
  return name === undefined
    ? undefined
    : { verdict: "deny", why: `${name} is on the deny list`, text: shownOf(args) };
}

/** Whether an unknown word could make it a denied command. */
function mayHideDenied({ lists }: Run, args: Arg[]): Ruling | undefined {
  const safe = ({ shown, filledBy }: Arg) =>
    filledBy === "paths" || /^"[^$`"\\-][^"]*"$|^"\$\{?\w+\}?\/[^"]*"$/.test(shown);
  const words = args.map((arg) => (arg.text === undefined && safe(arg) ? "./…" : arg.text));
  const unknownIndex = words.indexOf(undefined, 1);
  if (unknownIndex < 0 || !mayBeDenied(words, lists)) return undefined;
  return unknown(
    `${args[unknownIndex]!.why ?? "one of its words is not known"}, so this may be a command that is denied`,
  );
}

/** Whether bash would run a program of the project: npx and npm put node_modules/.bin into PATH. */
function isProgramOfProject(
  name: string,
  cwd: string,
  folders = "",
  find?: Programs["find"],
): boolean {
  if (name.includes("/") || !find) return false;
  const first = folders.split(path.delimiter).map((folder) => path.resolve(cwd, folder, name));
  const chosen = first.find(isProgram);
  return chosen !== undefined && chosen !== find(name, folders);
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// An argument vector: which program really runs, and how its words are judged.
import fs from "node:fs";
import path from "node:path";
import type { Programs } from "zz";
import { ownValue } from "zz/text";
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
  const [firstArgument, ...otherArgs] = args;
  if (!firstArgument) return stayIn(outerScope);
  const doubt = args.find((arg) => arg.doubt !== undefined)?.doubt;
  const denialRuling = deniedBy(run, args);
  const globbed = firstArgument.globbed && unknown("a glob says what runs");
  let scope = withFloor(
    outerScope,
    denialRuling,
    globbed,
    doubt !== undefined && ask(doubt),
    mayHideDenied(run, args),
  );
  if (firstArgument.text === undefined) {
    addCommand(run, args, scope, unknown(firstArgument.why ?? "what it runs is not known"));
    return stayIn(scope);
  }
  const programName = programOf(firstArgument.text);
  const isFromProject =
    isKnown(programName) &&
    isProgramOfProject(firstArgument.text, run.cwd, run.env.PATH, run.lists.find);
  if (isFromProject)
    scope = withFloor(scope, ask(`'${programName}' is a program that the project brings`));
  const innerScope = { ...scope, depth: scope.depth + 1 };
  if (programName === "command" && /^-[pvV]*[vV]/.test(otherArgs[0]?.text ?? ""))
    return judgeProgram(run, args, scope, programName);
  if (programName === "find") return judgeFind(run, args, innerScope);
  if (programName === "eval") return judgeEval(run, args, innerScope);
  if (programName === "trap") return judgeTrap(run, args, innerScope);
  if (programName === "cd") return judgeCd(run, args, scope);
  if (SHELLS.has(programName)) return judgeShell(run, programName, args, innerScope);
  const wrapper = ownValue(WRAPPERS, programName);
  if (wrapper) return judgeWrapped(run, programName, wrapper, args, innerScope);
  return judgeProgram(run, args, scope, programName);
}

function deniedBy({ lists }: Run, args: Arg[]): Ruling | undefined {
  const denialName = denialOf(textsOf(args), lists);
  return denialName === undefined
    ? undefined
    : { verdict: "deny", why: `${denialName} is on the deny list`, text: shownOf(args) };
}

/** Whether an unknown word could make it a denied command. */
function mayHideDenied({ lists }: Run, args: Arg[]): Ruling | undefined {
  const isSafe = ({ shown, filledBy }: Arg) =>
    filledBy === "paths" || /^"[^$`"\\-][^"]*"$|^"\$\{?\w+\}?\/[^"]*"$/.test(shown);
  const guessedWords = args.map((arg) =>
    arg.text === undefined && isSafe(arg) ? "./…" : arg.text,
  );
  const unknownIndex = guessedWords.indexOf(undefined, 1);
  if (unknownIndex < 0 || !mayBeDenied(guessedWords, lists)) return undefined;
  return unknown(
    `${args[unknownIndex]!.why ?? "one of its words is not known"}, ` +
      "so this may be a command that is denied",
  );
}

/** Whether bash would run a program of the project: npx and npm put node_modules/.bin into PATH. */
function isProgramOfProject(
  programName: string,
  cwd: string,
  folders = "",
  findProgram?: Programs["find"],
): boolean {
  if (programName.includes("/") || !findProgram) return false;
  const candidates = folders
    .split(path.delimiter)
    .map((folder) => path.resolve(cwd, folder, programName));
  const chosenProgram = candidates.find(isProgram);
  return chosenProgram !== undefined && chosenProgram !== findProgram(programName, folders);
}

function isProgram(filePath: string): boolean {
  try {
    fs.accessSync(filePath, fs.constants.X_OK);
    return fs.statSync(filePath).isFile();
  } catch {
    return false;
  }
}

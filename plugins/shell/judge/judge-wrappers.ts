// Commands that run others: env, sudo, timeout, xargs and the like.

import { type Arg, ASSIGNMENT } from "./bash-words.ts";
import {
  addCommand,
  addReads,
  ask,
  type Dirs,
  type Run,
  type Scope,
  stayIn,
  textsOf,
  unknown,
  withFloor,
  withNamesOf,
} from "./judge-state.ts";
import { denialInWords, ruleOnSetting } from "./match-denials.ts";
import { type ParsedOptions, parseOptions, split } from "./parse-options.ts";
import type { Wrapper } from "./program-table.ts";

/** A command that runs another one: the other one is judged in its place. */
export function judgeWrapped(
  run: Run,
  programName: string,
  wrapper: Wrapper,
  args: Arg[],
  scope: Scope,
): Dirs {
  let inner = withFloor(scope, wrapper.askReason !== undefined && ask(wrapper.askReason));
  if (programName === "timeout") inner = { ...inner, ends: "timeout" };
  const parsed = parseOptions(args.slice(1), wrapper.options, !wrapper.scriptAfterOperands);
  if (parsed.unknownOption) {
    const wordTexts = textsOf(args).slice(1);
    const reason =
      denialInWords(wordTexts, run.lists) ??
      (wordTexts.includes(undefined) ? "what it runs is not known" : undefined);
    addCommand(
      run,
      args,
      inner,
      reason
        ? unknown(reason)
        : ask(`zz does not know '${parsed.unknownOption}' of ${programName}`),
    );
    return stayIn(scope);
  }
  if (wrapper.changesLookup?.split(" ").some((lookupOption) => parsed.values.has(lookupOption)))
    inner = withFloor(inner, ask(`${programName} changes where programs are looked for`));
  const scriptLine = scriptOf(wrapper, parsed);
  if (scriptLine !== undefined) {
    run.judgeScript(run, scriptLine, withFloor(inner, ask(`${programName} hands it to a shell`)));
    return stayIn(scope);
  }
  let innerArgs = parsed.operands.slice(wrapper.skipOperands ?? 0);
  while (wrapper.allowsAssignments && ASSIGNMENT.test(innerArgs[0]?.text ?? "")) {
    const [variable, value] = innerArgs[0]!.text!.split(/=(.*)/s);
    inner = withFloor(inner, ruleOnSetting(variable!, value, run.lists));
    innerArgs = innerArgs.slice(1);
  }
  if (programName === "parallel" && (!innerArgs.length || innerArgs[0]!.text?.startsWith(":::"))) {
    addCommand(run, args, inner, unknown("it runs what comes in"));
    return stayIn(scope);
  }
  if (wrapper.addsArgs) innerArgs = withUnknownArgs(innerArgs, parsed.values);
  if (wrapper.joinsOperands && innerArgs.length) {
    const innerTexts = textsOf(innerArgs);
    if (!innerTexts.includes(undefined))
      run.judgeScript(run, innerTexts.join(" "), withNamesOf(inner, innerArgs));
    else addCommand(run, args, inner, unknown("what it runs is not known"));
    return stayIn(scope);
  }
  if (!innerArgs.length || wrapper.scriptAfterOperands) {
    addCommand(run, args, inner, { verdict: "open", why: `${programName} alone` });
    return stayIn(scope);
  }
  const firstIndex = run.simple.length;
  const dirsAfter = run.judgeArgs(run, innerArgs, inner);
  for (const command of run.simple.slice(firstIndex)) addReads(run, command, parsed.files, scope);
  return wrapper.inThisShell ? dirsAfter : stayIn(scope);
}

/** The line for a shell that an option gives. */
export function scriptOf(
  { script: names = "", scriptAfterOperands }: Wrapper,
  { operands, values }: ParsedOptions,
): string | undefined {
  const options = split(names);
  const scriptLines = options.flatMap((scriptOption) => values.get(scriptOption) ?? []);
  if (scriptLines.length)
    return [
      scriptLines.at(-1),
      ...(scriptAfterOperands ? [] : operands.map(({ shown }) => shown)),
    ].join(" ");
  // flock FILE -c 'line'
  return options.includes(operands[1]?.text ?? "") ? operands[2]?.text : undefined;
}

/** xargs adds words at the end, or in place of {} or the given placeholder. */
function withUnknownArgs(args: Arg[], optionValues: Map<string, string[]>): Arg[] {
  const marks = [
    "{}",
    ...["-I", "-i", "--replace"].flatMap((option) => optionValues.get(option) ?? []),
  ];
  const program: Arg[] = args.length ? args : [{ text: "echo", shown: "echo" }];
  return [...program.map((arg) => fillIfMarked(arg, marks)), { ...UNKNOWN_WORD, shown: "…" }];
}

const UNKNOWN_WORD = {
  text: undefined,
  why: "it gets words that are not known",
  filledBy: "words",
} as const;
/** If an argument contains one of the marks, only xargs or find knows its text. */
export const fillIfMarked = (
  arg: Arg,
  marks: string[],
  filledBy: "words" | "paths" = "words",
): Arg =>
  marks.some((mark) => arg.text?.includes(mark))
    ? { ...UNKNOWN_WORD, filledBy, shown: arg.shown, template: arg.text! }
    : arg;

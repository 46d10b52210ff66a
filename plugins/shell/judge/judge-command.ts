// One command as the grammar sees it, with its assignments and redirections; what it runs is judged
// in judge-argv.ts.
import type { Node } from "web-tree-sitter";
import { type Arg, argsOf, scanWord } from "./bash-words.ts";
import { isPlainName } from "./harmless-variables.ts";
import {
  addIdle,
  addReads,
  addWrites,
  ask,
  type Dirs,
  type Redirect,
  type Ruling,
  type Run,
  raise,
  type SimpleCommand,
  type SourceScope,
  shellIn,
  unknown,
  withFloor,
} from "./judge-state.ts";
import { denialInAssignment, ruleOnSetting } from "./match-denials.ts";

const MAX_WORDS = 500; // as written
const MAX_ARGS = 5_000; // after globs are expanded

/** `inside`: the nodes that may contain further commands. */
interface JudgedCommand {
  dirs: Dirs;
  inside: Node[];
  subshell?: Node | undefined; // one that the grammar made part of the command
  scope: SourceScope; // the subshell's scope
}

export function judgeCommand(run: Run, node: Node, scope: SourceScope): JudgedCommand {
  const { tail = [], ...alone } = scope;
  const redirects = [
    ...node.children.filter(({ type }) => type === "file_redirect").map(redirectOf),
    ...tail,
  ];
  const settings = node.namedChildren.filter(({ type }) => type === "variable_assignment");
  const subshell = node.namedChildren.find(({ type }) => type === "subshell");
  const hereString = node.namedChildren.find(({ type }) => type === "herestring_redirect");
  const wordNodes = [
    ...node.children.filter(
      ({ type }) =>
        !/^(variable_assignment|file_redirect|herestring_redirect|comment|subshell)$/.test(type),
    ),
    ...redirects.flatMap((redirect) => redirect.words),
  ]
    .filter(({ startIndex, endIndex }) => startIndex < endIndex)
    .sort((first, second) => first.startIndex - second.startIndex);
  let innerScope: SourceScope = alone;
  for (const setting of settings) {
    const { name, value, doubt } = readAssignment(setting, scope);
    innerScope = withFloor(innerScope, ruleOnSetting(name, value, run.lists, doubt));
  }
  if (hereString) innerScope = withFloor(innerScope, ask("it holds a here-string"));
  if (subshell)
    innerScope = withFloor(innerScope, ask("it holds something that zz does not follow"));
  const firstIndex = run.simple.length;
  const args = wordNodes.slice(0, MAX_WORDS).flatMap((wordNode) => argsAt(wordNode, scope));
  if (wordNodes.length > MAX_WORDS || args.length > MAX_ARGS)
    args.splice(MAX_ARGS, args.length, {
      text: undefined,
      shown: "…",
      why: "it has too many words",
    });
  const dirs = run.judgeArgs(run, args, innerScope);
  if (run.simple.length === firstIndex) addBareRedirect(run, node, redirects, innerScope);
  else addRedirects(run, run.simple.slice(firstIndex), redirects, scope);
  const inside = [
    ...settings,
    ...wordNodes,
    ...redirects.map((redirect) => redirect.node),
    ...(hereString ? [hereString] : []),
  ];
  return { dirs, inside, subshell, scope: innerScope };
}

/**
 * tree-sitter has a grammar for `[ … ]`, an ordinary command in bash. Undefined: zz does not follow
 * it.
 */
export function judgeBracket(run: Run, node: Node, scope: SourceScope): Dirs | undefined {
  const args: Arg[] = [];
  const knownShell = shellIn(scope);
  for (let wordStart = node.startIndex; wordStart < node.endIndex; wordStart++) {
    if (/[ \t]/.test(scope.source[wordStart]!)) continue;
    const scannedWord = scanWord(scope.source, wordStart, knownShell);
    if (!scannedWord || scannedWord.end > node.endIndex) return undefined;
    args.push(...argsOf(scope.source, wordStart, scannedWord.end, knownShell));
    wordStart = scannedWord.end - 1;
  }
  return run.judgeArgs(run, args, scope);
}

/** export, declare and the like may run commands in an array index. */
export function judgeDeclaration(run: Run, node: Node, scope: SourceScope): void {
  const wordNodes = node.children.filter(({ type }) => type !== "comment");
  const args = wordNodes.flatMap((wordNode) => argsAt(wordNode, scope));
  run.judgeArgs(run, args, scope);
}

/** An assignment alone is harmless if no program reads the variable, since `$X` asks anyway. */
export function judgeAssignment(run: Run, node: Node, scope: SourceScope): void {
  const { name, value, doubt } = readAssignment(node, scope);
  const reason = doubt ?? (isPlainName(name, run.env) ? undefined : `it sets ${name}`);
  const denial = denialInAssignment(name, value, run.lists);
  const ownRuling = reason === undefined ? SETS_OWN : ask(reason);
  addIdle(run, node.text, scope, denial ? unknown(denial) : ownRuling);
}
const SETS_OWN: Ruling = { verdict: "allow", why: "it sets a variable of its own" };

function readAssignment(
  node: Node,
  scope: SourceScope,
): { name: string; value?: string; doubt?: string } {
  const [, name, valueText] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(node.text) ?? [];
  if (name === undefined) return { name: node.text, doubt: "it sets part of a variable" };
  const valueStart = node.startIndex + name.length + 1;
  if (!valueText) return { name, value: "" };
  const scannedWord = scanWord(scope.source, valueStart, shellIn(scope));
  if (!scannedWord?.cells || scannedWord.end !== node.endIndex)
    return { name, doubt: reasonFromGrammar(node) ?? `it sets ${name} to what is not known` };
  return { name, value: scannedWord.cells.map(({ char }) => char).join("") };
}

// ── Redirections, and words as bash would read them ──────────────────────────────────────────────

export function redirectOf(node: Node): Redirect {
  const words = node.namedChildren.filter(
    ({ type }) => type !== "file_descriptor" && type !== "comment",
  );
  const target = CLOSING_SIGN.test(operatorOf(node)) ? undefined : words.shift();
  return { node, target, words };
}
const operatorOf = (node: Node): string =>
  node.children.find(({ isNamed }) => !isNamed)?.type ?? "";
/** `>&-` ends with its dash: in `cat 2>&-a`, `a` is a word of its own. */
const CLOSING_SIGN = /^[<>]&-$/;

/** Adds the targets of redirections to commands. */
export function addRedirects(
  run: Run,
  commands: SimpleCommand[],
  redirects: Redirect[],
  scope: SourceScope,
): void {
  for (const { node, target } of redirects) {
    const operator = operatorOf(node);
    // The grammar takes `{x}` of `{x}>f`, and sometimes the number of a file, for a word.
    if (
      /(^|\s)\d+$|\{\w+\}$/.test(
        scope.source.slice(Math.max(0, node.startIndex - 100), node.startIndex),
      )
    )
      raise(commands, ask("zz cannot read a redirection of it"));
    if (CLOSING_SIGN.test(operator)) continue;
    const args = target ? argsAt(target, scope) : [];
    const targetName = args.length === 1 ? args[0]!.text : undefined;
    if (targetName === undefined || /^\/dev\/(tcp|udp)\//.test(targetName))
      raise(commands, ask(`'${node.text}' cannot be judged`));
    else if (/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(targetName)) continue;
    else if (operator === "<")
      for (const command of commands) addReads(run, command, [targetName], scope);
    else if (operator === "<&") raise(commands, ask(`'${node.text}' cannot be judged`));
    else if (targetName !== "/dev/null")
      for (const simpleCommand of commands) addWrites(run, simpleCommand, [targetName], scope);
  }
}

/** `> f` alone: it empties a file. */
export function addBareRedirect(
  run: Run,
  node: Node,
  redirects: Redirect[],
  scope: SourceScope,
): void {
  addRedirects(
    run,
    [addIdle(run, node.text.trim(), scope, ask("it only redirects"))],
    redirects,
    scope,
  );
}

function argsAt(node: Node, scope: SourceScope): Arg[] {
  const args = argsOf(scope.source, node.startIndex, node.endIndex, shellIn(scope));
  const reason = reasonFromGrammar(node);
  return reason
    ? args.map((arg) => (arg.text === undefined ? { ...arg, why: reason } : arg))
    : args;
}

/** Why a node's value is not known, if the grammar shows it. */
const reasonFromGrammar = (node: Node): string | undefined =>
  REASONS.find(([nodePattern]) => nodePattern.test(node.toString()))?.[1];

const REASONS: [RegExp, string][] = [
  [/command_substitution/, "it holds a command substitution"],
  [/process_substitution/, "it holds a process substitution"],
  [/arithmetic_expansion/, "it holds arithmetic"],
];

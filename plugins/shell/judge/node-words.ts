// The words at a node of the syntax tree, as bash would read them.
import type { Node } from "web-tree-sitter";
import { knownIn, type SourceScope } from "./state.ts";
import { type Arg, argsOf } from "./words.ts";

export function argsAt(node: Node, scope: SourceScope): Arg[] {
  const args = argsOf(scope.source, node.startIndex, node.endIndex, knownIn(scope));
  const why = reasonOf(node);
  return why ? args.map((arg) => (arg.text === undefined ? { ...arg, why } : arg)) : args;
}

/** Why a node's value is not known, if the grammar shows it. */
export const reasonOf = (node: Node): string | undefined => REASONS.find(([type]) => type.test(node.toString()))?.[1];

const REASONS: [RegExp, string][] = [
  [/command_substitution/, "it holds a command substitution"],
  [/process_substitution/, "it holds a process substitution"],
  [/arithmetic_expansion/, "it holds arithmetic"],
];

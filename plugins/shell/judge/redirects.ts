// Redirections: what a command reads from and writes to.
import type { Node } from "web-tree-sitter";
import { argsAt } from "./node-words.ts";
import {
  addIdle,
  addReads,
  addWrites,
  ask,
  type Redirect,
  type Run,
  raise,
  type Simple,
  type SourceScope,
} from "./state.ts";

export function redirectOf(node: Node): Redirect {
  const words = node.namedChildren.filter(({ type }) => type !== "file_descriptor" && type !== "comment");
  const target = CLOSES.test(operatorOf(node)) ? undefined : words.shift();
  return { node, target, words };
}
const operatorOf = (node: Node): string => node.children.find(({ isNamed }) => !isNamed)?.type ?? "";
/** `>&-` ends with its dash: in `cat 2>&-a`, `a` is a word of its own. */
const CLOSES = /^[<>]&-$/;

/** Adds the targets of redirections to commands. */
export function addRedirects(run: Run, all: Simple[], redirects: Redirect[], scope: SourceScope): void {
  for (const { node, target } of redirects) {
    const operator = operatorOf(node);
    // The grammar takes `{x}` of `{x}>f`, and sometimes the number of a file, for a word.
    if (/(^|\s)\d+$|\{\w+\}$/.test(scope.source.slice(Math.max(0, node.startIndex - 100), node.startIndex)))
      raise(all, ask("zz cannot read a redirection of it"));
    if (CLOSES.test(operator)) continue;
    const args = target ? argsAt(target, scope) : [];
    const name = args.length === 1 ? args[0]!.text : undefined;
    if (name === undefined || /^\/dev\/(tcp|udp)\//.test(name)) raise(all, ask(`'${node.text}' cannot be judged`));
    else if (/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(name)) continue;
    else if (operator === "<") for (const one of all) addReads(run, one, [name], scope);
    else if (operator === "<&") raise(all, ask(`'${node.text}' cannot be judged`));
    else if (name !== "/dev/null") for (const one of all) addWrites(run, one, [name], scope);
  }
}

/** `> f` alone: it empties a file. */
export function addBareRedirect(run: Run, node: Node, redirects: Redirect[], scope: SourceScope): void {
  addRedirects(run, [addIdle(run, node.text.trim(), scope, ask("it only redirects"))], redirects, scope);
}

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
  const targets = node.namedChildren.filter(({ type }) => type !== "file_descriptor" && type !== "comment");
  return { node, targets };
}

/** Where the target of a redirection starts; the grammar has no target for `>&-`. */
export function startsOf({ node, targets: [target] }: Redirect): number[] {
  const closed = node.children.find(({ type }) => /^[<>]&-$/.test(type));
  return closed ? [closed.startIndex + 2] : target ? [target.startIndex] : [];
}

/** Adds the targets of redirections to commands. */
export function addRedirects(run: Run, all: Simple[], redirects: Redirect[], scope: SourceScope): void {
  for (const { node, targets } of redirects) {
    const operator = node.children.find(({ isNamed }) => !isNamed)?.type ?? "";
    if (/^[<>]&-$/.test(operator)) continue;
    const args = targets[0] ? argsAt(targets[0], scope) : [];
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
  scope.seen.push({ words: [], targets: redirects.flatMap(startsOf) });
  addRedirects(run, [addIdle(run, node.text.trim(), scope, ask("it only redirects"))], redirects, scope);
}

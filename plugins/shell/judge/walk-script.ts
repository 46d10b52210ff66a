// Walks a script statement by statement, along bash's grammar: which commands run, and in which
// folders.
import type { Node } from "web-tree-sitter";
import { anyOf } from "zz/text";
import { isPlainName } from "./harmless-variables.ts";
import {
  addBareRedirect,
  addRedirects,
  judgeAssignment,
  judgeBracket,
  judgeCommand,
  judgeDeclaration,
  redirectOf,
} from "./judge-command.ts";
import {
  addCommand,
  addIdle,
  ask,
  type Dirs,
  joinDirs,
  MAX_DEPTH,
  NOWHERE,
  RUNS_NOTHING,
  type Run,
  raise,
  type Scope,
  type SourceScope,
  stayIn,
  unknown,
  withFloor,
} from "./judge-state.ts";
import { denialInText } from "./match-denials.ts";

const MAX_LINE_CHARS = 10_000;
/**
 * Control characters, Unicode's spaces and invisible characters, which bash, the grammar and a
 * person read differently.
 */
const MISLEADING = /(?![\t\n ])(?:\p{C}|\p{Z}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0])/u;

/** A script: the line itself, or the argument of bash -c and eval. */
export function judgeScript(run: Run, source: string, outerScope: Scope): Dirs {
  const firstIndex = run.simple.length;
  if (source.length > MAX_LINE_CHARS || outerScope.depth > MAX_DEPTH) {
    giveUp(
      source.length > MAX_LINE_CHARS ? `it is longer than ${MAX_LINE_CHARS} characters` : TOO_DEEP,
    );
    return NOWHERE;
  }
  const scope: SourceScope = { ...outerScope, source };
  const syntaxTree = run.parser.parse(source);
  if (!syntaxTree) throw new Error("the parser gave nothing");
  try {
    const dirsAfter = walkNode(run, syntaxTree.rootNode, scope);
    const misleading = MISLEADING.exec(source)?.[0];
    if (misleading !== undefined)
      askFor(
        `it holds the character U+${misleading.codePointAt(0)!.toString(16).padStart(4, "0")}`,
      );
    else if (syntaxTree.rootNode.hasError) giveUp(CANNOT_PARSE);
    else if (holdsUnknown(syntaxTree.rootNode) || !isCovered(syntaxTree.rootNode, source))
      askFor("some of the line cannot be told before it runs", false);
    if (run.simple.length === firstIndex) addIdle(run, source.trim(), scope, RUNS_NOTHING);
    return dirsAfter;
  } finally {
    syntaxTree.delete();
  }

  /**
   * Makes all of its commands ask, by default for this reason even if they had one of their own.
   */
  function askFor(reason: string, replacesOthers = true): void {
    const commands = run.simple.slice(firstIndex);
    raise(commands, ask(reason));
    if (replacesOthers)
      for (const command of commands)
        if (/^(ask|unknown)$/.test(command.verdict)) command.why = reason;
    if (!commands.length) addIdle(run, source.trim(), outerScope, ask(reason));
  }

  function giveUp(reason: string): void {
    askFor(reason);
    raise(run.simple.slice(firstIndex), unknown(reason));
  }
}
const TOO_DEEP = "it is nested too deeply";
const CANNOT_PARSE = "zz cannot parse it as a command line";

/**
 * Whether a script holds what only a running shell can tell, or what may set a variable or change
 * what a name means.
 */
const holdsUnknown = (rootNode: Node): boolean =>
  rootNode.descendantsOfType(UNKNOWN).length > 0 ||
  rootNode
    .descendantsOfType("expansion")
    .some((expansion) => !/^\$\{\w+\}$/.test(expansion?.text ?? ""));
const UNKNOWN = [
  "command_substitution",
  "process_substitution",
  "arithmetic_expansion",
  "((",
  "[[",
  "select",
  "subscript",
  "heredoc_redirect",
  "herestring_redirect",
  "case_statement",
  "function_definition",
];

/** Whether the grammar has dropped no word, and divided none at the end of a line. */
function isCovered(rootNode: Node, source: string): boolean {
  let coveredEnd = 0;
  const isBlank = (endIndex: number) =>
    /^(\s|\\\n)*$/.test(source.slice(coveredEnd, endIndex)) &&
    !/^(\\\n)+$/.test(source.slice(coveredEnd, endIndex));
  const visitNode = (node: Node): boolean => {
    if (node.childCount) return node.children.every(visitNode);
    const follows = isBlank(node.startIndex);
    coveredEnd = Math.max(coveredEnd, node.endIndex);
    return follows;
  };
  return visitNode(rootNode) && isBlank(source.length);
}

// ── Statements ───────────────────────────────────────────────────────────────────────────────────

/**
 * Redirections after a list count for its last command alone, those after a loop or a block for all
 * of its commands.
 */
function walkNode(run: Run, node: Node, scope: SourceScope): Dirs {
  const { tail = [], ...alone } = scope;
  if (
    !tail.length ||
    /^(command|list|pipeline|negated_command|redirected_statement)$/.test(node.type)
  )
    return walkStatement(run, node, scope);
  const firstIndex = run.simple.length;
  const dirsAfter = walkStatement(run, node, alone);
  if (run.simple.length === firstIndex) addBareRedirect(run, node, tail, alone);
  else addRedirects(run, run.simple.slice(firstIndex), tail, alone);
  return dirsAfter;
}

const whyUnfollowed = ({ type }: Node): string => {
  if (type === "case_statement") return "zz does not follow case";
  return type === "ERROR" ? CANNOT_PARSE : "it holds something that zz does not follow";
};

function walkStatement(run: Run, node: Node, scope: SourceScope): Dirs {
  if (scope.depth > MAX_DEPTH) throw new Error(TOO_DEEP);
  const innerScope = { ...scope, depth: scope.depth + 1 };
  const { tail, ...alone } = innerScope;
  switch (node.type) {
    case "command":
      return walkCommand(run, node, scope);
    case "program":
    case "compound_statement":
      if (node.children[0]?.type === "((")
        return askForUnfollowed(run, node, alone, "it holds arithmetic");
      return sequence(run, node.children, alone);
    case "subshell":
      sequence(run, node.children, alone);
      return stayIn(scope);
    case "list":
      return walkList(run, node, innerScope);
    case "pipeline": {
      const pipelineParts = node.namedChildren;
      for (const pipelinePart of pipelineParts)
        walkNode(run, pipelinePart, pipelinePart === pipelineParts.at(-1) ? innerScope : alone);
      return stayIn(scope);
    }
    case "negated_command": {
      const { any } = sequence(run, node.namedChildren, innerScope);
      return { any, ok: any };
    }
    case "redirected_statement":
      return walkRedirected(run, node, innerScope);
    case "if_statement":
    case "elif_clause":
    case "else_clause":
      return branches(run, node, alone);
    case "while_statement":
    case "do_group":
      return branches(run, node, { ...alone, looped: true });
    case "for_statement":
      return walkForLoop(run, node, { ...alone, looped: true });
    case "variable_assignment":
    case "variable_assignments":
      return walkAssignments(run, node, alone);
    case "test_command":
      if (node.children[0]?.type !== "[")
        return askForUnfollowed(run, node, alone, "[[ ]] may run what it is given");
      return (
        judgeBracket(run, node, alone) ??
        askForUnfollowed(run, node, alone, "zz does not follow this test")
      );
    case "function_definition":
      run.functions.add(node.childForFieldName("name")?.text ?? "");
      return askForUnfollowed(run, node, alone, "it defines a function");
    case "declaration_command":
    case "unset_command":
      return walkDeclaration(run, node, alone);
    case "comment":
      return stayIn(scope);
    default:
      return askForUnfollowed(run, node, alone, whyUnfollowed(node));
  }
}

/** Statements one after another. What comes before & runs in a subshell. */
function sequence(run: Run, children: Node[], scope: SourceScope): Dirs {
  let dirsAfter = stayIn(scope);
  for (const [i, statement] of children.entries()) {
    if (!statement.isNamed || statement.type === "comment") continue;
    const isBehind = children[i + 1]?.type === "&";
    const childDirs = walkNode(run, statement, {
      ...scope,
      dirs: dirsAfter.any,
      ...(isBehind && { ends: "background" as const }),
    });
    if (!isBehind) dirsAfter = childDirs;
  }
  return dirsAfter;
}

function walkList(run: Run, node: Node, scope: SourceScope): Dirs {
  const { tail, ...alone } = scope;
  const [leading, following] = node.namedChildren.filter(({ type }) => type !== "comment");
  if (!leading || !following) throw new Error("half a list");
  const leadingDirs = walkNode(run, leading, alone);
  const isAnd = node.children.some(({ type }) => type === "&&");
  const followingDirs = walkNode(run, following, {
    ...scope,
    dirs: isAnd ? leadingDirs.ok : leadingDirs.any,
  });
  return {
    any: joinDirs(leadingDirs.any, followingDirs.any),
    ok: isAnd ? followingDirs.ok : joinDirs(leadingDirs.ok, followingDirs.ok),
  };
}

/** Each part may run or not, so a cd in one adds a folder that the shell may be in. */
function branches(run: Run, node: Node, scope: SourceScope): Dirs {
  let { dirs } = scope;
  for (const branch of node.namedChildren)
    dirs = joinDirs(dirs, walkNode(run, branch, { ...scope, dirs }).any);
  return { any: dirs, ok: dirs };
}

function walkForLoop(run: Run, node: Node, scope: SourceScope): Dirs {
  const bodyNode = node.childForFieldName("body");
  const loopVariable = node.childForFieldName("variable")?.text ?? "";
  const valueNodes = node.namedChildren.filter((child) => child.type !== "do_group");
  const floor = !isPlainName(loopVariable, run.env) && ask(`it sets ${loopVariable}`);
  for (const valueNode of valueNodes) walkSubstitutions(run, valueNode, scope);
  return bodyNode ? walkNode(run, bodyNode, withFloor(scope, floor)) : stayIn(scope);
}

function walkRedirected(run: Run, node: Node, scope: SourceScope): Dirs {
  const bodyNode = node.childForFieldName("body");
  const redirects = node.childrenForFieldName("redirect").filter((redirect) => redirect !== null);
  const fileRedirects = redirects.filter(({ type }) => type === "file_redirect").map(redirectOf);
  const document = redirects.find(({ type }) => type !== "file_redirect");
  const tail = [...fileRedirects, ...(scope.tail ?? [])];
  const documentFloor =
    document &&
    ask(
      document.type === "heredoc_redirect" ? "it holds a here-document" : "it holds a here-string",
    );
  const { tail: _, ...alone } = withFloor(scope, documentFloor);
  const dirsAfter = bodyNode ? walkNode(run, bodyNode, { ...alone, tail }) : stayIn(scope);
  if (!bodyNode) addBareRedirect(run, node, tail, alone);
  for (const searched of redirects)
    if (searched !== document) walkSubstitutions(run, searched, alone);
  if (document) searchInside(run, document, alone);
  return dirsAfter;
}

// ── Commands, and the commands within them ───────────────────────────────────────────────────────

function walkCommand(run: Run, node: Node, scope: SourceScope): Dirs {
  const { tail, ...alone } = scope;
  const { dirs, inside, subshell, scope: innerScope } = judgeCommand(run, node, scope);
  if (subshell) walkNode(run, subshell, innerScope);
  for (const wordNode of inside) walkSubstitutions(run, wordNode, alone);
  return dirs;
}

function walkAssignments(run: Run, node: Node, scope: SourceScope): Dirs {
  for (const assignment of node.type === "variable_assignment" ? [node] : node.namedChildren) {
    judgeAssignment(run, assignment, scope);
    walkSubstitutions(run, assignment, scope);
  }
  return stayIn(scope);
}

function walkDeclaration(run: Run, node: Node, scope: SourceScope): Dirs {
  judgeDeclaration(run, node, scope);
  for (const child of node.namedChildren) walkSubstitutions(run, child, scope);
  return stayIn(scope);
}

/**
 * Searches a part that zz does not follow for commands. If it has none, the whole part is asked
 * for.
 */
function askForUnfollowed(run: Run, node: Node, scope: SourceScope, reason: string): Dirs {
  const firstIndex = run.simple.length;
  const denial = /^(\(\(|\[\[|for)/.test(node.text)
    ? denialInText(node.text.split(/\bdo\b/)[0]!, run.lists)
    : undefined;
  const floor = denial ? unknown(denial) : ask(reason);
  searchInside(run, node, withFloor(scope, floor));
  if (run.simple.length === firstIndex)
    addCommand(run, [{ text: undefined, shown: node.text.trim(), why: reason }], scope, floor);
  return NOWHERE;
}

const COMMAND_TYPE = anyOf(
  /_(statement|command|definition|assignments?)$/,
  /^(command|list|pipeline|subshell|do_group|case_item|ERROR)$/,
);

function searchInside(run: Run, node: Node, scope: SourceScope): void {
  for (const child of node.namedChildren)
    if (COMMAND_TYPE.test(child.type)) walkNode(run, child, scope);
    else walkSubstitutions(run, child, scope);
}

/** The commands inside `$( )`, backticks, `<( )` and `>( )`, anywhere in a word. */
function walkSubstitutions(run: Run, node: Node, scope: SourceScope): void {
  if (scope.depth > MAX_DEPTH) throw new Error(TOO_DEEP);
  const innerScope = { ...scope, depth: scope.depth + 1 };
  if (node.type === "command_substitution" || node.type === "process_substitution")
    sequence(run, node.children, innerScope);
  else for (const child of node.namedChildren) walkSubstitutions(run, child, innerScope);
}

// One file's symbols, by TypeScript's parser alone: no program, no types. Loaded on first use, since it is large.
import { ts } from "ts-morph";

export interface Found {
  path: string;
  line: number;
  name: string; // Class.method for members
  kind: string;
  signature: string; // the first line, cut at 120 characters
  exported: boolean;
  doc: string; // the first line of the comment before it
}
export interface Hit {
  path: string;
  line: number;
  text: string;
}

export function scan(path: string, text: string): Found[] {
  const source = parse(path, text);
  const found: Found[] = [];
  source.forEachChild((node) => visit(node, ""));
  return found;

  function visit(node: ts.Node, owner: string): void {
    if (ts.isVariableStatement(node)) {
      for (const declaration of node.declarationList.declarations)
        names(declaration.name, (name) => add(name, kindOf(declaration), owner, node));
      node.forEachChild(inner);
      return;
    }
    const named = node as ts.Node & { name?: ts.Node };
    const kind = KINDS[node.kind];
    if (
      kind &&
      named.name &&
      (ts.isIdentifier(named.name) || ts.isStringLiteral(named.name) || ts.isPrivateIdentifier(named.name))
    )
      add(named.name, kind, owner, node);
    if (ts.isClassDeclaration(node)) node.forEachChild((member) => visit(member, node.name?.text ?? "default"));
    else if (ts.isModuleDeclaration(node)) node.body?.forEachChild((inner) => visit(inner, owner));
    else node.forEachChild(inner);
  }

  /** Functions and classes inside functions, however deep; locals are nobody's business. */
  function inner(node: ts.Node): void {
    if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) visit(node, "");
    else node.forEachChild(inner);
  }

  function names(name: ts.BindingName, each: (name: ts.Identifier) => void): void {
    if (ts.isIdentifier(name)) each(name);
    else for (const element of name.elements) if (ts.isBindingElement(element)) names(element.name, each);
  }

  function add(name: ts.Node & { text?: string }, kind: string, owner: string, node: ts.Node): void {
    const start = node.getStart(source);
    const end = text.indexOf("\n", start);
    const exported =
      ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    found.push({
      path,
      line: source.getLineAndCharacterOfPosition(start).line + 1,
      name: (owner ? `${owner}.` : "") + (name.text ?? name.getText(source)),
      kind,
      signature: text
        .slice(start, end < 0 ? undefined : end)
        .trim()
        .replace(/\s*\{$/, "")
        .slice(0, 120),
      exported: Boolean(exported),
      doc: docOf(node),
    });
  }

  function docOf(node: ts.Node): string {
    const comment = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
    if (!comment) return "";
    const words = text
      .slice(comment.pos, comment.end)
      .replace(/^\/[/*]+|\*+\/$/g, "")
      .replace(/^\s*\*/gm, "")
      .trim();
    return words.split("\n")[0]!.trim().slice(0, 120);
  }
}

const KINDS: Record<number, string> = {
  [ts.SyntaxKind.FunctionDeclaration]: "function",
  [ts.SyntaxKind.ClassDeclaration]: "class",
  [ts.SyntaxKind.MethodDeclaration]: "method",
  [ts.SyntaxKind.GetAccessor]: "method",
  [ts.SyntaxKind.SetAccessor]: "method",
  [ts.SyntaxKind.PropertyDeclaration]: "property",
  [ts.SyntaxKind.InterfaceDeclaration]: "interface",
  [ts.SyntaxKind.TypeAliasDeclaration]: "type",
  [ts.SyntaxKind.EnumDeclaration]: "enum",
  [ts.SyntaxKind.ModuleDeclaration]: "namespace",
};

function kindOf({ initializer }: ts.VariableDeclaration): string {
  return initializer && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer))
    ? "function"
    : "const";
}

export function uses(path: string, text: string, name: string): Hit[] {
  const source = parse(path, text);
  const lines = new Set<number>();
  visit(source);
  const all = text.split("\n");
  return [...lines].map((line) => ({ path, line: line + 1, text: all[line]!.trim().slice(0, 120) }));

  function visit(node: ts.Node): void {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && node.text === name)
      lines.add(source.getLineAndCharacterOfPosition(node.getStart(source)).line);
    node.forEachChild(visit);
  }
}

/** Only in comments: the scanner knows them from strings and regular expressions, a search does not. */
export function todos(path: string, text: string): Hit[] {
  const source = parse(path, text);
  const seen = new Map<number, Hit>();
  const comments: ts.CommentRange[] = [];
  const between: ts.Node[] = []; // text between tags is no comment
  visit(source);
  for (const one of comments) if (!between.some((text) => text.pos <= one.pos && one.pos < text.end)) note(one);
  return [...seen.values()].sort((a, b) => a.line - b.line);

  function visit(node: ts.Node): void {
    if (ts.isJsxText(node)) between.push(node);
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) comments.push(range);
    for (const range of ts.getTrailingCommentRanges(text, node.getEnd()) ?? []) comments.push(range);
    for (const child of node.getChildren(source)) visit(child);
  }
  function note({ pos, end }: ts.CommentRange): void {
    const comment = text.slice(pos, end);
    for (const match of comment.matchAll(/\b(TODO|FIXME|HACK)\b.*/g)) {
      const line = source.getLineAndCharacterOfPosition(pos + match.index).line + 1;
      seen.set(line, { path, line, text: match[0].replace(/\s*\*\/$/, "").slice(0, 120) });
    }
  }
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

// Imports in order, missing ones added, and what nothing uses removed.
import { type ImportDeclaration, Node, type SourceFile, ts } from "ts-morph";
import {
  applied,
  type Edit,
  editsOf,
  isPlain,
  type Opened,
  type Plan,
  sourceOf,
  styleOf,
} from "./project.ts";

const MAX_REMOVALS = 500;
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199]); // what TypeScript calls what nothing uses

export const organizeImports = (opened: Opened): Plan =>
  each(opened, "Organized the imports of", organized);
export const fixImports = (opened: Opened): Plan =>
  each(opened, "Added the missing imports of", imported);
export const removeUnused = (opened: Opened): Plan =>
  each(opened, "Removed what nothing uses in", trimmed);

function each(
  opened: Opened,
  did: string,
  act: (opened: Opened, source: SourceFile) => Edit[],
): Plan {
  const { paths } = opened;
  const edits = paths.flatMap((name) => act(opened, sourceOf(opened, name)!));
  return { edits, said: `${did} ${paths.length > 1 ? `${paths.length} files` : paths[0]}` };
}

/** What does something by where it stands is left there, and other imports do not pass it. */
function organized({ service }: Opened, source: SourceFile): Edit[] {
  const [file, text] = [source.getFilePath() as string, source.getFullText()];
  const kept = source.getImportDeclarations().filter((one) => staysAsItIs(one, source));
  const gaps = kept.flatMap((one) => [
    gapBefore(text, one.getPos()),
    gapBefore(text, one.getEnd()),
  ]);
  const sorted = [...new Set(gaps)].sort((a, b) => a - b);
  // A blank line parts imports into groups, for TypeScript.
  source.replaceWithText(
    applied(
      text,
      sorted.map((at) => ({ file, start: at, end: at, text: GAP })),
    ),
  );
  const edits = editsOf(
    service.organizeImports({ type: "file", fileName: file }, styleOf(source), {}),
  );
  source.replaceWithText(text);
  const back = (at: number) =>
    sorted.reduce((now, gap, i) => {
      const begin = gap + i * GAP.length;
      return at <= begin ? now : now - Math.min(at - begin, GAP.length);
    }, at);
  const fixed = source.getImportDeclarations().filter((one) => staysAsItIs(one, source));
  return edits
    .map((edit) => ({ ...edit, start: back(edit.start), end: back(edit.end) }))
    .filter(
      ({ start, end }) => !fixed.some((one) => start < one.getEnd() && end > one.getPos() + 1),
    );
}
const GAP = "\n\n";

/** The end of the line before, where something follows in another line. */
function gapBefore(text: string, at: number): number {
  const [rest] = /^[^\n]*\n?/.exec(text.slice(at))!;
  return /^\s*(\/\/.*\s*|\/\*[^\n]*\*\/\s*)?$/.test(rest) ? at + rest.length : at;
}

function staysAsItIs(one: ImportDeclaration, source: SourceFile): boolean {
  if (!one.getImportClause()) return true;
  if (isForJsx(one, source)) return true;
  const text = source.getFullText();
  const comments = text.slice(one.getPos(), one.getStart());
  const code = one.getText().replaceAll(one.getModuleSpecifier().getText(), "");
  const after = text.slice(one.getEnd(), gapBefore(text, one.getEnd()));
  if (COMMENT.test(code + after)) return true;
  // others are about the file
  if (source.getStatements()[0] === one) return DIRECTIVE.test(comments);
  return COMMENT.test(comments.replace(/^.*\n/, ""));
}
const COMMENT = /\/\/|\/\*/;
const DIRECTIVE =
  /(\/\/|\/\*)\s*(@|eslint|biome|prettier|tslint|istanbul|c8|v8|oxlint|deno|webpack|#)/;

/** JSX calls what the pragma or a setting names, and a bundler's own settings are not known. */
function isForJsx(one: ImportDeclaration, source: SourceFile): boolean {
  if (!/x$/.test(source.getExtension()) && !source.getFilePath().endsWith(".js")) return false;
  const names = factoriesIn(source);
  const bound = [one.getDefaultImport(), one.getNamespaceImport()].map((name) => name?.getText());
  bound.push(
    ...one.getNamedImports().map((name) => (name.getAliasNode() ?? name.getNameNode()).getText()),
  );
  const isJsx = (node: Node) =>
    Node.isJsxOpeningElement(node) ||
    Node.isJsxSelfClosingElement(node) ||
    Node.isJsxFragment(node);
  return bound.some((name) => names.has(name)) && source.getDescendants().some(isJsx);
}

function factoriesIn(source: SourceFile): Set<string | undefined> {
  const text = source.getFullText();
  const { jsx, jsxFactory, jsxFragmentFactory, reactNamespace } = source
    .getProject()
    .getCompilerOptions();
  const pragmas = [...text.matchAll(/@jsx(?:Frag)?\s+([\w$]+)/g)].map(([, name]) => name);
  const isClassic = /@jsxRuntime\s+classic\b/.test(text) || pragmas.length > 0;
  const isAutomatic =
    /@jsxImportSource\s/.test(text) ||
    jsx === ts.JsxEmit.ReactJSX ||
    jsx === ts.JsxEmit.ReactJSXDev;
  // where TypeScript itself makes the calls, it knows whom they need
  if (jsx === ts.JsxEmit.React || (isAutomatic && !isClassic)) return new Set();
  const named = [jsxFactory, jsxFragmentFactory, reactNamespace].map((name) => name?.split(".")[0]);
  return new Set(["React", "h", "Fragment", ...pragmas, ...named]);
}

function imported({ service }: Opened, source: SourceFile): Edit[] {
  const file = { type: "file", fileName: source.getFilePath() } as const;
  return editsOf(service.getCombinedCodeFix(file, "fixMissingImport", styleOf(source), {}).changes);
}

/** One after the other, since what used only each other is unused then too. */
function trimmed({ service }: Opened, source: SourceFile): Edit[] {
  const [file, text] = [source.getFilePath(), source.getFullText()];
  for (let left = MAX_REMOVALS; left > 0; left--) {
    const edits = firstRemoval(service, source);
    if (!edits) break;
    source.replaceWithText(applied(source.getFullText(), edits));
  }
  const made = source.getFullText();
  source.replaceWithText(text);
  return made === text ? [] : [{ file, start: 0, end: text.length, text: made }];
}

function firstRemoval(service: ts.LanguageService, source: SourceFile): Edit[] | undefined {
  const file = source.getFilePath();
  const found = [
    ...service.getSemanticDiagnostics(file),
    ...service.getSuggestionDiagnostics(file),
  ];
  for (const { code, start = 0, length = 0 } of found) {
    if (!UNUSED.has(code) || isNeeded(source, start, length)) continue;
    const fixes = service.getCodeFixesAtPosition(
      file,
      start,
      start + length,
      [code],
      styleOf(source),
      {},
    );
    const fix = fixes.find(({ fixId }) =>
      /^unusedIdentifier_delete(Imports)?$/.test(String(fixId)),
    );
    if (fix) return editsOf(fix.changes);
  }
  return undefined;
}

/**
 * Only what does nothing by being there goes: imports, types, functions, and constants of plain
 * values.
 */
function isNeeded(source: SourceFile, start: number, length: number): boolean {
  const node =
    source.getDescendantAtStartWithWidth(start, length) ?? source.getDescendantAtPos(start);
  const around = [node, ...(node?.getAncestors() ?? [])];
  const taking = around.find(Node.isImportDeclaration);
  if (taking && isForJsx(taking, source)) return true;
  const own = around.find((one) => OWNERS.some((is) => is(one)));
  return !isRemovable(own);
}
const OWNERS = [
  Node.isParameterDeclaration,
  Node.isBindingElement,
  Node.isVariableDeclaration,
  Node.isStatement,
  Node.isPropertyDeclaration,
  Node.isMethodDeclaration,
  Node.isGetAccessorDeclaration,
  Node.isSetAccessorDeclaration,
] as const;
const HARMLESS = [
  Node.isImportDeclaration,
  Node.isImportEqualsDeclaration,
  Node.isFunctionDeclaration,
  Node.isTypeAliasDeclaration,
  Node.isInterfaceDeclaration,
] as const;

function isRemovable(own: Node | undefined): boolean {
  if (Node.isVariableStatement(own)) return own.getDeclarations().every(isRemovable);
  if (Node.isVariableDeclaration(own))
    return (
      Node.isIdentifier(own.getNameNode()) &&
      own.getVariableStatement()?.getDeclarationKind() === "const" &&
      isPlain(own.getInitializer())
    );
  if (Node.isMethodDeclaration(own)) return own.getDecorators().length === 0;
  return HARMLESS.some((is) => is(own));
}

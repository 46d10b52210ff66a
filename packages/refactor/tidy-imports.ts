// Imports in order, missing ones added, and what nothing uses removed.
import { type ImportDeclaration, Node, type SourceFile, ts } from "ts-morph";
import {
  applyEdits,
  type Edit,
  editsOf,
  isPlain,
  type OpenProject,
  type Plan,
  sourceOf,
  styleOf,
} from "./project.ts";

const MAX_REMOVALS = 500;
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199]); // what TypeScript calls what nothing uses
const FIX = "unusedIdentifier";

export const organizeImports = (opened: OpenProject): Plan =>
  planEach(opened, "Organized the imports of", organizeFile);
export const fixImports = (opened: OpenProject): Plan =>
  planEach(opened, "Added the missing imports of", importInFile);
export const removeUnused = (opened: OpenProject): Plan =>
  planEach(opened, "Removed what nothing uses in", trimFile);

function planEach(
  opened: OpenProject,
  did: string,
  act: (opened: OpenProject, source: SourceFile) => Edit[],
): Plan {
  const { paths } = opened;
  const edits = paths.flatMap((name) => act(opened, sourceOf(opened, name)!));
  return { edits, summary: `${did} ${paths.length > 1 ? `${paths.length} files` : paths[0]}` };
}

/** What does something by where it stands is left there, and other imports do not pass it. */
function organizeFile({ service }: OpenProject, source: SourceFile): Edit[] {
  const [file, text] = [source.getFilePath() as string, source.getFullText()];
  const kept = source
    .getImportDeclarations()
    .filter((declaration) => staysAsItIs(declaration, source));
  const gaps = kept.flatMap((declaration) => [
    gapBefore(text, declaration.getPos()),
    gapBefore(text, declaration.getEnd()),
  ]);
  const sorted = [...new Set(gaps)].sort((a, b) => a - b);
  // A blank line parts imports into groups, for TypeScript.
  const parts = sorted.map((index) => ({ file, start: index, end: index, text: GAP }));
  setText(source, applyEdits(text, parts));
  const edits = editsOf(
    service.organizeImports({ type: "file", fileName: file }, styleOf(source), {}),
  );
  setText(source, text);
  const back = (index: number) =>
    sorted.reduce((shifted, gap, i) => {
      const begin = gap + i * GAP.length;
      return index <= begin ? shifted : shifted - Math.min(index - begin, GAP.length);
    }, index);
  const fixed = source
    .getImportDeclarations()
    .filter((declaration) => staysAsItIs(declaration, source));
  return edits
    .map((edit) => ({ ...edit, start: back(edit.start), end: back(edit.end) }))
    .filter(
      ({ start, end }) =>
        !fixed.some(
          (declaration) =>
            start < declaration.getEnd() && end > gapBefore(text, declaration.getPos()),
        ),
    );
}
const GAP = "\n\n";

/** replaceWithText() would turn CRLF into LF. */
const setText = (source: SourceFile, newText: string) =>
  source.applyTextChanges([{ span: { start: 0, length: source.getEnd() }, newText }]);

/** The end of the line before, where something follows in another line. */
function gapBefore(text: string, index: number): number {
  const [restOfLine] = /^[^\n]*\n?/.exec(text.slice(index))!;
  return /^\s*(\/\/.*\s*|\/\*[^\n]*\*\/\s*)?$/.test(restOfLine) ? index + restOfLine.length : index;
}

function staysAsItIs(declaration: ImportDeclaration, source: SourceFile): boolean {
  if (!declaration.getImportClause()) return true;
  if (isForJsx(declaration, source)) return true;
  const text = source.getFullText();
  const comments = text.slice(declaration.getPos(), declaration.getStart());
  const code = declaration.getText().replaceAll(declaration.getModuleSpecifier().getText(), "");
  const after = text.slice(declaration.getEnd(), gapBefore(text, declaration.getEnd()));
  if (COMMENT.test(code + after)) return true;
  // others are about the file
  if (source.getStatements()[0] === declaration) return DIRECTIVE.test(comments);
  return COMMENT.test(comments.replace(/^.*\n/, ""));
}
const COMMENT = /\/\/|\/\*/;
const DIRECTIVE =
  /(\/\/|\/\*)\s*(@|eslint|biome|prettier|tslint|istanbul|c8|v8|oxlint|deno|webpack|#)/;

/** JSX calls what the pragma or a setting names, and a bundler's own settings are not known. */
function isForJsx(declaration: ImportDeclaration, source: SourceFile): boolean {
  if (!/x$/.test(source.getExtension()) && !source.getFilePath().endsWith(".js")) return false;
  const names = factoriesIn(source);
  const bound = [
    declaration.getDefaultImport(),
    declaration.getNamespaceImport(),
    ...declaration.getNamedImports().map((name) => name.getAliasNode() ?? name.getNameNode()),
  ].flatMap((name) => name?.getText() ?? []);
  const isJsx = (node: Node) =>
    Node.isJsxOpeningElement(node) ||
    Node.isJsxSelfClosingElement(node) ||
    Node.isJsxFragment(node);
  return bound.some((name) => names.has(name)) && source.getDescendants().some(isJsx);
}

function factoriesIn(source: SourceFile): Set<string> {
  const text = source.getFullText();
  const { jsx, jsxFactory, jsxFragmentFactory, reactNamespace } = source
    .getProject()
    .getCompilerOptions();
  const pragmas = [...text.matchAll(/@jsx(?:Frag)?\s+([\w$]+)/g)].map(([, name]) => name!);
  const isClassic = /@jsxRuntime\s+classic\b/.test(text) || pragmas.length > 0;
  const isAutomatic =
    /@jsxImportSource\s/.test(text) ||
    jsx === ts.JsxEmit.ReactJSX ||
    jsx === ts.JsxEmit.ReactJSXDev;
  // where TypeScript itself makes the calls, it knows whom they need
  if (jsx === ts.JsxEmit.React || (isAutomatic && !isClassic)) return new Set();
  const named = [jsxFactory, jsxFragmentFactory, reactNamespace].flatMap(
    (name) => name?.split(".").slice(0, 1) ?? [],
  );
  return new Set(["React", "h", "Fragment", ...pragmas, ...named]);
}

function importInFile({ service }: OpenProject, source: SourceFile): Edit[] {
  const file = { type: "file", fileName: source.getFilePath() } as const;
  return editsOf(service.getCombinedCodeFix(file, "fixMissingImport", styleOf(source), {}).changes);
}

/** One after the other, since what used only each other is unused then too. */
function trimFile({ service }: OpenProject, source: SourceFile): Edit[] {
  const [file, text] = [source.getFilePath(), source.getFullText()];
  for (let remaining = MAX_REMOVALS; remaining > 0; remaining--) {
    const edits = firstRemoval(service, source);
    if (!edits) break;
    setText(source, applyEdits(source.getFullText(), edits));
  }
  const newText = source.getFullText();
  setText(source, text);
  return newText === text ? [] : [{ file, start: 0, end: text.length, text: newText }];
}

function firstRemoval(service: ts.LanguageService, source: SourceFile): Edit[] | undefined {
  const file = source.getFilePath();
  const diagnostics = [
    ...service.getSemanticDiagnostics(file),
    ...service.getSuggestionDiagnostics(file),
  ];
  for (const { code, start = 0, length = 0 } of diagnostics) {
    if (!UNUSED.has(code) || isNeeded(source, start, length)) continue;
    const fixes = service.getCodeFixesAtPosition(
      file,
      start,
      start + length,
      [code],
      styleOf(source),
      {},
    );
    // without a fixId where it is the only one of its kind in the file
    const fix = fixes.find(
      ({ fixName, description }) => fixName === FIX && !/^(Prefix|Replace) /.test(description),
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
  const owner = around.find((ancestor) => OWNERS.some((is) => is(ancestor)));
  return !isRemovable(owner);
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

function isRemovable(node: Node | undefined): boolean {
  if (Node.isVariableStatement(node)) return node.getDeclarations().every(isRemovable);
  if (Node.isVariableDeclaration(node))
    return (
      Node.isIdentifier(node.getNameNode()) &&
      node.getVariableStatement()?.getDeclarationKind() === "const" &&
      isPlain(node.getInitializer())
    );
  if (Node.isMethodDeclaration(node)) return node.getDecorators().length === 0;
  return HARMLESS.some((is) => is(node));
}

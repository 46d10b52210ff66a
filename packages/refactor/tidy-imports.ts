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
// what TypeScript calls what nothing uses
const UNUSED_CODES = new Set([6133, 6192, 6196, 6198, 6199]);
const REMOVAL_FIX = "unusedIdentifier";

export const organizeImports = (openedProject: OpenProject): Plan =>
  planEach(openedProject, "Organized the imports of", organizeFile);
export const fixImports = (openedProject: OpenProject): Plan =>
  planEach(openedProject, "Added the missing imports of", importInFile);
export const removeUnused = (openedProject: OpenProject): Plan =>
  planEach(openedProject, "Removed what nothing uses in", trimFile);

function planEach(
  openedProject: OpenProject,
  summaryStart: string,
  editFile: (openedProject: OpenProject, sourceFile: SourceFile) => Edit[],
): Plan {
  const { paths } = openedProject;
  const edits = paths.flatMap((filePath) =>
    editFile(openedProject, sourceOf(openedProject, filePath)!),
  );
  return {
    edits,
    summary: `${summaryStart} ${paths.length > 1 ? `${paths.length} files` : paths[0]}`,
  };
}

/** What does something by where it stands is left there, and other imports do not pass it. */
function organizeFile({ service }: OpenProject, sourceFile: SourceFile): Edit[] {
  const [file, originalText] = [sourceFile.getFilePath(), sourceFile.getFullText()];
  const pinnedSpans = sourceFile
    .getImportDeclarations()
    .filter((declaration) => staysAsItIs(declaration, sourceFile))
    .map((declaration) => ({
      start: gapBefore(originalText, declaration.getPos()),
      end: declaration.getEnd(),
    }));
  const gapOffsets = pinnedSpans.flatMap(({ start, end }) => [start, gapBefore(originalText, end)]);
  const sortedOffsets = [...new Set(gapOffsets)].sort((first, second) => first - second);
  // A blank line parts imports into groups, for TypeScript.
  const gapEdits = sortedOffsets.map((offset) => ({
    file,
    start: offset,
    end: offset,
    text: GROUP_GAP,
  }));
  setText(sourceFile, applyEdits(originalText, gapEdits));
  const organizingEdits = editsOf(
    service.organizeImports({ type: "file", fileName: file }, styleOf(sourceFile), {}),
  );
  setText(sourceFile, originalText);
  const shiftBack = (offset: number) =>
    sortedOffsets.reduce((shifted, gapOffset, i) => {
      const shiftedStart = gapOffset + i * GROUP_GAP.length;
      return offset <= shiftedStart
        ? shifted
        : shifted - Math.min(offset - shiftedStart, GROUP_GAP.length);
    }, offset);
  return organizingEdits
    .map((edit) => ({ ...edit, start: shiftBack(edit.start), end: shiftBack(edit.end) }))
    .filter(
      ({ start, end }) => !pinnedSpans.some((pinned) => start < pinned.end && end > pinned.start),
    );
}
const GROUP_GAP = "\n\n";

/** replaceWithText() would turn CRLF into LF. */
const setText = (sourceFile: SourceFile, newText: string) =>
  sourceFile.applyTextChanges([{ span: { start: 0, length: sourceFile.getEnd() }, newText }]);

/** The end of the line before, where something follows in another line. */
function gapBefore(fileText: string, offset: number): number {
  const [restOfLine] = /^[^\n]*\n?/.exec(fileText.slice(offset))!;
  return /^\s*(\/\/.*\s*|\/\*[^\n]*\*\/\s*)?$/.test(restOfLine)
    ? offset + restOfLine.length
    : offset;
}

function staysAsItIs(declaration: ImportDeclaration, sourceFile: SourceFile): boolean {
  if (!declaration.getImportClause()) return true;
  if (isForJsx(declaration, sourceFile)) return true;
  const fileText = sourceFile.getFullText();
  const comments = fileText.slice(declaration.getPos(), declaration.getStart());
  const importCode = declaration
    .getText()
    .replaceAll(declaration.getModuleSpecifier().getText(), "");
  const trailingText = fileText.slice(
    declaration.getEnd(),
    gapBefore(fileText, declaration.getEnd()),
  );
  if (COMMENT.test(importCode + trailingText)) return true;
  // others are about the file
  if (sourceFile.getStatements()[0] === declaration) return DIRECTIVE.test(comments);
  return COMMENT.test(comments.replace(/^.*\n/, ""));
}
const COMMENT = /\/\/|\/\*/;
const DIRECTIVE =
  /(\/\/|\/\*)\s*(@|eslint|biome|prettier|tslint|istanbul|c8|v8|oxlint|deno|webpack|#)/;

/** JSX calls what the pragma or a setting names, and a bundler's own settings are not known. */
function isForJsx(declaration: ImportDeclaration, sourceFile: SourceFile): boolean {
  if (!/x$/.test(sourceFile.getExtension()) && !sourceFile.getFilePath().endsWith(".js"))
    return false;
  const factoryNames = factoriesIn(sourceFile);
  const boundNames = [
    declaration.getDefaultImport(),
    declaration.getNamespaceImport(),
    ...declaration
      .getNamedImports()
      .map((namedImport) => namedImport.getAliasNode() ?? namedImport.getNameNode()),
  ].flatMap((nameNode) => nameNode?.getText() ?? []);
  const isJsxElement = (node: Node) =>
    Node.isJsxOpeningElement(node) ||
    Node.isJsxSelfClosingElement(node) ||
    Node.isJsxFragment(node);
  return (
    boundNames.some((boundName) => factoryNames.has(boundName)) &&
    sourceFile.getDescendants().some(isJsxElement)
  );
}

function factoriesIn(sourceFile: SourceFile): Set<string> {
  const fileText = sourceFile.getFullText();
  const { jsx, jsxFactory, jsxFragmentFactory, reactNamespace } = sourceFile
    .getProject()
    .getCompilerOptions();
  const pragmas = [...fileText.matchAll(/@jsx(?:Frag)?\s+([\w$]+)/g)].map(
    ([, pragmaName]) => pragmaName!,
  );
  const isClassic = /@jsxRuntime\s+classic\b/.test(fileText) || pragmas.length > 0;
  const isAutomatic =
    /@jsxImportSource\s/.test(fileText) ||
    jsx === ts.JsxEmit.ReactJSX ||
    jsx === ts.JsxEmit.ReactJSXDev;
  // where TypeScript itself makes the calls, it knows whom they need
  if (jsx === ts.JsxEmit.React || (isAutomatic && !isClassic)) return new Set();
  const configuredNames = [jsxFactory, jsxFragmentFactory, reactNamespace].flatMap(
    (factoryName) => factoryName?.split(".").slice(0, 1) ?? [],
  );
  return new Set(["React", "h", "Fragment", ...pragmas, ...configuredNames]);
}

function importInFile({ service }: OpenProject, sourceFile: SourceFile): Edit[] {
  const fixScope = { type: "file", fileName: sourceFile.getFilePath() } as const;
  return editsOf(
    service.getCombinedCodeFix(fixScope, "fixMissingImport", styleOf(sourceFile), {}).changes,
  );
}

/** One after the other, since what used only each other is unused then too. */
function trimFile({ service }: OpenProject, sourceFile: SourceFile): Edit[] {
  const [file, originalText] = [sourceFile.getFilePath(), sourceFile.getFullText()];
  for (let remaining = MAX_REMOVALS; remaining > 0; remaining--) {
    const removalEdits = firstRemoval(service, sourceFile);
    if (!removalEdits) break;
    setText(sourceFile, applyEdits(sourceFile.getFullText(), removalEdits));
  }
  const newText = sourceFile.getFullText();
  setText(sourceFile, originalText);
  return newText === originalText
    ? []
    : [{ file, start: 0, end: originalText.length, text: newText }];
}

function firstRemoval(service: ts.LanguageService, sourceFile: SourceFile): Edit[] | undefined {
  const filePath = sourceFile.getFilePath();
  const diagnostics = [
    ...service.getSemanticDiagnostics(filePath),
    ...service.getSuggestionDiagnostics(filePath),
  ];
  for (const { code, start = 0, length = 0 } of diagnostics) {
    if (!UNUSED_CODES.has(code) || isNeeded(sourceFile, start, length)) continue;
    const codeFixes = service.getCodeFixesAtPosition(
      filePath,
      start,
      start + length,
      [code],
      styleOf(sourceFile),
      {},
    );
    // without a fixId where it is the only one of its kind in the file
    const removalFix = codeFixes.find(
      ({ fixName, description }) =>
        fixName === REMOVAL_FIX && !/^(Prefix|Replace) /.test(description),
    );
    if (removalFix) return editsOf(removalFix.changes);
  }
  return undefined;
}

/**
 * Only what does nothing by being there goes: imports, types, functions, and constants of plain
 * values.
 */
function isNeeded(sourceFile: SourceFile, startOffset: number, spanLength: number): boolean {
  const unusedNode =
    sourceFile.getDescendantAtStartWithWidth(startOffset, spanLength) ??
    sourceFile.getDescendantAtPos(startOffset);
  const enclosingNodes = [unusedNode, ...(unusedNode?.getAncestors() ?? [])];
  const importNode = enclosingNodes.find(Node.isImportDeclaration);
  if (importNode && isForJsx(importNode, sourceFile)) return true;
  const ownerNode = enclosingNodes.find((ancestor) =>
    OWNER_KINDS.some((isOwner) => isOwner(ancestor)),
  );
  return !isRemovable(ownerNode);
}
const OWNER_KINDS = [
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
  return HARMLESS.some((isHarmless) => isHarmless(node));
}

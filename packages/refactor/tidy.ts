// Imports in order, missing ones added, and what nothing uses removed.
import { Node, type SourceFile, type ts } from "ts-morph";
import { applied, type Edit, editsOf, isPlain, type Opened, type Plan, sourceOf, styleOf } from "./project.ts";

const MAX_REMOVALS = 500;
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199]); // what TypeScript calls what nothing uses

export const organizeImports = (opened: Opened): Plan => each(opened, "Organized the imports of", organized);
export const fixImports = (opened: Opened): Plan => each(opened, "Added the missing imports of", imported);
export const removeUnused = (opened: Opened): Plan => each(opened, "Removed what nothing uses in", trimmed);

function each(opened: Opened, did: string, act: (opened: Opened, source: SourceFile) => Edit[]): Plan {
  const { paths } = opened;
  const edits = paths.flatMap((name) => act(opened, sourceOf(opened, name)!));
  return { edits, said: `${did} ${paths.length > 1 ? `${paths.length} files` : paths[0]}` };
}

const organized = ({ service }: Opened, source: SourceFile): Edit[] => {
  const file = { type: "file", fileName: source.getFilePath() } as const;
  return editsOf(service.organizeImports(file, styleOf(source), {}));
};

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
  const found = [...service.getSemanticDiagnostics(file), ...service.getSuggestionDiagnostics(file)];
  for (const { code, start = 0, length = 0 } of found) {
    if (!UNUSED.has(code) || isNeeded(source, start, length)) continue;
    const fixes = service.getCodeFixesAtPosition(file, start, start + length, [code], styleOf(source), {});
    const fix = fixes.find(({ fixId }) => /^unusedIdentifier_delete(Imports)?$/.test(String(fixId)));
    if (fix) return editsOf(fix.changes);
  }
  return undefined;
}

/** Only what does nothing by being there goes: imports, types, functions, and constants of plain values. */
function isNeeded(source: SourceFile, start: number, length: number): boolean {
  const node = source.getDescendantAtStartWithWidth(start, length) ?? source.getDescendantAtPos(start);
  const own = [node, ...(node?.getAncestors() ?? [])].find((one) => OWNERS.some((is) => is(one)));
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

// Imports in order, missing ones added, and what nothing uses removed.
import { Node, type SourceFile, ts } from "ts-morph";
import { applied, type Edit, editsOf, type Opened, type Plan, sourceOf, styleOf } from "./project.ts";

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

/** A parameter belongs to the signature; a call or an await does something, whoever uses its value. */
function isNeeded(source: SourceFile, start: number, length: number): boolean {
  const node = source.getDescendantAtStartWithWidth(start, length) ?? source.getDescendantAtPos(start);
  const own = [node, ...(node?.getAncestors() ?? [])].find(
    (one) => Node.isParameterDeclaration(one) || Node.isVariableDeclaration(one) || Node.isStatement(one),
  );
  if (Node.isParameterDeclaration(own)) return true;
  return (Node.isVariableDeclaration(own) || Node.isVariableStatement(own)) && hasEffect(own);
}
const hasEffect = (node: Node): boolean =>
  [Node.isCallExpression, Node.isNewExpression, Node.isAwaitExpression, Node.isYieldExpression].some((is) =>
    is(node),
  ) ||
  (!ts.isFunctionLike(node.compilerNode) && node.forEachChildAsArray().some(hasEffect));

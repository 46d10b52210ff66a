// TypeScript's parser, value by value: in dist/ it is cut out of the compiler and loads in a sixth
// of the time (see build/typescript.js). The other files of this folder import only types of
// TypeScript.
import { ts } from "ts-morph";

// Copied from the library's exports once: those are getters, and each access is slow.
export const {
  createSourceFile,
  escapeLeadingUnderscores,
  forEachChild,
  getLeadingCommentRanges,
  idText,
  isArrayLiteralExpression,
  isAwaitExpression,
  isBigIntLiteral,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isClassExpression,
  isClassLike,
  isComputedPropertyName,
  isConstructorDeclaration,
  isExpressionStatement,
  isExternalModule,
  isExternalModuleReference,
  isIdentifier,
  isIfStatement,
  isIntersectionTypeNode,
  isLiteralTypeNode,
  isMemberName,
  isNamespaceExport,
  isNamespaceImport,
  isNewExpression,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParenthesizedTypeNode,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertySignature,
  isStringLiteral,
  isStringLiteralLike,
  isTypeLiteralNode,
  isUnionTypeNode,
  isVoidExpression,
  ModifierFlags,
  NodeFlags,
  parseJsonText,
  unescapeLeadingUnderscores,
} = ts;
export const K = ts.SyntaxKind;
export const PARSE_OPTIONS = {
  languageVersion: ts.ScriptTarget.Latest,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
};
/** Missing from the types, though TypeScript's own tools use them. */
export const { isFunctionLikeDeclaration, isIdentifierText, modifiersToFlags, skipTrivia } =
  ts as unknown as {
    isFunctionLikeDeclaration(node: ts.Node): node is ts.FunctionLikeDeclaration;
    isIdentifierText(nameText: string, version: ts.ScriptTarget): boolean;
    modifiersToFlags(modifiers?: readonly ts.Node[]): ts.ModifierFlags;
    skipTrivia(sourceText: string, offset: number): number;
  };

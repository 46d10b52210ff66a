// TypeScript's parser, value by value: in dist/ it is cut out of the compiler and loads in a sixth
// of the time (see build/typescript.js). The other files of this folder import only types of
// TypeScript.
import { ts } from "ts-morph";

// Copied from the library's exports once: those are getters, and each access is slow.
export const { ModifierFlags, NodeFlags, SyntaxKind } = ts;
export const { createSourceFile, parseJsonText } = ts;
export const { escapeLeadingUnderscores, forEachChild, getLeadingCommentRanges, idText } = ts;
export const { isArrayLiteralExpression, isAwaitExpression, isBigIntLiteral, isBinaryExpression } =
  ts;
export const {
  isBindingElement,
  isCallExpression,
  isClassExpression,
  isClassLike,
  isComputedPropertyName,
} = ts;
export const {
  isConstructorDeclaration,
  isExpressionStatement,
  isExternalModuleReference,
  isIdentifier,
} = ts;
export const {
  isIfStatement,
  isIntersectionTypeNode,
  isLiteralTypeNode,
  isNamespaceExport,
  isNamespaceImport,
} = ts;
export const {
  isNewExpression,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParenthesizedTypeNode,
} = ts;
export const {
  isPrivateIdentifier,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertySignature,
} = ts;
export const {
  isStringLiteral,
  isStringLiteralLike,
  isTypeLiteralNode,
  isUnionTypeNode,
  isVoidExpression,
} = ts;
export const { unescapeLeadingUnderscores } = ts;
export const K = SyntaxKind;
export const [IDENTIFIER, LAST_TOKEN] = [K.Identifier, K.LastToken];
export const PARSE_OPTIONS = {
  languageVersion: ts.ScriptTarget.Latest,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
};
/** Missing from the types, though TypeScript's own tools use them. */
export const { skipTrivia, isIdentifierText } = ts as unknown as {
  skipTrivia(sourceText: string, offset: number): number;
  isIdentifierText(nameText: string, version: ts.ScriptTarget): boolean;
};

// Whether a thing can have a name at all, and in plain words why a server would not rename it.
import { isIdentifierText } from "../scan/parser.ts";

export function invalidName(oldName: string, newName: string): string | undefined {
  if (oldName === newName) return "it already has that name. Choose another name.";
  if (!isIdentifier(oldName))
    return /^[^"'`\\\r\n]+$/.test(newName)
      ? undefined
      : "a key cannot hold quotes. Choose another name.";
  if (oldName.startsWith("#") !== newName.startsWith("#"))
    return "a private name begins with '#', and no other does. Choose a name of the same kind.";
  if (!isIdentifier(newName))
    return `'${newName}' is not an identifier. Use letters, digits, _ and $ only.`;
  if (KEYWORDS.has(newName)) return `'${newName}' is a keyword. Choose another name.`;
  return undefined;
}
const ESNEXT_TARGET = 99;
const isIdentifier = (candidate: string) =>
  isIdentifierText(candidate.replace(/^#/, ""), ESNEXT_TARGET);
const KEYWORDS = new Set(
  (
    "break case catch class const continue debugger default delete do else " +
    "enum export extends false finally for " +
    "function if import in instanceof new null return super switch this throw " +
    "true try typeof var void while with " +
    "implements interface let package private protected public static yield await"
  ).split(" "),
);

const REFUSALS: [said: RegExp, why: string][] = [
  [
    /standard (?:TypeScript )?library/,
    "it is defined in the standard library. Choose a name of the project's own.",
  ],
  [/node_modules/, "it is defined in a package. Choose a name of the project's own."],
  [/cannot rename this/, "it is not a name that could be another. Rename what it stands for."],
];
export const refusalOf = (message: string): string =>
  REFUSALS.find(([pattern]) => pattern.test(message))?.[1] ?? message;

// From names and paths to their entries in the index, and from those to the rows of an answer.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { anyOf, plural } from "zz/text";
import { CODE } from "../code-files.ts";
import type { Index } from "../index-view.ts";
import { LANGUAGES, languageOf } from "../languages/table.ts";
import type { FoundSymbol } from "../match-names.ts";
import { deniesReading, mayRead } from "../may-read.ts";
import { SCRIPT } from "../resolve/paths.ts";
import { filesDefining, filesMarkedGenerated } from "../rows.ts";
import type { Sym } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";

export const MAX_ROWS = 40; // rows per answer
export const MAX_NAMES_PER_FILE = 12;
export { SCRIPT };
/** Code with symbols and branches, in any language; data and markup have none. */
export const isMapped = (filePath: string): boolean =>
  SCRIPT.test(filePath) || (languageOf(filePath)?.isMarkup === undefined && !!languageOf(filePath));

/** As the index writes it: Class::method, Class#method and $name are spelt by other languages. */
export const nameIn = (symbol: string): string => spellings(symbol).at(-1)!;

/**
 * The exact name first, then with the separators of the index, then without the sign that other
 * languages put before a name.
 */
function spellings(symbol: string): string[] {
  const exactName = symbol.trim().replace(/\(\)$/, "");
  const dottedName = exactName.replace(/(?<=[\w?!>)])(?:::|->|\\|#)(?=[\w~])/g, ".");
  return [exactName, dottedName, dottedName.replace(/^[.$](?=[\w-])/, "")];
}

/**
 * What a name means, and the files that define it: exactly what is called that, else by the
 * spelling of languages that write it otherwise.
 */
export function meantBy(
  index: Index,
  symbol: string,
): { wanted: string; files: readonly string[] } {
  const [exactName = "", dottedName = "", bareName = ""] = spellings(symbol);
  for (const wanted of [exactName, dottedName]) {
    const files = filesDefining(index, lastName(wanted));
    if (files.length) return { wanted, files };
  }
  const files = filesDefining(index, lastName(bareName)).filter(
    (filePath) => bareName === dottedName || !SCRIPT.test(filePath),
  );
  return { wanted: files.length ? bareName : dottedName, files };
}
export const lastName = (fullName: string): string => fullName.split(".").at(-1)!;
export const nameOf = ({ owner, name }: Pick<Sym, "owner" | "name">): string =>
  owner ? `${owner}.${name}` : name;

export function foundIn(index: Index, filePaths: readonly string[], ctx: Ctx): FoundSymbol[] {
  // when it was indexed; to judge each again takes a quarter of the time
  const isJudged = !deniesReading(ctx);
  return filePaths.flatMap((filePath) => {
    const symbols = index.facts(filePath)?.symbols ?? [];
    if (!symbols.length || !(isJudged || mayRead(ctx, filePath))) return [];
    return symbols.map((indexedSymbol) => ({
      ...indexedSymbol,
      path: filePath,
      name: nameOf(indexedSymbol),
    }));
  });
}

/** No key of JSON or YAML. */
export const isCode = ({ kind: symbolKind }: Sym): boolean => symbolKind !== "key";

/** Tells build output and the like, by its path or by what its first lines say. */
export function generatedTest(index: Index): (filePath: string) => boolean {
  const markedFiles = new Set(filesMarkedGenerated(index));
  return (filePath) => isGenerated(filePath) || markedFiles.has(filePath);
}

/** Relative to the project, as in the index. */
export function toProjectPath(givenPath: string, { root, files }: Ctx): string {
  return path.relative(root, files.path(givenPath)).split(path.sep).join("/");
}

/** Throws where none can be: "nothing" would be taken for an answer. */
export function filesUnder(index: Index, givenPath: string, ctx: Ctx): string[] {
  const folderPath = toProjectPath(givenPath, ctx);
  const filesInside = index.files.filter((filePath) => isUnder(filePath, folderPath));
  const codeFiles = filesInside.filter((filePath) => CODE.test(filePath) && mayRead(ctx, filePath));
  const reason = !codeFiles.length && folderPath && whyUnread(index, givenPath, ctx);
  if (reason) throw new Error(`Cannot look at '${givenPath}': ${reason}`);
  return codeFiles;
}

export const isUnder = (filePath: string, folderPath: string): boolean =>
  !folderPath || filePath === folderPath || filePath.startsWith(`${folderPath}/`);

/** Whether an import of `taken` ("a", "a as b", "* as all", "*") brings the name into the file. */
export function takesName(specifier: string, symbolName: string, fileText: string): boolean {
  const [takenName = "", localName = ""] = specifier.split(" as ");
  if (takenName !== "*") return takenName === symbolName;
  const escaped = symbolName.replace(/[$#]/g, "\\$&");
  const ownerPattern = localName
    ? `\\b${localName.replaceAll("$", "\\$")}\\s*\\??`
    : "\\)?\\s*\\??";
  return new RegExp(`${ownerPattern}\\.\\s*${escaped}(?![\\w$])`).test(fileText);
}

/** Why no code is known of a path. */
export function whyUnread(index: Index, givenPath: string, ctx: Ctx): string {
  const fileStats = fs.statSync(ctx.files.path(givenPath), { throwIfNoEntry: false });
  if (!fileStats) return "no such file or folder. Check the path.";
  if (fileStats.isDirectory()) return `it holds no such code. ${READ_HERE}`;
  if (!CODE.test(givenPath)) return READ_HERE.replace(/^O/, "o");
  const filePath = toProjectPath(givenPath, ctx);
  if (!index.names.includes(filePath))
    return (
      "it is not among the project's files: .gitignore names it, " +
      "or git does not track its folder of built files. read_file shows it."
    );
  if (index.ignored.has(filePath))
    return "symbols.ignore leaves it out of the index. read_file shows it.";
  return mayRead(ctx, filePath)
    ? "it is not in the index. read_file shows it."
    : "reading it is not allowed.";
}

const LANGUAGE_NAMES = LANGUAGES.map(({ name }) => name).join(", ");
const READ_HERE =
  `Only JavaScript, TypeScript, JSON, YAML, ${LANGUAGE_NAMES.replace(/, (\w+)$/, " and $1")} ` +
  "are looked at; list_dir, grep and read_file show the rest.";

export const NO_CODE =
  "There is no code here in a language that is looked at; docs/code-tools.md lists them.";

/** What an answer about these files leaves out: other languages, and what could not be read. */
export function notLookedAt(
  index: Index,
  givenPath: string,
  filePaths: string[],
  ctx: Ctx,
): string[] {
  const folderPath = toProjectPath(givenPath, ctx);
  const otherCode = index.names.filter(
    (filePath) => isUnder(filePath, folderPath) && OTHER_CODE.test(filePath),
  );
  const extensions = [...new Set(otherCode.map((filePath) => path.extname(filePath)))].sort();
  const unreadFiles = filePaths.filter((filePath) => index.facts(filePath)!.unread);
  return [
    ...(otherCode.length
      ? [
          `[Not looked at: ${plural(otherCode.length, "file")} in other languages ` +
            `(${extensions.join(", ")}); grep searches them]`,
        ]
      : []),
    ...unreadFiles
      .slice(0, 5)
      .map((filePath) => `[Not looked at: ${filePath}: ${index.facts(filePath)!.unread}]`),
    ...(unreadFiles.length > 5
      ? [`[Not looked at: ${plural(unreadFiles.length - 5, "more file")}]`]
      : []),
  ];
}

const OTHER_CODE = anyOf(
  /\.(?:scala|dart|exs?|erl|hs|clj[cs]?|astro|zig|nim|jl|r|pl|pm|m|mm|fs|vb|groovy|ml|mli)$/i,
  /\.(?:s[ac]ss|less|fish|ps1|sol|d|pas|f90)$/i,
);

/** The first rows, and how many more there are. */
export function capRows(rows: string[], maxRows: number, rowNoun: string): string {
  const remainingCount = rows.length - maxRows;
  return [
    ...rows.slice(0, maxRows),
    ...(remainingCount > 0 ? [`[${remainingCount} more ${rowNoun}`.trimEnd() + "]"] : []),
  ].join("\n");
}

export const pathAndLine = ({ path: file, line }: { path: string; line: number }): string =>
  `${file}:${line}`;
export const nameAndLine = (symbol: FoundSymbol): string =>
  `${symbol.name} (${pathAndLine(symbol)})`;
export const formatSymbolRow = ({ path: file, line, signature, doc }: FoundSymbol): string =>
  `${file}:${line}: ${signature}${doc ? `  // ${doc}` : ""}`;

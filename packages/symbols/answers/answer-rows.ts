// From names and paths to their entries in the index, and from those to the rows of an answer.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural } from "zz/text";
import { CODE } from "../code-files.ts";
import type { Index } from "../index-view.ts";
import { LANGUAGES, languageOf } from "../languages/table.ts";
import type { FoundSymbol } from "../match-names.ts";
import { deniesReading, mayRead } from "../may-read.ts";
import { SCRIPT } from "../resolve/paths.ts";
import { filesDefining } from "../rows.ts";
import type { Sym } from "../scan/facts.ts";

export const MAX_ROWS = 40; // rows per answer
export const MAX_NAMES_PER_FILE = 12;
export { SCRIPT };
/** Code with symbols and branches, in any language; data and markup have none. */
export const isMapped = (file: string): boolean =>
  SCRIPT.test(file) || (languageOf(file)?.isMarkup === undefined && !!languageOf(file));

/** As the index writes it: Class::method, Class#method and $name are spelt by other languages. */
export const nameIn = (symbol: string): string => spellings(symbol).at(-1)!;

/**
 * The exact name first, then with the separators of the index, then without the sign that other
 * languages put before a name.
 */
function spellings(symbol: string): string[] {
  const exact = symbol.trim().replace(/\(\)$/, "");
  const dotted = exact.replace(/(?<=[\w?!>)])(?:::|->|\\|#)(?=[\w~])/g, ".");
  return [exact, dotted, dotted.replace(/^[.$](?=[\w-])/, "")];
}

/**
 * What a name means, and the files that define it: exactly what is called that, else by the
 * spelling of languages that write it otherwise.
 */
export function meantBy(
  index: Index,
  symbol: string,
): { wanted: string; files: readonly string[] } {
  const [exact = "", dotted = "", bare = ""] = spellings(symbol);
  for (const wanted of [exact, dotted]) {
    const files = filesDefining(index, lastName(wanted));
    if (files.length) return { wanted, files };
  }
  const files = filesDefining(index, lastName(bare)).filter(
    (file) => bare === dotted || !SCRIPT.test(file),
  );
  return { wanted: files.length ? bare : dotted, files };
}
export const lastName = (name: string): string => name.split(".").at(-1)!;
export const nameOf = ({ owner, name }: Sym): string => (owner ? `${owner}.${name}` : name);

export function foundIn(index: Index, files: readonly string[], ctx: Ctx): FoundSymbol[] {
  // when it was indexed; to judge each again takes a quarter of the time
  const isJudged = !deniesReading(ctx);
  return files.flatMap((file) => {
    const symbols = index.facts(file)?.symbols ?? [];
    if (!symbols.length || !(isJudged || mayRead(ctx, file))) return [];
    return symbols.map((sym) => ({ ...sym, path: file, name: nameOf(sym) }));
  });
}

/** Relative to the project, as in the index. */
export function relative(name: string, { root, files }: Ctx): string {
  return path.relative(root, files.path(name)).split(path.sep).join("/");
}

/** Throws where none can be: "nothing" would be taken for an answer. */
export function filesUnder(index: Index, under: string, ctx: Ctx): string[] {
  const folder = relative(under, ctx);
  const inside = index.files.filter((file) => isUnder(file, folder));
  const codeFiles = inside.filter((file) => CODE.test(file) && mayRead(ctx, file));
  const reason = !codeFiles.length && folder && whyUnread(index, under, ctx);
  if (reason) throw new Error(`Cannot look at '${under}': ${reason}`);
  return codeFiles;
}

export const isUnder = (file: string, folder: string): boolean =>
  !folder || file === folder || file.startsWith(`${folder}/`);

/** Whether an import of `taken` ("a", "a as b", "* as all", "*") brings the name into the file. */
export function takesName(specifier: string, name: string, text: string): boolean {
  const [from = "", as = ""] = specifier.split(" as ");
  if (from !== "*") return from === name;
  const escaped = name.replace(/[$#]/g, "\\$&");
  const owner = as ? `\\b${as.replaceAll("$", "\\$")}\\s*\\??` : "\\)?\\s*\\??";
  return new RegExp(`${owner}\\.\\s*${escaped}(?![\\w$])`).test(text);
}

/** Why no code is known of a path. */
export function whyUnread(index: Index, name: string, ctx: Ctx): string {
  const stat = fs.statSync(ctx.files.path(name), { throwIfNoEntry: false });
  if (!stat) return "no such file or folder. Check the path.";
  if (stat.isDirectory()) return `it holds no such code. ${READ_HERE}`;
  if (!CODE.test(name)) return READ_HERE.replace(/^O/, "o");
  const file = relative(name, ctx);
  if (!index.names.includes(file))
    return "it is not among the project's files: .gitignore names it, or git does not track its folder of built files. read_file shows it.";
  if (index.ignored.has(file))
    return "symbols.ignore leaves it out of the index. read_file shows it.";
  return mayRead(ctx, file)
    ? "it is not in the index. read_file shows it."
    : "reading it is not allowed.";
}

const NAMES = LANGUAGES.map(({ name }) => name).join(", ");
const READ_HERE = `Only JavaScript, TypeScript, JSON, YAML, ${NAMES.replace(/, (\w+)$/, " and $1")} are looked at; list_dir, grep and read_file show the rest.`;

export const NO_CODE =
  "There is no code here in a language that is looked at; docs/code-tools.md lists them.";

/** What an answer about these files leaves out: other languages, and what could not be read. */
export function notLookedAt(index: Index, under: string, files: string[], ctx: Ctx): string[] {
  const folder = relative(under, ctx);
  const others = index.names.filter((file) => isUnder(file, folder) && OTHER_CODE.test(file));
  const kinds = [...new Set(others.map((file) => path.extname(file)))].sort();
  const unread = files.filter((file) => index.facts(file)!.unread);
  return [
    ...(others.length
      ? [
          `[Not looked at: ${plural(others.length, "file")} in other languages (${kinds.join(", ")}); grep searches them]`,
        ]
      : []),
    ...unread.slice(0, 5).map((file) => `[Not looked at: ${file}: ${index.facts(file)!.unread}]`),
    ...(unread.length > 5 ? [`[Not looked at: ${plural(unread.length - 5, "more file")}]`] : []),
  ];
}

const OTHER_CODE =
  /\.(?:scala|dart|exs?|erl|hs|clj[cs]?|astro|zig|nim|jl|r|pl|pm|m|mm|fs|vb|groovy|ml|mli|s[ac]ss|less|fish|ps1|sol|d|pas|f90)$/i;

/** The first rows, and how many more there are. */
export function capRows(rows: string[], max: number, noun: string): string {
  const remainingCount = rows.length - max;
  return [
    ...rows.slice(0, max),
    ...(remainingCount > 0 ? [`[${remainingCount} more ${noun}`.trimEnd() + "]"] : []),
  ].join("\n");
}

export const pathAndLine = ({ path: file, line }: { path: string; line: number }): string =>
  `${file}:${line}`;
export const nameAndLine = (symbol: FoundSymbol): string =>
  `${symbol.name} (${pathAndLine(symbol)})`;
export const row = ({ path: file, line, signature, doc }: FoundSymbol): string =>
  `${file}:${line}: ${signature}${doc ? `  // ${doc}` : ""}`;

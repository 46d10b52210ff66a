// Asks ripgrep which files can contain a hit. It may name too many but must not miss any: only
// lines.ts decides what a hit is. While git lists the files, two ripgreps walk the project: one
// names the files that match, one those that it looks at. zz itself searches the other files
// (ripgrep knows .gitignore, but not ignored files that git tracks). For 10,000 files the two take
// 60 ms; a single one that reports on every file (--count --include-zero) takes 100 ms, since it
// asks the system about each part of each path that it prints.
import type { ChildProcess } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import type { Ctx } from "zz";
import { temporaryFolder } from "zz/text";
import { isPlain, type Query } from "./find-in-lines.ts";
import type { Once } from "./together.ts";

const WALK_OPTIONS =
  "--no-config --no-messages --hidden --no-require-git --no-ignore-dot --null --color never".split(
    " ",
  );
// fast enough; the other one needs the cores
const LIST_OPTIONS = [...WALK_OPTIONS, "--files", "--threads=1"];
const MATCHES = [
  ...WALK_OPTIONS,
  ..."--files-with-matches --encoding none --text --case-sensitive".split(" "),
];
const MAX_QUERY_CHARS = 1_000; // longer queries are rare
/**
 * Folders that are often large but seldom part of a project. If they are, zz searches their files
 * itself.
 */
const LEFT_OUT = ".git node_modules dist build .next coverage .venv __pycache__ target".split(" ");

type Output = { names: string[]; code: number };

/**
 * For each file that ripgrep searched, whether it can contain a hit. Empty if ripgrep is missing or
 * cannot tell.
 */
export async function askRipgrep(
  { programs, root, signal }: Ctx,
  once: Once,
  ripgrepName: string,
  askedQuery: Query & { glob?: string | undefined },
  searchedPath: string,
): Promise<Map<string, boolean>> {
  const program = ripgrepName && programs.find(ripgrepName);
  const rgPattern = program && patternFor(askedQuery);
  if (!rgPattern) return new Map();
  const globOptions = [
    ...(askedQuery.glob ? [askedQuery.glob] : []),
    ...LEFT_OUT.map((folderName) => `!${folderName}`),
  ].map((globPattern) => `--glob=${globPattern}`);
  const pathArguments = ["--", `./${relative(root, searchedPath)}`];
  const startRipgrep = (programOptions: string[], descriptor: number) =>
    programs.start(program, programOptions, {
      cwd: root,
      signal,
      stdio: ["ignore", descriptor, "ignore"],
    });
  const [matching, allFiles] = await Promise.all([
    // first, since it takes longest
    collectOutput((descriptor) =>
      startRipgrep([...MATCHES, ...globOptions, ...rgPattern, ...pathArguments], descriptor),
    ),
    once(`ripgrep ${JSON.stringify([program, globOptions, pathArguments])}`, () =>
      collectOutput((descriptor) =>
        startRipgrep([...LIST_OPTIONS, ...globOptions, ...pathArguments], descriptor),
      ),
    ),
  ]);
  const canMatch = new Map<string, boolean>();
  if (matching?.code === 0 || matching?.code === 1)
    for (const fileName of allFiles?.names ?? []) canMatch.set(fileName, false);
  for (const fileName of matching?.names ?? []) canMatch.set(fileName, true);
  return canMatch;
}

/**
 * The names that a program prints, and its exit code. They are collected in an unlinked file, since
 * a pipe would wake this process again and again.
 */
async function collectOutput(
  startProgram: (descriptor: number) => ChildProcess,
): Promise<Output | undefined> {
  let descriptor: number;
  try {
    const outputFolder = temporaryFolder("rg");
    descriptor = openSync(join(outputFolder, "out"), "wx+", 0o600);
    rmSync(outputFolder, { recursive: true });
  } catch {
    return undefined; // nowhere to write
  }
  try {
    const code = await new Promise<number>((resolve) =>
      startProgram(descriptor)
        .on("error", () => resolve(2))
        .on("close", (exitCode) => resolve(exitCode ?? 2)),
    );
    const outputBytes = Buffer.alloc(fstatSync(descriptor).size);
    readSync(descriptor, outputBytes, 0, outputBytes.length, 0);
    const printedNames = outputBytes.toString().split("\0").slice(0, -1);
    return { names: printedNames.map((printedName) => printedName.replace(/^\.\//, "")), code };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The arguments that say what to search for, if ripgrep is sure to find at least what lines.ts
 * would.
 */
export function patternFor({ query, regex, ignoreCase }: Query): string[] | undefined {
  if (query.length > MAX_QUERY_CHARS) return undefined;
  const isAscii = /^[\t\x20-\x7e]*$/.test(query); // outside of ASCII the two fold case differently
  const caseOptions = ignoreCase ? ["--ignore-case"] : [];
  if (!regex)
    return isPlain(query) && (isAscii || !ignoreCase)
      ? [...caseOptions, "--fixed-strings", "-e", query]
      : undefined;
  const pattern = isAscii ? translate(query) : undefined;
  return pattern === undefined ? undefined : [...caseOptions, "-e", pattern];
}

/**
 * Anything that is one character to JavaScript: a letter, a surrogate, or bytes that are not UTF-8.
 */
const ANY_CHARACTER = "(?:(?-u:.){1,3})";
const SPACE_RANGES =
  "\\t\\x0b\\x0c\\r\\x20\\x{a0}\\x{1680}\\x{2000}-\\x{200a}" +
  "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const IN_CLASS: Record<string, string> = { d: "0-9", w: "0-9A-Za-z_", s: SPACE_RANGES, t: "\\t" };
const ESCAPES: Record<string, string> = {
  d: "[0-9]",
  w: "[0-9A-Za-z_]",
  s: `[${SPACE_RANGES}]`,
  t: "\\t",
  D: ANY_CHARACTER,
  W: ANY_CHARACTER,
  S: ANY_CHARACTER,
  b: "(?-u:\\b)",
  B: "(?-u:\\B)",
};

/** An escape, a class, a quantifier, a group, or a letter. */
const REGEX_TOKEN =
  /\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]|([*+?]|\{\d+(?:,\d*)?\})\??|(\((?:\?:)?(?!\?))|([^(\\])/gy;

/**
 * Translates a JavaScript regular expression for ripgrep, as far as both languages agree; the
 * result may match more, never less. Undefined for anything else, such as look-around, a reference,
 * an anchor in the middle, or a repeated choice: that can take JavaScript forever where ripgrep has
 * an answer, and both ways must give the same one.
 */
function translate(patternSource: string): string | undefined {
  let [translation, tokenEnd] = ["", 0];
  const openGroups = [false]; // innermost last: whether it contains a choice
  let hasClosedChoice = false; // whether the group that just ended contains a choice
  for (const { index, 0: matched, ...token } of patternSource.matchAll(REGEX_TOKEN)) {
    const {
      1: escaped,
      2: negation,
      3: classContent,
      4: quantifier,
      5: groupStart,
      6: character = "",
    } = token;
    if (quantifier && quantifier !== "?" && hasClosedChoice) return undefined;
    if (groupStart) openGroups.push(false);
    else if (quantifier || character === "|") openGroups[openGroups.length - 1] = true;
    hasClosedChoice = character === ")" && openGroups.pop()!;
    if (hasClosedChoice) openGroups[openGroups.length - 1] = true;
    tokenEnd = index + matched.length;

    let replacement: string | undefined;
    if (escaped)
      replacement = ESCAPES[escaped] ?? (/\w/.test(escaped) ? undefined : literal(escaped));
    else if (classContent !== undefined)
      replacement = negation ? ANY_CHARACTER : classOf(classContent);
    else if (quantifier) replacement = quantifier;
    else if (groupStart) replacement = "(?:";
    else if (character === ".") replacement = ANY_CHARACTER;
    else if (character === "^") replacement = index === 0 ? "^\\x{feff}?" : undefined;
    else if (character === "$")
      replacement = tokenEnd === patternSource.length ? "\\r?$" : undefined;
    else replacement = ")|".includes(character) ? character : literal(character);
    if (replacement === undefined) return undefined;
    translation += replacement;
  }
  return tokenEnd === patternSource.length ? translation : undefined;
}

const literal = (character: string): string =>
  character === "\t" ? "\\t" : character.replace(/[\\.+*?()|[\]{}^$#&~-]/, "\\$&");

function classOf(classContent: string): string | undefined {
  const classAtoms = classContent.match(/\\.|./g) ?? [];
  const isShorthand = (classAtom: string) => /^\\[dws]$/.test(classAtom);
  const translateAtom = (classAtom: string) =>
    classAtom[1] ? (IN_CLASS[classAtom[1]] ?? literal(classAtom[1])) : literal(classAtom);
  if (classAtoms.some((classAtom) => /^\\[DWS]$/.test(classAtom))) return ANY_CHARACTER;
  if (
    !classAtoms.length ||
    classAtoms.some((classAtom) => /^\\\w$/.test(classAtom) && !IN_CLASS[classAtom[1]!])
  )
    return undefined;
  let translated = "";
  for (let i = 0; i < classAtoms.length; i++) {
    const [firstAtom, dashAtom, lastAtom] = [classAtoms[i]!, classAtoms[i + 1], classAtoms[i + 2]];
    const isRange =
      dashAtom === "-" &&
      lastAtom !== undefined &&
      !isShorthand(firstAtom) &&
      !isShorthand(lastAtom);
    translated += isRange
      ? `${translateAtom(firstAtom)}-${translateAtom(lastAtom)}`
      : translateAtom(firstAtom);
    if (isRange) i += 2;
  }
  return `[${translated}]`;
}

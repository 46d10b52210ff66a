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

const WALK =
  "--no-config --no-messages --hidden --no-require-git --no-ignore-dot --null --color never".split(
    " ",
  );
const FILES = [...WALK, "--files", "--threads=1"]; // fast enough; the other one needs the cores
const MATCHES = [
  ...WALK,
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
  rg: string,
  asked: Query & { glob?: string | undefined },
  where: string,
): Promise<Map<string, boolean>> {
  const program = rg && programs.find(rg);
  const rgPattern = program && patternFor(asked);
  if (!rgPattern) return new Map();
  const globs = [...(asked.glob ? [asked.glob] : []), ...LEFT_OUT.map((name) => `!${name}`)].map(
    (glob) => `--glob=${glob}`,
  );
  const below = ["--", `./${relative(root, where)}`];
  const start = (args: string[], fd: number) =>
    programs.start(program, args, { cwd: root, signal, stdio: ["ignore", fd, "ignore"] });
  const [matching, allFiles] = await Promise.all([
    // first, since it takes longest
    output((fd) => start([...MATCHES, ...globs, ...rgPattern, ...below], fd)),
    once(`ripgrep ${JSON.stringify([program, globs, below])}`, () =>
      output((fd) => start([...FILES, ...globs, ...below], fd)),
    ),
  ]);
  const canMatch = new Map<string, boolean>();
  if (matching?.code === 0 || matching?.code === 1)
    for (const name of allFiles?.names ?? []) canMatch.set(name, false);
  for (const name of matching?.names ?? []) canMatch.set(name, true);
  return canMatch;
}

/**
 * The names that a program prints, and its exit code. They are collected in an unlinked file, since
 * a pipe would wake this process again and again.
 */
async function output(start: (fd: number) => ChildProcess): Promise<Output | undefined> {
  let fd: number;
  try {
    const folder = temporaryFolder("rg");
    fd = openSync(join(folder, "out"), "wx+", 0o600);
    rmSync(folder, { recursive: true });
  } catch {
    return undefined; // nowhere to write
  }
  try {
    const code = await new Promise<number>((resolve) =>
      start(fd)
        .on("error", () => resolve(2))
        .on("close", (code) => resolve(code ?? 2)),
    );
    const bytes = Buffer.alloc(fstatSync(fd).size);
    readSync(fd, bytes, 0, bytes.length, 0);
    const names = bytes.toString().split("\0").slice(0, -1);
    return { names: names.map((name) => name.replace(/^\.\//, "")), code };
  } finally {
    closeSync(fd);
  }
}

/**
 * The arguments that say what to search for, if ripgrep is sure to find at least what lines.ts
 * would.
 */
export function patternFor({ query, regex, ignoreCase }: Query): string[] | undefined {
  if (query.length > MAX_QUERY_CHARS) return undefined;
  const isAscii = /^[\t\x20-\x7e]*$/.test(query); // outside of ASCII the two fold case differently
  const fold = ignoreCase ? ["--ignore-case"] : [];
  if (!regex)
    return isPlain(query) && (isAscii || !ignoreCase)
      ? [...fold, "--fixed-strings", "-e", query]
      : undefined;
  const pattern = isAscii ? translate(query) : undefined;
  return pattern === undefined ? undefined : [...fold, "-e", pattern];
}

/**
 * Anything that is one character to JavaScript: a letter, a surrogate, or bytes that are not UTF-8.
 */
const ANY = "(?:(?-u:.){1,3})";
const SPACE =
  "\\t\\x0b\\x0c\\r\\x20\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const IN_CLASS: Record<string, string> = { d: "0-9", w: "0-9A-Za-z_", s: SPACE, t: "\\t" };
const ESCAPES: Record<string, string> = {
  d: "[0-9]",
  w: "[0-9A-Za-z_]",
  s: `[${SPACE}]`,
  t: "\\t",
  D: ANY,
  W: ANY,
  S: ANY,
  b: "(?-u:\\b)",
  B: "(?-u:\\B)",
};

/** An escape, a class, a quantifier, a group, or a letter. */
const TOKEN =
  /\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]|([*+?]|\{\d+(?:,\d*)?\})\??|(\((?:\?:)?(?!\?))|([^(\\])/gy;

/**
 * Translates a JavaScript regular expression for ripgrep, as far as both languages agree; the
 * result may match more, never less. Undefined for anything else, such as look-around, a reference,
 * an anchor in the middle, or a repeated choice: that can take JavaScript forever where ripgrep has
 * an answer, and both ways must give the same one.
 */
function translate(source: string): string | undefined {
  let [stdout, end] = ["", 0];
  const groups = [false]; // innermost last: whether it contains a choice
  let closed = false; // whether the group that just ended contains a choice
  for (const { index, 0: matched, ...token } of source.matchAll(TOKEN)) {
    const { 1: escaped, 2: not, 3: inner, 4: times, 5: group, 6: char = "" } = token;
    if (times && times !== "?" && closed) return undefined;
    if (group) groups.push(false);
    else if (times || char === "|") groups[groups.length - 1] = true;
    closed = char === ")" && groups.pop()!;
    if (closed) groups[groups.length - 1] = true;
    end = index + matched.length;

    let part: string | undefined;
    if (escaped) part = ESCAPES[escaped] ?? (/\w/.test(escaped) ? undefined : literal(escaped));
    else if (inner !== undefined) part = not ? ANY : classOf(inner);
    else if (times) part = times;
    else if (group) part = "(?:";
    else if (char === ".") part = ANY;
    else if (char === "^") part = index === 0 ? "^\\x{feff}?" : undefined;
    else if (char === "$") part = end === source.length ? "\\r?$" : undefined;
    else part = ")|".includes(char) ? char : literal(char);
    if (part === undefined) return undefined;
    stdout += part;
  }
  return end === source.length ? stdout : undefined;
}

const literal = (char: string): string =>
  char === "\t" ? "\\t" : char.replace(/[\\.+*?()|[\]{}^$#&~-]/, "\\$&");

function classOf(inner: string): string | undefined {
  const atoms = inner.match(/\\.|./g) ?? [];
  const isSet = (atom: string) => /^\\[dws]$/.test(atom);
  const single = (atom: string) =>
    atom[1] ? (IN_CLASS[atom[1]] ?? literal(atom[1])) : literal(atom);
  if (atoms.some((atom) => /^\\[DWS]$/.test(atom))) return ANY;
  if (!atoms.length || atoms.some((atom) => /^\\\w$/.test(atom) && !IN_CLASS[atom[1]!]))
    return undefined;
  let translated = "";
  for (let i = 0; i < atoms.length; i++) {
    const [from, dash, to] = [atoms[i]!, atoms[i + 1], atoms[i + 2]];
    const isRange = dash === "-" && to !== undefined && !isSet(from) && !isSet(to);
    translated += isRange ? `${single(from)}-${single(to)}` : single(from);
    if (isRange) i += 2;
  }
  return `[${translated}]`;
}

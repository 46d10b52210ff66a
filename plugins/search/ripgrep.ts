// Which files can hold a hit, as ripgrep sees it. It may name too many and must not miss one: what a hit is, is decided in
// lines.ts alone. Ripgrep walks by itself while the lister asks git, and says of every file it looked into whether there
// was something; a file it says nothing of (it knows .gitignore, not what git tracks all the same) is looked into by us.
// For 10,000 files that takes 60 ms; to hand it the list, which it then has to wait for, 110 ms; ripgrep alone, 37 ms.
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { isPlain, type Query } from "./lines.ts";

const FLAGS = [
  ..."--no-config --no-messages --hidden --no-require-git --no-ignore-dot --encoding none --text".split(" "),
  ..."--count --include-zero --max-count 1 --null --color never --case-sensitive".split(" "),
];
/** Seldom listed, often large; where one is, we look into it. */
const LEFT_OUT = ".git node_modules dist build .next coverage .venv __pycache__ target".split(" ");

/** Of each file that ripgrep looked into, whether it can hold a hit. Empty: it is not there, or cannot tell. */
export async function askRipgrep(
  rg: string,
  asked: Query & { glob?: string | undefined },
  where: string,
  root: string,
  signal: AbortSignal,
): Promise<Map<string, boolean>> {
  const can = new Map<string, boolean>();
  const what = rg && patternFor(asked);
  if (!what) return can;
  const globs = [...(asked.glob ? [asked.glob] : []), ...LEFT_OUT.map((name) => `!${name}`)];
  const args = [...FLAGS, ...globs.map((glob) => `--glob=${glob}`), ...what, "--", `./${relative(root, where)}`];
  const out = await output(rg, args, root, signal);
  for (const [, name = "", lines] of out.matchAll(/(?:\.\/)?([^\0]+)\0(\d+)\n/g))
    can.set(name, lines !== "0" || can.get(name) === true);
  return can;
}

/** By way of a file without a name: a pipe wakes us for each of ten thousand lines, which takes as long as the search. */
async function output(program: string, args: string[], cwd: string, signal: AbortSignal): Promise<string> {
  const [{ spawn }, { tmpdir }] = await Promise.all([import("node:child_process"), import("node:os")]);
  let fd: number;
  try {
    const folder = mkdtempSync(join(tmpdir(), "zz-rg-"));
    fd = openSync(join(folder, "out"), "wx+", 0o600);
    rmSync(folder, { recursive: true });
  } catch {
    return ""; // nowhere to write
  }
  try {
    await new Promise((resolve) =>
      spawn(program, args, { cwd, signal, stdio: ["ignore", fd, "ignore"] })
        .on("error", resolve)
        .on("close", resolve),
    );
    const bytes = Buffer.alloc(fstatSync(fd).size);
    readSync(fd, bytes, 0, bytes.length, 0);
    return bytes.toString();
  } finally {
    closeSync(fd);
  }
}

/** The arguments that say what to look for, when ripgrep is sure to find at least what we would. */
export function patternFor({ query, regex, ignoreCase }: Query): string[] | undefined {
  const isAscii = /^[\t\x20-\x7e]*$/.test(query); // beyond it, the two fold case by different tables
  const fold = ignoreCase ? ["--ignore-case"] : [];
  if (!regex) return isPlain(query) && (isAscii || !ignoreCase) ? [...fold, "--fixed-strings", "-e", query] : undefined;
  const pattern = isAscii ? translate(query) : undefined;
  return pattern === undefined ? undefined : [...fold, "-e", pattern];
}

/** Whatever is one character to JavaScript: a letter, half of a pair, or bytes that are no UTF-8. */
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

/** An escape, a class, how often, a group, or a letter. */
const TOKEN = /\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]|([*+?]|\{\d+(?:,\d*)?\})\??|(\((?:\?:)?(?!\?))|([^(\\])/gy;

/**
 * JavaScript's regular expression in ripgrep's words, for the part of the language that both have; it may fit more, never
 * less. Undefined: something else is in it, such as look-around, a reference, an anchor in the middle, or a choice that is
 * repeated: that can take JavaScript for ever where ripgrep has an answer, and the two ways must give the same one.
 */
function translate(source: string): string | undefined {
  let [out, end] = ["", 0];
  const groups = [false]; // innermost last: is there a choice in it
  let closed = false; // and in the one that ended just now
  for (const { index, 0: whole, ...token } of source.matchAll(TOKEN)) {
    const { 1: escaped, 2: not, 3: inner, 4: times, 5: group, 6: char = "" } = token;
    if (times && times !== "?" && closed) return undefined;
    if (group) groups.push(false);
    else if (times || char === "|") groups[groups.length - 1] = true;
    closed = char === ")" && groups.pop()!;
    if (closed) groups[groups.length - 1] = true;
    end = index + whole.length;

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
    out += part;
  }
  return end === source.length ? out : undefined;
}

const literal = (char: string): string => (char === "\t" ? "\\t" : char.replace(/[\\.+*?()|[\]{}^$#&~-]/, "\\$&"));

function classOf(inner: string): string | undefined {
  const atoms = inner.match(/\\.|./g) ?? [];
  const isSet = (atom: string) => /^\\[dws]$/.test(atom);
  const one = (atom: string) => (atom[1] ? (IN_CLASS[atom[1]] ?? literal(atom[1])) : literal(atom));
  if (atoms.some((atom) => /^\\[DWS]$/.test(atom))) return ANY;
  if (!atoms.length || atoms.some((atom) => /^\\\w$/.test(atom) && !IN_CLASS[atom[1]!])) return undefined;
  let out = "";
  for (let i = 0; i < atoms.length; i++) {
    const [from, dash, to] = [atoms[i]!, atoms[i + 1], atoms[i + 2]];
    const isRange = dash === "-" && to !== undefined && !isSet(from) && !isSet(to);
    out += isRange ? `${one(from)}-${one(to)}` : one(from);
    if (isRange) i += 2;
  }
  return `[${out}]`;
}

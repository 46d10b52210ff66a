// What a patch asks of each file. Its format may be sloppy, but its lines are never guessed at.
// Written by hand, since diff 9 cannot do this: its parser relies on the counts in the headers,
// which models get wrong, its applyPatch takes the nearest of several places, and neither can say
// what did not match.

import { quote, unusable } from "./unusable.ts";
import { unwrap } from "./unwrap.ts";

export interface FileChange {
  action: "add" | "update" | "delete";
  path: string;
  to?: string; // moved there
  mode?: string; // requested, but a tool cannot set it
  hunks: Hunk[];
}
export interface Hunk {
  header: string; // as in the patch
  start?: number; // its position according to the header, from 0
  fresh?: boolean; // according to the header the file is empty or missing
  anchors: string[]; // lines that precede it: `@@ class A`
  atEnd: boolean; // its last line is the last one of the file
  lines: Line[];
}
export interface Line {
  sign: Sign;
  text: string;
  eol: string; // "\n", "\r\n", or "" for a last line without a newline
}
type Sign = " " | "-" | "+";
type Counts = { old: number; new: number };
/** One file's section of a unified diff, from its headers. */
interface Section {
  name?: string; // in the line `diff --git`
  old?: string; // in the lines --- and +++
  new?: string;
  from?: string;
  to?: string;
  mode?: string;
  added?: boolean;
  deleted?: boolean;
  hunks: Hunk[];
}

export function parsePatch(text: string): FileChange[] {
  if (text.includes("\0") || !text.isWellFormed())
    throw unusable("it holds bytes that are not text", "Send text only.");
  const lines = unwrap(text);
  const inSections = lines.some((line) => SECTION.test(line));
  const changes = inSections ? parseSections(lines) : parseDiff(lines);
  if (!changes.length)
    throw unusable(
      "it changes no file",
      "Send a unified diff (--- a/FILE, +++ b/FILE, @@), or *** Begin Patch with *** Update File: FILE.",
    );
  return changes;
}

// ── *** Begin Patch ──

const SECTION = /^\*\*\*\s*(Add|Update|Delete) File:(.*)$/i;
const MOVE = /^\*\*\*\s*Move to:(.*)$/i;
const PATCH_MARKER = /^\*\*\*\s*(Begin|End) Patch\s*$/i;
const LAST = /^\*\*\*\s*End of File\s*$/i;

function parseSections(lines: string[]): FileChange[] {
  const changes: FileChange[] = [];
  let change: FileChange | undefined;
  let inPatch = false;
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]!;
    const section = SECTION.exec(line);
    const move = MOVE.exec(line);
    if (section) {
      const action = section[1]!.toLowerCase() as FileChange["action"];
      changes.push((change = { action, path: nameIn(section[2]!), hunks: [] }));
    } else if (PATCH_MARKER.test(line)) {
      change = undefined;
      inPatch = /begin/i.test(line);
    } else if (move && change?.action === "update" && !change.hunks.length)
      change.to = nameIn(move[1]!);
    else if (LAST.test(line) && change) markEndOfFile(change);
    else if (line.startsWith("***") || (!change && (inPatch ? /^([+-]|@@)/ : /^@@/).test(line)))
      throw unusable(
        `${quote(line)} stands where no such line can`,
        "Begin each file with *** Add File:, *** Update File: or *** Delete File:.",
      );
    else if (change && line.trim()) {
      // the headers of a diff, repeated
      if (!change.hunks.length && isPair(lines, index)) index += 2;
      const [hunk, next] = readHunk(lines, index, false);
      change.hunks.push(hunk);
      index = next;
      continue;
    }
    index++;
  }
  return changes.map(assertValid);
}

function markEndOfFile({ hunks }: FileChange): void {
  const last = hunks.at(-1);
  if (last) last.atEnd = true;
}

// ── unified diff ──

type Header = [RegExp, (section: Section, value: string) => void];
const HEADERS: Header[] = [
  [/^rename from (.+)/, (section, name) => (section.from = nameIn(name))],
  [/^rename to (.+)/, (section, name) => (section.to = nameIn(name))],
  [/^new file mode (\d+)/, (section, mode) => (section.added = setMode(section, mode, "100644"))],
  [/^deleted file mode (\d+)/, (section, mode) => (section.deleted = textOnly(mode))],
  [/^old mode (\d+)/, (_, mode) => textOnly(mode)],
  [/^new mode (\d+)/, (section, mode) => setMode(section, mode)],
  [/^index [0-9a-f]+\.\.[0-9a-f]+ (\d+)/, (_, mode) => textOnly(mode)],
  [
    /^(Binary files .* differ|GIT binary patch)/,
    () => refuse("it is binary", "Copy the file by other means."),
  ],
  [/^(copy (?:from|to) .+)/, () => refuse("it copies a file", "Add the copy as a new file.")],
  [/^(@@@+ .*)/, () => refuse("it is the diff of a merge", "Send a diff against one version.")],
];
const OTHER = /^(diff |Index: |index [0-9a-f]+\.\.|(dis)?similarity index |={20,}|Only in )/;
/** How a mail of git format-patch begins; it ends with `-- ` and a version. */
const MAIL = /^From [0-9a-f]{7,} /;
const isSignature = (lines: string[], index: number): boolean =>
  /^-- ?$/.test(lines[index] ?? "") && /^\d+\.\d/.test(lines[index + 1] ?? "");

const refuse = (reason: string, next: string): never => {
  throw unusable(reason, next);
};
function textOnly(mode: string): true {
  if (mode === "160000") refuse("it changes a submodule", "Update the submodule by git.");
  if (mode === "120000") refuse("it changes a symbolic link", "Make the link by a command.");
  return true;
}
function setMode(section: Section, mode: string, usual = ""): true {
  if (mode !== usual) section.mode = mode;
  return textOnly(mode);
}

function parseDiff(lines: string[]): FileChange[] {
  const sections: Section[] = [];
  let inMail = false;
  const open = (names: Partial<Section> = {}): Section => {
    inMail = false;
    sections.push({ ...names, hunks: [] });
    return sections.at(-1)!;
  };
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    const section = sections.at(-1);
    const header = HEADERS.find(([pattern]) => pattern.test(line));
    if (line.startsWith("diff --git "))
      open(nameOfBoth(line.slice("diff --git ".length).trimEnd()));
    else if (line.startsWith("Index: ")) open();
    else if (isPair(lines, index)) {
      const [old, newName] = [nameIn(line.slice(4)), nameIn(lines[++index]!.slice(4))];
      const next = !section || section.hunks.length || section.old ? open() : section;
      Object.assign(next, { old, new: newName });
    } else if (header) {
      const next =
        !section || section.hunks.length || (section.from && /^rename from/.test(line))
          ? open()
          : section;
      header[1](next, header[0].exec(line)![1]!);
    } else if (line.startsWith("@@")) {
      if (!section)
        throw unusable(
          "it does not name the file",
          "Put --- a/FILE and +++ b/FILE before the first @@.",
        );
      const [hunk, next] = readHunk(lines, index, true);
      section.hunks.push(hunk);
      index = next - 1;
    } else if (MAIL.test(line)) inMail = true;
    else if (section && !inMail && /^[+-]/.test(line) && !isSignature(lines, index))
      throw unusable(`${quote(line)} stands outside of a hunk`, "Put a line of @@ before it.");
  }
  return sections
    .filter((section) => section.hunks.length || Object.keys(section).length > 1)
    .map(toChange)
    .map(assertValid);
}

const isPair = (lines: string[], index: number): boolean =>
  /^--- \S/.test(lines[index] ?? "") && /^\+\+\+ \S/.test(lines[index + 1] ?? "");

function toChange(section: Section): FileChange {
  const { from, to, mode, hunks } = section;
  const names = namesOf(section);
  const [old, newName] = [from ?? names[0], to ?? names[1]];
  const path = old ?? newName;
  if (!path)
    throw unusable(
      "it does not name the file",
      "Put --- a/FILE and +++ b/FILE before the first @@.",
    );
  const common = { hunks, ...(mode && { mode }) };
  if (section.added || !old) return { action: "add", path: newName ?? path, ...common };
  if (section.deleted || !newName) return { action: "delete", path, ...common };
  if (old === newName) return { action: "update", path, ...common };
  if (from || to) return { action: "update", path, to: newName, ...common };
  if (old === `${newName}.orig`) return { action: "update", path: newName, ...common };
  throw unusable(
    `it names two files for one change, '${old}' and '${newName}'`,
    `To move the file, write "rename from ${old}" and "rename to ${newName}" before it.`,
  );
}

function namesOf({ name, old, new: newName }: Section): [string | undefined, string | undefined] {
  if (!old || !newName) return [name, name];
  const [a, b] = withoutPrefixes(old, newName);
  // The first line, `diff --git`, tells a folder from a prefix when the other name is /dev/null.
  const gitName = name && `/${a ? old : newName}`.endsWith(`/${name}`) ? name : undefined;
  return a && b ? [a, b] : [a && (gitName ?? a), b && (gitName ?? b)];
}

/** Names without the a/ and b/ of diffs, and without /dev/null. */
function withoutPrefixes(old: string, newName: string): [string | undefined, string | undefined] {
  const [a, b] = [old, newName].map((name) => /^[abciow12]\/(.+)/.exec(name)?.[1]);
  const realName = (name: string) => (name === "/dev/null" ? undefined : name);
  if (old === newName) return [realName(old), realName(old)];
  if (!realName(old)) return [undefined, newName.startsWith("b/") ? b : newName];
  if (!realName(newName)) return [old.startsWith("a/") ? a : old, undefined];
  if (a && (a === b || a === newName)) return [a, a];
  if (b && b === old) return [b, b];
  return old.startsWith("a/") && newName.startsWith("b/") ? [a, b] : [old, newName];
}

/** The name in `a/x b/x`; none if the two differ, since other headers name them then. */
function nameOfBoth(names: string): { name?: string } {
  const middle = (names.length - 1) / 2;
  if (names[middle] !== " ") return {};
  const [a, b] = withoutPrefixes(nameIn(names.slice(0, middle)), nameIn(names.slice(middle + 1)));
  return a && a === b ? { name: a } : {};
}

const ESCAPES: Record<string, string> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** A file name without quotes and without what diffs write after it. */
function nameIn(text: string): string {
  const trimmed = text.trim();
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(trimmed)?.[1];
  const bare = (/^`([^`]+)`$/.exec(trimmed) ?? /^'([^']+)'$/.exec(trimmed))?.[1];
  const name =
    quoted === undefined
      ? (bare ?? trimmed.split(/\t| \d{4}-\d\d-\d\d[ T]\d\d:/)[0]!.trim())
      : unescapeName(quoted);
  if (name) return name;
  throw unusable("it leaves out the name of a file", "Name it.");
}

/** Resolves git's escapes: it writes a byte outside of ASCII as \303. */
function unescapeName(quoted: string): string {
  const bytes = quoted.split(/(\\(?:[0-7]{1,3}|.))/).map((part) => {
    if (!part.startsWith("\\")) return Buffer.from(part);
    if (/[0-7]/.test(part[1]!)) return Buffer.from([Number.parseInt(part.slice(1), 8) & 255]);
    return Buffer.from(ESCAPES[part[1]!] ?? part[1]!);
  });
  return Buffer.concat(bytes).toString();
}

// ── hunks, in both formats ──

/** Headers of hunks that say nothing about the hunk's place. */
const WITHOUT_PLACE = /^(\.\.\.|…|@@(\s|$)|[-+,.\d\s]+$)/;

/** The hunk that starts at lines[at], and where it ends. */
function readHunk(lines: string[], index: number, inDiff: boolean): [Hunk, number] {
  const hunk: Hunk = { header: "", anchors: [], atEnd: false, lines: [] };
  let counts: Counts | undefined;
  let start: number | undefined;
  for (; lines[index]?.startsWith("@@"); index++) {
    hunk.header = lines[index]!.trim();
    const text = hunk.header
      .replace(/^@@\s*/, "")
      .replace(/@@$/, "")
      .trimEnd();
    const [, from, old, newName] = /^-(\d+)(?:,(\d+))?(?:\s+\+\d+(?:,(\d+))?)?/.exec(text) ?? [];
    if (from)
      [start, counts] = [Number(from), { old: Number(old ?? 1), new: Number(newName ?? 1) }];
    else if (text && !WITHOUT_PLACE.test(text)) hunk.anchors.push(text);
  }
  const [body, next] = (counts && byCount(lines, index, counts)) ?? byContent(lines, index, inDiff);
  for (const line of body) addLine(hunk, line);
  hunk.atEnd = hunk.lines.some(({ eol }) => !eol);
  const hasOldLines = hunk.lines.some(({ sign }) => sign !== "+");
  if (start && hasOldLines) hunk.start = start - 1;
  if (start === 0 && !hasOldLines) hunk.fresh = true;
  return [hunk, next];
}

/**
 * Reads as many lines as the header says, if what follows agrees; this alone tells a removed `-- x`
 * from a header.
 */
function byCount(
  lines: string[],
  from: number,
  { ...remaining }: Counts,
): [string[], number] | undefined {
  let index = from;
  for (; remaining.old > 0 || remaining.new > 0; index++) {
    const line = lines[index];
    if (
      line === undefined ||
      !/^[ +\\-]|^\r?$/.test(line) ||
      (isNextFile(lines, index) && isSameName(lines, index))
    )
      return;
    if (line.startsWith("\\ ")) continue;
    if (!line.startsWith("+")) remaining.old--;
    if (!line.startsWith("-")) remaining.new--;
  }
  if (remaining.old || remaining.new) return;
  if (lines[index]?.startsWith("\\ ")) index++;
  let next = index;
  while (next < lines.length && !lines[next]!.trim()) next++;
  const after = lines[next] ?? "";
  if (/^[ +-]/.test(after) && !isPair(lines, next)) return;
  return [lines.slice(from, index), index];
}

/**
 * Reads up to the first line that cannot belong to a hunk, without the empty lines before that
 * line.
 */
function byContent(lines: string[], from: number, inDiff: boolean): [string[], number] {
  let next = from;
  while (next < lines.length && !ends(next)) next++;
  let end = next;
  while (end > from && /^\r?$/.test(lines[end - 1]!)) end--;
  return [lines.slice(from, end), next];

  function ends(index: number): boolean {
    const line = lines[index]!;
    if (line.startsWith("@@") || line.startsWith("***")) return true;
    if (!inDiff) return false;
    return (
      isNextFile(lines, index) ||
      isSignature(lines, index) ||
      OTHER.test(line) ||
      HEADERS.some(([pattern]) => pattern.test(line))
    );
  }
}

const isNextFile = (lines: string[], index: number): boolean =>
  isPair(lines, index) && Boolean(lines[index + 2]?.startsWith("@@"));

function isSameName(lines: string[], index: number): boolean {
  const [old, newName] = [nameIn(lines[index]!.slice(4)), nameIn(lines[index + 1]!.slice(4))];
  const [a, b] = withoutPrefixes(old, newName);
  return a === b || a === undefined || b === undefined;
}

function addLine({ lines, header }: Hunk, line: string): void {
  const before = lines.at(-1);
  if (line.startsWith("\\ ") && before) {
    if (before.eol === "\r\n") before.text += "\r";
    before.eol = "";
    return;
  }
  // models often drop the space of an empty context line
  const sign = (line.trim() ? line[0] : " ") as Sign;
  if (!" +-".includes(sign))
    throw unusable(
      `the line ${quote(line)}${header && ` under ${quote(header)}`} begins with none of ' ', '+' and '-'`,
      "Give every line of a hunk its sign.",
    );
  const eol = line.endsWith("\r") ? "\r\n" : "\n";
  lines.push({ sign, text: line.slice(1, eol === "\r\n" ? -1 : undefined), eol });
}

// ── checks ──

function assertValid(change: FileChange): FileChange {
  const { action, path, to, mode, hunks } = change;
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (to === path) delete change.to;
  if (action === "add") {
    // its sign is missing
    for (const line of lines) if (line.sign === " " && !line.text.trim()) line.sign = "+";
    const notAdded = lines.find(({ sign }) => sign !== "+");
    if (notAdded)
      throw unusable(
        `in the new file '${path}', ${quote(notAdded.sign + notAdded.text)} is not added`,
        ONLY_ADD,
      );
  }
  if (action !== "update" || change.to) return change;
  if (!hunks.length && mode)
    throw unusable(`it changes only the mode of '${path}'`, "Run chmod for that.");
  if (!lines.some(({ sign }) => sign !== " "))
    throw unusable(`it adds and removes no line in '${path}'`, "Mark the lines with '+' and '-'.");
  return change;
}

const ONLY_ADD =
  "Begin each of its lines with '+'; to change a file that is there, use *** Update File.";

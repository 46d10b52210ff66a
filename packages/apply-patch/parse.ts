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

export function parsePatch(patchText: string): FileChange[] {
  if (patchText.includes("\0") || !patchText.isWellFormed())
    throw unusable("it holds bytes that are not text", "Send text only.");
  const patchLines = unwrap(patchText);
  const inSections = patchLines.some((patchLine) => SECTION.test(patchLine));
  const changes = inSections ? parseSections(patchLines) : parseDiff(patchLines);
  if (!changes.length)
    throw unusable(
      "it changes no file",
      "Send a unified diff (--- a/FILE, +++ b/FILE, @@), " +
        "or *** Begin Patch with *** Update File: FILE.",
    );
  return changes;
}

// ── *** Begin Patch ──

const SECTION = /^\*\*\*\s*(Add|Update|Delete) File:(.*)$/i;
const MOVE_HEADER = /^\*\*\*\s*Move to:(.*)$/i;
const PATCH_MARKER = /^\*\*\*\s*(Begin|End) Patch\s*$/i;
const END_OF_FILE = /^\*\*\*\s*End of File\s*$/i;

function parseSections(patchLines: string[]): FileChange[] {
  const changes: FileChange[] = [];
  let openChange: FileChange | undefined;
  let inPatch = false;
  for (let lineIndex = 0; lineIndex < patchLines.length; ) {
    const patchLine = patchLines[lineIndex]!;
    const section = SECTION.exec(patchLine);
    const moveMatch = MOVE_HEADER.exec(patchLine);
    if (section) {
      const action = section[1]!.toLowerCase() as FileChange["action"];
      openChange = { action, path: parseName(section[2]!), hunks: [] };
      changes.push(openChange);
    } else if (PATCH_MARKER.test(patchLine)) {
      openChange = undefined;
      inPatch = /begin/i.test(patchLine);
    } else if (moveMatch && openChange?.action === "update" && !openChange.hunks.length)
      openChange.to = parseName(moveMatch[1]!);
    else if (END_OF_FILE.test(patchLine) && openChange) {
      const lastHunk = openChange.hunks.at(-1);
      if (lastHunk) lastHunk.atEnd = true;
    } else if (
      patchLine.startsWith("***") ||
      (!openChange && (inPatch ? /^([+-]|@@)/ : /^@@/).test(patchLine))
    )
      throw unusable(
        `${quote(patchLine)} stands where no such line can`,
        "Begin each file with *** Add File:, *** Update File: or *** Delete File:.",
      );
    else if (openChange && patchLine.trim()) {
      // the headers of a diff, repeated
      if (!openChange.hunks.length && isHeaderPair(patchLines, lineIndex)) lineIndex += 2;
      const [hunk, nextIndex] = readHunk(patchLines, lineIndex, false);
      openChange.hunks.push(hunk);
      lineIndex = nextIndex;
      continue;
    }
    lineIndex++;
  }
  return changes.map(assertValid);
}

// ── unified diff ──

type Header = [RegExp, (section: Section, headerValue: string) => void];
const HEADERS: Header[] = [
  [/^rename from (.+)/, (section, fromName) => (section.from = parseName(fromName))],
  [/^rename to (.+)/, (section, toName) => (section.to = parseName(toName))],
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
const OTHER_HEADER = /^(diff |Index: |index [0-9a-f]+\.\.|(dis)?similarity index |={20,}|Only in )/;
/** How a mail of git format-patch begins; it ends with `-- ` and a version. */
const MAIL_START = /^From [0-9a-f]{7,} /;
const isSignature = (patchLines: string[], lineIndex: number): boolean =>
  /^-- ?$/.test(patchLines[lineIndex] ?? "") && /^\d+\.\d/.test(patchLines[lineIndex + 1] ?? "");

const refuse = (reason: string, nextStep: string): never => {
  throw unusable(reason, nextStep);
};
function textOnly(fileMode: string): true {
  if (fileMode === "160000") refuse("it changes a submodule", "Update the submodule by git.");
  if (fileMode === "120000") refuse("it changes a symbolic link", "Make the link by a command.");
  return true;
}
function setMode(section: Section, fileMode: string, usualMode = ""): true {
  if (fileMode !== usualMode) section.mode = fileMode;
  return textOnly(fileMode);
}

function parseDiff(patchLines: string[]): FileChange[] {
  const sections: Section[] = [];
  let isInMail = false;
  const openSection = (gitNames: Partial<Section> = {}): Section => {
    isInMail = false;
    sections.push({ ...gitNames, hunks: [] });
    return sections.at(-1)!;
  };
  for (let lineIndex = 0; lineIndex < patchLines.length; lineIndex++) {
    const patchLine = patchLines[lineIndex]!;
    const section = sections.at(-1);
    const headerRule = HEADERS.find(([pattern]) => pattern.test(patchLine));
    if (patchLine.startsWith("diff --git "))
      openSection(nameOfBoth(patchLine.slice("diff --git ".length).trimEnd()));
    else if (patchLine.startsWith("Index: ")) openSection();
    else if (isHeaderPair(patchLines, lineIndex)) {
      const [old, newName] = namesInPair(patchLines, lineIndex++);
      const targetSection =
        !section || section.hunks.length || section.old ? openSection() : section;
      Object.assign(targetSection, { old, new: newName });
    } else if (headerRule) {
      const targetSection =
        !section || section.hunks.length || (section.from && /^rename from/.test(patchLine))
          ? openSection()
          : section;
      headerRule[1](targetSection, headerRule[0].exec(patchLine)![1]!);
    } else if (patchLine.startsWith("@@")) {
      const [hunk, nextIndex] = readHunk(patchLines, lineIndex, true);
      (section ?? openSection()).hunks.push(hunk);
      lineIndex = nextIndex - 1;
    } else if (MAIL_START.test(patchLine)) isInMail = true;
    else if (section && !isInMail && /^[+-]/.test(patchLine) && !isSignature(patchLines, lineIndex))
      throw unusable(`${quote(patchLine)} stands outside of a hunk`, "Put a line of @@ before it.");
  }
  return sections
    .filter((section) => section.hunks.length || Object.keys(section).length > 1)
    .map(toChange)
    .map(assertValid);
}

const isHeaderPair = (patchLines: string[], lineIndex: number): boolean =>
  /^--- \S/.test(patchLines[lineIndex] ?? "") && /^\+\+\+ \S/.test(patchLines[lineIndex + 1] ?? "");

const namesInPair = (patchLines: string[], lineIndex: number): [string, string] => [
  parseName(patchLines[lineIndex]!.slice(4)),
  parseName(patchLines[lineIndex + 1]!.slice(4)),
];

function toChange(section: Section): FileChange {
  const { from, to, mode, hunks } = section;
  const sectionNames = namesOf(section);
  const [oldName, newName] = [from ?? sectionNames[0], to ?? sectionNames[1]];
  const path = oldName ?? newName;
  if (!path)
    throw unusable(
      "it does not name the file",
      "Put --- a/FILE and +++ b/FILE before the first @@.",
    );
  const commonFields = { hunks, ...(mode && { mode }) };
  if (section.added || !oldName) return { action: "add", path: newName ?? path, ...commonFields };
  if (section.deleted || !newName) return { action: "delete", path, ...commonFields };
  if (oldName === newName) return { action: "update", path, ...commonFields };
  if (from || to) return { action: "update", path, to: newName, ...commonFields };
  if (oldName === `${newName}.orig`) return { action: "update", path: newName, ...commonFields };
  throw unusable(
    `it names two files for one change, '${oldName}' and '${newName}'`,
    `To move the file, write "rename from ${oldName}" and "rename to ${newName}" before it.`,
  );
}

function namesOf({ name, old, new: newName }: Section): [string | undefined, string | undefined] {
  if (!old || !newName) return [name, name];
  const [bareOld, bareNew] = withoutPrefixes(old, newName);
  // The first line, `diff --git`, tells a folder from a prefix when the other name is /dev/null.
  const gitName = name && `/${bareOld ? old : newName}`.endsWith(`/${name}`) ? name : undefined;
  return bareOld && bareNew
    ? [bareOld, bareNew]
    : [bareOld && (gitName ?? bareOld), bareNew && (gitName ?? bareNew)];
}

/** Names without the a/ and b/ of diffs, and without /dev/null. */
function withoutPrefixes(
  oldName: string,
  newName: string,
): [string | undefined, string | undefined] {
  const [bareOld, bareNew] = [oldName, newName].map(
    (fileName) => /^[abciow12]\/(.+)/.exec(fileName)?.[1],
  );
  const realName = (fileName: string) => (fileName === "/dev/null" ? undefined : fileName);
  if (oldName === newName) return [realName(oldName), realName(oldName)];
  if (!realName(oldName)) return [undefined, newName.startsWith("b/") ? bareNew : newName];
  if (!realName(newName)) return [oldName.startsWith("a/") ? bareOld : oldName, undefined];
  if (bareOld && (bareOld === bareNew || bareOld === newName)) return [bareOld, bareOld];
  if (bareNew && bareNew === oldName) return [bareNew, bareNew];
  return oldName.startsWith("a/") && newName.startsWith("b/")
    ? [bareOld, bareNew]
    : [oldName, newName];
}

/** The name in `a/x b/x`; none if the two differ, since other headers name them then. */
function nameOfBoth(bothNames: string): { name?: string } {
  const middleIndex = (bothNames.length - 1) / 2;
  if (bothNames[middleIndex] !== " ") return {};
  const [bareOld, bareNew] = withoutPrefixes(
    parseName(bothNames.slice(0, middleIndex)),
    parseName(bothNames.slice(middleIndex + 1)),
  );
  return bareOld && bareOld === bareNew ? { name: bareOld } : {};
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
function parseName(headerText: string): string {
  const trimmed = headerText.trim();
  const quotedName = /^"((?:[^"\\]|\\.)*)"/.exec(trimmed)?.[1];
  const innerName = (/^`([^`]+)`$/.exec(trimmed) ?? /^'([^']+)'$/.exec(trimmed))?.[1];
  const fileName =
    quotedName === undefined
      ? (innerName ?? trimmed.split(/\t| \d{4}-\d\d-\d\d[ T]\d\d:/)[0]!.trim())
      : unescapeName(quotedName);
  if (fileName) return fileName;
  throw unusable("it leaves out the name of a file", "Name it.");
}

/** Resolves git's escapes: it writes a byte outside of ASCII as \303. */
function unescapeName(quotedName: string): string {
  const nameBytes = quotedName.split(/(\\(?:[0-7]{1,3}|.))/).map((namePart) => {
    if (!namePart.startsWith("\\")) return Buffer.from(namePart);
    if (/[0-7]/.test(namePart[1]!))
      return Buffer.from([Number.parseInt(namePart.slice(1), 8) & 255]);
    return Buffer.from(ESCAPES[namePart[1]!] ?? namePart[1]!);
  });
  return Buffer.concat(nameBytes).toString();
}

// ── hunks, in both formats ──

/** Headers of hunks that say nothing about the hunk's place. */
const WITHOUT_PLACE = /^(\.\.\.|…|@@(\s|$)|[-+,.\d\s]+$)/;

/** The hunk that starts at lines[at], and where it ends. */
function readHunk(patchLines: string[], lineIndex: number, isInDiff: boolean): [Hunk, number] {
  const hunk: Hunk = { header: "", anchors: [], atEnd: false, lines: [] };
  let lineCounts: Counts | undefined;
  let startLine: number | undefined;
  for (; patchLines[lineIndex]?.startsWith("@@"); lineIndex++) {
    hunk.header = patchLines[lineIndex]!.trim();
    const headerText = hunk.header
      .replace(/^@@\s*/, "")
      .replace(/@@$/, "")
      .trimEnd();
    const [, oldStart, oldCount, newCount] =
      /^-(\d+)(?:,(\d+))?(?:\s+\+\d+(?:,(\d+))?)?/.exec(headerText) ?? [];
    if (oldStart) {
      startLine = Number(oldStart);
      lineCounts = { old: Number(oldCount ?? 1), new: Number(newCount ?? 1) };
    } else if (headerText && !WITHOUT_PLACE.test(headerText)) hunk.anchors.push(headerText);
  }
  const [bodyLines, nextIndex] =
    (lineCounts && byCount(patchLines, lineIndex, lineCounts)) ??
    byContent(patchLines, lineIndex, isInDiff);
  for (const bodyLine of bodyLines) addLine(hunk, bodyLine);
  hunk.atEnd = hunk.lines.some(({ eol }) => !eol);
  const hasOldLines = hunk.lines.some(({ sign }) => sign !== "+");
  if (startLine && hasOldLines) hunk.start = startLine - 1;
  if (startLine === 0 && !hasOldLines) hunk.fresh = true;
  return [hunk, nextIndex];
}

/**
 * Reads as many lines as the header says, if what follows agrees; this alone tells a removed `-- x`
 * from a header.
 */
function byCount(
  patchLines: string[],
  firstIndex: number,
  { ...remaining }: Counts,
): [string[], number] | undefined {
  let lineIndex = firstIndex;
  for (; remaining.old > 0 || remaining.new > 0; lineIndex++) {
    const patchLine = patchLines[lineIndex];
    if (
      patchLine === undefined ||
      !/^[ +\\-]|^\r?$/.test(patchLine) ||
      (isNextFile(patchLines, lineIndex) && isSameName(patchLines, lineIndex))
    )
      return;
    if (patchLine.startsWith("\\ ")) continue;
    if (!patchLine.startsWith("+")) remaining.old--;
    if (!patchLine.startsWith("-")) remaining.new--;
  }
  if (remaining.old || remaining.new) return;
  if (patchLines[lineIndex]?.startsWith("\\ ")) lineIndex++;
  let nextIndex = lineIndex;
  while (nextIndex < patchLines.length && !patchLines[nextIndex]!.trim()) nextIndex++;
  const lineAfter = patchLines[nextIndex] ?? "";
  if (/^[ +-]/.test(lineAfter) && !isHeaderPair(patchLines, nextIndex)) return;
  return [patchLines.slice(firstIndex, lineIndex), lineIndex];
}

/**
 * Reads up to the first line that cannot belong to a hunk, without the empty lines before that
 * line.
 */
function byContent(
  patchLines: string[],
  firstIndex: number,
  isInDiff: boolean,
): [string[], number] {
  let nextIndex = firstIndex;
  while (nextIndex < patchLines.length && !endsHunk(nextIndex)) nextIndex++;
  let endIndex = nextIndex;
  while (endIndex > firstIndex && /^\r?$/.test(patchLines[endIndex - 1]!)) endIndex--;
  return [patchLines.slice(firstIndex, endIndex), nextIndex];

  function endsHunk(lineIndex: number): boolean {
    const patchLine = patchLines[lineIndex]!;
    if (patchLine.startsWith("@@") || patchLine.startsWith("***")) return true;
    if (!isInDiff) return false;
    return (
      isNextFile(patchLines, lineIndex) ||
      isSignature(patchLines, lineIndex) ||
      OTHER_HEADER.test(patchLine) ||
      HEADERS.some(([pattern]) => pattern.test(patchLine))
    );
  }
}

const isNextFile = (patchLines: string[], lineIndex: number): boolean =>
  isHeaderPair(patchLines, lineIndex) && Boolean(patchLines[lineIndex + 2]?.startsWith("@@"));

function isSameName(patchLines: string[], lineIndex: number): boolean {
  const [bareOld, bareNew] = withoutPrefixes(...namesInPair(patchLines, lineIndex));
  return bareOld === bareNew || bareOld === undefined || bareNew === undefined;
}

function addLine({ lines, header }: Hunk, patchLine: string): void {
  const previousLine = lines.at(-1);
  if (patchLine.startsWith("\\ ") && previousLine) {
    if (previousLine.eol === "\r\n") previousLine.text += "\r";
    previousLine.eol = "";
    return;
  }
  // models often drop the space of an empty context line
  const sign = (patchLine.trim() ? patchLine[0] : " ") as Sign;
  if (!" +-".includes(sign))
    throw unusable(
      `the line ${quote(patchLine)}${header && ` under ${quote(header)}`} ` +
        "begins with none of ' ', '+' and '-'",
      "Give every line of a hunk its sign.",
    );
  const eol = patchLine.endsWith("\r") ? "\r\n" : "\n";
  lines.push({ sign, text: patchLine.slice(1).replace(/\r$/, ""), eol });
}

// ── checks ──

function assertValid(change: FileChange): FileChange {
  const { action, path, to, mode, hunks } = change;
  const hunkLines = hunks.flatMap((hunk) => hunk.lines);
  if (to === path) delete change.to;
  if (action === "add") {
    // its sign is missing
    for (const hunkLine of hunkLines)
      if (hunkLine.sign === " " && !hunkLine.text.trim()) hunkLine.sign = "+";
    const notAdded = hunkLines.find(({ sign }) => sign !== "+");
    if (notAdded)
      throw unusable(
        `in the new file '${path}', ${quote(notAdded.sign + notAdded.text)} is not added`,
        ONLY_ADD,
      );
  }
  if (action !== "update" || change.to) return change;
  if (!hunks.length && mode)
    throw unusable(`it changes only the mode of '${path}'`, "Run chmod for that.");
  if (!hunkLines.some(({ sign }) => sign !== " "))
    throw unusable(`it adds and removes no line in '${path}'`, "Mark the lines with '+' and '-'.");
  return change;
}

const ONLY_ADD =
  "Begin each of its lines with '+'; to change a file that is there, use *** Update File.";

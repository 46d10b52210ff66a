// Renaming a thing, unless that would change what the code means: the server says what belongs to
// it, is shown the new texts, and has to find the same places again, with no new problems.

import { readFileSync } from "node:fs";
import path from "node:path";
import type { Point } from "zz";
import { compare, tryTo } from "zz/text";
import { SCRIPT } from "../answers/answer-rows.ts";
import { isUtf16 } from "../encoding.ts";
import { bothSides } from "../scan/conflict.ts";
import type { CodeUse, Edit, SymbolSpot } from "./code-uses.ts";
import {
  codeUseAt,
  type Desk,
  locate,
  NoAnswer,
  offsetOf,
  pointAt,
  showFile,
  textAt,
  textOf,
  toCodeUse,
} from "./desk.ts";
import { boundAt, type Taking, usesOfWhole } from "./missed.ts";
import { usesAt } from "./references.ts";
import { invalidName, refusalOf } from "./valid-names.ts";

const PROBLEM_SEARCH_MS = 10_000; // that a rename may look for new problems
const MAX_PASSING_ON = 50; // files of `export *` that are looked at for new problems

/** `before`: text that is put in front of the new name. */
type Change = Edit & { before: number };

export interface Renaming {
  edits: Edit[]; // by path, then from the start; none overlap
  knownUses: CodeUse[]; // what they are about
}

/** Throws why not. */
export async function planRename(
  desk: Desk,
  targetSpot: SymbolSpot,
  newName: string,
): Promise<Renaming> {
  const { server, index } = desk;
  const makeError = (reason: string) =>
    new NoAnswer(`Cannot rename '${targetSpot.name}' to '${newName}': ${reason}`);
  const targetPoint = await locate(desk, targetSpot);
  const invalid = invalidName(targetSpot.name, newName);
  if (invalid) throw makeError(invalid);
  const { takings, allUses } = await usesAt(desk, targetSpot, targetPoint);
  const refusal = await server.mayRename(targetPoint);
  if (refusal) throw makeError(refusalOf(refusal));
  const ownChanges = await changesAt(desk, targetPoint, newName);
  const unfit =
    (await unfitChange(desk, ownChanges, targetSpot.name, newName)) ||
    (await leftUse(desk, ownChanges, allUses, targetSpot));
  if (unfit) throw makeError(`${server.name} ${unfit}. Edit each place instead.`);
  const changes = [
    ...ownChanges,
    ...(await changesOf(desk, await takingsToChange(desk, takings, ownChanges, newName), newName)),
  ];
  const distinctEdits = distinct(changes);
  const listedFiles = new Set(index.names);
  const outside = distinctEdits.find((edit) => !listedFiles.has(edit.path));
  if (outside) throw makeError(`it also stands in '${outside.path}', outside the project's code.`);
  const utf16Edit = distinctEdits.find((edit) =>
    tryTo(() => isUtf16(readFileSync(path.join(desk.state.root, edit.path)))),
  );
  if (utf16Edit)
    throw makeError(
      `'${utf16Edit.path}' is UTF-16, which is not written. Turn it into UTF-8 first.`,
    );
  const collisionReason = await collision(
    desk,
    targetPoint,
    distinctEdits,
    targetSpot.name,
    newName,
  );
  if (collisionReason) throw makeError(collisionReason);
  return { edits: distinctEdits.map(({ before: _, ...edit }) => edit), knownUses: allUses };
}

/** Those that take it from where it has the new name then; what is passed on may keep its name. */
async function takingsToChange(
  desk: Desk,
  takings: Taking[],
  ownChanges: Change[],
  newName: string,
): Promise<Taking[]> {
  if (!takings.length) return [];
  const { scan } = await import("../scan.ts");
  const isRenamed = new Map<string, boolean>();
  for (const { root } of takings) {
    const [rootFile = "", rootName = ""] = root.split("\n");
    const fileEdits = ownChanges.filter((edit) => edit.path === rootFile);
    const newFacts = scan(rootFile, applyEdits((await textAt(desk, rootFile)).text, fileEdits));
    const isThere = (candidate: string) =>
      newFacts.exports.some((exportFact) => exportFact.name === candidate) ||
      newFacts.symbols.some(
        (scannedSymbol) =>
          scannedSymbol.name === candidate && scannedSymbol.exported && !scannedSymbol.owner,
      );
    isRenamed.set(root, fileEdits.length > 0 && isThere(newName) && !isThere(rootName));
  }
  return takings.filter(({ root }) => isRenamed.get(root));
}

async function changesAt(desk: Desk, targetPoint: Point, newName: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const spot of await desk.server.rename(targetPoint, newName)) {
    if (isOutside(spot.path)) {
      changes.push({ path: spot.path, start: 0, end: 0, text: "", before: 0 });
      continue;
    }
    const { start, end } = await toCodeUse(desk, spot);
    const isThere = await isInText(desk, spot, {
      line: spot.endLine,
      character: spot.endCharacter,
    });
    changes.push({
      path: spot.path,
      start: isThere ? start : -1,
      end,
      text: spot.text,
      before: Math.max(spot.text.indexOf(newName), 0),
    });
  }
  return changes;
}

async function isInText(
  desk: Desk,
  start: Point,
  ...ends: Pick<Point, "line" | "character">[]
): Promise<boolean> {
  const { text, lines, mark } = await textAt(desk, start.path);
  return [start, ...ends].every(({ line, character }) => {
    const [lineStart, lineEnd = text.length] = [lines[line], lines[line + 1]];
    return lineStart !== undefined && lineStart + character + (line === 0 ? mark : 0) <= lineEnd;
  });
}

/** What the server would do besides giving a name for the other, each place once; "": nothing. */
async function unfitChange(
  desk: Desk,
  changes: Change[],
  oldName: string,
  newName: string,
): Promise<string> {
  if (!changes.length) return "names nothing to change";
  const sorted = changes.toSorted((a, b) => compare(a.path, b.path) || a.start - b.start);
  for (const [i, { path: filePath, start, end, text }] of sorted.entries()) {
    if (isOutside(filePath)) continue; // which is said
    if (start < 0 || end < start) return `would change '${filePath}' where there is no text`;
    const next = sorted[i + 1];
    const isSame = next && next.start === start && next.end === end && next.text === text;
    if (next?.path === filePath && !isSame && (next.start < end || next.start === start))
      return `would change a place of '${filePath}' twice`;
    const replaced = (await textAt(desk, filePath)).text.slice(start, end);
    const besides = text.replaceAll(newName, "").replaceAll(oldName, "");
    const isName =
      replaced.includes(oldName) &&
      text.includes(newName) &&
      // `{ a }` comes to `{ a: b }`, and an import of it to `a as b`
      (besides === replaced.replaceAll(oldName, "") || /^\s*(:|as)\s*$/.test(besides));
    if (!isName && end > start && /^[\p{L}\p{N}_$#]+$/u.test(oldName) && oldName !== "default")
      return `would change more in '${filePath}' than the name`;
  }
  return "";
}

/** A use that it knows and would leave. In scripts, some keep the name. */
async function leftUse(
  desk: Desk,
  changes: Change[],
  allUses: CodeUse[],
  { path: targetPath, name }: SymbolSpot,
): Promise<string> {
  if (SCRIPT.test(targetPath)) return "";
  for (const { path: filePath, line, start, end } of allUses) {
    const isChanged = changes.some(
      (change) => change.path === filePath && change.start <= start && end <= change.end,
    );
    if (!isChanged && (await textAt(desk, filePath)).text.slice(start, end) === name)
      return `would leave ${filePath}:${line} as it is`;
  }
  return "";
}
const isOutside = (filePath: string) => path.isAbsolute(filePath) || filePath.startsWith("..");

/** What files take by a way that the server does not follow. */
async function changesOf(desk: Desk, takings: Taking[], newName: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const taking of takings) {
    const { path: filePath, name, local, owner, how: importForm } = taking;
    if (local === "*") {
      for (const { start, end } of await usesOfWhole(desk, filePath, owner, name))
        changes.push({ path: filePath, start, end, text: newName, before: 0 });
      continue;
    }
    const boundPlace = await boundAt(desk, taking);
    if (!boundPlace) continue;
    // there it keeps its name
    const isNameKept =
      importForm === "export" || importForm === "require" || importForm === "dynamic";
    const aliased = importForm === "export" ? `${newName} as ${name}` : `${newName}: ${name}`;
    const text = isNameKept && name === local ? aliased : newName;
    const change = {
      path: filePath,
      start: boundPlace.at,
      end: boundPlace.at + name.length,
      text,
      before: 0,
    };
    changes.push(change);
    if (name !== local || isNameKept) continue;
    await showFile(desk, filePath);
    const fileChanges = (await changesAt(desk, boundPlace.point, newName)).filter(
      (edit) => edit.path === filePath,
    );
    changes.push(
      ...fileChanges.filter(({ start, end }) => end <= change.start || change.end <= start),
    );
  }
  return changes;
}

function distinct(changes: Change[]): Change[] {
  const byPlace = new Map(changes.map((change) => [`${change.path}:${change.start}`, change]));
  return [...byPlace.values()].sort(
    (first, second) => compare(first.path, second.path) || first.start - second.start,
  );
}

/** What would go wrong: the name is already taken there, or the types no longer match. */
async function collision(
  desk: Desk,
  targetPoint: Point,
  renameEdits: Change[],
  oldName: string,
  newName: string,
): Promise<string | undefined> {
  const { server } = desk;
  const changesByFile = Map.groupBy(renameEdits, (edit) => edit.path);
  const affectedFiles = [...changesByFile.keys(), ...passingOn(desk, [...changesByFile.keys()])];
  for (const filePath of affectedFiles) await showFile(desk, filePath);
  const position = await offsetOf(desk, targetPoint);
  const placesBefore = new Map(
    (await server.references(targetPoint)).map((spot) => [makeKey(spot), spot]),
  );
  const deadline = performance.now() + PROBLEM_SEARCH_MS;
  const problems = await problemsIn(desk, affectedFiles, deadline);
  const renamed: Desk = { ...desk, texts: new Map(desk.texts) };
  try {
    for (const [filePath, fileChanges] of changesByFile) {
      const { text } = await textAt(desk, filePath);
      const newText = applyEdits(text, fileChanges);
      renamed.texts.set(filePath, textOf(desk, filePath, newText));
      server.show(filePath, bothSides(newText.replace(/^\ufeff/, "")));
    }
    const newPoint = await pointAt(
      renamed,
      targetPoint.path,
      offsetAfter(changesByFile.get(targetPoint.path) ?? [], position),
    );
    return (
      (await otherPlaces(desk, renamed, newPoint, changesByFile, placesBefore, newName)) ??
      (await newProblem(desk, renamed, changesByFile, problems, [oldName, newName], deadline))
    );
  } finally {
    for (const filePath of changesByFile.keys()) server.hide(filePath);
  }
}
const makeKey = ({ path: filePath, line, character }: Point) => `${filePath}:${line}:${character}`;

/** The same places have to be found under the new name: no more, and no fewer. */
async function otherPlaces(
  desk: Desk,
  renamed: Desk,
  newPoint: Point,
  changesByFile: Map<string, Change[]>,
  placesBefore: Map<string, Point>,
  newName: string,
): Promise<string | undefined> {
  const unseenPlaces = new Map(placesBefore);
  for (const spot of await desk.server.references(newPoint)) {
    const fileChanges = changesByFile.get(spot.path) ?? [];
    const oldOffset = offsetBefore(fileChanges, await offsetOf(renamed, spot));
    const oldKey = makeKey(await pointAt(desk, spot.path, oldOffset));
    if (
      !unseenPlaces.delete(oldKey) &&
      !placesBefore.has(oldKey) &&
      !fileChanges.some((change) => change.start === oldOffset)
    ) {
      const { line } = await codeUseAt(desk, spot.path, oldOffset, oldOffset);
      return (
        `'${newName}' is taken: at ${spot.path}:${line} it means something that this would ` +
        "become one with. Choose another name."
      );
    }
  }
  for (const place of unseenPlaces.values()) {
    const { path: filePath } = place;
    const offset = await offsetOf(desk, place);
    // it keeps its name
    if (
      !changesByFile.get(filePath)?.some((change) => change.start <= offset && offset < change.end)
    )
      continue;
    const codeUse = await codeUseAt(desk, filePath, offset, offset);
    const serverDoubt = SCRIPT.test(filePath)
      ? ""
      : `, or ${desk.server.name} does not see all of the code`;
    return (
      `'${newName}' is taken: at ${filePath}:${codeUse.line} it would mean something ` +
      `else${serverDoubt}. Choose another name${serverDoubt && ", or edit each place"}.`
    );
  }
  return undefined;
}

async function newProblem(
  desk: Desk,
  renamed: Desk,
  changesByFile: Map<string, Change[]>,
  problemsBefore: Problems,
  bothNames: string[],
  deadline: number,
): Promise<string | undefined> {
  for (const [filePath, problems] of await problemsIn(desk, [...problemsBefore.keys()], deadline)) {
    const knownKinds = problemsBefore
      .get(filePath)!
      .map((problem) => problemKey(problem, bothNames));
    for (const problem of problems) {
      const knownIndex = knownKinds.indexOf(problemKey(problem, bothNames));
      if (knownIndex >= 0) {
        knownKinds.splice(knownIndex, 1);
        continue;
      }
      const oldOffset = offsetBefore(
        changesByFile.get(filePath) ?? [],
        await offsetOf(renamed, problem),
      );
      const { line } = await codeUseAt(desk, filePath, oldOffset, oldOffset);
      const detail = desk.server.isSafe ? `: ${problem.message}` : ".";
      return `it would be wrong at ${filePath}:${line}${detail} Choose another name.`;
    }
  }
  return undefined;
}
type Problems = Map<string, Awaited<ReturnType<Desk["server"]["problems"]>>>;
/** Several files at once: a server looks at them side by side. */
async function problemsIn({ server }: Desk, files: string[], deadline: number): Promise<Problems> {
  const problemsByFile: Problems = new Map();
  for (
    let index = 0;
    index < files.length && performance.now() < deadline;
    index += FILES_AT_ONCE
  ) {
    const fileBatch = files.slice(index, index + FILES_AT_ONCE);
    const problems = await Promise.all(fileBatch.map((filePath) => server.problems(filePath)));
    for (const [i, filePath] of fileBatch.entries()) problemsByFile.set(filePath, problems[i]!);
  }
  return problemsByFile;
}
const FILES_AT_ONCE = 16;
/** The kind of problem, regardless of the thing's name. */
const problemKey = (
  { code, message }: { code: string | number; message: string },
  bothNames: string[],
) =>
  `${code} ` +
  bothNames.reduce((maskedText, eitherName) => maskedText.replaceAll(eitherName, "_"), message);

/** Files of `export *` from these, where two exports may now have one name. */
function passingOn({ index }: Desk, changedFiles: string[]): string[] {
  const moduleNames = new Set(changedFiles.map(getModuleName));
  const ownFiles = new Set(changedFiles);
  const passing = index.having('"*"').filter((filePath) => {
    if (ownFiles.has(filePath) || !SCRIPT.test(filePath)) return false;
    return index
      .passed(filePath)
      .imports.some(
        ({ how: importForm, names: specifiers, from }) =>
          importForm === "export" &&
          specifiers.includes("*") &&
          moduleNames.has(getModuleName(from)),
      );
  });
  return passing.slice(0, MAX_PASSING_ON);
}
const getModuleName = (filePath: string): string => {
  const [, folderName = "", fileName = ""] =
    /(?:([^/]*)\/)?([^/]*)$/.exec(filePath.replace(/\.[cm]?[jt]sx?$/, "")) ?? [];
  return fileName === "index" ? folderName : fileName;
};

export function applyEdits(originalText: string, edits: Edit[]): string {
  return edits.reduceRight(
    (newText, { start, end, text: insertedText }) =>
      newText.slice(0, start) + insertedText + newText.slice(end),
    originalText,
  );
}
/** Where a place is after the edits; for an edit itself, its new name. */
function offsetAfter(edits: Change[], offset: number): number {
  let shift = 0;
  for (const { start, end, text, before } of edits) {
    if (start > offset) break;
    if (start === offset) return offset + shift + before;
    shift += text.length - (end - start);
  }
  return offset + shift;
}
/** Where it was before them; within an edit, where that begins. */
function offsetBefore(edits: Edit[], offset: number): number {
  let shift = 0;
  for (const { start, end, text } of edits) {
    if (start + shift > offset) break;
    if (offset < start + shift + text.length) return start;
    shift += text.length - (end - start);
  }
  return offset - shift;
}

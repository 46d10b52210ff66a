// Renaming a thing, unless that would change what the code means: the server says what belongs to
// it, is shown the new texts, and has to find the same places again, with no new problems.

import { readFileSync } from "node:fs";
import path from "node:path";
import type { Point } from "zz";
import { tryTo } from "zz/text";
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
export async function planRename(desk: Desk, target: SymbolSpot, to: string): Promise<Renaming> {
  const { server, index } = desk;
  const cannot = (reason: string) =>
    new NoAnswer(`Cannot rename '${target.name}' to '${to}': ${reason}`);
  const point = await locate(desk, target);
  const invalid = invalidName(target.name, to);
  if (invalid) throw cannot(invalid);
  const { takings, allUses } = await usesAt(desk, target, point);
  const refusal = await server.mayRename(point);
  if (refusal) throw cannot(refusalOf(refusal));
  const ownChanges = await changesAt(desk, point, to);
  const changes = [
    ...ownChanges,
    ...(await changesOf(desk, await takingsToChange(desk, takings, ownChanges, to), to)),
  ];
  const edits = distinct(changes);
  const listed = new Set(index.names);
  const outside = edits.find((edit) => !listed.has(edit.path));
  if (outside) throw cannot(`it also stands in '${outside.path}', outside the project's code.`);
  const wide = edits.find((edit) =>
    tryTo(() => isUtf16(readFileSync(path.join(desk.state.root, edit.path)))),
  );
  if (wide)
    throw cannot(`'${wide.path}' is UTF-16, which is not written. Turn it into UTF-8 first.`);
  const collisionReason = await collision(desk, point, edits, target.name, to);
  if (collisionReason) throw cannot(collisionReason);
  return { edits: edits.map(({ before: _, ...edit }) => edit), knownUses: allUses };
}

/** Those that take it from where it has the new name then; what is passed on may keep its name. */
async function takingsToChange(
  desk: Desk,
  takings: Taking[],
  ownChanges: Change[],
  to: string,
): Promise<Taking[]> {
  if (!takings.length) return [];
  const { scan } = await import("../scan.ts");
  const isRenamed = new Map<string, boolean>();
  for (const { root } of takings) {
    const [file = "", name = ""] = root.split("\n");
    const edits = ownChanges.filter((edit) => edit.path === file);
    const facts = scan(file, applyEdits((await textAt(desk, file)).text, edits));
    const isThere = (candidate: string): boolean =>
      facts.exports.some((exportFact) => exportFact.name === candidate) ||
      facts.symbols.some((sym) => sym.name === candidate && sym.exported && !sym.owner);
    isRenamed.set(root, edits.length > 0 && isThere(to) && !isThere(name));
  }
  return takings.filter(({ root }) => isRenamed.get(root));
}

async function changesAt(desk: Desk, point: Point, to: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const spot of await desk.server.rename(point, to)) {
    if (path.isAbsolute(spot.path) || spot.path.startsWith("..")) {
      changes.push({ path: spot.path, start: 0, end: 0, text: "", before: 0 });
      continue;
    }
    const start = await offsetOf(desk, spot);
    const end = await offsetOf(desk, { ...spot, line: spot.endLine, character: spot.endCharacter });
    changes.push({
      path: spot.path,
      start,
      end,
      text: spot.text,
      before: Math.max(spot.text.indexOf(to), 0),
    });
  }
  return changes;
}

/** What files take by a way that the server does not follow. */
async function changesOf(desk: Desk, takings: Taking[], to: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const taking of takings) {
    const { path: file, name, local, owner, how: importForm } = taking;
    if (local === "*") {
      for (const { start, end } of await usesOfWhole(desk, file, owner, name))
        changes.push({ path: file, start, end, text: to, before: 0 });
      continue;
    }
    const bound = await boundAt(desk, taking);
    if (!bound) continue;
    // there it keeps its name
    const isKept = importForm === "export" || importForm === "require" || importForm === "dynamic";
    const aliased = importForm === "export" ? `${to} as ${name}` : `${to}: ${name}`;
    const text = isKept && name === local ? aliased : to;
    const change = { path: file, start: bound.at, end: bound.at + name.length, text, before: 0 };
    changes.push(change);
    if (name !== local || isKept) continue;
    await showFile(desk, file);
    const inFile = (await changesAt(desk, bound.point, to)).filter((edit) => edit.path === file);
    changes.push(...inFile.filter(({ start, end }) => end <= change.start || change.end <= start));
  }
  return changes;
}

function distinct(changes: Change[]): Change[] {
  const byPlace = new Map(changes.map((change) => [`${change.path}:${change.start}`, change]));
  return [...byPlace.values()].sort((a, b) => {
    if (a.path < b.path) return -1;
    if (a.path > b.path) return 1;
    return a.start - b.start;
  });
}

/** What would go wrong: the name is already taken there, or the types no longer match. */
async function collision(
  desk: Desk,
  point: Point,
  edits: Change[],
  from: string,
  to: string,
): Promise<string | undefined> {
  const { server } = desk;
  const byFile = Map.groupBy(edits, (edit) => edit.path);
  const files = [...byFile.keys(), ...passingOn(desk, [...byFile.keys()])];
  for (const file of files) await showFile(desk, file);
  const position = await offsetOf(desk, point);
  const places = new Set((await server.references(point)).map(keyOf));
  const until = performance.now() + PROBLEM_SEARCH_MS;
  const problems = await problemsIn(desk, files, until);
  const renamed: Desk = { ...desk, texts: new Map(desk.texts) };
  try {
    for (const [file, fileChanges] of byFile) {
      const { text } = await textAt(desk, file);
      const newText = applyEdits(text, fileChanges);
      renamed.texts.set(file, textOf(desk, file, newText));
      server.show(file, bothSides(newText.replace(/^\ufeff/, "")));
    }
    const newPoint = await pointAt(
      renamed,
      point.path,
      offsetAfter(byFile.get(point.path) ?? [], position),
    );
    return (
      (await otherPlaces(desk, renamed, newPoint, byFile, places, to)) ??
      (await newProblem(desk, renamed, byFile, problems, [from, to], until))
    );
  } finally {
    for (const file of byFile.keys()) server.hide(file);
  }
}
const keyOf = ({ path: file, line, character }: Point): string => `${file}:${line}:${character}`;

/** The same places have to be found under the new name: no more, and no fewer. */
async function otherPlaces(
  desk: Desk,
  renamed: Desk,
  point: Point,
  byFile: Map<string, Change[]>,
  places: Set<string>,
  to: string,
): Promise<string | undefined> {
  const before = new Set(places);
  for (const spot of await desk.server.references(point)) {
    const fileChanges = byFile.get(spot.path) ?? [];
    const start = offsetBefore(fileChanges, await offsetOf(renamed, spot));
    const old = keyOf(await pointAt(desk, spot.path, start));
    if (
      !before.delete(old) &&
      !places.has(old) &&
      !fileChanges.some((change) => change.start === start)
    ) {
      const { line } = await codeUseAt(desk, spot.path, start, start);
      return `'${to}' is taken: at ${spot.path}:${line} it means something that this would become one with. Choose another name.`;
    }
  }
  for (const key of before) {
    const [, file, line, character] = /^(.*):(\d+):(\d+)$/.exec(key)!;
    const offset = await offsetOf(desk, {
      path: file!,
      line: Number(line),
      character: Number(character),
    });
    // it keeps its name
    if (!byFile.get(file!)?.some((change) => change.start <= offset && offset < change.end))
      continue;
    const use = await codeUseAt(desk, file!, offset, offset);
    const doubt = SCRIPT.test(file!) ? "" : `, or ${desk.server.name} does not see all of the code`;
    return `'${to}' is taken: at ${file}:${use.line} it would mean something else${doubt}. Choose another name${doubt && ", or edit each place"}.`;
  }
  return undefined;
}

async function newProblem(
  desk: Desk,
  renamed: Desk,
  byFile: Map<string, Change[]>,
  before: Problems,
  names: string[],
  until: number,
): Promise<string | undefined> {
  for (const [file, problems] of await problemsIn(desk, [...before.keys()], until)) {
    const knownKinds = before.get(file)!.map((problem) => problemKey(problem, names));
    for (const problem of problems) {
      const index = knownKinds.indexOf(problemKey(problem, names));
      if (index >= 0) {
        knownKinds.splice(index, 1);
        continue;
      }
      const start = offsetBefore(byFile.get(file) ?? [], await offsetOf(renamed, problem));
      const { line } = await codeUseAt(desk, file, start, start);
      const detail = desk.server.isSafe ? `: ${problem.message}` : ".";
      return `it would be wrong at ${file}:${line}${detail} Choose another name.`;
    }
  }
  return undefined;
}
type Problems = Map<string, Awaited<ReturnType<Desk["server"]["problems"]>>>;
/** Several files at once: a server looks at them side by side. */
async function problemsIn({ server }: Desk, files: string[], until: number): Promise<Problems> {
  const problemsByFile: Problems = new Map();
  for (let index = 0; index < files.length && performance.now() < until; index += FILES_AT_ONCE) {
    const batch = files.slice(index, index + FILES_AT_ONCE);
    const problems = await Promise.all(batch.map((file) => server.problems(file)));
    for (const [i, file] of batch.entries()) problemsByFile.set(file, problems[i]!);
  }
  return problemsByFile;
}
const FILES_AT_ONCE = 16;
/** The kind of problem, regardless of the thing's name. */
const problemKey = (
  { code, message }: { code: string | number; message: string },
  names: string[],
): string => `${code} ${names.reduce((text, name) => text.replaceAll(name, "_"), message)}`;

/** Files of `export *` from these, where two exports may now have one name. */
function passingOn({ index }: Desk, files: string[]): string[] {
  const names = new Set(files.map(nameOf));
  const ownFiles = new Set(files);
  const passing = index.having('"*"').filter((file) => {
    if (ownFiles.has(file) || !SCRIPT.test(file)) return false;
    const { imports = [] } = index.facts(file) ?? {};
    return imports.some(
      ({ how: importForm, names: specifiers, from }) =>
        importForm === "export" && specifiers.includes("*") && names.has(nameOf(from)),
    );
  });
  return passing.slice(0, MAX_PASSING_ON);
}
const nameOf = (file: string): string => {
  const [, folder = "", name = ""] =
    /(?:([^/]*)\/)?([^/]*)$/.exec(file.replace(/\.[cm]?[jt]sx?$/, "")) ?? [];
  return name === "index" ? folder : name;
};

export function applyEdits(text: string, edits: Edit[]): string {
  return edits.reduceRight(
    (newText, { start, end, text: put }) => newText.slice(0, start) + put + newText.slice(end),
    text,
  );
}
/** Where a place is after the edits; for an edit itself, its new name. */
function offsetAfter(edits: Change[], offset: number): number {
  let by = 0;
  for (const { start, end, text, before } of edits) {
    if (start > offset) break;
    if (start === offset) return offset + by + before;
    by += text.length - (end - start);
  }
  return offset + by;
}
/** Where it was before them; within an edit, where that begins. */
function offsetBefore(edits: Edit[], offset: number): number {
  let by = 0;
  for (const { start, end, text } of edits) {
    if (start + by > offset) break;
    if (offset < start + by + text.length) return start;
    by += text.length - (end - start);
  }
  return offset - by;
}

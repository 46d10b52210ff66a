// Renaming a thing, unless that would change what the code means: the server says what belongs to
// it, is shown the new texts, and has to find the same places again, with no new problems.

import { readFileSync } from "node:fs";
import path from "node:path";
import type { Point } from "zz";
import { tryTo } from "zz/text";
import { SCRIPT } from "../answers/rows.ts";
import { isUtf16 } from "../encoding.ts";
import { bothSides } from "../scan/conflict.ts";
import type { At, Edit, Place } from "./contract.ts";
import {
  type Desk,
  locate,
  NoAnswer,
  offsetOf,
  placeAt,
  pointAt,
  show,
  textAt,
  textOf,
} from "./desk.ts";
import { boundAt, type Taking, usesOfWhole } from "./missed.ts";
import { invalidName, refusalOf } from "./names.ts";
import { usesAt } from "./references.ts";

const PROBLEM_SEARCH_MS = 10_000; // that a rename may look for new problems
const MAX_PASSING_ON = 50; // files of `export *` that are looked at for new problems

/** `before`: text that is put in front of the new name. */
type Change = Edit & { before: number };

export interface Renaming {
  edits: Edit[]; // by path, then from the start; none overlap
  known: Place[]; // what they are about
}

/** Throws why not. */
export async function rename(desk: Desk, at: At, to: string): Promise<Renaming> {
  const { server, index } = desk;
  const cannot = (why: string) => new NoAnswer(`Cannot rename '${at.name}' to '${to}': ${why}`);
  const point = await locate(desk, at);
  const invalid = invalidName(at.name, to);
  if (invalid) throw cannot(invalid);
  const { takings, all } = await usesAt(desk, at, point);
  const refusal = await server.mayRename(point);
  if (refusal) throw cannot(refusalOf(refusal));
  const own = await changesAt(desk, point, to);
  const changes = [...own, ...(await changesOf(desk, await changing(desk, takings, own, to), to))];
  const edits = distinct(changes);
  const listed = new Set(index.names);
  const outside = edits.find((edit) => !listed.has(edit.path));
  if (outside) throw cannot(`it also stands in '${outside.path}', outside the project's code.`);
  const wide = edits.find((edit) =>
    tryTo(() => isUtf16(readFileSync(path.join(desk.state.root, edit.path)))),
  );
  if (wide)
    throw cannot(`'${wide.path}' is UTF-16, which is not written. Turn it into UTF-8 first.`);
  const why = await collision(desk, point, edits, at.name, to);
  if (why) throw cannot(why);
  return { edits: edits.map(({ before: _, ...edit }) => edit), known: all };
}

/** Those that take it from where it has the new name then; what is passed on may keep its name. */
async function changing(
  desk: Desk,
  takings: Taking[],
  own: Change[],
  to: string,
): Promise<Taking[]> {
  if (!takings.length) return [];
  const { scan } = await import("../scan.ts");
  const isRenamed = new Map<string, boolean>();
  for (const { root } of takings) {
    const [file = "", name = ""] = root.split("\n");
    const edits = own.filter((edit) => edit.path === file);
    const facts = scan(file, applied((await textAt(desk, file)).text, edits));
    const isThere = (one: string): boolean =>
      facts.exports.some((given) => given.name === one) ||
      facts.symbols.some((sym) => sym.name === one && sym.exported && !sym.owner);
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
    const { path: file, name, local, owner, how } = taking;
    if (local === "*") {
      for (const { start, end } of await usesOfWhole(desk, file, owner, name))
        changes.push({ path: file, start, end, text: to, before: 0 });
      continue;
    }
    const bound = await boundAt(desk, taking);
    if (!bound) continue;
    // there it keeps its name
    const isKept = how === "export" || how === "require" || how === "dynamic";
    const aliased = how === "export" ? `${to} as ${name}` : `${to}: ${name}`;
    const text = isKept && name === local ? aliased : to;
    const own = { path: file, start: bound.at, end: bound.at + name.length, text, before: 0 };
    changes.push(own);
    if (name !== local || isKept) continue;
    await show(desk, file);
    const inFile = (await changesAt(desk, bound.point, to)).filter((one) => one.path === file);
    changes.push(...inFile.filter(({ start, end }) => end <= own.start || own.end <= start));
  }
  return changes;
}

function distinct(changes: Change[]): Change[] {
  const byPlace = new Map(changes.map((one) => [`${one.path}:${one.start}`, one]));
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
  for (const file of files) await show(desk, file);
  const position = await offsetOf(desk, point);
  const places = new Set((await server.references(point)).map(keyOf));
  const until = performance.now() + PROBLEM_SEARCH_MS;
  const problems = await problemsIn(desk, files, until);
  const renamed: Desk = { ...desk, texts: new Map(desk.texts) };
  try {
    for (const [file, own] of byFile) {
      const { text } = await textAt(desk, file);
      const made = applied(text, own);
      renamed.texts.set(file, textOf(desk, file, made));
      server.show(file, bothSides(made.replace(/^\ufeff/, "")));
    }
    const at = await pointAt(renamed, point.path, moved(byFile.get(point.path) ?? [], position));
    return (
      (await otherPlaces(desk, renamed, at, byFile, places, to)) ??
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
  at: Point,
  byFile: Map<string, Change[]>,
  places: Set<string>,
  to: string,
): Promise<string | undefined> {
  const before = new Set(places);
  for (const spot of await desk.server.references(at)) {
    const own = byFile.get(spot.path) ?? [];
    const start = movedBack(own, await offsetOf(renamed, spot));
    const old = keyOf(await pointAt(desk, spot.path, start));
    if (!before.delete(old) && !places.has(old) && !own.some((one) => one.start === start)) {
      const { line } = await placeAt(desk, spot.path, start, start);
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
    if (!byFile.get(file!)?.some((one) => one.start <= offset && offset < one.end)) continue;
    const place = await placeAt(desk, file!, offset, offset);
    const doubt = SCRIPT.test(file!) ? "" : `, or ${desk.server.name} does not see all of the code`;
    return `'${to}' is taken: at ${file}:${place.line} it would mean something else${doubt}. Choose another name${doubt && ", or edit each place"}.`;
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
    const known = before.get(file)!.map((one) => kindOf(one, names));
    for (const one of problems) {
      const at = known.indexOf(kindOf(one, names));
      if (at >= 0) {
        known.splice(at, 1);
        continue;
      }
      const start = movedBack(byFile.get(file) ?? [], await offsetOf(renamed, one));
      const { line } = await placeAt(desk, file, start, start);
      const said = desk.server.isSafe ? `: ${one.message}` : ".";
      return `it would be wrong at ${file}:${line}${said} Choose another name.`;
    }
  }
  return undefined;
}
type Problems = Map<string, Awaited<ReturnType<Desk["server"]["problems"]>>>;
/** Several files at once: a server looks at them side by side. */
async function problemsIn({ server }: Desk, files: string[], until: number): Promise<Problems> {
  const found: Problems = new Map();
  for (let at = 0; at < files.length && performance.now() < until; at += FILES_AT_ONCE) {
    const some = files.slice(at, at + FILES_AT_ONCE);
    const problems = await Promise.all(some.map((file) => server.problems(file)));
    for (const [i, file] of some.entries()) found.set(file, problems[i]!);
  }
  return found;
}
const FILES_AT_ONCE = 16;
/** The kind of problem, regardless of the thing's name. */
const kindOf = (
  { code, message }: { code: string | number; message: string },
  names: string[],
): string => `${code} ${names.reduce((text, name) => text.replaceAll(name, "_"), message)}`;

/** Files of `export *` from these, where two exports may now have one name. */
function passingOn({ index }: Desk, files: string[]): string[] {
  const names = new Set(files.map(nameOf));
  const own = new Set(files);
  const found = index.having('"*"').filter((file) => {
    if (own.has(file) || !SCRIPT.test(file)) return false;
    const { imports = [] } = index.facts(file) ?? {};
    return imports.some(
      ({ how, names: taken, from }) =>
        how === "export" && taken.includes("*") && names.has(nameOf(from)),
    );
  });
  return found.slice(0, MAX_PASSING_ON);
}
const nameOf = (file: string): string => {
  const [, folder = "", name = ""] =
    /(?:([^/]*)\/)?([^/]*)$/.exec(file.replace(/\.[cm]?[jt]sx?$/, "")) ?? [];
  return name === "index" ? folder : name;
};

export function applied(text: string, edits: Edit[]): string {
  return edits.reduceRight(
    (made, { start, end, text: put }) => made.slice(0, start) + put + made.slice(end),
    text,
  );
}
/** Where a place is after the edits; for an edit itself, its new name. */
function moved(edits: Change[], at: number): number {
  let by = 0;
  for (const { start, end, text, before } of edits) {
    if (start > at) break;
    if (start === at) return at + by + before;
    by += text.length - (end - start);
  }
  return at + by;
}
/** Where it was before them; within an edit, where that begins. */
function movedBack(edits: Edit[], at: number): number {
  let by = 0;
  for (const { start, end, text } of edits) {
    if (start + by > at) break;
    if (at < start + by + text.length) return start;
    by += text.length - (end - start);
  }
  return at - by;
}

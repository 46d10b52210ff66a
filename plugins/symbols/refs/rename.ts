// Renaming a symbol, unless that would change what the code means.

import { readFileSync } from "node:fs";
import { ts } from "ts-morph";
import { isUtf16 } from "../encoding.ts";
import { load, type Target } from "./candidates.ts";
import { diagnose, problemOf } from "./check.ts";
import { internals } from "./compiler.ts";
import type { At, Edit, Renaming } from "./contract.ts";
import { absolute, pathAndLine, relative, textOf } from "./disk.ts";
import { newService } from "./programs.ts";
import { usesInScripts } from "./references.ts";
import type { State } from "./state.ts";
import { compare, tryTo } from "./words.ts";

type Change = Edit & { before: number }; // text to insert before the new name
const PROBLEM_SEARCH_MS = 10_000; // ms that a rename may look for new problems

export function renameThoroughly(state: State, at: At, to: string): Renaming {
  state.isThorough = true;
  try {
    return rename(state, at, to);
  } finally {
    state.isThorough = false;
  }
}

function rename(state: State, at: At, to: string): Renaming {
  const target = load(state, at);
  const { slice, file, position } = target;
  const { canRename, localizedErrorMessage } = slice.service.getRenameInfo(file, position, {}) as ts.RenameInfoFailure;
  if (!canRename) return refuse(RENAME_REFUSALS[localizedErrorMessage] ?? localizedErrorMessage);
  const refusal = invalidName(at.name, to);
  if (refusal) return refuse(refusal);
  const spans = spansOf(slice.service, file, position);
  const outside = spans.find(({ fileName }) => !state.names.has(fileName));
  if (outside) return refuse(`it also stands in '${relative(state, outside.fileName)}', outside the project's code.`);
  const wide = spans.find(({ fileName }) => tryTo(() => isUtf16(readFileSync(fileName))));
  if (wide)
    return refuse(`'${relative(state, wide.fileName)}' is UTF-16, which is not written. Turn it into UTF-8 first.`);
  const edits = spans.map((span) => editOf(span, to)).sort(byPlace);
  const renamed = new Set(edits.map(({ path, start }) => `${relative(state, path)}:${start}`));
  const missed = usesInScripts(state, target).find(({ path, start }) => !renamed.has(`${path}:${start}`));
  const isMissed = missed && textOf(state, absolute(state, missed.path)).slice(missed.start, missed.end) === at.name;
  if (isMissed)
    return refuse(`it is also used at ${missed.path}:${missed.line}, by a require() that cannot be followed.`);
  const why = collision(state, target, edits, at.name, to);
  return why
    ? refuse(why)
    : { edits: edits.map(({ path, start, end, text }) => ({ path: relative(state, path), start, end, text })) };

  function refuse(why: string): Renaming {
    return { edits: [], refused: `Cannot rename '${at.name}' to '${to}': ${why}` };
  }
}

/** What would go wrong: the name is already taken in that scope, or the types no longer match. */
function collision(state: State, target: Target, edits: Change[], from: string, to: string): string | undefined {
  const { slice, file, position, files } = target;
  const byFile = Map.groupBy(edits, ({ path }) => path);
  const overlay = new Map([...byFile].map(([path, own]) => [path, applied(textOf(state, path), own)]));
  const roots = new Set([
    ...files,
    ...byFile.keys(),
    ...[...state.index.usersOf(new Set([to])), ...state.index.globals()].map((path) => absolute(state, path)),
  ]);
  const service = newService(state, slice, roots, overlay);
  try {
    const before = new Set(edits.map(({ path, start }) => `${path}:${start}`));
    for (const span of spansOf(service, file, moved(byFile.get(file)!, position))) {
      const start = movedBack(byFile.get(span.fileName) ?? [], span.textSpan.start);
      if (!before.delete(`${span.fileName}:${start}`))
        return `'${to}' is taken: at ${pathAndLine(state, span.fileName, start)} it means something that this would become one with. Choose another name.`;
    }
    for (const place of before) {
      const [, path, start] = /^(.*):(\d+)$/.exec(place)!;
      return `'${to}' is taken: at ${pathAndLine(state, path!, Number(start))} it would mean something else. Choose another name.`;
    }
    return newProblem(state, slice.program!, service.getProgram()!, byFile, [from, to]);
  } finally {
    service.dispose();
  }
}

function newProblem(
  state: State,
  before: ts.Program,
  after: ts.Program,
  edits: Map<string, Change[]>,
  names: string[],
): string | undefined {
  const until = performance.now() + PROBLEM_SEARCH_MS;
  for (const file of [...edits.keys(), ...reexporters(after, new Set(edits.keys()))]) {
    const known = diagnose(before, file).map((one) => kindOf(one, names));
    for (const one of diagnose(after, file)) {
      const at = known.indexOf(kindOf(one, names));
      if (at < 0) {
        const place = pathAndLine(state, file, movedBack(edits.get(file) ?? [], one.start ?? 0));
        return `it would be wrong at ${place}: ${problemOf(state, one).message} Choose another name.`;
      }
      known.splice(at, 1);
    }
    if (performance.now() > until) return undefined;
  }
  return undefined;
}
const RENAME_REFUSALS: Record<string, string> = {
  "You cannot rename this element.": "it is not a name that could be another. Rename what it stands for.",
  "You cannot rename elements that are defined in the standard TypeScript library.":
    "it is defined in the standard library. Choose a name of the project's own.",
  "You cannot rename elements that are defined in a 'node_modules' folder.":
    "it is defined in a package. Choose a name of the project's own.",
  "You cannot rename elements that are defined in another 'node_modules' folder.":
    "it is defined in a package. Choose a name of the project's own.",
};
const byPlace = (a: Edit, b: Edit): number => compare(a.path, b.path) || a.start - b.start;

/** Every `export *` through which these files' exports can be reached. */
function reexporters(program: ts.Program, files: Set<string>): Set<string> {
  const checker = program.getTypeChecker();
  const found = new Set<string>();
  const exportStars = program.getSourceFiles().flatMap(({ fileName, statements }) =>
    statements.flatMap((node) => {
      if (!ts.isExportDeclaration(node) || node.exportClause || !node.moduleSpecifier) return [];
      const target = checker.getSymbolAtLocation(node.moduleSpecifier)?.valueDeclaration;
      return target && ts.isSourceFile(target) ? [[fileName, target.fileName] as const] : [];
    }),
  );
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const [from, to] of exportStars) if (files.has(to) || found.has(to)) found.add(from);
  }
  return new Set([...found].filter((file) => !files.has(file)));
}

function invalidName(from: string, to: string): string | undefined {
  if (from === to) return "it already has that name. Choose another name.";
  if (!isIdentifier(from))
    return /^[^"'`\\\r\n]+$/.test(to) ? undefined : "a key cannot hold quotes. Choose another name.";
  if (from.startsWith("#") !== to.startsWith("#"))
    return "a private name begins with '#', and no other does. Choose a name of the same kind.";
  if (!isIdentifier(to)) return `'${to}' is not an identifier. Use letters, digits, _ and $ only.`;
  if (internals.isStringANonContextualKeyword(to)) return `'${to}' is a keyword. Choose another name.`;
  return undefined;
}
const isIdentifier = (text: string): boolean =>
  internals.isIdentifierText(text.replace(/^#/, ""), ts.ScriptTarget.ESNext);

function spansOf(service: ts.LanguageService, file: string, position: number): readonly ts.RenameLocation[] {
  const how = { providePrefixAndSuffixTextForRename: true };
  const found = service.findRenameLocations(file, position, false, false, how) ?? [];
  return [...new Map(found.map((span) => [`${span.fileName}:${span.textSpan.start}`, span])).values()];
}
function editOf({ fileName, textSpan, prefixText = "", suffixText = "" }: ts.RenameLocation, to: string): Change {
  const { start, length } = textSpan;
  return { path: fileName, start, end: start + length, text: prefixText + to + suffixText, before: prefixText.length };
}
function applied(text: string, edits: Edit[]): string {
  return edits.reduceRight((text, { start, end, text: put }) => text.slice(0, start) + put + text.slice(end), text);
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
/** The kind of problem, regardless of the symbol's name. */
function kindOf({ code, messageText }: ts.Diagnostic, names: string[]): string {
  const text = ts.flattenDiagnosticMessageText(messageText, "\n");
  return `${code} ${names.reduce((text, name) => text.replaceAll(name, "_"), text)}`;
}

// Each file's tree, parsed once per version, and the names in it.
import { ts } from "ts-morph";
import { bothSides } from "../scan/conflict.ts";
import { lineStarts } from "../scan/lines.ts";
import { internals, JSDOC } from "./compiler.ts";
import { isScript, textOf, versionOf } from "./disk.ts";
import { LIB, type Slice, type State } from "./state.ts";
import { tryTo } from "./words.ts";

export type Acquired = [string, unknown, unknown, unknown, unknown, string, ts.ScriptKind | undefined, ParseOptions];
type ParseOptions = ts.CreateSourceFileOptions;

/** TypeScript's own declarations, for all services of this process: parsing and binding them takes most of a first question. */
const LIBRARIES = new Map<string, WeakRef<ts.SourceFile>>();
const { getKeyForCompilationSettings } = ts.createDocumentRegistry();

/** A file's tree, as the program will have it; `isFull`: with its JSDoc, since the caller looks for names in it. */
export function treeOf(state: State, slice: Slice, file: string, isFull = true): ts.SourceFile | undefined {
  if (isFull) slice.full.add(file);
  const version = docVersion(state, slice, file);
  if (version === undefined) return undefined;
  const known = slice.docs.get(file);
  if (known?.version === version) return known.source;
  const { options, cache } = slice.config;
  const format = internals.getImpliedNodeFormatForFileWorker(
    file,
    cache.getPackageJsonInfoCache(),
    state.disk,
    options,
  );
  return parsed(state, slice, file, version, undefined, {
    ...(typeof format === "object" ? format : { impliedNodeFormat: format as ts.ResolutionMode }),
    languageVersion: internals.getEmitScriptTarget(options),
    setExternalModuleIndicator: internals.getSetExternalModuleIndicator(options),
  });
}

export function parsed(
  state: State,
  slice: Slice,
  file: string,
  version: string,
  kind: ts.ScriptKind | undefined,
  how: ParseOptions,
) {
  const known = slice.docs.get(file);
  const format = how.impliedNodeFormat;
  if (known?.version === version && known.format === format) return known.source;
  const jsDocParsingMode = isScript(file) || slice.full.has(file) ? JSDOC.all : JSDOC.none;
  const make = () => parse(state, file, textOf(state, file), version, kind, { ...how, jsDocParsingMode });
  const key = `${file} ${version} ${kind} ${format} ${getKeyForCompilationSettings(slice.config.options)}`;
  const source = file.startsWith(LIB) ? shared(key, make) : make();
  slice.docs.set(file, { version, format, source });
  return source;
}

function shared(key: string, make: () => ts.SourceFile): ts.SourceFile {
  const source = LIBRARIES.get(key)?.deref() ?? make();
  if (!LIBRARIES.get(key)?.deref()) LIBRARIES.set(key, new WeakRef(source));
  return source;
}

/** A file nested too deep for the parser is treated as empty; of a merge conflict both sides count. */
export function parse(
  state: State,
  file: string,
  text: string,
  version: string,
  kind: ts.ScriptKind | undefined,
  how: ParseOptions,
) {
  const make = (text: string) =>
    ts.createLanguageServiceSourceFile(file, ts.ScriptSnapshot.fromString(text), how, version, false, kind);
  const source = tryTo(() => make(bothSides(text))) ?? make("");
  if (!file.startsWith(LIB) && OTHER_BREAKS.test(text)) Object.assign(source, { lineMap: lineStarts(text) });
  return Object.assign(source, { nameTable: { get: nameLookup(state, source) } });
}

/** What ends a line for TypeScript alone: all other tools, and the index, count by line feeds. */
const OTHER_BREAKS = /[\u2028\u2029]|\r(?!\n)/;

/**
 * TypeScript asks each file whether it contains a name, and walks every tree once for that; here the text is searched
 * first. The name table has the name in `it["name"]`, but not the one in `It["name"]`: references agree with it, a
 * rename must not.
 */
function nameLookup(state: State, source: ts.SourceFile): (name: ts.__String) => number | undefined {
  return (name) => {
    if (!holds(source.text, internals.unescapeLeadingUnderscores(name))) return undefined;
    return state.isThorough || source.fileName.startsWith(LIB) ? -1 : tableOf(state, source).get(name);
  };
}

export function tableOf(state: State, source: ts.SourceFile & { nameTable?: unknown }): Map<ts.__String, number> {
  const { nameTable } = source;
  source.nameTable = undefined; // otherwise there is no table to make
  const table = state.tables.get(source) ?? internals.getNameTable(source);
  source.nameTable = nameTable;
  state.tables.set(source, table);
  return table;
}

export function docVersion(state: State, { full }: Slice, file: string): string | undefined {
  const version = versionOf(state, file);
  return version && full.has(file) ? `${version}+` : version;
}

/** Whether a comment may hold one of the names: without its comments, a file is parsed in half the time. */
export function isInJsDoc(text: string, names: Iterable<string>): boolean {
  const sought = [...names].filter((name) => text.includes(name));
  if (!sought.length) return false;
  for (let from = text.indexOf("/**"); from >= 0; from = text.indexOf("/**", from + 3)) {
    const end = text.indexOf("*/", from + 2);
    const comment = text.slice(from, end < 0 ? text.length : end);
    if (sought.some((name) => comment.includes(name))) return true;
  }
  return false;
}

/** As a whole word. */
function holds(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!isPart(text.charCodeAt(at - 1)) && !isPart(text.charCodeAt(at + word.length))) return true;
  return false;
}
const isPart = (code: number): boolean => ts.isIdentifierPart(code, ts.ScriptTarget.Latest);

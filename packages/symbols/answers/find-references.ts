// find_references, check_types and rename_symbol, from a language server; where there is none, by
// name.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural, tryTo } from "zz/text";
import { readText } from "../encoding.ts";
import { bestFor, type FoundSymbol } from "../match-names.ts";
import { checkFiles } from "../meaning/check-types.ts";
import type { CodeUse, Edit, Group, SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, type Desk, wake } from "../meaning/desk.ts";
import { foreignUses } from "../meaning/foreign.ts";
import { groupedReferences as usesAtDesk } from "../meaning/references.ts";
import { applyEdits, planRename } from "../meaning/rename.ts";
import { type Index, mayRead, readability } from "../project.ts";
import { filesUsing } from "../rows.ts";
import {
  capRows,
  filesUnder,
  foundIn,
  lastName,
  MAX_ROWS,
  meantBy,
  nameAndLine,
  pathAndLine,
  relative,
  SCRIPT,
  takesName,
  whyUnread,
} from "./answer-rows.ts";
import { type NamedUses, usesByName } from "./by-name.ts";
import { usesInComponents } from "./components.ts";
import { importGraph } from "./list-imports.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";
import { listUnread, unreadUsers } from "./unread.ts";
import { type Uses, usesOf } from "./uses.ts";

const MAX_DEFINITIONS = 12; // definitions of one name
const MAX_TEXT_HITS = 10;
const MAX_GLOB_CHARS = 900;
const MAX_NEAR = 8; // names that may have been meant
const MAX_SYMBOL_CHARS = 120; // characters
const MAX_PLACE_CHARS = 120; // of the text of a place: a longer line is cut
const LABELLED_KINDS = new Set(["definition", "import", "export", "write"]);

export async function findReferences(
  state: State,
  args: SymbolQuery & { start?: number },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, unlistedCount, scriptDefinitions, users, others } = definitionsOf(
    index,
    args,
    ctx,
  );
  const isOfScripts = (scriptDefinitions.length || users.length) && !others.length;
  const early = isOfScripts ? textsAsBefore(state, wanted, index, ctx) : undefined; // meanwhile
  early?.catch(() => {}); // awaited below
  const { useGroups, unlocated, beyond, unnamed, named } = await usesOfAll(state, index, args, ctx);
  const knownFiles = new Set(
    useGroups.flatMap(({ places }) => places.map(({ path: file }) => file)),
  );
  const unsure = named.isScripts ? [] : await unresolvedUses(state, index, wanted, knownFiles, ctx);
  const textRows = await (early ?? textHits(wanted, index, named.covers, ctx));
  const missed = [...(beyond ? [`[${beyond}]`] : []), ...named.missed];
  if (!useGroups.length && !textRows.length && !unsure.length) {
    const [
      reason = `Cannot find a use of '${args.symbol}': no code names it. ${nearestTo(index, wanted, ctx)}`,
      ...furtherReasons
    ] = unlocated;
    throw new Error(
      [reason, ...furtherReasons.map((furtherReason) => `[${furtherReason}]`), ...missed].join(
        "\n",
      ),
    );
  }
  const first = Math.max(args.start ?? 1, 1) - 1;
  const { shown, rows } = pageOf(useGroups, first, args.symbol);
  noteShown(shown, ctx);
  if (first) return { text: rows.join("\n"), data: useGroups };
  const elsewhere = textRows.length ? ["In other files, as text:", ...textRows] : [];
  const moreNote = unlistedCount
    ? [`[${unlistedCount} more definitions of that name; path and line choose one]`]
    : [];
  const notes = [...unlocated.map((sentence) => `[${sentence}]`), ...missed];
  const maybe = unsure.length
    ? ["Perhaps used here too, by an import that leads nowhere known:", ...unsure]
    : [];
  if (unnamed.length)
    maybe.push("By name alone, where the language server names no use:", ...unnamed);
  const text = [
    ...(named.places.length ? [named.note] : []),
    ...rows,
    ...moreNote,
    ...notes,
    ...maybe,
    ...elsewhere,
  ]
    .filter(Boolean)
    .join("\n");
  return { text, data: useGroups };
}

/** By meaning where a language server knows it, else by name. */
async function usesOfAll(state: State, index: Index, args: SymbolQuery, ctx: Ctx) {
  const { wanted, scriptDefinitions, others, users, file } = definitionsOf(index, args, ctx);
  const mayShow = readability(ctx);
  const useGroups: Group[] = [];
  const unlocated: string[] = [];
  const byName: FoundSymbol[] = [];
  let [beyond, scriptFailure, failure] = ["", "", ""];
  const ask = async (
    definitions: SymbolSpot[],
    instead: (reason: string) => Uses,
  ): Promise<void> => {
    const uses = await atDesk(
      ...([state, index, definitions[0]!.path, ctx] as const),
      (desk) => usesOf(definitions, (definition) => usesAtDesk(desk, definition), mayShow),
      instead,
    );
    useGroups.push(...uses.useGroups);
    unlocated.push(...uses.unlocated);
  };
  const byNameSince = (reason: string): Uses => {
    scriptFailure = reason;
    return NO_USES;
  };
  if (users.length) {
    const about = { path: file, line: args.line };
    const uses = await foreignAt(state, index, wanted, users, about, ctx, byNameSince);
    useGroups.push(...uses.useGroups);
    beyond = uses.unsearched ?? "";
  } else if (scriptDefinitions.length) await ask(scriptDefinitions, byNameSince);
  for (const [, fileGroup] of Map.groupBy(others, ({ path }) => endOf(path))) {
    const places = fileGroup.map(({ path, line }) => ({ path, line, name: wanted }));
    await ask(places, (reason) => {
      if (!/not installed|no language server|turned off/.test(reason)) failure = reason;
      byName.push(...fileGroup);
      return NO_USES;
    });
  }
  const unnamed = await unnamedByServer(index, wanted, others, useGroups, byName, ctx);
  const isNowhere = !others.length && !scriptDefinitions.length && !users.length;
  const scripts = scriptFailure
    ? { why: scriptFailure, files: [...scriptDefinitions.map(({ path }) => path), ...users] }
    : undefined;
  const named =
    byName.length || isNowhere || scripts
      ? await usesByName(index, wanted, byName, ctx, failure, scripts)
      : NONE;
  if (named.places.length) useGroups.push({ symbol: `${wanted}, by name`, places: named.places });
  const answeredEndings = new Set(
    others.filter((definition) => !byName.includes(definition)).map(({ path }) => endOf(path)),
  );
  const covers = (file: string) => named.covers(file) || answeredEndings.has(endOf(file));
  return {
    useGroups,
    unlocated,
    beyond,
    unnamed,
    named: { ...named, covers, isScripts: !!scripts },
  };
}

/**
 * Rows of files that have the name, where a server of another language names none: it may not have
 * read them yet.
 */
async function unnamedByServer(
  index: Index,
  name: string,
  defined: FoundSymbol[],
  groups: Group[],
  byName: FoundSymbol[],
  ctx: Ctx,
): Promise<string[]> {
  const asked = defined.filter((definition) => !byName.includes(definition));
  if (!asked.length) return [];
  const knownFiles = new Set(groups.flatMap(({ places }) => places.map(({ path }) => path)));
  const { places } = await usesByName(index, name, asked, ctx);
  return places
    .filter(({ path }) => !knownFiles.has(path))
    .slice(0, MAX_TEXT_HITS)
    .map(({ path, line, text }) => `${path}:${line}: ${text}`);
}
const endOf = (file: string): string | undefined => file.split(".").at(-1);

/** The uses of a name that nothing in the project defines; `about`: only what it means there. */
async function foreignAt(
  state: State,
  index: Index,
  name: string,
  users: string[],
  about: { path: string | undefined; line: number | undefined },
  ctx: Ctx,
  instead: (reason: string) => Uses,
): Promise<Uses> {
  const isAsked = ({ path, line }: CodeUse) =>
    (!about.path || path === about.path) && (!about.line || line === about.line);
  const ask = async (desk: Desk): Promise<Uses> => {
    const { groups, unsearched } = await foreignUses(desk, name, users, about.path);
    return {
      useGroups: groups.filter(({ places }) => places.some(isAsked)),
      unlocated: [],
      unsearched,
    };
  };
  return atDesk(state, index, about.path ?? users[0]!, ctx, ask, instead);
}
const NO_USES: Uses = { useGroups: [], unlocated: [] };

const NONE: NamedUses = { places: [], note: "", missed: [], covers: () => false };

/** The places that one answer shows, a line each, and how to ask for the next ones. */
function pageOf(groups: { symbol: string; places: CodeUse[] }[], first: number, name: string) {
  const listedPlaces = groups.flatMap(({ symbol, places }) => {
    const byLine = Map.groupBy(places, pathAndLine);
    const lines = [...byLine.values()].map(
      (lineUses) =>
        lineUses.find(({ kind: useKind }) => useKind === "definition") ?? lineUses.at(-1)!,
    );
    const group = {
      title: `${symbol.slice(0, MAX_SYMBOL_CHARS)}: ${plural(lines.length, "place")}`,
    };
    return lines.map((use) => ({ ...use, group }));
  });
  if (first && first >= listedPlaces.length)
    throw new Error(
      `Cannot show the uses of '${name}' from place ${first + 1} on: there are ${listedPlaces.length}. Begin with an earlier one.`,
    );
  const shown = listedPlaces.slice(first, first + 2 * MAX_ROWS);
  const rows = shown.flatMap(({ path: file, line, text, kind: useKind, group }, i) => {
    const isHeaded = groups.length > 1 && group !== shown[i - 1]?.group;
    return [
      ...(isHeaded ? [group.title] : []),
      `${file}:${line}: ${text}${LABELLED_KINDS.has(useKind) ? `  [${useKind}]` : ""}`,
    ];
  });
  const next = first + shown.length;
  const nextNote =
    next < listedPlaces.length
      ? [`[${plural(listedPlaces.length - next, "more place")}; start: ${next + 1} shows more]`]
      : [];
  return { shown, rows: [...rows, ...nextNote] };
}

/** The lines of these places count as shown to the model. */
export function noteShown(shown: CodeUse[], ctx: Ctx): void {
  for (const [file, places] of Map.groupBy(shown, ({ path: file }) => file))
    ctx.files.shown(
      file,
      places.filter(({ text }) => text.length < MAX_PLACE_CHARS).map(({ line }) => [line, line]),
    );
}

/** What else may have been meant by a name that nothing has. */
export function nearestTo(index: Index, name: string, ctx: Ctx): string {
  const candidates = foundIn(index, index.files, ctx).filter(
    ({ kind: symbolKind }) => symbolKind !== "key",
  );
  const { exact, near } = bestFor(name, candidates);
  const names = [...exact, ...near].slice(0, MAX_NEAR).map(nameAndLine);
  return names.length ? `Nearest: ${names.join(", ")}.` : "Try grep.";
}

/** The definitions that a name may refer to; if the project has none, the files that use it. */
export function definitionsOf(
  index: Index,
  { symbol, path: givenPath, line }: SymbolQuery,
  ctx: Ctx,
) {
  const { wanted, files: defining } = meantBy(index, symbol);
  const name = lastName(wanted);
  const file = givenPath && relative(givenPath, ctx);
  if (file && !index.facts(file))
    throw new Error(
      `Cannot look for '${symbol}' in '${givenPath}': ${whyUnread(index, givenPath, ctx)}`,
    );
  const alike = foundIn(index, defining, ctx)
    .filter((candidate) => candidate.kind !== "key" && lastName(candidate.name) === name)
    .filter(
      (candidate) => (!file || candidate.path === file) && (!line || candidate.line === line),
    );
  const exact = alike.filter(
    (candidate) => candidate.name === wanted || candidate.name.endsWith(`.${wanted}`),
  );
  const declared = exact.filter(({ signature }) => !TAKEN.test(signature));
  // what an import is taken apart into is defined elsewhere
  const named = declared.length && !line ? declared : exact;
  const others = named.filter(({ path }) => !SCRIPT.test(path)); // known by name alone
  if (!named.length && wanted !== name) {
    const others = [...new Set(alike.map(nameAndLine))].slice(0, 10);
    const next = others.length ? `There are: ${others.join(", ")}.` : nearestTo(index, wanted, ctx);
    throw new Error(`Cannot look for '${symbol}': nothing is named like that. ${next}`);
  }
  const isForeign = exact.every(
    ({ path, signature }) => SCRIPT.test(path) && TAKEN.test(signature),
  );
  const users = isForeign
    ? filesUsing(index, name).filter((user) => SCRIPT.test(user) && mayRead(ctx, user))
    : [];
  const places = named
    .filter(({ path }) => SCRIPT.test(path))
    .map(({ path, line }) => ({ path, line, name }));
  return {
    wanted: name,
    scriptDefinitions: places.slice(0, MAX_DEFINITIONS),
    others,
    unlistedCount: Math.max(places.length - MAX_DEFINITIONS, 0),
    users,
    file, // of a name that nothing of the project defines
  };
}

/** `const { a } = await import("x")` */
const TAKEN = /^(?:export )?(?:const|let|var) \{.*\} = (?:await|require)\b/;

/**
 * Rows of files that take a thing of that name from where nobody knows, besides those that are
 * known to use it.
 */
async function unresolvedUses(
  state: State,
  index: Index,
  name: string,
  knownFiles: Set<string>,
  ctx: Ctx,
) {
  const users = filesUsing(index, name)
    .filter((file) => !knownFiles.has(file) && SCRIPT.test(file) && mayRead(ctx, file))
    .map(
      (file) =>
        [
          file,
          {
            imports: index
              .passed(file)
              .imports.filter(({ names }) => names.some((specifier) => mayTake(specifier, name))),
          },
        ] as const,
    )
    .filter(([, { imports }]) => imports.length);
  if (!users.length) return [];
  const { imports } = await importGraph(state, index, ctx, users);
  const rows: string[] = [];
  for (const [file, { imports: fileImports }] of users) {
    const doubtful = (imports.get(file) ?? []).flatMap(({ kind: edgeKind, line, spec }, i) => {
      return edgeKind === "missing" ? [{ line, spec, names: fileImports[i]!.names }] : [];
    });
    if (!doubtful.length) continue;
    const { text } = await readText(ctx, file);
    const hit = doubtful.find(({ names }) =>
      names.some((specifier) => takesName(specifier, name, text)),
    );
    if (hit) rows.push(`${file}:${hit.line}: from "${hit.spec}"`);
  }
  return rows;
}

const mayTake = (specifier: string, name: string): boolean =>
  specifier[0] === "*" || specifier.split(" as ")[0] === name;

/** The same for a name that was asked for before, as long as no file has changed. */
function textsAsBefore(state: State, name: string, index: Index, ctx: Ctx): Promise<string[]> {
  const others = index.names.filter((file) => !index.entries.has(file));
  const times = others
    .map((file) => tryTo(() => fs.statSync(path.join(state.root, file)).mtimeMs))
    .join();
  const about = [index.version, index.names, JSON.stringify(ctx.permissions.rules), times];
  const earlier = state.said;
  if (earlier?.name === name && about.every((part, i) => part === earlier.about[i]))
    return earlier.rows;
  const rows = textHits(name, index, NONE.covers, ctx);
  state.said = { name, about, rows };
  rows.catch(() => delete state.said);
  return rows;
}

/** Where it stands in files that the index does not know. */
async function textHits(
  name: string,
  { files, names }: Index,
  isKnown: (file: string) => boolean,
  ctx: Ctx,
): Promise<string[]> {
  const knownFiles = new Set(files.filter((file) => SCRIPT.test(file) || isKnown(file)));
  const others = names.filter((file) => !knownFiles.has(file));
  if (!/^[\w$#]+$/.test(name) || !others.length) return [];
  const query = `(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`;
  const glob = globOf(others);
  const { text, failed } = await ctx.call("grep", { query, regex: true, ...(glob && { glob }) });
  if (failed) return [];
  const rows = text
    .split("\n")
    .filter((row) => /^[^":]+:\d+:/.test(row) && !knownFiles.has(row.split(":")[0]!));
  const hasMore = rows.length > MAX_TEXT_HITS || /^\[\d+ more hit/m.test(text);
  return [
    ...rows.slice(0, MAX_TEXT_HITS),
    ...(hasMore && rows.length ? ["[there is more; grep shows all of it]"] : []),
  ];
}

/**
 * Their extensions, so that code is not searched again; undefined if they cannot be told from it.
 */
function globOf(names: string[]): string | undefined {
  const kinds = new Set(
    names.map((name) => /\.[^./]+$/.exec(name)?.[0] ?? name.slice(name.lastIndexOf("/") + 1)),
  );
  const parts = [...kinds].map((ending) => (ending.startsWith(".") ? `*${ending}` : ending));
  const glob = `{${parts.join(",")},}`;
  const isPlain = parts.every((part) => /^[\w.*@+-]+$/.test(part) && !SCRIPT.test(part));
  return isPlain && glob.length < MAX_GLOB_CHARS ? glob : undefined;
}

export async function checkTypes(
  state: State,
  { paths }: { paths: string[] },
  ctx: Ctx,
): Promise<Result> {
  wake(undefined, ctx);
  const index = await freshIndex(state, ctx);
  const files = paths
    .flatMap((givenPath) => filesUnder(index, givenPath, ctx))
    .filter((file) => SCRIPT.test(file));
  if (!files.length)
    throw new Error(
      `Cannot check ${paths.join(", ") || "nothing"}: it is not TypeScript or JavaScript of this project. Name its files.`,
    );
  const ask = (desk: Desk) => checkFiles(desk, files);
  const { problems, unread } = await atDesk(state, index, files[0]!, ctx, ask, (reason) => {
    throw new Error(`Cannot check ${paths.join(", ")}: ${reason}. Run the project's own check.`);
  });
  const rows = problems.map(
    ({ path: file, line, column, code, message, category }) =>
      `${file}:${line}:${column}: ${category} TS${code}: ${message}`,
  );
  const text =
    capRows(rows, MAX_ROWS, "problems") || `No problems in ${plural(files.length, "file")}.`;
  return { text: [text, ...unread, ...olderTypescript(state)].join("\n"), data: problems };
}

/** TypeScript 7 checks more unasked than a project of an older one expects. */
function olderTypescript({ root }: State): string[] {
  const file = path.join(root, "node_modules/typescript/package.json");
  const { version = "" } =
    tryTo(() => JSON.parse(fs.readFileSync(file, "utf8")) as { version?: string }) ?? {};
  return /^[1-6]\.\d+\.\d+$/.test(version)
    ? [
        `[Checked by TypeScript 7; the project has ${version}, which may see less, or more, where tsconfig.json does not say.]`,
      ]
    : [];
}

export async function renameSymbol(
  state: State,
  args: SymbolQuery & { to: string },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const {
    wanted,
    scriptDefinitions: defined,
    others: byName,
    unlistedCount: moreCount,
    users,
    file,
  } = definitionsOf(index, args, ctx);
  const cannot = (reason: string) =>
    new Error(`Cannot rename '${args.symbol}' to '${args.to}': ${reason}`);
  if (state.partial)
    throw cannot("uses in the rest of the code would be missed. Edit each place instead.");
  const [unlike] = byName;
  const byNameOnly = (reason: string) =>
    cannot(
      `${unlike!.path}:${unlike!.line} is known by name alone (${reason}). find_references shows the places; edit each of them.`,
    );
  if (unlike && defined.length) throw byNameOnly("and other code by meaning");
  const about = { path: file, line: args.line };
  const noServer = (reason: string) => {
    if (unlike) throw byNameOnly(reason);
    throw cannot(
      `${reason}, and by name alone it would change too much or too little. Edit each place instead.`,
    );
  };
  const foreign = users.length
    ? await foreignAt(state, index, wanted, users, about, ctx, noServer)
    : undefined;
  const others = byName.map(({ path, line }) => ({ path, line, name: wanted }));
  const definitions = foreign
    ? foreignStart(foreign, wanted, about, cannot)
    : [...defined, ...others];
  if (!definitions.length) throw cannot(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  const [target] = definitions as [SymbolSpot];
  const { edits, knownUses } = await atDesk(
    state,
    index,
    target.path,
    ctx,
    async (desk) => {
      const first =
        definitions.length + moreCount > 1
          ? await usesAtDesk(desk, target)
          : [{ places: definitions }];
      const covered = first.flatMap(({ places }) => places.map(pathAndLine));
      const others = definitions.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
      if (others.length)
        throw cannot(
          `${others.length + moreCount + 1} things are: ${definitions.map(pathAndLine).join(", ")}. Choose one by path and line.`,
        );
      return planRename(desk, target, args.to);
    },
    noServer,
  );
  const unnamed = await unnamedByServer(
    index,
    wanted,
    byName,
    [{ symbol: "", places: knownUses }],
    [],
    ctx,
  );
  if (unnamed.length)
    throw cannot(
      `the language server may not know these yet:\n${unnamed.join("\n")}\nEdit each place instead.`,
    );
  const files = new Set(knownUses.map(({ path }) => path));
  const unsure = await unresolvedUses(state, index, wanted, files, ctx);
  if (unsure.length)
    throw cannot(
      `it would miss places whose imports lead nowhere known:\n${capRows(unsure, MAX_TEXT_HITS, "places")}\nInstall or build what they import, or edit each place.`,
    );
  const isEdited = ({ path, start, end }: CodeUse) =>
    edits.some((edit) => edit.path === path && edit.start <= start && end <= edit.end);
  const missed = foreign?.useGroups[0]?.places.find(
    (use) => isNamed(use, wanted, { path: target.path }) && !isEdited(use),
  );
  if (missed && !args.line)
    throw cannot(
      `2 things are: ${target.path}:${target.line}, ${missed.path}:${missed.line}. Choose one by path and line.`,
    );
  const missedReason = await missedUses(state, index, target, edits, ctx);
  if (missedReason) throw cannot(missedReason);
  await makeEdits(edits, ctx);
  const rows = [...Map.groupBy(edits, (edit) => edit.path)].map(
    ([file, fileEdits]) => `${file}: ${fileEdits.length}`,
  );
  return {
    text: [
      `Renamed '${args.symbol}' to '${args.to}' in ${plural(edits.length, "place")}:`,
      capRows(rows, MAX_ROWS, "files"),
      ...otherThings(index, wanted, edits, ctx),
    ].join("\n"),
    data: edits,
  };
}

async function makeEdits(edits: Edit[], ctx: Ctx): Promise<void> {
  for (const [file, fileEdits] of Map.groupBy(edits, (edit) => edit.path)) {
    const { text } = await ctx.files.read(file);
    await ctx.files.write(file, applyEdits(text, fileEdits));
  }
}

/**
 * Files that have the name and were left as they are, or were not read, so that nobody takes a miss
 * for a whole rename.
 */
function otherThings(index: Index, name: string, edits: Edit[], ctx: Ctx): string[] {
  const unread = index.names.filter((file) => SCRIPT.test(file) && !mayRead(ctx, file));
  const notes = unread.length
    ? [`[Not looked at, since they may not be read: ${listOf(unread)}]`]
    : [];
  const changed = new Set(edits.map(({ path }) => path));
  const others = filesUsing(index, name).filter(
    (file) => SCRIPT.test(file) && !changed.has(file) && mayRead(ctx, file),
  );
  if (!others.length) return notes;
  return [
    `[Left as ${others.length > 1 ? "they are" : "it is"}, since there the name is passed on or means something else: ${listOf(others)}]`,
    ...notes,
  ];
}
const listOf = (files: string[]): string =>
  files.slice(0, MAX_NEAR).join(", ") + (files.length > MAX_NEAR ? " …" : "");

const isNamed = (
  { path, line, start, end, kind: useKind }: CodeUse,
  name: string,
  about: { path: string | undefined; line?: number | undefined },
): boolean =>
  end - start === name.length &&
  useKind !== "comment" &&
  (!about.path || path === about.path) &&
  (!about.line || line === about.line);

/**
 * Where to begin, with a name that the project takes from elsewhere: a rename reaches one file of
 * those that take it.
 */
function foreignStart(
  { useGroups, unsearched }: Uses,
  name: string,
  about: { path: string | undefined; line: number | undefined },
  cannot: (reason: string) => Error,
): SymbolSpot[] {
  const groups = useGroups
    .map(({ places }) => places.filter((use) => isNamed(use, name, about)))
    .filter(([first]) => first);
  const definitions = groups.map(([first]) => ({ path: first!.path, line: first!.line, name }));
  const listed = (places: SymbolSpot[]): string => {
    const rows = places.slice(0, MAX_TEXT_HITS).map(pathAndLine);
    return (
      rows.join(", ") +
      (places.length > rows.length ? ` and ${places.length - rows.length} more` : "")
    );
  };
  if (definitions.length > 1)
    throw cannot(
      `${definitions.length} things are: ${listed(definitions)}. Choose one by path and line.`,
    );
  const files = [...Map.groupBy(groups[0] ?? [], ({ path }) => path)].map(([path, [first]]) => ({
    path,
    line: first!.line,
    name,
  }));
  if (files.length > 1)
    throw cannot(
      `${files.length} files take it from elsewhere: ${listed(files)}. Choose one by path.`,
    );
  if (unsearched && !about.path) throw cannot(`${unsearched}. Choose one by path.`);
  return definitions;
}

/** Why a rename would miss uses that TypeScript does not see; "": it would not. */
async function missedUses(
  state: State,
  index: Index,
  target: { path: string; line: number; name: string },
  edits: { path: string }[],
  ctx: Ctx,
): Promise<string> {
  const inComponents = await usesInComponents(state, index, target, ctx);
  if (inComponents.length)
    return `components and pages use it too, and are not read by meaning:\n${capRows(inComponents, MAX_TEXT_HITS, "places")}\nEdit each place instead.`;
  const editedFiles = new Set(edits.map(({ path: file }) => file));
  const unread = unreadUsers(
    index,
    target.name,
    Boolean(index.facts(target.path)?.global),
    ctx,
  ).filter(({ path }) => !editedFiles.has(path));
  if (!unread.length) return "";
  return `it may be used in ${plural(unread.length, "file")} that ${unread.length > 1 ? "were" : "was"} not read: ${listUnread(unread)}. See with grep, and edit each place instead.`;
}

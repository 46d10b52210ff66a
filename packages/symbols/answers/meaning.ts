// find_references, check_types and rename_symbol, from a language server; where there is none, by
// name.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural, tryTo } from "zz/text";
import { readText } from "../encoding.ts";
import { bestFor, type Found } from "../match.ts";
import { check as checkFiles } from "../meaning/check.ts";
import type { At, Edit, Group, Place } from "../meaning/contract.ts";
import { atDesk, type Desk, wake } from "../meaning/desk.ts";
import { foreignUses } from "../meaning/foreign.ts";
import { references as usesAtDesk } from "../meaning/references.ts";
import { applied, rename as planRename } from "../meaning/rename.ts";
import { type Index, mayRead } from "../project.ts";
import { using } from "../rows.ts";
import { type NamedUses, usesByName } from "./by-name.ts";
import { usesInComponents } from "./components.ts";
import { importGraph } from "./imports.ts";
import {
  capped,
  filesUnder,
  foundIn,
  lastName,
  MAX_ROWS,
  meantBy,
  nameWithPlace,
  placeIn,
  relative,
  SCRIPT,
  takesName,
  whyUnread,
} from "./rows.ts";
import { freshIndex, type State, type SymbolQuery } from "./state.ts";
import { mayUse, named } from "./unread.ts";
import { type Uses, usesOf } from "./uses.ts";

const MAX_DEFINITIONS = 12; // definitions of one name
const MAX_TEXT_HITS = 10;
const MAX_GLOB_CHARS = 900;
const MAX_NEAR = 8; // names that may have been meant
const MAX_SYMBOL_CHARS = 120; // characters
const MAX_PLACE_CHARS = 120; // of the text of a place: a longer line is cut
const LABELLED_KINDS = new Set(["definition", "import", "export", "write"]);

export async function references(
  state: State,
  args: SymbolQuery & { start?: number },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, left, all, users, others } = definitionsOf(index, args, ctx);
  const isOfScripts = (all.length || users.length) && !others.length;
  const early = isOfScripts ? textsAsBefore(state, wanted, index, ctx) : undefined; // meanwhile
  early?.catch(() => {}); // awaited below
  const { found, unlocated, beyond, unnamed, named } = await usesOfAll(state, index, args, ctx);
  const known = new Set(found.flatMap(({ places }) => places.map(({ path: file }) => file)));
  const unsure = named.isScripts ? [] : await unresolvedUses(state, index, wanted, known, ctx);
  const said = await (early ?? textHits(wanted, index, named.covers, ctx));
  const missed = [...(beyond ? [`[${beyond}]`] : []), ...named.missed];
  if (!found.length && !said.length && !unsure.length) {
    const [
      why = `Cannot find a use of '${args.symbol}': no code names it. ${nearestTo(index, wanted, ctx)}`,
      ...more
    ] = unlocated;
    throw new Error([why, ...more.map((one) => `[${one}]`), ...missed].join("\n"));
  }
  const first = Math.max(args.start ?? 1, 1) - 1;
  const { shown, rows } = pageOf(found, first, args.symbol);
  noteShown(shown, ctx);
  if (first) return { text: rows.join("\n"), data: found };
  const elsewhere = said.length ? ["In other files, as text:", ...said] : [];
  const more = left ? [`[${left} more definitions of that name; path and line choose one]`] : [];
  const notes = [...unlocated.map((why) => `[${why}]`), ...missed];
  const maybe = unsure.length
    ? ["Perhaps used here too, by an import that leads nowhere known:", ...unsure]
    : [];
  if (unnamed.length)
    maybe.push("By name alone, where the language server names no use:", ...unnamed);
  const text = [
    ...(named.places.length ? [named.note] : []),
    ...rows,
    ...more,
    ...notes,
    ...maybe,
    ...elsewhere,
  ]
    .filter(Boolean)
    .join("\n");
  return { text, data: found };
}

/** By meaning where a language server knows it, else by name. */
async function usesOfAll(state: State, index: Index, args: SymbolQuery, ctx: Ctx) {
  const { wanted, all, others, users, file } = definitionsOf(index, args, ctx);
  const found: Group[] = [];
  const unlocated: string[] = [];
  const byName: Found[] = [];
  let [beyond, why, failure] = ["", "", ""];
  const ask = async (own: At[], instead: (why: string) => Uses): Promise<void> => {
    const uses = await atDesk(
      ...([state, index, own[0]!.path, ctx] as const),
      (desk) => usesOf(own, (at) => usesAtDesk(desk, at), desk.mayShow),
      instead,
    );
    found.push(...uses.found);
    unlocated.push(...uses.unlocated);
  };
  const byNameSince = (said: string): Uses => {
    why = said;
    return NO_USES;
  };
  if (users.length) {
    const about = { path: file, line: args.line };
    const uses = await foreignAt(state, index, wanted, users, about, ctx, byNameSince);
    found.push(...uses.found);
    beyond = uses.left ?? "";
  } else if (all.length) await ask(all, byNameSince);
  for (const [, own] of Map.groupBy(others, ({ path }) => endOf(path))) {
    const places = own.map(({ path, line }) => ({ path, line, name: wanted }));
    await ask(places, (said) => {
      if (!/not installed|no language server|turned off/.test(said)) failure = said;
      byName.push(...own);
      return NO_USES;
    });
  }
  const unnamed = await unnamedByServer(index, wanted, others, found, byName, ctx);
  const isNowhere = !others.length && !all.length && !users.length;
  const scripts = why ? { why, files: [...all.map(({ path }) => path), ...users] } : undefined;
  const named =
    byName.length || isNowhere || scripts
      ? await usesByName(index, wanted, byName, ctx, failure, scripts)
      : NONE;
  if (named.places.length) found.push({ symbol: `${wanted}, by name`, places: named.places });
  const told = new Set(
    others.filter((one) => !byName.includes(one)).map(({ path }) => endOf(path)),
  );
  const covers = (file: string) => named.covers(file) || told.has(endOf(file));
  return { found, unlocated, beyond, unnamed, named: { ...named, covers, isScripts: !!scripts } };
}

/**
 * Rows of files that have the name, where a server of another language names none: it may not have
 * read them yet.
 */
async function unnamedByServer(
  index: Index,
  name: string,
  defined: Found[],
  found: Group[],
  byName: Found[],
  ctx: Ctx,
): Promise<string[]> {
  const asked = defined.filter((one) => !byName.includes(one));
  if (!asked.length) return [];
  const known = new Set(found.flatMap(({ places }) => places.map(({ path }) => path)));
  const { places } = await usesByName(index, name, asked, ctx);
  return places
    .filter(({ path }) => !known.has(path))
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
  instead: (why: string) => Uses,
): Promise<Uses> {
  const isAsked = ({ path, line }: Place) =>
    (!about.path || path === about.path) && (!about.line || line === about.line);
  const ask = async (desk: Desk): Promise<Uses> => {
    const { groups, left } = await foreignUses(desk, name, users, about.path);
    return { found: groups.filter(({ places }) => places.some(isAsked)), unlocated: [], left };
  };
  return atDesk(state, index, about.path ?? users[0]!, ctx, ask, instead);
}
const NO_USES: Uses = { found: [], unlocated: [] };

const NONE: NamedUses = { places: [], note: "", missed: [], covers: () => false };

/** The places that one answer shows, a line each, and how to ask for the next ones. */
function pageOf(found: { symbol: string; places: Place[] }[], first: number, name: string) {
  const all = found.flatMap(({ symbol, places }) => {
    const byLine = Map.groupBy(places, placeIn);
    const lines = [...byLine.values()].map(
      (own) => own.find(({ kind }) => kind === "definition") ?? own.at(-1)!,
    );
    const group = {
      title: `${symbol.slice(0, MAX_SYMBOL_CHARS)}: ${plural(lines.length, "place")}`,
    };
    return lines.map((place) => ({ ...place, group }));
  });
  if (first && first >= all.length)
    throw new Error(
      `Cannot show the uses of '${name}' from place ${first + 1} on: there are ${all.length}. Begin with an earlier one.`,
    );
  const shown = all.slice(first, first + 2 * MAX_ROWS);
  const rows = shown.flatMap(({ path: file, line, text, kind, group }, i) => {
    const isHeaded = found.length > 1 && group !== shown[i - 1]?.group;
    return [
      ...(isHeaded ? [group.title] : []),
      `${file}:${line}: ${text}${LABELLED_KINDS.has(kind) ? `  [${kind}]` : ""}`,
    ];
  });
  const next = first + shown.length;
  const rest =
    next < all.length
      ? [`[${plural(all.length - next, "more place")}; start: ${next + 1} shows more]`]
      : [];
  return { shown, rows: [...rows, ...rest] };
}

/** The lines of these places count as shown to the model. */
export function noteShown(shown: Place[], ctx: Ctx): void {
  for (const [file, places] of Map.groupBy(shown, ({ path: file }) => file))
    ctx.files.shown(
      file,
      places.filter(({ text }) => text.length < MAX_PLACE_CHARS).map(({ line }) => [line, line]),
    );
}

/** What else may have been meant by a name that nothing has. */
export function nearestTo(index: Index, name: string, ctx: Ctx): string {
  const all = foundIn(index, index.files, ctx).filter(({ kind }) => kind !== "key");
  const { exact, near } = bestFor(name, all);
  const names = [...exact, ...near].slice(0, MAX_NEAR).map(nameWithPlace);
  return names.length ? `Nearest: ${names.join(", ")}.` : "Try grep.";
}

/** The definitions that a name may refer to; if the project has none, the files that use it. */
export function definitionsOf(index: Index, { symbol, path: at, line }: SymbolQuery, ctx: Ctx) {
  const { wanted, files: defining } = meantBy(index, symbol);
  const name = lastName(wanted);
  const file = at && relative(at, ctx);
  if (file && !index.facts(file))
    throw new Error(`Cannot look for '${symbol}' in '${at}': ${whyUnread(index, at, ctx)}`);
  const alike = foundIn(index, defining, ctx)
    .filter((found) => found.kind !== "key" && lastName(found.name) === name)
    .filter((found) => (!file || found.path === file) && (!line || found.line === line));
  const exact = alike.filter((found) => found.name === wanted || found.name.endsWith(`.${wanted}`));
  const made = exact.filter(({ signature }) => !TAKEN.test(signature));
  // what an import is taken apart into is defined elsewhere
  const named = made.length && !line ? made : exact;
  const others = named.filter(({ path }) => !SCRIPT.test(path)); // known by name alone
  if (!named.length && wanted !== name) {
    const others = [...new Set(alike.map(nameWithPlace))].slice(0, 10);
    const next = others.length ? `There are: ${others.join(", ")}.` : nearestTo(index, wanted, ctx);
    throw new Error(`Cannot look for '${symbol}': nothing is named like that. ${next}`);
  }
  const isForeign = exact.every(
    ({ path, signature }) => SCRIPT.test(path) && TAKEN.test(signature),
  );
  const users = isForeign
    ? using(index, name).filter((one) => SCRIPT.test(one) && mayRead(ctx, one))
    : [];
  const places = named
    .filter(({ path }) => SCRIPT.test(path))
    .map(({ path, line }) => ({ path, line, name }));
  return {
    wanted: name,
    all: places.slice(0, MAX_DEFINITIONS),
    others,
    left: Math.max(places.length - MAX_DEFINITIONS, 0),
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
  known: Set<string>,
  ctx: Ctx,
) {
  const users = using(index, name)
    .filter((file) => !known.has(file) && SCRIPT.test(file) && mayRead(ctx, file))
    .map(
      (file) =>
        [
          file,
          {
            imports: index
              .passed(file)
              .imports.filter(({ names }) => names.some((one) => mayTake(one, name))),
          },
        ] as const,
    )
    .filter(([, { imports }]) => imports.length);
  if (!users.length) return [];
  const { imports } = await importGraph(state, index, ctx, users);
  const rows: string[] = [];
  for (const [file, { imports: own }] of users) {
    const doubtful = (imports.get(file) ?? []).flatMap(({ kind, line, spec }, i) => {
      return kind === "missing" ? [{ line, spec, names: own[i]!.names }] : [];
    });
    if (!doubtful.length) continue;
    const { text } = await readText(ctx, file);
    const hit = doubtful.find(({ names }) => names.some((one) => takesName(one, name, text)));
    if (hit) rows.push(`${file}:${hit.line}: from "${hit.spec}"`);
  }
  return rows;
}

const mayTake = (taken: string, name: string): boolean =>
  taken[0] === "*" || taken.split(" as ")[0] === name;

/** The same for a name that was asked for before, as long as no file has changed. */
function textsAsBefore(state: State, name: string, index: Index, ctx: Ctx): Promise<string[]> {
  const others = index.names.filter((file) => !index.entries.has(file));
  const times = others
    .map((file) => tryTo(() => fs.statSync(path.join(state.root, file)).mtimeMs))
    .join();
  const about = [index.version, index.names, JSON.stringify(ctx.permissions.rules), times];
  const known = state.said;
  if (known?.name === name && about.every((one, i) => one === known.about[i])) return known.rows;
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
  const known = new Set(files.filter((file) => SCRIPT.test(file) || isKnown(file)));
  const others = names.filter((file) => !known.has(file));
  if (!/^[\w$#]+$/.test(name) || !others.length) return [];
  const query = `(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`;
  const glob = globOf(others);
  const { text, failed } = await ctx.call("grep", { query, regex: true, ...(glob && { glob }) });
  if (failed) return [];
  const rows = text
    .split("\n")
    .filter((row) => /^[^":]+:\d+:/.test(row) && !known.has(row.split(":")[0]!));
  const more = rows.length > MAX_TEXT_HITS || /^\[\d+ more hit/m.test(text);
  return [
    ...rows.slice(0, MAX_TEXT_HITS),
    ...(more && rows.length ? ["[there is more; grep shows all of it]"] : []),
  ];
}

/**
 * Their extensions, so that code is not searched again; undefined if they cannot be told from it.
 */
function globOf(names: string[]): string | undefined {
  const kinds = new Set(
    names.map((name) => /\.[^./]+$/.exec(name)?.[0] ?? name.slice(name.lastIndexOf("/") + 1)),
  );
  const parts = [...kinds].map((kind) => (kind.startsWith(".") ? `*${kind}` : kind));
  const glob = `{${parts.join(",")},}`;
  const isPlain = parts.every((part) => /^[\w.*@+-]+$/.test(part) && !SCRIPT.test(part));
  return isPlain && glob.length < MAX_GLOB_CHARS ? glob : undefined;
}

export async function check(
  state: State,
  { paths }: { paths: string[] },
  ctx: Ctx,
): Promise<Result> {
  wake(undefined, ctx);
  const index = await freshIndex(state, ctx);
  const files = paths
    .flatMap((one) => filesUnder(index, one, ctx))
    .filter((file) => SCRIPT.test(file));
  if (!files.length)
    throw new Error(
      `Cannot check ${paths.join(", ") || "nothing"}: it is not TypeScript or JavaScript of this project. Name its files.`,
    );
  const ask = (desk: Desk) => checkFiles(desk, files);
  const { problems, unread } = await atDesk(state, index, files[0]!, ctx, ask, (why) => {
    throw new Error(`Cannot check ${paths.join(", ")}: ${why}. Run the project's own check.`);
  });
  const rows = problems.map(
    ({ path: file, line, column, code, message, category }) =>
      `${file}:${line}:${column}: ${category} TS${code}: ${message}`,
  );
  const text =
    capped(rows, MAX_ROWS, "problems") || `No problems in ${plural(files.length, "file")}.`;
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

export async function rename(
  state: State,
  args: SymbolQuery & { to: string },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const {
    wanted,
    all: defined,
    others: byName,
    left: more,
    users,
    file,
  } = definitionsOf(index, args, ctx);
  const cannot = (why: string) =>
    new Error(`Cannot rename '${args.symbol}' to '${args.to}': ${why}`);
  if (state.partial)
    throw cannot("uses in the rest of the code would be missed. Edit each place instead.");
  const [unlike] = byName;
  const byNameOnly = (why: string) =>
    cannot(
      `${unlike!.path}:${unlike!.line} is known by name alone (${why}). find_references shows the places; edit each of them.`,
    );
  if (unlike && defined.length) throw byNameOnly("and other code by meaning");
  const about = { path: file, line: args.line };
  const noServer = (why: string) => {
    if (unlike) throw byNameOnly(why);
    throw cannot(
      `${why}, and by name alone it would change too much or too little. Edit each place instead.`,
    );
  };
  const foreign = users.length
    ? await foreignAt(state, index, wanted, users, about, ctx, noServer)
    : undefined;
  const others = byName.map(({ path, line }) => ({ path, line, name: wanted }));
  const all = foreign ? foreignThing(foreign, wanted, about, cannot) : [...defined, ...others];
  if (!all.length) throw cannot(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  const [at] = all as [At];
  const { edits, known } = await atDesk(
    state,
    index,
    at.path,
    ctx,
    async (desk) => {
      const first = all.length + more > 1 ? await usesAtDesk(desk, at) : [{ places: all }];
      const covered = first.flatMap(({ places }) => places.map(placeIn));
      const others = all.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
      if (others.length)
        throw cannot(
          `${others.length + more + 1} things are: ${all.map(placeIn).join(", ")}. Choose one by path and line.`,
        );
      return planRename(desk, at, args.to);
    },
    noServer,
  );
  const left = await unnamedByServer(
    index,
    wanted,
    byName,
    [{ symbol: "", places: known }],
    [],
    ctx,
  );
  if (left.length)
    throw cannot(
      `the language server may not know these yet:\n${left.join("\n")}\nEdit each place instead.`,
    );
  const files = new Set(known.map(({ path }) => path));
  const unsure = await unresolvedUses(state, index, wanted, files, ctx);
  if (unsure.length)
    throw cannot(
      `it would miss places whose imports lead nowhere known:\n${capped(unsure, MAX_TEXT_HITS, "places")}\nInstall or build what they import, or edit each place.`,
    );
  const isEdited = ({ path, start, end }: Place) =>
    edits.some((edit) => edit.path === path && edit.start <= start && end <= edit.end);
  const missed = foreign?.found[0]?.places.find(
    (one) => isNamed(one, wanted, { path: at.path }) && !isEdited(one),
  );
  if (missed && !args.line)
    throw cannot(
      `2 things are: ${at.path}:${at.line}, ${missed.path}:${missed.line}. Choose one by path and line.`,
    );
  const why = await unseen(state, index, at, edits, ctx);
  if (why) throw cannot(why);
  await makeEdits(edits, ctx);
  const rows = [...Map.groupBy(edits, (edit) => edit.path)].map(
    ([file, own]) => `${file}: ${own.length}`,
  );
  return {
    text: [
      `Renamed '${args.symbol}' to '${args.to}' in ${plural(edits.length, "place")}:`,
      capped(rows, MAX_ROWS, "files"),
      ...otherThings(index, wanted, edits, ctx),
    ].join("\n"),
    data: edits,
  };
}

async function makeEdits(edits: Edit[], ctx: Ctx): Promise<void> {
  for (const [file, own] of Map.groupBy(edits, (edit) => edit.path)) {
    const { text } = await ctx.files.read(file);
    await ctx.files.write(file, applied(text, own));
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
  const others = using(index, name).filter(
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
  { path, line, start, end, kind }: Place,
  name: string,
  about: { path: string | undefined; line?: number | undefined },
): boolean =>
  end - start === name.length &&
  kind !== "comment" &&
  (!about.path || path === about.path) &&
  (!about.line || line === about.line);

/**
 * Where to begin, with a name that the project takes from elsewhere: a rename reaches one file of
 * those that take it.
 */
function foreignThing(
  { found, left }: Uses,
  name: string,
  about: { path: string | undefined; line: number | undefined },
  cannot: (why: string) => Error,
): At[] {
  const groups = found
    .map(({ places }) => places.filter((one) => isNamed(one, name, about)))
    .filter(([first]) => first);
  const all = groups.map(([first]) => ({ path: first!.path, line: first!.line, name }));
  const listed = (places: At[]): string => {
    const rows = places.slice(0, MAX_TEXT_HITS).map(placeIn);
    return (
      rows.join(", ") +
      (places.length > rows.length ? ` and ${places.length - rows.length} more` : "")
    );
  };
  if (all.length > 1)
    throw cannot(`${all.length} things are: ${listed(all)}. Choose one by path and line.`);
  const files = [...Map.groupBy(groups[0] ?? [], ({ path }) => path)].map(([path, [first]]) => ({
    path,
    line: first!.line,
    name,
  }));
  if (files.length > 1)
    throw cannot(
      `${files.length} files take it from elsewhere: ${listed(files)}. Choose one by path.`,
    );
  if (left && !about.path) throw cannot(`${left}. Choose one by path.`);
  return all;
}

/** Why a rename would miss uses that TypeScript does not see; "": it would not. */
async function unseen(
  state: State,
  index: Index,
  at: { path: string; line: number; name: string },
  edits: { path: string }[],
  ctx: Ctx,
): Promise<string> {
  const inComponents = await usesInComponents(state, index, at, ctx);
  if (inComponents.length)
    return `components and pages use it too, and are not read by meaning:\n${capped(inComponents, MAX_TEXT_HITS, "places")}\nEdit each place instead.`;
  const seen = new Set(edits.map(({ path: file }) => file));
  const unread = mayUse(index, at.name, Boolean(index.facts(at.path)?.global), ctx).filter(
    ({ path }) => !seen.has(path),
  );
  if (!unread.length) return "";
  return `it may be used in ${plural(unread.length, "file")} that ${unread.length > 1 ? "were" : "was"} not read: ${named(unread)}. See with grep, and edit each place instead.`;
}

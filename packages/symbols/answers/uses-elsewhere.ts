// Uses that no language server tells: of names that come from outside, by imports that lead nowhere
// known, and where a name stands in other texts.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { tryTo } from "zz/text";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { mayRead } from "../may-read.ts";
import type { CodeUse, Group } from "../meaning/code-uses.ts";
import { atDesk, type Desk } from "../meaning/desk.ts";
import { foreignUses } from "../meaning/foreign.ts";
import { filesUsing } from "../rows.ts";
import { SCRIPT, takesName } from "./answer-rows.ts";
import { type NamedUses, usesByName } from "./by-name.ts";
import { importGraph } from "./list-imports.ts";
import type { State } from "./tool-state.ts";
import type { Uses } from "./uses.ts";

export const MAX_TEXT_HITS = 10;
const MAX_GLOB_CHARS = 900;
/**
 * Rows of files that have the name, where a server of another language names none: it may not have
 * read them yet.
 */
export async function unnamedByServer(
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
export const endOf = (file: string): string | undefined => file.split(".").at(-1);
/** The uses of a name that nothing in the project defines; `about`: only what it means there. */
export async function foreignAt(
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
export const NO_USES: Uses = { useGroups: [], unlocated: [] };
export const NONE: NamedUses = { places: [], note: "", missed: [], covers: () => false };
/**
 * Rows of files that take a thing of that name from where nobody knows, besides those that are
 * known to use it.
 */
export async function unresolvedUses(
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
export function textsAsBefore(
  state: State,
  name: string,
  index: Index,
  ctx: Ctx,
): Promise<string[]> {
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
export async function textHits(
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

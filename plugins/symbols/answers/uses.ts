// The uses of several definitions, each asked for by itself: one that cannot be located does not end the answer.
import type { Ctx } from "zz";
import { plural } from "zz/text";
import { type Index, mayRead } from "../project.ts";
import type { At, Group, Place } from "../refs/contract.ts";
import { NoAnswer } from "../remote.ts";
import type { State } from "./state.ts";

const MAX_FILES = 1_000; // that may hold a name which the project takes from elsewhere

export interface Uses {
  found: Group[]; // one for each thing
  unlocated: string[]; // what could not be told, as sentences
  left?: string; // what was not looked into, as a sentence
}

export async function usesOf(
  all: At[],
  ask: (at: At) => Promise<Group[]>,
  mayShow: (file: string) => boolean,
): Promise<Uses> {
  const found: Group[] = [];
  const unlocated: string[] = [];
  for (const at of all) {
    const isSame = ({ path, line }: Place) => path === at.path && line === at.line;
    if (found.some(({ places }) => places.some(isSame))) continue;
    try {
      const groups = await ask(at); // under another name it is a separate group
      const places = groups.flatMap(({ places }) => places).filter(({ path }) => mayShow(path));
      if (places.length) found.push({ symbol: groups[0]!.symbol, places });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      unlocated.push(error.message);
    }
  }
  return { found, unlocated };
}

/** The uses of a name that nothing in the project defines, in all files that have it; `at`: only what it means there. */
export async function foreignUses(
  { remote }: State,
  index: Index,
  name: string,
  users: string[],
  at: { path: string | undefined; line: number | undefined },
  ctx: Ctx,
  sources: ReadonlyMap<string, string>,
): Promise<Uses> {
  const files = users.toSorted((a, b) => Number(b === at.path) - Number(a === at.path));
  const looked = files.slice(0, MAX_FILES);
  const { groups, left: late } = await remote.ask("named", [name, looked], index, ctx, sources);
  const isAsked = ({ path, line }: Place) => (!at.path || path === at.path) && (!at.line || line === at.line);
  const found = groups
    .map(({ symbol, places }) => ({ symbol, places: places.filter(({ path }) => mayRead(ctx, path)) }))
    .filter(({ places }) => places.some(isAsked));
  const rest = files.length - looked.length + late;
  const left = rest
    ? `Not looked into: ${plural(rest, "more file")} with that name; path begins at one, grep finds all`
    : "";
  return { found, unlocated: [], left };
}

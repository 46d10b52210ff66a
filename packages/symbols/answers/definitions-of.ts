// The definitions that a name may refer to, and what else may have been meant by it.
import type { Ctx } from "zz";
import type { Index } from "../index-view.ts";
import { bestFor } from "../match-names.ts";
import { mayRead } from "../may-read.ts";
import { filesUsing } from "../rows.ts";
import {
  foundIn,
  lastName,
  meantBy,
  nameAndLine,
  relative,
  SCRIPT,
  whyUnread,
} from "./answer-rows.ts";
import type { SymbolQuery } from "./tool-state.ts";

const MAX_DEFINITIONS = 12; // definitions of one name
export const MAX_NEAR = 8; // names that may have been meant
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

// The definitions that a name may refer to, and what else may have been meant by it.
import type { Ctx } from "zz";
import type { Index } from "../index-view.ts";
import { bestFor, type FoundSymbol } from "../match-names.ts";
import { scriptsUsing } from "../may-read.ts";
import type { SymbolSpot } from "../meaning/code-uses.ts";
import {
  foundIn,
  isCode,
  lastName,
  meantBy,
  nameAndLine,
  SCRIPT,
  toProjectPath,
  whyUnread,
} from "./answer-rows.ts";
import type { SymbolQuery } from "./tool-state.ts";

const MAX_DEFINITIONS = 12; // definitions of one name
export const MAX_NEAR = 8; // names that may have been meant
/** What else may have been meant by a name that nothing has. */
export function nearestTo(index: Index, symbolName: string, ctx: Ctx): string {
  const candidates = foundIn(index, index.files, ctx).filter(isCode);
  const { exact, near } = bestFor(symbolName, candidates);
  const nearestNames = [...exact, ...near].slice(0, MAX_NEAR).map(nameAndLine);
  return nearestNames.length ? `Nearest: ${nearestNames.join(", ")}.` : "Try grep.";
}
export const spotsOf = (symbols: FoundSymbol[], name: string): SymbolSpot[] =>
  symbols.map(({ path, line }) => ({ path, line, name }));
/** The definitions that a name may refer to; if the project has none, the files that use it. */
export function definitionsOf(
  index: Index,
  { symbol, path: givenPath, line }: SymbolQuery,
  ctx: Ctx,
) {
  const { wanted, files: defining } = meantBy(index, symbol);
  const name = lastName(wanted);
  const file = givenPath && toProjectPath(givenPath, ctx);
  if (file && !index.facts(file))
    throw new Error(
      `Cannot look for '${symbol}' in '${givenPath}': ${whyUnread(index, givenPath, ctx)}`,
    );
  const candidates = foundIn(index, defining, ctx)
    .filter((candidate) => isCode(candidate) && lastName(candidate.name) === name)
    .filter(
      (candidate) => (!file || candidate.path === file) && (!line || candidate.line === line),
    );
  const exactMatches = candidates.filter(
    (candidate) => candidate.name === wanted || candidate.name.endsWith(`.${wanted}`),
  );
  const declared = exactMatches.filter(({ signature }) => !TAKEN_APART.test(signature));
  // what an import is taken apart into is defined elsewhere
  const definitions = declared.length && !line ? declared : exactMatches;
  const others = definitions.filter(({ path }) => !SCRIPT.test(path)); // known by name alone
  if (!definitions.length && wanted !== name) {
    const otherNames = [...new Set(candidates.map(nameAndLine))].slice(0, 10);
    const advice = otherNames.length
      ? `There are: ${otherNames.join(", ")}.`
      : nearestTo(index, wanted, ctx);
    throw new Error(`Cannot look for '${symbol}': nothing is named like that. ${advice}`);
  }
  const isForeign = exactMatches.every(
    ({ path, signature }) => SCRIPT.test(path) && TAKEN_APART.test(signature),
  );
  const users = isForeign ? scriptsUsing(index, name, ctx) : [];
  const scriptSpots = spotsOf(
    definitions.filter(({ path }) => SCRIPT.test(path)),
    name,
  );
  return {
    wanted: name,
    scriptDefinitions: scriptSpots.slice(0, MAX_DEFINITIONS),
    others,
    unlistedCount: Math.max(scriptSpots.length - MAX_DEFINITIONS, 0),
    users,
    file, // of a name that nothing of the project defines
  };
}
/** `const { a } = await import("x")` */
const TAKEN_APART = /^(?:export )?(?:const|let|var) \{.*\} = (?:await|require)\b/;

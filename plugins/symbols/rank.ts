// The repository map: the files and signatures most relevant to a request, within a budget of tokens. No disk access.
import type { RepoMap, Source, Wish } from "./rank/contract.ts";
import { orderOf } from "./rank/order.ts";
import { pack } from "./rank/pack.ts";
import { surveyOf } from "./rank/survey.ts";

export type { RepoMap, Source, Wish } from "./rank/contract.ts";
export { countTokens } from "./rank/tokens.ts";

export function mapOf(sources: Source[], others: string[], wish: Wish): RepoMap {
  const survey = surveyOf(sources, others, wish);
  return pack(survey, orderOf(survey, wish), wish.tokens);
}

/** The files, most relevant first. */
export function rank(sources: Source[], others: string[], wish: Wish): string[] {
  const survey = surveyOf(sources, others, wish);
  return orderOf(survey, wish).map((doc) => survey.docs[doc]!.path);
}

/** The map with all files in a given order: the benchmark compares with it. */
export function mapInOrder(sources: Source[], others: string[], wish: Wish, paths: string[]): RepoMap {
  const survey = surveyOf(sources, others, wish);
  const places = new Map(survey.docs.map(({ path }, doc) => [path, doc]));
  const order = paths.map((path) => places.get(path)!);
  return pack(survey, order, wish.tokens);
}

// The repository map: the files and signatures most relevant to a request, within a budget of
// tokens. No disk access of its own: the facts of the files that are shown are asked for when they
// are.
import type { MapRequest, OtherFile, RepoMap, Source } from "./rank/map-request.ts";
import { orderOf } from "./rank/order.ts";
import { packMap } from "./rank/pack.ts";
import { type Survey, surveyOf } from "./rank/survey.ts";

export type { MapRequest, OtherFile as Other, RepoMap, Source } from "./rank/map-request.ts";
export { type Survey, surveyOf } from "./rank/survey.ts";
export { countTokens } from "./rank/tokens.ts";

export const mapOf = (sources: Source[], otherFiles: OtherFile[], request: MapRequest): RepoMap =>
  mapFrom(surveyOf(sources, otherFiles), request);

/** What was counted once serves any number of requests. */
export const mapFrom = (survey: Survey, request: MapRequest): RepoMap =>
  packMap(survey, orderOf(survey, request), request);

/** The files, most relevant first. */
export const rank = (sources: Source[], otherFiles: OtherFile[], request: MapRequest): string[] =>
  rankFrom(surveyOf(sources, otherFiles), request);

const rankFrom = (survey: Survey, request: MapRequest) =>
  orderOf(survey, request).docs.map((docIndex) => survey.docs[docIndex]!.path);

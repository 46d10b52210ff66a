// The order of the files: PageRank, starting from what the request is about.
import type { MapRequest } from "./contract.ts";
import { FOCUSED, networkOf, pageRank } from "./network.ts";
import { relevance } from "./relevance.ts";
import { type Doc, type Survey, TEST_SHARE } from "./survey.ts";

/** What the start vector is made of. */
const START_WEIGHTS = { words: 1, seen: 0.5, focus: 4 };
const GENERAL = { damping: 0.85, weight: 0.1 }; // how much a file is used in general
const UNPARSED_SHARE = 0.2; // the weight of a file that is not parsed

/** By how near a file is to what was asked for, then by how much it is used in general. */
export function orderOf(survey: Survey, request: MapRequest): number[] {
  const { docs } = survey;
  const net = networkOf(survey);
  const general = pageRank(net, new Float64Array(docs.map(weightOf)), GENERAL.damping);
  const focused = pageRank(net, startOf(survey, request), FOCUSED.damping);
  const score = general.map((used, doc) => focused[doc]! + GENERAL.weight * used);
  return docs.map((_, doc) => doc).sort((a, b) => score[b]! - score[a]! || a - b);
}

const weightOf = ({ facts, isTest }: Doc): number => (facts ? 1 : UNPARSED_SHARE) * (isTest ? TEST_SHARE : 1);

/** The start vector: what the request names, what the conversation touched, and what is in focus. */
function startOf(survey: Survey, { query = "", focus = [], seen = [] }: MapRequest): Float64Array {
  const { docs } = survey;
  const start = new Float64Array(docs.length);
  const touched = new Map(seen.map(({ path, edited }) => [path, edited ? 2 : 1]));
  addShare(relevance(survey, query), START_WEIGHTS.words);
  addShare(new Float64Array(docs.map(({ path }) => touched.get(path) ?? 0)), START_WEIGHTS.seen);
  const inFocus = focus.map((one) => one.trim().replace(/^\.\/|\/+$|\(\)$/g, ""));
  addShare(
    new Float64Array(docs.map((doc) => (inFocus.some((one) => matchesFocus(doc, one)) ? 1 : 0))),
    START_WEIGHTS.focus,
  );
  return start;

  function addShare(amounts: Float64Array, share: number): void {
    const sum = amounts.reduce((a, b) => a + b, 0);
    if (sum) for (let doc = 0; doc < start.length; doc++) start[doc]! += (share * amounts[doc]!) / sum;
  }
}

function matchesFocus({ path, facts }: Doc, wanted: string): boolean {
  if (path === wanted || path.startsWith(`${wanted}/`) || path.endsWith(`/${wanted}`)) return true;
  const parts = wanted.split(".");
  const [name, owner] = [parts.at(-1), parts.slice(0, -1).join(".")];
  return facts?.symbols.some((sym) => sym.name === name && (!owner || sym.owner === owner)) ?? false;
}

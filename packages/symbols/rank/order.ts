// The order of the files. With a query, by the sum of what speaks for each (see weights.ts);
// without one by PageRank over who uses whom, starting from what the conversation touched and what
// is in focus.
import { keyOf } from "../scan/word-bag.ts";
import type { MapRequest, Reason } from "./map-request.ts";
import { FOCUSED, pageRank } from "./network.ts";
import { combinedScore, type Signals, signalsOf, termsOf } from "./signals.ts";
import type { Doc, Survey } from "./survey.ts";
import { REASONS, ROLE_SCORES, SIGNALS, WEIGHTS } from "./weights.ts";

/** What the start vector is made of, where there is no query. */
const START_WEIGHTS = { seen: 0.5, focus: 4 };
const GENERAL = { damping: 0.85, weight: 0.1 }; // how much a file is used in general
const PLAIN_SHARES: Record<Doc["role"], number> = {
  code: 1,
  test: 0.6,
  aside: 0.6,
  other: 0.2,
  made: 0,
};
/**
 * With a query, on the scale of the weights: what is named as a whole comes before what has all of
 * its words.
 */
const NAMED = { focus: 40, path: 20, edited: 1.5, read: 0.75 };
// how much a file is used in general decides between those for which the same speaks
const TIE = 0.01;
const MIN_SHARE = 0.15; // of a file's score, from which on `why` tells of a reason
const MAX_PATHS = 64; // in a query

export interface Order {
  docs: number[]; // what may be shown, best first
  reasonsOf(doc: number): Reason[];
}

export function orderOf(survey: Survey, request: MapRequest): Order {
  const { docs } = survey;
  const { query = "", focus = [], seen: seenFiles = [] } = request;
  const touched = new Map(seenFiles.map(({ path, edited }) => [path, edited ? 2 : 1]));
  const focused = focusOf(survey, focus);
  const paths = namedPaths(docs, query);
  const isAsked = (doc: number) => focused.has(doc) || paths.has(doc);
  const shown = [...docs.keys()].filter((doc) => docs[doc]!.role !== "made" || isAsked(doc));
  const net = survey.net;
  survey.general ??= pageRank(
    net,
    new Float64Array(docs.map((doc) => PLAIN_SHARES[doc.role])),
    GENERAL.damping,
  );
  const { general } = survey;
  const signals = query.trim() ? signalsOf(survey, query, request.history) : undefined;
  const score = signals ? withQuery(signals) : scoreWithoutQuery(survey, general, touched, focused);
  return { docs: shown.sort((a, b) => score[b]! - score[a]! || a - b), reasonsOf };

  function withQuery(signals: Signals): Float64Array {
    const score = combinedScore(signals);
    const terms = new Set(termsOf(query));
    const isAboutTests = /\b(?:tests?|testing|tested|specs?|fixtures?)\b/i.test(query);
    const highest = general.reduce((a, b) => Math.max(a, b), 0) || 1;
    for (const [doc, { path, role, ownWords }] of docs.entries()) {
      const isOwn = ownWords.length > 0 && ownWords.every((word) => terms.has(word));
      const isMeantAside = role === "aside" ? isAboutTests || isOwn : isOwn;
      const isMeant = role === "test" ? isAboutTests : isMeantAside;
      const touch = touched.get(path);
      const readBonus = touch ? NAMED.read : 0;
      score[doc]! += isMeant ? 0 : ROLE_SCORES[role];
      score[doc]! += (paths.get(doc) ?? 0) * NAMED.path + (focused.has(doc) ? NAMED.focus : 0);
      score[doc]! += (touch === 2 ? NAMED.edited : readBonus) + (TIE * general[doc]!) / highest;
    }
    return score;
  }

  function reasonsOf(doc: number): Reason[] {
    const parts = new Map<Reason, number>();
    const add = (reason: Reason, value: number) =>
      void (value > 0 && parts.set(reason, (parts.get(reason) ?? 0) + value));
    for (const name of SIGNALS)
      if (signals) add(REASONS[name], WEIGHTS[name] * signals[name][doc]!);
    const total = [...parts].reduce((sum, [, value]) => sum + value, 0);
    const leading = [...parts]
      .filter(([, value]) => value >= MIN_SHARE * total)
      .sort(([, a], [, b]) => b - a);
    const asked: Reason[] = [];
    if (focused.has(doc)) asked.push("focus");
    if (paths.has(doc) && !leading.some(([reason]) => reason === "path")) asked.push("path");
    const reasons = [...asked, ...leading.map(([reason]) => reason)];
    if (touched.has(docs[doc]!.path)) reasons.push("seen");
    return reasons.length ? reasons : ["uses"];
  }
}

function scoreWithoutQuery(
  { docs, net }: Survey,
  general: Float64Array,
  touched: ReadonlyMap<string, number>,
  focused: ReadonlySet<number>,
): Float64Array {
  const start = new Float64Array(docs.length);
  addShare(
    start,
    new Float64Array(docs.map(({ path }) => touched.get(path) ?? 0)),
    START_WEIGHTS.seen,
  );
  addShare(
    start,
    new Float64Array(docs.map((_, doc) => (focused.has(doc) ? 1 : 0))),
    START_WEIGHTS.focus,
  );
  const near = pageRank(net, start, FOCUSED.damping);
  return general.map((used, doc) => near[doc]! + GENERAL.weight * used);
}

function addShare(start: Float64Array, amounts: Float64Array, share: number): void {
  const sum = amounts.reduce((a, b) => a + b, 0);
  if (sum)
    for (let doc = 0; doc < start.length; doc++) start[doc]! += (share * amounts[doc]!) / sum;
}

/**
 * The files that are named as paths; the fewer there are of such a path, the more each is meant.
 */
function namedPaths(docs: Doc[], query: string): Map<number, number> {
  const named = new Map<number, number>();
  for (const path of pathsIn(query)) {
    const matches = ({ path: docPath }: Doc) =>
      `/${docPath}`.endsWith(`/${path}`) || docPath.startsWith(`${path}/`);
    const meant = [...docs.keys()].filter((doc) => matches(docs[doc]!));
    for (const doc of meant) named.set(doc, (named.get(doc) ?? 0) + 1 / Math.sqrt(meant.length));
  }
  return named;
}
const pathsIn = (query: string): string[] =>
  [...new Set(query.match(/[\w@$./-]+/g)?.map((token) => token.replace(/^\.*\/|[./-]+$/g, "")))]
    .filter((token) => /[/.]/.test(token))
    .slice(0, MAX_PATHS);

function focusOf({ docs }: Survey, focus: string[]): Set<number> {
  const focusedDocs = new Set<number>();
  for (const focusName of focus) {
    const wanted = focusName.trim().replace(/^\.\/|\/+$|\(\)$/g, "");
    const parts = wanted.split(".");
    const [name, owner] = [parts.at(-1)!, parts.slice(0, -1).join(".")];
    const key = keyOf(name);
    for (const [doc, { path, source, names }] of docs.entries()) {
      if (path === wanted || path.startsWith(`${wanted}/`) || path.endsWith(`/${wanted}`))
        focusedDocs.add(doc);
      else if (names.some((declaredName) => declaredName.key === key)) {
        const has = source?.facts.symbols.some(
          (sym) => sym.name === name && (!owner || sym.owner === owner),
        );
        if (has) focusedDocs.add(doc);
      }
    }
  }
  return focusedDocs;
}

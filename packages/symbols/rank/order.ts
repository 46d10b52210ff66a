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
const NAMED_BONUS = { focus: 40, path: 20, read: 0.75 }; // edited: twice as much as read
// how much a file is used in general decides between those for which the same speaks
const TIE_WEIGHT = 0.01;
const MIN_SHARE = 0.15; // of a file's score, from which on `why` tells of a reason
const MAX_PATHS = 64; // in a query

export interface Order {
  docs: number[]; // what may be shown, best first
  reasonsOf(docIndex: number): Reason[];
}

export function orderOf(survey: Survey, request: MapRequest): Order {
  const { docs } = survey;
  const { query = "", focus = [], seen: seenFiles = [] } = request;
  const touched = new Map(seenFiles.map(({ path, edited }) => [path, edited ? 2 : 1]));
  const focused = focusOf(survey, focus);
  const paths = namedPaths(docs, query);
  const isAsked = (doc: number) => focused.has(doc) || paths.has(doc);
  const shownDocs = [...docs.keys()].filter((doc) => docs[doc]!.role !== "made" || isAsked(doc));
  const network = survey.net;
  survey.general ??= pageRank(
    network,
    new Float64Array(docs.map((doc) => PLAIN_SHARES[doc.role])),
    GENERAL.damping,
  );
  const { general } = survey;
  const signals = query.trim() ? signalsOf(survey, query, request.history) : undefined;
  const docScores = signals
    ? withQuery(signals)
    : scoreWithoutQuery(survey, general, touched, focused);
  return { docs: shownDocs.sort((a, b) => docScores[b]! - docScores[a]! || a - b), reasonsOf };

  function withQuery(signals: Signals): Float64Array {
    const score = combinedScore(signals);
    const queryTerms = new Set(termsOf(query));
    const isAboutTests = /\b(?:tests?|testing|tested|specs?|fixtures?)\b/i.test(query);
    const highest = general.reduce((a, b) => Math.max(a, b), 0) || 1;
    for (const [doc, { path, role, ownWords }] of docs.entries()) {
      const isNamed = ownWords.length > 0 && ownWords.every((ownWord) => queryTerms.has(ownWord));
      const isMeant =
        (isNamed && role !== "test") || (isAboutTests && (role === "test" || role === "aside"));
      score[doc]! += isMeant ? 0 : ROLE_SCORES[role];
      score[doc]! +=
        (paths.get(doc) ?? 0) * NAMED_BONUS.path + (focused.has(doc) ? NAMED_BONUS.focus : 0);
      score[doc]! +=
        NAMED_BONUS.read * (touched.get(path) ?? 0) + (TIE_WEIGHT * general[doc]!) / highest;
    }
    return score;
  }

  function reasonsOf(doc: number): Reason[] {
    const parts = new Map<Reason, number>();
    const addReason = (reason: Reason, value: number) =>
      void (value > 0 && parts.set(reason, (parts.get(reason) ?? 0) + value));
    for (const name of SIGNALS)
      if (signals) addReason(REASONS[name], WEIGHTS[name] * signals[name][doc]!);
    const total = [...parts].reduce((sum, [, value]) => sum + value, 0);
    const leading = [...parts]
      .filter(([, value]) => value >= MIN_SHARE * total)
      .sort(([, first], [, second]) => second - first);
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
  const startVector = new Float64Array(docs.length);
  addShare(
    startVector,
    new Float64Array(docs.map(({ path }) => touched.get(path) ?? 0)),
    START_WEIGHTS.seen,
  );
  addShare(
    startVector,
    new Float64Array(docs.map((_, docIndex) => (focused.has(docIndex) ? 1 : 0))),
    START_WEIGHTS.focus,
  );
  const nearRanks = pageRank(net, startVector, FOCUSED.damping);
  return general.map(
    (generalRank, docIndex) => nearRanks[docIndex]! + GENERAL.weight * generalRank,
  );
}

function addShare(startVector: Float64Array, amounts: Float64Array, share: number): void {
  const totalAmount = amounts.reduce((a, b) => a + b, 0);
  if (totalAmount)
    for (let doc = 0; doc < startVector.length; doc++)
      startVector[doc]! += (share * amounts[doc]!) / totalAmount;
}

/**
 * The files that are named as paths; the fewer there are of such a path, the more each is meant.
 */
function namedPaths(docs: Doc[], query: string): Map<number, number> {
  const namedDocs = new Map<number, number>();
  for (const namedPath of pathsIn(query)) {
    const matches = ({ path: docPath }: Doc) =>
      `/${docPath}`.endsWith(`/${namedPath}`) || docPath.startsWith(`${namedPath}/`);
    const matchingDocs = [...docs.keys()].filter((docIndex) => matches(docs[docIndex]!));
    for (const docIndex of matchingDocs)
      namedDocs.set(docIndex, (namedDocs.get(docIndex) ?? 0) + 1 / Math.sqrt(matchingDocs.length));
  }
  return namedDocs;
}
const pathsIn = (query: string) =>
  [...new Set(query.match(/[\w@$./-]+/g)?.map((token) => token.replace(/^\.*\/|[./-]+$/g, "")))]
    .filter((token) => /[/.]/.test(token))
    .slice(0, MAX_PATHS);

function focusOf({ docs }: Survey, focusNames: string[]): Set<number> {
  const focusedDocs = new Set<number>();
  for (const focusName of focusNames) {
    const wantedName = focusName.trim().replace(/^\.\/|\/+$|\(\)$/g, "");
    const nameParts = wantedName.split(".");
    const [symbolName, ownerName] = [nameParts.at(-1)!, nameParts.slice(0, -1).join(".")];
    const nameKey = keyOf(symbolName);
    for (const [docIndex, { path, source, names }] of docs.entries()) {
      if (
        path === wantedName ||
        path.startsWith(`${wantedName}/`) ||
        path.endsWith(`/${wantedName}`)
      )
        focusedDocs.add(docIndex);
      else if (names.some((declaredName) => declaredName.key === nameKey)) {
        const hasSymbol = source?.facts.symbols.some(
          (declaredSymbol) =>
            declaredSymbol.name === symbolName &&
            (!ownerName || declaredSymbol.owner === ownerName),
        );
        if (hasSymbol) focusedDocs.add(docIndex);
      }
    }
  }
  return focusedDocs;
}

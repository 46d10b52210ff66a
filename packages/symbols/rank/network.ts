// Which file uses which, as a weighted graph, and PageRank over it.
import type { Facts } from "../scan/facts.ts";
import { eachUse } from "../scan/uses.ts";
import type { Doc, Use } from "./survey.ts";

/** Of each file, in both directions. */
export type Network = { to: number[]; share: number[] }[]; // share: of the file's weight
// near what was asked for, by what it uses and by what uses it
export const FOCUSED = { damping: 0.25, backward: 0.4 };
/** An import by itself; a use without an import; names that more files define say nothing. */
const EDGE_RULES = { imported: 0.5, elsewhere: 0.1, definers: 50, guessed: 4 };

/** Who uses whose symbols, those that it imports first. */
export function networkOf(
  docs: Doc[],
  factsOfDocs: (Facts | undefined)[],
  usesByName: ReadonlyMap<string, Use>,
): Network {
  const reexports = factsOfDocs.map(
    (docFacts) => docFacts?.exports.some(({ from }) => from) ?? false,
  );
  const reachedBy = new Int32Array(docs.length).fill(-1); // the last file that reached it
  const network: Network = docs.map(() => ({ to: [], share: [] }));
  for (const [docIndex, { imports }] of docs.entries()) {
    const weights = new Map<number, number>();
    const addWeight = (targetDoc: number, weight: number) =>
      void weights.set(targetDoc, (weights.get(targetDoc) ?? 0) + weight);
    for (const importedDoc of imports) addWeight(importedDoc, EDGE_RULES.imported);
    markReachable(docIndex, imports);
    eachUse(factsOfDocs[docIndex]?.uses ?? "", (usedName, useCount) => {
      const { definers = [], users = 1 } = usesByName.get(usedName) ?? {};
      const { length } = definers;
      if (!useCount || !length || length > EDGE_RULES.definers || definers.includes(docIndex))
        return;
      const nearDefiners = definers.filter((definer) => reachedBy[definer] === docIndex);
      if (!nearDefiners.length && length > EDGE_RULES.guessed) return;
      const useWeight = Math.sqrt(useCount) * Math.log(1 + docs.length / users);
      const definerShare = nearDefiners.length
        ? useWeight / nearDefiners.length
        : (EDGE_RULES.elsewhere * useWeight) / length;
      for (const definer of nearDefiners.length ? nearDefiners : definers)
        addWeight(definer, definerShare);
    });
    for (const [targetDoc, edgeWeight] of weights) {
      addEdge(docIndex, targetDoc, edgeWeight);
      addEdge(targetDoc, docIndex, edgeWeight * FOCUSED.backward);
    }
  }
  for (const { share } of network) {
    const totalShare = share.reduce((a, b) => a + b, 0);
    for (let index = 0; index < share.length; index++) share[index]! /= totalShare;
  }
  return network;

  function addEdge(sourceDoc: number, targetDoc: number, edgeWeight: number): void {
    network[sourceDoc]!.to.push(targetDoc);
    network[sourceDoc]!.share.push(edgeWeight);
  }

  /** What a file imports, and what that re-exports. */
  function markReachable(docIndex: number, imports: number[]): void {
    const pending = [...imports];
    for (let reachedDoc = pending.pop(); reachedDoc !== undefined; reachedDoc = pending.pop()) {
      if (reachedBy[reachedDoc] === docIndex) continue;
      reachedBy[reachedDoc] = docIndex;
      if (reexports[reachedDoc]) pending.push(...docs[reachedDoc]!.imports);
    }
  }
}

/** PageRank, starting from `start`. */
export function pageRank(network: Network, start: Float64Array, damping: number): Float64Array {
  const total = start.reduce((a, b) => a + b, 0);
  if (!total) return start;
  const startRanks = start.map((amount) => amount / total);
  let ranks = startRanks;
  for (let round = 0; round < 50; round++) {
    const nextRanks = new Float64Array(ranks.length);
    let [lostRank, change] = [0, 0];
    for (let doc = 0; doc < ranks.length; doc++) {
      const { to, share } = network[doc]!;
      const passedRank = damping * ranks[doc]!;
      if (!to.length) lostRank += passedRank;
      for (let index = 0; index < to.length; index++)
        nextRanks[to[index]!]! += passedRank * share[index]!;
    }
    for (let doc = 0; doc < ranks.length; doc++) {
      nextRanks[doc]! += (1 - damping + lostRank) * startRanks[doc]!;
      change += Math.abs(nextRanks[doc]! - ranks[doc]!);
    }
    ranks = nextRanks;
    if (change < 1e-5) break;
  }
  return ranks;
}

// Which file uses which, as a weighted graph, and PageRank over it.
import type { Facts } from "../scan/facts.ts";
import { eachUse } from "../scan/uses.ts";
import type { Doc, Use } from "./survey.ts";

/** Of each file, in both directions. */
export type Network = { to: number[]; share: number[] }[]; // share: of the file's weight
// near what was asked for, by what it uses and by what uses it
export const FOCUSED = { damping: 0.25, backward: 0.4 };
/** An import by itself; a use without an import; names that more files define say nothing. */
const EDGE = { imported: 0.5, elsewhere: 0.1, definers: 50, guessed: 4 };

/** Who uses whose symbols, those that it imports first. */
export function networkOf(
  docs: Doc[],
  factsOfDocs: (Facts | undefined)[],
  uses: ReadonlyMap<string, Use>,
): Network {
  const reexports = factsOfDocs.map((facts) => facts?.exports.some(({ from }) => from) ?? false);
  const reachedBy = new Int32Array(docs.length).fill(-1); // the last file that reached it
  const edges: Network = docs.map(() => ({ to: [], share: [] }));
  for (const [doc, { imports }] of docs.entries()) {
    const weights = new Map<number, number>();
    const add = (to: number, weight: number) =>
      void weights.set(to, (weights.get(to) ?? 0) + weight);
    for (const to of imports) add(to, EDGE.imported);
    markReachable(doc, imports);
    eachUse(factsOfDocs[doc]?.uses ?? "", (name, count) => {
      const { definers = [], users = 1 } = uses.get(name) ?? {};
      const { length } = definers;
      if (!count || !length || length > EDGE.definers || definers.includes(doc)) return;
      const near = definers.filter((definer) => reachedBy[definer] === doc);
      if (!near.length && length > EDGE.guessed) return;
      const weight = Math.sqrt(count) * Math.log(1 + docs.length / users);
      const share = near.length ? weight / near.length : (EDGE.elsewhere * weight) / length;
      for (const to of near.length ? near : definers) add(to, share);
    });
    for (const [to, weight] of weights) {
      link(doc, to, weight);
      link(to, doc, weight * FOCUSED.backward);
    }
  }
  for (const { share } of edges) {
    const sum = share.reduce((a, b) => a + b, 0);
    for (let index = 0; index < share.length; index++) share[index]! /= sum;
  }
  return edges;

  function link(from: number, to: number, weight: number): void {
    edges[from]!.to.push(to);
    edges[from]!.share.push(weight);
  }

  /** What a file imports, and what that re-exports. */
  function markReachable(doc: number, imports: number[]): void {
    const pending = [...imports];
    for (let to = pending.pop(); to !== undefined; to = pending.pop()) {
      if (reachedBy[to] === doc) continue;
      reachedBy[to] = doc;
      if (reexports[to]) pending.push(...docs[to]!.imports);
    }
  }
}

/** PageRank, starting from `start`. */
export function pageRank(net: Network, start: Float64Array, damping: number): Float64Array {
  const sum = start.reduce((a, b) => a + b, 0);
  if (!sum) return start;
  const first = start.map((x) => x / sum);
  let ranks = first;
  for (let round = 0; round < 50; round++) {
    const next = new Float64Array(ranks.length);
    let [lost, change] = [0, 0];
    for (let doc = 0; doc < ranks.length; doc++) {
      const { to, share } = net[doc]!;
      const weight = damping * ranks[doc]!;
      if (!to.length) lost += weight;
      for (let index = 0; index < to.length; index++) next[to[index]!]! += weight * share[index]!;
    }
    for (let doc = 0; doc < ranks.length; doc++) {
      next[doc]! += (1 - damping + lost) * first[doc]!;
      change += Math.abs(next[doc]! - ranks[doc]!);
    }
    ranks = next;
    if (change < 1e-5) break;
  }
  return ranks;
}

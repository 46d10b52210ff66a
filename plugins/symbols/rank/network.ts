// Which file uses which, as a weighted graph, and PageRank over it.
import type { Facts } from "../scan/facts.ts";
import { eachUse } from "../scan/uses.ts";
import type { Doc, Use } from "./survey.ts";

export interface Network {
  edgeStart: Int32Array; // where each file's edges begin
  to: Int32Array;
  share: Float64Array; // of the file's weight
}
export const FOCUSED = { damping: 0.25, backward: 0.4 }; // near what was asked for, by what it uses and by what uses it
/** An import by itself; a use without an import; names that more files define say nothing. */
const EDGE = { imported: 0.5, elsewhere: 0.1, definers: 50, guessed: 4 };

/** Who uses whose symbols, those that it imports first. */
export function networkOf(docs: Doc[], known: (Facts | undefined)[], uses: ReadonlyMap<string, Use>): Network {
  const reexports = known.map((facts) => facts?.exports.some(({ from }) => from) ?? false);
  const reachedBy = new Int32Array(docs.length).fill(-1); // the last file that reached it
  const found = { from: [] as number[], to: [] as number[], weight: [] as number[] };
  for (const [doc, { imports }] of docs.entries()) {
    const weights = new Map<number, number>();
    const add = (to: number, weight: number) => void weights.set(to, (weights.get(to) ?? 0) + weight);
    for (const to of imports) add(to, EDGE.imported);
    markReachable(doc, imports);
    eachUse(known[doc]?.uses ?? "", (name, count) => {
      const { definers = [], users = 1 } = uses.get(name) ?? {};
      const { length } = definers;
      if (!count || !length || length > EDGE.definers || definers.includes(doc)) return;
      const near = definers.filter((one) => reachedBy[one] === doc);
      if (!near.length && length > EDGE.guessed) return;
      const weight = Math.sqrt(count) * Math.log(1 + docs.length / users);
      const share = near.length ? weight / near.length : (EDGE.elsewhere * weight) / length;
      for (const to of near.length ? near : definers) add(to, share);
    });
    for (const [to, weight] of weights) {
      found.from.push(doc);
      found.to.push(to);
      found.weight.push(weight);
    }
  }
  return normalized(docs.length, found);

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

/** Edges in both directions, backward ones lighter; each file's weights sum to one. */
function normalized(many: number, { from, to, weight }: { from: number[]; to: number[]; weight: number[] }): Network {
  const edgeStart = new Int32Array(many + 1);
  const sums = new Float64Array(many);
  for (let edge = 0; edge < from.length; edge++) {
    const one = from[edge]!;
    const other = to[edge]!;
    edgeStart[one + 1]!++;
    edgeStart[other + 1]!++;
    sums[one]! += weight[edge]!;
    sums[other]! += weight[edge]! * FOCUSED.backward;
  }
  for (let doc = 0; doc < many; doc++) edgeStart[doc + 1]! += edgeStart[doc]!;
  const next = edgeStart.slice();
  const net = { edgeStart, to: new Int32Array(2 * from.length), share: new Float64Array(2 * from.length) };
  for (let edge = 0; edge < from.length; edge++) {
    put(from[edge]!, to[edge]!, weight[edge]!);
    put(to[edge]!, from[edge]!, weight[edge]! * FOCUSED.backward);
  }
  return net;

  function put(one: number, other: number, weight: number): void {
    const place = next[one]!++;
    net.to[place] = other;
    net.share[place] = weight / sums[one]!;
  }
}

/** PageRank, starting from `start`. */
export function pageRank({ edgeStart, to, share }: Network, start: Float64Array, damping: number): Float64Array {
  const sum = start.reduce((a, b) => a + b, 0);
  if (!sum) return start;
  const first = start.map((x) => x / sum);
  let now = first;
  for (let round = 0; round < 50; round++) {
    const next = new Float64Array(now.length);
    let [lost, change] = [0, 0];
    for (let doc = 0; doc < now.length; doc++) {
      const end = edgeStart[doc + 1]!;
      const weight = damping * now[doc]!;
      if (edgeStart[doc] === end) lost += weight;
      for (let at = edgeStart[doc]!; at < end; at++) next[to[at]!]! += weight * share[at]!;
    }
    for (let doc = 0; doc < now.length; doc++) {
      next[doc]! += (1 - damping + lost) * first[doc]!;
      change += Math.abs(next[doc]! - now[doc]!);
    }
    now = next;
    if (change < 1e-5) break;
  }
  return now;
}

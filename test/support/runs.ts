// How much of a long table or of a random property a run looks at: `npm test` some,
// `npm run test:all` more, `npm run fuzz` what ZZ_RUNS says.
import { test } from "node:test";

export const isAll = process.env.ZZ_ALL === "1";

/** A test of what few people meet: only in `npm run test:all`. */
export const rare: typeof test = isAll ? test : (((): void => {}) as never);

/** How many runs of a random property. */
export const runs = (some: number, all: number): number =>
  Number(process.env.ZZ_RUNS) || (isAll ? all : some);

/** The rows of a long table: all of them in `npm run test:all`, every nth in `npm test`. */
export const some = <Row>(rows: readonly Row[], every: number): Row[] =>
  rows.filter((_, i) => isAll || i % every === 0);

/** Fixed, so that each run is like the one before. `npm run fuzz` takes random ones and prints
 * them; a case that it finds becomes a row. */
export const SEED = Number(process.env.ZZ_SEED ?? 1);

/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

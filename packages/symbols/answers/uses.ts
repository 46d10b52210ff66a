// The uses of several definitions, each asked for by itself: one that cannot be located does not
// end the answer.
import type { At, Group, Place } from "../meaning/contract.ts";
import { NoAnswer } from "../meaning/desk.ts";

export interface Uses {
  found: Group[]; // one for each thing
  unlocated: string[]; // what could not be told, as sentences
  left?: string; // what was not looked into, as a sentence
}

export async function usesOf(
  all: At[],
  ask: (at: At) => Promise<Group[]>,
  mayShow: (file: string) => boolean,
): Promise<Uses> {
  const found: Group[] = [];
  const unlocated: string[] = [];
  for (const at of all) {
    const isSame = ({ path, line }: Place) => path === at.path && line === at.line;
    if (found.some(({ places }) => places.some(isSame))) continue;
    try {
      const groups = await ask(at); // under another name it is a separate group
      const places = groups.flatMap(({ places }) => places).filter(({ path }) => mayShow(path));
      if (places.length) found.push({ symbol: groups[0]!.symbol, places });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      unlocated.push(error.message);
    }
  }
  return { found, unlocated };
}

// The uses of several definitions, each asked for by itself: one that cannot be located does not
// end the answer.
import type { CodeUse, Group, SymbolSpot } from "../meaning/code-uses.ts";
import { NoAnswer } from "../meaning/desk.ts";

export interface Uses {
  useGroups: Group[]; // one for each thing
  unlocated: string[]; // what could not be told, as sentences
  unsearched?: string; // what was not looked into, as a sentence
}

export async function usesOf(
  definitions: SymbolSpot[],
  askForUses: (targetSpot: SymbolSpot) => Promise<Group[]>,
  mayShow: (filePath: string) => boolean,
): Promise<Uses> {
  const useGroups: Group[] = [];
  const unlocated: string[] = [];
  for (const definition of definitions) {
    const isDefinition = ({ path, line }: CodeUse) =>
      path === definition.path && line === definition.line;
    if (useGroups.some(({ places }) => places.some(isDefinition))) continue;
    try {
      // under another name it is a separate group
      const answerGroups = await askForUses(definition);
      const places = answerGroups
        .flatMap(({ places }) => places)
        .filter(({ path }) => mayShow(path));
      if (places.length) useGroups.push({ symbol: answerGroups[0]!.symbol, places });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      unlocated.push(error.message);
    }
  }
  return { useGroups, unlocated };
}

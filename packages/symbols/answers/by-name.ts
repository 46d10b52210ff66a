// References where no language server tells what a name means: by name.
import type { ts } from "ts-morph";
import type { Ctx } from "zz";
import { plural } from "zz/text";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { mayRead } from "../may-read.ts";
import type { CodeUse } from "../meaning/code-uses.ts";
import { filesUsing } from "../rows.ts";
import { bothSides } from "../scan/conflict.ts";
import { type Facts, MAX_TEXT_CHARS } from "../scan/facts.ts";
import { lineStarts, type NamePosition, positionAt } from "../scan/line-numbers.ts";
import { SCRIPT } from "./answer-rows.ts";

const MAX_FILES = 300; // that are searched
/** Languages that use one another's things. */
const TOGETHER = [
  ["C", "C++"],
  ["Java", "Kotlin"],
  ["HTML", "CSS", "Vue", "Svelte"],
];

export interface NamedUses {
  places: CodeUse[];
  note: string; // that it is by name
  missed: string[]; // what was not looked into
  covers(filePath: string): boolean; // whether such a file would have been found, if it used it
}

/**
 * The uses of what these definitions define; without any, of what has the name in any other
 * language.
 */
export async function usesByName(
  index: Index,
  name: string,
  defined: FoundSymbol[],
  ctx: Ctx,
  failure = "", // of a language server
  scripts?: { why: string; files: string[] }, // TypeScript and JavaScript as well
): Promise<NamedUses> {
  const table = await import("../languages/table.ts");
  const languageOf = (file: string) =>
    scripts && SCRIPT.test(file) ? { name: "TypeScript and JavaScript" } : table.languageOf(file);
  const definers = [...defined.map(({ path }) => path), ...(scripts?.files ?? [])];
  const languages = new Set(definers.flatMap((filePath) => languageOf(filePath)?.name ?? []));
  for (const group of TOGETHER)
    if (group.some((language) => languages.has(language)))
      for (const related of group) languages.add(related);
  const files = new Set([...definers, ...filesUsing(index, name)]);
  const covers = (file: string): boolean => {
    const language = languageOf(file);
    return !!language && (!languages.size || languages.has(language.name)) && mayRead(ctx, file);
  };
  const fitting = [...files].filter(covers);
  if (!fitting.length) return { places: [], note: "", missed: [], covers };
  const looked = fitting.sort().slice(0, MAX_FILES);
  const [{ prepare }, { namePositions }] = await Promise.all([
    import("../languages/grammar.ts"),
    import("../languages/name-positions.ts"),
  ]);
  await prepare(looked);
  const places: CodeUse[] = [];
  const unread: string[] = [];
  for (const file of looked) {
    const text = await readText(ctx, file).then(
      ({ text }) => text,
      () => undefined,
    );
    if (text === undefined) unread.push(file);
    else {
      const positions = SCRIPT.test(file)
        ? await positionsInScript(file, text, name)
        : namePositions(file, text, name);
      places.push(...makeUses(file, text, positions, index.facts(file)!, name));
    }
  }
  const kinds = [...new Set(looked.map((filePath) => languageOf(filePath)!.name))].join(", ");
  const reason =
    scripts?.why || failure || `${kinds} ${kinds.includes(",") ? "are" : "is"} not read by meaning`;
  const note = `[By name: what else is called ${name} counts too, since ${reason}]`;
  const moreCount = fitting.length - looked.length;
  const missed = [
    ...(moreCount
      ? [`[Not looked at: ${plural(moreCount, "more file")} with that name; grep shows them]`]
      : []),
    ...unread.slice(0, 3).map((filePath) => `[Not looked at: ${filePath}: it cannot be read]`),
    ...(unread.length > 3
      ? [`[Not looked at: ${plural(unread.length - 3, "more file")} that cannot be read]`]
      : []),
  ];
  return { places, note, missed, covers: (file) => covers(file) && !unread.includes(file) };
}

/** Its identifiers, and no words of comments and texts. */
async function positionsInScript(
  filePath: string,
  fileText: string,
  symbolName: string,
): Promise<NamePosition[]> {
  const { createSourceFile, forEachChild, idText, isMemberName, PARSE_OPTIONS, skipTrivia } =
    await import("../scan/parser.ts");
  const lineOffsets = lineStarts(fileText);
  const positions: NamePosition[] = [];
  const visitNode = (node: ts.Node): void => {
    if (isMemberName(node) && idText(node) === symbolName)
      positions.push(positionAt(lineOffsets, skipTrivia(sourceFile.text, node.pos), symbolName));
    forEachChild(node, visitNode);
  };
  const sourceFile = createSourceFile(filePath, bothSides(fileText), PARSE_OPTIONS);
  visitNode(sourceFile);
  return positions;
}

function makeUses(
  path: string,
  fileText: string,
  positions: NamePosition[],
  { symbols, imports }: Facts,
  symbolName: string,
): CodeUse[] {
  const defined = new Map(
    symbols
      .filter((namedSymbol) => namedSymbol.name === symbolName)
      .map(({ line, end }) => [line, end]),
  );
  const imported = new Set(imports.map(({ line }) => line));
  const fileLines = fileText.split("\n");
  return positions.map(({ line, ...position }) => {
    const importOrRead = imported.has(line) ? "import" : "read";
    const useKind = defined.has(line) ? "definition" : importOrRead;
    return {
      path,
      line,
      ...position,
      text: fileLines[line - 1]!.trim().slice(0, MAX_TEXT_CHARS),
      kind: useKind,
    };
  });
}

// Uses in Vue and Svelte components, and in pages: a rename cannot follow them, since TypeScript
// does not read these files.
import type { Ctx } from "zz";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import { isComponent } from "../languages/table.ts";
import { mayRead } from "../may-read.ts";
import { filesUsing } from "../rows.ts";
import { type Facts, MAX_TEXT_CHARS } from "../scan/facts.ts";
import { takesName } from "./answer-rows.ts";
import { importGraph } from "./list-imports.ts";
import type { State } from "./tool-state.ts";

/** Rows of components that use what is defined there; what only has the same name is none. */
export async function usesInComponents(
  state: State,
  index: Index,
  { path, line, name }: { path: string; line: number; name: string },
  ctx: Ctx,
): Promise<string[]> {
  const facts = index.facts(path);
  const sym = facts?.symbols.find((symbol) => symbol.line === line && symbol.name === name);
  const isMember = !sym || Boolean(sym.owner);
  if (sym?.local || (!isMember && !sym.exported && !facts!.global)) return [];
  const users = filesUsing(index, name).filter((file) => isComponent(file) && mayRead(ctx, file));
  if (!users.length) return [];
  const { namePositions } = await import("../languages/name-positions.ts");
  const { imports } = await importGraph(
    state,
    index,
    ctx,
    users.map((filePath) => [filePath, index.facts(filePath)!] as const),
  );
  const useRows: string[] = [];
  for (const file of users) {
    const { text } = await readText(ctx, file);
    const fileFacts = index.facts(file)!;
    const positions = namePositions(file, text, name);
    const isUse = ({ start, end }: { start: number; end: number }) =>
      isMember ? isMemberUse(text, start, end) : isCalledAt(text, start, end);
    const isMeant = isMember
      ? positions.some(isUse)
      : (isTaken(file, fileFacts, text) ?? (!declares(fileFacts, name) && positions.some(isUse)));
    if (!isMeant) continue;
    const fileLines = text.split("\n");
    const used = positions.filter((position) => !isMember || isUse(position));
    for (const usedLine of new Set(used.map((position) => position.line)))
      useRows.push(
        `${file}:${usedLine}: ${fileLines[usedLine - 1]!.trim().slice(0, MAX_TEXT_CHARS)}`,
      );
  }
  return useRows;

  /** Undefined: no import says. */
  function isTaken(
    filePath: string,
    { imports: fileImports }: Facts,
    fileText: string,
  ): boolean | undefined {
    const importEdges = imports.get(filePath) ?? [];
    const taking = fileImports.flatMap((importFact, i) =>
      importFact.names.some((specifier) => takesName(specifier, name, fileText))
        ? [importEdges[i]]
        : [],
    );
    if (!taking.length) return undefined;
    return taking.some(
      (edge) =>
        edge &&
        (edge.kind === "missing" ||
          (edge.kind === "internal" && !hasOtherThing(index, edge.to, path, name))),
    );
  }
}

/** Whether that file has another thing of the name. */
function hasOtherThing(
  index: Index,
  importedPath: string | undefined,
  definingPath: string,
  symbolName: string,
): boolean {
  if (!importedPath || importedPath === definingPath) return false;
  const { symbols = [], imports = [] } = index.facts(importedPath) ?? {};
  const isPassedOn = imports.some(({ names }) =>
    names.some((specifier) => specifier.split(" as ").includes(symbolName)),
  );
  return (
    !isPassedOn &&
    symbols.some((symbol) => symbol.name === symbolName && !symbol.owner && symbol.exported)
  );
}
const declares = ({ symbols }: Facts, symbolName: string) =>
  symbols.some((symbol) => symbol.name === symbolName);

/** `.name`, or taken out of something: `{ name } =`. */
const isMemberUse = (fileText: string, start: number, end: number) =>
  /\.\s*$/.test(fileText.slice(Math.max(0, start - 40), start)) ||
  (/[{,]\s*$/.test(fileText.slice(Math.max(0, start - 40), start)) &&
    /^[^{};]*\}\s*=/.test(fileText.slice(end, end + 400)));
/** Components can use functions that a build imports for them. */
const isCalledAt = (fileText: string, start: number, end: number) =>
  !/[.\w$]\s*$/.test(
    fileText.slice(Math.max(0, start - 40), start).replace(/\b(?:return|await|new|in|of)\s+$/, ""),
  ) && /^\s*\(/.test(fileText.slice(end, end + 40));

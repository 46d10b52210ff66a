// What files export under another name: `export { it as name }`, `export * as name from "x"`.
import type { Ctx } from "zz";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { mayRead } from "../may-read.ts";
import type { Export, Import } from "../scan/facts.ts";
import { SCRIPT } from "./answer-rows.ts";
import { importGraph } from "./list-imports.ts";
import type { State } from "./tool-state.ts";

/** Something that has another name where it is declared. */
export type Alias = FoundSymbol & { alias: string; exporter: string };

/**
 * What these files export under that name: where it is declared, also when other files pass it on.
 */
export async function aliasesOf(
  state: State,
  index: Index,
  files: readonly string[],
  alias: string,
  ctx: Ctx,
): Promise<(FoundSymbol | Alias)[]> {
  const exportsOf = (filePath: string, exportName: string) =>
    (index.facts(filePath)?.exports ?? []).filter((exportFact) => exportFact.name === exportName);
  const isOtherName = ({ name, local = name }: Export) => local !== name;
  const exporters = files.filter(
    (file) => SCRIPT.test(file) && mayRead(ctx, file) && exportsOf(file, alias).some(isOtherName),
  );
  if (!exporters.length) return [];
  const { imports } = await importGraph(state, index, ctx);
  const declarations = exporters.flatMap((filePath) =>
    follow(filePath, alias, new Set()).map((symbol) =>
      symbol.name === alias ? symbol : { ...symbol, alias, exporter: filePath },
    ),
  );
  return declarations.filter(({ path: filePath }) => mayRead(ctx, filePath));

  function follow(file: string, name: string, visited: Set<string>): FoundSymbol[] {
    const key = `${file}\n${name}`;
    if (visited.has(key)) return [];
    visited.add(key);
    return exportsOf(file, name).flatMap((exportFact) => {
      const { local = name, from } = exportFact;
      if (from === undefined) return declared(file, local);
      const to = imports
        .get(file)
        ?.find(({ spec, kind: edgeKind }) => spec === from && edgeKind === "internal")?.to;
      const further = to && local !== "*" ? follow(to, local, visited) : [];
      return further.length ? further : [statement(file, exportFact)];
    });
  }
  function declared(filePath: string, localName: string): FoundSymbol[] {
    const { symbols } = index.facts(filePath)!;
    const topSymbols = symbols.filter((sym) => !sym.owner && sym.name === localName);
    return topSymbols.map((topSymbol) => ({ ...topSymbol, path: filePath }));
  }
  /** The statement itself, where it is about a whole module or leads to what is not known. */
  function statement(filePath: string, { name, local = name, from }: Export): FoundSymbol {
    const specifier = local === name ? name : `${local} as ${name}`;
    const isThisOne = (fact: Import) => fact.from === from && fact.names.includes(specifier);
    const { line = 1 } = index.facts(filePath)!.imports.find(isThisOne) ?? {};
    const signature = `export ${local === "*" ? specifier : `{ ${specifier} }`} from "${from}"`;
    return {
      name,
      path: filePath,
      kind: local === "*" ? "namespace" : "const",
      line,
      end: line,
      signature,
      exported: true,
    };
  }
}

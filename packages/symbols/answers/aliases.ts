// What files export under another name: `export { it as name }`, `export * as name from "x"`.
import type { Ctx } from "zz";
import type { Found } from "../match.ts";
import { type Index, mayRead } from "../project.ts";
import type { Export } from "../scan/facts.ts";
import { importGraph } from "./imports.ts";
import { SCRIPT } from "./rows.ts";
import type { State } from "./state.ts";

/** Something that has another name where it is declared. */
export type Alias = Found & { alias: string; exporter: string };

/**
 * What these files export under that name: where it is declared, also when other files pass it on.
 */
export async function aliasesOf(
  ...[state, index, files, alias, ctx]: [State, Index, readonly string[], string, Ctx]
): Promise<(Found | Alias)[]> {
  const exportsOf = (file: string, name: string): Export[] =>
    (index.facts(file)?.exports ?? []).filter((one) => one.name === name);
  const isOtherName = ({ name, local = name }: Export) => local !== name;
  const exporters = files.filter(
    (file) => SCRIPT.test(file) && mayRead(ctx, file) && exportsOf(file, alias).some(isOtherName),
  );
  if (!exporters.length) return [];
  const { imports } = await importGraph(state, index, ctx);
  const found = exporters.flatMap((file) =>
    follow(file, alias, new Set()).map((one) => named(one, file)),
  );
  return found.filter(({ path: file }) => mayRead(ctx, file));

  function follow(file: string, name: string, known: Set<string>): Found[] {
    const key = `${file}\n${name}`;
    if (known.has(key)) return [];
    known.add(key);
    return exportsOf(file, name).flatMap((one) => {
      const { local = name, from } = one;
      if (from === undefined) return declared(file, local);
      const to = imports
        .get(file)
        ?.find(({ spec, kind }) => spec === from && kind === "internal")?.to;
      const further = to && local !== "*" ? follow(to, local, known) : [];
      return further.length ? further : [statement(file, one)];
    });
  }
  function declared(file: string, name: string): Found[] {
    const own = index.facts(file)!.symbols.filter((sym) => !sym.owner && sym.name === name);
    return own.map((sym) => ({ ...sym, path: file }));
  }
  /** The statement itself, where it is about a whole module or leads to what is not known. */
  function statement(file: string, { name, local = name, from }: Export): Found {
    const taken = local === name ? name : `${local} as ${name}`;
    const line =
      index.facts(file)!.imports.find((one) => one.from === from && one.names.includes(taken))
        ?.line ?? 1;
    const signature = `export ${local === "*" ? taken : `{ ${taken} }`} from "${from}"`;
    return {
      name,
      path: file,
      kind: local === "*" ? "namespace" : "const",
      line,
      end: line,
      signature,
      exported: true,
    };
  }
  function named(found: Found, exporter: string): Found | Alias {
    return found.name === alias ? found : { ...found, alias, exporter };
  }
}

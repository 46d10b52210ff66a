// get_dependencies and get_dependents.
import type { CompilerGate, Ctx, MakeCompilerGate, Result } from "zz";
import { type Index, mayRead } from "../project.ts";
import type { Graph, Resolver } from "../resolve.ts";
import type { Facts } from "../scan/facts.ts";
import { capped, MAX_NAMES_PER_FILE, MAX_ROWS, relative, whyUnread } from "./rows.ts";
import { freshIndex, type Resolved, type State } from "./state.ts";

const ENTRY_REASONS = {
  package: "named by package.json",
  name: "by its name",
  alone: "nothing imports it",
};

export async function dependencies(
  state: State,
  { path: name }: { path?: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const graph = await importGraph(state, index, ctx);
  if (name === undefined) return overview(graph, index, ctx);
  const file = relative(name, ctx);
  const all = graph.imports.get(file);
  if (!all) throw new Error(`Cannot list what '${name}' imports: ${whyUnread(index, name, ctx)}`);
  const { imports, unread } = index.facts(file)!; // in the same order
  if (unread)
    return {
      text: `What '${name}' imports is not known: it was not read (${unread}). grep searches it.`,
      data: [],
    };
  const data = all.map((edge, i) => ({ ...edge, names: imports[i]?.names ?? [] }));
  const rows = data.map(({ spec, line, to, also = [], kind, how, names }) => {
    const taken = names.length ? ` {${names.join(", ")}}` : "";
    return `${file}:${line}: ${spec} → ${kind === "internal" ? [to, ...also].join(", ") : kind}${how === "import" ? "" : ` (${how})`}${taken}`;
  });
  return { text: capped(rows, 2 * MAX_ROWS, "imports") || `'${name}' imports nothing.`, data };
}

/** The whole project: where to start reading, what most files depend on, and circular imports. */
async function overview(
  graph: Graph & { resolver: Resolver },
  index: Index,
  ctx: Ctx,
): Promise<Result> {
  const { cycles, entryPoints, hubs } = await import("../resolve.ts");
  const seen = <T extends { path: string }>(all: T[]) =>
    all.filter(({ path: file }) => mayRead(ctx, file));
  const entries = seen(entryPoints(graph, graph.resolver)).filter(
    ({ path: file }) => !index.facts(file)?.made,
  );
  const data = { hubs: seen(hubs(graph)), entries, cycles: cycles(graph) };
  const rounds = data.cycles.filter(({ files }) => files.every((file) => mayRead(ctx, file)));
  const section = (title: string, rows: string[]) =>
    rows.length ? [`${title}:`, capped(rows, MAX_NAMES_PER_FILE, "")] : [];
  const rows = [
    ...section(
      "Imported by more than 5 files",
      data.hubs.map(({ path: file, count }) => `${file} (${count})`),
    ),
    ...section(
      "Entry points",
      data.entries.map(({ path: file, why }) => `${file} (${ENTRY_REASONS[why]})`),
    ),
    ...section(
      "Import cycles",
      rounds.map(({ round }) => round.join(" → ")),
    ),
  ];
  return {
    text: rows.join("\n") || "No code of this project imports any other.",
    data: { ...data, cycles: rounds },
  };
}

export async function dependents(
  state: State,
  { path: name }: { path: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const { imports, dependents } = await importGraph(state, index, ctx);
  const file = relative(name, ctx);
  if (!imports.has(file))
    throw new Error(`Cannot list what imports '${name}': ${whyUnread(index, name, ctx)}`);
  const users = (dependents.get(file) ?? []).filter((one) => mayRead(ctx, one));
  const rows = users.map((one) => {
    const at = imports.get(one)!.filter(({ to, also }) => to === file || also?.includes(file));
    return `${one}:${at[0]!.line}: ${at.map(({ spec }) => spec).join(", ")}`;
  });
  const hub = rows.length > 5 ? [`${rows.length} files import it.`] : [];
  return {
    text: [...hub, capped(rows, 2 * MAX_ROWS, "files")].join("\n") || `Nothing imports '${name}'.`,
    data: users,
  };
}

/** Made for every call: where an import leads may change when a package is installed. */
export async function importGraph(
  state: State,
  index: Index,
  ctx: Ctx,
  files: readonly (readonly [string, Pick<Facts, "imports">])[] = index.files.map((file) => [
    file,
    index.facts(file)!,
  ]),
  opened?: Resolver, // for the same question
): Promise<Graph & { resolver: Resolver }> {
  const { openResolver, graphOf } = await import("../resolve.ts");
  const resolver =
    opened ?? openResolver(state.root, index.names, index.resolved, await gateOf(ctx));
  const graph = await graphOf(files, resolver);
  index.keep(resolver.kept());
  return { ...graph, resolver };
}

/**
 * Whether imports still lead where they led: a package may have been installed, a file that is not
 * indexed changed.
 */
export async function leadsAsBefore(
  state: State,
  index: Index,
  made: Resolved | undefined,
): Promise<boolean> {
  if (made?.version !== index.version) return false;
  const { isUnchanged } = await import("../resolve.ts");
  return isUnchanged(state.root, made.seen);
}

/** The graph is read through the gate. */
export async function gateOf({ permissions }: Ctx): Promise<CompilerGate> {
  const rules = permissions.compiler();
  const { compilerGate } = (await import(rules.module)) as { compilerGate: MakeCompilerGate };
  return compilerGate(rules);
}

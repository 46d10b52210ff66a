// get_dependencies and get_dependents.
import type { CompilerGate, Ctx, MakeCompilerGate, Result } from "zz";
import type { Index } from "../index-view.ts";
import { mayRead } from "../may-read.ts";
import type { Graph, Resolver } from "../resolve.ts";
import type { Facts } from "../scan/facts.ts";
import {
  capRows,
  isUnder,
  MAX_NAMES_PER_FILE,
  MAX_ROWS,
  relative,
  whyUnread,
} from "./answer-rows.ts";
import { freshIndex, type Resolved, type State } from "./tool-state.ts";

const ENTRY_REASONS = {
  package: "named by package.json",
  name: "by its name",
  alone: "nothing imports it",
};

export async function listDependencies(
  state: State,
  { path: name }: { path?: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const graph = await importGraph(state, index, ctx);
  if (name === undefined) return projectOverview(graph, index, ctx);
  const file = relative(name, ctx);
  const files = filesAt(graph, file, ctx);
  if (!files.length)
    throw new Error(`Cannot list what '${name}' imports: ${whyUnread(index, name, ctx)}`);
  const isFile = graph.imports.has(file);
  const unread = isFile && index.facts(file)!.unread;
  if (unread)
    return {
      text: `What '${name}' imports is not known: it was not read (${unread}). grep searches it.`,
      data: [],
    };
  const data = files.flatMap((from) =>
    graph.imports.get(from)!.flatMap((edge, i) => {
      const { names = [] } = index.facts(from)!.imports[i] ?? {}; // in the same order
      // of a folder: what it needs from outside of it
      const isInner = !isFile && edge.to !== undefined && isUnder(edge.to, file);
      return isInner ? [] : [{ ...(isFile ? {} : { from }), ...edge, names }];
    }),
  );
  const rows = data.map((edge) => {
    const { spec, line, to, also = [], kind: edgeKind, how: importForm, names } = edge;
    const takenNames = names.length ? ` {${names.join(", ")}}` : "";
    return `${edge.from ?? file}:${line}: ${spec} → ${edgeKind === "internal" ? [to, ...also].join(", ") : edgeKind}${importForm === "import" ? "" : ` (${importForm})`}${takenNames}`;
  });
  const none = `'${name}' imports nothing${isFile ? "" : " from outside of it"}.`;
  return { text: capRows(rows, 2 * MAX_ROWS, "imports") || none, data };
}

/** The file, or those in the folder, whose imports are known and that may be read. */
const filesAt = ({ imports }: Graph, name: string, ctx: Ctx): string[] =>
  imports.has(name)
    ? [name]
    : [...imports.keys()].filter((file) => isUnder(file, name) && mayRead(ctx, file));

/** The whole project: where to start reading, what most files depend on, and circular imports. */
async function projectOverview(
  graph: Graph & { resolver: Resolver },
  index: Index,
  ctx: Ctx,
): Promise<Result> {
  const { cycles, entryPoints, hubs } = await import("../resolve.ts");
  const readableOf = <T extends { path: string }>(listed: T[]) =>
    listed.filter(({ path: file }) => mayRead(ctx, file));
  const entries = readableOf(entryPoints(graph, graph.resolver)).filter(
    ({ path: file }) => !index.facts(file)?.made,
  );
  const data = { hubs: readableOf(hubs(graph)), entries, cycles: cycles(graph) };
  const rounds = data.cycles.filter(({ files }) => files.every((file) => mayRead(ctx, file)));
  const section = (title: string, rows: string[]) =>
    rows.length ? [`${title}:`, capRows(rows, MAX_NAMES_PER_FILE, "")] : [];
  const rows = [
    ...section(
      "Imported by more than 5 files",
      data.hubs.map(({ path: file, count }) => `${file} (${count})`),
    ),
    ...section(
      "Entry points",
      data.entries.map(
        ({ path: file, why: entryReason }) => `${file} (${ENTRY_REASONS[entryReason]})`,
      ),
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

export async function listDependents(
  state: State,
  { path: name }: { path: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const graph = await importGraph(state, index, ctx);
  const { imports, dependents } = graph;
  const file = relative(name, ctx);
  const files = filesAt(graph, file, ctx);
  if (!files.length)
    throw new Error(`Cannot list what imports '${name}': ${whyUnread(index, name, ctx)}`);
  const isFile = imports.has(file);
  const users = [...new Set(files.flatMap((used) => dependents.get(used) ?? []))]
    .filter((user) => mayRead(ctx, user) && (isFile || !isUnder(user, file)))
    .sort();
  const used = new Set(files);
  const isMeant = (target: string | undefined) => target !== undefined && used.has(target);
  const rows = users.map((user) => {
    const edges = imports.get(user)!.filter(({ to, also }) => [to, ...(also ?? [])].some(isMeant));
    return `${user}:${edges[0]!.line}: ${edges.map(({ spec }) => spec).join(", ")}`;
  });
  const hub = rows.length > 5 ? [`${rows.length} files import it.`] : [];
  const none = isFile
    ? `Nothing imports '${name}'.`
    : `Nothing outside of '${name}' imports a file in it.`;
  return { text: [...hub, capRows(rows, 2 * MAX_ROWS, "files")].join("\n") || none, data: users };
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
  earlier: Resolved | undefined,
): Promise<boolean> {
  if (earlier?.version !== index.version) return false;
  const { isUnchanged } = await import("../resolve.ts");
  return isUnchanged(state.root, earlier.seen);
}

/** The graph is read through the gate. */
export async function gateOf({ permissions }: Ctx): Promise<CompilerGate> {
  const rules = permissions.compiler();
  const { compilerGate } = (await import(rules.module)) as { compilerGate: MakeCompilerGate };
  return compilerGate(rules);
}

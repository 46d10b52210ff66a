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
  toProjectPath,
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
  const relativePath = toProjectPath(name, ctx);
  const filePaths = filesAt(graph, relativePath, ctx);
  if (!filePaths.length)
    throw new Error(`Cannot list what '${name}' imports: ${whyUnread(index, name, ctx)}`);
  const isSingleFile = graph.imports.has(relativePath);
  const unreadReason = isSingleFile && index.facts(relativePath)!.unread;
  if (unreadReason)
    return {
      text:
        `What '${name}' imports is not known: ` +
        `it was not read (${unreadReason}). grep searches it.`,
      data: [],
    };
  const data = filePaths.flatMap((from) =>
    graph.imports.get(from)!.flatMap((importEdge, i) => {
      const { names = [] } = index.facts(from)!.imports[i] ?? {}; // in the same order
      // of a folder: what it needs from outside of it
      const isInner =
        !isSingleFile && importEdge.to !== undefined && isUnder(importEdge.to, relativePath);
      return isInner ? [] : [{ ...(isSingleFile ? {} : { from }), ...importEdge, names }];
    }),
  );
  const importRows = data.map((importEdge) => {
    const { spec, line, to, also = [], kind: edgeKind, how: importForm, names } = importEdge;
    const takenNames = names.length ? ` {${names.join(", ")}}` : "";
    return (
      `${importEdge.from ?? relativePath}:${line}: ${spec} → ` +
      `${edgeKind === "internal" ? [to, ...also].join(", ") : edgeKind}` +
      `${importForm === "import" ? "" : ` (${importForm})`}${takenNames}`
    );
  });
  const emptyAnswer = `'${name}' imports nothing${isSingleFile ? "" : " from outside of it"}.`;
  return { text: capRows(importRows, 2 * MAX_ROWS, "imports") || emptyAnswer, data };
}

/** The file, or those in the folder, whose imports are known and that may be read. */
const filesAt = ({ imports }: Graph, relativePath: string, ctx: Ctx) =>
  imports.has(relativePath)
    ? [relativePath]
    : [...imports.keys()].filter(
        (filePath) => isUnder(filePath, relativePath) && mayRead(ctx, filePath),
      );

/** The whole project: where to start reading, what most files depend on, and circular imports. */
async function projectOverview(
  graph: Graph & { resolver: Resolver },
  index: Index,
  ctx: Ctx,
): Promise<Result> {
  const { cycles, entryPoints, hubs } = await import("../resolve.ts");
  const readableOf = <T extends { path: string }>(listed: T[]) =>
    listed.filter(({ path: filePath }) => mayRead(ctx, filePath));
  const entries = readableOf(entryPoints(graph, graph.resolver)).filter(
    ({ path: filePath }) => !index.facts(filePath)?.made,
  );
  const overview = { hubs: readableOf(hubs(graph)), entries, cycles: cycles(graph) };
  const readableCycles = overview.cycles.filter(({ files }) =>
    files.every((filePath) => mayRead(ctx, filePath)),
  );
  const section = (title: string, sectionRows: string[]) =>
    sectionRows.length ? [`${title}:`, capRows(sectionRows, MAX_NAMES_PER_FILE, "")] : [];
  const overviewRows = [
    ...section(
      "Imported by more than 5 files",
      overview.hubs.map(({ path: filePath, count }) => `${filePath} (${count})`),
    ),
    ...section(
      "Entry points",
      overview.entries.map(
        ({ path: filePath, why: entryReason }) => `${filePath} (${ENTRY_REASONS[entryReason]})`,
      ),
    ),
    ...section(
      "Import cycles",
      readableCycles.map(({ round }) => round.join(" → ")),
    ),
  ];
  return {
    text: overviewRows.join("\n") || "No code of this project imports any other.",
    data: { ...overview, cycles: readableCycles },
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
  const relativePath = toProjectPath(name, ctx);
  const filePaths = filesAt(graph, relativePath, ctx);
  if (!filePaths.length)
    throw new Error(`Cannot list what imports '${name}': ${whyUnread(index, name, ctx)}`);
  const isSingleFile = imports.has(relativePath);
  const userFiles = [...new Set(filePaths.flatMap((usedFile) => dependents.get(usedFile) ?? []))]
    .filter(
      (userFile) => mayRead(ctx, userFile) && (isSingleFile || !isUnder(userFile, relativePath)),
    )
    .sort();
  const usedFiles = new Set(filePaths);
  const isMeant = (targetFile: string | undefined) =>
    targetFile !== undefined && usedFiles.has(targetFile);
  const userRows = userFiles.map((userFile) => {
    const importEdges = imports
      .get(userFile)!
      .filter(({ to, also }) => [to, ...(also ?? [])].some(isMeant));
    return `${userFile}:${importEdges[0]!.line}: ${importEdges.map(({ spec }) => spec).join(", ")}`;
  });
  const hubNote = userRows.length > 5 ? [`${userRows.length} files import it.`] : [];
  const emptyAnswer = isSingleFile
    ? `Nothing imports '${name}'.`
    : `Nothing outside of '${name}' imports a file in it.`;
  return {
    text: [...hubNote, capRows(userRows, 2 * MAX_ROWS, "files")].join("\n") || emptyAnswer,
    data: userFiles,
  };
}

/** Made for every call: where an import leads may change when a package is installed. */
export async function importGraph(
  state: State,
  index: Index,
  ctx: Ctx,
  fileImports: readonly (readonly [string, Pick<Facts, "imports">])[] = index.files.map(
    (filePath) => [filePath, index.facts(filePath)!],
  ),
  openedResolver?: Resolver, // for the same question
): Promise<Graph & { resolver: Resolver }> {
  const { openResolver, graphOf } = await import("../resolve.ts");
  const resolver =
    openedResolver ?? openResolver(state.root, index.names, index.resolved, await gateOf(ctx));
  const graph = await graphOf(fileImports, resolver);
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
  const compilerRules = permissions.compiler();
  const { compilerGate } = (await import(compilerRules.module)) as {
    compilerGate: MakeCompilerGate;
  };
  return compilerGate(compilerRules);
}

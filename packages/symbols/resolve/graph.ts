// Who imports whom.
import { anyOf, compare } from "zz/text";
import type { Facts, Import } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { folderOf, SCRIPT } from "./paths.ts";
import type { Edge, Graph, Resolver } from "./resolver-types.ts";

export async function graphOf(
  fileFacts: Iterable<readonly [string, Pick<Facts, "imports">]>,
  resolver: Resolver,
): Promise<Graph> {
  const allFiles = [...fileFacts];
  await resolver.prepare(allFiles.map(([filePath, { imports }]) => [filePath, imports]));
  const imports = new Map<string, Edge[]>();
  const dependents = new Map<string, Set<string>>();
  for (const [importer, facts] of allFiles) {
    const fileEdges = facts.imports.map((importFact) => {
      const otherTargets = resolver.others(importer, importFact);
      if (otherTargets?.[0] === importer)
        return { ...createEdge(importFact, importer), own: true as const };
      return otherTargets
        ? createEdge(importFact, ...otherTargets)
        : createEdge(importFact, resolver.resolve(importer, importFact));
    });
    imports.set(importer, fileEdges);
    for (const target of fileEdges.flatMap(({ to, also = [] }) => [to, ...also])) {
      if (target === undefined || target === importer) continue;
      dependents.get(target)?.add(importer) ?? dependents.set(target, new Set([importer]));
    }
  }
  return {
    imports,
    dependents: new Map(
      Array.from(dependents, ([target, importers]) => [target, [...importers].sort()]),
    ),
  };
}

function createEdge(
  { from: spec, line, how: importForm }: Import,
  target?: string,
  ...also: string[]
): Edge {
  const targetKind = kindOfTarget(target);
  return {
    to: targetKind === "internal" ? target : undefined,
    spec,
    line,
    kind: targetKind,
    how: importForm,
    ...(also.length && { also }),
  };
}

function kindOfTarget(target?: string): Edge["kind"] {
  if (target === undefined) return "missing";
  if (target === "") return "external";
  return target === "node:" ? "builtin" : "internal";
}

/** Where programs in other languages begin. */
const MAIN_FILE = anyOf(
  /(?:^|\/)(?:(?:main|__main__|manage|app|wsgi|asgi)\.py|config\.ru|(?:public\/)?index\.php)$/,
  /(?:^|\/)(?:main\.(?:go|rs|c|cc|cpp|cxx|swift|kt|lua)|lib\.rs|Program\.cs)$/,
  /(?:^|\/)(?:Main|App|Application)\.(?:java|kt)$/,
);
const MAX_ORDINARY_IMPORTERS = 5;

/** The files that more than five others import, the most imported first. */
export function hubs({ dependents }: Graph): { path: string; count: number }[] {
  const importCounts = Array.from(dependents, ([path, importers]) => ({
    path,
    count: importers.length,
  }));
  return importCounts
    .filter(({ count }) => count > MAX_ORDINARY_IMPORTERS)
    .sort((first, second) => second.count - first.count || compare(first.path, second.path));
}

type EntryPoint = { path: string; why: "package" | "name" | "alone" };

/**
 * Where to start reading: what a package.json names, an index or main at the top, and what nothing
 * imports.
 */
export function entryPoints({ imports, dependents }: Graph, resolver: Resolver): EntryPoint[] {
  const packages = resolver.packages();
  const packageMains = new Set(packages.flatMap(({ mains }) => mains));
  const topFolders = new Set(
    ["", ...packages.map(({ folder }) => folder)].flatMap((packageFolder) => [
      packageFolder,
      packageFolder ? `${packageFolder}/src` : "src",
    ]),
  );
  return [...imports.keys()]
    .filter(
      (filePath) =>
        (SCRIPT.test(filePath) || MAIN_FILE.test(filePath)) &&
        !/\.d\.[cm]?ts$/.test(filePath) &&
        !isGenerated(filePath),
    )
    .flatMap((path): EntryPoint[] => {
      if (!SCRIPT.test(path)) return [{ path, why: "name" }];
      const isTopFile = /(?:^|\/)(?:index|main)\.\w+$/.test(path) && topFolders.has(folderOf(path));
      if (packageMains.has(path)) return [{ path, why: "package" }];
      if (isTopFile) return [{ path, why: "name" }];
      return dependents.has(path) ? [] : [{ path, why: "alone" }];
    });
}

/**
 * Files that import one another in a circle; type imports alone do not count. `round` is the
 * shortest way from the first file back to itself.
 */
export function cycles({ imports }: Graph): { files: string[]; round: string[] }[] {
  const targetsByFile = new Map(
    Array.from(imports, ([importer, fileEdges]) => {
      const cycleEdges = fileEdges.filter(
        ({ kind: edgeKind, how: importForm, own: isOwnFile }) =>
          edgeKind === "internal" && importForm !== "type" && !isOwnFile,
      );
      return [importer, [...new Set(cycleEdges.map(({ to }) => to!))]];
    }),
  );
  const importersByFile = new Map<string, string[]>();
  for (const [importer, targets] of targetsByFile)
    for (const target of targets)
      importersByFile.get(target)?.push(importer) ?? importersByFile.set(target, [importer]);
  const remaining = withoutDeadEnds(targetsByFile, importersByFile);
  const circles: ReturnType<typeof cycles> = [];
  for (const firstFile of [...remaining].sort()) {
    if (!remaining.has(firstFile)) continue;
    const [reached, reaching] = [
      reachFrom(firstFile, targetsByFile, remaining),
      reachFrom(firstFile, importersByFile, remaining),
    ];
    const files = [...reached.keys()].filter((reachedFile) => reaching.has(reachedFile)).sort();
    for (const circleFile of [firstFile, ...files]) remaining.delete(circleFile);
    if (files.length) circles.push({ files, round: circleFrom(firstFile, reached) });
  }
  return circles;
}

/** Leaves out files that cannot be on a circle: those that import or are imported by none left. */
function withoutDeadEnds(
  targetsByFile: Map<string, string[]>,
  importersByFile: Map<string, string[]>,
): Set<string> {
  const remaining = new Set(targetsByFile.keys());
  for (const [forward, backward] of [
    [targetsByFile, importersByFile] as const,
    [importersByFile, targetsByFile] as const,
  ]) {
    const remainingWays = new Map(
      Array.from(remaining, (filePath) => [
        filePath,
        forward.get(filePath)?.filter((target) => remaining.has(target)).length ?? 0,
      ]),
    );
    const deadEnds = [...remaining].filter((filePath) => !remainingWays.get(filePath));
    for (const deadEnd of deadEnds) {
      remaining.delete(deadEnd);
      for (const neighbour of backward.get(deadEnd) ?? []) {
        remainingWays.set(neighbour, remainingWays.get(neighbour)! - 1);
        if (remainingWays.get(neighbour) === 0) deadEnds.push(neighbour);
      }
    }
  }
  return remaining;
}

/** Maps each reachable file to where it was first reached from; on a circle, the start as well. */
function reachFrom(
  firstFile: string,
  neighbours: Map<string, string[]>,
  allowedFiles: Set<string>,
): Map<string, string> {
  const cameFrom = new Map<string, string>();
  const queue = [firstFile];
  for (const reachedFile of queue)
    for (const neighbour of neighbours.get(reachedFile) ?? []) {
      if (!allowedFiles.has(neighbour) || cameFrom.has(neighbour)) continue;
      cameFrom.set(neighbour, reachedFile);
      queue.push(neighbour);
    }
  return cameFrom;
}
function circleFrom(firstFile: string, cameFrom: Map<string, string>): string[] {
  const circlePath = [firstFile];
  do circlePath.push(cameFrom.get(circlePath.at(-1)!)!);
  while (circlePath.at(-1) !== firstFile);
  return circlePath.reverse();
}

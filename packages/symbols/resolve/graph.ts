// Who imports whom.
import type { Facts, Import } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { folderOf, SCRIPT } from "./paths.ts";
import type { Edge, Graph, Resolver } from "./resolver-types.ts";

export async function graphOf(
  files: Iterable<readonly [string, Pick<Facts, "imports">]>,
  resolver: Resolver,
): Promise<Graph> {
  const allFiles = [...files];
  await resolver.prepare(allFiles.map(([file, { imports }]) => [file, imports]));
  const imports = new Map<string, Edge[]>();
  const dependents = new Map<string, Set<string>>();
  for (const [file, facts] of allFiles) {
    const edges = facts.imports.map((importFact) => {
      const others = resolver.others(file, importFact);
      if (others?.[0] === file) return { ...edgeOf(importFact, file), own: true as const };
      return others
        ? edgeOf(importFact, ...others)
        : edgeOf(importFact, resolver.resolve(file, importFact));
    });
    imports.set(file, edges);
    for (const to of edges.flatMap(({ to, also = [] }) => [to, ...also])) {
      if (to === undefined || to === file) continue;
      const by = dependents.get(to);
      if (by) by.add(file);
      else dependents.set(to, new Set([file]));
    }
  }
  return {
    imports,
    dependents: new Map(Array.from(dependents, ([file, by]) => [file, [...by].sort()])),
  };
}

function edgeOf(
  { from: spec, line, how: importForm }: Import,
  to?: string,
  ...also: string[]
): Edge {
  const targetKind = kindOfTarget(to);
  return {
    to: targetKind === "internal" ? to : undefined,
    spec,
    line,
    kind: targetKind,
    how: importForm,
    ...(also.length && { also }),
  };
}

function kindOfTarget(to?: string): Edge["kind"] {
  if (to === undefined) return "missing";
  if (to === "") return "external";
  return to === "node:" ? "builtin" : "internal";
}

/** Where programs in other languages begin. */
const MAIN =
  /(?:^|\/)(?:(?:main|__main__|manage|app|wsgi|asgi)\.py|main\.(?:go|rs|c|cc|cpp|cxx|swift|kt|lua)|lib\.rs|(?:Main|App|Application)\.(?:java|kt)|Program\.cs|config\.ru|(?:public\/)?index\.php)$/;
const MAX_ORDINARY_IMPORTERS = 5;

/** The files that more than five others import, the most imported first. */
export function hubs({ dependents }: Graph): { path: string; count: number }[] {
  const counts = Array.from(dependents, ([path, by]) => ({ path, count: by.length }));
  return counts
    .filter(({ count }) => count > MAX_ORDINARY_IMPORTERS)
    .sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
}

type EntryPoint = { path: string; why: "package" | "name" | "alone" };

/**
 * Where to start reading: what a package.json names, an index or main at the top, and what nothing
 * imports.
 */
export function entryPoints({ imports, dependents }: Graph, resolver: Resolver): EntryPoint[] {
  const packages = resolver.packages();
  const mains = new Set(packages.flatMap(({ mains }) => mains));
  const tops = new Set(
    ["", ...packages.map(({ folder }) => folder)].flatMap((folder) => [
      folder,
      folder ? `${folder}/src` : "src",
    ]),
  );
  return [...imports.keys()]
    .filter(
      (path) =>
        (SCRIPT.test(path) || MAIN.test(path)) && !/\.d\.[cm]?ts$/.test(path) && !isGenerated(path),
    )
    .flatMap((path): EntryPoint[] => {
      if (!SCRIPT.test(path)) return [{ path, why: "name" }];
      const isTop = /(?:^|\/)(?:index|main)\.\w+$/.test(path) && tops.has(folderOf(path));
      if (mains.has(path)) return [{ path, why: "package" }];
      if (isTop) return [{ path, why: "name" }];
      return dependents.has(path) ? [] : [{ path, why: "alone" }];
    });
}

/**
 * Files that import one another in a circle; type imports alone do not count. `round` is the
 * shortest way from the first file back to itself.
 */
export function cycles({ imports }: Graph): { files: string[]; round: string[] }[] {
  const next = new Map(
    Array.from(imports, ([file, edges]) => {
      const cycleEdges = edges.filter(
        ({ kind: edgeKind, how: importForm, own: isOwnFile }) =>
          edgeKind === "internal" && importForm !== "type" && !isOwnFile,
      );
      return [file, [...new Set(cycleEdges.map(({ to }) => to!))]];
    }),
  );
  const back = new Map<string, string[]>();
  for (const [file, targets] of next)
    for (const to of targets) back.get(to)?.push(file) ?? back.set(to, [file]);
  const remaining = innermost(next, back);
  const circles: ReturnType<typeof cycles> = [];
  for (const first of [...remaining].sort()) {
    if (!remaining.has(first)) continue;
    const [after, before] = [reachFrom(first, next, remaining), reachFrom(first, back, remaining)];
    const files = [...after.keys()].filter((file) => before.has(file)).sort();
    for (const file of [first, ...files]) remaining.delete(file);
    if (files.length) circles.push({ files, round: circleFrom(first, after) });
  }
  return circles;
}

/** Without the files that lead to no circle, or that no circle leads to. */
function innermost(next: Map<string, string[]>, back: Map<string, string[]>): Set<string> {
  const remaining = new Set(next.keys());
  for (const [ways, others] of [[next, back] as const, [back, next] as const]) {
    const count = new Map(
      Array.from(remaining, (file) => [
        file,
        ways.get(file)?.filter((to) => remaining.has(to)).length ?? 0,
      ]),
    );
    const done = [...remaining].filter((file) => !count.get(file));
    for (const file of done) {
      remaining.delete(file);
      for (const by of others.get(file) ?? []) {
        count.set(by, count.get(by)! - 1);
        if (count.get(by) === 0) done.push(by);
      }
    }
  }
  return remaining;
}

/** What can be reached from a file, and from where first: itself too, where it lies on a circle. */
function reachFrom(
  first: string,
  next: Map<string, string[]>,
  within: Set<string>,
): Map<string, string> {
  const from = new Map<string, string>();
  const queue = [first];
  for (const file of queue)
    for (const to of next.get(file) ?? []) {
      if (!within.has(to) || from.has(to)) continue;
      from.set(to, file);
      queue.push(to);
    }
  return from;
}
function circleFrom(first: string, from: Map<string, string>): string[] {
  const round = [first];
  do round.push(from.get(round.at(-1)!)!);
  while (round.at(-1) !== first);
  return round.reverse();
}

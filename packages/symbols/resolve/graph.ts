// Who imports whom.
import type { Facts, Import } from "../scan/facts.ts";
import { isGenerated } from "../scan/made.ts";
import type { Edge, Graph, Resolver } from "./contract.ts";
import { folderOf, SCRIPT } from "./paths.ts";

export async function graphOf(
  files: Iterable<readonly [string, Pick<Facts, "imports">]>,
  resolver: Resolver,
): Promise<Graph> {
  const all = [...files];
  await resolver.prepare(all.map(([file, { imports }]) => [file, imports]));
  const imports = new Map<string, Edge[]>();
  const dependents = new Map<string, Set<string>>();
  for (const [file, facts] of all) {
    const edges = facts.imports.map((one) => {
      const others = resolver.others(file, one);
      if (others?.[0] === file) return { ...edgeOf(one, file), own: true as const };
      return others ? edgeOf(one, ...others) : edgeOf(one, resolver.resolve(file, one));
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

function edgeOf({ from: spec, line, how }: Import, to?: string, ...also: string[]): Edge {
  const kind = kindOfTarget(to);
  return {
    to: kind === "internal" ? to : undefined,
    spec,
    line,
    kind,
    how,
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
  const all = Array.from(dependents, ([path, by]) => ({ path, count: by.length }));
  return all
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
    ["", ...packages.map(({ folder }) => folder)].flatMap((at) => [at, at ? `${at}/src` : "src"]),
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
      const own = edges.filter(
        ({ kind, how, own }) => kind === "internal" && how !== "type" && !own,
      );
      return [file, [...new Set(own.map(({ to }) => to!))]];
    }),
  );
  const back = new Map<string, string[]>();
  for (const [file, all] of next)
    for (const to of all) back.get(to)?.push(file) ?? back.set(to, [file]);
  const left = innermost(next, back);
  const found: ReturnType<typeof cycles> = [];
  for (const first of [...left].sort()) {
    if (!left.has(first)) continue;
    const [after, before] = [reached(first, next, left), reached(first, back, left)];
    const files = [...after.keys()].filter((file) => before.has(file)).sort();
    for (const file of [first, ...files]) left.delete(file);
    if (files.length) found.push({ files, round: wayTo(first, after) });
  }
  return found;
}

/** Without the files that lead to no circle, or that no circle leads to. */
function innermost(next: Map<string, string[]>, back: Map<string, string[]>): Set<string> {
  const left = new Set(next.keys());
  for (const [ways, others] of [[next, back] as const, [back, next] as const]) {
    const count = new Map(
      Array.from(left, (file) => [file, ways.get(file)?.filter((to) => left.has(to)).length ?? 0]),
    );
    const done = [...left].filter((file) => !count.get(file));
    for (const file of done) {
      left.delete(file);
      for (const by of others.get(file) ?? []) {
        count.set(by, count.get(by)! - 1);
        if (count.get(by) === 0) done.push(by);
      }
    }
  }
  return left;
}

/** What can be reached from a file, and from where first: itself too, where it lies on a circle. */
function reached(
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
function wayTo(first: string, from: Map<string, string>): string[] {
  const way = [first];
  do way.push(from.get(way.at(-1)!)!);
  while (way.at(-1) !== first);
  return way.reverse();
}

// Circular imports.
import type { Graph } from "./contract.ts";

/**
 * Files that import one another in a circle; type imports alone do not count. `round` is the shortest way from the
 * first file back to itself.
 */
export function cycles({ imports }: Graph): { files: string[]; round: string[] }[] {
  const next = new Map(
    Array.from(imports, ([file, edges]) => [
      file,
      [
        ...new Set(
          edges.filter(({ kind, how, own }) => kind === "internal" && how !== "type" && !own).map(({ to }) => to!),
        ),
      ],
    ]),
  );
  return groupsOf(next)
    .filter(([first, second]) => second !== undefined || next.get(first!)?.includes(first!))
    .map((group) => group.sort())
    .map((files) => ({ files, round: roundOf(files, next) }))
    .sort((a, b) => (a.files[0]! < b.files[0]! ? -1 : 1));
}

/**
 * Tarjan's strongly connected components, with an explicit stack: a chain of imports may be longer than the call stack.
 */
function groupsOf(next: Map<string, string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const groups: string[][] = [];
  for (const start of next.keys()) if (!order.has(start)) walk(start);
  return groups;

  function walk(start: string): void {
    const open = [enter(start)];
    for (let frame = open.at(-1); frame; frame = open.at(-1)) {
      const to = frame.left.pop();
      if (to === undefined) {
        open.pop();
        leave(frame.file, open.at(-1)?.file);
      } else if (!order.has(to)) open.push(enter(to));
      else if (onStack.has(to)) low.set(frame.file, Math.min(low.get(frame.file)!, order.get(to)!));
    }
  }
  function enter(file: string) {
    order.set(file, order.size);
    low.set(file, order.size - 1);
    stack.push(file);
    onStack.add(file);
    return { file, left: [...(next.get(file) ?? [])] };
  }
  function leave(file: string, by: string | undefined): void {
    if (by !== undefined) low.set(by, Math.min(low.get(by)!, low.get(file)!));
    if (low.get(file) !== order.get(file)) return;
    const group = stack.splice(stack.lastIndexOf(file));
    for (const one of group) onStack.delete(one);
    groups.push(group);
  }
}

function roundOf(files: string[], next: Map<string, string[]>): string[] {
  const [first] = files;
  const inside = new Set(files);
  const cameFrom = new Map<string, string>();
  const queue = [first!];
  for (const file of queue)
    for (const to of next.get(file) ?? []) {
      if (to === first) return [...wayBack(file, cameFrom).reverse(), first];
      if (!inside.has(to) || cameFrom.has(to)) continue;
      cameFrom.set(to, file);
      queue.push(to);
    }
  return files;
}
function wayBack(file: string, cameFrom: Map<string, string>): string[] {
  const way = [file];
  for (let at = cameFrom.get(file); at !== undefined; at = cameFrom.get(at)) way.push(at);
  return way;
}

// Names that the project need not define: JavaScript's own, Node's, and those that its packages declare.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { tryTo } from "zz/text";

// biome-ignore format: a list of words.
const MODULES = (
  "assert buffer child_process crypto dns events fs fs/promises http https module net os path perf_hooks process readline " +
  "readline/promises stream timers timers/promises tls url util v8 vm worker_threads zlib").split(" ");
const TYPES =
  "Partial Required Readonly Record Pick Omit Exclude Extract NonNullable Parameters ReturnType InstanceType ConstructorParameters Awaited ReadonlyArray ArrayLike PromiseLike PropertyKey";
const MAX_MS = 400;
const MAX_BYTES = 12_000_000;
const DECLARES = /\.d\.[cm]?ts$/;

export interface OwnNames {
  has(name: string): boolean; // a member of any of them
  hasGlobal(root: string): boolean; // a global, or a Node module
}

/** Reads property descriptors, so that no getter is called. */
export function ownNames(): OwnNames {
  const names = new Set(TYPES.split(" "));
  const roots = new Set([...MODULES, ...Object.getOwnPropertyNames(globalThis), "window", "document"]);
  addNames(globalThis);
  for (const name of MODULES) addNames(process.getBuiltinModule(name) ?? {});
  return { has: (name) => names.has(name), hasGlobal: (root) => roots.has(root) };

  function addNames(from: object, deep = 2): void {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      names.add(name);
      if (!deep || value === globalThis || value === null) continue;
      if (typeof value === "function") {
        addNames(value, 0);
        if (value.prototype) addNames(value.prototype, 0);
      } else if (typeof value === "object") addNames(value, deep - 1);
    }
  }
}

/** For each name, the package that declares it. Packages that the project itself depends on come first. */
export async function inPackages(
  names: string[],
  packages: string[],
  { files, signal, io }: Ctx,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const until = io.clock.now() + MAX_MS;
  let bytes = 0;
  for (const name of packages) {
    const folder = tryTo(() => files.path(`node_modules/${name}`));
    if (!folder) continue;
    for (const file of declarations(folder)) {
      if (found.size === names.length || bytes > MAX_BYTES || io.clock.now() > until) return found;
      signal.throwIfAborted();
      const text = (await files.read(path.join(folder, file)).catch(() => undefined))?.text ?? "";
      bytes += text.length;
      for (const one of names)
        if (!found.has(one) && containsName(text, one)) found.set(one, name.replace(/^@types\//, ""));
    }
  }
  return found;
}

/** Declaration files, those nearest to the top first. */
function declarations(folder: string): string[] {
  const all = tryTo(() => fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) ?? [];
  const depth = (name: string) => name.split(path.sep).length;
  return all
    .filter((name) => DECLARES.test(name) && !name.includes("node_modules"))
    .sort((a, b) => depth(a) - depth(b))
    .slice(0, 400);
}

function containsName(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!/[\w$]/.test(text[at - 1] ?? "") && !/[\w$]/.test(text[at + name.length] ?? "")) return true;
  return false;
}

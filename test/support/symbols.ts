// The scanner as in dist/: with only the compiler's parser, where nodes have no methods and no
// `text`.
import { readFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import type { Facts } from "../../packages/symbols/scan/facts.ts";
import { eachUse } from "../../packages/symbols/scan/uses.ts";

const URL = "parser:only";

export async function parserOnly(): Promise<typeof import("../../packages/symbols/scan.ts")> {
  const hooks = registerHooks({
    resolve: (name, context, next) => {
      if (!context.parentURL?.endsWith("?parser")) return next(name, context);
      if (name === "ts-morph") return { url: URL, format: "module", shortCircuit: true };
      return next(name.startsWith(".") ? `${name}?parser` : name, context);
    },
    load: (url, context, next) =>
      url === URL ? { format: "module", source: cut(), shortCircuit: true } : next(url, context),
  });
  const { href } = new globalThis.URL("../../packages/symbols/scan.ts?parser", import.meta.url);
  try {
    return await import(href);
  } finally {
    hooks.deregister();
  }
}

/** The compiler's code up to the binder; exports of what follows throw when they are used. */
function cut(): string {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve("ts-morph"));
  const file = resolve("@ts-morph/common").replace(/[^/]+$/, "typescript.js");
  const whole = readFileSync(file, "utf8");
  const end = whole.indexOf("// src/compiler/binder.ts");
  if (end < 0)
    throw new Error(
      `Cannot cut '${file}': it has no line '// src/compiler/binder.ts'. Look how it is built.`,
    );
  return `import { createRequire } from "node:module";
    const require = createRequire(${JSON.stringify(file)}), __filename = ${JSON.stringify(file)};
    ${whole.slice(0, end)} })({ set exports(value) { ts = value; } });
    export { ts };`;
}

/** The processes that read files for the index of this one. */
export function readersOf(pid: number): number[] {
  const read = (file: string): string => {
    try {
      return readFileSync(`/proc/${file}`, "utf8");
    } catch {
      return ""; // it has ended
    }
  };
  const children = read(`${pid}/task/${pid}/children`)
    .trim()
    .split(" ")
    .filter(Boolean)
    .map(Number);
  return children.filter((child) => read(`${child}/cmdline`).match(/symbols[-/]worker\.[jt]s/));
}

/** How often each name occurs. */
export function usesOf({ uses }: Pick<Facts, "uses">): Record<string, number> {
  const all: [string, number][] = [];
  eachUse(uses, (name, count) => void all.push([name, count]));
  return Object.fromEntries(all);
}

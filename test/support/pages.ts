// README.md and the pages of docs/, and the samples in them.
import { equal } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run.ts";

export const inRoot = (name: string): string => readFileSync(join(ROOT, name), "utf8");
export const DOCS: string[] = readdirSync(join(ROOT, "docs")).filter((name) =>
  name.endsWith(".md"),
);
export const PAGES = new Map(
  ["README.md", ...DOCS.map((name) => `docs/${name}`)].map((name) => [name, inRoot(name)]),
);
export const page = (name: string): string => PAGES.get(name)!;

export const snippets = [...PAGES].flatMap(([name, text]) =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, text]) => ({
    page: name,
    kind,
    text: text!,
  })),
);

/** The sample with these words. One that appears on two pages is the same on both. */
export function snippet(holds: string): string {
  const found = new Set(
    snippets.filter(({ text }) => text.includes(holds)).map(({ text }) => text),
  );
  equal(found.size, 1, `one snippet with ${holds}`);
  return [...found][0]!;
}

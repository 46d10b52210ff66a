// Looks up what is known about a project, once for all claims of an answer.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { type AnswerClaims, type Claim, SOFT } from "./claims.ts";
import { inPackages, type OwnNames, ownNames } from "./library-names.ts";
import { definitionPlace, nearestDefinition, type Place, placeInCode, readTexts, type Texts } from "./texts.ts";

/** Everything that claims are checked against. */
export interface Facts {
  ctx: Ctx;
  texts: Texts;
  index: Map<string, Found[]>; // definitions, by the requested symbol
  elsewhere: Awaited<ReturnType<typeof findElsewhere>>;
  scripts: Map<string, string>; // of package.json, with its file
  defines: Set<string>; // names that the answer's own code defines
}

export async function gatherFacts({ claims, defines }: AnswerClaims, ctx: Ctx): Promise<Facts> {
  const texts = await readTexts(ctx, (names) => named(claims, names));
  const index = await askIndex(claims, texts, ctx);
  const elsewhere = await findElsewhere(claims, texts, ctx);
  const scripts = await scriptsOf(claims, texts, ctx);
  return { ctx, texts, index, elsewhere, scripts, defines };
}

/** The verdict on something that was not found. The answer itself may have said that it is missing. */
export function missing({ soft, weak }: Claim, message: string): Verdict {
  if (weak) return undefined;
  return soft ? ["open", `${message}; ${SOFT[soft]}`] : ["bad", message];
}

export function definitionOf(facts: Facts, name: string): Place | undefined {
  return facts.index.get(name)?.[0];
}

export interface Finding {
  sign: "bad" | "open" | "good"; // false, unknown, true
  name: string;
  message: string;
}
export type Found = { name: string; kind: string; path: string; line: number; end: number; signature: string };
export type Verdict = [sign: Finding["sign"], message: string] | undefined; // undefined: not a claim after all

const MAX_INDEX_MS = 800;
const QUERIES_AT_ONCE = 16; // to the index
const MAX_GREPS = 8;
const SUFFIXES = ["", ".ts", ".tsx", ".js", ".mjs", ".jsx", ".py", ".vue", "/index.ts", "/index.tsx", "/index.js"];
export const at = ({ path: file, line }: Place): string => `${file}:${line}`;
export const lastOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
export const firstOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf(".")));

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export function containsName(row: string, name: string): boolean {
  for (let from = row.indexOf(name); from >= 0; from = row.indexOf(name, from + 1))
    if (!/[\w$]/.test(row[from - 1] ?? "") && !/[\w$]/.test(row[from + name.length] ?? "")) return true;
  return false;
}

/** The project's files that have the same name as a file in a claim. */
function named(claims: Claim[], names: string[]): string[] {
  const wanted = new Set(claims.flatMap((one) => [one.name, one.path ?? ""]).map((name) => path.posix.basename(name)));
  return names.filter((name) => wanted.has(path.posix.basename(name)));
}

/**
 * What a path refers to: a folder, files, or why it may not be read. Its end is enough: `ui/table.ts` for
 * `src/ui/table.ts`.
 */
export function locate(
  { texts, ctx: { root, files, permissions } }: Facts,
  name: string,
): { files: string[]; folder?: true; why?: string } {
  const outside = { files: [], why: "it is outside the project" };
  if (name.startsWith("~")) return outside;
  const whole = path.resolve(root, name);
  const own = path.relative(root, whole).split(path.sep).join("/");
  try {
    files.path(whole);
  } catch {
    return outside;
  }
  if (!own) return { files: [], folder: true };
  const { verdict } = permissions.judge("read", own);
  if (verdict !== "allow")
    return { files: [], why: verdict === "ask" ? "reading it must be asked for" : "reading it is denied" };
  for (const end of SUFFIXES) {
    const stat = fs.statSync(whole + end, { throwIfNoEntry: false });
    if (stat?.isDirectory() && !end) return { files: [], folder: true };
    if (stat?.isFile()) return { files: [own + end] };
  }
  const ends = name.endsWith("/") ? [] : SUFFIXES;
  const found = texts.names.filter((other) => ends.some((end) => other.endsWith(`/${own}${end}`)));
  if (found.length) return { files: found };
  return texts.names.some((other) => `/${other}`.includes(`/${own}/`)) ? { files: [], folder: true } : { files: [] };
}

/** Asks the index about the names found in code, about their owners, and about the names most similar to the others. */
async function askIndex(claims: Claim[], texts: Texts, ctx: Ctx): Promise<Map<string, Found[]>> {
  const symbols = claims.flatMap(({ kind, name, symbol }) => (kind === "symbol" ? [name] : symbol ? [symbol] : []));
  const known = symbols.filter((name) => definitionPlace(texts, lastOf(name)));
  const owned = symbols.filter((name) => definitionPlace(texts, capital(firstOf(name)))).map(capital);
  const roots = symbols.map(firstOf).filter((name) => name && definitionPlace(texts, name));
  const near = symbols
    .filter((name) => !placeInCode(texts, lastOf(name)))
    .map((name) => nearestDefinition(texts, lastOf(name)) ?? "");
  const all = [...new Set([...known, ...owned, ...roots, ...near])].filter(Boolean);
  const { clock } = ctx.io;
  const until = clock.now() + MAX_INDEX_MS;
  const found = new Map<string, Found[]>();
  for (let i = 0; i < all.length && clock.now() < until; i += QUERIES_AT_ONCE) {
    ctx.signal.throwIfAborted();
    const some = all.slice(i, i + QUERIES_AT_ONCE);
    const results = await Promise.all(some.map((symbol) => ctx.call("find_definition", { symbol })));
    for (const [j, name] of some.entries()) {
      const data = results[j]!.failed ? [] : ((results[j]!.data as Found[] | undefined) ?? []);
      const exact = data.filter((one) => one.name === name || one.name.endsWith(`.${name}`));
      if (exact.length) found.set(name, exact.sort(sourcesFirst));
    }
  }
  return found;
}

const inTests = (one: Place): boolean => /(?:^|\/)tests?\/|\.(?:test|spec)\./.test(one.path);
const sourcesFirst = (a: Found, b: Found): number =>
  Number(inTests(a)) - Number(inTests(b)) || Number(a.name.includes(".")) - Number(b.name.includes("."));

/** Searches the remaining files, the language and packages for names that are in no file that was read. */
async function findElsewhere(claims: Claim[], texts: Texts, ctx: Ctx) {
  const names = claims.flatMap(({ kind, name }) =>
    kind === "symbol" && !placeInCode(texts, lastOf(name)) ? [name] : [],
  );
  const packages = new Map<string, string>();
  const [grepped, searched] = [new Map<string, Place>(), new Set<string>()];
  let known: OwnNames | undefined;
  const own = (): OwnNames => (known ??= ownNames());
  if (!names.length) return { own, packages, grepped, searched };
  const left = [...new Set(names.map(lastOf))].filter((name) => !own().has(name));
  const asked = Object.values((await packagesOf(texts, ctx))[0]?.needs ?? {});
  for (const [name, from] of await inPackages(left, asked, ctx)) packages.set(name, from);
  if (!texts.isWhole)
    for (const name of names
      .filter((one) => !own().has(lastOf(one)) && !packages.has(lastOf(one)))
      .slice(0, MAX_GREPS)) {
      const query = `(?<![\\w$])${escaped(lastOf(name))}(?![\\w$])`;
      const { failed, data } = await ctx.call("grep", { query, regex: true });
      if (failed) break;
      searched.add(name);
      const [hit] = (data as Place[] | undefined) ?? [];
      if (hit) grepped.set(name, hit);
    }
  return { own, packages, grepped, searched };
}

type Package = { file: string; scripts: Record<string, string>; needs: string[] };

/** The packages of the project, the top-level one first. */
async function packagesOf(texts: Texts, { files, permissions }: Ctx): Promise<Package[]> {
  const names = texts.names
    .filter((name) => path.posix.basename(name) === "package.json")
    .sort((a, b) => a.length - b.length);
  const found: Package[] = [];
  for (const file of names.slice(0, 50)) {
    if (permissions.judge("read", file).verdict !== "allow") continue;
    try {
      const { scripts = {}, dependencies = {}, devDependencies = {} } = JSON.parse((await files.read(file)).text);
      found.push({ file, scripts, needs: [...Object.keys(dependencies), ...Object.keys(devDependencies)] });
    } catch {} // an unreadable one has no scripts
  }
  return found;
}

async function scriptsOf(claims: Claim[], texts: Texts, ctx: Ctx): Promise<Map<string, string>> {
  const scripts = new Map<string, string>();
  if (!claims.some(({ kind }) => kind === "command")) return scripts;
  for (const { file, scripts: own } of await packagesOf(texts, ctx))
    for (const name of Object.keys(own)) if (!scripts.has(name)) scripts.set(name, file);
  return scripts;
}

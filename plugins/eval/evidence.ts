// What of an answer's claims holds, against the disk and the index of symbols.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { type Claim, type Said, SOFT } from "./claims.ts";
import { inPackages, type Own, ownNames } from "./known.ts";
import { distance, lineAt, linesOf, type Place, readTexts, squeezed, type Texts } from "./texts.ts";

export interface Finding {
  sign: "bad" | "open" | "good"; // does not hold, cannot be known, holds
  name: string;
  says: string;
}
type Found = { name: string; kind: string; path: string; line: number; end: number; signature: string };
type Verdict = [sign: Finding["sign"], says: string] | undefined; // undefined: it was no claim after all

const MOST_MS = 800; // for the index
const AT_ONCE = 16; // questions to it
const MOST_GREPS = 8;
const NEAR_LINES = 2; // a line is meant that is so near
const ROUGH_LINES = 10; // where the answer itself says "around"
const [ALMOST, NEARLY] = [0.3, 0.15]; // of the letters of a quote may differ; where it may be no quote
const LONGEST_ROW = 160; // characters of it that are compared
const MOST_PLACES = 300;
const LEFT_OUT = /^(?:\W*(?:\.\.\.|…)|(?:\/\/|#|\/\*).*(?:\.\.\.|…))/;
const MADE =
  /(?:^|\/)(?:node_modules|dist|build|out|target|coverage|tmp|logs?|\.next|\.cache|\.venv)(?:\/|$)|(?:^|\/)\.env(?:\.|$)|\.log$/;
const AS_SOURCE: [RegExp, string[]][] = [
  [/\.js$/, [".ts", ".tsx"]],
  [/\.mjs$/, [".mts"]],
  [/\.jsx$/, [".tsx"]],
];
const ENDS = ["", ".ts", ".tsx", ".js", ".mjs", ".jsx", ".py", ".vue", "/index.ts", "/index.tsx", "/index.js"];
const OWN = "JavaScript's own, or Node's";
const CLOSED = /^(?:class|enum)$/; // what has these members and no others
const at = ({ path: file, line }: Place): string => `${file}:${line}`;
const lastOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
const firstOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf(".")));

export async function evidence({ claims, defines }: Said, ctx: Ctx): Promise<Finding[]> {
  const texts = await readTexts(ctx, (names) => named(claims, names));
  const index = await askIndex(claims, texts, ctx);
  const elsewhere = await findElsewhere(claims, texts, ctx);
  const scripts = await scriptsOf(claims, texts, ctx);
  const findings: Finding[] = [];
  for (const claim of claims) {
    ctx.signal.throwIfAborted();
    const verdict = await judge(claim);
    if (verdict) findings.push({ sign: verdict[0], name: shown(claim), says: verdict[1] });
  }
  return findings;

  function judge(claim: Claim): Verdict | Promise<Verdict> {
    if (claim.kind === "path") return pathVerdict(claim);
    if (claim.kind === "symbol") return symbolVerdict(claim);
    return claim.kind === "quote" ? quoteVerdict(claim) : scriptVerdict(claim);
  }

  /** Missing, but perhaps said to be. */
  function missing({ soft, weak }: Claim, says: string): Verdict {
    if (weak) return undefined;
    return soft ? ["open", `${says}; ${SOFT[soft]}`] : ["bad", says];
  }

  // Paths and lines

  async function pathVerdict(claim: Claim): Promise<Verdict> {
    const place = locate(claim.name, texts, ctx);
    if (place.why) return claim.weak ? undefined : ["open", place.why];
    if (place.folder) return claim.line ? ["bad", "it is a folder"] : ["good", "a folder"];
    if (!place.files.length) return missingPath(claim);
    const verdicts: Verdict[] = [];
    for (const file of place.files.slice(0, 5)) verdicts.push(await spotVerdict(claim, file));
    const good = verdicts.find((one) => one?.[0] === "good");
    const more = !claim.line && !claim.symbol && place.files.length > 1 ? ` and ${place.files.length - 1} more` : "";
    return good ? [good[0], `${good[1]}${more}`] : verdicts[0];
  }

  function missingPath({ weak, ...claim }: Claim): Verdict {
    const { name } = claim;
    const [top = ""] = name.replace(/^\.\//, "").split("/");
    if (weak && !texts.names.some((other) => other.startsWith(`${top}/`))) return undefined;
    if (MADE.test(name)) return ["open", "it is not there; it may be made by a run"];
    const source = AS_SOURCE.flatMap(([end, others]) =>
      end.test(name) ? others.map((other) => name.replace(end, other)) : [],
    );
    const there = source.flatMap((other) => locate(other, texts, ctx).files)[0];
    if (there) return ["open", `it is not there, but ${there} is, of which it may be made`];
    const said = texts.mentions(name.replace(/^\.\//, "").replace(/\/$/, ""));
    if (said) return ["open", `it is not there, but ${at(said)} names it`];
    const near = texts.nearestPath(name);
    return missing(claim, `there is no such file${near ? `; nearest: ${near}` : ""}`);
  }

  async function spotVerdict({ name, line, end = line, about, symbol }: Claim, file: string): Promise<Verdict> {
    const here = path.posix.normalize(name) === file ? "" : file;
    if (!line && !symbol) return ["good", here || "it is there"];
    const text = await textOf(file);
    if (text === undefined) return ["open", `${here || "it"} cannot be read`];
    const lines = linesOf(text);
    const where = here && `${here}: `;
    if (line && end! > lines.length) {
      const real = symbol && placeIn(symbol, file, text);
      const says = `${where}it has ${lines.length} line${lines.length === 1 ? "" : "s"}${real ? `; \`${symbol}\` is at ${at(real)}` : ""}`;
      return about && line - ROUGH_LINES < lines.length ? ["good", says] : ["bad", says];
    }
    const known = symbol && (texts.place(lastOf(symbol)) || texts.inProse(lastOf(symbol))); // else the symbol's own line says so
    if (symbol && known) return symbolAt(symbol, file, text, line, end, about);
    return ["good", line ? `${where}\`${lines[line - 1]!.trim().slice(0, 100)}\`` : here || "it is there"];
  }

  function symbolAt(symbol: string, file: string, text: string, line?: number, end?: number, about?: true): Verdict {
    const real = placeIn(symbol, file, text);
    const name = lastOf(symbol);
    if (!real) {
      const other = definitionOf(symbol) ?? texts.place(name);
      return other
        ? ["bad", `\`${symbol}\` is not in it, but at ${at(other)}`]
        : ["open", `\`${symbol}\` is not in it`];
    }
    if (!line) return ["good", `\`${symbol}\` is at ${at(real)}`];
    const slack = about ? ROUGH_LINES : NEAR_LINES;
    const part = linesOf(text).slice(Math.max(0, line - 1 - slack), end! + slack);
    const isInside = (index.get(symbol) ?? []).some((one) => one.path === file && one.line <= line && line <= one.end);
    if (isInside || part.some((row) => holds(row, name))) return ["good", `\`${symbol}\` is there`];
    return ["bad", `\`${symbol}\` is at ${at(real)}`];
  }

  /** Where it is defined in that file, or else first named. */
  function placeIn(symbol: string, file: string, text: string): Place | undefined {
    const own = index.get(symbol)?.find((one) => one.path === file);
    if (own) return own;
    const name = lastOf(symbol);
    const line = linesOf(text).findIndex((row) => holds(row, name));
    return line < 0 ? undefined : { path: file, line: line + 1 };
  }

  async function textOf(file: string): Promise<string | undefined> {
    const known = texts.text(file);
    if (known !== undefined) return known;
    const text = (await ctx.files.read(file).catch(() => undefined))?.text;
    if (text !== undefined) texts.keep(file, text);
    return text;
  }

  // Symbols

  function symbolVerdict(claim: Claim): Verdict {
    const { name } = claim;
    const [last, root] = [lastOf(name), firstOf(name)];
    const own = index.get(name) ?? [];
    if (own.length) return ["good", `${at(own[0]!)}${own.length > 1 ? ` and ${own.length - 1} more` : ""}`];
    const place =
      member(name) ??
      elsewhere.grepped.get(name) ??
      (root ? literal(name) : (texts.defined(last) ?? texts.titled(last) ?? texts.place(last)));
    if (place && !claim.weak) return ["good", at(place)];
    if (place) return undefined;
    const told = root ? literal(name, true) : texts.inProse(last);
    if (told) return claim.weak ? undefined : ["open", `no code holds it, only ${at(told)}`];
    if (root) return memberVerdict(claim, root, last);
    return foreign(claim, last) ?? unknown(claim, "nowhere in the project");
  }

  /** `ctx.note`, where Ctx has a note. */
  function member(name: string): Place | undefined {
    return index.get(capital(name))?.[0];
  }

  /** `Session.open` where nothing is written like that. */
  function memberVerdict(claim: Claim, root: string, last: string): Verdict {
    const [owner] = index.get(root) ?? [];
    if (owner && CLOSED.test(owner.kind) && !/\bextends\b/.test(owner.signature)) {
      if (!texts.place(last)) return unknown(claim, `\`${root}\` (${at(owner)}) has no \`${last}\``);
      const inside = linesOf(texts.text(owner.path) ?? "").slice(owner.line - 1, owner.end);
      if (!inside.some((row) => holds(row, last)))
        return unknown(claim, `\`${root}\` (${at(owner)}) has no \`${last}\``, false);
    }
    if (!owner && elsewhere.own().holds(root))
      return elsewhere.own().has(last) ? ["good", OWN] : ["open", "it is not of this project"];
    const other = texts.defined(last) ?? texts.place(last);
    if (other) return ["open", `\`${last}\` is at ${at(other)}, but nothing there says \`${claim.name}\``];
    const known = foreign(claim, last);
    if (known) return known;
    return owner || texts.place(root)
      ? unknown(claim, `nothing in the project is called \`${last}\``)
      : ["open", "it is not of this project"];
  }

  function foreign({ name, soft }: Claim, last: string): Verdict {
    if (elsewhere.own().has(last)) return ["good", OWN];
    const from = elsewhere.packages.get(last);
    if (from) return ["good", `of the package ${from}`];
    if (defines.has(last)) return ["open", "nowhere in the project; the answer's own code defines it"];
    if (/^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/.test(name))
      return [
        "open",
        `nowhere in the project; it may be a variable of the environment${soft ? `; ${SOFT[soft]}` : ""}`,
      ];
    return undefined;
  }

  function unknown(claim: Claim, says: string, guess = true): Verdict {
    const near = guess ? texts.nearest(lastOf(claim.name)) : undefined;
    const place = near && (definitionOf(near) ?? texts.defined(near));
    const doubt =
      texts.isWhole || elsewhere.searched.has(claim.name)
        ? ""
        : "nothing of it was found, but not all files were looked through";
    const whole = `${says}${place ? `; nearest: ${near}, ${at(place)}` : ""}`;
    return doubt && !claim.weak ? ["open", doubt] : missing(claim, whole);
  }

  function definitionOf(name: string): Place | undefined {
    return index.get(name)?.[0];
  }

  /** `chat.messages` as it is written somewhere. */
  function literal(name: string, prose = false): Place | undefined {
    const dotted = escaped(name).replaceAll("\\.", "(?:\\??\\.|::|#|->)");
    return texts.literal(new RegExp(`(?<![\\w$])${dotted}(?![\\w$])`), lastOf(name), prose);
  }

  // Quoted code

  function quoteVerdict(claim: Claim): Verdict {
    return claim.name.includes("\n") || (claim.path && !claim.sure) ? blockVerdict(claim) : lineVerdict(claim);
  }

  /** A block is said to stand in a file; what is left out of it is marked with dots. */
  function blockVerdict(claim: Claim): Verdict {
    const [file] = locate(claim.path!, texts, ctx).files;
    const text = file && texts.flat().get(file);
    if (!text) return undefined; // the path's own line says so
    const told = unnumbered(claim.name.split("\n"))
      .map((row) => row.trim())
      .filter((row) => /[\w$]/.test(row) && !LEFT_OUT.test(row));
    const wrong = told.filter((row) => !text.includes(squeezed(row)));
    if (!told.length) return undefined;
    if (!wrong.length) return ["good", at({ path: file!, line: lineAt(text, text.indexOf(squeezed(told[0]!))) })];
    const near = nearestLine(wrong[0]!, [file!], ALMOST);
    const says = `\`${wrong[0]!.slice(0, 80)}\` is not in it${near ? `; nearest: ${near}` : ""}`;
    if (claim.sure) return ["bad", says];
    return wrong.length < told.length / 3 ? ["open", says] : undefined; // else it is what the answer proposes
  }

  function lineVerdict(claim: Claim): Verdict {
    const pieces = squeezed(claim.name)
      .split(/\s*(?:\.\.\.|…)\s*/)
      .filter((piece) => piece.length > 2);
    if (!pieces.length) return undefined;
    const own = claim.path ? locate(claim.path, texts, ctx).files : [];
    const all = [...own, ...texts.names.filter((name) => !own.includes(name))];
    for (const file of all) {
      const text = texts.flat().get(file);
      if (!text || !pieces.every((piece) => text.includes(piece))) continue;
      return ["good", at({ path: file, line: lineAt(text, text.indexOf(pieces[0]!)) })];
    }
    const sure = claim.sure && !claim.soft;
    const near = nearestLine(pieces[0]!, own.length ? own : all, sure ? ALMOST : NEARLY);
    if (!near || pieces.length > 1) return undefined; // nothing like it: it may be what the answer proposes, or an example
    return [sure ? "bad" : "open", `it stands nowhere like that; nearest: ${near}`];
  }

  /** Where a line is most like it, of those that hold one of its longest words. */
  function nearestLine(row: string, files: readonly string[], almost: number): string | undefined {
    const wanted = squeezed(row).trim().slice(0, LONGEST_ROW);
    const words = [...wanted.matchAll(/[\p{L}_$][\p{L}\p{N}_$]{2,}/gu)].sort((a, b) => b[0].length - a[0].length);
    for (const { 0: word, index: before } of words.slice(0, 3)) {
      let [least, found, left] = [almost, "", MOST_PLACES];
      for (const file of files) {
        const text = texts.flat().get(file) ?? "";
        for (let from = text.indexOf(word); from >= 0 && left; from = text.indexOf(word, from + 1)) {
          left--;
          const start = Math.max(text.lastIndexOf("\n", from) + 1, from - before);
          const [window = ""] = text.slice(start, from - before + wanted.length).split("\n");
          const far = distance(wanted, window);
          if (far < least) [least, found] = [far, spot(file, lineAt(text, from))];
        }
      }
      if (found) return found;
    }
    return undefined;
  }

  function spot(file: string, line: number): string {
    return `${at({ path: file, line })} \`${linesOf(texts.text(file)!)[line - 1]!.trim().slice(0, 80)}\``;
  }

  // Scripts

  function scriptVerdict(claim: Claim): Verdict {
    const own = scripts.get(claim.name);
    if (own) return ["good", own];
    if (!scripts.size) return ["open", "no package.json here has scripts"];
    const near = [...scripts.keys()]
      .map((name) => ({ name, far: distance(name, claim.name) }))
      .sort((a, b) => a.far - b.far)[0];
    const others = near && near.far < 0.6 ? `; nearest: ${near.name}` : "";
    return missing(claim, `no package.json has that script${others}`);
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function holds(row: string, name: string): boolean {
  for (let from = row.indexOf(name); from >= 0; from = row.indexOf(name, from + 1))
    if (!/[\w$]/.test(row[from - 1] ?? "") && !/[\w$]/.test(row[from + name.length] ?? "")) return true;
  return false;
}

/** Line numbers before each line, as tools show them, are no part of it. */
function unnumbered(rows: string[]): string[] {
  const numbered = rows.filter((row) => /^\s*\d+[\t|:]/.test(row)).length;
  return numbered > rows.length / 2 ? rows.map((row) => row.replace(/^\s*\d+[\t|:] ?/, "")) : rows;
}

function shown({ kind, name, line, end }: Claim): string {
  if (kind === "command") return `npm run ${name}`;
  if (kind === "quote") return `\`${name.split("\n")[0]!.trim().slice(0, 60)}${name.includes("\n") ? " …" : ""}\``;
  const spot = line ? `:${line}${end && end !== line ? `–${end}` : ""}` : "";
  return kind === "path" ? `${name}${spot}` : `\`${name}\``;
}

/** The files that are named, of those there are. */
function named(claims: Claim[], names: string[]): string[] {
  const wanted = new Set(claims.flatMap((one) => [one.name, one.path ?? ""]).map((name) => path.posix.basename(name)));
  return names.filter((name) => wanted.has(path.posix.basename(name)));
}

/** Where a path leads: a folder, files, or why nobody may look. A part of one is enough: `ui/table.ts` for `src/ui/table.ts`. */
function locate(
  name: string,
  texts: Texts,
  { root, files, permissions }: Ctx,
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
  for (const end of ENDS) {
    const stat = fs.statSync(whole + end, { throwIfNoEntry: false });
    if (stat?.isDirectory() && !end) return { files: [], folder: true };
    if (stat?.isFile()) return { files: [own + end] };
  }
  const ends = name.endsWith("/") ? [] : ENDS;
  const found = texts.names.filter((other) => ends.some((end) => other.endsWith(`/${own}${end}`)));
  if (found.length) return { files: found };
  return texts.names.some((other) => `/${other}`.includes(`/${own}/`)) ? { files: [], folder: true } : { files: [] };
}

/** What the index knows of the names that code holds, of what comes before their dots, and of what is nearest to the others. */
async function askIndex(claims: Claim[], texts: Texts, ctx: Ctx): Promise<Map<string, Found[]>> {
  const symbols = claims.flatMap(({ kind, name, symbol }) => (kind === "symbol" ? [name] : symbol ? [symbol] : []));
  const known = symbols.filter((name) => texts.defined(lastOf(name)));
  const owned = symbols.filter((name) => texts.defined(capital(firstOf(name)))).map(capital);
  const roots = symbols.map(firstOf).filter((name) => name && texts.defined(name));
  const near = symbols.filter((name) => !texts.place(lastOf(name))).map((name) => texts.nearest(lastOf(name)) ?? "");
  const all = [...new Set([...known, ...owned, ...roots, ...near])].filter(Boolean);
  const until = performance.now() + MOST_MS;
  const found = new Map<string, Found[]>();
  for (let i = 0; i < all.length && performance.now() < until; i += AT_ONCE) {
    ctx.signal.throwIfAborted();
    const some = all.slice(i, i + AT_ONCE);
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

/** What no file that was read holds: in the others, in the language, in packages. */
async function findElsewhere(claims: Claim[], texts: Texts, ctx: Ctx) {
  const names = claims.flatMap(({ kind, name }) => (kind === "symbol" && !texts.place(lastOf(name)) ? [name] : []));
  const packages = new Map<string, string>();
  const [grepped, searched] = [new Map<string, Place>(), new Set<string>()];
  let known: Own | undefined;
  const own = (): Own => (known ??= ownNames());
  if (!names.length) return { own, packages, grepped, searched };
  const left = [...new Set(names.map(lastOf))].filter((name) => !own().has(name));
  const asked = Object.values((await packagesOf(texts, ctx))[0]?.needs ?? {});
  for (const [name, from] of await inPackages(left, asked, ctx)) packages.set(name, from);
  if (!texts.isWhole)
    for (const name of names
      .filter((one) => !own().has(lastOf(one)) && !packages.has(lastOf(one)))
      .slice(0, MOST_GREPS)) {
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

/** The one at the top first. */
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
    } catch {} // one that cannot be read has no scripts
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

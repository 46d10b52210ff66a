// The best rows that fit into the budget.

import { thousands } from "zz/text";
import type { Facts, Sym } from "../scan/facts.ts";
import { hashesIn } from "../scan/word-bag.ts";
import type { MapRequest, RepoMap } from "./map-request.ts";
import type { Order } from "./order.ts";
import { rarities, termsOf } from "./signals.ts";
import { publicSymbols, type Survey } from "./survey.ts";
import { cost, countTokens, UNITS_PER_TOKEN } from "./tokens.ts";

const MAX_ROW_CHARS = 120;
/**
 * With a query: how many files show symbols, how many of the first show several, and how many; the
 * rest are bare paths.
 */
const SHOWN = { files: 16, several: 6, rows: 3, share: 0.65 }; // share: of the budget, for symbols

interface Row {
  doc: number;
  sym?: Sym; // undefined: a bare path
  value: number;
}
type Rated = { sym: Sym; value: number; matching: number }[];

/** The best rows that fit. The last line says what was left out. */
export function packMap(survey: Survey, order: Order, request: MapRequest): RepoMap {
  const { docs } = survey;
  const { tokens, query = "", focus = [] } = request;
  const shown = order.docs;
  const places = new Map(shown.map((doc, index) => [doc, index]));
  const weights = rarities(survey, termsOf([query, ...focus].join(" ")));
  const budget = tokens * UNITS_PER_TOKEN;
  const symbols = shown.reduce((sum, doc) => sum + docs[doc]!.shown, 0);
  const fitter = openFitter(survey, order, request);
  const allRows =
    // a row costs more than one token
    symbols + shown.length < tokens ? shown.flatMap((doc) => allRowsOf(survey, doc)) : [];
  const rowsThatFit = fitter.fit(allRows, budget + UNITS_PER_TOKEN, 0);
  const isWhole = rowsThatFit.length === allRows.length && allRows.length >= shown.length;
  const room = budget - cost(footer(shown.length, symbols));
  const fill: Fill = { survey, shown, weights, tokens };
  const fitting = () =>
    query.trim() ? fitQuery(fitter, fill, room) : fitter.fit(valuedRows(fill), room, MAX_MISSES);
  const chosen = isWhole ? rowsThatFit : fitting();
  const first = ({ doc }: { doc: number }) => (query.trim() ? places.get(doc)! : doc);
  chosen.sort((a, b) => first(a) - first(b) || a.line - b.line || (a.text < b.text ? -1 : 1));
  const files = [...new Set(chosen.map(({ doc }) => docs[doc]!.path))];
  const leftOut = shown.length - files.length;
  const lines = chosen.map(({ text }) => text);
  if (!isWhole) lines.push(footer(leftOut, symbols - chosen.filter(({ line }) => line).length));
  const text = lines.join("\n");
  if (countTokens(text) > tokens) return { text: "", files: [], left: shown.length, tokens: 0 };
  const reasonsByFile = [...new Set(chosen.map(({ doc }) => doc))].map(
    (doc) => [docs[doc]!.path, order.reasonsOf(doc)] as const,
  );
  return {
    text,
    files,
    left: leftOut,
    tokens: countTokens(text),
    ...(request.why && { why: Object.fromEntries(reasonsByFile) }),
  };
}

/** What a map is filled from. */
interface Fill {
  survey: Survey;
  shown: number[];
  weights: Map<number, number>;
  tokens: number;
}
interface Fitter {
  lineOf(doc: number, sym?: Sym): string;
  fit(rows: Row[], limit: number, misses: number, spent?: number): Fitting[];
  forget(): void; // which files have a row
}
function openFitter({ docs }: Survey, order: Order, request: MapRequest): Fitter {
  const tails = new Map<number, string>();
  return { lineOf, fit, forget: () => tails.clear() };

  /** Why a file is there stands in one of its rows. */
  function lineOf(doc: number, sym?: Sym): string {
    const text = textOf(docs[doc]!.path, sym);
    return request.why && !tails.has(doc) ? `${text}  [${order.reasonsOf(doc).join(", ")}]` : text;
  }
  function fit(rows: Row[], limit: number, misses: number, spent = 0): Fitting[] {
    const fitting: Fitting[] = [];
    for (const { doc, sym } of rows) {
      const text = lineOf(doc, sym);
      const price = cost(text) + UNITS_PER_TOKEN;
      if (spent + price <= limit) {
        spent += price;
        tails.set(doc, text);
        fitting.push({ doc, line: sym?.line ?? 0, text, price });
      } else if (--misses < 0) break;
    }
    return fitting;
  }
}

/** The symbols of the best files, those that match before others; then as many paths as fit. */
function fitQuery({ fit, lineOf, forget }: Fitter, fill: Fill, limit: number): Fitting[] {
  const { survey, shown, weights, tokens } = fill;
  const head = shown
    .slice(0, SHOWN.files)
    .flatMap((doc, index) => headOf(doc, index, ratedOf(survey, weights, doc)));
  const rows = head.filter(({ row }) => !row).concat(head.filter(({ row }) => row));
  const signed = fit(
    rows,
    Math.max(SHOWN.share * limit, Math.min(limit, cost(lineOf(shown[0] ?? 0)) * 4)),
    4,
  );
  const signedDocs = new Set(signed.map(({ doc }) => doc));
  const spent = signed.reduce((sum, { price }) => sum + price, 0);
  const maxBare = 20 + tokens / 2;
  const bare = shown
    .slice(0, maxBare)
    .filter((doc) => !signedDocs.has(doc))
    .map((doc) => ({ doc, value: 0 }));
  const fitted = [...signed, ...fit(bare, limit, MAX_MISSES, spent)];
  if (fitted.reduce((sum, { price }) => sum + price, 0) > FILLED * limit) return fitted;
  forget(); // every file is named, and there is room for more of their symbols
  return fit(valuedRows(fill), limit, MAX_MISSES);
}

/**
 * A file's value depends on its position, not on its score: the same budget shows equally many
 * files for any query.
 */
function valuedRows({ survey, shown, weights, tokens }: Fill): Row[] {
  const { docs } = survey;
  return shown
    .slice(0, 20 + tokens / 8)
    .flatMap((doc, position) => {
      const rated = ratedOf(survey, weights, doc);
      const best = 1 / (position + POSITION_OFFSET);
      const { length } = docs[doc]!.path;
      if (!rated.length) return [{ doc, value: best / Math.sqrt(length) }];
      return rated.map(({ sym, value }, row): Row => {
        const size = Math.min(MAX_ROW_CHARS, length + sym.signature.length);
        return { doc, sym, value: (best * value) / rated[0]!.value / Math.sqrt((row + 1) * size) };
      });
    })
    .sort((a, b) => b.value - a.value || a.doc - b.doc || (a.sym?.line ?? 0) - (b.sym?.line ?? 0));
}

function allRowsOf({ docs }: Survey, doc: number): Row[] {
  const symbols = docs[doc]!.source ? publicSymbols(docs[doc]!.source.facts) : [];
  return symbols.length ? symbols.map((sym) => ({ doc, sym, value: 0 })) : [{ doc, value: 0 }];
}

/** What a file shows with a query: its best symbol, and one of the first files those that match. */
const headOf = (doc: number, position: number, rated: Rated): (Row & { row: number })[] =>
  rated
    .filter(({ matching }, row) => !row || matching > 0)
    .slice(0, position < SHOWN.several ? SHOWN.rows : 1)
    .map(({ sym }, row) => ({ doc, sym, value: 0, row }));

/**
 * The symbols of a file, best first: those that the query's words are in, that others use, that are
 * exported.
 */
function ratedOf({ docs, uses }: Survey, weights: Map<number, number>, doc: number): Rated {
  const facts: Facts | undefined = docs[doc]!.source?.facts;
  const rated = (facts ? publicSymbols(facts) : []).map((sym) => ({ sym, ...rowValue(sym) }));
  for (const [index, { sym }] of rated.entries())
    if (isOverload(sym, rated[index - 1]?.sym)) rated[index]!.value *= 0.2;
  return rated.sort((a, b) => b.value - a.value || a.sym.line - b.sym.line);

  function rowValue({ name, kind: symbolKind, exported, doc }: Sym): {
    value: number;
    matching: number;
  } {
    const sum = (text: string) =>
      hashesIn(text).reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
    const matching = weights.size ? Math.min(2, sum(name) + (doc ? sum(doc) / 2 : 0)) : 0;
    const used = 1 + Math.log2(1 + (uses.get(name)?.users ?? 0)) / 5;
    return {
      value: KIND_WEIGHTS[symbolKind] * (exported ? 1 : 0.5) * (1 + 4 * matching) * used,
      matching,
    };
  }
}
type Fitting = { doc: number; line: number; text: string; price: number };

const isOverload = (sym: Sym, before?: Sym): boolean =>
  sym.name === before?.name && sym.owner === before.owner;

const KIND_WEIGHTS: Record<Sym["kind"], number> = {
  function: 1,
  class: 1,
  interface: 0.9,
  type: 0.8,
  enum: 0.8,
  namespace: 0.7,
  const: 0.7,
  variable: 0.6,
  method: 0.5,
  property: 0.2,
  member: 0.2,
  key: 0,
};
const POSITION_OFFSET = 5; // the greater, the less the position matters
const FILLED = 0.9; // of the budget
const MAX_MISSES = 30; // rows that may not fit before it stops: shorter ones may follow

function textOf(path: string, sym?: Sym): string {
  const shown = path.replace(/[\x00-\x1f\x7f]/g, "?");
  if (!sym) return shown;
  const head = `${shown}:${sym.line}: `;
  return (head + sym.signature)
    .slice(0, Math.max(MAX_ROW_CHARS, head.length + 24))
    .replace(/[\ud800-\udbff\s]$/, "");
}

function footer(files: number, symbols: number): string {
  const parts = [[files, "file"] as const, [symbols, "symbol"] as const]
    .filter(([count]) => count)
    .map(([count, noun]) => `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`);
  return `[${parts.join(" and ")} left out; repo_map with a query or more tokens shows others]`;
}

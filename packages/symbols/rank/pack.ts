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
// share: of the budget, for symbols
const SHOWN_LIMITS = { files: 16, several: 6, rows: 3, share: 0.65 };

interface Row {
  doc: number;
  sym?: Sym; // undefined: a bare path
}
type Rated = { sym: Sym; value: number; matching: number }[];

/** The best rows that fit. The last line says what was left out. */
export function packMap(survey: Survey, fileOrder: Order, request: MapRequest): RepoMap {
  const { docs } = survey;
  const { tokens, query = "", focus = [] } = request;
  const shown = fileOrder.docs;
  const positions = new Map(shown.map((docIndex, position) => [docIndex, position]));
  const weights = rarities(survey, termsOf([query, ...focus].join(" ")));
  const budget = tokens * UNITS_PER_TOKEN;
  const symbols = shown.reduce((total, docIndex) => total + docs[docIndex]!.shown, 0);
  const rowFitter = openFitter(survey, fileOrder, request);
  const allRows =
    // a row costs more than one token
    symbols + shown.length < tokens ? shown.flatMap((docIndex) => allRowsOf(survey, docIndex)) : [];
  const rowsThatFit = rowFitter.fit(allRows, budget + UNITS_PER_TOKEN, 0);
  const isWhole = rowsThatFit.length === allRows.length && allRows.length >= shown.length;
  const rowBudget = budget - cost(makeFooter(shown.length, symbols));
  const mapFill: Fill = { survey, shown, weights, tokens };
  const fitting = () =>
    query.trim()
      ? fitQuery(rowFitter, mapFill, rowBudget)
      : rowFitter.fit(valuedRows(mapFill), rowBudget, MAX_MISSES);
  const chosenRows = isWhole ? rowsThatFit : fitting();
  const getPosition = ({ doc }: { doc: number }) => (query.trim() ? positions.get(doc)! : doc);
  chosenRows.sort(
    (a, b) => getPosition(a) - getPosition(b) || a.line - b.line || (a.text < b.text ? -1 : 1),
  );
  const files = [...new Set(chosenRows.map(({ doc }) => docs[doc]!.path))];
  const leftOut = shown.length - files.length;
  const mapLines = chosenRows.map(({ text }) => text);
  if (!isWhole)
    mapLines.push(makeFooter(leftOut, symbols - chosenRows.filter(({ line }) => line).length));
  const text = mapLines.join("\n");
  if (countTokens(text) > tokens) return { text: "", files: [], left: shown.length, tokens: 0 };
  const reasonsByFile = [...new Set(chosenRows.map(({ doc }) => doc))].map(
    (docIndex) => [docs[docIndex]!.path, fileOrder.reasonsOf(docIndex)] as const,
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
type Fitter = ReturnType<typeof openFitter>;
function openFitter({ docs }: Survey, fileOrder: Order, request: MapRequest) {
  const docsWithRow = new Set<number>();
  return { lineOf, fit, forget: () => docsWithRow.clear() };

  /** Why a file is there stands in one of its rows. */
  function lineOf(docIndex: number, shownSymbol?: Sym): string {
    const rowText = formatRow(docs[docIndex]!.path, shownSymbol);
    return request.why && !docsWithRow.has(docIndex)
      ? `${rowText}  [${fileOrder.reasonsOf(docIndex).join(", ")}]`
      : rowText;
  }
  function fit(wantedRows: Row[], costLimit: number, missesLeft: number, spentCost = 0): Fitting[] {
    const fitting: Fitting[] = [];
    for (const { doc, sym } of wantedRows) {
      const text = lineOf(doc, sym);
      const price = cost(text) + UNITS_PER_TOKEN;
      if (spentCost + price <= costLimit) {
        spentCost += price;
        docsWithRow.add(doc);
        fitting.push({ doc, line: sym?.line ?? 0, text, price });
      } else if (--missesLeft < 0) break;
    }
    return fitting;
  }
}

/** The symbols of the best files, those that match before others; then as many paths as fit. */
function fitQuery({ fit, lineOf, forget }: Fitter, mapFill: Fill, costLimit: number): Fitting[] {
  const { survey, shown, weights, tokens } = mapFill;
  const headRows = shown
    .slice(0, SHOWN_LIMITS.files)
    .flatMap((docIndex, position) =>
      takeHeadRows(docIndex, position, ratedOf(survey, weights, docIndex)),
    );
  const orderedRows = headRows.filter(({ row }) => !row).concat(headRows.filter(({ row }) => row));
  const symbolRows = fit(
    orderedRows,
    Math.max(SHOWN_LIMITS.share * costLimit, Math.min(costLimit, cost(lineOf(shown[0] ?? 0)) * 4)),
    4,
  );
  const signedDocs = new Set(symbolRows.map(({ doc }) => doc));
  const spentCost = symbolRows.reduce((total, { price }) => total + price, 0);
  const maxBare = 20 + tokens / 2;
  const bareRows = shown
    .slice(0, maxBare)
    .filter((docIndex) => !signedDocs.has(docIndex))
    .map((doc) => ({ doc }));
  const fittedRows = [...symbolRows, ...fit(bareRows, costLimit, MAX_MISSES, spentCost)];
  if (fittedRows.reduce((total, { price }) => total + price, 0) > FILLED_SHARE * costLimit)
    return fittedRows;
  forget(); // every file is named, and there is room for more of their symbols
  return fit(valuedRows(mapFill), costLimit, MAX_MISSES);
}

/**
 * A file's value depends on its position, not on its score: the same budget shows equally many
 * files for any query.
 */
function valuedRows({ survey, shown, weights, tokens }: Fill): Row[] {
  const { docs } = survey;
  return shown
    .slice(0, 20 + tokens / 8)
    .flatMap((doc, position): (Row & { value: number })[] => {
      const ratedSymbols = ratedOf(survey, weights, doc);
      const bestValue = 1 / (position + POSITION_OFFSET);
      const { length } = docs[doc]!.path;
      if (!ratedSymbols.length) return [{ doc, value: bestValue / Math.sqrt(length) }];
      return ratedSymbols.map(({ sym, value }, rowIndex) => {
        const rowSize = Math.min(MAX_ROW_CHARS, length + sym.signature.length);
        return {
          doc,
          sym,
          value: (bestValue * value) / ratedSymbols[0]!.value / Math.sqrt((rowIndex + 1) * rowSize),
        };
      });
    })
    .sort((a, b) => b.value - a.value || a.doc - b.doc || (a.sym?.line ?? 0) - (b.sym?.line ?? 0));
}

function allRowsOf({ docs }: Survey, doc: number): Row[] {
  const symbols = docs[doc]!.source ? publicSymbols(docs[doc]!.source.facts) : [];
  return symbols.length ? symbols.map((sym) => ({ doc, sym })) : [{ doc }];
}

/** What a file shows with a query: its best symbol, and one of the first files those that match. */
const takeHeadRows = (
  doc: number,
  position: number,
  ratedSymbols: Rated,
): (Row & { row: number })[] =>
  ratedSymbols
    .filter(({ matching }, rowIndex) => !rowIndex || matching > 0)
    .slice(0, position < SHOWN_LIMITS.several ? SHOWN_LIMITS.rows : 1)
    .map(({ sym }, row) => ({ doc, sym, row }));

/**
 * The symbols of a file, best first: those that the query's words are in, that others use, that are
 * exported.
 */
function ratedOf({ docs, uses }: Survey, weights: Map<number, number>, docIndex: number): Rated {
  const docFacts: Facts | undefined = docs[docIndex]!.source?.facts;
  const symbols = docFacts ? publicSymbols(docFacts) : [];
  return symbols
    .map((sym, i) => ({ sym, ...rowValue(sym, isOverload(sym, symbols[i - 1]) ? 0.2 : 1) }))
    .sort((a, b) => b.value - a.value || a.sym.line - b.sym.line);

  function rowValue({ name, kind: symbolKind, exported, doc }: Sym, share: number) {
    const sumWeights = (hashedText: string) =>
      hashesIn(hashedText).reduce((total, word) => total + (weights.get(word) ?? 0), 0);
    const matching = weights.size
      ? Math.min(2, sumWeights(name) + (doc ? sumWeights(doc) / 2 : 0))
      : 0;
    const useFactor = 1 + Math.log2(1 + (uses.get(name)?.users ?? 0)) / 5;
    return {
      value:
        KIND_WEIGHTS[symbolKind] * (exported ? 1 : 0.5) * (1 + 4 * matching) * useFactor * share,
      matching,
    };
  }
}
type Fitting = { doc: number; line: number; text: string; price: number };

const isOverload = (laterSymbol: Sym, earlierSymbol?: Sym) =>
  laterSymbol.name === earlierSymbol?.name && laterSymbol.owner === earlierSymbol.owner;

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
const FILLED_SHARE = 0.9; // of the budget
const MAX_MISSES = 30; // rows that may not fit before it stops: shorter ones may follow

function formatRow(filePath: string, shownSymbol?: Sym): string {
  const shownPath = filePath.replace(/[\x00-\x1f\x7f]/g, "?");
  if (!shownSymbol) return shownPath;
  const rowHead = `${shownPath}:${shownSymbol.line}: `;
  return (rowHead + shownSymbol.signature)
    .slice(0, Math.max(MAX_ROW_CHARS, rowHead.length + 24))
    .replace(/[\ud800-\udbff\s]$/, "");
}

function makeFooter(fileCount: number, symbols: number): string {
  const footerParts = [[fileCount, "file"] as const, [symbols, "symbol"] as const]
    .filter(([count]) => count)
    .map(([count, noun]) => `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`);
  const leftOut = footerParts.join(" and ");
  return `[${leftOut} left out; repo_map with a query or more tokens shows others]`;
}

// The best rows that fit into the budget.
import type { Sym } from "../scan/facts.ts";
import type { RepoMap } from "./contract.ts";
import { type Doc, isPublic, type Survey } from "./survey.ts";
import { cost, countTokens, UNITS_PER_TOKEN } from "./tokens.ts";

const MAX_ROW_CHARS = 120;

interface Row {
  doc: number;
  sym?: Sym; // undefined: a bare path
  value: number;
}

/** The best rows that fit, sorted by path and line. The last line says what was left out. */
export function pack(survey: Survey, order: number[], tokens: number): RepoMap {
  const { docs } = survey;
  const budget = tokens * UNITS_PER_TOKEN;
  let symbols = 0;
  for (const doc of docs) symbols += publicSymbols(doc).length;
  const everything = symbols + docs.length < tokens ? docs.flatMap(allOf) : []; // a row costs more than one token
  const whole = fit(everything, budget + UNITS_PER_TOKEN, 0);
  const isWhole = whole.length === everything.length && everything.length >= docs.length;
  const chosen = isWhole
    ? whole
    : fit(rowsOf(survey, order.slice(0, 20 + tokens / 8)), budget - cost(footer(docs.length, symbols)), MAX_MISSES);
  chosen.sort((a, b) => a.doc - b.doc || a.at - b.at || (a.text < b.text ? -1 : 1));
  const files = [...new Set(chosen.map(({ doc }) => docs[doc]!.path))];
  const left = docs.length - files.length;
  const lines = chosen.map(({ text }) => text);
  if (!isWhole) lines.push(footer(left, symbols - chosen.filter(({ at }) => at).length));
  const text = lines.join("\n");
  return countTokens(text) <= tokens
    ? { text, files, left, tokens: countTokens(text) }
    : { text: "", files: [], left: docs.length, tokens: 0 };

  function allOf(one: Doc, doc: number): Row[] {
    const shown = publicSymbols(one);
    return shown.length ? shown.map((sym) => ({ doc, sym, value: 0 })) : [{ doc, value: 0 }];
  }
  function fit(rows: Row[], limit: number, misses: number) {
    const fitting: { doc: number; at: number; text: string }[] = [];
    let spent = 0;
    for (const { doc, sym } of rows) {
      const text = textOf(docs[doc]!.path, sym);
      const price = cost(text) + UNITS_PER_TOKEN;
      if (spent + price <= limit) {
        spent += price;
        fitting.push({ doc, at: sym?.line ?? 0, text });
      } else if (--misses < 0) break;
    }
    return fitting;
  }
}

/** The symbols that other files may use; only once where one line declares several. */
function publicSymbols({ facts }: Doc): Sym[] {
  const shown = facts?.symbols.filter(isPublic) ?? [];
  return shown.filter(
    ({ line, signature }, at) => shown[at - 1]?.line !== line || shown[at - 1]?.signature !== signature,
  );
}

/** A file's value depends on its position, not on its score: the same budget shows equally many files for any query. */
function rowsOf(survey: Survey, order: number[]): Row[] {
  const maxWeight = Math.max(0, ...survey.termWeights) || 1;
  return order
    .flatMap((doc, position) => {
      const rated = publicSymbols(survey.docs[doc]!).map((sym) => ({ sym, value: rowValue(sym) }));
      for (const [at, { sym }] of rated.entries()) if (isOverload(sym, rated[at - 1]?.sym)) rated[at]!.value *= 0.2;
      rated.sort((a, b) => b.value - a.value || a.sym.line - b.sym.line);
      const best = 1 / (position + POSITION_OFFSET);
      const { length } = survey.docs[doc]!.path;
      if (!rated.length) return [{ doc, value: best / Math.sqrt(length) }];
      return rated.map(({ sym, value }, row): Row => {
        const size = Math.min(MAX_ROW_CHARS, length + sym.signature.length);
        return { doc, sym, value: (best * value) / rated[0]!.value / Math.sqrt((row + 1) * size) };
      });
    })
    .sort((a, b) => b.value - a.value || a.doc - b.doc || (a.sym?.line ?? 0) - (b.sym?.line ?? 0));

  function rowValue({ name, kind, exported, doc }: Sym): number {
    const { names, termsOfName, users, termWeights, terms } = survey;
    const id = names.get(name)!;
    const sum = (found: number[] = []) => found.reduce((sum, term) => sum + termWeights[term]! / maxWeight, 0);
    const matching = Math.min(2, sum(termsOfName[id]) + (doc ? sum(terms.in(doc)) / 2 : 0));
    return KIND_WEIGHTS[kind] * (exported ? 1 : 0.5) * (1 + 4 * matching) * (1 + Math.log2(1 + users[id]!) / 5);
  }
}

const isOverload = (sym: Sym, before?: Sym): boolean => sym.name === before?.name && sym.owner === before.owner;

const KIND_WEIGHTS: Record<Sym["kind"], number> = {
  ...{ function: 1, class: 1, interface: 0.9, type: 0.8, enum: 0.8, namespace: 0.7, const: 0.7, variable: 0.6 },
  ...{ method: 0.5, property: 0.2, member: 0.2, key: 0 },
};
const POSITION_OFFSET = 5; // the greater, the less the position matters
const MAX_MISSES = 30; // rows that may not fit before it stops: shorter ones may follow

function textOf(path: string, sym?: Sym): string {
  const shown = path.replace(/[\x00-\x1f\x7f]/g, "?");
  if (!sym) return shown;
  const head = `${shown}:${sym.line}: `;
  return (head + sym.signature).slice(0, Math.max(MAX_ROW_CHARS, head.length + 24)).replace(/[\ud800-\udbff\s]$/, "");
}

function footer(files: number, symbols: number): string {
  const parts = [[files, "file"] as const, [symbols, "symbol"] as const]
    .filter(([many]) => many)
    .map(([many, what]) => `${many.toLocaleString("en-US")} ${what}${many === 1 ? "" : "s"}`);
  return `[${parts.join(" and ")} left out; repo_map with a query or more tokens shows others]`;
}

// What is counted once per request: which files define, use and mention which words.
import type { Facts, Sym } from "../scan/facts.ts";
import type { MapRequest, Source } from "./contract.ts";
import { type Terms, termsOf } from "./terms.ts";

export interface Doc {
  path: string;
  facts?: Facts; // undefined: not parsed, a bare path
  imports: number[]; // indexes into `docs`
  isTest: boolean;
}
/** What is counted once per request. */
export interface Survey {
  docs: Doc[]; // by path
  names: Map<string, number>; // an id for each identifier
  terms: Terms;
  definers: number[][]; // of each identifier, the files that declare it visibly
  termsOfName: (number[] | undefined)[]; // of each identifier, the terms in it
  users: number[]; // of each identifier, how many files use it
  uses: { doc: number[]; name: number[]; count: number[] }; // sorted by file
  counts: Float64Array; // files × terms
  lengths: Float64Array;
  termWeights: Float64Array; // of each term: inverse document frequency
}

export const TEST_SHARE = 0.6; // the weight of a test file, relative to other code

/** The weight of a word, by where it is. */
const WORD_WEIGHTS = { base: 3, folder: 1.5, name: 2, inner: 1, doc: 1.5, use: 0.4, todo: 0.5 };

export function surveyOf(sources: Source[], others: string[], { query = "", focus = [] }: MapRequest): Survey {
  const docs = docsOf(sources, others);
  const terms = termsOf([query, ...focus].join(" "));
  const termCount = terms.all.length;
  const survey: Survey = {
    ...{ docs, terms, names: new Map(), termsOfName: [], users: [], uses: { doc: [], name: [], count: [] } },
    ...{ counts: new Float64Array(docs.length * termCount), lengths: new Float64Array(docs.length) },
    ...{ termWeights: new Float64Array(termCount), definers: [] },
  };
  for (const [doc, { facts }] of docs.entries()) for (const sym of facts?.symbols ?? []) define(survey, doc, sym);
  for (let doc = 0; doc < docs.length; doc++) countWords(survey, doc);
  for (let term = 0; term < termCount; term++) {
    let docsWithTerm = 0;
    for (let at = term; at < survey.counts.length; at += termCount) if (survey.counts[at]) docsWithTerm++;
    survey.termWeights[term] = docsWithTerm && Math.log(1 + (docs.length - docsWithTerm + 0.5) / (docsWithTerm + 0.5));
  }
  return survey;
}

function docsOf(sources: Source[], others: string[]): Doc[] {
  const docs: Doc[] = [...sources, ...others.map((path) => ({ path, facts: undefined }))]
    .map(({ path, facts }) => ({ path, facts, imports: [], isTest: isTest(path) }))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const indexes = new Map(docs.map(({ path }, at) => [path, at]));
  for (const { path, imports } of sources) {
    const from = indexes.get(path)!;
    const found = imports.map((to) => indexes.get(to)).filter((to) => to !== undefined && to !== from) as number[];
    docs[from]!.imports = [...new Set(found)].sort((a, b) => a - b);
  }
  return docs;
}

const isTest = (path: string): boolean =>
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|[._-](?:test|spec|bench)\.\w+$/i.test(path);

function numberOf({ names, termsOfName, users, terms }: Survey, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, termsOfName.length);
  users.push(0);
  return termsOfName.push(terms.in(name)) - 1;
}

function define(survey: Survey, doc: number, sym: Sym): void {
  const all = (survey.definers[numberOf(survey, sym.name)] ??= []);
  if (isPublic(sym) && all.at(-1) !== doc) all.push(doc);
}

/** Counts the query's words in a file, and the file's uses of the project's symbols. */
function countWords(survey: Survey, doc: number): void {
  const { docs, names, termsOfName, users, uses, counts, lengths, terms } = survey;
  const { path, facts } = docs[doc]!;
  const termCount = terms.all.length;
  const cut = path.lastIndexOf("/") + 1;
  add(terms.in(path.slice(cut)), WORD_WEIGHTS.base);
  add(terms.in(path.slice(0, cut)), WORD_WEIGHTS.folder);
  lengths[doc] = 5;
  if (!facts) return;
  for (const name in facts.uses) {
    lengths[doc]!++;
    const id = termCount ? numberOf(survey, name) : names.get(name);
    if (id === undefined) continue;
    const frequency = facts.uses[name]!;
    users[id]!++;
    if (termsOfName[id]) add(termsOfName[id], WORD_WEIGHTS.use * Math.log2(1 + frequency));
    if (!survey.definers[id]?.length) continue;
    uses.doc.push(doc);
    uses.name.push(id);
    uses.count.push(frequency);
  }
  if (!termCount) return;
  for (const sym of facts.symbols) {
    add(termsOfName[names.get(sym.name)!], sym.owner || sym.local ? WORD_WEIGHTS.inner : WORD_WEIGHTS.name);
    if (sym.doc) add(terms.in(sym.doc), WORD_WEIGHTS.doc);
  }
  for (const { text } of facts.todos) add(terms.in(text), WORD_WEIGHTS.todo);

  function add(found: number[] | undefined, weight: number): void {
    if (found) for (const term of found) counts[doc * termCount + term]! += weight;
  }
}

export const isPublic = (sym: Sym): boolean => !sym.local && !sym.visibility && sym.kind !== "key";

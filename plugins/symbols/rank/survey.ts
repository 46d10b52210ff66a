// What is counted once per request: which files define, use and mention which words.
import type { Facts, Sym } from "../scan/facts.ts";
import type { Source, Wish } from "./contract.ts";
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
  held: (number[] | undefined)[]; // of each identifier, the terms in it
  users: number[]; // of each identifier, how many files use it
  uses: { doc: number[]; name: number[]; count: number[] }; // sorted by file
  counts: Float64Array; // files × terms
  lengths: Float64Array;
  telling: Float64Array; // of each term: inverse document frequency
}

export const TEST_SHARE = 0.6; // the weight of a test file, relative to other code

/** The weight of a word, by where it is. */
const WORD_WEIGHTS = { base: 3, folder: 1.5, name: 2, inner: 1, doc: 1.5, use: 0.4, todo: 0.5 };

export function surveyOf(sources: Source[], others: string[], { query = "", focus = [] }: Wish): Survey {
  const docs = docsOf(sources, others);
  const terms = termsOf([query, ...focus].join(" "));
  const many = terms.all.length;
  const survey: Survey = {
    ...{ docs, terms, names: new Map(), held: [], users: [], uses: { doc: [], name: [], count: [] } },
    ...{ counts: new Float64Array(docs.length * many), lengths: new Float64Array(docs.length) },
    ...{ telling: new Float64Array(many), definers: [] },
  };
  for (const [doc, { facts }] of docs.entries()) for (const sym of facts?.symbols ?? []) define(survey, doc, sym);
  for (let doc = 0; doc < docs.length; doc++) countWords(survey, doc);
  for (let term = 0; term < many; term++) {
    let having = 0;
    for (let at = term; at < survey.counts.length; at += many) if (survey.counts[at]) having++;
    survey.telling[term] = having && Math.log(1 + (docs.length - having + 0.5) / (having + 0.5));
  }
  return survey;
}

function docsOf(sources: Source[], others: string[]): Doc[] {
  const docs: Doc[] = [...sources, ...others.map((path) => ({ path, facts: undefined }))]
    .map(({ path, facts }) => ({ path, facts, imports: [], isTest: isTest(path) }))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const places = new Map(docs.map(({ path }, at) => [path, at]));
  for (const { path, imports } of sources) {
    const from = places.get(path)!;
    const found = imports.map((to) => places.get(to)).filter((to) => to !== undefined && to !== from) as number[];
    docs[from]!.imports = [...new Set(found)].sort((a, b) => a - b);
  }
  return docs;
}

const isTest = (path: string): boolean =>
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|[._-](?:test|spec|bench)\.\w+$/i.test(path);

function numberOf({ names, held, users, terms }: Survey, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, held.length);
  users.push(0);
  return held.push(terms.in(name)) - 1;
}

function define(survey: Survey, doc: number, sym: Sym): void {
  const all = (survey.definers[numberOf(survey, sym.name)] ??= []);
  if (isPublic(sym) && all.at(-1) !== doc) all.push(doc);
}

/** Counts the query's words in a file, and the file's uses of the project's symbols. */
function countWords(survey: Survey, doc: number): void {
  const { docs, names, held, users, uses, counts, lengths, terms } = survey;
  const { path, facts } = docs[doc]!;
  const many = terms.all.length;
  const cut = path.lastIndexOf("/") + 1;
  add(terms.in(path.slice(cut)), WORD_WEIGHTS.base);
  add(terms.in(path.slice(0, cut)), WORD_WEIGHTS.folder);
  lengths[doc] = 5;
  if (!facts) return;
  for (const name in facts.uses) {
    lengths[doc]!++;
    const id = many ? numberOf(survey, name) : names.get(name);
    if (id === undefined) continue;
    const often = facts.uses[name]!;
    users[id]!++;
    if (held[id]) add(held[id], WORD_WEIGHTS.use * Math.log2(1 + often));
    if (!survey.definers[id]?.length) continue;
    uses.doc.push(doc);
    uses.name.push(id);
    uses.count.push(often);
  }
  if (!many) return;
  for (const sym of facts.symbols) {
    add(held[names.get(sym.name)!], sym.owner || sym.local ? WORD_WEIGHTS.inner : WORD_WEIGHTS.name);
    if (sym.doc) add(terms.in(sym.doc), WORD_WEIGHTS.doc);
  }
  for (const { text } of facts.todos) add(terms.in(text), WORD_WEIGHTS.todo);

  function add(found: number[] | undefined, weight: number): void {
    if (found) for (const term of found) counts[doc * many + term]! += weight;
  }
}

export const isPublic = (sym: Sym): boolean => !sym.local && !sym.visibility && sym.kind !== "key";

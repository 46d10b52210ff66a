// The repository map: the files and signatures that tell most about a wish, within a budget of tokens. No disk.
import type { Facts, Sym } from "./scan.ts";

export interface Wish {
  query?: string;
  focus?: string[]; // paths or symbols
  seen?: { path: string; edited?: boolean }[];
  tokens: number;
}
export interface Source {
  path: string;
  facts: Facts;
  imports: string[]; // resolved project paths
}
export interface RepoMap {
  text: string;
  files: string[]; // in it
  left: number; // files that are not
  tokens: number;
}
interface Doc {
  path: string;
  facts?: Facts; // undefined: not parsed, a bare path
  imports: number[]; // places in the list of all
  isTest: boolean;
}
/** What is counted once for a wish. */
interface Survey {
  docs: Doc[]; // by path
  names: Map<string, number>; // a number for each identifier
  terms: Terms;
  definers: number[][]; // of each identifier that is a symbol, the files that show it
  held: (number[] | undefined)[]; // of each identifier, the terms in it
  users: number[]; // of each identifier, how many files use it
  uses: { doc: number[]; name: number[]; count: number[] }; // by file
  counts: Float64Array; // files × terms
  lengths: Float64Array;
  telling: Float64Array; // of each term
}
interface Terms {
  all: string[];
  in(text: string): number[] | undefined;
}
interface Net {
  begin: Int32Array; // where each file's edges begin
  to: Int32Array;
  share: Float64Array; // of the file's weight
}

/** What a word counts for where it stands. */
const STANDS = { base: 3, folder: 1.5, name: 2, inner: 1, doc: 1.5, use: 0.4, todo: 0.5 };
/** What the surfer's start is made of. */
const START = { words: 1, seen: 0.5, focus: 4 };
const GENERAL = { damping: 0.85, weight: 0.1 }; // who is used at all
const ASKED = { damping: 0.25, backward: 0.4 }; // near what is asked for, by what it uses and by what uses it
/** An import by itself; a use of what is not imported; names that more files define than that tell nothing. */
const EDGE = { imported: 0.5, elsewhere: 0.1, definers: 50, guessed: 4 };
const BM25 = { k: 1.2, b: 0.8 };
const TEST = 0.6; // of what a code file counts
const BARE = 0.2; // what a file that is not parsed counts
const MOST_TERMS = 64;
const LONGEST = 120;

export function mapOf(sources: Source[], others: string[], wish: Wish): RepoMap {
  const survey = surveyOf(sources, others, wish);
  return pack(survey, orderOf(survey, wish), wish.tokens);
}

/** The files, best first. */
export function rank(sources: Source[], others: string[], wish: Wish): string[] {
  const survey = surveyOf(sources, others, wish);
  return orderOf(survey, wish).map((doc) => survey.docs[doc]!.path);
}

/** The map with all files in an order of one's own: the benchmark compares with such. */
export function mapInOrder(sources: Source[], others: string[], wish: Wish, paths: string[]): RepoMap {
  const survey = surveyOf(sources, others, wish);
  const places = new Map(survey.docs.map(({ path }, doc) => [path, doc]));
  const order = paths.map((path) => places.get(path)!);
  return pack(survey, order, wish.tokens);
}

function surveyOf(sources: Source[], others: string[], { query = "", focus = [] }: Wish): Survey {
  const docs = docsOf(sources, others);
  const terms = termsOf([query, ...focus].join(" "));
  const many = terms.all.length;
  const survey: Survey = {
    ...{ docs, terms, names: new Map(), held: [], users: [], uses: { doc: [], name: [], count: [] } },
    ...{ counts: new Float64Array(docs.length * many), lengths: new Float64Array(docs.length) },
    ...{ telling: new Float64Array(many), definers: [] },
  };
  for (const [doc, { facts }] of docs.entries()) for (const sym of facts?.symbols ?? []) define(survey, doc, sym);
  for (let doc = 0; doc < docs.length; doc++) count(survey, doc);
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

/** Counts a file's words, as far as they are asked for, and its uses of the project's symbols. */
function count(survey: Survey, doc: number): void {
  const { docs, names, held, users, uses, counts, lengths, terms } = survey;
  const { path, facts } = docs[doc]!;
  const many = terms.all.length;
  const cut = path.lastIndexOf("/") + 1;
  add(terms.in(path.slice(cut)), STANDS.base);
  add(terms.in(path.slice(0, cut)), STANDS.folder);
  lengths[doc] = 5;
  if (!facts) return;
  for (const name in facts.uses) {
    lengths[doc]!++;
    const id = many ? numberOf(survey, name) : names.get(name);
    if (id === undefined) continue;
    const often = facts.uses[name]!;
    users[id]!++;
    if (held[id]) add(held[id], STANDS.use * Math.log2(1 + often));
    if (!survey.definers[id]?.length) continue;
    uses.doc.push(doc);
    uses.name.push(id);
    uses.count.push(often);
  }
  if (!many) return;
  for (const sym of facts.symbols) {
    add(held[names.get(sym.name)!], sym.owner || sym.local ? STANDS.inner : STANDS.name);
    if (sym.doc) add(terms.in(sym.doc), STANDS.doc);
  }
  for (const { text } of facts.todos) add(terms.in(text), STANDS.todo);

  function add(found: number[] | undefined, weight: number): void {
    if (found) for (const term of found) counts[doc * many + term]! += weight;
  }
}

/** By how near a file is to what is asked for, then by how much it is used at all. */
function orderOf(survey: Survey, wish: Wish): number[] {
  const { docs } = survey;
  const net = netOf(survey);
  const general = walk(net, new Float64Array(docs.map(weightOf)), GENERAL.damping);
  const asked = walk(net, startOf(survey, wish), ASKED.damping);
  const score = general.map((used, doc) => asked[doc]! + GENERAL.weight * used);
  return docs.map((_, doc) => doc).sort((a, b) => score[b]! - score[a]! || a - b);
}

const weightOf = ({ facts, isTest }: Doc): number => (facts ? 1 : BARE) * (isTest ? TEST : 1);

/** Where the surfer starts: at what the wish names, at what the conversation touched, at what is to be in focus. */
function startOf(survey: Survey, { query = "", focus = [], seen = [] }: Wish): Float64Array {
  const { docs } = survey;
  const start = new Float64Array(docs.length);
  const touched = new Map(seen.map(({ path, edited }) => [path, edited ? 2 : 1]));
  pour(relevance(survey, query), START.words);
  pour(new Float64Array(docs.map(({ path }) => touched.get(path) ?? 0)), START.seen);
  const inFocus = focus.map((one) => one.trim().replace(/^\.\/|\/+$|\(\)$/g, ""));
  pour(new Float64Array(docs.map((doc) => (inFocus.some((one) => isAt(doc, one)) ? 1 : 0))), START.focus);
  return start;

  function pour(amounts: Float64Array, share: number): void {
    const sum = amounts.reduce((a, b) => a + b, 0);
    if (sum) for (let doc = 0; doc < start.length; doc++) start[doc]! += (share * amounts[doc]!) / sum;
  }
}

function isAt({ path, facts }: Doc, wanted: string): boolean {
  if (path === wanted || path.startsWith(`${wanted}/`) || path.endsWith(`/${wanted}`)) return true;
  const parts = wanted.split(".");
  const [name, owner] = [parts.at(-1), parts.slice(0, -1).join(".")];
  return facts?.symbols.some((sym) => sym.name === name && (!owner || sym.owner === owner)) ?? false;
}

/** How well each file answers to the query: BM25 over its words, more for its own name and for what is named exactly. */
function relevance(survey: Survey, query: string): Float64Array {
  const { docs, terms, counts, lengths, telling } = survey;
  const many = terms.all.length;
  const result = new Float64Array(docs.length);
  if (!many) return result;
  const mean = lengths.reduce((a, b) => a + b, 0) / docs.length;
  const named = namedIn(survey, query);
  const isAboutTests = /\b(?:tests?|testing|tested|specs?)\b/i.test(query);
  for (const [doc, { path, isTest }] of docs.entries()) {
    const ground = BM25.k * (1 - BM25.b + (BM25.b * lengths[doc]!) / mean);
    let sum = 2 * named[doc]!;
    for (let term = 0; term < many; term++) {
      const often = counts[doc * many + term]!;
      if (often) sum += (telling[term]! * often * (BM25.k + 1)) / (often + ground);
    }
    if (sum) sum += 2 * ownName(path);
    result[doc] = sum ** 2 * (isTest && !isAboutTests ? TEST : 1);
  }
  return result;

  /** `plugins/undo/index.ts` is called undo, `test/undo.test.ts` too. */
  function ownName(path: string): number {
    const parts = path.split("/");
    const bare = parts.pop()!.replace(/^\.|(?:[._-](?:test|spec))?\.\w+$/g, "");
    const name = /^(?:index|main|mod)$/.test(bare) ? (parts.pop() ?? bare) : bare;
    const found = new Set(terms.in(name));
    let sum = 0;
    for (const term of found) sum += telling[term]!;
    return found.size && (sum * found.size) / new Set(wordsIn(name).map(stem)).size;
  }
}

/** Paths, and identifiers that are no plain words, as the query has them. */
function namedIn({ docs, names, definers, users }: Survey, query: string): Float64Array {
  const named = new Float64Array(docs.length);
  for (const name of identifiersIn(query)) {
    const id = names.get(name)!;
    if (definers[id]) raise(definers[id], Math.log(1 + docs.length / (users[id]! || 1)));
  }
  for (const path of pathsIn(query)) {
    const isMeant = (doc: Doc) => `/${doc.path}`.endsWith(`/${path}`) || doc.path.startsWith(`${path}/`);
    const meant = [...docs.keys()].filter((doc) => isMeant(docs[doc]!));
    raise(meant, 2 * Math.log(1 + docs.length));
  }
  return named;

  function raise(meant: number[], by: number): void {
    for (const doc of meant) named[doc]! += by / Math.sqrt(meant.length);
  }
}
/** With a capital, a digit or an underscore in it, or in backticks, or called. */
function identifiersIn(query: string): string[] {
  const found = [...query.matchAll(/[\p{L}\p{N}_$]+/gu)].filter(({ 0: word, index }) => {
    const after = query.slice(index + word.length, index + word.length + 2);
    return /\p{Ll}[\p{Lu}\p{N}]|\p{L}_|_\p{L}|\$/u.test(word) || query[index - 1] === "`" || /^(?:`|\(\))/.test(after);
  });
  return [...new Set(found.map(([word]) => word))].slice(0, MOST_TERMS);
}

const pathsIn = (query: string): string[] =>
  [...new Set(query.match(/[\w@$./-]+/g)?.map((token) => token.replace(/^\.*\/|[./-]+$/g, "")))]
    .filter((token) => /[/.]/.test(token))
    .slice(0, MOST_TERMS);

/** Who uses whose symbols, those that it imports first of all. */
function netOf({ docs, definers, users, uses }: Survey): Net {
  const leadsOn = docs.map(({ facts }) => facts?.exports.some(({ from }) => from) ?? false);
  const reached = new Int32Array(docs.length).fill(-1); // by which file, last
  const weights = new Float64Array(docs.length);
  const found = { from: [] as number[], to: [] as number[], weight: [] as number[] };
  let at = 0;
  for (const [doc, { imports }] of docs.entries()) {
    const targets: number[] = [];
    for (const to of imports) add(to, EDGE.imported);
    reach(doc, imports);
    for (; uses.doc[at] === doc; at++) use(doc, uses.name[at]!, uses.count[at]!);
    for (const to of targets) {
      found.from.push(doc);
      found.to.push(to);
      found.weight.push(weights[to]!);
      weights[to] = 0;
    }

    function add(to: number, weight: number): void {
      if (!weights[to]) targets.push(to);
      weights[to]! += weight;
    }
    function use(doc: number, name: number, count: number): void {
      const all = definers[name]!;
      if (!count || all.length > EDGE.definers || all.includes(doc)) return;
      let near = 0;
      for (const to of all) if (reached[to] === doc) near++;
      const weight = Math.sqrt(count) * Math.log(1 + docs.length / users[name]!);
      if (near) for (const to of all) reached[to] === doc && add(to, weight / near);
      else if (all.length <= EDGE.guessed) for (const to of all) add(to, (EDGE.elsewhere * weight) / all.length);
    }
  }
  return shared(docs.length, found);

  /** What a file imports, and what that exports from elsewhere. */
  function reach(doc: number, imports: number[]): void {
    const ahead = [...imports];
    for (let to = ahead.pop(); to !== undefined; to = ahead.pop()) {
      if (reached[to] === doc) continue;
      reached[to] = doc;
      if (leadsOn[to]) ahead.push(...docs[to]!.imports);
    }
  }
}

const isPublic = (sym: Sym): boolean => !sym.local && !sym.visibility && sym.kind !== "key";

/** Edges both ways, those backward lighter; each file's weights sum to one. */
function shared(many: number, { from, to, weight }: { from: number[]; to: number[]; weight: number[] }): Net {
  const begin = new Int32Array(many + 1);
  const sums = new Float64Array(many);
  for (const [edge, one] of from.entries()) {
    const other = to[edge]!;
    begin[one + 1]!++;
    begin[other + 1]!++;
    sums[one]! += weight[edge]!;
    sums[other]! += weight[edge]! * ASKED.backward;
  }
  for (let doc = 0; doc < many; doc++) begin[doc + 1]! += begin[doc]!;
  const next = begin.slice();
  const net = { begin, to: new Int32Array(2 * from.length), share: new Float64Array(2 * from.length) };
  for (const [edge, one] of from.entries()) {
    put(one, to[edge]!, weight[edge]!);
    put(to[edge]!, one, weight[edge]! * ASKED.backward);
  }
  return net;

  function put(one: number, other: number, weight: number): void {
    const place = next[one]!++;
    net.to[place] = other;
    net.share[place] = weight / sums[one]!;
  }
}

/** PageRank from where the surfer starts. */
function walk({ begin, to, share }: Net, start: Float64Array, damping: number): Float64Array {
  const sum = start.reduce((a, b) => a + b, 0);
  if (!sum) return start;
  const first = start.map((x) => x / sum);
  let now = first;
  for (let round = 0; round < 50; round++) {
    const next = new Float64Array(now.length);
    let [lost, change] = [0, 0];
    for (let doc = 0; doc < now.length; doc++) {
      const [edge, end, weight] = [begin[doc]!, begin[doc + 1]!, damping * now[doc]!];
      if (edge === end) lost += weight;
      for (let at = edge; at < end; at++) next[to[at]!]! += weight * share[at]!;
    }
    for (let doc = 0; doc < now.length; doc++) {
      next[doc]! += (1 - damping + lost) * first[doc]!;
      change += Math.abs(next[doc]! - now[doc]!);
    }
    now = next;
    if (change < 1e-5) break;
  }
  return now;
}

interface Row {
  doc: number;
  sym?: Sym; // none: a bare path
  value: number;
}

/** The best rows that fit, by path and line. Whatever is left out is told in the last line. */
function pack(survey: Survey, order: number[], tokens: number): RepoMap {
  const { docs } = survey;
  const budget = tokens * UNIT;
  let symbols = 0;
  for (const doc of docs) symbols += shownOf(doc).length;
  const everything = symbols + docs.length < tokens ? docs.flatMap(allOf) : []; // a row is more than a token
  const whole = fit(everything, budget + UNIT, 0);
  const isWhole = whole.length === everything.length && everything.length >= docs.length;
  const taken = isWhole
    ? whole
    : fit(rowsOf(survey, order.slice(0, 20 + tokens / 8)), budget - cost(footer(docs.length, symbols)), MISSES);
  taken.sort((a, b) => a.doc - b.doc || a.at - b.at || (a.text < b.text ? -1 : 1));
  const files = [...new Set(taken.map(({ doc }) => docs[doc]!.path))];
  const left = docs.length - files.length;
  const lines = taken.map(({ text }) => text);
  if (!isWhole) lines.push(footer(left, symbols - taken.filter(({ at }) => at).length));
  const text = lines.join("\n");
  return countTokens(text) <= tokens
    ? { text, files, left, tokens: countTokens(text) }
    : { text: "", files: [], left: docs.length, tokens: 0 };

  function allOf(one: Doc, doc: number): Row[] {
    const shown = shownOf(one);
    return shown.length ? shown.map((sym) => ({ doc, sym, value: 0 })) : [{ doc, value: 0 }];
  }
  function fit(rows: Row[], limit: number, misses: number) {
    const fitting: { doc: number; at: number; text: string }[] = [];
    let spent = 0;
    for (const { doc, sym } of rows) {
      const text = textOf(docs[doc]!.path, sym);
      const price = cost(text) + UNIT;
      if (spent + price <= limit) {
        spent += price;
        fitting.push({ doc, at: sym?.line ?? 0, text });
      } else if (--misses < 0) break;
    }
    return fitting;
  }
}

/** What others may use, once where one line declares several. */
function shownOf({ facts }: Doc): Sym[] {
  const shown = facts?.symbols.filter(isPublic) ?? [];
  return shown.filter(
    ({ line, signature }, at) => shown[at - 1]?.line !== line || shown[at - 1]?.signature !== signature,
  );
}

/** A file's value falls with its place, not with its score: the same budget shows as many files for any query. */
function rowsOf(survey: Survey, order: number[]): Row[] {
  const most = Math.max(0, ...survey.telling) || 1;
  return order
    .flatMap((doc, place) => {
      const rated = shownOf(survey.docs[doc]!).map((sym) => ({ sym, value: worth(sym) }));
      for (const [at, { sym }] of rated.entries()) if (isOverload(sym, rated[at - 1]?.sym)) rated[at]!.value *= 0.2;
      rated.sort((a, b) => b.value - a.value || a.sym.line - b.sym.line);
      const best = 1 / (place + LEAD);
      const { length } = survey.docs[doc]!.path;
      if (!rated.length) return [{ doc, value: best / Math.sqrt(length) }];
      return rated.map(({ sym, value }, row): Row => {
        const size = Math.min(LONGEST, length + sym.signature.length);
        return { doc, sym, value: (best * value) / rated[0]!.value / Math.sqrt((row + 1) * size) };
      });
    })
    .sort((a, b) => b.value - a.value || a.doc - b.doc || (a.sym?.line ?? 0) - (b.sym?.line ?? 0));

  function worth({ name, kind, exported, doc }: Sym): number {
    const { names, held, users, telling, terms } = survey;
    const id = names.get(name)!;
    const sum = (found: number[] = []) => found.reduce((sum, term) => sum + telling[term]! / most, 0);
    const asked = Math.min(2, sum(held[id]) + (doc ? sum(terms.in(doc)) / 2 : 0));
    return KINDS[kind] * (exported ? 1 : 0.5) * (1 + 4 * asked) * (1 + Math.log2(1 + users[id]!) / 5);
  }
}

const isOverload = (sym: Sym, before?: Sym): boolean => sym.name === before?.name && sym.owner === before.owner;

const KINDS: Record<Sym["kind"], number> = {
  ...{ function: 1, class: 1, interface: 0.9, type: 0.8, enum: 0.8, namespace: 0.7, const: 0.7, variable: 0.6 },
  ...{ method: 0.5, property: 0.2, member: 0.2, key: 0 },
};
const LEAD = 5; // the greater, the more alike the places are
const MISSES = 30; // rows that do not fit before it ends: shorter ones may follow

function textOf(path: string, sym?: Sym): string {
  const shown = path.replace(/[\x00-\x1f\x7f]/g, "?");
  if (!sym) return shown;
  const head = `${shown}:${sym.line}: `;
  return (head + sym.signature).slice(0, Math.max(LONGEST, head.length + 24)).replace(/[\ud800-\udbff\s]$/, "");
}

function footer(files: number, symbols: number): string {
  const parts = [[files, "file"] as const, [symbols, "symbol"] as const]
    .filter(([many]) => many)
    .map(([many, what]) => `${many.toLocaleString("en-US")} ${what}${many === 1 ? "" : "s"}`);
  return `[${parts.join(" and ")} left out; repo_map with a query or more tokens shows others]`;
}

// What is read as one word: "readFile", "read_file" and "read-file" are two.
const wordsIn = (text: string): string[] =>
  text.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lo}+|\d+/gu)?.map((word) => word.toLowerCase()) ?? [];

/** "measuring", "measured" and "measures" are one word. */
function stem(word: string): string {
  if (word.length < 4) return word;
  return word
    .replace(/ies$/, "y")
    .replace(/([^s])s$/, "$1")
    .replace(/^(.{3,})(?:ing|ed)$|^(.{4,})(?:er|or|ion|ly)$/, "$1$2")
    .replace(/([^aeiou])\1$/, "$1")
    .replace(/e$/, "")
    .replace(/y$/, "i");
}

/** Says little of what is meant. */
const STOP = new Set(
  (
    "a add all an and any are as at be been but by can change could did do does each fix for from had has have how i if in " +
    "into is it its let make me my no not of on one or other our out over please should so some than that the their them " +
    "then there they this those to too under up us use used was we were what when where which while who why will with " +
    "without would you your"
  ).split(" "),
);

/** The telling words of a query, and which of them a text holds; quickly for the many that hold none. */
function termsOf(query: string): Terms {
  const words = wordsIn(query).filter((word) => word.length > 1 && !STOP.has(word));
  const all = [...new Set(words.map(stem))].slice(0, MOST_TERMS);
  if (!all.length) return { all, in: () => undefined };
  const places = new Map(all.map((term, at) => [term, at]));
  const known = new Map<string, number>(); // stems are slow
  const maybe = new RegExp(all.map((term) => term.replace(/i$/, "")).join("|"), "i"); // letters and digits alone
  return {
    all,
    in(text) {
      if (!maybe.test(text)) return undefined;
      const found: number[] = [];
      for (const word of wordsIn(text)) {
        let at = known.get(word);
        if (at === undefined) known.set(word, (at = places.get(stem(word)) ?? -1));
        if (at >= 0) found.push(at);
      }
      return found;
    },
  };
}

const UNIT = 20; // of a token: costs are whole numbers of these, so that lines add up to their text
const PIECES =
  /[A-Z]?[a-z]+|[A-Z]+(?![a-z])| ?\d{1,3}|[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]+|[^\s\x21-\x7e]|[^\S\n]{2,}|\n/gu;
/** Long words of code that are one token everywhere. */
const COMMON = new Set(
  (
    "function export string interface number undefined transaction internal constructor boolean const unknown request " +
    "promise schema options error message provider response types subscriber address value array errors event async " +
    "record signature params result namespace input create default stream authorization object socket client output " +
    "class config utils format context private public index headers description filter project payload partial " +
    "permissions parse static parameters duration subscription timeout providers source encode values transport helpers decode"
  ).split(" "),
);

/** Not a tokenizer: never less than o200k and cl100k count in ten lines of signatures or more, a fifth more on average. */
export const countTokens = (text: string): number => Math.ceil(cost(text) / UNIT);

function cost(text: string): number {
  let sum = 0;
  for (const piece of text.match(PIECES) ?? []) sum += costOf(piece);
  return sum;
}

function costOf(piece: string): number {
  const { length } = piece;
  if (/^[A-Za-z]/.test(piece)) return costOfWord(piece);
  if (/^ \d/.test(piece)) return 40;
  if (/^[\s\d]/.test(piece)) return 20;
  if (/^\p{L}/u.test(piece)) return 40;
  if (piece > "\x7e" || piece < " ") return 20 * new TextEncoder().encode(piece).length;
  return length === 1 ? 18 : length === 2 ? 21 : 13 * length;
}

function costOfWord(word: string): number {
  if (!/[a-z]/.test(word)) return Math.max(20, 10 * word.length);
  if (COMMON.has(word.toLowerCase())) return 20;
  const isHard = /[^aeiouy]{4}/i.test(word);
  return Math.max(20, 5 * word.length) + (isHard ? 20 : 0);
}

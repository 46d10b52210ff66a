// How relevant each file is to the words of a query.
import { type Doc, type Survey, TEST_SHARE } from "./survey.ts";
import { MAX_TERMS, stem, wordsIn } from "./terms.ts";

const BM25 = { k: 1.2, b: 0.8 };

/** BM25 over a file's words, with a bonus for its own name and for what the query names exactly. */
export function relevance(survey: Survey, query: string): Float64Array {
  const { docs, terms, counts, lengths, termWeights } = survey;
  const termCount = terms.all.length;
  const result = new Float64Array(docs.length);
  if (!termCount) return result;
  const mean = lengths.reduce((a, b) => a + b, 0) / docs.length;
  const named = namedIn(survey, query);
  const isAboutTests = /\b(?:tests?|testing|tested|specs?)\b/i.test(query);
  for (const [doc, { path, isTest }] of docs.entries()) {
    const saturation = BM25.k * (1 - BM25.b + (BM25.b * lengths[doc]!) / mean);
    let sum = 2 * named[doc]!;
    for (let term = 0; term < termCount; term++) {
      const frequency = counts[doc * termCount + term]!;
      if (frequency) sum += (termWeights[term]! * frequency * (BM25.k + 1)) / (frequency + saturation);
    }
    if (sum) sum += 2 * ownName(path);
    result[doc] = sum ** 2 * (isTest && !isAboutTests ? TEST_SHARE : 1);
  }
  return result;

  /** `plugins/undo/index.ts` and `test/undo.test.ts` are both named undo. */
  function ownName(path: string): number {
    const parts = path.split("/");
    const bare = parts.pop()!.replace(/^\.|(?:[._-](?:test|spec))?\.\w+$/g, "");
    const name = /^(?:index|main|mod)$/.test(bare) ? (parts.pop() ?? bare) : bare;
    const found = new Set(terms.in(name));
    let sum = 0;
    for (const term of found) sum += termWeights[term]!;
    return found.size && (sum * found.size) / new Set(wordsIn(name).map(stem)).size;
  }
}

/** Paths, and identifiers that are not plain words, as the query has them. */
function namedIn({ docs, names, definers, users }: Survey, query: string): Float64Array {
  const named = new Float64Array(docs.length);
  for (const name of identifiersIn(query)) {
    const id = names.get(name)!;
    if (definers[id]) raise(definers[id], Math.log(1 + docs.length / (users[id]! || 1)));
  }
  for (const path of pathsIn(query)) {
    const matchesPath = (doc: Doc) => `/${doc.path}`.endsWith(`/${path}`) || doc.path.startsWith(`${path}/`);
    const meant = [...docs.keys()].filter((doc) => matchesPath(docs[doc]!));
    raise(meant, 2 * Math.log(1 + docs.length));
  }
  return named;

  function raise(meant: number[], by: number): void {
    for (const doc of meant) named[doc]! += by / Math.sqrt(meant.length);
  }
}
/** With a capital, a digit or an underscore in it, or in backticks, or followed by parentheses. */
function identifiersIn(query: string): string[] {
  const found = [...query.matchAll(/[\p{L}\p{N}_$]+/gu)].filter(({ 0: word, index }) => {
    const after = query.slice(index + word.length, index + word.length + 2);
    return /\p{Ll}[\p{Lu}\p{N}]|\p{L}_|_\p{L}|\$/u.test(word) || query[index - 1] === "`" || /^(?:`|\(\))/.test(after);
  });
  return [...new Set(found.map(([word]) => word))].slice(0, MAX_TERMS);
}

const pathsIn = (query: string): string[] =>
  [...new Set(query.match(/[\w@$./-]+/g)?.map((token) => token.replace(/^\.*\/|[./-]+$/g, "")))]
    .filter((token) => /[/.]/.test(token))
    .slice(0, MAX_TERMS);

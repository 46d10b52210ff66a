// The project's texts that may be read without asking: the words in them, where they are, and which are most similar.
import path from "node:path";
import type { Ctx } from "zz";

const MAX_FILES = 6_000;
const MAX_BYTES = 24_000_000;
const MAX_READ_MS = 700;
const MAX_FILE_BYTES = 1_000_000;
const FILES_AT_ONCE = 32;
const CODE =
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|go|rs|c|h|cc|cpp|hpp|cs|java|kt|swift|rb|php|lua|pl|r|jl|dart|scala|clj|exs?|erl|hs|zig|nim|sql|sh)$/i;
const PROSE = /\.(?:mdx?|txt|rst|adoc)$/i;
const TEST = /(?:^|\/)(?:tests?|spec|__tests__|e2e|fixtures?)\/|[._](?:test|spec)\.\w+$/i;
const BINARY =
  /\.(?:png|jpe?g|gif|webp|ico|pdf|wasm|woff2?|ttf|zip|gz|map|mp[34]|snap)$|(?:^|\/)(?:package-lock\.json|[\w-]+\.lock|[\w-]+-lock\.\w+)$|\.min\.\w+$/i;
const DEFINES =
  /\b(?:function\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|module|record|object|val|namespace)\s+([A-Za-z_$][\w$]*)|^[ \t]+(?:(?:async|static|public|private|protected|readonly|get|set)\s+)*([A-Za-z_$][\w$]*)\s*\([^()\n]*\)[^;\n]*\{[ \t]*$/gm;
const REGISTERED = /\bname:\s*["']([\w-]+)["']/g; // a tool, a command, an event
const [MAX_DISTANCE, MAX_RELATED_DISTANCE] = [0.34, 0.42]; // of a similar name; of one that shares a word

export interface Place {
  path: string;
  line: number;
}
/** The texts, and the first place of each word: in code, in prose, as a definition, as a registered name. */
export interface Texts {
  names: string[]; // of all files of the project
  isWhole: boolean; // every file that may be read was read
  byName: Map<string, string>;
  sources: string[]; // of the files that were read, tests last
  inCode: Words;
  inProse?: Words;
  defined?: Words;
  registered?: Words;
  compacted?: Map<string, string>;
}
type Words = Map<string, readonly [name: string, at: number]>;

/** Reads the project's texts; `first` chooses files that are read before all others. */
export async function readTexts(ctx: Ctx, first: (names: string[]) => string[]): Promise<Texts> {
  const names = await ctx.files.list();
  const wanted = new Set(first(names));
  const rank = (name: string) =>
    wanted.has(name) ? 0 : CODE.test(name) ? (TEST.test(name) ? 2 : 1) : PROSE.test(name) ? 4 : 3;
  const readable = names.filter((name) => !BINARY.test(name)).map((name) => ({ name, rank: rank(name) }));
  const order = readable.sort((a, b) => a.rank - b.rank).map(({ name }) => name);
  const byName = new Map<string, string>();
  const { clock } = ctx.io;
  const until = clock.now() + MAX_READ_MS;
  let [bytes, at, isLeftOut] = [0, 0, false];
  for (; at < order.length && at < MAX_FILES && bytes < MAX_BYTES && clock.now() < until; at += FILES_AT_ONCE) {
    ctx.signal.throwIfAborted();
    await Promise.all(order.slice(at, at + FILES_AT_ONCE).map(addText));
  }
  const sources = [...byName.keys()].sort((a, b) => Number(TEST.test(a)) - Number(TEST.test(b)));
  const code = sources.filter((name) => !PROSE.test(name));
  return { names, isWhole: at >= order.length && !isLeftOut, byName, sources, inCode: wordsOf(byName, code) };

  async function addText(name: string): Promise<void> {
    if (ctx.permissions.judge("read", name).verdict !== "allow") return;
    const read = await ctx.files.read(name).catch(() => undefined);
    if (!read || read.bytes.subarray(0, 8_192).includes(0)) return;
    if (read.bytes.length > MAX_FILE_BYTES) return void (isLeftOut = true);
    bytes += read.bytes.length;
    byName.set(name, read.text);
  }
}

/** The first place of the word in code. */
export const placeInCode = (texts: Texts, word: string): Place | undefined => placeOf(texts, texts.inCode, word);

/** The first place of the word in prose. */
export function placeInProse(texts: Texts, word: string): Place | undefined {
  texts.inProse ??= wordsOf(
    texts.byName,
    texts.sources.filter((name) => PROSE.test(name)),
  );
  return placeOf(texts, texts.inProse, word);
}

export const definitionPlace = (texts: Texts, word: string): Place | undefined =>
  placeOf(texts, definitions(texts), word);

/** Where something is registered under that name: a tool, a command, an event. */
export function registeredPlace(texts: Texts, word: string): Place | undefined {
  texts.registered ??= wordsOf(texts.byName, codeFiles(texts), REGISTERED);
  return placeOf(texts, texts.registered, word);
}

/** Each text without insignificant white space. */
export const compactedTexts = (texts: Texts): Map<string, string> =>
  (texts.compacted ??= new Map([...texts.byName].map(([name, text]) => [name, compacted(text)])));

const definitions = (texts: Texts): Words => (texts.defined ??= wordsOf(texts.byName, codeFiles(texts), DEFINES));
const codeFiles = ({ sources }: Texts): string[] => sources.filter((name) => CODE.test(name));

function wordsOf(byName: Map<string, string>, some: string[], word = /[\p{L}_$][\p{L}\p{N}_$]*/gu): Words {
  const words: Words = new Map();
  for (const name of some)
    for (const found of byName.get(name)!.matchAll(word)) {
      const one = found[1] ?? found[2] ?? found[0];
      if (!words.has(one)) words.set(one, [name, found.index]);
    }
  return words;
}

function placeOf({ byName }: Texts, words: Words, word: string): Place | undefined {
  const found = words.get(word);
  return found && { path: found[0], line: lineAt(byName.get(found[0])!, found[1]) };
}

/** The most similar name of a definition. */
export function nearestDefinition(texts: Texts, name: string): string | undefined {
  const own = parts(name);
  const start = name.slice(0, 2).toLowerCase();
  return best([...definitions(texts).keys()], (other) => {
    if (other === name || other.length < 3) return 1;
    const sharedWords = shared(own, parts(other));
    if (!sharedWords && !other.toLowerCase().startsWith(start)) return 1;
    return distance(name, other) - 0.1 * sharedWords + (sharedWords ? 0 : MAX_RELATED_DISTANCE - MAX_DISTANCE);
  });
}

/** Where the text is literally, in code or in prose; `last` is a part of it that rules out most files quickly. */
export function literalPlace(texts: Texts, wanted: RegExp, last: string, prose = false): Place | undefined {
  for (const name of texts.sources) {
    const text = texts.byName.get(name)!;
    const found = PROSE.test(name) === prose && text.includes(last) ? wanted.exec(text) : undefined;
    if (found) return { path: name, line: lineAt(text, found.index) };
  }
  return undefined;
}

/** Where code mentions a file literally: the program may create or look for it. */
export function mentionPlace({ sources, byName }: Texts, what: string): Place | undefined {
  for (const name of sources) {
    if (PROSE.test(name)) continue;
    const text = byName.get(name)!;
    for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1))
      if (!/[\w-]/.test(text[at - 1] ?? "") && !/[\w-]/.test(text[at + what.length] ?? ""))
        return { path: name, line: lineAt(text, at) };
  }
  return undefined;
}

export function nearestPath(name: string, names: string[]): string | undefined {
  const [folder, stem] = [path.posix.dirname(name), stemOf(name)];
  const likely = names.filter((other) => Math.abs(stemOf(other).length - stem.length) < 4).slice(0, 20_000);
  return best(likely, (other) => {
    const far = distance(stem, stemOf(other));
    return (
      far +
      (path.posix.dirname(other) === folder ? 0 : 0.05) +
      (path.posix.extname(other) === path.posix.extname(name) ? 0 : 0.05)
    );
  });
}
const stemOf = (name: string): string => path.posix.basename(name).replace(/\.\w+$/, "");

function best(all: string[], score: (other: string) => number): string | undefined {
  let [found, lowest] = [undefined as string | undefined, MAX_RELATED_DISTANCE];
  for (const other of all) {
    const own = score(other);
    if (own < lowest) [found, lowest] = [other, own];
  }
  return found;
}

/** The text without insignificant white space, except line breaks. */
export const compacted = (text: string): string =>
  text
    .replace(/\r/g, "")
    .replace(/[ \t]+/g, " ")
    .replace(/ (?=[^\w$])|(?<=[^\w$]) /g, "");
export const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;
export const linesOf = (text: string): string[] => text.replace(/\r?\n$/, "").split(/\r?\n/);
const parts = (name: string): string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/);
const shared = (a: string[], b: string[]): number =>
  a.filter((part) => part.length > 2 && b.includes(part)).length / Math.max(a.length, b.length);

/** The share of characters that must change to turn one name into the other. */
export function distance(one: string, two: string): number {
  const [a, b] = [one.toLowerCase(), two.toLowerCase()];
  const most = Math.max(a.length, b.length);
  if (Math.abs(a.length - b.length) > most * 0.6) return 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length]! / most;
}

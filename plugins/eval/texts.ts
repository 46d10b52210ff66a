// The project's texts that may be read unasked: which words stand in them, where, and what is nearest to one.
import path from "node:path";
import type { Ctx } from "zz";

const MOST_FILES = 6_000;
const MOST_BYTES = 24_000_000;
const MOST_MS = 700;
const LARGEST = 1_000_000;
const AT_ONCE = 32; // files
const CODE =
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|go|rs|c|h|cc|cpp|hpp|cs|java|kt|swift|rb|php|lua|pl|r|jl|dart|scala|clj|exs?|erl|hs|zig|nim|sql|sh)$/i;
const PROSE = /\.(?:mdx?|txt|rst|adoc)$/i;
const TEST = /(?:^|\/)(?:tests?|spec|__tests__|e2e|fixtures?)\/|[._](?:test|spec)\.\w+$/i;
const NO_TEXT =
  /\.(?:png|jpe?g|gif|webp|ico|pdf|wasm|woff2?|ttf|zip|gz|map|mp[34]|snap)$|(?:^|\/)(?:package-lock\.json|[\w-]+\.lock|[\w-]+-lock\.\w+)$|\.min\.\w+$/i;
const DEFINES =
  /\b(?:function\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|module|record|object|val|namespace)\s+([A-Za-z_$][\w$]*)|^[ \t]+(?:(?:async|static|public|private|protected|readonly|get|set)\s+)*([A-Za-z_$][\w$]*)\s*\([^()\n]*\)[^;\n]*\{[ \t]*$/gm;
const TITLED = /\bname:\s*["']([\w-]+)["']/g; // a tool, a command, an event: named in a text
const [NEAR, KIN] = [0.34, 0.42]; // how far off a name may be, and one that shares a word

export interface Place {
  path: string;
  line: number;
}
export type Texts = Awaited<ReturnType<typeof readTexts>>;

/** `first`: files that are to be among them, however many there are. */
export async function readTexts(ctx: Ctx, first: (names: string[]) => string[]) {
  const { files, permissions, signal } = ctx;
  const names = await files.list();
  const wanted = new Set(first(names));
  const rank = (name: string) =>
    wanted.has(name) ? 0 : CODE.test(name) ? (TEST.test(name) ? 2 : 1) : PROSE.test(name) ? 4 : 3;
  const readable = names.filter((name) => !NO_TEXT.test(name)).map((name) => ({ name, rank: rank(name) }));
  const order = readable.sort((a, b) => a.rank - b.rank).map(({ name }) => name);
  const texts = new Map<string, string>();
  const until = performance.now() + MOST_MS;
  let [bytes, at] = [0, 0];
  for (; at < order.length && at < MOST_FILES && bytes < MOST_BYTES && performance.now() < until; at += AT_ONCE) {
    signal.throwIfAborted();
    await Promise.all(order.slice(at, at + AT_ONCE).map(take));
  }
  const sources = [...texts.keys()].sort((a, b) => Number(TEST.test(a)) - Number(TEST.test(b)));
  const inCode = wordsOf(sources.filter((name) => !PROSE.test(name)));
  let [inProse, defined, titled, flat] = [] as [Words?, Words?, Words?, Map<string, string>?];
  return {
    names,
    isWhole: at >= order.length,
    text: (name: string) => texts.get(name),
    keep: (name: string, text: string) => void texts.set(name, text),
    place: (word: string): Place | undefined => placeOf(inCode.get(word)),
    inProse: (word: string): Place | undefined =>
      placeOf((inProse ??= wordsOf(sources.filter((name) => PROSE.test(name)))).get(word)),
    defined: (word: string): Place | undefined => placeOf(definitions().get(word)),
    titled: (word: string): Place | undefined => placeOf((titled ??= wordsOf(code(), TITLED)).get(word)),
    literal,
    nearest,
    nearestPath: (name: string) => nearestPath(name, names),
    mentions,
    flat: (): Map<string, string> => (flat ??= new Map([...texts].map(([name, text]) => [name, squeezed(text)]))),
  };

  async function take(name: string): Promise<void> {
    if (permissions.judge("read", name).verdict !== "allow") return;
    const read = await files.read(name).catch(() => undefined);
    if (!read || read.bytes.length > LARGEST || read.bytes.subarray(0, 8_192).includes(0)) return;
    bytes += read.bytes.length;
    texts.set(name, read.text);
  }

  function code(): string[] {
    return sources.filter((name) => CODE.test(name));
  }

  type Words = Map<string, readonly [name: string, at: number]>;
  function wordsOf(some: string[], word = /[\p{L}_$][\p{L}\p{N}_$]*/gu): Words {
    const words: Words = new Map();
    for (const name of some)
      for (const found of texts.get(name)!.matchAll(word)) {
        const one = found[1] ?? found[2] ?? found[0];
        if (!words.has(one)) words.set(one, [name, found.index]);
      }
    return words;
  }
  function definitions(): Words {
    return (defined ??= wordsOf(code(), DEFINES));
  }
  function placeOf(found: readonly [string, number] | undefined): Place | undefined {
    return found && { path: found[0], line: lineAt(texts.get(found[0])!, found[1]) };
  }

  /** What is defined under the name that is most like it. */
  function nearest(name: string): string | undefined {
    const own = parts(name);
    const start = name.slice(0, 2).toLowerCase();
    return best([...definitions().keys()], (other) => {
      if (other === name || other.length < 3) return 1;
      const kin = shared(own, parts(other));
      if (!kin && !other.toLowerCase().startsWith(start)) return 1;
      return distance(name, other) - 0.1 * kin + (kin ? 0 : KIN - NEAR);
    });
  }

  /** Where it stands as it is written, in code or in prose. */
  function literal(wanted: RegExp, last: string, prose = false): Place | undefined {
    for (const name of sources) {
      const text = texts.get(name)!;
      const found = PROSE.test(name) === prose && text.includes(last) ? wanted.exec(text) : undefined;
      if (found) return { path: name, line: lineAt(text, found.index) };
    }
    return undefined;
  }

  /** Where code names it, as it stands: such a file may be made or found by the program. */
  function mentions(what: string): Place | undefined {
    for (const name of sources) {
      if (PROSE.test(name)) continue;
      const text = texts.get(name)!;
      for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1))
        if (!/[\w-]/.test(text[at - 1] ?? "") && !/[\w-]/.test(text[at + what.length] ?? ""))
          return { path: name, line: lineAt(text, at) };
    }
    return undefined;
  }
}

function nearestPath(name: string, names: string[]): string | undefined {
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
  let [found, lowest] = [undefined as string | undefined, KIN];
  for (const other of all) {
    const own = score(other);
    if (own < lowest) [found, lowest] = [other, own];
  }
  return found;
}

/** Without the white space that says nothing; lines stay lines. */
export const squeezed = (text: string): string =>
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

/** How many letters are to be changed, of all of them. */
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

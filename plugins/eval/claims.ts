// The claims in an answer about the project, found without a model: paths, lines, symbols, quoted code, scripts.
import { tryTo } from "zz/text";

export interface Claim {
  kind: "path" | "symbol" | "quote" | "command";
  name: string; // the path; the symbol with its owners, separated by dots; the code; the script
  line?: number; // of a path or a quote
  end?: number;
  about?: true; // "around line 12"
  symbol?: string; // the symbol that is claimed to be at that path
  path?: string; // the file that a quote is from
  sure?: true; // the quote is claimed to be there literally
  weak?: true; // it may mean something else, so its absence proves nothing
  soft?: keyof typeof SOFT; // the answer itself says that it is missing or yet to be made
}
export const SOFT = {
  proposed: "the answer seems to propose it",
  denied: "the answer seems to say so",
  asked: "the answer asks",
  elsewhere: "it is for another package",
};
export interface AnswerClaims {
  claims: Claim[];
  defines: Set<string>; // names that the answer's own code defines
  left: number; // claims beyond the maximum
}

const MAX_ANSWER_CHARS = 400_000;
const CONTEXT_CHARS = 300; // before and after a name, to tell how it is meant
const MAX_PARAGRAPH_CHARS = 8_000; // longer paragraphs are split
const IDENT = "[A-Za-z_$][\\w$]*";
// biome-ignore format: a list of words.
const EXTENSIONS =
  "[cm]?[jt]sx?|json[5cl]?|jsonl|mdx?|ya?ml|toml|ini|cfg|conf|env|lock|log|txt|csv|tsv|xml|html?|s?css|less|svg|vue|svelte|astro|" +
  "py|pyi|ipynb|go|rs|c|h|cc|cpp|hpp|cs|java|kt|kts|swift|rb|php|lua|pl|r|jl|dart|scala|clj|exs?|erl|hs|zig|nim|sql|graphql|proto|" +
  "sh|bash|zsh|fish|ps1|bat|tf|gradle|wasm|png|jpe?g|gif|webp|ico|pdf";
const HAS_EXTENSION = new RegExp(
  `[^/.]\\.(?:${EXTENSIONS})$|(?:^|/)\\.[a-z][\\w-]*(?:rc|ignore|config|env|keep)(?:\\.\\w+)?$|(?:^|/)\\.env(?:\\.\\w+)?$`,
  "i",
);
const WELL_KNOWN =
  /(?:^|\/)(?:Makefile|Dockerfile|LICENSE|Gemfile|Rakefile|Procfile|Justfile|CODEOWNERS|CMakeLists\.txt)$/;
const SPOT = "(?:(?::|#L)(?<line>\\d+)(?:(?:-|–|\\.\\.)L?(?<end>\\d+)|:\\d+)?)?";
const WHOLE_PATH = new RegExp(`^(?<path>[^\\s:#\`'"*?<>|{}$=;,()!]+)${SPOT}$`);
const PLAIN_PATH = new RegExp(
  `(?<![\\w/@.~:$<{+-])(?<path>(?:\\.{1,2}/|~/|/)?[\\w@+-][\\w.@+-]{0,80}(?:/[\\w.@+-]{1,80}){0,20}\\.(?:${EXTENSIONS}))${SPOT}(?![\\w/(]|\\.\\w)`,
  "gi",
);
const LINK = /\]\(<?([^()\s<>[\]]{1,300})>?(?:\s+"[^"]*")?\)/g;
const CODE = /(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs;
const URL =
  /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s)>\]]+|\bwww\.\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+/gi;
const PLACEHOLDER = /path\/to|\byour[-_]|\.\.\.|…|xxx|(?:^|\/)(?:foo|bar|baz|qux|example|my[-_]?\w*)\b/i;
const VARIABLE = /(?:^|\/)(?:[A-Z]|NAME|FILE|DIR|FOLDER|PATH|ID|TOPIC|PLUGIN)(?:[/.]|$)/;
const LIBRARY =
  /^(?:node|next|nuxt|vue|express|three|d3|react|angular|ember|backbone|chart|alpine|socket|require|fuse|moment)\.js$/i;
/** Not a file: an object whose property looks like an extension, or a host. */
const NOT_A_FILE =
  /^(?:res|req|response|request|console|ctx|data|body|this|self|window|document|event|e|el|err|error|process|math|os|fs)\.\w+$|^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev)\//i;
const AMBIGUOUS = /^\w+\.(?:sh|rs|c|h|go|r|env|lock|log|map|d|cs|pl)$|^[A-Z]\w*\.js$/; // a host, property or library?

const KINDS =
  "functions?|methods?|class(?:es)?|interfaces?|types?|enums?|constants?|variables?|hooks?|components?|structs?|traits?|helpers?|decorators?|tools?";
const KIND_BEFORE = new RegExp(`\\b(?:${KINDS})\\s+(?:called\\s+|named\\s+)?["'*]*$`, "i");
const KIND_AFTER = new RegExp(`^["'*]*\\s+(?:${KINDS})\\b`, "i");
const NAMED = new RegExp(
  `\\b(?:the|this|its)\\s+(?:function|method|class|interface|component|hook|struct)\\s+(${IDENT})(?![\\w$(.'’-])`,
  "g",
);
const DOTTED = new RegExp(
  `^(?:this\\.|self\\.|\\.|#)?(?<name>${IDENT}(?:(?:\\?\\.|\\.|::|#|->)${IDENT})*)(?:<[\\w, |[\\]]*>)?(?<call>\\(.*\\))?;?$`,
  "s",
);
const PLAIN_CALL = new RegExp(`(?<![\\w$./\`-])(${IDENT}(?:\\.${IDENT})*)\\(\\)`, "g");
const DEFINES =
  "function\\*?|class|interface|type|enum|const|let|var|def|fn|func|struct|trait|module|record|object|val|namespace";
const DEFINITION = new RegExp(`\\b(?:${DEFINES})\\s+(${IDENT})`, "g");
const DECLARED = new RegExp(`^(?:export\\s+)?(?:default\\s+)?(?:async\\s+)?(?:${DEFINES})\\s+(${IDENT})(?:\\(\\))?$`);
// biome-ignore format: a list of words.
const WORDS = new Set((
  "string number boolean void null undefined true false any unknown never object function class const let var return if else for while do switch case " +
  "catch async await import export default this self none int float str list dict bool new typeof instanceof delete throw try yield super static " +
  "call calls that which is in of and to for name names body definition declaration signature itself has with from was will are does as at by on or " +
  "not used called above below also hierarchy returns takes itself loads javascript typescript github gitlab openai postgresql mysql mongodb graphql " +
  "nodejs macos ios latex youtube duckdb").split(" "));

const RUN =
  /\b(?:npm|pnpm|yarn|bun)\s+(?:run(?:-script)?\s+(?:-{1,2}[\w-]+\s+)*([a-z][\w:.-]*)|(test|start)\b)([^\n`;&|]*)/gi;
const ELSEWHERE = /(?:^|\s)(?:-w|--workspaces?|--prefix|-C|--filter|-r|--cwd|--dir)(?:[=\s]|$)/;
const SHELL_FENCE = /^(?:sh|bash|shell|zsh|console|shell-session|terminal)$/i;
const SHELL =
  /^\$ |^(?:npm|npx|pnpm|yarn|bun|node|tsx|git|gh|cd|ls|cat|rm|cp|mv|mkdir|touch|echo|curl|wget|docker|make|cargo|go|pip3?|python3?|grep|rg|sed|awk|find|sudo|apt(?:-get)?|brew|export|source|chmod|kill|ssh|tar|env|bash|sh|zz)\s|\s--?\w|\s[|&]{1,2}\s/;
const CODE_SIGN = /[(){}[\]=;]|=>|::/;

// Words that say that something is to be made, or is missing.
const VERBS =
  "add|create|introduce|define|implement|write|generate|extract|rename|move|split|make|scaffold|build|inject";
const CREATES = new RegExp(
  `(?:^[\\s*_"(-]*|\\b(?:to|should|could|would|can|will|must|might|may|let's|please|and|then|or|i'd|we'd|you'd|i'll|we'll|by|you|i|we)\\s+|[,:;(]\\s*)(?:\\w+ly\\s+)?(?:${VERBS})\\b|\\b(?:adding|creating|introducing|extracting)\\b`,
  "i",
);
const RENAMES = /\b(?:renam|mov|extract|split|turn|conver)\w*\b/i; // the new name does not exist yet
const CREATED =
  /\b(?:added|created|introduced|implemented|wrote|written|extracted|renamed|moved|now (?:has|lives|is|uses))\b/i;
const INTO_EXISTING =
  /\b(?:to|in|into|inside|of|from|at|after|before|under|using|via|by|near|above|below|alongside|with|calls?|calling)\s+(?:(?:the|your|our|its|existing|a|file|function|method|class|module|folder)\s+)*[*[("']*$/i;
const NEW_FILE = /\bnew\s+(?:\w+\s+)?(?:file|folder|directory|module|script|test|package)s?\b/i;
const HYPOTHETICAL =
  /\b(?:would|could|might)\s+(?:be|live|go|look|have|become|then)\b|\b(?:imagine|hypothetical|something like|call it|placeholder)\b/i;
const SAVES = /\bsaved?\s+(?:it |this |that |them )?(?:as|to|in|under)\s+[*("']*$/i;
const MISSING_BEFORE =
  /\b(?:no|without|missing|removed?|deleted?|dropped|instead of|rather than|lacks?|there(?:'s| is| are| was) no(?: longer)?|nonexistent)\s+(?:\w+\s+){0,2}[*("']*$/i;
const MISSING_AFTER =
  /^[*"')]*\s*(?:(?:file|function|folder|class|method|command|script|plugin|tool)\s+)?(?:(?:does|do|did|is|are|was|were)(?:\s+not|n[’']t)\s+(?:\w+\s+)?(?:exist|there|found|present|defined)|(?:is|was|are|were|has been)\s+(?:missing|gone|removed|deleted|dropped|nowhere|absent|renamed)|no longer\s+(?:exists?|there))/i;

// Words that say which file or line a quote belongs to.
const LINES = "lines?\\s+(?<line>\\d+)(?:\\s*(?:-|–|—|to|and|through)\\s*(?<end>\\d+))?";
const LINE_AFTER = new RegExp(
  `^[*)\\]\`"']*[\\s,(–—:-]*(?:(?:at|on|from|in|see)\\s+)?(?<about>around |about |near |roughly |~)?${LINES}`,
  "i",
);
const LINE_BEFORE = new RegExp(
  `(?<about>around |about |near |roughly |~)?${LINES}\\s+(?:of|in)\\s+(?:the\\s+)?(?:file\\s+)?[\`*["'(]*$`,
  "i",
);
const LINE_WORDS = new RegExp(`(?:around |about |near |roughly |~)?${LINES}(?:\\s+of\\b)?`, "i");
const LINKING =
  /^[\s*("'–—:,)\]-]*(?:(?:is|are|was|were|lives?|defined|declared|implemented|found|located|exported|starts?|begins?|sits?|used|called|in|at|on|from|the|file|function|method|class|see|here)\b[\s*("'–—:,)\]-]*){0,6}$/i;
const PRESENT =
  /\b(?:currently|existing|reads|says|contains|looks like|from|here is|here's how|shows?|defined as|declares?|returns|as it is|already|line \d+|lines \d+)\b/i;
const CHANGES =
  /\b(?:add|change|replace|update|edit|modify|should|would|could|new|fix|patch|instead|insert|append|becomes?|rewrite|try|put|paste|create|write|need|apply|refactor|suggest|propose|make|improved?|corrected?|after|version|following to|want|if you|example|usage)\b/i;

type Prose = { fence?: undefined; text: string; lead: string };
type Fence = { fence: string; text: string; lead: string }; // its info string and its content
type Span = { from: number; to: number; claim: Claim };

/** The claims of an answer, each once, and at most `max` of them. */
export function claimsIn(answer: string, max = 300): AnswerClaims {
  const all = new Map<string, Claim>();
  const defines = new Set<string>();
  for (const unit of unitsOf(answer.slice(0, MAX_ANSWER_CHARS))) {
    if (unit.fence !== undefined) for (const [, name] of unit.text.matchAll(DEFINITION)) defines.add(name!);
    for (const claim of unit.fence === undefined ? inProse(unit) : inFence(unit)) {
      const { soft, weak, sure, ...same } = claim;
      const key = JSON.stringify(same);
      const known = all.get(key);
      if (!known) all.set(key, claim);
      else if (!soft) delete known.soft; // one certain mention is enough
    }
  }
  const claims = [...all.values()];
  return { claims: claims.slice(0, max), defines, left: Math.max(0, claims.length - max) };
}

/** Splits an answer into paragraphs, list items, rows and fenced blocks. `lead` is what leads to a list or a block. */
function unitsOf(markdown: string): (Prose | Fence)[] {
  const units: (Prose | Fence)[] = [];
  let [lines, isItem, lead, last] = [[] as string[], false, "", ""];
  let open: { mark: string; info: string; lines: string[] } | undefined;
  for (const line of markdown.split(/\r?\n/)) {
    const [, mark = "", info = ""] = /^[\s>]*(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
    if (open) {
      if (!mark.startsWith(open.mark) || info.trim()) open.lines.push(line);
      else close();
    } else if (mark) {
      flush();
      open = { mark, info: info.trim(), lines: [] };
    } else if (!line.trim()) flush();
    else if (/^\s*(?:[-*+]|\d+[.)])\s+/.test(line)) start(line.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, ""), true);
    else if (/^\s*(?:#{1,6}\s|\|)/.test(line)) {
      start(line, false);
      flush();
    } else lines.push(line.replace(/^[\s>]+/, ""));
  }
  close();
  flush();
  return units;

  function start(line: string, item: boolean): void {
    flush();
    lines = [line];
    isItem = item;
  }
  function flush(): void {
    const text = lines.join(" ");
    if (text) {
      for (const part of pieces(text)) units.push({ text: part, lead: isItem ? lead : "" });
      last = text.slice(-MAX_PARAGRAPH_CHARS);
      if (!isItem) lead = text.trimEnd().endsWith(":") ? text : "";
    }
    [lines, isItem] = [[], false];
  }
  function close(): void {
    if (open) units.push({ fence: open.info, text: open.lines.join("\n"), lead: last });
    open = undefined;
  }
}

/** Splits a text between words, since later steps look at the whole piece for each name in it. */
function pieces(text: string): string[] {
  if (text.length <= MAX_PARAGRAPH_CHARS) return [text];
  const at = text.lastIndexOf(" ", MAX_PARAGRAPH_CHARS) + 1 || MAX_PARAGRAPH_CHARS;
  return [text.slice(0, at), ...pieces(text.slice(at))];
}

// Prose

function inProse({ text, lead }: Prose): Claim[] {
  const spans: Span[] = [];
  const add = (from: number, length: number, claim: Claim | undefined) => {
    if (claim) spans.push({ from, to: from + length, claim });
  };
  let prose = text.replace(URL, blanked); // what was processed is blanked out, so that positions stay the same
  for (const { index, 0: whole, 2: code = "" } of prose.matchAll(CODE)) {
    const [from, to] = [index, index + whole.length];
    add(
      from,
      whole.length,
      inCode(code.trim(), text.slice(Math.max(0, from - CONTEXT_CHARS), from), text.slice(to, to + CONTEXT_CHARS)),
    );
  }
  prose = prose.replace(CODE, blanked);
  for (const { index, 0: whole, 1: target = "" } of prose.matchAll(LINK)) add(index, whole.length, linked(target));
  prose = prose.replace(LINK, blanked);
  for (const { index, 0: whole, groups } of prose.matchAll(PLAIN_PATH)) add(index, whole.length, plainPath(groups!));
  for (const { index, 0: whole, 1: name = "" } of prose.matchAll(PLAIN_CALL))
    if (!WORDS.has(name.toLowerCase()) && name.length > 2) add(index, whole.length, { kind: "symbol", name });
  for (const { index, 0: whole, 1: name = "" } of prose.matchAll(NAMED))
    if (!WORDS.has(name.toLowerCase()) && name.length > 2)
      add(index, whole.length, { kind: "symbol", name, ...(!isShaped(name) && { weak: true as const }) });
  for (const found of prose.matchAll(RUN)) add(found.index, found[0].length, script(found));
  spans.sort((a, b) => a.from - b.from);
  const bounds = sentences(prose);
  for (const [i, span] of spans.entries()) place(span, spans[i - 1], spans[i + 1]);
  return spans.map(({ claim }) => claim);

  function place({ from, to, claim }: Span, before: Span | undefined, next: Span | undefined): void {
    const start = bounds.findLast((at) => at <= from) ?? 0;
    const end = bounds.find((at) => at >= to) ?? text.length;
    const said = text.slice(Math.max(start, from - CONTEXT_CHARS), from);
    const follows = text.slice(to, Math.min(end, to + CONTEXT_CHARS));
    const soft = claim.soft ?? softness(said, follows, lead, claim);
    if (soft) claim.soft = soft;
    if (claim.kind === "path") {
      const spot = LINE_AFTER.exec(follows.slice(0, 80)) ?? LINE_BEFORE.exec(said.slice(-80));
      if (!claim.line && spot) Object.assign(claim, spotOf(spot.groups!));
      const near = [before, next].find((other) => other?.claim.kind === "symbol" && isLinked(other));
      if (near) claim.symbol = near.claim.name;
    }
    if (claim.kind === "quote") {
      const file = spans.find((one) => one.claim.kind === "path" && one.from >= start && one.to <= end)?.claim;
      if (file) claim.path = file.name;
      if (file || PRESENT.test(said)) claim.sure = true;
    }

    function isLinked(other: Span): boolean {
      const [left, right] = other.from < from ? [other.to, from] : [to, other.from];
      const between = text.slice(left, right).replace(LINE_WORDS, "");
      return left >= start && right <= end && LINKING.test(other.from < from ? between : afterPath(between));
    }
  }
}

const blanked = (found: string): string => "\0".repeat(found.length);

/** Links "src/a.ts:12: `foo`", also "src/a.ts (line 12): `foo`", but not "src/a.ts, `foo`", which is a list. */
function afterPath(rest: string): string {
  return /^[\s*)\]]*[–—:(-]|^[\s*)\]]*(?:is|has|defines|declares)\b/.test(rest)
    ? rest.replace(/\b(?:has|defines|declares)\b/, "is")
    : "not so";
}

function sentences(prose: string): number[] {
  const ends = [...prose.matchAll(/(?<!\b(?:e\.g|i\.e|etc|cf|vs))[.!?]["')*_]*\s+(?=\S)|;\s+/g)];
  return [0, ...ends.map(({ index, 0: whole }) => index + whole.length), prose.length];
}

function softness(said: string, follows: string, lead: string, { kind }: Claim): Claim["soft"] {
  if (MISSING_BEFORE.test(said) || MISSING_AFTER.test(follows)) return "denied";
  if (/\?[\s*"')]*$/.test(follows)) return "asked";
  if (CREATED.test(said) || CREATED.test(follows)) return undefined;
  if (HYPOTHETICAL.test(said) || HYPOTHETICAL.test(follows)) return "proposed";
  if (kind === "path" && (NEW_FILE.test(said + follows) || SAVES.test(said))) return "proposed";
  if (CREATES.test(said))
    return INTO_EXISTING.test(said) && !(RENAMES.test(said) && /\b(?:to|into)\s+[*("']*$/i.test(said))
      ? undefined
      : "proposed";
  return CREATES.test(lead) && !CREATED.test(lead) ? "proposed" : undefined;
}

// Inline code

function inCode(code: string, before: string, after: string): Claim | undefined {
  if (!code || code.length > 500 || /^[-/@$#<]*$/.test(code) || LIBRARY.test(code)) return undefined;
  const run = [...code.matchAll(RUN)][0];
  if (run && run.index < 3) return script(run);
  const { groups } = WHOLE_PATH.exec(code) ?? {};
  if (groups && isPath(groups.path!)) return pathOf(groups);
  if (groups && HAS_EXTENSION.test(groups.path!)) return undefined;
  const declared = DECLARED.exec(code)?.[1];
  if (declared && !WORDS.has(declared.toLowerCase())) return { kind: "symbol", name: declared };
  return symbolIn(code, before, after) ?? quoteIn(code);
}

function symbolIn(code: string, before: string, after: string): Claim | undefined {
  const { name: given = "", call } = DOTTED.exec(code)?.groups ?? {};
  const name = given.replace(/\?\.|::|#|->/g, ".");
  if (name.length < 3 || WORDS.has(name.toLowerCase()) || /^\$[A-Z_]+$/.test(name)) return undefined;
  if (!call && !isShaped(name) && !KIND_BEFORE.test(before) && !KIND_AFTER.test(after)) return undefined;
  return { kind: "symbol", name };
}

const isShaped = (name: string): boolean => /[a-z\d][A-Z]|[A-Za-z\d]_[A-Za-z\d]|\.\w/.test(name);

function quoteIn(code: string): Claim | undefined {
  const tokens = code.match(/[\w$]+|[^\w\s]/g) ?? [];
  const isCode = tokens.length > 3 && code.length > 9 && CODE_SIGN.test(code) && /[A-Za-z]{2}/.test(code);
  return isCode && !SHELL.test(code) && !/^[/@#-]/.test(code) ? { kind: "quote", name: code } : undefined;
}

// Paths

type Spot = { [name: string]: string };

const isPlaceholder = (name: string): boolean => PLACEHOLDER.test(name) || VARIABLE.test(name);

function isPath(name: string): boolean {
  if (/^[-@]|^\/[^/]*$|\/\/|^\.+$/.test(name) || isPlaceholder(name) || NOT_A_FILE.test(name) || LIBRARY.test(name))
    return false;
  if (HAS_EXTENSION.test(name) || WELL_KNOWN.test(name)) return true;
  return name.includes("/") && !name.startsWith("/") && /^[\w./-]+$/.test(name) && /[a-z]/i.test(name);
}

function pathOf(groups: Spot): Claim {
  const name = groups.path!;
  const plain = HAS_EXTENSION.test(name) || WELL_KNOWN.test(name) || /^\.{1,2}\/|^~\//.test(name);
  return { kind: "path", name, ...spotOf(groups), ...(!plain && { weak: true as const }) };
}

function plainPath(groups: Spot): Claim | undefined {
  const name = groups.path!;
  if (!isPath(name)) return undefined;
  return { ...pathOf(groups), ...(AMBIGUOUS.test(name) && { weak: true as const }) };
}

function linked(target: string): Claim | undefined {
  if (/^[a-z][a-z\d+.-]*:|^#|^\/\/|^[?&]/i.test(target)) return undefined;
  const [file = "", anchor = ""] = target.split("#");
  const { line, end } = /^L(?<line>\d+)(?:-L?(?<end>\d+))?$/.exec(anchor)?.groups ?? {};
  const name = tryTo(() => decodeURIComponent(file)) ?? file;
  if (!name || name.includes("\0") || isPlaceholder(name) || NOT_A_FILE.test(name) || name.startsWith("/"))
    return undefined;
  if (!/[./]/.test(name) && !WELL_KNOWN.test(name)) return undefined;
  const { groups } = WHOLE_PATH.exec(name) ?? {};
  return { kind: "path", name: groups?.path ?? name, ...spotOf(groups?.line ? groups : ({ line, end } as Spot)) };
}

function spotOf({ line, end, about }: Spot): Pick<Claim, "line" | "end" | "about"> {
  const numbers = [line, end].map(Number);
  return {
    ...(line && { line: numbers[0]! }),
    ...(line && end && numbers[1]! >= numbers[0]! && { end: numbers[1]! }),
    ...(line && about && { about: true as const }),
  };
}

function script([, named, own, rest = ""]: RegExpMatchArray): Claim {
  const name = (named ?? own)!.replace(/[.:]+$/, "");
  return { kind: "command", name, ...(ELSEWHERE.test(rest) && { soft: "elsewhere" as const }) };
}

// Fenced code

function inFence({ fence, text, lead }: Fence): Claim[] {
  const [language = "", ...more] = fence.split(/\s+/);
  if (SHELL_FENCE.test(language)) return inShell(text, lead);
  if (/^(?:diff|patch)$/i.test(language) || !text.trim()) return [];
  const said = sentences(lead).length > 2 ? lead.slice(sentences(lead).at(-2)) : lead;
  const head = /^\s*(?:\/\/|#|--|\/\*|<!--)\s*(\S+)\s*(?:\*\/|-->)?\s*$/.exec(text.split("\n")[0]!)?.[1];
  const named = [...more, language.slice(language.indexOf(":") + 1)].map((word) => word.replace(/^\w+=|["'{}]/g, ""));
  const spots = [...named, ...(head ? [head] : [])].map((word) => WHOLE_PATH.exec(word)?.groups);
  const own = spots.find((groups) => groups && isPath(groups.path!) && HAS_EXTENSION.test(groups.path!));
  const fromLead = said.trimEnd().endsWith(":")
    ? inProse({ text: said, lead: "" }).findLast(({ kind }) => kind === "path")
    : undefined;
  const from = own ? pathOf(own) : fromLead;
  if (!from || from.soft || CHANGES.test(said) || /^[+-][^+-]/m.test(text)) return [];
  const { name, line, end } = from;
  const code = (head && own && spots.at(-1) === own ? text.slice(text.indexOf("\n") + 1) : text).trim();
  const spot = { ...(line && { line }), ...(end && { end }) };
  return [
    ...(own ? [from] : []),
    ...(code
      ? [
          {
            kind: "quote" as const,
            name: code,
            path: name,
            ...spot,
            ...(PRESENT.test(said) && { sure: true as const }),
          },
        ]
      : []),
  ];
}

function inShell(text: string, lead: string): Claim[] {
  const soft = softness(lead, "", "", { kind: "command", name: "" });
  return [...text.matchAll(RUN)].map((found) => ({ ...(soft && { soft }), ...script(found) }));
}

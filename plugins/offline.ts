// The default without a model: it matches the words of a prompt to a tool and shows what the tool
// found.
import type { ChatRequest, Delta, Zz } from "zz";

const INTENTS: { tool: string; words: string[]; argument?: string; within?: true; says: string }[] =
  [
    {
      tool: "find_references",
      words: [
        "who calls",
        "who uses",
        "what calls",
        "what uses",
        "where used",
        "where is used",
        "references",
        "usages",
        "callers of",
      ],
      argument: "symbol",
      says: "who calls NAME?",
    },
    {
      tool: "find_definition",
      words: [
        "where is defined",
        "where defined",
        "where is",
        "definition",
        "find function",
        "which function",
        "which file defines",
        "what is",
        "declared",
        "implemented",
      ],
      argument: "symbol",
      says: "where is NAME defined?",
    },
    {
      tool: "get_todos",
      words: ["todo", "todos", "fixme", "hack", "open tasks", "what is left"],
      within: true,
      says: "todos",
    },
    {
      tool: "git_status",
      words: ["status", "git status", "what changed", "changes", "modified files", "branch"],
      says: "git status",
    },
    {
      tool: "get_structure",
      words: [
        "structure",
        "overview",
        "architecture",
        "outline",
        "symbols",
        "map",
        "what does it define",
      ],
      within: true,
      says: "structure",
    },
    {
      tool: "list_dir",
      words: ["list files", "which files", "folder", "directory", "ls"],
      within: true,
      says: "list files",
    },
    {
      tool: "grep",
      words: ["grep", "search", "search for", "find text", "contains"],
      argument: "query",
      within: true,
      says: 'grep "TEXT"',
    },
    {
      tool: "read_file",
      words: ["read", "read file", "show file", "cat", "open", "print file"],
      argument: "path",
      says: "read FILE",
    },
  ];
const QUOTED = /(?<!\w)[`"“']([^`"”']+)[`"”'](?!\w)/;
/** Where to look: after `in`, `of`, `under` or `ls`. */
const PATH =
  /\b(?:in|of|under|ls) +((?:\.?[\w-]+\/)*[\w-]+(?:\.\w+)+|(?:[\w.-]+\/)+[\w.-]*|(?<=ls +)[\w.-]+)(?=\W*$)/;
const FILLER = new Set(
  "a an and any are as at be by can code do does exactly file find for function get give how i in is it its me my of on or our please project repo repository show that the there these this to tool we what where which who whose why with you".split(
    " ",
  ),
);

export default (zz: Zz) => {
  // No model reads the descriptions here, so all tools are offered.
  zz.wrap(
    "offer",
    (tools, next, { chat }) => (chat.model.startsWith("offline/") ? tools : next(tools)),
    { order: "first" },
  );
  zz.provider({
    name: "offline",
    role: "fallback",
    models: async () => [{ id: "router", tools: true }],

    async *chat({ messages, tools }): AsyncGenerator<Delta> {
      const last = messages.at(-1);
      if (last?.role === "tool") {
        const phrase = last.failed ? "failed so" : "found this";
        yield {
          text: `${last.text}\n\n(offline: not a model. \`${last.name}\` ${phrase}; only words were matched.)`,
        };
        yield { finish: "stop" };
        return;
      }
      const call = await route(withoutNews(last?.text ?? "").slice(0, MAX_PROMPT_CHARS), tools);
      if (call) yield { call };
      else yield { text: abilities(tools) };
      yield { finish: call ? "calls" : "stop" };
    },
  });
};

// what follows is a file or a pipe, in which no words of a question are looked for
const MAX_PROMPT_CHARS = 2_000;

/** What the person said, without what zz puts before it for a model, such as a map of the code. */
function withoutNews(text: string): string {
  const remaining = text.replace(/^--- (.+) ---\n[\s\S]*?\n--- END \1 ---(?:\n\n|$)/, "");
  return remaining === text ? text : withoutNews(remaining);
}

/** The tool whose words match the prompt best, with the rest of the prompt as its argument. */
async function route(prompt: string, tools: ChatRequest["tools"]) {
  const { default: Fuse } = await import("fuse.js");
  const offered = INTENTS.filter(({ tool }) => tools.some(({ name }) => name === tool));
  const meant = prompt.replace(/(?<=\w)['’]s\b/g, "");
  const text = meant.replace(QUOTED, " ").toLowerCase().replace(/\s+/g, " ");
  const rows = offered.flatMap((intent) => intent.words.map((words) => ({ intent, words })));
  const spoken = text.split(/[^\p{L}\p{N}_$.]+/u);
  const scored = rows
    .map((row) => ({ ...row, score: matchScore(row.words, spoken) }))
    .sort((a, b) => b.score - a.score);
  let intent = scored[0]?.score ? scored[0].intent : undefined;
  let misspelt = "";
  if (!intent) {
    // The prompt may be misspelt: look for the nearest word that is an intent by itself.
    const single = new Fuse(
      rows.filter(({ words }) => words.length > 4 && !words.includes(" ")),
      { keys: ["words"], threshold: 0.25, includeScore: true },
    );
    const guesses = spoken
      .filter((word) => word.length > 4)
      .flatMap((word) => single.search(word, { limit: 1 }).map((guess) => ({ ...guess, word })));
    const best = guesses.sort((a, b) => a.score! - b.score!)[0];
    intent = best?.item.intent;
    misspelt = best?.word ?? "";
  }
  const path = intent?.within && PATH.exec(meant)?.[1];
  const subject = subjectOf(path ? meant.replace(PATH, " ") : meant, [
    ...(intent?.words ?? []),
    misspelt,
  ]);
  if (!intent && /^[\w$.]+$/.test(prompt.trim()) && /[A-Z_$.]/.test(prompt))
    intent = offered.find(({ tool }) => tool === "find_definition");
  if (!intent || (intent.argument && !subject)) return undefined;
  if (intent.argument === "path" && subject.includes(" ") && !QUOTED.test(meant)) return undefined;
  return {
    name: intent.tool,
    args: { ...(intent.argument && { [intent.argument]: subject }), ...(path && { path }) },
  };
}

/** How many of an intent's words the prompt has; 0 unless it has them all. */
function matchScore(words: string, spoken: string[]): number {
  const allWords = words.split(" ");
  // any other intent says more
  if (words === "what is") return allWords.every((word) => spoken.includes(word)) ? 0.5 : 0;
  return allWords.every((word) => spoken.includes(word)) ? allWords.length + words.length / 100 : 0;
}

/**
 * The subject of the prompt: what it quotes, else a name written like code, else its words that are
 * not filler.
 */
function subjectOf(prompt: string, intent: string[]): string {
  const quoted = QUOTED.exec(prompt)?.[1];
  if (quoted) return quoted;
  const code =
    /\b(?:[a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*|\w+_\w+|[\w-]+(?:\/[\w.-]+)+|[\w-]+(?:\.\w+)+)\b(?:\(\))?|(?<![\w.])\.\w[\w.-]*/.exec(
      prompt,
    )?.[0];
  if (code) return code.replace(/\(\)$/, "");
  const spent = new Set(intent.flatMap((words) => words.split(" ")));
  const words = prompt
    .split(/[^\p{L}\p{N}_$]+/u)
    .filter((word) => word && !FILLER.has(word.toLowerCase()) && !spent.has(word.toLowerCase()));
  return words.join(" ");
}

function abilities(tools: ChatRequest["tools"]): string {
  const can = INTENTS.filter(({ tool }) => tools.some(({ name }) => name === tool)).map(
    ({ tool, says }) => `- ${says}  (${tool})`,
  );
  return [
    `zz is offline: this is not a model, it only matches words to tools. ${can.length ? "It understands:" : "It has no tools now."}`,
    ...can,
    "",
    "For a model: type /setup at the prompt, or pass --model provider/model.",
  ].join("\n");
}

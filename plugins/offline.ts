// The default without a model: it matches the words of a prompt to a tool and shows what the tool
// found.
import type { ChatRequest, Delta, Zz } from "zz";

/** `phrases`: any of these asks for the tool. */
type Intent = { tool: string; phrases: string; argument?: string; within?: true; says: string };
const INTENTS: Intent[] = [
  {
    tool: "find_references",
    phrases:
      "who calls, who uses, what calls, what uses, where used, where is used, references, " +
      "usages, callers of",
    argument: "symbol",
    says: "who calls NAME?",
  },
  {
    tool: "find_definition",
    phrases:
      "where is defined, where defined, where is, definition, find function, which function, " +
      "which file defines, what is, declared, implemented",
    argument: "symbol",
    says: "where is NAME defined?",
  },
  {
    tool: "get_todos",
    phrases: "todo, todos, fixme, hack, open tasks, what is left",
    within: true,
    says: "todos",
  },
  {
    tool: "git_status",
    phrases: "status, git status, what changed, changes, modified files, branch",
    says: "git status",
  },
  {
    tool: "get_structure",
    phrases: "structure, overview, architecture, outline, symbols, map, what does it define",
    within: true,
    says: "structure",
  },
  {
    tool: "list_dir",
    phrases: "list files, which files, folder, directory, ls",
    within: true,
    says: "list files",
  },
  {
    tool: "grep",
    phrases: "grep, search, search for, find text, contains",
    argument: "query",
    within: true,
    says: 'grep "TEXT"',
  },
  {
    tool: "read_file",
    phrases: "read, read file, show file, cat, open, print file",
    argument: "path",
    says: "read FILE",
  },
];
const QUOTED_SUBJECT = /(?<!\w)[`"“']([^`"”']+)[`"”'](?!\w)/;
const PATH_FORMS = /(?:\.?[\w-]+\/)*[\w-]+(?:\.\w+)+|(?:[\w.-]+\/)+[\w.-]*|(?<=ls +)[\w.-]+/.source;
/** Where to look: after `in`, `of`, `under` or `ls`. */
const PATH_PHRASE = new RegExp(String.raw`\b(?:in|of|under|ls) +(${PATH_FORMS})(?=\W*$)`);
const FILLER_WORDS = new Set(
  (
    "a an and any are as at be by can code do does exactly file find for function get give how i " +
    "in is it its me my of on or our please project repo repository show that the there these " +
    "this to tool we what where which who whose why with you"
  ).split(" "),
);

export default (zz: Zz) => {
  // No model reads the descriptions here, so all tools are offered.
  zz.wrap(
    "offer",
    (offeredTools, nextOffer, { chat }) =>
      chat.model.startsWith("offline/") ? offeredTools : nextOffer(offeredTools),
    { order: "first" },
  );
  zz.provider({
    name: "offline",
    role: "fallback",
    models: async () => [{ id: "router", tools: true }],

    async *chat({ messages, tools }): AsyncGenerator<Delta> {
      const lastMessage = messages.at(-1);
      if (lastMessage?.role === "tool") {
        const resultPhrase = lastMessage.failed ? "failed so" : "found this";
        yield {
          text:
            `${lastMessage.text}\n\n(offline: not a model. ` +
            `\`${lastMessage.name}\` ${resultPhrase}; only words were matched.)`,
        };
        yield { finish: "stop" };
        return;
      }
      const call = await routePrompt(
        withoutNews(lastMessage?.text ?? "").slice(0, MAX_PROMPT_CHARS),
        tools,
      );
      if (call) yield { call };
      else yield { text: abilities(tools) };
      yield { finish: call ? "calls" : "stop" };
    },
  });
};

// what follows is a file or a pipe, in which no words of a question are looked for
const MAX_PROMPT_CHARS = 2_000;

/** What the person said, without what zz puts before it for a model, such as a map of the code. */
function withoutNews(promptText: string): string {
  const remaining = promptText.replace(/^--- (.+) ---\n[\s\S]*?\n--- END \1 ---(?:\n\n|$)/, "");
  return remaining === promptText ? promptText : withoutNews(remaining);
}

/** The tool whose words match the prompt best, with the rest of the prompt as its argument. */
async function routePrompt(prompt: string, offeredTools: ChatRequest["tools"]) {
  const { default: Fuse } = await import("fuse.js");
  const offered = INTENTS.filter(({ tool }) => offeredTools.some(({ name }) => name === tool));
  const withoutGenitive = prompt.replace(/(?<=\w)['’]s\b/g, "");
  const lowerText = withoutGenitive.replace(QUOTED_SUBJECT, " ").toLowerCase().replace(/\s+/g, " ");
  const intentRows = offered.flatMap((intent) =>
    intent.phrases.split(", ").map((words) => ({ intent, words })),
  );
  const spokenWords = lowerText.split(/[^\p{L}\p{N}_$.]+/u);
  const scoredRows = intentRows
    .map((intentRow) => ({ ...intentRow, score: matchScore(intentRow.words, spokenWords) }))
    .sort((first, second) => second.score - first.score);
  let bestIntent = scoredRows[0]?.score ? scoredRows[0].intent : undefined;
  let misspelt = "";
  if (!bestIntent) {
    // The prompt may be misspelt: look for the nearest word that is an intent by itself.
    const singleWords = new Fuse(
      intentRows.filter(({ words }) => words.length > 4 && !words.includes(" ")),
      { keys: ["words"], threshold: 0.25, includeScore: true },
    );
    const guesses = spokenWords
      .filter((longWord) => longWord.length > 4)
      .flatMap((word) =>
        singleWords.search(word, { limit: 1 }).map((fuzzyMatch) => ({ ...fuzzyMatch, word })),
      );
    const bestGuess = guesses.sort((first, second) => first.score! - second.score!)[0];
    bestIntent = bestGuess?.item.intent;
    misspelt = bestGuess?.word ?? "";
  }
  const path = bestIntent?.within && PATH_PHRASE.exec(withoutGenitive)?.[1];
  const subject = subjectOf(
    path ? withoutGenitive.replace(PATH_PHRASE, " ") : withoutGenitive,
    `${bestIntent?.phrases ?? ""} ${misspelt}`,
  );
  if (!bestIntent && /^[\w$.]+$/.test(prompt.trim()) && /[A-Z_$.]/.test(prompt))
    bestIntent = offered.find(({ tool }) => tool === "find_definition");
  if (!bestIntent || (bestIntent.argument && !subject)) return undefined;
  if (
    bestIntent.argument === "path" &&
    subject.includes(" ") &&
    !QUOTED_SUBJECT.test(withoutGenitive)
  )
    return undefined;
  return {
    name: bestIntent.tool,
    args: { ...(bestIntent.argument && { [bestIntent.argument]: subject }), ...(path && { path }) },
  };
}

/** How many of an intent's words the prompt has; 0 unless it has them all. */
function matchScore(words: string, spokenWords: string[]): number {
  const allWords = words.split(" ");
  if (!allWords.every((intentWord) => spokenWords.includes(intentWord))) return 0;
  // any other intent says more
  return words === "what is" ? 0.5 : allWords.length + words.length / 100;
}

const COMPOUND_WORD =
  /[a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*|\w+_\w+|[\w-]+(?:\/[\w.-]+)+|[\w-]+(?:\.\w+)+/.source;
const CODE_NAME = new RegExp(String.raw`\b(?:${COMPOUND_WORD})\b(?:\(\))?|(?<![\w.])\.\w[\w.-]*`);

/**
 * The subject of the prompt: what it quotes, else a name written like code, else its words that are
 * not filler.
 */
function subjectOf(prompt: string, spentPhrases: string): string {
  const quotedSubject = QUOTED_SUBJECT.exec(prompt)?.[1];
  if (quotedSubject) return quotedSubject;
  const codeName = CODE_NAME.exec(prompt)?.[0];
  if (codeName) return codeName.replace(/\(\)$/, "");
  const spentWords = new Set(spentPhrases.split(/[, ]+/));
  const subjectWords = prompt
    .split(/[^\p{L}\p{N}_$]+/u)
    .filter(
      (promptWord) =>
        promptWord &&
        !FILLER_WORDS.has(promptWord.toLowerCase()) &&
        !spentWords.has(promptWord.toLowerCase()),
    );
  return subjectWords.join(" ");
}

function abilities(offeredTools: ChatRequest["tools"]): string {
  const usableIntents = INTENTS.filter(({ tool }) =>
    offeredTools.some(({ name }) => name === tool),
  ).map(({ tool, says }) => `- ${says}  (${tool})`);
  return [
    "zz is offline: this is not a model, it only matches words to tools. " +
      `${usableIntents.length ? "It understands:" : "It has no tools now."}`,
    ...usableIntents,
    "",
    "For a model: type /setup at the prompt, or pass --model provider/model.",
  ].join("\n");
}

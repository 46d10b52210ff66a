// Whether a text only talks about a call: in the middle of a sentence, or as an example.
import { anyOf } from "zz/text";

const LOOK_CHARS = 400; // characters on either side

const SPEAKERS = anyOf(
  /model|models|llm|parser|server|template|tokenizer|client|assistant|agent/,
  /qwen|llama|hermes|mistral|deepseek|glm|kimi|granite|vllm|ollama|llama\.cpp/,
).source;
const SPEAKER_VERBS = anyOf(
  /emits?|writes?|outputs?|produces?|sends?|generates?|returns?|responds?|replies|expects?|uses?/,
  /wraps?|will|would|should|must|may|can|is|was|gives?|prints?/,
).source;
const TEXT_LABELS = anyOf(
  /input|output|raw text|response|completion|prompt|transcript|expected|sample|snippet|string/,
  /fixture|test case|chat template/,
).source;
const TEXT_ACTIONS = "write|emit|output|send|use|see|get|wrap|call";
const LEADING_WORDS = anyOf(
  /for (example|instance)|e\.g\.|an example|example( (call|output|of))?:|looks? (something )?like/,
  /(such as|written as|formatted as|rendered as|serialized as|encoded as)/,
  /the (following )?(format|syntax|markup|template|form)/,
  /(this|that|following) (format|syntax|markup|template|form|shape|structure)/,
  /would (look|be|write|emit|output|produce|send|generate|return|respond)/,
  new RegExp(String.raw`(${SPEAKERS}) (\w+ )?(${SPEAKER_VERBS})`),
  new RegExp(String.raw`(${TEXT_LABELS})\s?:`),
  /(expected|raw|actual) (output|input|result|text|answer)/,
  new RegExp(`you (would|will|should|must|can|may|could|have to) (${TEXT_ACTIONS})`),
  /is (written|emitted|parsed|wrapped|rendered|sent|called)/,
  /(was|were|gets|be) (written|emitted|parsed|wrapped|rendered|sent|printed|logged)/,
).source;
/** Words before the call, in the same sentence. */
const WORDS_BEFORE = new RegExp(String.raw`\b(${LEADING_WORDS})\b[^\n]{0,120}$`, "i");
const CALL_PARTIES = anyOf(
  /model|server|parser|template|client|tokenizer|example|format|syntax|markup|snippet|harness/,
  /runtime|agent loop|markers?|tags?/,
).source;
const WHAT_IT_IS = anyOf(
  /parsed|written|how|what|an example|called/,
  /the (format|syntax|form)|(a|the) (tool )?call/,
).source;
const FOLLOWING_WORDS = anyOf(
  new RegExp(`(the|a|this|that) (${CALL_PARTIES})`),
  new RegExp(`is (then )?(${WHAT_IT_IS})`),
  /are (parsed|written)|where (\w+ ){1,4}(is|are|stands)|in this (example|format)/,
  /means that|looks like|would (be|look|run|call)|not (run|executed)/,
).source;
const CLOSING_REMARK =
  "end of|(that|this|it) (is|was) (all|the (text|end|content|whole|last)|what)";
/** Words after the call. */
const WORDS_AFTER = anyOf(
  new RegExp(String.raw`^(${CLOSING_REMARK}|is (what|the|in)\b)`, "i"),
  new RegExp(String.raw`^\s{0,20}[^\n]{0,160}\b(${FOLLOWING_WORDS})\b`, "i"),
);

const SAYING_VERBS =
  "(answer|call|emit|make|output|produce|reply|respond|return|run|say|send|type|use|write)\\w{0,3}";
const SOMEBODY = "(I|you|one|it|he|she|they|someone|people|anyone|an? \\w{1,20}|the \\w{1,20})";
/**
 * Words before the call, in the same sentence, of calls that somebody else would make, or that are
 * not made.
 */
const NOT_MADE = new RegExp(
  [
    `\\b${SOMEBODY} (would|could|might|may|can) (\\w{1,20} ){0,3}${SAYING_VERBS}\\b`,
    "\\b(not|never|don['’]t|won['’]t|cannot|can['’]t|without|instead of|rather than) " +
      `(\\w{1,20} ){0,2}${SAYING_VERBS}\\b`,
    "\\bas follows\\b",
  ]
    .map((pattern) => `(?<!\\bI can )${pattern}[^\n]{0,120}$`)
    .join("|"),
  "i",
);
const TEXT_NOUNS =
  "(contents?|example|excerpt|instructions?|lines?|messages?|notes?|output|quot(e|ation)|" +
  "results?|snippet|text|words?)";
/** Words that lead to what a text, a tool or a person said: the last clause before the call. */
const SAID_CLAUSE = new RegExp(
  [
    "(reads|says|said|shows|showed|contains|contained|holds|held|wrote|returned|printed|added|" +
      "answered|replied|responded|quoted|verbatim|states|tells|told|asks|asked|demands|expects)",
    "(ends|ended|begins|began|starts|started) with|followed by|consists of|found " +
      "(in|at|on)|goes (like|as|so)|has (this|the following)|puts? (this|that)",
    "(it|this|that|there|here|these)(['’]s| is| was| are| were) " +
      `(\\S+ ){0,3}?(what|how|${TEXT_NOUNS})`,
    "there (is|was|are|were) (\\S+ ){0,3}?calls?",
    "I (see|saw|find|found|got|noticed)( (this|that|it|these|the " +
      "following))?( (in|on|at) [^,]{1,80})?$",
    "(has|have|had|in) (\\S+ ){0,3}?(lines?|rows?) " +
      `(\\d+ )?(stands|is)|(has|have|had) (this|that|these) ${TEXT_NOUNS}`,
    "(is|was|are|were)$",
  ]
    .map((pattern) => `\\b(${pattern})(?!\\w)`)
    .join("|")
    .replaceAll("$)(?!\\w)", "$)"),
  "i",
);
/** A heading, a label or a file's name above what is only shown. */
const LABEL_LINE = new RegExp(
  "^[#>*_\\s\\d.-]{0,20}((an? |the |its |some )?(\\w+ " +
    `)?(${TEXT_NOUNS}|parts?|passage|sample|syntax|usage|format|template|diff|log)s?\\b( ` +
    "(as|at|for|from|in|is|of|on|to|with)\\b([^.!?\n" +
    `]|\\.\\w){0,60})?|[\`"']?[\\w/-]*\\.\\w{1,5}[\`"']?|line \\d+)[*_\\s]*:?[*_]*$`,
  "i",
);
/**
 * What begins a line of a comment, a quotation, a heading, a table, a footnote, a diff, a file with
 * numbers.
 */
const LINE_LEADER = anyOf(
  /^\s{0,20}(\/\/|\/\*|--|<!--|#{1,6}\s|>|\||\[\^|\+)/,
  /^\s{0,20}(\d{1,7}\s{0,5}[\t:|│]|[\w./-]{1,200}:\d{1,7}:)/,
);
/** Comments and strings of code, which hold texts of others. */
const HOLDERS = [
  ["<!--", "-->"],
  ["/*", "*/"],
];
const OPENING_TAG = /<([a-z][\w-]{0,30})(?:\s[^<>\n]{0,100})?>/g;
const WRAPPER = anyOf(
  /^(answer|response|assistant|actions?|tools?|xml|json)$/,
  /^(function_calls?|tool_calls?|think|thinking)$/,
);
/** A quotation that opens on the line of the call and has not closed. */
const OPEN_QUOTE =
  /^[^"{}[\]\n]*("[^"{}[\]\n]*"[^"{}[\]\n]*)*"[^"{}[\]\n]*$|«[^»\n]*$|(?:^|[\s(])»(?!\s)[^«\n]*$/;
/**
 * Quotation marks that open differently from how they close, so that a quotation may go over
 * several lines.
 */
const QUOTATIONS = ["“”", "„“", "„”", "‟”", "‚‘", "‹›", "「」", "『』", "《》", "〝〞"];
const SHELL_PROMPT = /(?:[\w.@:~/-]{0,40}[$%❯#]|PS>)/.source;
const PRINTING_PROGRAMS =
  "(?:cat|bat|head|tail|less|more|type|sed|grep|rg|curl|wget|git (?:show|diff|log))";
/** A line at a shell's prompt that prints a text: what follows is that text. */
const PRINT_COMMAND = new RegExp(String.raw`^\s{0,20}${SHELL_PROMPT}\s{1,5}${PRINTING_PROGRAMS}\s`);
/** A quotation in Markdown goes on in the next line, also without its sign. */
const LEADS_QUOTED = /^\s{0,3}>.{0,500}[:：]\s{0,5}$/;
/** A template string of code that has not closed. */
const OPEN_TEMPLATE = /(?:[=(,+]|\breturn)\s{0,5}`[^`]{0,2000}$/;
const HOLDER_LOOK = 2_000; // characters on either side

/**
 * Whether the call stands between the two ends of what holds texts of others, or in tags that are
 * not for calls.
 */
function isInHolder(replyText: string, callStart: number, callEnd: number): boolean {
  const [textBefore, textAfter] = [
    replyText.slice(Math.max(0, callStart - HOLDER_LOOK), callStart),
    replyText.slice(callEnd, callEnd + HOLDER_LOOK),
  ];
  if (textBefore.split('"""').length % 2 === 0 && textAfter.includes('"""')) return true;
  if (OPEN_TEMPLATE.test(textBefore) && textAfter.includes("`")) return true;
  const tags = Array.from(textBefore.matchAll(OPENING_TAG))
    .filter(([, tagName]) => !WRAPPER.test(tagName!))
    .map(([openTag, tagName]) => [openTag, `</${tagName}>`]);
  return [...QUOTATIONS, ...HOLDERS, ...tags].some(
    ([opener, closer]) =>
      textAfter.includes(closer!) &&
      textBefore.lastIndexOf(opener!) > textBefore.lastIndexOf(closer!),
  );
}

const FILLER_WORDS = anyOf(
  /now|next|then|so|first|second|finally|last|also|again|step \d+|(tool )?call|action/,
  /here (we go|goes)|ok(ay)?|sure|yes|done|great/,
).source;
/** Words that may lead to a call on its own line, because they say nothing about it. */
const NEUTRAL = new RegExp(String.raw`^\W*(((${FILLER_WORDS})\W*)+|\w+ing\b.*)?$`, "i");
const INTENDED_VERBS =
  "look|read|check|call|run|use|search|list|open|edit|write|fetch|try|ask|get|fix|" +
  "create|change|add";
/** A model that says what it is about to do makes the call. */
const INTENTION = new RegExp(
  String.raw`\b((I|we) (will|am|need|want|should|must|have to|can|` +
    `(now |then |also |just |first )?(${INTENDED_VERBS}))|` +
    String.raw`I[’']ll|I[’']m|let me|let[’']s|now I|so I|first I|then I)\b`,
  "i",
);

export const isTalk = (...talkRange: Parameters<typeof talkIn>): boolean =>
  talkIn(...talkRange) !== undefined;

/**
 * How a text talks about a call: as an example, or in the middle of a sentence that may as well
 * mean it.
 */
export function talkIn(
  replyText: string,
  callStart: number,
  callEnd: number,
): "example" | "sentence" | undefined {
  const textBefore = replyText.slice(Math.max(0, callStart - LOOK_CHARS), callStart);
  const textAfter = replyText.slice(callEnd, callEnd + LOOK_CHARS);
  const callLine = textBefore.slice(textBefore.lastIndexOf("\n") + 1);
  const following = textAfter
    .split("\n")[0]!
    .replace(/^\s{0,20}<\/?[|\w:]{1,40}>/, "")
    .trim();
  const leadLine = textBefore.trimEnd().split("\n").at(-1)!;
  // a quotation that ended leads to nothing
  const leadText = /^\s{0,3}>/.test(leadLine) && /\n\s*\n\s*$/.test(textBefore) ? "" : leadLine;
  const sentence = leadText.split(/[.!?…。！？}\]>]\s/).at(-1)!;
  const lastClause = sentence
    .replace(/[\s:：*_`]+$/, "")
    .split(/[,;:：]\s/)
    .at(-1)!;
  const lineAbove =
    textBefore
      .slice(0, textBefore.length - callLine.length)
      .split("\n")
      .at(-2) ?? "";
  if (PRINT_COMMAND.test(lineAbove) || LEADS_QUOTED.test(lineAbove)) return "example";
  if (
    LINE_LEADER.test(callLine) ||
    OPEN_QUOTE.test(callLine) ||
    isInHolder(replyText, callStart, callEnd)
  )
    return "example";
  const isCutOff = !/[.!?:;…。！？)\]}>*"”]\s{0,20}$/.test(callLine) && isWords(following);
  // after the call
  const isContinued =
    callLine.trim() !== "" && (isCutOff || /^[,;)]|^\.(\s|$)|^\?(\s|$)/.test(following));
  const [meantIndex, saidIndex] = [sentence.search(INTENTION), lastClause.search(SAID_CLAUSE)];
  const hasEnded = /[.!?…。！？]["'”)]?$/.test(leadText);
  const isQuoted = saidIndex >= 0 && !hasEnded && !INTENTION.test(lastClause.slice(0, saidIndex));
  if (isQuoted || NOT_MADE.test(sentence) || LABEL_LINE.test(sentence))
    return isContinued ? "sentence" : "example";
  if (meantIndex >= 0) return undefined;
  if (
    (WORDS_BEFORE.test(sentence) && !hasEnded) ||
    (/\S\s*[:：]\s*$/.test(callLine) && !NEUTRAL.test(lastClause))
  )
    return "example";
  if (WORDS_AFTER.test(textAfter.trimStart().slice(0, 200))) return "example";
  const isBetween =
    leadText.trim() !== "" && PROSE_AFTER.test(textAfter) && !GOES_ON.test(textAfter);
  return isContinued || isBetween ? "sentence" : undefined;
}
/** Words that go on after the call, in a line of their own. */
const PROSE_AFTER =
  /^\s{0,20}(<\/[|\w:]{1,40}>|```)?\s{0,20}(\p{L}+[^\p{L}<>{}\n]+){2}\p{L}+[^<>{}=\n]*(\n|$)/u;
const NEXT_STEP_WORDS = anyOf(
  /I|I[’']ll|we|let|then|next|now|this (will|gives?)|wait\w*|after|once|done/,
  /danach|dann|jetzt|ensuite|après|luego|después|ahora|poi|dopo|затем|потом/,
).source;
/** What a model does once it has the result. */
const GOES_ON = new RegExp(
  String.raw`^[^\n]*\n*[^\n]*(?<!\p{L})(${NEXT_STEP_WORDS})(?!\p{L})`,
  "iu",
);

const isWords = (lineText: string): boolean => /^[\p{L}\d,;(–—-]/u.test(lineText);

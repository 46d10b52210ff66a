// Whether a text only talks about a call: in the middle of a sentence, or as an example.
const LOOK = 400; // characters on either side

/** Words before the call, in the same sentence. */
const BEFORE =
  /\b(for (example|instance)|e\.g\.|an example|example( (call|output|of))?:|looks? (something )?like|(such as|written as|formatted as|rendered as|serialized as|encoded as)|the (following )?(format|syntax|markup|template|form)|(this|that|following) (format|syntax|markup|template|form|shape|structure)|would (look|be|write|emit|output|produce|send|generate|return|respond)|(model|models|llm|parser|server|template|tokenizer|client|assistant|agent|qwen|llama|hermes|mistral|deepseek|glm|kimi|granite|vllm|ollama|llama\.cpp) (\w+ )?(emits?|writes?|outputs?|produces?|sends?|generates?|returns?|responds?|replies|expects?|uses?|wraps?|will|would|should|must|may|can|is|was|gives?|prints?)|(input|output|raw text|response|completion|prompt|transcript|expected|sample|snippet|string|fixture|test case|chat template)\s?:|(expected|raw|actual) (output|input|result|text|answer)|you (would|will|should|must|can|may|could|have to) (write|emit|output|send|use|see|get|wrap|call)|is (written|emitted|parsed|wrapped|rendered|sent|called)|(was|were|gets|be) (written|emitted|parsed|wrapped|rendered|sent|printed|logged))\b[^\n]{0,120}$/i;
/** Words after the call. */
const AFTER =
  /^\s{0,20}[^\n]{0,160}\b((the|a|this|that) (model|server|parser|template|client|tokenizer|example|format|syntax|markup|snippet|harness|runtime|agent loop|markers?|tags?)|is (then )?(parsed|written|how|what|an example|called|the (format|syntax|form)|(a|the) (tool )?call)|are (parsed|written)|where (\w+ ){1,4}(is|are|stands)|in this (example|format)|means that|looks like|would (be|look|run|call)|not (run|executed))\b/i;

const SAYING = "(answer|call|emit|make|output|produce|reply|respond|return|run|say|send|type|use|write)\\w{0,3}";
const WHO = "(you|one|it|he|she|they|someone|people|anyone|an? \\w{1,20}|the \\w{1,20})";
/** Words before the call, in the same sentence, of somebody else's calls, of such as are not made, and of what a text says. */
const NOT_MADE = new RegExp(
  [
    `\\b${WHO} (would|could|might|may|can) (\\w{1,20} ){0,2}${SAYING}\\b`,
    `\\b(not|never|don['’]t|won['’]t|cannot|can['’]t|without|instead of|rather than) (\\w{1,20} ){0,2}${SAYING}\\b`,
    "\\b(log|file|page|document|readme|text|comment|issue|e?mail|message|output|result|ticket|note)s? (\\w{1,20} ){0,2}(shows?|says?|said|contains?|reads|tells|told|has|holds|wrote|asks|asked|demands?|wants)\\b",
  ]
    .map((one) => `${one}[^\n]{0,120}$`)
    .join("|"),
  "i",
);
/** A heading or a label of what is only shown. */
const LABEL =
  /^[#>*_\s\d.-]{0,20}(an? |the |some )?(example|sample|syntax|usage|format|template|snippet)s?\b[^.!?\n]{0,60}$/i;
/** What begins a line of a comment, a quotation, a heading, a table, a footnote. */
const LEADER = /^\s{0,20}(\/\/|\/\*|--|<!--|#{1,6}\s|>|\||\[\^)/;
/** What holds texts of others, or code: a call in it is none. */
const HOLDERS: [opener: RegExp, closer: string][] = [
  [/<!--/g, "-->"],
  [/\/\*/g, "*/"],
  [/"""/g, '"""'],
  ...[
    "pre",
    "code",
    "example",
    "examples",
    "details",
    "blockquote",
    "sample",
    "quote",
    "document",
    "tool_response",
    "tool_result",
  ].map((name): [RegExp, string] => [new RegExp(`<${name}(\\s[^<>\n]{0,100})?>`, "g"), `</${name}>`]),
];
const HOLDER_LOOK = 2_000; // characters on either side

/** Whether the call stands between the two ends of what holds texts of others. */
function isHeld(text: string, start: number, end: number): boolean {
  const [before, after] = [text.slice(Math.max(0, start - HOLDER_LOOK), start), text.slice(end, end + HOLDER_LOOK)];
  return HOLDERS.some(([opener, closer]) => {
    if (!after.includes(closer)) return false;
    const at = [...before.matchAll(opener)].at(-1)?.index ?? -1;
    const isOwn = closer === '"""' ? before.split(closer).length % 2 === 0 : before.lastIndexOf(closer) < at;
    return at >= 0 && isOwn;
  });
}

/** A model that says what it is about to do makes the call. */
const MEANT =
  /\b(I will|I'll|I’ll|I am|I'm|I’m|I need|I should|I must|I have to|let me|let's|let’s|we need|we should|now I|so I|first I|then I)\b/i;

export const isTalk = (...place: Parameters<typeof talkIn>): boolean => talkIn(...place) !== undefined;

/** How a text talks about a call: as an example, or in the middle of a sentence that may as well mean it. */
export function talkIn(text: string, start: number, end: number): "example" | "sentence" | undefined {
  const before = text.slice(Math.max(0, start - LOOK), start);
  const after = text.slice(end, end + LOOK);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const rest = after
    .split("\n")[0]!
    .replace(/^\s{0,20}<\/?[|\w:]{1,40}>/, "")
    .trim();
  const said = before.trimEnd().split("\n").at(-1)!; // the line that leads to it
  const sentence = said.split(/[.!?…。！？]\s/).at(-1)!;
  if (LEADER.test(line) || isHeld(text, start, end)) return "example";
  const isCutOff = !/[.!?:;…。！？)\]}>*"”]\s{0,20}$/.test(line) && isWords(rest);
  const goesOn = line.trim() !== "" && (isCutOff || /^[,;)]|^\.(\s|$)|^\?(\s|$)/.test(rest)); // after the call
  if (NOT_MADE.test(sentence) || LABEL.test(sentence)) return goesOn ? "sentence" : "example";
  if (MEANT.test(said)) return undefined;
  if (BEFORE.test(sentence) && !/[.!?…。！？]$/.test(said)) return "example";
  if (AFTER.test(after.trimStart().slice(0, 200))) return "example";
  return goesOn ? "sentence" : undefined;
}

const isWords = (text: string): boolean => /^[\p{L}\d,;(–—-]/u.test(text);

// Whether a text only talks about a call: in the middle of a sentence, or as an example.
const LOOK = 400; // characters on either side

/** Words before the call, in the same sentence. */
const BEFORE =
  /\b(for (example|instance)|e\.g\.|an example|example( (call|output|of))?:|looks? (something )?like|(such as|written as|formatted as|rendered as|serialized as|encoded as)|the (following )?(format|syntax|markup|template|form)|(this|that|following) (format|syntax|markup|template|form|shape|structure)|would (look|be|write|emit|output|produce|send|generate|return|respond)|(model|models|llm|parser|server|template|tokenizer|client|assistant|agent|qwen|llama|hermes|mistral|deepseek|glm|kimi|granite|vllm|ollama|llama\.cpp) (\w+ )?(emits?|writes?|outputs?|produces?|sends?|generates?|returns?|responds?|replies|expects?|uses?|wraps?|will|would|should|must|may|can|is|was|gives?|prints?)|(input|output|raw text|response|completion|prompt|transcript|expected|sample|snippet|string|fixture|test case|chat template)\s?:|(expected|raw|actual) (output|input|result|text|answer)|you (would|will|should|must|can|may|could|have to) (write|emit|output|send|use|see|get|wrap|call)|is (written|emitted|parsed|wrapped|rendered|sent|called)|(was|were|gets|be) (written|emitted|parsed|wrapped|rendered|sent|printed|logged))\b[^\n]{0,120}$/i;
/** Words after the call. */
const AFTER =
  /^\s{0,20}[^\n]{0,160}\b((the|a|this|that) (model|server|parser|template|client|tokenizer|example|format|syntax|markup|snippet|harness|runtime|agent loop|markers?|tags?)|is (then )?(parsed|written|how|what|an example|called|the (format|syntax|form))|are (parsed|written)|where (\w+ ){1,4}(is|are|stands)|in this (example|format)|means that|looks like|would (be|look|run|call)|not (run|executed))\b/i;

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
  if (MEANT.test(said)) return undefined;
  if (BEFORE.test(said) && !/[.!?…。！？]$/.test(said)) return "example";
  if (AFTER.test(after.trimStart().slice(0, 200))) return "example";
  if (line.trim() && !/[.!?:;…。！？)\]}>*"”]\s{0,20}$/.test(line) && isWords(rest)) return "sentence";
  return /^[,;)]|^\.(\s|$)|^\?(\s|$)/.test(rest) && line.trim() ? "sentence" : undefined; // it goes on after the call
}

const isWords = (text: string): boolean => /^[\p{L}\d,;(–—-]/u.test(text);

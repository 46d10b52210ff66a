// A question at the prompt may be answered from other places as well, such as a phone: the first
// answer counts, and the question goes everywhere else.
import type { AnswerPlace } from "zz";
import { answer, askAtPrompt } from "./ask-at-prompt.ts";
import { type Keyboard, showNote } from "./input-line.ts";

export async function askEverywhere(
  keyboard: Keyboard,
  places: ReadonlySet<AnswerPlace>,
  question: string,
  keys?: string,
): Promise<string> {
  const atPrompt = askAtPrompt(keyboard, question, keys);
  if (!places.size) return atPrompt;
  const over = new AbortController();
  const here = atPrompt.then((given) => ({ answer: given, from: undefined }));
  const elsewhere = [...places].map((place) => answerFrom(place, question, keys, over.signal));
  const first = await Promise.race([here, ...elsewhere]);
  over.abort(first.answer);
  if (first.from === undefined) return first.answer;
  await withdraw(keyboard, here);
  showNote(keyboard, `Answered on ${first.from}: ${first.answer || "no answer"}`);
  return first.answer;
}

/** Never, if the place has no answer. */
function answerFrom(
  place: AnswerPlace,
  question: string,
  keys: string | undefined,
  signal: AbortSignal,
): Promise<{ answer: string; from: string }> {
  return new Promise((resolve) => {
    place
      .ask(question, keys, signal)
      .then((given) => {
        const isAnswer =
          given && (keys === undefined || (given.answer && keys.includes(given.answer)));
        if (isAnswer) resolve(given);
      })
      .catch(() => {}); // it is out of reach, and the prompt is here
  });
}

async function withdraw(keyboard: Keyboard, atPrompt: Promise<unknown>): Promise<void> {
  const { question } = keyboard;
  question.isWithdrawn = true;
  question.onKey?.("");
  answer(keyboard, "");
  await atPrompt;
  question.isWithdrawn = false;
}

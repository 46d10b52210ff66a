// A question at the prompt may be answered from other places as well, such as a phone: the first
// answer counts, and the question goes everywhere else.
import type { AnswerPlace } from "zz";
import { answer, askAtPrompt } from "./ask-at-prompt.ts";
import { type Keyboard, showNote } from "./input-line.ts";

export async function askEverywhere(
  keyboard: Keyboard,
  answerPlaces: ReadonlySet<AnswerPlace>,
  question: string,
  offeredKeys?: string,
): Promise<string> {
  const atPrompt = askAtPrompt(keyboard, question, offeredKeys);
  if (!answerPlaces.size) return atPrompt;
  const withdrawal = new AbortController();
  const promptAnswer = atPrompt.then((typedAnswer) => ({ answer: typedAnswer, from: undefined }));
  const elsewhere = [...answerPlaces].map((answerPlace) =>
    answerFrom(answerPlace, question, offeredKeys, withdrawal.signal),
  );
  const firstAnswer = await Promise.race([promptAnswer, ...elsewhere]);
  withdrawal.abort(firstAnswer.answer);
  if (firstAnswer.from === undefined) return firstAnswer.answer;
  await withdraw(keyboard, promptAnswer);
  showNote(keyboard, `Answered on ${firstAnswer.from}: ${firstAnswer.answer || "no answer"}`);
  return firstAnswer.answer;
}

/** Never, if the place has no answer. */
function answerFrom(
  answerPlace: AnswerPlace,
  question: string,
  offeredKeys: string | undefined,
  signal: AbortSignal,
): Promise<{ answer: string; from: string }> {
  return new Promise((resolve) => {
    answerPlace
      .ask(question, offeredKeys, signal)
      .then((placeAnswer) => {
        const isAnswer =
          placeAnswer &&
          (offeredKeys === undefined ||
            (placeAnswer.answer && offeredKeys.includes(placeAnswer.answer)));
        if (isAnswer) resolve(placeAnswer);
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

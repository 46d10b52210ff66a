// Which results the model need not see again, decided without a model: files read again or changed
// since, and old results whose file was not mentioned since.
import path from "node:path";
import type { Call, Message } from "zz";
import { plural } from "zz/text";

const MIN_RESULT_CHARS = 240; // shorter results are left as they are
const OLD_AFTER_MESSAGES = 5;

export type Texts = Record<number, string>;

/**
 * What replaces each such result, by its index. Results of the last round stay, as the model has
 * not seen them yet.
 */
export function staleResults(messages: readonly Message[], changing: ReadonlySet<string>): Texts {
  const results = resultsIn(messages);
  const lastRound = messages.findLastIndex(({ role }) => role === "assistant");
  const replacements: Texts = {};
  for (const { at, call, subject } of results) {
    const { text } = messages[at]!;
    if (at > lastRound || text.length < MIN_RESULT_CHARS) continue;
    const laterResults = results.filter(
      (seenResult) => seenResult.at > at && seenResult.subject === subject && subject,
    );
    const isAskedAgain = laterResults.some(
      (laterResult) => laterResult.call.name === call.name && coversCall(laterResult.call, call),
    );
    const changed = laterResults.some((laterResult) => changing.has(laterResult.call.name));
    const isOldResult =
      messages.length - at > OLD_AFTER_MESSAGES && !mentioned(messages.slice(at + 1), subject);
    const reason = staleReason(isAskedAgain, changed, isOldResult);
    if (reason) replacements[at] = stubFor(call, subject, text, reason);
  }
  return replacements;
}

function staleReason(
  isAskedAgain: boolean,
  isChanged: boolean,
  isOld: boolean,
): string | undefined {
  if (isAskedAgain) return "it was asked for again later";
  if (isChanged) return "the file was changed since";
  return isOld ? "it is old" : undefined;
}

type Seen = { at: number; call: Call; subject: string };

function resultsIn(messages: readonly Message[]): Seen[] {
  let roundCalls: Call[] = [];
  return messages.flatMap((message, index) => {
    if (message.role === "assistant") roundCalls = message.calls ?? [];
    const call =
      message.role === "tool" && !message.failed && roundCalls.find(({ id }) => id === message.id);
    return call ? [{ at: index, call, subject: subjectOf(call) }] : [];
  });
}

/** The file that a call is about, or "". */
function subjectOf({ args }: Call): string {
  const pathArgument = args.path ?? args.file_path ?? args.file;
  return typeof pathArgument === "string"
    ? path.posix.normalize(pathArgument.replaceAll("\\", "/"))
    : "";
}

/** Whether one call asked for the same as the other, or for the whole file. */
const coversCall = (laterCall: Call, otherCall: Call): boolean =>
  JSON.stringify(laterCall.args) === JSON.stringify(otherCall.args) ||
  Object.keys(laterCall.args).length === 1;

function mentioned(messages: readonly Message[], subject: string): boolean {
  const fileName = path.posix.basename(subject);
  if (!fileName || fileName === ".") return false;
  return messages.some((message) => {
    if (message.role === "tool") return false;
    const calls =
      message.role === "assistant" && message.calls ? JSON.stringify(message.calls) : "";
    return message.text.includes(fileName) || calls.includes(fileName);
  });
}

function stubFor(
  { name }: Pick<Call, "name">,
  subject: string,
  resultText: string,
  reason: string,
): string {
  const lineWords = plural(resultText.split("\n").length, "line");
  const callLabel = subject ? `${name} ${subject}` : name;
  return `[${callLabel}: ${lineWords} left out, since ${reason}. Call it again if you need them.]`;
}

/** The replacements of all results before the last round, for when nothing else helps. */
export function allResults(messages: readonly Message[]): Texts {
  const lastRound = messages.findLastIndex(({ role }) => role === "assistant");
  const results = resultsIn(messages).filter(
    ({ at }) => at < lastRound && messages[at]!.text.length >= MIN_RESULT_CHARS,
  );
  return Object.fromEntries(
    results.map(({ at, call, subject }) => [
      at,
      stubFor(call, subject, messages[at]!.text, "the window is full"),
    ]),
  );
}

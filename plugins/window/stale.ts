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
  const texts: Texts = {};
  for (const { at, call, subject } of results) {
    const { text } = messages[at]!;
    if (at > lastRound || text.length < MIN_RESULT_CHARS) continue;
    const later = results.filter(
      (seenResult) => seenResult.at > at && seenResult.subject === subject && subject,
    );
    const again = later.some(
      (laterResult) => laterResult.call.name === call.name && covers(laterResult.call, call),
    );
    const changed = later.some((laterResult) => changing.has(laterResult.call.name));
    const old =
      messages.length - at > OLD_AFTER_MESSAGES && !mentioned(messages.slice(at + 1), subject);
    const reason = staleReason(again, changed, old);
    if (reason) texts[at] = stub(call, subject, text, reason);
  }
  return texts;
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
  let calls: Call[] = [];
  return messages.flatMap((message, index) => {
    if (message.role === "assistant") calls = message.calls ?? [];
    const call =
      message.role === "tool" && !message.failed && calls.find(({ id }) => id === message.id);
    return call ? [{ at: index, call, subject: subjectOf(call) }] : [];
  });
}

/** The file that a call is about, or "". */
function subjectOf({ args }: Call): string {
  const named = args.path ?? args.file_path ?? args.file;
  return typeof named === "string" ? path.posix.normalize(named.replaceAll("\\", "/")) : "";
}

/** Whether one call asked for the same as the other, or for the whole file. */
const covers = (call: Call, otherCall: Call): boolean =>
  JSON.stringify(call.args) === JSON.stringify(otherCall.args) ||
  Object.keys(call.args).length === 1;

function mentioned(messages: readonly Message[], subject: string): boolean {
  const name = path.posix.basename(subject);
  if (!name || name === ".") return false;
  return messages.some((message) => {
    if (message.role === "tool") return false;
    const calls =
      message.role === "assistant" && message.calls ? JSON.stringify(message.calls) : "";
    return message.text.includes(name) || calls.includes(name);
  });
}

function stub({ name }: Pick<Call, "name">, subject: string, text: string, reason: string): string {
  const lines = plural(text.split("\n").length, "line");
  const label = subject ? `${name} ${subject}` : name;
  return `[${label}: ${lines} left out, since ${reason}. Call it again if you need them.]`;
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
      stub(call, subject, messages[at]!.text, "the window is full"),
    ]),
  );
}

// Which results the model need not see again, told without asking a model: what was read again or changed since, and what
// is old and was not mentioned since.
import path from "node:path";
import type { Call, Message } from "zz";

export const WORTH = 240; // characters; a shorter result is left as it is
const OLD = 5; // messages

export type Texts = Record<number, string>;

/** What stands for each such result, by its place. Those of the last round the model has not seen yet. */
export function staleResults(messages: readonly Message[], changing: ReadonlySet<string>): Texts {
  const results = resultsIn(messages);
  const lastRound = messages.findLastIndex(({ role }) => role === "assistant");
  const texts: Texts = {};
  for (const { at, call, subject } of results) {
    const { text } = messages[at]!;
    if (at > lastRound || text.length < WORTH) continue;
    const later = results.filter((one) => one.at > at && one.subject === subject && subject);
    const again = later.some((one) => one.call.name === call.name && covers(one.call, call));
    const changed = later.some((one) => changing.has(one.call.name));
    const old = messages.length - at > OLD && !mentioned(messages.slice(at + 1), subject);
    const why = again
      ? "it was asked for again later"
      : changed
        ? "the file was changed since"
        : old
          ? "it is old"
          : "";
    if (why) texts[at] = stub(call, subject, text, why);
  }
  return texts;
}

type Seen = { at: number; call: Call; subject: string };

function resultsIn(messages: readonly Message[]): Seen[] {
  let calls: Call[] = [];
  return messages.flatMap((message, at) => {
    if (message.role === "assistant") calls = message.calls ?? [];
    const call = message.role === "tool" && !message.failed && calls.find(({ id }) => id === message.id);
    return call ? [{ at, call, subject: subjectOf(call) }] : [];
  });
}

/** The file that a call is about, if it is about one. */
function subjectOf({ args }: Call): string {
  const named = args.path ?? args.file_path ?? args.file;
  return typeof named === "string" ? path.posix.normalize(named.replaceAll("\\", "/")) : "";
}

/** The same was asked for, or the whole of what the other asked a part of. */
const covers = (one: Call, other: Call): boolean =>
  JSON.stringify(one.args) === JSON.stringify(other.args) || Object.keys(one.args).length === 1;

function mentioned(messages: readonly Message[], subject: string): boolean {
  const name = path.posix.basename(subject);
  if (!name || name === ".") return false;
  return messages.some((message) => {
    if (message.role === "tool") return false;
    const calls = message.role === "assistant" && message.calls ? JSON.stringify(message.calls) : "";
    return message.text.includes(name) || calls.includes(name);
  });
}

export function stub({ name }: Pick<Call, "name">, subject: string, text: string, why: string): string {
  const lines = text.split("\n").length;
  const what = subject ? `${name} ${subject}` : name;
  return `[${what}: ${lines} ${lines === 1 ? "line" : "lines"} left out, since ${why}. Call it again if you need them.]`;
}

/** All results but those of the last round, for when there is no other way; the oldest first. */
export function allResults(messages: readonly Message[]): Texts {
  const lastRound = messages.findLastIndex(({ role }) => role === "assistant");
  const results = resultsIn(messages).filter(({ at }) => at < lastRound && messages[at]!.text.length >= WORTH);
  return Object.fromEntries(
    results.map(({ at, call, subject }) => [at, stub(call, subject, messages[at]!.text, "the window is full")]),
  );
}

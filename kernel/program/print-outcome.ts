// What stdout and stderr get beside an answer: lines of JSON, figures, why it ended early, and a
// failure as one sentence.
import { type Answer, type ChatRequest, EVENTS, type Io, type Result } from "../contract.ts";
import { observeEvent } from "../events.ts";
import { type Core, MAX_SAME_CALLS, showsTraces } from "../instance.ts";
import { explainError } from "../plugins/import-plugin.ts";
import { version } from "../system/installation.ts";
import { print, say } from "../system/streams.ts";
import { asFault, fault, kindOf } from "../text/faults.ts";
import { veiledJson } from "../text/secrets.ts";
import { clean } from "../text/show-safely.ts";
import { mapValues, pickKeys, plural } from "../text/words.ts";
import { madeNoChange } from "./command-line.ts";
import { usageLine } from "./narrate-turns.ts";
import { type CommandLine, isJson } from "./parse-flags.ts";
import { type EarlyStop, errorLine, wantsJson } from "./process-signals.ts";

export type OutputFormat = "text" | "json" | "json-lines";
export function formatOf(cli: CommandLine): OutputFormat {
  if (cli.values.has("json-lines")) return "json-lines";
  return cli.values.has("json") ? "json" : "text";
}

export const CUT_OFF = "The answer is not complete: the model's output limit cut it off.";
const PRINTED_OTHERWISE = ["requested", "received", "answered", "failed"];

/** With --json-lines each event is a line. */
export function printEvents(core: Core, outputFormat: OutputFormat): void {
  if (outputFormat !== "json-lines") return;
  for (const eventName of EVENTS.filter((knownEvent) => !PRINTED_OTHERWISE.includes(knownEvent)))
    observeEvent(
      core,
      eventName,
      (eventFact) => void printJson(core, { type: eventName, ...eventFact }),
    );
  const omitKnown = sinceLastRequest();
  observeEvent(core, "requested", (request) => void printJson(core, omitKnown(request)));
  let tokensBefore = 0; // tokens when the last line was printed
  observeEvent(core, "received", ({ text, tokens }) => {
    if (text || tokens !== tokensBefore) void printJson(core, { type: "delta", text, tokens });
    tokensBefore = tokens;
  });
}

/**
 * A request without what the one before it, of the same task, had too: `from` says how many
 * messages are left out.
 */
function sinceLastRequest(): (request: ChatRequest) => object {
  const lastByTask = new Map<string, { messages: string[]; parts: Record<string, string> }>();
  return ({ messages, ...fields }) => {
    const lastRequest = lastByTask.get(fields.task) ?? { messages: [], parts: {} };
    const messageTexts = messages.map((message) => JSON.stringify(message));
    const isLonger = lastRequest.messages.every(
      (messageText, i) => messageText === messageTexts[i],
    );
    const from = isLonger ? lastRequest.messages.length : 0;
    const parts = mapValues(fields, (fieldValue) => JSON.stringify(fieldValue));
    lastByTask.set(fields.task, { messages: messageTexts, parts });
    const isNew = (name: string) => name === "task" || parts[name] !== lastRequest.parts[name];
    return { type: "requested", ...pickKeys(fields, isNew), from, messages: messages.slice(from) };
  };
}

/**
 * What a command says is the answer where it asks for none: on stdout, or at the end as the text of
 * the object. It waits until that is known, or a question stands; beside an answer of the model it
 * is a note. The function that is returned gives what was said, once it is printed.
 */
export function takeCommandNotes(core: Core, outputFormat: OutputFormat): () => Promise<string> {
  const { io, options } = core;
  const saidTexts: string[] = [];
  let waiting: string[] = [];
  let printed: Promise<unknown> = Promise.resolve();
  const printWaiting = () => {
    for (const noteText of waiting)
      if (outputFormat === "text") printed = Promise.all([printed, print(io, clean(noteText))]);
    saidTexts.push(...waiting);
    waiting = [];
  };
  core.showCommandNote = (noteText) => void waiting.push(noteText);
  observeEvent(core, "asked", printWaiting);
  observeEvent(core, "requested", ({ task }) => {
    if (task !== "chat") return;
    if (!options.quiet) for (const noteText of waiting) say(io, noteText);
    waiting = [];
  });
  return async () => {
    printWaiting();
    await printed;
    return saidTexts.join("\n");
  };
}
const printJson = ({ io }: Core, jsonValue: object): Promise<void> =>
  print(io, veiledJson(jsonValue));

/** What is printed once an answer is there. */
export async function printOutcome(
  core: Core,
  answer: Answer,
  outputFormat: OutputFormat,
): Promise<void> {
  const { io, options } = core;
  const { used, window, rendered = answer.text, ...fields } = answer;
  const shownAnswer = { ...fields, ...(options.rendered && { rendered }) };
  if (outputFormat === "json") await printJson(core, shownAnswer);
  if (outputFormat === "json-lines") await printJson(core, { type: "done", ...shownAnswer });
  if (options.usage) say(io, usageLine(answer));
  const roundCount = plural(answer.rounds - 1, "round");
  if (answer.finish === "rounds")
    say(io, `Stopped after ${roundCount} of tools. --rounds N allows more.`);
  if (answer.finish === "repeat")
    say(io, `Stopped: the same call gave the same result ${MAX_SAME_CALLS} times.`);
  if (answer.finish === "length") say(io, CUT_OFF);
  if (madeNoChange(answer)) say(io, "None of the changes that the model tried could be made.");
}

/** A failure as one sentence, and as JSON for who asked for that. Returns the exit code. */
export async function printFailure(
  error: unknown,
  argv: string[],
  io: Io,
  stop: EarlyStop,
): Promise<number> {
  const runFault = asFault(error);
  if (stop.code === 0) return 0;
  if (runFault.dry) return print(io, veiledJson(runFault.dry, 2)).then(() => 0);
  const exit = stop.code ?? runFault.exit ?? 1;
  const message = stop.code ? stop.why : explainError(runFault);
  if (!stop.code && !runFault.told) say(io, message);
  if (stop.core && showsTraces(stop.core)) say(io, String(runFault.stack));
  if (wantsJson(argv))
    await print(io, errorLine(message, exit, kindOf({ ...runFault, exit }))).catch(() => {});
  return exit;
}

export const printVersion = (io: Io, cli: CommandLine): Promise<number> =>
  printResult(io, cli, { text: `zz ${version()}`, data: { version: version() } });

export async function printResult(
  io: Io,
  cli: CommandLine,
  { text, data, failed }: Result,
): Promise<number> {
  if (failed) throw fault(text);
  const shownText = isJson(cli) && (text || data !== undefined) ? veiledJson(data ?? text) : text;
  if (shownText) await print(io, shownText);
  return 0;
}

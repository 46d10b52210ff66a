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
import { plural } from "../text/words.ts";
import { madeNoChange } from "./command-line.ts";
import { usageLine } from "./narrate-turns.ts";
import { type CommandLine, isJson } from "./parse-flags.ts";
import { type EarlyStop, errorLine } from "./process-signals.ts";

export type OutputFormat = "text" | "json" | "json-lines";
export function formatOf(cli: CommandLine): OutputFormat {
  if (cli.values.has("json-lines")) return "json-lines";
  return cli.values.has("json") ? "json" : "text";
}

export const CUT_OFF = "The answer is not complete: the model's output limit cut it off.";
const PRINTED_OTHERWISE = ["requested", "received", "answered", "failed"];

/** With --json-lines each event is a line. */
export function printEvents(core: Core, format: OutputFormat): void {
  if (format !== "json-lines") return;
  for (const event of EVENTS.filter((name) => !PRINTED_OTHERWISE.includes(name)))
    observeEvent(core, event, (fact) => void printJson(core, { type: event, ...fact }));
  const newIn = sinceLastRequest();
  observeEvent(core, "requested", (fact) => void printJson(core, newIn(fact)));
  let before = 0; // tokens when the last line was printed
  observeEvent(core, "received", ({ text, tokens }) => {
    if (text || tokens !== before) void printJson(core, { type: "delta", text, tokens });
    before = tokens;
  });
}

/**
 * A request without what the one before it, of the same task, had too: `from` says how many
 * messages are left out.
 */
function sinceLastRequest(): (request: ChatRequest) => object {
  const last = new Map<string, { messages: string[]; parts: Map<string, string> }>();
  return ({ messages, ...fields }) => {
    const before = last.get(fields.task) ?? { messages: [], parts: new Map<string, string>() };
    const texts = messages.map((message) => JSON.stringify(message));
    const isLonger = before.messages.every((text, i) => text === texts[i]);
    const from = isLonger ? before.messages.length : 0;
    const parts = new Map(
      Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]),
    );
    last.set(fields.task, { messages: texts, parts });
    const newFields = Object.entries(fields).filter(
      ([name]) => name === "task" || parts.get(name) !== before.parts.get(name),
    );
    return {
      type: "requested",
      ...Object.fromEntries(newFields),
      from,
      messages: messages.slice(from),
    };
  };
}

/**
 * What a command says is the answer where it asks for none: on stdout as it comes, or at the end as
 * the text of the object. The function that is returned waits for it.
 */
export function takeCommandNotes(core: Core, format: OutputFormat): () => Promise<string> {
  const said: string[] = [];
  let printed: Promise<unknown> = Promise.resolve();
  core.showCommandNote = (text) => {
    said.push(text);
    if (format === "text") printed = Promise.all([printed, print(core.io, clean(text))]);
  };
  return async () => {
    await printed;
    return said.join("\n");
  };
}
const printJson = ({ io }: Core, value: object): Promise<void> => print(io, veiledJson(value));

/** What is printed once an answer is there. */
export async function printOutcome(
  core: Core,
  answer: Answer,
  format: OutputFormat,
): Promise<void> {
  const { io, options } = core;
  const { used, window, rendered = answer.text, ...fields } = answer;
  const shown = { ...fields, ...(options.rendered && { rendered }) };
  if (format === "json") await printJson(core, shown);
  if (format === "json-lines") await printJson(core, { type: "done", ...shown });
  if (options.usage) say(io, usageLine(answer));
  const rounds = plural(answer.rounds - 1, "round");
  if (answer.finish === "rounds")
    say(io, `Stopped after ${rounds} of tools. --rounds N allows more.`);
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
  const failed = asFault(error);
  if (stop.code === 0) return 0;
  if (failed.dry) return print(io, veiledJson(failed.dry, 2)).then(() => 0);
  const exit = stop.code ?? failed.exit ?? 1;
  const message = stop.code ? stop.why : explainError(failed);
  if (!stop.code && !failed.told) say(io, message);
  if (stop.core && showsTraces(stop.core)) say(io, String(failed.stack));
  if (argv.includes("--json") || argv.includes("--json-lines"))
    await print(io, errorLine(message, exit, kindOf({ ...failed, exit }))).catch(() => {});
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
  const shown = isJson(cli) && (text || data !== undefined) ? veiledJson(data ?? text) : text;
  if (shown) await print(io, shown);
  return 0;
}

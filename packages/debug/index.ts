// --debug[=FILE], ZZ_DEBUG and /debug: a complete log, without secrets, of what was sent to the
// model and what came of it. While it is off, nothing is observed.
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { usage } from "zz/text";
import { type LogEntry, toJson, toText } from "./entries.ts";
import { startWatching } from "./log-events.ts";
import { append, sentenceFor } from "./log-file.ts";
import { redactor } from "./redact.ts";

const ON_WORD = /^(1|on|true|yes)$/i;
const OFF_WORD = /^(0|off|false|no)?$/i;
const LOG_FILE_NAME = "debug.log";
const NAMELESS =
  "Cannot write the debug log: --debug= has no name. " +
  `Name a file, or use --debug for the home's ${LOG_FILE_NAME}.`;

interface State {
  zz: Zz;
  on: boolean;
  named: string; // the given file; empty for the home's
  restart: (() => void) | undefined; // set once observers are registered
  location: { file: string; ctx: Ctx } | undefined; // set with the first ctx
  waiting: LogEntry[]; // entries written before that
  redact(loggedValue: unknown): unknown;
}

export default (zz: Zz) => {
  const state: State = {
    zz,
    on: false,
    named: "",
    restart: undefined,
    location: undefined,
    waiting: [],
    redact: redactor(zz),
  };
  const debugVariable = zz.io.variable("ZZ_DEBUG");
  if (debugVariable) switchTo(state, debugVariable);
  zz.flag({
    name: "debug",
    traces: true,
    variable: "ZZ_DEBUG",
    value: "FILE",
    optional: true,
    group: "output",
    description:
      "log what is sent and what comes back, " +
      `in ${LOG_FILE_NAME} of the home or in FILE; show where errors come from`,
    set(flagValue) {
      if (flagValue === "") throw usage(NAMELESS);
      switchTo(state, flagValue === true ? state.named || "1" : String(flagValue));
    },
  });
  zz.command({
    name: "debug",
    usage: "[on | off]",
    description: "a log of what is sent to the model and what comes back",
    examples: {
      "/debug": "say whether there is a log, and where",
      "/debug on": "start it",
      "/debug off": "stop it",
    },
    group: "settings",
    complete: (typedWord) => ["on", "off"].filter((candidate) => candidate.startsWith(typedWord)),
    run: (typedWord, ctx) => ctx.note(runCommand(state, typedWord, ctx)),
  });
};

/** The value of --debug and ZZ_DEBUG: on, off, or a file. */
function switchTo(state: State, fileOrSwitch: string): void {
  state.on = !OFF_WORD.test(fileOrSwitch);
  state.named =
    state.on && !ON_WORD.test(fileOrSwitch) ? path.resolve(state.zz.io.cwd(), fileOrSwitch) : "";
  if (state.on) beginLogging(state);
}

function beginLogging(state: State): void {
  state.restart ??= startWatching(state.zz, {
    on: () => state.on,
    setContext: (ctx) => void placeFor(state, ctx),
    put: (logEntry) => writeEntry(state, logEntry),
  });
  state.restart();
}

function runCommand(state: State, typedWord: string, ctx: Ctx): string {
  const { file } = placeFor(state, ctx);
  if (typedWord && typedWord !== "on" && typedWord !== "off")
    return `Cannot run '/debug ${typedWord}': use /debug on or /debug off.`;
  if (!typedWord)
    return state.on
      ? `The debug log is on: ${file}`
      : `The debug log is off; /debug on writes to ${file}`;
  if (typedWord === "off") {
    state.on = false;
    return `The debug log is off. What was written stays in ${file}`;
  }
  try {
    append(file, "", folderToMake(state));
  } catch (error) {
    return sentenceFor(file, error);
  }
  state.on = true;
  beginLogging(state);
  return `The debug log is on: ${file}`;
}

/**
 * Where the log goes. The first ctx says where the home is; entries that waited for that are
 * written then.
 */
function placeFor(state: State, ctx: Ctx): { file: string } {
  const location = { file: state.named || path.join(ctx.about.home, LOG_FILE_NAME), ctx };
  state.location = location;
  for (const logEntry of state.waiting.splice(0)) writeEntry(state, logEntry);
  return location;
}

/** The home may not exist yet. The folder of a file that the person named has to exist. */
const folderToMake = ({ named, location }: State): string | undefined =>
  named ? undefined : location?.ctx.about.home;

/** When an entry cannot be written, the log is switched off and the run goes on. */
function writeEntry(state: State, logEntry: LogEntry): void {
  if (!state.on) return;
  if (!state.location) return void state.waiting.push(logEntry);
  const { file, ctx } = state.location;
  try {
    const redactedEntry = state.redact(logEntry) as LogEntry;
    append(
      file,
      file.endsWith(".jsonl") ? toJson(redactedEntry) : toText(redactedEntry),
      folderToMake(state),
    );
  } catch (error) {
    state.on = false;
    ctx.note(`${sentenceFor(file, error)} zz continues without a log.`);
  }
}

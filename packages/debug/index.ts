// --debug[=FILE], ZZ_DEBUG and /debug: a complete log, without secrets, of what was sent to the model and what came of
// it. While it is off, nothing is observed.
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { usage } from "zz/text";
import { type Entry, toJson, toText } from "./entries.ts";
import { append, sentenceFor } from "./file.ts";
import { redactor } from "./redact.ts";
import { startWatching } from "./watch.ts";

const ON = /^(1|on|true|yes)$/i;
const OFF = /^(0|off|false|no)?$/i;
const NAME = "debug.log";
const NAMELESS = `Cannot write the debug log: --debug= has no name. Name a file, or use --debug for the home's ${NAME}.`;

interface State {
  zz: Zz;
  on: boolean;
  named: string; // the given file; empty for the home's
  restart: (() => void) | undefined; // set once observers are registered
  place: { file: string; home: string; ctx: Ctx } | undefined; // set with the first ctx
  waiting: Entry[]; // entries written before that
  redact(value: unknown): unknown;
}

export default (zz: Zz) => {
  const state: State = {
    zz,
    on: false,
    named: "",
    restart: undefined,
    place: undefined,
    waiting: [],
    redact: redactor(zz),
  };
  const asked = zz.io.variable("ZZ_DEBUG");
  if (asked) switchTo(state, asked);
  zz.flag({
    name: "debug",
    traces: true,
    variable: "ZZ_DEBUG",
    value: "FILE",
    optional: true,
    group: "output",
    description: `log what is sent and what comes back, in ${NAME} of the home or in FILE; show where errors come from`,
    set(value) {
      if (value === "") throw usage(NAMELESS);
      switchTo(state, value === true ? state.named || "1" : String(value));
    },
  });
  zz.command({
    name: "debug",
    usage: "[on | off]",
    description: "a log of what is sent to the model and what comes back",
    examples: { "/debug": "say whether there is a log, and where", "/debug on": "start it", "/debug off": "stop it" },
    group: "settings",
    complete: (typed) => ["on", "off"].filter((word) => word.startsWith(typed)),
    run: (rest, ctx) => ctx.note(runCommand(state, rest, ctx)),
  });
};

/** The value of --debug and ZZ_DEBUG: on, off, or a file. */
function switchTo(state: State, given: string): void {
  state.on = !OFF.test(given);
  state.named = state.on && !ON.test(given) ? path.resolve(state.zz.io.cwd(), given) : "";
  if (state.on) begin(state);
}

function begin(state: State): void {
  state.restart ??= startWatching(state.zz, {
    on: () => state.on,
    setContext: (ctx) => void placeFor(state, ctx),
    put: (entry) => write(state, entry),
  });
  state.restart();
}

function runCommand(state: State, rest: string, ctx: Ctx): string {
  const { file } = placeFor(state, ctx);
  if (rest && rest !== "on" && rest !== "off") return `Cannot run '/debug ${rest}': use /debug on or /debug off.`;
  if (!rest) return state.on ? `The debug log is on: ${file}` : `The debug log is off; /debug on writes to ${file}`;
  if (rest === "off") {
    state.on = false;
    return `The debug log is off. What was written stays in ${file}`;
  }
  try {
    append(file, "", folderToMake(state));
  } catch (error) {
    return sentenceFor(file, error);
  }
  state.on = true;
  begin(state);
  return `The debug log is on: ${file}`;
}

/** Where the log goes. The first ctx says where the home is; entries that waited for that are written then. */
function placeFor(state: State, ctx: Ctx): { file: string } {
  const { home } = state.place ?? ctx.about;
  const place = { file: state.named || path.join(home, NAME), home, ctx };
  state.place = place;
  for (const entry of state.waiting.splice(0)) write(state, entry);
  return place;
}

/** The home may not exist yet. The folder of a file that the person named has to exist. */
const folderToMake = ({ named, place }: State): string | undefined => (named ? undefined : place?.home);

/** When an entry cannot be written, the log is switched off and the run goes on. */
function write(state: State, entry: Entry): void {
  if (!state.on) return;
  if (!state.place) return void state.waiting.push(entry);
  const { file, ctx } = state.place;
  try {
    const shown = state.redact(entry) as Entry;
    append(file, file.endsWith(".jsonl") ? toJson(shown) : toText(shown), folderToMake(state));
  } catch (error) {
    state.on = false;
    ctx.note(`${sentenceFor(file, error)} zz continues without a log.`);
  }
}

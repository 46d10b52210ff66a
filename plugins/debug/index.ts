// --debug[=FILE], ZZ_DEBUG and /debug: a log of what went to the model and of what came of it, whole and without secrets.
// While it is off there is a flag and a command, and nobody watches anything.
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { append, sentenceFor } from "./file.ts";
import { type Entry, toJson, toText } from "./form.ts";
import { redactor } from "./redact.ts";
import { type Log, watch } from "./watch.ts";

const ON = /^(1|on|true|yes)$/i;
const OFF = /^(0|off|false|no)?$/i;
const NAME = "debug.log";
const NAMELESS = `Cannot write the debug log: --debug= has no name. Name a file, or say --debug for the home's ${NAME}.`;

export default (zz: Zz) => {
  let on = false;
  let named = ""; // the file that was named; empty: the home's
  let restart: (() => void) | undefined; // there once something is watched
  let place: { file: string; home: string; ctx: Ctx } | undefined; // known once somebody brings a ctx
  const waiting: Entry[] = []; // until then
  const hide = redactor();

  const log: Log = { on: () => on, meet, learn: (endpoint) => hide.learn(place?.home, endpoint), put };

  if (process.env.ZZ_DEBUG) set(process.env.ZZ_DEBUG);
  zz.flag({
    name: "debug",
    value: "FILE",
    optional: true,
    description: `log what is sent and what comes of it (in the home's ${NAME}), and show where errors come from`,
    set(value) {
      if (value === "") throw Object.assign(new Error(NAMELESS), { exit: 2 });
      set(value === true ? named || "1" : String(value));
    },
  });
  zz.command({
    name: "debug",
    usage: "[on | off]",
    description: "a log of what is sent to the model and of what comes of it",
    group: "settings",
    complete: (typed) => ["on", "off"].filter((word) => word.startsWith(typed)),
    run: (rest, ctx) => ctx.note(obey(rest, ctx)),
  });

  function set(given: string): void {
    on = !OFF.test(given);
    named = on && !ON.test(given) ? path.resolve(given) : "";
    if (on) begin();
  }

  function begin(): void {
    restart ??= watch(zz, log);
    restart();
  }

  function obey(rest: string, ctx: Ctx): string {
    const { file } = meet(ctx);
    if (rest && rest !== "on" && rest !== "off") return `Cannot obey '/debug ${rest}': say /debug on or /debug off.`;
    if (!rest) return on ? `The debug log is on: ${file}` : `The debug log is off; /debug on writes to ${file}`;
    if (rest === "off") {
      on = false;
      return `The debug log is off. What was written stays in ${file}`;
    }
    try {
      append(file, "", folder());
    } catch (error) {
      return sentenceFor(file, error);
    }
    on = true;
    begin();
    return `The debug log is on: ${file}`;
  }

  /** Whoever takes part in the conversation says where the home is. */
  function meet(ctx: Ctx): { file: string } {
    const { home } = place ?? ctx.about;
    place = { file: named || path.join(home, NAME), home, ctx };
    for (const entry of waiting.splice(0)) put(entry);
    return place;
  }

  /** The home may not be there yet; a folder that the person names is. */
  function folder(): string | undefined {
    return named ? undefined : place?.home;
  }

  /** One that cannot be written is the last one: the run goes on without. */
  function put(entry: Entry): void {
    if (!on) return;
    if (!place) return void waiting.push(entry);
    const { file, home, ctx } = place;
    try {
      const shown = hide.from(entry, home) as Entry;
      append(file, file.endsWith(".jsonl") ? toJson(shown) : toText(shown), folder());
    } catch (error) {
      on = false;
      ctx.note(`${sentenceFor(file, error)} The run goes on without a log.`);
    }
  }
};

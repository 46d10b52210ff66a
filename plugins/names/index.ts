// Names that people bring from other agents: what they mean here, said once when they are used.
import type { Ctx, Zz } from "zz";
import { COMMANDS, WORDS } from "./other-names.ts";

const LINE = /^\/([A-Za-z][\w-]*)(?:[^\S\n]+(.*))?$/;

export default (zz: Zz) => {
  const told = new Set<string>();
  zz.service("otherNames", { meaning: (name) => meaningOf(name) });
  zz.wrap("line", async (line, next, ctx) => {
    const [, name = "", words = ""] = LINE.exec(line.trim()) ?? [];
    const meant = name && !isCommand(name, ctx) ? own(COMMANDS, name.toLowerCase()) : undefined;
    if (!meant) return next(line);
    if (!meant.startsWith("/")) {
      ctx.note(meaningOf(name)!);
      return "";
    }
    if (!told.has(name)) ctx.note(meaningOf(name)!);
    told.add(name);
    return next(`${meant} ${words}`.trim());
  });
  zz.wrap("words", async (line, next, ctx) => {
    const [word = "", ...others] = line.words;
    const instead = others.length || isAsked(line.values) ? undefined : own(WORDS, word);
    if (!instead) return next(line);
    const same = instead.at(-1) === `/${word}` || instead.at(-1) === `--${word}`;
    const means = same ? "" : ` (${instead.join(" ")})`;
    ctx.note(`'${word}' alone is a command${means}. To ask the model: zz --once ${word}`);
    return [...instead];
  });
};

const own = <T>(table: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

const isCommand = (name: string, { about }: Ctx): boolean =>
  about.commands.some((command) => command.name === name);

/** With these, words are a question whatever they are. */
const isAsked = (values: ReadonlyMap<string, unknown>): boolean =>
  ["once", "json", "json-lines", "dry-run", "call"].some((flag) => values.has(flag));

/** What a name of another agent comes to, in a sentence. */
function meaningOf(name: string): string | undefined {
  const meant = own(COMMANDS, name.toLowerCase());
  return meant?.startsWith("/") ? `/${name} is ${meant} here.` : meant;
}

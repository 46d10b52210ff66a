// Names that people bring from other agents: what they mean here, said once when they are used.
import type { Ctx, Zz } from "zz";
import { ownValue } from "zz/text";
import { COMMANDS, WORDS } from "./other-names.ts";

const COMMAND_LINE = /^\/([A-Za-z][\w-]*)(?:[^\S\n]+(.*))?$/;

export default (zz: Zz) => {
  const toldNames = new Set<string>();
  zz.service("otherNames", { meaning: meaningOf });
  zz.wrap("line", async (typedLine, nextLine, ctx) => {
    const [, typedName = "", typedWords = ""] = COMMAND_LINE.exec(typedLine.trim()) ?? [];
    const ownCommand =
      typedName && !isCommand(typedName, ctx)
        ? ownValue(COMMANDS, typedName.toLowerCase())
        : undefined;
    if (!ownCommand) return nextLine(askingHelp(typedLine));
    if (!ownCommand.startsWith("/")) {
      ctx.note(meaningOf(typedName)!);
      return "";
    }
    if (!toldNames.has(typedName)) ctx.note(meaningOf(typedName)!);
    toldNames.add(typedName);
    return nextLine(askingHelp(`${ownCommand} ${typedWords}`.trim()));
  });
  zz.wrap("words", async (typedLine, nextLine, ctx) => {
    const [firstWord = "", ...otherWords] = typedLine.words;
    const instead =
      otherWords.length || isAsked(typedLine.values) ? undefined : ownValue(WORDS, firstWord);
    if (!instead) return nextLine(typedLine);
    const isSameName = instead.at(-1) === `/${firstWord}` || instead.at(-1) === `--${firstWord}`;
    const meaningWords = isSameName ? "" : ` (${instead.join(" ")})`;
    ctx.note(
      `'${firstWord}' alone is a command${meaningWords}. To ask the model: zz --once ${firstWord}`,
    );
    return [...instead];
  });
};

/** A command with --help alone, as a program would take it. */
const askingHelp = (typedLine: string): string =>
  typedLine.replace(/^\s*\/([A-Za-z][\w-]*)[^\S\n]+--help\s*$/, "/help $1");

const isCommand = (typedName: string, { about }: Ctx): boolean =>
  about.commands.some((command) => command.name === typedName);

/** With these, words are a question whatever they are. */
const isAsked = (flagValues: ReadonlyMap<string, unknown>): boolean =>
  ["once", "json", "json-lines", "dry-run", "call"].some((flagName) => flagValues.has(flagName));

/** What a name of another agent comes to, in a sentence. */
function meaningOf(foreignName: string): string | undefined {
  const ownCommand = ownValue(COMMANDS, foreignName.toLowerCase());
  return ownCommand?.startsWith("/") ? `/${foreignName} is ${ownCommand} here.` : ownCommand;
}

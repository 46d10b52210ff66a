// What the command line asks for before and after a turn: trust, a session, known flags and tools;
// the exit code.
import type { Answer, Command } from "../contract.ts";
import { openChat } from "../conversation/chat.ts";
import {
  chooseModel,
  completeModelName,
  fallbackModel,
  modelOfSession,
  providerNamed,
  wantedModel,
} from "../conversation/choose-model.ts";
import { TEMPLATE_OWNER } from "../conversation/prompt-files.ts";
import {
  findSession,
  hasSession,
  lastSession,
  nameOfPlace,
  openSession,
  readSession,
  UNSAVED_IN_FILES,
} from "../conversation/session-files.ts";
import { reachStore, sessionPlaceOf } from "../conversation/session-store.ts";
import { emit, emitNote, noteTo, runStep } from "../events.ts";
import { whyNotProject } from "../gate/sensitive-paths.ts";
import {
  type Core,
  type LiveChat,
  NO_MODEL_ID,
  registeredValues,
  type Session,
} from "../instance.ts";
import { createCtx } from "../plugins/create-ctx.ts";
import { whyOff } from "../plugins/off-plugins.ts";
import { requireToolMeant } from "../plugins/run-call.ts";
import { allFlags } from "../settings/flag-table.ts";
import { allProviders } from "../settings/providers.ts";
import { fileFault } from "../system/atomic-write.ts";
import { say } from "../system/streams.ts";
import { nearest } from "../text/did-you-mean.ts";
import { codeOf, fault, usage } from "../text/faults.ts";
import { tryTo } from "../text/words.ts";
import { parseAgainWith } from "./options-from-flags.ts";
import { allValues, type CommandLine, lastValue, parseFlags } from "./parse-flags.ts";
import type { FirstMessage } from "./read-input.ts";

export function emitStarted(
  core: Core,
  { id, model }: LiveChat,
  watched: boolean,
  stays = false,
): Promise<void> {
  const { root, quiet } = core.options;
  return emit(core, "started", {
    session: id || null,
    model,
    root,
    live: watched && !quiet,
    stays,
  });
}

/**
 * Whether the project brings something that needs trust. Settings that any project may set do not.
 */
export const isUntrusted = ({ extras: brought, options: { sources } }: Core): boolean =>
  brought?.given === false &&
  (brought.wrong !== undefined ||
    brought.files.some((fileName) => !fileName.endsWith("/zz.config.json")) ||
    Boolean(sources?.project?.left.length));

/** The command that a plugin offers for choosing a model or for trust. */
export const commandOffering = (
  { commands }: Core,
  offered: "model" | "trust",
): Command | undefined => registeredValues(commands).find(({ offer }) => offer === offered);

/** Asks about trust before the first turn. Without a terminal the answer is no. */
export async function askAboutTrust(core: Core, chat: LiveChat): Promise<void> {
  if (!isUntrusted(core)) return;
  const command = commandOffering(core, "trust");
  if (core.ask && command) return command.run("", createCtx(core, chat));
  const { files, changed, wrong } = core.extras!;
  if (wrong)
    return say(core.io, `Left out what this folder brings: it cannot be trusted: ${wrong}.`);
  const finding = changed
    ? `${changed.join(", ")} changed since you trusted it`
    : `nobody has trusted ${files.join(", ")}`;
  say(core.io, `Left out what this folder brings: ${finding}. Look at it, then: zz --trust`);
}

/** Notes once that the folder is not a project. */
export function noteUnusualFolder(core: Core): void {
  const { root, quiet } = core.options;
  const wideReason = quiet ? undefined : whyNotProject(root);
  if (wideReason)
    emitNote(
      core,
      `'${root}' is ${wideReason}, not a project: zz asks here before it reads, too. ` +
        "Name a project's folder with --cwd.",
    );
}

/**
 * Does nothing without a plugin that the command line names. Why it is not there was said before.
 */
export function checkNamedPlugins({ plugins }: Core): void {
  const pluginFailures = plugins.flatMap(({ from, failure }) =>
    from === "flag" && failure ? failure : [],
  );
  if (pluginFailures.length) throw fault(pluginFailures.join("\n"), { exit: 2, told: true });
}

/** A model whose provider is not there is refused before a prompt appears. */
export async function checkNamedModel(core: Core): Promise<void> {
  const { options, io } = core;
  const namedModel = options.model || io.env.ZZ_MODEL;
  if (!namedModel || options.baseUrl) return;
  options.model = await completeModelName(core, namedModel);
  await refuseOffProvider(core, options.model);
  providerNamed(core, options.model);
}

/** Why a provider is not there, where its plugin is off. */
async function refuseOffProvider(core: Core, modelName: string): Promise<void> {
  const [providerName = ""] = modelName.split("/");
  if (allProviders(core).has(providerName)) return;
  const reason = await whyOff(core, ({ providers }) => providers.get(providerName)?.owner);
  if (reason) throw usage(`Cannot use model '${modelName}': ${reason}`);
}

/** The command line by all flags, those of plugins too, which are set. */
export async function parseAllFlags(core: Core, argv: string[]): Promise<CommandLine> {
  const parsedLine = parseFlags(argv, allFlags(core));
  await checkFlags(core, parsedLine);
  const cli = await setPluginFlags(core, parsedLine, argv);
  const replacement = PLAIN_WORD.test(cli.words[0] ?? "")
    ? await rewriteWords(core, cli)
    : undefined;
  const finalLine = replacement ? await parseAgainWith(core, replacement, flagsOf(argv, cli)) : cli;
  await checkTools(core, finalLine);
  return finalLine;
}

const PLAIN_WORD = /^[a-z][a-z-]*$/;

/** What plugins make of the words; undefined if they leave them as they are. */
async function rewriteWords(core: Core, cli: CommandLine): Promise<string[] | undefined> {
  const turn = { core, ctx: core.ctx() };
  const newWords = await runStep(turn, "words", cli, async ({ words }) => words);
  return newWords.join("\0") === cli.words.join("\0") ? undefined : [...newWords];
}

/** The command line without its words. */
function flagsOf(argv: string[], { words }: CommandLine): string[] {
  const wordsLeft = [...words];
  return argv.filter((argument) => {
    const wordIndex = wordsLeft.indexOf(argument);
    if (wordIndex >= 0) wordsLeft.splice(wordIndex, 1);
    return wordIndex < 0;
  });
}

/** One may stand for other words: then all are read again. */
async function setPluginFlags(core: Core, cli: CommandLine, argv: string[]): Promise<CommandLine> {
  const addedWords: string[] = [];
  for (const pluginFlag of registeredValues(core.flags))
    for (const flagValue of cli.values.get(pluginFlag.name) ?? []) {
      const { line } = Object((await pluginFlag.set?.(flagValue, core.ctx())) ?? {}) as {
        line?: unknown;
      };
      if (Array.isArray(line)) addedWords.push(...line.map(String));
    }
  return addedWords.length ? parseAgainWith(core, addedWords, argv) : cli;
}

/** Refuses unknown flags. */
async function checkFlags(core: Core, cli: CommandLine): Promise<void> {
  const [unknownFlag] = cli.unknown;
  if (!unknownFlag) return;
  const flagName = unknownFlag.replace(/^-+/, "");
  const offReason = await whyOff(core, ({ flags }) => flags.get(flagName)?.owner);
  if (offReason) throw usage(`Cannot use ${unknownFlag}: ${offReason}`);
  const flagNames = allFlags(core).map(({ name }) => name);
  const nearestFlag = unknownFlag.length > 2 && nearest(flagName, flagNames);
  throw usage(
    `Unknown flag ${unknownFlag}. ` +
      `${nearestFlag ? `Did you mean --${nearestFlag}?` : "zz --help lists them."}`,
  );
}

/** Refuses unknown tools, once plugins' flags may have added some. */
async function checkTools(core: Core, cli: CommandLine): Promise<void> {
  const meantTools = await Promise.all(
    allValues(cli, "tool").map((typedName) => requireToolMeant(core, typedName, "offer")),
  );
  if (meantTools.length) core.options.tools = meantTools.map(({ name }) => name);
}

/** `--fork ID words`: the ID may also be a word of its own, if a session has that name. */
export function takeForkId(core: Core, cli: CommandLine): void {
  const [firstWord = ""] = cli.words;
  if (
    cli.values.get("fork")?.at(-1) !== true ||
    cli.values.has("session") ||
    !hasSession(sessionPlaceOf(core), firstWord)
  )
    return;
  cli.values.set("fork", [firstWord]);
  cli.words.shift();
}

/** Opens the conversation that the flags ask for; undefined when there is no model. */
export async function openConversation(
  core: Core,
  cli: CommandLine,
): Promise<LiveChat | undefined> {
  await reachStore(core);
  const sessionPlace = sessionPlaceOf(core);
  const { root } = core.options;
  const warnPerson = noteTo(core);
  const namedSession = lastValue(cli, "fork") ?? lastValue(cli, "session");
  const wantsLast = !namedSession && (cli.values.has("continue") || cli.values.has("fork"));
  // --call saves sessions without a conversation.
  const isConversation = (id: string) =>
    tryTo(() => readSession(sessionPlace, id).header.model) !== NO_MODEL_ID;
  const findLatest = () =>
    wantsLast ? lastSession(sessionPlace, root, warnPerson, isConversation) : undefined;
  const id = namedSession ? findSession(sessionPlace, namedSession) : findLatest();
  if (wantsLast && !id)
    warnPerson("There is no earlier session in this folder; this is a new one.");
  const session =
    id && !cli.values.has("fork") && !cli.values.has("no-session") ? openUnlessFull(id) : undefined;
  const savedSession = session ?? (id ? readSession(sessionPlace, id) : undefined);
  try {
    const earlierModel = (savedSession && modelOfSession(savedSession)) || undefined;
    await refuseOffProvider(core, wantedModel(core, earlierModel) ?? "");
    const chosenModel = await chooseModel(core, earlierModel);
    if (chosenModel === undefined) return undefined;
    core.namedProvider = chosenModel.split("/")[0]!;
    return openChat(core, chosenModel, savedSession);
  } catch (error) {
    session?.close();
    throw error;
  }

  /** Where nothing can be written, the conversation continues unsaved. */
  function openUnlessFull(id: string): Session | undefined {
    try {
      return openSession(sessionPlace, id, warnPerson);
    } catch (error) {
      if (!/^(EROFS|ENOSPC|EDQUOT|EACCES|EPERM)$/.test(codeOf(error))) throw error;
      warnPerson(
        `${fileFault("save to", nameOfPlace(sessionPlace, id), error).message} ${UNSAVED_IN_FILES}`,
      );
      core.options.save = false;
      core.unsavable = true;
      return undefined;
    }
  }
}

/** A command may do without a model, unless it is a template. */
export async function openForCommand(
  core: Core,
  firstMessage: FirstMessage,
): Promise<LiveChat | undefined> {
  const { name } = commandIn(core, firstMessage.typed ? firstMessage.words : "");
  const asksModel = core.commands.get(name)?.value.template;
  return name && !asksModel ? openChat(core, await fallbackModel(core)) : undefined;
}

/** Refuses to ask nothing. */
export function checkPrompt({ words, attached }: FirstMessage): void {
  if (!words && !attached.length)
    throw usage(`Nothing to ask: the prompt is empty. ${WAYS_TO_ASK}`);
}
const WAYS_TO_ASK = 'Give words (zz "…"), pipe text in, or open a terminal without --once.';

/** Whether the model tried to change files and never could, whatever it says. */
export function madeNoChange({ calls }: Answer): boolean {
  const changes = calls.filter((toolCall) => toolCall.changes);
  return changes.length > 0 && !changes.some(({ ok }) => ok);
}

/**
 * The exit code. 3 wins over 4: a cut-off answer is the worse surprise. Undefined: a command that
 * asked for no answer.
 */
export function exitCode(answer: Answer | undefined): number {
  if (!answer) return 0;
  if (answer.finish === "refusal" || (answer.finish === "stop" && !answer.text.trim())) return 1;
  if (answer.finish !== "stop") return 3;
  if (answer.calls.some((toolCall) => toolCall.refused)) return 4;
  if (madeNoChange(answer)) return 1;
  return 0;
}

/** Several lines are a message, as a paste would be, unless they are for a template. */
export function commandIn(core: Core, typedLine: string): { name: string; words: string } {
  const command = parseCommand(typedLine);
  return !typedLine.includes("\n") ||
    core.commands.get(command.name)?.value.group === TEMPLATE_OWNER
    ? command
    : { name: "", words: "" };
}

/** `/undo 2` is a command; `//x` and `/` are text. */
export function parseCommand(typedLine: string): { name: string; words: string } {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+(.*))?$/s.exec(typedLine.trim());
  return { name: match?.[1] ?? "", words: match?.[2]?.trim() ?? "" };
}

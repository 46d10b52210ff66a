// The command line: what flags, words and stdin ask for.

import fs from "node:fs";
import path from "node:path";
import { type Answer, type Command, type Fault, type Image, type Io, KINDS, type Rules } from "../contract.ts";
import { openChat } from "../conversation/chat.ts";
import { chooseModel, modelOfSession } from "../conversation/choose-model.ts";
import { findSession, hasSession, lastSession, nameOf, openSession, readSession, UNSAVED } from "../conversation/session-files.ts";
import { placeOf, reachStore } from "../conversation/session-store.ts";
import { fencedBlock, loadPrompts, TEMPLATES } from "../conversation/system-prompt.ts";
import { emit, emitNote } from "../events.ts";
import { whyNotProject } from "../gate/sensitive-paths.ts";
import { projectExtras } from "../gate/trust.ts";
import { type Core, type LiveChat, NO_MODEL_ID, type Options, registeredValues, type Session } from "../instance.ts";
import { createCtx } from "../plugins/create-ctx.ts";
import { allFlags } from "../settings/flag-table.ts";
import { readSettings } from "../settings/settings-files.ts";
import { fileFault, MAX_READ_BYTES } from "../system/atomic-write.ts";
import { homeFolder } from "../system/installation.ts";
import { say } from "../system/streams.ts";
import { clockOf } from "../text/clock.ts";
import { codeOf, usage } from "../text/faults.ts";
import { jsonOrText, nearest, tryTo, unknown, visible } from "../text/words.ts";
import { allValues, type CommandLine, lastValue, parseFlags } from "./parse-flags.ts";

export function resolveRoot({ root }: Options, io: Io): string {
  const real = tryTo(() => fs.realpathSync(root ?? io.cwd()));
  if (real && fs.statSync(real).isDirectory()) return real;
  const gone = "Cannot work here: the folder is gone. Change to another, or name one with --cwd.";
  throw usage(root === undefined ? gone : `Cannot work in '${root}': there is no such folder. Check the path.`);
}

export function emitStarted(core: Core, { id, model }: LiveChat, watched: boolean, stays = false): Promise<void> {
  const { root, quiet } = core.options;
  return emit(core, "started", { session: id || null, model, root, live: watched && !quiet, stays });
}

/** Whether the project brings something that needs trust. Settings that any project may set do not. */
export const isUntrusted = ({ extras: brought, options: { sources } }: Core): boolean =>
  brought?.given === false && (brought.files.some((name) => !name.endsWith("/zz.config.json")) || Boolean(sources?.project?.left.length));

/** The command that a plugin offers for choosing a model or for trust. */
export const commandFor = ({ commands }: Core, what: "model" | "trust"): Command | undefined =>
  registeredValues(commands).find(({ offer }) => offer === what);

/** Asks about trust before the first turn. Without a terminal the answer is no. */
export async function askAboutTrust(core: Core, chat: LiveChat): Promise<void> {
  if (!isUntrusted(core)) return;
  const command = commandFor(core, "trust");
  if (core.ask && command) return command.run("", createCtx(core, chat));
  const { files, changed } = core.extras!;
  const what = changed ? `${changed.join(", ")} changed since you trusted it` : `nobody has trusted ${files.join(", ")}`;
  say(core.io, `Left out what this folder brings: ${what}. Look at it, then: zz --trust`);
}

/** Notes once that the folder is not a project. */
export function noteUnusualFolder(core: Core): void {
  const { root, quiet } = core.options;
  const wide = quiet ? undefined : whyNotProject(root);
  if (wide) emitNote(core, `'${root}' is ${wide}, not a project: zz asks here before it reads, too. Name a project's folder with --cwd.`);
}

/** What the person asked and attached. `typed`: the words were typed, so that a slash is a command and an @ a file. */
export type FirstMessage = { words: string; attached: (Image | string)[]; typed: boolean };

export async function optionsFromFlags(cli: CommandLine, io: Io): Promise<Options & { home: string; io: Io }> {
  const has = (name: string) => cli.values.has(name);
  for (const name of ["model", "session", "base-url", "home", "config", "cwd"])
    if (lastValue(cli, name) === "") throw usage(`Flag --${name} has an empty value. Give it one, or leave it out.`);
  const home = lastValue(cli, "home") ? path.resolve(io.cwd(), lastValue(cli, "home")!) : homeFolder(io.env);
  const root = tryTo(() => fs.realpathSync(io.cwd())); // createZz() reports a folder that is gone
  const config = lastValue(cli, "config") && path.resolve(io.cwd(), lastValue(cli, "config")!);
  const brought = root !== undefined && !has("no-plugins") && projectExtras({ root, home });
  return {
    ...{ io, home, ...(root && { root }), ...(config && { config }) },
    ...(await readSettings({ home, root, config, brought })),
    ...{ plugins: allValues(cli, "plugin"), own: !has("no-plugins"), given: cli.unknown },
    ...{ model: modelOfFlags(cli), baseUrl: lastValue(cli, "base-url"), key: lastValue(cli, "key"), system: lastValue(cli, "system") },
    options: Object.fromEntries(allValues(cli, "option").map(parseOption)),
    tools: has("no-tools") ? false : allValues(cli, "tool"),
    rounds: lastValue(cli, "rounds") ? parseWholeNumber("rounds", lastValue(cli, "rounds")!) : undefined,
    save: !has("no-session") && !has("dry-run"),
    ...{ raw: has("raw"), rendered: has("rendered"), usage: has("usage"), quiet: has("quiet") },
    ...{ prompt: !has("no-prompt"), dry: has("dry-run") },
    ...{ allow: rules("allow"), deny: rules("deny") },
  };

  function rules(verb: "allow" | "deny"): Rules {
    const found: Rules = {};
    for (const kind of KINDS) {
      const given = cli.values.get(`${verb}-${kind}`);
      if (given?.includes(true)) found[kind] = true;
      else if (given) found[kind] = given.flatMap((list) => String(list).split(",").filter(Boolean));
      if (Array.isArray(found[kind]) && !found[kind].length)
        throw usage(`Flag --${verb}-${kind} has an empty list. Name something, or leave out the '='.`);
      else if (verb === "allow" && has("allow-all")) found[kind] = true;
    }
    return found;
  }
}

/** `--provider NAME` says which provider `--model` belongs to; alone, it stands for that provider's first model. */
function modelOfFlags(cli: CommandLine): string | undefined {
  const [model, provider] = [lastValue(cli, "model"), lastValue(cli, "provider")];
  if (!provider || model?.startsWith(`${provider}/`)) return model;
  return model ? `${provider}/${model}` : provider;
}

/** Reads the command line again, with the flags that a plugin's flag stands for in front. */
export async function parseAgainWith(core: Core, more: string[], argv: string[]): Promise<CommandLine> {
  const cli = parseFlags([...more, ...argv], allFlags(core));
  const { model, system, options, tools } = await optionsFromFlags(cli, core.io);
  Object.assign(core.options, { model, system, options, tools });
  core.prompts.stamps = ""; // --system is a layer, so the prompts are loaded again
  loadPrompts(core);
  return cli;
}

/** Refuses unknown flags. */
export function checkFlags(core: Core, cli: CommandLine): void {
  const [name] = cli.unknown;
  const near = name && name.length > 2 && nearest(name.replace(/^-+/, ""), new Set(allFlags(core).map((flag) => flag.name)));
  if (name) throw usage(`Unknown flag ${name}. ${near ? `Did you mean --${near}?` : "zz --help lists them."}`);
}

/** Refuses unknown tools, once plugins' flags may have added some. */
export function checkTools(core: Core, cli: CommandLine): void {
  for (const name of allValues(cli, "tool"))
    if (!core.tools.has(name)) throw usage(`Cannot offer '${name}': ${unknown("tool", name, core.tools.keys())}`);
}

/** `--fork ID words`: the ID may also be a word of its own, if a session has that name. */
export function takeForkId(core: Core, cli: CommandLine): void {
  const [word = ""] = cli.words;
  if (cli.values.get("fork")?.at(-1) !== true || cli.values.has("session") || !hasSession(placeOf(core), word)) return;
  cli.values.set("fork", [word]);
  cli.words.shift();
}

/** Puts the prompt together: piped text, attached files, and the words. */
export async function readPrompt(cli: CommandLine, data: string, io: Io): Promise<FirstMessage> {
  const words = cli.words.filter((word) => word !== "-").join(" ");
  const files = await Promise.all(allValues(cli, "file").map((name) => readAttachment(name, io.cwd())));
  const stdin = words && data.trim() ? [fencedBlock("STDIN", data.trimEnd())] : [];
  const attached = [...stdin, ...files.flatMap(({ text = [], image = [] }) => [text, image].flat())];
  return { words: words || data.trimEnd(), attached, typed: Boolean(words) };
}

/** Opens the conversation that the flags ask for; undefined when there is no model. */
export async function openConversation(core: Core, cli: CommandLine): Promise<LiveChat | undefined> {
  await reachStore(core);
  const place = placeOf(core);
  const { root } = core.options;
  const warn = (text: string) => emitNote(core, text);
  const named = lastValue(cli, "fork") ?? lastValue(cli, "session");
  const last = !named && (cli.values.has("continue") || cli.values.has("fork"));
  // --call saves sessions without a conversation.
  const isTalk = (id: string) => tryTo(() => readSession(place, id).header.model) !== NO_MODEL_ID;
  const id = named ? findSession(place, named) : last ? lastSession(place, root, warn, isTalk) : undefined;
  if (last && !id) warn("There is no earlier session in this folder; this is a new one.");
  const session = id && !cli.values.has("fork") && !cli.values.has("no-session") ? openOr(id) : undefined;
  const from = session ?? (id ? readSession(place, id) : undefined);
  try {
    const model = await chooseModel(core, (from && modelOfSession(from)) || undefined);
    if (model === undefined) return undefined;
    core.namedProvider = model.split("/")[0]!;
    return openChat(core, model, from);
  } catch (error) {
    session?.close();
    throw error;
  }

  /** Where nothing can be written, the conversation continues unsaved. */
  function openOr(id: string): Session | undefined {
    try {
      return openSession(place, id, warn);
    } catch (error) {
      if (!/^(EROFS|ENOSPC|EDQUOT|EACCES|EPERM)$/.test(codeOf(error))) throw error;
      warn(`${fileFault("save to", nameOf(place, id), error).message} ${UNSAVED}`);
      core.options.save = false;
      core.unsavable = true;
      return undefined;
    }
  }
}

export function requireFolder(name: string, flag: string, cwd: string): string {
  if (tryTo(() => fs.statSync(path.resolve(cwd, name)))?.isDirectory()) return path.resolve(cwd, name);
  throw usage(`Cannot use --${flag} '${name}': there is no such folder, or none that you may enter.`);
}

function parseWholeNumber(flag: string, text: string): number {
  if (Number.isInteger(Number(text)) && Number(text) >= 0) return Number(text);
  throw usage(`Cannot use --${flag} '${text}': it takes a whole number from 0.`);
}

/** Splits `key=value`; the value is JSON if it parses, else text. */
function parseOption(text: string): [string, unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`Cannot use -o ${text}: it takes a name and a value, as in -o temperature 0.`);
  return [text.slice(0, at), jsonOrText(text.slice(at + 1))];
}

export async function readAttachment(name: string, cwd: string): Promise<{ text?: string; image?: Image }> {
  const file = path.resolve(cwd, name);
  const refuse = (why: string) => usage(`Cannot attach '${name}': ${why}.`);
  const bytes = await readAll().catch((error) => Promise.reject(codeOf(error) ? fileFault("attach", name, error, { exit: 2 }) : error));
  const kind = /\.(png|jpe?g|webp|gif)$/i.exec(name)?.[1]?.toLowerCase().replace("jpg", "jpeg");
  if (kind) return { image: { type: `image/${kind}`, base64: bytes.toString("base64") } };
  if (!bytes.subarray(0, 8192).includes(0)) return { text: fencedBlock(`FILE ${visible(name)}`, bytes.toString("utf8").trimEnd()) };
  throw refuse("it is neither text nor an image. -a FILE attaches a PDF or a sound");

  async function readAll(): Promise<Buffer> {
    const stat = await fs.promises.stat(file);
    if (!stat.isFile() && !stat.isFIFO() && !stat.isDirectory()) throw refuse("it is a device. Name a file");
    return readUpTo(fs.createReadStream(file), MAX_READ_BYTES / 2 ** 20, (most) => refuse(`it is over ${most} MB. Cut it down first`));
  }
}

async function readUpTo(from: AsyncIterable<Buffer | string>, most: number, tooMuch: (most: number) => Fault, heard?: () => void) {
  const pieces: Buffer[] = [];
  let left = (most || Number.POSITIVE_INFINITY) * 2 ** 20;
  for await (const piece of from) {
    heard?.();
    if ((left -= pieces.push(Buffer.from(piece)) && piece.length) < 0) throw tooMuch(most);
  }
  return Buffer.concat(pieces);
}

/** All that comes on stdin, 64 MB at most (ZZ_STDIN_LIMIT). */
export async function readAllStdin({ stdin, env }: Io, heard?: () => void): Promise<string> {
  const remedy = "Cut it down first; ZZ_STDIN_LIMIT=MB takes more (0: no limit)";
  const tooMuch = (most: number) => usage(`Cannot take what comes on stdin: it is more than ${most} MB. ${remedy}.`);
  return (await readUpTo(stdin, Number(env.ZZ_STDIN_LIMIT ?? 64), tooMuch, heard)).toString("utf8");
}

/** Reads stdin; the result waits for all of it. A silent pipe is reported after 2 s of waiting, given up after 30 s (ZZ_STDIN_WAIT). */
export function readStdin(cli: CommandLine, io: Io): () => Promise<string> {
  if (cli.values.has("no-stdin") || !io.stdin.readable || (io.stdin.isTTY && !cli.words.includes("-"))) return async () => "";
  const clock = clockOf(io);
  let isSilent = true;
  let putOff = () => {};
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const heard = () => {
    isSilent = false;
    putOff();
  };
  readAllStdin(io, heard).then(resolve, (error) => (codeOf(error) ? resolve("") : reject(error))); // a folder, for instance, gives nothing
  promise.catch(() => {}); // it may fail before anybody waits for it
  return async () => {
    const { fd } = io.stdin as { fd?: number };
    const stat = fd === undefined ? undefined : fs.fstatSync(fd);
    const wait = Number(io.env.ZZ_STDIN_WAIT ?? 30) * 1000;
    if (stat && !stat.isFIFO() && !stat.isSocket()) return promise;
    const cancelNote = clock.timer(2_000, () => isSilent && say(io, "Waiting for stdin; --no-stdin leaves it alone."));
    let cancel = () => {};
    putOff = () => {
      cancel();
      if (wait) cancel = clock.timer(wait, () => giveUp(wait / 1000));
    };
    putOff();
    return promise.finally(() => {
      cancelNote();
      cancel();
    });
  };

  function giveUp(seconds: number): void {
    const remedy = "Close it, add </dev/null, or use --no-stdin; ZZ_STDIN_WAIT=SECONDS waits longer (0: no limit)";
    reject(usage(`Nothing came on stdin for ${seconds} s, and it is still open. ${remedy}.`));
    io.stdin.destroy?.();
  }
}

export type OutputFormat = "text" | "json" | "json-lines";

/** Whether the model tried to change files and never could, whatever it says. */
export function madeNoChange({ calls }: Answer): boolean {
  const changes = calls.filter((call) => call.changes);
  return changes.length > 0 && !changes.some(({ ok }) => ok);
}

/** The exit code. 3 wins over 4: a cut-off answer is the worse surprise. Undefined: a command that asked for no answer. */
export function exitCode(answer: Answer | undefined): number {
  if (!answer) return 0;
  if (answer.finish === "refusal" || (answer.finish === "stop" && !answer.text.trim())) return 1;
  if (answer.finish !== "stop") return 3;
  return answer.calls.some((call) => call.refused) ? 4 : madeNoChange(answer) ? 1 : 0;
}

/** Several lines are a message, as a paste would be, unless they are for a template. */
export function commandIn(core: Core, line: string): { name: string; rest: string } {
  const found = parseCommand(line);
  return !line.includes("\n") || core.commands.get(found.name)?.value.group === TEMPLATES ? found : { name: "", rest: "" };
}

/** `/undo 2` is a command; `//x` and `/` are text. */
export function parseCommand(line: string): { name: string; rest: string } {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+(.*))?$/s.exec(line.trim());
  return { name: match?.[1] ?? "", rest: match?.[2]?.trim() ?? "" };
}

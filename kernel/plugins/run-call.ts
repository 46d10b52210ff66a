// One call of a tool: find it, validate, pass the gate, run it, commit its changes.

import { commitChanges, type PendingChanges } from "../changes/commit-changes.ts";
import { markLinesSeen } from "../changes/seen-files.ts";
import { filesForCall } from "../changes/tool-files.ts";
import {
  type Answer,
  type Call,
  type ChatRequest,
  type Ctx,
  type Events,
  KINDS,
  type Kind,
  type Needs,
  type Result,
  type Services,
  type Tool,
} from "../contract.ts";
import { emit, emitNote, pauseLimitWhileWaiting, runStep } from "../events.ts";
import { type Granted, judgeCall } from "../gate/gate.ts";
import { type Core, registeredValues, showsTraces, type TurnContext } from "../instance.ts";
import { clockOf } from "../text/clock.ts";
import { deadline, orAbort } from "../text/deadlines.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault, usage } from "../text/faults.ts";
import { checkValue, parametersOf, toJsonSchema } from "../text/json-schema.ts";
import { errorMessage, veil, veilData } from "../text/secrets.ts";
import { byName, isObject, tryTo } from "../text/words.ts";

/**
 * The arguments as the tool will see them. Throws a sentence that says what is wrong with them and
 * what to do.
 */
export async function validateArgs(
  { name, params }: Tool,
  args: unknown,
  remedy: string,
): Promise<any> {
  const { value, wrong } = await checkValue(params, args);
  if (wrong) throw usage(`Cannot call '${name}': ${wrong}. ${remedy}`);
  return value;
}

const TOOL_LIMIT_MS = 120_000;

async function onlyReads({ core, ctx }: TurnContext, call: Call): Promise<boolean> {
  const tool = findTool(core, call.name);
  if (!tool || call.broken || tool.changes) return false;
  const asked = async () => tool.needs?.(normalizeArgs(tool, call.args), ctx) ?? {};
  const needs = await orAbort(ctx.signal, asked()).catch(() => undefined); // runCall() validates
  return needs !== undefined && Object.keys(needs).every((needKind) => needKind === "read");
}

const SIDE_BY_SIDE = 4;
/** Takes the next call, with those after it that it joins, or that only read if it does too. */
export async function nextBatch(turn: TurnContext, waiting: Call[]): Promise<Call[]> {
  const batch = [waiting.shift()!];
  while (waiting.length && (await joinCalls(turn, [...batch, waiting[0]!])))
    batch.push(waiting.shift()!);
  if (batch.length > 1 || !waiting.length || !(await onlyReads(turn, batch[0]!))) return batch;
  while (waiting.length && batch.length < SIDE_BY_SIDE && (await onlyReads(turn, waiting[0]!)))
    batch.push(waiting.shift()!);
  return batch;
}

/** The call that does what all of these do; undefined if their tool cannot join them. */
async function joinCalls({ core }: TurnContext, calls: Call[]): Promise<Call | undefined> {
  const [first] = calls;
  const tool = calls.length > 1 ? findTool(core, first!.name) : undefined;
  if (!tool?.join) return undefined;
  let joined: Call["args"] | undefined;
  for (const { name, args, broken } of calls) {
    if (broken || findTool(core, name) !== tool) return undefined;
    const { value, wrong } = await checkValue(tool.params, normalizeArgs(tool, args));
    if (wrong) return undefined;
    joined = joined ? tryTo(() => tool.join!(joined, value)) : value;
    if (!joined) return undefined;
  }
  return { ...first!, args: joined! };
}

const JOINED = "Made with the first of these calls: see there.";
/** Runs a batch. Calls that join are one, unless that fails: then each is tried alone. */
export async function runBatch(turn: TurnContext, batch: Call[]): Promise<Result[]> {
  const call = await joinCalls(turn, batch);
  if (!call) return Promise.all(batch.map((call) => runCall(turn, call)));
  const { result, ms } = await resultOf(turn, call);
  if (!result.failed || result.refused || turn.ctx.signal.aborted) {
    const others = result.failed ? result : { text: JOINED };
    const results = batch.map((_, i) => (i ? others : result));
    for (const [i, each] of batch.entries())
      await tellCalled(turn, each, results[i]!, i ? { ms: 0, shown: "" } : { ms });
    return results;
  }
  const results: Result[] = [];
  for (const each of batch) results.push(await runCall(turn, each));
  return results;
}

/** Marks the calls of tools that the model was not offered: the result will say so. */
export function refuseUnoffered(core: Core, calls: readonly Call[]): void {
  const names = offeredTools(core).map(({ name }) => name);
  for (const call of calls) {
    if (names.includes(findTool(core, call.name)?.name ?? "")) continue;
    const reason = names.length
      ? unknown("tool", call.name, names)
      : "no tools are offered. Answer without.";
    call.broken = `Cannot call '${call.name}': ${reason}`;
  }
}

/** A call as an answer lists it. */
export function recordOfCall(
  core: Core,
  { name, args }: Call,
  { failed, refused }: Result,
): Answer["calls"][number] {
  const changes = findTool(core, name)?.changes;
  return { name, args, ok: !failed, ...(refused && { refused }), ...(changes && { changes }) };
}

/** Runs a call: through its wrappers, validation and the gate. Whatever goes wrong is a result. */
export async function runCall(turn: TurnContext, call: Call, inner = false): Promise<Result> {
  const { result, ms } = await resultOf(turn, call);
  await tellCalled(turn, call, result, { ms, ...(inner && { inner }) });
  return result;
}

/** What a call gave, and how long it took without the person's time. */
async function resultOf(turn: TurnContext, call: Call): Promise<{ result: Result; ms: number }> {
  const { core, ctx } = turn;
  const workingTime = () => clockOf(core.io).now() - core.waited;
  const started = workingTime();
  const run = async (call: Call) => withoutSecrets(await runTool(turn, call));
  const result = await runStep(turn, "call", call, run).catch((error): Result => {
    if (ctx.signal.aborted) return { text: "[interrupted]", failed: true };
    if (showsTraces(core)) emitNote(core, String((error as Error)?.stack));
    return { text: errorMessage(error), failed: true };
  });
  return { result: withoutSecrets(result), ms: Math.round(workingTime() - started) };
}

/** `shown: ""`: another call's row says it all. */
async function tellCalled(
  { core }: TurnContext,
  call: Call,
  result: Result,
  about: Pick<Events["called"], "ms" | "shown" | "inner">,
): Promise<void> {
  const tool = findTool(core, call.name);
  const width = core.io.stderr.columns ?? 80;
  const isShown = !result.failed || (!result.refused && result.data !== undefined);
  const shown =
    about.shown ?? (isShown ? tryTo(() => tool?.render?.(result, width, call.args)) : undefined);
  await emit(core, "called", {
    ...about,
    call,
    result,
    ...((shown || about.shown !== undefined) && { shown: shown! }),
  });
}

/** A call in the words of its tool; undefined if the tool has none. */
export function describeCall(
  core: Core,
  { name, args }: Pick<Call, "name" | "args">,
): string | undefined {
  const tool = findTool(core, name);
  const line: unknown = tool?.describe && tryTo(() => tool.describe!(normalizeArgs(tool, args)));
  return typeof line === "string" && line.trim() ? line : undefined;
}

/** Checks a result, which goes to the model, to plugins and into the session. */
function withoutSecrets(result: Result): Result {
  const { text, data } = result;
  return { ...result, text: veil(text), ...(data !== undefined && { data: veilData(data) }) };
}

async function runTool(turn: TurnContext, call: Call): Promise<Result> {
  const { core, ctx } = turn;
  const tool = requireTool(core, call.name);
  if (call.broken) throw fault(call.broken);
  const named = normalizeArgs(tool, call.args);
  const asked = await validateArgs(tool, named, "Send the call again with valid arguments.");
  const { args, granted, edited } = await passGate(turn, tool, asked);
  if (typeof granted === "string") return { text: granted, failed: true, refused: true };
  const held: PendingChanges | undefined = tool.changes ? new Map() : undefined;
  const reads = new Map<string, string>();
  const reach = { tool: tool.name, args, granted: granted.read, changes: tool.changes === true };
  const files = filesForCall(turn, { ...reach, ...(held ? { held } : { reads }) });
  const seconds = (tool.timeout ?? TOOL_LIMIT_MS) / 1000;
  const limit = deadline(clockOf(core.io), seconds * 1000, () =>
    fault(`'${tool.name}' took longer than ${seconds} s and was given up.`),
  );
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  const toolCtx: Ctx = Object.create(pauseLimitWhileWaiting(ctx, limit), {
    files: { value: files },
    signal: { value: signal },
  });
  const returned = await orAbort(signal, (async () => tool.run(args, toolCtx))()).finally(
    limit.lift,
  );
  const plain = typeof returned === "string" ? { text: returned } : returned;
  if (typeof plain?.text !== "string")
    throw fault(`'${tool.name}' gave no result. Its run() must return text or { text }.`);
  const checkedResult = withIgnored(plain, tool, named);
  for (const [file, hash] of reads) markLinesSeen(turn.chat, file, hash);
  const result = edited ? { ...checkedResult, text: edited + checkedResult.text } : checkedResult;
  return held && !result.failed ? settleChanges(held, result, granted) : result;

  async function settleChanges(
    held: PendingChanges,
    result: Result,
    granted: Granted,
  ): Promise<Result> {
    const { refusal, said } = await commitChanges(
      turn,
      { name: tool.name, args },
      held,
      granted.write,
    );
    if (refusal) return { text: refusal, failed: true, refused: true };
    return said ? { ...result, text: `${result.text}\n${said}` } : result;
  }
}

/** If the person edits an argument at the question, the call is judged and asked for again. */
async function passGate(turn: TurnContext, tool: Tool, asked: Call["args"]) {
  let [args, edited] = [deepFreeze(asked), ""];
  for (;;) {
    const needs = assertNeeds(
      tool,
      (await orAbort(turn.ctx.signal, (async () => tool.needs?.(args, turn.ctx))())) ?? {},
    );
    const granted = await judgeCall(turn, tool, args, needs);
    turn.ctx.signal.throwIfAborted();
    if (typeof granted === "string" || !("edited" in granted)) return { args, granted, edited };
    edited = `The person edited the ${tool.editable} before it ran:\n${granted.edited}\n\n`;
    args = deepFreeze(
      await validateArgs(tool, { ...asked, [tool.editable!]: granted.edited }, "Edit it again."),
    );
  }
}

/** Refuses needs that are malformed, instead of guessing. */
function assertNeeds<N extends Needs & { unresolved?: boolean }>(tool: Tool, needs: N): N {
  const isNeed = (need: any) => typeof (typeof need === "string" ? need : need?.name) === "string";
  const { unresolved, ...named } = needs;
  if (!/^(undefined|boolean)$/.test(typeof unresolved))
    throw fault(`Cannot call '${tool.name}': 'unresolved' of its needs must be true or false.`);
  for (const [needKind, list] of Object.entries(named))
    if (!KINDS.includes(needKind as Kind) || !Array.isArray(list) || !list.every(isNeed))
      throw fault(
        `Cannot call '${tool.name}': its needs for '${needKind}' make no sense. They are lists of names, by ${KINDS.join(", ")}.`,
      );
  return needs;
}

/**
 * Renames and converts parameters as the tool expects them: models spell them differently, and
 * write numbers as text.
 */
export function normalizeArgs({ also = {}, params }: Tool, args: Call["args"]): Call["args"] {
  if (!isObject(args)) return args; // validation reports it
  const namedArgs = { ...args };
  const properties = propertiesOf(params);
  for (const name of new Set([...Object.keys(also), ...Object.keys(properties)])) {
    const others = [name, ...(also[name] ?? [])];
    for (const alternative of others.flatMap((alias) => [
      alias,
      ...Object.keys(namedArgs).filter((key) => foldName(key) === foldName(alias)),
    ]))
      if (!(name in namedArgs) && alternative in namedArgs && !(alternative in properties)) {
        namedArgs[name] = namedArgs[alternative];
        delete namedArgs[alternative];
      }
    if (name in namedArgs) namedArgs[name] = coerceValue(namedArgs[name], properties[name]);
  }
  return namedArgs;
}

const foldName = (name: string): string => name.replace(/[-_]/g, "").toLowerCase();
type ParameterShape = { type?: string; items?: { type?: string } };
const propertiesOf = (params: Tool["params"]) =>
  (toJsonSchema(params).properties ?? {}) as Record<string, ParameterShape>;

/**
 * Converts "12" to a number, "true" to a boolean, and a single text to a list, where the tool wants
 * that.
 */
function coerceValue(value: unknown, { type, items }: ParameterShape = {}): unknown {
  if (typeof value !== "string") return value;
  if (type === "array" && items?.type === "string" && !/^\s*\[/.test(value)) return [value];
  const text = value.trim();
  if (/^(integer|number)$/.test(type ?? "") && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return type === "boolean" && /^(true|false)$/.test(text) ? text === "true" : value;
}

/** Names parameters that had no effect. */
function withIgnored(result: Result, { name, params }: Tool, args: Call["args"]): Result {
  const { properties, additionalProperties } = toJsonSchema(params);
  const parameterNames = Object.keys(properties ?? {});
  const ignored =
    additionalProperties || !properties
      ? []
      : Object.keys(args).filter((key) => !parameterNames.includes(key));
  if (!ignored.length) return result;
  const advice = parameterNames.length ? `it takes ${parameterNames.join(", ")}` : "it takes none";
  return {
    ...result,
    text: `${result.text}\n[Ignored: ${ignored.join(", ")}. '${name}' has no such parameter; ${advice}.]`,
  };
}

/** Frozen, so that what was asked for is what runs. */
function deepFreeze<T>(value: T): T {
  if (
    typeof value !== "object" ||
    value === null ||
    Object.isFrozen(value) ||
    ArrayBuffer.isView(value)
  )
    return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

export function requireTool(core: Core, name: string, verb = "call"): Tool {
  const tool = findTool(core, name);
  if (!tool) throw usage(`Cannot ${verb} '${name}': ${unknown("tool", name, core.tools.keys())}`);
  return tool;
}

const toolNames = (core: Core) =>
  core.services.get("toolNames")?.value.offer as Services["toolNames"] | undefined;

/** Also by the name that another program has for it, where a plugin knows such names. */
export async function requireToolMeant(core: Core, name: string, verb?: string): Promise<Tool> {
  const meant = findTool(core, name) ? name : await toolNames(core)?.own(name);
  return (meant && findTool(core, meant)) || requireTool(core, name, verb);
}
/** What a call becomes that may have another program's name or arguments. */
export const callsMeant = async (core: Core, call: Call, ctx: Ctx): Promise<Call[]> =>
  (await toolNames(core)?.calls(call, ctx)) ?? [call];

/**
 * By name or alias, even in markup, with a prefix or suffix, or written twice. If two tools match,
 * there is none.
 */
export function findTool(core: Pick<Core, "tools">, wantedName: string): Tool | undefined {
  if (wantedName.length > MAX_TOOL_NAME_CHARS) return undefined;
  const [bare = ""] = wantedName.split(/<\||[{(["<\n]/);
  const plain = bare.replace(/^[\s'`]+|[\s'`]+$/g, "");
  const cut = plain.replace(/^(functions?[._]|tools\.|default_api\.)/, "").replace(/:\d+$/, "");
  const half = cut.slice(0, cut.length / 2);
  // readFile and read-file
  const loose = (name: string) => name.replace(/[-._]/g, "").toLowerCase();
  const names = [wantedName, cut, cut.split(".").at(-1)!, ...(half + half === cut ? [half] : [])];
  const exactMatch = core.tools.get(wantedName)?.value;
  if (exactMatch) return exactMatch;
  const tools = registeredValues(core.tools);
  for (const form of [(name: string) => name, loose])
    for (const name of names) {
      const fits = tools.filter((tool) =>
        [tool.name, ...(tool.aliases ?? [])].some((toolName) => form(toolName) === form(name)),
      );
      if (fits.length) return fits.length === 1 ? fits[0] : undefined;
    }
  return undefined;
}
const MAX_TOOL_NAME_CHARS = 1_000; // with markup around it

/** The tools that the model is offered, in a stable order. */
export function offeredTools({
  tools,
  schemas,
  options: { tools: only },
}: Core): ChatRequest["tools"] {
  return registeredValues(tools)
    .filter(({ name }) => only !== false && (!only?.length || only.includes(name)))
    .sort(byName)
    .map((tool) => ({
      name: tool.name,
      description: tool.description,
      schema: schemas.get(tool.name) ?? parametersOf(tool),
    }));
}

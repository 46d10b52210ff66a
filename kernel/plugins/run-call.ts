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
import { isChange } from "../conversation/session-lines.ts";
import { emit, emitNote, pauseLimitWhileWaiting, runStep } from "../events.ts";
import { judgeCall } from "../gate/gate.ts";
import { type Core, registeredValues, showsTraces, type TurnContext } from "../instance.ts";
import { clockOf } from "../text/clock.ts";
import { deadline, orAbort } from "../text/deadlines.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault, usage } from "../text/faults.ts";
import { checkValue, parametersOf, toJsonSchema } from "../text/json-schema.ts";
import { errorMessage, veil, veilData } from "../text/secrets.ts";
import { byName, isObject, tryTo } from "../text/words.ts";
import { whyOff } from "./off-plugins.ts";

/**
 * The arguments as the tool will see them. Throws a sentence that says what is wrong with them and
 * what to do.
 */
export async function validateArgs(
  { name, params }: Tool,
  rawArgs: unknown,
  remedy: string,
): Promise<any> {
  const { value, wrong } = await checkValue(params, rawArgs);
  if (wrong) throw usage(`Cannot call '${name}': ${wrong}. ${remedy}`);
  return value;
}

const TOOL_LIMIT_MS = 120_000;

async function onlyReads({ core, ctx }: TurnContext, call: Call): Promise<boolean> {
  const tool = findTool(core, call.name);
  if (!tool || call.broken || tool.changes) return false;
  const askNeeds = async () => tool.needs?.(normalizeArgs(tool, call.args), ctx) ?? {};
  // runCall() validates
  const callNeeds = await orAbort(ctx.signal, askNeeds()).catch(() => undefined);
  return callNeeds !== undefined && Object.keys(callNeeds).every((needKind) => needKind === "read");
}

const SIDE_BY_SIDE = 4;
/** Takes the next call, with those after it that it joins, or that only read if it does too. */
export async function nextBatch(turn: TurnContext, waiting: Call[]): Promise<Call[]> {
  const callBatch = [waiting.shift()!];
  while (waiting.length && (await joinCalls(turn, [...callBatch, waiting[0]!])))
    callBatch.push(waiting.shift()!);
  if (callBatch.length > 1 || !waiting.length || !(await onlyReads(turn, callBatch[0]!)))
    return callBatch;
  while (waiting.length && callBatch.length < SIDE_BY_SIDE && (await onlyReads(turn, waiting[0]!)))
    callBatch.push(waiting.shift()!);
  return callBatch;
}

/** The call that does what all of these do; undefined if their tool cannot join them. */
async function joinCalls({ core }: TurnContext, calls: Call[]): Promise<Call | undefined> {
  const [firstCall] = calls;
  const tool = calls.length > 1 ? findTool(core, firstCall!.name) : undefined;
  if (!tool?.join) return undefined;
  let joinedArgs: Call["args"] | undefined;
  for (const { name, args, broken } of calls) {
    if (broken || findTool(core, name) !== tool) return undefined;
    const { value, wrong } = await checkValue(tool.params, normalizeArgs(tool, args));
    if (wrong) return undefined;
    joinedArgs = joinedArgs ? tryTo(() => tool.join!(joinedArgs, value)) : value;
    if (!joinedArgs) return undefined;
  }
  return { ...firstCall!, args: joinedArgs! };
}

const JOINED_TEXT = "Made with the first of these calls: see there.";
/** Runs a batch. Calls that join are one, unless that fails: then each is tried alone. */
export async function runBatch(turn: TurnContext, callBatch: Call[]): Promise<Result[]> {
  const joinedCall = await joinCalls(turn, callBatch);
  if (!joinedCall) return Promise.all(callBatch.map((batchCall) => runCall(turn, batchCall)));
  const { result, ms } = await resultOf(turn, joinedCall);
  if (!result.failed || result.refused || turn.ctx.signal.aborted) {
    const otherResult = result.failed ? result : { text: JOINED_TEXT };
    const results = callBatch.map((_, i) => (i ? otherResult : result));
    for (const [i, batchCall] of callBatch.entries())
      await tellCalled(turn, batchCall, results[i]!, i ? { ms: 0, shown: "" } : { ms });
    return results;
  }
  const results: Result[] = [];
  for (const batchCall of callBatch) results.push(await runCall(turn, batchCall));
  return results;
}

/** Marks the calls of tools that the model was not offered: the result will say so. */
export function refuseUnoffered(core: Core, calls: readonly Call[]): void {
  const offeredNames = offeredTools(core).map(({ name }) => name);
  for (const call of calls) {
    if (offeredNames.includes(findTool(core, call.name)?.name ?? "")) continue;
    const reason = offeredNames.length
      ? unknown("tool", call.name, offeredNames)
      : "no tools are offered. Answer without.";
    call.broken = `Cannot call '${call.name}': ${reason}`;
  }
}

/** A call as an answer lists it. */
export function recordOfCall(
  core: Core,
  { name, args }: Call,
  { failed, refused, wrote }: Result,
): Answer["calls"][number] {
  const changes = findTool(core, name)?.changes || wrote;
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
  const runVeiled = async (wrappedCall: Call) => withoutSecrets(await runTool(turn, wrappedCall));
  const callResult = await runStep(turn, "call", call, runVeiled).catch((error): Result => {
    if (ctx.signal.aborted) return { text: "[interrupted]", failed: true };
    if (showsTraces(core)) emitNote(core, String((error as Error)?.stack));
    return { text: errorMessage(error), failed: true };
  });
  return { result: withoutSecrets(callResult), ms: Math.round(workingTime() - started) };
}

/** `shown: ""`: another call's row says it all. */
async function tellCalled(
  { core }: TurnContext,
  call: Call,
  result: Result,
  callFacts: Pick<Events["called"], "ms" | "shown" | "inner">,
): Promise<void> {
  const tool = findTool(core, call.name);
  const rowWidth = core.io.stderr.columns ?? 80;
  const isShown = !result.failed || (!result.refused && result.data !== undefined);
  const shownResult =
    callFacts.shown ??
    (isShown ? tryTo(() => tool?.render?.(result, rowWidth, call.args)) : undefined);
  await emit(core, "called", {
    ...callFacts,
    call,
    result,
    ...((shownResult || callFacts.shown !== undefined) && { shown: shownResult! }),
  });
}

/** A call in the words of its tool; undefined if the tool has none. */
export function describeCall(
  core: Core,
  { name, args }: Pick<Call, "name" | "args">,
): string | undefined {
  const tool = findTool(core, name);
  const callLine: unknown =
    tool?.describe && tryTo(() => tool.describe!(normalizeArgs(tool, args)));
  return typeof callLine === "string" && callLine.trim() ? callLine : undefined;
}

/** Checks a result, which goes to the model, to plugins and into the session. */
function withoutSecrets(result: Result): Result {
  const { text, data } = result;
  return { ...result, text: veil(text), ...(data !== undefined && { data: veilData(data) }) };
}

async function runTool(turn: TurnContext, call: Call): Promise<Result> {
  const { core, ctx } = turn;
  const tool = findTool(core, call.name) ?? (await requireTool(core, call.name));
  if (call.broken) throw fault(call.broken);
  const namedArgs = normalizeArgs(tool, call.args);
  const askedArgs = await validateArgs(
    tool,
    namedArgs,
    "Send the call again with valid arguments.",
  );
  const { args, granted, edited } = await passGate(turn, tool, askedArgs);
  if (typeof granted === "string") return { text: granted, failed: true, refused: true };
  const held: PendingChanges | undefined = tool.changes ? new Map() : undefined;
  const reads = new Map<string, string>();
  const callFiles = filesForCall(turn, {
    tool: tool.name,
    args,
    granted: granted.read,
    changes: tool.changes === true,
    ...(held ? { held } : { reads }),
  });
  const seconds = (tool.timeout ?? TOOL_LIMIT_MS) / 1000;
  const timeLimit = deadline(clockOf(core.io), seconds * 1000, () =>
    fault(`'${tool.name}' took longer than ${seconds} s and was given up.`),
  );
  const callSignal = AbortSignal.any([ctx.signal, timeLimit.signal]);
  const toolCtx: Ctx = Object.create(pauseLimitWhileWaiting(ctx, timeLimit), {
    files: { value: callFiles },
    signal: { value: callSignal },
  });
  const entryCount = turn.chat.session?.entries.length;
  const returned = await orAbort(callSignal, (async () => tool.run(args, toolCtx))()).finally(
    timeLimit.lift,
  );
  const plainResult = typeof returned === "string" ? { text: returned } : returned;
  if (typeof plainResult?.text !== "string")
    throw fault(`'${tool.name}' gave no result. Its run() must return text or { text }.`);
  const checkedResult = withIgnored(plainResult, tool, namedArgs);
  for (const [filePath, fileHash] of reads) markLinesSeen(turn.chat, filePath, fileHash);
  const wrote = turn.chat.session?.entries.slice(entryCount).some(isChange);
  const finalResult = {
    ...checkedResult,
    text: edited + checkedResult.text,
    ...(wrote && { wrote }),
  };
  if (!held || finalResult.failed) return finalResult;
  const doneCall = { name: tool.name, args };
  const { refusal, said } = await commitChanges(turn, doneCall, held, granted.write);
  if (refusal) return { text: refusal, failed: true, refused: true };
  return said ? { ...finalResult, text: `${finalResult.text}\n${said}` } : finalResult;
}

/** If the person edits an argument at the question, the call is judged and asked for again. */
async function passGate(turn: TurnContext, tool: Tool, askedArgs: Call["args"]) {
  let [args, edited] = [deepFreeze(askedArgs), ""];
  for (;;) {
    const callNeeds = assertNeeds(
      tool,
      (await orAbort(turn.ctx.signal, (async () => tool.needs?.(args, turn.ctx))())) ?? {},
    );
    const granted = await judgeCall(turn, tool, args, callNeeds);
    turn.ctx.signal.throwIfAborted();
    if (typeof granted === "string" || !("edited" in granted)) return { args, granted, edited };
    edited = `The person edited the ${tool.editable} before it ran:\n${granted.edited}\n\n`;
    args = deepFreeze(
      await validateArgs(
        tool,
        { ...askedArgs, [tool.editable!]: granted.edited },
        "Edit it again.",
      ),
    );
  }
}

/** Refuses needs that are malformed, instead of guessing. */
function assertNeeds<N extends Needs & { unresolved?: boolean }>(tool: Tool, callNeeds: N): N {
  const isNeed = (candidate: any) =>
    typeof (typeof candidate === "string" ? candidate : candidate?.name) === "string";
  const { unresolved, ...named } = callNeeds;
  if (!/^(undefined|boolean)$/.test(typeof unresolved))
    throw fault(`Cannot call '${tool.name}': 'unresolved' of its needs must be true or false.`);
  for (const [needKind, kindNeeds] of Object.entries(named))
    if (!KINDS.includes(needKind as Kind) || !Array.isArray(kindNeeds) || !kindNeeds.every(isNeed))
      throw fault(
        `Cannot call '${tool.name}': its needs for '${needKind}' make no sense. ` +
          `They are lists of names, by ${KINDS.join(", ")}.`,
      );
  return callNeeds;
}

/**
 * Renames and converts parameters as the tool expects them: models spell them differently, and
 * write numbers as text.
 */
export function normalizeArgs({ also = {}, params }: Tool, rawArgs: Call["args"]): Call["args"] {
  if (!isObject(rawArgs)) return rawArgs; // validation reports it
  const namedArgs = { ...rawArgs };
  const properties = propertiesOf(params);
  for (const parameterName of new Set([...Object.keys(also), ...Object.keys(properties)])) {
    const spellings = [parameterName, ...(also[parameterName] ?? [])];
    for (const alternative of spellings.flatMap((alias) => [
      alias,
      ...Object.keys(namedArgs).filter(
        (argumentName) => foldName(argumentName) === foldName(alias),
      ),
    ]))
      if (
        !(parameterName in namedArgs) &&
        alternative in namedArgs &&
        !(alternative in properties)
      ) {
        namedArgs[parameterName] = namedArgs[alternative];
        delete namedArgs[alternative];
      }
    if (parameterName in namedArgs)
      namedArgs[parameterName] = coerceValue(namedArgs[parameterName], properties[parameterName]);
  }
  return namedArgs;
}

const foldName = (spelledName: string): string => spelledName.replace(/[-_]/g, "").toLowerCase();
type ParameterShape = { type?: string; items?: { type?: string } };
const propertiesOf = (params: Tool["params"]) =>
  (toJsonSchema(params).properties ?? {}) as Record<string, ParameterShape>;

/**
 * Converts "12" to a number, "true" to a boolean, and a single text to a list, where the tool wants
 * that.
 */
function coerceValue(argumentValue: unknown, { type, items }: ParameterShape = {}): unknown {
  if (typeof argumentValue !== "string") return argumentValue;
  if (type === "array" && items?.type === "string" && !/^\s*\[/.test(argumentValue))
    return [argumentValue];
  const trimmedText = argumentValue.trim();
  if (/^(integer|number)$/.test(type ?? "") && /^-?\d+(\.\d+)?$/.test(trimmedText))
    return Number(trimmedText);
  return type === "boolean" && /^(true|false)$/.test(trimmedText)
    ? trimmedText === "true"
    : argumentValue;
}

/** Names parameters that had no effect. */
function withIgnored(result: Result, { name, params }: Tool, namedArgs: Call["args"]): Result {
  const { properties, additionalProperties } = toJsonSchema(params);
  const parameterNames = Object.keys(properties ?? {});
  const ignored =
    additionalProperties || !properties
      ? []
      : Object.keys(namedArgs).filter((argumentName) => !parameterNames.includes(argumentName));
  if (!ignored.length) return result;
  const advice = parameterNames.length ? `it takes ${parameterNames.join(", ")}` : "it takes none";
  return {
    ...result,
    text:
      `${result.text}\n[Ignored: ${ignored.join(", ")}. ` +
      `'${name}' has no such parameter; ${advice}.]`,
  };
}

/** Frozen, so that what was asked for is what runs. */
function deepFreeze<T>(frozenValue: T): T {
  if (
    typeof frozenValue !== "object" ||
    frozenValue === null ||
    Object.isFrozen(frozenValue) ||
    ArrayBuffer.isView(frozenValue)
  )
    return frozenValue;
  for (const innerValue of Object.values(frozenValue)) deepFreeze(innerValue);
  return Object.freeze(frozenValue);
}

export async function requireTool(core: Core, toolName: string, verb = "call"): Promise<Tool> {
  const tool = findTool(core, toolName);
  if (tool) return tool;
  const ownerIn = (trial: Core) => trial.tools.get(findTool(trial, toolName)?.name ?? "")?.owner;
  const reason = (await whyOff(core, ownerIn)) ?? unknown("tool", toolName, core.tools.keys());
  throw usage(`Cannot ${verb} '${toolName}': ${reason}`);
}

const toolNames = (core: Core) =>
  core.services.get("toolNames")?.value.offer as Services["toolNames"] | undefined;

/** Also by the name that another program has for it, where a plugin knows such names. */
export async function requireToolMeant(
  core: Core,
  typedName: string,
  verb?: string,
): Promise<Tool> {
  const meantName = findTool(core, typedName) ? typedName : await toolNames(core)?.own(typedName);
  return (meantName && findTool(core, meantName)) || requireTool(core, typedName, verb);
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
  const [bareName = ""] = wantedName.split(/<\||[{(["<\n]/);
  const plainName = bareName.replace(/^[\s'`]+|[\s'`]+$/g, "");
  const cutName = plainName
    .replace(/^(functions?[._]|tools\.|default_api\.)/, "")
    .replace(/:\d+$/, "");
  const halfName = cutName.slice(0, cutName.length / 2);
  // readFile and read-file
  const foldLoosely = (candidate: string) => candidate.replace(/[-._]/g, "").toLowerCase();
  const candidateNames = [
    wantedName,
    cutName,
    cutName.split(".").at(-1)!,
    ...(halfName + halfName === cutName ? [halfName] : []),
  ];
  const exactMatch = core.tools.get(wantedName)?.value;
  if (exactMatch) return exactMatch;
  const allTools = registeredValues(core.tools);
  for (const normalize of [(candidate: string) => candidate, foldLoosely])
    for (const candidate of candidateNames) {
      const matchingTools = allTools.filter((tool) =>
        [tool.name, ...(tool.aliases ?? [])].some(
          (toolName) => normalize(toolName) === normalize(candidate),
        ),
      );
      if (matchingTools.length) return matchingTools.length === 1 ? matchingTools[0] : undefined;
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

// One call of a tool: find it, validate, pass the gate, run it, commit its changes.

import { commitChanges, type PendingChanges } from "../changes/commit-changes.ts";
import { markLinesSeen } from "../changes/seen-files.ts";
import { filesForCall } from "../changes/tool-files.ts";
import {
  type Call,
  type ChatRequest,
  type Ctx,
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
export async function validate(
  { name, params }: Tool,
  args: unknown,
  remedy: string,
): Promise<any> {
  const { value, wrong } = await checkValue(params, args);
  if (wrong) throw usage(`Cannot call '${name}': ${wrong}. ${remedy}`);
  return value;
}

const TOOL_LIMIT = 120_000;

export async function onlyReads({ core, ctx }: TurnContext, call: Call): Promise<boolean> {
  const tool = findTool(core, call.name);
  if (!tool || call.broken || tool.changes) return false;
  const asked = async () => tool.needs?.(normalizeArgs(tool, call.args), ctx) ?? {};
  const needs = await orAbort(ctx.signal, asked()).catch(() => undefined); // runCall() validates
  return needs !== undefined && Object.keys(needs).every((kind) => kind === "read");
}

/** Runs a call: through its wrappers, validation and the gate. Whatever goes wrong is a result. */
export async function runCall(place: TurnContext, call: Call, inner = false): Promise<Result> {
  const { core, ctx } = place;
  const now = () => clockOf(core.io).now() - core.waited; // without the person's time
  const started = now();
  const run = async (call: Call) => withoutSecrets(await runTool(place, call));
  const given = await runStep(place, "call", call, run).catch((error): Result => {
    if (ctx.signal.aborted) return { text: "[interrupted]", failed: true };
    if (showsTraces(core)) emitNote(core, String((error as Error)?.stack));
    return { text: errorMessage(error), failed: true };
  });
  const result = withoutSecrets(given);
  const tool = findTool(core, call.name);
  const width = core.io.stderr.columns ?? 80;
  const isShown = !result.failed || (!result.refused && result.data !== undefined);
  const shown = isShown ? tryTo(() => tool?.render?.(result, width, call.args)) : undefined;
  await emit(core, "called", {
    call,
    result,
    ms: Math.round(now() - started),
    ...(shown && { shown }),
    ...(inner && { inner }),
  });
  return result;
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

async function runTool(place: TurnContext, call: Call): Promise<Result> {
  const { core, ctx } = place;
  const tool = requireTool(core, call.name);
  if (call.broken) throw fault(call.broken);
  const named = normalizeArgs(tool, call.args);
  const asked = await validate(tool, named, "Send the call again with valid arguments.");
  const { args, granted, edited } = await passGate(place, tool, asked);
  if (typeof granted === "string") return { text: granted, failed: true, refused: true };
  const held: PendingChanges | undefined = tool.changes ? new Map() : undefined;
  const reads = new Map<string, string>();
  const reach = { tool: tool.name, args, granted: granted.read, changes: tool.changes === true };
  const files = filesForCall(place, { ...reach, ...(held ? { held } : { reads }) });
  const seconds = (tool.timeout ?? TOOL_LIMIT) / 1000;
  const limit = deadline(clockOf(core.io), seconds * 1000, () =>
    fault(`'${tool.name}' took longer than ${seconds} s and was given up.`),
  );
  const signal = AbortSignal.any([ctx.signal, limit.signal]);
  const own: Ctx = Object.create(pauseLimitWhileWaiting(ctx, limit), {
    files: { value: files },
    signal: { value: signal },
  });
  const given = await orAbort(signal, (async () => tool.run(args, own))()).finally(limit.lift);
  const plain = typeof given === "string" ? { text: given } : given;
  if (typeof plain?.text !== "string")
    throw fault(`'${tool.name}' gave no result. Its run() must return text or { text }.`);
  const said = withIgnored(plain, tool, named);
  for (const [file, hash] of reads) markLinesSeen(place.chat, file, hash);
  const result = edited ? { ...said, text: edited + said.text } : said;
  return held && !result.failed ? settleChanges(held, result, granted) : result;

  async function settleChanges(
    held: PendingChanges,
    result: Result,
    granted: Granted,
  ): Promise<Result> {
    const { refusal, said } = await commitChanges(
      place,
      { name: tool.name, args },
      held,
      granted.write,
    );
    if (refusal) return { text: refusal, failed: true, refused: true };
    return said ? { ...result, text: `${result.text}\n${said}` } : result;
  }
}

/** If the person edits an argument at the question, the call is judged and asked for again. */
async function passGate(place: TurnContext, tool: Tool, asked: Call["args"]) {
  let [args, edited] = [deepFreeze(asked), ""];
  for (;;) {
    const needs = assertNeeds(
      tool,
      (await orAbort(place.ctx.signal, (async () => tool.needs?.(args, place.ctx))())) ?? {},
    );
    const granted = await judgeCall(place, tool, args, needs);
    place.ctx.signal.throwIfAborted();
    if (typeof granted === "string" || !("edited" in granted)) return { args, granted, edited };
    edited = `The person edited the ${tool.editable} before it ran:\n${granted.edited}\n\n`;
    args = deepFreeze(
      await validate(tool, { ...asked, [tool.editable!]: granted.edited }, "Edit it again."),
    );
  }
}

/** Refuses needs that are malformed, instead of guessing. */
function assertNeeds<N extends Needs & { unresolved?: boolean }>(tool: Tool, needs: N): N {
  const isNeed = (need: any) => typeof (typeof need === "string" ? need : need?.name) === "string";
  const { unresolved, ...named } = needs;
  if (!/^(undefined|boolean)$/.test(typeof unresolved))
    throw fault(`Cannot call '${tool.name}': 'unresolved' of its needs must be true or false.`);
  for (const [kind, list] of Object.entries(named))
    if (!KINDS.includes(kind as Kind) || !Array.isArray(list) || !list.every(isNeed))
      throw fault(
        `Cannot call '${tool.name}': its needs for '${kind}' make no sense. They are lists of names, by ${KINDS.join(", ")}.`,
      );
  return needs;
}

/**
 * Renames and converts parameters as the tool expects them: models spell them differently, and
 * write numbers as text.
 */
export function normalizeArgs({ also = {}, params }: Tool, args: Call["args"]): Call["args"] {
  if (!isObject(args)) return args; // validation reports it
  const known = { ...args };
  const properties = propertiesOf(params);
  for (const name of new Set([...Object.keys(also), ...Object.keys(properties)])) {
    const others = [name, ...(also[name] ?? [])];
    for (const other of others.flatMap((one) => [
      one,
      ...Object.keys(known).filter((key) => foldName(key) === foldName(one)),
    ]))
      if (!(name in known) && other in known && !(other in properties)) {
        known[name] = known[other];
        delete known[other];
      }
    if (name in known) known[name] = coerceValue(known[name], properties[name]);
  }
  return known;
}

const foldName = (name: string): string => name.replace(/[-_]/g, "").toLowerCase();
type Property = { type?: string; items?: { type?: string } };
const propertiesOf = (params: Tool["params"]) =>
  (toJsonSchema(params).properties ?? {}) as Record<string, Property>;

/**
 * Converts "12" to a number, "true" to a boolean, and a single text to a list, where the tool wants
 * that.
 */
function coerceValue(value: unknown, { type, items }: Property = {}): unknown {
  if (typeof value !== "string") return value;
  if (type === "array" && items?.type === "string" && !/^\s*\[/.test(value)) return [value];
  const text = value.trim();
  if (/^(integer|number)$/.test(type ?? "") && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return type === "boolean" && /^(true|false)$/.test(text) ? text === "true" : value;
}

/** Names parameters that had no effect. */
function withIgnored(result: Result, { name, params }: Tool, args: Call["args"]): Result {
  const { properties, additionalProperties } = toJsonSchema(params);
  const all = Object.keys(properties ?? {});
  const ignored =
    additionalProperties || !properties
      ? []
      : Object.keys(args).filter((key) => !all.includes(key));
  if (!ignored.length) return result;
  const known = all.length ? `it takes ${all.join(", ")}` : "it takes none";
  return {
    ...result,
    text: `${result.text}\n[Ignored: ${ignored.join(", ")}. '${name}' has no such parameter; ${known}.]`,
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

/** Also by the name that another program has for it, where a plugin knows such names. */
export async function requireToolMeant(core: Core, name: string, verb?: string): Promise<Tool> {
  const names = core.services.get("toolNames")?.value.offer as Services["toolNames"] | undefined;
  const meant = findTool(core, name) ? name : await names?.own(name);
  return (meant && findTool(core, meant)) || requireTool(core, name, verb);
}

/**
 * By name or alias, even in markup, with a prefix or suffix, or written twice. If two tools match,
 * there is none.
 */
export function findTool(core: Pick<Core, "tools">, given: string): Tool | undefined {
  if (given.length > MAX_TOOL_NAME_CHARS) return undefined;
  const [bare = ""] = given.split(/<\||[{(["<\n]/);
  const plain = bare.replace(/^[\s'`]+|[\s'`]+$/g, "");
  const cut = plain.replace(/^(functions?[._]|tools\.|default_api\.)/, "").replace(/:\d+$/, "");
  const half = cut.slice(0, cut.length / 2);
  // readFile and read-file
  const loose = (name: string) => name.replace(/[-._]/g, "").toLowerCase();
  const names = [given, cut, cut.split(".").at(-1)!, ...(half + half === cut ? [half] : [])];
  const own = core.tools.get(given)?.value;
  if (own) return own;
  const tools = registeredValues(core.tools);
  for (const form of [(name: string) => name, loose])
    for (const name of names) {
      const fits = tools.filter((tool) =>
        [tool.name, ...(tool.aliases ?? [])].some((one) => form(one) === form(name)),
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

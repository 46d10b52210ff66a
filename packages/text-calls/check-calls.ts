// Whether calls from a text fit an offered tool, and what is said of those that do not.
import type { Call } from "zz";
import { argumentsFor, decodeArgs, fits, toolFor } from "./coerce.ts";
import type { Raw, Source } from "./types.ts";

export const MAX_CALLS = 128;
/** Translates a call of another program's tool into calls of zz's own tools. */
export type Translate = (call: Call) => Promise<Call[]>;
export interface CheckedCall {
  raw: Raw;
  verdict: "fits" | "unfit" | "cut" | "unknown";
  name: string;
  args: Call["args"];
  broken?: string | undefined; // why another program's call cannot be translated
}
export const checkCalls = async (
  source: Source,
  calls: readonly Raw[],
  translate: Translate | undefined,
): Promise<CheckedCall[]> =>
  (
    await Promise.all(calls.slice(0, MAX_CALLS + 1).map((raw) => checkCall(source, raw, translate)))
  ).flat();
async function checkCall(
  source: Source,
  raw: Raw,
  translate?: Translate,
): Promise<CheckedCall | CheckedCall[]> {
  const tool = toolFor(raw.name, source.tools);
  const { name } = tool ?? raw;
  if (!tool) return { raw, verdict: "unknown", name, args: raw.args };
  if (raw.cut || (raw.loose && source.ended)) return { raw, verdict: "cut", name, args: {} };
  const args = argumentsFor(tool, raw.args, raw.raw ?? false, source.work);
  const fit = !raw.wrong && !tool.foreign && (await fits(tool, args));
  if (translate && !raw.wrong) {
    const sentArgs = !fit && raw.raw ? decodeArgs(raw.args) : raw.args;
    const meant = await translateCall(
      source,
      raw,
      { name: tool.foreign ? name : raw.name, args: fit ? args : sentArgs },
      translate,
    );
    if (tool.foreign || meant.every(({ verdict }) => verdict === "fits")) return meant;
  }
  return { raw, verdict: fit ? "fits" : "unfit", name, args: tool.foreign ? {} : args };
}
/**
 * Translates a call into calls of zz's own tools, and only then converts and checks the arguments.
 */
async function translateCall(
  source: Source,
  raw: Raw,
  { name, args }: Pick<Call, "name" | "args">,
  translate: Translate,
): Promise<CheckedCall[]> {
  const calls = await translate({ id: raw.id ?? "", name, args });
  const translations = calls.map(async ({ name, args, broken }, i): Promise<CheckedCall> => {
    const tool = source.tools.find((candidate) => candidate.name === name && !candidate.foreign);
    const part = i ? { ...raw, id: undefined } : raw;
    if (!tool) return { raw: part, verdict: "unknown", name, args };
    const typed = argumentsFor(tool, args, raw.raw ?? false, source.work);
    const verdict = !broken && (await fits(tool, typed)) ? "fits" : "unfit";
    return { raw: part, verdict, name, args: typed, broken };
  });
  return Promise.all(translations);
}
const CUT_ALL =
  "This reply was cut off within its last call, so none of its calls ran. Send them again, fewer at once.";
const CUT =
  "The call was cut off before its arguments were complete and did not run. Send it again, shorter or in parts.";
export function asCalls(takenCalls: readonly CheckedCall[], none = ""): Call[] {
  const ids = new Set<string>();
  const isCut = ({ verdict, raw }: CheckedCall) => verdict === "cut" || raw.cut === true;
  // the text may have ended within the name
  const named = takenCalls.filter(({ raw, name }) => name || !raw.cut);
  const cutAll = takenCalls.some(isCut) ? CUT_ALL : "";
  return named.slice(0, MAX_CALLS + 1).map(({ raw, verdict, name, args, broken: reason }, i) => {
    const id = raw.id && !ids.has(raw.id) ? raw.id : newId();
    ids.add(id);
    const tooMany =
      i === MAX_CALLS &&
      `This reply had more than ${MAX_CALLS} calls. The rest did not run. Make those that are still needed next.`;
    const wrong =
      raw.wrong &&
      `The arguments are not usable: ${raw.wrong}. Send the call again with a valid JSON object.`;
    const isLate = isCut({ raw, verdict, name, args });
    const broken = none || tooMany || (isLate && CUT) || wrong || reason || cutAll;
    return { id, name, args, ...(broken && { broken }) };
  });
}
const newId = (): string => `call_${Math.random().toString(36).slice(2, 12)}`;

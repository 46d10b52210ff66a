// Whether calls from a text fit an offered tool, and what is said of those that do not.
import type { Call } from "zz";
import { argumentsFor, decodeArgs, fits, toolFor } from "./coerce.ts";
import type { Raw, Source } from "./types.ts";

export const MAX_CALLS_PER_REPLY = 128;
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
  rawCalls: readonly Raw[],
  translate: Translate | undefined,
): Promise<CheckedCall[]> =>
  (
    await Promise.all(
      rawCalls
        .slice(0, MAX_CALLS_PER_REPLY + 1)
        .map((rawCall) => checkCall(source, rawCall, translate)),
    )
  ).flat();
async function checkCall(
  source: Source,
  raw: Raw,
  translate?: Translate,
): Promise<CheckedCall | CheckedCall[]> {
  const namedTool = toolFor(raw.name, source.tools);
  const { name } = namedTool ?? raw;
  if (!namedTool) return { raw, verdict: "unknown", name, args: raw.args };
  if (raw.cut || (raw.loose && source.ended)) return { raw, verdict: "cut", name, args: {} };
  const typedArgs = argumentsFor(namedTool, raw.args, raw.raw ?? false, source.work);
  const fitsTool = !raw.wrong && !namedTool.foreign && (await fits(namedTool, typedArgs));
  if (translate && !raw.wrong) {
    const sentArgs = !fitsTool && raw.raw ? decodeArgs(raw.args) : raw.args;
    const translatedCalls = await translateCall(
      source,
      raw,
      { name: namedTool.foreign ? name : raw.name, args: fitsTool ? typedArgs : sentArgs },
      translate,
    );
    if (namedTool.foreign || translatedCalls.every(({ verdict }) => verdict === "fits"))
      return translatedCalls;
  }
  return {
    raw,
    verdict: fitsTool ? "fits" : "unfit",
    name,
    args: namedTool.foreign ? {} : typedArgs,
  };
}
/**
 * Translates a call into calls of zz's own tools, and only then converts and checks the arguments.
 */
async function translateCall(
  source: Source,
  rawCall: Raw,
  { name, args }: Pick<Call, "name" | "args">,
  translate: Translate,
): Promise<CheckedCall[]> {
  const ownCalls = await translate({ id: rawCall.id ?? "", name, args });
  const translations = ownCalls.map(async ({ name, args, broken }, i): Promise<CheckedCall> => {
    const ownTool = source.tools.find((candidate) => candidate.name === name && !candidate.foreign);
    const rawPart = i ? { ...rawCall, id: undefined } : rawCall;
    if (!ownTool) return { raw: rawPart, verdict: "unknown", name, args };
    const typedArgs = argumentsFor(ownTool, args, rawCall.raw ?? false, source.work);
    const verdict = !broken && (await fits(ownTool, typedArgs)) ? "fits" : "unfit";
    return { raw: rawPart, verdict, name, args: typedArgs, broken };
  });
  return Promise.all(translations);
}
const CUT_ALL =
  "This reply was cut off within its last call, so none of its calls ran. " +
  "Send them again, fewer at once.";
const CUT_REASON =
  "The call was cut off before its arguments were complete and did not run. " +
  "Send it again, shorter or in parts.";
/** `isCut`: the text ended within one more, before its name. */
export function asCalls(
  takenCalls: readonly CheckedCall[],
  isCut = false,
  noneReason = "",
): Call[] {
  const takenIds = new Set<string>();
  const isCutOff = ({ verdict, raw }: Pick<CheckedCall, "verdict" | "raw">) =>
    verdict === "cut" || raw.cut === true;
  // the text may have ended within the name
  const namedCalls = takenCalls.filter(({ raw, name }) => name || !raw.cut);
  const cutReason = isCut || takenCalls.some(isCutOff) ? CUT_ALL : "";
  return namedCalls
    .slice(0, MAX_CALLS_PER_REPLY + 1)
    .map(({ raw, verdict, name, args, broken: reason }, i) => {
      const id = raw.id && !takenIds.has(raw.id) ? raw.id : makeCallId();
      takenIds.add(id);
      const tooMany =
        i === MAX_CALLS_PER_REPLY &&
        `This reply had more than ${MAX_CALLS_PER_REPLY} calls. The rest did not run. ` +
          "Make those that are still needed next.";
      const wrongReason =
        raw.wrong &&
        `The arguments are not usable: ${raw.wrong}. Send the call again with a valid JSON object.`;
      const broken =
        noneReason ||
        tooMany ||
        (isCutOff({ verdict, raw }) && CUT_REASON) ||
        wrongReason ||
        reason ||
        cutReason;
      return { id, name, args, ...(broken && { broken }) };
    });
}
export const makeCallId = (): string => `call_${Math.random().toString(36).slice(2, 12)}`;

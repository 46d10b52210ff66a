// A conversation as Gemini's contents: what was signed goes back as a part of its own.
import type { Call, Image, Message } from "zz";

export const plainName = (id: string): string => id.replace(/^models\//, "");

interface Content {
  role: "user" | "model";
  parts: any[];
}
/**
 * The extra of a part. at: where it begins and ends in the text; id: that of a call, if the server
 * gave one.
 */
export interface Extra {
  thoughtSignature?: string;
  at?: [from: number, to: number];
  id?: string;
}
/**
 * Stands in for the signature on calls of other models, which this one cannot read, as Gemini's
 * makers advise.
 */
const NO_SIGNATURE = "skip_thought_signature_validator";

export function toWire(messages: Message[], model: string, without: Set<string>): Content[] {
  const isStrict =
    without.has("signatures") ||
    without.has("ownSignatures") ||
    /^gemini-[3-9]/.test(plainName(model));
  const contents: Content[] = [];
  const serverIds = new Map<string, string>(); // ids of calls, as the server gave them
  let results: Content | undefined;
  for (const message of messages) {
    if (message.role === "tool") {
      if (!results) {
        results = { role: "user", parts: [] };
        contents.push(results);
      }
      results.parts.push(...resultParts(message, serverIds.get(message.id), isStrict));
      continue;
    }
    results = undefined;
    if (message.role === "user") {
      const parts = [
        ...textPart(message.text),
        ...(message.images ?? []).map((image) => toFilePart(image)),
      ];
      if (parts.length) contents.push({ role: "user", parts });
      continue;
    }
    for (const { id, extra } of message.calls ?? []) {
      const serverId = (extra as Extra)?.id;
      if (serverId && !without.has("functionId")) serverIds.set(id, serverId);
    }
    const isOwnMessage =
      !without.has("ownSignatures") && (!message.model || message.model.endsWith(`/${model}`));
    const callParts = (message.calls ?? []).map(({ extra, ...call }, i) =>
      callPart(
        { ...call, ...(isOwnMessage && { extra }) },
        serverIds.get(call.id),
        isStrict && i === 0,
      ),
    );
    const parts = [
      ...textParts(message.text, isOwnMessage ? ((message.extra ?? []) as Extra[]) : []),
      ...callParts,
    ];
    if (parts.length) contents.push({ role: "model", parts });
  }
  if (contents[0]?.role === "model")
    contents.unshift({ role: "user", parts: [{ text: "Go on." }] });
  return contents;
}

const textPart = (text: string): any[] => (text ? [{ text }] : []);

/** Splits the text so that what was signed is a part of its own again. */
function textParts(text: string, textExtras: Extra[]): any[] {
  const signedExtras = textExtras.flatMap(({ thoughtSignature, at }) =>
    thoughtSignature ? [{ thoughtSignature, at }] : [],
  );
  if (signedExtras.some(({ at }) => !at || at[1] > text.length)) {
    const { thoughtSignature } = signedExtras.at(-1)!; // the text has changed since
    return text ? [{ text, thoughtSignature }] : [];
  }
  const splitParts: any[] = [];
  let previousEnd = 0;
  for (const { thoughtSignature, at } of signedExtras) {
    const [signedStart, signedEnd] = at!;
    splitParts.push(...textPart(text.slice(previousEnd, signedStart)), {
      text: text.slice(signedStart, signedEnd),
      thoughtSignature,
    });
    previousEnd = Math.max(previousEnd, signedEnd);
  }
  return [...splitParts, ...textPart(text.slice(previousEnd))];
}

const plainTool = (toolName: string): string =>
  toolName.replace(/[^\w.-]/g, "_").slice(0, 64) || "unknown";

function callPart({ name, args, extra }: Call, id: string | undefined, isStrict: boolean) {
  const thoughtSignature =
    (extra as Extra)?.thoughtSignature ?? (isStrict ? NO_SIGNATURE : undefined);
  return {
    functionCall: { ...(id && { id }), name: plainTool(name), args },
    ...(thoughtSignature && { thoughtSignature }),
  };
}

/** From 3 on, a result may hold files; before that, they follow it. */
function resultParts(
  message: Message & { role: "tool" },
  id: string | undefined,
  isNewModel: boolean,
): any[] {
  const { name, text, failed, images = [] } = message;
  const fileParts = images.map((image) => toFilePart(image));
  const heldFiles = isNewModel && fileParts.length ? { parts: fileParts } : {};
  const response = failed ? { error: text } : { output: text };
  return [
    { functionResponse: { ...(id && { id }), name: plainTool(name), response, ...heldFiles } },
    ...(isNewModel ? [] : fileParts),
  ];
}

const toFilePart = ({ type, base64 }: Image) => ({ inlineData: { mimeType: type, data: base64 } });

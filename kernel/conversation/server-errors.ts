// Requests of plugins, and errors of servers and networks as sentences.
import type { Fault, HttpAnswer, HttpRequest } from "../contract.ts";
import type { Core } from "../instance.ts";
import errors from "../text/errors.json" with { type: "json" };
import { fault, usage } from "../text/faults.ts";
import { errorMessage, sealUrl, veil } from "../text/secrets.ts";
import { jsonOrText } from "../text/words.ts";
import { fetchWithRedirects, fillSecrets } from "./http-transport.ts";

export const MAX_JSON_DEPTH = 100;
export function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}

/**
 * Sends a request. Network errors and refusals become sentences in the server's own words, with a
 * hint if it is a provider's.
 */
export async function fetchForPlugin(
  core: Core,
  url: string,
  init: HttpRequest = {},
  isModels = true,
): Promise<HttpAnswer> {
  if (core.options.dry) {
    const body = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    throw fault(
      `Nothing is sent to '${veil(sealUrl(url))}' in a dry run.`,
      (body?.messages ?? body?.contents ?? body?.input) ? { dry: body } : {},
    );
  }
  const check = isModels ? "--base-url" : "the address";
  const outgoing = fillSecrets(url, init);
  const { hide } = outgoing;
  if (!URL.canParse(outgoing.url))
    throw usage(`Cannot reach '${hide(veil(sealUrl(url)))}': not a URL. Check ${check}.`);
  const response = await fetchWithRedirects(outgoing, isModels).catch((error) => {
    throw init.signal?.aborted || error.exit || error.kind
      ? error
      : networkFault(error, error.host ?? new URL(outgoing.url).host, check, hide);
  });
  if (response.ok || init.any) return response;
  const errorBody = await response.beginning(MAX_ERROR_BYTES); // some servers repeat the key
  throw answerFault(
    `${response.host} answered ${response.status}`,
    errorBody,
    response,
    isModels,
    hide,
  );
}
const MAX_ERROR_BYTES = 65_536;

function networkFault(
  error: unknown,
  where: string,
  check: string,
  hide: (text: string) => string,
): Fault {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = errors.network;
  const family = Object.keys(reasons).find((name) => code.includes(name)); // HPE_INVALID_VERSION
  const reason =
    reasons[family ?? ""]?.replace("--base-url", check) ??
    `${message || errorMessage(error)}. Check ${check} and the network.`;
  const transient = code !== "" && !/CERT|SSL|TLS|ERR_INVALID|EPROTO|HPE_|UNABLE_TO/.test(code);
  return fault(`Cannot reach '${where}': ${hide(reason)}`, { kind: "network", transient });
}

/**
 * A server's refusal as a sentence. Bodies come in a dozen shapes: a string, a list, flat, nested,
 * a web page.
 */
export function answerFault(
  subject: string,
  body: unknown,
  response?: HttpAnswer,
  isModels = true,
  hide = veil,
): Fault {
  const parsed: any = [typeof body === "string" ? jsonOrText(body) : body].flat()[0];
  const inner = parsed?.error ?? parsed?.detail ?? parsed;
  const page = typeof parsed === "string" && /^\s*(<!doctype|<html|<\?xml)/i.test(parsed);
  const title = page && /<title>([^<]*)/i.exec(parsed)?.[1]?.trim();
  const message = (inner?.message === undefined ? inner : inner.message) ?? "";
  const refusal = page ? `a web page${title ? ` ("${title}")` : ""}` : message;
  const upstream = inner?.metadata?.raw; // from the server behind a gateway
  const sentences = [refusal, ...(upstream ? [upstream] : [])].map((part) => hide(spoken(part)));
  const words = sentences.join(": ").trim().slice(0, 600);
  const status = response?.status ?? (typeof inner?.code === "number" ? inner.code : undefined);
  const code = [inner?.code, inner?.type, inner?.status, parsed?.code]
    .filter((codePart) => typeof codePart === "string")
    .join(" ");
  const details = spoken(inner?.details ?? "");
  // where Google puts it
  const delay = Number.parseFloat(/"retryDelay":"([\d.]+)s"/.exec(details)?.[1] ?? "") * 1000;
  const lasting =
    delay >= 0 ? /per ?day/i : /insufficient_quota|billing|credit|per day|daily|monthly/i;
  const forGood = lasting.test(`${code} ${words} ${delay >= 0 ? details : ""}`);
  const transient =
    status === undefined
      ? !page && !forGood && !/invalid|tool_use_failed|context_length/.test(code)
      : (status >= 500 || [408, 409, 425, 429].includes(status)) && !forGood;
  const isKey = isModels && (status === 401 || status === 403);
  const isPlace = isModels && !isKey && (status === 404 || (page && !(status >= 500)));
  const placeHint = isPlace ? CHECK_PLACE : "";
  const hint = isKey ? CHECK_KEY : placeHint;
  const sentence = `${subject}: ${words || "no reason given"}`;
  const stop = /[.!?]"?\)?$/.test(sentence) ? "" : ".";
  const after = delay >= 0 ? delay : retryAfter(response?.headers);
  const otherKind = forGood || status === 429 || status === 402 ? "quota" : "provider";
  const cause = isKey ? "key" : otherKind;
  return fault(sentence + stop + hint, {
    kind: cause,
    transient,
    ...(status !== undefined && { status }),
    ...(after >= 0 && { after }),
  });

  function spoken(words: unknown): string {
    if (typeof words === "string") return words.slice(0, MAX_ERROR_BYTES);
    return isDeep(words, MAX_JSON_DEPTH)
      ? "something nested too deeply to show"
      : (JSON.stringify(words) ?? "");
  }
}
const CHECK_KEY = " Check the key: --key, or the provider's variable.";
const CHECK_PLACE =
  " Check --model (zz --models lists what there is) and --base-url, which usually ends in /v1.";

/** In ms; NaN if the server names no time. */
function retryAfter(headers?: HttpAnswer["headers"]): number {
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return ms;
  const value = headers?.get("retry-after") || Number.NaN;
  return Number.isNaN(Number(value))
    ? Date.parse(String(value)) - Date.now()
    : Number(value) * 1000;
}

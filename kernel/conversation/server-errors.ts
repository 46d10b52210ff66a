// Requests of plugins, and errors of servers and networks as sentences.
import type { Fault, HttpAnswer, HttpRequest } from "../contract.ts";
import type { Core } from "../instance.ts";
import errors from "../text/errors.json" with { type: "json" };
import { fault, usage } from "../text/faults.ts";
import { errorMessage, sealUrl, veil } from "../text/secrets.ts";
import { isDeep, jsonOrText } from "../text/words.ts";
import { fetchWithRedirects, fillSecrets } from "./http-transport.ts";

/**
 * Sends a request. Network errors and refusals become sentences in the server's own words, with a
 * hint if it is a provider's.
 */
export async function fetchForPlugin(
  core: Core,
  requestUrl: string,
  request: HttpRequest = {},
  isModels = true,
): Promise<HttpAnswer> {
  if (core.options.dry) {
    const requestBody = typeof request.body === "string" ? JSON.parse(request.body) : undefined;
    throw fault(
      `Nothing is sent to '${veil(sealUrl(requestUrl))}' in a dry run.`,
      (requestBody?.messages ?? requestBody?.contents ?? requestBody?.input)
        ? { dry: requestBody }
        : {},
    );
  }
  const checkHint = isModels ? "--base-url" : "the address";
  const outgoing = fillSecrets(requestUrl, request);
  const { hide } = outgoing;
  if (!URL.canParse(outgoing.url))
    throw usage(
      `Cannot reach '${hide(veil(sealUrl(requestUrl)))}': not a URL. Check ${checkHint}.`,
    );
  const response = await fetchWithRedirects(outgoing, isModels).catch((error) => {
    throw request.signal?.aborted || error.exit || error.kind
      ? error
      : networkFault(error, error.host ?? new URL(outgoing.url).host, checkHint, hide);
  });
  if (response.ok || request.any) return response;
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
  hostName: string,
  checkHint: string,
  hideSecrets: (plainText: string) => string,
): Fault {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = errors.network;
  // HPE_INVALID_VERSION
  const errorFamily = Object.keys(reasons).find((candidate) => code.includes(candidate));
  const reason =
    reasons[errorFamily ?? ""]?.replace("--base-url", checkHint) ??
    `${message || errorMessage(error)}. Check ${checkHint} and the network.`;
  const transient = code !== "" && !/CERT|SSL|TLS|ERR_INVALID|EPROTO|HPE_|UNABLE_TO/.test(code);
  return fault(`Cannot reach '${hostName}': ${hideSecrets(reason)}`, {
    kind: "network",
    transient,
  });
}

/**
 * A server's refusal as a sentence. Bodies come in a dozen shapes: a string, a list, flat, nested,
 * a web page.
 */
export function answerFault(
  subject: string,
  errorBody: unknown,
  response?: HttpAnswer,
  isModels = true,
  hideSecrets = veil,
): Fault {
  const parsedBody: any = [
    typeof errorBody === "string" ? jsonOrText(errorBody) : errorBody,
  ].flat()[0];
  const innerError = parsedBody?.error ?? parsedBody?.detail ?? parsedBody;
  const isWebPage =
    typeof parsedBody === "string" && /^\s*(<!doctype|<html|<\?xml)/i.test(parsedBody);
  const pageTitle = isWebPage && /<title>([^<]*)/i.exec(parsedBody)?.[1]?.trim();
  const message = (innerError?.message === undefined ? innerError : innerError.message) ?? "";
  const refusal = isWebPage ? `a web page${pageTitle ? ` ("${pageTitle}")` : ""}` : message;
  const upstream = innerError?.metadata?.raw; // from the server behind a gateway
  const sentences = [refusal, ...(upstream ? [upstream] : [])].map((refusalPart) =>
    hideSecrets(putInWords(refusalPart)),
  );
  const spokenWords = sentences.join(": ").trim().slice(0, 600);
  const status =
    response?.status ?? (typeof innerError?.code === "number" ? innerError.code : undefined);
  const errorCode = [innerError?.code, innerError?.type, innerError?.status, parsedBody?.code]
    .filter((codePart) => typeof codePart === "string")
    .join(" ");
  const details = putInWords(innerError?.details ?? "");
  // where Google puts it
  const delayMs = Number.parseFloat(/"retryDelay":"([\d.]+)s"/.exec(details)?.[1] ?? "") * 1000;
  const lasting =
    delayMs >= 0 ? /per ?day/i : /insufficient_quota|billing|credit|per day|daily|monthly/i;
  const forGood = lasting.test(`${errorCode} ${spokenWords} ${delayMs >= 0 ? details : ""}`);
  const transient =
    status === undefined
      ? !isWebPage && !forGood && !/invalid|tool_use_failed|context_length/.test(errorCode)
      : (status >= 500 || [408, 409, 425, 429].includes(status)) && !forGood;
  const isKeyError = isModels && (status === 401 || status === 403);
  const isPlace = isModels && !isKeyError && (status === 404 || (isWebPage && !(status >= 500)));
  const placeHint = isPlace ? CHECK_PLACE : "";
  const checkHint = isKeyError ? CHECK_KEY : placeHint;
  const sentence = `${subject}: ${spokenWords || "no reason given"}`;
  const fullStop = /[.!?]"?\)?$/.test(sentence) ? "" : ".";
  const after = delayMs >= 0 ? delayMs : retryAfter(response?.headers);
  const otherKind = forGood || status === 429 || status === 402 ? "quota" : "provider";
  const faultKind = isKeyError ? "key" : otherKind;
  return fault(sentence + fullStop + checkHint, {
    kind: faultKind,
    transient,
    ...(status !== undefined && { status }),
    ...(after >= 0 && { after }),
  });

  function putInWords(errorValue: unknown): string {
    if (typeof errorValue === "string") return errorValue.slice(0, MAX_ERROR_BYTES);
    return isDeep(errorValue)
      ? "something nested too deeply to show"
      : (JSON.stringify(errorValue) ?? "");
  }
}
const CHECK_KEY = " Check the key: --key, or the provider's variable.";
const CHECK_PLACE =
  " Check --model (zz --models lists what there is) and --base-url, which usually ends in /v1.";

/** In ms; NaN if the server names no time. */
function retryAfter(headers?: HttpAnswer["headers"]): number {
  const delayMs = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (delayMs >= 0) return delayMs;
  const headerValue = headers?.get("retry-after") ?? "";
  return /^[\d.]+$/.test(headerValue)
    ? Number(headerValue) * 1000
    : Date.parse(headerValue) - Date.now();
}

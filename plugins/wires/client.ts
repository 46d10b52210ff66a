// Sends the requests of Chat Completions and Responses. The official client makes those of Azure's dated API, since it
// knows the paths of deployments; it is given zz's own transport, so it never holds a real key, and its answers are
// handed on unread. All others go out directly: the client costs 7 to 12 ms, a tenth of a whole one-shot.
import type { ChatRequest, Endpoint, HttpAnswer, Zz } from "zz";
import { tryTo, usage } from "zz/text";
import { baseOf, memory, type Preset, quirksOf } from "./contract.ts";

const PATH = /\/(chat\/completions|responses)$/;
const PATHS = { chat: "/chat/completions", responses: "/responses" };
const OFFICIAL = "https://api.openai.com/v1";

/** Where requests go. At Azure, that is a deployment if a version of the API is set, else one of the newer paths. */
export function placeOf(zz: Zz<any>, preset: Preset, endpoint: Endpoint): { base: string; version?: string } {
  const base = baseOf(preset, endpoint).replace(PATH, "");
  if (!base)
    throw usage(
      `Cannot ask '${preset.name}': no address is set. Set ${preset.address}, or pass --base-url URL or "providers": {"${preset.name}": {"url": …}}.`,
    );
  if (quirksOf(preset, endpoint).auth !== "api-key") return { base };
  const at = tryTo(() => new URL(base));
  const version = at?.searchParams.get("api-version") ?? zz.io.variable("OPENAI_API_VERSION");
  const plain = base.replace(/[?#].*$/, "").replace(/\/+$/, "");
  const isBare = at ? /^\/(openai\/?)?$/.test(at.pathname) : false;
  if (!version || /\/v1$/.test(plain)) return { base: isBare ? `${plain.replace(/\/openai$/, "")}/openai/v1` : plain };
  return { base: isBare ? `${plain.replace(/\/openai$/, "")}/openai` : plain, version };
}

/** The headers: the placeholder of the key, and what else the person wants to send with each request. */
export function headersOf(zz: Zz<any>, preset: Preset, endpoint: Endpoint): Record<string, string> {
  const { key, own = {} } = endpoint;
  const { auth } = quirksOf(preset, endpoint);
  const { name, key: variable } = preset;
  const { base } = placeOf(zz, preset, endpoint);
  const isLocal = /^http:\/\/localhost[:/]/.test(preset.url); // needs no key
  if (!key && variable && !isLocal && base === preset.url)
    throw usage(
      `Cannot ask '${name}': no key is set. Set ${variable}, or pass --key KEY (--base-url URL for another server).`,
    );
  const isOfficial = base === OFFICIAL;
  const organization = own.organization ?? (isOfficial ? zz.io.variable("OPENAI_ORG_ID") : undefined);
  const project = own.project ?? (isOfficial ? zz.io.variable("OPENAI_PROJECT_ID") : undefined);
  const more = Object.entries(Object(own.headers)).map(([header, value]) => [header.toLowerCase(), String(value)]);
  return {
    // Local servers need no key, but some refuse a request without one.
    ...(auth ? { [auth]: `${key ?? "none"}` } : { authorization: `Bearer ${key ?? "none"}` }),
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(organization ? { "openai-organization": String(organization) } : {}),
    ...(project ? { "openai-project": String(project) } : {}),
    ...Object.fromEntries(more),
  };
}

async function post(
  zz: Zz<any>,
  preset: Preset,
  endpoint: Endpoint,
  to: "chat" | "responses",
  body: object,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const headers = headersOf(zz, preset, endpoint);
  const { base, version } = placeOf(zz, preset, endpoint);
  if (!version || !URL.canParse(base)) {
    const text = JSON.stringify(body, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));
    return zz.fetch(`${base}${PATHS[to]}`, { method: "POST", headers, body: text, signal });
  }
  let failed: unknown;
  const { authorization, ...others } = headers;
  const how = {
    ...{
      apiKey: `${endpoint.key ?? "none"}`,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
    },
    ...{ baseURL: base, maxRetries: 0, timeout: NO_LIMIT, logLevel: "off" as const },
    defaultHeaders: others,
    fetch: (async (url: string, init: RequestInit) => {
      try {
        return asResponse(
          await zz.fetch(url, {
            method: "POST",
            headers: kept(init, headers),
            body: wellFormed(init.body),
            signal: init.signal!,
          }),
        );
      } catch (error) {
        failed = error; // in the server's own words
        throw error;
      }
    }) as never,
  };
  const { AzureOpenAI } = await import("openai/azure");
  const client = new AzureOpenAI({ ...how, apiVersion: version });
  try {
    const asked =
      to === "chat"
        ? client.chat.completions.create(body as never, { signal })
        : client.responses.create(body as never, { signal });
    return (await asked.asResponse()) as unknown as HttpAnswer;
  } catch (error) {
    throw signal.aborted ? signal.reason : (failed ?? error);
  }
}

const refusedOf = memory<Set<string>>(() => new Set());

/** How a wire builds a request, and what it may leave out of it. */
export interface Leaving {
  to: "chat" | "responses";
  bodyOf(without: Set<string>): Record<string, unknown>;
  refused(message: string, body: Record<string, unknown>, without: Set<string>): string | undefined; // what to omit
}

/** Sends a request. What a server refuses is left out from then on, for the same address and model. */
export async function send(
  zz: Zz<any>,
  preset: Preset,
  { endpoint, model }: ChatRequest,
  signal: AbortSignal,
  { to, bodyOf, refused }: Leaving,
): Promise<HttpAnswer> {
  const without = refusedOf(`${to} ${baseOf(preset, endpoint)}`, model);
  for (;;) {
    const body = bodyOf(without);
    try {
      return await post(zz, preset, endpoint, to, body, signal);
    } catch (error) {
      const { status, message } = error as Error & { status?: number };
      const part = refused(message, body, without);
      if ((status !== 400 && status !== 422) || !part) throw error;
      without.add(part);
    }
  }
}

const NO_LIMIT = 2 ** 31 - 1; // ms: zz itself limits how long a server may be silent

/** The client's headers that a server needs, without those that describe this machine. */
function kept(init: RequestInit, own: Record<string, string>): Record<string, string> {
  const all = init.headers as unknown as Iterable<[string, string]>;
  return Object.fromEntries([...all].filter(([name]) => name in own || name === "api-key"));
}

/** Replaces lone surrogates, which break some servers' decoders. */
const wellFormed = (body: unknown): string => {
  const text = String(body);
  if (!/\\ud[89a-f]/i.test(text)) return text;
  return JSON.stringify(JSON.parse(text), (_, value) => (typeof value === "string" ? value.toWellFormed() : value));
};

/** Adds what the client looks at before it hands on the answer. */
const asResponse = (answer: HttpAnswer) =>
  Object.assign(answer, { headers: Object.assign(answer.headers, { entries: () => [] as [string, string][] }) });

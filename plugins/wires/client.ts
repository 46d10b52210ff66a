// Every request of Chat Completions and Responses, by OpenAI's own client: its paths, its headers,
// Azure's dates. It is given zz's transport, so it never holds a real key, and zz tries again; its
// answers are handed on unread.
import type { OpenAI } from "openai/client";
import type { ChatRequest, Endpoint, HttpAnswer, Zz } from "zz";
import { tryTo, usage } from "zz/text";
import { baseOf, needKey, type Preset, quirksOf, rememberByModel, toJson } from "./wire-types.ts";

const REQUEST_PATH = /\/(chat\/completions|responses)$/;
const OFFICIAL = "https://api.openai.com/v1";

/**
 * Where requests go. At Azure, that is a deployment if a version of the API is set, else one of the
 * newer paths.
 */
function placeOf(zz: Zz, preset: Preset, endpoint: Endpoint): { base: string; version?: string } {
  const base = baseOf(preset, endpoint).replace(REQUEST_PATH, "");
  if (!base)
    throw usage(
      `Cannot ask '${preset.name}': no address is set. Set ${preset.address}, ` +
        `or pass --base-url URL or "providers": {"${preset.name}": {"url": …}}.`,
    );
  if (quirksOf(preset, endpoint).auth !== "api-key") return { base };
  const address = tryTo(() => new URL(base));
  const version = address?.searchParams.get("api-version") ?? zz.io.variable("OPENAI_API_VERSION");
  const plainBase = base.replace(/[?#].*$/, "").replace(/\/+$/, "");
  const isDated = version && !/\/v1$/.test(plainBase);
  const apiPath = isDated ? "/openai" : "/openai/v1";
  const isBareHost = address && /^\/(openai\/?)?$/.test(address.pathname);
  return {
    base: isBareHost ? plainBase.replace(/\/openai$/, "") + apiPath : plainBase,
    ...(isDated && { version }),
  };
}

/** Asks by the client, and hands on what comes as it comes. */
export async function request(
  zz: Zz,
  preset: Preset,
  endpoint: Endpoint,
  signal: AbortSignal,
  sendRequest: (client: OpenAI) => { asResponse(): Promise<unknown> },
): Promise<HttpAnswer> {
  const client = await clientOf(zz, preset, endpoint);
  try {
    return (await sendRequest(client).asResponse()) as HttpAnswer;
  } catch (clientError) {
    // What zz's transport says is in the server's own words; the client has put an error of its own
    // around it.
    throw signal.aborted ? signal.reason : ((clientError as Error).cause ?? clientError);
  }
}

async function clientOf(zz: Zz, preset: Preset, endpoint: Endpoint): Promise<OpenAI> {
  const { base, version } = placeOf(zz, preset, endpoint);
  const ownHeaders = headersOf(preset, endpoint, base);
  if (!URL.canParse(base)) await zz.fetch(base); // which says so
  const isOfficial = base === OFFICIAL;
  const { organization, project } = Object(endpoint.own);
  const accountIds = {
    organization: organization ?? ((isOfficial && zz.io.variable("OPENAI_ORG_ID")) || null),
    project: project ?? ((isOfficial && zz.io.variable("OPENAI_PROJECT_ID")) || null),
  };
  const chosenHeaders: Record<string, string | null> = {
    "openai-organization": accountIds.organization,
    "openai-project": accountIds.project,
  };
  const options = {
    ...accountIds,
    apiKey: `${endpoint.key ?? "none"}`,
    adminAPIKey: null,
    webhookSecret: null,
    baseURL: base,
    maxRetries: 0,
    timeout: NO_LIMIT,
    logLevel: "off" as const,
    defaultHeaders: ownHeaders,
    fetch: ((requestUrl: string, clientRequest: ClientRequest) => {
      const sentHeaders = [...clientRequest.headers].filter(
        ([headerName, headerValue]) =>
          SENT_HEADERS.test(headerName) ||
          headerName in ownHeaders ||
          chosenHeaders[headerName] === headerValue,
      );
      const bodyField =
        clientRequest.body === undefined ? {} : { body: wellFormed(clientRequest.body) };
      const { method = "GET", signal } = clientRequest;
      return zz
        .fetch(requestUrl, {
          method,
          signal,
          headers: Object.fromEntries(sentHeaders),
          ...bodyField,
        })
        .then(asResponse);
    }) as never,
  };
  const { AzureOpenAI, OpenAI } = await import("./official.ts");
  return version ? new AzureOpenAI({ ...options, apiVersion: version }) : new OpenAI(options);
}

/** What the client hands to its transport. */
interface ClientRequest {
  headers: Iterable<[string, string]>;
  method?: string;
  body?: string;
  signal: AbortSignal;
}

/**
 * The headers that a server needs; not those that describe this machine, or that the client found
 * in the environment.
 */
const SENT_HEADERS = /^(accept|authorization|content-type)$/;
const NO_LIMIT = 2 ** 31 - 1; // ms: zz itself limits how long a server may be silent

/** The placeholder of the key, and what else the person wants to send with each request. */
function headersOf(
  preset: Preset,
  endpoint: Endpoint,
  baseUrl: string,
): Record<string, string | null> {
  const { key, own = {} } = endpoint;
  const isLocal = /^http:\/\/localhost[:/]/.test(preset.url); // needs no key
  if (preset.key && !isLocal) needKey(preset, key, baseUrl);
  const { auth } = quirksOf(preset, endpoint);
  // local servers need no key, but some refuse a request without one
  const sentKey = `${key ?? "none"}`;
  const isBasic = !key && /^https?:\/\/[^/]*@/.test(baseUrl); // the user and password go instead
  const extraHeaders = Object.entries(Object(own.headers)).map(([headerName, headerValue]) => [
    headerName.toLowerCase(),
    String(headerValue),
  ]);
  return {
    ...(auth
      ? { [auth]: sentKey, authorization: null }
      : { authorization: isBasic ? null : `Bearer ${sentKey}` }),
    ...Object.fromEntries(extraHeaders),
  };
}

const refusedOf = rememberByModel<Set<string>>(() => new Set());

/** How a wire builds a request, and what it may leave out of it. */
interface Leaving {
  to: "chat" | "responses";
  bodyOf(without: Set<string>): Record<string, unknown>;
  // what to omit
  refused(
    message: string,
    requestBody: Record<string, unknown>,
    without: Set<string>,
  ): string | undefined;
}

/**
 * Sends a request. What a server refuses is left out from then on, for the same address and model.
 */
export async function send(
  zz: Zz,
  preset: Preset,
  { endpoint, model }: ChatRequest,
  signal: AbortSignal,
  { to, bodyOf, refused }: Leaving,
): Promise<HttpAnswer> {
  const without = refusedOf(`${to} ${baseOf(preset, endpoint)}`, model);
  for (;;) {
    const requestBody = bodyOf(without) as { model: string; messages: []; stream: true };
    try {
      return await request(zz, preset, endpoint, signal, (client) =>
        to === "chat"
          ? client.chat.completions.create(requestBody, { signal })
          : client.responses.create(requestBody, { signal }),
      );
    } catch (requestError) {
      const { status, message } = requestError as Error & { status?: number };
      const refusedPart = refused(message, requestBody, without);
      if ((status !== 400 && status !== 422) || !refusedPart) throw requestError;
      without.add(refusedPart);
    }
  }
}

/** Replaces lone surrogates. */
const wellFormed = (jsonBody: string): string =>
  /\\ud[89a-f]/i.test(jsonBody) ? toJson(JSON.parse(jsonBody)) : jsonBody;

/** Adds what the client looks at before it hands on the answer. */
const asResponse = (httpAnswer: HttpAnswer) =>
  Object.assign(httpAnswer, { headers: Object.assign(httpAnswer.headers, { entries: () => [] }) });

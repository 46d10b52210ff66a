// The official package's client, given zz's own transport: it makes the request, and its answer is handed on unread.
import type { Endpoint, HttpAnswer, Zz } from "zz";
import { usage } from "zz/text";
import { baseOf, type Preset, quirksOf } from "./contract.ts";

const PATHS = { chat: "/chat/completions", responses: "/responses" } as const;

export async function post(
  zz: Zz<any>,
  preset: Preset,
  endpoint: Endpoint,
  to: keyof typeof PATHS,
  body: object,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const base = baseOf(preset, endpoint).replace(/\/(chat\/completions|responses)$/, "");
  return zz.fetch(`${base}${PATHS[to]}`, {
    method: "POST",
    headers: headersOf(zz, preset, endpoint),
    body: JSON.stringify(body, (_, value) => (typeof value === "string" ? value.toWellFormed() : value)),
    signal,
  });
}

export function headersOf(_zz: Zz<any>, preset: Preset, endpoint: Endpoint): Record<string, string> {
  const { key } = endpoint;
  const { auth } = quirksOf(preset, endpoint);
  const { name, key: variable } = preset;
  if (!baseOf(preset, endpoint))
    throw usage(
      `Cannot ask '${name}': no address is set. Set ${preset.address}, or pass --base-url URL or "providers": {"${name}": {"url": …}}.`,
    );
  const isLocal = /^http:\/\/localhost[:/]/.test(preset.url); // needs none
  if (!key && variable && !isLocal && baseOf(preset, endpoint) === preset.url)
    throw usage(
      `Cannot ask '${name}': no key is set. Set ${variable}, or pass --key KEY (--base-url URL for another server).`,
    );
  // Local servers need no key, but some refuse a request without one.
  const said: Record<string, string> = auth
    ? { [auth]: `${key ?? "none"}` }
    : { authorization: `Bearer ${key ?? "none"}` };
  return { ...said, "content-type": "application/json", accept: "text/event-stream" };
}

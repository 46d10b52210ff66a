// Choosing a model, and what is known of it.
import type { Endpoint, Model, Provider, Saved } from "./contract.ts";
import { type Core, type LiveChat, NO_ONE, valuesOf } from "./core.ts";
import { usage } from "./faults.ts";
import { PATIENCE } from "./limits.ts";
import { reason, sealUrl, secret } from "./secrets.ts";
import { clean, unknown } from "./text.ts";

export async function listModels(core: Core, all: boolean): Promise<{ models: Model[]; failures: string[] }> {
  const { model, baseUrl } = core.options;
  const only = all ? undefined : (model?.split("/")[0] ?? (baseUrl ? defaultProvider(core) : undefined));
  const asked = only ? [providerNamed(core, only)] : valuesOf(core.providers);
  const failures: string[] = [];
  const lists = asked.map(async ({ name, models }) => {
    const found = await models(AbortSignal.timeout(PATIENCE), endpointOf(core, name)).catch((error) => {
      if (only) throw error;
      failures.push(`${name}: ${reason(error)}`);
      return [];
    });
    return found.filter(({ id }) => clean(id) === id).map((model) => ({ ...model, id: `${name}/${model.id}` }));
  });
  return { models: (await Promise.all(lists)).flat(), failures };
}

/** The provider that a model's name names; the first slash splits. */
export function providerNamed(core: Core, model: string): Provider {
  const [name = ""] = model.split("/");
  const provider = core.providers.get(name)?.value;
  if (provider) return provider;
  const why = unknown("provider", name, core.providers.keys());
  throw usage(`Cannot use model '${model}': a model is named provider/model, and ${why}`);
}

export function endpointOf(core: Core, provider: string): Endpoint {
  const { options, providers } = core;
  const own = options.settings.providers?.[provider];
  const from = providers.get(provider)?.value;
  const meant = core.namedProvider || wantedModel(core)?.split("/")[0] || (defaultProvider(core) ?? provider);
  const isMeant = meant === provider; // else the flags speak of another, whose key is nobody else's
  const variable = (of?: { variable: string }) => of && core.io.env[of.variable];
  const url = (isMeant && options.baseUrl) || own?.url || variable(from?.url);
  const key = (isMeant && options.key) || own?.key || variable(from?.key) || own?.kept;
  return { ...(url && { url: sealUrl(url) }), ...(key && { key: secret(key) }) };
}

/** Which model to talk to: --model, ZZ_MODEL, the session's, the settings', a provider whose key is set, a local server that answers within
 * 300 ms. Undefined when there is none. */
/** As the person named it. */
export function wantedModel(core: Core, earlier?: string): string | undefined {
  const { options, providers, io } = core;
  const { model, baseUrl, settings } = options;
  const named = model || io.env.ZZ_MODEL || earlier || settings.model || settings.models?.chat;
  const first = named && baseUrl && !providers.has(named.split("/")[0]!) && defaultProvider(core);
  return first ? `${first}/${named}` : named;
}

/** A model's name alone, as in `gpt-4o`: with its provider, where just one offers it. */
export async function withProvider(core: Core, given: string): Promise<string> {
  if (given.includes("/") || core.providers.has(given)) return given;
  const fits = (await listModels(core, true)).models.filter(({ id }) => id.slice(id.indexOf("/") + 1) === given);
  return fits.length === 1 ? fits[0]!.id : given;
}

export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const { baseUrl } = core.options;
  const wanted = wantedModel(core, earlier);
  const named = wanted && (await withProvider(core, wanted));
  if (named) return providerNamed(core, named) && named.includes("/") ? named : firstModel(core, named);
  const first = baseUrl && defaultProvider(core);
  if (first) return firstModel(core, first);
  const signal = AbortSignal.timeout(LOCAL_LIMIT); // for the first word of a server; then it may take its time
  const offers = valuesOf(core.providers).map((one) => [one.name, one.auto?.(signal, endpointOf(core, one.name))] as const);
  const answers = offers.map(([name, model]) => [name, Promise.resolve(model).catch(() => undefined)] as const);
  for (const [name, model] of offers) if (typeof model === "string") return `${name}/${model}`;
  for (const [name, model] of answers) if (await model) return `${name}/${await model}`;
  return undefined;
}

/** Of an address that was given without a name. */
const defaultProvider = (core: Core): string | undefined => valuesOf(core.providers).find(({ role }) => role === "default")?.name;

/** Where no other answers. */
export async function fallbackModel(core: Core): Promise<string> {
  const fallback = valuesOf(core.providers).find(({ role }) => role === "fallback");
  if (!fallback) throw usage(NO_MODEL);
  return firstModel(core, fallback.name);
}

export async function firstModel(core: Core, name: string): Promise<string> {
  const provider = providerNamed(core, name);
  const signal = AbortSignal.timeout(PATIENCE);
  const endpoint = endpointOf(core, name);
  const model = (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
  if (!model) throw usage(`Cannot use '${name}': it offers no model. Name one with --model ${name}/MODEL.`);
  return `${name}/${model}`;
}

const LOCAL_LIMIT = 300;

export const NO_MODEL =
  "No model to ask: set OPENAI_API_KEY, start Ollama, or name one with --model provider/model (and --base-url URL for a server of your " +
  "own). Without any, --model offline finds definitions, references and TODOs in this folder.";

export async function learnWindow(core: Core, chat: LiveChat): Promise<void> {
  const { model } = chat;
  const window = (await modelNamed(core, model))?.window;
  if (window && chat.model === model) chat.window = window;
}

/** What the provider says of the model; of its window also what the person says. One that does not answer leaves it unknown. */
export async function modelNamed(core: Core, model: string, quick = false): Promise<Model | undefined> {
  const known = core.models.get(model);
  if (known) return known;
  const provider = providerNamed(core, model);
  const id = model.slice(provider.name.length + 1);
  if (quick && !provider.model) return undefined;
  const endpoint = endpointOf(core, provider.name);
  const patience = () => AbortSignal.timeout(PATIENCE);
  const one = await (async () => provider.model?.(id, patience, endpoint))().catch(() => undefined);
  const all = one?.window || quick ? [] : await provider.models(patience(), endpoint).catch(() => []);
  const found = all.find((other) => other.id === id) ?? one;
  const window = found?.window ?? core.options.settings.window;
  if (!found && !window) return undefined;
  const told = { ...found, id, ...(window && { window }) };
  if (window) core.models.set(model, told);
  return told;
}

/** The model that a session used last. */
export const modelOf = ({ header, branch }: Saved): string =>
  String(branch().findLast(({ type }) => type === "model")?.model ?? header.model).replace(NO_ONE, "");

// Choosing a model, and what is known about it.

import type {
  Endpoint,
  Model,
  Provider,
  Saved,
  Secret as SecretValue,
  Settings,
} from "../contract.ts";
import { type Core, type LiveChat, NO_MODEL_ID, registeredValues } from "../instance.ts";
import { allProviders, ownSettings } from "../settings/providers.ts";
import { sourcesOf } from "../settings/settings-files.ts";
import { ENDPOINT, SETTINGS } from "../settings/settings-table.ts";
import { programs } from "../system/other-programs.ts";
import { clockOf } from "../text/clock.ts";
import { PROVIDER_TIMEOUT_MS } from "../text/deadlines.ts";
import { nearest, shortenName, unknown } from "../text/did-you-mean.ts";
import { codeOf, usage } from "../text/faults.ts";
import {
  errorMessage,
  makeSecret,
  revealSecret,
  Secret,
  sealSecrets,
  sealUrl,
} from "../text/secrets.ts";
import { clean } from "../text/show-safely.ts";
import { tryTo } from "../text/words.ts";

export async function listModels(
  core: Core,
  isOfAll: boolean,
): Promise<{ models: Model[]; failures: string[] }> {
  const { model, baseUrl } = core.options;
  const only = isOfAll
    ? undefined
    : (model?.split("/")[0] ?? (baseUrl ? defaultProvider(core) : undefined));
  const isConfigured = ({ name, role }: Provider) =>
    role !== "service" &&
    (role !== "named" || endpointOf(core, name).key || endpointOf(core, name).url);
  const asked = only
    ? [providerNamed(core, only)]
    : [...allProviders(core).values()].filter(isConfigured);
  const failures: string[] = [];
  const lists = asked.map(async ({ name, models }) => {
    const list = async () => {
      refuseUnknownFields(core, name);
      return models(clockOf(core.io).limit(PROVIDER_TIMEOUT_MS), endpointOf(core, name));
    };
    const listed = await list().catch((error) => {
      if (only) throw error;
      failures.push(`${name}: ${errorMessage(error)}`);
      return [];
    });
    return listed
      .filter(({ id }) => clean(id) === id)
      .map((model) => ({ ...model, id: `${name}/${model.id}` }));
  });
  return { models: (await Promise.all(lists)).flat(), failures };
}

/** The provider in a model's name, which is the part before the first slash. */
export function providerNamed(core: Core, model: string): Provider {
  const [name = ""] = model.split("/");
  const providers = allProviders(core);
  const provider = providers.get(name);
  refuseUnknownFields(core, name);
  if (provider) return provider;
  const { like } = ownSettings(core)[name] ?? {};
  if (like)
    throw usage(
      `Cannot use provider '${name}': it is said to be like '${like}', and ${unknown("provider", like, providers.keys())}`,
    );
  throw usage(
    `Cannot use model '${model}': a model is named provider/model, and ${unknown("provider", name, providers.keys())}`,
  );
}

/**
 * What is configured but not understood is not used: with a misspelt "url", the person's words
 * would go to another server.
 */
function refuseUnknownFields(core: Core, name: string): void {
  const { providers = {} } = core.options.settings;
  const knownNames = [...allProviders(core).keys()];
  const misspelt = Object.keys(providers).find(
    (configured) => !knownNames.includes(configured) && nearest(configured, knownNames) === name,
  );
  const refuse = (reason: string) => usage(`Cannot use provider '${name}': ${reason}`);
  const reason = whyNotUnderstood(core, "providers");
  if (reason && allProviders(core).get(name)?.role !== "fallback") throw refuse(reason);
  if (misspelt !== undefined)
    throw refuse(
      `the settings describe '${shortenName(misspelt)}', which nobody has. Correct its name, or say what it is "like".`,
    );
  const fields = Object.keys(ENDPOINT.properties);
  const strange = Object.keys(providers[name] ?? {}).find(
    (field) => field !== "kept" && !fields.includes(field),
  );
  if (strange === undefined) return;
  throw refuse(
    `in its settings ${unknown("field", shortenName(strange), fields)} Correct it, so that nothing goes elsewhere.`,
  );
}

/** Why zz stops at a setting that it does not know: one that it has was probably meant. */
function whyNotUnderstood(core: Core, ...meant: (keyof Settings)[]): string | undefined {
  const names = [
    ...Object.keys(SETTINGS),
    ...core.configs.map(({ value }) => value.section),
    ...core.plugins.map(({ name }) => name),
  ];
  const { home } = sourcesOf(core.options);
  const isMisspelt = (name: string) =>
    !names.includes(name) && meant.some((known) => known === nearest(name, names));
  const name = Object.keys(home).find(isMisspelt);
  const tasks =
    meant.includes("models") && !home.models?.chat ? Object.keys(home.models ?? {}) : [];
  const task = tasks.find((task) => nearest(task, ["chat"]));
  const strange = name ?? task;
  if (strange === undefined) return undefined;
  const why = unknown("setting", shortenName(strange), name === undefined ? ["chat"] : names);
  return `${why} Correct it, so that nothing goes elsewhere.`;
}

export function endpointOf(core: Core, provider: string): Endpoint {
  const { options } = core;
  const set = options.settings.providers?.[provider];
  const {
    url: _,
    key: __,
    kept: ___,
    key_command: command,
    key_command_seconds: seconds,
    ...more
  } = ownSettings(core)[provider] ?? {};
  const from = allProviders(core).get(provider);
  const meant =
    core.namedProvider || wantedModel(core)?.split("/")[0] || (defaultProvider(core) ?? provider);
  const isMeant = meant === provider; // else the flags are for another provider
  const variable = (of?: { variable: string }) => of && core.io.env[of.variable];
  const url = (isMeant && options.baseUrl) || set?.url || variable(from?.url);
  const [keySource, key] =
    [
      ["--key", isMeant && options.key] as const,
      ["the setting", set?.key] as const,
      [from?.key?.variable ?? "", variable(from?.key)] as const,
      ["key_command", command && commandKey(core, provider, command, seconds)] as const,
      ["keys.json", set?.kept] as const,
    ].find(([, given]) => given) ?? [];
  const otherFields = Object.keys(more).length
    ? { own: sealSecrets("", more) as Record<string, unknown> }
    : {};
  const aliased =
    // its other name has the same
    !url && more.like && core.providers.has(more.like) ? endpointOf(core, more.like) : {};
  return {
    ...aliased,
    ...(url && { url: sealUrl(url) }),
    ...(key && {
      key: checkedKey({ provider, source: keySource!, pattern: from?.key?.pattern }, key),
    }),
    ...otherFields,
  };
}

/** On its first use, and so before any request, what is not a key is refused. */
function checkedKey(
  { provider, source, pattern }: { provider: string; source: string; pattern?: string | undefined },
  given: string | SecretValue,
): Secret {
  const secret = typeof given === "string" ? makeSecret(given) : given;
  const keys = new RegExp(`^(?:${pattern ?? "[\\x21-\\x7e]+"})$`);
  return new Secret(() => {
    const key = String(revealSecret(secret)).trim();
    if (keys.test(key)) return key;
    throw usage(
      `Cannot use the key of '${provider}': what ${source} gives is not one. A key is one word in one line. Copy it again, and keep it with zz --keys set ${provider}.`,
    );
  });
}

// by command and limit: it runs once, when its key is first needed
const commandKeys = new Map<string, Secret>();
function commandKey(
  { options, io }: Core,
  provider: string,
  command: string,
  seconds = KEY_COMMAND_SECONDS,
): Secret {
  const name = `${seconds} ${command}`;
  const keySecret =
    commandKeys.get(name) ??
    new Secret(() => fetchKey(options.home, io.env, provider, command, seconds));
  commandKeys.set(name, keySecret);
  return keySecret;
}
const KEY_COMMAND_SECONDS = 10;

/**
 * Runs the command and returns its first line. Without stdin and terminal it cannot ask; its time
 * is limited.
 */
function fetchKey(
  home: string,
  env: NodeJS.ProcessEnv,
  provider: string,
  command: string,
  seconds: number,
): string {
  const refuse = (reason: string) =>
    usage(
      `Cannot get the key of '${provider}' by its key_command: ${reason}. Run it yourself, and fix it.`,
    );
  const runOptions = {
    cwd: home,
    env,
    timeout: seconds * 1_000,
    killSignal: "SIGKILL",
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  };
  const { pid, status, stdout, error } = programs(home, env).run(
    "sh",
    ["-c", command],
    runOptions as object,
  );
  if (error) tryTo(() => process.kill(-pid, "SIGKILL")); // with everything that it started
  if (codeOf(error) === "ETIMEDOUT")
    throw refuse(
      `it took longer than ${seconds} s (key_command_seconds), or waits for somebody to answer`,
    );
  if (error || status !== 0)
    throw refuse(error ? errorMessage(error) : `it ended with exit code ${status}`);
  const lines = stdout.toString().trimEnd().split("\n");
  const key = lines[0]!.trim();
  if (!key) throw refuse("its first line is empty");
  if (lines.length > MAX_KEY_LINES || !/^[\x21-\x7e]{4,4096}$/.test(key))
    throw refuse("what it printed is not a key, which is one word in one line");
  return key;
}
const MAX_KEY_LINES = 20; // lines that it prints; more would be a file of something else

/** The model that the person named, if any. */
export function wantedModel(core: Core, earlier?: string): string | undefined {
  const { options, io } = core;
  const { model, baseUrl, settings } = options;
  const named = model || io.env.ZZ_MODEL || earlier || settings.model || settings.models?.chat;
  const first =
    named && baseUrl && !allProviders(core).has(named.split("/")[0]!) && defaultProvider(core);
  return first ? `${first}/${named}` : named;
}

/**
 * Completes a model's name without a provider, such as `gpt-4o` or a part of it, if just one model
 * fits.
 */
export async function completeModelName(core: Core, modelName: string): Promise<string> {
  if (modelName.includes("/") || allProviders(core).has(modelName)) return modelName;
  const { models } = await listModels(core, true);
  const bareName = ({ id }: Model) => id.slice(id.indexOf("/") + 1).toLowerCase();
  const exactMatches = models.filter((model) => bareName(model) === modelName.toLowerCase());
  const fits = exactMatches.length
    ? exactMatches
    : models.filter((model) => bareName(model).includes(modelName.toLowerCase()));
  return fits.length === 1 ? fits[0]!.id : modelName;
}

/**
 * By --model, ZZ_MODEL, the session, the settings, a provider with a key, or a local server that
 * answers in 300 ms. Undefined: none.
 */
export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const { baseUrl } = core.options;
  const wanted = wantedModel(core, earlier);
  const named = wanted && (await completeModelName(core, wanted));
  if (named)
    return providerNamed(core, named) && named.includes("/") ? named : firstModel(core, named);
  const first = baseUrl && defaultProvider(core);
  if (first) return firstModel(core, first);
  const reason = whyNotUnderstood(core, "model", "models");
  if (reason) throw usage(`Cannot choose a model: ${reason}`);
  // until the first byte; after that a server may take its time
  const signal = clockOf(core.io).limit(LOCAL_LIMIT_MS);
  const offers = [...allProviders(core).values()].map(
    (provider) =>
      [provider.name, provider.auto?.(signal, endpointOf(core, provider.name))] as const,
  );
  const answers = offers.map(
    ([name, model]) => [name, Promise.resolve(model).catch(() => undefined)] as const,
  );
  for (const [name, model] of offers) if (typeof model === "string") return `${name}/${model}`;
  for (const [name, model] of answers) if (await model) return `${name}/${await model}`;
  return undefined;
}

/** The provider for an address without a name. */
const defaultProvider = (core: Core): string | undefined =>
  registeredValues(core.providers).find(({ role }) => role === "default")?.name;

/** The model to use when no other answers. */
export async function fallbackModel(core: Core): Promise<string> {
  const fallback = registeredValues(core.providers).find(({ role }) => role === "fallback");
  if (!fallback) throw usage(NO_MODEL_MESSAGE);
  return firstModel(core, fallback.name);
}

export async function firstModel(core: Core, name: string): Promise<string> {
  const provider = providerNamed(core, name);
  const signal = clockOf(core.io).limit(PROVIDER_TIMEOUT_MS);
  const endpoint = endpointOf(core, name);
  const model =
    (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
  if (!model)
    throw usage(`Cannot use '${name}': it offers no model. Name one with --model ${name}/MODEL.`);
  return `${name}/${model}`;
}

const LOCAL_LIMIT_MS = 300;

export const NO_MODEL_MESSAGE =
  "No model to ask: type /setup at the prompt, set OPENAI_API_KEY, start Ollama, or name one with --model provider/model (and --base-url " +
  "URL for a server of your own). Without any, --model offline finds definitions, references and TODOs in this folder.";

export async function learnWindow(core: Core, chat: LiveChat): Promise<void> {
  const [{ model }, { models }] = [chat, core];
  // its provider may be gone
  const description = await describeModel(core, model).catch(() => undefined);
  if (chat.model === model && core.models === models)
    Object.assign(chat, { window: description?.window }); // the old one stays until then
}

/**
 * What the provider says about a model; for its window the person's setting counts as well.
 * Undefined if nobody knows.
 */
export async function describeModel(
  core: Core,
  model: string,
  quick = false,
): Promise<Model | undefined> {
  const { models } = core; // others take their place when what was said no longer counts
  const description = models.get(model);
  if (description || !model) return description;
  const provider = providerNamed(core, model);
  const id = model.slice(provider.name.length + 1);
  if (quick && !provider.model) return undefined;
  const endpoint = endpointOf(core, provider.name);
  const patience = () => clockOf(core.io).limit(PROVIDER_TIMEOUT_MS);
  const described = await (async () => provider.model?.(id, patience, endpoint))().catch(
    () => undefined,
  );
  const listedModels =
    described?.window || quick ? [] : await provider.models(patience(), endpoint).catch(() => []);
  const match = listedModels.find((candidate) => candidate.id === id) ?? described;
  const window = match?.window ?? core.options.settings.window;
  if (!match && !window) return undefined;
  const told = { ...match, id, ...(window && { window }) };
  if (window) models.set(model, told);
  return told;
}

/** The last model that a session used, on whichever branch: going back does not change it. */
export const modelOfSession = ({ header, entries }: Saved): string =>
  String(entries.findLast(({ type }) => type === "model")?.model ?? header.model).replace(
    NO_MODEL_ID,
    "",
  );

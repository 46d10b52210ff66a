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
import { ownValue, tryTo } from "../text/words.ts";

export async function listModels(
  core: Core,
  isOfAll: boolean,
): Promise<{ models: Model[]; failures: string[] }> {
  const { model, baseUrl } = core.options;
  const onlyProvider = isOfAll
    ? undefined
    : (model?.split("/")[0] ?? (baseUrl ? defaultProvider(core) : undefined));
  const isConfigured = ({ name, role }: Provider) =>
    role !== "service" &&
    (role !== "named" || endpointOf(core, name).key || endpointOf(core, name).url);
  const askedProviders = onlyProvider
    ? [providerNamed(core, onlyProvider)]
    : [...allProviders(core).values()].filter(isConfigured);
  const failures: string[] = [];
  const pendingLists = askedProviders.map(async ({ name, models }) => {
    const fetchList = async () => {
      refuseUnknownFields(core, name);
      return models(clockOf(core.io).limit(PROVIDER_TIMEOUT_MS), endpointOf(core, name));
    };
    const listedModels = await fetchList().catch((error) => {
      if (onlyProvider) throw error;
      failures.push(`${name}: ${errorMessage(error)}`);
      return [];
    });
    return listedModels
      .filter(({ id }) => clean(id) === id)
      .map((listedModel) => ({ ...listedModel, id: `${name}/${listedModel.id}` }));
  });
  return { models: (await Promise.all(pendingLists)).flat(), failures };
}

/** The provider in a model's name, which is the part before the first slash. */
export function providerNamed(core: Core, modelName: string): Provider {
  const [providerName = ""] = modelName.split("/");
  const providers = allProviders(core);
  const provider = providers.get(providerName);
  refuseUnknownFields(core, providerName);
  if (provider) return provider;
  const { like } = ownValue(ownSettings(core), providerName) ?? {};
  const asked = [...providers].filter(([, { role }]) => role !== "service").map(([name]) => name);
  throw usage(
    (like
      ? `Cannot use provider '${providerName}': it is said to be like '${like}', `
      : `Cannot use model '${modelName}': a model is named provider/model, `) +
      `and ${unknown("provider", like || providerName, asked)}`,
  );
}

/**
 * What is configured but not understood is not used: with a misspelt "url", the person's words
 * would go to another server.
 */
function refuseUnknownFields(core: Core, providerName: string): void {
  const { providers = {} } = core.options.settings;
  const knownNames = [...allProviders(core).keys()];
  const misspelt = Object.keys(providers).find(
    (configured) =>
      !knownNames.includes(configured) && nearest(configured, knownNames) === providerName,
  );
  const refuseProvider = (reason: string) =>
    usage(`Cannot use provider '${providerName}': ${reason}`);
  const reason = whyNotUnderstood(core, "providers");
  if (reason && allProviders(core).get(providerName)?.role !== "fallback")
    throw refuseProvider(reason);
  if (misspelt !== undefined)
    throw refuseProvider(
      `the settings describe '${shortenName(misspelt)}', which nobody has. ` +
        'Correct its name, or say what it is "like".',
    );
  const knownFields = Object.keys(ENDPOINT.properties);
  const strange = Object.keys(ownValue(providers, providerName) ?? {}).find(
    (fieldName) => fieldName !== "kept" && !knownFields.includes(fieldName),
  );
  if (strange === undefined) return;
  throw refuseProvider(
    `in its settings ${unknown("field", shortenName(strange), knownFields)} Correct it, ` +
      "so that nothing goes elsewhere.",
  );
}

/** Why zz stops at a setting that it does not know: one that it has was probably meant. */
function whyNotUnderstood(core: Core, ...meantSettings: (keyof Settings)[]): string | undefined {
  const knownSettings = [
    ...Object.keys(SETTINGS),
    ...core.configs.map(({ value }) => value.section),
    ...core.plugins.map(({ name }) => name),
  ];
  const { home } = sourcesOf(core.options);
  const isMisspelt = (settingName: string) =>
    !knownSettings.includes(settingName) &&
    meantSettings.some((meantSetting) => meantSetting === nearest(settingName, knownSettings));
  const misspeltName = Object.keys(home).find(isMisspelt);
  const taskNames =
    meantSettings.includes("models") && !home.models?.chat ? Object.keys(home.models ?? {}) : [];
  const misspeltTask = taskNames.find((taskName) => nearest(taskName, ["chat"]));
  const strange = misspeltName ?? misspeltTask;
  if (strange === undefined) return undefined;
  const whyUnknown = unknown(
    "setting",
    shortenName(strange),
    misspeltName === undefined ? ["chat"] : knownSettings,
  );
  return `${whyUnknown} Correct it, so that nothing goes elsewhere.`;
}

export function endpointOf(core: Core, provider: string): Endpoint {
  const { options } = core;
  const configured = ownValue(options.settings.providers, provider);
  const {
    url: _,
    key: __,
    kept: ___,
    key_command: command,
    key_command_seconds: seconds,
    ...more
  } = ownValue(ownSettings(core), provider) ?? {};
  const registered = allProviders(core).get(provider);
  const meantProvider =
    core.namedProvider || wantedModel(core)?.split("/")[0] || (defaultProvider(core) ?? provider);
  const isMeant = meantProvider === provider; // else the flags are for another provider
  const variable = (valueSource?: { variable: string }) =>
    valueSource && core.io.env[valueSource.variable];
  const serverUrl = (isMeant && options.baseUrl) || configured?.url || variable(registered?.url);
  const [keySource, keyValue] =
    [
      ["--key", isMeant && options.key] as const,
      ["the setting", configured?.key] as const,
      [registered?.key?.variable ?? "", variable(registered?.key)] as const,
      ["key_command", command && commandKey(core, provider, command, seconds)] as const,
      ["keys.json", configured?.kept] as const,
    ].find(([, candidate]) => candidate) ?? [];
  const otherFields = Object.keys(more).length
    ? { own: sealSecrets("", more) as Record<string, unknown> }
    : {};
  const aliased =
    // its other name has the same
    !serverUrl && more.like && core.providers.has(more.like) ? endpointOf(core, more.like) : {};
  return {
    ...aliased,
    ...(serverUrl && { url: sealUrl(serverUrl) }),
    ...(keyValue && {
      key: checkedKey(
        { provider, source: keySource!, pattern: registered?.key?.pattern },
        keyValue,
      ),
    }),
    ...otherFields,
  };
}

/** On its first use, and so before any request, what is not a key is refused. */
function checkedKey(
  { provider, source, pattern }: { provider: string; source: string; pattern?: string | undefined },
  rawKey: string | SecretValue,
): Secret {
  const keySecret = typeof rawKey === "string" ? makeSecret(rawKey) : rawKey;
  const keyPattern = new RegExp(`^(?:${pattern ?? "[\\x21-\\x7e]+"})$`);
  return new Secret(() => {
    const revealedKey = String(revealSecret(keySecret)).trim();
    if (keyPattern.test(revealedKey)) return revealedKey;
    throw usage(
      `Cannot use the key of '${provider}': what ${source} gives is not one. A key is one word ` +
        `in one line. Copy it again, and keep it with zz --keys set ${provider}.`,
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
  const cacheKey = `${seconds} ${command}`;
  const keySecret =
    commandKeys.get(cacheKey) ??
    new Secret(() => fetchKey(options.home, io.env, provider, command, seconds));
  commandKeys.set(cacheKey, keySecret);
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
  const refuseCommand = (reason: string) =>
    usage(
      `Cannot get the key of '${provider}' by its key_command: ${reason}. ` +
        "Run it yourself, and fix it.",
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
    throw refuseCommand(
      `it took longer than ${seconds} s (key_command_seconds), or waits for somebody to answer`,
    );
  if (error || status !== 0)
    throw refuseCommand(error ? errorMessage(error) : `it ended with exit code ${status}`);
  const outputLines = stdout.toString().trimEnd().split("\n");
  const firstLine = outputLines[0]!.trim();
  if (!firstLine) throw refuseCommand("its first line is empty");
  if (outputLines.length > MAX_KEY_LINES || !/^[\x21-\x7e]{4,4096}$/.test(firstLine))
    throw refuseCommand("what it printed is not a key, which is one word in one line");
  return firstLine;
}
const MAX_KEY_LINES = 20; // lines that it prints; more would be a file of something else

/** The model that the person named, if any. */
export function wantedModel(core: Core, earlier?: string): string | undefined {
  const { options, io } = core;
  const { model, baseUrl, settings } = options;
  const namedModel = model || io.env.ZZ_MODEL || earlier || settings.model || settings.models?.chat;
  const defaultName =
    namedModel &&
    baseUrl &&
    !allProviders(core).has(namedModel.split("/")[0]!) &&
    defaultProvider(core);
  return defaultName ? `${defaultName}/${namedModel}` : namedModel;
}

/**
 * Completes a model's name without a provider, such as `gpt-4o` or a part of it, if just one model
 * fits.
 */
export async function completeModelName(core: Core, modelName: string): Promise<string> {
  if (modelName.includes("/") || allProviders(core).has(modelName)) return modelName;
  const { models } = await listModels(core, true);
  const bareName = ({ id }: Model) => id.slice(id.indexOf("/") + 1).toLowerCase();
  const exactMatches = models.filter(
    (listedModel) => bareName(listedModel) === modelName.toLowerCase(),
  );
  const matchingModels = exactMatches.length
    ? exactMatches
    : models.filter((listedModel) => bareName(listedModel).includes(modelName.toLowerCase()));
  return matchingModels.length === 1 ? matchingModels[0]!.id : modelName;
}

/**
 * By --model, ZZ_MODEL, the session, the settings, a provider with a key, or a local server that
 * answers in 300 ms. Undefined: none.
 */
export async function chooseModel(core: Core, earlier?: string): Promise<string | undefined> {
  const { baseUrl } = core.options;
  const wantedName = wantedModel(core, earlier);
  const completeName = wantedName && (await completeModelName(core, wantedName));
  if (completeName)
    return providerNamed(core, completeName) && completeName.includes("/")
      ? completeName
      : firstModel(core, completeName);
  const defaultName = baseUrl && defaultProvider(core);
  if (defaultName) return firstModel(core, defaultName);
  const reason = whyNotUnderstood(core, "model", "models");
  if (reason) throw usage(`Cannot choose a model: ${reason}`);
  // until the first byte; after that a server may take its time
  const signal = clockOf(core.io).limit(LOCAL_LIMIT_MS);
  const modelOffers = [...allProviders(core).values()].map(
    (provider) =>
      [provider.name, provider.auto?.(signal, endpointOf(core, provider.name))] as const,
  );
  const answers = modelOffers.map(
    ([providerName, offeredModel]) =>
      [providerName, Promise.resolve(offeredModel).catch(() => undefined)] as const,
  );
  for (const [providerName, offeredModel] of modelOffers)
    if (typeof offeredModel === "string") return `${providerName}/${offeredModel}`;
  for (const [providerName, offeredModel] of answers)
    if (await offeredModel) return `${providerName}/${await offeredModel}`;
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

export async function firstModel(core: Core, providerName: string): Promise<string> {
  const provider = providerNamed(core, providerName);
  const signal = clockOf(core.io).limit(PROVIDER_TIMEOUT_MS);
  const endpoint = endpointOf(core, providerName);
  const modelName =
    (await provider.auto?.(signal, endpoint)) ?? (await provider.models(signal, endpoint))[0]?.id;
  if (!modelName)
    throw usage(
      `Cannot use '${providerName}': it offers no model. ` +
        `Name one with --model ${providerName}/MODEL.`,
    );
  return `${providerName}/${modelName}`;
}

const LOCAL_LIMIT_MS = 300;

export const NO_MODEL_MESSAGE =
  "No model to ask: type /setup at the prompt, set OPENAI_API_KEY, start Ollama, " +
  "or name one with --model provider/model (and --base-url " +
  "URL for a server of your own). " +
  "Without any, --model offline finds definitions, references and TODOs in this folder.";

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
  modelName: string,
  isQuick = false,
): Promise<Model | undefined> {
  const { models } = core; // others take their place when what was said no longer counts
  const description = models.get(modelName);
  if (description || !modelName) return description;
  const provider = providerNamed(core, modelName);
  const id = modelName.slice(provider.name.length + 1);
  if (isQuick && !provider.model) return undefined;
  const endpoint = endpointOf(core, provider.name);
  const patience = () => clockOf(core.io).limit(PROVIDER_TIMEOUT_MS);
  const described = await (async () => provider.model?.(id, patience, endpoint))().catch(
    () => undefined,
  );
  const listedModels =
    described?.window || isQuick ? [] : await provider.models(patience(), endpoint).catch(() => []);
  const match = listedModels.find((candidate) => candidate.id === id) ?? described;
  const window = match?.window ?? core.options.settings.window;
  if (!match && !window) return undefined;
  const knownModel = { ...match, id, ...(window && { window }) };
  if (window) models.set(modelName, knownModel);
  return knownModel;
}

/** The last model that a session used, on whichever branch: going back does not change it. */
export const modelOfSession = ({ header, entries }: Saved): string =>
  String(entries.findLast(({ type }) => type === "model")?.model ?? header.model).replace(
    NO_MODEL_ID,
    "",
  );

// /setup chooses the model; zz runs it by itself if it found none. /keys and --keys are in keys.ts.
import type { Choice, Ctx, Model, Secret, Zz } from "zz";
import {
  addressOf,
  endpoints,
  keptKey,
  keyFrom,
  keyOf,
  keysFlag,
  knownTo,
  NO_TERMINAL,
  othersWithKeys,
  providersIn,
  runKeys,
  USUAL,
  variables,
  withPerson,
} from "./keys.ts";
import type { Person } from "./person.ts";
import { ollamaAt, pull, SMALL } from "./pull.ts";

const OFFLINE = "offline/router";
const OFFICIAL = "https://api.openai.com/v1";
const KEY_PATTERN = /^[\x21-\x7e]+$/;
const NOT_A_KEY =
  "That is not a key: a key is one word of plain letters, digits and signs. Enter it again.";
const NOT_CHAT = /embed|whisper|tts|dall-e|moderation|realtime|transcribe|audio|image|sora/i;

/** What the person chose. Nothing is saved before all of it is known. */
interface Plan {
  model: string;
  settings?: Record<string, string | Secret | undefined>; // of its provider
}

export default (zz: Zz) => {
  zz.command({
    name: "setup",
    offer: "model",
    description: "choose the model that answers, or none; enter a key",
    group: "settings",
    run: (_, ctx) => runSetup(zz, ctx),
  });
  zz.command({
    name: "keys",
    usage: "[[drop] PROVIDER]",
    description: "the keys of providers: enter one, unseen, or drop it",
    examples: {
      "/keys": "list the providers, and where each key comes from",
      "/keys openai": "enter one, unseen",
      "/keys drop openai": "forget it",
    },
    group: "settings",
    complete: (_, ctx) =>
      knownTo(ctx).flatMap((providerName) => [providerName, `drop ${providerName}`]),
    run: (typedWords, ctx) => runKeys(zz, typedWords, ctx),
  });
  zz.flag({
    name: "keys",
    value: "set|remove [WORDS]",
    optional: true,
    group: "model",
    description: "list where keys are; set reads one from stdin or asks, unseen",
    run: (flagValue, ctx, { words }) =>
      keysFlag(zz, flagValue === true ? [] : [String(flagValue), ...words], ctx),
  });
};

// ── /setup ──

async function runSetup(zz: Zz, ctx: Ctx): Promise<void> {
  if (!ctx.ask) return ctx.note(NO_TERMINAL);
  const chosenPlan = await withPerson(ctx, (person) => choosePlan(zz, person, ctx));
  if (!chosenPlan)
    return ctx.note(`Nothing was changed: ${answering(ctx.chat.model)}. /setup asks again.`);
  const { model, settings = {} } = chosenPlan;
  const [provider] = model.split("/");
  for (const [settingName, settingValue] of Object.entries(settings))
    await ctx.settings.set(`providers.${provider}.${settingName}`, settingValue);
  await ctx.chat.use(model);
  await ctx.settings.set("model", model);
  ctx.note(`From now on ${answering(model)}, also next time. /setup does this again.`);
}

const answering = (modelName: string): string =>
  modelName === OFFLINE ? "zz is offline, without a model" : `${modelName} answers`;

async function choosePlan(zz: Zz, person: Person, ctx: Ctx): Promise<Plan> {
  const { models, failures } = await person.wait("Looking for models…", () =>
    ctx.about.models(true),
  );
  const usableModels = models.filter(({ id }) => !id.startsWith("offline/"));
  person.say(stateOf(zz, usableModels, failures, ctx));
  const hasOllama = ctx.about.plugins.some(({ name, failure }) => name === "ollama" && !failure);
  const canPull =
    hasOllama &&
    !failures.some((failure) => failure.startsWith("ollama:")) &&
    !usableModels.some(({ id, tools }) => id.startsWith("ollama/") && tools !== false);
  const onlyModel = usableModels.length === 1 ? usableModels[0]!.id : undefined;
  const planMakers: Record<string, () => Promise<Plan | undefined>> = {
    ...(usableModels.length && {
      [`Use ${onlyModel ?? `one of the ${usableModels.length} models found`}`]: async () => ({
        model: onlyModel ?? (await person.pick("Which model?", usableModels.map(asChoice))),
      }),
    }),
    ...(canPull && { "Pull a model with Ollama": () => pullOne(zz, person, ctx) }),
    "Enter a key for OpenAI": () => enterKey(zz, person, ctx, undefined),
    ...(othersWithKeys(ctx).length && {
      "Enter a key for another provider": () => enterOtherKey(zz, person, ctx),
    }),
    "Enter another server's address": () => enterServer(zz, person, ctx),
    "Continue offline, without a model": async () => ({ model: OFFLINE }),
  };
  for (;;) {
    const chosenWay = await person.pick(
      "Which model should answer?",
      Object.keys(planMakers).map((name) => ({ name })),
    );
    const chosenPlan = await planMakers[chosenWay]!();
    if (chosenPlan) return chosenPlan;
  }
}

/** One line per provider. */
function stateOf(zz: Zz, usableModels: Model[], failures: string[], ctx: Ctx): string {
  const askedNames = providersIn(usableModels, failures);
  const allNames = [...new Set([...USUAL, ...Object.keys(endpoints(ctx)), ...askedNames])].sort();
  const nameWidth = Math.max(...allNames.map((providerName) => providerName.length));
  return allNames
    .map((providerName) => `${providerName.padEnd(nameWidth)}  ${describeState(providerName)}`)
    .join("\n");

  function describeState(providerName: string): string {
    const modelCount = usableModels.filter(({ id }) => id.startsWith(`${providerName}/`)).length;
    const failure = failures
      .find((failureLine) => failureLine.startsWith(`${providerName}:`))
      ?.slice(providerName.length + 2);
    const addressNote =
      providerName === "ollama" ? ` at ${zz.veil(ollamaAt(addressOf("ollama", ctx)))}` : "";
    const variable = variables(ctx)[providerName];
    const keySource = variable && keyFrom(providerName, ctx);
    if (failure && providerName === "openai" && !keySource) return `no key is set (${variable})`;
    if (failure && addressNote) return `does not answer${addressNote}`;
    if (failure) return failure.split(". ")[0]!;
    if (!askedNames.includes(providerName) && !USUAL.includes(providerName))
      return "was not asked: no key is set";
    return (
      `answers${addressNote}, ${modelCount || "no"} ` +
      `${modelCount === 1 ? "model" : "models"}${keySource ? `, key from ${keySource}` : ""}`
    );
  }
}

function asChoice({ id, window, tools, vision }: Model): Choice {
  const abilities = [
    tools && "tools",
    vision && "images",
    window && `${Math.round(window / 1024)}k`,
  ].filter(Boolean);
  return { name: id, ...(abilities.length && { description: abilities.join(", ") }) };
}

async function enterServer(zz: Zz, person: Person, ctx: Ctx): Promise<Plan> {
  for (;;) {
    const typedUrl = (await person.line("Base URL, as http://host:port/v1:")).trim();
    const baseUrl = (/^https?:\/\//.test(typedUrl) ? typedUrl : `http://${typedUrl}`)
      .replace(/\/+$/, "")
      .replace(/\/chat\/completions$/, "");
    if (!/[a-z\d]/i.test(typedUrl) || !URL.canParse(baseUrl))
      person.say(`Cannot use '${typedUrl}': not a URL. Write it like http://host:port/v1.`);
    else if (hasSecret(new URL(baseUrl)))
      person.say(
        "Cannot use that address: what is secret in it would stand in the settings. " +
          "Enter it without user, password and '?'. zz asks for the key next.",
      );
    else {
      const enteredPlan = await enterKey(zz, person, ctx, baseUrl);
      if (enteredPlan) return enteredPlan;
    }
  }
}

const hasSecret = ({ username, password, search }: URL) => username + password + search !== "";

/**
 * Asks for a provider, its key and one of its models. The key is kept only if a model is chosen.
 */
async function enterOtherKey(zz: Zz, person: Person, ctx: Ctx): Promise<Plan | undefined> {
  const providerName = await person.pick(
    "Which provider?",
    othersWithKeys(ctx).map((name) => ({ name, description: variables(ctx)[name]! })),
  );
  const setting = `providers.${providerName}.key`;
  const previousKey = keptKey(providerName, ctx);
  let isChosen = false;
  try {
    for (;;) {
      const typedKey = (await person.secret(`Key for ${providerName}:`)).trim();
      if (!KEY_PATTERN.test(typedKey)) {
        person.say(NOT_A_KEY);
        continue;
      }
      await ctx.settings.set(setting, zz.secret(typedKey));
      const { models, failures } = await person.wait("Asking the server…", () =>
        ctx.about.models(true),
      );
      const ownModels = models.filter(
        ({ id }) => id.startsWith(`${providerName}/`) && !NOT_CHAT.test(id),
      );
      const failure = failures.find((failureLine) => failureLine.startsWith(`${providerName}:`));
      if (failure) person.say(failure);
      if (failure && /\b40[13]\b/.test(failure)) continue;
      if (failure) return undefined;
      const model = ownModels.length
        ? await person.pick("Which model?", ownModels.map(asChoice))
        : `${providerName}/` +
          `${(await person.line("The provider lists no models. Its model's name:")).trim()}`;
      isChosen = true;
      return { model };
    }
  } finally {
    if (!isChosen) await ctx.settings.set(setting, previousKey && zz.secret(previousKey));
  }
}

/** Asks for a key. Undefined if the address is wrong instead. */
async function enterKey(
  zz: Zz,
  person: Person,
  ctx: Ctx,
  serverUrl: string | undefined,
): Promise<Plan | undefined> {
  const keyQuestion = serverUrl ? "Its key (a dash for none):" : "OpenAI key:";
  for (;;) {
    const typedKey = (await person.secret(keyQuestion)).trim();
    const enteredKey = typedKey === "-" ? "" : typedKey;
    const needsNone = serverUrl && !enteredKey;
    if (!needsNone && !KEY_PATTERN.test(enteredKey)) {
      person.say(NOT_A_KEY);
      continue;
    }
    const baseUrl = serverUrl ?? addressOf("openai", ctx) ?? OFFICIAL;
    const secretKey = enteredKey ? zz.secret(enteredKey) : undefined;
    const { ids, refusal, at } = await person.wait("Asking the server…", () =>
      listModels(zz, baseUrl, secretKey, person.signal),
    );
    if (ids) {
      const chatModels = ids.filter((id) => !NOT_CHAT.test(id));
      const modelName = chatModels.length
        ? await person.pick(
            "Which model?",
            chatModels.map((name) => ({ name })),
            "gpt-4o-mini",
          )
        : await person.line("The server lists no models. Its model's name:");
      if (!serverUrl) return { model: `openai/${modelName.trim()}`, settings: { key: secretKey } };
      return {
        model: `${providerAt(at, ctx)}/${modelName.trim()}`,
        settings: { like: "openai", url: at, key: secretKey },
      };
    }
    person.say(refusal!.message);
    if (!refusal!.key) return undefined;
  }
}

/**
 * A key belongs to the address that it was given for. So another address is another provider, named
 * after its host: whatever is kept for OpenAI, and OPENAI_API_KEY, never goes there.
 */
function providerAt(serverUrl: string, ctx: Ctx): string {
  const { hostname, port } = new URL(serverUrl);
  const isLocal = /^(localhost|127\.|\[?::1)/.test(hostname);
  const nameParts = isLocal ? ["local", port] : [hostname.replace(/^(api|www)\./, ""), port];
  const baseName = nameParts
    .filter(Boolean)
    .join("-")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^(?=\d)/, "at-");
  const isNameFree = (candidate: string) => {
    const { url: usedUrl } = endpoints(ctx)[candidate] ?? {};
    return (
      usedUrl === serverUrl ||
      (usedUrl === undefined &&
        !ctx.about.providers.some((provider) => provider.name === candidate))
    );
  };
  for (let suffixNumber = 1; ; suffixNumber++) {
    const numbered = suffixNumber === 1 ? baseName : `${baseName}-${suffixNumber}`;
    if (isNameFree(numbered)) return numbered;
  }
}

type Listed = { at: string; ids?: string[]; refusal?: { message: string; key: boolean } };

/**
 * Lists a server's models. Many people leave out /v1, so both are tried; a server without a list
 * may still work.
 */
async function listModels(
  zz: Zz,
  baseUrl: string,
  secretKey: Secret | undefined,
  signal: AbortSignal,
): Promise<Listed> {
  const { host } = new URL(baseUrl);
  let lastError: (Error & { status?: number }) | undefined;
  for (const address of /\/v\d+[a-z]*$/.test(baseUrl) ? [baseUrl] : [baseUrl, `${baseUrl}/v1`])
    try {
      const response = await zz.fetch(`${address}/models`, {
        headers: { authorization: `Bearer ${secretKey ?? "none"}` },
        signal: AbortSignal.any([signal, zz.io.clock.limit(10_000)]),
      });
      const answerBody = await response.json();
      const { data, models } = Object(answerBody);
      const listed: any[] = [answerBody, data, models].find(Array.isArray) ?? [];
      const modelIds = listed
        .map((listedModel) => listedModel?.id ?? listedModel?.name)
        .filter((id) => typeof id === "string")
        .sort();
      return { at: address, ids: modelIds.filter((id) => !/[\x00-\x1f\x7f-\x9f]/.test(id)) };
    } catch (error) {
      signal.throwIfAborted();
      lastError = error as Error & { status?: number };
    }
  const { status, message } = lastError!;
  if (status === 401 || status === 403)
    return {
      at: baseUrl,
      refusal: { message: `${host} refused the key (${status}). Enter it again.`, key: true },
    };
  if (status === 404) return { at: baseUrl, ids: [] };
  return {
    at: baseUrl,
    refusal: { message: message.replace(" Check --base-url.", ""), key: false },
  };
}

async function pullOne(zz: Zz, person: Person, ctx: Ctx): Promise<Plan | undefined> {
  const byNameChoice = "another one, by name";
  const address = ollamaAt(addressOf("ollama", ctx));
  const pickedName = await person.pick("Which one?", [
    ...SMALL,
    { name: byNameChoice, description: "ollama.com/search lists them" },
  ]);
  const modelName =
    pickedName === byNameChoice ? (await person.line("Its name:")).trim() : pickedName;
  try {
    if (!/^[\w.:/-]+$/.test(modelName)) throw new Error("that is not a model's name.");
    await person.wait(`Asking Ollama for ${modelName}…`, (showProgress) =>
      pull(zz, address, keyOf("ollama", ctx), modelName, showProgress, person.signal),
    );
  } catch (error) {
    person.signal.throwIfAborted();
    person.say(`Cannot pull '${modelName}': ${(error as Error).message}`);
    return undefined;
  }
  person.say(`Ollama has ${modelName} now.`);
  return { model: `ollama/${modelName}` };
}

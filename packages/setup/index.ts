// /setup chooses the model; zz runs it by itself if it found none. /keys and --keys are in keys.ts.
import type { Choice, Ctx, Model, Secret, Zz } from "zz";
import {
  addressOf,
  endpoints,
  keptKey,
  keyFrom,
  keyOf,
  keysFlag,
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
const IS_KEY = /^[\x21-\x7e]+$/;
const NO_KEY =
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
    run: (_, ctx) => setUp(zz, ctx),
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
      [...new Set([...Object.keys(variables(ctx)), ...Object.keys(endpoints(ctx))])].flatMap(
        (name) => [name, `drop ${name}`],
      ),
    run: (typed, ctx) => runKeys(zz, typed, ctx),
  });
  zz.flag({
    name: "keys",
    value: "set|remove [WORDS]",
    optional: true,
    group: "model",
    description: "list where keys are; set reads one from stdin or asks, unseen",
    run: (value, ctx, { words }) =>
      keysFlag(zz, value === true ? [] : [String(value), ...words], ctx),
  });
};

// ── /setup ──

async function setUp(zz: Zz, ctx: Ctx): Promise<void> {
  if (!ctx.ask) return ctx.note(NO_TERMINAL);
  const plan = await withPerson(ctx, (person) => decide(zz, person, ctx));
  if (!plan)
    return ctx.note(`Nothing was changed: ${answering(ctx.chat.model)}. /setup asks again.`);
  const { model, settings = {} } = plan;
  const [provider] = model.split("/");
  for (const [name, value] of Object.entries(settings))
    await ctx.settings.set(`providers.${provider}.${name}`, value);
  await ctx.chat.use(model);
  await ctx.settings.set("model", model);
  ctx.note(`From now on ${answering(model)}, also next time. /setup does this again.`);
}

const answering = (model: string): string =>
  model === OFFLINE ? "zz is offline, without a model" : `${model} answers`;

async function decide(zz: Zz, person: Person, ctx: Ctx): Promise<Plan> {
  const { models, failures } = await person.wait("Looking for models…", () =>
    ctx.about.models(true),
  );
  const usable = models.filter(({ id }) => !id.startsWith("offline/"));
  person.say(stateOf(zz, usable, failures, ctx));
  const ollama = ctx.about.plugins.some(({ name, failure }) => name === "ollama" && !failure);
  const answers = ollama && !failures.some((failure) => failure.startsWith("ollama:"));
  const canPull =
    answers && !usable.some(({ id, tools }) => id.startsWith("ollama/") && tools !== false);
  const ways: Record<string, () => Promise<Plan | undefined>> = {
    ...(usable.length && {
      [usable.length === 1
        ? `Use ${usable[0]!.id}`
        : `Use one of the ${usable.length} models found`]: async () => ({
        model:
          usable.length === 1
            ? usable[0]!.id
            : await person.pick("Which model?", usable.map(asChoice)),
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
    const choice = await person.pick(
      "Which model should answer?",
      Object.keys(ways).map((name) => ({ name })),
    );
    const plan = await ways[choice]!();
    if (plan) return plan;
  }
}

/** One line per provider. */
function stateOf(zz: Zz, models: Model[], failures: string[], ctx: Ctx): string {
  const names = providersIn(models, failures);
  const allNames = [...new Set([...USUAL, ...Object.keys(endpoints(ctx)), ...names])].sort();
  const width = Math.max(...allNames.map((name) => name.length));
  return allNames.map((name) => `${name.padEnd(width)}  ${state(name)}`).join("\n");

  function state(name: string): string {
    const count = models.filter(({ id }) => id.startsWith(`${name}/`)).length;
    const failure = failures.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 2);
    const where = name === "ollama" ? ` at ${zz.veil(ollamaAt(addressOf("ollama", ctx)))}` : "";
    const variable = variables(ctx)[name];
    const key = variable && keyFrom(name, ctx);
    if (failure && name === "openai" && !key) return `no key is set (${variable})`;
    if (failure && where) return `does not answer${where}`;
    if (failure) return failure.split(". ")[0]!;
    if (!names.includes(name) && !USUAL.includes(name)) return "was not asked: no key is set";
    return `answers${where}, ${count || "no"} ${count === 1 ? "model" : "models"}${key ? `, key from ${key}` : ""}`;
  }
}

function asChoice({ id, window, tools, vision }: Model): Choice {
  const can = [
    tools && "tools",
    vision && "images",
    window && `${Math.round(window / 1024)}k`,
  ].filter(Boolean);
  return { name: id, ...(can.length && { description: can.join(", ") }) };
}

async function enterServer(zz: Zz, person: Person, ctx: Ctx): Promise<Plan> {
  for (;;) {
    const typed = (await person.line("Base URL, as http://host:port/v1:")).trim();
    const url = (/^https?:\/\//.test(typed) ? typed : `http://${typed}`)
      .replace(/\/+$/, "")
      .replace(/\/chat\/completions$/, "");
    if (!/[a-z\d]/i.test(typed) || !URL.canParse(url))
      person.say(`Cannot use '${typed}': not a URL. Write it like http://host:port/v1.`);
    else if (hasSecret(new URL(url)))
      person.say(
        "Cannot use that address: what is secret in it would stand in the settings. Enter it without user, password and '?'. zz asks for the key next.",
      );
    else {
      const plan = await enterKey(zz, person, ctx, url);
      if (plan) return plan;
    }
  }
}

const hasSecret = ({ username, password, search }: URL) => username + password + search !== "";

/**
 * Asks for a provider, its key and one of its models. The key is kept only if a model is chosen.
 */
async function enterOtherKey(zz: Zz, person: Person, ctx: Ctx): Promise<Plan | undefined> {
  const name = await person.pick(
    "Which provider?",
    othersWithKeys(ctx).map((name) => ({ name, description: variables(ctx)[name]! })),
  );
  const setting = `providers.${name}.key`;
  const before = keptKey(name, ctx);
  let isDone = false;
  try {
    for (;;) {
      const key = (await person.secret(`Key for ${name}:`)).trim();
      if (!IS_KEY.test(key)) {
        person.say(NO_KEY);
        continue;
      }
      await ctx.settings.set(setting, zz.secret(key));
      const { models, failures } = await person.wait("Asking the server…", () =>
        ctx.about.models(true),
      );
      const ownModels = models.filter(({ id }) => id.startsWith(`${name}/`) && !NOT_CHAT.test(id));
      const failure = failures.find((line) => line.startsWith(`${name}:`));
      if (failure) person.say(failure);
      if (failure && /\b40[13]\b/.test(failure)) continue;
      if (failure) return undefined;
      const model = ownModels.length
        ? await person.pick("Which model?", ownModels.map(asChoice))
        : `${name}/${(await person.line("The provider lists no models. Its model's name:")).trim()}`;
      isDone = true;
      return { model };
    }
  } finally {
    if (!isDone) await ctx.settings.set(setting, before && zz.secret(before));
  }
}

/** Asks for a key. Undefined if the address is wrong instead. */
async function enterKey(
  zz: Zz,
  person: Person,
  ctx: Ctx,
  url: string | undefined,
): Promise<Plan | undefined> {
  const hint = url ? "Its key (a dash for none):" : "OpenAI key:";
  for (;;) {
    const typed = (await person.secret(hint)).trim();
    const key = typed === "-" ? "" : typed;
    if (url ? key && !IS_KEY.test(key) : !IS_KEY.test(key)) {
      person.say(NO_KEY);
      continue;
    }
    const base = url ?? addressOf("openai", ctx) ?? OFFICIAL;
    const hidden = key ? zz.secret(key) : undefined;
    const { ids, refusal, at } = await person.wait("Asking the server…", () =>
      listAt(zz, base, hidden, person.signal),
    );
    if (ids) {
      const chat = ids.filter((id) => !NOT_CHAT.test(id));
      const model = chat.length
        ? await person.pick(
            "Which model?",
            chat.map((name) => ({ name })),
            "gpt-4o-mini",
          )
        : await person.line("The server lists no models. Its model's name:");
      if (!url) return { model: `openai/${model.trim()}`, settings: { key: hidden } };
      return {
        model: `${providerAt(at, ctx)}/${model.trim()}`,
        settings: { like: "openai", url: at, key: hidden },
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
function providerAt(url: string, ctx: Ctx): string {
  const { hostname, port } = new URL(url);
  const isLocal = /^(localhost|127\.|\[?::1)/.test(hostname);
  const words = isLocal ? ["local", port] : [hostname.replace(/^(api|www)\./, ""), port];
  const name = words
    .filter(Boolean)
    .join("-")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^(?=\d)/, "at-");
  const isFree = (name: string) => {
    const { url: usedUrl } = endpoints(ctx)[name] ?? {};
    return (
      usedUrl === url ||
      (usedUrl === undefined && !ctx.about.providers.some((provider) => provider.name === name))
    );
  };
  for (let count = 1; ; count++) {
    const numbered = count === 1 ? name : `${name}-${count}`;
    if (isFree(numbered)) return numbered;
  }
}

type Listed = { at: string; ids?: string[]; refusal?: { message: string; key: boolean } };

/**
 * Lists a server's models. Many people leave out /v1, so both are tried; a server without a list
 * may still work.
 */
async function listAt(
  zz: Zz,
  base: string,
  key: Secret | undefined,
  signal: AbortSignal,
): Promise<Listed> {
  const { host } = new URL(base);
  let wrong: (Error & { status?: number }) | undefined;
  for (const address of /\/v\d+[a-z]*$/.test(base) ? [base] : [base, `${base}/v1`])
    try {
      const within = AbortSignal.any([signal, zz.io.clock.limit(10_000)]);
      const response = await zz.fetch(`${address}/models`, {
        headers: { authorization: `Bearer ${key ?? "none"}` },
        signal: within,
      });
      const body = (await response.json()) as any;
      const models: any[] = Array.isArray(body) ? body : (body.data ?? body.models ?? []);
      const ids = models.map((model) => String(model.id ?? model.name)).sort();
      return { at: address, ids: ids.filter((id) => !/[\x00-\x1f\x7f-\x9f]/.test(id)) };
    } catch (error) {
      signal.throwIfAborted();
      wrong = error as Error & { status?: number };
    }
  const { status, message } = wrong!;
  if (status === 401 || status === 403)
    return {
      at: base,
      refusal: { message: `${host} refused the key (${status}). Enter it again.`, key: true },
    };
  if (status === 404) return { at: base, ids: [] };
  return { at: base, refusal: { message: message.replace(" Check --base-url.", ""), key: false } };
}

async function pullOne(zz: Zz, person: Person, ctx: Ctx): Promise<Plan | undefined> {
  const byName = "another one, by name";
  const address = ollamaAt(addressOf("ollama", ctx));
  const picked = await person.pick("Which one?", [
    ...SMALL,
    { name: byName, description: "ollama.com/search lists them" },
  ]);
  const model = picked === byName ? (await person.line("Its name:")).trim() : picked;
  try {
    if (!/^[\w.:/-]+$/.test(model)) throw new Error("that is not a model's name.");
    await person.wait(`Asking Ollama for ${model}…`, (show) =>
      pull(zz, address, keyOf("ollama", ctx), model, show, person.signal),
    );
  } catch (error) {
    person.signal.throwIfAborted();
    person.say(`Cannot pull '${model}': ${(error as Error).message}`);
    return undefined;
  }
  person.say(`Ollama has ${model} now.`);
  return { model: `ollama/${model}` };
}

// The keys of providers: /keys and, in scripts, --keys show where each comes from, and set or
// remove one.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Endpoint, Model, Result, Secret, Zz } from "zz";
import { tryTo, unknown, usage, whoReads } from "zz/text";
import type { Person } from "./person.ts";

export const NO_TERMINAL =
  "Cannot ask: there is no terminal to ask on. Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), start Ollama (OLLAMA_HOST says where), or use --model PROVIDER/MODEL with --base-url URL and --key KEY.";

/** Loads person.ts on first use, since few starts ask anything. */
export async function withPerson<T>(
  ctx: Ctx,
  act: (person: Person) => Promise<T>,
): Promise<T | undefined> {
  const person = await import("./person.ts");
  return person.withPerson(ctx, act);
}

type Said = Endpoint & { key_command?: string };
export const endpoints = (ctx: Ctx): Record<string, Said> =>
  (ctx.settings.list().find(({ name }) => name === "providers")?.value ?? {}) as Record<
    string,
    Said
  >;

export const USUAL = ["ollama", "openai"]; // listed even if nothing is set for them

/** The environment variable for each provider's key. */
export const variables = ({ about }: Ctx): Record<string, string> =>
  Object.fromEntries(
    about.providers.flatMap(({ name, variable }) => (variable ? [[name, variable]] : [])),
  );
const endpointOf = (provider: string, { about }: Ctx): Endpoint =>
  about.providers.find(({ name }) => name === provider)?.endpoint ?? {};
export const addressOf = (provider: string, ctx: Ctx): string | undefined =>
  endpointOf(provider, ctx).url;
export const keyOf = (provider: string, ctx: Ctx): Secret | undefined =>
  endpointOf(provider, ctx).key;

/** Providers that need nothing but a key, the most common ones first. */
export function othersWithKeys(ctx: Ctx): string[] {
  const services = ctx.about.providers.flatMap(({ name, role }) =>
    role === "service" ? name : [],
  );
  const names = Object.keys(variables(ctx)).filter(
    (name) => ![...USUAL, ...AT_AN_ADDRESS, ...services].includes(name),
  );
  return [...new Set([...FIRST.filter((name) => names.includes(name)), ...names.sort()])];
}
const FIRST = ["anthropic", "gemini", "openrouter"];
const WITHOUT_KEYS = ["llamacpp", "lmstudio", "sglang", "vllm"]; // on this machine
const AT_AN_ADDRESS = ["azure", ...WITHOUT_KEYS]; // at the person's own address

/** The key that /keys or /setup kept for a provider. */
export const keptKey = (provider: string, ctx: Ctx): string | undefined =>
  inHome(ctx, KEYS)[provider] as string | undefined;

/** Where a provider's key comes from, and where others for it are; never a key itself. */
export function keyFrom(provider: string, ctx: Ctx): string {
  const variable = variables(ctx)[provider];
  const isKept = provider in inHome(ctx, KEYS);
  const isSet = Boolean(settingsOf(provider, ctx)?.key);
  // in the file that --config names
  const isElsewhere = !isKept && !isSet && endpoints(ctx)[provider]?.key;
  const places = [
    isSet && SETTINGS,
    isElsewhere && "the settings",
    variable && ctx.io.variable(variable) && variable,
    endpoints(ctx)[provider]?.key_command && "its key_command",
    isKept && KEYS,
  ];
  return places.filter(Boolean).join(", then ") || (keyOf(provider, ctx) ? "--key" : "");
}

const [KEYS, SETTINGS] = ["keys.json", "zz.config.json"];
const inHome = ({ about }: Ctx, name: string): Record<string, unknown> =>
  tryTo(
    () =>
      JSON.parse(fs.readFileSync(path.join(about.home, name), "utf8")) as Record<string, unknown>,
  ) ?? {};
const settingsOf = (provider: string, ctx: Ctx) =>
  (inHome(ctx, SETTINGS).providers as Record<string, { key?: string } | undefined> | undefined)?.[
    provider
  ];

/** Removes a key from where zz keeps it; variables and other files belong to the person. */
async function dropKey(provider: string, ctx: Ctx): Promise<string> {
  const { key, ...rest } = settingsOf(provider, ctx) ?? {};
  const from = [...(key ? [SETTINGS] : []), ...(provider in inHome(ctx, KEYS) ? [KEYS] : [])];
  if (key)
    await ctx.settings.set(`providers.${provider}`, Object.keys(rest).length ? rest : undefined);
  if (from.includes(KEYS)) await ctx.settings.set(`providers.${provider}.key`, undefined);
  const remaining = keyFrom(provider, ctx);
  if (!from.length)
    return `No key is kept for '${provider}'.${remaining ? ` The one in use is in ${remaining}.` : ""}`;
  return `The key for '${provider}' is dropped from ${from.join(" and ")}.${remaining ? ` There is still one in ${remaining}.` : ""}`;
}

export async function runKeys(zz: Zz, typed: string, ctx: Ctx): Promise<void> {
  const [first = "", second = "", third] = typed.split(/\s+/);
  if (!first) return ctx.note(listed(zz, ctx, (name) => `/keys ${name}`));
  const drops = first === "drop";
  const provider = drops ? second : first;
  if (third || (!drops && second))
    return ctx.note(
      "Cannot take a key from the line, where it can be seen. /keys PROVIDER asks for it, unseen.",
    );
  const wrong = await whyUnknown(provider, ctx);
  if (wrong) return ctx.note(wrong);
  if (drops) return ctx.note(await dropKey(provider, ctx));
  if (!ctx.ask) return ctx.note(NO_TERMINAL);
  const key = (await withPerson(ctx, (person) => person.secret(`Key for ${provider}:`)))?.trim();
  ctx.note(key ? await keepKey(zz, provider, key, ctx) : "Nothing was changed.");
}

const WAYS = "zz --keys set PROVIDER, with the key on stdin, or zz --keys remove PROVIDER";

/** --keys [set|remove PROVIDER]. Throws on failure, so that a script gets an exit code. */
export async function keysFlag(zz: Zz, words: string[], ctx: Ctx): Promise<Result> {
  const [verb, provider = "", ...extra] = words;
  if (!verb) return { text: listed(zz, ctx, (name) => `zz --keys set ${name}`), data: places(ctx) };
  if (!/^(set|remove|drop)$/.test(verb))
    throw usage(`Cannot '${verb}' keys: no such word. Write ${WAYS}.`);
  if (extra.length)
    throw usage("Cannot take a key from the line, where others can see it. Give it on stdin.");
  if (!provider) throw usage(`Cannot ${verb} a key: no provider is named. Write ${WAYS}.`);
  const wrong = await whyUnknown(provider, ctx);
  if (wrong) throw usage(wrong);
  if (verb !== "set") return { text: await dropKey(provider, ctx) };
  const typed = ctx.ask
    ? await ctx.ask(`Key for ${provider}: `, { secret: true })
    : await fromStdin(zz);
  const key = typed.trim();
  if (!key) throw usage(`Cannot keep a key for '${provider}': none was given. Write ${WAYS}.`);
  return { text: await keepKey(zz, provider, key, ctx) };
}

const MAX_STDIN_CHARS = 100_000;

async function fromStdin({ io }: Zz): Promise<string> {
  if (io.stdin.isTTY)
    throw usage("Cannot ask for a key: there is no terminal to ask on. Give it on stdin.");
  let text = "";
  for await (const piece of io.stdin) {
    text += piece;
    if (text.length > MAX_STDIN_CHARS) break;
  }
  return text;
}

/** Why a provider is unknown; undefined if it is known. */
async function whyUnknown(provider: string, ctx: Ctx): Promise<string | undefined> {
  const knownNames = knownTo(ctx);
  const others = knownNames.includes(provider) ? [] : await providers(ctx);
  if (knownNames.includes(provider) || others.includes(provider)) return undefined;
  return `Cannot keep a key: ${unknown("provider", provider, new Set([...knownNames, ...others]))}`;
}

async function keepKey(zz: Zz, provider: string, key: string, ctx: Ctx): Promise<string> {
  if (!/^[\x21-\x7e]{4,4096}$/.test(key))
    throw usage(
      `Cannot keep a key for '${provider}': what was given is not a key, which is one word. Check where it is from.`,
    );
  await ctx.settings.set(`providers.${provider}.key`, zz.secret(key));
  const before = keyFrom(provider, ctx).split(", then ")[0];
  const hidden = before === KEYS ? "" : ` The one in ${before} goes before it.`;
  const file = path.join(ctx.about.home, KEYS);
  return `The key for '${provider}' is kept in ${file}, ${whoReads(file)}.${hidden}`;
}

const knownTo = (ctx: Ctx): string[] =>
  [...new Set([...Object.keys(variables(ctx)), ...Object.keys(endpoints(ctx))])].sort();

const places = (ctx: Ctx) =>
  knownTo(ctx).map((provider) => ({
    provider,
    from: keyFrom(provider, ctx) || null,
    to: addressOf(provider, ctx) ?? null,
  }));

/** Where the key of a provider goes. An address that was set by hand shows here. */
function goesTo(provider: string, zz: Zz, ctx: Ctx): string {
  const url = addressOf(provider, ctx);
  return url && URL.canParse(url)
    ? `goes to ${zz.veil(new URL(url).host)}`
    : "goes to its own address";
}

/** A line for each provider that has a key or is common; the others by name only. */
function listed(zz: Zz, ctx: Ctx, enters: (name: string) => string): string {
  const knownNames = knownTo(ctx);
  const shownNames = knownNames.filter(
    (name) => USUAL.includes(name) || name in endpoints(ctx) || keyFrom(name, ctx),
  );
  const others = knownNames.filter(
    (name) => !shownNames.includes(name) && !WITHOUT_KEYS.includes(name),
  );
  const local = knownNames.filter(
    (name) => !shownNames.includes(name) && WITHOUT_KEYS.includes(name),
  );
  const width = Math.max(8, ...shownNames.map((name) => name.length));
  const lines = shownNames.map((name) => {
    const from = keyFrom(name, ctx);
    return `${name.padEnd(width)}  ${from ? `${from}, ${goesTo(name, zz, ctx)}` : missing(name)}`;
  });
  return [
    ...lines,
    ...(others.length ? [`Without a key, and so not asked: ${others.join(", ")}.`] : []),
    ...(local.length ? [`Asked by name alone, without a key: ${local.join(", ")}.`] : []),
  ].join("\n");

  function missing(name: string): string {
    return `not set (${enters(name)} enters one${variables(ctx)[name] ? `, or set ${variables(ctx)[name]}` : ""})`;
  }
}

async function providers({ about }: Ctx): Promise<string[]> {
  const { models, failures } = await about.models(true);
  return [...new Set(providersIn(models, failures))].filter((name) => name !== "offline");
}

/** Those that gave models, and those that failed. */
export const providersIn = (models: Model[], failures: string[]): string[] => [
  ...models.map(({ id }) => id.split("/")[0]!),
  ...failures.map((failure) => failure.split(":")[0]!),
];

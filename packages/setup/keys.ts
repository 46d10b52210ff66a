// The keys of providers: /keys and, in scripts, --keys show where each comes from, and set or
// remove one.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Endpoint, Model, Result, Secret, Zz } from "zz";
import { tryTo, unknown, usage, whoReads } from "zz/text";
import type { Person } from "./person.ts";

export const NO_TERMINAL =
  "Cannot ask: there is no terminal to ask on. " +
  "Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), start Ollama (OLLAMA_HOST says " +
  "where), or use --model PROVIDER/MODEL with --base-url URL and --key KEY.";

/** Loads person.ts on first use, since few starts ask anything. */
export async function withPerson<T>(
  ctx: Ctx,
  usePerson: (person: Person) => Promise<T>,
): Promise<T | undefined> {
  const personModule = await import("./person.ts");
  return personModule.withPerson(ctx, usePerson);
}

type Said = Endpoint & { key_command?: string };
export const endpoints = (ctx: Ctx) =>
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
  const keyedNames = Object.keys(variables(ctx)).filter(
    (providerName) => ![...USUAL, ...AT_AN_ADDRESS, ...services].includes(providerName),
  );
  return [
    ...new Set([
      ...COMMON_FIRST.filter((providerName) => keyedNames.includes(providerName)),
      ...keyedNames.sort(),
    ]),
  ];
}
const COMMON_FIRST = ["anthropic", "gemini", "openrouter"];
const WITHOUT_KEYS = ["llamacpp", "lmstudio", "sglang", "vllm"]; // on this machine
const AT_AN_ADDRESS = ["azure", ...WITHOUT_KEYS]; // at the person's own address

/** The key that /keys or /setup kept for a provider. */
export const keptKey = (provider: string, ctx: Ctx): string | undefined =>
  readHomeFile(ctx, KEYS_FILE)[provider];

/** Where a provider's key comes from, and where others for it are; never a key itself. */
export function keyFrom(provider: string, ctx: Ctx): string {
  const variable = variables(ctx)[provider];
  const isKept = provider in readHomeFile(ctx, KEYS_FILE);
  const isInSettings = Boolean(settingsOf(provider, ctx)?.key);
  // in the file that --config names
  const isElsewhere = !isKept && !isInSettings && endpoints(ctx)[provider]?.key;
  const keyPlaces = [
    isInSettings && SETTINGS,
    isElsewhere && "the settings",
    variable && ctx.io.variable(variable) && variable,
    endpoints(ctx)[provider]?.key_command && "its key_command",
    isKept && KEYS_FILE,
  ];
  return keyPlaces.filter(Boolean).join(", then ") || (keyOf(provider, ctx) ? "--key" : "");
}

const [KEYS_FILE, SETTINGS] = ["keys.json", "zz.config.json"];
const readHomeFile = ({ about }: Ctx, fileName: string): Record<string, any> =>
  tryTo(() => JSON.parse(fs.readFileSync(path.join(about.home, fileName), "utf8"))) ?? {};
const settingsOf = (provider: string, ctx: Ctx): { key?: string } | undefined =>
  readHomeFile(ctx, SETTINGS).providers?.[provider];

/** Removes a key from where zz keeps it; variables and other files belong to the person. */
async function dropKey(provider: string, ctx: Ctx): Promise<string> {
  const { key, ...rest } = settingsOf(provider, ctx) ?? {};
  const keptFiles = [
    ...(key ? [SETTINGS] : []),
    ...(provider in readHomeFile(ctx, KEYS_FILE) ? [KEYS_FILE] : []),
  ];
  if (key)
    await ctx.settings.set(`providers.${provider}`, Object.keys(rest).length ? rest : undefined);
  if (keptFiles.includes(KEYS_FILE)) await ctx.settings.set(`providers.${provider}.key`, undefined);
  const remaining = keyFrom(provider, ctx);
  if (!keptFiles.length)
    return (
      "No key is kept for " +
      `'${provider}'.${remaining ? ` The one in use is in ${remaining}.` : ""}`
    );
  return (
    `The key for '${provider}' is dropped from ` +
    `${keptFiles.join(" and ")}.${remaining ? ` There is still one in ${remaining}.` : ""}`
  );
}

export async function runKeys(zz: Zz, typedWords: string, ctx: Ctx): Promise<void> {
  const [firstWord = "", secondWord = "", thirdWord] = typedWords.split(/\s+/);
  if (!firstWord) return ctx.note(listKeys(zz, ctx, (providerName) => `/keys ${providerName}`));
  const isDropping = firstWord === "drop";
  const provider = isDropping ? secondWord : firstWord;
  if (thirdWord || (!isDropping && secondWord))
    throw usage(
      "Cannot take a key from the line, where it can be seen. /keys PROVIDER asks for it, unseen.",
    );
  await assertKnown(provider, ctx);
  if (isDropping) return ctx.note(await dropKey(provider, ctx));
  if (!ctx.ask) return ctx.note(NO_TERMINAL);
  const typedKey = (
    await withPerson(ctx, (person) => person.secret(`Key for ${provider}:`))
  )?.trim();
  ctx.note(typedKey ? await keepKey(zz, provider, typedKey, ctx) : "Nothing was changed.");
}

const KEYS_USAGE = "zz --keys set PROVIDER, with the key on stdin, or zz --keys remove PROVIDER";

/** --keys [set|remove PROVIDER]. Throws on failure, so that a script gets an exit code. */
export async function keysFlag(zz: Zz, flagWords: string[], ctx: Ctx): Promise<Result> {
  const [verb, provider = "", ...extraWords] = flagWords;
  if (!verb)
    return {
      text: listKeys(zz, ctx, (providerName) => `zz --keys set ${providerName}`),
      data: listPlaces(ctx),
    };
  if (!/^(set|remove|drop)$/.test(verb))
    throw usage(`Cannot '${verb}' keys: no such word. Write ${KEYS_USAGE}.`);
  if (extraWords.length)
    throw usage("Cannot take a key from the line, where others can see it. Give it on stdin.");
  if (!provider) throw usage(`Cannot ${verb} a key: no provider is named. Write ${KEYS_USAGE}.`);
  await assertKnown(provider, ctx);
  if (verb !== "set") return { text: await dropKey(provider, ctx) };
  const typedText = ctx.ask
    ? await ctx.ask(`Key for ${provider}: `, { secret: true })
    : await fromStdin(zz);
  const typedKey = typedText.trim();
  if (!typedKey)
    throw usage(`Cannot keep a key for '${provider}': none was given. Write ${KEYS_USAGE}.`);
  return { text: await keepKey(zz, provider, typedKey, ctx) };
}

const MAX_STDIN_CHARS = 100_000;

async function fromStdin({ io }: Zz): Promise<string> {
  if (io.stdin.isTTY)
    throw usage("Cannot ask for a key: there is no terminal to ask on. Give it on stdin.");
  let stdinText = "";
  for await (const stdinPiece of io.stdin) {
    stdinText += stdinPiece;
    if (stdinText.length > MAX_STDIN_CHARS) break;
  }
  return stdinText;
}

async function assertKnown(provider: string, ctx: Ctx): Promise<void> {
  const knownNames = knownTo(ctx);
  if (knownNames.includes(provider)) return;
  const { models, failures } = await ctx.about.models(true);
  const askedNames = providersIn(models, failures).filter((name) => name !== "offline");
  const allNames = new Set([...knownNames, ...askedNames]);
  if (!allNames.has(provider))
    throw usage(`Cannot keep a key: ${unknown("provider", provider, allNames)}`);
}

async function keepKey(zz: Zz, provider: string, newKey: string, ctx: Ctx): Promise<string> {
  if (!/^[\x21-\x7e]{4,4096}$/.test(newKey))
    throw usage(
      `Cannot keep a key for '${provider}': what was given is not a key, which is one word. ` +
        "Check where it is from.",
    );
  await ctx.settings.set(`providers.${provider}.key`, zz.secret(newKey));
  const firstPlace = keyFrom(provider, ctx).split(", then ")[0];
  const hiddenNote = firstPlace === KEYS_FILE ? "" : ` The one in ${firstPlace} goes before it.`;
  const keysFile = path.join(ctx.about.home, KEYS_FILE);
  return `The key for '${provider}' is kept in ${keysFile}, ${whoReads(keysFile)}.${hiddenNote}`;
}

export const knownTo = (ctx: Ctx): string[] =>
  [...new Set([...Object.keys(variables(ctx)), ...Object.keys(endpoints(ctx))])].sort();

const listPlaces = (ctx: Ctx) =>
  knownTo(ctx).map((provider) => ({
    provider,
    from: keyFrom(provider, ctx) || null,
    to: addressOf(provider, ctx) ?? null,
  }));

/** Where the key of a provider goes. An address that was set by hand shows here. */
function describeTarget(provider: string, zz: Zz, ctx: Ctx): string {
  const providerUrl = addressOf(provider, ctx);
  return providerUrl && URL.canParse(providerUrl)
    ? `goes to ${zz.veil(new URL(providerUrl).host)}`
    : "goes to its own address";
}

/** A line for each provider that has a key or is common; the others by name only. */
function listKeys(zz: Zz, ctx: Ctx, formatCommand: (providerName: string) => string): string {
  const knownNames = knownTo(ctx);
  const shownNames = knownNames.filter(
    (providerName) =>
      USUAL.includes(providerName) || providerName in endpoints(ctx) || keyFrom(providerName, ctx),
  );
  const hiddenNames = knownNames.filter((providerName) => !shownNames.includes(providerName));
  const otherNames = hiddenNames.filter((providerName) => !WITHOUT_KEYS.includes(providerName));
  const localNames = hiddenNames.filter((providerName) => WITHOUT_KEYS.includes(providerName));
  const nameWidth = Math.max(8, ...shownNames.map((providerName) => providerName.length));
  const providerLines = shownNames.map((providerName) => {
    const keyPlace = keyFrom(providerName, ctx);
    const keyState = keyPlace
      ? `${keyPlace}, ${describeTarget(providerName, zz, ctx)}`
      : missing(providerName);
    return `${providerName.padEnd(nameWidth)}  ${keyState}`;
  });
  return [
    ...providerLines,
    ...(otherNames.length ? [`Without a key, and so not asked: ${otherNames.join(", ")}.`] : []),
    ...(localNames.length ? [`Asked by name alone, without a key: ${localNames.join(", ")}.`] : []),
  ].join("\n");

  function missing(providerName: string): string {
    return (
      `not set (${formatCommand(providerName)} enters ` +
      `one${variables(ctx)[providerName] ? `, or set ${variables(ctx)[providerName]}` : ""})`
    );
  }
}

/** Those that gave models, and those that failed. */
export const providersIn = (models: Model[], failures: string[]): string[] => [
  ...models.map(({ id }) => id.split("/")[0]!),
  ...failures.map((failure) => failure.split(":")[0]!),
];

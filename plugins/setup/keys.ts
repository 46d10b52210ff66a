// The keys of providers: where each comes from, and one entered or dropped, at the prompt with /keys, in scripts with --keys.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Endpoint, Result, Secret, Zz } from "zz";
import { tryTo, unknown, usage } from "zz/text";
import type { Person } from "./person.ts";

export const NO_TERMINAL =
  "Cannot ask: there is no terminal to ask on. Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), start Ollama (OLLAMA_HOST says where), or use --model PROVIDER/MODEL with --base-url URL and --key KEY.";

/** Loaded on first use: few starts ask anything. */
export async function withPerson<T>(ctx: Ctx, act: (person: Person) => Promise<T>): Promise<T | undefined> {
  const person = await import("./person.ts");
  return person.withPerson(ctx, act);
}

type Said = Endpoint & { key_command?: string };
export const endpoints = (ctx: Ctx): Record<string, Said> =>
  (ctx.settings.list().find(({ name }) => name === "providers")?.value ?? {}) as Record<string, Said>;

export const USUAL = ["ollama", "openai"]; // told of also where nothing is set

/** By provider, the variable that its key may be in. */
export const variables = ({ about }: Ctx): Record<string, string> =>
  Object.fromEntries(about.providers.flatMap(({ name, variable }) => (variable ? [[name, variable]] : [])));
const endpointOf = (provider: string, { about }: Ctx): Endpoint =>
  about.providers.find(({ name }) => name === provider)?.endpoint ?? {};
export const addressOf = (provider: string, ctx: Ctx): string | undefined => endpointOf(provider, ctx).url;
export const keyOf = (provider: string, ctx: Ctx): Secret | undefined => endpointOf(provider, ctx).key;

/** Where a provider's key comes from, and where else one is; never the key. */
export function keyFrom(provider: string, ctx: Ctx): string {
  const variable = variables(ctx)[provider];
  const isKept = provider in inHome(ctx, KEYS);
  const isSet = Boolean(settingsOf(provider, ctx)?.key);
  const isElsewhere = !isKept && !isSet && endpoints(ctx)[provider]?.key; // in the file that --config names
  const places = [
    isSet && SETTINGS,
    isElsewhere && "the settings",
    variable && process.env[variable] && variable,
    endpoints(ctx)[provider]?.key_command && "its key_command",
    isKept && KEYS,
  ];
  return places.filter(Boolean).join(", then ");
}

const [KEYS, SETTINGS] = ["keys.json", "zz.config.json"];
const inHome = ({ about }: Ctx, name: string): Record<string, unknown> =>
  tryTo(() => JSON.parse(fs.readFileSync(path.join(about.home, name), "utf8")) as Record<string, unknown>) ?? {};
const settingsOf = (provider: string, ctx: Ctx) =>
  (inHome(ctx, SETTINGS).providers as Record<string, { key?: string } | undefined> | undefined)?.[provider];

/** From wherever zz itself keeps it; a variable and another file are the person's. */
async function dropKey(provider: string, ctx: Ctx): Promise<string> {
  const { key, ...rest } = settingsOf(provider, ctx) ?? {};
  const from = [...(key ? [SETTINGS] : []), ...(provider in inHome(ctx, KEYS) ? [KEYS] : [])];
  if (key) await ctx.settings.set(`providers.${provider}`, Object.keys(rest).length ? rest : undefined);
  if (from.includes(KEYS)) await ctx.settings.set(`providers.${provider}.key`, undefined);
  const left = keyFrom(provider, ctx);
  if (!from.length) return `No key is kept for '${provider}'.${left ? ` The one in use is in ${left}.` : ""}`;
  return `The key for '${provider}' is dropped from ${from.join(" and ")}.${left ? ` There is still one in ${left}.` : ""}`;
}

export async function runKeys(zz: Zz, rest: string, ctx: Ctx): Promise<void> {
  const [first = "", second = "", third] = rest.split(/\s+/);
  if (!first) return ctx.note(listed(ctx, (name) => `/keys ${name}`));
  const drops = first === "drop";
  const provider = drops ? second : first;
  if (third || (!drops && second))
    return ctx.note("Cannot take a key from the line, where it can be seen. /keys PROVIDER asks for it, unseen.");
  const wrong = await noProvider(provider, ctx);
  if (wrong) return ctx.note(wrong);
  if (drops) return ctx.note(await dropKey(provider, ctx));
  if (!ctx.ask) return ctx.note(NO_TERMINAL);
  const key = (await withPerson(ctx, (person) => person.secret(`Key for ${provider}:`)))?.trim();
  ctx.note(key ? await keepKey(zz, provider, key, ctx) : "Nothing was changed.");
}

const WAYS = "zz --keys set PROVIDER, with the key on stdin, or zz --keys remove PROVIDER";

/** --keys [set|remove PROVIDER]: what went wrong is thrown, so that a script hears of it. */
export async function keysFlag(zz: Zz, words: string[], ctx: Ctx): Promise<Result> {
  const [does, provider = "", ...more] = words;
  if (!does) return { text: listed(ctx, (name) => `zz --keys set ${name}`), data: places(ctx) };
  if (!/^(set|remove|drop)$/.test(does)) throw usage(`Cannot '${does}' keys: there is no such word. Write ${WAYS}.`);
  if (more.length) throw usage("Cannot take a key from the line, where others can see it. Give it on stdin.");
  if (!provider) throw usage(`Cannot ${does} a key: no provider is named. Write ${WAYS}.`);
  const wrong = await noProvider(provider, ctx);
  if (wrong) throw usage(wrong);
  if (does !== "set") return { text: await dropKey(provider, ctx) };
  const typed = ctx.ask ? await ctx.ask(`Key for ${provider}: `, { secret: true }) : await fromStdin(zz);
  const key = typed.trim();
  if (!key) throw usage(`Cannot keep a key for '${provider}': none was given. Write ${WAYS}.`);
  if (!/^[\x21-\x7e]{4,4096}$/.test(key))
    throw usage(
      `Cannot keep a key for '${provider}': what was given is not a key, which is one word. Check where it is from.`,
    );
  return { text: await keepKey(zz, provider, key, ctx) };
}

const MAX_STDIN_CHARS = 100_000;

async function fromStdin({ io }: Zz): Promise<string> {
  if (io.stdin.isTTY) throw usage("Cannot ask for a key: there is no terminal to ask on. Give it on stdin.");
  let text = "";
  for await (const piece of io.stdin) {
    text += piece;
    if (text.length > MAX_STDIN_CHARS) break;
  }
  return text;
}

/** Why there is no such provider; undefined: there is. */
async function noProvider(provider: string, ctx: Ctx): Promise<string | undefined> {
  const known = knownTo(ctx);
  const others = known.includes(provider) ? [] : await providers(ctx);
  if (known.includes(provider) || others.includes(provider)) return undefined;
  return `Cannot keep a key: ${unknown("provider", provider, [...known, ...others])}`;
}

async function keepKey(zz: Zz, provider: string, key: string, ctx: Ctx): Promise<string> {
  await ctx.settings.set(`providers.${provider}.key`, zz.secret(key));
  const before = keyFrom(provider, ctx).split(", then ")[0];
  const hidden = before === KEYS ? "" : ` The one in ${before} goes before it.`;
  return `The key for '${provider}' is kept in ${path.join(ctx.about.home, KEYS)}, which only you can read.${hidden}`;
}

const knownTo = (ctx: Ctx): string[] =>
  [...new Set([...Object.keys(variables(ctx)), ...Object.keys(endpoints(ctx))])].sort();

const places = (ctx: Ctx) => knownTo(ctx).map((provider) => ({ provider, from: keyFrom(provider, ctx) || null }));

/** Those that have a key or are mostly asked, a line each; the others by name. */
function listed(ctx: Ctx, enters: (name: string) => string): string {
  const known = knownTo(ctx);
  const some = known.filter((name) => USUAL.includes(name) || name in endpoints(ctx) || keyFrom(name, ctx));
  const others = known.filter((name) => !some.includes(name));
  const width = Math.max(8, ...some.map((name) => name.length));
  const lines = some.map((name) => `${name.padEnd(width)}  ${keyFrom(name, ctx) || missing(name)}`);
  return [...lines, ...(others.length ? [`No key, and so not asked: ${others.join(", ")}.`] : [])].join("\n");

  function missing(name: string): string {
    return `not set (${enters(name)} enters one${variables(ctx)[name] ? `, or set ${variables(ctx)[name]}` : ""})`;
  }
}

async function providers({ about }: Ctx): Promise<string[]> {
  const { models, failures } = await about.models(true);
  const names = [...models.map(({ id }) => id.split("/")[0]!), ...failures.map((failure) => failure.split(":")[0]!)];
  return [...new Set(names)].filter((name) => name !== "offline");
}

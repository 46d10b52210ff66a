// ctx.settings: settings listed and set.
import path from "node:path";
import type { Preferences, Setting, Settings } from "./contract.ts";
import { type Core, note } from "./core.ts";
import { writePrivate } from "./disk.ts";
import { usage } from "./faults.ts";
import { updatePrivate } from "./locks.ts";
import { learnData, reveal, sealed, sealUrl, secret } from "./secrets.ts";
import { filled, inForce, keysFile, merge, NAME, sectionOf, shapeOf, sourcesOf, wrongSection, wrongSetting } from "./settings.ts";
import { ENDPOINT, isOwn, SETTINGS } from "./settings-table.ts";
import { isObject, type Shape, short } from "./shape.ts";
import { byName, compare, nearest, tryTo, unknown } from "./text.ts";
import { sectionsOf } from "./unknown-settings.ts";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const SCHEMA = "zz.config.schema.json";

export const preferences = (core: Core): Preferences => ({
  list: () => list(core),
  set: (name, value) => set(core, name, value),
  schema: () => schemaOf(core),
});

function list({ options, configs }: Core): Setting[] {
  const { home, project } = sourcesOf(options);
  const own = Object.entries(SETTINGS).map(([name, { description: about }]) => {
    const given = options.settings[name];
    const value = name === "providers" ? withoutKeys(options.settings[name]) : sealed(name, given);
    return { name, value, about, owner: "zz", ...from(name, home, project?.settings) };
  });
  const added = configs.flatMap(({ owner, value: config }) => {
    const { section, live, defaults } = config;
    return Object.entries(shapeOf(config).properties!).map(([key, { description: about, enum: values }]) => {
      const more = { ...(about && { about }), ...(values && { values }), ...from(key, config.home, config.theirs) };
      return { name: `${section}.${key}`, value: sealed(key, live[key]), default: defaults[key], owner, ...more };
    });
  });
  return [...own.filter(({ name }) => name !== "$schema"), ...added].sort(byName);
}

function from(key: string, home: object = {}, project: object = {}): Pick<Setting, "from"> {
  const said = Object.entries({ home, project }).flatMap(([whose, given]) => (Object.hasOwn(given, key) ? whose : []));
  return said.length ? { from: said as Setting["from"] } : {};
}

/** That there is a key may be told, and nothing of it. */
function withoutKeys(providers: Settings["providers"] = {}): Record<string, unknown> {
  const all = Object.entries(providers).map(([name, one]) => {
    if (!isObject(one)) return [name, one];
    const { kept, key = kept, url, ...others } = one;
    const shown = { ...(sealed("", others) as object), ...(url && { url: sealUrl(String(url)) }) };
    return [name, { ...shown, ...(key && { key: secret(String(key)) }) }];
  });
  return Object.fromEntries(all);
}

async function set(core: Core, name: string, given: unknown): Promise<void> {
  const { options, configs } = core;
  const value = reveal(given);
  learnData(value, name);
  const keys = name.split(".");
  const [section = "", key] = keys;
  const refuse = (why: string) => usage(`Cannot set '${name}': ${why}`);
  const known = list(core);
  const { values } = known.find((one) => one.name === name) ?? {};
  const names = known.map((one) => one.name);
  const own = configs.map((config) => config.value).filter((config) => config.section === section);
  if (!names.includes(name) && !isOwn(section) && (key !== undefined || !own.length)) throw refuse(unknown("setting", name, names));
  const sources = sourcesOf(options);
  const [, provider] = /^providers\.([^.]+)\.key$/.exec(name) ?? [];
  if (provider) {
    write(core, keysFile(options.home), [provider], value);
    options.settings = inForce(options.home, sources);
    return;
  }
  if (values && value !== undefined && !values.includes(value)) throw refuse(amongWords(values, value));
  const next = { ...sources, home: changed(sources.home, keys, value) as Settings };
  const wrong = wrongSetting(next.home);
  if (wrong) throw refuse(`${wrong}.`);
  for (const { defaults, schema } of own) {
    const given = merge(defaults, sectionOf(next.home, section));
    const refused = schema ? await wrongSection(schema, given) : key && unlike(defaults[key], value);
    if (refused) throw refuse(`${refused}.`);
  }
  write(core, options.config ?? path.join(options.home, NAME), keys, value);
  options.sources = next;
  options.settings = inForce(options.home, next);
  for (const config of own) filled(config, sectionOf(next.home, section), config.theirs);
  const counts = isOwn(section) ? next.project?.settings : { [section]: own[0]?.theirs };
  const theirs = keys.reduce<any>((value, key) => value?.[key], counts);
  if (theirs === undefined) return;
  note(core, `What the project says goes before it: ${name} is ${short(JSON.stringify(theirs))} in '${next.project!.file}'.`);
}

/** Into what the file holds now: somebody may have changed it meanwhile. */
function write(core: Core, file: string, keys: string[], value: unknown): void {
  let $schema: unknown;
  updatePrivate(file, (text) => {
    const kept = text && tryTo(() => JSON.parse(text));
    if (text && !isObject(kept)) throw usage(`Cannot change '${file}': it is no JSON object any more. Fix it first, or move it away.`);
    const { $schema: named, ...rest } = changed(kept || {}, keys, value);
    $schema = named;
    return JSON.stringify(named === undefined ? rest : { $schema: named, ...rest }, null, 2);
  });
  if ($schema === `./${SCHEMA}`) writePrivate(path.join(path.dirname(file), SCHEMA), JSON.stringify(schemaOf(core), null, 2));
}

/** A copy with the value there, or without it. */
function changed(from: unknown, [key, ...more]: string[], value: unknown): any {
  if (key === undefined) return value;
  const { [key]: old, ...rest } = (typeof from === "object" ? from : {}) as Record<string, unknown>;
  const inner = changed(old, more, value);
  return inner === undefined ? rest : { ...rest, [key]: inner };
}

function unlike(before: unknown, value: unknown): string | undefined {
  const fits = value === undefined || before === undefined || typeof before === typeof value;
  return fits ? undefined : `it must be a ${typeof before}, like ${JSON.stringify(before)}`;
}

/** One JSON Schema of all there is to set, for editors. */
function schemaOf(core: Core): Record<string, unknown> {
  const own = Object.entries(SETTINGS).map(([name, { project, ...shape }]) => [name, closed(shape)]);
  const added = [...sectionsOf(core)].map(([name, { shape }]) => [name, shape] as const);
  const all = Object.fromEntries([...own, ...added.sort(([a], [b]) => compare(a, b))]);
  const endpoint = closed(ENDPOINT);
  const names = [...core.providers.keys()].map((name) => [name, endpoint]);
  all.providers = { ...all.providers, properties: Object.fromEntries(names), additionalProperties: endpoint };
  return { $schema: DRAFT, title: `zz: ${NAME}`, type: "object", properties: all, additionalProperties: false };
}

function closed(shape: Shape): Shape {
  const { type, properties, additionalProperties = !properties } = shape;
  return type === "object" ? { ...shape, additionalProperties } : shape;
}

function amongWords(values: unknown[], value: unknown): string {
  const among = `it is one of ${values.map((one) => JSON.stringify(one)).join(", ")}.`;
  const near = typeof value === "string" ? nearest(short(value), values.map(String)) : undefined;
  return near === undefined ? among : `${among} Did you mean ${JSON.stringify(near)}?`;
}

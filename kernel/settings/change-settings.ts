// ctx.settings: lists and sets settings, and names those that have no effect.
import path from "node:path";
import type { Preferences, Setting, Settings } from "../contract.ts";
import { emitNote } from "../events.ts";
import { initialRules } from "../gate/rules.ts";
import type { Config, Send } from "../instance.ts";
import { type Core, isFlagGiven } from "../instance.ts";
import { writePrivate } from "../system/atomic-write.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { nearest, shortenName, unknown } from "../text/did-you-mean.ts";
import { usage } from "../text/faults.ts";
import { type Shape, withSwitches } from "../text/json-schema.ts";
import { learnData, makeSecret, revealSecret, sealed, sealUrl } from "../text/secrets.ts";
import { byName, compare, isObject, someOf, tryTo } from "../text/words.ts";
import { configSchema, fillConfig, withChangeEvents, wrongSection } from "./plugin-settings.ts";
import { allProviders } from "./providers.ts";
import {
  keysFile,
  mergeHomeAndProject,
  SETTINGS_FILE_NAME,
  sourcesOf,
  wrongOwn,
} from "./settings-files.ts";
import { ENDPOINT, isOwn, OPEN, SETTINGS } from "./settings-table.ts";

const [DRAFT, SCHEMA] = ["https://json-schema.org/draft/2020-12/schema", "zz.config.schema.json"];

export const preferences = (core: Core): Preferences => ({
  list: () => list(core),
  set: (name, value) => withChangeEvents(core, () => saveSetting(core, name, value)),
  schema: () => schemaOf(core),
});

function list({ options, configs }: Core): Setting[] {
  const { home, project } = sourcesOf(options);
  const own = Object.entries(SETTINGS).map(([name, { description: about, default: otherwise }]) => {
    const value =
      name === "providers"
        ? withoutKeys(options.settings.providers)
        : sealed(name, options.settings[name]);
    return {
      name,
      value,
      default: otherwise,
      about,
      owner: "zz",
      ...from(name, home, project?.settings),
    };
  });
  const added = configs.flatMap(
    ({ owner, value: config, value: { section, live, defaults, theirs } }) => {
      const { properties, additionalProperties: each, description: about } = configSchema(config);
      const by = {
        value: sealed(section, Object.keys(live).length ? live : undefined),
        ...from(section, home, theirs && { [section]: 1 }),
      };
      const named = isObject(each)
        ? Object.fromEntries(Object.keys(live).map((key) => [key, each as Shape]))
        : {};
      const rows = Object.entries({ ...named, ...properties }).map(
        ([key, { description: about, enum: values }]) => {
          const more = {
            ...(about && { about }),
            ...(values && { values }),
            ...from(key, config.home, config.theirs),
          };
          return {
            name: `${section}.${key}`,
            value: sealed(key, live[key]),
            default: defaults[key],
            owner,
            ...more,
          };
        },
      );
      return isObject(each) ? [{ name: section, owner, about, ...by }, ...rows] : rows;
    },
  );
  return [...own.filter(({ name }) => name !== "$schema"), ...added].sort(byName);
}

function from(key: string, home: object = {}, project: object = {}): Pick<Setting, "from"> {
  const said = Object.entries({ home, project }).flatMap(([whose, given]) =>
    Object.hasOwn(given, key) ? whose : [],
  );
  return said.length ? { from: said as Setting["from"] } : {};
}

/** Only whether there is a key may be shown. */
function withoutKeys(providers: Settings["providers"] = {}): Record<string, unknown> {
  const all = Object.entries(providers).map(([name, one]) => {
    if (!isObject(one)) return [name, one];
    const { kept, key = kept, url, ...others } = one;
    const shown = { ...(sealed("", others) as object), ...(url && { url: sealUrl(String(url)) }) };
    return [name, { ...shown, ...(key && { key: makeSecret(String(key)) }) }];
  });
  return Object.fromEntries(all);
}

async function saveSetting(core: Core, name: string, given: unknown): Promise<void> {
  const { options, configs } = core;
  const plain = revealSecret(given);
  learnData(plain, name);
  const keys = name.split(".");
  const [section = "", key] = keys;
  const refuse = (why: string) => usage(`Cannot set '${name}': ${why}`);
  const names = list(core).map((one) => one.name);
  const own = configs.map((config) => config.value).filter((config) => config.section === section);
  if (!names.includes(name) && !isOwn(section) && (key !== undefined || !own.length))
    throw refuse(unknown("setting", name, names, "/config lists them."));
  const shapeAt = (one: Config) =>
    keys
      .slice(1)
      .reduce<any>(
        (inner, part) => inner?.properties?.[part] ?? inner?.additionalProperties,
        configSchema(one),
      );
  const value = withSwitches(own.map(shapeAt).find(Boolean), plain);
  const sources = sourcesOf(options);
  const [, provider] = /^providers\.([^.]+)\.key$/.exec(name) ?? [];
  if (provider) {
    write(core, keysFile(options.home), [provider], value);
    return void (options.settings = mergeHomeAndProject(options.home, sources));
  }
  const next = { ...sources, home: withValueAt(sources.home, keys, value) as Settings };
  // the others may be wrong already
  const faults = own.map((one) => wrongSection(options.home, one, next.home, key));
  const refused = (await Promise.all([wrongOwn(options.home, next.home), ...faults])).find(Boolean);
  if (refused) throw refuse(`${refused}. Give another value; /config ${name} tells about it.`);
  // throws at a rule that no zz could start with
  initialRules({ ...options, settings: mergeHomeAndProject(options.home, next) });
  write(core, options.config ?? path.join(options.home, SETTINGS_FILE_NAME), keys, value);
  options.sources = next;
  options.settings = mergeHomeAndProject(options.home, next);
  for (const config of own) await fillConfig(core, config);
  const counts = isOwn(section) ? next.project?.settings : { [section]: own[0]?.theirs };
  const theirs = keys.reduce<any>((value, key) => value?.[key], counts);
  if (theirs === undefined) return;
  emitNote(
    core,
    `What the project says goes before it: ${name} is ${shortenName(JSON.stringify(theirs))} in '${next.project!.file}'.`,
  );
}

/** Writes into what the file holds now: it may have changed meanwhile. */
function write(core: Core, file: string, keys: string[], value: unknown): void {
  let $schema: unknown;
  updatePrivateFile(file, (text) => {
    const kept = text && tryTo(() => JSON.parse(text));
    if (text && !isObject(kept))
      throw usage(
        `Cannot change '${file}': it is not a JSON object any more. Fix it first, or move it away.`,
      );
    const { $schema: named, ...rest } = withValueAt(kept || {}, keys, value);
    $schema = named;
    return JSON.stringify(named === undefined ? rest : { $schema: named, ...rest }, null, 2);
  });
  if ($schema === `./${SCHEMA}`)
    writePrivate(path.join(path.dirname(file), SCHEMA), JSON.stringify(schemaOf(core), null, 2));
}

/** A copy with the value set, or removed. */
function withValueAt(from: unknown, [key, ...more]: string[], value: unknown): any {
  if (key === undefined) return value;
  const { [key]: old, ...rest } = (typeof from === "object" ? from : {}) as Record<string, unknown>;
  const inner = withValueAt(old, more, value);
  return inner === undefined ? rest : { ...rest, [key]: inner };
}

/** One JSON Schema of all settings, for editors. */
function schemaOf(core: Core): Record<string, unknown> {
  const own = Object.entries(SETTINGS).map(([name, shape]) => [name, closed(shape)]);
  const added = [...sectionsOf(core)].map(([name, { shape }]) => [name, shape] as const);
  const all = Object.fromEntries([...own, ...added.sort(([a], [b]) => compare(a, b))]);
  all.providers = {
    ...all.providers,
    properties: providersOf(core),
    additionalProperties: closed(ENDPOINT),
  };
  return {
    $schema: DRAFT,
    title: `zz: ${SETTINGS_FILE_NAME}`,
    type: "object",
    properties: all,
    additionalProperties: false,
  };
}

const providersOf = (core: Core) =>
  Object.fromEntries([...allProviders(core).keys()].map((name) => [name, closed(ENDPOINT)]));
const closed = (shape: Shape): Shape =>
  shape.type === "object" ? { additionalProperties: !shape.properties, ...shape } : shape;

/** Names the settings that have no effect, the home's first. They stay as they are. */
export function unknownSettings(core: Core): string[] {
  const { home, project } = sourcesOf(core.options);
  let all: Sections | undefined;
  const said = strange(home, "", []);
  if (!project) return said;
  const left = [...project.left];
  const theirs = [...project.faults, ...strange(project.settings, ` in '${project.file}'`, left)];
  const more = theirs.length - MAX_NOTES;
  return [
    ...said,
    ...theirs.slice(0, MAX_NOTES),
    ...(more > 0 ? [`There are ${more} more such problems in '${project.file}'.`] : []),
    ...(left.length ? [refusal(project.file, left.sort())] : []),
    ...project.sends.map((send) => redirectNote(project.file, send)),
  ];

  /** Settings that the project may not set go to `left`. */
  function strange(given: Settings, where: string, left: string[]): string[] {
    return Object.keys(given).flatMap((name) => {
      const isPartial =
        core.options.own === false ||
        core.plugins.some(({ disabled, failure }) => disabled || failure) ||
        mayCome(core);
      const shape =
        name === "providers" && !isPartial ? { properties: providersOf(core) } : SETTINGS[name]!;
      if (isOwn(name))
        return OPEN.includes(name) ? [] : unknownKeys(shape, given[name], `${name}.`, where);
      all ??= sectionsOf(core);
      const section = all.get(name);
      const isOff = core.plugins.some(
        (plugin) => plugin.name === name && (plugin.disabled || plugin.failure),
      );
      // Its plugin may come.
      const isNobodys =
        isOff ||
        core.options.own === false ||
        isFlagGiven(core, "alone") ||
        (where && mayCome(core));
      const file = core.options.config ?? path.join(core.options.home, SETTINGS_FILE_NAME);
      const remedy = `Remove it ${where ? "there" : `from '${file}'`}, or install the plugin that takes it.`;
      if (!section)
        return isNobodys
          ? []
          : unknownSetting(name, [...Object.keys(SETTINGS), ...all.keys()], "", where, remedy);
      if (!isObject(given[name]))
        return [`Cannot use the setting "${name}"${where}: it must be an object.`];
      if (where && !project!.trusted) left.push(...notTaken(name, section, given[name]));
      return unknownKeys(section.shape, given[name], `${name}.`, where);
    });
  }
}
const [MAX_NOTES, MAX_NAMES] = [5, 10];
/** Whether the project has plugins that are not trusted. */
const mayCome = ({ extras }: Core): boolean =>
  extras?.given === false && extras.files.some((name) => name.startsWith(".zz/plugins/"));

type Sections = Map<string, { shape: Shape; owners: Config[] }>;
/**
 * The plugins' settings, by section. zz's own plugins without settings own none, and the kernel's
 * names come first.
 */
function sectionsOf({ configs, plugins }: Core): Sections {
  const all: Sections = new Map();
  for (const { owner, value } of configs) {
    const { section, schema, defaults } = value;
    const isBare = !schema && !Object.keys(defaults).length;
    if (isOwn(section) || (isBare && plugins.find(({ name }) => name === owner)?.from === "zz"))
      continue;
    const { owners = [], shape: { properties = {} } = {} } = all.get(section) ?? {};
    const shape = configSchema(value);
    all.set(section, {
      shape: { ...shape, properties: { ...properties, ...shape.properties } },
      owners: [...owners, value],
    });
  }
  return all;
}

function notTaken(
  name: string,
  { shape, owners }: { shape: Shape; owners: Config[] },
  given: object,
): string[] {
  if (owners.every(({ project }) => !project)) return [name];
  const may = (key: string) =>
    owners.some(({ project = [] }) => project === true || project.includes(key));
  const isKnown = (key: string) =>
    shape.additionalProperties || Object.hasOwn(shape.properties!, key);
  return Object.keys(given).flatMap((key) => (!may(key) && isKnown(key) ? `${name}.${key}` : []));
}

function redirectNote(file: string, { setting, from, to }: Send): string {
  const why = `it would send what you say and your files to ${shortenName(to)} instead of ${shortenName(from)}`;
  const ways =
    "/trust asks for that by itself; --base-url, --model and your own settings can say it too.";
  return `Left out ${shortenName(setting)} of '${file}': ${why}. ${ways}`;
}

function refusal(file: string, left: string[]): string {
  const why = "a project may not send data elsewhere, loosen what is asked for, or say what runs";
  const names = someOf(MAX_NAMES, left, shortenName);
  return `Cannot take ${names} from '${file}': ${why}. Trust the folder (--trust, /trust), or set it in your own settings.`;
}

function unknownKeys(shape: Shape, given: unknown, under: string, where: string): string[] {
  if (!isObject(given)) return [];
  const { properties = {}, additionalProperties } = shape;
  return Object.entries(given).flatMap(([key, value]) => {
    const isMisspelt =
      isObject(additionalProperties) &&
      !Object.hasOwn(properties, key) &&
      nearest(key, Object.keys(properties));
    const own = Object.hasOwn(properties, key)
      ? properties[key]
      : !isMisspelt && additionalProperties;
    if (isObject(own))
      return own.properties || own.additionalProperties
        ? unknownKeys(own, value, `${under}${key}.`, where)
        : [];
    return own || (!shape.properties && !additionalProperties)
      ? []
      : unknownSetting(key, Object.keys(properties), under, where);
  });
}

const unknownSetting = (
  name: string,
  known: string[],
  under: string,
  where: string,
  remedy?: string,
): string[] => [
  `Unknown setting "${under}${shortenName(name)}"${where}: ${unknown("setting", shortenName(name), known, remedy)}`,
];

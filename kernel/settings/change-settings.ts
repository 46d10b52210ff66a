// ctx.settings: lists and sets settings, and names those that have no effect.
import path from "node:path";
import type { Preferences, Setting, Settings } from "../contract.ts";
import { emitNote } from "../events.ts";
import { initialRules } from "../gate/rules.ts";
import type { Config, DataRedirect, Project } from "../instance.ts";
import { type Core, isFlagGiven } from "../instance.ts";
import { writePrivate } from "../system/atomic-write.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { nearest, shortenName, unknown } from "../text/did-you-mean.ts";
import { usage } from "../text/faults.ts";
import { type Shape, withSwitches } from "../text/json-schema.ts";
import { learnData, makeSecret, revealSecret, sealSecrets, sealUrl } from "../text/secrets.ts";
import { byName, compare, isObject, someOf, tryTo } from "../text/words.ts";
import { configSchema, fillConfig, withChangeEvents, wrongSection } from "./plugin-settings.ts";
import { allProviders } from "./providers.ts";
import {
  keysFile,
  mergeHomeAndProject,
  SETTINGS_FILE_NAME,
  sourcesOf,
  wrongKernelSetting,
} from "./settings-files.ts";
import { ENDPOINT, isKernelSetting, OPEN_SETTINGS, SETTINGS } from "./settings-table.ts";

const [SCHEMA_DRAFT, SCHEMA_FILE_NAME] = [
  "https://json-schema.org/draft/2020-12/schema",
  "zz.config.schema.json",
];

export const preferences = (core: Core): Preferences => ({
  list: () => listSettings(core),
  set: (name, value) => withChangeEvents(core, () => saveSetting(core, name, value)),
  schema: () => schemaOf(core),
});

function listSettings({ options, configs }: Core): Setting[] {
  const { home, project, team } = sourcesOf(options);
  const ownRows = Object.entries(SETTINGS).map(
    ([name, { description: about, default: otherwise }]) => {
      const value =
        name === "providers"
          ? hideProviderKeys(options.settings.providers)
          : sealSecrets(name, options.settings[name]);
      return {
        name,
        value,
        default: otherwise,
        about,
        owner: "zz",
        ...settersOf(name, home, project?.settings, team?.settings),
      };
    },
  );
  const added = configs.flatMap(
    ({ owner, value: config, value: { section, live, defaults, theirs, teams } }) => {
      const { properties, additionalProperties: each, description: about } = configSchema(config);
      const by = {
        value: sealSecrets(section, Object.keys(live).length ? live : undefined),
        ...settersOf(section, home, theirs && { [section]: 1 }, teams && { [section]: 1 }),
      };
      const named = isObject(each)
        ? Object.fromEntries(Object.keys(live).map((key) => [key, each as Shape]))
        : {};
      const rows = Object.entries({ ...named, ...properties }).map(
        ([key, { description: about, enum: values }]) => {
          const details = {
            ...(about && { about }),
            ...(values && { values }),
            ...settersOf(key, config.home, theirs, teams),
          };
          return {
            name: `${section}.${key}`,
            value: sealSecrets(key, live[key]),
            default: defaults[key],
            owner,
            ...details,
          };
        },
      );
      return isObject(each) ? [{ name: section, owner, about, ...by }, ...rows] : rows;
    },
  );
  // an old name is listed only where it is in use
  const isListed = ({ name, value }: Setting) =>
    name !== "$schema" && (name !== "disabled" || value !== undefined);
  return [...ownRows, ...added].filter(isListed).sort(byName);
}

function settersOf(
  key: string,
  home: object = {},
  project: object = {},
  team: object = {},
): Pick<Setting, "from"> {
  const setters = Object.entries({ team, home, project }).flatMap(([whose, settings]) =>
    Object.hasOwn(settings, key) ? whose : [],
  );
  return setters.length ? { from: setters as Setting["from"] } : {};
}

/** Only whether there is a key may be shown. */
function hideProviderKeys(providers: Settings["providers"] = {}): Record<string, unknown> {
  const shownProviders = Object.entries(providers).map(([name, provider]) => {
    if (!isObject(provider)) return [name, provider];
    const { kept, key = kept, url, ...others } = provider;
    const shown = {
      ...(sealSecrets("", others) as object),
      ...(url && { url: sealUrl(String(url)) }),
    };
    return [name, { ...shown, ...(key && { key: makeSecret(String(key)) }) }];
  });
  return Object.fromEntries(shownProviders);
}

async function saveSetting(core: Core, name: string, input: unknown): Promise<void> {
  const { options, configs } = core;
  const plain = revealSecret(input);
  learnData(plain, name);
  const keys = name.split(".");
  const [section = "", key] = keys;
  const refuse = (reason: string) => usage(`Cannot set '${name}': ${reason}`);
  const names = listSettings(core).map((setting) => setting.name);
  const sectionConfigs = configs
    .map((config) => config.value)
    .filter((config) => config.section === section);
  if (
    !names.includes(name) &&
    !isKernelSetting(section) &&
    (key !== undefined || !sectionConfigs.length)
  )
    throw refuse(unknown("setting", name, names, "/config lists them."));
  const shapeAt = (config: Config) =>
    keys
      .slice(1)
      .reduce<any>(
        (inner, part) => inner?.properties?.[part] ?? inner?.additionalProperties,
        configSchema(config),
      );
  const value = withSwitches(sectionConfigs.map(shapeAt).find(Boolean), plain);
  const sources = sourcesOf(options);
  const [, provider] = /^providers\.([^.]+)\.key$/.exec(name) ?? [];
  if (provider) {
    writeSetting(core, keysFile(options.home), [provider], value);
    return void (options.settings = mergeHomeAndProject(options.home, sources));
  }
  const next = { ...sources, home: withValueAt(sources.home, keys, value) as Settings };
  // the others may be wrong already
  const faults = sectionConfigs.map((ownConfig) =>
    wrongSection(options.home, ownConfig, next.home, key),
  );
  const refused = (
    await Promise.all([wrongKernelSetting(options.home, next.home), ...faults])
  ).find(Boolean);
  if (refused) throw refuse(`${refused}. Give another value; /config ${name} tells about it.`);
  // throws at a rule that no zz could start with
  initialRules({ ...options, settings: mergeHomeAndProject(options.home, next) });
  writeSetting(core, options.config ?? path.join(options.home, SETTINGS_FILE_NAME), keys, value);
  options.sources = next;
  options.settings = mergeHomeAndProject(options.home, next);
  for (const config of sectionConfigs) await fillConfig(core, config);
  const counts = isKernelSetting(section)
    ? next.project?.settings
    : { [section]: sectionConfigs[0]?.theirs };
  const theirs = keys.reduce<any>((value, key) => value?.[key], counts);
  if (theirs === undefined) return;
  emitNote(
    core,
    `What the project says goes before it: ${name} is ${shortenName(JSON.stringify(theirs))} in '${next.project!.file}'.`,
  );
}

/** Writes into what the file holds now: it may have changed meanwhile. */
function writeSetting(core: Core, file: string, keys: string[], value: unknown): void {
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
  if ($schema === `./${SCHEMA_FILE_NAME}`)
    writePrivate(
      path.join(path.dirname(file), SCHEMA_FILE_NAME),
      JSON.stringify(schemaOf(core), null, 2),
    );
}

/** A copy with the value set, or removed. */
function withValueAt(from: unknown, [key, ...innerKeys]: string[], value: unknown): any {
  if (key === undefined) return value;
  const { [key]: old, ...rest } = (typeof from === "object" ? from : {}) as Record<string, unknown>;
  const inner = withValueAt(old, innerKeys, value);
  return inner === undefined ? rest : { ...rest, [key]: inner };
}

/** One JSON Schema of all settings, for editors. */
function schemaOf(core: Core): Record<string, unknown> {
  const ownShapes = Object.entries(SETTINGS).map(([name, shape]) => [name, closedShape(shape)]);
  const added = [...sectionsOf(core)].map(([name, { shape }]) => [name, shape] as const);
  const allShapes = Object.fromEntries([...ownShapes, ...added.sort(([a], [b]) => compare(a, b))]);
  allShapes.providers = {
    ...allShapes.providers,
    properties: providersOf(core),
    additionalProperties: closedShape(ENDPOINT),
  };
  return {
    $schema: SCHEMA_DRAFT,
    title: `zz: ${SETTINGS_FILE_NAME}`,
    type: "object",
    properties: allShapes,
    additionalProperties: false,
  };
}

const providersOf = (core: Core) =>
  Object.fromEntries([...allProviders(core).keys()].map((name) => [name, closedShape(ENDPOINT)]));
const closedShape = (shape: Shape): Shape =>
  shape.type === "object" ? { additionalProperties: !shape.properties, ...shape } : shape;

/** Names the settings that have no effect, the home's first. They stay as they are. */
export function unknownSettings(core: Core): string[] {
  const { home, project, team } = sourcesOf(core.options);
  let allSections: Sections | undefined;
  return [
    ...strange(home, "", []),
    ...(team ? faultsOf(team) : []),
    ...(project ? faultsOf(project) : []),
  ];

  function faultsOf({ file, settings, left, faults, sends, trusted }: Project): string[] {
    const refused = [...left];
    const theirs = [...faults, ...strange(settings, ` in '${file}'`, refused, trusted)];
    const hiddenFaults = theirs.length - MAX_NOTES;
    return [
      ...theirs.slice(0, MAX_NOTES),
      ...(hiddenFaults > 0 ? [`There are ${hiddenFaults} more such problems in '${file}'.`] : []),
      ...(refused.length ? [noteOnRefused(file, refused.sort())] : []),
      ...sends.map((send) => noteOnRedirect(file, send)),
    ];
  }

  /** Settings that the project may not set go to `left`. */
  function strange(
    settings: Settings,
    where: string,
    refusedNames: string[],
    isTrusted = true,
  ): string[] {
    return Object.keys(settings).flatMap((name) => {
      const value = settings[name];
      if (isKernelSetting(name)) return unknownOfKernel(core, name, value, where);
      allSections ??= sectionsOf(core);
      const section = allSections.get(name);
      if (!section) return unknownSection(core, name, [...allSections.keys()], where);
      if (!isObject(value))
        return [`Cannot use the setting "${name}"${where}: it must be an object.`];
      if (!isTrusted) refusedNames.push(...refusedSettings(name, section, value));
      return unknownKeys(section.shape, value, `${name}.`, where);
    });
  }
}

function unknownOfKernel(core: Core, name: string, value: unknown, where: string): string[] {
  if (OPEN_SETTINGS.includes(name)) return [];
  const isPartial =
    core.options.own === false ||
    core.plugins.some(({ disabled, failure }) => disabled || failure) ||
    hasUntrustedPlugins(core);
  const shape =
    name === "providers" && !isPartial ? { properties: providersOf(core) } : SETTINGS[name]!;
  return unknownKeys(shape, value, `${name}.`, where);
}

/** None if its plugin may come. */
function unknownSection(core: Core, name: string, sections: string[], where: string): string[] {
  const isOff = core.plugins.some(
    (plugin) => plugin.name === name && (plugin.disabled || plugin.failure),
  );
  const mayCome =
    isOff ||
    core.options.own === false ||
    isFlagGiven(core, "alone") ||
    (where && hasUntrustedPlugins(core));
  if (mayCome) return [];
  const file = core.options.config ?? path.join(core.options.home, SETTINGS_FILE_NAME);
  const remedy = `Remove it ${where ? "there" : `from '${file}'`}, or install the plugin that takes it.`;
  return unknownSetting(name, [...Object.keys(SETTINGS), ...sections], "", where, remedy);
}

const [MAX_NOTES, MAX_NAMES] = [5, 10];
/** Whether the project has plugins that are not trusted. */
const hasUntrustedPlugins = ({ extras }: Core): boolean =>
  extras?.given === false && extras.files.some((name) => name.startsWith(".zz/plugins/"));

type Sections = Map<string, { shape: Shape; owners: Config[] }>;
/**
 * The plugins' settings, by section. zz's own plugins without settings own none, and the kernel's
 * names come first.
 */
function sectionsOf({ configs, plugins }: Core): Sections {
  const sections: Sections = new Map();
  for (const { owner, value } of configs) {
    const { section, schema, defaults } = value;
    const isBare = !schema && !Object.keys(defaults).length;
    if (
      isKernelSetting(section) ||
      (isBare && plugins.find(({ name }) => name === owner)?.from === "zz")
    )
      continue;
    const { owners = [], shape: { properties = {} } = {} } = sections.get(section) ?? {};
    const shape = configSchema(value);
    sections.set(section, {
      shape: { ...shape, properties: { ...properties, ...shape.properties } },
      owners: [...owners, value],
    });
  }
  return sections;
}

function refusedSettings(
  name: string,
  { shape, owners }: { shape: Shape; owners: Config[] },
  settings: object,
): string[] {
  if (owners.every(({ project }) => !project)) return [name];
  const may = (key: string) =>
    owners.some(({ project = [] }) => project === true || project.includes(key));
  const isKnown = (key: string) =>
    shape.additionalProperties || Object.hasOwn(shape.properties!, key);
  return Object.keys(settings).flatMap((key) =>
    !may(key) && isKnown(key) ? `${name}.${key}` : [],
  );
}

function noteOnRedirect(file: string, { setting, from, to }: DataRedirect): string {
  const reason = `it would send what you say and your files to ${shortenName(to)} instead of ${shortenName(from)}`;
  const ways =
    "/trust asks for that by itself; --base-url, --model and your own settings can say it too.";
  return `Left out ${shortenName(setting)} of '${file}': ${reason}. ${ways}`;
}

function noteOnRefused(file: string, refused: string[]): string {
  const reason =
    "a project may not send data elsewhere, loosen what is asked for, or say what runs";
  const names = someOf(MAX_NAMES, refused, shortenName);
  return `Cannot take ${names} from '${file}': ${reason}. Trust the folder (--trust, /trust), or set it in your own settings.`;
}

function unknownKeys(shape: Shape, settings: unknown, under: string, where: string): string[] {
  if (!isObject(settings)) return [];
  const { properties = {}, additionalProperties } = shape;
  return Object.entries(settings).flatMap(([key, value]) => {
    const isMisspelt =
      isObject(additionalProperties) &&
      !Object.hasOwn(properties, key) &&
      nearest(key, Object.keys(properties));
    const innerShape = Object.hasOwn(properties, key)
      ? properties[key]
      : !isMisspelt && additionalProperties;
    if (isObject(innerShape))
      return innerShape.properties || innerShape.additionalProperties
        ? unknownKeys(innerShape, value, `${under}${key}.`, where)
        : [];
    return innerShape || (!shape.properties && !additionalProperties)
      ? []
      : unknownSetting(key, Object.keys(properties), under, where);
  });
}

const unknownSetting = (
  name: string,
  knownNames: string[],
  under: string,
  where: string,
  remedy?: string,
): string[] => [
  `Unknown setting "${under}${shortenName(name)}"${where}: ${unknown("setting", shortenName(name), knownNames, remedy)}`,
];

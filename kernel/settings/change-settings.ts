// ctx.settings: lists and sets settings, and names those that have no effect.
import path from "node:path";
import type { Preferences, Setting, Settings } from "../contract.ts";
import { emitNote } from "../events.ts";
import { initialRules } from "../gate/rules.ts";
import type { Config, Project } from "../instance.ts";
import { type Core, isFlagGiven } from "../instance.ts";
import { writePrivate } from "../system/atomic-write.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { nearest, shortenName, unknown } from "../text/did-you-mean.ts";
import { usage } from "../text/faults.ts";
import { type Shape, withSwitches } from "../text/json-schema.ts";
import { learnData, makeSecret, revealSecret, sealSecrets, sealUrl } from "../text/secrets.ts";
import { byName, compare, isObject, mapValues, pickKeys, tryTo } from "../text/words.ts";
import { configSchema, fillConfig, withChangeEvents, wrongSection } from "./plugin-settings.ts";
import { allProviders } from "./providers.ts";
import { noteOnRedirect, noteOnRefused, refusedSettings } from "./refused-settings.ts";
import {
  inOwnFile,
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
  set: (settingName, settingValue) =>
    withChangeEvents(core, () => saveSetting(core, settingName, settingValue)),
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
  const pluginRows = configs.flatMap(
    ({ owner, value: config, value: { section, live, defaults, theirs, teams } }) => {
      const {
        properties,
        additionalProperties: entryShape,
        description: about,
      } = configSchema(config);
      const sectionDetails = {
        value: sealSecrets(section, Object.keys(live).length ? live : undefined),
        ...settersOf(section, home, theirs && { [section]: 1 }, teams && { [section]: 1 }),
      };
      const namedShapes = isObject(entryShape) ? mapValues(live, () => entryShape as Shape) : {};
      const innerRows = Object.entries({ ...namedShapes, ...properties }).map(
        ([settingKey, { description: about, enum: values }]) => {
          const details = {
            ...(about && { about }),
            ...(values && { values }),
            ...settersOf(settingKey, config.home, theirs, teams),
          };
          return {
            name: `${section}.${settingKey}`,
            value: sealSecrets(settingKey, live[settingKey]),
            default: defaults[settingKey],
            owner,
            ...details,
          };
        },
      );
      return isObject(entryShape)
        ? [{ name: section, owner, about, ...sectionDetails }, ...innerRows]
        : innerRows;
    },
  );
  // an old name is listed only where it is in use
  const isListed = ({ name, value }: Setting) =>
    name !== "$schema" && (name !== "disabled" || value !== undefined);
  return [...ownRows, ...pluginRows].filter(isListed).sort(byName);
}

function settersOf(
  settingKey: string,
  home: object = {},
  project: object = {},
  team: object = {},
): Pick<Setting, "from"> {
  const setters = Object.entries({ team, home, project }).flatMap(([setterName, settings]) =>
    Object.hasOwn(settings, settingKey) ? setterName : [],
  );
  return setters.length ? { from: setters as Setting["from"] } : {};
}

/** Only whether there is a key may be shown. */
function hideProviderKeys(providers: Settings["providers"] = {}): Record<string, unknown> {
  return mapValues(providers, (provider: (typeof providers)[string]) => {
    if (!isObject(provider)) return provider;
    const { kept, key = kept, url, ...others } = provider;
    return {
      ...(sealSecrets("", others) as object),
      ...(url && { url: sealUrl(String(url)) }),
      ...(key && { key: makeSecret(String(key)) }),
    };
  });
}

async function saveSetting(core: Core, name: string, inputValue: unknown): Promise<void> {
  const { options, configs } = core;
  const plainValue = revealSecret(inputValue);
  learnData(plainValue, name);
  const keyPath = name.split(".");
  const [section = "", settingKey] = keyPath;
  const refuse = (reason: string) => usage(`Cannot set '${name}': ${reason}`);
  const knownNames = listSettings(core).map((setting) => setting.name);
  const sectionConfigs = configs
    .map((config) => config.value)
    .filter((config) => config.section === section);
  if (
    !knownNames.includes(name) &&
    !isKernelSetting(section) &&
    (settingKey !== undefined || !sectionConfigs.length)
  )
    throw refuse(unknown("setting", name, knownNames, "/config lists them."));
  const shapeAt = (config: Config) =>
    keyPath
      .slice(1)
      .reduce<any>(
        (innerShape, pathKey) =>
          innerShape?.properties?.[pathKey] ?? innerShape?.additionalProperties,
        configSchema(config),
      );
  const value = withSwitches(sectionConfigs.map(shapeAt).find(Boolean), plainValue);
  const sources = sourcesOf(options);
  const [, provider] = /^providers\.([^.]+)\.key$/.exec(name) ?? [];
  if (provider) {
    writeSetting(core, keysFile(options.home), [provider], value);
    return void (options.settings = mergeHomeAndProject(options.home, sources));
  }
  const next = { ...sources, home: withValueAt(sources.home, keyPath, value) as Settings };
  // only this setting counts: others of the section may be wrong already
  const sectionFaults = sectionConfigs.map((ownConfig) =>
    wrongSection(options.home, ownConfig, next.home, settingKey),
  );
  const refused = (
    await Promise.all([wrongKernelSetting(options.home, next.home), ...sectionFaults])
  ).find(Boolean);
  if (refused) throw refuse(`${refused}. Give another value; /config ${name} tells about it.`);
  // throws at a rule that no zz could start with
  initialRules({ ...options, settings: mergeHomeAndProject(options.home, next) });
  writeSetting(core, options.config ?? path.join(options.home, SETTINGS_FILE_NAME), keyPath, value);
  options.sources = next;
  options.settings = mergeHomeAndProject(options.home, next);
  for (const config of sectionConfigs) await fillConfig(core, config);
  const projectValues = isKernelSetting(section)
    ? next.project?.settings
    : { [section]: sectionConfigs[0]?.theirs };
  const projectValue = keyPath.reduce<any>((inner, pathKey) => inner?.[pathKey], projectValues);
  if (projectValue === undefined) return;
  emitNote(
    core,
    "What the project says goes before it: " +
      `${name} is ${shortenName(JSON.stringify(projectValue))} in '${next.project!.file}'.`,
  );
}

/** Writes into what the file holds now: it may have changed meanwhile. */
function writeSetting(
  core: Core,
  settingsFile: string,
  keyPath: string[],
  newValue: unknown,
): void {
  let $schema: unknown;
  updatePrivateFile(settingsFile, (fileText) => {
    const keptSettings = fileText && tryTo(() => JSON.parse(fileText));
    if (fileText && !isObject(keptSettings))
      throw usage(
        `Cannot change '${settingsFile}': it is not a JSON object any more. ` +
          "Fix it first, or move it away.",
      );
    const { $schema: schemaName, ...rest } = withValueAt(keptSettings || {}, keyPath, newValue);
    $schema = schemaName;
    return JSON.stringify(
      schemaName === undefined ? rest : { $schema: schemaName, ...rest },
      null,
      2,
    );
  });
  if ($schema === `./${SCHEMA_FILE_NAME}`)
    writePrivate(
      path.join(path.dirname(settingsFile), SCHEMA_FILE_NAME),
      JSON.stringify(schemaOf(core), null, 2),
    );
}

/** A copy with the value set, or removed. */
function withValueAt(
  parentValue: unknown,
  [firstKey, ...innerKeys]: string[],
  newValue: unknown,
): any {
  if (firstKey === undefined) return newValue;
  const { [firstKey]: previousValue, ...rest } = (
    typeof parentValue === "object" ? parentValue : {}
  ) as Record<string, unknown>;
  const innerValue = withValueAt(previousValue, innerKeys, newValue);
  return innerValue === undefined ? rest : { ...rest, [firstKey]: innerValue };
}

/** One JSON Schema of all settings, for editors. */
function schemaOf(core: Core): Record<string, unknown> {
  const pluginShapes = [...sectionsOf(core)].map(
    ([sectionName, { shape }]) => [sectionName, shape] as const,
  );
  const ownShapes = mapValues(SETTINGS, closedShape);
  const providers = {
    ...ownShapes.providers,
    properties: providersOf(core),
    additionalProperties: closedShape(ENDPOINT),
  };
  const allShapes = {
    ...ownShapes,
    providers,
    ...Object.fromEntries(
      pluginShapes.sort(([firstName], [secondName]) => compare(firstName, secondName)),
    ),
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
  Object.fromEntries(
    [...allProviders(core).keys()].map((providerName) => [providerName, closedShape(ENDPOINT)]),
  );
const closedShape = (settingShape: Shape): Shape =>
  settingShape.type === "object"
    ? { additionalProperties: !settingShape.properties, ...settingShape }
    : settingShape;

/** Names the settings that have no effect, the home's first. They stay as they are. */
export function unknownSettings(core: Core): string[] {
  const { home, project, team } = sourcesOf(core.options);
  let allSections: Sections | undefined;
  return [
    ...listUnknown(home, inOwnFile(core.options), []),
    ...(team ? faultsOf(team) : []),
    ...(project ? faultsOf(project) : []),
  ];

  function faultsOf({ file, settings, left, faults, sends, trusted }: Project): string[] {
    const refused = [...left];
    const projectFaults = [...faults, ...listUnknown(settings, ` in '${file}'`, refused, trusted)];
    const hiddenFaults = projectFaults.length - MAX_NOTES;
    return [
      ...projectFaults.slice(0, MAX_NOTES),
      ...(hiddenFaults > 0 ? [`There are ${hiddenFaults} more such problems in '${file}'.`] : []),
      ...(refused.length ? [noteOnRefused(file, refused.sort())] : []),
      ...sends.map((redirect) => noteOnRedirect(file, redirect)),
    ];
  }

  /** Settings that the project may not set go to `left`. */
  function listUnknown(
    settings: Settings,
    sourceSuffix: string,
    refusedNames: string[],
    isTrusted = true,
  ): string[] {
    return Object.keys(settings).flatMap((settingName) => {
      const settingValue = settings[settingName];
      if (isKernelSetting(settingName))
        return unknownOfKernel(core, settingName, settingValue, sourceSuffix);
      allSections ??= sectionsOf(core);
      const section = allSections.get(settingName);
      if (!section)
        return unknownSection(
          core,
          settingName,
          [...allSections.keys()],
          sourceSuffix,
          settings !== home,
        );
      if (!isObject(settingValue))
        return [
          `Cannot use the setting "${settingName}"${sourceSuffix}: it must be an object. ` +
            "It is ignored.",
        ];
      if (!isTrusted) refusedNames.push(...refusedSettings(settingName, section, settingValue));
      return unknownKeys(section.shape, settingValue, `${settingName}.`, sourceSuffix);
    });
  }
}

function unknownOfKernel(
  core: Core,
  settingName: string,
  settingValue: unknown,
  sourceSuffix: string,
): string[] {
  if (OPEN_SETTINGS.includes(settingName)) return [];
  const isPartial =
    core.options.own === false ||
    core.plugins.some(({ disabled, failure }) => disabled || failure) ||
    hasUntrustedPlugins(core);
  const isOfPlugin = core.configs.some(({ value: { section } }) => section === settingName);
  // an object is for a plugin of that name, and without one it would limit nothing
  if (settingName === "budget" && isObject(settingValue) && !isPartial && !isOfPlugin)
    return [`Cannot use the setting "budget"${sourceSuffix}: it must be a number. It is ignored.`];
  const unknownIn = (shape: Shape) =>
    unknownKeys(shape, settingValue, `${settingName}.`, sourceSuffix);
  if (settingName !== "providers" || isPartial) return unknownIn(SETTINGS[settingName]!);
  const { providers } = core;
  const endpoints = settingValue as Record<string, { like?: string }>;
  const unlike = pickKeys(endpoints, (_, { like }) => like !== undefined && !providers.has(like));
  const likeFaults = Object.entries(unlike).map(
    ([name, { like = "" }]) =>
      `Cannot use the setting "providers.${shortenName(name)}.like"${sourceSuffix}: ` +
      unknown("provider", shortenName(like), [...providers.keys()]),
  );
  return [...likeFaults, ...unknownIn({ properties: { ...providersOf(core), ...unlike } })];
}

/** Says nothing about a section whose plugin may still be loaded. */
function unknownSection(
  core: Core,
  sectionName: string,
  sections: string[],
  sourceSuffix: string,
  isTheirs: boolean,
): string[] {
  const isPluginOff = core.plugins.some(
    ({ name, section, disabled, failure }) =>
      (disabled && section === sectionName) || (name === sectionName && (disabled || failure)),
  );
  const knownNames = [...Object.keys(SETTINGS), ...sections];
  // what one of the person's takes is known once it is loaded
  const isOthersOff =
    core.plugins.some(({ from, disabled }) => disabled && from !== "zz") &&
    !nearest(sectionName, knownNames);
  const mayCome =
    isPluginOff ||
    isOthersOff ||
    core.options.own === false ||
    isFlagGiven(core, "alone") ||
    (isTheirs && hasUntrustedPlugins(core));
  if (mayCome) return [];
  const removalAdvice = "Remove it there, or install the plugin that takes it.";
  return unknownSetting(sectionName, knownNames, "", sourceSuffix, removalAdvice);
}

const MAX_NOTES = 5;
/** Whether the project has plugins that are not trusted. */
const hasUntrustedPlugins = ({ extras }: Core): boolean =>
  extras?.given === false && extras.files.some((fileName) => fileName.startsWith(".zz/plugins/"));

type Sections = Map<string, { shape: Shape; owners: Config[] }>;
/**
 * The plugins' settings, by section. zz's own plugins without settings own none, and the kernel's
 * names come first.
 */
function sectionsOf({ configs, plugins }: Core): Sections {
  const sections: Sections = new Map();
  for (const { owner, value } of configs) {
    const { section, schema, defaults } = value;
    const hasNoSettings = !schema && !Object.keys(defaults).length;
    if (
      isKernelSetting(section) ||
      (hasNoSettings && plugins.find(({ name }) => name === owner)?.from === "zz")
    )
      continue;
    const { owners = [], shape: { properties = {} } = {} } = sections.get(section) ?? {};
    const configShape = configSchema(value);
    sections.set(section, {
      shape: { ...configShape, properties: { ...properties, ...configShape.properties } },
      owners: [...owners, value],
    });
  }
  return sections;
}

function unknownKeys(
  parentShape: Shape,
  settings: unknown,
  parentPath: string,
  sourceSuffix: string,
): string[] {
  if (!isObject(settings)) return [];
  const { properties = {}, additionalProperties } = parentShape;
  return Object.entries(settings).flatMap(([settingKey, settingValue]) => {
    const isMisspelt =
      isObject(additionalProperties) &&
      !Object.hasOwn(properties, settingKey) &&
      nearest(settingKey, Object.keys(properties));
    const innerShape = Object.hasOwn(properties, settingKey)
      ? properties[settingKey]
      : !isMisspelt && additionalProperties;
    if (isObject(innerShape))
      return innerShape.properties || innerShape.additionalProperties
        ? unknownKeys(innerShape, settingValue, `${parentPath}${settingKey}.`, sourceSuffix)
        : [];
    return innerShape || (!parentShape.properties && !additionalProperties)
      ? []
      : unknownSetting(settingKey, Object.keys(properties), parentPath, sourceSuffix);
  });
}

const unknownSetting = (
  unknownName: string,
  knownNames: string[],
  parentPath: string,
  sourceSuffix: string,
  remedy?: string,
): string[] => [
  `Unknown setting "${parentPath}${shortenName(unknownName)}"${sourceSuffix}: ` +
    unknown("setting", shortenName(unknownName), knownNames, remedy),
];

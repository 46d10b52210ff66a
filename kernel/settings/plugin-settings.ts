// A plugin's own settings: its section, checked by its schema and merged over its defaults; and all
// settings read again.
import path from "node:path";
import type { Awaitable, Rule, Schema, Settings } from "../contract.ts";
import { emit, emitNote } from "../events.ts";
import { initialRules, isSameRule, keptRulesFile } from "../gate/rules.ts";
import type { Config, Core, Project } from "../instance.ts";
import { say } from "../system/streams.ts";
import {
  inOneLine,
  type Misfit,
  NOT_KNOWN,
  type Shape,
  toJsonSchema,
  withSwitches,
} from "../text/json-schema.ts";
import { stampOf } from "../text/read-quietly.ts";
import { errorMessage } from "../text/secrets.ts";
import { isObject, mapValues, pickKeys, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import {
  inOwnFile,
  keysFile,
  merge,
  quoted,
  readSettings,
  SETTINGS_FILE_NAME,
  sourcesOf,
  teamFolder,
  unusable,
} from "./settings-files.ts";

/**
 * A plugin's settings: the defaults, over them the person's, over those the project's, as far as it
 * may and the schema accepts them.
 */
export function configOf(core: Core, pluginName: string, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = pluginName, schema, project } = {} } = exports;
  const config: Config = {
    section,
    live: {},
    defaults: { ...defaults },
    ...(schema && { schema }),
    ...(project && { project }),
  };
  return fillConfig(core, config, (faultText) => say(core.io, faultText));
}

type TellFault = (faultText: string) => unknown;
export function fillConfig(
  { options }: Core,
  config: Config,
  tellFault?: TellFault,
): Awaitable<Config> {
  const { schema, defaults } = config;
  const { home, project, team } = sourcesOf(options);
  const homeSection = sectionOf(home, config);
  const teamSection = team && pickCounting(team, config, defaults);
  const homeValues = merge(merge(defaults, teamSection), homeSection);
  const projectSection = project && pickCounting(project, config, homeValues);
  delete config.fault;
  if ([home, team?.settings ?? {}].some((settings) => !isObject(settings[config.section] ?? {})))
    config.fault = `"${config.section}" must be an object`;
  const misfits =
    schema && (homeSection || projectSection || teamSection)
      ? misfitsIn(options.home, config, merge(homeValues, projectSection))
      : [];
  return Array.isArray(misfits) && !misfits.length
    ? fillLive(config, homeSection, projectSection, teamSection)
    : checked();

  async function checked(): Promise<Config> {
    const fittingTeams = await fitting(team, teamSection, defaults);
    const baseValues = merge(defaults, fittingTeams);
    const suffix = inOwnFile(options);
    const fittingOwn = await fittingKeys(
      options.home,
      config,
      homeSection,
      baseValues,
      tellFault,
      suffix,
    );
    const fittingTheirs = await fitting(project, projectSection, merge(baseValues, fittingOwn));
    return fillLive(config, fittingOwn, fittingTheirs, fittingTeams);
  }

  async function fitting(
    settingsSource: Project | undefined,
    wantedValues: object | undefined,
    baseValues: unknown,
  ) {
    const noteFault = tellFault && ((faultText: string) => settingsSource!.faults.push(faultText));
    const suffix = ` in '${settingsSource?.file}'`;
    return fittingKeys(options.home, config, wantedValues, baseValues, noteFault, suffix);
  }
}

/** What counts of a section in a project's settings, or a team's. */
function pickCounting(
  { settings, trusted, left }: Project,
  config: Config,
  baseValues: unknown,
): Record<string, unknown> | undefined {
  const { section, project: permitted = [] } = config;
  const sectionValues = isObject(settings[section]) ? sectionOf(settings, config) : undefined;
  const maySetAll = permitted === true || trusted;
  if (!sectionValues || !(maySetAll || permitted.length)) return undefined;
  const counting = pickKeys(
    sectionValues,
    (settingKey) => maySetAll || permitted.includes(settingKey),
  );
  return lowered(counting, baseValues, section) as Record<string, unknown>;

  /** Until it is trusted, a project may only lower numbers, since they are limits. */
  function lowered(wantedValue: unknown, baseValue: unknown, settingName: string): unknown {
    if (trusted || !isObject(wantedValue)) return wantedValue;
    const homeValueOf = (settingKey: string) =>
      isObject(baseValue) ? baseValue[settingKey] : undefined;
    const isWithinLimit = (settingKey: string, wantedLimit: unknown) => {
      const homeLimit = homeValueOf(settingKey);
      const exceedsHome =
        typeof wantedLimit === "number" && typeof homeLimit === "number" && wantedLimit > homeLimit;
      const limitName = `${settingName}.${settingKey}`;
      if (exceedsHome && !left.includes(limitName)) left.push(limitName);
      return !exceedsHome;
    };
    return mapValues(pickKeys(wantedValue, isWithinLimit), (innerValue, settingKey) =>
      lowered(innerValue, homeValueOf(settingKey), `${settingName}.${settingKey}`),
    );
  }
}

/**
 * The keys of a section that its schema accepts: one that is wrong does not affect the others.
 * Unknown names are reported elsewhere.
 */
async function fittingKeys(
  homeFolder: string,
  config: Config,
  wantedValues: object | undefined,
  baseValues: unknown,
  tellFault: TellFault = () => {},
  sourceSuffix: string,
) {
  if (!wantedValues) return undefined;
  const { section } = config;
  const misfits = await misfitsIn(homeFolder, config, merge(baseValues, wantedValues));
  for (const { path, words } of misfits) {
    const [settingKey = ""] = path;
    if (!Object.hasOwn(wantedValues, settingKey)) continue;
    const fullMisfit = { path: [section, ...path], words };
    config.fault ??= quoted(fullMisfit);
    if (!words.startsWith(NOT_KNOWN)) tellFault(unusable(fullMisfit, sourceSuffix));
  }
  const fittingValues = pickKeys(
    wantedValues,
    (settingKey) => !misfits.some(({ path }) => path[0] === settingKey),
  );
  const remainingFault = misfits.length
    ? inOneLine(await misfitsIn(homeFolder, config, merge(baseValues, fittingValues)))
    : "";
  if (!remainingFault) return fittingValues;
  config.fault ??= `"${section}" does not fit: ${remainingFault}`;
  tellFault(
    `Cannot use the settings under "${section}"${sourceSuffix}: ${remainingFault}. ` +
      "They are ignored.",
  );
  return undefined;
}

/** The types of defaults count too, and only what a schema itself forbids is forbidden. */
function misfitsIn(homeFolder: string, config: Config, sectionValue: unknown): Awaitable<Misfit[]> {
  const { schema = {} } = config;
  const { additionalProperties = true } = "~standard" in schema ? {} : toJsonSchema(schema);
  return misfitsOf(
    homeFolder,
    "~standard" in schema ? schema : ({ ...configSchema(config), additionalProperties } as Schema),
    sectionValue,
  );
}

/** What a section would have wrong in one of its settings, or in all. */
export async function wrongSection(
  homeFolder: string,
  config: Config,
  settings: Settings,
  settingKey: string | undefined,
): Promise<string> {
  const misfits = await misfitsIn(
    homeFolder,
    config,
    merge(config.defaults, sectionOf(settings, config)),
  );
  return inOneLine(
    misfits.filter(
      ({ path }) => settingKey === undefined || !path.length || path[0] === settingKey,
    ),
  );
}

/** A value of another file, as settings of that schema would be, or what is wrong with it. */
export async function checkSettings(
  homeFolder: string,
  schema: Schema,
  rawValue: unknown,
): Promise<{ value?: any; wrong?: string }> {
  const value = withSwitches(toJsonSchema(schema), rawValue);
  const misfits = await misfitsOf(homeFolder, schema, value);
  return misfits.length ? { wrong: inOneLine(misfits) } : { value };
}

/** Runs what may change settings, then tells plugins which ones changed. */
export async function withChangeEvents(
  core: Core,
  makeChanges: () => Promise<void>,
): Promise<void> {
  const snapshot = ({ settings, sources }: Core["options"]) =>
    mapValues(
      { ...sources?.team?.settings, ...sources?.project?.settings, ...settings },
      (sectionValue) => JSON.stringify(sectionValue),
    );
  const before = snapshot(core.options);
  await makeChanges();
  const after = snapshot(core.options);
  const names = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  if (!names.length) return;
  core.models = new Map(); // what providers say may depend on them
  await emit(core, "configured", { names: names.sort() });
}

/** Reads everything again, after a change of trust or of a file. */
export const rereadSettings = (core: Core): Promise<void> =>
  withChangeEvents(core, async () => {
    const { io, options, rules, configs, extras: brought } = core;
    const nextOptions = { ...options, ...(await readSettings({ ...options, brought })) };
    // it throws if they cannot be used, and nothing is changed yet
    const [previousRules, nextRules] = [core.first, initialRules(nextOptions)];
    Object.assign(options, nextOptions);
    core.first = nextRules;
    for (const { value } of configs)
      await fillConfig(core, value, (faultText) => say(io, faultText));
    const hasRule = (candidates: Rule[], rule: Rule) =>
      candidates.some((candidate) => isSameRule(candidate, rule));
    // what this session added stays, what it dropped stays away
    const sessionRules = rules.filter(
      (rule) => !hasRule(previousRules, rule) || hasRule(nextRules, rule),
    );
    rules.splice(
      0,
      rules.length,
      ...sessionRules,
      ...nextRules.filter((rule) => !hasRule(previousRules, rule) && !hasRule(sessionRules, rule)),
    );
  });

/**
 * Reads the settings again if a file, the kept rules or the trust changed. What cannot be used is
 * reported; the old ones stay.
 */
export async function renewSettings(core: Core): Promise<void> {
  const { home, root, config = path.join(home, SETTINGS_FILE_NAME), sources } = core.options;
  const previousStamps = core.settingsStamps;
  const fileStamps = [
    config,
    keysFile(home),
    path.join(root, ".zz", SETTINGS_FILE_NAME),
    path.join(teamFolder(home), ".zz", SETTINGS_FILE_NAME),
    path.join(teamFolder(home), ".zz", "prompts"),
    keptRulesFile(home),
  ].map((watchedFile) => tryTo(() => stampOf(watchedFile)));
  core.settingsStamps = [...fileStamps, core.extras?.given, core.extras?.agreed].join();
  if (sources && previousStamps !== undefined && previousStamps !== core.settingsStamps)
    await rereadSettings(core).catch((error) => emitNote(core, errorMessage(error)));
}

function fillLive(
  config: Config,
  home: Config["home"],
  theirs: Config["theirs"],
  teams: Config["teams"],
): Config {
  const { live, defaults } = config;
  for (const settingKey of Object.keys(live)) delete live[settingKey];
  Object.assign(live, merge(merge(merge(defaults, teams), home), theirs));
  return Object.assign(config, { home, theirs, teams });
}

/** Also merges what is not an object, so that the plugin's schema can refuse it. */
function sectionOf(settings: Settings, config: Config): Record<string, unknown> | undefined {
  return Object.hasOwn(settings, config.section)
    ? withSwitches(configSchema(config), { ...(settings[config.section] as object) })
    : undefined;
}

/** A plugin's settings as JSON Schema, completed from its defaults. */
export function configSchema({ defaults, schema }: Config): Shape {
  const { properties: ownProperties = {}, ...told }: Shape =
    (schema && tryTo(() => toJsonSchema(schema))) || {};
  const withType = (defaultValue: unknown, { description, ...more }: Shape = {}) =>
    defaultValue == null || Object.keys(more).length
      ? more
      : { type: Array.isArray(defaultValue) ? "array" : typeof defaultValue };
  const withDefaults = mapValues(defaults, (defaultValue, settingKey) => ({
    ...ownProperties[settingKey],
    ...withType(defaultValue, ownProperties[settingKey]),
    default: defaultValue,
  }));
  const required =
    told.required?.filter((requiredKey) => !Object.hasOwn(defaults, requiredKey)) ?? [];
  return {
    type: "object",
    ...told,
    properties: { ...ownProperties, ...withDefaults },
    additionalProperties: told.additionalProperties ?? !schema,
    ...(told.required && { required }),
  };
}

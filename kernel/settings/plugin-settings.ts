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
  type Shape,
  toJsonSchema,
  withSwitches,
} from "../text/json-schema.ts";
import { stampOf } from "../text/read-quietly.ts";
import { errorMessage } from "../text/secrets.ts";
import { isObject, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import {
  keysFile,
  merge,
  quoted,
  readSettings,
  SETTINGS_FILE_NAME,
  sourcesOf,
  teamFolder,
  unusable,
} from "./settings-files.ts";
import { pickKeys } from "./settings-table.ts";

/**
 * A plugin's settings: the defaults, over them the person's, over those the project's, as far as it
 * may and the schema accepts them.
 */
export function configOf(core: Core, plugin: string, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = plugin, schema, project } = {} } = exports;
  const config: Config = {
    section,
    live: {},
    defaults: { ...defaults },
    ...(schema && { schema }),
    ...(project && { project }),
  };
  return fillConfig(core, config, (fault) => say(core.io, fault));
}

type TellFault = (fault: string) => unknown;
export function fillConfig({ options }: Core, config: Config, tell?: TellFault): Awaitable<Config> {
  const { schema, defaults } = config;
  const { home, project, team } = sourcesOf(options);
  const mine = sectionOf(home, config);
  const teams = team && partOf(team, config, defaults);
  const homeValues = merge(merge(defaults, teams), mine);
  const theirs = project && partOf(project, config, homeValues);
  delete config.fault;
  if (!schema || (!mine && !theirs && !teams)) return fillLive(config, mine, theirs, teams);
  const misfits = misfitsIn(options.home!, config, merge(homeValues, theirs));
  return Array.isArray(misfits) && !misfits.length
    ? fillLive(config, mine, theirs, teams)
    : checked();

  async function checked(): Promise<Config> {
    const fittingTeams = await fitting(team, teams, defaults);
    const under = merge(defaults, fittingTeams);
    const fittingOwn = mine && (await fittingKeys(options.home!, config, mine, under, tell));
    const fittingTheirs = await fitting(project, theirs, merge(under, fittingOwn));
    return fillLive(config, fittingOwn, fittingTheirs, fittingTeams);
  }

  async function fitting(source: Project | undefined, wanted: object | undefined, under: unknown) {
    if (!source || !wanted) return undefined;
    const note = tell && ((fault: string) => source.faults.push(fault));
    return fittingKeys(options.home!, config, wanted, under, note, ` in '${source.file}'`);
  }
}

/** What counts of a section in a project's settings, or a team's. */
function partOf(
  { settings, trusted, left }: Project,
  config: Config,
  under: unknown,
): Record<string, unknown> | undefined {
  const { section, project: may = [] } = config;
  const values = isObject(settings[section]) ? sectionOf(settings, config) : undefined;
  const mayAll = may === true || trusted;
  if (!values || !(mayAll || may.length)) return undefined;
  const counting = pickKeys(values, (key) => mayAll || may.includes(key));
  return lowered(counting, under, section) as Record<string, unknown>;

  /** Until it is trusted, a project may only lower numbers, since they are limits. */
  function lowered(value: unknown, under: unknown, settingName: string): unknown {
    if (trusted || !isObject(value)) return value;
    const fit = (key: string, value: unknown) => {
      const homeLimit = isObject(under) ? under[key] : undefined;
      const isMore =
        typeof value === "number" && typeof homeLimit === "number" && value > homeLimit;
      const name = `${settingName}.${key}`;
      if (isMore && !left.includes(name)) left.push(name);
      return !isMore;
    };
    const inner = ([key, innerValue]: [string, unknown]) =>
      [
        key,
        lowered(innerValue, isObject(under) ? under[key] : undefined, `${settingName}.${key}`),
      ] as const;
    return Object.fromEntries(Object.entries(pickKeys(value, fit)).map(inner));
  }
}

/**
 * The keys of a section that its schema accepts: one that is wrong does not affect the others.
 * Unknown names are reported elsewhere.
 */
async function fittingKeys(
  home: string,
  config: Config,
  wanted: object,
  under: unknown,
  tell: TellFault = () => {},
  where = "",
) {
  const { section } = config;
  const remedy = (ownRemedy: string, are: string) => (where ? `${are} ignored.` : ownRemedy);
  const misfits = await misfitsIn(home, config, merge(under, wanted));
  const { properties = {}, additionalProperties: others } = configSchema(config);
  for (const { path, words } of misfits) {
    const [key = ""] = path;
    const misfit = { path: [section, ...path], words };
    if (Object.hasOwn(wanted, key)) config.fault ??= quoted(misfit);
    if (Object.hasOwn(wanted, key) && (others || Object.hasOwn(properties, key)))
      tell(`${unusable(misfit, where)} ${remedy("Its default is used; fix it.", "It is")}`);
  }
  const fit = pickKeys(wanted, (key) => !misfits.some(({ path }) => path[0] === key));
  const remainingFault = misfits.length
    ? inOneLine(await misfitsIn(home, config, merge(under, fit)))
    : "";
  if (!remainingFault) return fit;
  config.fault ??= `"${section}" does not fit: ${remainingFault}`;
  tell(
    `Cannot use the settings under "${section}"${where}: ${remainingFault}. ${remedy("Its defaults are used; fix them.", "They are")}`,
  );
  return undefined;
}

/** The types of defaults count too, and only what a schema itself forbids is forbidden. */
function misfitsIn(home: string, config: Config, value: unknown): Awaitable<Misfit[]> {
  const { schema = {} } = config;
  const { additionalProperties = true } = "~standard" in schema ? {} : toJsonSchema(schema);
  return misfitsOf(
    home,
    "~standard" in schema ? schema : ({ ...configSchema(config), additionalProperties } as Schema),
    value,
  );
}

/** What a section would have wrong in one of its settings, or in all. */
export async function wrongSection(
  home: string,
  config: Config,
  settings: Settings,
  key: string | undefined,
): Promise<string> {
  const misfits = await misfitsIn(
    home,
    config,
    merge(config.defaults, sectionOf(settings, config)),
  );
  return inOneLine(
    misfits.filter(({ path }) => key === undefined || !path.length || path[0] === key),
  );
}

/** Runs what may change settings, then tells plugins which ones changed. */
export async function withChangeEvents(core: Core, act: () => Promise<void>): Promise<void> {
  const settingsOf = ({ settings, sources }: Core["options"]) =>
    Object.entries({ ...sources?.team?.settings, ...sources?.project?.settings, ...settings });
  const snapshot = () =>
    new Map(settingsOf(core.options).map(([name, value]) => [name, JSON.stringify(value)]));
  const before = snapshot();
  await act();
  const names = [...new Set([...before.keys(), ...snapshot().keys()])].filter(
    (name) => before.get(name) !== snapshot().get(name),
  );
  if (names.length) core.models = new Map(); // what providers say may depend on them
  if (names.length) await emit(core, "configured", { names: names.sort() });
}

/** Reads everything again, after a change of trust or of a file. */
export const rereadSettings = (core: Core): Promise<void> =>
  withChangeEvents(core, async () => {
    const { io, options, rules, configs, extras: brought } = core;
    const next = { ...options, ...(await readSettings({ ...options, brought })) };
    // it throws if they cannot be used, and nothing is changed yet
    const [was, is] = [core.first, initialRules(next)];
    Object.assign(options, next);
    core.first = is;
    for (const { value } of configs) await fillConfig(core, value, (fault) => say(io, fault));
    const has = (list: Rule[], rule: Rule) => list.some((candidate) => isSameRule(candidate, rule));
    // what this session added stays, what it dropped stays away
    const sessionRules = rules.filter((rule) => !has(was, rule) || has(is, rule));
    rules.splice(
      0,
      rules.length,
      ...sessionRules,
      ...is.filter((rule) => !has(was, rule) && !has(sessionRules, rule)),
    );
  });

/**
 * Reads the settings again if a file, the kept rules or the trust changed. What cannot be used is
 * reported; the old ones stay.
 */
export async function renewSettings(core: Core): Promise<void> {
  const { home, root, config = path.join(home, SETTINGS_FILE_NAME), sources } = core.options;
  const before = core.settingsStamps;
  const stamps = [
    config,
    keysFile(home),
    path.join(root, ".zz", SETTINGS_FILE_NAME),
    path.join(teamFolder(home), ".zz", SETTINGS_FILE_NAME),
    path.join(teamFolder(home), ".zz", "prompts"),
    keptRulesFile(home),
  ].map((file) => tryTo(() => stampOf(file)));
  core.settingsStamps = [...stamps, core.extras?.given, core.extras?.agreed].join();
  if (sources && before !== undefined && before !== core.settingsStamps)
    await rereadSettings(core).catch((error) => emitNote(core, errorMessage(error)));
}

function fillLive(
  config: Config,
  home: Config["home"],
  theirs: Config["theirs"],
  teams: Config["teams"],
): Config {
  const { live, defaults } = config;
  for (const key of Object.keys(live)) delete live[key];
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
  const typed = (value: unknown, { description, ...more }: Shape = {}) =>
    value == null || Object.keys(more).length
      ? more
      : { type: Array.isArray(value) ? "array" : typeof value };
  const withDefaults = Object.entries(defaults).map(([key, value]) => [
    key,
    { ...ownProperties[key], ...typed(value, ownProperties[key]), default: value },
  ]);
  const required = told.required?.filter((key) => !Object.hasOwn(defaults, key)) ?? [];
  return {
    type: "object",
    ...told,
    properties: { ...ownProperties, ...Object.fromEntries(withDefaults) },
    additionalProperties: told.additionalProperties ?? !schema,
    ...(told.required && { required }),
  };
}

// Settings: read, checked and merged, from the home and from the project.

import fs from "node:fs";
import path from "node:path";
import { type Awaitable, KINDS, type Rule, type Rules, type Schema, type Settings } from "../contract.ts";
import { emit, emitNote } from "../events.ts";
import { initialRules, isSame, keptFile } from "../gate/rules.ts";
import type { Config, Core, Options, Project, Send, Sources } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { say } from "../system/streams.ts";
import { shortenName } from "../text/did-you-mean.ts";
import { codeOf, usage } from "../text/faults.ts";
import { inOneLine, type Misfit, type Shape, toJsonSchema, withSwitches } from "../text/json-schema.ts";
import { isInside, stampOf, textOf } from "../text/read-quietly.ts";
import { errorMessage, learnData, learnSecret } from "../text/secrets.ts";
import { isObject, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import { BY_PROJECT, isKnown, isOwn, OWN, only } from "./settings-table.ts";

function sendsOf(name: string, value: unknown, own: Settings): (Send & { key?: string })[] {
  const chosen = own.model ?? "what you chose";
  if (name === "model") return isKnown(value, own) ? [] : [{ setting: name, from: chosen, to: String(value) }];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const setting = `${name}.${key}`;
    if (name === "models") return isKnown(one, own) ? [] : { setting, from: chosen, to: String(one), key };
    const to = JSON.stringify(one);
    if (name === "options" && (ELSEWHERE.test(key) || ELSEWHERE.test(to)))
      return { setting, from: String(own.options?.[key] ?? "what it is by itself"), to, key };
    if (name !== "providers" || !isObject(one)) return [];
    const { url, key: account } = own.providers?.[key] ?? {};
    if (one.url !== undefined && one.url !== url)
      return { setting: `${setting}.url`, from: url ?? `where '${key}' is by itself`, to: String(one.url), key };
    const isOther = one.key !== undefined && one.key !== account;
    return isOther ? { setting: `${setting}.key`, from: "your account", to: "the account of a key that it brings", key } : [];
  });
}
const ELSEWHERE = /:\/\/|url|uri|host|endpoint|proxy|header|api[_-]?key|token$/i;
export const agreement = ({ setting, to }: Send): string => `${setting} ${to}`;

export const SETTINGS_FILE_NAME = "zz.config.json";
const MAX_PROJECT_FILE_BYTES = 100_000; // bytes of a project's file

/** Reads the settings of the home and of the project at `root`. */
type From = { home: string; root: string | undefined; config?: string | undefined; brought?: Yes | false | undefined };
type Yes = { given: boolean; agreed: string[] };

export async function readSettings({ home, root, config, brought }: From): Promise<{ settings: Settings; sources: Sources }> {
  const homes = [path.join(home, SETTINGS_FILE_NAME), config ?? []].flat();
  const own = ownSettings(homes.at(-1)!, config);
  const wrong = await wrongOwn(home, own);
  if (wrong) throw refusalOf(homes.at(-1)!, wrong);
  const yes = brought || { given: false, agreed: [] };
  const project = root === undefined ? undefined : await projectSettings(root, homes, own, yes);
  if (project) withoutWrongRules(project, home, root!);
  const sources = { home: own, ...(project && { project }) };
  return { settings: mergeHomeAndProject(home, sources), sources };
}

function ownSettings(file: string, named: string | undefined): Settings {
  let parsed: Settings = {};
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!codeOf(error)) throw refusalOf(file, `not JSON (${whereNot(error)})`);
    if (named) throw fileFault("read the settings", named, error, { exit: 2 });
  }
  if (!isObject(parsed)) throw refusalOf(file, "they must be a JSON object");
  learnData(parsed);
  return parsed;
}
const refusalOf = (file: string, why: string) => usage(`Cannot use the settings '${file}': ${why}. Fix it or move it away.`);

/** What JSON.parse reports, without the text around the error, which may hold a key. */
const whereNot = (error: unknown): string => errorMessage(error).replace(/,? ?\.{0,3}".*" is not valid JSON$/s, "");

export async function wrongOwn(home: string, given: Settings): Promise<string | undefined> {
  const own = only(given, isOwn);
  const [first] = Object.keys(own).length ? await misfitsOf(home, OWN, own) : [];
  return first && quoted(first);
}
const nameOf = ({ path }: Misfit): string => `"${path.map(shortenName).join(".")}"`;
const quoted = (misfit: Misfit): string => `${nameOf(misfit)} ${misfit.words}`;
const unusable = (misfit: Misfit, where: string) => `Cannot use the setting ${nameOf(misfit)}${where}: it ${misfit.words}.`;

/** Looking at a folder needs no trust, so its settings never stop zz. Undefined: it has none, or they are the home's. */
async function projectSettings(root: string, homes: string[], own: Settings, yes: Yes): Promise<Project | undefined> {
  const file = path.join(root, ".zz", SETTINGS_FILE_NAME);
  const project: Project = { file, settings: {}, left: [], faults: [], trusted: yes.given, agreed: yes.agreed, sends: [] };
  const passOver = (why: string) => {
    project.faults.push(`Cannot use the project's settings '${file}': ${why}. They are ignored.`);
    return project;
  };
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    const real = fs.realpathSync(file);
    if (homes.some((home) => tryTo(() => fs.realpathSync(home)) === real)) return undefined;
    if (!isInside(fs.realpathSync(root), real)) return passOver(`they lead out of the project, to '${real}'`);
    if (!stat.isFile()) return passOver(stat.isDirectory() ? "it is a folder" : "it is not a regular file");
    if (stat.size > MAX_PROJECT_FILE_BYTES) return passOver(`${stat.size} bytes are too many`);
    const given = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!isObject(given)) return passOver("they must be a JSON object");
    learnData(given);
    return await allowedProjectSettings(project, given, own, path.dirname(homes[0]!));
  } catch (error) {
    const words = fileFault("read", "", error).message.slice("Cannot read '': ".length).replace(/\.$/, "");
    return passOver(codeOf(error) ? words : `not JSON (${shortenName(whereNot(error))})`);
  }
}

/** Without rules that no zz could start with. */
function withoutWrongRules({ settings, file, faults }: Project, home: string, root: string): void {
  try {
    initialRules({ home, root, settings: { permissions: (settings as Settings).permissions! } });
  } catch (error) {
    delete settings.permissions;
    faults.push(`${errorMessage(error)} This is in '${file}', whose permissions are ignored.`);
  }
}

/** What counts of a project's settings. Plugins' sections are checked once the plugins are loaded. */
async function allowedProjectSettings(project: Project, all: Record<string, unknown>, own: Settings, home: string): Promise<Project> {
  const taken = Object.entries(all).map(([name, value]) => (isOwn(name) ? taking(name, value) : [[name, value]]));
  return { ...project, settings: Object.fromEntries((await Promise.all(taken)).flat()) };

  async function taking(name: string, value: unknown): Promise<[string, unknown][]> {
    const may = project.trusted || BY_PROJECT[name];
    const given = project.trusted ? withoutSends(name, value) : value;
    const misfits = may && given !== undefined ? await misfitsOf(home, OWN, { [name]: given }) : [];
    for (const misfit of misfits) project.faults.push(`${unusable(misfit, ` in '${project.file}'`)} It is ignored.`);
    if (misfits.some(({ path }) => path.length < 2)) return [];
    const fit = isObject(given) ? only(given, (key) => !misfits.some(({ path }) => path[1] === key)) : given;
    const part = typeof may === "function" ? may(fit, own) : may && fit;
    if (part === undefined && !project.trusted) project.left.push(name);
    if (isObject(part))
      project.left.push(...Object.keys(only(fit as object, (key) => !Object.hasOwn(part, key))).map((key) => `${name}.${key}`));
    return part === undefined ? [] : [[name, part]];
  }

  /** Leaves out what would send data elsewhere without approval. */
  function withoutSends(name: string, value: unknown): unknown {
    const sends = sendsOf(name, value, own).filter((send) => !project.agreed.includes(agreement(send)));
    project.sends.push(...sends.map(({ setting, from, to }) => ({ setting, from, to })));
    if (!sends.length) return value;
    return isObject(value) ? only(value, (key) => !sends.some((send) => send.key === key)) : undefined;
  }
}

/** The project's settings over the home's. Denials and questions of both apply, and the project cannot lift an `only` of the home's. */
export function mergeHomeAndProject(home: string, { home: own, project }: Sources): Settings {
  const both = merge(own, project && only(project.settings, isOwn)) as Settings;
  const [mine, theirs] = [own.permissions, project?.settings.permissions];
  for (const verb of ["deny", "ask"] as const)
    if (mine?.[verb] && theirs?.[verb]) both.permissions = { ...both.permissions, [verb]: mergeModes(mine[verb], theirs[verb]) };
  if (mine?.only && theirs?.only) both.permissions = { ...both.permissions, only: { ...theirs.only, ...mine.only } };
  return withKeys(home, both);
}

function mergeModes(mine: Rules, theirs: Rules): Rules {
  const both = KINDS.map((kind) => [kind, [mine[kind] ?? [], theirs[kind] ?? []].flat()] as const).filter(([, all]) => all.length);
  return Object.fromEntries(both.map(([kind, all]) => [kind, all.includes(true) || [...new Set(all)]]));
}

/** Merges objects; everything else is replaced. */
function merge(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  const inBoth = Object.keys(over).filter((key) => Object.hasOwn(under, key));
  return { ...under, ...over, ...Object.fromEntries(inBoth.map((key) => [key, merge(under[key], over[key])])) };
}

export const keysFile = (home: string): string => path.join(home, "keys.json"); // apart, so that settings can be shown and shared

function withKeys(home: string, given: Settings): Settings {
  const kept = (tryTo(() => JSON.parse(textOf(keysFile(home)))) ?? {}) as Record<string, string>;
  const keys = Object.entries(kept).filter(([, key]) => typeof key === "string");
  if (!keys.length) return given;
  const providers = { ...given.providers };
  for (const [name, key] of keys) {
    learnSecret(key);
    providers[name] = { ...providers[name], kept: key };
  }
  return { ...given, providers };
}

export const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources => sources;

/** A plugin's settings: the defaults, over them the person's, over those the project's, as far as it may and the schema accepts them. */
export function configOf(core: Core, plugin: string, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = plugin, schema, project } = {} } = exports;
  const config: Config = { section, live: {}, defaults: { ...defaults }, ...(schema && { schema }), ...(project && { project }) };
  return fillConfig(core, config, (fault) => say(core.io, fault));
}

type Tell = (fault: string) => unknown;
export function fillConfig({ options }: Core, config: Config, tell?: Tell): Awaitable<Config> {
  const { section, schema, defaults, project: may = [] } = config;
  const { home, project } = sourcesOf(options);
  const [mine, given] = [home, isObject(project?.settings[section]) ? project.settings : {}].map((all) => sectionOf(all, config));
  const all = may === true || project?.trusted;
  const both = merge(defaults, mine);
  const counts = (key: string) => all || may.includes(key);
  const theirs = given && (all || may.length) ? (lowered(only(given, counts)) as Record<string, unknown>) : undefined;
  delete config.fault;
  if (!schema || (!mine && !theirs)) return filled(config, mine, theirs);
  const misfits = misfitsIn(options.home!, config, merge(both, theirs));
  return Array.isArray(misfits) && !misfits.length ? filled(config, mine, theirs) : checked();

  /** Until it is trusted, a project may only lower numbers, since they are limits. */
  function lowered(value: unknown, under: unknown = both, at = section): unknown {
    if (project!.trusted || !isObject(value)) return value;
    const fit = (key: string, one: unknown) => {
      const most = isObject(under) ? under[key] : undefined;
      const isMore = typeof one === "number" && typeof most === "number" && one > most;
      const name = `${at}.${key}`;
      if (isMore && !project!.left.includes(name)) project!.left.push(name);
      return !isMore;
    };
    const inner = ([key, one]: [string, unknown]) => [key, lowered(one, isObject(under) ? under[key] : undefined, `${at}.${key}`)] as const;
    return Object.fromEntries(Object.entries(only(value, fit)).map(inner));
  }

  async function checked(): Promise<Config> {
    const own = mine && (await fitting(options.home!, config, mine, defaults, tell));
    const note = tell && ((fault: string) => project!.faults.push(fault));
    return filled(
      config,
      own,
      theirs && (await fitting(options.home!, config, theirs, merge(defaults, own), note, ` in '${project!.file}'`)),
    );
  }
}

/** The keys of a section that its schema accepts: one that is wrong does not affect the others. Unknown names are reported elsewhere. */
async function fitting(home: string, config: Config, given: object, under: unknown, tell: Tell = () => {}, where = "") {
  const { section } = config;
  const remedy = (own: string, are: string) => (where ? `${are} ignored.` : own);
  const misfits = await misfitsIn(home, config, merge(under, given));
  const { properties = {}, additionalProperties: others } = configSchema(config);
  for (const { path, words } of misfits) {
    const [key = ""] = path;
    const misfit = { path: [section, ...path], words };
    if (Object.hasOwn(given, key)) config.fault ??= quoted(misfit);
    if (Object.hasOwn(given, key) && (others || Object.hasOwn(properties, key)))
      tell(`${unusable(misfit, where)} ${remedy("Its default is used; fix it.", "It is")}`);
  }
  const fit = only(given, (key) => !misfits.some(({ path }) => path[0] === key));
  const left = misfits.length ? inOneLine(await misfitsIn(home, config, merge(under, fit))) : "";
  if (!left) return fit;
  config.fault ??= `"${section}" does not fit: ${left}`;
  tell(`Cannot use the settings under "${section}"${where}: ${left}. ${remedy("Its defaults are used; fix them.", "They are")}`);
  return undefined;
}

/** The types of defaults count too, and only what a schema itself forbids is forbidden. */
function misfitsIn(home: string, config: Config, value: unknown): Awaitable<Misfit[]> {
  const { schema = {} } = config;
  const { additionalProperties = true } = "~standard" in schema ? {} : toJsonSchema(schema);
  return misfitsOf(home, "~standard" in schema ? schema : ({ ...configSchema(config), additionalProperties } as Schema), value);
}

/** What a section would have wrong in one of its settings, or in all. */
export async function wrongSection(home: string, config: Config, given: Settings, key: string | undefined): Promise<string> {
  const misfits = await misfitsIn(home, config, merge(config.defaults, sectionOf(given, config)));
  return inOneLine(misfits.filter(({ path }) => key === undefined || !path.length || path[0] === key));
}

/** Runs what may change settings, then tells plugins which ones changed. */
export async function withChangeEvents(core: Core, act: () => Promise<void>): Promise<void> {
  const all = ({ settings, sources }: Core["options"]) => Object.entries({ ...sources?.project?.settings, ...settings });
  const told = () => new Map(all(core.options).map(([name, value]) => [name, JSON.stringify(value)]));
  const before = told();
  await act();
  const names = [...new Set([...before.keys(), ...told().keys()])].filter((name) => before.get(name) !== told().get(name));
  if (names.length) core.models = new Map(); // what providers say may depend on them
  if (names.length) await emit(core, "configured", { names: names.sort() });
}

/** Reads everything again, after a change of trust or of a file. */
export const reread = (core: Core): Promise<void> =>
  withChangeEvents(core, async () => {
    const { io, options, rules, configs, extras: brought } = core;
    const next = { ...options, ...(await readSettings({ ...options, brought })) };
    const [was, is] = [core.first, initialRules(next)]; // it throws if they cannot be used, and nothing is changed yet
    Object.assign(options, next);
    core.first = is;
    for (const { value } of configs) await fillConfig(core, value, (fault) => say(io, fault));
    const has = (all: Rule[], rule: Rule) => all.some((one) => isSame(one, rule));
    const left = rules.filter((rule) => !has(was, rule) || has(is, rule)); // what this session added stays, what it dropped stays away
    rules.splice(0, rules.length, ...left, ...is.filter((rule) => !has(was, rule) && !has(left, rule)));
  });

/** Reads the settings again if a file, the kept rules or the trust changed. What cannot be used is reported; the old ones stay. */
export async function renewSettings(core: Core): Promise<void> {
  const { home, root, config = path.join(home, SETTINGS_FILE_NAME), sources } = core.options;
  const before = core.settingsStamps;
  const stamps = [config, keysFile(home), path.join(root, ".zz", SETTINGS_FILE_NAME), keptFile(home)].map((file) =>
    tryTo(() => stampOf(file)),
  );
  core.settingsStamps = [...stamps, core.extras?.given, core.extras?.agreed].join();
  if (sources && before !== undefined && before !== core.settingsStamps)
    await reread(core).catch((error) => emitNote(core, errorMessage(error)));
}

function filled(config: Config, home: Config["home"], theirs: Config["theirs"]): Config {
  const { live, defaults } = config;
  for (const key of Object.keys(live)) delete live[key];
  Object.assign(live, merge(merge(defaults, home), theirs));
  return Object.assign(config, { home, theirs });
}

/** Also merges what is not an object, so that the plugin's schema can refuse it. */
function sectionOf(given: Settings, config: Config): Record<string, unknown> | undefined {
  return Object.hasOwn(given, config.section) ? withSwitches(configSchema(config), { ...(given[config.section] as object) }) : undefined;
}

/** A plugin's settings as JSON Schema, completed from its defaults. */
export function configSchema({ defaults, schema }: Config): Shape {
  const { properties: own = {}, ...told }: Shape = (schema && tryTo(() => toJsonSchema(schema))) || {};
  const typed = (value: unknown, { description, ...more }: Shape = {}) =>
    value == null || Object.keys(more).length ? more : { type: Array.isArray(value) ? "array" : typeof value };
  const known = Object.entries(defaults).map(([key, value]) => [key, { ...own[key], ...typed(value, own[key]), default: value }]);
  const required = told.required?.filter((key) => !Object.hasOwn(defaults, key)) ?? [];
  return {
    type: "object",
    ...told,
    properties: { ...own, ...Object.fromEntries(known) },
    additionalProperties: told.additionalProperties ?? !schema,
    ...(told.required && { required }),
  };
}

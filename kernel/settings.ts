// Settings: read, checked and merged, from the home and from the project.

import fs from "node:fs";
import path from "node:path";
import { type Awaitable, KINDS, type Rule, type Rules, type Schema, type Settings } from "./contract.ts";
import type { Config, Core, Options, Project, Send, Sources } from "./core.ts";
import { fileFault } from "./disk.ts";
import { emit, note } from "./events.ts";
import { codeOf, usage } from "./faults.ts";
import { say } from "./io.ts";
import { firstRules, isSame, keptFile } from "./rules.ts";
import { check, toJsonSchema } from "./schema.ts";
import { learn, learnData, reason } from "./secrets.ts";
import { isKnown, isOwn, only, SETTINGS } from "./settings-table.ts";
import { fits, isObject, isPlain, type Shape, wrongIn } from "./shape.ts";
import { isInside, short, stampOf, textOf, tryTo } from "./text.ts";

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

export const NAME = "zz.config.json";
const MAX_PROJECT_FILE_BYTES = 100_000; // bytes of a project's file

/** Reads the settings of the home and of the project at `root`. */
type From = { home: string; root: string | undefined; config?: string | undefined; brought?: Yes | false | undefined };
type Yes = { given: boolean; agreed: string[] };

export function settings({ home, root, config, brought }: From): { settings: Settings; sources: Sources } {
  const homes = [path.join(home, NAME), config ?? []].flat();
  const own = ownSettings(homes.at(-1)!, config);
  const project = root === undefined ? undefined : projectSettings(root, homes, own, brought || { given: false, agreed: [] });
  if (project) withoutWrongRules(project, home, root!);
  const sources = { home: own, ...(project && { project }) };
  return { settings: inForce(home, sources), sources };
}

function ownSettings(file: string, named: string | undefined): Settings {
  const refuse = (why: string) => usage(`Cannot use the settings '${file}': ${why}. Fix it or move it away.`);
  let parsed: Settings = {};
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!codeOf(error)) throw refuse(`not JSON (${whereNot(error)})`);
    if (named) throw fileFault("read the settings", named, error, { exit: 2 });
  }
  if (!isObject(parsed)) throw refuse("they must be a JSON object");
  learnData(parsed);
  const wrong = wrongOwn(parsed);
  if (wrong) throw refuse(wrong);
  return parsed;
}

/** What JSON.parse reports, without the text around the error, which may hold a key. */
const whereNot = (error: unknown): string => reason(error).replace(/,? ?\.{0,3}".*" is not valid JSON$/s, "");

export const wrongOwn = (given: Settings): string | undefined =>
  Object.entries(SETTINGS)
    .filter(([name]) => Object.hasOwn(given, name))
    .flatMap(([name, shape]) => wrongIn(shape, given[name], name) ?? [])[0];

/** Looking at a folder needs no trust, so its settings never stop zz. Undefined: it has none, or they are the home's. */
function projectSettings(root: string, homes: string[], own: Settings, yes: Yes): Project | undefined {
  const file = path.join(root, ".zz", NAME);
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
    return allowedProjectSettings(project, given, own);
  } catch (error) {
    const words = fileFault("read", "", error).message.slice("Cannot read '': ".length).replace(/\.$/, "");
    return passOver(codeOf(error) ? words : `not JSON (${short(whereNot(error))})`);
  }
}

/** Without rules that no zz could start with. */
function withoutWrongRules({ settings, file, faults }: Project, home: string, root: string): void {
  try {
    firstRules({ home, root, settings: { permissions: (settings as Settings).permissions! } });
  } catch (error) {
    delete settings.permissions;
    faults.push(`${reason(error)} This is in '${file}', whose permissions are ignored.`);
  }
}

/** What counts of a project's settings. Plugins' sections are checked once the plugins are loaded. */
function allowedProjectSettings(project: Project, given: Record<string, unknown>, own: Settings): Project {
  const taken = Object.entries(given).flatMap(([name, value]) => (isOwn(name) ? taking(name, value) : [[name, value]]));
  return { ...project, settings: Object.fromEntries(taken) };

  function taking(name: string, value: unknown): [string, unknown][] {
    const { project: say, ...shape } = SETTINGS[name]!;
    const may = project.trusted || say;
    const fault = (why: string, what = name) =>
      project.faults.push(`Cannot use the setting "${short(what)}" in '${project.file}': ${why}. It is ignored.`);
    const given = project.trusted ? withoutSends(name, value) : value;
    const part = may === true ? given : fits(shape, value) ? may?.(value, own) : may && value;
    if (part === undefined && project.trusted) return [];
    if (part === undefined) project.left.push(name);
    const rest = isObject(part) ? Object.keys(only(given as object, (key) => !Object.hasOwn(part, key))) : [];
    for (const key of rest) {
      const unheard = shape.additionalProperties === false && wrongIn(shape, { [key]: {} }, name);
      if (unheard) fault(unheard, `${name}.${key}`);
      else project.left.push(`${name}.${key}`);
    }
    const wrong = part !== undefined && wrongIn(shape, part, name);
    if (wrong) fault(wrong);
    return part === undefined || wrong ? [] : [[name, part]];
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
export function inForce(home: string, { home: own, project }: Sources): Settings {
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
    learn(key);
    providers[name] = { ...providers[name], kept: key };
  }
  return { ...given, providers };
}

export const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources => sources;

/** A plugin's settings: the defaults, over them the person's, over those the project's, as far as it may and the schema accepts them. */
export function configOf({ options, io }: Core, plugin: string, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = plugin, schema, project } = {} } = exports;
  const config: Config = { section, live: {}, defaults: { ...defaults }, ...(schema && { schema }), ...(project && { project }) };
  return fill(config, sourcesOf(options), (fault) => say(io, fault));
}

type Tell = (fault: string) => unknown;
export function fill(config: Config, { home, project }: Sources, tell?: Tell): Awaitable<Config> {
  const { section, schema, defaults, project: may = [] } = config;
  const mine = sectionOf(home, section);
  const given = isObject(project?.settings[section]) ? sectionOf(project.settings, section) : undefined;
  const all = may === true || project?.trusted;
  const both = merge(defaults, mine);
  const counts = (key: string) => all || may.includes(key);
  const theirs = given && (all || may.length) ? (lowered(only(given, counts)) as Record<string, unknown>) : undefined;
  return !schema || (!mine && !theirs) || passes(schema) ? filled(config, mine, theirs) : checked(schema);

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

  /** Checks without a library, if the schema is simple enough. */
  function passes(schema: Schema): boolean {
    const shape = "~standard" in schema ? undefined : toJsonSchema(schema);
    return isPlain(shape) && !wrongIn(shape, both, section) && !wrongIn(shape, merge(both, theirs), section);
  }

  async function checked(schema: Schema): Promise<Config> {
    const own = mine && (await fitting(schema, config, mine, defaults, tell));
    const note = tell && ((fault: string) => project!.faults.push(fault));
    return filled(config, own, theirs && (await fitting(schema, config, theirs, merge(defaults, own), note, ` in '${project!.file}'`)));
  }
}

/** The keys of a section that its schema accepts: one that is wrong does not affect the others. Unknown names are reported elsewhere. */
async function fitting(schema: Schema, config: Config, given: object, under: unknown, tell: Tell = () => {}, where = "") {
  const wrongWith = (more: object) => wrongSection(schema, merge(under, more));
  const remedy = (own: string, are: string) => (where ? `${are} ignored.` : own);
  if (!(await wrongWith(given))) return given as Record<string, unknown>;
  const [{ properties, additionalProperties: others }, before] = [shapeOf(config), await wrongWith({})];
  let fit: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const why = await wrongWith({ ...fit, [key]: value });
    const words = why?.startsWith(`${key} `) ? `it${why.slice(key.length)}` : why;
    if (!why || why === before) fit = { ...fit, [key]: value };
    else if (others || Object.hasOwn(properties!, key))
      tell(`Cannot use the setting "${config.section}.${key}"${where}: ${words}. ${remedy("Its default is used; fix it.", "It is")}`);
  }
  const wrong = await wrongWith(fit);
  if (!wrong) return fit;
  tell(`Cannot use the settings under "${config.section}"${where}: ${wrong}. ${remedy("Its defaults are used; fix them.", "They are")}`);
  return undefined;
}

/** Runs what may change settings, then tells plugins which ones changed. */
export async function configure(core: Core, act: () => Promise<void>): Promise<void> {
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
  configure(core, async () => {
    const { io, options, rules, configs, extras: brought } = core;
    const next = { ...options, ...settings({ ...options, brought }) };
    const [was, is] = [core.first, firstRules(next)]; // it throws if they cannot be used, and nothing is changed yet
    Object.assign(options, next);
    core.first = is;
    for (const { value } of configs) await fill(value, sourcesOf(options), (fault) => say(io, fault));
    const has = (all: Rule[], rule: Rule) => all.some((one) => isSame(one, rule));
    const left = rules.filter((rule) => !has(was, rule) || has(is, rule)); // what this session added stays, what it dropped stays away
    rules.splice(0, rules.length, ...left, ...is.filter((rule) => !has(was, rule) && !has(left, rule)));
  });

/** Reads the settings again if a file, the kept rules or the trust changed. What cannot be used is reported; the old ones stay. */
export async function renewSettings(core: Core): Promise<void> {
  const { home, root, config = path.join(home, NAME), sources } = core.options;
  const before = core.settingsStamps;
  const stamps = [config, keysFile(home), path.join(root, ".zz", NAME), keptFile(home)].map((file) => tryTo(() => stampOf(file)));
  core.settingsStamps = [...stamps, core.extras?.given, core.extras?.agreed].join();
  if (sources && before !== undefined && before !== core.settingsStamps) await reread(core).catch((error) => note(core, reason(error)));
}

function filled(config: Config, home: Config["home"], theirs: Config["theirs"]): Config {
  const { live, defaults } = config;
  for (const key of Object.keys(live)) delete live[key];
  Object.assign(live, merge(merge(defaults, home), theirs));
  return Object.assign(config, { home, theirs });
}

/** Also merges what is not an object, so that the plugin's schema can refuse it. */
function sectionOf(given: Settings, section: string): Record<string, unknown> | undefined {
  return Object.hasOwn(given, section) ? { ...(given[section] as object) } : undefined;
}

const wrongSection = async (schema: Schema, given: unknown): Promise<string | undefined> => (await check(schema, given)).wrong;
/** What is wrong in a section with a change and is not without it. */
export async function wrongAnew({ section, schema, defaults }: Config, ...settings: [without: Settings, next: Settings]): Promise<string> {
  const faults = settings.map((home) => wrongSection(schema!, merge(defaults, sectionOf(home, section))));
  const [old = [], all = []] = (await Promise.all(faults)).map((wrong = "") => wrong.split("; "));
  return all.filter((one) => !old.includes(one)).join("; ");
}

/** A plugin's settings as JSON Schema, completed from its defaults. */
export function shapeOf({ defaults, schema }: Config): Shape {
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

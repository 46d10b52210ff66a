// Chapter 11 of the kernel, its second half: the settings, of the home and of the project; read, checked, described and set.
import fs from "node:fs";
import path from "node:path";
import {
  type Awaitable,
  byName,
  type Core,
  check,
  codeOf,
  compare,
  type Endpoint,
  nearest,
  note,
  type Options,
  type Preferences,
  type Rules,
  reason,
  type Schema,
  type Setting,
  type Settings,
  say,
  textOf,
  toJsonSchema,
  tryTo,
  unknown,
  usage,
} from "../zz.ts";
import { fileFault } from "./files.ts";
import { firstRules, isInside, KINDS } from "./gate.ts";
import { fits, isObject, isPlain, misspelt, type Shape, short, wrongIn } from "./shape.ts";
import { writePrivate } from "./store.ts";

// What there is to set

/** What a project's file may say of a setting: all of it, or what this gives; nothing unless it is named. */
type Say = true | ((given: any, own: Settings) => unknown);

const TEXT = { type: "string" };
const ANY_AMOUNT = { type: "number", minimum: 0 };
const LIST = { anyOf: [{ const: true }, { type: "array", items: { type: "string", minLength: 1 } }] };
const RULES = {
  type: "object",
  properties: Object.fromEntries(KINDS.map((kind) => [kind, LIST])),
  additionalProperties: false,
};
const ENDPOINT = {
  type: "object",
  properties: {
    url: { ...TEXT, description: "where it is" },
    key: { ...TEXT, description: "its key; /keys keeps one apart from the settings" },
  },
};

/** The kernel's own: what they are checked by, what /config tells of them, and what an editor is told. The others are the plugins'. */
const SETTINGS: Record<string, Shape & { description: string; project?: Say }> = {
  $schema: { ...TEXT, description: "what an editor completes by", project: true },
  model: {
    ...TEXT,
    description: "the model to ask, as provider/model",
    project: (given, own) => (isKnown(given, own) ? given : undefined),
  },
  models: {
    type: "object",
    properties: {
      chat: { ...TEXT, description: "the model to ask, where no other is named" },
      summary: { ...TEXT, description: "the one that sums up a long conversation" },
      eval: { ...TEXT, description: "the one that checks an answer" },
    },
    description: "models by task",
    project: (given: object, own) => only(given, (_, model) => isKnown(model, own)),
  },
  window: {
    type: "number",
    exclusiveMinimum: 0,
    description: "tokens that the model takes in, where its provider does not tell",
    project: true,
  },
  disabled: { type: "array", items: { type: "string", minLength: 1 }, description: "plugins to leave out, by name" },
  rounds: { ...ANY_AMOUNT, description: "rounds of tools before zz stops (0: no limit)", project: true },
  timeout: { ...ANY_AMOUNT, description: "seconds that a provider may be silent (0: no limit)", project: true },
  options: { type: "object", description: "for the provider, such as { temperature: 0 }" },
  providers: {
    type: "object",
    additionalProperties: ENDPOINT,
    description: "where each provider is: { name: { url } }",
  },
  projects: { description: 'other folders: { id: { path, rights: "read" or "write", about } }' }, // the gate is strict about it
  permissions: {
    type: "object",
    properties: { allow: RULES, deny: RULES },
    additionalProperties: false,
    description: "what tools may do unasked, and never",
    project: (given: object) => only(given, (key) => key === "deny"),
  },
};
const OPEN = ["options"]; // what is in it is for others to know
const isOwn = (name: string): boolean => Object.hasOwn(SETTINGS, name);

/** A project may choose among the models of a provider that the person chose; with another, its files would go elsewhere. */
function isKnown(model: unknown, { model: chosen, models }: Settings): boolean {
  const provider = (name: unknown) => String(name).split("/")[0];
  const own = [chosen, ...Object.values(models ?? {})].filter((name) => name !== undefined);
  return own.some((name) => provider(name) === provider(model));
}

function only(given: object, fit: (key: string, value: unknown) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key, value]) => fit(key, value)));
}

/** A plugin's settings: where they stand, what they are unless somebody says otherwise, what they may be, and who says otherwise. */
export interface Config {
  section: string;
  live: Record<string, unknown>;
  defaults: Record<string, unknown>;
  schema?: Schema;
  project?: true | string[]; // which of them a project's file may say
  home?: Record<string, unknown>; // as far as it counts, as the next
  theirs?: Record<string, unknown>;
}

// Reading

/** The files that the settings come from. */
export interface Sources {
  home: Settings;
  project?: Project;
}
/** What a project's file says, without what the kernel does not take from it. */
interface Project {
  file: string;
  settings: Settings;
  left: string[]; // names of what it may not say
  faults: string[];
  trusted: boolean; // then it may say all
}

const NAME = "zz.config.json";
const LARGEST = 100_000; // bytes of a project's file

export function settings(home: string, named?: string, trusted = false): { settings: Settings; sources: Sources } {
  const own = ownSettings(named ?? path.join(home, NAME), named);
  const project = projectSettings([path.join(home, NAME), ...(named ? [named] : [])], own, trusted);
  const sources = { home: own, ...(project && { project }) };
  return { settings: inForce(home, sources), sources };
}

function ownSettings(file: string, named: string | undefined): Settings {
  const refuse = (why: string) => usage(`Cannot use the settings '${file}': ${why}. Mend it or move it away.`);
  let parsed: Settings = {};
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!codeOf(error)) throw refuse(`not JSON (${reason(error)})`);
    if (named) throw fileFault("read the settings", file, error, { exit: 2 });
  }
  if (!isObject(parsed)) throw refuse("they must be a JSON object");
  const wrong = wrongSetting(parsed);
  if (wrong) throw refuse(wrong);
  return parsed;
}

const wrongSetting = (given: Settings): string | undefined =>
  Object.entries(SETTINGS)
    .filter(([name]) => Object.hasOwn(given, name))
    .flatMap(([name, shape]) => wrongIn(shape, given[name], name) ?? [])[0];

/** Nobody has to trust a folder to look at it: its file stops nothing, whatever it is. Undefined: there is none, or it is the home's. */
function projectSettings(homes: string[], own: Settings, trusted: boolean): Project | undefined {
  const file = path.join(".zz", NAME);
  const project: Project = { file, settings: {}, left: [], faults: [], trusted };
  const passOver = (why: string) => {
    project.file = path.resolve(file);
    project.faults.push(`Cannot use the project's settings '${project.file}': ${why}. They are passed over.`);
    return project;
  };
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    project.file = path.resolve(file);
    const real = fs.realpathSync(file);
    if (homes.some((home) => tryTo(() => fs.realpathSync(home)) === real)) return undefined;
    if (!isInside(fs.realpathSync("."), real)) return passOver(`they lead out of the project, to '${real}'`);
    if (!stat.isFile()) return passOver(stat.isDirectory() ? "it is a folder" : "it is no regular file");
    if (stat.size > LARGEST) return passOver(`${stat.size} bytes are too many`);
    const given = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!isObject(given)) return passOver("they must be a JSON object");
    return counted(project, given, own);
  } catch (error) {
    const words = fileFault("read", "", error).message.slice("Cannot read '': ".length).replace(/\.$/, "");
    return passOver(codeOf(error) ? words : `not JSON (${short(reason(error))})`);
  }
}

/** Of what the project says, what may count; the plugins' sections are judged when the plugins are there. */
function counted(project: Project, given: Record<string, unknown>, own: Settings): Project {
  const taken = Object.entries(given).flatMap(([name, value]) => (isOwn(name) ? taking(name, value) : [[name, value]]));
  return { ...project, settings: Object.fromEntries(taken) };

  function taking(name: string, value: unknown): [string, unknown][] {
    const { project: say, ...shape } = SETTINGS[name]!;
    const may = project.trusted || say;
    const fault = (why: string, what = name) =>
      project.faults.push(`Cannot use the setting "${short(what)}" in '${project.file}': ${why}. It is passed over.`);
    const part = may === true ? value : fits(shape, value) ? may?.(value, own) : may && value;
    if (part === undefined) project.left.push(name);
    const rest = isObject(part) ? Object.keys(only(value as object, (key) => !Object.hasOwn(part, key))) : [];
    for (const key of rest) {
      const unheard = shape.additionalProperties === false && wrongIn(shape, { [key]: {} }, name);
      if (unheard) fault(unheard, `${name}.${key}`);
      else project.left.push(`${name}.${key}`);
    }
    const wrong = part !== undefined && wrongIn(shape, part, name);
    if (wrong) fault(wrong);
    return part === undefined || wrong ? [] : [[name, part]];
  }
}

/** The project's over the home's. What either denies is denied. */
function inForce(home: string, { home: own, project }: Sources): Settings {
  const both = merge(own, project && only(project.settings, isOwn)) as Settings;
  const [mine, theirs] = [own.permissions?.deny, project?.settings.permissions?.deny];
  if (mine && theirs) both.permissions = { ...both.permissions, deny: either(mine, theirs) };
  return withKeys(home, both);
}

function either(mine: Rules, theirs: Rules): Rules {
  const lists = (kind: (typeof KINDS)[number]) => [mine[kind] ?? [], theirs[kind] ?? []];
  const rule = (kind: (typeof KINDS)[number]) =>
    [kind, lists(kind).includes(true) ? true : [...new Set(lists(kind).flat())]] as const;
  return Object.fromEntries(KINDS.map(rule).filter(([, list]) => list === true || list.length));
}

/** Objects are merged, everything else is replaced. */
function merge(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  const both = { ...under, ...over };
  return Object.fromEntries(
    Object.keys(both).map((key) => [
      key,
      Object.hasOwn(under, key) && Object.hasOwn(over, key) ? merge(under[key], over[key]) : both[key],
    ]),
  );
}

/** Keys lie apart, so that settings can be shown and shared. */
const keysFile = (home: string): string => path.join(home, "keys.json");

function withKeys(home: string, given: Settings): Settings {
  const kept = tryTo(() => JSON.parse(textOf(keysFile(home)))) as Record<string, string> | undefined;
  const keys = Object.entries(kept ?? {}).filter(([, key]) => typeof key === "string");
  if (!keys.length) return given;
  const providers = { ...given.providers };
  for (const [name, key] of keys) providers[name] = { ...providers[name], kept: key };
  return { ...given, providers };
}

const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources => sources;

// A plugin's

/** The defaults, over them what the person set, and over that what the project may; what its schema refuses is left out. */
export function configOf({ options }: Core, plugin: string, exports: any): Awaitable<Config> {
  const { defaults = {}, settings: { name: section = plugin, schema, project } = {} } = exports;
  const config: Config = {
    section,
    live: {},
    defaults: { ...defaults },
    ...(schema && { schema }),
    ...(project && { project }),
  };
  return fill(config, sourcesOf(options));
}

function fill(config: Config, { home, project }: Sources): Awaitable<Config> {
  const { section, schema, defaults, project: may = [] } = config;
  const mine = sectionOf(home, section);
  const given = isObject(project?.settings[section]) ? sectionOf(project.settings, section) : undefined;
  const all = may === true || project?.trusted;
  const theirs = given && (all || may.length) ? only(given, (key) => all || may.includes(key)) : undefined;
  const both = merge(defaults, mine);
  return !schema || (!mine && !theirs) || passes(schema) ? filled(config, mine, theirs) : checked(schema);

  /** Without a library, where that is enough. */
  function passes(schema: Schema): boolean {
    const shape = "~standard" in schema ? undefined : toJsonSchema(schema);
    return isPlain(shape) && !wrongIn(shape, both, section) && !wrongIn(shape, merge(both, theirs), section);
  }

  async function checked(schema: Schema): Promise<Config> {
    const wrong = mine && (await wrongSection(schema, both));
    if (wrong) say(`Cannot use the settings under "${section}": ${wrong}. Its defaults are used; mend them.`);
    const own = wrong ? undefined : mine;
    const wrongToo = theirs && (await wrongSection(schema, merge(merge(defaults, own), theirs)));
    if (wrongToo)
      project!.faults.push(
        `Cannot use the settings under "${section}" in '${project!.file}': ${wrongToo}. They are passed over.`,
      );
    return filled(config, own, wrongToo ? undefined : theirs);
  }
}

/** After the person said yes or no to what the project brings: its settings count in full, or no longer. */
export async function readAgain(core: Core): Promise<void> {
  const { options, rules, configs, brought } = core;
  Object.assign(options, settings(options.home, options.config, brought?.given));
  for (const { value } of configs) await fill(value, sourcesOf(options));
  rules.splice(0, rules.length, ...firstRules(options), ...rules.filter(({ from }) => from === "answer"));
}

function filled(config: Config, home: Config["home"], theirs: Config["theirs"]): Config {
  const { live, defaults } = config;
  for (const key of Object.keys(live)) delete live[key];
  Object.assign(live, merge(merge(defaults, home), theirs));
  delete config.home;
  delete config.theirs;
  return Object.assign(config, home && { home }, theirs && { theirs });
}

/** Also of what is no object: a plugin is told of a text's letters, and refuses them. */
function sectionOf(given: Settings, section: string): Record<string, unknown> | undefined {
  return Object.hasOwn(given, section) ? { ...(given[section] as object) } : undefined;
}

async function wrongSection(schema: Schema, given: unknown): Promise<string | undefined> {
  const { wrong } = await check(schema, given);
  return wrong && wrong + misspelt(tryTo(() => toJsonSchema(schema)) ?? {}, given);
}

/** A plugin's settings in JSON Schema, with what is known of them from their defaults. */
function shapeOf({ defaults, schema }: Config): Shape {
  const told: Shape = (schema && tryTo(() => toJsonSchema(schema))) || {};
  const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);
  const known = Object.entries(defaults).map(([key, value]) => [
    key,
    { ...(told.properties?.[key] ?? { type: typeOf(value) }), default: value },
  ]);
  const required = told.required?.filter((key) => !Object.hasOwn(defaults, key)) ?? [];
  return {
    type: "object",
    ...told,
    properties: { ...told.properties, ...Object.fromEntries(known) },
    additionalProperties: told.additionalProperties ?? !schema,
    ...(told.required && { required }),
  };
}

// What nobody reads

/** Settings that count for nothing stay as they are, and are named; first the home's. */
export function strangeSettings(core: Core): string[] {
  const { options } = core;
  const { home, project } = sourcesOf(options);
  let all: Sections | undefined;
  const said = strange(home, "", []);
  if (!project) return said;
  const left = [...project.left];
  const theirs = [...project.faults, ...strange(project.settings, ` in '${project.file}'`, left)];
  const more = theirs.length - MOST_NOTES;
  return [
    ...said,
    ...theirs.slice(0, MOST_NOTES),
    ...(more > 0 ? [`There are ${more} more such faults in '${project.file}'.`] : []),
    ...(left.length ? [refusal(project.file, left.sort())] : []),
  ];

  /** What a project may not say goes to `left`. */
  function strange(given: Settings, where: string, left: string[]): string[] {
    return Object.keys(given).flatMap((name) => {
      if (isOwn(name)) return OPEN.includes(name) ? [] : strangeIn(SETTINGS[name]!, given[name], `${name}.`, where);
      all ??= sectionsOf(core);
      const section = all.get(name);
      const isOff = core.plugins.some((plugin) => plugin.name === name && (plugin.disabled || plugin.failure));
      const isNobodys = isOff || options.own === false || (where && mayCome(core)); // its plugin may come yet
      if (!section) return isNobodys ? [] : odd(name, [...Object.keys(SETTINGS), ...all.keys()], "", where);
      if (!isObject(given[name])) return [`Cannot use the setting "${name}"${where}: it must be an object.`];
      if (where && !project!.trusted) left.push(...notTaken(name, section, given[name]));
      return strangeIn(section.shape, given[name], `${name}.`, where);
    });
  }
}
const MOST_NOTES = 5;
/** Plugins of the project that nobody said yes to. */
const mayCome = ({ brought }: Core): boolean =>
  brought?.given === false && brought.files.some((name) => name.startsWith(".zz/plugins/"));

type Sections = Map<string, { shape: Shape; owners: Config[] }>;
/** What the plugins may be told, by name. The name of zz's own that take nothing is nobody's, and the kernel's go before. */
function sectionsOf({ configs, plugins }: Core): Sections {
  const all: Sections = new Map();
  for (const { owner, value } of configs) {
    const { section, schema, defaults } = value;
    const isBare = !schema && !Object.keys(defaults).length;
    if (isOwn(section) || (isBare && plugins.find(({ name }) => name === owner)?.from === "zz")) continue;
    const { owners = [], shape: { properties = {} } = {} } = all.get(section) ?? {};
    const shape = shapeOf(value);
    all.set(section, {
      shape: { ...shape, properties: { ...properties, ...shape.properties } },
      owners: [...owners, value],
    });
  }
  return all;
}

function notTaken(name: string, { shape, owners }: { shape: Shape; owners: Config[] }, given: object): string[] {
  if (owners.every(({ project }) => !project)) return [name];
  const may = (key: string) => owners.some(({ project = [] }) => project === true || project.includes(key));
  const isKnown = (key: string) => shape.additionalProperties || Object.hasOwn(shape.properties!, key);
  const keys = Object.keys(given).filter((key) => !may(key) && isKnown(key));
  return keys.map((key) => `${name}.${key}`);
}

function refusal(file: string, left: string[]): string {
  const names = left.slice(0, MOST_NAMES).map(short).join(", ");
  const more = left.length > MOST_NAMES ? ` and ${left.length - MOST_NAMES} more` : "";
  const why = "a project may not send data elsewhere, loosen what is asked for, or say what runs";
  return `Cannot take ${names}${more} from '${file}': ${why}. Say yes to the folder (--trust, /trust), or set it in your own settings.`;
}
const MOST_NAMES = 10;

function strangeIn(shape: Shape, given: unknown, under: string, where: string): string[] {
  if (!isObject(given)) return [];
  const { properties = {}, additionalProperties } = shape;
  return Object.entries(given).flatMap(([key, value]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    if (isObject(own))
      return own.properties || own.additionalProperties ? strangeIn(own, value, `${under}${key}.`, where) : [];
    return own || (!shape.properties && !additionalProperties) ? [] : odd(key, Object.keys(properties), under, where);
  });
}

const odd = (name: string, known: string[], under: string, where: string): string[] => [
  `Unknown setting "${under}${short(name)}"${where}: ${unknown("setting", short(name), known)}`,
];

// Shown and set

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const SCHEMA = "zz.config.schema.json";

export function preferences(core: Core): Preferences {
  const { options, configs } = core;
  const { home } = options;
  return { list, set, schema };

  function list(): Setting[] {
    const { home: mine, project } = sourcesOf(options);
    const own = Object.entries(SETTINGS).map(([name, { description: about }]) => {
      const value = name === "providers" ? withoutKeys(options.settings[name]) : options.settings[name];
      return { name, value, about, owner: "zz", ...from(name, mine, project?.settings) };
    });
    const added = configs.flatMap(({ owner, value: config }) => {
      const { section, live, defaults } = config;
      return Object.entries(shapeOf(config).properties!).map(([key, { description: about, enum: values }]) => {
        const more = { ...(about && { about }), ...(values && { values }), ...from(key, config.home, config.theirs) };
        return { name: `${section}.${key}`, value: live[key], default: defaults[key], owner, ...more };
      });
    });
    return [...own.filter(({ name }) => name !== "$schema"), ...added].sort(byName);
  }

  function from(key: string, mine: object | undefined, theirs: object | undefined): Pick<Setting, "from"> {
    const said = [mine && Object.hasOwn(mine, key) && "home", theirs && Object.hasOwn(theirs, key) && "project"];
    const found = said.filter((one) => one === "home" || one === "project");
    return found.length ? { from: found } : {};
  }

  /** That there is a key may be told, and nothing of it. */
  function withoutKeys(providers: Settings["providers"] = {}): Settings["providers"] {
    const told = ({ kept, key = kept, ...rest }: Endpoint): Endpoint => ({ ...rest, ...(key && { key: "(kept)" }) });
    return Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, told(one)]));
  }

  async function set(name: string, value: unknown): Promise<void> {
    const [section = "", ...keys] = name.split(".");
    const refuse = (why: string) => usage(`Cannot set '${name}': ${why}`);
    const known = list();
    const names = known.map((one) => one.name);
    const whole = !keys.length && configs.some(({ value }) => value.section === section);
    if (!names.includes(name) && !whole && !isOwn(section)) throw refuse(unknown("setting", name, names));
    const [, provider, last] = /^providers\.([^.]+)\.(key)$/.exec(name) ?? [];
    if (last) return keep(provider!, value);

    const { values } = known.find((one) => one.name === name) ?? {};
    if (values && value !== undefined && !values.includes(value)) throw refuse(amongWords(values, value));
    const sources = sourcesOf(options);
    const next = { ...sources, home: changed(sources.home, [section, ...keys], value) as Settings };
    const wrong = wrongSetting(next.home);
    if (wrong) throw refuse(`${wrong}.`);
    const own = configs.map((config) => config.value).filter((config) => config.section === section);
    for (const { defaults, schema } of own) {
      const given = merge(defaults, sectionOf(next.home, section));
      const refused = schema ? await wrongSection(schema, given) : keys[0] && unlike(defaults[keys[0]], value);
      if (refused) throw refuse(`${refused}.`);
    }
    write(options.config ?? path.join(home, NAME), [section, ...keys], value);
    options.sources = next;
    options.settings = inForce(home, next);
    for (const config of own) filled(config, sectionOf(next.home, section), config.theirs);
    tellOfProject(name);
  }

  function keep(provider: string, key: unknown): void {
    write(keysFile(home), [provider], key);
    options.settings = inForce(home, sourcesOf(options));
  }

  /** Into what the file holds now: somebody may have changed it meanwhile. */
  function write(file: string, keys: string[], value: unknown): void {
    const refuse = (why: string) => usage(`Cannot change '${file}': ${why}. Mend it first, or move it away.`);
    const text = textOf(file);
    const kept = text && tryTo(() => JSON.parse(text));
    if (text && !isObject(kept)) throw refuse("it is no JSON object any more");
    const { $schema, ...rest } = changed(kept || {}, keys, value);
    writePrivate(file, JSON.stringify($schema === undefined ? rest : { $schema, ...rest }, null, 2));
    if ($schema === `./${SCHEMA}`)
      writePrivate(path.join(path.dirname(file), SCHEMA), JSON.stringify(schema(), null, 2));
  }

  function tellOfProject(name: string): void {
    const { project } = sourcesOf(options);
    const [section = "", ...keys] = name.split(".");
    const theirs = configs.find(({ value }) => value.section === section)?.value.theirs;
    const counts = isOwn(section) ? project?.settings : { [section]: theirs };
    const here = [section, ...keys].reduce<any>((value, key) => value?.[key], counts);
    if (here === undefined) return;
    const text = short(JSON.stringify(here));
    note(core, `What the project says goes before it: ${name} is ${text} in '${project!.file}'.`);
  }

  function unlike(before: unknown, value: unknown): string | undefined {
    const fits = value === undefined || before === undefined || typeof before === typeof value;
    return fits ? undefined : `it must be a ${typeof before}, like ${JSON.stringify(before)}`;
  }
  /** A copy with the value there, or without it. */
  function changed(from: unknown, [key, ...more]: string[], value: unknown): any {
    if (key === undefined) return value;
    const { [key]: old, ...rest } = (typeof from === "object" ? from : {}) as Record<string, unknown>;
    const inner = changed(old, more, value);
    return inner === undefined ? rest : { ...rest, [key]: inner };
  }

  /** One JSON Schema of all there is to set, for editors. */
  function schema(): Record<string, unknown> {
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
}

function amongWords(values: unknown[], value: unknown): string {
  const among = `it is one of ${values.map((one) => JSON.stringify(one)).join(", ")}.`;
  const near = typeof value === "string" ? nearest(short(value), values.map(String)) : undefined;
  return near === undefined ? among : `${among} Did you mean ${JSON.stringify(near)}?`;
}

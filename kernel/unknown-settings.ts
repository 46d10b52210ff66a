// Settings that count for nothing, by name.
import type { Settings } from "./contract.ts";
import type { Core } from "./core.ts";
import { type Config, type Send, shapeOf, sourcesOf } from "./settings.ts";
import { isOwn, OPEN, SETTINGS } from "./settings-table.ts";
import { isObject, type Shape, short } from "./shape.ts";
import { unknown } from "./text.ts";

// What nobody reads

/** Settings that count for nothing stay as they are, and are named; first the home's. */
export function unknownSettings(core: Core): string[] {
  const { options } = core;
  const { home, project } = sourcesOf(options);
  let all: Sections | undefined;
  const said = strange(home, "", []);
  if (!project) return said;
  const left = [...project.left];
  const theirs = [...project.faults, ...strange(project.settings, ` in '${project.file}'`, left)];
  const more = theirs.length - MAX_NOTES;
  return [
    ...said,
    ...theirs.slice(0, MAX_NOTES),
    ...(more > 0 ? [`There are ${more} more such faults in '${project.file}'.`] : []),
    ...(left.length ? [refusal(project.file, left.sort())] : []),
    ...project.sends.map(redirectNote(project.file)),
  ];

  /** What a project may not say goes to `left`. */
  function strange(given: Settings, where: string, left: string[]): string[] {
    return Object.keys(given).flatMap((name) => {
      if (isOwn(name)) return OPEN.includes(name) ? [] : unknownKeys(SETTINGS[name]!, given[name], `${name}.`, where);
      all ??= sectionsOf(core);
      const section = all.get(name);
      const isOff = core.plugins.some((plugin) => plugin.name === name && (plugin.disabled || plugin.failure));
      const isNobodys = isOff || options.own === false || (where && mayCome(core)); // its plugin may come yet
      if (!section) return isNobodys ? [] : unknownSetting(name, [...Object.keys(SETTINGS), ...all.keys()], "", where);
      if (!isObject(given[name])) return [`Cannot use the setting "${name}"${where}: it must be an object.`];
      if (where && !project!.trusted) left.push(...notTaken(name, section, given[name]));
      return unknownKeys(section.shape, given[name], `${name}.`, where);
    });
  }
}
const MAX_NOTES = 5;
/** Plugins of the project that nobody said yes to. */
const mayCome = ({ extras: brought }: Core): boolean =>
  brought?.given === false && brought.files.some((name) => name.startsWith(".zz/plugins/"));

type Sections = Map<string, { shape: Shape; owners: Config[] }>;
/** What the plugins may be told, by name. The name of zz's own that take nothing is nobody's, and the kernel's go before. */
export function sectionsOf({ configs, plugins }: Core): Sections {
  const all: Sections = new Map();
  for (const { owner, value } of configs) {
    const { section, schema, defaults } = value;
    const isBare = !schema && !Object.keys(defaults).length;
    if (isOwn(section) || (isBare && plugins.find(({ name }) => name === owner)?.from === "zz")) continue;
    const { owners = [], shape: { properties = {} } = {} } = all.get(section) ?? {};
    const shape = shapeOf(value);
    all.set(section, { shape: { ...shape, properties: { ...properties, ...shape.properties } }, owners: [...owners, value] });
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

const redirectNote =
  (file: string) =>
  ({ setting, from, to }: Send): string =>
    `Left out ${short(setting)} of '${file}': it would send what you say and your files to ${short(to)} instead of ${short(from)}. ` +
    "/trust asks for that by itself; --base-url, --model or your own settings say it for you.";

function refusal(file: string, left: string[]): string {
  const names = left.slice(0, MAX_NAMES).map(short).join(", ");
  const more = left.length > MAX_NAMES ? ` and ${left.length - MAX_NAMES} more` : "";
  const why = "a project may not send data elsewhere, loosen what is asked for, or say what runs";
  return `Cannot take ${names}${more} from '${file}': ${why}. Trust the folder (--trust, /trust), or set it in your own settings.`;
}
const MAX_NAMES = 10;

function unknownKeys(shape: Shape, given: unknown, under: string, where: string): string[] {
  if (!isObject(given)) return [];
  const { properties = {}, additionalProperties } = shape;
  return Object.entries(given).flatMap(([key, value]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    if (isObject(own)) return own.properties || own.additionalProperties ? unknownKeys(own, value, `${under}${key}.`, where) : [];
    return own || (!shape.properties && !additionalProperties) ? [] : unknownSetting(key, Object.keys(properties), under, where);
  });
}

const unknownSetting = (name: string, known: string[], under: string, where: string): string[] => [
  `Unknown setting "${under}${short(name)}"${where}: ${unknown("setting", short(name), known)}`,
];

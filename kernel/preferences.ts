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
      const given = options.settings[name];
      const value = name === "providers" ? withoutKeys(options.settings[name]) : sealed(name, given);
      return { name, value, about, owner: "zz", ...from(name, mine, project?.settings) };
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

  function from(key: string, mine: object | undefined, theirs: object | undefined): Pick<Setting, "from"> {
    const said = [mine && Object.hasOwn(mine, key) && "home", theirs && Object.hasOwn(theirs, key) && "project"];
    const found = said.filter((one) => one === "home" || one === "project");
    return found.length ? { from: found } : {};
  }

  /** That there is a key may be told, and nothing of it. */
  function withoutKeys(providers: Settings["providers"] = {}): Record<string, unknown> {
    const all = Object.entries(providers).map(([name, one]) => {
      if (!isObject(one)) return [name, one];
      const { kept, key = kept, ...rest } = one;
      const { url, ...others } = rest;
      const shown = { ...(sealed("", others) as object), ...(url && { url: sealUrl(String(url)) }) };
      return [name, { ...shown, ...(key && { key: secret(String(key)) }) }];
    });
    return Object.fromEntries(all);
  }

  async function set(name: string, given: unknown): Promise<void> {
    const value = reveal(given);
    learnData(value, name);
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
    const refuse = (why: string) => usage(`Cannot change '${file}': ${why}. Fix it first, or move it away.`);
    let $schema: unknown;
    updatePrivate(file, (text) => {
      const kept = text && tryTo(() => JSON.parse(text));
      if (text && !isObject(kept)) throw refuse("it is no JSON object any more");
      const { $schema: named, ...rest } = changed(kept || {}, keys, value);
      $schema = named;
      return JSON.stringify(named === undefined ? rest : { $schema: named, ...rest }, null, 2);
    });
    if ($schema === `./${SCHEMA}`) writePrivate(path.join(path.dirname(file), SCHEMA), JSON.stringify(schema(), null, 2));
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

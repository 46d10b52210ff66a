// Chapter 11 of the kernel, its second half: the settings, read, checked, shown and set.
import fs from "node:fs";
import path from "node:path";
import {
  byName,
  type Core,
  check,
  codeOf,
  type Endpoint,
  type Preferences,
  reason,
  type Setting,
  type Settings,
  textOf,
  toJsonSchema,
  tryTo,
  unknown,
  usage,
} from "../zz.ts";
import { fileFault } from "./files.ts";
import { KINDS } from "./gate.ts";
import { writePrivate } from "./store.ts";

/** What the kernel's own settings must be; the others are the plugins'. */
const SETTINGS: Record<string, { must: string; about: string }> = {
  model: { must: "a string", about: "the model to ask, as provider/model" },
  rounds: { must: "a positive number", about: "rounds of tools before zz stops (0: no limit)" },
  timeout: { must: "a positive number", about: "seconds that a provider may be silent (0: no limit)" },
  options: { must: "an object", about: "for the provider, such as { temperature: 0 }" },
  providers: { must: "an object", about: "where each provider is: { name: { url } }" },
  permissions: { must: "an object", about: "what tools may do unasked, and never" },
};

export function settings(home: string, named: string | undefined): Settings {
  const file = named ?? path.join(home, "zz.config.json");
  const refuse = (why: string) => usage(`Cannot use the settings '${file}': ${why}. Mend it or move it away.`);
  let parsed: Settings = {};
  try {
    parsed = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {
    if (!codeOf(error)) throw refuse(`not JSON (${reason(error)})`);
    if (named) throw fileFault("read the settings", file, error, { exit: 2 });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw refuse("they must be a JSON object");
  const wrong = wrongSetting(parsed);
  if (wrong) throw refuse(wrong);
  const keys = tryTo(() => JSON.parse(textOf(keysFile(home)))) as Record<string, string> | undefined;
  for (const [name, key] of Object.entries(keys ?? {}))
    if (typeof key === "string")
      parsed.providers = { ...parsed.providers, [name]: { ...parsed.providers?.[name], kept: key } };
  return parsed;
}

/** Keys lie apart, so that settings can be shown and shared. */
const keysFile = (home: string): string => path.join(home, "keys.json");

function wrongSetting(parsed: Settings): string | undefined {
  for (const [key, { must }] of Object.entries(SETTINGS))
    if (key in parsed && (!must.endsWith(` ${typeof parsed[key]}`) || Number(parsed[key]) < 0))
      return `"${key}" must be ${must}`;
  return "permissions" in parsed && !arePermissions(parsed.permissions) ? `"permissions" ${PERMISSIONS}` : undefined;
}

/** Settings that nobody reads: they stay as they are, and are named. What a plugin may be told is known where it has a schema. */
export function strangeSettings({ options: { settings, own }, configs }: Core): string[] {
  const sections = [...Object.keys(SETTINGS), ...configs.map(({ value }) => value.section)];
  const strange = (name: string, names: string[], under = "") =>
    names.includes(name) ? [] : [`Unknown setting "${under}${name}": ${unknown("setting", name, names)}`];
  const outer = own === false ? [] : Object.keys(settings).flatMap((name) => strange(name, sections));
  const inner = configs.flatMap(({ value: { section, defaults, schema } }) => {
    const { properties = {}, additionalProperties } = schema ? toJsonSchema(schema) : {};
    if (!schema || additionalProperties) return [];
    const names = [...Object.keys(defaults), ...Object.keys(properties as object)];
    return Object.keys(Object(settings[section] ?? {})).flatMap((name) => strange(name, names, `${section}.`));
  });
  const flat = configs.flatMap(({ value: { section } }) =>
    typeof (settings[section] ?? {}) === "object" ? [] : [`Cannot use the setting "${section}": it must be an object.`],
  );
  return [...outer, ...flat, ...inner];
}

export function preferences({ options, configs }: Core): Preferences {
  const { home } = options;
  return { list, set };

  function list(): Setting[] {
    const own = Object.entries(SETTINGS).map(([name, { about }]) => {
      const value = name === "providers" ? withoutKeys(options.settings[name]) : options.settings[name];
      return { name, value, about, owner: "zz" };
    });
    const added = configs.flatMap(({ owner, value: { section, live, defaults, schema } }) => {
      const told = (schema ? toJsonSchema(schema).properties : {}) as Record<
        string,
        { description?: string; enum?: unknown[] }
      >;
      return [...new Set([...Object.keys(defaults), ...Object.keys(told)])].map((key) => {
        const { description: about, enum: values } = told[key] ?? {};
        const more = { ...(about && { about }), ...(values && { values }) };
        return { name: `${section}.${key}`, value: live[key], default: defaults[key], owner, ...more };
      });
    });
    return [...own, ...added].sort(byName);
  }

  /** That there is a key may be told, and nothing of it. */
  function withoutKeys(providers: Settings["providers"] = {}): Settings["providers"] {
    const told = ({ kept, key = kept, ...rest }: Endpoint): Endpoint => ({ ...rest, ...(key && { key: "(kept)" }) });
    return Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, told(one)]));
  }

  async function set(name: string, value: unknown): Promise<void> {
    const [section = "", ...keys] = name.split(".");
    const refuse = (why: string) => usage(`Cannot set '${name}': ${why}`);
    const names = list().map((one) => one.name);
    const whole = !keys.length && configs.some(({ value }) => value.section === section);
    if (!names.includes(name) && !whole && !(keys.length && section in SETTINGS))
      throw refuse(unknown("setting", name, names));
    const [, provider, last] = /^providers\.([^.]+)\.(key)$/.exec(name) ?? [];
    const file = last ? keysFile(home) : (options.config ?? path.join(home, "zz.config.json"));
    const kept = (tryTo(() => JSON.parse(textOf(file))) ?? {}) as Settings;
    const next = changed(kept, last ? [provider!] : [section, ...keys], value);
    const inForce = changed(
      options.settings,
      last ? [section, provider!, "kept"] : [section, ...keys],
      value,
    ) as Settings;
    const wrong = wrongSetting(inForce);
    if (wrong) throw refuse(`${wrong}.`);
    const own = configs.filter((config) => config.value.section === section).map((config) => config.value);
    for (const { defaults, schema } of own) {
      const given = { ...defaults, ...(inForce[section] as object) };
      const refused = schema ? (await check(schema, given)).wrong : keys[0] && unlike(defaults[keys[0]], value);
      if (refused) throw refuse(`${refused}.`);
    }
    writePrivate(file, JSON.stringify(next, null, 2));
    options.settings = inForce;
    for (const { live, defaults } of own) {
      for (const key of Object.keys(live)) delete live[key];
      Object.assign(live, defaults, inForce[section]);
    }
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
}

const PERMISSIONS = `must be like { "allow": { "run": ["npm test"] }, "deny": { "read": true } }`;

/** What cannot be understood must not be taken for no rule. */
function arePermissions(given: unknown): boolean {
  const isMap = (value: unknown, keys: readonly string[]) =>
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).every((key) => keys.includes(key)) &&
    !Array.isArray(value);
  const isList = (value: unknown) =>
    value === true || (Array.isArray(value) && value.every((name) => typeof name === "string" && name));
  return (
    isMap(given, ["allow", "deny"]) &&
    Object.values(given as object).every((rules) => isMap(rules, KINDS) && Object.values(rules).every(isList))
  );
}

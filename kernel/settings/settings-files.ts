// Settings: read, checked and merged, from the home and from the project.
import fs from "node:fs";
import path from "node:path";
import { KINDS, type Rules, type Settings } from "../contract.ts";
import { initialRules } from "../gate/rules.ts";
import type { Options, Project, Send, Sources } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { shortenName } from "../text/did-you-mean.ts";
import { codeOf, usage } from "../text/faults.ts";
import type { Misfit } from "../text/json-schema.ts";
import { isInside, textOf } from "../text/read-quietly.ts";
import { errorMessage, learnData, learnSecret } from "../text/secrets.ts";
import { isObject, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import { BY_PROJECT, isKnown, isOwn, OWN, only } from "./settings-table.ts";

function sendsOf(name: string, value: unknown, own: Settings): (Send & { key?: string })[] {
  const chosen = own.model ?? "what you chose";
  if (name === "model")
    return isKnown(value, own) ? [] : [{ setting: name, from: chosen, to: String(value) }];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const setting = `${name}.${key}`;
    if (name === "models")
      return isKnown(one, own) ? [] : { setting, from: chosen, to: String(one), key };
    const to = JSON.stringify(one);
    if (name === "options" && (ELSEWHERE.test(key) || ELSEWHERE.test(to)))
      return { setting, from: String(own.options?.[key] ?? "what it is by itself"), to, key };
    if (name !== "providers" || !isObject(one)) return [];
    const { url, key: account } = own.providers?.[key] ?? {};
    if (one.url !== undefined && one.url !== url)
      return {
        setting: `${setting}.url`,
        from: url ?? `where '${key}' is by itself`,
        to: String(one.url),
        key,
      };
    const isOther = one.key !== undefined && one.key !== account;
    return isOther
      ? {
          setting: `${setting}.key`,
          from: "your account",
          to: "the account of a key that it brings",
          key,
        }
      : [];
  });
}
const ELSEWHERE = /:\/\/|url|uri|host|endpoint|proxy|header|api[_-]?key|token$/i;
export const agreement = ({ setting, to }: Send): string => `${setting} ${to}`;

export const SETTINGS_FILE_NAME = "zz.config.json";
const MAX_PROJECT_FILE_BYTES = 100_000; // bytes of a project's file

/** Reads the settings of the home and of the project at `root`. */
type From = {
  home: string;
  root: string | undefined;
  config?: string | undefined;
  brought?: Yes | false | undefined;
};
type Yes = { given: boolean; agreed: string[] };

export async function readSettings({
  home,
  root,
  config,
  brought,
}: From): Promise<{ settings: Settings; sources: Sources }> {
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
const refusalOf = (file: string, why: string) =>
  usage(`Cannot use the settings '${file}': ${why}. Fix it or move it away.`);

/** What JSON.parse reports, without the text around the error, which may hold a key. */
const whereNot = (error: unknown): string =>
  errorMessage(error).replace(/,? ?\.{0,3}".*" is not valid JSON$/s, "");

export async function wrongOwn(home: string, given: Settings): Promise<string | undefined> {
  const own = only(given, isOwn);
  const [first] = Object.keys(own).length ? await misfitsOf(home, OWN, own) : [];
  return first && quoted(first);
}
const nameOf = ({ path }: Misfit): string => `"${path.map(shortenName).join(".")}"`;
export const quoted = (misfit: Misfit): string => `${nameOf(misfit)} ${misfit.words}`;
export const unusable = (misfit: Misfit, where: string) =>
  `Cannot use the setting ${nameOf(misfit)}${where}: it ${misfit.words}.`;

/**
 * Looking at a folder needs no trust, so its settings never stop zz. Undefined: it has none, or
 * they are the home's.
 */
async function projectSettings(
  root: string,
  homes: string[],
  own: Settings,
  yes: Yes,
): Promise<Project | undefined> {
  const file = path.join(root, ".zz", SETTINGS_FILE_NAME);
  const project: Project = {
    file,
    settings: {},
    left: [],
    faults: [],
    trusted: yes.given,
    agreed: yes.agreed,
    sends: [],
  };
  const passOver = (why: string) => {
    project.faults.push(`Cannot use the project's settings '${file}': ${why}. They are ignored.`);
    return project;
  };
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat) return undefined;
    const real = fs.realpathSync(file);
    if (homes.some((home) => tryTo(() => fs.realpathSync(home)) === real)) return undefined;
    if (!isInside(fs.realpathSync(root), real))
      return passOver(`they lead out of the project, to '${real}'`);
    if (!stat.isFile())
      return passOver(stat.isDirectory() ? "it is a folder" : "it is not a regular file");
    if (stat.size > MAX_PROJECT_FILE_BYTES) return passOver(`${stat.size} bytes are too many`);
    const given = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!isObject(given)) return passOver("they must be a JSON object");
    learnData(given);
    return await allowedProjectSettings(project, given, own, path.dirname(homes[0]!));
  } catch (error) {
    const words = fileFault("read", "", error)
      .message.slice("Cannot read '': ".length)
      .replace(/\.$/, "");
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

/**
 * What counts of a project's settings. Plugins' sections are checked once the plugins are loaded.
 */
async function allowedProjectSettings(
  project: Project,
  all: Record<string, unknown>,
  own: Settings,
  home: string,
): Promise<Project> {
  const taken = Object.entries(all).map(([name, value]) =>
    isOwn(name) ? taking(name, value) : [[name, value]],
  );
  return { ...project, settings: Object.fromEntries((await Promise.all(taken)).flat()) };

  async function taking(name: string, value: unknown): Promise<[string, unknown][]> {
    const may = project.trusted || BY_PROJECT[name];
    const given = project.trusted ? withoutSends(name, value) : value;
    const misfits = may && given !== undefined ? await misfitsOf(home, OWN, { [name]: given }) : [];
    for (const misfit of misfits)
      project.faults.push(`${unusable(misfit, ` in '${project.file}'`)} It is ignored.`);
    if (misfits.some(({ path }) => path.length < 2)) return [];
    const fit = isObject(given)
      ? only(given, (key) => !misfits.some(({ path }) => path[1] === key))
      : given;
    const part = typeof may === "function" ? may(fit, own) : may && fit;
    if (part === undefined && !project.trusted) project.left.push(name);
    if (isObject(part))
      project.left.push(
        ...Object.keys(only(fit as object, (key) => !Object.hasOwn(part, key))).map(
          (key) => `${name}.${key}`,
        ),
      );
    return part === undefined ? [] : [[name, part]];
  }

  /** Leaves out what would send data elsewhere without approval. */
  function withoutSends(name: string, value: unknown): unknown {
    const sends = sendsOf(name, value, own).filter(
      (send) => !project.agreed.includes(agreement(send)),
    );
    project.sends.push(...sends.map(({ setting, from, to }) => ({ setting, from, to })));
    if (!sends.length) return value;
    return isObject(value)
      ? only(value, (key) => !sends.some((send) => send.key === key))
      : undefined;
  }
}

/**
 * The project's settings over the home's. Denials and questions of both apply, and the project
 * cannot lift an `only` of the home's.
 */
export function mergeHomeAndProject(home: string, { home: own, project }: Sources): Settings {
  const both = merge(own, project && only(project.settings, isOwn)) as Settings;
  const [mine, theirs] = [own.permissions, project?.settings.permissions];
  for (const verb of ["deny", "ask"] as const)
    if (mine?.[verb] && theirs?.[verb])
      both.permissions = { ...both.permissions, [verb]: mergeModes(mine[verb], theirs[verb]) };
  if (mine?.only && theirs?.only)
    both.permissions = { ...both.permissions, only: { ...theirs.only, ...mine.only } };
  return withKeys(home, both);
}

function mergeModes(mine: Rules, theirs: Rules): Rules {
  const both = KINDS.map(
    (kind) => [kind, [mine[kind] ?? [], theirs[kind] ?? []].flat()] as const,
  ).filter(([, all]) => all.length);
  return Object.fromEntries(
    both.map(([kind, all]) => [kind, all.includes(true) || [...new Set(all)]]),
  );
}

/** Merges objects; everything else is replaced. */
export function merge(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isObject(under) || !isObject(over)) return over;
  const inBoth = Object.keys(over).filter((key) => Object.hasOwn(under, key));
  return {
    ...under,
    ...over,
    ...Object.fromEntries(inBoth.map((key) => [key, merge(under[key], over[key])])),
  };
}

// apart, so that settings can be shown and shared
export const keysFile = (home: string): string => path.join(home, "keys.json");

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

export const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources =>
  sources;

// Settings: read, checked and merged, from the home and from the project.
import fs from "node:fs";
import path from "node:path";
import { KINDS, type Rules, type Settings } from "../contract.ts";
import { initialRules } from "../gate/rules.ts";
import { projectExtras } from "../gate/trust.ts";
import type { DataRedirect, Options, Project, Sources, Team } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { shortenName } from "../text/did-you-mean.ts";
import { codeOf, usage } from "../text/faults.ts";
import type { Misfit } from "../text/json-schema.ts";
import { isInside, readRegular, textOf } from "../text/read-quietly.ts";
import { errorMessage, learnData, learnSecret } from "../text/secrets.ts";
import { isObject, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import {
  BY_PROJECT,
  isKernelSetting,
  KERNEL_SETTINGS,
  pickKeys,
  usesKnownProvider,
} from "./settings-table.ts";

function redirectsIn(
  name: string,
  value: unknown,
  personSettings: Settings,
): (DataRedirect & { key?: string })[] {
  const chosen = personSettings.model ?? "what you chose";
  if (name === "model")
    return usesKnownProvider(value, personSettings)
      ? []
      : [{ setting: name, from: chosen, to: String(value) }];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const setting = `${name}.${key}`;
    if (name === "models")
      return usesKnownProvider(inner, personSettings)
        ? []
        : { setting, from: chosen, to: String(inner), key };
    const to = JSON.stringify(inner);
    if (name === "options" && (NAMES_A_SERVER.test(key) || NAMES_A_SERVER.test(to)))
      return {
        setting,
        from: String(personSettings.options?.[key] ?? "what it is by itself"),
        to,
        key,
      };
    if (name !== "providers" || !isObject(inner)) return [];
    const { url, key: account } = personSettings.providers?.[key] ?? {};
    if (inner.url !== undefined && inner.url !== url)
      return {
        setting: `${setting}.url`,
        from: url ?? `where '${key}' is by itself`,
        to: String(inner.url),
        key,
      };
    const isOther = inner.key !== undefined && inner.key !== account;
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
const NAMES_A_SERVER = /:\/\/|url|uri|host|endpoint|proxy|header|api[_-]?key|token$/i;
export const agreement = ({ setting, to }: DataRedirect): string => `${setting} ${to}`;

export const SETTINGS_FILE_NAME = "zz.config.json";
const MAX_PROJECT_FILE_BYTES = 100_000; // bytes of a project's file

/** Reads the settings of the home and of the project at `root`. */
type SettingsPlaces = {
  home: string;
  root: string | undefined;
  config?: string | undefined;
  brought?: ProjectTrust | false | undefined;
};
type ProjectTrust = { given: boolean; agreed: string[] };

export async function readSettings({
  home,
  root,
  config,
  brought,
}: SettingsPlaces): Promise<{ settings: Settings; sources: Sources }> {
  const homes = [path.join(home, SETTINGS_FILE_NAME), config ?? []].flat();
  const homeSettings = readOwnSettings(homes.at(-1)!, config);
  const wrong = await wrongKernelSetting(home, homeSettings);
  if (wrong) throw settingsFault(homes.at(-1)!, wrong);
  const yes = brought || { given: false, agreed: [] };
  const project =
    root === undefined ? undefined : await projectSettings(root, homes, homeSettings, yes);
  if (project) withoutWrongRules(project, home, root!);
  const team = await teamSettings(home, homes, homeSettings);
  const sources = { home: homeSettings, ...(project && { project }), ...(team && { team }) };
  return { settings: mergeHomeAndProject(home, sources), sources };
}

function readOwnSettings(file: string, named: string | undefined): Settings {
  let parsed: Settings = {};
  try {
    // --config may name a pipe
    parsed = JSON.parse(named ? fs.readFileSync(file, "utf8") : readRegular(file).toString());
  } catch (error) {
    if (!codeOf(error)) throw settingsFault(file, `not JSON (${jsonFault(error)})`);
    if (codeOf(error) === "EISDIR" && !named) throw settingsFault(file, "it is not a regular file");
    if (named || !/^(ENOENT|ENOTDIR)$/.test(codeOf(error)))
      throw fileFault("read the settings", named ?? file, error, { exit: 2 });
  }
  if (!isObject(parsed)) throw settingsFault(file, "they must be a JSON object");
  learnData(parsed);
  return parsed;
}
const settingsFault = (file: string, reason: string) =>
  usage(`Cannot use the settings '${file}': ${reason}. Fix it or move it away.`);

/** What JSON.parse reports, without the text around the error, which may hold a key. */
const jsonFault = (error: unknown): string =>
  errorMessage(error).replace(/,? ?\.{0,3}".*" is not valid JSON$/s, "");

export async function wrongKernelSetting(
  home: string,
  settings: Settings,
): Promise<string | undefined> {
  const kernelSettings = pickKeys(settings, isKernelSetting);
  const [first] = Object.keys(kernelSettings).length
    ? await misfitsOf(home, KERNEL_SETTINGS, kernelSettings)
    : [];
  return first && quoted(first);
}
const misfitName = ({ path }: Misfit): string => `"${path.map(shortenName).join(".")}"`;
export const quoted = (misfit: Misfit): string => `${misfitName(misfit)} ${misfit.words}`;
export const unusable = (misfit: Misfit, where: string) =>
  `Cannot use the setting ${misfitName(misfit)}${where}: it ${misfit.words}.`;

/** A folder like a project's: what a store brings lies in its .zz/. */
export const teamFolder = (home: string): string => path.join(home, "team");

/** A team's settings and prompts count as those of a project, trusted or not. */
async function teamSettings(
  home: string,
  homes: string[],
  ownSettings: Settings,
): Promise<Team | undefined> {
  const root = teamFolder(home);
  if (!ownSettings.store || !fs.existsSync(path.join(root, ".zz"))) return undefined;
  const { files = [], given = false, agreed = [] } = projectExtras({ root, home }) ?? {};
  const read = await projectSettings(root, homes, ownSettings, { given, agreed });
  if (read) withoutWrongRules(read, home, root);
  const file = path.join(root, ".zz", SETTINGS_FILE_NAME);
  const none: Project = {
    file,
    settings: {},
    left: [],
    faults: [],
    trusted: given,
    agreed,
    sends: [],
  };
  const prompts = files.filter((name) => name.startsWith(".zz/prompts/"));
  const team = { ...(read ?? none), prompts: prompts.map((name) => path.join(root, name)) };
  if (given || !prompts.length) return team;
  const names = prompts.map((name) => path.basename(name, ".md")).join(", ");
  team.faults.push(
    `Your team's prompts (${shortenName(names)}) do not count until you trust them. Look at them in '${root}', then: zz --trust --cwd '${root}'`,
  );
  return { ...team, prompts: [] };
}

/**
 * Looking at a folder needs no trust, so its settings never stop zz. Undefined: it has none, or
 * they are the home's.
 */
async function projectSettings(
  root: string,
  homes: string[],
  ownSettings: Settings,
  yes: ProjectTrust,
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
  const passOver = (reason: string) => {
    project.faults.push(
      `Cannot use the project's settings '${file}': ${reason}. They are ignored.`,
    );
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
    const parsed = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!isObject(parsed)) return passOver("they must be a JSON object");
    learnData(parsed);
    return await allowedProjectSettings(project, parsed, ownSettings, path.dirname(homes[0]!));
  } catch (error) {
    const words = fileFault("read", "", error)
      .message.slice("Cannot read '': ".length)
      .replace(/\.$/, "");
    return passOver(codeOf(error) ? words : `not JSON (${shortenName(jsonFault(error))})`);
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
  projectValues: Record<string, unknown>,
  ownSettings: Settings,
  home: string,
): Promise<Project> {
  const accepted = Object.entries(projectValues).map(([name, value]) =>
    isKernelSetting(name) ? taking(name, value) : [[name, value]],
  );
  return { ...project, settings: Object.fromEntries((await Promise.all(accepted)).flat()) };

  async function taking(name: string, value: unknown): Promise<[string, unknown][]> {
    const may = project.trusted || BY_PROJECT[name];
    const permitted = project.trusted ? withoutSends(name, value) : value;
    const misfits =
      may && permitted !== undefined
        ? await misfitsOf(home, KERNEL_SETTINGS, { [name]: permitted })
        : [];
    for (const misfit of misfits)
      project.faults.push(`${unusable(misfit, ` in '${project.file}'`)} It is ignored.`);
    if (misfits.some(({ path }) => path.length < 2)) return [];
    const fit = isObject(permitted)
      ? pickKeys(permitted, (key) => !misfits.some(({ path }) => path[1] === key))
      : permitted;
    const part = typeof may === "function" ? may(fit, ownSettings) : may && fit;
    if (part === undefined && !project.trusted) project.left.push(name);
    if (isObject(part))
      project.left.push(
        ...Object.keys(pickKeys(fit as object, (key) => !Object.hasOwn(part, key))).map(
          (key) => `${name}.${key}`,
        ),
      );
    return part === undefined ? [] : [[name, part]];
  }

  /** Leaves out what would send data elsewhere without approval. */
  function withoutSends(name: string, value: unknown): unknown {
    const sends = redirectsIn(name, value, ownSettings).filter(
      (send) => !project.agreed.includes(agreement(send)),
    );
    project.sends.push(...sends.map(({ setting, from, to }) => ({ setting, from, to })));
    if (!sends.length) return value;
    return isObject(value)
      ? pickKeys(value, (key) => !sends.some((send) => send.key === key))
      : undefined;
  }
}

/** The home's settings over the team's, and the project's over both. */
export function mergeHomeAndProject(
  home: string,
  { home: homeSettings, project, team }: Sources,
): Settings {
  const own = team ? mergeWithRules(homeSettings, team, "under") : homeSettings;
  return withKeys(home, project ? mergeWithRules(own, project, "over") : own);
}

/** Denials and questions of both apply, and the other's cannot lift an `only` of the home's. */
function mergeWithRules(own: Settings, { settings }: Project, place: "under" | "over"): Settings {
  const others = pickKeys(settings, isKernelSetting);
  const merged = (place === "under" ? merge(others, own) : merge(own, others)) as Settings;
  const [mine, theirs] = [own.permissions, settings.permissions];
  for (const verb of ["deny", "ask"] as const)
    if (mine?.[verb] && theirs?.[verb])
      merged.permissions = { ...merged.permissions, [verb]: mergeModes(mine[verb], theirs[verb]) };
  if (mine?.only && theirs?.only)
    merged.permissions = { ...merged.permissions, only: { ...theirs.only, ...mine.only } };
  return merged;
}

function mergeModes(mine: Rules, theirs: Rules): Rules {
  const modes = KINDS.map(
    (needKind) => [needKind, [mine[needKind] ?? [], theirs[needKind] ?? []].flat()] as const,
  ).filter(([, names]) => names.length);
  return Object.fromEntries(
    modes.map(([needKind, names]) => [needKind, names.includes(true) || [...new Set(names)]]),
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

function withKeys(home: string, settings: Settings): Settings {
  const kept = (tryTo(() => JSON.parse(textOf(keysFile(home)))) ?? {}) as Record<string, string>;
  const keys = Object.entries(kept).filter(([, key]) => typeof key === "string");
  if (!keys.length) return settings;
  const providers = { ...settings.providers };
  for (const [name, key] of keys) {
    learnSecret(key);
    providers[name] = { ...providers[name], kept: key };
  }
  return { ...settings, providers };
}

export const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources =>
  sources;

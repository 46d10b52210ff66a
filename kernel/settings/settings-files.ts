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
import { isInside, jsonIn, readRegular } from "../text/read-quietly.ts";
import { errorMessage, learnData, learnSecret } from "../text/secrets.ts";
import { isObject, mapValues, ownValue, pickKeys, tryTo } from "../text/words.ts";
import { misfitsOf } from "./accepted-settings.ts";
import {
  BY_PROJECT,
  isKernelSetting,
  KERNEL_SETTINGS,
  usesKnownProvider,
} from "./settings-table.ts";

function redirectsIn(
  settingName: string,
  settingValue: unknown,
  personSettings: Settings,
): (DataRedirect & { key?: string })[] {
  const chosenModel = personSettings.model ?? "what you chose";
  if (settingName === "model")
    return usesKnownProvider(settingValue, personSettings)
      ? []
      : [{ setting: settingName, from: chosenModel, to: String(settingValue) }];
  if (!isObject(settingValue)) return [];
  return Object.entries(settingValue).flatMap(([key, innerValue]) => {
    const setting = `${settingName}.${key}`;
    if (settingName === "models")
      return usesKnownProvider(innerValue, personSettings)
        ? []
        : { setting, from: chosenModel, to: String(innerValue), key };
    const to = JSON.stringify(innerValue);
    if (settingName === "options" && (NAMES_A_SERVER.test(key) || NAMES_A_SERVER.test(to)))
      return {
        setting,
        from: String(personSettings.options?.[key] ?? "what it is by itself"),
        to,
        key,
      };
    if (settingName !== "providers" || !isObject(innerValue)) return [];
    const { url, key: account } = personSettings.providers?.[key] ?? {};
    if (innerValue.url !== undefined && innerValue.url !== url)
      return {
        setting: `${setting}.url`,
        from: url ?? `where '${key}' is by itself`,
        to: String(innerValue.url),
        key,
      };
    const isOther = innerValue.key !== undefined && innerValue.key !== account;
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
  const homeFiles = [path.join(home, SETTINGS_FILE_NAME), config ?? []].flat();
  const homeSettings = readOwnSettings(homeFiles.at(-1)!, config);
  const misfitText = await wrongKernelSetting(home, homeSettings);
  if (misfitText) throw settingsFault(homeFiles.at(-1)!, misfitText);
  const projectTrust = brought || { given: false, agreed: [] };
  const project =
    root === undefined
      ? undefined
      : await projectSettings(root, homeFiles, homeSettings, projectTrust);
  const team = await teamSettings(home, homeFiles, homeSettings);
  const sources = { home: homeSettings, ...(project && { project }), ...(team && { team }) };
  return { settings: mergeHomeAndProject(home, sources), sources };
}

function readOwnSettings(settingsFile: string, namedFile: string | undefined): Settings {
  let parsedSettings: Settings = {};
  try {
    // --config may name a pipe
    parsedSettings = JSON.parse(
      namedFile ? fs.readFileSync(settingsFile, "utf8") : readRegular(settingsFile).toString(),
    );
  } catch (readError) {
    if (!codeOf(readError)) throw settingsFault(settingsFile, `not JSON (${jsonFault(readError)})`);
    if (codeOf(readError) === "EISDIR" && !namedFile)
      throw settingsFault(settingsFile, "it is not a regular file");
    if (namedFile || !/^(ENOENT|ENOTDIR)$/.test(codeOf(readError)))
      throw fileFault("read the settings", namedFile ?? settingsFile, readError, { exit: 2 });
  }
  if (!isObject(parsedSettings)) throw settingsFault(settingsFile, "they must be a JSON object");
  learnData(parsedSettings);
  return parsedSettings;
}
const settingsFault = (settingsFile: string, reason: string) =>
  usage(`Cannot use the settings '${settingsFile}': ${reason}. Fix it or move it away.`);

/** What JSON.parse reports, without the text around the error, which may hold a key. */
const jsonFault = (parseError: unknown): string =>
  errorMessage(parseError).replace(/,? ?\.{0,3}".*" is not valid JSON$/s, "");

export async function wrongKernelSetting(
  homeFolder: string,
  settings: Settings,
): Promise<string | undefined> {
  const kernelSettings = pickKeys(settings, isKernelSetting);
  const [firstMisfit] = Object.keys(kernelSettings).length
    ? await misfitsOf(homeFolder, KERNEL_SETTINGS, kernelSettings)
    : [];
  return firstMisfit && quoted(firstMisfit);
}
const misfitName = ({ path }: Misfit): string => `"${path.map(shortenName).join(".")}"`;
export const quoted = (misfit: Misfit): string => `${misfitName(misfit)} ${misfit.words}`;
export const unusable = (misfit: Misfit, sourceSuffix: string) =>
  `Cannot use the setting ${misfitName(misfit)}${sourceSuffix}: it ${misfit.words}. It is ignored.`;

/** A folder like a project's: what a store brings lies in its .zz/. */
export const teamFolder = (homeFolder: string): string => path.join(homeFolder, "team");

/** A team's settings and prompts count as those of a project, trusted or not. */
async function teamSettings(
  home: string,
  homeFiles: string[],
  ownSettings: Settings,
): Promise<Team | undefined> {
  const root = teamFolder(home);
  if (!ownSettings.store || !fs.existsSync(path.join(root, ".zz"))) return undefined;
  const { files = [], given = false, agreed = [] } = projectExtras({ root, home }) ?? {};
  const trust = { given, agreed };
  const teamProject =
    (await projectSettings(root, homeFiles, ownSettings, trust)) ?? emptyProject(root, trust);
  const prompts = files.filter((fileName) => fileName.startsWith(".zz/prompts/"));
  const team = {
    ...teamProject,
    prompts: prompts.map((promptFile) => path.join(root, promptFile)),
  };
  if (given || !prompts.length) return team;
  const promptNames = prompts.map((promptFile) => path.basename(promptFile, ".md")).join(", ");
  team.faults.push(
    `Your team's prompts (${shortenName(promptNames)}) do not count until you trust them. ` +
      `Look at them in '${root}', then: zz --trust --cwd '${root}'`,
  );
  return { ...team, prompts: [] };
}

const emptyProject = (root: string, { given: trusted, agreed }: ProjectTrust): Project => ({
  file: path.join(root, ".zz", SETTINGS_FILE_NAME),
  settings: {},
  left: [],
  faults: [],
  trusted,
  agreed,
  sends: [],
});

/**
 * Looking at a folder needs no trust, so its settings never stop zz. Undefined: it has none, or
 * they are the home's.
 */
async function projectSettings(
  root: string,
  homeFiles: string[],
  ownSettings: Settings,
  projectTrust: ProjectTrust,
): Promise<Project | undefined> {
  const project = emptyProject(root, projectTrust);
  const { file } = project;
  const home = path.dirname(homeFiles[0]!);
  const passOver = (reason: string) => {
    project.faults.push(
      `Cannot use the project's settings '${file}': ${reason}. They are ignored.`,
    );
    return project;
  };
  try {
    const fileStat = fs.statSync(file, { throwIfNoEntry: false });
    if (!fileStat) return undefined;
    const realFile = fs.realpathSync(file);
    if (homeFiles.some((homeFile) => tryTo(() => fs.realpathSync(homeFile)) === realFile))
      return undefined;
    if (!isInside(fs.realpathSync(root), realFile))
      return passOver(`they lead out of the project, to '${realFile}'`);
    if (!fileStat.isFile())
      return passOver(fileStat.isDirectory() ? "it is a folder" : "it is not a regular file");
    if (fileStat.size > MAX_PROJECT_FILE_BYTES)
      return passOver(`${fileStat.size} bytes are too many`);
    const parsedSettings = JSON.parse(fs.readFileSync(file, "utf8"));
    if (!isObject(parsedSettings)) return passOver("they must be a JSON object");
    learnData(parsedSettings);
    const allowed = await allowedProjectSettings(project, parsedSettings, ownSettings, home);
    withoutWrongRules(allowed, home, root);
    return allowed;
  } catch (readError) {
    const errorWords = fileFault("read", "", readError)
      .message.slice("Cannot read '': ".length)
      .replace(/\.$/, "");
    return passOver(
      codeOf(readError) ? errorWords : `not JSON (${shortenName(jsonFault(readError))})`,
    );
  }
}

/** Without rules that no zz could start with. */
function withoutWrongRules({ settings, file, faults }: Project, home: string, root: string): void {
  try {
    initialRules({ home, root, settings: { permissions: settings.permissions! } });
  } catch (rulesError) {
    delete settings.permissions;
    faults.push(`${errorMessage(rulesError)} This is in '${file}', whose permissions are ignored.`);
  }
}

/**
 * What counts of a project's settings. Plugins' sections are checked once the plugins are loaded.
 */
async function allowedProjectSettings(
  project: Project,
  projectValues: Record<string, unknown>,
  ownSettings: Settings,
  homeFolder: string,
): Promise<Project> {
  const accepted = Object.entries(projectValues).map(([settingName, settingValue]) =>
    isKernelSetting(settingName)
      ? takeAllowed(settingName, settingValue)
      : [[settingName, settingValue]],
  );
  return { ...project, settings: Object.fromEntries((await Promise.all(accepted)).flat()) };

  async function takeAllowed(
    settingName: string,
    settingValue: unknown,
  ): Promise<[string, unknown][]> {
    const projectRight = project.trusted || ownValue(BY_PROJECT, settingName);
    const permitted = project.trusted ? withoutSends(settingName, settingValue) : settingValue;
    const misfits =
      projectRight && permitted !== undefined
        ? await misfitsOf(homeFolder, KERNEL_SETTINGS, { [settingName]: permitted })
        : [];
    for (const misfit of misfits) project.faults.push(unusable(misfit, ` in '${project.file}'`));
    if (misfits.some(({ path }) => path.length < 2)) return [];
    const fittingValue = isObject(permitted)
      ? pickKeys(permitted, (innerKey) => !misfits.some(({ path }) => path[1] === innerKey))
      : permitted;
    const allowedPart =
      typeof projectRight === "function"
        ? projectRight(fittingValue, ownSettings)
        : projectRight && fittingValue;
    if (allowedPart === undefined && !project.trusted) project.left.push(settingName);
    if (isObject(allowedPart))
      project.left.push(
        ...Object.keys(
          pickKeys(fittingValue as object, (innerKey) => !Object.hasOwn(allowedPart, innerKey)),
        ).map((innerKey) => `${settingName}.${innerKey}`),
      );
    return allowedPart === undefined ? [] : [[settingName, allowedPart]];
  }

  /** Leaves out what would send data elsewhere without approval. */
  function withoutSends(settingName: string, settingValue: unknown): unknown {
    const redirects = redirectsIn(settingName, settingValue, ownSettings).filter(
      (redirect) => !project.agreed.includes(agreement(redirect)),
    );
    project.sends.push(...redirects.map(({ setting, from, to }) => ({ setting, from, to })));
    if (!redirects.length) return settingValue;
    return isObject(settingValue)
      ? pickKeys(
          settingValue,
          (innerKey) => !redirects.some((redirect) => redirect.key === innerKey),
        )
      : undefined;
  }
}

/** The home's settings over the team's, and the project's over both. */
export function mergeHomeAndProject(
  homeFolder: string,
  { home: homeSettings, project, team }: Sources,
): Settings {
  const ownSettings = team ? mergeWithRules(homeSettings, team, "under") : homeSettings;
  return withKeys(homeFolder, project ? mergeWithRules(ownSettings, project, "over") : ownSettings);
}

/** Denials and questions of both apply, and the other's cannot lift an `only` of the home's. */
function mergeWithRules(
  ownSettings: Settings,
  { settings }: Project,
  precedence: "under" | "over",
): Settings {
  const otherSettings = pickKeys(settings, isKernelSetting);
  const mergedSettings = (
    precedence === "under" ? merge(otherSettings, ownSettings) : merge(ownSettings, otherSettings)
  ) as Settings;
  const [ownRules, otherRules] = [ownSettings.permissions, settings.permissions];
  for (const verdictName of ["deny", "ask"] as const)
    if (ownRules?.[verdictName] && otherRules?.[verdictName])
      mergedSettings.permissions = {
        ...mergedSettings.permissions,
        [verdictName]: mergeModes(ownRules[verdictName], otherRules[verdictName]),
      };
  if (ownRules?.only && otherRules?.only)
    mergedSettings.permissions = {
      ...mergedSettings.permissions,
      only: { ...otherRules.only, ...ownRules.only },
    };
  return mergedSettings;
}

function mergeModes(ownRules: Rules, otherRules: Rules): Rules {
  const ruleEntries = KINDS.map(
    (needKind) =>
      [needKind, [ownRules[needKind] ?? [], otherRules[needKind] ?? []].flat()] as const,
  ).filter(([, ruleNames]) => ruleNames.length);
  return Object.fromEntries(
    ruleEntries.map(([needKind, ruleNames]) => [
      needKind,
      ruleNames.includes(true) || [...new Set(ruleNames)],
    ]),
  );
}

/** Merges objects; everything else is replaced. */
export function merge(baseValue: unknown, overValue: unknown): unknown {
  if (overValue === undefined) return baseValue;
  if (!isObject(baseValue) || !isObject(overValue)) return overValue;
  return {
    ...baseValue,
    ...mapValues(overValue, (innerValue, key) => merge(ownValue(baseValue, key), innerValue)),
  };
}

// apart, so that settings can be shown and shared
export const keysFile = (homeFolder: string): string => path.join(homeFolder, "keys.json");

function withKeys(homeFolder: string, settings: Settings): Settings {
  const keptKeys = Object.entries<string>(jsonIn(keysFile(homeFolder)) ?? {});
  const validKeys = keptKeys.filter(([, apiKey]) => typeof apiKey === "string");
  if (!validKeys.length) return settings;
  const providers = { ...settings.providers };
  for (const [providerName, apiKey] of validKeys) {
    learnSecret(apiKey);
    providers[providerName] = { ...providers[providerName], kept: apiKey };
  }
  return { ...settings, providers };
}

/** Where the person's own settings stand; nothing if they came from no file. */
export const inOwnFile = ({ sources, home = "", config }: Options): string =>
  sources ? ` in '${config ?? path.join(home, SETTINGS_FILE_NAME)}'` : "";
export const sourcesOf = ({ settings = {}, sources = { home: settings } }: Options): Sources =>
  sources;

// Collects the MCP servers: those in the person's settings, those in .mcp.json of a project that
// the person trusts, and those that an editor names for its conversation.
import path from "node:path";
import type { Ctx, Schema, Zz } from "zz";
import { checkSettings, fault, isObject, nearest, plural, textOf, tryTo } from "zz/text";
import { SCHEMA, type ServerConfig } from "./settings-schema.ts";

export type { ServerConfig } from "./settings-schema.ts";

export type Source = "home" | "project" | "editor";
type Servers = Readonly<Record<string, ServerConfig>>;
/**
 * A configured server. `id`: its name and its settings, so that another command makes another
 * server.
 */
export type Configured = { name: string; config: ServerConfig; from: Source; id: string };

/**
 * MCP's own checker of JSON Schema, a second one beside typebox, is not in the build: schemas of
 * results are ignored, and of an answer zz reads its yes alone.
 */
const validResult = { valid: true, data: undefined as never, errorMessage: undefined };
export const UNCHECKED = {
  jsonSchemaValidator: { getValidator: () => () => validResult } as never,
};

/** What a file of the home holds; {} where it is missing or broken. */
export const objectIn = (jsonText: string): Record<string, any> =>
  Object(tryTo(() => JSON.parse(jsonText)));

export const KEPT = "mcp-credentials.json"; // in the home: logins, and the token of `zz --mcp`
const PROJECT_FILE = ".mcp.json";
const SETTINGS = ".zz/zz.config.json";
const MAX_FILE_BYTES = 1_000_000;

/** All servers by name, a sentence for each that is left out, and the names of disabled ones. */
export async function configured(
  ctx: Ctx,
  ownServers: Servers,
  lentServers: Servers,
): Promise<[Map<string, Configured>, string[], string[]]> {
  const servers = new Map<string, Configured>();
  const leftOut: string[] = [];
  const disabledNames: string[] = [];
  const byProject = sourcesOf(ctx);
  for (const [serverName, ownConfig] of Object.entries(ownServers)) {
    const settingSources = byProject.get(serverName) ?? [];
    if (settingSources.length > 1)
      leftOut.push(
        `MCP server '${serverName}' is left out: ` +
          "your settings and the project's both describe it. Rename one of them.",
      );
    else addServer(serverName, ownConfig, settingSources[0] ?? "home");
  }
  for (const [serverName, projectConfig] of Object.entries(projectServers(ctx, leftOut)))
    if (servers.has(serverName))
      leftOut.push(
        `MCP server '${serverName}' of ${PROJECT_FILE} is left out: ` +
          "your settings have one of that name. Rename one of them.",
      );
    else await addChecked(serverName, projectConfig, "project");
  for (const [serverName, lentConfig] of Object.entries(lentServers))
    if (servers.has(serverName))
      leftOut.push(
        `The editor's MCP server '${serverName}' is left out: ` +
          "the settings have one of that name. Rename one.",
      );
    else await addChecked(serverName, lentConfig, "editor");
  return [servers, leftOut, disabledNames];

  /** Settings were checked when they were read; others are checked here. */
  async function addChecked(name: string, rawConfig: ServerConfig, from: Source): Promise<void> {
    const config = withOurNames(rawConfig);
    const { value, wrong } = await checkSettings(ctx.about.home, SERVER as Schema, config);
    addServer(name, value, from, wrong && `${wrong}. Fix it.`);
  }

  function addServer(name: string, rawConfig: ServerConfig, from: Source, misfit?: string): void {
    const config = withOurNames(rawConfig);
    const problemWords = misfit ?? wrongIn(name, config);
    const ofFile = from === "project" && !byProject.has(name) ? ` of ${PROJECT_FILE}` : "";
    if (problemWords)
      leftOut.push(`MCP server '${name.slice(0, 60)}'${ofFile} is left out: ${problemWords}`);
    else if (config.disabled || config.enabled === false) disabledNames.push(name);
    else servers.set(name, { name, config, from, id: idOf(name, config, from, ctx.root) });
  }
}

export const idOf = (
  serverName: string,
  config: ServerConfig,
  configSource: Source,
  root: string,
): string =>
  `${serverName} ${JSON.stringify([config, configSource, configSource === "project" && root])}`;

/** Fields under the names that other programs give them. */
function withOurNames(foreignConfig: ServerConfig): ServerConfig {
  if (typeof foreignConfig !== "object" || foreignConfig === null) return foreignConfig;
  const { serverUrl, httpUrl, ...ownFields } = foreignConfig as ServerConfig & {
    serverUrl?: string;
    httpUrl?: string;
  };
  const { timeout, url = httpUrl ?? serverUrl } = ownFields;
  return {
    ...ownFields,
    ...(url !== undefined && { url }),
    ...(timeout && timeout >= LEAST_MS && { timeout: timeout / 1_000 }),
  };
}
/** A timeout of so much is meant as milliseconds, as some other programs count. */
const LEAST_MS = 10_000;
/** By these, other programs run tools without a question. */
const UNUSED_FIELDS = ["alwaysAllow", "autoApprove", "trust"];
export const unusedIn = (config: ServerConfig): string[] =>
  UNUSED_FIELDS.filter((unusedField) => unusedField in config);

/**
 * What a server is kept under: its settings may hold secrets, so that only their hash is written.
 */
export const keptUnder = ({ name, id }: Pick<Configured, "name" | "id">): string =>
  `${name} ${hashOf(JSON.parse(id.slice(name.length + 1)))}`;

/** Node's crypto takes 5 ms to load, so a start without known servers does without. */
export const hashOf = (hashedValue: unknown): string =>
  process
    .getBuiltinModule("node:crypto")
    .hash("sha256", JSON.stringify(hashedValue) ?? "", "hex")
    .slice(0, 24);

function wrongIn(serverName: string, config: ServerConfig): string | undefined {
  if (!/^[A-Za-z][\w-]{0,30}$/.test(serverName))
    return (
      "its name must begin with a letter, have only letters, " +
      "digits, _ and -, and at most 31 of them."
    );
  if (serverName.includes("__"))
    return "its name has two _ in a row, which stand between a server and its tool. Rename it.";
  if (typeof config.command !== "string" && typeof config.url !== "string")
    return 'it has neither "command" nor "url". Add one.';
  const strange = Object.keys(config).find(
    (fieldName) => !KNOWN_FIELDS.includes(fieldName) && !OF_OTHERS.includes(fieldName),
  );
  if (strange !== undefined) {
    const nearestField = nearest(strange, KNOWN_FIELDS);
    const nextStep = nearestField
      ? `Did you mean "${nearestField}"?`
      : `Its fields are ${KNOWN_FIELDS.join(", ")}.`;
    return `it has "${strange.slice(0, 60)}", which zz does not know. ${nextStep}`;
  }
  if (config.url !== undefined && !WEB_ADDRESS.test(config.url))
    return "its url is not one of the web. Fix it.";
  return undefined;
}

/**
 * Which files describe each server. The settings of a trusted project are merged into the person's.
 */
function sourcesOf({ settings, plugins }: Ctx): Map<string, Source[]> {
  if (!plugins.brought?.given || !plugins.brought.files.includes(SETTINGS)) return new Map();
  const sourcesByServer = new Map<string, Source[]>();
  for (const { name, from = [] } of settings.list()) {
    const [section, serverName] = name.split(".");
    const sources = from.map((source) => (source === "team" ? "home" : source));
    if (section === "mcpServers" && serverName)
      sourcesByServer.set(serverName, [
        ...new Set([...(sourcesByServer.get(serverName) ?? []), ...sources]),
      ]);
  }
  return sourcesByServer;
}

/** The servers of the project's file. A file that is not trusted is named, but not read. */
function projectServers({ root, plugins }: Ctx, leftOut: string[]): Record<string, ServerConfig> {
  const { brought } = plugins;
  if (!brought?.files.includes(PROJECT_FILE)) return {};
  if (!brought.given) {
    const otherCount = brought.files.length - 1;
    const trustWords = otherCount
      ? `, like ${plural(otherCount, "other file")} of this folder: nobody has trusted them`
      : ": nobody has trusted it";
    leftOut.push(
      `The MCP servers of ${PROJECT_FILE} are left out${trustWords}. ` +
        `/trust shows ${otherCount ? "them" : "it"}.`,
    );
    return {};
  }
  const projectText = textOf(path.join(root, PROJECT_FILE));
  const servers =
    projectText.length > MAX_FILE_BYTES
      ? undefined
      : tryTo(() => JSON.parse(projectText).mcpServers);
  if (isObject(servers)) return servers as Record<string, ServerConfig>;
  leftOut.push(
    `The MCP servers of ${PROJECT_FILE} are left out: it is not JSON with "mcpServers". Fix it.`,
  );
  return {};
}

const SERVER = SCHEMA.additionalProperties;
const KNOWN_FIELDS = Object.keys(SERVER.properties);
/** Fields that other programs have in such a file. */
const OF_OTHERS =
  `$schema type transport name title id description icon version enabled alwaysAllow autoApprove
    autoStart trust tools enabledTools includeTools excludeTools gallery dev startup_timeout_sec
    tool_timeout_sec`.split(/\s+/);

/** It may begin with a variable. */
const WEB_ADDRESS = /^(https?:\/\/(\[[\da-f:.]+\]|[\w$])|\$\{)\S*$/i;
const VARIABLE = /\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g;
const PROJECT_FOLDER = "workspaceFolder"; // so other programs name it

/** The environment variables that a server's settings refer to. */
export const variablesOf = ({ env, headers, args, url, cwd, command }: ServerConfig): string[] => {
  // each by itself, as filledIn() does: a "${" of one would hide what another names
  const ofBoth = [env, headers].map((texts = {}) => Object.values(texts));
  const configTexts = [command, url, cwd, ...(args ?? []), ...ofBoth.flat()];
  const found = configTexts.flatMap((text) => [...String(text ?? "").matchAll(VARIABLE)]);
  const names = new Set(found.map(([, variableName]) => variableName!));
  return [...names].filter((variableName) => variableName !== PROJECT_FOLDER);
};

/**
 * Fills in ${VAR} and ${VAR:-otherwise}, from the environment or from what /env keeps. The values
 * become secrets.
 */
export function filledIn(
  zz: Zz<any>,
  { about, root }: Ctx,
  { name, config, from }: Configured,
): ServerConfig {
  if (from === "editor") return asGiven(zz, config);
  const keptVariables = objectIn(textOf(path.join(about.home, "env.json")));
  const fillVariables = (configText: string) =>
    configText.replace(VARIABLE, (_, variable: string, otherwise?: string) => {
      if (variable === PROJECT_FOLDER) return root;
      const variableValue = zz.io.variable(variable) ?? keptVariables[variable];
      if (variableValue) zz.secret(variableValue);
      if (variableValue === undefined && otherwise === undefined)
        throw fault(
          `Cannot start MCP server '${name}': the variable ${variable} is not set. ` +
            `Set it, as by /env set ${variable}.`,
        );
      return variableValue ?? otherwise!;
    });
  const { command, args, env = {}, cwd, url, headers = {} } = config;
  const filled = JSON.parse(
    JSON.stringify({ command, args, env, cwd, url, headers }),
    (_, configValue) =>
      typeof configValue === "object" ? configValue : fillVariables(String(configValue)),
  );
  return { ...config, ...filled };
}

/**
 * An editor's settings, unchanged: the editor fills in variables. Values with a secret's name
 * become secrets.
 */
function asGiven(zz: Zz<any>, editorConfig: ServerConfig): ServerConfig {
  for (const [fieldName, fieldValue] of Object.entries({
    ...editorConfig.env,
    ...editorConfig.headers,
  }))
    if (/auth|cookie|key|password|secret|token/i.test(fieldName)) zz.secret(fieldValue);
  return editorConfig;
}

// Collects the MCP servers: those in the person's settings, those in .mcp.json of a project that
// the person trusts, and those that an editor names for its conversation.
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { fault, nearest, plural, textOf, tryTo } from "zz/text";
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
const valid = { valid: true, data: undefined as never, errorMessage: undefined };
export const UNCHECKED = { jsonSchemaValidator: { getValidator: () => () => valid } as never };

export const KEPT = "mcp-credentials.json"; // in the home: logins, and the token of `zz --mcp`
const FILE = ".mcp.json";
const SETTINGS = ".zz/zz.config.json";
const MAX_FILE_BYTES = 1_000_000;

/** All servers by name, and a sentence for each that is left out. */
export function configured(
  ctx: Ctx,
  ownServers: Servers,
  lent: Servers,
): [Map<string, Configured>, string[]] {
  const servers = new Map<string, Configured>();
  const leftOut: string[] = [];
  const byProject = sourcesOf(ctx);
  for (const [name, config] of Object.entries(ownServers)) {
    const from = byProject.get(name) ?? [];
    if (from.length > 1)
      leftOut.push(
        `MCP server '${name}' is left out: your settings and the project's both describe it. Rename one of them.`,
      );
    else add(name, config, from[0] ?? "home");
  }
  for (const [name, config] of Object.entries(projectServers(ctx, leftOut)))
    if (servers.has(name))
      leftOut.push(
        `MCP server '${name}' of ${FILE} is left out: your settings have one of that name. Rename one of them.`,
      );
    else add(name, config, "project");
  for (const [name, config] of Object.entries(lent))
    if (servers.has(name))
      leftOut.push(
        `The editor's MCP server '${name}' is left out: the settings have one of that name. Rename one.`,
      );
    else add(name, config, "editor");
  return [servers, leftOut];

  function add(name: string, rawConfig: ServerConfig, from: Source): void {
    const config = asOurs(rawConfig);
    const wrong = wrongIn(name, config);
    if (wrong) leftOut.push(`MCP server '${name.slice(0, 60)}' is left out: ${wrong}`);
    else if (!config.disabled && config.enabled !== false)
      servers.set(name, { name, config, from, id: idOf(name, config, from, ctx.root) });
  }
}

export const idOf = (name: string, config: ServerConfig, from: Source, root: string): string =>
  `${name} ${JSON.stringify([config, from, from === "project" && root])}`;

/** Fields under the names that other programs give them. */
function asOurs(config: ServerConfig): ServerConfig {
  if (typeof config !== "object" || config === null) return config;
  const { serverUrl, httpUrl, ...ownFields } = config as ServerConfig & {
    serverUrl?: string;
    httpUrl?: string;
  };
  const url = ownFields.url ?? httpUrl ?? serverUrl;
  return url === undefined ? ownFields : { ...ownFields, url };
}
/** By these, other programs run tools without a question. */
const UNUSED = ["alwaysAllow", "autoApprove", "trust"];
export const unusedIn = (config: ServerConfig): string[] =>
  UNUSED.filter((field) => field in config);

/**
 * What a server is kept under: its settings may hold secrets, so that only their hash is written.
 */
export const keptUnder = ({ name, id }: Pick<Configured, "name" | "id">): string =>
  `${name} ${hashOf(JSON.parse(id.slice(name.length + 1)))}`;

/** Node's crypto takes 5 ms to load, so a start without known servers does without. */
export const hashOf = (value: unknown): string =>
  process
    .getBuiltinModule("node:crypto")
    .hash("sha256", JSON.stringify(value) ?? "", "hex")
    .slice(0, 24);

function wrongIn(name: string, config: ServerConfig): string | undefined {
  if (!/^[A-Za-z][\w-]{0,30}$/.test(name))
    return "its name must begin with a letter, have only letters, digits, _ and -, and at most 31 of them.";
  if (name.includes("__"))
    return "its name has two _ in a row, which stand between a server and its tool. Rename it.";
  if (typeof config !== "object" || config === null) return "it must be an object.";
  if (typeof config.command !== "string" && typeof config.url !== "string")
    return 'it has neither "command" nor "url". Add one.';
  const strange = Object.keys(config).find(
    (field) => !FIELDS.includes(field) && !OF_OTHERS.includes(field),
  );
  if (strange !== undefined) {
    const meant = nearest(strange, FIELDS);
    const next = meant ? `Did you mean "${meant}"?` : `Its fields are ${FIELDS.join(", ")}.`;
    return `it has "${strange.slice(0, 60)}", which zz does not know. ${next}`;
  }
  if (config.url !== undefined && !URL.canParse(config.url.replace(VARIABLE, "x")))
    return "its url is not a URL. Fix it.";
  return undefined;
}

/**
 * Which files describe each server. The settings of a trusted project are merged into the person's.
 */
function sourcesOf({ settings, plugins }: Ctx): Map<string, Source[]> {
  if (!plugins.brought?.given || !plugins.brought.files.includes(SETTINGS)) return new Map();
  const setBy = new Map<string, Source[]>();
  for (const { name, from = [] } of settings.list()) {
    const [section, server] = name.split(".");
    const sources = from.map((source) => (source === "team" ? "home" : source));
    if (section === "mcpServers" && server)
      setBy.set(server, [...new Set([...(setBy.get(server) ?? []), ...sources])]);
  }
  return setBy;
}

/** The servers of the project's file. A file that is not trusted is named, but not read. */
function projectServers({ root, plugins }: Ctx, leftOut: string[]): Record<string, ServerConfig> {
  const { brought } = plugins;
  if (!brought?.files.includes(FILE)) return {};
  if (!brought.given) {
    const others = brought.files.length - 1;
    const trust = others
      ? `, like ${plural(others, "other file")} of this folder: nobody has trusted them`
      : ": nobody has trusted it";
    leftOut.push(
      `The MCP servers of ${FILE} are left out${trust}. /trust shows ${others ? "them" : "it"}.`,
    );
    return {};
  }
  const text = textOf(path.join(root, FILE));
  const servers =
    text.length > MAX_FILE_BYTES ? undefined : tryTo(() => JSON.parse(text).mcpServers);
  if (typeof servers === "object" && servers !== null) return servers;
  leftOut.push(
    `The MCP servers of ${FILE} are left out: it is not JSON with "mcpServers". Fix it.`,
  );
  return {};
}

const FIELDS = Object.keys(SCHEMA.additionalProperties.properties);
/** Fields that other programs have in such a file. */
const OF_OTHERS =
  `$schema type transport name title id description icon version enabled alwaysAllow autoApprove autoStart trust tools
  enabledTools includeTools excludeTools gallery dev startup_timeout_sec tool_timeout_sec`.split(
    /\s+/,
  );

const VARIABLE = /\$\{(\w+)(?::-([^}]*))?\}/g;

/** The environment variables that a server's settings refer to. */
export const variablesOf = ({ env, headers, args, url, cwd, command }: ServerConfig): string[] => {
  const texts = [
    command,
    url,
    cwd,
    ...(args ?? []),
    ...Object.values(env ?? {}),
    ...Object.values(headers ?? {}),
  ];
  return [
    ...new Set(
      texts.flatMap((text) => [...(text ?? "").matchAll(VARIABLE)].map(([, name]) => name!)),
    ),
  ];
};

/**
 * Fills in ${VAR} and ${VAR:-otherwise}, from the environment or from what /env keeps. The values
 * become secrets.
 */
export function filledIn(
  zz: Zz<any>,
  { about }: Ctx,
  { name, config, from }: Configured,
): ServerConfig {
  if (from === "editor") return asGiven(zz, config);
  const kept = (tryTo(() => JSON.parse(textOf(path.join(about.home, "env.json")))) ?? {}) as Record<
    string,
    string
  >;
  const fill = (text: string) =>
    text.replace(VARIABLE, (_, variable: string, otherwise?: string) => {
      const value = zz.io.variable(variable) ?? kept[variable];
      if (value) zz.secret(value);
      if (value === undefined && otherwise === undefined)
        throw fault(
          `Cannot start MCP server '${name}': the variable ${variable} is not set. Set it, as by /env set ${variable}.`,
        );
      return value ?? otherwise!;
    });
  const each = (texts: Record<string, string> = {}) =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(String(text))]));
  const { command, args, env, cwd, url, headers } = config;
  return {
    ...config,
    ...(command !== undefined && { command: fill(command) }),
    ...(args && { args: args.map((arg) => fill(String(arg))) }),
    ...(cwd !== undefined && { cwd: fill(cwd) }),
    ...(url !== undefined && { url: fill(url) }),
    env: each(env),
    headers: each(headers),
  };
}

/**
 * An editor's settings, unchanged: the editor fills in variables. Values with a secret's name
 * become secrets.
 */
function asGiven(zz: Zz<any>, config: ServerConfig): ServerConfig {
  for (const [name, value] of Object.entries({ ...config.env, ...config.headers }))
    if (/auth|cookie|key|password|secret|token/i.test(name)) zz.secret(value);
  return config;
}

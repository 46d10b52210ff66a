// How zz reaches a server: a program, in the sandbox unless its settings turn that off, or an
// address.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Transport } from "@modelcontextprotocol/client";
import type { Ctx, Zz } from "zz";
import { errnoSentence, fault, ownValue } from "zz/text";
import type { Server } from "./hub.ts";
import { type Denials, denialsIn } from "./sandbox-denials.ts";
import type { ServerConfig } from "./settings.ts";
import { stdio } from "./stdio.ts";

type Connection = {
  transport: Transport;
  endReason(): string;
  kept(serverText?: string): Denials;
  close(): void;
};
const NOTHING: Denials = { hosts: [], write: [] };

/** `filledConfig`: the server's settings with variables filled in. */
export function transportOf(
  zz: Zz<any>,
  ctx: Ctx,
  server: Server,
  filledConfig: ServerConfig,
): Promise<Connection> {
  return filledConfig.command === undefined
    ? atAddress(zz, ctx, server, filledConfig)
    : asProgram(zz, ctx, server, filledConfig);
}

async function atAddress(
  zz: Zz<any>,
  ctx: Ctx,
  server: Server,
  { url, headers }: ServerConfig,
): Promise<Connection> {
  const [{ StreamableHTTPClientTransport, fetchOf }, { guardOf, loginOf }] = await Promise.all([
    import("./http.ts"),
    import("./oauth.ts"),
  ]);
  try {
    new Headers(headers);
  } catch {
    const reason = "one of its headers has a character that none may have. Correct it";
    throw fault(`Cannot start MCP server '${server.name}': ${reason}.`);
  }
  const { login, provider: authProvider } = loginOf(zz, ctx, server);
  const transport = new StreamableHTTPClientTransport(new URL(url!), {
    fetch: fetchOf(zz, guardOf(ctx, server, url!, login)),
    requestInit: { headers: headers ?? {} },
    ...(authProvider && { authProvider }),
  });
  return {
    transport: transport as Transport,
    endReason: () => "",
    kept: () => NOTHING,
    close: () => {},
  };
}

/**
 * The variables that a program needs to run at all, also behind a company's proxy; the person's
 * keys are not among them.
 */
const VARIABLES =
  `HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER XDG_CONFIG_HOME XDG_DATA_HOME SystemRoot
    APPDATA HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS
    SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE`.split(/\s+/);

/** Where programs that download a server keep it: else they would at each start. */
const CACHE_VARIABLES: Record<string, string> = {
  npx: "npm_config_cache",
  npm: "npm_config_cache",
  uvx: "UV_CACHE_DIR",
  uv: "UV_CACHE_DIR",
};

/** `isPersons`: the person named it. What a project or an editor names must be there. */
function makeFolder(serverName: string, folder: string, isPersons: boolean): void {
  try {
    if (isPersons) fs.mkdirSync(folder, { recursive: true });
    else fs.accessSync(folder);
  } catch (error) {
    const reason = errnoSentence(error) || "it is missing.";
    throw fault(
      `Cannot start MCP server '${serverName}': '${folder}', ` +
        `which it may write to, cannot be made: ${reason}`,
    );
  }
}

async function asProgram(
  zz: Zz<any>,
  ctx: Ctx,
  { name, from }: Server,
  config: ServerConfig,
): Promise<Connection> {
  const { command = "", args = [], env = {}, cwd, sandbox } = config;
  const ownVariables = VARIABLES.flatMap((variable) =>
    zz.io.variable(variable) === undefined ? [] : [[variable, zz.io.variable(variable)!]],
  );
  const program = ctx.programs.find(command, env.PATH);
  if (!program) {
    const reason = "it is not installed, or only where the project could have put it";
    const remedy = /\s/.test(command)
      ? 'What follows the program belongs into its "args".'
      : "Install it, or name it by its whole path.";
    throw fault(
      `Cannot start MCP server '${name}': '${command}' was not found: ${reason}. ${remedy}`,
    );
  }
  const workFolder = cwd === undefined ? ctx.root : path.resolve(ctx.root, cwd);
  if (!fs.existsSync(workFolder))
    throw fault(`Cannot start MCP server '${name}': its cwd '${workFolder}' is not there.`);
  const allowed = typeof sandbox === "object" ? sandbox : {};
  const service = sandbox === false ? undefined : ctx.service("sandbox");
  const cache =
    (await service?.name(ctx)) &&
    ownValue(CACHE_VARIABLES, path.basename(program).replace(/\..*/, ""));
  const kept = cache
    ? path.join(zz.io.variable("XDG_CACHE_HOME") ?? path.join(os.homedir(), ".cache"), "zz", name)
    : "";
  const write = [...(allowed.write ?? []).map(ctx.permissions.place), ...(kept ? [kept] : [])];
  if (sandbox !== false)
    for (const folder of write) makeFolder(name, folder, from === "home" || folder === kept);
  const box = await service?.start([program, ...args], { ...allowed, write }, ctx);
  const [file = program, ...remainingArgs] = box?.argv ?? [program, ...args];
  const transport = stdio(() =>
    ctx.programs.start(file, remainingArgs, {
      cwd: workFolder,
      env: {
        ...Object.fromEntries(ownVariables),
        ...box?.env,
        ...(cache && { [cache]: kept }),
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    }),
  );
  const missed = (serverText = "") =>
    box
      ? denialsIn(`${transport.errors()}\n${serverText}`, box.failedLookups?.() ?? [], ctx.root, {
          ...allowed,
          write,
        })
      : NOTHING;
  return { transport, endReason: transport.endReason, kept: missed, close: () => box?.close() };
}

// What the sandbox kept from a server: said when the server fails, and at a prompt allowed for it
// alone, in its settings.
import path from "node:path";
import type { Ctx } from "zz";
import { clean, clip } from "zz/text";
import type { Hub, Server } from "./hub.ts";
import { idOf } from "./settings.ts";

export type Denials = { hosts: string[]; write: string[] };
const MAX_DENIALS = 5;
const unique = (allTexts: string[]): string[] => [...new Set(allTexts)];

const HOST_PATTERNS = [
  /\b(?:ENOTFOUND|EAI_AGAIN)\s+([\w.-]+\.[\w-]+)/g,
  /\b(?:ECONNREFUSED|ENETUNREACH|EHOSTUNREACH)\s+([\w.-]+:\d+)/g,
  /\bconnect to '([\w.-]+(?::\d+)?)'/g, // zz's own proxy
];
const WRITE_PATTERNS = [
  /\bEROFS\b[^'\n]*?(mkdir)? '([^']+)'/g,
  /\bENOENT\b[^'\n]*?, (mkdir) '(\/[^']+)'/g, // so Node says it of a folder and those above
  /Read-only file system(): '([^']+)'/g,
  /()(?:cannot create|mkdir:)[^'‘\n]*['‘]([^'’]+)['’]: Read-only/g,
];

/** `serverText`: what the server printed or answered; `lookups`: the hosts that it looked up. */
export function denialsIn(
  serverText: string,
  lookups: readonly string[],
  root: string,
  allowed: Partial<Denials> = {},
): Denials {
  const deniedHosts = HOST_PATTERNS.flatMap((pattern) =>
    [...serverText.matchAll(pattern)].map(([, host = ""]) => host.replace(/:(443|80)$/, "")),
  );
  const folders = WRITE_PATTERNS.flatMap((pattern) =>
    [...serverText.matchAll(pattern)].map(([, makesFolder, writtenPath = ""]) =>
      path.resolve(root, makesFolder ? writtenPath : path.dirname(writtenPath)),
    ),
  );
  const unlisted = (deniedNames: string[], allowedNames: string[] = []) =>
    unique(deniedNames)
      .filter((deniedName) => !allowedNames.includes(deniedName))
      .slice(0, MAX_DENIALS);
  return {
    hosts: unlisted([...deniedHosts, ...lookups], allowed.hosts),
    write: unlisted(folders, allowed.write),
  };
}

export const hasDenials = ({ hosts, write }: Denials): boolean => hosts.length + write.length > 0;

/** The server's settings with that allowed. */
function widened({ config }: Server, { hosts, write }: Denials) {
  const ownSandbox = typeof config.sandbox === "object" ? config.sandbox : {};
  return {
    ...((hosts.length || ownSandbox.hosts) && {
      hosts: unique([...(ownSandbox.hosts ?? []), ...hosts]),
    }),
    ...((write.length || ownSandbox.write) && {
      write: unique([...(ownSandbox.write ?? []), ...write]),
    }),
  };
}

export function describeDenials(server: Server, denials: Denials): string {
  const settings = clip(clean(JSON.stringify(widened(server, denials))), 600);
  return (
    `The sandbox did not let it ${phrasesOf(denials).join(", or ")}: ` +
    `"sandbox": ${settings} in its settings does.`
  );
}

const phrasesOf = ({ hosts, write }: Denials): string[] => [
  ...hosts.map((host) => `reach ${host}`),
  ...write.map((deniedFolder) => `write in ${deniedFolder}`),
];

/**
 * Asks whether a server may do just that from now on. The answer is kept in the person's settings,
 * if the server stands there.
 */
export async function allow(
  { zz }: Hub,
  server: Server,
  denials: Denials,
  ctx: Ctx,
): Promise<boolean> {
  const { name, config, from } = server;
  if (!ctx.ask || !hasDenials(denials)) return false;
  const untilWords = from === "home" ? "kept in your settings" : "until zz ends";
  const question =
    `MCP server '${name}' runs in the sandbox. ` +
    `Let it ${clean(phrasesOf(denials).join(", "))} (${untilWords}), and start it again? [y/N] `;
  if ((await ctx.ask(question, "yn")) !== "y") return false;
  const sandbox = widened(server, denials);
  if (from === "home")
    await ctx.settings.set(`mcpServers.${name}`, { ...zz.config[name], sandbox });
  server.config = { ...config, sandbox };
  server.id = idOf(name, server.config, from, ctx.root);
  return true;
}

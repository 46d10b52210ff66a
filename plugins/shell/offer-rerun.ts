// If a command failed for want of hosts, or on a copy of the project for want of .git,
// offers to run it again with them.
import fs from "node:fs";
import { join } from "node:path";
import type { Ctx, Result } from "zz";
import { unique } from "./judge/judge-state.ts";

type RerunCall = { command: string; timeout_ms?: number; hosts?: string[] };
/** Where it ran, in words: as a place, and what there is not. */
const RAN_ON = {
  copy: {
    ran: "on a copy of the project",
    lacks: "a copy has none of that",
    again: ", in the project itself",
  },
  sandbox: { ran: "in the sandbox", lacks: "the sandbox let it reach none of that", again: "" },
} as const;
type MissingAccess = { hosts: string[] } | { direct: true; owner?: true };
/** The reason for a second run, by command and hosts; shown with the question. */
type Offers = Map<string, string>;
const offerOf = (command: string, hosts: readonly string[] = []): string =>
  JSON.stringify([command, hosts]);

const UNREACHABLE =
  /EAI_AGAIN|ENOTFOUND|ENETUNREACH|resolve host|Temporary failure in name resolution|Name or service not known|nodename nor servname|Network is unreachable|Failed to resolve|no such host|dial (tcp|udp)/i;
/** Output that says that a connection failed, but not to which host. */
const VAGUE =
  /fetch failed|network (error|failure)|connection (error|failed|refused)|(cannot|could ?n[o']t|failed to) connect|no internet|offline/i;
const HOSTS = [
  /(?:EAI_AGAIN|ENOTFOUND) ([\w.-]+)/g,
  /resolve host(?:name)?(?: address)?[:\s'"‘]+([\w.-]+)/gi,
  /Failed to resolve '([^']+)'/g,
  /\bhost='([^']+)'/g,
  /\blookup ([\w.-]+)(?= on |:)/g,
  /ENETUNREACH ([\d.]+:\d+)/g,
];
const URLS = /\b(?:https?|wss?|git):\/\/(?:[^\s/@'"]*@)?([\w.-]+)/g;
const IN_GIT =
  /\.git\b.*(read-only file system|permission denied)|EROFS.*\.git\b|(read-only file system|permission denied).*\.git\b/i;

/** EOVERFLOW: on the view, the person is the only owner of files that exists. */
const UNMAPPED = /Value too large for defined data type|\bEOVERFLOW\b/;

/**
 * What a failed command lacked on the copy, judging by its output; `lookups`: hosts that it looked
 * up.
 */
export function findMissingAccess(
  command: string,
  output: string,
  root: string,
  lookups: string[] = [],
): MissingAccess | undefined {
  const lines = output.split("\n").slice(-MAX_LINES);
  const hosts = hostsIn(command, lines);
  if (hosts.length) return { hosts: hosts };
  if (lookups.length && lines.some((line) => VAGUE.test(line) || UNREACHABLE.test(line)))
    return { hosts: lookups.slice(0, MAX_HOSTS) };
  const isHidden =
    lines.some((line) => /not a git repository/i.test(line)) && fs.existsSync(join(root, ".git"));
  if (isHidden || lines.some((line) => IN_GIT.test(line))) return { direct: true };
  return lines.some((line) => UNMAPPED.test(line)) ? { direct: true, owner: true } : undefined;
}
const [MAX_LINES, MAX_HOSTS] = [2_000, 5];

function hostsIn(command: string, lines: string[]): string[] {
  const unreachable = lines.filter((line) => line.length < 2_000 && UNREACHABLE.test(line));
  if (!unreachable.length) return [];
  const findHosts = (patterns: RegExp[], texts: string[]) =>
    texts.flatMap((text) =>
      patterns.flatMap((pattern) =>
        [...text.matchAll(pattern)].map(([, host]) => host!.toLowerCase()),
      ),
    );
  const isHost = (host: string) =>
    /^[a-z0-9]([\w.-]*[a-z0-9])?(:\d+)?$/.test(host) && /\./.test(host);
  const named = unique(findHosts([...HOSTS, URLS], unreachable)).filter(isHost);
  return (named.length ? named : unique(findHosts([URLS], [command])).filter(isHost)).slice(
    0,
    MAX_HOSTS,
  );
}

const quotedList = (hosts: string[]): string => hosts.map((host) => `'${host}'`).join(", ");
function describeLack(lack: MissingAccess): string {
  if ("hosts" in lack) return `tried to reach ${quotedList(lack.hosts)}`;
  return lack.owner
    ? "came upon a file of another owner, which it cannot change there"
    : "needed .git, which it can only read there";
}

/**
 * For the model, after a command failed without mentioning the network, which may or may not be the
 * reason.
 */
export function describeLookups(lookups: string[]): string {
  const hosts = lookups.slice(0, MAX_HOSTS);
  if (!hosts.length) return "";
  return `It looked up ${quotedList(hosts)}, and a copy has no network. If it failed for that, call it again with hosts: ${JSON.stringify(hosts)}.`;
}

/**
 * Asks once, and returns the result of the second run. A string is for the model: the command was
 * not run again.
 */
export async function offerRerun(
  lack: MissingAccess,
  call: RerunCall,
  ctx: Ctx,
  offers: Offers,
  where: keyof typeof RAN_ON,
): Promise<Result | string> {
  const attempt = describeLack(lack);
  const hosts = "hosts" in lack ? unique([...(call.hosts ?? []), ...lack.hosts]) : [];
  const extraArgs = "hosts" in lack ? { hosts } : { direct: true };
  const extraArgsText = "hosts" in lack ? `hosts: ${JSON.stringify(hosts)}` : "direct: true";
  const { ran, lacks, again } = RAN_ON[where];
  if (!ctx.ask) return `It ${attempt}, and ${lacks}. Call it again with ${extraArgsText}.`;
  const key = offerOf(call.command, hosts);
  offers.set(key, `It ran ${ran}, where it ${attempt}. Run it again with that${again}?`);
  try {
    const result = await ctx.call("run_command", { ...call, ...extraArgs });
    if (result.refused)
      return `It ${attempt}. The person was asked to let it run again with that. ${result.text}`;
    const first = `${ran[0]!.toUpperCase()}${ran.slice(1)}`;
    return {
      ...result,
      text: `[${first} it ${attempt}; the person let it run again with that.]\n${result.text}`,
    };
  } finally {
    offers.delete(key);
  }
}

// If a command failed for want of hosts, or on a copy of the project for want of .git,
// offers to run it again with them.
import fs from "node:fs";
import { join } from "node:path";
import type { Ctx, Result } from "zz";
import { anyOf } from "zz/text";
import { unique } from "./judge/judge-state.ts";
import { offerKey, type ShellState } from "./shell-state.ts";

type RerunCall = { command: string; timeout_ms?: number; hosts?: string[] };
/** Where it ran, in words: as a place, and what there is not. */
const PLACE_WORDS = {
  copy: {
    ran: "on a copy of the project",
    lacks: "a copy has none of that",
    again: ", in the project itself",
  },
  sandbox: { ran: "in the sandbox", lacks: "the sandbox let it reach none of that", again: "" },
} as const;
type MissingAccess = { hosts: string[] } | { direct: true; owner?: true };

const UNREACHABLE = anyOf(
  /EAI_AGAIN|ENOTFOUND|ENETUNREACH|resolve host|Temporary failure in name resolution/i,
  /Name or service not known|nodename nor servname|Network is unreachable|Failed to resolve/i,
  /no such host|dial (tcp|udp)/i,
);
/** Output that says that a connection failed, but not to which host. */
const VAGUE_FAILURE = anyOf(
  /fetch failed|network (error|failure)|connection (error|failed|refused)/i,
  /(cannot|could ?n[o']t|failed to) connect|no internet|offline/i,
);
const HOST_PATTERNS = [
  /(?:EAI_AGAIN|ENOTFOUND) ([\w.-]+)/g,
  /resolve host(?:name)?(?: address)?[:\s'"‘]+([\w.-]+)/gi,
  /Failed to resolve '([^']+)'/g,
  /\bhost='([^']+)'/g,
  /\blookup ([\w.-]+)(?= on |:)/g,
  /ENETUNREACH ([\d.]+:\d+)/g,
];
const URL_PATTERN = /\b(?:https?|wss?|git):\/\/(?:[^\s/@'"]*@)?([\w.-]+)/g;
const GIT_REFUSAL = anyOf(
  /\.git\b.*(read-only file system|permission denied)|EROFS.*\.git\b/i,
  /(read-only file system|permission denied).*\.git\b/i,
);

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
  const lastLines = output.split("\n").slice(-MAX_LINES);
  const triedHosts = hostsIn(command, lastLines);
  if (triedHosts.length) return { hosts: triedHosts };
  const says = (pattern: RegExp) => lastLines.some((outputLine) => pattern.test(outputLine));
  if (lookups.length && (says(VAGUE_FAILURE) || says(UNREACHABLE)))
    return { hosts: lookups.slice(0, MAX_HOSTS) };
  const isHidden = says(/not a git repository/i) && fs.existsSync(join(root, ".git"));
  if (isHidden || says(GIT_REFUSAL)) return { direct: true };
  return says(UNMAPPED) ? { direct: true, owner: true } : undefined;
}
const [MAX_LINES, MAX_HOSTS] = [2_000, 5];

function hostsIn(command: string, outputLines: string[]): string[] {
  const unreachable = outputLines.filter(
    (outputLine) => outputLine.length < 2_000 && UNREACHABLE.test(outputLine),
  );
  if (!unreachable.length) return [];
  const findHosts = (patterns: RegExp[], texts: string[]) =>
    texts.flatMap((text) =>
      patterns.flatMap((pattern) =>
        [...text.matchAll(pattern)].map(([, hostName]) => hostName!.toLowerCase()),
      ),
    );
  const isHostName = (hostName: string) =>
    /^[a-z0-9]([\w.-]*[a-z0-9])?(:\d+)?$/.test(hostName) && /\./.test(hostName);
  const namedHosts = unique(findHosts([...HOST_PATTERNS, URL_PATTERN], unreachable)).filter(
    isHostName,
  );
  return (
    namedHosts.length ? namedHosts : unique(findHosts([URL_PATTERN], [command])).filter(isHostName)
  ).slice(0, MAX_HOSTS);
}

const quotedList = (hosts: string[]): string => hosts.map((hostName) => `'${hostName}'`).join(", ");
function describeLack(missingAccess: MissingAccess): string {
  if ("hosts" in missingAccess) return `tried to reach ${quotedList(missingAccess.hosts)}`;
  return missingAccess.owner
    ? "came upon a file of another owner, which it cannot change there"
    : "needed .git, which it can only read there";
}

/**
 * For the model, after a command failed without mentioning the network, which may or may not be the
 * reason.
 */
export function describeLookups(lookups: string[]): string {
  const triedHosts = lookups.slice(0, MAX_HOSTS);
  if (!triedHosts.length) return "";
  return (
    `It looked up ${quotedList(triedHosts)}, and a copy has no network. ` +
    `If it failed for that, call it again with hosts: ${JSON.stringify(triedHosts)}.`
  );
}

/**
 * Asks once, and returns the result of the second run. A string is for the model: the command was
 * not run again.
 */
export async function offerRerun(
  missingAccess: MissingAccess,
  rerunCall: RerunCall,
  ctx: Ctx,
  offers: ShellState["offers"],
  ranPlace: keyof typeof PLACE_WORDS,
): Promise<Result | string> {
  const attempt = describeLack(missingAccess);
  const hosts =
    "hosts" in missingAccess ? unique([...(rerunCall.hosts ?? []), ...missingAccess.hosts]) : [];
  const extraArgs = "hosts" in missingAccess ? { hosts } : { direct: true };
  const extraArgsText =
    "hosts" in missingAccess ? `hosts: ${JSON.stringify(hosts)}` : "direct: true";
  const { ran, lacks, again } = PLACE_WORDS[ranPlace];
  if (!ctx.ask) return `It ${attempt}, and ${lacks}. Call it again with ${extraArgsText}.`;
  const key = offerKey(rerunCall.command, hosts);
  offers.set(key, `It ran ${ran}, where it ${attempt}. Run it again with that${again}?`);
  try {
    const rerunResult = await ctx.call("run_command", { ...rerunCall, ...extraArgs });
    if (rerunResult.refused)
      return (
        `It ${attempt}. The person was asked to let it run again with that. ` +
        `${rerunResult.text}`
      );
    const capitalized = `${ran[0]!.toUpperCase()}${ran.slice(1)}`;
    return {
      ...rerunResult,
      text:
        `[${capitalized} it ${attempt}; ` +
        `the person let it run again with that.]\n${rerunResult.text}`,
    };
  } finally {
    offers.delete(key);
  }
}

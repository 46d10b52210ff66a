// again: if a command failed on a copy of the project for want of hosts or .git, offers to run it again with them.
import fs from "node:fs";
import { join } from "node:path";
import type { Ctx, Result } from "zz";
import { unique } from "./judge/state.ts";

type Call = { command: string; timeout_ms?: number };
export type Lack = { hosts: string[] } | { direct: true };
/** By command and hosts, why it is now run for the second time: shown with the question. */
export type Offers = Map<string, string>;
export const offerOf = (command: string, hosts: readonly string[] = []): string => JSON.stringify([command, hosts]);

const UNREACHABLE =
  /EAI_AGAIN|ENOTFOUND|ENETUNREACH|resolve host|Temporary failure in name resolution|Name or service not known|nodename nor servname|Network is unreachable|Failed to resolve|no such host|dial (tcp|udp)/i;
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

/** What a failed command lacked on the copy (hosts, or .git), judging by its output. */
export function lackOf(command: string, output: string, root: string): Lack | undefined {
  const lines = output.split("\n").slice(-MAX_LINES);
  const found = hostsIn(command, lines);
  if (found.length) return { hosts: found };
  const isHidden = lines.some((line) => /not a git repository/i.test(line)) && fs.existsSync(join(root, ".git"));
  return isHidden || lines.some((line) => IN_GIT.test(line)) ? { direct: true } : undefined;
}
const [MAX_LINES, MAX_HOSTS] = [2_000, 5];

function hostsIn(command: string, lines: string[]): string[] {
  const unreachable = lines.filter((line) => line.length < 2_000 && UNREACHABLE.test(line));
  if (!unreachable.length) return [];
  const all = (patterns: RegExp[], texts: string[]) =>
    texts.flatMap((text) => patterns.flatMap((one) => [...text.matchAll(one)].map(([, host]) => host!.toLowerCase())));
  const isHost = (host: string) => /^[a-z0-9]([\w.-]*[a-z0-9])?(:\d+)?$/.test(host) && /\./.test(host);
  const named = unique(all([...HOSTS, URLS], unreachable)).filter(isHost);
  return (named.length ? named : unique(all([URLS], [command])).filter(isHost)).slice(0, MAX_HOSTS);
}

const list = (hosts: string[]): string => hosts.map((host) => `'${host}'`).join(", ");
export const lackWords = (lack: Lack): string =>
  "hosts" in lack ? `tried to reach ${list(lack.hosts)}` : "needed .git, which it can only read there";

/** Asks once, and returns the result of the second run. A string is for the model: the command was not run again. */
export async function offerAgain(lack: Lack, call: Call, ctx: Ctx, offers: Offers): Promise<Result | string> {
  const what = lackWords(lack);
  const how = "hosts" in lack ? `hosts: ${JSON.stringify(lack.hosts)}` : "direct: true";
  if (!ctx.ask) return `It ${what}, and a copy has none of that. Call it again with ${how}.`;
  const key = offerOf(call.command, "hosts" in lack ? lack.hosts : []);
  offers.set(key, `It ran on a copy of the project, where it ${what}.`);
  try {
    const result = await ctx.call("run_command", { ...call, ...lack });
    if (result.refused) return `It ${what}. The person was asked to let it run again with that. ${result.text}`;
    return {
      ...result,
      text: `[On a copy of the project it ${what}; the person let it run again with that.]\n${result.text}`,
    };
  } finally {
    offers.delete(key);
  }
}

// What of the network a command reaches, and the sandbox in words.
import type { Ctx, Verdict } from "zz";

export function describeSandbox(
  sandbox: string | undefined,
  access: NetworkAccess,
  isStrict = false,
): string {
  if (!sandbox)
    return "No sandbox here (bubblewrap is missing or switched off): it can do whatever you can.";
  return (
    `Sandbox ${sandbox}: it writes ` +
    `${isStrict ? "nothing, since nobody was asked" : "only in the project"}; ` +
    `${describeNetwork(access, isStrict)}.`
  );
}

function describeNetwork(access: NetworkAccess, isStrict: boolean): string {
  if (access === "all") return "all of the network";
  if (access !== "none") return `of the network ${access.join(", ")}`;
  return isStrict ? "no network" : "no network, unless you allow a host that it tries";
}

export type NetworkAccess = "none" | "all" | string[];
/**
 * The hosts that the rules allow, and those granted to this call by name. A pattern that might
 * match a denied host is left out.
 */
export function networkAccess({ permissions }: Ctx, granted: string[] = []): NetworkAccess {
  const netRules = permissions.rules.filter(({ kind }) => kind === "net");
  const namesWith = (verdict: Verdict) =>
    netRules.flatMap((netRule) =>
      netRule.verdict === verdict && !netRule.but ? [netRule.name] : [],
    );
  const [deniedHosts, askedHosts, allowed] = [
    namesWith("deny"),
    namesWith("ask"),
    namesWith("allow"),
  ];
  const isLimited = netRules.some(({ but }) => but);
  if (deniedHosts.includes(undefined)) return "none";
  if (allowed.includes(undefined) && !deniedHosts.length && !askedHosts.length && !isLimited)
    return "all";
  const coversHost = (patterns: typeof deniedHosts, hostName: string) =>
    (/[*?]/.test(hostName) && patterns.length > 0) ||
    patterns.some(
      (pattern) => pattern === undefined || permissions.matches("net", pattern)(hostName),
    );
  const isHostShut = (hostName: string) =>
    isLimited && permissions.judge("net", hostName).verdict === "deny";
  const openHosts = allowed
    .filter((hostName) => hostName !== undefined)
    .filter((hostName) => !coversHost(askedHosts, hostName));
  const reachedHosts = [...openHosts, ...granted].filter(
    (hostName) => !coversHost(deniedHosts, hostName) && !isHostShut(hostName),
  );
  return reachedHosts.length
    ? reachedHosts.map((hostName) => hostName.replace(/:\*+$/, ""))
    : "none";
}

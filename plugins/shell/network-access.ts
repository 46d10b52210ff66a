// What of the network a command reaches, and the sandbox in words.
import type { Ctx, Verdict } from "zz";

export function describeSandbox(
  sandbox: string | undefined,
  net: NetworkAccess,
  strict = false,
): string {
  if (!sandbox)
    return "No sandbox here (bubblewrap is missing or switched off): it can do whatever you can.";
  return `Sandbox ${sandbox}: it writes ${strict ? "nothing, since nobody was asked" : "only in the project"}; ${describeNetwork(net, strict)}.`;
}

function describeNetwork(net: NetworkAccess, strict: boolean): string {
  if (net === "all") return "all of the network";
  if (net !== "none") return `of the network ${net.join(", ")}`;
  return strict ? "no network" : "no network, unless you allow a host that it tries";
}

export type NetworkAccess = "none" | "all" | string[];
/**
 * The hosts that the rules allow, and those granted to this call by name. A pattern that might
 * match a denied host is left out.
 */
export function networkAccess({ permissions }: Ctx, granted: string[] = []): NetworkAccess {
  const rules = permissions.rules.filter(({ kind }) => kind === "net");
  const named = (verdict: Verdict) =>
    rules.flatMap((rule) => (rule.verdict === verdict && !rule.but ? [rule.name] : []));
  const [denied, asked, allowed] = [named("deny"), named("ask"), named("allow")];
  const isLimited = rules.some(({ but }) => but);
  if (denied.includes(undefined)) return "none";
  if (allowed.includes(undefined) && !denied.length && !asked.length && !isLimited) return "all";
  const covers = (names: typeof denied, host: string) =>
    (/[*?]/.test(host) && names.length > 0) ||
    names.some((pattern) => pattern === undefined || permissions.matches("net", pattern)(host));
  const isShut = (host: string) => isLimited && permissions.judge("net", host).verdict === "deny";
  const open = allowed.filter((name) => name !== undefined).filter((name) => !covers(asked, name));
  const hosts = [...open, ...granted].filter((host) => !covers(denied, host) && !isShut(host));
  return hosts.length ? hosts.map((host) => host.replace(/:\*+$/, "")) : "none";
}

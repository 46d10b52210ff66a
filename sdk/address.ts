// Tells public addresses from those of this machine, its networks, and reserved ones, and looks
// hosts up.
import type { LookupAddress } from "node:dns";
import type { BlockList, LookupFunction } from "node:net";
import type { Permissions } from "../kernel/contract.ts";

const net = () => process.getBuiltinModule("node:net"); // loaded once it is asked for
const isIP = (address: string): number => net().isIP(address);

/** Ranges that are not public, and what they belong to. */
const RANGES: [what: string, ranges: string][] = [
  ["this machine", "0.0.0.0/8 127.0.0.0/8 ::/127"],
  ["a private network", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10"],
  ["a carrier's private network", "100.64.0.0/10"],
  ["this link alone, where clouds keep their metadata", "169.254.0.0/16 fe80::/10"],
  ["multicast", "224.0.0.0/4 ff00::/8"],
  [
    "reserved",
    "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4",
  ],
  ["reserved", "2001::/23 2001:db8::/32 2002::/16 3fff::/20"],
];
const PUBLIC_V6 = "2000::/3"; // the only range of IPv6 that is assigned

function listOf(ranges: string): BlockList {
  const list = new (net().BlockList)();
  for (const range of ranges.split(" ")) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
let lists: { what: string; list: BlockList }[] | undefined; // made once somebody asks
let publicV6: BlockList | undefined;

/** What an address belongs to if it is not public; undefined if it is. */
export function whyNotPublic(hostAddress: string): string | undefined {
  const address = embedded(hostAddress.replace(/%.*/, ""));
  const family = isIP(address);
  if (!family) return "no address";
  const addressFamily = family === 6 ? "ipv6" : "ipv4";
  lists ??= RANGES.map(([rangeName, ranges]) => ({ what: rangeName, list: listOf(ranges) }));
  publicV6 ??= listOf(PUBLIC_V6);
  const nameOfRange = lists.find(({ list }) => list.check(address, addressFamily))?.what;
  return nameOfRange ?? (family === 6 && !publicV6.check(address, "ipv6") ? "reserved" : undefined);
}

/** The IPv4 address inside of an IPv6 address: mapped, or behind NAT64. */
function embedded(address: string): string {
  if (isIP(address) !== 6) return address;
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^(?:::ffff:|64:ff9b::)(?:([\da-f]+):)?([\da-f]+)$/.exec(plain) ?? [];
  if (low === undefined) return plain;
  const [upper, two] = [Number.parseInt(high ?? "0", 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, two >> 8, two & 255].join(".");
}

/**
 * Whether a host's name alone shows that it is not public: `localhost`, or an address that is not
 * public.
 */
export function isPlainlyLocal(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (/(^|\.)localhost$/.test(bare)) return true;
  return isIP(bare) > 0 && whyNotPublic(bare) !== undefined;
}

/** Whether a rule allows a host by its name, and not just all hosts. */
export function isNamed(
  { rules, matches }: Pick<Permissions, "rules" | "matches">,
  host: string,
): boolean {
  return rules.some(({ verdict, kind, name = "", exact }) => {
    if (verdict !== "allow" || kind !== "net" || !/[\p{L}\p{N}]/u.test(name)) return false;
    return exact ? name === host : matches("net", name)(host);
  });
}

/** All addresses of a host. It is looked up once, so that what was checked is what is reached. */
export async function addressesOf(
  { hostname }: URL,
  signal?: AbortSignal,
): Promise<LookupAddress[]> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal!.reason);
  signal?.addEventListener("abort", stop, { once: true });
  const { lookup } = process.getBuiltinModule("node:dns").promises;
  const addresses = await Promise.race([
    lookup(hostname.replace(/^\[|\]$/g, ""), { all: true }),
    stopped,
  ])
    .catch((error) => Promise.reject(signal?.aborted ? signal.reason : error))
    .finally(() => signal?.removeEventListener("abort", stop));
  signal?.throwIfAborted();
  return addresses;
}

/** A lookup that gives just these addresses. */
export const lookupAmong =
  (addresses: LookupAddress[]): LookupFunction =>
  (_, options, done) =>
    options.all ? done(null, addresses) : done(null, addresses[0]!.address, addresses[0]!.family);

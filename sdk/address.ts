// Tells public addresses from those of this machine, its networks, and reserved ones, and looks
// hosts up.
import type { LookupAddress } from "node:dns";
import type { BlockList, LookupFunction } from "node:net";
import type { Permissions } from "../kernel/contract.ts";
import { orAbort } from "../kernel/text/deadlines.ts";

const netModule = () => process.getBuiltinModule("node:net"); // loaded once it is asked for
const isIP = (address: string): number => netModule().isIP(address);

/** Ranges that are not public, and what they belong to. */
const RESERVED_RANGES: [what: string, ranges: string][] = [
  ["this machine", "0.0.0.0/8 127.0.0.0/8 ::/127"],
  ["a private network", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10"],
  ["a carrier's private network", "100.64.0.0/10"],
  ["this link alone, where clouds keep their metadata", "169.254.0.0/16 fe80::/10"],
  ["multicast", "224.0.0.0/4 ff00::/8"],
  [
    "reserved",
    "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 " +
      "198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
      "2001::/23 2001:db8::/32 2002::/16 3fff::/20",
  ],
];
const PUBLIC_V6 = "2000::/3"; // the only range of IPv6 that is assigned

function blockListOf(rangeText: string): BlockList {
  const blockList = new (netModule().BlockList)();
  for (const subnet of rangeText.split(" ")) {
    const [address = "", prefixBits] = subnet.split("/");
    blockList.addSubnet(address, Number(prefixBits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return blockList;
}
let blockLists: { what: string; list: BlockList }[] | undefined; // made once somebody asks
let publicV6: BlockList | undefined;

/** What an address belongs to if it is not public; undefined if it is. */
export function whyNotPublic(hostAddress: string): string | undefined {
  const address = embedded(hostAddress.replace(/%.*/, ""));
  const ipFamily = isIP(address);
  if (!ipFamily) return "no address";
  const addressFamily = ipFamily === 6 ? "ipv6" : "ipv4";
  blockLists ??= RESERVED_RANGES.map(([rangeName, rangeText]) => ({
    what: rangeName,
    list: blockListOf(rangeText),
  }));
  publicV6 ??= blockListOf(PUBLIC_V6);
  const nameOfRange = blockLists.find(({ list }) => list.check(address, addressFamily))?.what;
  return (
    nameOfRange ?? (ipFamily === 6 && !publicV6.check(address, "ipv6") ? "reserved" : undefined)
  );
}

/** The IPv4 address inside of an IPv6 address: mapped, or behind NAT64. */
function embedded(address: string): string {
  if (isIP(address) !== 6) return address;
  const plainAddress = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, highHex, lowHex] =
    /^(?:::ffff:|64:ff9b::)(?:([\da-f]+):)?([\da-f]+)$/.exec(plainAddress) ?? [];
  if (lowHex === undefined) return plainAddress;
  const [highBits, lowBits] = [Number.parseInt(highHex ?? "0", 16), Number.parseInt(lowHex, 16)];
  return [highBits >> 8, highBits & 255, lowBits >> 8, lowBits & 255].join(".");
}

/**
 * Whether a host's name alone shows that it is not public: `localhost`, or an address that is not
 * public.
 */
export function isPlainlyLocal(hostname: string): boolean {
  const bareHost = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (/(^|\.)localhost$/.test(bareHost)) return true;
  return isIP(bareHost) > 0 && whyNotPublic(bareHost) !== undefined;
}

/** Whether a rule allows a host by its name, and not just all hosts. */
export function isNamed(
  { rules, matches }: Pick<Permissions, "rules" | "matches">,
  hostName: string,
): boolean {
  return rules.some(({ verdict, kind, name = "", exact }) => {
    if (verdict !== "allow" || kind !== "net" || !/[\p{L}\p{N}]/u.test(name)) return false;
    return exact ? name === hostName : matches("net", name)(hostName);
  });
}

/** All addresses of a host. It is looked up once, so that what was checked is what is reached. */
export async function addressesOf(
  { hostname }: URL,
  abortSignal?: AbortSignal,
): Promise<LookupAddress[]> {
  const { lookup } = process.getBuiltinModule("node:dns").promises;
  const addresses = lookup(hostname.replace(/^\[|\]$/g, ""), { all: true });
  return abortSignal ? orAbort(abortSignal, addresses) : addresses;
}

/** A lookup that gives just these addresses. */
export const lookupAmong =
  (addresses: LookupAddress[]): LookupFunction =>
  (_, options, callback) =>
    options.all
      ? callback(null, addresses)
      : callback(null, addresses[0]!.address, addresses[0]!.family);

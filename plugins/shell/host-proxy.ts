// An HTTP proxy that connects to allowed hosts only: the only way out of a sandbox without a
// network.

import dns from "node:dns/promises";
import http from "node:http";
import type { LookupFunction } from "node:net";
import net from "node:net";
import type { Duplex } from "node:stream";
import { fitsStars } from "zz/text";
import { split } from "./judge/parse-options.ts";
import { listenIn } from "./listen-at-socket.ts";

export interface Gateway {
  readonly socket?: string; // the path of it
  readonly port?: number; // when it listens on TCP
  refused(): string[]; // the refusals since the last call, as sentences
  close(): void;
}
interface Host {
  name: string; // as in URLs: lower case, an IPv6 address without brackets
  port?: number;
}
interface Address {
  address: string;
  family: number;
}

/** Listens at a socket in a folder, or on a free port of 127.0.0.1. */
export async function openProxy(
  allowed: string[],
  socketPlace?: { folder: string; name: string },
): Promise<Gateway> {
  const proxy: Proxy = { rules: allowed.map(parseHost), refusals: new Set(), sockets: new Set() };
  const proxyServer = http.createServer((request, response) =>
    passRequest(proxy, request, response),
  );
  proxyServer.on("connect", (request, socket, firstBytes) =>
    passConnection(proxy, request, socket, firstBytes),
  );
  proxyServer.on("connection", (socket) => trackSocket(proxy, socket));
  proxyServer.on("clientError", (_, socket) => socket.destroy());
  proxyServer.requestTimeout = 0; // an upload takes as long as it takes
  const listening =
    socketPlace && (await listenIn(socketPlace.folder, socketPlace.name, proxyServer));
  const listenOnPort = (onListening: () => void, onError: (error: Error) => void) =>
    proxyServer.once("error", onError).listen(0, "127.0.0.1", onListening);
  if (!listening) await new Promise<void>(listenOnPort);
  proxyServer.unref();
  const boundAddress = proxyServer.address();
  return {
    ...(listening
      ? { socket: listening.socket }
      : boundAddress && typeof boundAddress === "object" && { port: boundAddress.port }),
    refused() {
      const refusals = [...proxy.refusals];
      proxy.refusals.clear();
      return refusals;
    },
    close() {
      if (listening) listening.close();
      else proxyServer.close();
      for (const socket of proxy.sockets) socket.destroy();
    },
  };
}

interface Proxy {
  rules: Host[];
  refusals: Set<string>;
  sockets: Set<Duplex>;
}

/** Forwards a request for an http:// address. */
async function passRequest(
  proxy: Proxy,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<unknown> {
  const denyRequest = (statusCode: number, denialText: string) =>
    response.writeHead(statusCode, PLAIN_HEADERS).end(`${denialText}\n`);
  try {
    const requestUrl = URL.canParse(request.url ?? "") ? new URL(request.url!) : undefined;
    if (requestUrl?.protocol !== "http:")
      return denyRequest(400, "This is zz's proxy for commands: ask it for http:// or CONNECT.");
    const { refusal, options } = await checkHost(
      proxy,
      parseHost(`${requestUrl.hostname}:${requestUrl.port || 80}`),
    );
    if (refusal) return denyRequest(403, refusal);
    const upstream = http.request({
      ...options,
      agent: false,
      method: request.method!,
      path: requestUrl.pathname + requestUrl.search,
      headers: { ...withoutHopByHop(request.headers), host: requestUrl.host },
    });
    upstream.on("response", (upstreamAnswer) => {
      response.writeHead(upstreamAnswer.statusCode!, withoutHopByHop(upstreamAnswer.headers));
      upstreamAnswer.pipe(response);
    });
    upstream.on("error", (error) =>
      response.headersSent
        ? response.destroy()
        : denyRequest(502, connectError(requestUrl.host, error)),
    );
    response.on("close", () => upstream.destroy());
    return request.pipe(upstream);
  } catch (error) {
    return denyRequest(502, connectError(request.url ?? "", error as Error));
  }
}

/** Opens a tunnel for CONNECT, which https:// and everything else uses. */
async function passConnection(
  proxy: Proxy,
  request: http.IncomingMessage,
  socket: Duplex,
  firstBytes: Buffer,
): Promise<unknown> {
  trackSocket(proxy, socket);
  const denyTunnel = (statusLine: string, denialText: string) =>
    socket.end(
      `HTTP/1.1 ${statusLine}\r\nContent-Type: text/plain\r\n` +
        `Connection: close\r\n\r\n${denialText}\n`,
    );
  try {
    const parsedHost = parseHost(request.url ?? "");
    if (!parsedHost.port) return denyTunnel("400 Bad Request", "CONNECT needs host:port.");
    const { refusal, options } = await checkHost(proxy, parsedHost);
    if (refusal) return denyTunnel("403 Forbidden", refusal);
    const upstream = net.connect(options);
    trackSocket(proxy, upstream);
    let connected = false;
    upstream.on("connect", () => {
      connected = true;
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(firstBytes);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", (error) =>
      connected
        ? socket.destroy()
        : denyTunnel("502 Bad Gateway", connectError(request.url!, error)),
    );
    return socket.on("close", () => upstream.destroy());
  } catch (error) {
    return denyTunnel("502 Bad Gateway", connectError(request.url ?? "", error as Error));
  }
}

/** Tracks open sockets, so that they close with the proxy; a socket's error only ends it. */
function trackSocket({ sockets }: Proxy, socket: Duplex): void {
  sockets.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => sockets.delete(socket));
}

async function checkHost({ rules, refusals }: Proxy, host: Host) {
  const { addresses, refusal } = await judgeHost(host, rules);
  if (refusal) refusals.add(refusal);
  return { refusal, options: { host: host.name, port: host.port!, lookup: lookupOf(addresses) } };
}

const PLAIN_HEADERS = { "content-type": "text/plain; charset=utf-8", connection: "close" };
const HOP_BY_HOP = split("connection proxy-connection proxy-authorization keep-alive te trailer");

function withoutHopByHop(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([headerName]) => !HOP_BY_HOP.includes(headerName)),
  );
}

function connectError(hostText: string, error: Error): string {
  const reason = error.message || (error as NodeJS.ErrnoException).code;
  return `zz's proxy cannot reach '${hostText}': ${reason}. Check the address.`;
}

/**
 * "example.com", "example.com:443", "*.example.com", "10.0.0.1:80", "::1", "[::1]:80", in the form
 * of URLs.
 */
export function parseHost(hostText: string): Host {
  const [, ipv6Part, plainPart, portText] =
    /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(hostText) ??
    (net.isIPv6(hostText) ? ["", hostText] : []);
  const wildcard = plainPart?.startsWith("*.") ? "*" : "";
  const urlHost = ipv6Part ? `[${ipv6Part}]` : (plainPart ?? "").slice(wildcard.length * 2);
  const hostUrl = `http://${urlHost}/`;
  if ((!ipv6Part && !plainPart) || !URL.canParse(hostUrl))
    throw new Error(`Cannot read '${hostText}' as a host. Write name or name:port.`);
  const hostName = new URL(hostUrl).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return {
    name: wildcard ? `*.${hostName}` : hostName,
    ...(portText && { port: Number(portText) }),
  };
}

/**
 * The addresses that may be connected to; names are resolved here, so that the answer cannot change
 * in between.
 */
export async function judgeHost(
  wantedHost: Host,
  rules: Host[],
  resolve: (hostName: string) => Promise<Address[]> = (hostName) =>
    dns.lookup(hostName, { all: true }),
): Promise<{ addresses: Address[]; refusal?: string }> {
  const isRuledIn = (hostName: string) =>
    rules.some(
      (rule) => matches(rule.name, hostName) && (!rule.port || rule.port === wantedHost.port),
    );
  const refuse = (reason: string, allowance: string) => ({
    addresses: [],
    refusal:
      `zz does not let commands connect to '${wantedHost.name}:${wantedHost.port}': ${reason}. ` +
      `The person can allow it with --allow-net=${allowance}`,
  });
  if (!isRuledIn(wantedHost.name))
    return refuse("it is not among the allowed hosts", wantedHost.name);
  if (net.isIP(wantedHost.name))
    return { addresses: [{ address: wantedHost.name, family: net.isIP(wantedHost.name) }] };
  const resolved = await resolve(wantedHost.name);
  // A name may resolve to this machine or its neighbours, whose addresses are reachable only if the
  // rules name them.
  const mayConnect = ({ address }: Address) =>
    isRuledIn(address) ||
    !isPrivate(address) ||
    (wantedHost.name === "localhost" && isInRanges(address, LOOPBACK));
  const addresses = resolved.filter(mayConnect);
  if (addresses.length) return { addresses };
  const nearest = resolved[0]?.address ?? "nowhere";
  return refuse(
    `its address ${nearest} is of this machine or a private network`,
    `${wantedHost.name},${nearest}`,
  );
}

/** `*` matches any characters, `?` one. */
const matches = (rulePattern: string, hostName: string): boolean =>
  fitsStars(
    [...rulePattern],
    [...hostName],
    (patternLetter) => patternLetter === "*",
    (patternLetter, hostLetter) => patternLetter === "?" || patternLetter === hostLetter,
  );

const LOOPBACK = "127.0.0.0/8 ::1/128";
const PRIVATE = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
  192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4 ::/128 64:ff9b::/96 fc00::/7 fe80::/10
  ff00::/8`;
/** IPv4 addresses in IPv6 ones: compatible, translated, 6to4, Teredo; and old site-local ones. */
const EMBEDDED = `::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 2002::/16 2001::/32 fec0::/10 100::/64
  192.88.99.0/24`;

export const isPrivate = (address: string): boolean =>
  isInRanges(address, `${LOOPBACK} ${PRIVATE} ${EMBEDDED}`);

function isInRanges(address: string, addressRanges: string): boolean {
  const blockList = new net.BlockList();
  for (const addressRange of split(addressRanges)) {
    const [firstAddress, prefixBits] = addressRange.split("/");
    blockList.addSubnet(
      firstAddress!,
      Number(prefixBits),
      firstAddress!.includes(":") ? "ipv6" : "ipv4",
    );
  }
  return blockList.check(address, net.isIPv6(address) ? "ipv6" : "ipv4");
}

function lookupOf(addresses: Address[]): LookupFunction {
  return (_, options, callback) => {
    if (options.all) callback(null, addresses);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  };
}

// An HTTP proxy that connects to allowed hosts only: the only way out of a sandbox without a
// network.

import dns from "node:dns/promises";
import http from "node:http";
import type { LookupFunction } from "node:net";
import net from "node:net";
import type { Duplex } from "node:stream";
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
  const server = http.createServer((request, response) => passRequest(proxy, request, response));
  server.on("connect", (request, socket, first) => passConnection(proxy, request, socket, first));
  server.on("connection", (socket) => track(proxy, socket));
  server.on("clientError", (_, socket) => socket.destroy());
  server.requestTimeout = 0; // an upload takes as long as it takes
  const listening = socketPlace && (await listenIn(socketPlace.folder, socketPlace.name, server));
  const listen = (go: () => void, stop: (error: Error) => void) =>
    server.once("error", stop).listen(0, "127.0.0.1", go);
  if (!listening) await new Promise<void>(listen);
  server.unref();
  const bound = server.address();
  return {
    ...(listening
      ? { socket: listening.socket }
      : bound && typeof bound === "object" && { port: bound.port }),
    refused() {
      const refusals = [...proxy.refusals];
      proxy.refusals.clear();
      return refusals;
    },
    close() {
      if (listening) listening.close();
      else server.close();
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
  const deny = (status: number, text: string) => response.writeHead(status, PLAIN).end(`${text}\n`);
  try {
    const url = URL.canParse(request.url ?? "") ? new URL(request.url!) : undefined;
    if (url?.protocol !== "http:")
      return deny(400, "This is zz's proxy for commands: ask it for http:// or CONNECT.");
    const { refusal, options } = await checkHost(
      proxy,
      parseHost(`${url.hostname}:${url.port || 80}`),
    );
    if (refusal) return deny(403, refusal);
    const upstream = http.request({
      ...options,
      agent: false,
      method: request.method!,
      path: url.pathname + url.search,
      headers: { ...withoutHopByHop(request.headers), host: url.host },
    });
    upstream.on("response", (answer) => {
      response.writeHead(answer.statusCode!, withoutHopByHop(answer.headers));
      answer.pipe(response);
    });
    upstream.on("error", (error) =>
      response.headersSent ? response.destroy() : deny(502, connectError(url.host, error)),
    );
    response.on("close", () => upstream.destroy());
    return request.pipe(upstream);
  } catch (error) {
    return deny(502, connectError(request.url ?? "", error as Error));
  }
}

/** Opens a tunnel for CONNECT, which https:// and everything else uses. */
async function passConnection(
  proxy: Proxy,
  request: http.IncomingMessage,
  socket: Duplex,
  first: Buffer,
): Promise<unknown> {
  track(proxy, socket);
  const deny = (status: string, text: string) =>
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${text}\n`,
    );
  try {
    const host = parseHost(request.url ?? "");
    if (!host.port) return deny("400 Bad Request", "CONNECT needs host:port.");
    const { refusal, options } = await checkHost(proxy, host);
    if (refusal) return deny("403 Forbidden", refusal);
    const upstream = net.connect(options);
    track(proxy, upstream);
    let connected = false;
    upstream.on("connect", () => {
      connected = true;
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(first);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", (error) =>
      connected ? socket.destroy() : deny("502 Bad Gateway", connectError(request.url!, error)),
    );
    return socket.on("close", () => upstream.destroy());
  } catch (error) {
    return deny("502 Bad Gateway", connectError(request.url ?? "", error as Error));
  }
}

/** Tracks open sockets, so that they close with the proxy; a socket's error only ends it. */
function track({ sockets }: Proxy, socket: Duplex): void {
  sockets.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => sockets.delete(socket));
}

async function checkHost({ rules, refusals }: Proxy, host: Host) {
  const { addresses, refusal } = await judgeHost(host, rules);
  if (refusal) refusals.add(refusal);
  return { refusal, options: { ...addressOf(host), lookup: lookupOf(addresses) } };
}

const PLAIN = { "content-type": "text/plain; charset=utf-8", connection: "close" };
const HOP_BY_HOP = [
  "connection",
  "proxy-connection",
  "proxy-authorization",
  "keep-alive",
  "te",
  "trailer",
];

function withoutHopByHop(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}

function connectError(host: string, error: Error): string {
  const reason = error.message || (error as NodeJS.ErrnoException).code;
  return `zz's proxy cannot reach '${host}': ${reason}. Check the address.`;
}

/**
 * "example.com", "example.com:443", "*.example.com", "10.0.0.1:80", "::1", "[::1]:80", in the form
 * of URLs.
 */
export function parseHost(text: string): Host {
  const [, six, plain, port] =
    /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? (net.isIPv6(text) ? ["", text] : []);
  const star = plain?.startsWith("*.") ? "*" : "";
  const url = `http://${six ? `[${six}]` : (plain ?? "").slice(star.length * 2)}/`;
  if ((!six && !plain) || !URL.canParse(url))
    throw new Error(`Cannot read '${text}' as a host. Write name or name:port.`);
  const name = new URL(url).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return { name: star ? `*.${name}` : name, ...(port && { port: Number(port) }) };
}

/**
 * The addresses that may be connected to; names are resolved here, so that the answer cannot change
 * in between.
 */
export async function judgeHost(
  host: Host,
  rules: Host[],
  resolve: (name: string) => Promise<Address[]> = (name) => dns.lookup(name, { all: true }),
): Promise<{ addresses: Address[]; refusal?: string }> {
  const isRuledIn = (name: string) =>
    rules.some((rule) => matches(rule.name, name) && (!rule.port || rule.port === host.port));
  const no = (reason: string, add: string) => ({
    addresses: [],
    refusal: `zz does not let commands connect to '${host.name}:${host.port}': ${reason}. The person can allow it with --allow-net=${add}`,
  });
  if (!isRuledIn(host.name)) return no("it is not among the allowed hosts", host.name);
  if (net.isIP(host.name))
    return { addresses: [{ address: host.name, family: net.isIP(host.name) }] };
  const resolved = await resolve(host.name);
  // A name may resolve to this machine or its neighbours, whose addresses are reachable only if the
  // rules name them.
  const mayConnect = ({ address }: Address) =>
    isRuledIn(address) || !isPrivate(address) || (host.name === "localhost" && isLoopback(address));
  const addresses = resolved.filter(mayConnect);
  if (addresses.length) return { addresses };
  const nearest = resolved[0]?.address ?? "nowhere";
  return no(
    `its address ${nearest} is of this machine or a private network`,
    `${host.name},${nearest}`,
  );
}

function matches(rule: string, name: string): boolean {
  const [first = "", ...middle] = rule.split(/\*+/);
  const last = middle.pop();
  const fits = (piece: string, start: number) =>
    start >= 0 &&
    start + piece.length <= name.length &&
    [...piece].every((sign, i) => sign === "?" || sign === name[start + i]);
  if (last === undefined) return name.length === first.length && fits(first, 0);
  let position = fits(first, 0) ? first.length : -1;
  for (const piece of middle) {
    while (position >= 0 && !fits(piece, position))
      position = position < name.length ? position + 1 : -1;
    if (position >= 0) position += piece.length;
  }
  return (
    position >= 0 && name.length - last.length >= position && fits(last, name.length - last.length)
  );
}

const LOOPBACK = ["127.0.0.0/8", "::1/128"];
const PRIVATE = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/128",
  "64:ff9b::/96",
  "fc00::/7",
  "fe80::/10",
  "ff00::/8",
  // IPv4 addresses embedded in IPv6 ones: compatible, translated, 6to4, Teredo; and deprecated
  // site-local ones.
  "::/96",
  "::ffff:0:0:0/96",
  "64:ff9b:1::/48",
  "2002::/16",
  "2001::/32",
  "fec0::/10",
  "100::/64",
  "192.88.99.0/24",
];

function isLoopback(address: string): boolean {
  return isInRanges(address, LOOPBACK);
}

export function isPrivate(address: string): boolean {
  return isInRanges(address, [...LOOPBACK, ...PRIVATE]);
}

function isInRanges(address: string, ranges: string[]): boolean {
  const list = new net.BlockList();
  for (const range of ranges) {
    const [start, bits] = range.split("/");
    list.addSubnet(start!, Number(bits), start!.includes(":") ? "ipv6" : "ipv4");
  }
  return list.check(address, net.isIPv6(address) ? "ipv6" : "ipv4");
}

function addressOf({ name, port }: Host): { host: string; port: number } {
  return { host: name, port: port ?? 80 };
}

function lookupOf(addresses: Address[]): LookupFunction {
  return (_, options, done) => {
    if (options.all) done(null, addresses);
    else done(null, addresses[0]!.address, addresses[0]!.family);
  };
}

// Records which hosts a command without a network looked up. Before DNS, the C library
// asks a cache of names at a socket. zz listens there and does not answer, so that the command
// continues as if there were no cache. It misses programs with a resolver of their own (Go's, those
// of musl), and all but the first look-up of each process.

import fs from "node:fs";
import net from "node:net";
import { listenIn } from "./listen-at-socket.ts";
import { isFolder } from "./resolve-paths.ts";

export interface Lookups {
  socket: string; // the path to mount at CACHE
  names(): string[];
  close(): void;
}

/** Where the C library looks for the cache. */
export const CACHE = "/var/run/nscd/socket";
export const hasPlace = (): boolean => fs.existsSync("/var/run") && isFolder("/var");

const [VERSION, HEADER_BYTES, MAX_NAME_BYTES, MAX_NAMES, WAIT_MS] = [2, 12, 256, 20, 1_000];
const ASKS_FOR_HOST = [4, 5, 14]; // GETHOSTBYNAME, GETHOSTBYNAMEv6, GETAI

export async function recordLookups(folder: string): Promise<Lookups> {
  const hostNames = new Set<string>();
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let received: Buffer = Buffer.alloc(0);
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", (newPiece) => {
      received = Buffer.concat([received, newPiece]);
      const nameLength = received.length < HEADER_BYTES ? 0 : received.readInt32LE(8);
      if (received.length < HEADER_BYTES + nameLength && nameLength <= MAX_NAME_BYTES) return;
      const hostName = hostNameIn(received, nameLength);
      if (hostName && hostNames.size < MAX_NAMES) hostNames.add(hostName);
      socket.destroy();
    });
  });
  const listening = await listenIn(folder, "names", server);
  server.unref();
  return {
    socket: listening.socket,
    names: () => [...hostNames],
    close() {
      listening.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * The host in a request; undefined for names of this machine, and for addresses, which need no
 * look-up.
 */
function hostNameIn(requestBytes: Buffer, nameLength: number): string | undefined {
  if (
    requestBytes.readInt32LE(0) !== VERSION ||
    !ASKS_FOR_HOST.includes(requestBytes.readInt32LE(4)) ||
    nameLength > MAX_NAME_BYTES
  )
    return;
  const hostName = requestBytes
    .toString("latin1", HEADER_BYTES, HEADER_BYTES + nameLength)
    .replace(/[\0.]+$/, "")
    .toLowerCase();
  return /^(?!localhost\.)[a-z0-9][\w-]*(\.[a-z0-9][\w-]*)+$/.test(hostName) && !net.isIP(hostName)
    ? hostName
    : undefined;
}

// Listens at a socket in a folder, or in a folder of /tmp if its name would be longer than the
// system takes.
import type net from "node:net";
import path from "node:path";
import { removeTree, temporaryFolder, tryTo } from "zz/text";

const MAX_SOCKET_BYTES = 107; // of the name of a socket, on Linux

interface Listening {
  socket: string; // its path
  close(): void; // removes it
}

export async function listenIn(
  folder: string,
  socketName: string,
  server: net.Server,
): Promise<Listening> {
  const directPath = path.join(folder, socketName);
  const isShort = Buffer.byteLength(directPath) <= MAX_SOCKET_BYTES;
  const shortFolder = isShort ? undefined : tryTo(() => temporaryFolder("sockets", "/tmp"));
  const socket = shortFolder ? path.join(shortFolder, socketName) : directPath;
  await new Promise<void>((resolve, reject) =>
    server.once("error", reject).listen(socket, resolve),
  );
  return {
    socket,
    close() {
      server.close();
      if (shortFolder) removeTree(shortFolder);
    },
  };
}

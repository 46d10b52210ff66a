// Listens at a socket in a folder. The system takes 107 bytes for the name of a socket, and the folders of a person or a
// project may be longer: so it is named by the folder that is open here.
import fs from "node:fs";
import type net from "node:net";

export async function listenIn(folder: string, name: string, server: net.Server): Promise<void> {
  const open = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const close = () => fs.closeSync(open);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      close();
      reject(error);
    });
    server.listen(`/proc/self/fd/${open}/${name}`, resolve);
  });
  server.once("close", close); // until then the name is needed: it is removed with the server
}

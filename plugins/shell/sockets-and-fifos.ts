// Sockets and FIFOs in the file system. Through them a command could reach programs
// outside, even on a read-only mount.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { entriesOf, isInside, textOf, tryTo } from "zz/text";
import { direntsOf, real } from "./resolve-paths.ts";

// A process that reads commands from a FIFO opens it early, and few other files.
const MAX_FILES_PER_PROCESS = 12;

/** Such a name means another place in each process. */
const OWN_PROCESS = /^\/proc\/(?:thread-)?self\//;

interface Endpoints {
  paths: string[]; // to be covered
  unknown: boolean; // a program listens at a path that cannot be determined
}

/** Finds the endpoints of the whole machine, as far as they are visible, and all in the project. */
export function findEndpoints(roots: string[], inProject: string[]): Endpoints {
  const { absolute, relative } = boundSockets();
  const workingFolders = relative.length
    ? processes().flatMap((processId) => linkTarget(`/proc/${processId}/cwd`))
    : [];
  const guesses = relative.map((relativeName) =>
    [...new Set([...roots, os.homedir(), "/", "/run", "/var/spool/postfix", ...workingFolders])]
      .map((folder) => path.join(folder, relativeName))
      .filter(isSocket),
  );
  const homeDirents = direntsOf(os.homedir()).filter(
    (dirent) => dirent.isFIFO() || dirent.isSocket(),
  );
  const homeEndpoints = homeDirents.map((dirent) => path.join(os.homedir(), dirent.name));
  return {
    paths: real([
      ...absolute.filter((socketName) => !OWN_PROCESS.test(socketName)),
      ...guesses.flat(),
      ...inProject,
      ...homeEndpoints,
      ...openFifos(),
    ]),
    unknown:
      guesses.some((sockets) => !sockets.length) ||
      absolute.some((socketName) => OWN_PROCESS.test(socketName)),
  };
}

/**
 * Sockets on which something listens or receives datagrams. One that was bound by a relative path
 * is listed with it.
 */
function boundSockets(): { absolute: string[]; relative: string[] } {
  const socketTable = textOf("/proc/net/unix").split("\n");
  const socketNames = socketTable.flatMap((socketRow) => {
    const [, socketFlags, socketType, socketName] =
      /^\S+ \S+ \S+ (\S+) (\S+) \S+ +\d+ (.+)$/.exec(socketRow) ?? [];
    return socketName &&
      !socketName.startsWith("@") &&
      (socketFlags === "00010000" || socketType === "0002")
      ? [socketName]
      : [];
  });
  return {
    absolute: socketNames.filter((socketName) => socketName.startsWith("/")).flatMap(realNames),
    relative: [...new Set(socketNames.filter((socketName) => !socketName.startsWith("/")))],
  };
}

/** A socket may be named by a folder that its process has open, as those of another zz are. */
const realNames = (socketName: string): string[] =>
  socketName.startsWith("/proc/self/")
    ? [`${process.pid}`, ...processes()]
        .map((processId) => socketName.replace("self", processId))
        .filter(isSocket)
    : [socketName];

/** The FIFOs that a process has open, by their paths: of all processes, however many there are. */
function openFifos(): string[] {
  const openFiles = processes().flatMap((processId) =>
    entriesOf(`/proc/${processId}/fd`)
      .slice(0, MAX_FILES_PER_PROCESS)
      .flatMap((descriptor) => linkTarget(`/proc/${processId}/fd/${descriptor}`)),
  );
  return [...new Set(openFiles)].filter((openFile) => openFile.startsWith("/") && isFifo(openFile));
}

/** All processes but this one, as far as they are visible. */
export const processes = (): string[] =>
  entriesOf("/proc").filter(
    (entryName) => /^\d+$/.test(entryName) && entryName !== `${process.pid}`,
  );

const linkTarget = (linkPath: string): string[] => tryTo(() => [fs.readlinkSync(linkPath)]) ?? [];
const lstatIfThere = (filePath: string): fs.Stats | undefined =>
  tryTo(() => fs.lstatSync(filePath));
const isSocket = (filePath: string): boolean => !!lstatIfThere(filePath)?.isSocket();
const isFifo = (filePath: string): boolean =>
  !isInside("/dev", filePath) && !isInside("/proc", filePath) && !!lstatIfThere(filePath)?.isFIFO();

// Sockets and FIFOs in the file system. Through them a command could reach programs
// outside, even on a read-only mount.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { entriesOf, isInside, tryTo } from "zz/text";
import { direntsOf, real } from "./resolve-paths.ts";

// A process that reads commands from a FIFO opens it early, and few other files.
const MAX_FILES_PER_PROCESS = 12;

/** Such a name means another place in each process. */
const OWN = /^\/proc\/(?:thread-)?self\//;

export interface Endpoints {
  paths: string[]; // to be covered
  unknown: boolean; // a program listens at a path that cannot be determined
}

/** Finds the endpoints of the whole machine, as far as they are visible, and all in the project. */
export function findEndpoints(roots: string[], inProject: string[]): Endpoints {
  const { absolute, relative } = boundSockets();
  const processes = relative.length ? workingFolders() : [];
  const guesses = relative.map((name) =>
    [...new Set([...roots, os.homedir(), "/", "/run", "/var/spool/postfix", ...processes])]
      .map((folder) => path.join(folder, name))
      .filter(isSocket),
  );
  const home = direntsOf(os.homedir()).filter((dirent) => dirent.isFIFO() || dirent.isSocket());
  const mine = home.map((dirent) => path.join(os.homedir(), dirent.name));
  return {
    paths: real([
      ...absolute.filter((name) => !OWN.test(name)),
      ...guesses.flat(),
      ...inProject,
      ...mine,
      ...openFifos(),
    ]),
    unknown: guesses.some((sockets) => !sockets.length) || absolute.some((name) => OWN.test(name)),
  };
}

/**
 * Sockets on which something listens or receives datagrams. One that was bound by a relative path
 * is listed with it.
 */
function boundSockets(): { absolute: string[]; relative: string[] } {
  let text: string;
  try {
    text = fs.readFileSync("/proc/net/unix", "utf8");
  } catch {
    return { absolute: [], relative: [] };
  }
  const names = text.split("\n").flatMap((row) => {
    const [, flags, type, name] = /^\S+ \S+ \S+ (\S+) (\S+) \S+ +\d+ (.+)$/.exec(row) ?? [];
    return name && !name.startsWith("@") && (flags === "00010000" || type === "0002") ? [name] : [];
  });
  return {
    absolute: names.filter((name) => name.startsWith("/")).flatMap(realNames),
    relative: [...new Set(names.filter((name) => !name.startsWith("/")))],
  };
}

/** A socket may be named by a folder that its process has open, as those of another zz are. */
const realNames = (name: string): string[] =>
  name.startsWith("/proc/self/")
    ? [`${process.pid}`, ...processes()].map((pid) => name.replace("self", pid)).filter(isSocket)
    : [name];

/** The working folders of this machine's processes, as far as they are visible. */
function workingFolders(): string[] {
  return processes().flatMap((pid) => linkTarget(`/proc/${pid}/cwd`));
}

/** The FIFOs that a process has open, by their paths: of all processes, however many there are. */
function openFifos(): string[] {
  const open = processes().flatMap((pid) =>
    entriesOf(`/proc/${pid}/fd`)
      .slice(0, MAX_FILES_PER_PROCESS)
      .flatMap((fd) => linkTarget(`/proc/${pid}/fd/${fd}`)),
  );
  return [...new Set(open)].filter((file) => file.startsWith("/") && isFifo(file));
}

const processes = (): string[] =>
  entriesOf("/proc").filter((name) => /^\d+$/.test(name) && name !== `${process.pid}`);

const linkTarget = (file: string): string[] => tryTo(() => [fs.readlinkSync(file)]) ?? [];
const lstatIfThere = (file: string): fs.Stats | undefined => tryTo(() => fs.lstatSync(file));
const isSocket = (file: string): boolean => !!lstatIfThere(file)?.isSocket();
const isFifo = (file: string): boolean =>
  !isInside("/dev", file) && !isInside("/proc", file) && !!lstatIfThere(file)?.isFIFO();

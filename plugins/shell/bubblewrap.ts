// The mounts of a sandbox on Linux.
import fs from "node:fs";
import { isIP } from "node:net";
import path from "node:path";
import { isInside, isInsideAny, textOf, tryTo } from "zz/text";
import { BASE, type Mount, SYSTEM } from "./find-sandbox.ts";
import { repositoryPaths } from "./guarded-files.ts";
import { otherNames } from "./hard-links.ts";
import { CACHE } from "./host-lookups.ts";
import { canAppear, isFolder, real } from "./resolve-paths.ts";
import {
  byDepth,
  foldersAbove,
  type Guard,
  type OpenLimits,
  PORT,
  pathFolders,
} from "./sandbox-limits.ts";

export function bubblewrapArgs(openLimits: OpenLimits): string[] {
  const plannedMounts = planMounts(openLimits);
  return [
    ...BASE,
    ...(openLimits.view && process.getuid?.() ? asMyself() : []),
    ...(openLimits.net === "all" ? ["--share-net"] : []),
    ...plannedMounts.flatMap((mount) => mount.args),
    ...plannedMounts
      .filter((mount) => mount.isReadonly)
      .flatMap((mount) => ["--remount-ro", mount.at]),
    "--",
    ...(openLimits.proxy
      ? [
          process.execPath,
          "-e",
          BRIDGE_SCRIPT,
          "--",
          String(PORT),
          SOCKET_INSIDE,
          JSON.stringify(loopbackAddresses(openLimits)),
        ]
      : []),
  ];
}

/**
 * Mounting an overlay takes root in a user namespace; the command itself runs as the person again.
 */
const asMyself = (): string[] => [
  "--unshare-user",
  "--uid",
  `${process.getuid!()}`,
  "--gid",
  `${process.getgid!()}`,
];

/**
 * Where a service finds a host that is allowed with its port: a program that knows no proxy
 * connects to it as ever.
 */
function loopbackAddresses({ service, net }: OpenLimits): LoopbackAddress[] {
  const allowedHosts = service && Array.isArray(net) ? net : [];
  return allowedHosts.flatMap((hostName, i) => {
    const [, host = "", portText] = /^([\w.-]+):(\d+)$/.exec(hostName) ?? [];
    const isLocalHost = host === "localhost" || host === "127.0.0.1";
    return !portText || (isIP(host) && !isLocalHost)
      ? []
      : [{ host, port: +portText, at: isLocalHost ? "127.0.0.1" : `127.0.1.${i + 1}` }];
  });
}
/**
 * Elsewhere than under a cover of /var, where there is room for it, the cache's folder may be a
 * link, through which nothing is mounted.
 */
function nameCacheOf(isCovered: boolean, { service, lookups }: OpenLimits) {
  const cacheFolder = isCovered
    ? "/var/run"
    : (tryTo(() => fs.realpathSync("/var/run")) ?? "/var/run");
  return {
    nameCache: service || isCovered ? lookups : undefined,
    cacheAt: CACHE.replace("/var/run", cacheFolder),
  };
}

type LoopbackAddress = { host: string; port: number; at: string };

/** The machine's names, and those places. */
function hostsMount(folder: string, addresses: LoopbackAddress[]): Mount[] {
  if (!addresses.length) return [];
  const [hostsFile, ownHosts] = ["/etc/hosts", path.join(folder, "hosts")];
  const machineNames = textOf(hostsFile);
  fs.writeFileSync(
    ownHosts,
    `${addresses.map((address) => `${address.at} ${address.host}\n`).join("")}${machineNames}`,
    { mode: 0o644 },
  );
  return [{ at: hostsFile, args: ["--ro-bind", ownHosts, hostsFile] }];
}

const MAX_SHM_BYTES = `${1 << 30}`;
const SOCKET_INSIDE = "/run/zz-proxy";

/**
 * Outer folders come before inner ones, which take precedence; of two mounts on one path, the later
 * one here wins.
 */
function planMounts(openLimits: OpenLimits): Mount[] {
  const { root, guard, sized, tmp, proxy, view, own } = openLimits;
  const { git, denied, locked, pinned, writable, hidden, open } = planPaths(openLimits);
  const { nameCache, cacheAt } = nameCacheOf(denied.includes("/var"), openLimits);
  const coversTarget = (folder: string, target: string) =>
    isInside(folder, target) &&
    ![...open, ...writable, ...locked].some(
      (between) => isInside(folder, between) && isInside(between, target),
    );
  const innerPaths = [
    ...writable,
    ...git.guard,
    ...open,
    ...(view ? locked : []),
    ...(nameCache ? [cacheAt] : []),
  ];
  const allMounts = [
    { at: "/tmp", args: ["--bind", tmp, "/tmp"] },
    ...["/run", "/var/run"]
      .filter(isFolder)
      .map((target) => ({ at: target, args: ["--tmpfs", target], isReadonly: true })),
    ...writable.map((target) => ({
      at: target,
      args: ["--bind", view && target === root ? view.merged : target, target],
    })),
    ...git.guard.flatMap(protect),
    ...(guard ? guardMounts(guard) : []).filter(
      ({ at }) => !isInsideAny(denied, at) && !isInsideAny(locked, at),
    ),
    ...open.map(mountWith("--ro-bind")),
    ...pinned.map(mountWith("--bind")),
    ...locked.map(mountWith("--ro-bind")),
    ...hidden
      .filter(
        (target) => !hidden.some((folder) => folder !== target && coversTarget(folder, target)),
      )
      .map((target) =>
        coverPath(
          target,
          innerPaths.some((folder) => folder !== target && isInside(target, folder)),
        ),
      ),
    ...SYSTEM,
    {
      at: "/dev/shm",
      args: ["--perms", "1777", ...(sized ? ["--size", MAX_SHM_BYTES] : []), "--tmpfs", "/dev/shm"],
    },
    ...(proxy?.socket
      ? [{ at: SOCKET_INSIDE, args: ["--ro-bind", proxy.socket, SOCKET_INSIDE] }]
      : []),
    ...hostsMount(own, loopbackAddresses(openLimits)),
    ...(nameCache ? [{ at: cacheAt, args: ["--ro-bind", nameCache.socket, cacheAt] }] : []),
  ];
  return allMounts.sort(byDepth);
}

/** What is mounted how; none of them is made. */
function planPaths(openLimits: OpenLimits) {
  const { root, write, hide, keep = [], pin = [], show = [], readonly, endpoints } = openLimits;
  const ownRepository = repositoryPaths(root);
  // what is read-only anyway needs no guard
  const git = readonly ? { write: [], guard: [] } : ownRepository;
  const shownPaths = real(show);
  const denied = real(hide).filter((target) => !shownPaths.includes(target));
  const keptPaths = real(keep).filter((target) => target !== root);
  const otherNamesOf = (places: string[]) =>
    otherNames(places, [root, ...real(write).filter((target) => !isInside(root, target))]);
  const locked = [
    ...real([...keep, ...fixedPaths(openLimits), ...(readonly ? ownRepository.write : [])]),
    ...(readonly ? [] : otherNamesOf(keptPaths)),
  ];
  // the folders between the project and a path in it: a mount point cannot be moved
  const pinned = [...new Set([...real(pin), ...keptPaths].flatMap(foldersAbove))].filter(
    (target) =>
      !readonly && target !== root && isInside(root, target) && !isInsideAny(locked, target),
  );
  const isHidden = (target: string) =>
    denied.some((folder) => isInside(folder, target) && !isInside(folder, root));
  const writable = [
    ...real(writtenPaths(openLimits)).filter(
      (target) => !isHidden(target) || isInsideAny(shownPaths, target),
    ),
    ...git.write,
  ].filter((target) => !isInsideAny(locked, target));
  const isReached = (target: string) =>
    !isInsideAny(["/tmp", "/run"], target) || isInsideAny([...writable, ...locked], target);
  // other folders are whole homes and disks
  const closedPaths = denied.filter((target) => real(pin).includes(target) || !isFolder(target));
  const hidden = [...denied, ...otherNamesOf(closedPaths), ...endpoints].filter(isReached);
  // Needed paths that a cover would hide: zz's own node, the folders of PATH, the list of name
  // servers.
  const neededPaths = real([process.execPath, "/etc/resolv.conf", ...pathFolders()]).filter(
    (target) => !isInsideAny(denied, target),
  );
  const open = [...shownPaths, ...neededPaths].filter(
    (target) =>
      !isInsideAny([...writable, ...locked], target) &&
      (isInsideAny(denied, target) || !isReached(target)),
  );
  return { git, denied, locked, pinned, writable, hidden, open };
}

function fixedPaths({ root, view, readonly }: OpenLimits): string[] {
  if (view) return [path.join(root, ".git")];
  return readonly ? [root] : [];
}

function writtenPaths({ root, write, view, readonly, service }: OpenLimits): string[] {
  if (view) return [root];
  if (!readonly) return [root, ...write];
  return service ? write : [];
}

const mountWith =
  (mountOption: "--bind" | "--ro-bind") =>
  (target: string): Mount => ({ at: target, args: [mountOption, target, target] });

const guardMounts = ({ readonly, writable, copies }: Guard): Mount[] => [
  ...readonly.map(mountWith("--ro-bind")),
  ...writable.map(mountWith("--bind")),
  ...copies.map(({ at, from }) => ({ at, args: ["--bind", from, at] })),
];

/**
 * Covers a file with /dev/null, which cannot be opened where devices are forbidden, or a folder
 * with one of mode 0.
 */
function coverPath(target: string, holdsMore: boolean): Mount {
  if (!isFolder(target)) return { at: target, args: ["--ro-bind", "/dev/null", target] };
  return {
    at: target,
    args: ["--perms", holdsMore ? "0111" : "0000", "--tmpfs", target],
    isReadonly: true,
  };
}

/**
 * Makes a guarded path read-only. What is not there gets an empty cover, unless it cannot be made
 * anyway.
 */
function protect(target: string): Mount[] {
  if (fs.existsSync(target)) return [mountWith("--ro-bind")(target)];
  return canAppear(target) ? [emptyCover(target)] : [];
}

function emptyCover(target: string): Mount {
  if (path.basename(target) === "config")
    return { at: target, args: ["--ro-bind", "/dev/null", target] };
  return { at: target, args: ["--tmpfs", target], isReadonly: true };
}

/**
 * Runs inside the sandbox: listens where HTTP_PROXY says, forwards to the proxy's socket, and then
 * starts the command.
 */
const BRIDGE_SCRIPT = `
const [port, socket, places, ...argv] = process.argv.slice(1);
const { connect, createServer } = require("node:net");
const both = { allowHalfOpen: true };
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => {});
for (const { host, port, at } of JSON.parse(places))
  createServer(both, (near) => {
    const far = connect({ path: socket, ...both });
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
    far.write("CONNECT " + host + ":" + port + " HTTP/1.1\\r\\nHost: zz\\r\\n\\r\\n");
    far.once("data", (head) => {
      if (!String(head).startsWith("HTTP/1.1 200")) return near.destroy();
      near.write(head.subarray(head.indexOf("\\r\\n\\r\\n") + 4));
      near.pipe(far).pipe(near);
    });
  }).on("error", () => {}).listen(port, at);
createServer(both, (near) => {
  const far = connect({ path: socket, ...both });
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
}).listen(+port, "127.0.0.1", () => {
  const child = require("node:child_process").spawn(argv[0], argv.slice(1), { stdio: "inherit" });
  child.on("error", (error) => { console.error(error.message); process.exit(127); });
  const { signals } = require("node:os").constants;
  child.on("exit", (code, signal) => process.exit(code ?? 128 + signals[signal]));
});`;

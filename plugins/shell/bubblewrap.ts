// The mounts of a sandbox on Linux.
import fs from "node:fs";
import { isIP } from "node:net";
import path from "node:path";
import { isInside, isInsideAny, tryTo } from "zz/text";
import { BASE, type Mount, SYSTEM } from "./find-sandbox.ts";
import { repositoryPaths } from "./guarded-files.ts";
import { otherNames } from "./hard-links.ts";
import { CACHE } from "./host-lookups.ts";
import { canAppear, isFolder, real } from "./resolve-paths.ts";
import { type Guard, type OpenLimits, PORT, pathFolders } from "./sandbox-limits.ts";

export function bubblewrapArgs(limits: OpenLimits): string[] {
  const mounts = planMounts(limits);
  return [
    ...BASE,
    ...(limits.view && process.getuid?.() ? asMyself() : []),
    ...(limits.net === "all" ? ["--share-net"] : []),
    ...mounts.flatMap((mount) => mount.args),
    ...mounts.filter((mount) => mount.isReadonly).flatMap((mount) => ["--remount-ro", mount.at]),
    "--",
    ...(limits.proxy
      ? [
          process.execPath,
          "-e",
          BRIDGE,
          "--",
          String(PORT),
          INSIDE,
          JSON.stringify(loopbackAddresses(limits)),
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
function loopbackAddresses({
  service,
  net,
}: Pick<OpenLimits, "service" | "net">): LoopbackAddress[] {
  const named =
    service && Array.isArray(net) ? net.map((host) => /^([\w.-]+):(\d+)$/.exec(host)) : [];
  return named.flatMap((match, i) => {
    const [, host = "", port] = match ?? [];
    const isHere = host === "localhost" || host === "127.0.0.1";
    return !port || (isIP(host) && !isHere)
      ? []
      : [{ host, port: +port, at: isHere ? "127.0.0.1" : `127.0.1.${i + 1}` }];
  });
}
/**
 * Elsewhere than under a cover of /var, where there is room for it, the cache's folder may be a
 * link, through which nothing is mounted.
 */
function nameCacheOf(isCovered: boolean, { service, lookups }: OpenLimits) {
  const folder = isCovered ? "/var/run" : (tryTo(() => fs.realpathSync("/var/run")) ?? "/var/run");
  return {
    nameCache: service || isCovered ? lookups : undefined,
    cacheAt: CACHE.replace("/var/run", folder),
  };
}

type LoopbackAddress = { host: string; port: number; at: string };

/** The machine's names, and those places. */
function hostsMount(folder: string, places: LoopbackAddress[]): Mount[] {
  if (!places.length) return [];
  const [hostsFile, file] = ["/etc/hosts", path.join(folder, "hosts")];
  const machineNames = tryTo(() => fs.readFileSync(hostsFile, "utf8")) ?? "";
  fs.writeFileSync(
    file,
    `${places.map((address) => `${address.at} ${address.host}\n`).join("")}${machineNames}`,
    { mode: 0o644 },
  );
  return [{ at: hostsFile, args: ["--ro-bind", file, hostsFile] }];
}

const MAX_SHM_BYTES = `${1 << 30}`;
const INSIDE = "/run/zz-proxy";

/**
 * Outer folders come before inner ones, which take precedence; of two mounts on one path, the later
 * one here wins.
 */
function planMounts(limits: OpenLimits): Mount[] {
  const { root, guard, sized, tmp, proxy, view, own } = limits;
  const { git, denied, locked, pinned, writable, hidden, open } = planPaths(limits);
  const { nameCache, cacheAt } = nameCacheOf(denied.includes("/var"), limits);
  const covers = (folder: string, target: string) =>
    isInside(folder, target) &&
    ![...open, ...writable, ...locked].some(
      (between) => isInside(folder, between) && isInside(between, target),
    );
  const inner = [
    ...writable,
    ...git.guard,
    ...open,
    ...(view ? locked : []),
    ...(nameCache ? [cacheAt] : []),
  ];
  const mounts = [
    { at: "/tmp", args: ["--bind", tmp, "/tmp"] },
    ...["/run", "/var/run"]
      .filter(isFolder)
      .map((target) => ({ at: target, args: ["--tmpfs", target], isReadonly: true })),
    ...writable.map((target) => ({
      at: target,
      args: ["--bind", view && target === root ? view.merged : target, target],
    })),
    ...git.guard.flatMap(protect),
    ...guardMounts(guard).filter(({ at }) => !isInsideAny(denied, at) && !isInsideAny(locked, at)),
    ...open.map(mount("--ro-bind")),
    ...pinned.map(mount("--bind")),
    ...locked.map(mount("--ro-bind")),
    ...hidden
      .filter((target) => !hidden.some((folder) => folder !== target && covers(folder, target)))
      .map((target) =>
        cover(
          target,
          inner.some((folder) => folder !== target && isInside(target, folder)),
        ),
      ),
    ...SYSTEM,
    {
      at: "/dev/shm",
      args: ["--perms", "1777", ...(sized ? ["--size", MAX_SHM_BYTES] : []), "--tmpfs", "/dev/shm"],
    },
    ...(proxy?.socket ? [{ at: INSIDE, args: ["--ro-bind", proxy.socket, INSIDE] }] : []),
    ...hostsMount(own, loopbackAddresses(limits)),
    ...(nameCache ? [{ at: cacheAt, args: ["--ro-bind", nameCache.socket, cacheAt] }] : []),
  ];
  const depth = ({ at }: Mount) => at.split("/").filter(Boolean).length;
  return mounts.sort((a, b) => depth(a) - depth(b));
}

/** What is mounted how; none of them is made. */
function planPaths(limits: OpenLimits) {
  const { root, write, hide, keep = [], pin = [], show = [], readonly, endpoints } = limits;
  const ownRepository = repositoryPaths(root);
  // what is read-only anyway needs no guard
  const git = readonly ? { write: [], guard: [] } : ownRepository;
  const shown = real(show);
  const denied = real(hide).filter((target) => !shown.includes(target));
  const kept = real(keep).filter((target) => target !== root);
  const otherNamesOf = (places: string[]) =>
    otherNames(places, [root, ...real(write).filter((target) => !isInside(root, target))]);
  const locked = [
    ...real([...keep, ...fixedPaths(limits), ...(readonly ? ownRepository.write : [])]),
    ...(readonly ? [] : otherNamesOf(kept)),
  ];
  const pinned = [
    ...new Set(
      [...real(readonly ? [] : pin), ...kept].flatMap((target) => foldersBetween(target, root)),
    ),
  ].filter((target) => !readonly && !isInsideAny(locked, target));
  const isHidden = (target: string) =>
    denied.some((folder) => isInside(folder, target) && !isInside(folder, root));
  const writable = [
    ...real(writtenPaths(limits)).filter(
      (target) => !isHidden(target) || isInsideAny(shown, target),
    ),
    ...git.write,
  ].filter((target) => !isInsideAny(locked, target));
  const isReached = (target: string) =>
    !isInsideAny(["/tmp", "/run"], target) || isInsideAny([...writable, ...locked], target);
  // other folders are whole homes and disks
  const closed = denied.filter((target) => real(pin).includes(target) || !isFolder(target));
  const hidden = [...denied, ...otherNamesOf(closed), ...endpoints].filter(isReached);
  // Needed paths that a cover would hide: zz's own node, the folders of PATH, the list of name
  // servers.
  const needed = real([process.execPath, "/etc/resolv.conf", ...pathFolders()]).filter(
    (target) => !isInsideAny(denied, target),
  );
  const open = [...shown, ...needed].filter(
    (target) =>
      !isInsideAny([...writable, ...locked], target) &&
      (isInsideAny(denied, target) || !isReached(target)),
  );
  return { git, denied, locked, pinned, writable, hidden, open };
}

function fixedPaths({
  root,
  view,
  readonly,
}: Pick<OpenLimits, "root" | "view" | "readonly">): string[] {
  if (view) return [path.join(root, ".git")];
  return readonly ? [root] : [];
}

type WriteLimits = Pick<OpenLimits, "root" | "write" | "view" | "readonly" | "service">;
function writtenPaths({ root, write, view, readonly, service }: WriteLimits): string[] {
  if (view) return [root];
  if (!readonly) return [root, ...write];
  return service ? write : [];
}

const mount =
  (option: "--bind" | "--ro-bind") =>
  (target: string): Mount => ({ at: target, args: [option, target, target] });

function guardMounts({
  readonly,
  writable,
  copies,
}: Pick<Guard, "readonly" | "writable" | "copies"> = NO_GUARD): Mount[] {
  return [
    ...readonly.map(mount("--ro-bind")),
    ...writable.map(mount("--bind")),
    ...copies.map(({ at, from }) => ({ at, args: ["--bind", from, at] })),
  ];
}
const NO_GUARD = { readonly: [], writable: [], copies: [] };

/** The folders between the project and a path in it: a mount point cannot be moved. */
function foldersBetween(target: string, root: string): string[] {
  const folder = path.dirname(target);
  return isInside(root, folder) && folder !== root ? [...foldersBetween(folder, root), folder] : [];
}

/**
 * Covers a file with /dev/null, which cannot be opened where devices are forbidden, or a folder
 * with one of mode 0.
 */
function cover(target: string, holdsMore: boolean): Mount {
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
  if (fs.existsSync(target)) return [mount("--ro-bind")(target)];
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
const BRIDGE = `
const [port, socket, places, ...argv] = process.argv.slice(1);
const { connect, createServer } = require("node:net");
const both = { allowHalfOpen: true };
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => {});
for (const { host, port, at } of JSON.parse(places))
  createServer(both, (near) => {
    const far = connect({ path: socket, ...both });
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy()).write("CONNECT " + host + ":" + port + " HTTP/1.1\\r\\nHost: zz\\r\\n\\r\\n");
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
  child.on("exit", (code, signal) => process.exit(code ?? 128 + require("node:os").constants.signals[signal]));
});`;

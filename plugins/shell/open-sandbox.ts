// What a command can access, enforced by the system: bubblewrap on Linux, sandbox-exec on
// macOS.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isInside, removeTree, temporaryFolder, writeWhole } from "zz/text";
import { bubblewrapArgs } from "./bubblewrap.ts";
import { findOutside, knowsSize } from "./find-sandbox.ts";
import { hasPlace, recordLookups } from "./host-lookups.ts";
import { split } from "./judge/parse-options.ts";
import { isFolder, real } from "./resolve-paths.ts";
import { watchGuardedFiles } from "./restore-guarded.ts";
import { type Limits, type OpenLimits, PORT, SOCKET } from "./sandbox-limits.ts";
import { seccompFilter } from "./seccomp.ts";
import { scanProject } from "./self-running-files.ts";
import { findEndpoints } from "./sockets-and-fifos.ts";

export type { Limits } from "./sandbox-limits.ts";

export interface Sandbox {
  name: string; // "bubblewrap", "sandbox-exec"
  wrap(argv: string[]): { argv: string[]; env: Record<string, string> };
  tmp?: string; // the folder mounted as /tmp
  upper?: string; // the folder with what is changed on a view
  lookups?(): string[]; // hosts that it looked up in vain, as far as zz could notice
  settle?(): string[]; // after a command: what it was refused, what had to be restored
  close(): void;
}

const IS_MAC = process.platform === "darwin";

export async function openSandbox(limits: Limits): Promise<Sandbox> {
  const root = fs.realpathSync(limits.root);
  const avoidedFolders = real([root, ...limits.write]);
  const { programs } = limits;
  const program = IS_MAC
    ? "/usr/bin/sandbox-exec"
    : requireBubblewrap(limits, root, avoidedFolders);
  const seatbelt = IS_MAC ? await import("./seatbelt.ts") : undefined;
  const workFolder = fs.realpathSync(
    temporaryFolder("sandbox", limits.view?.workFolder ?? os.tmpdir()),
  );
  const inner = await openLimits(limits, root, workFolder, program);
  const folders = [
    root,
    ...avoidedFolders.filter((folder) => isFolder(folder) && !isInside(root, folder)),
  ];
  const gitProgram = findOutside(programs, "git", avoidedFolders);
  const guardWatch =
    limits.readonly || limits.service
      ? undefined
      : watchGuardedFiles(
          folders,
          workFolder,
          gitProgram ? { programs, program: gitProgram } : undefined,
        );
  return {
    name: IS_MAC ? "sandbox-exec" : "bubblewrap",
    tmp: inner.tmp,
    ...(limits.view && { upper: limits.view.upper }),
    lookups: () => inner.lookups?.names() ?? [],
    wrap(argv) {
      if (guardWatch) inner.guard = guardWatch.begin();
      if (seatbelt)
        return {
          argv: [program, ...seatbelt.seatbeltProfile(inner), ...argv],
          env: environment(inner),
        };
      // Sockets and FIFOs of the lower folder cannot be reached through an overlay.
      const inProject = limits.view
        ? []
        : (inner.guard?.endpoints ?? scanProject(root, false).endpoints);
      const sockets = findEndpoints(folders, inProject);
      inner.endpoints = sockets.paths;
      const filterFile = writeFilterFile(workFolder, !sockets.unknown || inner.proxy !== undefined);
      const fullArgv = [...withLimits(program, filterFile), ...bubblewrapArgs(inner), ...argv];
      return { argv: limits.view?.wrap(fullArgv) ?? fullArgv, env: environment(inner) };
    },
    settle: () => [
      ...(inner.proxy?.refused() ?? []),
      ...(inner.guard?.notes ?? []),
      ...(guardWatch?.end() ?? []),
    ],
    close() {
      inner.proxy?.close();
      inner.lookups?.close();
      removeTree(workFolder);
    },
  };
}

async function openLimits(
  limits: Limits,
  root: string,
  workFolder: string,
  program: string,
): Promise<OpenLimits> {
  const net = limits.readonly && !limits.service ? "none" : limits.net;
  const sized = !IS_MAC && (await knowsSize(limits.programs, program));
  const innerLimits: OpenLimits = {
    ...limits,
    root,
    own: workFolder,
    net,
    endpoints: [],
    sized,
    tmp: limits.tmp ?? path.join(workFolder, "tmp"),
  };
  fs.mkdirSync(innerLimits.tmp, { recursive: true, mode: 0o700 });
  if (Array.isArray(net) && net.length) {
    const { openProxy } = await import("./host-proxy.ts");
    innerLimits.proxy = await openProxy(
      net,
      IS_MAC ? undefined : { folder: workFolder, name: SOCKET },
    );
  }
  if ((limits.view || limits.service) && net === "none" && hasPlace())
    innerLimits.lookups = await recordLookups(workFolder);
  return innerLimits;
}

function requireBubblewrap(
  { programs, readonly }: Limits,
  root: string,
  avoidedFolders: string[],
): string {
  const program = findOutside(programs, "bwrap", readonly ? [] : avoidedFolders);
  if (program) return program;
  if (programs.find("bwrap"))
    throw new Error(
      `Cannot open a sandbox: bubblewrap lies in '${root}', where commands may write. ` +
        "Start zz in a project's folder (--cwd).",
    );
  throw new Error(
    "Cannot open a sandbox: bubblewrap is not in PATH. " +
      "Install it, as by apt-get install bubblewrap.",
  );
}

/**
 * If a program listens at a path that cannot be covered, a command gets no UNIX sockets; the proxy
 * needs one.
 */
export function writeFilterFile(workFolder: string, unix: boolean): string | undefined {
  const [filterFile, callFilter] = [
    path.join(workFolder, unix ? "calls" : "calls-without-unix"),
    seccompFilter({ unix }),
  ];
  if (callFilter && !fs.existsSync(filterFile)) writeWhole(filterFile, callFilter, 0o400);
  return callFilter && filterFile;
}

/**
 * Started by a shell that execs bubblewrap. No core files; 10 GB per file and 8192 processes and
 * threads, more than builds need; when memory runs out, the kernel kills this first. Lower limits
 * that the person has set stay.
 */
export function withLimits(program: string, filterFile: string | undefined): string[] {
  const resourceLimits =
    "ulimit -c 0; ulimit -f 20971520; ulimit -u 8192 || ulimit -p 8192; " +
    "echo 1000 > /proc/self/oom_score_adj";
  const startScript = filterFile
    ? `exec 9<'${filterFile.replaceAll("'", "'\\''")}' "$@"`
    : 'exec "$@"';
  return [
    "/bin/sh",
    "-c",
    `{ ${resourceLimits}; } 2>/dev/null; ${startScript}`,
    "sh",
    program,
    ...(filterFile ? ["--seccomp", "9"] : []),
  ];
}

function environment({ net, proxy, tmp, view }: OpenLimits): Record<string, string> {
  const tmpFolder = process.platform === "linux" ? "/tmp" : tmp;
  const variables: Record<string, string> = {
    TMPDIR: tmpFolder,
    TMP: tmpFolder,
    TEMP: tmpFolder,
    npm_config_cache: path.join(tmpFolder, ".npm"), // the home is not writable
    ...(view && { XDG_CACHE_HOME: path.join(tmpFolder, ".cache") }), // and not visible
  };
  if (!proxy) return variables;
  const proxyUrl = `http://127.0.0.1:${proxy.port ?? PORT}`;
  const proxyVariables = split("http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy");
  // The command's own servers are on the sandbox's loopback, unless the machine's is allowed.
  const localNames = ["localhost", "127.0.0.1", "::1"];
  const isAllowed = (net as string[]).some((allowedHost) =>
    localNames.some((localName) => allowedHost.replace(/[[\]]/g, "").startsWith(localName)),
  );
  const withoutProxy = isAllowed ? "" : localNames.join(",");
  return {
    ...variables,
    ...Object.fromEntries(proxyVariables.map((variable) => [variable, proxyUrl])),
    NO_PROXY: withoutProxy,
    no_proxy: withoutProxy,
    NODE_USE_ENV_PROXY: "1",
  };
}

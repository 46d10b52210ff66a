// The profile of a sandbox on macOS.
import path from "node:path";
import { isInside, isInsideAny } from "zz/text";
import { repositoryPaths } from "./guarded-files.ts";
import { real } from "./resolve-paths.ts";
import { byDepth, foldersAbove, type OpenLimits, pathFolders } from "./sandbox-limits.ts";
import { IN_GIT } from "./self-running-files.ts";

/**
 * What else a command could do outside of its files: other programs would act for it. Not every
 * macOS knows each of these; findSandbox() tries them.
 */
export const OUTSIDE = [
  // Other processes, which bubblewrap hides by a namespace of its own.
  "(deny signal) (allow signal (target same-sandbox))",
  "(deny process-info*) (allow process-info* (target same-sandbox))",
  "(deny mach-priv-task-port)",
  // Programs that are asked to open something, or to run it: they are in no sandbox.
  "(deny appleevent-send)",
  "(deny lsopen)",
  "(deny job-creation)",
  `(deny mach-lookup ${[
    "com.apple.coreservices.launchservicesd",
    "com.apple.lsd.open",
    "com.apple.coreservices.appleevents",
    // The keychain.
    "com.apple.SecurityServer",
    "com.apple.securityd.xpc",
    "com.apple.secd",
    "com.apple.security.agent",
    "com.apple.security.authhost",
    "com.apple.ctkd.token-client",
    "com.apple.accountsd.accountmanager",
    // The pasteboard, the screen, the person's own data.
    "com.apple.pasteboard.1",
    "com.apple.pbs.fetch_services",
    "com.apple.windowserver.active",
    "com.apple.screencapture.interactive",
    "com.apple.replayd",
    "com.apple.tccd",
    "com.apple.AddressBook.ContactsAccountsService",
    // Requests that another program makes.
    "com.apple.nsurlsessiond",
    "com.apple.nsurlstorage-cache",
    "com.apple.CoreLocation.agent",
  ]
    .map((serviceName) => `(global-name ${JSON.stringify(serviceName)})`)
    .join(" ")})`,
];

/** Those of them that this macOS knows, once they were tried. */
let enforcedRules: readonly string[] = OUTSIDE;
export const outsideRules = (): readonly string[] => enforcedRules;

/** Whether a profile works here at all, and which of these rules do. */
export async function tryRules(
  tryRule: (sandboxRule: string) => Promise<string | undefined>,
): Promise<boolean> {
  const [plainResult, ...ruleResults] = await Promise.all(["", ...OUTSIDE].map(tryRule));
  enforcedRules = OUTSIDE.filter((_, i) => ruleResults[i]);
  return plainResult !== undefined;
}

/** Shared by all programs: bubblewrap gives a command its own. */
const SHARED_FOLDERS = ["/private/tmp", "/private/var/tmp", "/private/var/folders"];

/**
 * Written with care, since no test here can run it: a test reads it by the rule that the last match
 * wins.
 */
export function seatbeltProfile(
  openLimits: OpenLimits,
  outside: readonly string[] = enforcedRules,
): string[] {
  const { root, pin = [], tmp, net, proxy } = openLimits;
  const plannedPaths = planPaths(openLimits);
  const { writable, never, guarded, shown, hidden, needed, locked } = plannedPaths;
  const openPaths = [...shown, ...needed, ...writable, root, tmp];
  const foldersOnTheWay = [...new Set(openPaths.flatMap(foldersAbove))].filter((target) =>
    isInsideAny(hidden, target),
  );
  // A folder that is moved takes what is hidden or guarded in it to a path that no rule names.
  const immovable = [
    ...hidden,
    ...real(pin),
    ...never,
    ...guarded,
    ...locked,
    path.join(root, ".git"),
  ];
  const unmovable = [
    ...new Set(immovable.flatMap((target) => [target, ...foldersAbove(target)])),
  ].filter((target) => isInsideAny(writable, target));
  const profileRules = [
    "(version 1) (allow default) (deny file-write*)",
    ...layersOf(openLimits, plannedPaths)
      .sort(byDepth)
      .map(({ at, rule }) => rule.replace("{}", () => `(subpath ${quotePath(at)})`)),
    ruleFor("(allow file-read-metadata", "literal", foldersOnTheWay),
    ...never.map(
      (target) => `(deny file-write* (subpath ${quotePath(target)}) ${anyCase(target)})`,
    ),
    ruleFor("(deny file-write-unlink", "literal", unmovable),
    ruleFor("(allow file-write*", "literal", [
      "/dev/null",
      "/dev/zero",
      "/dev/stdout",
      "/dev/stderr",
      "/dev/dtracehelper",
    ]),
    // what the person types elsewhere
    '(deny file-read* file-write* file-ioctl (regex #"^/dev/tty"))',
    net === "all" ? "(deny network-outbound (remote unix-socket))" : "(deny network*)",
    net === "all" ? '(allow network-outbound (literal "/private/var/run/mDNSResponder"))' : "",
    proxy ? `(allow network-outbound (remote ip "localhost:${proxy.port}"))` : "",
    ...outside,
  ];
  return ["-p", profileRules.filter(Boolean).join("\n")];
}

function planPaths(openLimits: OpenLimits) {
  const { root, write, hide, keep = [], show = [], readonly, service, guard } = openLimits;
  const { write: gitWritable, guard: guardedGits } = repositoryPaths(root);
  const serviceFiles = readonly && service ? real(write) : [];
  const writable = readonly ? serviceFiles : [...real([root, ...write]), ...gitWritable];
  const pathsInGit = IN_GIT.map((fileName) => path.join(root, ".git", fileName));
  const never = [...new Set([...pathsInGit, ...guardedGits])];
  const guarded = guard ? [...guard.readonly, ...guard.copies.map(({ at }) => at)] : [];
  const shown = real(show);
  const hidden = [...real(hide).filter((target) => !shown.includes(target)), ...SHARED_FOLDERS];
  const isSecret = (target: string) =>
    hidden.some((hiddenFolder) => isInside(hiddenFolder, target) && !isInside(hiddenFolder, root));
  const needed = real([process.execPath, ...pathFolders()]).filter((target) => !isSecret(target));
  const locked = real(keep);
  return { writable, never, guarded, shown, hidden, needed, locked };
}

/** As with mounts, the innermost rule wins; of two about one path, the later one here. */
function layersOf(
  { root, tmp, guard }: OpenLimits,
  { writable, guarded, shown, hidden, needed, locked }: ReturnType<typeof planPaths>,
): Layer[] {
  return [
    ...makeLayers(hidden, "(deny file* {})"),
    ...makeLayers([...shown, ...needed, root], "(allow file-read* {})"),
    ...makeLayers([...writable, tmp], "(allow file-read* file-write* {})"),
    ...makeLayers(guarded, "(deny file-write* {})"),
    ...makeLayers(guard?.writable ?? [], "(allow file-write* {})"),
    ...makeLayers(locked, "(deny file-write* {})"),
  ];
}

const makeLayers = (targets: string[], rule: string): Layer[] =>
  targets.map((at) => ({ at, rule }));

interface Layer {
  at: string;
  rule: string;
}
const ruleFor = (ruleStart: string, matcher: string, targetPaths: string[]): string =>
  targetPaths.length
    ? `${ruleStart} ${targetPaths.map((target) => `(${matcher} ${quotePath(target)})`).join(" ")})`
    : "";
const quotePath = (target: string): string => JSON.stringify(target);
export const subpathsOf = (targets: string[]): string =>
  targets.map((target) => `(subpath ${quotePath(target)})`).join(" ");

/**
 * The disk may take a capital and a small letter for the same: git finds its hooks in `.GIT/Hooks`,
 * too.
 */
function anyCase(target: string): string {
  const letters = (pathText: string) =>
    pathText.replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  const escapedPath = target.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const nameOffset = escapedPath.search(/\/\\\.(git|zz)\b/i);
  return target.includes('"') || nameOffset < 0
    ? ""
    : "(regex " +
        `#"^${escapedPath.slice(0, nameOffset)}${letters(escapedPath.slice(nameOffset))}(/|$)")`;
}

// npm fetches a package and those that it needs. It runs in a folder of zz's with the person's own
// .npmrc: a cloned project must not decide where packages come from.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Ctx } from "zz";
import { anyOf, errnoSentence, fault, makeFolder, textOf, tryTo } from "zz/text";
import { counter, filesIn, plain, WITH_PACKAGES } from "./files.ts";
import { type ProgramResult, run } from "./program.ts";

/** package-lock.json. */
export interface NpmLock {
  packages: Record<string, NpmPackage>;
}
interface NpmPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  dependencies?: Record<string, string>;
}
export interface Installed {
  pluginPath: string; // the package's folder, with all that it needs in its node_modules
  base: string; // its name
  integrity: string | undefined;
  lock: NpmLock;
}

const LOCK_FILE = "package-lock.json";
const TIMEOUT_MS = 120_000;
const LOOK_MS = 500; // how often the size of what npm unpacks is looked at
const LENT_NAME = "zz"; // a peer of most plugins, which the registry's package of that name is not

/**
 * No script runs and no git, and not by the flag alone: npm 10 runs `prepare` of a folder in spite
 * of --ignore-scripts, and every npm prepares a package from git by a second npm that obeys the
 * repository's .npmrc, which can name any program as git.
 */
const optionsFor = (folder: string): string[] => [
  "--json",
  "--ignore-scripts",
  `--script-shell=${folder}/no-shell-for-npm`,
  `--git=${folder}/no-git-for-npm`,
  "--allow-git=none",
  "--allow-file=root",
  "--allow-directory=root",
  "--omit=dev",
  "--no-bin-links",
  "--package-lock=true",
  "--install-strategy=shallow",
  "--install-links",
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--no-progress",
  "--color=false",
  "--loglevel=error",
  "--logs-max=0",
  "--fetch-retries=1",
  "--fetch-retry-mintimeout=1000",
  "--prefix",
  folder,
];

/**
 * `spec` is a package of the registry, or a file or folder in `folder`. known: the lock of before,
 * to get exactly the same.
 */
export async function installPackage(
  spec: string,
  folder: string,
  ctx: Ctx,
  previousLock?: NpmLock,
): Promise<Installed> {
  await assertRegistryAllowed(folder, ctx);
  const dependencies = {
    ...previousLock?.packages[""]?.dependencies,
    [LENT_NAME]: `file:${LENT_NAME}`,
  };
  const writeJson = (relativeFile: string, content: object) =>
    fs.writeFileSync(path.join(folder, relativeFile), JSON.stringify(content));
  makeFolder(path.join(folder, LENT_NAME));
  writeJson(path.join(LENT_NAME, "package.json"), { name: LENT_NAME, version: "0.0.0" });
  writeJson("package.json", {
    name: "plugins-of-zz",
    private: true,
    dependencies,
    overrides: { [LENT_NAME]: `$${LENT_NAME}` },
  });
  if (previousLock) writeJson(LOCK_FILE, previousLock);
  await whileSmall(folder, ctx, (signal) => {
    const npmArgs = previousLock
      ? ["ci", ...optionsFor(folder)]
      : ["install", ...optionsFor(folder), "--", spec];
    return runNpm(npmArgs, folder, { programs: ctx.programs, io: ctx.io, signal });
  });
  const lock: NpmLock = JSON.parse(textOf(path.join(folder, LOCK_FILE)));
  const base = ownName(lock);
  if (!base)
    throw fault(
      `'${LENT_NAME}' is what zz lends to plugins, so none can have that name. Rename it`,
    );
  const [modules, ownPackage] = [
    path.join(folder, "node_modules"),
    lock.packages[`node_modules/${base}`]!,
  ];
  const pluginPath = path.join(modules, base);
  for (const [packageName, { link, resolved = "" }] of packagesIn(lock)) {
    assertSource(packageName, link ? "file:" : resolved, ctx);
    const [currentPath, nestedPath] = [
      path.join(modules, packageName),
      path.join(pluginPath, "node_modules", packageName),
    ];
    if (!fs.existsSync(currentPath) || fs.existsSync(nestedPath)) continue;
    makeFolder(path.dirname(nestedPath)); // it is a peer, which npm puts beside the plugin
    fs.renameSync(currentPath, nestedPath);
  }
  fs.rmSync(path.join(pluginPath, ".npmrc"), { force: true });
  // Other versions of git and npm pack the same files otherwise: the files' own sums are compared.
  if (ownPackage.resolved?.startsWith("file:")) delete ownPackage.integrity;
  return { pluginPath, base, integrity: ownPackage.integrity, lock };
}

const ownName = (npmLock?: NpmLock): string | undefined =>
  Object.keys(npmLock?.packages[""]?.dependencies ?? {}).find(
    (packageName) => packageName !== LENT_NAME,
  );

/** The packages that a plugin needs, by their names. */
export function packagesIn(npmLock?: NpmLock): Map<string, NpmPackage> {
  const packages = new Map(
    Object.entries(npmLock?.packages ?? {}).map(([location, packageInfo]) => [
      location.split("node_modules/").at(-1)!,
      packageInfo,
    ]),
  );
  for (const packageName of ["", LENT_NAME, ownName(npmLock) ?? ""]) packages.delete(packageName);
  return packages;
}

/** An older npm takes packages from places that --allow-… keeps a newer one from. */
function assertSource(packageName: string, sourceUrl: string, ctx: Ctx): void {
  if (sourceUrl.startsWith("file:"))
    throw fault(`it needs '${plain(packageName)}' from a place on the author's own disk`);
  if (/^git/.test(sourceUrl)) throw fault(FROM_GIT);
  if (/^https?:/.test(sourceUrl)) assertAllowed(ctx, "net", new URL(sourceUrl).hostname);
}
const FROM_GIT =
  "it needs a package from git, where npm would obey what stands in the repository. " +
  "Only packages of a registry can be needed";

/** Unpacking can fill the disk, and npm sets no limit. */
async function whileSmall(
  folder: string,
  { io, signal }: Ctx,
  runLimited: (signal: AbortSignal) => Promise<unknown>,
) {
  const sizeGuard = new AbortController();
  const checkSize = () => void filesIn(folder, ".", NO_PACKAGES, counter(WITH_PACKAGES));
  let stopLooking = () => {};
  const lookLater = () => {
    stopLooking = io.clock.timer(LOOK_MS, () => {
      try {
        checkSize();
        lookLater();
      } catch (error) {
        sizeGuard.abort(error);
      }
    });
  };
  lookLater();
  await runLimited(AbortSignal.any([signal, sizeGuard.signal])).finally(() => stopLooking());
  checkSize();
}
const NO_PACKAGES = new Set<string>();

/**
 * Refuses at once what the gate denies; what the gate would ask about is part of the one question.
 */
export function assertAllowed(
  { permissions }: Ctx,
  effect: "read" | "write" | "run" | "net",
  accessName: string,
): void {
  const { verdict, why } = permissions.judge(effect, accessName);
  if (verdict === "deny")
    throw fault(`${effect} access to "${plain(accessName)}" is denied ${why}`, { exit: 4 });
}

/** Checks the host of the registry, which matters only if rules deny hosts. */
async function assertRegistryAllowed(folder: string, ctx: Ctx): Promise<void> {
  if (!ctx.permissions.rules.some(({ verdict, kind }) => verdict === "deny" && kind === "net"))
    return;
  const { stdout } = await runNpm(["config", "get", "registry", "--prefix", folder], folder, ctx);
  assertAllowed(ctx, "net", new URL(stdout.trim()).hostname);
}

async function runNpm(
  npmArgs: string[],
  cwd: string,
  ctx: Pick<Ctx, "programs" | "signal" | "io">,
): Promise<ProgramResult> {
  const npmResult = await run(ctx, "npm", npmArgs, {
    cwd,
    env: withoutSecrets(),
    limit: TIMEOUT_MS,
  });
  if (npmResult.code) throw fault(faultOf(npmResult));
  return npmResult;
}

/** An .npmrc may put any variable into an address. The person's own gets those that it names. */
function withoutSecrets(): Record<string, undefined> {
  const { npm_config_userconfig = path.join(os.homedir(), ".npmrc"), ...otherVariables } =
    process.env;
  const named = textOf(npm_config_userconfig);
  const isSecret = (variableName: string) =>
    /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i.test(variableName) && !named.includes(`\${${variableName}`);
  return Object.fromEntries(
    Object.keys(otherVariables).flatMap((variableName) =>
      isSecret(variableName) ? [[variableName, undefined]] : [],
    ),
  );
}

/** What npm's codes mean; {} is the package that its words name, or "it". */
const FAILURE_HINTS: [code: RegExp, why: string][] = [
  [/EALLOWGIT|no-git-for-npm/, FROM_GIT],
  [/EALLOWDIRECTORY|EALLOWFILE|no-shell-for-npm/, "it needs what lies on the author's own disk"],
  [/E404/, "npm's registry does not show {}. Check the name, and whether npm is logged in"],
  [/ETARGET/, "npm's registry does not have {}. Check the version"],
  [/ENOVERSIONS/, "npm's registry has that name, but no version of it. Check the name"],
  [/EINVALID\w*|EJSONPARSE/, "npm takes no such name or version as {}. Correct its package.json"],
  [/EBADPLATFORM|EBADENGINE/, "{} is not made for this system. Choose another version"],
  [/ERESOLVE/, "the packages that it needs do not fit together. Choose another version"],
  [/EINTEGRITY/, "what came is not what the registry announced (npm: EINTEGRITY). Try again"],
  [/TAR_BAD_ARCHIVE|TAR_ENTRY\w+|Z_\w+/, "the archive is damaged. Get it once more"],
  [/ENODATA/, "the archive is empty. Get it once more"],
  [/E401|E403|ENEEDAUTH|EOTP/, "the registry requires a login. Use npm login first"],
  [/E429/, "the registry wants fewer requests. Try again later"],
  [/E5\d\d/, "the registry has failed. Try again later"],
  [/ENOTCACHED/, "npm is set to work offline. Check npm's settings"],
  [
    anyOf(
      /ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ERR_SOCKET\w*/,
      /ENETUNREACH|EHOSTUNREACH|EPROTO|EIDLETIMEOUT/,
    ),
    "npm cannot reach its registry. Check the network, and npm's settings",
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO\w+|ERR_TLS\w*|ERR_SSL\w*/,
    "the registry's certificate is not trusted here. Check the network, and npm's cafile",
  ],
  [/FETCH_ERROR|invalid-json/, "what answers is no registry of npm. Check npm's settings"],
];

function faultOf({ stdout, stderr, code }: ProgramResult): string {
  const { error = {} } = (tryTo(() => JSON.parse(stdout)) ?? {}) as {
    error?: Record<string, string>;
  };
  const { detail = "", summary = "" } = error;
  const errorCode = error.code || /npm (?:error|ERR!) code (\w+)/.exec(stderr)?.[1] || "";
  const errorCodes = `${errorCode} ${/no-(git|shell)-for-npm/.exec(stderr)?.[0]}`;
  const failureHint = FAILURE_HINTS.find(([pattern]) => pattern.test(errorCodes))?.[1];
  if (failureHint) return failureHint.replace("{}", namedIn(`${summary} ${detail}`));
  const diskProblem = errnoSentence({ code: errorCode }).replace(/\.$/, "");
  if (diskProblem) return `npm cannot use its files: ${diskProblem}`;
  const shownError = plain(summary || detail || stderr || `exit code ${code}`);
  return `npm failed and said "${shownError}". Try npm by itself`;
}

/** The package in "… for left-pad@99.", "'@a/b@*' could not be found" or 'name "A B" of'. */
function namedIn(errorText: string): string {
  const [, quoted, bareName] =
    /["']([^"']+)["']|(?<=\s)((?:@[\w.-]+\/)?[\w.-]+@[^\s:,]+)/.exec(errorText) ?? [];
  const packageName = (quoted ?? bareName ?? "").replace(/@\*$|\.$/, "").replace(/^undefined@/, "");
  return packageName ? `'${plain(packageName)}'` : "it";
}

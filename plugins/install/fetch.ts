// Reads the plugin that a spec names into memory: npm and git fetch it; folders, files and archives are read.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { compare, decode, fault, isInside, tryTo } from "zz/text";
import { type Contents, MAX_BYTES, MAX_FILES, plain, sumOf, sumOfAll, TOO_LARGE, TOO_MANY } from "./contents.ts";
import type { Entry } from "./decode-archive.ts";
import { type ProgramResult, run } from "./program.ts";
import { hostOf, type Spec } from "./spec.ts";

export interface Fetched {
  contents: Contents;
  source: string; // described in words
  base: string; // the plugin's name, unless its package.json has one
  single: boolean; // a file, not a folder
  integrity: string;
  version?: string;
  commit?: string;
  notes: string[];
}
/** The version to restore. */
export type Pinned = { version?: string; commit?: string };
export interface FetchContext {
  ctx: Ctx;
  work: string; // an empty folder
  home: string; // the folder of zz's package
}

const TIMEOUT = 120_000; // ms for npm or git
const HEADER_BYTES = 60e6; // of an archive, in addition to its files
const ARCHIVE = { megabytes: 1_000, seconds: 60, most: 256 };
const SOURCE_FILE = /\.[cm]?[jt]s$/;

export async function fetchSpec(spec: Spec, context: FetchContext, pinned: Pinned = {}): Promise<Fetched> {
  const fetched = await {
    npm: () => fromNpm(spec as never, context, pinned),
    git: () => fromGit(spec as never, context, pinned),
    path: () => fromPath((spec as { file: string }).file, context.ctx),
    example: () => fromExample((spec as { name: string }).name, context.home),
  }[spec.kind]();
  const { single } = fetched;
  if (single) return fetched;
  const contents = new Map([...fetched.contents].sort(([a], [b]) => compare(a, b)));
  fetched.contents = contents;
  const bundled = [...contents.keys()].filter((name) => /(^|\/)(node_modules|\.git)\//.test(name));
  for (const name of bundled) contents.delete(name);
  // An .npmrc could tell npm where to get packages from, and which programs to run.
  if (contents.delete(".npmrc")) fetched.notes.push("Its .npmrc is left out.");
  if (contents.has(".gitmodules")) fetched.notes.push("Its submodules are not fetched.");
  if (!fetched.integrity) fetched.integrity = sumOfAll(contents);
  return fetched;
}

// ── npm ──

const NPM_OPTIONS = [
  ...["--json", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"],
  ...["--color=false", "--loglevel=error", "--logs-max=0", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"],
];

/**
 * npm runs in a folder of zz's, with the person's own .npmrc: a cloned project must not decide where packages come
 * from.
 */
async function fromNpm(
  spec: { name: string; text: string },
  { ctx, work }: FetchContext,
  pinned: Pinned,
): Promise<Fetched> {
  fs.writeFileSync(path.join(work, "package.json"), "{}");
  const wanted = pinned.version ? `${spec.name}@${pinned.version}` : spec.text;
  const args = ["pack", ...NPM_OPTIONS, "--pack-destination", work, "--prefix", work, "--", wanted];
  const { out } = await npm(args, work, ctx);
  const packed = [JSON.parse(out.toString())]
    .flat()
    .flatMap((one) => (one.integrity ? [one] : Object.values<any>(one)))[0];
  const [integrity, version] = [String(packed?.integrity), String(packed?.version)];
  const file = path.join(work, fs.readdirSync(work).find((name) => name.endsWith(".tgz"))!);
  if (fs.statSync(file).size > MAX_BYTES) throw fault(TOO_LARGE);
  const bytes = fs.readFileSync(file);
  if (!integrity.startsWith("sha512-") || sumOf(bytes) !== integrity)
    throw fault("what npm fetched is not what it announced: the integrity differs. Try again");
  const base = { contents: await unpacked(bytes, true, ctx), base: spec.name, single: false, notes: [] };
  return { ...base, source: `npm package ${wanted}`, integrity, version };
}

type RunContext = Pick<Ctx, "programs" | "signal" | "io">;

export async function npm(args: string[], cwd: string, ctx: RunContext): Promise<ProgramResult> {
  const ran = await run(ctx, "npm", args, { cwd, limit: TIMEOUT });
  if (ran.code) throw fault(npmFault(ran));
  return ran;
}

/** Installs a plugin's own packages next to it. None of their scripts run. */
export async function installPackages(folder: string, exactly: boolean, ctx: RunContext): Promise<void> {
  const options = ["--omit=dev", "--package-lock=true", "--install-links=false", "--prefix", folder];
  await npm([exactly ? "ci" : "install", ...NPM_OPTIONS, ...options], folder, ctx);
}

const NETWORK = /^(ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH)$/;

function npmFault({ out, err, code }: ProgramResult): string {
  const { error = {} } = (tryTo(() => JSON.parse(out.toString())) ?? {}) as { error?: Record<string, unknown> };
  const name = String(error.code ?? /npm (?:error|ERR!) code (\w+)/.exec(err)?.[1] ?? "");
  if (name === "E404") return `there is no such package${missing(error)} (npm: E404). Check the name`;
  if (name === "ETARGET") return "it has no such version (npm: ETARGET). Check the version";
  if (NETWORK.test(name)) return `npm cannot reach its registry (${name}). Check the network, and npm's settings`;
  if (/^(E401|E403|ENEEDAUTH)$/.test(name)) return `the registry requires a login (npm: ${name}). Use npm login first`;
  if (name === "EINTEGRITY") return "what came is not what the registry announced (npm: EINTEGRITY). Try again";
  const line = err.split("\n").find((one) => one.trim() && !/^npm (error|ERR!) code/.test(one)) ?? `exit code ${code}`;
  return `npm failed: ${plain(error.summary || line.replace(/^npm (error|ERR!) /, ""))}`;
}

/** The package that npm did not find, which may be one that the plugin needs. */
const missing = ({ detail }: Record<string, unknown>): string => {
  const name = /'([^']+)'/.exec(String(detail ?? ""))?.[1];
  return name ? ` as '${plain(name.replace(/@\*$/, ""))}'` : "";
};

/** `strip`: leaves out the top folder. */
async function unpacked(bytes: Buffer, strip: boolean, ctx: Ctx): Promise<Contents> {
  const archive = { job: "decode-archive", near: import.meta.url, bytes, how: { strip }, ...ARCHIVE };
  const { value, bytes: files } = await decode<Entry[]>(archive, ctx);
  return new Map(value.map(([name, runs], i) => [name, { bytes: files[i]!, ...(runs && { runs }) }]));
}

// ── git ──

/** Archives the commit instead of checking it out, so that no filter and no hook runs. */
async function fromGit(
  { url, ref }: { url: string; ref: string },
  { ctx, work }: FetchContext,
  pinned: Pinned,
): Promise<Fetched> {
  const git = async (...args: string[]) => {
    const settings = ["-c", "core.hooksPath=/dev/null", "-c", "credential.interactive=false", "-c", "gc.auto=0"];
    const env = { GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh", GIT_SSH_COMMAND: ssh };
    const how = { cwd: work, env, limit: TIMEOUT, maxBytes: MAX_BYTES + HEADER_BYTES };
    return run(ctx, "git", [...settings, "--git-dir", path.join(work, "git"), ...args], how);
  };
  const gitOrThrow = async (...args: string[]) => {
    const ran = await git(...args);
    if (ran.code) throw fault(gitFault(ran));
    return ran;
  };
  let ssh = process.env.GIT_SSH_COMMAND ?? "";
  await gitOrThrow("init", "-q", "--bare", "--template=", path.join(work, "git"));
  if (!url.includes("://") || url.startsWith("ssh:")) {
    const { out } = await git("config", "--get", "core.sshCommand");
    ssh = `${ssh || out.toString().trim() || "ssh"} -o BatchMode=yes`;
  } else ssh = ssh || "ssh -o BatchMode=yes";
  const commit = await commitOf(pinned.commit ?? ref);
  if (pinned.commit && commit !== pinned.commit)
    throw fault(`commit ${pinned.commit} is not in it any more. --update takes what there is now`);
  const { out } = await gitOrThrow("archive", "--format=tar", commit);
  const base = path.posix.basename(url.split(":").at(-1)!.replace(/\/+$/, "")).replace(/\.git$/, "");
  const notes = /^(http|git):/.test(url) ? ["It came without encryption."] : [];
  const source = `git repository ${url}${ref ? `, ${ref}` : ""}`;
  return { contents: await unpacked(out, false, ctx), source, base, single: false, integrity: "", commit, notes };

  async function commitOf(wanted: string): Promise<string> {
    const fetch = ["fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    const one = await git(...fetch, "--depth=1", "--", url, `+${wanted || "HEAD"}:refs/zz/wanted`);
    if (!one.code) return hashOf("refs/zz/wanted");
    // Not every server gives a commit by its hash, and a short hash can only be found after fetching everything.
    if (!/^[0-9a-f]{7,64}$/.test(wanted)) throw fault(gitFault(one, wanted));
    await gitOrThrow(...fetch, "--", url, "+refs/*:refs/zz/*");
    return hashOf(wanted);
  }
  async function hashOf(name: string): Promise<string> {
    const { code, out } = await git("rev-parse", "-q", "--verify", "--end-of-options", `${name}^{commit}`);
    if (code) throw fault(`it has no branch, tag or commit '${plain(name)}'. Check what follows the #`);
    return out.toString().trim();
  }
}

function gitFault({ err, code }: ProgramResult, ref = ""): string {
  const line = err.split("\n").find((one) => /^(fatal|error|ERROR): /.test(one)) ?? err.trim().split("\n")[0];
  const message = plain(line?.replace(/^(fatal|error|ERROR): /, "") || `exit code ${code}`).replace(/\.$/, "");
  if (
    /could not read (Username|Password)|Authentication failed|terminal prompts disabled|Permission denied|Host key verification|returned error: 40[13]/i.test(
      err,
    )
  )
    return `it is private, or is not there: git was asked to log in, and nothing was typed for it (${message}). Let git's credentials or an ssh agent know it`;
  if (/Could not resolve|Failed to connect|Couldn't connect|Connection (refused|timed out)|unreachable/i.test(err))
    return `git cannot reach it (${message}). Check the network`;
  if (/couldn't find remote ref/.test(err))
    return ref ? `it has no branch, tag or commit '${plain(ref)}'. Check what follows the #` : "it is empty";
  if (/not appear to be a git repository|repository .*not found|not found$/im.test(err))
    return `there is no such repository (${message}). Check the URL`;
  return `git failed: ${message}`;
}

// ── the disk ──

/** The examples that come with zz, as zz/NAME, and their paths. */
export function examples(home: string): Map<string, string> {
  const folder = path.join(home, "plugins", "examples");
  const names = fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((one) => !/^[._]|\.test\.|\.d\.ts$|\.md$/.test(one))
    : [];
  return new Map(names.map((one) => [`zz/${one.replace(SOURCE_FILE, "")}`, path.join(folder, one)]));
}

function fromExample(name: string, home: string): Fetched {
  const known = examples(home);
  const entry = known.get(`zz/${name}`);
  const all = [...known.keys()].join(", ");
  if (!entry) throw fault(`there is no such example. ${all ? `There are: ${all}` : "This zz brings none"}`);
  return { ...read(entry), source: "an example that zz brings" };
}

async function fromPath(file: string, ctx: Ctx): Promise<Fetched> {
  if (!/\.(tgz|tar\.gz|tar)$/.test(file) || fs.statSync(file, { throwIfNoEntry: false })?.isDirectory())
    return read(file);
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) throw fault("there is no such file. Check the path");
  if (stat.size > MAX_BYTES) throw fault(TOO_LARGE);
  const bytes = fs.readFileSync(file);
  const base = path.basename(file).replace(/\.(tgz|tar\.gz|tar)$/, "");
  return {
    contents: await unpacked(bytes, true, ctx),
    source: file,
    base,
    single: false,
    integrity: sumOf(bytes),
    notes: [],
  };
}

function read(file: string): Fetched {
  const top = fs.statSync(file, { throwIfNoEntry: false });
  if (!top) throw fault("there is no such file or folder. Check the path");
  const base = path.basename(file).replace(SOURCE_FILE, "");
  const single = top.isFile();
  if (single && !SOURCE_FILE.test(file)) throw fault("a plugin is a .ts or .js file, a folder or a .tgz. Name one");
  if (!single && !top.isDirectory()) throw fault("it is neither a file nor a folder. Name one");
  if (single && top.size > MAX_BYTES) throw fault(TOO_LARGE);
  const contents: Contents = new Map();
  let bytes = 0;
  if (single) contents.set(path.basename(file), { bytes: fs.readFileSync(file) });
  else walk(fs.realpathSync(file), "");
  const integrity = single ? sumOfAll(contents) : "";
  return { contents, source: file, base, single, integrity, notes: [] };

  function walk(real: string, under: string): void {
    for (const name of fs.readdirSync(path.join(real, under)).sort()) {
      if (name === "node_modules" || name === ".git") continue;
      const near = under ? `${under}/${name}` : name;
      const at = path.join(real, near);
      const to = fs.lstatSync(at).isSymbolicLink() ? linked(real, at, near) : at;
      const stat = fs.statSync(to);
      if (stat.isDirectory()) walk(real, near);
      else if (!stat.isFile()) throw fault(`'${plain(near)}' is neither a file nor a folder`);
      else {
        if (contents.size === MAX_FILES) throw fault(TOO_MANY);
        if ((bytes += stat.size) > MAX_BYTES) throw fault(TOO_LARGE);
        contents.set(near, { bytes: fs.readFileSync(to), ...(stat.mode & 0o111 && { runs: true }) });
      }
    }
  }
  /** A link to a file inside counts as that file. */
  function linked(real: string, at: string, near: string): string {
    const to = fs.existsSync(at) ? fs.realpathSync(at) : "";
    const leadsOut = !isInside(real, to);
    if (!to || leadsOut || !fs.statSync(to).isFile())
      throw fault(
        `'${plain(near)}' is a link ${to ? `to '${plain(to)}', which ${leadsOut ? "leads out of it" : "is not a file"}` : "to nothing"}`,
      );
    return to;
  }
}

/** The needs of a spec, for the gate, before anything is fetched. */
export function needsOf(spec: Spec): { run?: string; net?: string; read?: string } {
  if (spec.kind === "npm") return { run: `npm pack ${spec.text}` };
  if (spec.kind === "git") {
    const host = hostOf(spec.url);
    return {
      run: `git fetch ${spec.url}`,
      ...(host ? { net: host } : { read: decodeURIComponent(new URL(spec.url).pathname) }),
    };
  }
  return spec.kind === "path" ? { read: spec.file } : {};
}

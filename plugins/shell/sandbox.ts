// sandbox: what a command can reach, held by the system itself: bubblewrap on Linux, sandbox-exec on macOS.
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Gateway } from "./proxy.ts";

export interface Limits {
  root: string; // writable, but for what runs later outside
  write: string[]; // writable as well
  hide: string[]; // neither read nor written; CREDENTIALS always are
  keep?: string[]; // read, and not written
  pin?: string[]; // what is hidden by its place: the folders above it cannot be moved
  show?: string[]; // not hidden, though on a list or in a hidden folder
  net: "none" | "all" | string[]; // hosts: reached by a proxy
  tmp?: string; // the folder that is /tmp within; absent: one of its own, for as long as it is open
}
export interface Sandbox {
  name: string; // "bubblewrap", "sandbox-exec"
  wrap(argv: string[]): { argv: string[]; env: Record<string, string> };
  settle?(): string[]; // after a command: what it was refused, what had to be put right
  close(): void;
}

/** Relative to the person's home, or absolute. */
export const CREDENTIALS = [
  ...[".ssh", ".gnupg", ".netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli"],
  ...[".config/hub", ".aws", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".kube", ".docker/config.json"],
  ...[".config/containers/auth.json", ".config/rclone", ".config/op", ".config/doctl", ".terraformrc", ".terraform.d"],
  ...[".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials"],
  ...[".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json"],
  ...[
    ".huggingface/token",
    ".cache/huggingface/token",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
  ],
  ...[".gemini", ".pgpass", ".my.cnf", ".vault-token", ".password-store", ".local/share/keyrings", ".mozilla"],
  ...[".config/google-chrome", ".config/chromium", ".zz", "Library/Keychains", "/etc/shadow", "/etc/gshadow"],
];

/** Which one works here. It is really tried, since a machine may have bubblewrap and forbid what it does. */
export async function findSandbox(): Promise<string | undefined> {
  if (process.platform === "darwin")
    return (
      (await tell("/usr/bin/sandbox-exec", ["-p", "(version 1)(allow default)", "/usr/bin/true"])) && "sandbox-exec"
    );
  const program = process.platform === "linux" && locate([process.cwd()]);
  if (!program) return;
  const trial = ["--perms", "0000", "--tmpfs", "/tmp", "--remount-ro", "/tmp", "--", "readlink", "/proc/self/ns/net"];
  const own = await tell(program, [...BASE, ...SYSTEM.flatMap((mount) => mount.args), ...trial]);
  return own?.startsWith("net:") && own !== fs.readlinkSync("/proc/self/ns/net") ? "bubblewrap" : undefined;
}

/** By its whole path, and never from a folder that a command can write to: it would run in place of the sandbox. */
function locate(avoid: string[]): string | undefined {
  const safe = (at: string) => !at.includes("/node_modules/") && !avoid.some((folder) => under(at, folder));
  return real(pathFolders().map((folder) => path.join(folder, "bwrap"))).find(safe);
}

function pathFolders(): string[] {
  return (process.env.PATH ?? "").split(":").filter(path.isAbsolute);
}

function tell(program: string, args: string[]): Promise<string | undefined> {
  return new Promise((resolve) =>
    execFile(program, args, { timeout: 5_000, killSignal: "SIGKILL" }, (error, out) =>
      resolve(error ? undefined : out.trim() || "yes"),
    ),
  );
}

export async function openSandbox(limits: Limits): Promise<Sandbox> {
  const root = fs.realpathSync(limits.root);
  const mac = process.platform === "darwin";
  const program = mac ? "/usr/bin/sandbox-exec" : locate(real([root, ...limits.write]));
  if (!program)
    throw new Error("Cannot open a sandbox: bubblewrap is not in PATH. Install it, as by apt-get install bubblewrap.");
  const own = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "zz-sandbox-")));
  const inner: Inner = { ...limits, root, own, tmp: limits.tmp ?? path.join(own, "tmp") };
  fs.mkdirSync(inner.tmp, { recursive: true, mode: 0o700 });
  if (Array.isArray(limits.net) && limits.net.length) {
    const { openProxy } = await import("./proxy.ts");
    inner.proxy = await openProxy(limits.net, mac ? undefined : path.join(own, SOCKET));
  }
  const watch = watcher(root);
  return {
    name: mac ? "sandbox-exec" : "bubblewrap",
    wrap(argv) {
      watch.begin();
      return { argv: [program, ...(mac ? seatbelt(inner) : bubblewrap(inner)), ...argv], env: environment(inner) };
    },
    settle: () => [...(inner.proxy?.refused() ?? []), ...watch.end()],
    close() {
      inner.proxy?.close();
      clear(own);
    },
  };
}

/** Commands leave folders that nobody may write to, Go's among them. */
function clear(folder: string): void {
  if (!fs.existsSync(folder)) return; // closed twice
  const open = (at: string): void => {
    fs.chmodSync(at, 0o700);
    for (const entry of entries(at)) if (entry.isDirectory()) open(path.join(at, entry.name));
  };
  open(folder);
  fs.rmSync(folder, { recursive: true, force: true });
}

type Inner = Limits & { own: string; tmp: string; proxy?: Gateway };
const SOCKET = "proxy";
const PORT = 61_080; // of the sandbox's own loopback, where nothing else listens

function environment({ net, proxy, tmp }: Inner): Record<string, string> {
  const at = process.platform === "linux" ? "/tmp" : tmp;
  const env = { TMPDIR: at, TMP: at, TEMP: at, npm_config_cache: path.join(at, ".npm") }; // the home is not writable
  if (!proxy) return env;
  const url = `http://127.0.0.1:${proxy.port ?? PORT}`;
  const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
  // What a command starts itself is on its own loopback, unless the machine's is allowed.
  const local = ["localhost", "127.0.0.1", "::1"];
  const meant = (net as string[]).some((host) => local.some((name) => host.replace(/[[\]]/g, "").startsWith(name)));
  const direct = meant ? "" : local.join(",");
  return {
    ...env,
    ...Object.fromEntries(names.map((name) => [name, url])),
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1",
  };
}

// ── bubblewrap ─────────────────────────────────────────────────────────────────────────────────────────

// Without a capability, even for root.
const BASE = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/"];

interface Mount {
  at: string;
  args: string[];
  seal?: boolean; // made read-only when all is mounted
}

/** root may write to /proc/sys without any capability, so that is read-only by itself. */
const SYSTEM: Mount[] = [
  { at: "/dev", args: ["--dev", "/dev"] },
  { at: "/proc", args: ["--proc", "/proc"] },
  { at: "/proc/sys", args: ["--ro-bind", "/proc/sys", "/proc/sys"] },
];

function bubblewrap(limits: Inner): string[] {
  const mounts = plan(limits);
  return [
    ...BASE,
    ...(limits.net === "all" ? ["--share-net"] : []),
    ...mounts.flatMap((mount) => mount.args),
    ...mounts.filter((mount) => mount.seal).flatMap((mount) => ["--remount-ro", mount.at]),
    "--",
    ...(limits.proxy ? [process.execPath, "-e", BRIDGE, "--", String(PORT), INSIDE] : []),
  ];
}

const INSIDE = "/run/zz-proxy";

/** Outer folders before inner ones, so that the inner one counts; on one path the kind that stands later here does. */
function plan({ root, write, hide, keep = [], pin = [], show = [], tmp, own, proxy }: Inner): Mount[] {
  const git = repository(root);
  const shown = real(show);
  const denied = real([...hide, ...credentials()]).filter((at) => !shown.includes(at));
  const secret = (at: string) => denied.some((folder) => under(at, folder) && !under(root, folder));
  const within = (at: string, folders: string[]) => folders.some((folder) => under(at, folder));
  const locked = real(keep);
  const pinned = [...new Set(real(pin).flatMap((at) => above(at, root)))].filter((at) => !within(at, locked));
  const writable = [...real([root, ...write]).filter((at) => !secret(at)), ...git.write].filter(
    (at) => !within(at, locked),
  );
  const reached = (at: string) => !within(at, ["/tmp", "/run"]) || within(at, [...writable, ...locked]);
  const hidden = [...denied, ...denied.flatMap((at) => twins(at, root)), ...real(sockets())].filter(reached);
  // What a cover would take away as well, though it is needed: zz's own node, what PATH names, the name servers.
  const needed = real([process.execPath, "/etc/resolv.conf", ...pathFolders()]).filter((at) => !secret(at));
  const open = [...shown, ...needed].filter(
    (at) => !within(at, [...writable, ...locked]) && (secret(at) || !reached(at)),
  );
  const inner = [...writable, ...git.guard, ...open];
  const mounts = [
    { at: "/tmp", args: ["--bind", tmp, "/tmp"] },
    ...["/run", "/var/run"].filter(isFolder).map((at) => ({ at, args: ["--tmpfs", at], seal: true })),
    ...writable.map((at) => ({ at, args: ["--bind", at, at] })),
    ...git.guard.map((at) => (fs.existsSync(at) ? { at, args: ["--ro-bind", at, at] } : nothing(at))),
    ...open.map((at) => ({ at, args: ["--ro-bind", at, at] })),
    ...pinned.map((at) => ({ at, args: ["--bind", at, at] })),
    ...locked.map((at) => ({ at, args: ["--ro-bind", at, at] })),
    ...hidden
      .filter((at) => !hidden.some((folder) => folder !== at && under(at, folder) && !under(root, folder)))
      .map((at) =>
        cover(
          at,
          inner.some((one) => one !== at && under(one, at)),
        ),
      ),
    ...SYSTEM,
    ...(proxy ? [{ at: INSIDE, args: ["--ro-bind", path.join(own, SOCKET), INSIDE] }] : []),
  ];
  const depth = ({ at }: Mount) => at.split("/").filter(Boolean).length;
  return mounts.sort((a, b) => depth(a) - depth(b));
}

/** The folders between the project and a path in it: what is a mount cannot be moved. */
function above(at: string, root: string): string[] {
  const folder = path.dirname(at);
  return under(folder, root) && folder !== root ? [...above(folder, root), folder] : [];
}

function credentials(): string[] {
  return CREDENTIALS.map((name) => path.resolve(os.homedir(), name));
}

/** Nobody opens /dev/null where devices are forbidden, and nobody enters a folder of mode 0. */
function cover(at: string, holdsMore: boolean): Mount {
  if (!isFolder(at)) return { at, args: ["--ro-bind", "/dev/null", at] };
  return { at, args: ["--perms", holdsMore ? "0111" : "0000", "--tmpfs", at], seal: true };
}

function nothing(at: string): Mount {
  if (path.basename(at) === "config") return { at, args: ["--ro-bind", "/dev/null", at] };
  return { at, args: ["--tmpfs", at], seal: true };
}

/** A socket that something listens on is a way out, wherever it lies. */
function sockets(): string[] {
  try {
    const rows = fs.readFileSync("/proc/net/unix", "utf8").split("\n").slice(1);
    const listening = rows.filter((row) => row.split(/\s+/)[3] === "00010000" && row.includes(" /"));
    return listening.map((row) => row.slice(row.indexOf(" /") + 1));
  } catch {
    return [];
  }
}

/** The same file under another name in the project: a hard link. Looked for only if there is one somewhere. */
function twins(at: string, root: string): string[] {
  const wanted = fs.lstatSync(at);
  if (!wanted.isFile() || wanted.nlink < 2) return [];
  const found: string[] = [];
  const look = (folder: string): void => {
    for (const entry of entries(folder)) {
      const name = path.join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== "node_modules") look(name);
      const one = entry.isFile() && name !== at && fs.lstatSync(name, { throwIfNoEntry: false });
      if (one && one.ino === wanted.ino && one.dev === wanted.dev) found.push(name);
    }
  };
  look(root);
  return found;
}

function entries(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // gone, or not ours to read: not the command's either
  }
}

/** Runs within: listens where HTTP_PROXY says, hands on to the proxy's socket, and only then starts the command. */
const BRIDGE = `
const [port, socket, ...argv] = process.argv.slice(1);
const { connect, createServer } = require("node:net");
const both = { allowHalfOpen: true };
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => {});
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

// ── the repository ─────────────────────────────────────────────────────────────────────────────────────

interface Repository {
  write: string[]; // writable, though it may lie outside of the project
  guard: string[]; // read-only within that
  folders: string[]; // in which a file that is made could run something
}

/**
 * Git's configuration and hooks, and .zz, hold commands that others run later, outside. They stay as they are. `.git` is
 * mounted on itself: what is a mount cannot be moved out of the way.
 */
function repository(root: string): Repository {
  const git = path.join(root, ".git");
  const zz = path.join(root, ".zz");
  const entry = fs.lstatSync(git, { throwIfNoEntry: false });
  if (entry?.isDirectory()) return { write: [git], guard: [zz, ...always(git), ...sometimes(git)], folders: [git] };
  if (!entry?.isFile()) return { write: [], guard: [zz], folders: [] };
  const there = elsewhere(git);
  return { ...there, guard: [zz, git, ...there.guard] };
}

/** A worktree's or submodule's repository: a commit must write to it. */
function elsewhere(file: string): Repository {
  const root = path.dirname(file);
  const text = (...at: string[]) => read(path.join(...at))?.trim();
  const [folder] = real([path.resolve(root, text(file)!.replace(/^gitdir:\s*/, ""))]);
  // Only if it points back: a command could have made the file, and named any folder in it.
  const back = folder && text(folder, "gitdir");
  if (back && real([path.resolve(folder, back)])[0] === file) {
    const [common] = real([path.resolve(folder, text(folder, "commondir") ?? "")]);
    const own = [...always(folder).filter((at) => fs.existsSync(at)), ...sometimes(folder)];
    const guard = [...always(common!), ...sometimes(common!), ...own];
    return { write: [common!, path.dirname(folder), folder], guard, folders: [common!, folder] };
  }
  const tree = folder && /^\s*worktree\s*=\s*(.+)$/m.exec(text(folder, "config") ?? "")?.[1];
  if (!tree || real([path.resolve(folder, tree)])[0] !== root) return { write: [], guard: [], folders: [] };
  return { write: [folder], guard: [...always(folder), ...sometimes(folder)], folders: [folder] };
}

/** Kept from being made, too. */
function always(git: string): string[] {
  return ["config", "hooks"].map((name) => path.join(git, name));
}

const SOMETIMES = ["config.worktree", "commondir", "gitdir"]; // taken away if they are made

function sometimes(git: string): string[] {
  return SOMETIMES.map((name) => path.join(git, name)).filter((at) => fs.existsSync(at));
}

function read(at: string): string | undefined {
  return fs.existsSync(at) ? fs.readFileSync(at, "utf8") : undefined;
}

/** What cannot be kept from being made, since the file to cover it with would stay: looked at when the command is done. */
function watcher(root: string): { begin(): void; end(): string[] } {
  const [git, zz] = [path.join(root, ".git"), path.join(root, ".zz")];
  let places: string[] = [];
  let running = 0;
  const there = (at: string) => fs.lstatSync(at, { throwIfNoEntry: false }) !== undefined;
  return {
    begin() {
      if (running++) return;
      const inside = repository(root).folders.flatMap((folder) => SOMETIMES.map((name) => path.join(folder, name)));
      places = [git, zz, ...inside].filter((at) => !there(at));
    },
    end() {
      if (--running) return [];
      const made = places.filter(there);
      if (made.includes(zz)) fs.rmdirSync(zz); // the empty folder that the cover was on
      const taken = made.includes(git) ? tame(git) : made.filter((at) => at !== zz && remove(at));
      return taken.map((at) => `'${at}' could run commands outside of the sandbox: what could was taken out of it`);
    },
  };
}

function remove(at: string): boolean {
  fs.rmSync(at, { recursive: true, force: true });
  return true;
}

/** A repository that a command made keeps what cannot run anything. Gives what was taken from it. */
function tame(git: string): string[] {
  if (!fs.lstatSync(git).isDirectory()) return [git].filter(remove);
  const at = (name: string) => path.join(git, name);
  const taken = SOMETIMES.map(at).filter((one) => fs.lstatSync(one, { throwIfNoEntry: false }));
  const hooks = fs.lstatSync(at("hooks"), { throwIfNoEntry: false });
  if (hooks && !(hooks.isDirectory() && fs.readdirSync(at("hooks")).every((name) => name.endsWith(".sample"))))
    taken.push(at("hooks"));
  const config = fs.lstatSync(at("config"), { throwIfNoEntry: false });
  const text = config?.isFile() ? fs.readFileSync(at("config"), "utf8") : "";
  const kept = harmless(text);
  if (config && (!config.isFile() || kept !== text)) taken.push(at("config"));
  taken.forEach(remove);
  if (config) fs.writeFileSync(at("config"), kept);
  return taken;
}

const HARMLESS: Record<string, RegExp> = {
  core: /^(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks|precomposeunicode)$/i,
  extensions: /^(objectformat|refstorage|partialclone)$/i,
  user: /^(name|email)$/i,
  init: /^defaultbranch$/i,
  remote: /^(url|fetch|pushurl)$/i,
  branch: /^(remote|merge|rebase)$/i,
};

function harmless(config: string): string {
  let section: string | undefined;
  const lines = config.split("\n").filter((line) => {
    const head = /^\[(\w+)(?: "[^"\\\]]*")?\]$/.exec(line);
    if (head || line.trimStart().startsWith("[")) section = head?.[1]?.toLowerCase();
    if (head) return section! in HARMLESS;
    const key = /^\s*(\w+) = [^\\"#;]*$/.exec(line)?.[1];
    return line === "" || (key !== undefined && section !== undefined && HARMLESS[section]?.test(key));
  });
  return lines.join("\n");
}

// ── macOS ──────────────────────────────────────────────────────────────────────────────────────────────

/** By care: nothing here could try it. Later rules win. */
function seatbelt({ root, write, hide, keep = [], show = [], tmp, net, proxy }: Inner): string[] {
  const paths = (kind: string, list: string[]) => list.map((at) => `(${kind} ${JSON.stringify(at)})`).join(" ");
  const git = path.join(root, ".git");
  const never = [path.join(git, "hooks"), path.join(git, "config"), ...SOMETIMES.map((name) => path.join(git, name))];
  const shown = real(show);
  const hidden = real([...hide, ...credentials()]).filter((at) => !shown.includes(at));
  const rules = [
    "(version 1) (allow default) (deny file-write*)",
    `(allow file-write* ${paths("subpath", [...real([root, ...write]), ...repository(root).write, tmp])})`,
    `(allow file-write* ${paths("literal", ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper"])})`,
    `(deny file-write* ${paths("subpath", [...never, path.join(root, ".zz"), ...real(keep)])})`,
    hidden.length ? `(deny file-read* file-write* ${paths("subpath", hidden)})` : "",
    shown.length ? `(allow file-read* ${paths("subpath", shown)})` : "",
    net === "all" ? "" : "(deny network*)",
    proxy ? `(allow network-outbound (remote ip "localhost:${proxy.port}"))` : "",
  ];
  return ["-p", rules.join("\n")];
}

// ── paths ──────────────────────────────────────────────────────────────────────────────────────────────

/** As they are on the disk, links followed; what is not there is left out. */
function real(paths: string[]): string[] {
  const found = paths.flatMap((at) => {
    try {
      return [fs.realpathSync(at)];
    } catch {
      return [];
    }
  });
  return [...new Set(found)];
}

function under(at: string, folder: string): boolean {
  return at === folder || at.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function isFolder(at: string): boolean {
  return !!fs.lstatSync(at, { throwIfNoEntry: false })?.isDirectory();
}

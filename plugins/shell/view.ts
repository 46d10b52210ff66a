// view: a copy-on-write view of the project, on which a command runs that nobody was asked about.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Programs } from "zz";
import { isInside, textOf, tryTo } from "zz/text";
import { direntsOf, isFolder, real } from "./paths.ts";
import { startOf } from "./processes.ts";

export interface View {
  merged: string; // the project as the command sees it, inside a mount namespace of its own
  upper: string; // what the command changed
  own: string; // where all of that lies
  wrap(argv: string[]): string[];
  list(folders: string[]): Promise<Set<string> | undefined>; // what is left in them; undefined: cannot be told. Bytes, as latin1
  began: number; // by the disk's clock
  close(): void;
}

/** Why there is no view of this project here; undefined: there is one. Really tried, once for each project. */
const tried = new Map<string, Promise<string | undefined>>();
export async function whyNoView(programs: Programs, root: string, home?: string): Promise<string | undefined> {
  if (process.platform !== "linux") return "only Linux has overlays";
  if (mountsIn(root)) return "another file system is mounted inside the project";
  const known = tried.get(root) ?? trial(programs, root, home);
  tried.set(root, known);
  return known;
}

async function trial(programs: Programs, root: string, home?: string): Promise<string | undefined> {
  const tools = toolsOf(programs);
  if (typeof tools === "string") return tools;
  let why = "no folder for temporary files can hold one";
  for (const base of bases(root, home)) {
    sweep(base);
    const view = make(programs, tools, root, base);
    try {
      const bwrap = ["--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--bind", view.merged, root];
      const script = ["sh", "-c", 'echo ok > "$0/.zz-trial"', root];
      const argv = view.wrap([tools.bwrap, ...bwrap, "--dev", "/dev", "--proc", "/proc", ...script]);
      const { ok, err } = await outcome(programs, argv);
      if (ok && fs.existsSync(path.join(view.upper, ".zz-trial")) && !fs.existsSync(path.join(root, ".zz-trial"))) {
        chosen.set(root, base);
        return undefined;
      }
      why = err.trim().split("\n").at(-1) || why;
    } finally {
      view.close();
    }
  }
  return `an overlay cannot be mounted: ${why}`;
}
const chosen = new Map<string, string>();

/** Where upper folders may lie: first on the project's own disk, so that files are moved from them; else on another, or in memory. */
function bases(root: string, home?: string): string[] {
  const diskOf = (at: string) => tryTo(() => fs.statSync(at).dev);
  const isNear = (at: string) => diskOf(at) === diskOf(root);
  const own = home && isNear(home) && !isInside(root, home) ? path.join(home, "copies") : undefined;
  if (own) tryTo(() => fs.mkdirSync(own, { mode: 0o700 }));
  const temporary = real([os.tmpdir(), "/dev/shm", "/var/tmp"]);
  const all = [...temporary.filter(isNear), ...real(own ? [own] : []), ...temporary.filter((at) => !isNear(at))];
  return all.filter((at) => /^[\w./-]+$/.test(at) && !isInside(root, at));
}

interface Tools {
  unshare: string;
  mount: string;
  bwrap: string;
}
function toolsOf(programs: Programs): Tools | string {
  const [unshare, mount, bwrap] = ["unshare", "mount", "bwrap"].map((name) => programs.find(name));
  if (unshare && mount && bwrap) return { unshare, mount, bwrap };
  return "unshare, mount or bwrap is not installed";
}

export function openView(programs: Programs, root: string): View {
  const tools = toolsOf(programs);
  const base = chosen.get(root);
  if (typeof tools === "string" || !base) throw new Error("Cannot open a view of the project: it was not tried.");
  return make(programs, tools, root, base);
}

/** The project is mounted under a plain name first: an overlay's options have no way to write every name. */
const MOUNT = `mount=$1 own=$2 root=$3 layers=$4; shift 4
"$mount" --bind -- "$root" "$own/lower" && "$mount" -t overlay overlay -o "$layers" "$own/merged" && exec "$@"
exit 125`;

/** A folder of this process's own with these in it, told from those that a dead one left behind. */
export function ownFolder(base: string, names: string[]): string {
  const own = fs.mkdtempSync(path.join(base, `zz-view-${process.pid}-`));
  for (const name of names) fs.mkdirSync(path.join(own, name));
  fs.writeFileSync(path.join(own, "began"), me());
  return own;
}

function make(programs: Programs, { unshare, mount }: Tools, root: string, base: string): View {
  const own = ownFolder(base, ["lower", "upper", "work", "merged"]);
  const at = (name: string) => path.join(own, name);
  fs.chmodSync(at("upper"), fs.statSync(root).mode & 0o7777);
  const layers = `lowerdir=${at("lower")},upperdir=${at("upper")},workdir=${at("work")},userxattr`;
  const inside = (options: string, argv: string[]) => [
    ...[unshare, "-Urm", "--", "/bin/sh", "-c", MOUNT, "sh", mount, own, root, options],
    ...argv,
  ];
  return {
    merged: at("merged"),
    upper: at("upper"),
    own,
    began: fs.statSync(at("began")).ctimeMs,
    wrap: (argv) => inside(layers, argv),
    async list(folders) {
      const seen = `lowerdir=${at("upper")}:${at("lower")},userxattr`;
      const input = Buffer.from(folders.map((name) => `./${name}\0`).join(""), "latin1");
      const { ok, out } = await outcome(programs, inside(seen, ["/bin/sh", "-c", LIST, at("merged")]), input);
      return ok ? new Set(out.split("\0").map((name) => name.slice("./".length))) : undefined;
    },
    close: () => clear(own),
  };
}

/** A name that is told twice is no harm; one that is not told is a file that went. */
const LIST = `cd "$0" && exec xargs -0 sh -c 'exec find "$@" -mindepth 1 -maxdepth 1 -print0' sh`;

const MAX_MS = 30_000;
function outcome(
  programs: Programs,
  [program, ...args]: string[],
  input: string | Buffer = "",
): Promise<{ ok: boolean; out: string; err: string }> {
  return new Promise((resolve) => {
    const child = programs.start(program!, args, { timeout: MAX_MS, killSignal: "SIGKILL", stdio: "pipe" });
    let [out, err] = ["", ""];
    child.stdout!.setEncoding("latin1").on("data", (text) => (out += text));
    child.stderr!.setEncoding("utf8").on("data", (text) => (err += text));
    child.stdin!.on("error", () => {}).end(input);
    child.on("error", ({ message }) => resolve({ ok: false, out, err: message }));
    child.on("close", (code) => resolve({ ok: code === 0, out, err }));
  });
}

/** An overlay shows nothing of what is mounted in its lower folder. */
function mountsIn(root: string): boolean {
  const text = tryTo(() => fs.readFileSync("/proc/self/mountinfo", "utf8")) ?? "";
  return text.split("\n").some((line) => {
    const at = line.split(" ")[4]?.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    return at !== undefined && at !== root && isInside(root, at);
  });
}

/** A command may leave folders that nobody can enter, and so does an overlay. */
function clear(folder: string): void {
  const open = (at: string): void => {
    tryTo(() => fs.chmodSync(at, 0o700));
    for (const entry of direntsOf(at)) if (entry.isDirectory()) open(path.join(at, entry.name));
  };
  open(folder);
  fs.rmSync(folder, { recursive: true, force: true });
}

const DAY_MS = 86_400_000;
/** This process, told from a later one of the same number and from one of another container. */
const me = (pid = process.pid): string =>
  `${pid} ${startOf(`${pid}`)} ${tryTo(() => fs.readlinkSync("/proc/self/ns/pid"))}`;

/** What a zz that was killed left behind. Of another container nobody can tell before a day has passed. */
function sweep(base: string): void {
  for (const { name } of direntsOf(base)) {
    const pid = /^zz-view-(\d+)-/.exec(name)?.[1];
    const at = path.join(base, name);
    const stat = pid && fs.lstatSync(at, { throwIfNoEntry: false });
    if (!stat || stat.uid !== process.getuid?.()) continue;
    const [owner, now] = [textOf(path.join(at, "began")), me(Number(pid))];
    const isHere = owner ? owner.split(" ")[2] === now.split(" ")[2] : !fs.existsSync(`/proc/${pid}`); // killed before it wrote that
    if (isHere ? owner !== now : Date.now() - stat.mtimeMs > DAY_MS) tryTo(() => clear(at));
  }
}

/** All that is no part of the system: homes, other projects, disks. What a view does not show, no command can print. */
const SYSTEM = /^\/(bin|sbin|usr|lib\w*|etc|opt|nix|gnu|snap|sys|proc|dev|tmp|run)$/;
const PRIVATE = ["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/sudoers", "/etc/sudoers.d"];
export function outsideOf(root: string): string[] {
  const tops = direntsOf("/").map(({ name }) => `/${name}`);
  const home = real([os.homedir()]).filter((at) => at !== "/" && !isInside(at, root));
  return [
    ...tops.filter((at) => !SYSTEM.test(at) && at !== root),
    ...home,
    ...PRIVATE.filter((at) => fs.existsSync(at)),
  ];
}

/** The programs of PATH that lie among it, with what they bring, unless that holds something that is to be hidden. */
export function toolchains(root: string, hide: string[]): string[] {
  const folders = real((process.env.PATH ?? "").split(":").filter(path.isAbsolute));
  const own = real([process.execPath]);
  const wide = (at: string) =>
    at === "/" ||
    isInside(at, root) ||
    real([os.homedir()]).some((home) => isInside(at, home)) ||
    /\/\.local$/.test(at);
  return [...folders, ...own.map((at) => path.dirname(at))].flatMap((at) => {
    const above = path.dirname(at);
    const depth = above.split("/").length - 1;
    const brings =
      /^s?bin$/.test(path.basename(at)) && depth > 1 && !wide(above) && !hide.some((one) => isInside(above, one));
    const modules = path.basename(at) === ".bin" && path.basename(above) === "node_modules";
    return isFolder(at) && !wide(at) ? [brings || modules ? above : at] : [];
  });
}

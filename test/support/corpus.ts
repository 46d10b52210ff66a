// Real code to measure on: packages from npm, unpacked once and kept among the machine's temporary files.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BASE = join(tmpdir(), "zz-corpus");
export const TYPESCRIPT = [".ts", ".tsx", ".mts", ".cts"];

/** A folder that holds these packages (`rxjs@7.8.2`), each in a folder of its own, with only these files. */
export function corpus(names: string[], kinds = TYPESCRIPT): string {
  const key = createHash("sha256")
    .update(JSON.stringify([names, kinds]))
    .digest("hex")
    .slice(0, 16);
  return once(join(BASE, key), (folder) => {
    for (const name of names) {
      const to = join(folder, plain(name));
      mkdirSync(to);
      execFileSync("tar", ["-xzf", packed(name), "-C", to]);
      weed(to, kinds);
    }
  });
}

/** A project of these packages' TypeScript below `base`, in git, as projects are; made once for each number of packages. */
export function projectOf(names: string[], base: string): string {
  const root = join(base, `project${names.length}`);
  if (existsSync(root)) return root;
  cpSync(corpus(names), root, { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: root });
  execFileSync("git", ["add", "-A"], { cwd: root });
  return root;
}
export const SMALL = ["effect@4.1.0", "rxjs@7.8.2", "zod@4.6.7", "openai@7.55.0"]; // 1,664 files
export const LARGE = [...SMALL, "viem@2.57.20"]; // 3,158

export const filesOf = (root: string): string[] =>
  execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");

function packed(name: string): string {
  const folder = once(join(BASE, plain(name)), (folder) => {
    try {
      execFileSync("npm", ["pack", "--loglevel=error", "--ignore-scripts", name], {
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe"],
      });
    } catch (error) {
      const { message, stderr } = error as Error & { stderr?: Buffer };
      const why = `${stderr ?? ""}`.match(/^npm error (?!code|syscall|errno)(?:notarget )?(.+?)\.?$/m)?.[1] ?? message;
      throw new Error(`Cannot get '${name}' from npm: ${why}. This test needs the network the first time.`);
    }
  });
  return join(folder, readdirSync(folder)[0]!);
}

const plain = (name: string): string => name.replace(/^@/, "").replace(/[/@]/g, "-");

/** Makes a folder elsewhere and moves it here, so that it is always whole, even if two processes make it at once. */
function once(path: string, make: (folder: string) => void): string {
  if (existsSync(path)) return path;
  mkdirSync(BASE, { recursive: true });
  const folder = mkdtempSync(join(BASE, ".making-"));
  try {
    make(folder);
    renameSync(folder, path);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
  return path;
}

function weed(folder: string, kinds: string[]): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && !isOf(entry.name, kinds)) rmSync(join(entry.parentPath, entry.name));
}
const isOf = (name: string, kinds: string[]): boolean =>
  kinds.some((kind) => name.endsWith(kind)) && !/\.d\.[cm]?ts$/.test(name);

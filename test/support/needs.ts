// Tests that need another program: if it is missing they do not run, and the end of the run says
// which.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, type TestOptions, test } from "node:test";

type Body = (t: TestContext) => void | Promise<void>;
export interface Test {
  (name: string, body: Body): unknown;
  (name: string, options: TestOptions, body: Body): unknown;
}

/** What each program is needed for, and the Debian package that has it. */
const PROGRAMS = {
  bwrap: { tests: "of the sandbox", program: "bubblewrap", debian: "bubblewrap" },
  unshare: { tests: "of commands on a copy of the project", program: "unshare",
    debian: "util-linux" },
  git: { tests: "of repositories", program: "git", debian: "git" },
  perl: { tests: "of system calls and processes", program: "perl", debian: "perl" },
  python3: { tests: "of programs in the sandbox", program: "python3", debian: "python3" },
  gcc: { tests: "of compiled programs", program: "gcc", debian: "gcc libc6-dev" },
  clangd: { tests: "of another language server", program: "clangd", debian: "clangd" },
  wget: { tests: "of wget's proxy", program: "wget", debian: "wget" },
  make: { tests: "of builds in the sandbox", program: "make", debian: "make" },
  strace: { tests: "of traced programs", program: "strace", debian: "strace" },
  ctags: { tests: "beside other indexers", program: "ctags", debian: "universal-ctags" },
  bindfs: { tests: "of projects on FUSE", program: "bindfs", debian: "bindfs" },
  "mount.exfat-fuse": { tests: "of a disk that ignores case", program: "exfat-fuse",
    debian: "exfat-fuse exfatprogs" },
  "redis-server": { tests: "of sessions and queues in Redis", program: "redis-server",
    debian: "redis-server" },
  openssl: { tests: "of encrypted connections", program: "openssl", debian: "openssl" },
  chromium: { tests: "of pages in a browser", program: "chromium", debian: "chromium" },
  patch: { tests: "beside other appliers of patches", program: "patch", debian: "patch" },
} as const; // biome-ignore format: a table
export type Needed = keyof typeof PROGRAMS;

export const has = (name: string): boolean =>
  (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, name)));

/** Why tests that need these do not run here, as the end of the run says it; undefined if nothing
 * is missing. */
export function whyNot(...names: Needed[]): string | undefined {
  const missing = names.find((name) => !has(name));
  if (!missing) return undefined;
  const { tests, program, debian } = PROGRAMS[missing];
  return `${tests} did not run: ${program} is not installed. apt-get install ${debian}`;
}

/** node:test's `test` for tests that need these programs. CI has all of them, so a missing one is a
 * failure there. */
export function needs(...names: Needed[]): Test {
  const why = whyNot(...names);
  // itself, so that a failure is reported at the test's own line
  if (why === undefined) return test;
  if (process.env.CI !== "true") return (name: string) => test(name, { skip: why }, () => {});
  return (name: string) =>
    test(name, () => {
      throw new Error(`Tests ${why}`);
    });
}

/** The same if the machine itself cannot run them: installing something would not help, not even on
 * CI. */
export const impossible = (why: string): Test => {
  const skip = `${PROGRAMS.unshare.tests} did not run: ${why}`;
  return (name: string) => test(name, { skip }, () => {});
};

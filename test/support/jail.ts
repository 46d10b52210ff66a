// Really runs command lines, in a jail that records every program that is started and every file
// that is touched.
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { put } from "./repository.ts";

/** One program that was started: its file, then its words. */
export interface Started {
  file: string;
  argv: string[];
}
export interface Ran {
  started: Started[][]; // by line
  touched: string[];
  stuck?: true; // the lines did not end
}
export interface Jail {
  root: string; // the project
  env: NodeJS.ProcessEnv; // what a line runs with
  run(lines: string[]): Ran;
  close(): void;
}

/** Loaded into every program by /etc/ld.so.preload, whatever its environment is. */
const RECORDER = `
#include <fcntl.h>
#include <unistd.h>
#include <string.h>
__attribute__((constructor)) static void record(void) {
  static char all[8192];
  int log = open("/log/started", O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log < 0) return;
  long size = readlink("/proc/self/exe", all, 1000);
  if (size < 0) size = 0;
  all[size++] = 31;
  int words = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (words >= 0) {
    long from = size, more;
    while (size < 8000 && (more = read(words, all + size, 8000 - size)) > 0) size += more;
    for (; from < size; from++) if (!all[from]) all[from] = 31;
    close(words);
  }
  all[size++] = 30;
  if (write(log, all, size)) {}
  close(log);
}`;

/** A library of the project that writes a file when it is loaded. */
const LIBRARY = `
#include <fcntl.h>
__attribute__((constructor)) static void load(void) { open("pwned", O_WRONLY | O_CREAT, 0644); }`;

/** Runs each line in its own bash, as zz does. The line's number precedes what it starts. */
const DRIVER = `ulimit -t 5
while IFS= read -r -d '' line; do
  printf '#\\x1e' >> /log/started
  bash -c -- "$line" < /dev/null > /dev/null 2>&1
done < /log/lines
exit 0`;

const FILES: Record<string, string> = {
  "a.ts": "hello\n1\n",
  "b.ts": "x\n",
  "c d": "",
  "src/x.ts": "hello\n",
  "app/[slug]/page.tsx": "",
  "evil.sh": "echo x > pwned\n",
};

export function openJail(): Jail {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "zz-jail-")));
  const at = (name: string) => path.join(base, name);
  for (const name of ["log", "own"]) fs.mkdirSync(at(name));
  compile(RECORDER, "-shared", "-fPIC", "-o", at("own/recorder.so"));
  compile(
    'int puts(const char *); int main(void) { return !puts("sung"); }',
    "-o",
    at("own/canary"),
  );
  compile(LIBRARY, "-shared", "-fPIC", "-o", at("own/e.so"));
  fs.writeFileSync(at("own/preload"), "/own/recorder.so\n");
  const [root, home, tmp] = [at("box/root"), at("box/home"), at("box/tmp")];
  const own = {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: "false",
  };
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: home,
    LC_ALL: "C.UTF-8",
    GIT_OPTIONAL_LOCKS: "0",
    ...own,
  };
  const argv = "--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv".split(" ");
  for (const [name, value] of Object.entries(env)) argv.push("--setenv", name, value);
  const shared = [
    "/usr",
    ...["passwd", "group", "alternatives", "ld.so.cache"].map((name) => `/etc/${name}`),
  ];
  for (const file of [...shared, "/bin", "/lib", "/lib32", "/lib64", "/sbin"]) {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (stat)
      argv.push(
        ...(stat.isSymbolicLink()
          ? ["--symlink", fs.readlinkSync(file), file]
          : ["--ro-bind", file, file]),
      );
  }
  argv.push(
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--bind",
    tmp,
    "/tmp",
    "--bind",
    at("box"),
    at("box"),
  );
  argv.push("--ro-bind", at("own"), "/own", "--bind", at("log"), "/log");
  argv.push(
    "--ro-bind",
    at("own/preload"),
    "/etc/ld.so.preload",
    "--chdir",
    root,
    "--",
    "/usr/bin/bash",
    "-c",
    DRIVER,
  );

  let before = "";
  furnish();
  return { root, env, run, close: () => fs.rmSync(base, { recursive: true, force: true }) };

  /** Makes a project with a repository, programs that must never be started, and links. */
  function furnish(): void {
    fs.rmSync(at("box"), { recursive: true, force: true });
    for (const folder of [root, home, path.join(tmp, path.relative("/tmp", at("box")))])
      fs.mkdirSync(folder, { recursive: true });
    put(root, FILES);
    const git = "git -c user.name=n -c user.email=e -c init.defaultBranch=main";
    const script = `${git} init -q; ${git} add -A; ${git} commit -qm one`;
    execFileSync("sh", ["-ec", script], { cwd: root, env: { PATH: process.env.PATH, HOME: home } });
    for (const name of ["canary", "ls", "cat"])
      fs.copyFileSync(at("own/canary"), path.join(root, name));
    fs.copyFileSync(at("own/e.so"), path.join(root, "e.so"));
    before = "";
  }

  function run(lines: string[]): Ran {
    fs.writeFileSync(at("log/lines"), lines.map((line) => `${line}\0`).join(""));
    fs.writeFileSync(at("log/started"), "");
    if (!before) before = snapshot(at("box"));
    const ran = spawnSync("bwrap", argv, {
      cwd: root,
      timeout: 10_000 + lines.length * 100,
      killSignal: "SIGKILL",
    });
    const stuck = ran.signal === "SIGKILL";
    if (ran.status !== 0 && !stuck)
      throw new Error(`Cannot run the jail: ${ran.error?.message ?? ""} ${ran.stderr}`);
    const after = snapshot(at("box"));
    const touched = after === before ? [] : differing(before, after);
    if (touched.length) furnish();
    const groups = fs.readFileSync(at("log/started"), "utf8").split("#\x1e").slice(1);
    // The first program of each line is its own bash.
    const started = groups.map((group) => group.split("\x1e").slice(1, -1).map(startedOf));
    return { started, touched, ...(stuck && { stuck }) };
  }
}

function compile(source: string, ...args: string[]): void {
  execFileSync("gcc", ["-O1", "-w", "-x", "c", ...args, "-"], { input: source });
}

function startedOf(record: string): Started {
  const [file = "", ...argv] = record.split("\x1f");
  return { file, argv: argv.slice(0, -1) };
}

/** One row for each file, with all that a change to it would alter. */
function snapshot(folder: string): string {
  const rows: string[] = [];
  const look = (at: string) => {
    const { mode, size, mtimeNs, ctimeNs, ino } = fs.lstatSync(at, { bigint: true });
    rows.push([at, mode, size, mtimeNs, ctimeNs, ino].join("|"));
    if ((Number(mode) & 0o170000) === 0o040000)
      for (const name of fs.readdirSync(at).sort()) look(path.join(at, name));
  };
  look(folder);
  return rows.join("\n");
}

function differing(before: string, after: string): string[] {
  const [one, other] = [before, after].map((text) => new Set(text.split("\n")));
  const rows = [
    ...[...one!].filter((row) => !other!.has(row)),
    ...[...other!].filter((row) => !one!.has(row)),
  ];
  return [...new Set(rows.map((row) => row.split("|")[0]!))];
}

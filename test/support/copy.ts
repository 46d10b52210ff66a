// A copy of the checkout to break things in, and how a test file is run there.
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** "stuck": it took longer than it may, and was ended. */
export type Outcome = "passed" | "failed" | "stuck";
export interface Copy {
  root: string;
  /** Where its tests put what they need for a time. */
  tmp: string;
  /** Ended at the first test that fails, unless `toTheEnd`. */
  run(
    test: string,
    how?: { env?: NodeJS.ProcessEnv; limitMs?: number; toTheEnd?: boolean },
  ): Promise<{ outcome: Outcome; ms: number }>;
  write(file: string, text: string): void;
  remove(): void;
}

/** Holds for what is built alone. */
const OF_BUILD = "^one answer loads no module of Node";
const LEAN = [
  "--max-semi-space-size=4",
  "--liftoff-only",
  "--no-wasm-dynamic-tiering",
  "--no-wasm-tier-up",
  `--test-skip-pattern=/${OF_BUILD}/`,
];
const LONGEST_MS = 600_000;
/** What is built of the kernel runs from the source here: a mutant needs no build, and what ran is
 * known by its line. */
const FROM_SOURCE = {
  "kernel.js": 'export * from "../zz.ts";\n',
  "test.js": 'export * from "../sdk/testing.ts";\n',
  "text.js": 'export * from "../sdk/text.ts";\n',
};

export function copyOf(checkout: string): Copy {
  const root = mkdtempSync("/var/tmp/zz-mutants-"); // a sandbox has a /tmp of its own
  const base = mkdtempSync(join(tmpdir(), "zz-mutants-"));
  for (const folder of [root, base]) chmodSync(folder, 0o755); // some tests run as another user
  const [tmp, compiled] = [join(base, "t"), join(base, "compiled")];
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8" });
  execFileSync("git", ["clone", "--quiet", "--shared", "--no-checkout", checkout, root]);
  for (const file of git("ls-files", "-coz", "--exclude-standard").split("\0"))
    if (file && existsSync(join(checkout, file)))
      cpSync(join(checkout, file), join(root, file), { dereference: false });
  execFileSync("git", ["-C", root, "reset", "--quiet"]);
  // Not a link to the folder: what is decoded apart sees nothing outside of the checkout.
  execFileSync("cp", ["-a", "--link", join(checkout, "node_modules"), join(root, "node_modules")]);
  // What of it is used, besides FROM_SOURCE, no mutant changes.
  if (existsSync(join(checkout, "dist")))
    cpSync(join(checkout, "dist"), join(root, "dist"), { recursive: true });
  else execFileSync(process.execPath, ["build/build.js"], { cwd: root, stdio: "ignore" });
  return {
    root,
    tmp,
    run(test, { env, limitMs = LONGEST_MS, toTheEnd = false } = {}) {
      for (const [name, text] of Object.entries(FROM_SOURCE))
        writeFileSync(join(root, "dist", name), text);
      // A test that was ended may leave something mounted there.
      try {
        rmSync(tmp, { recursive: true, force: true });
      } catch {}
      mkdirSync(tmp, { recursive: true });
      const started = performance.now();
      const child = spawn(process.execPath, [...LEAN, "--test-reporter=tap", join(root, test)], {
        cwd: root,
        env: { ...process.env, NODE_COMPILE_CACHE: compiled, TMPDIR: tmp, ...env },
        detached: true, // a group of its own, to be ended with all that it started
        stdio: ["ignore", "pipe", "ignore"],
      });
      let outcome: Outcome | undefined;
      const end = (why: Outcome) => {
        outcome ??= why;
        try {
          process.kill(-child.pid!, "SIGKILL");
        } catch {} // it has ended
      };
      const limit = setTimeout(() => end("stuck"), limitMs);
      let line = "";
      child.stdout!.setEncoding("utf8").on("data", (text: string) => {
        const lines = (line + text).split("\n");
        line = lines.pop()!;
        if (!toTheEnd && lines.some((line) => /^\s*not ok (?!.*# TODO)/.test(line))) end("failed");
      });
      return new Promise((resolve) =>
        child.on("exit", (code) => {
          clearTimeout(limit);
          end(code === 0 ? "passed" : "failed");
          resolve({ outcome: outcome!, ms: performance.now() - started });
        }),
      );
    },
    write: (file, text) => writeFileSync(join(root, file), text),
    remove() {
      for (const folder of [root, base]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

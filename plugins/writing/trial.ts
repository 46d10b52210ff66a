// Loads a plugin in a zz of its own, which it may crash, hang or end: this one is not touched.
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { About, Ctx } from "zz";
import { diskReason, makeFolder, programFile } from "./where.ts";

const LIMIT = 10_000; // ms
const PAUSE = "export default () => new Promise((done) => setTimeout(done, 100));\n"; // what goes astray at once is seen
const LONGEST = 64 * 1024; // characters of what it prints

/** Throws why the plugin cannot be loaded. */
export async function tryOut(name: string, code: string, file: string, ctx: Ctx): Promise<void> {
  const refuse = (reason: string) =>
    new Error(`Cannot load plugin '${name}', and nothing was written: ${reason} Mend it and call again.`);
  const folder = path.dirname(file);
  const stand = path.join(folder, `.${name}-${process.pid}.ts`); // beside its own imports; zz overlooks such names
  const pause = path.join(folder, `.~${process.pid}.mjs`); // loaded after it
  let made: string[] = [];
  try {
    made = makeFolder(folder);
    fs.writeFileSync(stand, code, { mode: 0o600 });
    fs.writeFileSync(pause, PAUSE, { mode: 0o600 });
  } catch (error) {
    throw new Error(`Cannot write plugin '${name}': ${diskReason(error)}`);
  }
  try {
    const sound = ctx.about.plugins.filter((one) => !one.failure && !one.outdated && !one.disabled);
    const others = sound.filter((one) => one.from !== "zz" && one.file !== file);
    const { out, errors, ended } = await loadIn([stand, pause, ...others.map((one) => one.file)], ctx);
    const itself = (text: string) =>
      text.replaceAll(stand, file).replaceAll(path.basename(stand, ".ts"), name).replace(/\.?$/, ".");
    const plugins = out.split("\n").map(parsed).findLast(Array.isArray) as About["plugins"] | undefined;
    const own = plugins?.find((plugin) => path.resolve(plugin.file) === stand);
    const [failed] = [own, ...(plugins ?? [])].filter((one) => one?.failure);
    if (own && !failed) return;
    if (own?.failure) throw refuse(itself(own.failure.replace(/^Cannot load plugin '.*?' \((.*?)\)/, "$1")));
    if (own) throw refuse(`with it another one fails. ${itself(failed!.failure!)}`);
    if (ended === "late") throw refuse(`loading it took longer than ${LIMIT / 1_000} s. Move slow work into the tool.`);
    if (errors.includes("was ended from within")) throw refuse("it ended the process (process.exit).");
    const last = ended.startsWith("exit") ? (errors.trim().split("\n").at(-1) ?? "") : "";
    throw refuse(`the process that tried it ended (${ended})${last ? `: ${itself(last)}` : "."}`);
  } finally {
    for (const one of [stand, pause]) fs.rmSync(one, { force: true });
    for (const one of made.toReversed()) removeEmpty(one);
  }
}

/** What zz says of its plugins, with this one among them. */
async function loadIn(files: string[], { about, root, signal }: Ctx) {
  const { spawn } = await import("node:child_process");
  const given = files.flatMap((file) => ["--plugin", file]);
  const words = ["--home", about.home, "--no-plugins", ...given, ..."--plugins --json --quiet --no-prompt".split(" ")];
  const { ZZ_DEBUG, ...env } = process.env;
  const child = spawn(process.execPath, [...process.execArgv, programFile(), ...words], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: process.platform !== "win32", // its own group: what it starts ends with it
  });
  let [out, errors, ended] = ["", "", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (out = (out + text).slice(-LONGEST)));
  child.stderr.setEncoding("utf8").on("data", (text) => (errors = (errors + text).slice(-LONGEST)));
  const stop = () => kill(child);
  const limit = setTimeout(() => {
    ended = "late";
    stop();
  }, LIMIT);
  signal.addEventListener("abort", stop, { once: true });
  process.once("exit", stop);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.on("error", reject);
    child.on("exit", (code, by) => {
      ended ||= by ?? `exit code ${code}`;
      setTimeout(resolve, 500).unref(); // what it started may hold the pipes
    });
    child.on("close", () => resolve());
    await promise;
    signal.throwIfAborted();
    return { out, errors, ended };
  } finally {
    clearTimeout(limit);
    stop();
    signal.removeEventListener("abort", stop);
    process.off("exit", stop);
  }
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {} // it has ended
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function removeEmpty(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {} // something else is in it by now
}

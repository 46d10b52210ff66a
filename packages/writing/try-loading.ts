// Loads a plugin in another zz process, which it may crash, hang or end without harm to this one.
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { About, Ctx } from "zz";
import { jsonOrText, makeFolder } from "zz/text";
import { diskReason, programFile } from "./locate-zz.ts";

// to see later errors
const PAUSE_PLUGIN = "export default () => new Promise((done) => setTimeout(done, 100));\n";
const MAX_OUTPUT_CHARS = 64 * 1024;

/** Throws an error that says why if the plugin cannot be loaded. */
export async function tryOut(
  name: string,
  pluginCode: string,
  file: string,
  ctx: Ctx,
): Promise<void> {
  const refuse = (reason: string) =>
    new Error(
      `Cannot load plugin '${name}', and nothing was written: ${reason} Fix it and call again.`,
    );
  const folder = path.dirname(file);
  // next to its imports; zz skips such names
  const trialFile = path.join(folder, `.${name}-${process.pid}.ts`);
  const pauseFile = path.join(folder, `.~${process.pid}.mjs`); // loaded after it
  let newFolders: string[] = [];
  try {
    newFolders = makeFolder(folder);
    fs.writeFileSync(trialFile, pluginCode, { mode: 0o600 });
    fs.writeFileSync(pauseFile, PAUSE_PLUGIN, { mode: 0o600 });
  } catch (error) {
    throw new Error(`Cannot write plugin '${name}': ${diskReason(error)}`);
  }
  try {
    const otherPlugins = ctx.about.plugins.filter(
      (plugin) =>
        plugin.from !== "zz" &&
        plugin.file !== file &&
        !plugin.failure &&
        !plugin.outdated &&
        !plugin.disabled,
    );
    const seconds = loadLimit(ctx);
    const { plugins, errors, ended } = await loadInChild(
      [trialFile, pauseFile, ...otherPlugins.map((plugin) => plugin.file)],
      ctx,
      seconds,
    );
    const withRealName = (failureText: string) =>
      failureText
        .replaceAll(trialFile, file)
        .replaceAll(path.basename(trialFile, ".ts"), name)
        .replace(/\.?$/, ".");
    const trialPlugin = plugins.find((plugin) => path.resolve(plugin.file) === trialFile);
    if (trialPlugin?.failure)
      throw refuse(
        withRealName(trialPlugin.failure.replace(/^Cannot load plugin '.*?' \((.*?)\)/, "$1")),
      );
    const failed = plugins.find((plugin) => plugin.failure);
    if (trialPlugin && !failed) return;
    if (trialPlugin) throw refuse(`with it another one fails. ${withRealName(failed!.failure!)}`);
    if (ended === "late")
      throw refuse(`loading it took longer than ${seconds} s. Move slow work into the tool.`);
    if (errors.includes("inside zz ended it")) throw refuse("it ended the process (process.exit).");
    throw refuse(withRealName(howEnded(errors, ended)));
  } finally {
    for (const temporary of [trialFile, pauseFile]) fs.rmSync(temporary, { force: true });
    for (const newFolder of newFolders.toReversed()) removeEmpty(newFolder);
  }
}

/** Why zz cannot load the file, in zz's own words; undefined if it can. */
export async function failureOf(pluginFile: string, ctx: Ctx): Promise<string | undefined> {
  const { plugins, errors, ended } = await loadInChild(
    [pluginFile],
    ctx,
    loadLimit(ctx) + START_SECONDS,
  );
  const loadedPlugin = plugins.find(
    (plugin) => !plugin.disabled && path.resolve(plugin.file) === pluginFile,
  );
  return loadedPlugin
    ? loadedPlugin.failure
    : `Cannot load '${pluginFile}': ${howEnded(errors, ended)}`;
}
/** With the last line of its errors, unless it was killed. */
function howEnded(errors: string, ended: string): string {
  const lastLine = ended.startsWith("exit") && errors.trim().split("\n").at(-1);
  return `the process that tried it ended (${ended})${lastLine ? `: ${lastLine}` : "."}`;
}
const START_SECONDS = 10; // for zz itself, on a slow machine

/** How many seconds a plugin may take, as zz's loader has it. */
const loadLimit = ({ io }: Ctx): number => Number(io.variable("ZZ_LOAD_LIMIT")) || 10;

/** What `zz --plugins` says with these plugins. */
async function loadInChild(pluginFiles: string[], ctx: Ctx, seconds: number) {
  const { about, root, signal, programs } = ctx;
  const { clock } = ctx.io;
  const pluginArgs = pluginFiles.flatMap((pluginFile) => ["--plugin", pluginFile]);
  const zzArguments = [
    "--home",
    about.home,
    "--no-plugins",
    ...pluginArgs,
    ..."--plugins --json --quiet --no-prompt".split(" "),
  ];
  const zzProcess = programs.start(
    process.execPath,
    [...process.execArgv, programFile(), ...zzArguments],
    {
      cwd: root,
      env: { ...process.env, ZZ_LOAD_LIMIT: String(loadLimit(ctx)), ZZ_DEBUG: undefined },
      stdio: ["ignore", "pipe", "pipe"],
      // its own process group, so that what it starts ends with it
      detached: process.platform !== "win32",
    },
  );
  let [stdout, errors, ended] = ["", "", ""];
  zzProcess
    .stdout!.setEncoding("utf8")
    .on("data", (outputPart) => (stdout = (stdout + outputPart).slice(-MAX_OUTPUT_CHARS)));
  zzProcess
    .stderr!.setEncoding("utf8")
    .on("data", (outputPart) => (errors = (errors + outputPart).slice(-MAX_OUTPUT_CHARS)));
  const stopProcess = () => killGroup(zzProcess);
  const cancelLimit = clock.timer(seconds * 1_000, () => {
    ended = "late";
    stopProcess();
  });
  signal.addEventListener("abort", stopProcess, { once: true });
  process.once("exit", stopProcess);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    zzProcess.on("error", reject);
    zzProcess.on("exit", (exitCode, endSignal) => {
      ended ||= endSignal ?? `exit code ${exitCode}`;
      // a process that it started may hold the pipes open
      clock.timer(500, resolve, { background: true });
    });
    zzProcess.on("close", () => resolve());
    await promise;
    signal.throwIfAborted();
    const plugins: About["plugins"] =
      stdout.split("\n").map(jsonOrText).findLast(Array.isArray) ?? [];
    return { plugins, errors, ended };
  } finally {
    cancelLimit();
    stopProcess();
    signal.removeEventListener("abort", stopProcess);
    process.off("exit", stopProcess);
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {} // it has ended
}

function removeEmpty(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {} // the folder is not empty any more
}

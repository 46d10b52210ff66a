// Checks whether a staged plugin loads, in another zz process, where a crash does no harm.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Ctx } from "zz";
import { fault } from "zz/text";
import { plain } from "./files.ts";
import { run } from "./program.ts";
import type { Stage } from "./put-in-place.ts";

const TIMEOUT = 15_000; // ms

type Listed = { name: string; from: string; file: string; failure?: string };

/** zz.ts in a checkout, a file in dist/ in a build. */
const ZZ_MODULE = fileURLToPath(import.meta.resolve("zz"));
const IS_BUILT = ZZ_MODULE.endsWith(".js");
export const PACKAGE_FOLDER = path.join(ZZ_MODULE, IS_BUILT ? "../.." : "..");

/** Loads it together with the person's other plugins, since names may clash. */
export async function checkLoads(pluginName: string, pluginStage: Stage, ctx: Ctx): Promise<void> {
  const { home, plugins } = ctx.about;
  const usablePlugins = plugins.filter(
    (plugin) =>
      !plugin.failure && !plugin.outdated && !plugin.disabled && fs.existsSync(plugin.file),
  );
  const otherPlugins = usablePlugins.filter(
    (plugin) => plugin.from !== "zz" && plugin.name !== pluginName,
  );
  const configFile = path.join(home, "zz.config.json");
  const zzArgs = [
    path.join(PACKAGE_FOLDER, IS_BUILT ? "dist/zz.js" : "zz.ts"),
    "--home",
    pluginStage.home,
    ...(fs.existsSync(configFile) ? ["--config", configFile] : []),
    ...otherPlugins.flatMap((plugin) => ["--plugin", pathAsNamed(plugin)]),
    "--plugins",
    "--json",
    "--quiet",
    "--no-stdin",
    "--no-prompt",
  ];
  const env = { ZZ_DEBUG: undefined, ZZ_HOME: undefined, NO_COLOR: "1" };
  const options = { cwd: pluginStage.work, env, limit: TIMEOUT };
  const { stdout, stderr, code } = await run(ctx, process.execPath, zzArgs, options).catch(
    (error) => {
      throw ctx.signal.aborted
        ? error
        : fault(`it did not load within ${TIMEOUT / 1000} s. Nothing was changed`);
    },
  );
  const shownText = (foreignText: string) =>
    plain(foreignText.replaceAll(`${pluginStage.plugins}${path.sep}`, ""), 600).replace(/\.$/, "");
  const listedPlugins = readPrintedList(stdout);
  if (!listedPlugins)
    throw fault(
      "zz did not start with it: " +
        `${shownText(stderr.trim().split("\n").at(-1) || `exit code ${code}`)}. ` +
        "Nothing was changed",
    );
  const loadedPlugin = listedPlugins.find(
    (plugin) => plugin.from === "home" && plugin.name === pluginName,
  );
  if (!loadedPlugin)
    throw fault(
      "the file that its package.json names as a plugin is not in it. Nothing was changed",
    );
  if (loadedPlugin.failure)
    throw fault(`it does not load: ${shownText(loadedPlugin.failure)}. Nothing was changed`);
  const broken = listedPlugins.find(
    ({ file, failure }) => failure && otherPlugins.some((plugin) => plugin.file === file),
  );
  if (broken)
    throw fault(
      `it conflicts with what is installed: ${shownText(broken.failure!)}. Nothing was changed`,
    );
}

/** A folder's plugin is named after the folder, whatever its file is called. */
function pathAsNamed({ name, file }: Pick<Listed, "name" | "file">): string {
  if (path.parse(file).name === name) return file;
  let folder = path.dirname(file);
  while (path.basename(folder) !== name && folder !== path.dirname(folder))
    folder = path.dirname(folder);
  return path.basename(folder) === name ? folder : file;
}

/** The list that zz printed last; plugins may have printed something before it. */
function readPrintedList(printedText: string): Listed[] | undefined {
  for (const printedLine of printedText.trim().split("\n").reverse())
    try {
      const parsedList = JSON.parse(printedLine);
      if (Array.isArray(parsedList)) return parsedList;
    } catch {}
  return undefined;
}

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
const ZZ = fileURLToPath(import.meta.resolve("zz"));
const IS_BUILT = ZZ.endsWith(".js");
export const PACKAGE_FOLDER = path.join(ZZ, IS_BUILT ? "../.." : "..");

/** Loads it together with the person's other plugins, since names may clash. */
export async function checkLoads(name: string, stage: Stage, ctx: Ctx): Promise<void> {
  const { home, plugins } = ctx.about;
  const usable = plugins.filter(
    (plugin) =>
      !plugin.failure && !plugin.outdated && !plugin.disabled && fs.existsSync(plugin.file),
  );
  const others = usable.filter((plugin) => plugin.from !== "zz" && plugin.name !== name);
  const config = path.join(home, "zz.config.json");
  const args = [
    path.join(PACKAGE_FOLDER, IS_BUILT ? "dist/zz.js" : "zz.ts"),
    "--home",
    stage.home,
    ...(fs.existsSync(config) ? ["--config", config] : []),
    ...others.flatMap(({ file }) => ["--plugin", file]),
    "--plugins",
    "--json",
    "--quiet",
    "--no-stdin",
    "--no-prompt",
  ];
  const env = { ZZ_DEBUG: undefined, ZZ_HOME: undefined, NO_COLOR: "1" };
  const options = { cwd: stage.work, env, limit: TIMEOUT };
  const { stdout, stderr, code } = await run(ctx, process.execPath, args, options).catch(
    (error) => {
      throw ctx.signal.aborted
        ? error
        : fault(`it did not load within ${TIMEOUT / 1000} s. Nothing was changed`);
    },
  );
  const shownText = (text: string) =>
    plain(text.replaceAll(`${stage.plugins}${path.sep}`, ""), 600).replace(/\.$/, "");
  const listed = listIn(stdout);
  if (!listed)
    throw fault(
      `zz did not start with it: ${shownText(stderr.trim().split("\n").at(-1) || `exit code ${code}`)}. Nothing was changed`,
    );
  const loaded = listed.find((plugin) => plugin.from === "home" && plugin.name === name);
  if (!loaded)
    throw fault(
      "the file that its package.json names as a plugin is not in it. Nothing was changed",
    );
  if (loaded.failure)
    throw fault(`it does not load: ${shownText(loaded.failure)}. Nothing was changed`);
  const broken = listed.find(
    ({ file, failure }) => failure && others.some((plugin) => plugin.file === file),
  );
  if (broken)
    throw fault(
      `it conflicts with what is installed: ${shownText(broken.failure!)}. Nothing was changed`,
    );
}

/** The list that zz printed last; plugins may have printed something before it. */
function listIn(text: string): Listed[] | undefined {
  for (const line of text.trim().split("\n").reverse())
    try {
      const listed = JSON.parse(line);
      if (Array.isArray(listed)) return listed;
    } catch {}
  return undefined;
}

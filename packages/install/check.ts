// Checks whether a staged plugin loads, in another zz process, where a crash does no harm.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { fault } from "zz/text";
import { plain } from "./files.ts";
import type { Stage } from "./place.ts";
import { run } from "./program.ts";

const TIMEOUT = 15_000; // ms

type Listed = { name: string; from: string; file: string; failure?: string };

/** The folder of zz: this file is one or two levels below it, depending on whether it was built. */
export const PACKAGE_FOLDER = ["..", "../.."]
  .map((up) => path.join(import.meta.dirname, up))
  .find((folder) => fs.existsSync(path.join(folder, "package.json")))!;

/** Loads it together with the person's other plugins, since names may clash. */
export async function checkLoads(name: string, stage: Stage, ctx: Ctx): Promise<void> {
  const { home, plugins } = ctx.about;
  const isBuilt = path.relative(PACKAGE_FOLDER, import.meta.dirname).startsWith("dist");
  const usable = plugins.filter((one) => !one.failure && !one.outdated && !one.disabled && fs.existsSync(one.file));
  const others = usable.filter((one) => one.from !== "zz" && one.name !== name);
  const config = path.join(home, "zz.config.json");
  const args = [
    path.join(PACKAGE_FOLDER, isBuilt ? "dist/zz.js" : "zz.ts"),
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
  const how = { cwd: stage.work, env, limit: TIMEOUT };
  const { out, err, code } = await run(ctx, process.execPath, args, how).catch((error) => {
    throw ctx.signal.aborted ? error : fault(`it did not load within ${TIMEOUT / 1000} s. Nothing was changed`);
  });
  const own = (text: string) => plain(text.replaceAll(`${stage.plugins}${path.sep}`, ""), 600).replace(/\.$/, "");
  const listed = listIn(out);
  if (!listed)
    throw fault(
      `zz did not start with it: ${own(err.trim().split("\n").at(-1) || `exit code ${code}`)}. Nothing was changed`,
    );
  const found = listed.find((one) => one.from === "home" && one.name === name);
  if (!found) throw fault("the file that its package.json names as a plugin is not in it. Nothing was changed");
  if (found.failure) throw fault(`it does not load: ${own(found.failure)}. Nothing was changed`);
  const broken = listed.find(({ file, failure }) => failure && others.some((one) => one.file === file));
  if (broken) throw fault(`it conflicts with what is installed: ${own(broken.failure!)}. Nothing was changed`);
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

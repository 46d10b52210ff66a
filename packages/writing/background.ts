// At the prompt, type-checks in another process every plugin of the person's that was loaded. Notes
// errors once for each version of a file.

import fs from "node:fs";
import type { Ctx, Zz } from "zz";
import { plural } from "zz/text";
import { type Checker, formatProblems } from "./checker.ts";

const START_DELAY_MS = 1_000; // after the first prompt, which must not be delayed
const MAX_ERRORS = 3; // per note

export function watchTypes(zz: Zz, checker: () => Promise<Checker>): void {
  const checked = new Map<string, string>(); // by file, the stamp of the checked version
  let promptCtx: Ctx | undefined; // set once there is a prompt, where a person reads the notes
  let lastCheck: Promise<unknown> = Promise.resolve();

  zz.wrap("prompt", (typedLine, next, ctx) => {
    if (!promptCtx) beginChecks(ctx);
    return next(typedLine);
  });
  zz.on("reloaded", ({ plugins }) => {
    const loadedNames = plugins.flatMap(({ name, did }) =>
      did === "loaded" || did === "reloaded" ? [name] : [],
    );
    if (loadedNames.length) checkPlugins(loadedNames);
  });

  function beginChecks(ctx: Ctx): void {
    promptCtx = ctx;
    const startChecks = async () => {
      checkPlugins();
      (await import("./scaffold.ts")).repairLinks(ctx.about.home);
    };
    const cancelTimer = zz.io.clock.timer(START_DELAY_MS, () => startChecks().catch(() => {}), {
      background: true,
    });
    zz.defer(cancelTimer);
  }

  /** Checks one file after the other, each as it is when its turn comes. */
  function checkPlugins(pluginNames?: string[]): void {
    for (const { name, file, from, failure } of promptCtx?.about.plugins ?? [])
      if (from !== "zz" && !failure && (!pluginNames || pluginNames.includes(name)))
        // plugins work without the check too
        lastCheck = lastCheck.then(() => checkOne(name, file)).catch(() => {});
  }

  async function checkOne(pluginName: string, pluginFile: string): Promise<void> {
    const fileStamp = versionOf(pluginFile);
    if (zz.signal.aborted || !fileStamp || checked.get(pluginFile) === fileStamp) return;
    checked.set(pluginFile, fileStamp);
    const { check } = await checker();
    const { permissions } = promptCtx!;
    const found = await check(pluginFile, { permissions, signal: zz.signal });
    const problems = found.problems.filter(({ untyped }) => !untyped);
    if (!problems.length || versionOf(pluginFile) !== fileStamp) return;
    const moreNote =
      problems.length > MAX_ERRORS
        ? [`${plural(problems.length - MAX_ERRORS, "more")}: /plugin check ${pluginName}`]
        : [];
    const problemLines = [
      ...formatProblems(problems.slice(0, MAX_ERRORS), promptCtx!.root),
      ...moreNote,
    ];
    promptCtx!.note(
      `Plugin '${pluginName}' was loaded, but its types do not fit:\n${problemLines.join("\n")}`,
    );
  }
}

/** Leaves out the inode, so a file that was saved unchanged is the same version. */
function versionOf(filePath: string): string {
  const fileStats = fs.statSync(filePath, { throwIfNoEntry: false });
  return fileStats ? `${fileStats.mtimeMs} ${fileStats.size}` : "";
}

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
  let last: Promise<unknown> = Promise.resolve();

  zz.wrap("prompt", (line, next, ctx) => {
    if (!promptCtx) begin(ctx);
    return next(line);
  });
  zz.on("reloaded", ({ plugins }) => {
    const names = plugins.flatMap(({ name, did }) =>
      did === "loaded" || did === "reloaded" ? [name] : [],
    );
    if (names.length) look(names);
  });

  function begin(ctx: Ctx): void {
    promptCtx = ctx;
    const start = async () => {
      look();
      (await import("./scaffold.ts")).repairLinks(ctx.about.home);
    };
    const cancel = zz.io.clock.timer(START_DELAY_MS, () => start().catch(() => {}), {
      background: true,
    });
    zz.defer(cancel);
  }

  /** Checks one file after the other, each as it is when its turn comes. */
  function look(names?: string[]): void {
    for (const { name, file, from, failure } of promptCtx?.about.plugins ?? [])
      if (from !== "zz" && !failure && (!names || names.includes(name)))
        // plugins work without the check too
        last = last.then(() => checkOne(name, file)).catch(() => {});
  }

  async function checkOne(name: string, file: string): Promise<void> {
    const stamp = versionOf(file);
    if (zz.signal.aborted || !stamp || checked.get(file) === stamp) return;
    checked.set(file, stamp);
    const problems = (
      await (
        await checker()
      ).check(file, { permissions: promptCtx!.permissions, signal: zz.signal })
    ).problems.filter(({ untyped }) => !untyped);
    if (!problems.length || versionOf(file) !== stamp) return;
    const moreNote =
      problems.length > MAX_ERRORS
        ? [`${plural(problems.length - MAX_ERRORS, "more")}: /plugin check ${name}`]
        : [];
    const lines = [...formatProblems(problems.slice(0, MAX_ERRORS), promptCtx!.root), ...moreNote];
    promptCtx!.note(`Plugin '${name}' was loaded, but its types do not fit:\n${lines.join("\n")}`);
  }
}

/** Leaves out the inode, so a file that was saved unchanged is the same version. */
function versionOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs} ${stat.size}` : "";
}

// At the prompt, whatever plugin of the person's was loaded is checked by its types, in another process. What does not fit
// is told once for each version of a file.
import fs from "node:fs";
import type { Ctx, Zz } from "zz";
import { type Checker, counted, listed } from "./checker.ts";

const AT_START = 1_000; // ms after the first prompt, which must be there at once
const MOST = 3; // errors that a note names

export function watchTypes(zz: Zz, checker: () => Promise<Checker>): void {
  const told = new Map<string, string>(); // by file, the stamp of what was last checked
  let reach: Ctx | undefined; // there is a prompt: zz stays, and somebody reads what is told
  let last: Promise<unknown> = Promise.resolve();

  zz.wrap("prompt", (line, next, ctx) => {
    if (!reach) begin(ctx);
    return next(line);
  });
  zz.on("reloaded", ({ plugins }) => {
    const names = plugins.flatMap(({ name, did }) => (did === "loaded" || did === "reloaded" ? [name] : []));
    if (names.length) look(names);
  });

  function begin(ctx: Ctx): void {
    reach = ctx;
    const soon = setTimeout(look, AT_START).unref();
    zz.defer(() => clearTimeout(soon));
  }

  /** One after the other. What was saved meanwhile is looked at as it then is. */
  function look(names?: string[]): void {
    for (const { name, file, from, failure } of reach?.about.plugins ?? [])
      if (from !== "zz" && !failure && (!names || names.includes(name)))
        last = last.then(() => checkOne(name, file)).catch(() => {}); // types are a help: without them all works as well
  }

  async function checkOne(name: string, file: string): Promise<void> {
    const stamp = stampOf(file);
    if (zz.signal.aborted || !stamp || told.get(file) === stamp) return;
    told.set(file, stamp);
    const problems = (await (await checker()).check(file, undefined, zz.signal)).filter(({ untyped }) => !untyped);
    if (!problems.length || stampOf(file) !== stamp) return;
    const more = problems.length > MOST ? [`${counted(problems.length - MOST, "more")}: /plugin check ${name}`] : [];
    const lines = [...listed(problems.slice(0, MOST), reach!.root), ...more];
    reach!.note(`Plugin '${name}' was loaded, but its types do not fit:\n${lines.join("\n")}`);
  }
}

function stampOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs} ${stat.size}` : "";
}

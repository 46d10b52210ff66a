// What --check-plugin and /plugin check say: type errors, whether zz loads the file, and what was
// not looked at.
import path from "node:path";
import type { Ctx, Result } from "zz";
import { isInside, plural } from "zz/text";
import type { Checked, Problem } from "./check.ts";
import { formatProblems, nearName } from "./checker.ts";
import { packageFolder } from "./locate-zz.ts";
import { failureOf } from "./try-loading.ts";

export async function resultOf(
  shownName: string,
  file: string,
  { problems, unread, untyped }: Checked,
  ctx: Ctx,
  seconds: number,
): Promise<Result> {
  const unloaded = whyUnloaded(file, unread, ctx);
  const failure = unloaded ? undefined : await failureOf(file, ctx, seconds);
  const isNew = failure && !problems.some((problem) => isSame(problem, failure));
  const names = untyped.map((name) => nearName(name, ctx.root)).join(", ");
  const notes = [
    ...unread,
    ...(names ? [`The types of JavaScript are not checked: ${names}.`] : []),
    ...(unloaded ? [`It was not loaded: ${unloaded}.`] : []),
  ];
  const data = { file, problems, ...(notes.length && { notes }) };
  if (!problems.length && !failure) {
    const is = [untyped.includes(file) ? [] : "has no type errors", unloaded ? [] : "loads"].flat();
    return {
      text: [`'${shownName}' ${is.join(", and ") || "has no errors of syntax"}.`, ...notes].join(
        "\n",
      ),
      data,
    };
  }
  const lines = [...formatProblems(problems, ctx.root), ...(isNew ? [failure] : []), ...notes];
  const end = `${plural(problems.length + Number(Boolean(isNew)), "error")} in '${shownName}'.`;
  return { text: [...lines, end].join("\n"), data, failed: true };
}

/** Whether loading the file failed for the same reason as the type check. */
const isSame = ({ file, line, message }: Problem, failure: string): boolean =>
  failure.includes(`(${file}:${line})`) ||
  [message, failure].every((text) => text.includes("default export"));

/**
 * Why the file is not loaded: that would run it, and the person may not trust it yet unless zz
 * loads it anyway.
 */
function whyUnloaded(file: string, unread: string[], { about }: Ctx): string | undefined {
  if (unread.length) return "not all of it may be read";
  if (/\.test\.\w+$/.test(file)) return "it is a test";
  if (isInside(path.join(packageFolder(), "plugins"), file)) return "it is one of zz's own";
  const folder = path.join(about.home, "plugins");
  if (isInside(path.join(packageFolder(), "packages"), file)) return undefined;
  return isInside(folder, file) ? undefined : `that would run it, and it is not in ${folder}`;
}

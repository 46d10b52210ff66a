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
): Promise<Result> {
  const unloaded = whyUnloaded(file, unread, ctx);
  const failure = unloaded ? undefined : await failureOf(file, ctx);
  const isNewFailure = failure && !problems.some((problem) => isSameFailure(problem, failure));
  const untypedNames = untyped.map((untypedFile) => nearName(untypedFile, ctx.root)).join(", ");
  const notes = [
    ...unread,
    ...(untypedNames ? [`The types of JavaScript are not checked: ${untypedNames}.`] : []),
    ...(unloaded ? [`It was not loaded: ${unloaded}.`] : []),
  ];
  const data = { file, problems, ...(notes.length && { notes }) };
  if (!problems.length && !failure) {
    const statements = [
      untyped.includes(file) ? [] : "has no type errors",
      unloaded ? [] : "loads",
    ].flat();
    return {
      text: [
        `'${shownName}' ${statements.join(", and ") || "has no errors of syntax"}.`,
        ...notes,
      ].join("\n"),
      data,
    };
  }
  const reportLines = [
    ...formatProblems(problems, ctx.root),
    ...(isNewFailure ? [failure] : []),
    ...notes,
  ];
  const errorCount = plural(problems.length + Number(Boolean(isNewFailure)), "error");
  const totalLine = `${errorCount} in '${shownName}'.`;
  return { text: [...reportLines, totalLine].join("\n"), data, failed: true };
}

/** Whether loading the file failed for the same reason as the type check. */
const isSameFailure = ({ file, line, message }: Problem, failure: string): boolean =>
  failure.includes(`(${file}:${line})`) ||
  [message, failure].every((errorText) => errorText.includes("default export"));

/**
 * Why the file is not loaded: that would run it, and the person may not trust it yet unless zz
 * loads it anyway.
 */
function whyUnloaded(
  pluginFile: string,
  unreadNotes: string[],
  { about }: Ctx,
): string | undefined {
  if (unreadNotes.length) return "not all of it may be read";
  if (/\.test\.\w+$/.test(pluginFile)) return "it is a test";
  if (isInside(path.join(packageFolder(), "plugins"), pluginFile)) return "it is one of zz's own";
  const pluginFolder = path.join(about.home, "plugins");
  if (isInside(path.join(packageFolder(), "packages"), pluginFile)) return undefined;
  return isInside(pluginFolder, pluginFile)
    ? undefined
    : `that would run it, and it is not in ${pluginFolder}`;
}

// write_plugin: the model extends zz. Its code is type-checked without running it, shown in full
// for permission, tried in another process, written to the home, and loaded: usable in the next
// round of the same turn.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Result, Zz } from "zz";
import { plural, sentenceOf } from "zz/text";
import type { Checker } from "./checker.ts";
import { checkName, pluginFile } from "./locate-zz.ts";

type Args = { name: string; code: string };

const MAX_CODE_CHARS = 100_000; // a person would not read more before allowing it
const MAX_LINE_CHARS = 4_000; // questions show only the ends of longer lines
const MAX_ERRORS = 20; // reported to the model at once
const LOAD_TIMEOUT_MS = 30_000; // loading itself times out earlier

export function addWriteTool(zz: Zz, checker: () => Promise<Checker>): void {
  // by file, its content when the person was asked
  const shownOf = new Map<string, string | undefined>();
  const unreadOf = new Map<string, string[]>(); // by file, what its check could not read
  // the file of the current call, loaded once the call has succeeded
  let written: string | undefined;

  zz.tool({
    name: "write_plugin",
    description:
      "Add a tool to yourself, or replace one you wrote: a zz plugin in TypeScript. " +
      'import type { Zz } from "zz"; export default (zz: Zz) => zz.tool({ name, description, ' +
      'params: { city: "string which" }, run: ({ city }, ctx) => "text" }). Usable at once.',
    params: { name: "string the plugin's, as of a file", code: "string all of it" },
    changes: true,
    async needs(args, ctx) {
      const unreadNotes = await checkCode(args, ctx, await checker());
      const targetFile = pluginFile(ctx.about.home, args.name);
      unreadOf.set(targetFile, unreadNotes);
      return needsOf(args.name, targetFile);
    },
    preview: async ({ name, code }, ctx) => {
      const targetFile = pluginFile(ctx.about.home, name);
      shownOf.set(targetFile, currentContent(targetFile));
      return previewOf(name, code, ctx);
    },
    async run({ name, code }, ctx) {
      const targetFile = pluginFile(ctx.about.home, name);
      const asShown =
        !shownOf.has(targetFile) || shownOf.get(targetFile) === currentContent(targetFile);
      shownOf.delete(targetFile);
      if (!asShown)
        throw new Error(
          `Cannot write plugin '${name}': ${targetFile} changed meanwhile. Call again.`,
        );
      const { tryOut } = await import("./try-loading.ts");
      await ctx.plugins.refresh(); // so that the previous version is known
      await tryOut(name, normalized(code), targetFile, ctx);
      await ctx.files.write(targetFile, normalized(code));
      written = targetFile;
      return [`Wrote ${targetFile}.`, ...(unreadOf.get(targetFile) ?? [])].join(" ");
    },
  });
  // Loads the file once it is written, and tells the model what is new.
  zz.wrap(
    "call",
    async (toolCall, next, ctx) => {
      const result = await next(toolCall);
      const writtenFile = written;
      written = undefined;
      return writtenFile && !result.failed ? loadPlugin(writtenFile, result, ctx) : result;
    },
    { order: "last", limit: LOAD_TIMEOUT_MS },
  );
}

/** Refuses mistakes before the person is asked. Says what its check could not read. */
async function checkCode({ name, code }: Args, ctx: Ctx, checker: Checker): Promise<string[]> {
  checkName("Cannot write plugin", name, ctx);
  const refuse = (reason: string) => new Error(`Cannot write plugin '${name}': ${reason}`);
  const pluginText = normalized(code);
  const targetFile = pluginFile(ctx.about.home, name);
  refuseUnreadable(pluginText, targetFile, refuse);
  const checked = await checker.check(targetFile, ctx, pluginText);
  if (checked.problems.length) throw refuse(await errorsText(checked));
  return checked.unread;
}

const BECAUSE =
  "it becomes a part of zz and runs with all that you may do, now and whenever zz starts";
const needsOf = (pluginName: string, targetFile: string): Needs => ({
  run: [{ name: `plugin ${pluginName}`, verdict: "ask", why: BECAUSE }],
  write: [{ name: targetFile, verdict: "allow", why: "it is asked for as what it runs" }],
});

async function errorsText({
  problems,
  unread,
}: Awaited<ReturnType<Checker["check"]>>): Promise<string> {
  const { formatProblems } = await import("./checker.ts");
  const problemLines = formatProblems(
    problems
      .slice(0, MAX_ERRORS)
      .map((problem) => ({ ...problem, file: path.basename(problem.file) })),
    "",
  );
  const moreNote =
    problems.length > MAX_ERRORS ? [`and ${plural(problems.length - MAX_ERRORS, "more")}.`] : [];
  return [
    "its types do not fit, and nothing was written. Fix it and call again:",
    ...problemLines,
    ...moreNote,
    ...unread,
  ].join("\n");
}

/**
 * Throws if the person could not read the code before allowing it, or if it would be written
 * through a link.
 */
function refuseUnreadable(
  pluginText: string,
  targetFile: string,
  refuse: (reason: string) => Error,
): void {
  if (!pluginText.trim()) throw refuse("its code is empty. Write it.");
  if (pluginText.length > MAX_CODE_CHARS)
    throw refuse(
      `${pluginText.length} characters are too many (${MAX_CODE_CHARS}). Make it shorter.`,
    );
  if (INVISIBLE.test(pluginText))
    throw refuse(
      "it holds control characters, or such as turn a line around. Write them as \\u0000.",
    );
  const longLineIndex = pluginText
    .split("\n")
    .findIndex((codeLine) => codeLine.length > MAX_LINE_CHARS);
  if (longLineIndex >= 0)
    throw refuse(
      `line ${longLineIndex + 1} has more than ${MAX_LINE_CHARS} characters, ` +
        "which nobody can read. Break it.",
    );
  if (fs.lstatSync(targetFile, { throwIfNoEntry: false })?.isSymbolicLink())
    throw refuse(`${targetFile} is a link. Edit what it leads to, or choose another name.`);
}

/** Line ends that only JavaScript knows, and characters that change the direction of text. */
const INVISIBLE = /[^\P{Cc}\t\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** The current content of the file, if any. */
function currentContent(targetFile: string): string | undefined {
  const fileStats = fs.lstatSync(targetFile, { throwIfNoEntry: false });
  return fileStats && (fileStats.isFile() ? fs.readFileSync(targetFile, "latin1") : "no file");
}

/** Shows a new plugin in full, and an existing one as a diff. */
async function previewOf(pluginName: string, pluginCode: string, { about }: Ctx): Promise<string> {
  const targetFile = pluginFile(about.home, pluginName);
  const textBefore = fs.existsSync(targetFile) ? fs.readFileSync(targetFile, "utf8") : undefined;
  const pluginText = normalized(pluginCode);
  if (textBefore === undefined) return `create ${targetFile}, all of it:\n${pluginText.trimEnd()}`;
  const { createTwoFilesPatch } = await import("diff");
  const diffPatch = createTwoFilesPatch(targetFile, targetFile, textBefore, pluginText, "", "", {
    timeout: 1_000,
  }) as string | undefined;
  if (!diffPatch) return `replace ${targetFile}, all of it:\n${pluginText.trimEnd()}`;
  return (
    `edit ${targetFile}, what differs:\n` +
    diffPatch.slice(Math.max(0, diffPatch.indexOf("\n@@") + 1)).trimEnd()
  );
}

async function loadPlugin(file: string, result: Result, { plugins, about }: Ctx): Promise<Result> {
  const name = path.basename(file, ".ts");
  const reloads = await plugins
    .refresh()
    .catch((error) => [{ name, did: "failed" as const, ms: 0, why: sentenceOf(error) }]);
  const reloaded = reloads.find((reload) => reload.name === name);
  if (reloaded?.did === "failed")
    return {
      ...result,
      failed: true,
      text: `${result.text}\nIt was written, but is not in use. ${reloaded.why}`,
    };
  if (!about.plugins.some((plugin) => plugin.file === file))
    return { ...result, text: `${result.text} It is loaded when zz starts again.` };
  const tools = about.tools.filter(({ owner }) => owner === name).map((tool) => tool.name);
  const commands = about.commands
    .filter(({ owner }) => owner === name)
    .map((command) => `/${command.name}`);
  const listNames = (label: string, addedNames: string[]) =>
    addedNames.length ? [`${label} ${addedNames.join(", ")}`] : [];
  const additions = [
    ...listNames(tools.length > 1 ? "the tools" : "the tool", tools),
    ...listNames(commands.length > 1 ? "the commands" : "the command", commands),
  ];
  const text =
    `${result.text} It is in ` +
    `use${additions.length ? `, and adds ${additions.join(" and ")}` : ""}.`;
  return { ...result, text, data: { name, file, tools, commands } };
}

const normalized = (pluginCode: string): string =>
  `${pluginCode
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .trimEnd()}\n`;

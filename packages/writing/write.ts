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
      'Add a tool to yourself, or replace one you wrote: a zz plugin in TypeScript. import type { Zz } from "zz"; export default (zz: Zz) => zz.tool({ name, description, params: { city: "string which" }, run: ({ city }, ctx) => "text" }). Usable at once.',
    params: { name: "string the plugin's, as of a file", code: "string all of it" },
    changes: true,
    async needs(args, ctx) {
      const unread = await checkCode(args, ctx, await checker());
      const file = pluginFile(ctx.about.home, args.name);
      unreadOf.set(file, unread);
      return needsOf(args.name, file);
    },
    preview: async ({ name, code }, ctx) => {
      const file = pluginFile(ctx.about.home, name);
      shownOf.set(file, currentContent(file));
      return previewOf(name, code, ctx);
    },
    async run({ name, code }, ctx) {
      const file = pluginFile(ctx.about.home, name);
      const asShown = !shownOf.has(file) || shownOf.get(file) === currentContent(file);
      shownOf.delete(file);
      if (!asShown)
        throw new Error(`Cannot write plugin '${name}': ${file} changed meanwhile. Call again.`);
      const { tryOut } = await import("./try-loading.ts");
      await ctx.plugins.refresh(); // so that the previous version is known
      await tryOut(
        name,
        normalized(code),
        file,
        ctx,
        Number(zz.io.variable("ZZ_LOAD_LIMIT")) || 10,
      ); // like the loader
      await ctx.files.write(file, normalized(code));
      written = file;
      return [`Wrote ${file}.`, ...(unreadOf.get(file) ?? [])].join(" ");
    },
  });
  // Loads the file once it is written, and tells the model what is new.
  zz.wrap(
    "call",
    async (call, next, ctx) => {
      const result = await next(call);
      const file = written;
      written = undefined;
      return file && !result.failed ? load(file, result, ctx) : result;
    },
    { order: "last", limit: LOAD_TIMEOUT_MS },
  );
}

/** Refuses mistakes before the person is asked. Says what its check could not read. */
async function checkCode({ name, code }: Args, ctx: Ctx, checker: Checker): Promise<string[]> {
  checkName("Cannot write plugin", name, ctx);
  const refuse = (reason: string) => new Error(`Cannot write plugin '${name}': ${reason}`);
  const text = normalized(code);
  const file = pluginFile(ctx.about.home, name);
  refuseUnreadable(text, file, refuse);
  const checked = await checker.check(file, ctx, text);
  if (checked.problems.length) throw refuse(await errorsText(checked));
  return checked.unread;
}

const BECAUSE =
  "it becomes a part of zz and runs with all that you may do, now and whenever zz starts";
const needsOf = (name: string, file: string): Needs => ({
  run: [{ name: `plugin ${name}`, verdict: "ask", why: BECAUSE }],
  write: [{ name: file, verdict: "allow", why: "it is asked for as what it runs" }],
});

async function errorsText({
  problems,
  unread,
}: Awaited<ReturnType<Checker["check"]>>): Promise<string> {
  const { formatProblems } = await import("./checker.ts");
  const lines = formatProblems(
    problems
      .slice(0, MAX_ERRORS)
      .map((problem) => ({ ...problem, file: path.basename(problem.file) })),
    "",
  );
  const moreNote =
    problems.length > MAX_ERRORS ? [`and ${plural(problems.length - MAX_ERRORS, "more")}.`] : [];
  return [
    "its types do not fit, and nothing was written. Fix it and call again:",
    ...lines,
    ...moreNote,
    ...unread,
  ].join("\n");
}

/**
 * Throws if the person could not read the code before allowing it, or if it would be written
 * through a link.
 */
function refuseUnreadable(text: string, file: string, refuse: (reason: string) => Error): void {
  if (!text.trim()) throw refuse("its code is empty. Write it.");
  if (text.length > MAX_CODE_CHARS)
    throw refuse(`${text.length} characters are too many (${MAX_CODE_CHARS}). Make it shorter.`);
  if (INVISIBLE.test(text))
    throw refuse(
      "it holds control characters, or such as turn a line around. Write them as \\u0000.",
    );
  const wide = text.split("\n").findIndex((line) => line.length > MAX_LINE_CHARS);
  if (wide >= 0)
    throw refuse(
      `line ${wide + 1} has more than ${MAX_LINE_CHARS} characters, which nobody can read. Break it.`,
    );
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw refuse(`${file} is a link. Edit what it leads to, or choose another name.`);
}

/** Line ends that only JavaScript knows, and characters that change the direction of text. */
const INVISIBLE = /[^\P{Cc}\t\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** The current content of the file, if any. */
function currentContent(file: string): string | undefined {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat && (stat.isFile() ? fs.readFileSync(file, "latin1") : "no file");
}

/** Shows a new plugin in full, and an existing one as a diff. */
async function previewOf(name: string, code: string, { about }: Ctx): Promise<string> {
  const file = pluginFile(about.home, name);
  const before = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
  const text = normalized(code);
  if (before === undefined) return `create ${file}, all of it:\n${text.trimEnd()}`;
  const { createTwoFilesPatch } = await import("diff");
  const patch = createTwoFilesPatch(file, file, before, text, "", "", { timeout: 1_000 }) as
    | string
    | undefined;
  if (!patch) return `replace ${file}, all of it:\n${text.trimEnd()}`;
  return `edit ${file}, what differs:\n${patch.slice(Math.max(0, patch.indexOf("\n@@") + 1)).trimEnd()}`;
}

async function load(file: string, result: Result, { plugins, about }: Ctx): Promise<Result> {
  const name = path.basename(file, ".ts");
  const done = await plugins
    .refresh()
    .catch((error) => [{ name, did: "failed" as const, ms: 0, why: sentenceOf(error) }]);
  const reloaded = done.find((change) => change.name === name);
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
  const list = (label: string, names: string[]) =>
    names.length ? [`${label} ${names.join(", ")}`] : [];
  const adds = [
    ...list(tools.length > 1 ? "the tools" : "the tool", tools),
    ...list(commands.length > 1 ? "the commands" : "the command", commands),
  ];
  const text = `${result.text} It is in use${adds.length ? `, and adds ${adds.join(" and ")}` : ""}.`;
  return { ...result, text, data: { name, file, tools, commands } };
}

const normalized = (code: string): string =>
  `${code
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .trimEnd()}\n`;

// write_plugin: the model adds to zz. Its code is checked without running it, shown in full and asked for, tried in another
// process, put into the home, and loaded: usable in the next round of the same turn.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Result, Zz } from "zz";
import type { Checker } from "./checker.ts";
import { checkName, pluginFile, why } from "./where.ts";

type Args = { name: string; code: string };

const LARGEST = 100_000; // characters: more than anybody reads before saying yes
const WIDEST = 4_000; // characters of a line; of longer ones a question shows only the ends
const MOST = 20; // errors that the model is told at once
const TO_LOAD = 30_000; // ms; loading itself is cut off after 10 s

export function writer(zz: Zz, checker: () => Promise<Checker>): void {
  const shownOf = new Map<string, string | undefined>(); // by file, what was there when the question was put
  let written: string | undefined; // by the call under way: its file is on the disk once the call has succeeded

  zz.tool({
    name: "write_plugin",
    description:
      'Add a tool to yourself, or replace one you wrote: a zz plugin in TypeScript. import type { Zz } from "zz"; export default (zz: Zz) => zz.tool({ name, description, params: { city: "string which" }, run: ({ city }, ctx) => "text" }). Usable at once.',
    params: { name: "string the plugin's, as of a file", code: "string all of it" },
    changes: true,
    needs,
    preview: async ({ name, code }, ctx) => {
      const file = pluginFile(ctx.about.home, name);
      shownOf.set(file, standing(file));
      return shown(name, code, ctx);
    },
    async run({ name, code }, ctx) {
      const file = pluginFile(ctx.about.home, name);
      const asShown = !shownOf.has(file) || shownOf.get(file) === standing(file);
      shownOf.delete(file);
      if (!asShown) throw new Error(`Cannot write plugin '${name}': ${file} changed meanwhile. Call again.`);
      const { tryOut } = await import("./trial.ts");
      await ctx.plugins.refresh(); // so that it is known what its file was
      await tryOut(name, tidy(code), file, ctx);
      await ctx.files.write(file, tidy(code));
      written = file;
      return `Wrote ${file}.`;
    },
  });
  // Once the file is there it is loaded, and the model told what it has now.
  zz.wrap(
    "call",
    async (call, next, ctx) => {
      const result = await next(call);
      const file = written;
      written = undefined;
      return file && !result.failed ? load(file, result, ctx) : result;
    },
    "last",
    TO_LOAD,
  );

  /** What is wrong with it comes back before anybody is asked. */
  async function needs({ name, code }: Args, ctx: Ctx): Promise<Needs> {
    checkName("Cannot write plugin", name, ctx);
    const refuse = (reason: string) => new Error(`Cannot write plugin '${name}': ${reason}`);
    const text = tidy(code);
    if (!code.trim()) throw refuse("its code is empty. Write it.");
    if (text.length > LARGEST) throw refuse(`${text.length} characters are too many (${LARGEST}). Make it shorter.`);
    if (UNSEEN.test(text))
      throw refuse("it holds control characters, or such as turn a line around. Write them as \\u0000.");
    const wide = text.split("\n").findIndex((line) => line.length > WIDEST);
    if (wide >= 0)
      throw refuse(`line ${wide + 1} has more than ${WIDEST} characters, which nobody can read. Break it.`);
    const file = pluginFile(ctx.about.home, name);
    if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
      throw refuse(`${file} is a link. Edit what it leads to, or choose another name.`);
    const problems = await (await checker()).check(file, text, ctx.signal);
    if (problems.length) throw refuse(await broken(problems));
    const because = "it becomes a part of zz and runs with all that you may do, now and whenever zz starts";
    return {
      run: [{ name: `plugin ${name}`, verdict: "ask", why: because }],
      write: [{ name: file, verdict: "allow", why: "it is asked for as what it runs" }],
    };
  }

  async function broken(problems: Awaited<ReturnType<Checker["check"]>>): Promise<string> {
    const { counted, listed } = await import("./checker.ts");
    const lines = listed(
      problems.slice(0, MOST).map((one) => ({ ...one, file: path.basename(one.file) })),
      "",
    );
    const more = problems.length > MOST ? [`and ${counted(problems.length - MOST, "more")}.`] : [];
    return ["its types do not fit, and nothing was written. Mend it and call again:", ...lines, ...more].join("\n");
  }
}

/** Line ends that only JavaScript knows, and letters that stand elsewhere than they are read. */
const UNSEEN = /[^\P{Cc}\t\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** What is there now, whatever it is. */
function standing(file: string): string | undefined {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat && (stat.isFile() ? fs.readFileSync(file, "latin1") : "no file");
}

/** All of a new one; of one that is there what becomes of it. */
async function shown(name: string, code: string, { about }: Ctx): Promise<string> {
  const file = pluginFile(about.home, name);
  const before = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
  const text = tidy(code);
  if (before === undefined) return `create ${file}, all of it:\n${text.trimEnd()}`;
  const { createTwoFilesPatch } = await import("diff");
  const patch = createTwoFilesPatch(file, file, before, text, "", "", { timeout: 1_000 }) as string | undefined;
  if (!patch) return `replace ${file}, all of it:\n${text.trimEnd()}`;
  return `edit ${file}, what differs:\n${patch.slice(Math.max(0, patch.indexOf("\n@@") + 1)).trimEnd()}`;
}

async function load(file: string, result: Result, { plugins, about }: Ctx): Promise<Result> {
  const name = path.basename(file, ".ts");
  const done = await plugins.refresh().catch((error) => [{ name, did: "failed" as const, ms: 0, why: why(error) }]);
  const own = done.find((one) => one.name === name);
  if (own?.did === "failed")
    return { ...result, failed: true, text: `${result.text}\nIt is there, but is not in force. ${own.why}` };
  if (!about.plugins.some((plugin) => plugin.file === file))
    return { ...result, text: `${result.text} It is loaded when zz starts again.` };
  const tools = about.tools.filter(({ owner }) => owner === name).map((tool) => tool.name);
  const commands = about.commands.filter(({ owner }) => owner === name).map((command) => `/${command.name}`);
  const list = (what: string, names: string[]) => (names.length ? [`${what} ${names.join(", ")}`] : []);
  const adds = [
    ...list(tools.length > 1 ? "the tools" : "the tool", tools),
    ...list(commands.length > 1 ? "the commands" : "the command", commands),
  ];
  const text = `${result.text} It is in force${adds.length ? `, and adds ${adds.join(" and ")}` : ""}.`;
  return { ...result, text, data: { name, file, tools, commands } };
}

const tidy = (code: string): string =>
  `${code
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .trimEnd()}\n`;

// Applies the table of habits to the calls of a reply.
import type { Call, ChatRequest, Ctx } from "zz";
import { fits } from "../coerce.ts";
import { type Args, bare, bareWords, isArgs, renamed, withoutFolder } from "./names.ts";
import { EDITORS, HABITS, type Habit } from "./table.ts";
import { type Asked, type Given, VALUES } from "./values.ts";

type Tools = ChatRequest["tools"];
type Meant = Omit<Given, "args"> & { call: Call };

/**
 * The same calls as calls of zz's own tools. Those that need no translation, or have none, stay as
 * they are.
 */
export async function ownCalls(calls: readonly Call[], tools: Tools, ctx: Ctx): Promise<Call[]> {
  const own: Call[] = [];
  // the tool reports it
  for (const call of calls) own.push(...(await ownCall(call, tools, ctx).catch(() => [call])));
  return own;
}

/** zz's own tool for a name that another program has for it. */
export function ownName(name: string): string | undefined {
  const editor = { to: "edit_file", names: EDITORS.names };
  const isNamed = ({ to, names }: Pick<Habit, "to" | "names">) =>
    bareWords(`${to} ${names}`).includes(bare(name));
  return name.length > MAX_NAME_CHARS ? undefined : [...HABITS, editor].find(isNamed)?.to;
}

/** These tools under the names of other programs, for finding calls in a text. */
export function foreignTools(tools: Tools): Tools {
  const taken = new Set(tools.map(({ name }) => bare(name)));
  const made: Tools = [];
  const editor: Habit = { to: "edit_file", names: EDITORS.names, params: {} };
  for (const { to, names } of [...HABITS, editor]) {
    const tool = tools.find(({ name }) => name === to);
    for (const name of tool ? names.split(" ") : []) {
      if (taken.has(bare(name))) continue;
      taken.add(bare(name));
      made.push({ name, description: "", schema: tool!.schema });
    }
  }
  return made;
}

async function ownCall(call: Call, tools: Tools, ctx: Ctx): Promise<Call[]> {
  const given = isArgs(call.args) ? call.args : {};
  if (call.name.length > MAX_NAME_CHARS) return [call];
  const [whole = ""] = call.name.replace(PREFIX, "").split(/<\||[{(["<\n]/);
  for (const written of new Set([whole, whole.split(".").at(-1)!])) {
    const name = bare(written.replace(/:\d+$/, "").trim());
    // an offered tool of this name comes first
    const taken = tools.find((tool) => bare(tool.name) === name);
    const isEditor =
      !taken &&
      bareWords(EDITORS.names).includes(name) &&
      (name !== "fswrite" || "command" in given);
    const to = isEditor ? editorsTool(given) : undefined;
    const habit = HABITS.find((one) =>
      isEditor ? one.to === to : bareWords(`${one.to} ${one.names}`).includes(name),
    );
    const tool = tools.find((one) => one.name === habit?.to);
    if (habit && tool && (!taken || taken === tool))
      return translated({ call, given, name, tool, tools, ctx }, habit, isEditor);
    if (taken) break;
  }
  return [call];
}
const MAX_NAME_CHARS = 100;
const PREFIX = /^[\s'`]*(functions?[._]|tools\.|default_api\.)?/;

async function translated(meant: Meant, habit: Habit, isEditor: boolean): Promise<Call[]> {
  const { call, given, tool, ctx } = meant;
  if (tool.name === call.name && isArgs(call.args) && (await fits(tool, call.args, true)))
    return [call];
  if (call.broken) return [{ ...call, name: tool.name }];
  const { command, ...others } = given;
  const args = renamed(isEditor ? others : given, habit, tool);
  const made =
    (isEditor && wrongEditor(command)) || (await VALUES[tool.name]?.({ ...meant, args }));
  if (typeof made === "string")
    return [{ ...call, name: tool.name, args, broken: `Cannot call '${tool.name}': ${made}` }];
  const all: Asked[] = made ?? [[tool.name, args]];
  return all.map(([name, args], i) => {
    const { extra, ...rest } = { ...call, name, args: withoutRoot(args, ctx.root) };
    return i
      ? { ...rest, id: `${call.id}_${i + 1}` }
      : { ...rest, ...(extra !== undefined && { extra }) };
  });
}
/** The tool for an editor's command; for a missing or unknown command, the tool that reports it. */
const editorsTool = ({ command }: Args): string =>
  (typeof command === "string" && Object.hasOwn(EDITORS.to, command) && EDITORS.to[command]) ||
  "edit_file";

function wrongEditor(command: unknown): string | undefined {
  if (command === "undo_edit") return EDITORS.undo;
  const words = Object.keys(EDITORS.to);
  if (typeof command === "string" && words.includes(command)) return undefined;
  const said =
    typeof command === "string" ? `there is no command '${command}'` : "it has no command";
  return `${said}. Give one of ${words.join(", ")}.`;
}

/** Makes paths relative to the project. */
function withoutRoot(args: Args, root: string): Args {
  const isPath = ([key]: [string, unknown]) => ["path", "from", "to", "paths"].includes(key);
  const shortened = Object.entries(args)
    .filter(isPath)
    .map(([key, value]) => [
      key,
      Array.isArray(value)
        ? value.map((one) => withoutFolder(one, root))
        : withoutFolder(value, root),
    ]);
  return { ...args, ...Object.fromEntries(shortened) };
}

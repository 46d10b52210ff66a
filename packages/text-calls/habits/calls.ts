// Applies the table of habits to the calls of a reply.
import type { Call, ChatRequest, Ctx } from "zz";
import { isObject, ownValue } from "zz/text";
import { fits } from "../coerce.ts";
import { type Args, bareName, bareNames, renameArgs, withoutFolder } from "./rename-arguments.ts";
import { EDITORS, HABITS, type Habit } from "./table.ts";
import { type AskedCall, type GivenCall, VALUES } from "./values.ts";

type Tools = ChatRequest["tools"];
type MeantCall = Omit<GivenCall, "args"> & { call: Call };

const NAMED: Habit[] = [...HABITS, { to: "edit_file", names: EDITORS.names, params: {} }];

/** What a call is as calls of zz's own tools; one without a translation stays as it is. */
export const ownCalls = (call: Call, tools: Tools, ctx: Ctx): Promise<Call[]> =>
  translated(call, tools, ctx).catch(() => [call]); // the tool reports it

/** zz's own tool for a name that another program has for it. */
export function ownName(foreignName: string): string | undefined {
  if (foreignName.length > MAX_NAME_CHARS) return undefined;
  return NAMED.find((habit) => isNamed(habit, bareName(foreignName)))?.to;
}

/** These tools under the names of other programs, for finding calls in a text. */
export function foreignTools(tools: Tools): Tools {
  const takenNames = new Set(tools.map(({ name }) => bareName(name)));
  const foreign: Tools = [];
  for (const { to, names } of NAMED) {
    const ownTool = tools.find(({ name }) => name === to);
    for (const name of ownTool ? names.split(" ") : []) {
      if (takenNames.has(bareName(name))) continue;
      takenNames.add(bareName(name));
      foreign.push({ name, description: "", schema: ownTool!.schema });
    }
  }
  return foreign;
}

const isNamed = ({ to, names }: Habit, name: string): boolean =>
  bareNames(`${to} ${names}`).includes(name);

async function translated(call: Call, tools: Tools, ctx: Ctx): Promise<Call[]> {
  const original = isObject(call.args) ? call.args : {};
  if (call.name.length > MAX_NAME_CHARS) return [call];
  const [fullName = ""] = call.name.replace(NAME_PREFIX, "").split(/<\||[{(["<\n]/);
  for (const written of new Set([fullName, fullName.split(".").at(-1)!])) {
    const name = bareName(written.replace(/:\d+$/, "").trim());
    // an offered tool of this name comes first
    const sameTool = tools.find((tool) => bareName(tool.name) === name);
    const isEditor =
      !sameTool &&
      bareNames(EDITORS.names).includes(name) &&
      (name !== "fswrite" || "command" in original);
    const meantTool = isEditor ? editorsTool(original) : undefined;
    const habit = HABITS.find((candidate) =>
      isEditor ? candidate.to === meantTool : isNamed(candidate, name),
    );
    const tool = tools.find((candidate) => candidate.name === habit?.to);
    if (habit && tool && (!sameTool || sameTool === tool))
      return translateCall({ call, original, name, tool, tools, ctx }, habit, isEditor);
    if (sameTool) break;
  }
  return [call];
}
const MAX_NAME_CHARS = 100;
const NAME_PREFIX = /^[\s'`]*(functions?[._]|tools\.|default_api\.)?/;

async function translateCall(
  meantCall: MeantCall,
  habit: Habit,
  isEditor: boolean,
): Promise<Call[]> {
  const { call, original, tool, ctx } = meantCall;
  if (tool.name === call.name && isObject(call.args) && (await fits(tool, call.args, true)))
    return [call];
  if (call.broken) return [{ ...call, name: tool.name }];
  const { command, ...others } = original;
  const args = renameArgs(isEditor ? others : original, habit, tool);
  const converted =
    (isEditor && wrongEditor(command)) || (await VALUES[tool.name]?.({ ...meantCall, args }));
  if (typeof converted === "string")
    return [{ ...call, name: tool.name, args, broken: `Cannot call '${tool.name}': ${converted}` }];
  const askedCalls: AskedCall[] = converted ?? [[tool.name, args]];
  return askedCalls.map(([name, askedArgs], i) => {
    const { extra, ...otherFields } = { ...call, name, args: withoutRoot(askedArgs, ctx.root) };
    return i
      ? { ...otherFields, id: `${call.id}_${i + 1}` }
      : { ...otherFields, ...(extra !== undefined && { extra }) };
  });
}
/** The tool for an editor's command; for a missing or unknown command, the tool that reports it. */
const editorsTool = ({ command }: Args): string =>
  (typeof command === "string" && ownValue(EDITORS.to, command)) || "edit_file";

function wrongEditor(command: unknown): string | undefined {
  if (command === "undo_edit") return EDITORS.undo;
  const commandNames = Object.keys(EDITORS.to);
  if (typeof command === "string" && commandNames.includes(command)) return undefined;
  const complaint =
    typeof command === "string" ? `there is no command '${command}'` : "it has no command";
  return `${complaint}. Give one of ${commandNames.join(", ")}.`;
}

/** Makes paths relative to the project. */
function withoutRoot(args: Args, projectRoot: string): Args {
  const shortened = Object.entries(args)
    .filter(([fieldName]) => ["path", "from", "to", "paths"].includes(fieldName))
    .map(([fieldName, fieldValue]) => [
      fieldName,
      Array.isArray(fieldValue)
        ? fieldValue.map((listedPath) => withoutFolder(listedPath, projectRoot))
        : withoutFolder(fieldValue, projectRoot),
    ]);
  return { ...args, ...Object.fromEntries(shortened) };
}

// Pins a server's tools as first seen. One that changes, or that tries to steer the model, needs
// the person's approval.
import type { Ctx } from "zz";
import { oneLine, plural } from "zz/text";
import { type Catalog, type KnownTool, shownName, steering } from "./describe.ts";
import type { Server } from "./hub.ts";

const MAX_GONE = 1_000;

type Settled = { kept: KnownTool[]; held: Map<string, string>; gone: KnownTool[] };

/**
 * The tools to keep and those to hold back. Those keep their old description, so that the next
 * start asks again. A tool that was there before counts as known although the server left it out
 * meanwhile.
 */
export async function settleTools(
  { name }: Pick<Server, "name">,
  before: Pick<Catalog, "tools" | "gone"> | undefined,
  current: KnownTool[],
  ctx: Ctx,
  accepts: boolean, // where nobody can be asked
): Promise<Settled> {
  const knownTools = new Map(
    [...(before?.gone ?? []), ...(before?.tools ?? [])].map((tool) => [tool.name, tool]),
  );
  const currentNames = new Set(current.map((currentTool) => currentTool.name));
  const gone = [...knownTools.values()]
    .filter((previousTool) => !currentNames.has(previousTool.name))
    .slice(-MAX_GONE);
  const doubtful = current.flatMap((tool) => {
    const old = knownTools.get(tool.name);
    if (old?.pin === tool.pin) return [];
    const words = steering([tool.description, tool.schema]);
    return old || words ? [{ tool, old, words }] : [];
  });
  const newTools = before ? current.filter((currentTool) => !knownTools.has(currentTool.name)) : [];
  if (newTools.length)
    ctx.note(
      `MCP server '${name}' has ${plural(newTools.length, "new tool")}: ${newTools
        .slice(0, 20)
        .map((addedTool) => shownName(addedTool.name))
        .join(", ")}.`,
    );
  if (!doubtful.length) return { kept: current, held: new Map(), gone };
  const doubtfulRows = doubtful.flatMap(({ tool, old, words }) => [
    "  " +
      `${shownName(tool.name)}${old ? " says something else than before:" : ""}` +
      `${words ? " says what would steer the model:" : ""}`,
    ...(old ? [`    - ${describeTool(old)}`] : []),
    `    + ${describeTool(tool)}`,
  ]);
  const message = `MCP server '${name}' describes these tools so:\n${doubtfulRows.join("\n")}`;
  if (!ctx.ask && accepts) ctx.note(`${message}\nThey are accepted.`);
  const isAccepted = ctx.ask
    ? (await ctx.ask(`${message}\nOffer them to the model? [y/N] `, "yn")) === "y"
    : accepts;
  if (isAccepted) return { kept: current, held: new Map(), gone };
  const held = new Map(doubtful.map(({ tool, old }) => [tool.name, reasonFor(old)] as const));
  const heldRows = [...held].map(([heldName, because]) => `${shownName(heldName)} (${because})`);
  ctx.note(
    `Tools of MCP server '${name}' are left out: ` +
      `${heldRows.join(", ")}. ` +
      `/mcp tools ${name} shows them.`,
  );
  return {
    kept: current.flatMap((tool) =>
      held.has(tool.name) ? (knownTools.get(tool.name) ?? []) : tool,
    ),
    held,
    gone,
  };
}

const reasonFor = (previousTool: KnownTool | undefined) =>
  previousTool
    ? "its description changed, and nobody has agreed to it"
    : "its description would steer the model";

const describeTool = ({ description, schema }: KnownTool): string =>
  oneLine(`${description} ${JSON.stringify(schema.properties ?? {})}`);

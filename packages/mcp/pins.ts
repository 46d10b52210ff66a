// Pins a server's tools as first seen. One that changes, or that tries to steer the model, needs the person's approval.
import type { Ctx } from "zz";
import { clip, oneLine, plural } from "zz/text";
import { type Known, type KnownTool, steering } from "./describe.ts";
import type { Server } from "./hub.ts";

const MAX_GONE = 1_000;

type Settled = { kept: KnownTool[]; held: Map<string, string>; gone: KnownTool[] };

/**
 * The tools to keep and those to hold back. Those keep their old description, so that the next start asks again. A tool that
 * was there before counts as known although the server left it out meanwhile.
 */
export async function settled(
  { name }: Pick<Server, "name">,
  before: Pick<Known, "tools" | "gone"> | undefined,
  now: KnownTool[],
  ctx: Ctx,
  accepts: boolean, // where nobody can be asked
): Promise<Settled> {
  const known = new Map([...(before?.gone ?? []), ...(before?.tools ?? [])].map((tool) => [tool.name, tool]));
  const names = new Set(now.map((tool) => tool.name));
  const gone = [...known.values()].filter((tool) => !names.has(tool.name)).slice(-MAX_GONE);
  const doubtful = now.flatMap((tool) => {
    const old = known.get(tool.name);
    if (old?.pin === tool.pin) return [];
    const words = steering(tool);
    return old || words ? [{ tool, old, words }] : [];
  });
  const fresh = before ? now.filter((tool) => !known.has(tool.name)) : [];
  if (fresh.length)
    ctx.note(
      `MCP server '${name}' has ${plural(fresh.length, "new tool")}: ${fresh
        .map((one) => one.name)
        .slice(0, 20)
        .join(", ")}.`,
    );
  if (!doubtful.length) return { kept: now, held: new Map(), gone };
  const rows = doubtful.flatMap(({ tool, old, words }) => [
    `  ${clip(tool.name, 80)}${old ? " says something else than before:" : ""}${words ? " says what would steer the model:" : ""}`,
    ...(old ? [`    - ${shown(old)}`] : []),
    `    + ${shown(tool)}`,
  ]);
  const told = `MCP server '${name}' describes these tools so:\n${rows.join("\n")}`;
  if (!ctx.ask && accepts) ctx.note(`${told}\nThey are accepted.`);
  const isYes = ctx.ask ? (await ctx.ask(`${told}\nOffer them to the model? [y/N] `, "yn")) === "y" : accepts;
  if (isYes) return { kept: now, held: new Map(), gone };
  const why = (old: KnownTool | undefined) =>
    old ? "its description changed, and nobody has agreed to it" : "its description would steer the model";
  const held = new Map(doubtful.map(({ tool, old }) => [tool.name, why(old)] as const));
  ctx.note(
    `Tools of MCP server '${name}' are left out: ${[...held].map(([one, because]) => `${one} (${because})`).join(", ")}. /mcp tools ${name} shows them.`,
  );
  return { kept: now.flatMap((tool) => (held.has(tool.name) ? (known.get(tool.name) ?? []) : tool)), held, gone };
}

const shown = ({ description, schema }: KnownTool): string =>
  oneLine(`${description} ${JSON.stringify(schema.properties ?? {})}`);

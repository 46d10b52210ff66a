// Chooses the tools that are described to the model. All of them would fill a small window before
// the person's first word, so as many of the usual ones are described as fit, and the others are
// named in a line: the model asks for them when it needs them. Tools from plugins that are not zz's
// own are always described.
import type { ChatRequest, Ctx, Zz } from "zz";
import { tokensOf } from "zz/text";

export const defaults = { offer: "groups" as "groups" | "all", first: [] as string[] };
export const settings = {
  name: "tools",
  project: true,
  schema: {
    type: "object",
    properties: {
      offer: {
        enum: ["groups", "all"],
        description:
          "groups: the usual tools at once, the others when the model asks; all: every one at once",
      },
      first: {
        type: "array",
        items: { type: "string" },
        description: "tools that are always among the usual ones",
      },
    },
  },
};

/**
 * In the order of how much most conversations need them. The first few are all that a very small
 * window gets.
 */
const READ_AND_EDIT = "read_file edit_file write_file list_dir grep".split(" ");
const USUAL = [
  ...READ_AND_EDIT,
  ..."run_command find_definition repo_map glob find_references get_structure get_function run_tests".split(
    " ",
  ),
  ..."check_types git_diff git_status move_file delete_file remember get_todos edit_lines".split(
    " ",
  ),
];
const MORE = "more_tools";

/**
 * Tokens for tools, by window. With the few hundred of the system prompt: 1,200 of 8,192, 2,500 of
 * 32,768.
 */
const [MIN_TOKENS, MAX_TOKENS, WINDOW_SHARE, PROMPT_TOKENS] = [850, 2_100, 0.075, 350];
const SMALL_WINDOW = 8_000;

type Tools = ChatRequest["tools"];
type State = { open: string[] }; // groups and tools that the model asked for, or called

export default (zz: Zz<typeof defaults>) => {
  const state = zz.state<State>({ open: [] });

  zz.tool({
    name: MORE,
    description: "Get tools that are not described yet.",
    params: { names: "string[] groups or tools, as listed" },
    async run({ names }, ctx) {
      const meant = await withOwnNames(names, ctx);
      const hidden = ctx.about.tools.filter((tool) =>
        meant.some((name) => name === tool.name || name === tool.owner),
      );
      if (!hidden.length)
        throw new Error(`Cannot get '${names.join("', '")}': no such tools. Choose from the list.`);
      open(hidden.map(({ name }) => name));
      return `Described from now on: ${hidden.map(({ name }) => name).join(", ")}.`;
    },
  });

  zz.wrap("offer", async (tools, next, ctx) => {
    const offered = await next(tools);
    const window = ctx.chat.window ?? (await ctx.about.model(ctx.chat.model, true))?.window;
    const first = await withOwnNames(zz.config.first, ctx);
    const isWhole = zz.config.offer === "all" || !offered.some(({ name }) => name === MORE);
    return isWhole
      ? offered.filter(({ name }) => name !== MORE)
      : chosen(offered, window, ctx, [...first, ...state.open]);
  });
  zz.on("planned", ({ calls }) => open(calls.map(({ name }) => name)));

  function open(names: string[]): void {
    const fresh = names.filter(
      (name) => !state.open.includes(name) && !USUAL.includes(name) && name !== MORE,
    );
    if (fresh.length) state.open.push(...fresh);
  }
};

/** Also zz's own names, for those that other programs have for its tools. */
async function withOwnNames(names: readonly string[], { about, service }: Ctx): Promise<string[]> {
  const foreign = names.filter((name) => !about.tools.some((tool) => tool.name === name));
  const own = await Promise.all(foreign.map((name) => service("toolNames")?.own(name)));
  return [...names, ...own.filter((name) => name !== undefined)];
}

function chosen(tools: Tools, window: number | undefined, { about }: Ctx, asked: string[]): Tools {
  const others = tools.filter(({ name }) => name !== MORE);
  const maxTokens = tokensFor(window);
  if (sizeOf(others) <= maxTokens) return others;
  const from = new Map(about.plugins.map(({ name, from }) => [name, from]));
  const owners = new Map(about.tools.map(({ name, owner }) => [name, owner]));
  const kept = new Set(
    others
      .filter(({ name }) => asked.includes(name) || from.get(owners.get(name)!) !== "zz")
      .map(({ name }) => name),
  );
  const isSmall = window !== undefined && window < SMALL_WINDOW;
  let size = 0;
  for (const name of isSmall ? READ_AND_EDIT : USUAL) {
    const tool = others.find((candidate) => candidate.name === name);
    if (!tool || kept.has(name)) continue;
    const newSize = size + sizeOf([tool]);
    if (
      !isSmall &&
      newSize > maxTokens - (maxTokens > ROOMY_TOKENS ? LIST_TOKENS : LIST_TOKENS / 2)
    )
      continue;
    kept.add(name);
    size = newSize;
  }
  const hidden = others.filter(({ name }) => !kept.has(name));
  const moreTool = tools.find(({ name }) => name === MORE)!;
  const described = others.filter(({ name }) => kept.has(name));
  if (isSmall || !hidden.length) return described;
  return [
    ...described,
    {
      ...moreTool,
      description: `${moreTool.description} There are ${listOf(hidden, owners, maxTokens > ROOMY_TOKENS)}.`,
    },
  ];
}

const LIST_TOKENS = 220; // for the list of tools that are only named
// tokens for tools; with more, the list names every tool, not only their groups
const ROOMY_TOKENS = 1_500;

const sizeOf = (tools: Tools): number => tokensOf(JSON.stringify(tools));
const tokensFor = (window = Number.POSITIVE_INFINITY): number =>
  Math.min(MAX_TOKENS, Math.max(MIN_TOKENS, window * WINDOW_SHARE - PROMPT_TOKENS));

/** The tools by the plugins that add them: `git (git_commit, git_log), open_file`. */
function listOf(tools: Tools, owners: ReadonlyMap<string, string>, withNames: boolean): string {
  const groups = Map.groupBy(tools, ({ name }) => owners.get(name)!);
  return Array.from(groups, ([group, { length, ...members }]) => {
    const names = Object.values(members as Tools).map(({ name }) => name);
    if (length === 1) return names[0];
    return withNames ? `${group} (${names.join(", ")})` : group;
  }).join(", ");
}

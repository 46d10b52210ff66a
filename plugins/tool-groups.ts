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
const USUAL_TOOLS = [
  ...READ_AND_EDIT,
  ...(
    "run_command find_definition repo_map glob find_references get_structure get_function " +
    "run_tests check_types git_diff git_status move_file delete_file remember get_todos edit_lines"
  ).split(" "),
];
const MORE_TOOLS = "more_tools";

/**
 * Tokens for tools, by window. With the few hundred of the system prompt: 1,200 of 8,192, 2,500 of
 * 32,768.
 */
const [MIN_TOKENS, MAX_TOKENS, WINDOW_SHARE, PROMPT_TOKENS] = [850, 2_100, 0.075, 350];
const SMALL_WINDOW = 8_000;

type Tools = ChatRequest["tools"];
type State = { open: string[] }; // groups and tools that the model asked for, or called

export default (zz: Zz<typeof defaults>) => {
  const groupState = zz.state<State>({ open: [] });

  zz.tool({
    name: MORE_TOOLS,
    description: "Get tools that are not described yet.",
    params: { names: "string[] groups or tools, as listed" },
    async run({ names }, ctx) {
      const meantNames = await withOwnNames(names, ctx);
      const askedTools = ctx.about.tools.filter((knownTool) =>
        meantNames.some(
          (meantName) => meantName === knownTool.name || meantName === knownTool.owner,
        ),
      );
      if (!askedTools.length)
        throw new Error(`Cannot get '${names.join("', '")}': no such tools. Choose from the list.`);
      openTools(askedTools.map(({ name }) => name));
      return `Described from now on: ${askedTools.map(({ name }) => name).join(", ")}.`;
    },
  });

  zz.wrap("offer", async (offeredTools, nextOffer, ctx) => {
    const offered = await nextOffer(offeredTools);
    const window = ctx.chat.window ?? (await ctx.about.model(ctx.chat.model, true))?.window;
    const firstTools = await withOwnNames(zz.config.first, ctx);
    const isWhole = zz.config.offer === "all" || !offered.some(({ name }) => name === MORE_TOOLS);
    return isWhole
      ? offered.filter(({ name }) => name !== MORE_TOOLS)
      : chosen(offered, window, ctx, [...firstTools, ...groupState.open]);
  });
  zz.on("planned", ({ calls }) => openTools(calls.map(({ name }) => name)));

  function openTools(openedNames: string[]): void {
    const knownNames = [...groupState.open, ...USUAL_TOOLS, MORE_TOOLS];
    groupState.open.push(...openedNames.filter((openedName) => !knownNames.includes(openedName)));
  }
};

/** Also zz's own names, for those that other programs have for its tools. */
async function withOwnNames(
  typedNames: readonly string[],
  { about, service }: Ctx,
): Promise<string[]> {
  const foreign = typedNames.filter(
    (typedName) => !about.tools.some((knownTool) => knownTool.name === typedName),
  );
  const ownNames = await Promise.all(
    foreign.map((foreignName) => service("toolNames")?.own(foreignName)),
  );
  return [...typedNames, ...ownNames.filter((translatedName) => translatedName !== undefined)];
}

function chosen(
  offeredTools: Tools,
  window: number | undefined,
  { about }: Ctx,
  askedNames: string[],
): Tools {
  const otherTools = offeredTools.filter(({ name }) => name !== MORE_TOOLS);
  const maxTokens = tokensFor(window);
  if (tokensIn(otherTools) <= maxTokens) return otherTools;
  const sourceByPlugin = new Map(about.plugins.map(({ name, from }) => [name, from]));
  const ownerByTool = new Map(about.tools.map(({ name, owner }) => [name, owner]));
  const keptNames = new Set(
    otherTools
      .filter(
        ({ name }) =>
          askedNames.includes(name) || sourceByPlugin.get(ownerByTool.get(name)!) !== "zz",
      )
      .map(({ name }) => name),
  );
  const isSmall = window !== undefined && window < SMALL_WINDOW;
  let usualTokens = 0;
  for (const usualName of isSmall ? READ_AND_EDIT : USUAL_TOOLS) {
    const usualTool = otherTools.find((candidate) => candidate.name === usualName);
    if (!usualTool || keptNames.has(usualName)) continue;
    const newSize = usualTokens + tokensIn([usualTool]);
    if (
      !isSmall &&
      newSize > maxTokens - (maxTokens > ROOMY_TOKENS ? LIST_TOKENS : LIST_TOKENS / 2)
    )
      continue;
    keptNames.add(usualName);
    usualTokens = newSize;
  }
  const hiddenTools = otherTools.filter(({ name }) => !keptNames.has(name));
  const moreTool = offeredTools.find(({ name }) => name === MORE_TOOLS)!;
  const described = otherTools.filter(({ name }) => keptNames.has(name));
  if (isSmall || !hiddenTools.length) return described;
  return [
    ...described,
    {
      ...moreTool,
      description:
        `${moreTool.description} There are ` +
        `${listByOwner(hiddenTools, ownerByTool, maxTokens > ROOMY_TOKENS)}.`,
    },
  ];
}

const LIST_TOKENS = 220; // for the list of tools that are only named
// tokens for tools; with more, the list names every tool, not only their groups
const ROOMY_TOKENS = 1_500;

const tokensIn = (sizedTools: Tools): number => tokensOf(JSON.stringify(sizedTools));
const tokensFor = (window = Number.POSITIVE_INFINITY): number =>
  Math.min(MAX_TOKENS, Math.max(MIN_TOKENS, window * WINDOW_SHARE - PROMPT_TOKENS));

/** The tools by the plugins that add them: `git (git_commit, git_log), open_file`. */
function listByOwner(
  hiddenTools: Tools,
  ownerByTool: ReadonlyMap<string, string>,
  withNames: boolean,
): string {
  const groupedTools = Map.groupBy(hiddenTools, ({ name }) => ownerByTool.get(name)!);
  return Array.from(groupedTools, ([group, members]) => {
    const memberNames = members.map(({ name }) => name);
    if (members.length === 1) return memberNames[0];
    return withNames ? `${group} (${memberNames.join(", ")})` : group;
  }).join(", ");
}

// /status: the session so far; /context: what fills the model's window; /prompt and --prompt: the
// system prompt.
import fs from "node:fs";
import path from "node:path";
import type { About, Changed, Ctx, Entry, Message, Result, Usage, Zz } from "zz";
import {
  clip,
  oneLine,
  plural,
  repositoryTop,
  sumUsage,
  terminalColumns,
  tokensOf,
  visible,
  wantsWords,
  width,
  wrap,
} from "zz/text";

const STOPPED = 130; // by the person
const WINDOW_TIMEOUT = 1_000; // ms for a provider to list its models' windows

export default (zz: Zz) => {
  const refused = zz.state({ count: 0 });
  const errorMessages: string[] = [];
  zz.on("failed", ({ message, exit }) => void (exit !== STOPPED && errorMessages.push(message)));
  const startedAt = Date.now();
  const group = "sessions and model";
  zz.on(
    "decided",
    ({ kind: needKind, allowed }) => void (needKind === "write" && !allowed && refused.count++),
  );
  zz.command({
    name: "status",
    description: "the session, the model, and what was done so far",
    group,
    run: async (_, ctx) =>
      ctx.note(
        aligned(
          await collectStatus(ctx, startedAt, refused.count, errorMessages),
          terminalColumns(ctx.io) - 1,
        ),
      ),
  });
  zz.command({
    name: "context",
    description: "what fills the model's window",
    group,
    run: async (_, ctx) => ctx.note(await contextOf(ctx)),
  });
  zz.command({
    name: "prompt",
    usage: "[LAYER]",
    description: "the system prompt, layer by layer",
    examples: { "/prompt": "show all of them", "/prompt base": "show one" },
    group,
    complete: async (typedText, { about }) =>
      (await about.prompt())
        .filter(({ name }) => name.includes(typedText))
        .map(({ name, text }) => ({ name, description: plural(tokensOf(text), "token") })),
    run: async (layerName, ctx) => ctx.note((await showPrompt(ctx, layerName)).text),
  });
  zz.flag({
    name: "prompt",
    group: "about zz",
    description: "print the system prompt, layer by layer",
    run: (_, ctx) => showPrompt(ctx),
  });
};

type StatusRow = [name: string, text: string];

/** Two columns: names, and texts wrapped next to them; in a narrow terminal below them. */
export function aligned(statusRows: StatusRow[], columnCount: number): string {
  const indentWidth = columnCount < 50 ? 2 : 14;
  return statusRows
    .flatMap(([rowName, rowText]) => {
      const wrappedLines = wrap(rowText, columnCount - indentWidth).map(
        (wrappedLine) => " ".repeat(indentWidth) + wrappedLine,
      );
      return columnCount < 50
        ? [rowName, ...wrappedLines]
        : [
            rowName.padEnd(indentWidth) + wrappedLines[0]!.slice(indentWidth),
            ...wrappedLines.slice(1),
          ];
    })
    .join("\n");
}

// /status

async function collectStatus(
  ctx: Ctx,
  startedAt: number,
  refused: number,
  errorMessages: string[],
): Promise<StatusRow[]> {
  const { chat, about, files, git, permissions, settings, sessions, root } = ctx;
  const [provider = ""] = chat.model.split("/");
  const turnCount = chat.messages.filter(
    (message) => message.role === "user" && !message.aside,
  ).length;
  const results = chat.messages.filter((message) => message.role === "tool");
  const failedCount = results.filter((result) => result.failed).length;
  const sessionTitle = chat.id
    ? sessions.list().find(({ id }) => id === chat.id)?.title
    : undefined;
  const brokenPlugins = about.plugins.filter(({ failure }) => failure);
  const branchName = (await git.say(["symbolic-ref", "--quiet", "--short", "HEAD"]))?.trim();
  const changedCount = settings
    .list()
    .filter(
      ({ value, default: otherwise = {} }) =>
        value !== undefined && JSON.stringify(value) !== JSON.stringify(otherwise),
    ).length;
  return [
    ["session", chat.id ? `${chat.id}${sessionTitle ? ` “${sessionTitle}”` : ""}` : "not saved"],
    ["stored in", storeOf(ctx)],
    ["provider", `${provider}${urlOf(ctx, provider)}`],
    ["model", [chat.model, ...modelsByTask(ctx)].join("; ")],
    ["window", await windowOf(ctx)],
    ["folder", root + (branchName ? `, branch ${branchName}` : "")],
    ...partOf(root),
    [
      "since start",
      `${minutes(Date.now() - startedAt)}; ${plural(turnCount, "turn")} in this conversation`,
    ],
    ["tokens", describeSpent(chat.tree().entries)],
    [
      "tools",
      `${plural(results.length, "call")}${failedCount ? `, ${failedCount} of them failed` : ""}`,
    ],
    ...lastError(errorMessages),
    ["edits", describeEdits(files.changes(), refused)],
    [
      "plugins",
      `${about.plugins.length - brokenPlugins.length} loaded, ` +
        `${brokenPlugins.length} failed${namesOf(brokenPlugins)}`,
    ],
    ["permissions", `${plural(permissions.rules.length, "rule")} besides zz's own (/permissions)`],
    ["settings", `${path.join(about.home, "zz.config.json")}, ${changedCount} changed (/config)`],
  ];
}

const lastError = (errorMessages: string[]): StatusRow[] =>
  errorMessages.length
    ? [["errors", `${errorMessages.length}, the last: ${oneLine(errorMessages.at(-1)!)}`]]
    : [];

/** A subfolder of a repository, where zz sees that folder alone. */
function partOf(root: string): StatusRow[] {
  const topFolder = repositoryTop(root);
  if (!topFolder || topFolder === root) return [];
  return [["part of", `${topFolder}, which /config project.scope repository takes in whole`]];
}

const namesOf = (brokenPlugins: About["plugins"]): string =>
  brokenPlugins.map(({ name }) => `; ${name}`).join("");

function storeOf({ chat, about }: Ctx): string {
  if (chat.id === "") return "in memory only: it could not be written";
  if (!chat.id)
    return chat.messages.length ? "nothing: it is not saved (--no-session)" : "nothing yet";
  const sessionFile = path.join(about.home, "sessions", `${chat.id}.jsonl`);
  const sizeBytes = fs.statSync(sessionFile, { throwIfNoEntry: false })?.size ?? 0;
  return (
    `${sessionFile} ` +
    `(${sizeBytes < 10_000 ? `${sizeBytes} bytes` : `${Math.round(sizeBytes / 1_000)} kB`})`
  );
}

function urlOf({ settings }: Ctx, provider: string): string {
  const providers = settings.list().find(({ name }) => name === "providers")?.value as Record<
    string,
    { url?: string }
  >;
  const providerUrl = providers?.[provider]?.url;
  return providerUrl ? ` at ${providerUrl.replace(/\/\/[^/@]*@/, "//")}` : "";
}

function modelsByTask({ settings }: Ctx): string[] {
  const taskModels = settings.list().find(({ name }) => name === "models")?.value ?? {};
  return Object.entries(taskModels).flatMap(([task, taskModel]) =>
    task === "chat" ? [] : `for ${task} ${taskModel}`,
  );
}

async function windowOf(ctx: Ctx): Promise<string> {
  const { used } = ctx.chat;
  const window = await knownWindow(ctx);
  if (!window)
    return (
      `${used === undefined ? "" : `${used} tokens used; `}its provider ` +
      "does not say how many tokens it takes"
    );
  return (
    `${window} tokens, ` +
    `${used === undefined ? "nothing of it used yet" : `${percent(used, window)} used (${used})`}`
  );
}

/**
 * The model's window. A conversation at a terminal knows it already; a one-shot has to ask for it.
 */
async function knownWindow({ chat, about, io }: Ctx): Promise<number | undefined> {
  if (chat.window) return chat.window;
  const windowTimeout = new Promise<undefined>((resolve) => {
    io.clock.timer(WINDOW_TIMEOUT, () => resolve(undefined), { background: true });
  });
  const modelsAnswer = about.models().catch(() => undefined);
  return (await Promise.race([modelsAnswer, windowTimeout]))?.models.find(
    ({ id }) => id === chat.model,
  )?.window;
}

const percent = (partTokens: number, totalTokens: number): string =>
  `${((100 * partTokens) / totalTokens).toFixed(partTokens * 10 < totalTokens ? 1 : 0)} %`;

function minutes(elapsedMs: number): string {
  if (elapsedMs < 60_000) return `${Math.round(elapsedMs / 1_000)} s`;
  const totalMinutes = Math.floor(elapsedMs / 60_000);
  return totalMinutes < 60
    ? `${totalMinutes} min`
    : `${Math.floor(totalMinutes / 60)} h ${totalMinutes % 60} min`;
}

/** The tokens spent, including those of summaries and of messages that were taken back. */
function describeSpent(entries: readonly Entry[]): string {
  const requests = entries.flatMap((sessionEntry): { usage?: Usage | undefined }[] => {
    if (sessionEntry.type === "spent") return [{ usage: sessionEntry.usage as Usage | undefined }];
    return sessionEntry.message?.role === "assistant" ? [sessionEntry.message] : [];
  });
  const { input, output, cached } = sumUsage(requests.map(({ usage }) => usage));
  const uncounted = requests.filter(({ usage }) => !usage).length;
  return (
    `${input} in${cached ? ` (${cached} cached)` : ""}, ` +
    `${output} out${uncounted ? `; ${plural(uncounted, "answer")} came without a count` : ""}`
  );
}

function describeEdits(changes: Changed[], refused: number): string {
  const undone = changes.filter((fileChange) => fileChange.undone).length;
  return `${changes.length - undone} applied, ${undone} undone, ${refused} refused`;
}

// /context

type Part = { name: string; tokens: number };
const BAR_COLUMNS = 12;

async function contextOf(ctx: Ctx): Promise<string> {
  const { chat, about } = ctx;
  const sentLayers = (await about.prompt()).filter((promptLayer) => promptLayer.sent === "system");
  const layers = sentLayers.map(({ name, text }) => ({
    name: `prompt: ${name}`,
    tokens: tokensOf(text),
  }));
  const described = await about.offered();
  const toolParts = described.map((offeredTool) => ({
    name: `tool: ${offeredTool.name}`,
    tokens: tokensOf(JSON.stringify(offeredTool)),
  }));
  const windowParts = [...layers, ...toolParts, ...groups(chat.messages)];
  const totalTokens = windowParts.reduce((sum, { tokens }) => sum + tokens, 0);
  const window = await knownWindow(ctx);
  const noWindow = window
    ? ""
    : " The provider does not say how many its model takes; percentages are of this total.";
  const usedWords =
    chat.used === undefined ? "" : ` The last request and its answer took ${chat.used}.`;
  const summaryText =
    `About ${totalTokens} ` +
    `tokens${window ? ` of ${window} (${percent(totalTokens, window)})` : ""}.` +
    `${usedWords}${noWindow}`;
  const readFiles = filesRead(chat.messages);
  const columns = terminalColumns(ctx.io) - 1;
  const drawnNames = sentLayers.flatMap(({ text }) => drawnIn(text));
  const labelNames = (rowLabel: string, listedNames: string[]) =>
    listedNames.length ? wrap(`${rowLabel}: ${listedNames.map(visible).join(", ")}.`, columns) : [];
  const nameRows = [
    ...labelNames("Drawn into the prompt", drawnNames),
    ...labelNames("Files read", readFiles),
  ];
  return [
    ...drawChart(windowParts, window ?? totalTokens, columns, wantsWords(ctx.io, ctx)),
    ...wrap(summaryText, columns),
    ...nameRows,
  ].join("\n");
}

/** The files and the skills that a layer says it holds. */
const drawnIn = (layerText: string): string[] =>
  Array.from(
    layerText.matchAll(
      /^(?:--- FILE (.+?)(?:, named in .+)? ---|# (\S+) \(.+; its files are in .+\))$/gm,
    ),
    ([, fileName, skillName]) => fileName ?? `the skill ${skillName}`,
  );

/** The files whose text is still in the messages, latest first. */
function filesRead(messages: readonly Message[]): string[] {
  const failedIds = new Set(
    messages.flatMap((message) => (message.role === "tool" && message.failed ? [message.id] : [])),
  );
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? (message.calls ?? []) : [],
  );
  const readPaths = calls.flatMap(({ id, name, args: { path: readPath } }) =>
    name === "read_file" && typeof readPath === "string" && !failedIds.has(id) ? readPath : [],
  );
  return [...new Set(readPaths.reverse())];
}

/**
 * The messages by author, and the tokens of answers as counted by the server, if it reports them.
 */
export function groups(messages: readonly Message[]): Part[] {
  const sumsByName = new Map<string, { count: number; tokens: number }>();
  const addTokens = (groupName: string, addedTokens: number) => {
    const { count, tokens: tokensBefore } = sumsByName.get(groupName) ?? { count: 0, tokens: 0 };
    sumsByName.set(groupName, { count: count + 1, tokens: tokensBefore + addedTokens });
  };
  for (const message of messages) {
    if (message.role === "user") {
      for (const [newsKey, newsText] of Object.entries(message.news ?? {}))
        addTokens(`prompt: ${newsKey.split("/")[1]}, changed`, tokensOf(newsText));
      addTokens(message.aside ? "what zz told it" : "your messages", tokensOf(message.text));
    } else if (message.role === "tool")
      addTokens(`results of ${message.name}`, tokensOf(message.text));
    else {
      const calls = message.calls?.length ? JSON.stringify(message.calls) : "";
      addTokens("answers and calls", message.usage?.output ?? tokensOf(message.text + calls));
    }
  }
  return [...sumsByName].map(([groupName, { count, tokens }]) => ({
    name: groupName.startsWith("prompt: ") ? groupName : `${groupName} (${count})`,
    tokens,
  }));
}

/** A row for each part, the biggest first. */
function drawChart(
  chartParts: Part[],
  totalTokens: number,
  columnCount: number,
  isPlain: boolean,
): string[] {
  const largest = Math.max(1, ...chartParts.map(({ tokens }) => tokens));
  const digitCount = String(largest).length;
  const showsBars = columnCount >= 60 && !isPlain;
  const widest = Math.max(...chartParts.map(({ name }) => width(name)));
  const nameColumns = Math.min(
    widest,
    columnCount - digitCount - 10 - (showsBars ? BAR_COLUMNS + 2 : 0),
  );
  return chartParts
    .toSorted((first, second) => second.tokens - first.tokens)
    .map(({ name, tokens }) => {
      const clippedName = clip(name, nameColumns);
      const paddedName = clippedName + " ".repeat(Math.max(0, nameColumns - width(clippedName)));
      const tokenBar = showsBars
        ? `  ${"█".repeat(Math.ceil((BAR_COLUMNS * tokens) / largest))}`
        : "";
      return (
        `${paddedName}  ${String(tokens).padStart(digitCount)}  ` +
        `${percent(tokens, totalTokens || 1).padStart(6)}${tokenBar}`
      );
    });
}

// /prompt

const SENT_NOTES = {
  system: "",
  earlier: ", told with an earlier message",
  next: ", goes with your next message",
};

async function showPrompt({ about }: Ctx, wantedLayer = ""): Promise<Result> {
  const layers = await about.prompt();
  const shownLayers = wantedLayer ? layers.filter(({ name }) => name === wantedLayer) : layers;
  if (!shownLayers.length && wantedLayer)
    throw new Error(
      `Cannot show '${wantedLayer}': no such layer. ` +
        `There are: ${layers.map(({ name }) => name).join(", ")}.`,
    );
  const data = shownLayers.map((shownLayer) => ({
    ...shownLayer,
    tokens: tokensOf(shownLayer.text),
  }));
  const layerBlocks = data.map(
    ({ name, slot, owner, text, sent, tokens }) =>
      `[${name}: ${slot}, from ${owner}, ` +
      `about ${plural(tokens, "token")}${SENT_NOTES[sent]}]\n${text}`,
  );
  const totalTokens = data.reduce((sum, { tokens }) => sum + tokens, 0);
  const totalRow = wantedLayer ? [] : [`[about ${totalTokens} tokens in all]`];
  return { text: [...layerBlocks, ...totalRow].join("\n\n"), data };
}

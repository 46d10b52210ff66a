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
  const errors: string[] = [];
  zz.on("failed", ({ message, exit }) => void (exit !== STOPPED && errors.push(message)));
  const since = Date.now();
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
        aligned(await status(ctx, since, refused.count, errors), terminalColumns(ctx.io) - 1),
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
    complete: async (typed, { about }) =>
      (await about.prompt())
        .filter(({ name }) => name.includes(typed))
        .map(({ name, text }) => ({ name, description: plural(tokensOf(text), "token") })),
    run: async (typed, ctx) => ctx.note((await prompt(ctx, typed)).text),
  });
  zz.flag({
    name: "prompt",
    group: "about zz",
    description: "print the system prompt, layer by layer",
    run: (_, ctx) => prompt(ctx),
  });
};

/** Two columns: names, and texts wrapped next to them; in a narrow terminal below them. */
export function aligned(rows: [name: string, text: string][], room: number): string {
  const indent = room < 50 ? 2 : 14;
  return rows
    .flatMap(([name, text]) => {
      const lines = wrap(text, room - indent).map((line) => " ".repeat(indent) + line);
      return room < 50
        ? [name, ...lines]
        : [name.padEnd(indent) + lines[0]!.slice(indent), ...lines.slice(1)];
    })
    .join("\n");
}

// /status

async function status(
  ctx: Ctx,
  since: number,
  refused: number,
  errors: string[],
): Promise<[string, string][]> {
  const { chat, about, files, permissions, settings, sessions, root } = ctx;
  const [provider = ""] = chat.model.split("/");
  const turns = chat.messages.filter((message) => message.role === "user" && !message.aside).length;
  const results = chat.messages.filter((message) => message.role === "tool");
  const failed = results.filter((result) => result.failed).length;
  const title = chat.id ? sessions.list().find(({ id }) => id === chat.id)?.title : undefined;
  const broken = about.plugins.filter(({ failure }) => failure);
  const branch = await branchAt(ctx);
  const changedCount = settings
    .list()
    .filter(
      (setting) => setting.value !== undefined && !isSame(setting.value, setting.default ?? {}),
    ).length;
  return [
    ["session", chat.id ? `${chat.id}${title ? ` “${title}”` : ""}` : "not saved"],
    ["stored in", storeOf(ctx)],
    ["provider", `${provider}${urlOf(ctx, provider)}`],
    ["model", [chat.model, ...modelsByTask(ctx)].join("; ")],
    ["window", await windowOf(ctx)],
    ["folder", root + (branch ? `, branch ${branch}` : "")],
    ...partOf(root),
    [
      "since start",
      `${minutes(Date.now() - since)}; ${plural(turns, "turn")} in this conversation`,
    ],
    ["tokens", spent(chat.tree().entries)],
    ["tools", `${plural(results.length, "call")}${failed ? `, ${failed} of them failed` : ""}`],
    ...(errors.length
      ? [["errors", `${errors.length}, the last: ${oneLine(errors.at(-1)!)}`] as [string, string]]
      : []),
    ["edits", edits(files.changes(), refused)],
    [
      "plugins",
      `${about.plugins.length - broken.length} loaded, ${broken.length} failed${names(broken)}`,
    ],
    ["permissions", `${plural(permissions.rules.length, "rule")} besides zz's own (/permissions)`],
    ["settings", `${path.join(about.home, "zz.config.json")}, ${changedCount} changed (/config)`],
  ];
}

/** A subfolder of a repository, where zz sees that folder alone. */
function partOf(root: string): [string, string][] {
  const top = repositoryTop(root);
  if (!top || top === root) return [];
  return [["part of", `${top}, which /config project.scope repository takes in whole`]];
}

const isSame = (first: unknown, two: unknown): boolean =>
  JSON.stringify(first) === JSON.stringify(two);
const names = (broken: About["plugins"]): string => broken.map(({ name }) => `; ${name}`).join("");

function storeOf({ chat, about }: Ctx): string {
  if (chat.id === "") return "in memory only: it could not be written";
  if (!chat.id)
    return chat.messages.length ? "nothing: it is not saved (--no-session)" : "nothing yet";
  const file = path.join(about.home, "sessions", `${chat.id}.jsonl`);
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return `${file} (${size < 10_000 ? `${size} bytes` : `${Math.round(size / 1_000)} kB`})`;
}

function urlOf({ settings }: Ctx, provider: string): string {
  const providers = settings.list().find(({ name }) => name === "providers")?.value as Record<
    string,
    { url?: string }
  >;
  const url = providers?.[provider]?.url;
  return url ? ` at ${url.replace(/\/\/[^/@]*@/, "//")}` : "";
}

function modelsByTask({ settings }: Ctx): string[] {
  const models = settings.list().find(({ name }) => name === "models")?.value ?? {};
  return Object.entries(models).flatMap(([task, model]) =>
    task === "chat" ? [] : `for ${task} ${model}`,
  );
}

async function windowOf(ctx: Ctx): Promise<string> {
  const { used } = ctx.chat;
  const window = await knownWindow(ctx);
  if (!window)
    return `${used === undefined ? "" : `${used} tokens used; `}its provider does not say how many tokens it takes`;
  return `${window} tokens, ${used === undefined ? "nothing of it used yet" : `${percent(used, window)} used (${used})`}`;
}

/**
 * The model's window. A conversation at a terminal knows it already; a one-shot has to ask for it.
 */
async function knownWindow({ chat, about, io }: Ctx): Promise<number | undefined> {
  if (chat.window) return chat.window;
  const late = new Promise<undefined>((resolve) => {
    io.clock.timer(WINDOW_TIMEOUT, () => resolve(undefined), { background: true });
  });
  const asked = about.models().catch(() => undefined);
  return (await Promise.race([asked, late]))?.models.find(({ id }) => id === chat.model)?.window;
}

const percent = (part: number, total: number): string =>
  `${((100 * part) / total).toFixed(part * 10 < total ? 1 : 0)} %`;

async function branchAt({ git }: Ctx): Promise<string> {
  return (await git.say(["symbolic-ref", "--quiet", "--short", "HEAD"]))?.trim() ?? "";
}

function minutes(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  const totalMinutes = Math.floor(ms / 60_000);
  return totalMinutes < 60
    ? `${totalMinutes} min`
    : `${Math.floor(totalMinutes / 60)} h ${totalMinutes % 60} min`;
}

/** The tokens spent, including those of summaries and of messages that were taken back. */
function spent(entries: readonly Entry[]): string {
  const requests = entries.flatMap((sessionEntry): { usage?: Usage | undefined }[] => {
    if (sessionEntry.type === "spent") return [{ usage: sessionEntry.usage as Usage | undefined }];
    return sessionEntry.message?.role === "assistant" ? [sessionEntry.message] : [];
  });
  const { input, output, cached } = sumUsage(requests.map(({ usage }) => usage));
  const silent = requests.filter(({ usage }) => !usage).length;
  return `${input} in${cached ? ` (${cached} cached)` : ""}, ${output} out${silent ? `; ${plural(silent, "answer")} came without a count` : ""}`;
}

function edits(changes: Changed[], refused: number): string {
  const undone = changes.filter((change) => change.undone).length;
  return `${changes.length - undone} applied, ${undone} undone, ${refused} refused`;
}

// /context

type Part = { name: string; tokens: number };
const BAR_COLUMNS = 12;

async function contextOf(ctx: Ctx): Promise<string> {
  const { chat, about } = ctx;
  const sent = (await about.prompt()).filter((layer) => layer.sent === "system");
  const layers = sent.map(({ name, text }) => ({
    name: `prompt: ${name}`,
    tokens: tokensOf(text),
  }));
  const described = await about.offered();
  const tools = described.map((tool) => ({
    name: `tool: ${tool.name}`,
    tokens: tokensOf(JSON.stringify(tool)),
  }));
  const parts = [...layers, ...tools, ...groups(chat.messages)];
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const window = await knownWindow(ctx);
  const noWindow = window
    ? ""
    : " The provider does not say how many its model takes; percentages are of this total.";
  const real = chat.used === undefined ? "" : ` The last request and its answer took ${chat.used}.`;
  const sum = `About ${total} tokens${window ? ` of ${window} (${percent(total, window)})` : ""}.${real}${noWindow}`;
  const files = filesRead(chat.messages);
  const columns = terminalColumns(ctx.io) - 1;
  const drawn = sent.flatMap(({ text }) => drawnIn(text));
  const named = (label: string, names: string[]) =>
    names.length ? wrap(`${label}: ${names.map(visible).join(", ")}.`, columns) : [];
  const lists = [...named("Drawn into the prompt", drawn), ...named("Files read", files)];
  return [
    ...chart(parts, window ?? total, columns, wantsWords(ctx.io, ctx)),
    ...wrap(sum, columns),
    ...lists,
  ].join("\n");
}

/** The files and the skills that a layer says it holds. */
const drawnIn = (layer: string): string[] =>
  Array.from(
    layer.matchAll(
      /^(?:--- FILE (.+?)(?:, named in .+)? ---|# (\S+) \(.+; its files are in .+\))$/gm,
    ),
    ([, file, skill]) => file ?? `the skill ${skill}`,
  );

/** The files whose text is still in the messages, latest first. */
function filesRead(messages: readonly Message[]): string[] {
  const gone = new Set(
    messages.flatMap((message) => (message.role === "tool" && message.failed ? [message.id] : [])),
  );
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? (message.calls ?? []) : [],
  );
  const paths = calls.flatMap(({ id, name, args: { path: file } }) =>
    name === "read_file" && typeof file === "string" && !gone.has(id) ? [file] : [],
  );
  return [...new Set(paths.reverse())];
}

/**
 * The messages by author, and the tokens of answers as counted by the server, if it reports them.
 */
export function groups(messages: readonly Message[]): Part[] {
  const sums = new Map<string, { count: number; tokens: number }>();
  const add = (name: string, tokens: number) => {
    const { count, tokens: before } = sums.get(name) ?? { count: 0, tokens: 0 };
    sums.set(name, { count: count + 1, tokens: before + tokens });
  };
  for (const message of messages) {
    if (message.role === "user")
      for (const [key, text] of Object.entries(message.news ?? {}))
        add(`prompt: ${key.split("/")[1]}, changed`, tokensOf(text));
    if (message.role === "user")
      add(message.aside ? "what zz told it" : "your messages", tokensOf(message.text));
    else if (message.role === "tool") add(`results of ${message.name}`, tokensOf(message.text));
    else {
      const calls = message.calls?.length ? JSON.stringify(message.calls) : "";
      add("answers and calls", message.usage?.output ?? tokensOf(message.text + calls));
    }
  }
  return [...sums].map(([name, { count, tokens }]) => ({
    name: name.startsWith("prompt: ") ? name : `${name} (${count})`,
    tokens,
  }));
}

/** A row for each part, the biggest first. */
function chart(parts: Part[], total: number, room: number, plain = false): string[] {
  const largest = Math.max(1, ...parts.map(({ tokens }) => tokens));
  const digits = String(largest).length;
  const bars = room >= 60 && !plain;
  const widest = Math.max(...parts.map(({ name }) => width(name)));
  const first = Math.min(widest, room - digits - 10 - (bars ? BAR_COLUMNS + 2 : 0));
  return parts
    .toSorted((a, b) => b.tokens - a.tokens)
    .map(({ name, tokens }) => {
      const shown = clip(name, first);
      const label = shown + " ".repeat(Math.max(0, first - width(shown)));
      const bar = bars ? `  ${"█".repeat(Math.ceil((BAR_COLUMNS * tokens) / largest))}` : "";
      return `${label}  ${String(tokens).padStart(digits)}  ${percent(tokens, total || 1).padStart(6)}${bar}`;
    });
}

// /prompt

const SENT = {
  system: "",
  earlier: ", told with an earlier message",
  next: ", goes with your next message",
};

async function prompt({ about }: Ctx, only = ""): Promise<Result> {
  const layers = await about.prompt();
  const parts = only ? layers.filter(({ name }) => name === only) : layers;
  if (!parts.length && only)
    throw new Error(
      `Cannot show '${only}': no such layer. There are: ${layers.map(({ name }) => name).join(", ")}.`,
    );
  const shown = parts.map(
    ({ name, slot, owner, text, sent }) =>
      `[${name}: ${slot}, from ${owner}, about ${plural(tokensOf(text), "token")}${SENT[sent]}]\n${text}`,
  );
  const totalTokens = parts.reduce((sum, { text }) => sum + tokensOf(text), 0);
  const data = parts.map((part) => ({ ...part, tokens: tokensOf(part.text) }));
  const sum = only ? [] : [`[about ${totalTokens} tokens in all]`];
  return { text: [...shown, ...sum].join("\n\n"), data };
}

// Which models there are, and which one answers: /models, /model, --models.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Model, Result, Typed, Zz } from "zz";
import { pickRow, plural, tryTo } from "zz/text";

const MAX_AGE = 60_000; // ms; until then completion does not ask the providers again

export default (zz: Zz) => {
  const group = "sessions and model";
  let lastList: { models: Model[]; at: number } | undefined;
  zz.flag({
    name: "models",
    value: "WORD",
    optional: true,
    group: "model",
    description: "list the models that the providers offer, or those like WORD",
    run: (word, ctx, line) => listed(word === true ? "" : String(word), ctx, line),
  });
  zz.flag({
    name: "refresh",
    group: "model",
    description: "with --models: ask the providers, whatever they said in the last hour",
    set: () => {}, // --models looks for it
  });
  zz.command({
    name: "models",
    description: "list the models that the providers offer",
    group,
    async run(_, { about, chat, note }) {
      const { models, failures } = await about.models(true);
      const marked = rows(models).map(
        (row, i) => `${models[i]!.id === chat.model ? "*" : " "} ${row}`,
      );
      note([...marked, ...failures].join("\n"));
      if (models.every(({ id }) => id !== chat.model))
        note(`In use: ${chat.model}, which none of them lists.`);
    },
  });
  zz.command({
    name: "model",
    usage: "[NAME] [--keep]",
    description: "switch to another model, for this conversation or from now on",
    examples: {
      "/model": "choose from a list",
      "/model ollama/qwen3": "ask that one in this conversation",
      "/model ollama/qwen3 --keep": "ask that one from now on: the setting model",
    },
    group,
    async complete(typed, { about }) {
      if (!lastList || performance.now() - lastList.at > MAX_AGE)
        lastList = { models: (await about.models(true)).models, at: performance.now() };
      if (lastList.models.some(({ id }) => typed.trim() === id && typed.endsWith(" ")))
        return [{ name: `${typed.trim()} --keep`, description: "from now on" }];
      const fits = lastList.models.filter(({ id }) =>
        id.toLowerCase().includes(typed.toLowerCase()),
      );
      return fits.map(({ id, window }) => ({
        name: id,
        ...(window && { description: `${window} tokens` }),
      }));
    },
    run: choose,
  });
};

const row = ({ id, window, note }: Model): string =>
  [id, window && `${window} tokens`, note].filter(Boolean).join("  ");

/** With their windows, if known, in a column. */
function rows(models: Model[]): string[] {
  const widest = Math.max(0, ...models.filter(({ window }) => window).map(({ id }) => id.length));
  return models.map((model) =>
    row({ ...model, id: model.window ? model.id.padEnd(widest) : model.id }),
  );
}

async function listed(word: string, ctx: Ctx, line: Typed): Promise<Result> {
  const { models, failures } = await heard(ctx, line);
  failures.forEach(ctx.note);
  const matches = word ? (await finder(models))(word) : models;
  if (!matches.length && word)
    return {
      text: `Cannot list models like '${word}': none of ${models.length} is. --models lists all.`,
      failed: true,
    };
  return { text: rows(matches).join("\n"), data: matches };
}

const KEPT = "models.json";
const MAX_KEPT_MS = 3_600_000;
// with one of these the question is another one
const OTHERS = ["model", "base-url", "key", "config", "home", "plugin"];

interface Kept {
  of: string; // the providers that were asked, and where they are
  at: number;
  models: Model[];
  failures: string[];
}

// its state is another one soon
const lasting = (models: Model[]): Model[] => models.map(({ note: _, ...model }) => model);

/** What the providers say, or said within the last hour. */
async function heard(ctx: Ctx, { values }: Typed): Promise<Pick<Kept, "models" | "failures">> {
  const { about, keep, note } = ctx;
  const file = path.join(about.home, KEPT);
  const of = JSON.stringify([
    about.version,
    about.providers.map(({ name, endpoint: { url, key } }) => [name, url, Boolean(key)]),
  ]);
  const plain = !OTHERS.some((name) => values.has(name));
  const kept =
    plain &&
    !values.has("refresh") &&
    tryTo(() => JSON.parse(fs.readFileSync(file, "utf8")) as Kept);
  const age = kept ? Date.now() - kept.at : -1;
  if (kept && kept.of === of && age >= 0 && age < MAX_KEPT_MS && Array.isArray(kept.models)) {
    note(`As of ${plural(Math.floor(age / 60_000), "minute")} ago. --models --refresh asks again.`);
    return { models: kept.models, failures: kept.failures ?? [] };
  }
  const { models, failures } = await about.models();
  const isWorth = models.some(({ id }) => !id.startsWith("offline/"));
  if (plain && isWorth && fs.existsSync(about.home))
    tryTo(() =>
      keep(KEPT, () =>
        JSON.stringify({ of, at: Date.now(), models: lasting(models), failures } satisfies Kept),
      ),
    );
  return { models, failures };
}

const KEEP = /\s*--keep$/;

async function choose(words: string, ctx: Ctx): Promise<void> {
  const { chat, note, settings } = ctx;
  const argument = words.replace(KEEP, "");
  const isKept = KEEP.test(words);
  if (!argument && !canPick(ctx)) return note([inForce(ctx), ...forTasks(ctx)].join("\n"));
  const name = argument ? await resolveModelName(argument, ctx) : await pick(ctx);
  const isSame = !name || name === chat.model;
  if (!isSame) await chat.use(name);
  if (isKept) await settings.set("model", chat.model);
  const keep = `For this conversation; /model ${chat.model} --keep: from now on.`;
  const scope = isKept ? "From now on: it is the setting model." : keep;
  const rows = isSame ? [`Still ${inForce(ctx)}`, ...forTasks(ctx)] : [`Now ${inForce(ctx)}`];
  note([...rows, ...(isSame && !isKept ? [] : [scope])].join("\n"));
}

const inForce = ({ chat: { model, window } }: Ctx): string =>
  window
    ? `${model}, with a window of ${window} tokens.`
    : `${model}; its provider does not say how large its window is.`;

/** The models that the settings name for tasks other than the conversation. */
function forTasks({ settings }: Ctx): string[] {
  const models = settings.list().find(({ name }) => name === "models")?.value ?? {};
  const others = Object.entries(models).filter(([task]) => task !== "chat");
  return others.length
    ? [`For other tasks: ${others.map(([task, model]) => `${task} ${model}`).join(", ")}.`]
    : [];
}

/** A picker needs a terminal that can move its cursor. */
const canPick = ({ io, terminal }: Ctx): boolean =>
  Boolean(terminal) && io.variable("TERM") !== "dumb";

async function pick(ctx: Ctx): Promise<string | undefined> {
  const { about, chat, io, note, terminal, signal } = ctx;
  const { models, failures } = await about.models(true);
  if (!models.length) failures.forEach(note);
  if (!models.length)
    throw new Error(
      "Cannot choose a model: no provider offers any. /config providers tells where they are.",
    );
  const choices = models.map((model) => ({
    value: model.id,
    name: row(model),
    short: model.id,
    words: model.id,
  }));
  const message = `Model (now ${chat.model})`;
  return terminal!(() => pickRow(io, { message, rows: choices, selected: chat.model, signal }));
}

/** Models whose ids contain the words; similar ones only if there are none. */
async function finder(models: Model[]): Promise<(term: string) => Model[]> {
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(models, { keys: ["id"], threshold: 0.4, ignoreLocation: true });
  return (term) => {
    const holds = models.filter(({ id }) => id.toLowerCase().includes(term.toLowerCase()));
    return holds.length ? holds : fuse.search(term).map(({ item }) => item);
  };
}

/**
 * The model that a name refers to: its id, the only similar one, or one that the person insists on.
 */
async function resolveModelName(
  modelName: string,
  { about, ask, note }: Ctx,
): Promise<string | undefined> {
  const { models, failures } = await about.models(true);
  const ids = models.map(({ id }) => id);
  if (ids.includes(modelName)) return modelName;
  const [provider = ""] = modelName.split("/");
  const tails = ids.filter((id) => id.slice(id.indexOf("/") + 1) === modelName);
  if (tails.length === 1) return tails[0];
  const isListed = ids.some((id) => id.startsWith(`${provider}/`));
  const isProvider = isListed || failures.some((failure) => failure.startsWith(`${provider}: `));
  if (isProvider && !isListed) return modelName; // the provider does not list its models
  if (modelName === provider && isProvider) return modelName; // the provider chooses
  const near = (await finder(models))(modelName).map(({ id }) => id);
  const hint = near.length ? `The nearest: ${near.slice(0, 5).join(", ")}.` : "/models lists them.";
  if (isProvider && modelName.includes("/")) {
    const question = `${provider} does not list '${modelName}'. ${hint} Use it anyway? [y/N] `;
    if (ask) return (await ask(question, "yn")) === "y" ? modelName : undefined;
    note(`${provider} does not list '${modelName}'. ${hint}`);
    return modelName;
  }
  if (near.length === 1) return near[0];
  throw new Error(
    `Cannot use model '${modelName}': ${near.length ? `${near.length} are like it` : "there is none"}. ${hint}`,
  );
}

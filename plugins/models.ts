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
    run: (searchWord, ctx, typedLine) =>
      listModels(searchWord === true ? "" : String(searchWord), ctx, typedLine),
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
      const markedRows = modelRows(models).map(
        (rowText, i) => `${models[i]!.id === chat.model ? "*" : " "} ${rowText}`,
      );
      note([...markedRows, ...failures].join("\n"));
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
    async complete(typedText, { about }) {
      if (!lastList || performance.now() - lastList.at > MAX_AGE)
        lastList = { models: (await about.models(true)).models, at: performance.now() };
      if (lastList.models.some(({ id }) => typedText.trim() === id && typedText.endsWith(" ")))
        return [{ name: `${typedText.trim()} --keep`, description: "from now on" }];
      const matchingModels = lastList.models.filter(({ id }) =>
        id.toLowerCase().includes(typedText.toLowerCase()),
      );
      return matchingModels.map(({ id, window }) => ({
        name: id,
        ...(window && { description: `${window} tokens` }),
      }));
    },
    run: chooseModel,
  });
};

const modelRow = ({ id, window, note }: Model): string =>
  [id, window && `${window} tokens`, note].filter(Boolean).join("  ");

/** With their windows, if known, in a column. */
function modelRows(models: Model[]): string[] {
  const widest = Math.max(0, ...models.filter(({ window }) => window).map(({ id }) => id.length));
  return models.map((listedModel) =>
    modelRow({
      ...listedModel,
      id: listedModel.window ? listedModel.id.padEnd(widest) : listedModel.id,
    }),
  );
}

async function listModels(searchWord: string, ctx: Ctx, typedLine: Typed): Promise<Result> {
  const { models, failures } = await askOrRecall(ctx, typedLine);
  failures.forEach(ctx.note);
  const matches = searchWord ? await findModels(models, searchWord) : models;
  if (!matches.length && searchWord)
    return {
      text:
        `Cannot list models like '${searchWord}': ` +
        `none of ${models.length} is. --models lists all.`,
      failed: true,
    };
  return { text: modelRows(matches).join("\n"), data: matches };
}

const KEPT_FILE = "models.json";
const MAX_KEPT_MS = 3_600_000;
// with one of these the question is another one
const OTHER_FLAGS = ["model", "base-url", "key", "config", "home", "plugin"];

interface Kept {
  of: string; // the providers that were asked, and where they are
  at: number;
  models: Model[];
  failures: string[];
}

// its state is another one soon
const lasting = (models: Model[]): Model[] => models.map(({ note: _, ...model }) => model);

/** What the providers say, or said within the last hour. */
async function askOrRecall(
  ctx: Ctx,
  { values }: Typed,
): Promise<Pick<Kept, "models" | "failures">> {
  const { about, keep, note } = ctx;
  const keptFile = path.join(about.home, KEPT_FILE);
  const of = JSON.stringify([
    about.version,
    about.providers.map(({ name, endpoint: { url, key } }) => [name, url, Boolean(key)]),
  ]);
  const isPlainQuestion = !OTHER_FLAGS.some((flagName) => values.has(flagName));
  const keptAnswer =
    isPlainQuestion &&
    !values.has("refresh") &&
    tryTo(() => JSON.parse(fs.readFileSync(keptFile, "utf8")) as Kept);
  const keptAgeMs = keptAnswer ? Date.now() - keptAnswer.at : -1;
  if (
    keptAnswer &&
    keptAnswer.of === of &&
    keptAgeMs >= 0 &&
    keptAgeMs < MAX_KEPT_MS &&
    Array.isArray(keptAnswer.models)
  ) {
    note(
      `As of ${plural(Math.floor(keptAgeMs / 60_000), "minute")} ago. ` +
        "--models --refresh asks again.",
    );
    return { models: keptAnswer.models, failures: keptAnswer.failures ?? [] };
  }
  const { models, failures } = await about.models();
  const isWorth = models.some(({ id }) => !id.startsWith("offline/"));
  if (isPlainQuestion && isWorth && fs.existsSync(about.home))
    tryTo(() =>
      keep(KEPT_FILE, () =>
        JSON.stringify({ of, at: Date.now(), models: lasting(models), failures } satisfies Kept),
      ),
    );
  return { models, failures };
}

const KEEP_OPTION = /\s*--keep$/;

async function chooseModel(typedWords: string, ctx: Ctx): Promise<void> {
  const { chat, note, settings } = ctx;
  const argument = typedWords.replace(KEEP_OPTION, "");
  const isKept = KEEP_OPTION.test(typedWords);
  if (!argument && !canPick(ctx)) return note([inForce(ctx), ...forTasks(ctx)].join("\n"));
  const chosenName = argument ? await resolveModelName(argument, ctx) : await pickModel(ctx);
  const isSame = !chosenName || chosenName === chat.model;
  if (!isSame) await chat.use(chosenName);
  if (isKept) await settings.set("model", chat.model);
  const keepHint = `For this conversation; /model ${chat.model} --keep: from now on.`;
  const scopeWords = isKept ? "From now on: it is the setting model." : keepHint;
  const reportRows = isSame ? [`Still ${inForce(ctx)}`, ...forTasks(ctx)] : [`Now ${inForce(ctx)}`];
  note([...reportRows, ...(isSame && !isKept ? [] : [scopeWords])].join("\n"));
}

const inForce = ({ chat: { model, window } }: Ctx): string =>
  window
    ? `${model}, with a window of ${window} tokens.`
    : `${model}; its provider does not say how large its window is.`;

/** The models that the settings name for tasks other than the conversation. */
function forTasks({ settings }: Ctx): string[] {
  const modelsByTask = settings.list().find(({ name }) => name === "models")?.value ?? {};
  const otherTasks = Object.entries(modelsByTask).filter(([task]) => task !== "chat");
  return otherTasks.length
    ? [
        "For other tasks: " +
          `${otherTasks.map(([task, taskModel]) => `${task} ${taskModel}`).join(", ")}.`,
      ]
    : [];
}

/** A picker needs a terminal that can move its cursor. */
const canPick = ({ io, terminal }: Ctx): boolean =>
  Boolean(terminal) && io.variable("TERM") !== "dumb";

async function pickModel(ctx: Ctx): Promise<string | undefined> {
  const { about, chat, io, note, terminal, signal } = ctx;
  const { models, failures } = await about.models(true);
  if (!models.length) {
    failures.forEach(note);
    throw new Error(
      "Cannot choose a model: no provider offers any. /config providers tells where they are.",
    );
  }
  const choices = models.map((offeredModel) => ({
    value: offeredModel.id,
    name: modelRow(offeredModel),
    short: offeredModel.id,
    words: offeredModel.id,
  }));
  const message = `Model (now ${chat.model})`;
  return terminal!(() => pickRow(io, { message, rows: choices, selected: chat.model, signal }));
}

/** Models whose ids contain the words; similar ones only if there are none. */
async function findModels(searchedModels: Model[], searchTerm: string): Promise<Model[]> {
  const literalMatches = searchedModels.filter(({ id }) =>
    id.toLowerCase().includes(searchTerm.toLowerCase()),
  );
  if (literalMatches.length) return literalMatches;
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(searchedModels, { keys: ["id"], threshold: 0.4, ignoreLocation: true });
  return fuse.search(searchTerm).map(({ item }) => item);
}

/**
 * The model that a name refers to: its id, the only similar one, or one that the person insists on.
 */
async function resolveModelName(
  modelName: string,
  { about, ask, note }: Ctx,
): Promise<string | undefined> {
  const { models, failures } = await about.models(true);
  const knownIds = models.map(({ id }) => id);
  if (knownIds.includes(modelName)) return modelName;
  const [provider = ""] = modelName.split("/");
  const matchingIds = knownIds.filter((id) => id.slice(id.indexOf("/") + 1) === modelName);
  if (matchingIds.length === 1) return matchingIds[0];
  const isListed = knownIds.some((id) => id.startsWith(`${provider}/`));
  const isProvider = isListed || failures.some((failure) => failure.startsWith(`${provider}: `));
  // the provider does not list its models, or chooses one
  if (isProvider && (!isListed || modelName === provider)) return modelName;
  const nearIds = (await findModels(models, modelName)).map(({ id }) => id);
  const nearestHint = nearIds.length
    ? `The nearest: ${nearIds.slice(0, 5).join(", ")}.`
    : "/models lists them.";
  if (isProvider && modelName.includes("/")) {
    const unlistedNote = `${provider} does not list '${modelName}'. ${nearestHint}`;
    const question = `${unlistedNote} Use it anyway? [y/N] `;
    if (ask) return (await ask(question, "yn")) === "y" ? modelName : undefined;
    note(unlistedNote);
    return modelName;
  }
  if (nearIds.length === 1) return nearIds[0];
  throw new Error(
    `Cannot use model '${modelName}': ` +
      `${nearIds.length ? `${nearIds.length} are like it` : "there is none"}. ${nearestHint}`,
  );
}

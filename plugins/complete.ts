// Tab: completes commands and their values, @files, paths and #symbols, with fuzzy search, in a
// menu below the line. The menu of commands and @files opens by itself while one is typed.
import type { Choice, Ctx, Line, Zz } from "zz";
import { width } from "zz/text";

const MENU_ROWS = 8;
const MAX_CHOICES = 200;
const PAUSE_MS = 60; // of typing, before files are listed

export const defaults = { menu: true };
export const settings = {
  schema: {
    type: "object",
    properties: {
      menu: { type: "boolean", description: "a menu opens while a /command or an @file is typed" },
    },
  },
};

/** What the text before the cursor can become: everything from `start` on is replaced. */
interface Completion {
  start: number;
  typed: string; // the choices are compared with this
  choices: Choice[]; // their names are inserted
}

export default (zz: Zz<typeof defaults>) => {
  zz.key({
    name: "typing",
    description: "a menu opens while a /command or an @file is typed; Tab goes through it",
    press: (editedLine, ctx) => (zz.config.menu ? suggest(editedLine, ctx) : undefined),
  });
  zz.key({
    name: "down",
    description: "go into the menu that is open; else to later lines",
    async press(editedLine, ctx) {
      if (!isMenuOpen(editedLine) || !zz.config.menu) return false;
      const completion = await bestCompletion(editedLine.text, ctx);
      if (!completion?.choices.length) return false;
      await chooseFrom(editedLine, completion, 0);
    },
  });
  zz.key({
    name: "tab",
    description:
      "complete a command, its value, an @file, a path or a #symbol; on an empty line: " +
      "give the output of your last !command to the model",
    async press(editedLine, ctx) {
      if (!editedLine.text && ctx.service("ownOutput")?.give(ctx)) return;
      const completion = await bestCompletion(editedLine.text.slice(0, editedLine.cursor), ctx);
      if (!completion) return;
      if (!completion.choices.length) return editedLine.below("Nothing fits.");
      await chooseFrom(editedLine, completion);
    },
  });
};

const isCommand = (typedText: string): boolean => /^\/[\w-]*$/.test(typedText);
/** Whether the menu opens by itself for what is typed. */
const opensMenu = ({ text, cursor }: Line): boolean =>
  cursor === text.length && (isCommand(text) || /(?:^|\s)@[^\s"]*$/.test(text));
/**
 * Whether Down goes into the menu. On a line from the history it does not, so that it goes on to
 * later lines.
 */
const isMenuOpen = (editedLine: Line): boolean =>
  opensMenu(editedLine) && !editedLine.history.includes(editedLine.text);

/** Shows the choices without changing the line. */
async function suggest(editedLine: Line, ctx: Ctx): Promise<void> {
  const { text } = editedLine;
  if (!opensMenu(editedLine)) return;
  if (!isCommand(text)) await ctx.io.clock.sleep(PAUSE_MS);
  if (editedLine.text !== text) return;
  const { choices = [] } = (await bestCompletion(text, ctx)) ?? {};
  if (choices.length) editedLine.below(drawMenu(choices, 0));
}

/**
 * A single choice is inserted at once; Tab goes through several, from the one at `at` if it is
 * given.
 */
async function chooseFrom(
  editedLine: Line,
  { start, typed, choices }: Completion,
  selected = -1,
): Promise<void> {
  const { text, cursor } = editedLine;
  const putName = (chosenName: string) =>
    editedLine.set(
      text.slice(0, start) + chosenName + text.slice(cursor),
      start + chosenName.length,
    );
  if (choices.length === 1) return putName(choices[0]!.name);
  const sharedStart = commonStart(choices.map(({ name }) => name));
  if (selected >= 0) putName(choices[selected]!.name);
  else if (sharedStart.length > typed.length && sharedStart.startsWith(typed)) putName(sharedStart);
  for (;;) {
    const firstShown = Math.max(0, Math.min(selected - MENU_ROWS + 2, choices.length - MENU_ROWS));
    editedLine.below(drawMenu(choices, firstShown), selected - firstShown);
    const pressedKey = await editedLine.next();
    if (pressedKey.name === "tab" || pressedKey.name === "down")
      selected = (selected + 1) % choices.length;
    else if (pressedKey.name === "shift+tab" || pressedKey.name === "up")
      selected = (selected <= 0 ? choices.length : selected) - 1;
    else if (pressedKey.name === "escape") return editedLine.set(text, cursor);
    else
      return selected >= 0 && pressedKey.name === "return"
        ? undefined
        : editedLine.press(pressedKey);
    putName(choices[selected]!.name);
  }
}

/** With the choices that fit what is typed, the best first. */
async function bestCompletion(textBefore: string, ctx: Ctx): Promise<Completion | undefined> {
  const completion = await findCompletion(textBefore, ctx);
  if (!completion) return undefined;
  return { ...completion, choices: await findBest(completion.typed, completion.choices) };
}

async function findCompletion(textBefore: string, ctx: Ctx): Promise<Completion | undefined> {
  const [, mention] = /(?:^|\s)@("[^"]*|(?:[^\s"]|\\ )*)$/.exec(textBefore) ?? [];
  if (mention !== undefined)
    return { start: textBefore.length - mention.length, ...(await listPaths(mention, ctx)) };
  const [, symbolQuery] = /(?:^|\s)#([\w$.]+)$/.exec(textBefore) ?? [];
  if (symbolQuery)
    return {
      start: textBefore.length - symbolQuery.length - 1,
      typed: symbolQuery,
      choices: await symbols(symbolQuery, ctx),
    };
  const [, commandName, argument] = /^\/([\w-]*)(?:\s+(.*))?$/s.exec(textBefore) ?? [];
  if (commandName === undefined) return completePath(textBefore, ctx);
  if (argument === undefined && !/\s$/.test(textBefore)) {
    const choices = ctx.about.commands.map(({ name, description }) => ({
      name: `/${name} `,
      description,
    }));
    return { start: 0, typed: textBefore, choices };
  }
  const typed = argument ?? "";
  const offered = await ctx.about.complete(commandName, typed);
  const choices = offered.length ? offered : await ctx.about.complete(commandName, "");
  return choices.length
    ? { start: textBefore.length - typed.length, typed, choices }
    : completePath(textBefore, ctx);
}

/**
 * A path without an @, as in a shell command. Only exact beginnings count, since most words are not
 * paths.
 */
async function completePath(textBefore: string, ctx: Ctx): Promise<Completion | undefined> {
  const [lastWord = ""] = /[^\s"'`(]+$/.exec(textBefore) ?? [];
  const barePath = lastWord.replace(/^\.\//, "");
  if (!barePath) return undefined;
  const { choices } = await listPaths(barePath, ctx);
  const matchingChoices = choices.filter(({ name }) => name.replace(/^"/, "").startsWith(barePath));
  return matchingChoices.length
    ? { start: textBefore.length - barePath.length, typed: barePath, choices: matchingChoices }
    : undefined;
}

/** Files, and the folders that contain them. A name with a space is quoted. */
async function listPaths(mention: string, ctx: Ctx): Promise<Omit<Completion, "start">> {
  const typed = mention.replace(/^"/, "").replaceAll("\\ ", " ");
  const listedFiles = await ctx.files.list();
  const folders = new Set<string>();
  for (const listedFile of listedFiles)
    for (
      let slashIndex = listedFile.indexOf("/");
      slashIndex >= 0;
      slashIndex = listedFile.indexOf("/", slashIndex + 1)
    )
      folders.add(listedFile.slice(0, slashIndex + 1));
  const quoteName = (pathName: string) => (/\s/.test(pathName) ? `"${pathName}"` : pathName);
  return {
    typed,
    choices: [...folders, ...listedFiles].map((pathName) => ({ name: quoteName(pathName) })),
  };
}

async function symbols(typed: string, ctx: Ctx): Promise<Choice[]> {
  const { data } = await ctx.call("find_symbols", { query: typed });
  const matches: { name: string; kind: string; path: string; line: number }[] = Array.isArray(data)
    ? data
    : [];
  const descriptions = new Map(
    matches.map(({ name, kind, path, line }) => [name, `${kind}  ${path}:${line}`]),
  );
  return [...descriptions].map(([name, description]) => ({ name, description }));
}

/** Choices that begin with what was typed; similar ones only if there are none. */
async function findBest(typedText: string, choices: Choice[]): Promise<Choice[]> {
  const lowerTyped = typedText.toLowerCase();
  const prefixMatches = choices.filter(({ name }) =>
    name.toLowerCase().replace(/^"/, "").startsWith(lowerTyped),
  );
  if (prefixMatches.length || !typedText) return prefixMatches.slice(0, MAX_CHOICES);
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(choices, { keys: ["name"], threshold: 0.4, ignoreLocation: true });
  return fuse.search(typedText.replace(/^\//, ""), { limit: MAX_CHOICES }).map(({ item }) => item);
}

function commonStart(choiceNames: string[]): string {
  let sharedStart = choiceNames[0]!;
  for (const choiceName of choiceNames)
    while (!choiceName.startsWith(sharedStart)) sharedStart = sharedStart.slice(0, -1);
  return sharedStart;
}

/** The rows of the menu from `firstShown` on, as many as it shows. */
function drawMenu(choices: Choice[], firstShown: number): string {
  const shownChoices = choices.slice(firstShown, firstShown + MENU_ROWS);
  const columns = Math.min(32, Math.max(...shownChoices.map(({ name }) => width(name))));
  const menuRows = shownChoices.map(({ name, description = "" }) =>
    `  ${name}${" ".repeat(Math.max(0, columns - width(name)))}  ${description}`
      .trimEnd()
      .replaceAll("\n", "␊"),
  );
  const remainingCount = choices.length - shownChoices.length;
  return [
    ...menuRows,
    ...(remainingCount > 0 ? [`  … ${remainingCount} more; Tab goes through them`] : []),
  ].join("\n");
}

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
    press: (line, ctx) => (zz.config.menu ? suggest(line, ctx) : undefined),
  });
  zz.key({
    name: "down",
    description: "go into the menu that is open; else to later lines",
    async press(line, ctx) {
      const completion = isOpen(line) && zz.config.menu && (await find(line.text, ctx));
      const choices = completion ? await best(completion.typed, completion.choices) : [];
      if (!completion || !choices.length) return false;
      await choose(line, { ...completion, choices }, 0);
    },
  });
  zz.key({
    name: "tab",
    description:
      "complete a command, its value, an @file, a path or a #symbol; on an empty line: give the output of your last !command to the model",
    async press(line, ctx) {
      if (!line.text && ctx.service("ownOutput")?.give(ctx)) return;
      const completion = await find(line.text.slice(0, line.cursor), ctx);
      if (!completion) return;
      const choices = await best(completion.typed, completion.choices);
      if (!choices.length) return line.below("Nothing fits.");
      await choose(line, { ...completion, choices });
    },
  });
};

const isCommand = (text: string): boolean => /^\/[\w-]*$/.test(text);
/** Whether the menu opens by itself for what is typed. */
const opensMenu = ({ text, cursor }: Line): boolean =>
  cursor === text.length && (isCommand(text) || /(?:^|\s)@[^\s"]*$/.test(text));
/**
 * Whether Down goes into the menu. On a line from the history it does not, so that it goes on to
 * later lines.
 */
const isOpen = (line: Line): boolean => opensMenu(line) && !line.history.includes(line.text);

/** Shows the choices without changing the line. */
async function suggest(line: Line, ctx: Ctx): Promise<void> {
  const { text } = line;
  if (!opensMenu(line)) return;
  if (!isCommand(text)) await ctx.io.clock.sleep(PAUSE_MS);
  if (line.text !== text) return;
  const completion = await find(text, ctx);
  const choices = completion ? await best(completion.typed, completion.choices) : [];
  if (choices.length) line.below(menu(choices, 0));
}

/**
 * A single choice is inserted at once; Tab goes through several, from the one at `at` if it is
 * given.
 */
async function choose(
  line: Line,
  { start, typed, choices }: Completion,
  selected = -1,
): Promise<void> {
  const { text, cursor } = line;
  const put = (name: string) =>
    line.set(text.slice(0, start) + name + text.slice(cursor), start + name.length);
  if (choices.length === 1) return put(choices[0]!.name);
  const common = commonStart(choices.map(({ name }) => name));
  if (selected >= 0) put(choices[selected]!.name);
  else if (common.length > typed.length && common.startsWith(typed)) put(common);
  for (;;) {
    const first = Math.max(0, Math.min(selected - MENU_ROWS + 2, choices.length - MENU_ROWS));
    line.below(menu(choices, first), selected - first);
    const key = await line.next();
    if (key.name === "tab" || key.name === "down") selected = (selected + 1) % choices.length;
    else if (key.name === "shift+tab" || key.name === "up")
      selected = (selected <= 0 ? choices.length : selected) - 1;
    else if (key.name === "escape") return line.set(text, cursor);
    else return selected >= 0 && key.name === "return" ? undefined : line.press(key);
    put(choices[selected]!.name);
  }
}

async function find(before: string, ctx: Ctx): Promise<Completion | undefined> {
  const [, mention] = /(?:^|\s)@("[^"]*|(?:[^\s"]|\\ )*)$/.exec(before) ?? [];
  if (mention !== undefined)
    return { start: before.length - mention.length, ...(await files(mention, ctx)) };
  const [, symbol] = /(?:^|\s)#([\w$.]+)$/.exec(before) ?? [];
  if (symbol)
    return {
      start: before.length - symbol.length - 1,
      typed: symbol,
      choices: await symbols(symbol, ctx),
    };
  const [, name, argument] = /^\/([\w-]*)(?:\s+(.*))?$/s.exec(before) ?? [];
  if (name === undefined) return paths(before, ctx);
  if (argument === undefined && !/\s$/.test(before)) {
    const choices = ctx.about.commands.map(({ name, description }) => ({
      name: `/${name} `,
      description,
    }));
    return { start: 0, typed: before, choices };
  }
  const typed = argument ?? "";
  const offered = await ctx.about.complete(name, typed);
  const choices = offered.length ? offered : await ctx.about.complete(name, "");
  return choices.length
    ? { start: before.length - typed.length, typed, choices }
    : paths(before, ctx);
}

/**
 * A path without an @, as in a shell command. Only exact beginnings count, since most words are not
 * paths.
 */
async function paths(before: string, ctx: Ctx): Promise<Completion | undefined> {
  const [word = ""] = /[^\s"'`(]+$/.exec(before) ?? [];
  const bare = word.replace(/^\.\//, "");
  if (!bare) return undefined;
  const { choices } = await files(bare, ctx);
  const fits = choices.filter(({ name }) => name.replace(/^"/, "").startsWith(bare));
  return fits.length
    ? { start: before.length - bare.length, typed: bare, choices: fits }
    : undefined;
}

/** Files, and the folders that contain them. A name with a space is quoted. */
async function files(mention: string, ctx: Ctx): Promise<Omit<Completion, "start">> {
  const typed = mention.replace(/^"/, "").replaceAll("\\ ", " ");
  const listed = await ctx.files.list();
  const folders = new Set<string>();
  for (const file of listed)
    for (let index = file.indexOf("/"); index >= 0; index = file.indexOf("/", index + 1))
      folders.add(file.slice(0, index + 1));
  const quoted = (name: string) => (/\s/.test(name) ? `"${name}"` : name);
  return { typed, choices: [...folders, ...listed].map((name) => ({ name: quoted(name) })) };
}

async function symbols(typed: string, ctx: Ctx): Promise<Choice[]> {
  const { data } = await ctx.call("find_symbols", { query: typed });
  const matches = (Array.isArray(data) ? data : []) as {
    name: string;
    kind: string;
    path: string;
    line: number;
  }[];
  const descriptions = new Map(
    matches.map((symbol) => [symbol.name, `${symbol.kind}  ${symbol.path}:${symbol.line}`]),
  );
  return [...descriptions].map(([name, description]) => ({ name, description }));
}

/** Choices that begin with what was typed; similar ones only if there are none. */
async function best(typed: string, choices: Choice[]): Promise<Choice[]> {
  const small = typed.toLowerCase();
  const begins = choices.filter(({ name }) =>
    name.toLowerCase().replace(/^"/, "").startsWith(small),
  );
  if (begins.length || !typed) return begins.slice(0, MAX_CHOICES);
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(choices, { keys: ["name"], threshold: 0.4, ignoreLocation: true });
  return fuse.search(typed.replace(/^\//, ""), { limit: MAX_CHOICES }).map(({ item }) => item);
}

function commonStart(names: string[]): string {
  let common = names[0]!;
  for (const name of names) while (!name.startsWith(common)) common = common.slice(0, -1);
  return common;
}

/** The rows of the menu from `first` on, as many as it shows. */
function menu(choices: Choice[], first: number): string {
  const shown = choices.slice(first, first + MENU_ROWS);
  const columns = Math.min(32, Math.max(...shown.map(({ name }) => width(name))));
  const rows = shown.map(({ name, description = "" }) =>
    `  ${name}${" ".repeat(Math.max(0, columns - width(name)))}  ${description}`
      .trimEnd()
      .replaceAll("\n", "␊"),
  );
  const remainingCount = choices.length - shown.length;
  return [
    ...rows,
    ...(remainingCount > 0 ? [`  … ${remainingCount} more; Tab goes through them`] : []),
  ].join("\n");
}

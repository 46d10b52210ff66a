// /help: the commands by group, the keys, and one command explained.
import type { About, Ctx } from "zz";
import { wrap } from "zz/text";
import { availableColumns, columns, type Row, wrapped } from "./aligned-rows.ts";

/** In the order of /help. Other groups follow; commands without a group come last. */
const GROUPS = [
  "conversation",
  "sessions and model",
  "files and undo",
  "code",
  "settings",
  "templates",
];
export const [OTHER, TYPING] = ["other", "typing"];
/** Signs that mean something in a line, with the plugin that handles each. */
const SIGNS: [plugin: string, sign: string, does: string][] = [
  [
    "bang",
    "!COMMAND",
    "run a command of your own, as in your shell; !! or Tab on the empty line then gives its output to the model",
  ],
  ["bang", "!!COMMAND", "give a command of your own the whole terminal"],
  [
    "bang",
    "!+COMMAND",
    "run a command the way the model's commands run: on a copy, and covered by /undo",
  ],
  ["mentions", "@FILE", "attach a file, a folder/ or an image to the message"],
  ["repl", "\\", "at the end of a line: continue the message in the next line"],
  ["repl", '"""', "write several lines, between two of these"],
];
/** The prompt's own keys, which it does not register, so that plugins can handle them. */
const PROMPT_KEYS: Row[] = [
  ["return", "send the message"],
  ["up", "go to earlier lines that begin like this one"],
  ["down", "go to later lines that begin like this one"],
  [
    "ctrl+c",
    "stop the answer; at a question: no; while you type: clear the line; twice at an empty prompt: exit",
  ],
  ["escape", "stop the answer; at a question: no"],
  ["ctrl+d", "on an empty line: exit; everything is saved"],
  ["ctrl+l", "clear the screen"],
];
/** The help on a command or group; without an argument the whole page, if it fits the terminal. */
export function helpOn(topic: string, { about, io, service }: Ctx): string {
  const columns = availableColumns(io);
  const wholePage = page(about, columns);
  const fits = wholePage.split("\n").length < (io.stderr.rows ?? Number.POSITIVE_INFINITY) - 1;
  if (topic === "all" || (!topic && fits)) return wholePage;
  if (!topic) return overview(about, columns);
  const allSections = sections(about);
  const isCommand = about.commands.some(({ name }) => name === topic);
  const group = isCommand
    ? undefined
    : [...allSections.keys()].find((name) => [name, ...name.split(" ")].includes(topic));
  if (group) return section(group, allSections.get(group)!, columns);
  if (isCommand || keyRow(topic, about)) return commandHelp(topic, about, columns);
  return (
    service("otherNames")?.meaning(topic) ||
    searched(topic, allSections, columns) ||
    commandHelp(topic, about, columns)
  );
}
/** What is about these words, by group; "" if nothing is. */
function searched(topic: string, allSections: Map<string, Row[]>, room: number): string {
  const words = topic.toLowerCase().split(/\s+/);
  const holds = (row: Row) => words.every((word) => row.join(" ").toLowerCase().includes(word));
  const found = [...allSections].map(([group, rows]) => [group, rows.filter(holds)] as const);
  return found
    .flatMap(([group, rows]) => (rows.length ? section(group, rows, room) : []))
    .join("\n");
}
type Known = Pick<About, "commands" | "keys"> & Partial<Pick<About, "plugins">>;
/** The commands by group, then what else can be typed. */
export function sections({ commands, keys, plugins = [] }: Known): Map<string, Row[]> {
  const groups = Map.groupBy(commands, ({ group = OTHER }) => group);
  const rank = (group: string) =>
    (GROUPS.indexOf(group) + 1 || GROUPS.length + 1) + (group === OTHER ? 1 : 0);
  const names = [...groups.keys()].sort((a, b) => rank(a) - rank(b));
  const works = (plugin: string) =>
    plugins.some(({ name, failure }) => name === plugin && !failure);
  const signs = SIGNS.filter(([plugin]) => works(plugin));
  const promptKeys = works("repl")
    ? PROMPT_KEYS.filter(([key]) => !keys.some(({ name }) => name === key))
    : [];
  return new Map<string, Row[]>([
    ...names.map((group): [string, Row[]] => [
      group,
      groups.get(group)!.map(({ name, usage, description, owner }) => {
        const whose = group === OTHER ? ` (${owner})` : "";
        return [`/${name}${usage ? ` ${usage}` : ""}`, description + whose];
      }),
    ]),
    [
      TYPING,
      [
        ["//TEXT", "send text that begins with a slash"],
        ...signs.map(([, sign, does]): Row => [sign, does]),
        ...keys
          .filter(({ name }) => name !== "typing")
          .map(({ name, description }): Row => [name, description]),
        ...promptKeys,
      ],
    ],
  ]);
}
const section = (group: string, rows: Row[], room: number): string =>
  [`${group}:`, ...columns(rows.map(withLabel), room)].join("\n");

const KEY = /^(?:(?:ctrl|meta|shift)\+.+|return|escape|tab|up|down|left|right|home|end|f\d+)$/;
/** A key as it is named on a keyboard: Ctrl+Z, Alt+Enter. */
function withLabel([name, does]: Row): Row {
  if (!KEY.test(name)) return [name, does];
  const label = name
    .replace("meta+", "alt+")
    .replace("return", "enter")
    .replace(/(^|\+)(\w)/g, (_, before, letter) => before + letter.toUpperCase());
  return [label, does];
}
export const page = (about: Known, room: number): string =>
  [...sections(about)].map(([group, rows]) => section(group, rows, room)).join("\n");
/** The page with names only, without what they do. */
export function overview(about: Known, room: number): string {
  const allSections = [...sections(about)];
  const indent = room < 60 ? 2 : Math.max(...allSections.map(([group]) => group.length)) + 2;
  const lines = allSections.flatMap(([group, rows]) => {
    const names = rows.map((row) => withLabel(row)[0].split(" ")[0]!).join("  ");
    const under = wrap(names, room - indent).map((line) => " ".repeat(indent) + line);
    return room < 60
      ? [`${group}:`, ...under]
      : [group.padEnd(indent) + under[0]!.slice(indent), ...under.slice(1)];
  });
  const hint = "/help COMMAND, KEY or GROUP explains it, /help all lists it all; Tab completes.";
  return [...lines, ...wrapped(hint, room)].join("\n");
}
/** What is typed, by its whole name, its sign alone, or a name that keyboards show. */
function keyRow(topic: string, knownKeys: Known): Row | undefined {
  const rows = [
    ...sections(knownKeys).get(TYPING)!,
    ...knownKeys.keys.map(({ name, description }): Row => [name, description]),
  ];
  const name = topic
    .toLowerCase()
    .replace(/^(?:(?:ctrl|control)[-+ ]|\^)(?=.)/, "ctrl+")
    .replace(/\balt[-+ ]/, "meta+")
    .replace(/\benter$/, "return")
    .replace(/^esc$/, "escape");
  const isIt = ([row]: Row) =>
    [row, row.replace(/^\//, "")].some(
      (spelling) => spelling.toLowerCase() === name || spelling.replace(/[A-Z]+$/, "") === topic,
    );
  return topic ? rows.find(isIt) : undefined;
}
function commandHelp(topic: string, { commands, plugins, keys }: About, room: number): string {
  const command = commands.find(({ name }) => name === topic);
  const key = keyRow(topic, { commands, plugins, keys });
  if (!command && key) return columns([withLabel(key)], room).join("\n");
  if (!command) {
    const near = commands
      .filter(({ name }) => name.includes(topic) || topic.includes(name))
      .map(({ name }) => `/${name}`);
    throw new Error(
      `There is no command or key '${topic}'. ${near.length ? `There is: ${near.join(", ")}.` : "/help lists them."}`,
    );
  }
  const { name, usage = "", examples = {}, description, group = OTHER, owner } = command;
  const file = plugins.find((plugin) => plugin.name === owner && plugin.from !== "zz")?.file;
  return [
    `/${name} ${usage}`.trimEnd(),
    ...wrapped(description, room - 2).map((line) => `  ${line}`),
    ...columns(Object.entries(examples), room),
    `  group: ${group}; plugin: ${owner}${file ? ` (${file})` : ""}`,
  ].join("\n");
}

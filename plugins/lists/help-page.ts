// /help: the commands by group, the keys, and one command explained.
import type { About, Ctx } from "zz";
import { wrap } from "zz/text";
import { availableColumns, columns, type Row, wrapped } from "./aligned-rows.ts";

/** In the order of /help. Other groups follow; commands without a group come last. */
const COMMAND_GROUPS = [
  "conversation",
  "sessions and model",
  "files and undo",
  "code",
  "settings",
  "templates",
];
export const [OTHER, TYPING] = ["other", "typing"];
/** Signs that mean something in a line, with the plugin that handles each. */
const LINE_SIGNS: [plugin: string, sign: string, does: string][] = [
  [
    "bang",
    "!COMMAND",
    "run a command of your own, as in your shell; !! " +
      "or Tab on the empty line then gives its output to the model",
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
    "stop the answer; at a question: no; while you type: " +
      "clear the line; twice at an empty prompt: exit",
  ],
  ["escape", "stop the answer; at a question: no"],
  ["ctrl+d", "on an empty line: exit; everything is saved"],
  ["ctrl+l", "clear the screen"],
];
/** The help on a command or group; without an argument the whole page, if it fits the terminal. */
export function helpOn(topic: string, { about, io, service }: Ctx): string {
  const columns = availableColumns(io);
  const wholePage = page(about, columns);
  const fitsScreen =
    wholePage.split("\n").length < (io.stderr.rows ?? Number.POSITIVE_INFINITY) - 1;
  if (topic === "all" || (!topic && fitsScreen)) return wholePage;
  if (!topic) return overview(about, columns);
  const allSections = sections(about);
  const isCommand = about.commands.some(({ name }) => name === topic);
  const groupName = isCommand
    ? undefined
    : [...allSections.keys()].find((heading) => [heading, ...heading.split(" ")].includes(topic));
  if (groupName) return section(groupName, allSections.get(groupName)!, columns);
  if (isCommand || findKeyRow(topic, about)) return commandHelp(topic, about, columns);
  return (
    service("otherNames")?.meaning(topic) ||
    searched(topic, allSections, columns) ||
    commandHelp(topic, about, columns)
  );
}
/** What is about these words, by group; "" if nothing is. */
function searched(topic: string, allSections: Map<string, Row[]>, maxColumns: number): string {
  const topicWords = topic.toLowerCase().split(/\s+/);
  const holdsWords = (helpRow: Row) =>
    topicWords.every((topicWord) => helpRow.join(" ").toLowerCase().includes(topicWord));
  return [...allSections]
    .flatMap(([groupName, groupRows]) => {
      const matchingRows = groupRows.filter(holdsWords);
      return matchingRows.length ? section(groupName, matchingRows, maxColumns) : [];
    })
    .join("\n");
}
type Known = Pick<About, "commands" | "keys"> & Partial<Pick<About, "plugins">>;
/** The commands by group, then what else can be typed. */
export function sections({ commands, keys, plugins = [] }: Known): Map<string, Row[]> {
  const commandGroups = Map.groupBy(commands, ({ group = OTHER }) => group);
  const rankGroup = (groupName: string) =>
    (COMMAND_GROUPS.indexOf(groupName) + 1 || COMMAND_GROUPS.length + 1) +
    (groupName === OTHER ? 1 : 0);
  const groupNames = [...commandGroups.keys()].sort(
    (first, second) => rankGroup(first) - rankGroup(second),
  );
  const isWorking = (pluginName: string) =>
    plugins.some(({ name, failure }) => name === pluginName && !failure);
  const workingSigns = LINE_SIGNS.filter(([pluginName]) => isWorking(pluginName));
  const promptKeys = isWorking("repl")
    ? PROMPT_KEYS.filter(([keyName]) => !keys.some(({ name }) => name === keyName))
    : [];
  return new Map<string, Row[]>([
    ...groupNames.map((groupName): [string, Row[]] => [
      groupName,
      commandGroups.get(groupName)!.map(({ name, usage, description, owner }) => {
        const ownerNote = groupName === OTHER ? ` (${owner})` : "";
        return [`/${name}${usage ? ` ${usage}` : ""}`, description + ownerNote];
      }),
    ]),
    [
      TYPING,
      [
        ["//TEXT", "send text that begins with a slash"],
        ...workingSigns.map(([, signText, explanation]): Row => [signText, explanation]),
        ...keys
          .filter(({ name }) => name !== "typing")
          .map(({ name, description }): Row => [name, description]),
        ...promptKeys,
      ],
    ],
  ]);
}
const section = (groupName: string, groupRows: Row[], maxColumns: number): string =>
  [`${groupName}:`, ...columns(groupRows.map(withLabel), maxColumns)].join("\n");

const KEY_NAME = /^(?:(?:ctrl|meta|shift)\+.+|return|escape|tab|up|down|left|right|home|end|f\d+)$/;
/** A key as it is named on a keyboard: Ctrl+Z, Alt+Enter. */
function withLabel([rowName, explanation]: Row): Row {
  if (!KEY_NAME.test(rowName)) return [rowName, explanation];
  const keyLabel = rowName
    .replace("meta+", "alt+")
    .replace("return", "enter")
    .replace(/(^|\+)(\w)/g, (_, separator, firstLetter) => separator + firstLetter.toUpperCase());
  return [keyLabel, explanation];
}
export const page = (about: Known, maxColumns: number): string =>
  [...sections(about)].map(([group, rows]) => section(group, rows, maxColumns)).join("\n");
/** The page with names only, without what they do. */
export function overview(about: Known, maxColumns: number): string {
  const allSections = [...sections(about)];
  const indentWidth =
    maxColumns < 60 ? 2 : Math.max(...allSections.map(([groupName]) => groupName.length)) + 2;
  const pageLines = allSections.flatMap(([groupName, groupRows]) => {
    const rowNames = groupRows.map((helpRow) => withLabel(helpRow)[0].split(" ")[0]!).join("  ");
    const nameLines = wrap(rowNames, maxColumns - indentWidth).map(
      (nameLine) => " ".repeat(indentWidth) + nameLine,
    );
    return maxColumns < 60
      ? [`${groupName}:`, ...nameLines]
      : [groupName.padEnd(indentWidth) + nameLines[0]!.slice(indentWidth), ...nameLines.slice(1)];
  });
  const helpHint =
    "/help COMMAND, KEY or GROUP explains it, /help all lists it all; Tab completes.";
  return [...pageLines, ...wrapped(helpHint, maxColumns)].join("\n");
}
/** What is typed, by its whole name, its sign alone, or a name that keyboards show. */
function findKeyRow(topic: string, knownKeys: Known): Row | undefined {
  const typingRows = [
    ...sections(knownKeys).get(TYPING)!,
    ...knownKeys.keys.map(({ name, description }): Row => [name, description]),
  ];
  const keyName = topic
    .toLowerCase()
    .replace(/^(?:(?:ctrl|control)[-+ ]|\^)(?=.)/, "ctrl+")
    .replace(/\balt[-+ ]/, "meta+")
    .replace(/\benter$/, "return")
    .replace(/^esc$/, "escape");
  const isTopicRow = ([rowName]: Row) =>
    [rowName, rowName.replace(/^\//, "")].some(
      (spelling) => spelling.toLowerCase() === keyName || spelling.replace(/[A-Z]+$/, "") === topic,
    );
  return topic ? typingRows.find(isTopicRow) : undefined;
}
function commandHelp(
  topic: string,
  { commands, plugins, keys }: About,
  maxColumns: number,
): string {
  const command = commands.find(({ name }) => name === topic);
  const matchingKey = findKeyRow(topic, { commands, plugins, keys });
  if (!command && matchingKey) return columns([withLabel(matchingKey)], maxColumns).join("\n");
  if (!command) {
    const similarNames = commands
      .filter(({ name }) => name.includes(topic) || topic.includes(name))
      .map(({ name }) => `/${name}`);
    const remedy = similarNames.length
      ? `There is: ${similarNames.join(", ")}.`
      : `/help lists them, and /config ${topic} looks among the settings.`;
    throw new Error(`There is no command or key '${topic}'. ${remedy}`);
  }
  const { name, usage = "", examples = {}, description, group = OTHER, owner } = command;
  const pluginFile = plugins.find((plugin) => plugin.name === owner && plugin.from !== "zz")?.file;
  return [
    `/${name} ${usage}`.trimEnd(),
    ...wrapped(description, maxColumns - 2).map((textLine) => `  ${textLine}`),
    ...columns(Object.entries(examples), maxColumns),
    `  group: ${group}; plugin: ${owner}${pluginFile ? ` (${pluginFile})` : ""}`,
  ].join("\n");
}

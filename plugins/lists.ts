// What zz has: --tools, --plugins and the commands of the same names, --help, /help, --completion.
import type { About, Choice, Ctx, Flag, Reloaded, Result, Zz } from "zz";
import { clip, oneLine, terminalColumns, usage, width, wrap } from "zz/text";

const LISTS: Record<string, { group: string; description: string; list(ctx: Ctx): Result }> = {
  tools: {
    group: "the model's tools",
    description: "list the tools",
    list: ({ about }) => ({ text: toolRows(about), data: about.tools }),
  },
  plugins: {
    group: "your plugins",
    description: "list the plugins",
    list: ({ about: { plugins } }) => ({
      text: table(
        plugins.map((plugin) => [plugin.name, plugin.from, stateOf(plugin, "failed"), plugin.file]),
      ),
      data: plugins,
    }),
  },
};
/** In the order of /help. Other groups follow; commands without a group come last. */
const GROUPS = [
  "conversation",
  "sessions and model",
  "files and undo",
  "code",
  "settings",
  "templates",
];
const [OTHER, TYPING] = ["other", "typing"];
/** In the order of --help. */
const FLAG_GROUPS = [
  "asking",
  "model",
  "the conversation",
  "output",
  "the model's tools",
  "what tools may do",
  "files and undo",
  "your plugins",
  "folders and settings",
  "about zz",
];
const MAX_COLUMNS = 80; // of --help, however wide the terminal is
/** Signs that mean something in a line, with the plugin that handles each. */
const SIGNS: [plugin: string, sign: string, does: string][] = [
  ["bang", "!COMMAND", "run a command of your own, as in your shell"],
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

export default (zz: Zz) => {
  zz.flag({
    name: "help",
    short: "h",
    group: "about zz",
    description: "this page",
    run: (_, { about, io }) => ({
      text: help(about.flags, Math.min(terminalColumns(io), MAX_COLUMNS)),
    }),
  });
  for (const [name, { list, ...row }] of Object.entries(LISTS))
    zz.flag({ name, ...row, run: (_, ctx) => list(ctx) });
  zz.command({
    name: "tools",
    usage: "[NAME]",
    description: "list the tools, or describe one",
    examples: { "/tools": "list them", "/tools grep": "show what grep does and takes" },
    group: "settings",
    complete: (typed, { about }) => about.tools.filter(({ name }) => name.includes(typed)),
    run: (typed, { about, io, note }) =>
      note(
        typed
          ? tool(typed, about, availableColumns(io))
          : narrow(toolRows(about), availableColumns(io)),
      ),
  });
  zz.command({
    name: "plugins",
    usage: "[NAME | enable NAME | disable NAME]",
    description: "list the plugins, describe one, or switch one on or off",
    examples: {
      "/plugins": "list them",
      "/plugins openai": "show what one adds",
      "/plugins disable openai": "leave one out, now and later",
      "/plugins enable openai": "load it again",
    },
    group: "settings",
    complete: (typed, { about }) => choices(typed, about),
    async run(typed, ctx) {
      const [, verb, name] = /^(enable|disable)(?:\s+(\S+))?$/.exec(typed) ?? [];
      if (verb && !name) ctx.note(`Name a plugin: /plugins ${verb} NAME. /plugins lists them.`);
      else if (name) await switchPlugin(name, verb === "enable", ctx);
      else {
        const columns = availableColumns(ctx.io);
        ctx.note(typed ? plugin(typed, ctx.about, columns) : plugins(ctx.about, columns));
      }
    },
  });
  zz.command({
    name: "reload",
    description:
      "load plugins whose files changed, which zz also does before each turn, and those that failed",
    group: "settings",
    async run(_, { plugins, note }) {
      const done = await plugins.refresh(true);
      if (!done.length) note("No plugin has changed.");
      noteReloads(done, note);
    },
  });
  zz.command({
    name: "help",
    usage: "[COMMAND | KEY | GROUP | all]",
    description: "list what can be typed, or explain a command or a key",
    examples: {
      "/help back": "explain a command, with examples",
      "/help ctrl+c": "explain a key",
      "/help files": "list a group of commands",
      "/help all": "list everything",
    },
    group: "conversation",
    complete: (typed, { about }) => [
      ...about.commands.filter(({ name }) => name.startsWith(typed.replace(/^\//, ""))),
      ...[...sections(about).keys(), "all"]
        .filter((name) => name.startsWith(typed))
        .map((name) => ({ name })),
    ],
    run: (typed, ctx) => ctx.note(helpOn(typed.replace(/^\//, ""), ctx)),
  });
  zz.flag({
    name: "completion",
    group: "about zz",
    value: "SHELL",
    description: "print completions for bash, zsh or fish",
    run: (shell, { about }) => ({ text: completion(String(shell), about.flags) }),
  });
};

const availableColumns = (io: Ctx["io"]): number => terminalColumns(io) - 1;

/** The help on a command or group; without an argument the whole page, if it fits the terminal. */
function helpOn(topic: string, { about, io }: Ctx): string {
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
  return group
    ? section(group, allSections.get(group)!, columns)
    : commandHelp(topic, about, columns);
}

type Known = Pick<About, "commands" | "keys"> & Partial<Pick<About, "plugins">>;
type Row = [name: string, text: string];

/** The commands by group, then what else can be typed. */
function sections({ commands, keys, plugins = [] }: Known): Map<string, Row[]> {
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
  [`${group}:`, ...columns(rows, room)].join("\n");

export const page = (about: Known, room: number): string =>
  [...sections(about)].map(([group, rows]) => section(group, rows, room)).join("\n");

/** The page with names only, without what they do. */
function overview(about: Known, room: number): string {
  const allSections = [...sections(about)];
  const indent = room < 60 ? 2 : Math.max(...allSections.map(([group]) => group.length)) + 2;
  const lines = allSections.flatMap(([group, rows]) => {
    const names = rows.map(([name]) => name.split(" ")[0]!).join("  ");
    const under = wrap(names, room - indent).map((line) => " ".repeat(indent) + line);
    return room < 60
      ? [`${group}:`, ...under]
      : [group.padEnd(indent) + under[0]!.slice(indent), ...under.slice(1)];
  });
  const hint = "/help COMMAND, KEY or GROUP explains it, /help all lists it all; Tab completes.";
  return [...lines, ...wrapped(hint, room)].join("\n");
}

/** Names, with texts next to them if there is room, otherwise below. */
function columns(rows: Row[], room: number, textColumn = 27): string[] {
  const indent = room < 60 ? 0 : textColumn;
  return rows.flatMap(([name, text]) => {
    const fits = indent > 0 && name.length <= indent - 4;
    const lines = wrapped(text, room - Math.max(indent, 4)).map(
      (line) => " ".repeat(Math.max(indent, 4)) + line,
    );
    if (fits) return [`  ${name}`.padEnd(indent) + lines[0]!.slice(indent), ...lines.slice(1)];
    return [
      ...wrapped(name, room - 6).map((line, i) => (i ? `      ${line}` : `  ${line}`)),
      ...lines,
    ];
  });
}

const wrapped = (text: string, columns: number): string[] => wrap(oneLine(text), columns);

const narrow = (text: string, room: number): string =>
  text
    .split("\n")
    .map((line) => clip(line, room))
    .join("\n");

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
  if (!command && key) return columns([key], room).join("\n");
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

const toolRows = ({ tools }: About): string =>
  table(tools.map(({ name, description }) => [name, description]));

/** A tool's description and parameters. */
function tool(topic: string, { tools }: About, room: number): string {
  const match = tools.find(({ name }) => name === topic);
  if (!match) {
    const near = tools.filter(({ name }) => name.includes(topic)).map(({ name }) => name);
    throw new Error(
      `There is no tool '${topic}'. ${near.length ? `There is: ${near.join(", ")}.` : "/tools lists them."}`,
    );
  }
  const { name, description, schema, owner } = match;
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, any>;
    required?: string[];
  };
  const rows = Object.entries(properties).map(
    ([param, { type, enum: values, description: about = "" }]): Row => {
      const types = Array.isArray(type) ? type.join(" or ") : (type ?? "");
      const typeName = values ? values.join(" | ") : types;
      const optional = required.includes(param) ? "" : ", optional";
      return [param, `${typeName}${optional}${about ? `: ${about}` : ""}`];
    },
  );
  const lines = wrapped(description, room - 2).map((line) => `  ${line}`);
  return [
    `${name} (${owner})`,
    ...lines,
    ...(rows.length ? ["takes:"] : []),
    ...columns(rows, room),
  ].join("\n");
}

type Plugin = About["plugins"][number];
const stateOf = ({ ms, failure, outdated, disabled }: Plugin, failed: string): string => {
  if (failure) return failed;
  if (disabled) return "disabled";
  if (outdated) return "older";
  return `${ms} ms`;
};

function noteReloads(done: Reloaded[], note: Ctx["note"]): void {
  for (const { name, did, ms, why } of done)
    note(why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
}

/** The user's plugins and those that failed, with what each adds; zz's own only by name. */
export function plugins({ plugins }: Pick<About, "plugins">, room: number): string {
  const ownPlugins = plugins.filter(
    ({ from, failure, disabled }) => from === "zz" && !failure && !disabled,
  );
  const others = plugins.filter((plugin) => !ownPlugins.includes(plugin));
  const rows = table(
    others.map((plugin) => [plugin.name, plugin.from, stateOf(plugin, "failed"), plugin.file]),
  );
  const lines = others.flatMap((plugin, i) => [
    narrow(rows.split("\n")[i]!, room),
    ...[whyOf(plugin), added(plugin)].flatMap((text) =>
      text ? wrapped(text, room - 4).map((line) => `    ${line}`) : [],
    ),
  ]);
  const ms = ownPlugins.reduce((sum, plugin) => sum + plugin.ms, 0);
  const names = ownPlugins.map(({ name }) => name).join(", ");
  return [
    ...lines,
    ...wrapped(`zz's own, ${ownPlugins.length} in ${ms.toFixed(1)} ms: ${names}.`, room),
    ...wrapped("/plugins NAME shows what one adds; /plugins disable NAME leaves it out.", room),
  ].join("\n");
}

/** Why it failed, without its name and file, which are in the row above. */
const whyOf = ({ name, file, outdated = "", failure = outdated }: Plugin): string => {
  const [, line, problem] =
    /^:?(\d*)\)?: (.*)$/s.exec(failure.split(`Cannot load plugin '${name}' (${file}`)[1] ?? "") ??
    [];
  return problem ? `${line ? `line ${line}: ` : ""}${problem}` : failure;
};

/** What a plugin adds, such as `tool lamp; command /lamp, /lamps`. */
const added = ({ adds }: Plugin): string =>
  [...Map.groupBy(adds, ({ kind }) => kind)]
    .map(
      ([additionKind, additions]) =>
        `${additionKind} ${[...new Set(additions.map(({ name }) => (additionKind === "command" ? `/${name}` : name)))].join(", ")}`,
    )
    .join("; ");

function plugin(name: string, { plugins }: About, room: number): string {
  const matches = plugins.filter((plugin) => plugin.name === name);
  if (!matches.length) return `There is no plugin '${name}'. /plugins lists them.`;
  return matches
    .flatMap((plugin) => [
      ...wrapped(
        `${name}: from ${plugin.from}, ${stateOf(plugin, "failed")}; ${plugin.file}`,
        room,
      ),
      ...wrapped(plugin.failure ?? plugin.outdated ?? "", room).filter(Boolean),
      ...added(plugin)
        .split("; ")
        .flatMap((line) => wrapped(line, room - 2).map((line) => `  ${line}`)),
    ])
    .join("\n");
}

const choices = (typed: string, { plugins }: About): Choice[] => {
  const [, verb = ""] = /^(enable|disable)\s/.exec(typed) ?? [];
  const fits = ({ disabled }: Plugin) => !verb || Boolean(disabled) === (verb === "enable");
  const names = plugins
    .filter(fits)
    .map(({ name, from }) => ({ name: verb ? `${verb} ${name}` : name, description: from }));
  return [...(verb ? [] : [{ name: "enable" }, { name: "disable" }]), ...names].filter(({ name }) =>
    name.startsWith(typed),
  );
};

/** Switches a plugin on or off in the settings, so that it lasts. */
async function switchPlugin(
  name: string,
  on: boolean,
  { about, settings, plugins, note }: Ctx,
): Promise<void> {
  // one that replaces zz's comes after it
  const present = about.plugins.findLast((plugin) => plugin.name === name);
  if (!present) return note(`There is no plugin '${name}'. /plugins lists them.`);
  if (Boolean(present.disabled) !== on)
    return note(`'${name}' is ${on ? "not disabled" : "disabled already"}.`);
  const disabledNames = (settings.list().find((setting) => setting.name === "disabled")?.value ??
    []) as string[];
  const remaining = disabledNames.filter((disabledName) => disabledName !== name);
  const names = on ? remaining : [...remaining, name];
  await settings.set("disabled", names.length ? names : undefined);
  noteReloads(await plugins.refresh(), note);
}

function help(flags: Flag[], room: number): string {
  const groups = Map.groupBy(flags, ({ group = OTHER }) => group);
  const names = [...new Set([...FLAG_GROUPS, ...groups.keys()])].filter((name) => groups.has(name));
  const uses: Row[] = [
    ["zz [flags] [words]", "open a conversation; with words, answer those first"],
    ["echo words | zz --once", "print one answer and exit"],
    ["zz words < data", "send the data, then the words"],
  ];
  return [
    ...wrapped("zz: a terminal agent whose story you can read in one sitting.", room),
    "",
    ...columns(uses, room, FLAG_COLUMNS),
    ...names.flatMap((name) => [
      "",
      `${name}:`,
      ...columns(groups.get(name)!.map(flagRow), room, FLAG_COLUMNS),
    ]),
    "",
    ...wrapped(EXIT_CODES, room),
  ].join("\n");
}
const FLAG_COLUMNS = 30;
const EXIT_CODES =
  "Exit codes: 0 answered, 1 the provider or zz failed, 2 wrong usage, 3 stopped by a limit, 4 answered but something was refused, 130 and 143 interrupted.";

function flagRow({ name, short, value, optional, description }: Flag): Row {
  const valueText = optional ? `[=${value}]` : ` ${value}`;
  const shown = value ? valueText : "";
  return [`${short ? `-${short}, ` : "    "}--${name}${shown}`, description];
}

/** Rows with aligned columns; the last column is not padded. */
function table(rows: string[][]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.slice(0, -1).entries())
      widths[i] = Math.max(widths[i] ?? 0, width(cell));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i < row.length - 1 ? cell + " ".repeat(widths[i]! - width(cell)) : cell))
        .join("  "),
    )
    .join("\n");
}

function completion(shell: string, flags: Flag[]): string {
  const quotable = (text: string) => text.replace(/'/g, "’").replace(/[[\]:]/g, " ");
  const wants = ({ value, optional }: Flag) => Boolean(value && !optional);
  if (shell === "bash")
    return `complete -o default -W "${flags.map(({ name }) => `--${name}`).join(" ")}" zz`;
  if (shell === "zsh")
    return [
      "#compdef zz",
      "_arguments \\",
      ...flags.map(
        (flag) =>
          `  '*--${flag.name}[${quotable(flag.description)}]${wants(flag) ? ":value:_files" : ""}' \\`,
      ),
      "  '*:file:_files'",
    ].join("\n");
  if (shell === "fish")
    return flags
      .map(
        (flag) =>
          `complete -c zz -l ${flag.name}${flag.short ? ` -s ${flag.short}` : ""}${wants(flag) ? " -r" : ""} -d '${quotable(flag.description)}'`,
      )
      .join("\n");
  throw usage(`Cannot complete for '${shell}': only for bash, zsh and fish. Name one of them.`);
}

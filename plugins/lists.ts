// What there is: --tools, --plugins and the commands of the same names, --help, /help, --completion.
import type { About, Ctx, Flag, Result, Zz } from "zz";

const LISTS: Record<string, { description: string; list(ctx: Ctx): Result }> = {
  tools: {
    description: "list the tools",
    list: ({ about: { tools } }) => ({
      text: table(tools.map(({ name, description }) => [name, description])),
      data: tools,
    }),
  },
  plugins: {
    description: "list the plugins",
    list: ({ about: { plugins } }) => ({
      text: table(
        plugins.map(({ name, from, file, ms, failure }) => [name, from, failure ? "failed" : `${ms} ms`, file]),
      ),
      data: plugins,
    }),
  },
};
/** In the order of /help. Commands of other groups follow, those of none last. */
const GROUPS = ["conversation", "sessions and model", "files and undo", "code", "settings", "templates"];
const OTHER = "other";

export default (zz: Zz) => {
  zz.flag({ name: "help", short: "h", description: "this page", run: (_, { about }) => ({ text: help(about.flags) }) });
  for (const [name, { description, list }] of Object.entries(LISTS)) {
    zz.flag({ name, description, run: (_, ctx) => list(ctx) });
    zz.command({ name, description, group: "settings", run: (_, ctx) => ctx.note(narrow(list(ctx).text, roomOf())) });
  }
  zz.command({
    name: "help",
    usage: "[COMMAND]",
    description: "this list, or all about one command",
    group: "conversation",
    complete: (typed, { about }) =>
      about.commands
        .filter(({ name }) => name.startsWith(typed.replace(/^\//, "")))
        .map(({ name, description }) => ({ name, description })),
    run: (rest, { about, note }) => note(rest ? one(rest.replace(/^\//, ""), about) : page(about, roomOf())),
  });
  zz.flag({
    name: "completion",
    value: "SHELL",
    description: "print completions for bash, zsh or fish",
    run: (shell, { about }) => ({ text: completion(String(shell), about.flags) }),
  });
};

const roomOf = (): number => (process.stderr.columns ?? 80) - 1;

/** Every command in its group, then the keys. */
export function page({ commands, keys }: Pick<About, "commands" | "keys">, room: number): string {
  const groups = Map.groupBy(commands, ({ group = OTHER }) => group);
  const place = (group: string) => (GROUPS.indexOf(group) + 1 || GROUPS.length + 1) + (group === OTHER ? 1 : 0);
  const names = [...groups.keys()].sort((a, b) => place(a) - place(b));
  const parts = names.map((group) => [
    `${group}:`,
    ...columns(
      groups.get(group)!.map(({ name, usage, description, owner }) => {
        const whose = group === OTHER ? ` (${owner})` : "";
        return [`/${name}${usage ? ` ${usage}` : ""}`, description + whose];
      }),
      room,
    ),
  ]);
  const typing = [["//TEXT", "send text that begins with a slash"], ...keys.map((key) => [key.name, key.description])];
  return [...parts.flat(), "typing:", ...columns(typing as [string, string][], room)].join("\n");
}

/** The second column beside the first where there is room, else below it. */
function columns(rows: [name: string, text: string][], room: number): string[] {
  const left = room < 60 ? 0 : 26;
  return rows.flatMap(([name, text]) => {
    const beside = left > 0 && name.length <= left - 4;
    const lines = wrapped(text, room - Math.max(left, 4)).map((line) => " ".repeat(Math.max(left, 4)) + line);
    return beside ? [`  ${name}`.padEnd(left) + lines[0]!.slice(left), ...lines.slice(1)] : [`  ${name}`, ...lines];
  });
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  return [...lines, line];
}

const narrow = (text: string, room: number): string =>
  text
    .split("\n")
    .map((line) => (line.length > room ? `${line.slice(0, room - 1)}…` : line))
    .join("\n");

function one(given: string, { commands, plugins }: About): string {
  const command = commands.find(({ name }) => name === given);
  if (!command) {
    const near = commands
      .filter(({ name }) => name.includes(given) || given.includes(name))
      .map(({ name }) => `/${name}`);
    throw new Error(
      `Cannot tell of '/${given}': there is no such command. ${near.length ? `There is: ${near.join(", ")}.` : "/help lists them."}`,
    );
  }
  const { name, usage, description, group = OTHER, owner } = command;
  const file = plugins.find((plugin) => plugin.name === owner)?.file;
  return [
    `/${name}${usage ? ` ${usage}` : ""}`,
    ...wrapped(description, roomOf() - 2).map((line) => `  ${line}`),
    `  ${group}; from ${owner}${file ? ` (${file})` : ""}`,
  ].join("\n");
}

function help(flags: Flag[]): string {
  const rows = flags.map(({ name, short, value, optional, description }) => {
    const shown = value ? (optional ? `[=${value}]` : ` ${value}`) : "";
    return `  ${short ? `-${short}, ` : "    "}--${name}${shown}`.padEnd(34) + ` ${description}`;
  });
  return `zz: a terminal agent that you can read in one sitting.

  zz [flags] [words]           talk; with words, answer those first
  echo words | zz --once       one answer on stdout, and out
  zz words < data              data first, then the words

${rows.join("\n")}

Exit codes: 0 answered, 1 the provider or zz failed, 2 wrong usage, 3 stopped by a limit,
4 answered but something was refused, 130 and 143 interrupted.`;
}

/** Rows with their columns in line; the last column is as wide as it is. */
function table(rows: string[][]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.slice(0, -1).entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows
    .map((row) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i]!) : cell)).join("  "))
    .join("\n");
}

function completion(shell: string, flags: Flag[]): string {
  const said = (text: string) => text.replace(/'/g, "’").replace(/[[\]:]/g, " ");
  const wants = ({ value, optional }: Flag) => Boolean(value && !optional);
  if (shell === "bash") return `complete -o default -W "${flags.map(({ name }) => `--${name}`).join(" ")}" zz`;
  if (shell === "zsh")
    return [
      "#compdef zz",
      "_arguments \\",
      ...flags.map((flag) => `  '*--${flag.name}[${said(flag.description)}]${wants(flag) ? ":value:_files" : ""}' \\`),
      "  '*:file:_files'",
    ].join("\n");
  if (shell === "fish")
    return flags
      .map(
        (flag) =>
          `complete -c zz -l ${flag.name}${flag.short ? ` -s ${flag.short}` : ""}${wants(flag) ? " -r" : ""} -d '${said(flag.description)}'`,
      )
      .join("\n");
  throw Object.assign(new Error(`Cannot complete for '${shell}': only for bash, zsh and fish. Name one of them.`), {
    exit: 2,
  });
}

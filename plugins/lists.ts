// What there is: --tools, --plugins, --models, --sessions and the commands of the same names, --help, /help, --completion.
import type { Ctx, Flag, Result, Zz } from "zz";

const LISTS: Record<string, { description: string; list(ctx: Ctx): Result | Promise<Result> }> = {
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
  models: {
    description: "list the models that the providers offer",
    async list({ about, note }) {
      const { models, failures } = await about.models();
      failures.forEach(note);
      return { text: table(models.map(({ id, window }) => (window ? [id, `${window} tokens`] : [id]))), data: models };
    },
  },
  sessions: {
    description: "list the sessions, newest first",
    list: ({ sessions }) => ({
      text: table(sessions.list().map(({ id, at, title }) => [id, at.slice(0, 16).replace("T", " "), title])),
      data: sessions.list(),
    }),
  },
};

export default (zz: Zz) => {
  zz.flag({ name: "help", short: "h", description: "this page", run: (_, { about }) => ({ text: help(about.flags) }) });
  for (const [name, { description, list }] of Object.entries(LISTS)) {
    zz.flag({ name, description, run: (_, ctx) => list(ctx) });
    zz.command({ name, description, run: async (_, ctx) => ctx.note((await list(ctx)).text) });
  }
  zz.command({
    name: "help",
    description: "this list",
    run(_, { about, note }) {
      note(
        table([
          ...about.commands.map(({ name, description }) => [`/${name}`, description]),
          ["//text", "send text that begins with a slash"],
        ]),
      );
    },
  });
  zz.flag({
    name: "completion",
    value: "SHELL",
    description: "print completions for bash, zsh or fish",
    run: (shell, { about }) => ({ text: completion(String(shell), about.flags) }),
  });
};

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

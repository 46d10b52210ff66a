// What zz has: --tools, --plugins and the commands of the same names, --help, /help, --completion.
import type { About, Ctx, Result, Zz } from "zz";
import { terminalColumns } from "zz/text";
import { availableColumns, columns, narrow, type Row, table, wrapped } from "./aligned-rows.ts";
import { completion } from "./completion.ts";
import { help, MAX_COLUMNS } from "./flags-page.ts";
import { helpOn, sections } from "./help-page.ts";
import {
  choices,
  isOn,
  noteReloads,
  plugin,
  plugins,
  stateOf,
  switchPlugin,
} from "./list-plugins.ts";

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
    run: async (typed, { about, io, note, service }) => {
      const room = availableColumns(io);
      if (!typed) return note(narrow(toolRows(about), room));
      const isOwn = about.tools.some(({ name }) => name === typed);
      const meant = isOwn ? typed : await service("toolNames")?.own(typed);
      note(tool(about.tools.some(({ name }) => name === meant) ? meant! : typed, about, room));
    },
  });
  registerPlugins(zz);
  registerHelp(zz);
};

function registerPlugins(zz: Zz): void {
  zz.command({
    name: "plugins",
    usage: "[NAME | on NAME | off NAME]",
    description: "list the plugins, describe one, or switch one on or off",
    examples: {
      "/plugins": "list them",
      "/plugins openai": "show what one adds",
      "/plugins off openai": "leave one out, now and later",
      "/plugins on openai": "load it again",
    },
    group: "settings",
    complete: (typed, { about }) => choices(typed, about),
    async run(typed, ctx) {
      const [, verb, name] = /^(enable|disable|on|off)(?:\s+(\S+))?$/.exec(typed) ?? [];
      if (verb && !name) ctx.note(`Name a plugin: /plugins ${verb} NAME. /plugins lists them.`);
      else if (name) await switchPlugin(name, isOn(verb!), ctx);
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
}

function registerHelp(zz: Zz): void {
  zz.command({
    name: "help",
    usage: "[COMMAND | KEY | GROUP | WORDS | all]",
    description: "list what can be typed, explain a command or a key, or find what is about WORDS",
    examples: {
      "/help back": "explain a command, with examples",
      "/help ctrl+c": "explain a key",
      "/help files": "list a group of commands",
      "/help clipboard": "find what is about it",
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
    description: "print completions of flags, models, sessions and more, for bash, zsh or fish",
    run: (shell, { about }) => ({ text: completion(String(shell), about) }),
  });
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

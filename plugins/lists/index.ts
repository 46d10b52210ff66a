// What zz has: --tools, --plugins and the commands of the same names, --help, /help, --completion.
import type { About, Zz } from "zz";
import { terminalColumns } from "zz/text";
import { availableColumns, columns, narrow, type Row, table, wrapped } from "./aligned-rows.ts";
import { completion } from "./completion.ts";
import { help, MAX_COLUMNS } from "./flags-page.ts";
import { helpOn, sections } from "./help-page.ts";
import {
  completePlugins,
  describePlugin,
  isOn,
  listPlugins,
  noteReloads,
  pluginTable,
  switchPlugin,
} from "./list-plugins.ts";

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
  zz.flag({
    name: "tools",
    group: "the model's tools",
    description: "list the tools",
    run: (_, { about }) => ({ text: toolRows(about), data: about.tools }),
  });
  zz.flag({
    name: "plugins",
    group: "your plugins",
    description: "list the plugins",
    run: (_, { about: { plugins } }) => ({ text: pluginTable(plugins), data: plugins }),
  });
  zz.command({
    name: "tools",
    usage: "[NAME]",
    description: "list the tools, or describe one",
    examples: { "/tools": "list them", "/tools grep": "show what grep does and takes" },
    group: "settings",
    complete: (typedText, { about }) => about.tools.filter(({ name }) => name.includes(typedText)),
    run: async (typedText, { about, io, note, service }) => {
      const maxColumns = availableColumns(io);
      if (!typedText) return note(narrow(toolRows(about), maxColumns));
      const isOwnName = about.tools.some(({ name }) => name === typedText);
      const meantName = isOwnName ? typedText : await service("toolNames")?.own(typedText);
      note(
        describeTool(
          about.tools.some(({ name }) => name === meantName) ? meantName! : typedText,
          about,
          maxColumns,
        ),
      );
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
    complete: (typedText, { about }) => completePlugins(typedText, about),
    async run(typedText, ctx) {
      const [, switchVerb, pluginName] =
        /^(enable|disable|on|off)(?:\s+(\S+))?$/.exec(typedText) ?? [];
      if (switchVerb && !pluginName)
        ctx.note(`Name a plugin: /plugins ${switchVerb} NAME. /plugins lists them.`);
      else if (pluginName) await switchPlugin(pluginName, isOn(switchVerb!), ctx);
      else {
        const columns = availableColumns(ctx.io);
        ctx.note(
          typedText
            ? describePlugin(typedText, ctx.about, columns)
            : listPlugins(ctx.about, columns),
        );
      }
    },
  });
  zz.command({
    name: "reload",
    description:
      "load plugins whose files changed, " +
      "which zz also does before each turn, and those that failed",
    group: "settings",
    async run(_, { plugins, note }) {
      const reloads = await plugins.refresh(true);
      if (!reloads.length) note("No plugin has changed.");
      noteReloads(reloads, note);
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
    complete: (typedText, { about }) => [
      ...about.commands.filter(({ name }) => name.startsWith(typedText.replace(/^\//, ""))),
      ...[...sections(about).keys(), "all"]
        .filter((groupName) => groupName.startsWith(typedText))
        .map((name) => ({ name })),
    ],
    run: (typedText, ctx) => ctx.note(helpOn(typedText.replace(/^\//, ""), ctx)),
  });
  zz.flag({
    name: "completion",
    group: "about zz",
    value: "SHELL",
    description: "print completions of flags, models, sessions and more, for bash, zsh or fish",
    run: (shellName, { about }) => ({ text: completion(String(shellName), about) }),
  });
}

const toolRows = ({ tools }: About): string =>
  table(tools.map(({ name, description }) => [name, description]));

/** A tool's description and parameters. */
function describeTool(toolName: string, { tools }: About, maxColumns: number): string {
  const matchingTool = tools.find(({ name }) => name === toolName);
  if (!matchingTool) {
    const similarNames = tools
      .filter(({ name }) => name.includes(toolName))
      .map(({ name }) => name);
    throw new Error(
      `There is no tool '${toolName}'. ` +
        `${similarNames.length ? `There is: ${similarNames.join(", ")}.` : "/tools lists them."}`,
    );
  }
  const { name, description, schema, owner } = matchingTool;
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, any>;
    required?: string[];
  };
  const parameterRows = Object.entries(properties).map(
    ([parameterName, { type, enum: allowedValues, description: explanation = "" }]): Row => {
      const joinedTypes = Array.isArray(type) ? type.join(" or ") : (type ?? "");
      const typeName = allowedValues ? allowedValues.join(" | ") : joinedTypes;
      const optional = required.includes(parameterName) ? "" : ", optional";
      return [parameterName, `${typeName}${optional}${explanation ? `: ${explanation}` : ""}`];
    },
  );
  const textLines = wrapped(description, maxColumns - 2).map((textLine) => `  ${textLine}`);
  return [
    `${name} (${owner})`,
    ...textLines,
    ...(parameterRows.length ? ["takes:"] : []),
    ...columns(parameterRows, maxColumns),
  ].join("\n");
}

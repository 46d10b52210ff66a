// Writing plugins: --check-plugin and /plugin check, --new-plugin and /plugin new, the tool
// write_plugin, --functions.
import type { Choice, Ctx, Zz } from "zz";
import { usage } from "zz/text";
import { watchTypes } from "./background.ts";
import type { Checker } from "./checker.ts";
import { addWriteTool } from "./write.ts";

export default (zz: Zz) => {
  let openedChecker: Promise<Checker> | undefined;
  const checker = () =>
    (openedChecker ??= import("./checker.ts").then(({ openChecker }) =>
      openChecker(zz.programs, zz.io.clock),
    ));
  zz.defer(async () => (await openedChecker)?.close());

  zz.flag({
    name: "check-plugin",
    alone: true,
    value: "FILE",
    group: "your plugins",
    description: "check a plugin's types; one of the home's is loaded as well",
    run: async (flagValue, ctx) => {
      const [{ fileOf }, { check }, { resultOf }] = await Promise.all([
        import("./checker.ts"),
        import("./check.ts"),
        import("./print-check.ts"),
      ]);
      const absolutePath = fileOf(String(flagValue), ctx);
      const checked = await check(absolutePath, ctx.permissions.compiler());
      return resultOf(String(flagValue), absolutePath, checked, ctx);
    },
  });
  zz.flag({
    name: "new-plugin",
    value: "NAME",
    group: "your plugins",
    description: "write a plugin to start from, and its test, into the home",
    run: async (pluginName, ctx) => (await import("./scaffold.ts")).create(String(pluginName), ctx),
  });
  zz.flag({
    name: "functions",
    value: "CODE|FILE",
    many: true,
    group: "the model's tools",
    description: "make each exported TypeScript function a tool, for this run",
    set: async (codeOrFile) =>
      (await import("./functions-as-tools.ts")).addFunctions(zz, String(codeOrFile)),
  });
  zz.command({
    name: "plugin",
    usage: "new NAME | check NAME|FILE",
    description: "write a plugin to start from; check one",
    examples: {
      "/plugin new weather": "write a plugin and its test into the home",
      "/plugin check weather": "check its types, and whether it loads",
    },
    group: "settings",
    complete,
    run: (typedWords, ctx) => runCommand(typedWords, ctx, checker),
  });
  addWriteTool(zz, checker);
  watchTypes(zz, checker);
};

async function runCommand(
  typedWords: string,
  ctx: Ctx,
  checker: () => Promise<Checker>,
): Promise<void> {
  const [verb, ...nameWords] = typedWords.trim().split(/\s+/);
  const nameOrFile = nameWords.join(" ");
  if (verb === "new" && nameOrFile)
    return ctx.note((await (await import("./scaffold.ts")).create(nameOrFile, ctx)).text);
  if (verb !== "check" || !nameOrFile)
    throw usage(
      `Cannot run '/plugin${typedWords && ` ${typedWords}`}': ` +
        "use /plugin new NAME, or /plugin check NAME|FILE.",
    );
  const [{ fileOf }, { resultOf }] = await Promise.all([
    import("./checker.ts"),
    import("./print-check.ts"),
  ]);
  const namedPlugin = ctx.about.plugins.find(({ name }) => name === nameOrFile);
  if (namedPlugin?.from === "zz") throw usage(`Cannot check '${nameOrFile}': it is zz's own.`);
  const pluginFile = fileOf(namedPlugin?.file ?? nameOrFile, ctx);
  const checked = await (await checker()).check(pluginFile, ctx);
  ctx.note((await resultOf(nameOrFile, pluginFile, checked, ctx)).text);
}

function complete(typedWords: string, { about }: Ctx): Choice[] {
  const verbChoices = [
    { name: "new ", description: "write one to start from" },
    { name: "check ", description: "its types, and whether it loads" },
  ];
  const ownPlugins = about.plugins.filter(({ from }) => from !== "zz");
  return [
    ...verbChoices,
    ...(typedWords.startsWith("check ")
      ? ownPlugins.map(({ name }) => ({ name: `check ${name}` }))
      : []),
  ].filter(({ name }) => name.startsWith(typedWords) && name !== typedWords);
}

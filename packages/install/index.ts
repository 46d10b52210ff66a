// --install, --update, --uninstall, and the commands of the same names: plugins from npm, git, a
// folder or a file. Nothing is loaded before the person agrees.
import type { Choice, Command, Ctx, Result, Zz } from "zz";

const SPEC_FORMS = "an npm package, a folder, a file, a git URL, or zz/NAME";
const loadCommands = () => import("./commands.ts");

const ACTIONS: (Pick<Command, "description" | "usage" | "examples" | "complete"> & {
  name: "install" | "update" | "uninstall";
})[] = [
  {
    name: "install",
    usage: "[SPEC]",
    description: `install a plugin (${SPEC_FORMS}); without SPEC, all of the lock file`,
    examples: {
      "/install zz/todo": "install an example that zz brings",
      "/install zz-weather@1.2.0": "install an npm package",
      "/install git+https://example.com/it.git#v1": "install from git, at a tag",
      "/install": "install what plugins.lock.json lists",
    },
    complete: async (typedSpec) => {
      const examples = typedSpec.startsWith("zz/") ? (await loadCommands()).examples() : ["zz/"];
      return [...examples, "git+https://", "./"].filter((candidate) =>
        candidate.startsWith(typedSpec),
      );
    },
  },
  {
    name: "update",
    usage: "[NAME]",
    description: "look for newer versions of installed plugins, or of one",
    examples: {
      "/update": "look for newer versions of all",
      "/update weather": "look for one of them",
    },
    complete: installed,
  },
  {
    name: "uninstall",
    usage: "NAME",
    description: "remove a plugin that was installed",
    examples: { "/uninstall weather": "remove that plugin" },
    complete: installed,
  },
];

export default (zz: Zz) => {
  for (const { name, usage = "", description, ...commandFields } of ACTIONS) {
    const runAction = async (argument: string | undefined, ctx: Ctx): Promise<Result> =>
      (await loadCommands())[name](argument, ctx);
    zz.flag({
      name,
      value: usage.replace(/[[\]]/g, ""),
      optional: usage.startsWith("["),
      group: "your plugins",
      description,
      run: (flagValue, ctx) =>
        runAction(typeof flagValue === "string" ? flagValue : undefined, ctx),
    });
    zz.command({
      name,
      usage,
      description,
      ...commandFields,
      group: "settings",
      run: async (typedText, ctx) => {
        const { text } = await runAction(typedText || undefined, ctx);
        ctx.note(text);
        for (const { name, did, ms, why } of await ctx.plugins.refresh())
          ctx.note(why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
      },
    });
  }
};

async function installed(typedName: string, ctx: Ctx): Promise<Choice[]> {
  return (await loadCommands()).installed(ctx).filter(({ name }) => name.startsWith(typedName));
}

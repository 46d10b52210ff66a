// --install, --update, --uninstall, and the commands of the same names: plugins from npm, git, a
// folder or a file. Nothing is loaded before the person agrees.
import type { Choice, Command, Ctx, Result, Zz } from "zz";

const WHAT = "an npm package, a folder, a file, a git URL, or zz/NAME";
const load = () => import("./commands.ts");

const ACTIONS: (Pick<Command, "description" | "usage" | "examples" | "complete"> & {
  name: "install" | "update" | "uninstall";
})[] = [
  {
    name: "install",
    usage: "[SPEC]",
    description: `install a plugin (${WHAT}); without SPEC, all of the lock file`,
    examples: {
      "/install zz/todo": "install an example that zz brings",
      "/install zz-weather@1.2.0": "install an npm package",
      "/install git+https://example.com/it.git#v1": "install from git, at a tag",
      "/install": "install what plugins.lock.json lists",
    },
    complete: async (typed) => {
      const examples = typed.startsWith("zz/") ? (await load()).examples() : ["zz/"];
      return [...examples, "git+https://", "./"].filter((word) => word.startsWith(typed));
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
    const act = async (argument: string | undefined, ctx: Ctx): Promise<Result> =>
      (await load())[name](argument, ctx);
    zz.flag({
      name,
      value: usage.replace(/[[\]]/g, ""),
      optional: usage.startsWith("["),
      group: "your plugins",
      description,
      run: (value, ctx) => act(typeof value === "string" ? value : undefined, ctx),
    });
    zz.command({
      name,
      usage,
      description,
      ...commandFields,
      group: "settings",
      run: async (typed, ctx) => {
        const { text } = await act(typed || undefined, ctx);
        ctx.note(text);
        for (const { name, did, ms, why } of await ctx.plugins.refresh())
          ctx.note(why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
      },
    });
  }
};

async function installed(typed: string, ctx: Ctx): Promise<Choice[]> {
  return (await load()).installed(ctx).filter(({ name }) => name.startsWith(typed));
}

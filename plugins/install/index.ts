// --install, --update, --uninstall, and the commands of the same names: plugins from npm, git, a folder or a file.
// Nothing is loaded before the person agrees.
import type { Choice, Ctx, Result, Zz } from "zz";

const SPEC = "an npm package, a folder, a file, a git URL, or zz/NAME";

export default (zz: Zz) => {
  zz.flag({
    name: "install",
    value: "SPEC",
    optional: true,
    group: "your plugins",
    description: `install a plugin (${SPEC}); without SPEC, all of the lock file`,
    run: async (spec, ctx) => (await commands()).install(given(spec), ctx),
  });
  zz.flag({
    name: "update",
    value: "NAME",
    optional: true,
    group: "your plugins",
    description: "look for newer versions of installed plugins, or of one",
    run: async (name, ctx) => (await commands()).update(given(name), ctx),
  });
  zz.flag({
    name: "uninstall",
    value: "NAME",
    group: "your plugins",
    description: "remove a plugin that was installed",
    run: async (name, ctx) => (await commands()).uninstall(String(name), ctx),
  });
  const group = "settings";
  zz.command({
    name: "install",
    usage: "[SPEC]",
    description: `install a plugin (${SPEC}); without SPEC, all of the lock file`,
    examples: {
      "/install zz/todo": "install an example that zz brings",
      "/install zz-weather@1.2.0": "install an npm package",
      "/install git+https://example.com/it.git#v1": "install from git, at a tag",
      "/install": "install what plugins.lock.json lists",
    },
    group,
    complete: async (typed) =>
      [...(typed.startsWith("zz/") ? (await commands()).examples() : ["zz/"]), "git+https://", "./"].filter((word) =>
        word.startsWith(typed),
      ),
    run: (rest, ctx) => runAndReload(ctx, async () => (await commands()).install(rest || undefined, ctx)),
  });
  zz.command({
    name: "update",
    usage: "[NAME]",
    description: "look for newer versions of installed plugins, or of one",
    examples: { "/update": "look for newer versions of all", "/update weather": "look for one of them" },
    group,
    complete,
    run: (rest, ctx) => runAndReload(ctx, async () => (await commands()).update(rest || undefined, ctx)),
  });
  zz.command({
    name: "uninstall",
    usage: "NAME",
    description: "remove a plugin that was installed",
    examples: { "/uninstall weather": "remove that plugin" },
    group,
    complete,
    run: (rest, ctx) => runAndReload(ctx, async () => (await commands()).uninstall(rest, ctx)),
  });
};

const commands = () => import("./commands.ts");
const given = (value: string | boolean): string | undefined => (typeof value === "string" ? value : undefined);

async function complete(typed: string, ctx: Ctx): Promise<Choice[]> {
  const { installed } = await commands();
  return installed(ctx).filter(({ name }) => name.startsWith(typed));
}

/** Installed plugins are loaded at once. */
async function runAndReload({ note, plugins }: Ctx, act: () => Promise<Result>): Promise<void> {
  const { text } = await act();
  note(text);
  for (const { name, did, ms, why } of await plugins.refresh())
    note(why ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
}

// zz inside of a program: the options that replace flags, and closing it.
import path from "node:path";
import {
  type Ask,
  type Awaitable,
  type Ctx,
  EVENTS,
  type Events,
  type Plugin,
} from "../kernel/contract.ts";
import { HOOK_LIMIT_MS } from "../kernel/events.ts";
import { projectExtras } from "../kernel/gate/trust.ts";
import { assertKnown, type Core, type Options } from "../kernel/instance.ts";
import { newLoadedPlugin } from "../kernel/plugins/import-plugin.ts";
import { closeInstance, setUpPlugin } from "../kernel/plugins/plugin-handle.ts";
import { resolveRoot } from "../kernel/program/options-from-flags.ts";
import { connectPerson } from "../kernel/program/run-dialog.ts";
import { readSettings } from "../kernel/settings/settings-files.ts";
import { homeFolder } from "../kernel/system/installation.ts";
import { processIo } from "../kernel/system/streams.ts";
import { fault } from "../kernel/text/faults.ts";
import { openScript, type Script, type Story } from "./script.ts";

/** What a program passes to embed() instead of flags. Plugins can be functions, and it can answer
 * questions and observe events. Without `settings`, those of the home and the project are read;
 * `config` names another file than the home's. */
export type Embedding = Omit<Options, "plugins"> & {
  plugins?: (string | Plugin<any>)[];
  ask?: Ask;
  on?: Hears;
};
type Hears = {
  [K in keyof Events]?: (eventFact: Readonly<Events[K]>, ctx: Ctx) => Awaitable<void>;
};
/** Closing unloads the plugins and leaves nothing behind: `await using zz = await embed()`. */
export type Embedded = Script & { close(): Promise<void>; [Symbol.asyncDispose](): Promise<void> };

export async function embedWith(
  { createZz, ...story }: { createZz(options: Options): Promise<Core> } & Story,
  { ask, on = {}, plugins = [], ...options }: Embedding,
): Promise<Embedded> {
  const { io = processIo() } = options;
  const home = path.resolve(options.home ?? homeFolder(io.env));
  const root = resolveRoot(options, io);
  const config = options.config && path.resolve(options.config);
  const brought = options.own !== false && projectExtras({ root, home });
  const settingsRead = options.settings ? {} : await readSettings({ home, root, config, brought });
  const pluginFiles = plugins.filter((plugin) => typeof plugin === "string");
  const core = await createZz({
    ...settingsRead,
    ...options,
    plugins: pluginFiles,
    home,
    root,
    ...(config && { config }),
  });
  const script = openScript(core, process.argv.slice(2), story);
  try {
    await takeOver();
  } catch (setUpError) {
    await close().catch(() => {}); // the first error is the one to report
    throw setUpError;
  }
  return Object.assign(script, { close, [Symbol.asyncDispose]: close });

  async function takeOver(): Promise<void> {
    for (const [i, setUp] of plugins.filter((plugin) => typeof plugin !== "string").entries()) {
      const loadedPlugin = newLoadedPlugin(
        path.join(root, setUp.name || `embedded-${i + 1}`),
        "program",
      );
      core.plugins.push(loadedPlugin);
      (await setUpPlugin(core, loadedPlugin, { default: setUp }))?.commit();
    }
    const failures = core.plugins.flatMap(({ from, failure = "" }) =>
      /^(flag|program)$/.test(from) && failure ? failure : [],
    );
    if (failures.length) throw fault(failures.join("\n"));
    if (ask) connectPerson(core, { ask });
    for (const [eventName, observe] of Object.entries(on)) {
      assertKnown("event", eventName, EVENTS);
      core.observers.push({
        owner: "program",
        value: {
          event: eventName as keyof Events,
          see: observe as Hears["noted"] & {},
          limit: HOOK_LIMIT_MS,
        },
      });
    }
  }
  async function close(): Promise<void> {
    script.end();
    const failures = await closeInstance(core);
    if (failures.length) throw fault(failures.join("\n"));
  }
}

// code: language servers, which know what a name means. Other plugins ask them by
// ctx.service("languageServers"); the tools are in packages/symbols.
import type { Ctx, Zz } from "zz";
import type { RunningServers } from "./running-servers.ts";

export interface Config {
  seconds: number; // that a server may take for one answer
  others: boolean; // ask servers of other languages, found on the PATH
  warm: boolean; // start TypeScript's while the first line is typed
}
export const defaults: Config = { seconds: 20, others: true, warm: true };
export const settings = {
  schema: {
    type: "object",
    properties: {
      seconds: {
        type: "number",
        minimum: 0.1,
        maximum: 600,
        description: "seconds that a language server may take for one answer",
      },
      others: {
        type: "boolean",
        description: "ask language servers of other languages, where they are on the PATH",
      },
      warm: {
        type: "boolean",
        description: "start TypeScript's language server while the first line is typed",
      },
    },
  },
};

export default (zz: Zz<Config>) => {
  let openedHost: Promise<RunningServers> | undefined;
  const openHost = () =>
    (openedHost ??= import("./running-servers.ts").then(
      ({ RunningServers }) => new RunningServers(zz),
    ));
  zz.defer(async () => (await openedHost)?.close());

  zz.service("languageServers", {
    answer: async (question, ctx) => (await openHost()).answer(question, ctx),
  });

  /** A command may change files that nobody lists, such as packages. */
  zz.on("called", ({ call: { name } }, { about }) => {
    const { kind: effect } = about.tools.find((tool) => tool.name === name) ?? {};
    if (effect === "run") void openedHost?.then((runningHost) => runningHost.forget());
  });
  zz.on("started", ({ stays }, ctx) => {
    if (stays && zz.config.warm)
      ctx.io.clock.timer(WARM_AFTER_MS, () => warmServer(ctx).catch(() => {}), {
        background: true,
      });
  });

  async function warmServer(ctx: Ctx): Promise<void> {
    const { warmFile } = await import("./warm.ts");
    const sampleFile = await warmFile(ctx);
    if (sampleFile) await (await openHost()).warm(sampleFile.name, sampleFile.text, ctx);
  }
};
const WARM_AFTER_MS = 500; // the prompt is there first

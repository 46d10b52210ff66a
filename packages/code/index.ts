// code: language servers, which know what a name means. Other plugins ask them by
// ctx.call("ask_language_server", { file, stamps, textOf, ask }); the tools are in packages/symbols.
// A model cannot make this call, since its arguments are functions.
import type { Ctx, Result, Zz } from "zz";
import type { Host, Question } from "./host.ts";

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
      warm: { type: "boolean", description: "start TypeScript's language server while the first line is typed" },
    },
  },
};

const SERVICE = "ask_language_server";
const CALL_LIMIT_MS = 300_000; // the server has limits of its own

export default (zz: Zz<Config>) => {
  let opened: Promise<Host> | undefined;
  const host = () => (opened ??= import("./host.ts").then(({ LanguageServers }) => new LanguageServers(zz)));
  zz.defer(async () => (await opened)?.close());

  zz.wrap(
    "call",
    async (call, next, ctx): Promise<Result> => {
      const question = call.args as unknown as Question;
      if (call.name !== SERVICE || typeof question.ask !== "function") return next(call);
      const why = await (await host()).answer(question, ctx);
      return why === undefined ? { text: "" } : { text: why, failed: true };
    },
    { limit: CALL_LIMIT_MS },
  );

  /** A command may change files that nobody lists, such as packages. */
  zz.on("called", ({ call: { name } }, { about }) => {
    const { kind } = about.tools.find((tool) => tool.name === name) ?? {};
    if (kind === "run") void opened?.then((host) => host.forget());
  });
  zz.on("started", ({ stays }, ctx) => {
    if (stays && zz.config.warm) ctx.io.clock.timer(WARM_AFTER_MS, () => void warm(ctx), { background: true });
  });

  async function warm(ctx: Ctx): Promise<void> {
    const { warmFile } = await import("./warm.ts");
    const file = await warmFile(ctx).catch(() => undefined);
    if (file) await (await host()).warm(file.name, file.text, ctx).catch(() => {});
  }
};
const WARM_AFTER_MS = 500; // the prompt is there first

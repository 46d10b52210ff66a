// Starts other plugins' programs in the sandbox, by ctx.service("sandbox").
import type { Ctx, Sandbox, SandboxedProgram, Zz } from "zz";
import { isInsideAny } from "zz/text";
import type { Sandbox as OpenSandbox } from "./open-sandbox.ts";
import type { defaults } from "./shell-settings.ts";

export function sandboxService(zz: Zz<typeof defaults>): Sandbox {
  const findName = async (ctx: Pick<Ctx, "programs">) =>
    (await import("./find-sandbox.ts")).sandboxName(zz.config, ctx);
  return {
    name: findName,
    async start(argv, { hosts = [], write = [] }, ctx) {
      const sandboxName = await findName(ctx);
      if (!sandboxName) return undefined;
      const folders = write.map(ctx.permissions.place);
      const readonly = !isInsideAny(folders, ctx.root);
      const { openServiceSandbox } = await import("./sandbox-for-call.ts");
      const sandbox = await openServiceSandbox(ctx, { hosts, write: folders, readonly });
      return wrapProgram(sandbox, sandboxName, argv);
    },
    async startReader(argv, folders, ctx) {
      const sandboxName = await findName(ctx);
      if (!sandboxName) return undefined;
      const { openReadingSandbox } = await import("./reading-sandbox.ts");
      return wrapProgram(await openReadingSandbox(ctx, folders), sandboxName, argv);
    },
    async startDecoder(argv, files, ctx) {
      const sandboxName = await findName(ctx);
      return sandboxName
        ? (await import("./decoder-sandbox.ts")).shutSandbox(ctx.programs, sandboxName, argv, files)
        : undefined;
    },
  };
}

function wrapProgram(
  sandbox: Pick<OpenSandbox, "wrap" | "close" | "lookups">,
  name: string,
  program: string[],
): SandboxedProgram {
  const { lookups, close } = sandbox;
  return { name, ...sandbox.wrap(program), ...(lookups && { failedLookups: lookups }), close };
}

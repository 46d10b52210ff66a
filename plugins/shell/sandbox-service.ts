// Starts other plugins' programs in the sandbox, by ctx.service("sandbox").
import type { Ctx, Sandbox, SandboxedProgram } from "zz";
import { isInsideAny } from "zz/text";
import type { Sandbox as OpenSandbox } from "./open-sandbox.ts";

type ServiceLimits = { hosts: string[]; write: string[]; readonly: boolean };
/** How the sandbox is found and opened, by this plugin's settings. */
interface SandboxOpener {
  find(ctx: Pick<Ctx, "programs">): Promise<string | undefined>;
  open(ctx: Ctx, serviceLimits: ServiceLimits): Promise<OpenSandbox>;
  openReader(ctx: Ctx, folders: string[]): Promise<Pick<OpenSandbox, "wrap" | "close" | "lookups">>;
}

export function sandboxService({ find, open, openReader }: SandboxOpener): Sandbox {
  return {
    name: find,
    async start(argv, { hosts = [], write = [] }, ctx) {
      const sandboxName = await find(ctx);
      if (!sandboxName) return undefined;
      const folders = write.map(ctx.permissions.place);
      const readonly = !isInsideAny(folders, ctx.root);
      return wrapProgram(await open(ctx, { hosts, write: folders, readonly }), sandboxName, argv);
    },
    async startReader(argv, folders, ctx) {
      const sandboxName = await find(ctx);
      return sandboxName
        ? wrapProgram(await openReader(ctx, folders), sandboxName, argv)
        : undefined;
    },
    async startDecoder(argv, files, ctx) {
      const sandboxName = await find(ctx);
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
  const { argv, env } = sandbox.wrap(program);
  const { lookups, close } = sandbox;
  return { name, argv, env: env ?? {}, ...(lookups && { failedLookups: lookups }), close };
}

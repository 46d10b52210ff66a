// service: other plugins start long-running programs in the sandbox by ctx.call("start_in_sandbox", { look }) or
// ({ argv, hosts, write, ready }), or those that only decode something by { argv, only, ready }. A model cannot make
// this call, since its arguments are functions. { argv, reads, ready } is for those that only read: they see the project
// and these folders, and nothing beside them.
import type { Ctx, Result, Zz } from "zz";
import { isInside } from "zz/text";
import type { Sandbox } from "./sandbox.ts";

export const SERVICE = "start_in_sandbox";
const OPEN_LIMIT_MS = 60_000;

/** The arguments. The project is read-only unless `write` names it, and only these hosts can be reached. */
type Asked = {
  look?: (name: string | undefined) => void; // is given the sandbox's name, if there is one
  argv?: string[];
  hosts?: string[]; // "*": all
  write?: string[];
  only?: string[]; // nothing else can be read but the system's libraries, nothing written, nobody reached
  reads?: string[];
  ready?: (box: Box) => void;
};
type Box = {
  name: string;
  argv: string[];
  env?: Record<string, string>;
  third?: Uint8Array;
  lookups?: (() => string[]) | undefined; // hosts that it looked up in vain
  close?(): void;
};
type Open = (ctx: Ctx, limits: { hosts: string[]; write: string[]; readonly: boolean }) => Promise<Sandbox>;

type Look = (ctx: Ctx, reads: string[]) => Promise<Pick<Sandbox, "wrap" | "close" | "lookups">>;

export function lendSandbox(
  zz: Zz<any>,
  find: (ctx: Ctx) => Promise<string | undefined>,
  open: Open,
  openLook: Look,
): void {
  zz.wrap(
    "call",
    async (call, next, ctx): Promise<Result> => {
      const { look, argv, hosts = [], write = [], only, reads, ready } = call.args as Asked;
      if (call.name !== SERVICE || (typeof look !== "function" && typeof ready !== "function")) return next(call);
      const name = await find(ctx);
      look?.(name);
      if (!name || !argv || !ready) return { text: name ?? "There is no sandbox here." };
      if (only) {
        ready((await import("./shut.ts")).shutSandbox(ctx.programs, name, argv, only));
        return { text: name };
      }
      const readonly = !write.some((folder) => isInside(ctx.permissions.place(folder), ctx.root));
      const box = await (reads
        ? openLook(ctx, reads)
        : open(ctx, { hosts, write: write.map(ctx.permissions.place), readonly }));
      const { argv: whole, env } = box.wrap(argv);
      ready({ name, argv: whole, env, lookups: box.lookups, close: box.close });
      return { text: name };
    },
    { limit: OPEN_LIMIT_MS },
  );
}

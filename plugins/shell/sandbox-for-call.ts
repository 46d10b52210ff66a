// Opens the sandbox of a call, by what the rules allow and what must not be read.
import { homedir } from "node:os";
import { join } from "node:path";
import type { Ctx, Kind } from "zz";
import { outsidePaths, type View } from "./copy-on-write.ts";
import { mayHoldPasswords, repositoryPaths } from "./guarded-files.ts";
import { secretsInGit } from "./judge/git-history.ts";
import { type NetworkAccess, networkAccess } from "./network-access.ts";
import { openSandbox } from "./open-sandbox.ts";
import type { ShellState } from "./shell-state.ts";
import { hideHomeExceptNeeded, toolchains } from "./toolchains.ts";
import { findUnreadableFiles } from "./unreadable-files.ts";

/** Opens a sandbox that allows what the rules allow, and hides what must not be read. */
export async function openSandboxForCall(
  ctx: Ctx,
  net: NetworkAccess,
  readonly: boolean,
  view: View | undefined,
  shellState: ShellState,
) {
  const unreadable = await findUnreadableFiles(ctx, view !== undefined);
  const visibility = view
    ? { ...(await hiddenOnCopy(ctx, view, unreadable.hide)), tmp: await shellState.tmp() }
    : await hiddenHome(ctx, unreadable.hide);
  return {
    keep: unreadable.keep,
    absent: unreadable.absent,
    ...(await openSandbox({
      programs: ctx.programs,
      root: ctx.root,
      write: allowedPlaces(ctx, ["write"]),
      ...unreadable,
      net,
      readonly,
      ...visibility,
    })),
  };
}

export type CallSandbox = Awaited<ReturnType<typeof openSandboxForCall>>;

const allowedPlaces = ({ permissions }: Ctx, kinds: Kind[]): string[] =>
  permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "allow" && kinds.includes(kind) && name ? permissions.place(name) : [],
  );

const GIT_SETTINGS = /\/(\.gitconfig|git\/config)$/;

/** What commands that were asked for do not see of the home. */
async function hiddenHome(ctx: Ctx, closedPaths: string[]) {
  const { permissions, root, git } = ctx;
  const allowed = allowedPlaces(ctx, ["read", "write"]);
  const { hide, show } = hideHomeExceptNeeded(root, allowed, permissions.secret);
  // zz gets to know the passwords in git's settings, and replaces them in what is printed
  if (show.some((shownFile) => GIT_SETTINGS.test(shownFile)))
    await git.check(root, { command: { HOME: homedir() } }).catch(() => {});
  return { hide: [...closedPaths, ...hide], show };
}

/**
 * Opens a sandbox for a program that keeps running. Nothing is restored, since others may change
 * the project, too.
 */
export async function openServiceSandbox(
  ctx: Ctx,
  { hosts, write, readonly }: { hosts: string[]; write: string[]; readonly: boolean },
) {
  const isDenied = ctx.permissions.rules.some(
    ({ verdict, kind }) => verdict === "deny" && kind === "net",
  );
  const net = hosts.includes("*") && !isDenied ? "all" : networkAccess(ctx, hosts);
  const { programs, root } = ctx;
  return openSandbox({
    programs,
    root,
    write,
    ...(await findUnreadableFiles(ctx)),
    net,
    readonly,
    service: true,
  });
}

/**
 * What commands on a view, which run unreviewed, cannot see: all but the project, the system and
 * PATH's programs.
 */
async function hiddenOnCopy(ctx: Ctx, view: View, hiddenPaths: string[]) {
  const { index, history } = await secretsInGit(ctx);
  const isDenied = ctx.permissions.rules.some(
    ({ verdict, kind }) => verdict !== "allow" && kind === "read",
  );
  const gitPaths =
    index || history || isDenied || mayHoldPasswords(ctx.root)
      ? [join(ctx.root, ".git"), ...repositoryPaths(ctx.root).write]
      : [];
  const outside = outsidePaths(ctx.root);
  const programs = toolchains(ctx.root, [...outside, ...hiddenPaths], ctx.permissions.secret);
  return {
    view,
    hide: [...hiddenPaths, ...gitPaths, ...outside, view.workFolder, ...programs.hide],
    show: programs.show,
  };
}

// How a call of run_command may run: judged by what would really run, together with what it needs.
import { join } from "node:path";
import type { Ctx, GitDoubt, Needs } from "zz";
import { clip } from "zz/text";
import { allowedVariables, withVariables } from "./command-variables.ts";
import { sandboxName } from "./find-sandbox.ts";
import type { Judged } from "./judge/judge-line.ts";
import type { Config } from "./shell-settings.ts";
import type { ShellState } from "./shell-state.ts";

/** What the model gives. */
export interface CommandArgs {
  command: string;
  timeout_ms?: number;
  hosts?: string[];
  direct?: boolean;
}

const GIT_TIMEOUT_MS = 10_000; // for git to list what a repository's configuration would run

async function judgeCommand(
  commandLine: string,
  ctx: Ctx,
  { except }: Pick<Config, "except">,
): Promise<Judged> {
  const [{ judgeLine }, { secretsInGit }, { mayHoldPasswords }] = await Promise.all([
    import("./judge/judge-line.ts"),
    import("./judge/git-history.ts"),
    import("./guarded-files.ts"),
  ]);
  const { root, permissions } = ctx;
  const { rules } = permissions;
  const closedReads = rules.flatMap(({ verdict, kind, name = root }) =>
    verdict !== "allow" && kind === "read" ? name : [],
  );
  const deniedRuns = rules.flatMap(({ verdict, kind, name = [] }) =>
    verdict === "deny" && kind === "run" ? name : [],
  );
  const env = withVariables(allowedVariables(ctx));
  const judgeLists = {
    find: ctx.programs.find,
    // git by another name is asked about
    repository: /git/i.test(commandLine) ? await inspectRepository(ctx, env) : undefined,
    deny: deniedRuns,
    except,
    hidden: permissions.wide === undefined ? closedReads : [root],
    env,
  };
  let isMissing = false;
  const needsGit = () => void (isMissing = true);
  // Git's own settings are secret only if somebody put a password into them.
  const secret = (filePath: string) =>
    permissions.secret(filePath) &&
    (join(filePath) !== join(root, ".git/config") || mayHoldPasswords(root));
  const firstJudgement = await judgeLine(commandLine, root, {
    ...judgeLists,
    fileFacts: { secret, needsGit },
  });
  if (!isMissing) return firstJudgement;
  const fileFacts = { secret, git: await secretsInGit(ctx) };
  return judgeLine(commandLine, root, { ...judgeLists, fileFacts });
}

/** The repository as a git that the command starts would find it. */
function inspectRepository(
  { git, io, root, signal }: Ctx,
  command: NodeJS.ProcessEnv,
): Promise<GitDoubt> {
  const stop = AbortSignal.any([signal, io.clock.limit(GIT_TIMEOUT_MS)]);
  const silentDoubt = { why: "git gives no answer", reads: [] };
  return git.check(root, { stop, command }).catch(() => silentDoubt);
}

/** How a call may run: decided once, together with its needs, and kept until it runs. */
export interface Decision {
  sandbox: string | undefined; // the sandbox's name; undefined if there is none
  strict: boolean; // only zz's own tables allow it: it may write nothing, and gets no network
  argv?: string[]; // without a sandbox: it runs unasked only without a shell
  judgement?: Judged;
  onView?: true; // on a copy-on-write view of the project: what it changed is asked for afterwards
}

/**
 * The judge alone is never enough: what runs unasked runs in the sandbox and can write nothing.
 * Without a sandbox, only plain commands run unasked; everything else is asked about, unless the
 * rules decide.
 */
export async function decideCall(
  { command, hosts = [], direct = false }: CommandArgs,
  ctx: Ctx,
  { zz: { config, configFault }, tmp }: ShellState,
): Promise<Decision & { needs: Needs & { unresolved?: boolean }; judgement: Judged }> {
  if (configFault) throw new Error(`Cannot run commands: the setting ${configFault}. Fix it.`);
  const [firstJudgement, sandbox] = await Promise.all([
    judgeCommand(command, ctx, config),
    sandboxName(config, ctx),
  ]);
  const { askedForDenied, askedInstead, judgeForCopy, needsOf, needsOnCopy } = await import(
    "./needs-of-command.ts"
  );
  const judge = (liftedDenials: readonly string[]) =>
    judgeCommand(command, ctx, { except: [...config.except, ...liftedDenials] });
  const mayOnCopy = config.effects === "ask" && sandbox && !hosts.length && !direct;
  const copyJudgement = mayOnCopy
    ? await judgeForCopy(command, firstJudgement, ctx, { judge, tmp })
    : undefined;
  if (copyJudgement)
    return {
      judgement: copyJudgement,
      needs: needsOnCopy(copyJudgement, ctx),
      sandbox,
      strict: true,
      onView: true,
    };
  const askedJudgement = await askedInstead(firstJudgement, judge, ctx);
  const judgement = sandbox ? askedJudgement : askedForDenied(askedJudgement, ctx);
  const unasked = judgement.verdict === "allow";
  const isChosen = judgement.simple.every(
    ({ text }) => ctx.permissions.judge("run", text).verdict === "allow",
  );
  const { plainCommand } = await import("./plain-command.ts");
  const argv =
    unasked && !sandbox ? plainCommand(command, judgement, ctx.programs.find) : undefined;
  const simple = judgement.simple.map((simpleCommand) =>
    unasked && !sandbox && !argv
      ? { ...simpleCommand, verdict: "open" as const, why: NO_SANDBOX }
      : simpleCommand,
  );
  return {
    judgement: { ...judgement, simple },
    needs: needsOf(command, { ...judgement, simple }, hosts),
    sandbox,
    strict: unasked && !isChosen,
    ...(argv && { argv }),
  };
}
export const NO_SANDBOX =
  "there is no sandbox here, so only plain commands that read run without a question";
/** Why no command can run on a copy, for the question; "" if one can. */
export async function explainQuestion(
  { effects, sandbox }: Config,
  { permissions, programs, root, about }: Ctx,
): Promise<string> {
  if (effects !== "ask" || sandbox === "off" || permissions.wide !== undefined) return "";
  const reason = await (await import("./try-copy.ts")).whyNoView(programs, root, about.home);
  return reason
    ? "\nAsked before it runs, " +
        `since there is no copy of the project to run it on: ${clip(reason, 200)}.`
    : "";
}

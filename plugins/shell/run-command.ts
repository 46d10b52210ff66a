// Runs a command as it was decided: prepares, opens what it needs, runs it, and says what came of
// it. Each step is a file of its own and is visited once; docs/how-it-is-built.md has the path.
import { join } from "node:path";
import type { Ctx, Result } from "zz";
import { visible, withoutValues } from "zz/text";
import { allowedVariables, environmentFor } from "./command-variables.ts";
import type { View } from "./copy-on-write.ts";
import type { CommandArgs, Decision } from "./decide-call.ts";
import { sandboxName } from "./find-sandbox.ts";
import { describeSandbox, type NetworkAccess, networkAccess } from "./network-access.ts";
import { shownAsTyped } from "./render-result.ts";
import { type CommandJob, type Outcome, runJob } from "./run-process.ts";
import { type CallSandbox, openSandboxForCall } from "./sandbox-for-call.ts";
import { type Config, checkTime, timeLimits } from "./shell-settings.ts";
import type { ShellState } from "./shell-state.ts";

/** A call with all that is settled before it runs. */
interface PreparedCall {
  args: CommandArgs;
  ctx: Ctx;
  state: ShellState;
  decision: Decision;
  net: NetworkAccess;
  allowed: Record<string, string>; // variables that the person allowed by name
}
/** What it runs in. */
interface Opened {
  sandbox?: CallSandbox | undefined;
  view?: View | undefined;
}

export async function runCommand(
  args: CommandArgs,
  ctx: Ctx,
  state: ShellState,
  decided?: Decision,
): Promise<Result> {
  const { config } = state.zz;
  if (!args.command.trim()) throw new Error("Cannot run '': there is no command. Give one.");
  if (args.timeout_ms !== undefined) checkTime(args.timeout_ms, timeLimits(config).maxMs);
  const decision = decided ?? { sandbox: await sandboxName(config, ctx), strict: true };
  if (!decision.sandbox) checkWithoutSandbox(decided, config);
  const net = decision.strict ? "none" : networkAccess(ctx, args.hosts);
  const allowed = allowedVariables(ctx);
  const preparedCall: PreparedCall = { args, ctx, state, decision, net, allowed };
  const environment = environmentFor(decision, net, allowed, ctx);
  const opened: Opened = {};
  try {
    if (decision.onView)
      opened.view = (await import("./copy-on-write.ts")).openView(ctx.programs, ctx.root);
    const recordLost = await watchFilesForGit(preparedCall);
    if (decision.sandbox)
      opened.sandbox = await openSandboxForCall(ctx, net, decision.strict, opened.view, state);
    const outcome = await runJob(buildJob(preparedCall, environment, opened.sandbox));
    const undoable = (await recordLost?.()) ?? "";
    return await resultOf(preparedCall, opened, withoutAllowed(outcome, allowed), undoable);
  } finally {
    opened.sandbox?.close();
    opened.view?.close();
  }
}

/** Without a sandbox runs only what was judged so, where the settings let it. */
function checkWithoutSandbox(decision: Decision | undefined, { sandbox }: Config): void {
  if (!decision)
    throw new Error("Cannot run it: nothing was decided about this call. Call the tool again.");
  if (sandbox === "required")
    throw new Error(
      "Cannot run it: the settings require a sandbox, and there is none here. Install bubblewrap.",
    );
}

/** What a command that was asked for lets git take from the files is recorded for undo. */
async function watchFilesForGit({ decision, ctx }: PreparedCall) {
  const simpleCommands = decision.strict ? [] : (decision.judgement?.simple ?? []);
  if (!simpleCommands.length) return undefined;
  return (await import("./git-undo.ts")).filesBefore(simpleCommands, ctx);
}

function buildJob(
  { args, ctx, state: { zz }, decision, allowed }: PreparedCall,
  env: NodeJS.ProcessEnv,
  sandbox: CallSandbox | undefined,
): CommandJob {
  const { ms, maxMs } = timeLimits(zz.config);
  return {
    programs: ctx.programs,
    clock: ctx.io.clock,
    command: args.command,
    cwd: ctx.root,
    env,
    timeoutMs: Math.min(args.timeout_ms ?? ms, maxMs),
    maxTimeoutMs: maxMs,
    signal: ctx.signal,
    ...(sandbox && { sandbox }),
    ...(decision.argv && { argv: decision.argv }),
    caps: { upper: zz.config.maxCopyMB * 2 ** 20 },
    onTail: (tailLines) => ctx.progress(withoutValues(tailLines, allowed)),
    veil: (outputText) => withoutValues(zz.veil(outputText), allowed),
    keepIn: join(ctx.about.home, "outputs"),
  };
}

/** Also without those in zz's own notes, such as the name of a host that was refused. */
function withoutAllowed(outcome: Outcome, allowed: Record<string, string>): Outcome {
  const clean = (output: string) => withoutValues(output, allowed);
  const { text, stdout, stderr } = outcome;
  return { ...outcome, text: clean(text), stdout: clean(stdout), stderr: clean(stderr) };
}

/** What the model reads, once the command has ended: run again, kept, or as it is. */
async function resultOf(
  preparedCall: PreparedCall,
  { sandbox, view }: Opened,
  outcome: Outcome,
  undoable: string,
): Promise<Result> {
  const { ctx, net, decision } = preparedCall;
  const { exit, signal, timedOut, file, aborted, text, stdout, stderr } = outcome;
  if (file) ctx.permissions.add({ verdict: "allow", kind: "read", name: file, from: "answer" });
  const unwanted =
    sandbox && !view
      ? await (await import("./unreadable-files.ts")).unwantedFiles(ctx, sandbox)
      : [];
  const failed = exit !== 0 || unwanted.length > 0;
  const data = { exit, signal, timedOut, stdout, stderr, file };
  const isStopped = timedOut === true || aborted === true || exit === null;
  const mayLackAccess = failed && sandbox && net !== "all" && !isStopped;
  const rerunResult = mayLackAccess ? await runAgain(preparedCall, { sandbox, view }, text) : "";
  if (typeof rerunResult !== "string") return rerunResult;
  if (view) {
    const { keepChanges } = await import("./keep-changes.ts");
    const line = shownAsTyped(preparedCall.args.command);
    const { effect, ...kept } = await keepChanges(view, ctx, { line, failed, isStopped });
    const fullText = text + kept.text + (rerunResult && `\n[${rerunResult}]`);
    return { ...kept, text: fullText, data: { ...data, ...(effect && { effect }) } };
  }
  const sandboxNote =
    failed && decision.sandbox
      ? `\n[${describeSandbox(decision.sandbox, net, decision.strict)}]`
      : "";
  const unwantedNotes = unwanted.map(
    (fileName) => `\n[It made '${visible(fileName)}', which the rules forbid. Look at it.]`,
  );
  const extraNotes = [undoable, rerunResult].map((extraNote) => extraNote && `\n[${extraNote}]`);
  return { text: [text, sandboxNote, ...unwantedNotes, ...extraNotes].join(""), data, failed };
}

/** A string is for the model: the command was not run again. */
async function runAgain(
  { args: { command, timeout_ms, hosts = [] }, ctx, net, state: { offers } }: PreparedCall,
  { sandbox, view }: Opened,
  outputText: string,
): Promise<Result | string> {
  const { findMissingAccess, describeLookups, offerRerun } = await import("./offer-rerun.ts");
  const lookups = (sandbox?.lookups?.() ?? []).filter(
    (hostName) => ctx.permissions.judge("net", hostName).verdict !== "deny",
  );
  const missingAccess = findMissingAccess(command, outputText, ctx.root, lookups);
  const rerunCall = { command, hosts, ...(timeout_ms !== undefined && { timeout_ms }) };
  if (view)
    return missingAccess
      ? offerRerun(missingAccess, rerunCall, ctx, offers, "copy")
      : describeLookups(lookups);
  const newHosts =
    missingAccess && "hosts" in missingAccess
      ? missingAccess.hosts.filter((hostName) => net === "none" || !net.includes(hostName))
      : [];
  return newHosts.length ? offerRerun({ hosts: newHosts }, rerunCall, ctx, offers, "sandbox") : "";
}

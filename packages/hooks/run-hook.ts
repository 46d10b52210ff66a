// Runs one hook as a command is run: by run_command, inside the rules and the sandbox. What it is
// told comes on stdin, as JSON.
import { randomUUID } from "node:crypto";
import type { Ctx } from "zz";
import { jsonOrText, shorten } from "zz/text";
import type { Hook } from "./read-hooks.ts";

/** What came of a hook. */
export interface HookOutcome {
  blocked?: string; // why
  asks?: string; // the person should be asked; why
  context: string; // for the model
  args?: Record<string, unknown>; // instead of the call's
  wrong?: string; // a sentence: it failed, and counts as if it were not there
}

const MAX_INPUT_CHARS = 100_000; // one argument of a program holds 128 KB
const MAX_OUTPUT_CHARS = 10_000;
const BLOCKS = 2; // the exit code

type Ran = { exit?: number | null; timedOut?: boolean; stdout?: string; stderr?: string };

export async function runHook(hook: Hook, input: object, ctx: Ctx): Promise<HookOutcome> {
  const command = lineFor(hook.command, inputText(input), ctx.root);
  const { text, data, refused } = await ctx.call("run_command", { command, timeout_ms: hook.ms });
  const { exit, timedOut, stdout, stderr } = (data ?? {}) as Ran;
  const fails = (reason: string) => ({ context: "", wrong: `Hook '${hook.command}' ${reason}` });
  if (refused || exit === undefined) return fails(`did not run: ${shorten(text, 500)}`);
  if (timedOut) return fails(`took more than ${hook.ms / 1_000} s and was stopped.`);
  if (exit === BLOCKS) return { context: "", blocked: saidIn(stderr) || "no reason was given" };
  if (exit !== 0) return fails(`failed with exit code ${exit}: ${saidIn(stderr).slice(0, 500)}`);
  return outcomeOf(hook, stdout ?? "");
}

const saidIn = (output = ""): string => shorten(output.trim(), MAX_OUTPUT_CHARS);

/** The forms that an output may have: a decision, or the newer one by event, or text. */
function outcomeOf(hook: Hook, stdout: string): HookOutcome {
  const json = jsonOrText(stdout.trim());
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    const isContext = hook.event === "UserPromptSubmit" || hook.event === "SessionStart";
    return { context: isContext ? saidIn(stdout) : "" };
  }
  const { decision, reason, stopReason, ...general } = json as Record<string, unknown>;
  const own = Object(general.hookSpecificOutput) as Record<string, unknown>;
  const why = [own.permissionDecisionReason, reason, stopReason].find(isText) ?? "";
  const shownReason = saidIn(why) || "no reason was given";
  const isDenied = decision === "block" || decision === "deny" || own.permissionDecision === "deny";
  return {
    context: isText(own.additionalContext) ? saidIn(own.additionalContext) : "",
    ...((isDenied || general.continue === false) && { blocked: shownReason }),
    ...(own.permissionDecision === "ask" && { asks: shownReason }),
    ...(isRecord(own.updatedInput) && { args: own.updatedInput }),
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The JSON in one line; long texts in it are cut if it is too long. */
function inputText(input: object): string {
  const whole = JSON.stringify(input);
  if (whole.length <= MAX_INPUT_CHARS) return whole;
  for (let most = MAX_INPUT_CHARS / 4; ; most /= 2) {
    const cut = JSON.stringify({ ...input, zz_cut: true }, (_, value) =>
      typeof value === "string" ? shorten(value, most) : value,
    );
    if (cut.length <= MAX_INPUT_CHARS || most < 10) return cut;
  }
}

/** The hook with its input as a here-document: no line of it is the mark, which is new each time. */
function lineFor(command: string, input: string, root: string): string {
  const mark = `ZZ_${randomUUID().replaceAll("-", "")}`;
  const project = `'${root.replaceAll("'", "'\\''")}'`;
  return [
    `export CLAUDE_PROJECT_DIR=${project} ZZ_PROJECT_DIR=${project}`,
    `{ ${command}`,
    `} <<'${mark}'`,
    input,
    mark,
  ].join("\n");
}

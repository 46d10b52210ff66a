// Runs one hook as a command is run: by run_command, inside the rules and the sandbox. What it is
// told comes on stdin, as JSON.
import { randomUUID } from "node:crypto";
import type { Ctx } from "zz";
import { isObject, jsonOrText, shorten } from "zz/text";
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
const BLOCKING_EXIT = 2; // the exit code

type Ran = { exit?: number | null; timedOut?: boolean; stdout?: string; stderr?: string };

export async function runHook(hook: Hook, hookInput: object, ctx: Ctx): Promise<HookOutcome> {
  const command = lineFor(hook.command, inputText(hookInput), ctx.root);
  const { text, data, refused } = await ctx.call("run_command", { command, timeout_ms: hook.ms });
  const { exit, timedOut, stdout, stderr } = (data ?? {}) as Ran;
  const fails = (reason: string) => ({ context: "", wrong: `Hook '${hook.command}' ${reason}` });
  if (refused || exit === undefined) return fails(`did not run: ${shorten(text, 500)}`);
  if (timedOut) return fails(`took more than ${hook.ms / 1_000} s and was stopped.`);
  if (exit === BLOCKING_EXIT)
    return { context: "", blocked: saidIn(stderr) || "no reason was given" };
  if (exit !== 0) return fails(`failed with exit code ${exit}: ${saidIn(stderr).slice(0, 500)}`);
  return outcomeOf(hook, stdout ?? "");
}

const saidIn = (output = ""): string => shorten(output.trim(), MAX_OUTPUT_CHARS);

/** The forms that an output may have: a decision, or the newer one by event, or text. */
function outcomeOf(hook: Hook, hookOutput: string): HookOutcome {
  const parsedOutput = jsonOrText(hookOutput.trim());
  if (!isObject(parsedOutput)) {
    const isContext = hook.event === "UserPromptSubmit" || hook.event === "SessionStart";
    return { context: isContext ? saidIn(hookOutput) : "" };
  }
  const { decision, reason, stopReason, ...general } = parsedOutput;
  const specific = Object(general.hookSpecificOutput) as Record<string, unknown>;
  const statedReason = [specific.permissionDecisionReason, reason, stopReason].find(isText) ?? "";
  const shownReason = saidIn(statedReason) || "no reason was given";
  const isDenied =
    decision === "block" || decision === "deny" || specific.permissionDecision === "deny";
  return {
    context: isText(specific.additionalContext) ? saidIn(specific.additionalContext) : "",
    ...((isDenied || general.continue === false) && { blocked: shownReason }),
    ...(specific.permissionDecision === "ask" && { asks: shownReason }),
    ...(isObject(specific.updatedInput) && { args: specific.updatedInput }),
  };
}

const isText = (fieldValue: unknown): fieldValue is string =>
  typeof fieldValue === "string" && fieldValue !== "";

/** The JSON in one line; long texts in it are cut if it is too long. */
function inputText(hookInput: object): string {
  const wholeText = JSON.stringify(hookInput);
  if (wholeText.length <= MAX_INPUT_CHARS) return wholeText;
  for (let maxTextChars = MAX_INPUT_CHARS / 4; ; maxTextChars /= 2) {
    const shortenedText = JSON.stringify({ ...hookInput, zz_cut: true }, (_, fieldValue) =>
      typeof fieldValue === "string" ? shorten(fieldValue, maxTextChars) : fieldValue,
    );
    if (shortenedText.length <= MAX_INPUT_CHARS || maxTextChars < 10) return shortenedText;
  }
}

/** The hook with its input as a here-document: no line is the mark, which is new each time. */
function lineFor(command: string, hookInputText: string, projectRoot: string): string {
  const endMark = `ZZ_${randomUUID().replaceAll("-", "")}`;
  const project = `'${projectRoot.replaceAll("'", "'\\''")}'`;
  return [
    `export CLAUDE_PROJECT_DIR=${project} ZZ_PROJECT_DIR=${project}`,
    `{ ${command}`,
    `} <<'${endMark}'`,
    hookInputText,
    endMark,
  ].join("\n");
}

// Reads hooks.json of the home and, once it is trusted, what the project has: in the format of
// Claude Code and codex.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { jsonOrText, sentenceOf, textOf } from "zz/text";

/** The events that zz has, and what each may do. */
export const EVENTS = {
  PreToolUse: "before a call: may refuse it or change its arguments",
  PostToolUse: "after a call: may tell the model something",
  UserPromptSubmit: "before a message: may keep it back or add to it",
  Stop: "after an answer: may have the model go on",
  SessionStart: "when a conversation opens: may tell the model something",
  Notification: "when you are asked something",
} as const;
export type EventName = keyof typeof EVENTS;

export interface Hook {
  event: EventName;
  matcher: RegExp | undefined; // undefined: always
  command: string;
  ms: number;
  from: string; // the file
  // why zz cannot run it: the person is asked about each call that it may be meant for
  unusable?: string;
}
export interface Hooks {
  hooks: Hook[];
  leftOut: string[]; // sentences
}

const IN_PROJECT = [
  ".zz/hooks.json",
  ".agents/hooks.json",
  ".codex/hooks.json",
  ".claude/settings.json",
  ".claude/settings.local.json",
];
const DEFAULT_SECONDS = 60;
const [MAX_SECONDS, MAX_HOOKS, MAX_MATCHER_CHARS] = [600, 100, 500];

export function readHooks({ root, about, plugins }: Ctx): Hooks {
  const foundHooks: Hooks = { hooks: [], leftOut: [] };
  const { brought } = plugins;
  const homeFile = path.join(about.home, "hooks.json");
  const hookFiles: [name: string, file: string][] = [["hooks.json of your home", homeFile]];
  for (const projectFile of IN_PROJECT) {
    const isTrusted = brought?.given && brought.files.includes(projectFile);
    if (isTrusted) hookFiles.push([projectFile, path.join(root, projectFile)]);
    else if (brought?.files.includes(projectFile))
      foundHooks.leftOut.push(
        `${projectFile} is left out: you have not trusted it. /trust shows it.`,
      );
  }
  for (const [shownName, hookFile] of hookFiles)
    try {
      if (fs.existsSync(hookFile)) addHooks(foundHooks, shownName, jsonOrText(textOf(hookFile)));
    } catch (error) {
      leaveOut(
        foundHooks,
        shownName,
        "PreToolUse",
        `it cannot be read: ${sentenceOf(error).replace(/\.$/, "")}`,
      );
    }
  return foundHooks;
}

/** Guards nothing passes over: what may stand before a call has the person asked about it. */
function leaveOut(
  foundHooks: Hooks,
  from: string,
  event: string,
  reason: string,
  matcher?: RegExp,
): void {
  foundHooks.leftOut.push(`${from}: ${reason}.`);
  if (!MEANS_BEFORE_A_CALL.test(event)) return;
  const guardFields = { command: "", ms: 0, from, unusable: `${from}: ${reason}` };
  foundHooks.hooks.push({ event: "PreToolUse", matcher, ...guardFields });
}
const MEANS_BEFORE_A_CALL = /^(pre|before)\W*_?tool/i; // misspelt, or in another agent's words

function addHooks(foundHooks: Hooks, sourceName: string, content: unknown): void {
  const { hooks: byEvent } = Object(content) as { hooks?: unknown };
  const reason = whyNoHooks(sourceName, content, byEvent);
  if (reason) return void leaveOut(foundHooks, sourceName, "PreToolUse", reason);
  for (const [event, hookGroups] of Object.entries(Object(byEvent))) {
    if (Object.hasOwn(EVENTS, event))
      for (const hookGroup of [hookGroups].flat())
        addGroup(foundHooks, sourceName, event as EventName, hookGroup);
    else {
      const eventNames = Object.keys(EVENTS).join(", ");
      leaveOut(foundHooks, sourceName, event, `zz has no event '${event}'. It has ${eventNames}`);
    }
  }
}

/** Why nothing in a file can be a hook, though it may be meant as one. */
function whyNoHooks(sourceName: string, content: unknown, byEvent: unknown): string {
  if (typeof content === "string") return content.trim() && "it is not JSON";
  if (byEvent !== undefined) return isRecord(byEvent) ? "" : 'its "hooks" is not an object';
  const holdsOthers = sourceName.includes("settings") || JSON.stringify(content) === "{}";
  return holdsOthers ? "" : 'it has no "hooks" with the events in it';
}
const isRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function addGroup(foundHooks: Hooks, from: string, event: EventName, hookGroup: unknown): void {
  const { matcher: written = "", hooks } = Object(hookGroup) as Record<string, unknown>;
  const { matcher, wrong = !hooks && `a matcher of ${event} has no "hooks"` } = matcherOf(written);
  if (wrong) return void leaveOut(foundHooks, from, event, wrong, matcher);
  for (const writtenHook of [hooks].flat()) {
    const { type = "command", command, timeout } = Object(writtenHook) as Record<string, unknown>;
    if (type !== "command" || typeof command !== "string" || !command.trim()) {
      const reason = `a hook of ${event} has no command, which is all that zz runs`;
      leaveOut(foundHooks, from, event, reason, matcher);
    } else if (foundHooks.hooks.length >= MAX_HOOKS)
      return void leaveOut(foundHooks, from, event, `more than ${MAX_HOOKS} hooks`, matcher);
    else foundHooks.hooks.push({ event, matcher, command, ms: limitMsOf(timeout), from });
  }
}

/**
 * A matcher is a name or a pattern for a whole name. A wrong one fits all that it may mean: what
 * has its names in it where it consists of names, otherwise everything.
 */
function matcherOf(written: unknown): { matcher: RegExp | undefined; wrong?: string } {
  if (written === "" || written === "*") return { matcher: undefined };
  const shownMatcher = JSON.stringify(written).slice(0, 80);
  if (typeof written !== "string" || written.length > MAX_MATCHER_CHARS)
    return { matcher: undefined, wrong: `the matcher ${shownMatcher} is no short text` };
  try {
    return { matcher: new RegExp(`^(?:${written})$`) };
  } catch {
    const isNames = /^[\w|() ]+$/.test(written) && /\w/.test(written);
    const matcherNames = isNames ? written.match(/\w+/g)!.join("|") : "";
    const wrong = `the matcher ${shownMatcher} is no regular expression`;
    return { matcher: matcherNames ? new RegExp(matcherNames) : undefined, wrong };
  }
}

const limitMsOf = (timeout: unknown): number => {
  const isUsable = typeof timeout === "number" && timeout > 0;
  return Math.min(isUsable ? timeout : DEFAULT_SECONDS, MAX_SECONDS) * 1_000;
};

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
  const read: Hooks = { hooks: [], leftOut: [] };
  const { brought } = plugins;
  const home = path.join(about.home, "hooks.json");
  const files: [name: string, file: string][] = [["hooks.json of your home", home]];
  for (const name of IN_PROJECT) {
    const isTrusted = brought?.given && brought.files.includes(name);
    if (isTrusted) files.push([name, path.join(root, name)]);
    else if (brought?.files.includes(name))
      read.leftOut.push(`${name} is left out: you have not trusted it. /trust shows it.`);
  }
  for (const [name, file] of files)
    try {
      if (fs.existsSync(file)) addHooks(read, name, jsonOrText(textOf(file)));
    } catch (error) {
      leaveOut(
        read,
        name,
        "PreToolUse",
        `it cannot be read: ${sentenceOf(error).replace(/\.$/, "")}`,
      );
    }
  return read;
}

/** Guards nothing passes over: what may stand before a call has the person asked about it. */
function leaveOut(
  read: Hooks,
  from: string,
  event: string,
  reason: string,
  matcher?: RegExp,
): void {
  read.leftOut.push(`${from}: ${reason}.`);
  if (!MEANS_BEFORE_A_CALL.test(event)) return;
  const rest = { command: "", ms: 0, from, unusable: `${from}: ${reason}` };
  read.hooks.push({ event: "PreToolUse", matcher, ...rest });
}
const MEANS_BEFORE_A_CALL = /^(pre|before)\W*_?tool/i; // misspelt, or in another agent's words

function addHooks(read: Hooks, from: string, content: unknown): void {
  const { hooks: byEvent } = Object(content) as { hooks?: unknown };
  if (typeof content === "string" && content.trim())
    leaveOut(read, from, "PreToolUse", "it is not JSON");
  for (const [event, groups] of Object.entries(Object(byEvent))) {
    if (Object.hasOwn(EVENTS, event))
      for (const group of [groups].flat()) addGroup(read, from, event as EventName, group);
    else {
      const names = Object.keys(EVENTS).join(", ");
      leaveOut(read, from, event, `zz has no event '${event}'. It has ${names}`);
    }
  }
}

function addGroup(read: Hooks, from: string, event: EventName, group: unknown): void {
  const { matcher: written = "", hooks = [] } = Object(group) as Record<string, unknown>;
  const { matcher, wrong } = matcherOf(written);
  if (wrong) return void leaveOut(read, from, event, wrong, matcher);
  for (const hook of [hooks].flat()) {
    const { type = "command", command, timeout } = Object(hook) as Record<string, unknown>;
    if (type !== "command" || typeof command !== "string" || !command.trim()) {
      const reason = `a hook of ${event} has no command, which is all that zz runs`;
      leaveOut(read, from, event, reason, matcher);
    } else if (read.hooks.length >= MAX_HOOKS)
      return void leaveOut(read, from, event, `more than ${MAX_HOOKS} hooks`, matcher);
    else read.hooks.push({ event, matcher, command, ms: msOf(timeout), from });
  }
}

/**
 * A matcher is a name or a pattern for a whole name. A wrong one fits all that it may mean: what
 * has its names in it where it consists of names, otherwise everything.
 */
function matcherOf(written: unknown): { matcher: RegExp | undefined; wrong?: string } {
  if (written === "" || written === "*") return { matcher: undefined };
  const shown = JSON.stringify(written).slice(0, 80);
  if (typeof written !== "string" || written.length > MAX_MATCHER_CHARS)
    return { matcher: undefined, wrong: `the matcher ${shown} is no short text` };
  try {
    return { matcher: new RegExp(`^(?:${written})$`) };
  } catch {
    const isNames = /^[\w|() ]+$/.test(written) && /\w/.test(written);
    const names = isNames ? written.match(/\w+/g)!.join("|") : "";
    const wrong = `the matcher ${shown} is no regular expression`;
    return { matcher: names ? new RegExp(names) : undefined, wrong };
  }
}

const msOf = (timeout: unknown): number => {
  const isUsable = typeof timeout === "number" && timeout > 0;
  return Math.min(isUsable ? timeout : DEFAULT_SECONDS, MAX_SECONDS) * 1_000;
};

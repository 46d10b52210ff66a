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
      read.leftOut.push(`Cannot read ${name}: ${sentenceOf(error)}`);
    }
  return read;
}

function addHooks(read: Hooks, from: string, content: unknown): void {
  const { hooks: byEvent } = Object(content) as { hooks?: unknown };
  if (typeof content === "string") read.leftOut.push(`Cannot use ${from}: it is not JSON. Fix it.`);
  for (const [event, groups] of Object.entries(Object(byEvent))) {
    if (!Object.hasOwn(EVENTS, event))
      read.leftOut.push(
        `${from}: zz has no event '${event}'. It has ${Object.keys(EVENTS).join(", ")}.`,
      );
    else for (const group of [groups].flat()) addGroup(read, from, event as EventName, group);
  }
}

function addGroup(read: Hooks, from: string, event: EventName, group: unknown): void {
  const { matcher = "", hooks = [] } = Object(group) as { matcher?: unknown; hooks?: unknown };
  const fits = matcherOf(matcher);
  if (typeof fits === "string") return void read.leftOut.push(`${from}: ${fits}`);
  for (const hook of [hooks].flat()) {
    const { type = "command", command, timeout } = Object(hook) as Record<string, unknown>;
    if (type !== "command" || typeof command !== "string" || !command.trim())
      read.leftOut.push(`${from}: a hook of ${event} has no command, which is all that zz runs.`);
    else if (read.hooks.length >= MAX_HOOKS)
      return void read.leftOut.push(`${from}: more than ${MAX_HOOKS} hooks. The rest is left out.`);
    else read.hooks.push({ event, matcher: fits, command, ms: msOf(timeout), from });
  }
}

/** A matcher is a name or a pattern for a whole name; a text says what is wrong with it. */
function matcherOf(matcher: unknown): RegExp | undefined | string {
  if (matcher === "" || matcher === "*") return undefined;
  const shown = JSON.stringify(matcher).slice(0, 80);
  if (typeof matcher !== "string" || matcher.length > MAX_MATCHER_CHARS)
    return `the matcher ${shown} is no short text. Its hooks are left out.`;
  try {
    return new RegExp(`^(?:${matcher})$`);
  } catch {
    return `the matcher ${shown} is no regular expression. Its hooks are left out.`;
  }
}

const msOf = (timeout: unknown): number => {
  const isUsable = typeof timeout === "number" && timeout > 0;
  return Math.min(isUsable ? timeout : DEFAULT_SECONDS, MAX_SECONDS) * 1_000;
};

// hooks.json: commands of the person's, or of a trusted project's, around calls, messages and
// answers. /hooks lists them.
import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import type { Call, Ctx, Result, Zz } from "zz";
import { clean, oneLine, plural } from "zz/text";
import { EVENTS, type EventName, type Hook, type Hooks, readHooks } from "./read-hooks.ts";
import type { HookOutcome } from "./run-hook.ts";

/** What Claude Code calls the tools, which hooks written for it match and look at. */
const THEIR_NAMES: Record<string, string> = {
  run_command: "Bash",
  read_file: "Read",
  write_file: "Write",
  create_file: "Write",
  edit_file: "Edit",
  edit_lines: "Edit",
  apply_patch: "Edit",
  list_dir: "LS",
  glob: "Glob",
  grep: "Grep",
  web_fetch: "WebFetch",
  web_search: "WebSearch",
  task: "Task",
};
const MAX_GOING_ON = 3; // answers in a row that hooks of Stop do not let end
const LONGEST_LIMIT = { limit: 2 ** 31 - 1 }; // ms; each hook has a limit of its own

export default (zz: Zz) => {
  const runner = hookRunner();
  wrapConversation(zz, runner);
  zz.wrap(
    "call",
    (toolCall, runNext, ctx) =>
      runner.isInHook() ? runNext(toolCall) : callWithHooks(runner, toolCall, runNext, ctx),
    LONGEST_LIMIT,
  );
  zz.on(
    "asked",
    ({ question }, ctx) => {
      if (runner.isInHook() || !question) return;
      const eventFacts = { message: clean(question) };
      // the question does not wait
      void runner.fire("Notification", [], eventFacts, ctx).catch(() => {});
    },
    LONGEST_LIMIT,
  );
  zz.command({
    name: "hooks",
    description: "list the hooks: what runs around calls, messages and answers",
    group: "settings",
    run: async (_, ctx) => ctx.note(clean(describeHooks(runner.load(ctx)))),
  });
};

type Runner = ReturnType<typeof hookRunner>;

function hookRunner() {
  const running = new AsyncLocalStorage<true>(); // a hook's own call has no hooks
  let current: Hooks = { hooks: [], leftOut: [] };
  return { load, fire, isInHook: () => running.getStore() === true };

  /** Reads the files again: other ones may be trusted by now. */
  function load(ctx: Ctx): Hooks {
    const before = new Set(current.leftOut);
    current = readHooks(ctx);
    for (const sentence of current.leftOut) if (!before.has(sentence)) ctx.note(clean(sentence));
    return current;
  }

  /** Runs the hooks of an event one after the other, until one blocks. */
  async function fire(eventName: EventName, subject: string[], eventFacts: object, ctx: Ctx) {
    const jointOutcome: HookOutcome = { context: "" };
    const matchingHooks = current.hooks.filter(
      (candidate) => candidate.event === eventName && matchesSubject(candidate, subject),
    );
    for (const hook of matchingHooks) {
      const outcome: HookOutcome = hook.unusable
        ? {
            context: "",
            asks: `it cannot be used, and may be meant for this call (${hook.unusable})`,
          }
        : await runHookOnce(hook, { ...inputOf(eventName, ctx), ...eventFacts }, ctx);
      if (outcome.wrong) ctx.note(clean(outcome.wrong));
      const context = [jointOutcome.context, outcome.context].filter(Boolean).join("\n");
      Object.assign(jointOutcome, outcome, { context });
      if (outcome.blocked) {
        const hookName = `hook '${oneLine(hook.command)}' of ${hook.from}`;
        jointOutcome.blocked = `${hookName}: ${outcome.blocked}`;
        break;
      }
    }
    return jointOutcome;
  }

  async function runHookOnce(hook: Hook, hookInput: object, ctx: Ctx): Promise<HookOutcome> {
    const { runHook } = await import("./run-hook.ts");
    return running.run(true, () => runHook(hook, hookInput, ctx));
  }
}

/** Around a conversation's start, its messages and its answers. */
function wrapConversation(zz: Zz, { load, fire }: Runner): void {
  let goingOn = 0;
  zz.on(
    "started",
    async ({ session }, ctx) => {
      load(ctx);
      const source = session && ctx.chat.messages.length ? "resume" : "startup";
      const { context } = await fire("SessionStart", [source], { source }, ctx);
      if (context) ctx.chat.attach(blockOf("SessionStart", context));
    },
    LONGEST_LIMIT,
  );
  zz.wrap(
    "line",
    async (typedLine, runNext, ctx) => {
      load(ctx);
      const prompt = await runNext(typedLine);
      if (!prompt || /^\/[A-Za-z]/.test(prompt)) return prompt;
      goingOn = 0;
      const { blocked, context } = await fire("UserPromptSubmit", [], { prompt }, ctx);
      if (blocked) ctx.note(clean(`Not sent: ${blocked}`));
      else if (context) ctx.chat.attach(blockOf("UserPromptSubmit", context));
      return blocked ? "" : prompt;
    },
    { order: "first", ...LONGEST_LIMIT },
  );
  zz.on(
    "answered",
    async ({ text }, ctx) => {
      const eventFacts = { stop_hook_active: goingOn > 0, last_assistant_message: text };
      const { blocked } = await fire("Stop", [], eventFacts, ctx);
      if (!blocked) return;
      if (goingOn++ < MAX_GOING_ON) return ctx.chat.send(`[${blocked}]`);
      ctx.note(`The hooks of Stop wanted more ${plural(MAX_GOING_ON, "time")} in a row: it ends.`);
    },
    LONGEST_LIMIT,
  );
}

async function callWithHooks(
  { fire }: Runner,
  toolCall: Call,
  runNext: (changedCall: Call) => Promise<Result>,
  ctx: Ctx,
): Promise<Result> {
  const toolNames = namesOf(toolCall.name);
  const callFacts = factsOf(toolCall, ctx);
  const before = await fire("PreToolUse", toolNames, callFacts, ctx);
  if (before.blocked) return refusal(before.blocked);
  if (before.asks && !(await isAgreed(toolCall.name, before.asks, ctx)))
    return refusal(`a hook asks for a yes, and there was none: ${before.asks}`);
  const result = await runNext(before.args ? { ...toolCall, args: before.args } : toolCall);
  const response = { text: result.text, failed: result.failed === true };
  const after = await fire(
    "PostToolUse",
    toolNames,
    { ...callFacts, tool_response: response },
    ctx,
  );
  const hookNotes = [
    before.context,
    after.context,
    after.blocked && `Look at this: ${after.blocked}`,
  ];
  const notesText = hookNotes.filter(Boolean).join("\n");
  return notesText ? { ...result, text: `${result.text}\n${blockOf("hook", notesText)}` } : result;
}

const matchesSubject = ({ matcher }: Hook, subject: string[]): boolean =>
  !matcher || !subject.length || subject.some((subjectName) => matcher.test(subjectName));

const namesOf = (toolName: string): string[] => [
  toolName,
  `mcp__${toolName}`,
  ...(Object.hasOwn(THEIR_NAMES, toolName) ? [THEIR_NAMES[toolName]!] : []),
];

const inputOf = (eventName: EventName, { chat, root }: Ctx): object => ({
  session_id: chat.id ?? "",
  cwd: root,
  hook_event_name: eventName,
});

/** A call in the words of Claude Code, and in zz's own. */
function factsOf({ id, name, args }: Call, { root }: Ctx): object {
  const absoluteFile =
    typeof args.path === "string" ? { file_path: path.resolve(root, args.path) } : {};
  return {
    tool_name: namesOf(name)[2] ?? name,
    tool_input: { ...args, ...absoluteFile },
    tool_use_id: id,
    zz_tool: name,
  };
}

const refusal = (refusalReason: string): Result => ({
  text: `Refused by ${refusalReason}`,
  failed: true,
  refused: true,
});
const blockOf = (blockTitle: string, blockText: string): string =>
  `--- ${blockTitle} ---\n${blockText}\n--- END ${blockTitle} ---`;

const isAgreed = async (toolName: string, askReason: string, { ask }: Ctx): Promise<boolean> =>
  (await ask?.(`A hook asks about ${toolName}: ${clean(askReason)}. Go on? [y/N] `, "yn")) === "y";

const UNTIL_FIXED =
  "Until that is fixed, zz asks before each call that such a hook may be meant for.";

function describeHooks({ hooks, leftOut }: Hooks): string {
  const usableHooks = hooks.filter(({ unusable }) => !unusable);
  const hookRows = usableHooks.map(
    ({ event, matcher, command, from }) =>
      `${event}${matcher ? ` ${matcher.source.slice(4, -2)}` : ""}: ${oneLine(command)} (${from})`,
  );
  const emptyListRows = [
    "No hooks. They stand in hooks.json of your home, or of a project that you trust:",
    ...Object.entries(EVENTS).map(([eventName, eventPurpose]) => `  ${eventName}: ${eventPurpose}`),
  ];
  const asksNote = usableHooks.length < hooks.length ? [UNTIL_FIXED] : [];
  return [...(hookRows.length ? hookRows : emptyListRows), ...leftOut, ...asksNote].join("\n");
}

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
const LIMIT = { limit: 2 ** 31 - 1 }; // ms; each hook has a limit of its own

export default (zz: Zz) => {
  const runner = hookRunner();
  wrapConversation(zz, runner);
  zz.wrap(
    "call",
    (call, next, ctx) => (runner.isInHook() ? next(call) : callWithHooks(runner, call, next, ctx)),
    LIMIT,
  );
  zz.on(
    "asked",
    ({ question }, ctx) => {
      if (runner.isInHook() || !question) return;
      const facts = { message: clean(question) };
      void runner.fire("Notification", [], facts, ctx).catch(() => {}); // the question does not wait
    },
    LIMIT,
  );
  zz.command({
    name: "hooks",
    description: "list the hooks: what runs around calls, messages and answers",
    group: "settings",
    run: async (_, ctx) => ctx.note(clean(list(runner.load(ctx)))),
  });
};

type Runner = ReturnType<typeof hookRunner>;

function hookRunner() {
  const running = new AsyncLocalStorage<true>(); // a hook's own call has no hooks
  let current: Hooks = { hooks: [], leftOut: [] };
  return { load, fire, isInHook: () => running.getStore() === true };

  /** Reads the files again: what is trusted may be others by now. */
  function load(ctx: Ctx): Hooks {
    const before = new Set(current.leftOut);
    current = readHooks(ctx);
    for (const sentence of current.leftOut) if (!before.has(sentence)) ctx.note(clean(sentence));
    return current;
  }

  /** Runs the hooks of an event one after the other, until one blocks. */
  async function fire(event: EventName, subject: string[], facts: object, ctx: Ctx) {
    const all: HookOutcome = { context: "" };
    const hooks = current.hooks.filter((hook) => hook.event === event && fits(hook, subject));
    for (const hook of hooks) {
      const outcome: HookOutcome = hook.unusable
        ? {
            context: "",
            asks: `it cannot be used, and may be meant for this call (${hook.unusable})`,
          }
        : await runOne(hook, { ...inputOf(event, ctx), ...facts }, ctx);
      if (outcome.wrong) ctx.note(clean(outcome.wrong));
      const context = [all.context, outcome.context].filter(Boolean).join("\n");
      Object.assign(all, outcome, { context });
      if (outcome.blocked) {
        all.blocked = `hook '${oneLine(hook.command)}' of ${hook.from}: ${outcome.blocked}`;
        break;
      }
    }
    return all;
  }

  async function runOne(hook: Hook, input: object, ctx: Ctx): Promise<HookOutcome> {
    const { runHook } = await import("./run-hook.ts");
    return running.run(true, () => runHook(hook, input, ctx));
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
      if (context) ctx.chat.attach(block("SessionStart", context));
    },
    LIMIT,
  );
  zz.wrap(
    "line",
    async (line, next, ctx) => {
      load(ctx);
      const prompt = await next(line);
      if (!prompt || /^\/[A-Za-z]/.test(prompt)) return prompt;
      goingOn = 0;
      const { blocked, context } = await fire("UserPromptSubmit", [], { prompt }, ctx);
      if (blocked) ctx.note(clean(`Not sent: ${blocked}`));
      else if (context) ctx.chat.attach(block("UserPromptSubmit", context));
      return blocked ? "" : prompt;
    },
    { order: "first", ...LIMIT },
  );
  zz.on(
    "answered",
    async ({ text }, ctx) => {
      const facts = { stop_hook_active: goingOn > 0, last_assistant_message: text };
      const { blocked } = await fire("Stop", [], facts, ctx);
      if (!blocked) return;
      if (goingOn++ < MAX_GOING_ON) return ctx.chat.send(`[${blocked}]`);
      ctx.note(`The hooks of Stop wanted more ${plural(MAX_GOING_ON, "time")} in a row: it ends.`);
    },
    LIMIT,
  );
}

async function callWithHooks(
  { fire }: Runner,
  call: Call,
  next: (call: Call) => Promise<Result>,
  ctx: Ctx,
): Promise<Result> {
  const names = namesOf(call.name);
  const facts = factsOf(call, ctx);
  const before = await fire("PreToolUse", names, facts, ctx);
  if (before.blocked) return refusal(before.blocked);
  if (before.asks && !(await isAgreed(call.name, before.asks, ctx)))
    return refusal(`a hook asks for a yes, and there was none: ${before.asks}`);
  const result = await next(before.args ? { ...call, args: before.args } : call);
  const response = { text: result.text, failed: result.failed === true };
  const after = await fire("PostToolUse", names, { ...facts, tool_response: response }, ctx);
  const notes = [before.context, after.context, after.blocked && `Look at this: ${after.blocked}`];
  const said = notes.filter(Boolean).join("\n");
  return said ? { ...result, text: `${result.text}\n${block("hook", said)}` } : result;
}

const fits = ({ matcher }: Hook, subject: string[]): boolean =>
  !matcher || !subject.length || subject.some((name) => matcher.test(name));

const namesOf = (tool: string): string[] => [
  tool,
  `mcp__${tool}`,
  ...(Object.hasOwn(THEIR_NAMES, tool) ? [THEIR_NAMES[tool]!] : []),
];

const inputOf = (event: EventName, { chat, root }: Ctx): object => ({
  session_id: chat.id ?? "",
  cwd: root,
  hook_event_name: event,
});

/** A call in the words of Claude Code, and in zz's own. */
function factsOf({ id, name, args }: Call, { root }: Ctx): object {
  const file = typeof args.path === "string" ? { file_path: path.resolve(root, args.path) } : {};
  return {
    tool_name: namesOf(name)[2] ?? name,
    tool_input: { ...args, ...file },
    tool_use_id: id,
    zz_tool: name,
  };
}

const refusal = (why: string): Result => ({
  text: `Refused by ${why}`,
  failed: true,
  refused: true,
});
const block = (title: string, text: string): string =>
  `--- ${title} ---\n${text}\n--- END ${title} ---`;

const isAgreed = async (tool: string, why: string, { ask }: Ctx): Promise<boolean> =>
  (await ask?.(`A hook asks about ${tool}: ${clean(why)}. Go on? [y/N] `, "yn")) === "y";

const UNTIL_FIXED =
  "Until that is fixed, zz asks before each call that such a hook may be meant for.";

function list({ hooks, leftOut }: Hooks): string {
  const usable = hooks.filter(({ unusable }) => !unusable);
  const rows = usable.map(
    ({ event, matcher, command, from }) =>
      `${event}${matcher ? ` ${matcher.source.slice(4, -2)}` : ""}: ${oneLine(command)} (${from})`,
  );
  const none = [
    "No hooks. They stand in hooks.json of your home, or of a project that you trust:",
    ...Object.entries(EVENTS).map(([event, does]) => `  ${event}: ${does}`),
  ];
  const asks = usable.length < hooks.length ? [UNTIL_FIXED] : [];
  return [...(rows.length ? rows : none), ...leftOut, ...asks].join("\n");
}

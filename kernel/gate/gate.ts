// The gate: judges what a call needs, and asks the person about what the rules leave open.
import {
  type Call,
  type Effect,
  type Judged,
  KINDS,
  type Kind,
  type Need,
  type Needs,
  type Rule,
  type Ruling,
  type Tool,
} from "../contract.ts";
import { emit, runStep } from "../events.ts";
import { type Core, isTool, type TurnContext } from "../instance.ts";
import { realPath } from "../system/real-paths.ts";
import { orAbort } from "../text/deadlines.ts";
import { isInside } from "../text/read-quietly.ts";
import { errorMessage } from "../text/secrets.ts";
import { clean, visible } from "../text/show-safely.ts";
import { someOf } from "../text/words.ts";
import { flagsFor, MAX_NAMED_NEEDS, needOf } from "./flags-that-allow.ts";
import { ASKED_FOR, guardOf, needName, needTarget, PLUGIN_NEED, verdictFor } from "./rules.ts";
import { whyNotProject } from "./sensitive-paths.ts";

const describeAccess = (open: { kind: Kind; name: string }[], max = Infinity): string => {
  const byKind = [...Map.groupBy(open, ({ kind }) => kind)];
  return byKind
    .map(
      ([needKind, needsOfKind]) =>
        `${needKind} access to ${someOf(max, needsOfKind, ({ name }) => `"${visible(name)}"`)}`,
    )
    .join(" and ");
};

const VERBS: Record<Kind, string> = {
  read: "read",
  write: "change",
  run: "run",
  net: "reach",
  env: "use",
};
/** What would happen, in a person's words; a name stands in quotes where it is not plainly one. */
function describeWish(open: { kind: Kind; name: string }[]): string {
  const quoted = (kind: Kind, name: string) =>
    kind !== "run" && /^[\w.@/+~:-]+$/.test(name) ? name : `"${visible(name)}"`;
  const wishes = [...Map.groupBy(open, ({ kind }) => kind)].map(([kind, needs]) => {
    const names = [...new Set(needs.map(({ name }) => quoted(kind, name)))];
    const last = names.pop()!;
    return `${VERBS[kind]} ${names.length ? `${names.join(", ")} and ${last}` : last}`;
  });
  return wishes.join(" and to ");
}

/**
 * A need that the rules leave open. isUnlistable: no list can allow it; exact: only its exact name
 * can; isAlwaysAsked: no answer changes that.
 */
export type PendingNeed = {
  kind: Kind;
  name: string;
  target: string;
  why: string;
  isUnlistable: boolean;
  exact?: boolean;
  isAlwaysAsked?: true;
};
// what a call may touch: real targets, since names may lead elsewhere by now
export type Granted = { [K in Kind]: string[] };

/** The person edited an argument at the question: the call is judged again. */
type Edited = { edited: string };

/**
 * Judges what a call needs and asks about what the rules leave open. Returns the sentence of a
 * refusal as text.
 */
export async function judgeCall(
  turn: TurnContext,
  tool: Tool,
  args: Call["args"],
  { unresolved: may, ...needs }: Needs & { unresolved?: boolean },
): Promise<string | Granted | Edited> {
  const { core } = turn;
  const open = new Map<string, PendingNeed>();
  const granted = Object.fromEntries(KINDS.map((needKind) => [needKind, []])) as unknown as Granted;
  for (const eachKind of KINDS)
    for (const need of needs[eachKind] ?? []) {
      const target = needTarget(core.options, eachKind, needName(need));
      const refusal = await judgeNeed(core, {
        tool: tool.name,
        kind: eachKind,
        need,
        open,
        target,
      });
      if (refusal) return refusal;
      granted[eachKind].push(target);
    }
  const effect = effectOf(tool, needs);
  const unresolved = (may ?? effect === "run") ? (true as const) : undefined;
  const judged = {
    call: { name: tool.name, args },
    kind: effect,
    needs: structuredClone(needs),
    ...(unresolved && { unresolved }),
  };
  const refusal = await applyGateWrappers(turn, judged, open);
  if (refusal) return refusal;
  if (!open.size) return granted;
  const text =
    (await orAbort(turn.ctx.signal, (async () => tool.preview?.(args, turn.ctx))())) ?? "";
  const { editable = "" } = tool;
  const rules = familyRules(core, tool, [...open.values()]);
  const moreKeys = {
    ...(core.edit && typeof args[editable] === "string" && { e: "edit it first" }),
    ...(rules && { F: describeRules(rules) }),
  };
  for (;;) {
    const { key, refusal } = await askPerson(turn, tool.name, [...open.values()], clean(text), {
      also: moreKeys,
      writes: tool.changes,
      args,
    });
    if (refusal) return refusal;
    if (key === "F") core.rules.push(...rules!);
    if (key !== "e") return granted;
    const edited = await core.edit!(args[editable] as string, `${editable}.txt`);
    if (edited?.trim()) return { edited: edited.trim() }; // else nothing was saved: ask again
  }
}

/**
 * The most that a call can do; without needs, the most that any call of the tool can. A command
 * known to only read counts as reading.
 */
export function effectOf({ kind, changes, needs: asks }: Tool, needs?: Needs): Effect {
  if (
    kind === "run" ||
    needs?.run?.some((need) => typeof need === "string" || need.verdict !== "allow" || need.exact)
  )
    return "run";
  if (changes || kind === "change" || needs?.write?.length) return "change";
  const mayRun = needs ? needs.net?.length : asks;
  return kind ?? (mayRun ? "run" : "read");
}

/**
 * What plugins' wrappers say. They can only tighten: the rules were applied before, and a wrapper
 * that throws refuses.
 */
export async function applyGateWrappers(
  turn: TurnContext,
  judged: Judged,
  open: Map<string, PendingNeed>,
): Promise<string | undefined> {
  const { core, ctx } = turn;
  const { name: tool } = judged.call;
  const needs = structuredClone(judged.needs);
  const ruled = runStep(turn, "gate", judged, async () => ({
    verdict: open.size ? "ask" : "allow",
  }));
  const { verdict, why = "" } = await ruled.catch(
    (error): Ruling => ({ verdict: "deny", why: errorMessage(error) }),
  );
  ctx.signal.throwIfAborted();
  if (verdict === "allow" || (verdict === "ask" && !why && open.size)) return undefined;
  const named = KINDS.flatMap((needKind) =>
    (needs[needKind] ?? []).map((need) => ({ kind: needKind, name: needName(need) })),
  );
  if (!named.length) named.push({ kind: "run", name: tool });
  for (const { kind, name } of named) {
    const key = `${kind} ${name}`;
    const pendingFields = {
      target: needTarget(core.options, kind, name),
      why: why || open.get(key)?.why || "",
      isUnlistable: true,
      exact: true,
    };
    if (verdict === "ask") open.set(key, { kind, name, ...pendingFields, isAlwaysAsked: true });
    else await emit(core, "decided", { tool, kind, name, allowed: false, why });
  }
  const message =
    why ||
    (verdict === "deny"
      ? "a plugin denied it"
      : `a plugin's verdict was '${verdict}', and not allow, ask or deny`);
  return verdict === "ask" ? undefined : `Refused: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
}

/**
 * Rules that allow each command's family instead of its exact words; undefined if no command has
 * one.
 */
function familyRules(core: Core, tool: Tool, open: PendingNeed[]): Rule[] | undefined {
  const families = open.map(({ kind, name, isUnlistable }) =>
    kind === "run" && !isUnlistable ? tool.family?.(name) : undefined,
  );
  if (!families.some(Boolean)) return undefined;
  return open.map((need, i) => {
    const name = families[i];
    return name
      ? { verdict: "allow", kind: need.kind, name, from: "answer" }
      : ruleForAlways(core, need);
  });
}

type NeedToJudge = {
  tool: string;
  kind: Kind;
  need: Need;
  open: Map<string, PendingNeed>;
  target?: string | undefined;
};
export async function judgeNeed(
  core: Core,
  { tool, kind, need, open, target: givenTarget }: NeedToJudge,
): Promise<string | undefined> {
  const name = needName(need);
  const target = givenTarget ?? needTarget(core.options, kind, name);
  const { verdict, why } = verdictFor(core, kind, need, target);
  if (verdict !== "ask")
    await emit(core, "decided", { tool, kind, name, allowed: verdict === "allow", why });
  else {
    // a rule demands the question, and no answer changes that
    const isAlwaysAsked = why.startsWith(`${ASKED_FOR} by `);
    const exact = isAlwaysAsked || (typeof need !== "string" && need.exact === true);
    const pending = open.get(`${kind} ${name}`);
    const isUnlistable = isAlwaysAsked || (typeof need !== "string" && !PLUGIN_NEED.test(name));
    if (!pending?.exact)
      open.set(`${kind} ${name}`, {
        kind,
        name,
        target,
        why,
        isUnlistable,
        ...(exact && { exact }),
        ...(isAlwaysAsked && { isAlwaysAsked }),
      });
  }
  return verdict === "deny"
    ? `Refused: ${describeAccess([{ kind, name }])} is denied${why.startsWith("by ") ? " " : ": "}${why}.`
    : undefined;
}

/** Shortens what the question already shows in full. */
const shortenMiddle = (text: string): string =>
  text.length > 500
    ? `${text.slice(0, 200)} [… ${text.length - 400} characters …] ${text.slice(-200)}`
    : text;

// more than a person reads
export const [MAX_QUESTION_LINES, MAX_QUESTION_CHARS] = [20_000, 2_000_000];
const tooLongToShow = (
  text: string,
  maxChars = MAX_QUESTION_CHARS,
  lines = text.split("\n").length,
): string | undefined => {
  if (text.length > maxChars) return `${text.length} characters`;
  if (lines > MAX_QUESTION_LINES) return `${lines} lines`;
  return undefined;
};

type AnswerKeys = Record<string, string>; // what each key does
type PersonAnswer = { key: string; refusal?: string };
/**
 * also: keys besides yes, no and always. writes: it will write what it reads. long: what is too
 * much to be shown.
 */
type QuestionOptions = {
  also?: AnswerKeys;
  writes?: boolean | undefined;
  long?: string | undefined;
  args?: unknown; // of the call
};
/** Asks the person; without a terminal the answer is no. */
export async function askPerson(
  { core, ctx }: TurnContext,
  tool: string,
  open: PendingNeed[],
  text: string,
  { also = {}, writes = false, long: tooMuch, args }: QuestionOptions = {},
): Promise<PersonAnswer> {
  const accesses = describeAccess(open);
  const isAlwaysAsked = open.some((need) => need.isAlwaysAsked);
  const flags = isAlwaysAsked ? "" : flagsFor(core, open);
  const long =
    tooMuch ?? tooLongToShow(text, core.mostAsked) ?? tooLongToShow(accesses, core.mostAsked);
  const decide = async (allowed: boolean, why: string): Promise<void> => {
    for (const { kind, name } of open)
      await emit(core, "decided", { tool, kind, name, allowed, why });
  };
  if (long && core.ask) {
    await decide(false, "it is too long to be shown");
    return { key: "n", refusal: refusalAsTooLong(tool, long, flags) };
  }
  if (!core.ask) {
    await decide(false, "there is no terminal to ask on");
    return { key: "n", refusal: refusalWithoutTerminal(core, open, writes) };
  }
  const rules = rulesForAlways(core, open);
  const skips = flags ? `${shortenMiddle(visible(flags))} skips this question` : "";
  const keys = answerKeys(also, isAlwaysAsked ? "" : describeRules(rules));
  const needs = open.map(({ kind, name, why }) => ({ kind, name, ...(why && { why }) }));
  const asked = { tool, ...(args !== undefined && { args }), needs, shown: text, keys };
  const put = (question: string) =>
    orAbort(ctx.signal, core.ask!(question, `${Object.keys(keys).join("")}?`, asked));
  const { key, because } = await oneQuestionAtATime(core, async () => {
    const isAllowed = (need: PendingNeed) =>
      verdictFor(core, need.kind, needOf(need), need.target).verdict === "allow";
    const granted = !isAlwaysAsked && open.every(isAllowed); // meanwhile
    const question = questionFor(tool, open, text);
    let key = granted && !text ? "y" : await put(`${question}\n${allowLine(keys)}`);
    while (key === "?") key = await put(explanationOf(keys, skips));
    const because =
      key === "n" && isTool(tool)
        ? (await orAbort(ctx.signal, core.ask!("Why not? (Enter: no reason) "))).trim()
        : "";
    return { key, because };
  });
  if (key === "A") core.rules.push(...rules);
  if (key === "r") await decide(false, "the person sent it back");
  else if (key in keys && key !== "n")
    await decide(true, key === "e" ? "the person edited it" : "the person said yes");
  if (key in keys && key !== "n") return { key };
  await decide(false, "the person said no");
  const shortAccesses = describeAccess(open, MAX_NAMED_NEEDS);
  const refusal = `Refused: the person said no to ${shortAccesses}${because ? `: ${because}` : "."}`;
  return { key: "n", refusal };
}

function answerKeys({ F, ...others }: AnswerKeys, always: string): AnswerKeys {
  return { y: "yes", n: "no", ...others, ...(always && { A: always }), ...(F && { F }) };
}

function refusalAsTooLong(tool: string, long: string, flags: string): string {
  const excess = `${tool} asks for more than anyone can review at once (${long})`;
  return `Refused: ${excess}. Do it in smaller parts${flags ? `, or run again with ${flags}` : ""}.`;
}

/** With the flags that allow it, also to write what is only read so far if it will be written. */
function refusalWithoutTerminal(core: Core, open: PendingNeed[], writes: boolean): string {
  const exact = open.find((need) => need.exact);
  if (exact) return `Refused: ${describeAccess([exact])} ${ASKED_ANYWAY} ${exact.why}.`;
  const next = open
    .filter(({ kind }) => writes && kind === "read")
    .map((need) => ({ ...need, kind: "write" as const }));
  const flags = flagsFor(core, [...open, ...next]);
  const remedy = flags ? `run again with ${flags}` : "only a yes at the prompt allows it";
  return `Refused: requires ${describeAccess(open, MAX_NAMED_NEEDS)}; ${remedy}.`;
}

/** Each once. */
function rulesForAlways(core: Core, open: PendingNeed[]): Rule[] {
  const rules = open.map((need) => ruleForAlways(core, need));
  return [...new Map(rules.map((rule) => [`${rule.kind} ${rule.name}`, rule])).values()];
}

function allowLine(keys: AnswerKeys): string {
  return `┗ Allow? [${[...Object.keys(keys), "?"].join("/")}] (? explains) `;
}

function explanationOf(keys: AnswerKeys, skips: string): string {
  const rows = Object.entries(keys).map(([key, does]) => `${key}  ${shortenMiddle(visible(does))}`);
  const [first = "", ...remainingRows] = [
    ...rows,
    "Escape  no, without a reason",
    "words  no, for the reason that you type or paste",
    ...(skips ? [skips] : []),
  ];
  const lines = [`┏ ${first}`, ...remainingRows.map((row) => `┠ ${row}`), allowLine(keys)];
  return lines.join("\n");
}

function questionFor(tool: string, open: PendingNeed[], text: string): string {
  return [
    `┏ ${tool} wants to ${visible(describeWish(open))}.`,
    ...open.flatMap(({ why }) => (why ? [`┠ ${visible(why)}.`] : [])),
    ...(text ? text.split("\n").map((line) => `┃ ${line}`) : []),
  ].join("\n");
}

function describeRules(rules: Rule[]): string {
  const names = rules.map(({ kind, name, exact }) =>
    name === "."
      ? "edits in this project"
      : `${kind} "${name}${kind === "run" && !exact ? " …" : ""}"`,
  );
  return `always, in this session: ${[...new Set(names)].join(", ")}`;
}

/** The rule that "always" adds: for edits the whole project, for everything else its exact name. */
function ruleForAlways({ options, options: { root } }: Core, { kind, name }: PendingNeed): Rule {
  const target = kind === "write" ? realPath(options, name) : "";
  const wide =
    kind === "write" &&
    isInside(root, target) &&
    !guardOf(options, "write", target) &&
    !whyNotProject(root);
  return {
    verdict: "allow",
    kind,
    from: "answer",
    ...(wide ? { name: "." } : { name, exact: true }),
  };
}
const ASKED_ANYWAY = "is asked for even where all is allowed, and there is no terminal to ask on:";

/** Calls that run at the same time ask one after the other. */
function oneQuestionAtATime<T>(core: Core, act: () => Promise<T>): Promise<T> {
  const acted = Promise.resolve(core.asking).then(act);
  core.asking = acted.catch(() => {});
  return acted;
}

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

const describeAccess = (openNeeds: { kind: Kind; name: string }[], maxNamed = Infinity): string => {
  const needsByKind = [...Map.groupBy(openNeeds, ({ kind }) => kind)];
  return needsByKind
    .map(
      ([needKind, needsOfKind]) =>
        `${needKind} access to ` +
        `${someOf(maxNamed, needsOfKind, ({ name }) => `"${visible(name)}"`)}`,
    )
    .join(" and ");
};

const KIND_VERBS: Record<Kind, string> = {
  read: "read",
  write: "change",
  run: "run",
  net: "reach",
  env: "use",
};
/** What would happen, in a person's words; a name stands in quotes where it is not plainly one. */
function describeWish(openNeeds: { kind: Kind; name: string }[]): string {
  const quoteName = (needKind: Kind, bareName: string) =>
    needKind !== "run" && /^[\w.@/+~:-]+$/.test(bareName) ? bareName : `"${visible(bareName)}"`;
  const kindWishes = [...Map.groupBy(openNeeds, ({ kind }) => kind)].map(
    ([needKind, kindNeeds]) => {
      const quotedNames = [...new Set(kindNeeds.map(({ name }) => quoteName(needKind, name)))];
      const lastName = quotedNames.pop()!;
      return (
        `${KIND_VERBS[needKind]} ` +
        `${quotedNames.length ? `${quotedNames.join(", ")} and ${lastName}` : lastName}`
      );
    },
  );
  return kindWishes.join(" and to ");
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
  const callEffect = effectOf(tool, needs);
  const unresolved = (may ?? callEffect === "run") ? (true as const) : undefined;
  const judgedCall = {
    call: { name: tool.name, args },
    kind: callEffect,
    needs: structuredClone(needs),
    ...(unresolved && { unresolved }),
  };
  const refusal = await applyGateWrappers(turn, judgedCall, open);
  if (refusal) return refusal;
  if (!open.size) return granted;
  const previewText =
    (await orAbort(turn.ctx.signal, (async () => tool.preview?.(args, turn.ctx))())) ?? "";
  const { editable = "" } = tool;
  const rulesToAdd = familyRules(core, tool, [...open.values()]);
  const moreKeys = {
    ...(core.edit && typeof args[editable] === "string" && { e: "edit it first" }),
    ...(rulesToAdd && { F: describeRules(rulesToAdd) }),
  };
  for (;;) {
    const { key, refusal } = await askPerson(
      turn,
      tool.name,
      [...open.values()],
      clean(previewText),
      { also: moreKeys, writes: tool.changes, args },
    );
    if (refusal) return refusal;
    if (key === "F") core.rules.push(...rulesToAdd!);
    if (key !== "e") return granted;
    const editedText = await core.edit!(args[editable] as string, `${editable}.txt`);
    // else nothing was saved: ask again
    if (editedText?.trim()) return { edited: editedText.trim() };
  }
}

/**
 * The most that a call can do; without needs, the most that any call of the tool can. A command
 * known to only read counts as reading.
 */
export function effectOf({ kind, changes, needs: asks }: Tool, callNeeds?: Needs): Effect {
  if (
    kind === "run" ||
    callNeeds?.run?.some(
      (runNeed) => typeof runNeed === "string" || runNeed.verdict !== "allow" || runNeed.exact,
    )
  )
    return "run";
  if (changes || kind === "change" || callNeeds?.write?.length) return "change";
  const mayRun = callNeeds ? callNeeds.net?.length : asks;
  return kind ?? (mayRun ? "run" : "read");
}

/**
 * What plugins' wrappers say. They can only tighten: the rules were applied before, and a wrapper
 * that throws refuses.
 */
export async function applyGateWrappers(
  turn: TurnContext,
  judgedCall: Judged,
  openNeeds: Map<string, PendingNeed>,
): Promise<string | undefined> {
  const { core, ctx } = turn;
  const { name: tool } = judgedCall.call;
  const originalNeeds = structuredClone(judgedCall.needs);
  const pendingRuling = runStep(turn, "gate", judgedCall, async () => ({
    verdict: openNeeds.size ? "ask" : "allow",
  }));
  const { verdict, why = "" } = await pendingRuling.catch(
    (error): Ruling => ({ verdict: "deny", why: errorMessage(error) }),
  );
  ctx.signal.throwIfAborted();
  if (verdict === "allow" || (verdict === "ask" && !why && openNeeds.size)) return undefined;
  const namedNeeds = KINDS.flatMap((needKind) =>
    (originalNeeds[needKind] ?? []).map((need) => ({ kind: needKind, name: needName(need) })),
  );
  if (!namedNeeds.length) namedNeeds.push({ kind: "run", name: tool });
  for (const { kind, name } of namedNeeds) {
    const needKey = `${kind} ${name}`;
    const pendingFields = {
      target: needTarget(core.options, kind, name),
      why: why || openNeeds.get(needKey)?.why || "",
      isUnlistable: true,
      exact: true,
    };
    if (verdict === "ask")
      openNeeds.set(needKey, { kind, name, ...pendingFields, isAlwaysAsked: true });
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
function familyRules(core: Core, tool: Tool, openNeeds: PendingNeed[]): Rule[] | undefined {
  const families = openNeeds.map(({ kind, name, isUnlistable }) =>
    kind === "run" && !isUnlistable ? tool.family?.(name) : undefined,
  );
  if (!families.some(Boolean)) return undefined;
  return openNeeds.map((openNeed, i) => {
    const name = families[i];
    return name
      ? { verdict: "allow", kind: openNeed.kind, name, from: "answer" }
      : ruleForAlways(core, openNeed);
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
    ? `Refused: ${describeAccess([{ kind, name }])} is ` +
        `denied${why.startsWith("by ") ? " " : ": "}${why}.`
    : undefined;
}

/** Shortens what the question already shows in full. */
const shortenMiddle = (longText: string): string =>
  longText.length > 500
    ? `${longText.slice(0, 200)} [… ${longText.length - 400} characters …] ${longText.slice(-200)}`
    : longText;

// more than a person reads
export const [MAX_QUESTION_LINES, MAX_QUESTION_CHARS] = [20_000, 2_000_000];
const tooLongToShow = (
  shownText: string,
  maxChars = MAX_QUESTION_CHARS,
  lineCount = shownText.split("\n").length,
): string | undefined => {
  if (shownText.length > maxChars) return `${shownText.length} characters`;
  if (lineCount > MAX_QUESTION_LINES) return `${lineCount} lines`;
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
  const isAlwaysAsked = open.some((openNeed) => openNeed.isAlwaysAsked);
  const flags = isAlwaysAsked ? "" : flagsFor(core, open);
  const excessSize =
    tooMuch ?? tooLongToShow(text, core.mostAsked) ?? tooLongToShow(accesses, core.mostAsked);
  const decide = async (allowed: boolean, why: string): Promise<void> => {
    for (const { kind, name } of open)
      await emit(core, "decided", { tool, kind, name, allowed, why });
  };
  if (excessSize && core.ask) {
    await decide(false, "it is too long to be shown");
    return { key: "n", refusal: refusalAsTooLong(tool, excessSize, flags) };
  }
  if (!core.ask) {
    await decide(false, "there is no terminal to ask on");
    return { key: "n", refusal: refusalWithoutTerminal(core, open, writes) };
  }
  const alwaysRules = rulesForAlways(core, open);
  const skipHint = flags ? `${shortenMiddle(visible(flags))} skips this question` : "";
  const keys = answerKeys(also, isAlwaysAsked ? "" : describeRules(alwaysRules));
  const needs = open.map(({ kind, name, why }) => ({ kind, name, ...(why && { why }) }));
  const askedQuestion = { tool, ...(args !== undefined && { args }), needs, shown: text, keys };
  const putQuestion = (question: string) =>
    orAbort(ctx.signal, core.ask!(question, `${Object.keys(keys).join("")}?`, askedQuestion));
  const { key, because } = await oneQuestionAtATime(core, async () => {
    const isAllowed = (openNeed: PendingNeed) =>
      verdictFor(core, openNeed.kind, needOf(openNeed), openNeed.target).verdict === "allow";
    const granted = !isAlwaysAsked && open.every(isAllowed); // meanwhile
    const question = questionFor(tool, open, text);
    let key = granted && !text ? "y" : await putQuestion(`${question}\n${allowLine(keys)}`);
    while (key === "?") key = await putQuestion(explanationOf(keys, skipHint));
    const because =
      key === "n" && isTool(tool)
        ? (await orAbort(ctx.signal, core.ask!("Why not? (Enter: no reason) "))).trim()
        : "";
    return { key, because };
  });
  if (key === "A") core.rules.push(...alwaysRules);
  if (key in keys && key !== "n") {
    await decide(key !== "r", DECISIONS[key] ?? "the person said yes");
    return { key };
  }
  await decide(false, "the person said no");
  const shortAccesses = describeAccess(open, MAX_NAMED_NEEDS);
  const givenReason = because ? `: ${because}` : ".";
  const refusal = `Refused: the person said no to ${shortAccesses}${givenReason}`;
  return { key: "n", refusal };
}

const DECISIONS: AnswerKeys = { r: "the person sent it back", e: "the person edited it" };

function answerKeys({ F, ...others }: AnswerKeys, alwaysText: string): AnswerKeys {
  return { y: "yes", n: "no", ...others, ...(alwaysText && { A: alwaysText }), ...(F && { F }) };
}

function refusalAsTooLong(toolName: string, excessSize: string, allowingFlags: string): string {
  const excessReason = `${toolName} asks for more than anyone can review at once (${excessSize})`;
  return (
    `Refused: ${excessReason}. ` +
    `Do it in smaller parts${allowingFlags ? `, or run again with ${allowingFlags}` : ""}.`
  );
}

/** With the flags that allow it, also to write what is only read so far if it will be written. */
function refusalWithoutTerminal(core: Core, openNeeds: PendingNeed[], willWrite: boolean): string {
  const exactNeed = openNeeds.find((openNeed) => openNeed.exact);
  if (exactNeed) return `Refused: ${describeAccess([exactNeed])} ${ASKED_ANYWAY} ${exactNeed.why}.`;
  const writeNeeds = openNeeds
    .filter(({ kind }) => willWrite && kind === "read")
    .map((readNeed) => ({ ...readNeed, kind: "write" as const }));
  const allowingFlags = flagsFor(core, [...openNeeds, ...writeNeeds]);
  const remedy = allowingFlags
    ? `run again with ${allowingFlags}`
    : "only a yes at the prompt allows it";
  return `Refused: requires ${describeAccess(openNeeds, MAX_NAMED_NEEDS)}; ${remedy}.`;
}

/** Each once. */
function rulesForAlways(core: Core, openNeeds: PendingNeed[]): Rule[] {
  const alwaysRules = openNeeds.map((openNeed) => ruleForAlways(core, openNeed));
  return [
    ...new Map(
      alwaysRules.map((alwaysRule) => [`${alwaysRule.kind} ${alwaysRule.name}`, alwaysRule]),
    ).values(),
  ];
}

function allowLine(offeredKeys: AnswerKeys): string {
  return `┗ Allow? [${[...Object.keys(offeredKeys), "?"].join("/")}] (? explains) `;
}

function explanationOf(offeredKeys: AnswerKeys, skipHint: string): string {
  const keyRows = Object.entries(offeredKeys).map(
    ([answerKey, keyEffect]) => `${answerKey}  ${shortenMiddle(visible(keyEffect))}`,
  );
  const [firstRow = "", ...remainingRows] = [
    ...keyRows,
    "Escape  no, without a reason",
    "words  no, for the reason that you type or paste",
    ...(skipHint ? [skipHint] : []),
  ];
  const boxLines = [
    `┏ ${firstRow}`,
    ...remainingRows.map((keyRow) => `┠ ${keyRow}`),
    allowLine(offeredKeys),
  ];
  return boxLines.join("\n");
}

function questionFor(toolName: string, openNeeds: PendingNeed[], shownText: string): string {
  return [
    `┏ ${toolName} wants to ${visible(describeWish(openNeeds))}.`,
    ...openNeeds.flatMap(({ why }) => (why ? [`┠ ${visible(why)}.`] : [])),
    ...(shownText ? shownText.split("\n").map((shownLine) => `┃ ${shownLine}`) : []),
  ].join("\n");
}

function describeRules(addedRules: Rule[]): string {
  const coveredNames = addedRules.map(({ kind, name, exact }) =>
    name === "."
      ? "edits in this project"
      : `${kind} "${name}${kind === "run" && !exact ? " …" : ""}"`,
  );
  return `always, in this session: ${[...new Set(coveredNames)].join(", ")}`;
}

/** The rule that "always" adds: for edits the whole project, for everything else its exact name. */
function ruleForAlways({ options, options: { root } }: Core, { kind, name }: PendingNeed): Rule {
  const writeTarget = kind === "write" ? realPath(options, name) : "";
  const isProjectWide =
    kind === "write" &&
    isInside(root, writeTarget) &&
    !guardOf(options, "write", writeTarget) &&
    !whyNotProject(root);
  return {
    verdict: "allow",
    kind,
    from: "answer",
    ...(isProjectWide ? { name: "." } : { name, exact: true }),
  };
}
const ASKED_ANYWAY = "is asked for even where all is allowed, and there is no terminal to ask on:";

/** Calls that run at the same time ask one after the other. */
function oneQuestionAtATime<T>(core: Core, askQuestion: () => Promise<T>): Promise<T> {
  const pendingAnswer = Promise.resolve(core.asking).then(askQuestion);
  core.asking = pendingAnswer.catch(() => {});
  return pendingAnswer;
}

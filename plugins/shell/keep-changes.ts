// Shows what a command changed on its view, asks for it, and has the kernel write it, as it
// does an edit.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { errnoSentence, tryTo, visible } from "zz/text";
import type { View } from "./copy-on-write.ts";
import { type Effects, type FileState, readEffects } from "./read-copy-effects.ts";

const ON_COPY =
  "It ran on a copy of the project: no network, .git read-only, nothing else writable, " +
  "its own processes alone. What needs more: hosts, or direct: true.";

type KeepOutcome = Pick<Result, "text" | "failed" | "refused"> & { effect?: string };
/**
 * The lines under the command's output, whether keeping its changes failed, and for its row what
 * was kept or why nothing was.
 */
export async function keepChanges(
  view: View,
  ctx: Ctx,
  { line, failed, isStopped }: { line: string; failed: boolean; isStopped: boolean },
): Promise<KeepOutcome> {
  const report: Report = { lines: failed ? [ON_COPY] : [], failed };
  if (isStopped) {
    report.lines.push("It was stopped, so nothing that it changed was kept.");
    return outcomeOf(report);
  }
  try {
    return await askAndKeep(await readEffects(view, ctx), ctx, line, report);
  } catch (error) {
    return keptNothing(
      report,
      `Nothing that it changed was kept: ${errnoSentence(error) || (error as Error).message}`,
    );
  }
}

type Report = { lines: string[]; failed: boolean };

const outcomeOf = (
  { lines, failed }: Report,
  extraFields: Partial<KeepOutcome> = {},
): KeepOutcome => ({
  text: lines.map((reportLine) => `\n[${visible(reportLine)}]`).join(""),
  failed,
  ...extraFields,
});

function keptNothing(report: Report, whyUnkept: string): KeepOutcome {
  report.lines.push(whyUnkept);
  return outcomeOf(report, { failed: true, effect: visible(whyUnkept) });
}

async function askAndKeep(
  effects: Effects,
  ctx: Ctx,
  commandLine: string,
  report: Report,
): Promise<KeepOutcome> {
  const { states, about, raced, leftOut, dropped } = effects;
  const { lines } = report;
  lines.push(...leftOut.slice(0, MAX_LINES).map((leftOutLine) => `${leftOutLine}.`));
  if (leftOut.length > MAX_LINES)
    lines.push(`And ${leftOut.length - MAX_LINES} more were left out.`);
  if (dropped.length)
    lines.push(
      `Not kept, since tools write them again: ${dropped.slice(0, MAX_LINES).join(", ")}.`,
    );
  if (!states.length)
    return outcomeOf(report, leftOut[0] === undefined ? {} : { effect: visible(leftOut[0]) });
  const whyUnkept = whyNotKept(effects, ctx);
  if (whyUnkept) return keptNothing(report, whyUnkept);
  if (raced.length)
    about.unshift(
      `Mind ${visible(listNames(raced.map(quoteName)))}: changed in the project while it ran. ` +
        "Yes puts this in place of that:",
    );
  const question = [
    commandLine,
    "It ran on a copy of the project. What it changed there:",
    ...about,
    ...leftOut.map(visible),
  ];
  const applied = await ctx.files.apply(states, question.join("\n"));
  const { refusal, said, left = [] } = applied;
  const keptStates = states.filter(
    (state) => refusal === undefined && !left.includes(path.relative(ctx.root, state.path)),
  );
  lines.push(...keptLines(effects, keptStates, ctx));
  const closingLine = refusal ?? said;
  const text = outcomeOf(report).text + (closingLine ? `\n${closingLine}` : "");
  return outcomeOf(report, {
    text,
    ...(keptStates.length && { effect: keptForRow(keptStates, ctx.root) }),
    ...(refusal !== undefined && { failed: true, refused: true }),
  });
}

function whyNotKept({ states, raced }: Effects, ctx: Ctx): string | undefined {
  if (isReadOnly(ctx.root))
    return (
      `changed: ${namesOf(states, ctx.root)} (not kept: ` +
      "the project lies on a read-only file system)"
    );
  // Changes by others are overwritten only if the person saw it in the question.
  const isAsked = raced.every(
    (racedName) => ctx.permissions.judge("write", path.join(ctx.root, racedName)).verdict === "ask",
  );
  return raced.length && !(ctx.ask && isAsked)
    ? `${listNames(raced.map(quoteName))} changed in the project while it ran, ` +
        "so nothing of it was kept. Run it again."
    : undefined;
}

function keptLines(
  { states, modes }: Effects,
  keptStates: FileState[],
  { root, ask }: Ctx,
): string[] {
  const outcomeLines: string[] = [];
  const unchanged = states.filter((state) => !keptStates.includes(state));
  if (keptStates.length) outcomeLines.push(`changed: ${namesOf(keptStates, root)} (kept)`);
  const whyUnchanged = ask ? "the person said no" : "not kept";
  const isSingle =
    unchanged.length === 1 && (!unchanged[0]!.moves || /^1 /.test(countOf(unchanged[0]!)));
  const asBefore = isSingle ? "it is as it was" : "they are as they were";
  if (unchanged.length)
    outcomeLines.push(`changed: ${namesOf(unchanged, root)} (${whyUnchanged}: ${asBefore})`);
  const unsetModes = keptStates.length
    ? modes.filter(({ name, mode }) => isUnset(path.join(root, name), mode))
    : [];
  if (unsetModes.length)
    outcomeLines.push(
      "The disk did not take the new mode of " +
        `${listNames(unsetModes.map(({ name }) => quoteName(name)))}.`,
    );
  return outcomeLines;
}

const quoteName = (fileName: string): string => `'${fileName}'`;

function isReadOnly(root: string): boolean {
  try {
    fs.accessSync(root, fs.constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}
/** Whether a file that is there has another mode. */
const isUnset = (filePath: string, wantedMode: number): boolean =>
  (tryTo(() => fs.lstatSync(filePath).mode & 0o7777) ?? wantedMode) !== wantedMode;

const [MAX_LINES, MAX_NAMES] = [10, 20];
const listNames = (fileNames: string[]): string =>
  fileNames.slice(0, MAX_NAMES).join(", ") +
  (fileNames.length > MAX_NAMES ? ` and ${fileNames.length - MAX_NAMES} more` : "");
const namesOf = (states: FileState[], root: string): string =>
  listNames(states.map((state) => nameOfState(state, root)));
const keptForRow = (states: FileState[], root: string): string =>
  states.length === 1
    ? `changed ${visible(nameOfState(states[0]!, root))}`
    : `${states.length} changes kept`;
/** The name of a change; a group of many is named by its folder, with their number. */
const nameOfState = (state: FileState, root: string): string =>
  state.moves ? `${state.brief}: ${countOf(state)}` : path.relative(root, state.path);
const countOf = ({ bytes = Buffer.alloc(0) }: FileState): string =>
  Buffer.from(bytes).toString().trim();

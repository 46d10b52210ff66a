// keep: shows what a command changed on its view, asks for it, and has the kernel write it, as it
// does an edit.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { errnoSentence, tryTo, visible } from "zz/text";
import { type FileState, readEffects } from "./effects.ts";
import type { View } from "./view.ts";

const ON_COPY =
  "It ran on a copy of the project: no network, .git read-only, nothing else writable, its own processes alone. What needs more: hosts, or direct: true.";

type Kept = Pick<Result, "text" | "failed" | "refused"> & { unkept?: string };
/**
 * The lines under the command's output, whether keeping its changes failed, and why nothing was
 * kept.
 */
export async function keepChanges(
  view: View,
  ctx: Ctx,
  { line, failed, isStopped }: { line: string; failed: boolean; isStopped: boolean },
): Promise<Kept> {
  const lines = failed ? [ON_COPY] : [];
  const done = (more: Partial<Kept> = {}): Kept => ({
    text: lines.map((line) => `\n[${visible(line)}]`).join(""),
    failed,
    ...more,
  });
  if (isStopped) {
    lines.push("It was stopped, so nothing that it changed was kept.");
    return done();
  }
  try {
    return await askAndKeep();
  } catch (error) {
    return nothing(
      `Nothing that it changed was kept: ${errnoSentence(error) || (error as Error).message}`,
    );
  }

  function nothing(unkept: string): Kept {
    lines.push(unkept);
    return done({ failed: true, unkept: visible(unkept) });
  }

  function namesOf(states: FileState[]): string {
    return listed(states.map((state) => nameOf(state, ctx.root)));
  }

  async function askAndKeep(): Promise<Kept> {
    const { states, about, raced, leftOut, dropped, modes } = await readEffects(view, ctx);
    lines.push(...leftOut.slice(0, MAX_LINES).map((one) => `${one}.`));
    if (leftOut.length > MAX_LINES)
      lines.push(`And ${leftOut.length - MAX_LINES} more were left out.`);
    if (dropped.length)
      lines.push(
        `Not kept, since tools write them again: ${dropped.slice(0, MAX_LINES).join(", ")}.`,
      );
    if (!states.length)
      return done(leftOut[0] === undefined ? {} : { unkept: visible(leftOut[0]) });
    if (isReadOnly(ctx.root)) {
      return nothing(
        `changed: ${namesOf(states)} (not kept: the project lies on a read-only file system)`,
      );
    }
    const others = raced.map((name) => `'${name}'`);
    // Changes by others are overwritten only if the person saw it in the question.
    const isAsked = raced.every(
      (name) => ctx.permissions.judge("write", path.join(ctx.root, name)).verdict === "ask",
    );
    if (raced.length && !(ctx.ask && isAsked)) {
      return nothing(
        `${listed(others)} changed in the project while it ran, so nothing of it was kept. Run it again.`,
      );
    }
    if (raced.length)
      about.unshift(
        `Mind ${visible(listed(others))}: changed in the project while it ran. Yes puts this in place of that:`,
      );
    const {
      refusal,
      said,
      left = [],
    } = await ctx.files.apply(
      states,
      [
        line,
        "It ran on a copy of the project. What it changed there:",
        ...about,
        ...leftOut.map(visible),
      ].join("\n"),
    );
    const isKept = ({ path: at }: FileState) =>
      refusal === undefined && !left.includes(path.relative(ctx.root, at));
    const [kept, rest] = [states.filter(isKept), states.filter((state) => !isKept(state))];
    const why = ctx.ask ? "the person said no" : "not kept";
    if (kept.length) lines.push(`changed: ${namesOf(kept)} (kept)`);
    const isOne = rest.length === 1 && (!rest[0]!.moves || /^1 /.test(countOf(rest[0]!)));
    const asBefore = isOne ? "it is as it was" : "they are as they were";
    if (rest.length) lines.push(`changed: ${namesOf(rest)} (${why}: ${asBefore})`);
    const unset = kept.length
      ? modes.filter(({ name, mode }) => isUnset(path.join(ctx.root, name), mode))
      : [];
    if (unset.length)
      lines.push(
        `The disk did not take the new mode of ${listed(unset.map(({ name }) => `'${name}'`))}.`,
      );
    const more = refusal ?? said;
    const text = done().text + (more ? `\n${more}` : "");
    return refusal === undefined ? { ...done(), text } : { text, failed: true, refused: true };
  }
}
function isReadOnly(root: string): boolean {
  try {
    fs.accessSync(root, fs.constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}
/** Whether a file that is there has another mode. */
const isUnset = (file: string, mode: number): boolean =>
  (tryTo(() => fs.lstatSync(file).mode & 0o7777) ?? mode) !== mode;

const [MAX_LINES, MAX_NAMES] = [10, 20];
const listed = (names: string[]): string =>
  names.slice(0, MAX_NAMES).join(", ") +
  (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
/** The name of a change; a group of many is named by its folder, with their number. */
const nameOf = (state: FileState, root: string): string =>
  state.moves ? `${state.brief}: ${countOf(state)}` : path.relative(root, state.path);
const countOf = ({ bytes = Buffer.alloc(0) }: FileState): string =>
  Buffer.from(bytes).toString().trim();

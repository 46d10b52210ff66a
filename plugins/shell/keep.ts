// keep: what a command changed on its view is shown, asked for, and put in place by the kernel, as an edit is.
import path from "node:path";
import type { Ctx, Result } from "zz";
import { type FileState, readEffects } from "./effects.ts";
import type { View } from "./view.ts";

const ON_COPY =
  "It ran on a copy of the project: no network, .git read-only, nothing else writable, its own processes alone. What needs more: hosts, or direct: true.";

/** What stands under the command's output, and whether it failed. */
export async function keepEffects(
  view: View,
  ctx: Ctx,
  { line, failed, isStopped }: { line: string; failed: boolean; isStopped: boolean },
): Promise<Pick<Result, "text" | "failed" | "refused">> {
  const lines = failed ? [ON_COPY] : [];
  const done = (more: Partial<Result> = {}) => ({ text: lines.map((line) => `\n[${line}]`).join(""), failed, ...more });
  if (isStopped) {
    lines.push("It was stopped, so nothing that it changed was kept.");
    return done();
  }
  try {
    return await askAndKeep();
  } catch (error) {
    lines.push(`Nothing that it changed was kept: ${(error as Error).message}`);
    return done({ failed: true });
  }

  async function askAndKeep() {
    const { states, about, raced, leftOut, dropped } = await readEffects(view, ctx);
    lines.push(...leftOut.slice(0, MAX_LINES).map((one) => `${one}.`));
    if (leftOut.length > MAX_LINES) lines.push(`And ${leftOut.length - MAX_LINES} more were left out.`);
    if (dropped.length)
      lines.push(`Not kept, since tools write them again: ${dropped.slice(0, MAX_LINES).join(", ")}.`);
    if (!states.length) return done();
    const others = raced.map((name) => `'${name}'`);
    // Somebody else's work goes only when a person saw it go.
    const isAsked = raced.every((name) => ctx.permissions.judge("write", path.join(ctx.root, name)).verdict === "ask");
    if (raced.length && !(ctx.ask && isAsked)) {
      lines.push(`${listed(others)} changed in the project while it ran, so nothing of it was kept. Run it again.`);
      return done({ failed: true });
    }
    if (raced.length)
      about.unshift(`Mind ${listed(others)}: changed in the project while it ran. Yes puts this in place of that:`);
    const {
      refusal,
      said,
      left = [],
    } = await ctx.files.apply(
      states,
      [line, "It ran on a copy of the project. What it changed there:", ...about, ...leftOut].join("\n"),
    );
    const isKept = ({ path: at }: FileState) => refusal === undefined && !left.includes(path.relative(ctx.root, at));
    const named = (all: FileState[]) => listed(all.map((state) => nameOf(state, ctx.root)));
    const [kept, rest] = [states.filter(isKept), states.filter((state) => !isKept(state))];
    const why = ctx.ask ? "the person said no" : "not kept";
    if (kept.length) lines.push(`changed: ${named(kept)} (kept)`);
    if (rest.length) lines.push(`changed: ${named(rest)} (${why}: they are as they were)`);
    const more = refusal ?? said;
    const text = done().text + (more ? `\n${more}` : "");
    return refusal === undefined ? { ...done(), text } : { text, failed: true, refused: true };
  }
}
const [MAX_LINES, MAX_NAMES] = [10, 20];
const listed = (names: string[]): string =>
  names.slice(0, MAX_NAMES).join(", ") + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "");
/** Many that are told as one are named by their folder, with how many they are. */
const nameOf = ({ path: at, brief, moves, bytes = Buffer.alloc(0) }: FileState, root: string): string =>
  moves ? `${brief}: ${Buffer.from(bytes).toString().trim()}` : path.relative(root, at);

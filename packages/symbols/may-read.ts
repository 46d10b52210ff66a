// Which files the rules let the tools read.
import type { Ctx } from "zz";
import type { Index } from "./index-view.ts";
import { SCRIPT } from "./resolve/paths.ts";
import { filesUsing } from "./rows.ts";

/** Whether a rule may keep from reading what was read before. */
export const deniesReading = ({ permissions }: Ctx): boolean =>
  permissions.rules.some(
    ({ kind: ruleKind, verdict }) => ruleKind === "read" && verdict !== "allow",
  );
export const mayRead = ({ permissions }: Ctx, filePath: string): boolean =>
  permissions.judge("read", filePath).verdict === "allow";
/** The same, for one answer: each file is judged once. */
export function readability(
  ctx: Ctx,
  isThere: (filePath: string) => boolean,
): (filePath: string) => boolean {
  const judgedFiles = new Map<string, boolean>();
  return (filePath) => {
    if (!judgedFiles.has(filePath))
      judgedFiles.set(filePath, mayRead(ctx, filePath) && isThere(filePath));
    return judgedFiles.get(filePath)!;
  };
}

/** The files of TypeScript and JavaScript that use a name. */
export const scriptsUsing = (index: Index, symbolName: string, ctx: Ctx): string[] =>
  filesUsing(index, symbolName).filter(
    (filePath) => SCRIPT.test(filePath) && mayRead(ctx, filePath),
  );

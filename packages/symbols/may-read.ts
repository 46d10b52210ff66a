// Which files the rules let the tools read.
import type { Ctx } from "zz";

/** Whether a rule may keep from reading what was read before. */
export const deniesReading = ({ permissions }: Ctx): boolean =>
  permissions.rules.some(
    ({ kind: ruleKind, verdict }) => ruleKind === "read" && verdict !== "allow",
  );
export const mayRead = ({ permissions }: Ctx, filePath: string): boolean =>
  permissions.judge("read", filePath).verdict === "allow";
/** The same, for one answer: each file is judged once. */
export function readability(ctx: Ctx): (filePath: string) => boolean {
  const judgedFiles = new Map<string, boolean>();
  return (filePath) => {
    if (!judgedFiles.has(filePath)) judgedFiles.set(filePath, mayRead(ctx, filePath));
    return judgedFiles.get(filePath)!;
  };
}

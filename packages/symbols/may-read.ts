// Which files the rules let the tools read.
import type { Ctx } from "zz";

/** Whether a rule may keep from reading what was read before. */
export const deniesReading = ({ permissions }: Ctx): boolean =>
  permissions.rules.some(
    ({ kind: ruleKind, verdict }) => ruleKind === "read" && verdict !== "allow",
  );
export const mayRead = ({ permissions }: Ctx, name: string): boolean =>
  permissions.judge("read", name).verdict === "allow";
/** The same, for one answer: each file is judged once. */
export function readability(ctx: Ctx): (file: string) => boolean {
  const judged = new Map<string, boolean>();
  return (file) => {
    if (!judged.has(file)) judged.set(file, mayRead(ctx, file));
    return judged.get(file)!;
  };
}

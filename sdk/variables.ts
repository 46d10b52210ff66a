// The variables that the person keeps for commands with /env, and texts without their values.
import { readFileSync, statSync } from "node:fs";

/** Shorter values are too common to be distinguishable from other words. */
export const MIN_VALUE_CHARS = 6;

/** The kept variables, by name. The error is not JSON.parse's own, since that would show values. */
export function keptVariables(homeFolder: string): Record<string, string> {
  const variablesFile = `${homeFolder}/env.json`;
  if (!statSync(variablesFile, { throwIfNoEntry: false })?.isFile()) return {};
  try {
    const keptEntries = Object.entries(JSON.parse(readFileSync(variablesFile, "utf8")) as object);
    return Object.fromEntries(
      keptEntries.filter(
        ([variableName, variableValue]) =>
          /^[A-Za-z_]\w*$/.test(variableName) && typeof variableValue === "string",
      ),
    );
  } catch {
    throw new Error(
      `Cannot use '${variablesFile}': it is not readable as JSON. Fix it, or move it away.`,
    );
  }
}

/** Replaces the values of variables with their names. */
export function withoutValues(sourceText: string, variables: Record<string, string>): string {
  const longVariables = Object.entries(variables).filter(
    ([, variableValue]) => variableValue.length >= MIN_VALUE_CHARS,
  );
  const longestFirst = longVariables.sort(
    ([, firstValue], [, secondValue]) => secondValue.length - firstValue.length,
  );
  return longestFirst.reduce(
    (maskedText, [variableName, variableValue]) =>
      maskedText.replaceAll(variableValue, () => `[value of ${variableName}]`),
    sourceText,
  );
}

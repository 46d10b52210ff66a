// The variables that the person keeps for commands with /env, and texts without their values.
import { readFileSync, statSync } from "node:fs";

/** Shorter values are too common to be distinguishable from other words. */
export const MIN_VALUE_CHARS = 6;

/** The kept variables, by name. The error is not JSON.parse's own, since that would show values. */
export function keptVariables(home: string): Record<string, string> {
  const file = `${home}/env.json`;
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return {};
  try {
    const kept = Object.entries(JSON.parse(readFileSync(file, "utf8")) as object);
    return Object.fromEntries(
      kept.filter(([name, value]) => /^[A-Za-z_]\w*$/.test(name) && typeof value === "string"),
    );
  } catch {
    throw new Error(`Cannot use '${file}': it is not readable as JSON. Fix it, or move it away.`);
  }
}

/** Replaces the values of variables with their names. */
export function withoutValues(text: string, variables: Record<string, string>): string {
  const long = Object.entries(variables).filter(([, value]) => value.length >= MIN_VALUE_CHARS);
  const first = long.sort(([, a], [, two]) => two.length - a.length);
  return first.reduce(
    (shown, [name, value]) => shown.replaceAll(value, () => `[value of ${name}]`),
    text,
  );
}

// variables: those that the person keeps for commands with /env, in env.json of the home: { "NAME": "value" }.
import fs from "node:fs";
import path from "node:path";

export type Variables = Record<string, string>;
const MIN_SECRET_CHARS = 6; // shorter values are too common to be told from other words

export function variables(home: string): Variables {
  const file = path.join(home, "env.json");
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return {};
  try {
    const kept = Object.entries(JSON.parse(fs.readFileSync(file, "utf8")) as object);
    return Object.fromEntries(kept.filter(([name, value]) => /^[A-Za-z_]\w*$/.test(name) && typeof value === "string"));
  } catch {
    // The error's own message would show values.
    throw new Error(`Cannot use '${file}': it is not readable as JSON. Fix it, or move it away.`);
  }
}

/** Replaces values with their names. */
export function withoutValues(text: string, own: Variables): string {
  const long = Object.entries(own).filter(([, value]) => value.length >= MIN_SECRET_CHARS);
  const first = long.sort(([, one], [, two]) => two.length - one.length);
  return first.reduce((shown, [name, value]) => shown.replaceAll(value, () => `[value of ${name}]`), text);
}

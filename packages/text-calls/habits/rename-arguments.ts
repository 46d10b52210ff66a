// Renames arguments to zz's own names.
import type { ChatRequest } from "zz";
import { type Habit, IDLE } from "./table.ts";

export type Args = Record<string, unknown>;
type Tools = ChatRequest["tools"];

export const isArgs = (value: unknown): value is Args =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const bareName = (name: string): string => name.replace(/[-_.]/g, "").toLowerCase();
export const bareNames = (names: string): string[] => names.split(" ").map(bareName);

function isOf(property: Args | undefined, value: unknown): boolean {
  const type = Array.isArray(value) ? "array" : typeof value;
  return (
    !property?.type || property.type === type || (property.type === "integer" && type === "number")
  );
}

/** Whether the tool has exactly that parameter: a plugin's tool may have replaced zz's. */
export const hasOwnName = ({ schema }: Tools[number], name: string): boolean =>
  Object.hasOwn((schema.properties ?? {}) as object, name);

/**
 * Renames parameters to zz's names. Unknown ones stay, so that the result says what had no effect.
 */
export function renameArgs(
  args: Args,
  { params, idle = "" }: Pick<Habit, "params" | "idle">,
  tool?: Tools[number],
): Args {
  const properties = (tool?.schema.properties ?? {}) as Record<string, Args>;
  const remaining = new Map(
    Object.entries(args).filter(
      ([key, value]) => key !== "__proto__" && value !== null && value !== undefined,
    ),
  );
  const ownArgs: Args = {};
  for (const name of new Set([...Object.keys(params), ...Object.keys(properties)]))
    for (const alias of [name, ...(Object.hasOwn(params, name) ? params[name]!.split(" ") : [])])
      for (const [key, value] of remaining) {
        if (
          bareName(key) !== bareName(alias) ||
          (key !== name && Object.hasOwn(properties, key) && isOf(properties[key], value))
        )
          continue;
        if (!(name in ownArgs)) ownArgs[name] = value;
        // a second value stays, and is reported
        else if (JSON.stringify(ownArgs[name]) !== JSON.stringify(value)) continue;
        remaining.delete(key);
      }
  for (const [key, value] of remaining)
    if (!isIdle(key, value, `${IDLE} ${idle}`)) ownArgs[key] = value;
  return ownArgs;
}

/** Whether a parameter that zz does not have makes no difference. */
function isIdle(key: string, value: unknown, idle: string): boolean {
  if (typeof value === "object" && !Object.keys(value ?? {}).length) return true;
  const plainValue = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return idle.split(" ").some((idleWord) => {
    const [name = "", ...equals] = idleWord.split("=");
    return (
      bareName(name) === bareName(key) &&
      (!equals.length || equals.join("=") === String(plainValue).toLowerCase())
    );
  });
}

/** A path inside of a folder, relative to that folder; anything else unchanged. */
export function withoutFolder<T>(value: T, folder: string): T | string {
  if (typeof value !== "string" || (value !== folder && !value.startsWith(`${folder}/`)))
    return value;
  return value.slice(folder.length + 1).replace(/^\/+/, "") || ".";
}

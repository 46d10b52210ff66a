// Renames arguments to zz's own names.
import type { ChatRequest } from "zz";
import { type Habit, IDLE } from "./table.ts";

export type Args = Record<string, unknown>;
type Tools = ChatRequest["tools"];

export const bareName = (fullName: string): string => fullName.replace(/[-_.]/g, "").toLowerCase();
export const bareNames = (spacedNames: string): string[] => spacedNames.split(" ").map(bareName);

function isOfType(property: Args | undefined, value: unknown): boolean {
  const valueType = Array.isArray(value) ? "array" : typeof value;
  return (
    !property?.type ||
    property.type === valueType ||
    (property.type === "integer" && valueType === "number")
  );
}

/** Whether the tool has exactly that parameter: a plugin's tool may have replaced zz's. */
export const hasOwnName = ({ schema }: Tools[number], argumentName: string): boolean =>
  Object.hasOwn((schema.properties ?? {}) as object, argumentName);

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
      ([argumentName, argumentValue]) =>
        argumentName !== "__proto__" && argumentValue !== null && argumentValue !== undefined,
    ),
  );
  const ownArgs: Args = {};
  for (const ownName of new Set([...Object.keys(params), ...Object.keys(properties)]))
    for (const alias of [
      ownName,
      ...(Object.hasOwn(params, ownName) ? params[ownName]!.split(" ") : []),
    ])
      for (const [argumentName, argumentValue] of remaining) {
        if (
          bareName(argumentName) !== bareName(alias) ||
          (argumentName !== ownName &&
            Object.hasOwn(properties, argumentName) &&
            isOfType(properties[argumentName], argumentValue))
        )
          continue;
        if (!(ownName in ownArgs)) ownArgs[ownName] = argumentValue;
        // a second value stays, and is reported
        else if (JSON.stringify(ownArgs[ownName]) !== JSON.stringify(argumentValue)) continue;
        remaining.delete(argumentName);
      }
  for (const [argumentName, argumentValue] of remaining)
    if (!isIdle(argumentName, argumentValue, `${IDLE} ${idle}`))
      ownArgs[argumentName] = argumentValue;
  return ownArgs;
}

/** Whether a parameter that zz does not have makes no difference. */
function isIdle(argumentName: string, argumentValue: unknown, idleWords: string): boolean {
  if (typeof argumentValue === "object" && !Object.keys(argumentValue ?? {}).length) return true;
  const plainValue =
    Array.isArray(argumentValue) && argumentValue.length === 1 ? argumentValue[0] : argumentValue;
  return idleWords.split(" ").some((idleWord) => {
    const [idleName = "", ...idleValue] = idleWord.split("=");
    return (
      bareName(idleName) === bareName(argumentName) &&
      (!idleValue.length || idleValue.join("=") === String(plainValue).toLowerCase())
    );
  });
}

/** A path inside of a folder, relative to that folder; anything else unchanged. */
export function withoutFolder<T>(pathValue: T, baseFolder: string): T | string {
  if (
    typeof pathValue !== "string" ||
    (pathValue !== baseFolder && !pathValue.startsWith(`${baseFolder}/`))
  )
    return pathValue;
  return pathValue.slice(baseFolder.length + 1).replace(/^\/+/, "") || ".";
}

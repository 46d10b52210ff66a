// The table of zz's own settings.
import { KINDS, type Settings } from "../contract.ts";
import type { Shape } from "../text/json-schema.ts";
import shapes from "./own-settings.json" with { type: "json" };

const LIST = {
  anyOf: [{ const: true }, { type: "array", items: { type: "string", minLength: 1 } }],
};
const RULES = {
  type: "object",
  properties: Object.fromEntries(KINDS.map((kind) => [kind, LIST])),
  additionalProperties: false,
};
export const ENDPOINT = { type: "object", properties: shapes.endpoint };
/** Rounds of tools in a turn, and seconds that a provider may be silent, where nobody says. */
export const [ROUNDS, SILENCE_SECONDS] = [shapes.own.rounds.default, shapes.own.timeout.default];

/**
 * What a project may set here: everything, or what this function returns; nothing unless it is
 * given.
 */
type Say = true | ((given: any, own: Settings) => unknown);
export const BY_PROJECT: Record<string, Say> = {
  $schema: true,
  model: (given, own) => (isKnown(given, own) ? given : undefined),
  models: (given: object, own) => only(given, (_, model) => isKnown(model, own)),
  window: (given: number, { window }) => (given <= (window ?? given) ? given : undefined),
  rounds: (given, own) => within(given, own.rounds ?? ROUNDS),
  timeout: (given, own) => within(given, own.timeout ?? SILENCE_SECONDS),
  permissions: (given: object) => only(given, (key) => /^(deny|ask|only)$/.test(key)),
};

const permissions = {
  ...shapes.own.permissions,
  properties: { allow: RULES, ask: RULES, deny: RULES, only: RULES },
};
const providers = { ...shapes.own.providers, additionalProperties: ENDPOINT };
/**
 * zz's own settings: how they are checked, what /config and editors say about them. All others
 * belong to plugins.
 */
export const SETTINGS: Record<string, Shape & { description: string }> = {
  ...shapes.own,
  providers,
  permissions,
};
export const OWN: Shape = { type: "object", properties: SETTINGS };
export const OPEN = ["options"]; // plugins know what is in it
export const isOwn = (name: string): boolean => Object.hasOwn(SETTINGS, name);

/**
 * A project may choose among the models of the person's provider; with any other, its files would
 * go elsewhere.
 */
export function isKnown(model: unknown, { model: chosen, models }: Settings): boolean {
  const provider = (name: unknown) => String(name).split("/")[0];
  return [chosen, ...Object.values(models ?? {})]
    .filter((name) => name !== undefined)
    .some((name) => provider(name) === provider(model));
}

/** A project may lower a limit (0: no limit), but not so far that nothing could be done. */
const within = (given: number, most: number): number | undefined =>
  given >= 1 && (most === 0 || given <= most) ? given : undefined;

export function only(
  given: object,
  fit: (key: string, value: unknown) => boolean,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key, value]) => fit(key, value)));
}

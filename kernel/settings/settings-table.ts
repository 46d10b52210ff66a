// The table of zz's own settings.
import { KINDS, type Settings } from "../contract.ts";
import type { Shape } from "../text/json-schema.ts";
import shapes from "./own-settings.json" with { type: "json" };

const NAME_LIST = {
  anyOf: [{ const: true }, { type: "array", items: { type: "string", minLength: 1 } }],
};
const RULES = {
  type: "object",
  properties: Object.fromEntries(KINDS.map((needKind) => [needKind, NAME_LIST])),
  additionalProperties: false,
};
export const ENDPOINT = { type: "object", properties: shapes.endpoint };
/** Rounds of tools in a turn, and seconds that a provider may be silent, where nobody says. */
export const [ROUNDS, SILENCE_SECONDS] = [shapes.own.rounds.default, shapes.own.timeout.default];

/**
 * What a project may set here: everything, or what this function returns; nothing unless it is
 * given.
 */
type ProjectRight = true | ((value: any, ownSettings: Settings) => unknown);
export const BY_PROJECT: Record<string, ProjectRight> = {
  $schema: true,
  model: (value, ownSettings) => (usesKnownProvider(value, ownSettings) ? value : undefined),
  models: (models: object, ownSettings) =>
    pickKeys(models, (_, model) => usesKnownProvider(model, ownSettings)),
  window: (wantedWindow: number, { window }) =>
    wantedWindow <= (window ?? wantedWindow) ? wantedWindow : undefined,
  rounds: (rounds, ownSettings) => withinLimit(rounds, ownSettings.rounds ?? ROUNDS),
  timeout: (seconds, ownSettings) => withinLimit(seconds, ownSettings.timeout ?? SILENCE_SECONDS),
  permissions: (permissions: object) =>
    pickKeys(permissions, (key) => /^(deny|ask|only)$/.test(key)),
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
export const KERNEL_SETTINGS: Shape = { type: "object", properties: SETTINGS };
export const OPEN_SETTINGS = ["options"]; // plugins know what is in it
export const isKernelSetting = (name: string): boolean => Object.hasOwn(SETTINGS, name);

/**
 * A project may choose among the models of the person's provider; with any other, its files would
 * go elsewhere.
 */
export function usesKnownProvider(model: unknown, { model: chosen, models }: Settings): boolean {
  const provider = (name: unknown) => String(name).split("/")[0];
  return [chosen, ...Object.values(models ?? {})]
    .filter((name) => name !== undefined)
    .some((name) => provider(name) === provider(model));
}

/** A project may lower a limit (0: no limit), but not so far that nothing could be done. */
const withinLimit = (value: number, ownLimit: number): number | undefined =>
  value >= 1 && (ownLimit === 0 || value <= ownLimit) ? value : undefined;

export function pickKeys(
  settings: object,
  fit: (key: string, value: unknown) => boolean,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([key, value]) => fit(key, value)));
}

// The table of zz's own settings.
import { KINDS, type Settings } from "../contract.ts";
import type { Shape } from "../text/json-schema.ts";
import { pickKeys } from "../text/words.ts";
import shapes from "./own-settings.json" with { type: "json" };

const NAME_LIST = {
  anyOf: [{ const: true }, { type: "array", items: { type: "string", minLength: 1 } }],
};
const RULE_LISTS = {
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
type ProjectRight = true | ((wantedValue: any, ownSettings: Settings) => unknown);
export const BY_PROJECT: Record<string, ProjectRight> = {
  $schema: true,
  model: (wantedModel, ownSettings) =>
    usesKnownProvider(wantedModel, ownSettings) ? wantedModel : undefined,
  models: (wantedModels: object, ownSettings) =>
    pickKeys(wantedModels, (_, wantedModel) => usesKnownProvider(wantedModel, ownSettings)),
  window: (wantedWindow: number, { window }) =>
    wantedWindow <= (window ?? wantedWindow) ? wantedWindow : undefined,
  rounds: (wantedRounds, ownSettings) => withinLimit(wantedRounds, ownSettings.rounds ?? ROUNDS),
  timeout: (seconds, ownSettings) => withinLimit(seconds, ownSettings.timeout ?? SILENCE_SECONDS),
  permissions: (permissions: object) =>
    pickKeys(permissions, (verdictName) => /^(deny|ask|only)$/.test(verdictName)),
};

const permissions = {
  ...shapes.own.permissions,
  properties: { allow: RULE_LISTS, ask: RULE_LISTS, deny: RULE_LISTS, only: RULE_LISTS },
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
export const isKernelSetting = (settingName: string): boolean =>
  Object.hasOwn(SETTINGS, settingName);

/**
 * A project may choose among the models of the person's provider; with any other, its files would
 * go elsewhere.
 */
export function usesKnownProvider(
  wantedModel: unknown,
  { model: chosen, models }: Settings,
): boolean {
  const provider = (modelName: unknown) => String(modelName).split("/")[0];
  return [chosen, ...Object.values(models ?? {})]
    .filter((modelName) => modelName !== undefined)
    .some((modelName) => provider(modelName) === provider(wantedModel));
}

/** A project may lower a limit (0: no limit), but not so far that nothing could be done. */
const withinLimit = (wantedLimit: number, ownLimit: number): number | undefined =>
  wantedLimit >= 1 && (ownLimit === 0 || wantedLimit <= ownLimit) ? wantedLimit : undefined;

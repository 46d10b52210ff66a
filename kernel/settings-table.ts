// The table of zz's own settings.
import { KINDS, type Settings } from "./contract.ts";
import type { Shape } from "./shape.ts";

const TEXT = { type: "string" };
const AMOUNT = { type: "number", minimum: 0, maximum: 1_000_000_000 };
const LIST = { anyOf: [{ const: true }, { type: "array", items: { type: "string", minLength: 1 } }] };
const RULES = { type: "object", properties: Object.fromEntries(KINDS.map((kind) => [kind, LIST])), additionalProperties: false };
export const ENDPOINT = {
  type: "object",
  properties: {
    url: { ...TEXT, description: "where it is" },
    key: { ...TEXT, description: "its key; /keys keeps one apart from the settings" },
    key_command: { ...TEXT, description: "a command that prints its key, run when it is first needed" },
    like: { ...TEXT, description: "the provider that it is another of" },
    model: { ...TEXT, description: "the model to ask when none is named" },
    wire: { ...TEXT, description: "what it speaks, where there is a choice: chat or responses" },
    organization: { ...TEXT, description: "whom it is billed to" },
    project: { ...TEXT, description: "of that organization" },
    headers: { type: "object", description: "what else goes with each request" },
  },
};

/** What a project may set here: everything, or what this function returns; nothing unless it is given. */
type Say = true | ((given: any, own: Settings) => unknown);

/** zz's own settings: how they are checked, what /config and editors say about them. All others belong to plugins. */
export const SETTINGS: Record<string, Shape & { description: string; project?: Say }> = {
  $schema: { ...TEXT, description: "the schema that an editor completes from", project: true },
  model: {
    ...TEXT,
    description: "the model to ask, as provider/model",
    project: (given, own) => (isKnown(given, own) ? given : undefined),
  },
  models: {
    type: "object",
    properties: {
      chat: { ...TEXT, description: "the model to ask, where no other is named" },
      summary: { ...TEXT, description: "the one that sums up a long conversation" },
      eval: { ...TEXT, description: "the one that checks an answer" },
      code: { ...TEXT, description: "the one for prompt files of the task code, such as /review" },
      title: { ...TEXT, description: "the one that gives a conversation its title" },
      helper: { ...TEXT, description: "the one for what plugins ask beside a conversation" },
    },
    additionalProperties: TEXT,
    description: "models by task; also by a plugin's own",
    project: (given: object, own) => only(given, (_, model) => isKnown(model, own)),
  },
  window: {
    ...{ type: "number", exclusiveMinimum: 0, maximum: 100_000_000 },
    description: "tokens that the model takes in, where its provider does not say",
    project: (given: number, { window }) => (given <= (window ?? given) ? given : undefined),
  },
  disabled: { type: "array", items: { type: "string", minLength: 1 }, description: "plugins to leave out, by name" },
  rounds: {
    ...AMOUNT,
    description: "rounds of tools before zz stops (0: no limit)",
    project: (given, own) => within(given, own.rounds ?? 30),
  },
  timeout: {
    ...AMOUNT,
    description: "seconds that a provider may be silent (0: no limit)",
    project: (given, own) => within(given, own.timeout ?? 300),
  },
  budget: { anyOf: [AMOUNT, { type: "object" }], description: "dollars that a conversation may cost before zz asks" },
  options: { type: "object", description: "for the provider, such as { temperature: 0 }" },
  providers: { type: "object", additionalProperties: ENDPOINT, description: "where each provider is: { name: { url } }" },
  projects: { description: 'other folders: { id: { path, rights: "read" or "write", about } }' }, // the gate checks it
  permissions: {
    type: "object",
    properties: { allow: RULES, ask: RULES, deny: RULES, only: RULES },
    additionalProperties: false,
    description: "what tools may do without asking, what they always ask for, and what never",
    project: (given: object) => only(given, (key) => /^(deny|ask|only)$/.test(key)),
  },
};
export const OPEN = ["options"]; // plugins know what is in it
export const isOwn = (name: string): boolean => Object.hasOwn(SETTINGS, name);

/** A project may choose among the models of the person's provider; with any other, its files would go elsewhere. */
export function isKnown(model: unknown, { model: chosen, models }: Settings): boolean {
  const provider = (name: unknown) => String(name).split("/")[0];
  const own = [chosen, ...Object.values(models ?? {})].filter((name) => name !== undefined);
  return own.some((name) => provider(name) === provider(model));
}

/** A project may lower a limit (0: no limit), but not so far that nothing could be done. */
const within = (given: number, most: number): number | undefined => (given >= 1 && (most === 0 || given <= most) ? given : undefined);

export function only(given: object, fit: (key: string, value: unknown) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key, value]) => fit(key, value)));
}

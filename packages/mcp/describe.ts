// A server's descriptions of its tools, as the model reads them: cleaned, cut, and marked as the
// server's words.
import { clean, clip, oneLine } from "zz/text";
import { hashOf } from "./settings.ts";

/** What a server reported about itself, as the home keeps it. */
export interface Catalog {
  tools: KnownTool[];
  prompts: KnownPrompt[];
  resources?: boolean; // whether it has any
  era?: "legacy"; // it is greeted as servers were up to 2025
  gone?: KnownTool[]; // tools that it had before: one that comes back must be what it was
}
export interface KnownTool {
  name: string; // the server's name for it
  description: string;
  schema: Record<string, unknown>;
  hints?: Hints;
  pin: string; // a hash of all of the above, as the server sent it
}
type Hints = { readOnlyHint?: boolean; destructiveHint?: boolean; openWorldHint?: boolean };
export type KnownPrompt = {
  name: string;
  description: string;
  args: { name: string; required: boolean }[];
};

const [MAX_DESCRIPTION, MAX_INNER_TEXT, MAX_DEPTH, MAX_NODES] = [1_000, 300, 12, 2_000];

export function knownTool({
  name,
  description = "",
  title = "",
  inputSchema,
  annotations,
}: any): KnownTool {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations ?? {};
  const hints = Object.fromEntries(
    Object.entries({ readOnlyHint, destructiveHint, openWorldHint }).filter(
      ([, hint]) => typeof hint === "boolean",
    ),
  );
  const cleaned = plain(String(description || title || annotations?.title || ""));
  return {
    name: String(name),
    description:
      cleaned.length > MAX_DESCRIPTION ? `${cleaned.slice(0, MAX_DESCRIPTION)} …` : cleaned,
    schema: { properties: {}, ...(cleanSchema(inputSchema) as object), type: "object" },
    ...(Object.keys(hints).length && { hints }),
    pin: hashOf([name, description, title, inputSchema, annotations]),
  };
}

/** The text without invisible characters, which could hide words. */
const plain = (text: string): string => clean(text).replace(UNSEEN, "").trim();
const UNSEEN = /[\p{Cf}\p{Co}\p{Cn}]/gu;

/**
 * Patterns could keep a matcher busy for ever, references could point elsewhere, and the server
 * checks anyway.
 */
const LEFT_OUT =
  /^(\$schema|\$id|\$anchor|\$dynamic\w+|pattern|patternProperties|format|contentEncoding|contentMediaType)$/;

function cleanSchema(schema: unknown): unknown {
  let nodes = 0;
  return visit(schema, 0, false);

  /** `names`: the keys are names of parameters, not keywords of JSON Schema. */
  function visit(value: unknown, depth: number, names: boolean): unknown {
    if (typeof value === "string") return plain(value).slice(0, MAX_INNER_TEXT);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH || ++nodes > MAX_NODES) return {};
    if (Array.isArray(value))
      return value.slice(0, MAX_NODES).map((element) => visit(element, depth + 1, false));
    const kept = Object.entries(value).filter(([key, inner]) => {
      if (names) return true;
      return !LEFT_OUT.test(key) && !(key === "$ref" && !/^#(\/|$)/.test(String(inner)));
    });
    const inner = (key: string) =>
      !names && /^(properties|\$defs|definitions|dependentSchemas)$/.test(key);
    return Object.fromEntries(
      kept.map(([key, child]) => [key, visit(child, depth + 1, inner(key))]),
    );
  }
}

/** Phrases in descriptions that try to steer the model instead of describing a tool. */
const STEERS = [
  /\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|other|all)\b.{0,40}\b(instruction|rule|prompt|message|tool)/i,
  /<\/?\s*(important|system|instructions?|assistant|user|human|secret|tool_?calls?)\b[^>]*>/i,
  /\b(do not|don't|never|without)\b.{0,40}\b(tell|telling|mention\w*|inform\w*|notify\w*|reveal\w*|alert\w*)\b.{0,40}\b(user|person|human|anyone|them)\b/i,
  /\b(you must|always|be sure to|make sure to)\b.{0,60}\b(before|instead of|prior to)\b.{0,30}\b(any|every|other|all|another)\b.{0,20}\btools?\b/i,
  /\bsystem prompt\b|\bjailbreak\b|~\/\.ssh\b|\bid_rsa\b/i,
  /\b(read|send|include|pass|attach|upload)\b.{0,60}(\.env\b|\bapi keys?\b|\bcredentials\b|\bpasswords?\b|\bconversation history\b)/i,
];

/** The text of a tool that tries to steer the model; undefined if there is none. */
export function steering({
  description,
  schema,
}: Pick<KnownTool, "description" | "schema">): string | undefined {
  const texts = [description, ...textsIn(schema)];
  const match = texts.find((text) => STEERS.some((words) => words.test(text)));
  return match && clip(oneLine(match), 400);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * A tool's name in zz: its server's, two underscores, its own; cut and cleaned so that every
 * provider accepts it.
 */
export function toolName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const fullName = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  if (fullName.length <= 64 && !isTaken(fullName)) return fullName;
  return `${fullName.slice(0, 57)}_${hashOf([server, tool]).slice(0, 6)}`;
}

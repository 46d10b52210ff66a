// A server's descriptions of its tools, as the model reads them: cleaned, cut, and marked as the
// server's words.
import { anyOf, clean, clip, oneLine } from "zz/text";
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
      ([, hintValue]) => typeof hintValue === "boolean",
    ),
  );
  const cleaned = stripUnseen(String(description || title || annotations?.title || ""));
  return {
    name: String(name),
    description:
      cleaned.length > MAX_DESCRIPTION ? `${cleaned.slice(0, MAX_DESCRIPTION)} …` : cleaned,
    schema: { properties: {}, ...(cleanSchema(inputSchema) as object), type: "object" },
    ...(Object.keys(hints).length && { hints }),
    pin: hashOf([name, description, title, inputSchema, annotations]),
  };
}

/** A server's own name for something, as the person and the model read it: one line. */
export const shownName = (remoteName: string): string => clip(oneLine(stripUnseen(remoteName)), 80);

/** The text without invisible characters, which could hide words. */
const stripUnseen = (serverText: string): string =>
  clean(serverText).replace(UNSEEN_CHARS, "").trim();
const UNSEEN_CHARS = /[\p{Cf}\p{Co}\p{Cn}]/gu;

/**
 * Patterns could keep a matcher busy for ever, references could point elsewhere, and the server
 * checks anyway.
 */
const LEFT_OUT = anyOf(
  /^(\$schema|\$id|\$anchor|\$dynamic\w+|pattern|patternProperties)$/,
  /^(format|contentEncoding|contentMediaType)$/,
);

function cleanSchema(schema: unknown): unknown {
  let visitedNodes = 0;
  return cleanNode(schema, 0, false);

  /** `isNameMap`: the keys are names of parameters, not keywords of JSON Schema. */
  function cleanNode(schemaNode: unknown, depth: number, isNameMap: boolean): unknown {
    if (typeof schemaNode === "string") return stripUnseen(schemaNode).slice(0, MAX_INNER_TEXT);
    if (typeof schemaNode !== "object" || schemaNode === null) return schemaNode;
    if (depth > MAX_DEPTH || ++visitedNodes > MAX_NODES) return {};
    if (Array.isArray(schemaNode))
      return schemaNode.slice(0, MAX_NODES).map((element) => cleanNode(element, depth + 1, false));
    const keptEntries = Object.entries(schemaNode).filter(([keyword, keywordValue]) => {
      if (isNameMap) return true;
      return (
        !LEFT_OUT.test(keyword) && !(keyword === "$ref" && !/^#(\/|$)/.test(String(keywordValue)))
      );
    });
    const holdsNames = (keyword: string) =>
      !isNameMap && /^(properties|\$defs|definitions|dependentSchemas)$/.test(keyword);
    return Object.fromEntries(
      keptEntries.map(([keyword, childNode]) => [
        keyword,
        cleanNode(childNode, depth + 1, holdsNames(keyword)),
      ]),
    );
  }
}

/** One pattern that fits where these do, one right after the other; its flags are the first's. */
const inOrder = (...patterns: [RegExp, ...RegExp[]]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join(""), patterns[0].flags);

/** Phrases in descriptions that try to steer the model instead of describing a tool. */
const STEERING_PATTERNS = [
  inOrder(
    /\b(ignore|disregard|forget|override)\b.{0,40}/i,
    /\b(previous|prior|above|earlier|other|all)\b.{0,40}/i,
    /\b(instruction|rule|prompt|message|tool)/i,
  ),
  /<\/?\s*(important|system|instructions?|assistant|user|human|secret|tool_?calls?)\b[^>]*>/i,
  inOrder(
    /\b(do not|don't|never|without)\b.{0,40}/i,
    /\b(tell|telling|mention\w*|inform\w*|notify\w*|reveal\w*|alert\w*)\b.{0,40}/i,
    /\b(user|person|human|anyone|them)\b/i,
  ),
  inOrder(
    /\b(you must|always|be sure to|make sure to)\b.{0,60}/i,
    /\b(before|instead of|prior to)\b.{0,30}/i,
    /\b(any|every|other|all|another)\b.{0,20}\btools?\b/i,
  ),
  /\bsystem prompt\b|\bjailbreak\b|~\/\.ssh\b|\bid_rsa\b/i,
  inOrder(
    /\b(read|send|include|pass|attach|upload)\b.{0,60}/i,
    /(\.env\b|\bapi keys?\b|\bcredentials\b|\bpasswords?\b|\bconversation history\b)/i,
  ),
];

/** The text of a description that tries to steer the model; undefined if there is none. */
export function steering(described: unknown): string | undefined {
  const steeringText = textsIn(described).find((describedText) =>
    STEERING_PATTERNS.some((pattern) => pattern.test(describedText)),
  );
  return steeringText && clip(oneLine(steeringText), 400);
}

function textsIn(schemaNode: unknown): string[] {
  if (typeof schemaNode === "string") return [schemaNode];
  return typeof schemaNode === "object" && schemaNode !== null
    ? Object.values(schemaNode).flatMap(textsIn)
    : [];
}

/**
 * A tool's name in zz: its server's, two underscores, its own; cut and cleaned so that every
 * provider accepts it.
 */
export function toolName(
  serverName: string,
  remoteName: string,
  takenNames: string[] = [],
): string {
  const fullName = `${serverName}__${remoteName.replace(/[^\w-]/g, "_")}`;
  if (fullName.length <= 64 && !takenNames.includes(fullName)) return fullName;
  return `${fullName.slice(0, 57)}_${hashOf([serverName, remoteName]).slice(0, 6)}`;
}

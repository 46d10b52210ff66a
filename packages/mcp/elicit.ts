// A server asks the person for something: one question per field. Without a terminal the server
// gets "cancel".
import type { Ctx } from "zz";
import { clean, clip, oneLine } from "zz/text";

type Field = {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  oneOf?: any[];
  items?: any;
} & Record<string, any>;
const [MAX_FIELDS, MAX_TRIES] = [12, 3];
const words = (text: unknown, maxChars = 400): string =>
  clip(oneLine(clean(String(text ?? ""))), maxChars);

export async function elicit(
  server: string,
  { message, requestedSchema }: any,
  ctx: Ctx,
  acceptsDefaults = false,
): Promise<object> {
  const fields = Object.entries((requestedSchema?.properties ?? {}) as Record<string, Field>).slice(
    0,
    MAX_FIELDS,
  );
  if (!ctx.ask && acceptsDefaults) {
    const content = Object.fromEntries(
      fields.flatMap(([name, { default: defaultValue }]) =>
        defaultValue === undefined ? [] : [[name, defaultValue]],
      ),
    );
    const isWhole = (requestedSchema?.required ?? []).every((name: string) => name in content);
    ctx.note(
      `MCP server '${server}' asked: ${words(message)} ${isWhole ? `It got ${words(JSON.stringify(content))}.` : "Not all that it wants has a default."}`,
    );
    return isWhole ? { action: "accept", content } : { action: "cancel" };
  }
  if (!ctx.ask) {
    ctx.note(
      `MCP server '${server}' asked for something, and there is no terminal to ask on: ${words(message)}`,
    );
    return { action: "cancel" };
  }
  const names = fields.map(([name, { title }]) => words(title ?? name, 60)).join(", ");
  const wants = names ? ` It wants: ${names}. Give it no password.` : "";
  const key = await ctx.ask(
    `MCP server '${server}' asks: ${words(message)}${wants}\nAnswer it? [y]es, [n]o: `,
    "yn",
  );
  if (key !== "y") return { action: key === "n" ? "decline" : "cancel" };
  const content: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const value = await answerFor(
      name,
      field,
      requestedSchema.required?.includes(name) === true,
      ctx,
    );
    if (value === CANCELLED) return { action: "cancel" };
    if (value !== undefined) content[name] = value;
  }
  return { action: "accept", content };
}

const CANCELLED = Symbol("the person left the question");

async function answerFor(
  name: string,
  field: Field,
  required: boolean,
  ctx: Ctx,
): Promise<unknown> {
  const title = words(field.title ?? name, 80);
  const about = field.description ? ` (${words(field.description, 200)})` : "";
  const otherwise = field.default === undefined ? "" : ` [${words(field.default, 60)}]`;
  const choices = field.enum ?? field.oneOf?.map((option) => option.const);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (choices?.length && ctx.pick) {
      const picked = await ctx.pick(`${title}${about}`, choices.map(String));
      if (picked !== undefined) return choices.find((choice) => String(choice) === picked);
      return required ? CANCELLED : field.default;
    }
    const yesOrNo = field.type === "boolean" ? " (yes or no)" : "";
    const hint = choices ? ` (${choices.map((choice) => words(choice, 40)).join(", ")})` : yesOrNo;
    const typed = (await ctx.ask!(`${title}${about}${hint}${otherwise}: `)).trim();
    if (!typed && field.default !== undefined) return field.default;
    if (!typed && !required) return undefined;
    const { value, wrong } = valueFrom(typed, field, choices);
    if (!wrong) return value;
    ctx.note(`'${title}' ${wrong}.`);
  }
  return CANCELLED;
}

function valueFrom(
  typed: string,
  { type, minimum, maximum, minLength = 0, maxLength, items }: Field,
  choices?: unknown[],
): { value?: unknown; wrong?: string } {
  if (!typed) return { wrong: "must be said" };
  if (choices) {
    const value = choices.find((choice) => String(choice).toLowerCase() === typed.toLowerCase());
    return value === undefined ? { wrong: `must be one of ${choices.join(", ")}` } : { value };
  }
  if (type === "boolean")
    return /^(y|yes|true|n|no|false)$/i.test(typed)
      ? { value: /^(y|true)/i.test(typed) }
      : { wrong: "must be yes or no" };
  if (type === "number" || type === "integer") {
    const value = Number(typed);
    const isNumber = Number.isFinite(value) && (type === "number" || Number.isInteger(value));
    if (!isNumber) return { wrong: `must be a${type === "integer" ? " whole" : ""} number` };
    if (value < (minimum ?? value) || value > (maximum ?? value))
      return { wrong: `must be from ${minimum ?? "any"} to ${maximum ?? "any"}` };
    return { value };
  }
  if (type === "array") {
    const value = typed.split(",").map((part) => part.trim());
    const allowed = items?.enum ?? items?.anyOf?.map((option: any) => option.const);
    return allowed && value.some((part) => !allowed.includes(part))
      ? { wrong: `must be some of ${allowed.join(", ")}` }
      : { value };
  }
  return typed.length < minLength || typed.length > (maxLength ?? typed.length)
    ? { wrong: "is too short or too long" }
    : { value: typed };
}

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
const cleanWords = (serverText: unknown, maxChars = 400): string =>
  clip(oneLine(clean(String(serverText ?? ""))), maxChars);

export async function elicit(
  serverName: string,
  { message, requestedSchema }: any,
  ctx: Ctx,
  acceptsDefaults = false,
): Promise<object> {
  const formFields = Object.entries(
    (requestedSchema?.properties ?? {}) as Record<string, Field>,
  ).slice(0, MAX_FIELDS);
  if (!ctx.ask && acceptsDefaults) {
    const content = Object.fromEntries(
      formFields.flatMap(([fieldName, { default: defaultValue }]) =>
        defaultValue === undefined ? [] : [[fieldName, defaultValue]],
      ),
    );
    const isWhole = (requestedSchema?.required ?? []).every(
      (fieldName: string) => fieldName in content,
    );
    const answerNote = isWhole
      ? `It got ${cleanWords(JSON.stringify(content))}.`
      : "Not all that it wants has a default.";
    ctx.note(`MCP server '${serverName}' asked: ${cleanWords(message)} ${answerNote}`);
    return isWhole ? { action: "accept", content } : { action: "cancel" };
  }
  if (!ctx.ask) {
    ctx.note(
      `MCP server '${serverName}' asked for something, ` +
        `and there is no terminal to ask on: ${cleanWords(message)}`,
    );
    return { action: "cancel" };
  }
  const fieldTitles = formFields
    .map(([fieldName, { title }]) => cleanWords(title ?? fieldName, 60))
    .join(", ");
  const wantedWords = fieldTitles ? ` It wants: ${fieldTitles}. Give it no password.` : "";
  const pressedKey = await ctx.ask(
    `MCP server '${serverName}' asks: ${cleanWords(message)}${wantedWords}\n` +
      "Answer it? [y]es, [n]o: ",
    "yn",
  );
  if (pressedKey !== "y") return { action: pressedKey === "n" ? "decline" : "cancel" };
  const content: Record<string, unknown> = {};
  for (const [fieldName, formField] of formFields) {
    const fieldAnswer = await answerFor(
      fieldName,
      formField,
      requestedSchema.required?.includes(fieldName) === true,
      ctx,
    );
    if (fieldAnswer === CANCELLED) return { action: "cancel" };
    if (fieldAnswer !== undefined) content[fieldName] = fieldAnswer;
  }
  return { action: "accept", content };
}

const CANCELLED = Symbol("the person left the question");

async function answerFor(
  fieldName: string,
  formField: Field,
  required: boolean,
  ctx: Ctx,
): Promise<unknown> {
  const fieldTitle = cleanWords(formField.title ?? fieldName, 80);
  const aboutWords = formField.description ? ` (${cleanWords(formField.description, 200)})` : "";
  const otherwise =
    formField.default === undefined ? "" : ` [${cleanWords(formField.default, 60)}]`;
  const choices = formField.enum ?? formField.oneOf?.map((option) => option.const);
  for (let attempts = 0; attempts < MAX_TRIES; attempts++) {
    if (choices?.length && ctx.pick) {
      const isDefault = (choice: unknown) => choice === formField.default;
      const sorted = [...choices].sort((a, b) => Number(isDefault(b)) - Number(isDefault(a)));
      const pickedText = await ctx.pick(`${fieldTitle}${aboutWords}`, sorted.map(String));
      if (pickedText !== undefined) return choices.find((choice) => String(choice) === pickedText);
      return required ? CANCELLED : formField.default;
    }
    const yesOrNo = formField.type === "boolean" ? " (yes or no)" : "";
    const choiceHint = choices
      ? ` (${choices.map((choice) => cleanWords(choice, 40)).join(", ")})`
      : yesOrNo;
    const typedText = (
      await ctx.ask!(`${fieldTitle}${aboutWords}${choiceHint}${otherwise}: `)
    ).trim();
    if (!typedText && formField.default !== undefined) return formField.default;
    if (!typedText && !required) return undefined;
    const { value, wrong } = valueFrom(typedText, formField, choices);
    if (!wrong) return value;
    ctx.note(`'${fieldTitle}' ${wrong}.`);
  }
  return CANCELLED;
}

function valueFrom(
  typedText: string,
  { type, minimum, maximum, minLength = 0, maxLength, items }: Field,
  choices?: unknown[],
): { value?: unknown; wrong?: string } {
  if (!typedText) return { wrong: "must be said" };
  if (choices) {
    const value = choices.find(
      (choice) => String(choice).toLowerCase() === typedText.toLowerCase(),
    );
    return value === undefined ? { wrong: `must be one of ${choices.join(", ")}` } : { value };
  }
  if (type === "boolean")
    return /^(y|yes|true|n|no|false)$/i.test(typedText)
      ? { value: /^(y|true)/i.test(typedText) }
      : { wrong: "must be yes or no" };
  if (type === "number" || type === "integer") {
    const value = Number(typedText);
    const isNumber = Number.isFinite(value) && (type === "number" || Number.isInteger(value));
    if (!isNumber) return { wrong: `must be a${type === "integer" ? " whole" : ""} number` };
    if (value < (minimum ?? value) || value > (maximum ?? value))
      return { wrong: `must be from ${minimum ?? "any"} to ${maximum ?? "any"}` };
    return { value };
  }
  if (type === "array") {
    const value = typedText.split(",").map((typedPart) => typedPart.trim());
    const allowed = items?.enum ?? items?.anyOf?.map((option: any) => option.const);
    return allowed && value.some((typedPart) => !allowed.includes(typedPart))
      ? { wrong: `must be some of ${allowed.join(", ")}` }
      : { value };
  }
  return typedText.length < minLength || typedText.length > (maxLength ?? typedText.length)
    ? { wrong: "is too short or too long" }
    : { value: typedText };
}

// The formats in which zz asks for calls in words: for which models, how a call and a result are
// written, and what the prompt says. marks.ts reads them, as well as families of models that have
// no format here.

import { anyOf, ownValue } from "zz/text";
import type { Tool } from "./types.ts";

type Written = { id: string; name: string; args: Record<string, unknown> };
export interface Format {
  name: string;
  models: RegExp; // by the model's name, without its provider's; the first format that fits counts
  calls(calls: readonly Written[], tools: readonly Tool[]): string;
  // index: of its call
  result(result: { name: string; id: string; index: number; text: string }): string;
  tools(tools: readonly Tool[]): string;
  how: string; // instructions for the model; `%` is replaced by a sample call
}

const describeTool = (tool: Tool): string =>
  JSON.stringify({
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: tool.schema },
  });
const asTools = (tools: readonly Tool[]): string => tools.map(describeTool).join("\n");
const jsonLines = (tools: readonly Tool[]): string => `<tools>\n${asTools(tools)}\n</tools>`;
const response = ({ text }: { text: string }): string =>
  `<tool_response>\n${text}\n</tool_response>`;
const plainResult = ({ name, text }: { name: string; text: string }): string =>
  `Result of ${name}:\n${text}`;

/** JSON without any format's marks: their first character is written as an escape. */
const escapeJson = (jsonValue: unknown): string =>
  JSON.stringify(jsonValue).replace(
    /[<`｜\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const writeValue = (argumentValue: unknown): string =>
  typeof argumentValue === "string" ? argumentValue : JSON.stringify(argumentValue);
/**
 * Readers drop one line break at either end of a value, so a value that has one gets another at
 * both ends.
 */
const frameValue = (valueText: string): string =>
  /^\n|\n$/.test(valueText) ? `\n${valueText}\n` : valueText;

/**
 * Whether values can be written raw between tags: they contain no mark, and the schema says which
 * ones are texts.
 */
const isPlain = (args: Written["args"], schema: unknown): boolean => {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> };
  return Object.entries(args).every(([argumentName, argumentValue]) => {
    if (!/^[\w.-]{1,100}$/.test(argumentName)) return false;
    if (typeof argumentValue !== "string")
      return (
        argumentValue !== undefined &&
        !/[<]/.test(JSON.stringify(argumentValue)) &&
        ownValue(properties, argumentName)?.type !== "string"
      );
    const schemaType = properties[argumentName]?.type;
    return (
      (schemaType === "string" || schemaType === undefined) &&
      !/<\/?[\w:｜|-]{0,30}(?:parameter|function|invoke|tool_call|arg_)/.test(argumentValue)
    );
  });
};
const schemaOf = (toolName: string, tools: readonly Tool[]): unknown =>
  tools.find((tool) => tool.name === toolName)?.schema ?? {};

const SAMPLE_CALL = { name: "tool_name", arguments: { parameter: "value" } };

const hermesCall = ({ name, args }: Written): string =>
  `<tool_call>\n${escapeJson({ name, arguments: args })}\n</tool_call>`;

function coderCall({ name, args }: Written, tools: readonly Tool[]): string {
  const bodyText = isPlain(args, schemaOf(name, tools))
    ? Object.entries(args)
        .map(
          ([argumentName, argumentValue]) =>
            `<parameter=${argumentName}>\n${writeValue(argumentValue)}\n</parameter>\n`,
        )
        .join("")
    : `${escapeJson(args)}\n`;
  return `<tool_call>\n<function=${name}>\n${bodyText}</function>\n</tool_call>`;
}

function coderTools(tools: readonly Tool[]): string {
  const toolTexts = tools.map(({ name, description, schema }) => {
    const { properties = {}, required = [] } = schema as {
      properties?: Record<string, any>;
      required?: string[];
    };
    const parameterText = ([parameterName, innerSchema]: [string, any]) => {
      const { type, description: aboutText, ...otherFields } = innerSchema ?? {};
      const schemaText = Object.keys(otherFields).length
        ? `\n<schema>${JSON.stringify(otherFields)}</schema>`
        : "";
      return (
        "<parameter>\n" +
        `<name>${parameterName}</name>` +
        `${type ? `\n<type>${[type].flat().join(" or ")}</type>` : ""}` +
        `${aboutText ? `\n<description>${aboutText}</description>` : ""}${schemaText}\n` +
        "</parameter>"
      );
    };
    const parameterList = [
      ...Object.entries(properties).map(parameterText),
      `<required>${JSON.stringify(required)}</required>`,
    ].join("\n");
    return (
      `<function>\n<name>${name}</name>\n<description>${description}</description>\n` +
      `<parameters>\n${parameterList}\n</parameters>\n</function>`
    );
  });
  return `<tools>\n${toolTexts.join("\n")}\n</tools>`;
}

function glmCall(call: Written, tools: readonly Tool[]): string {
  const { name, args } = call;
  if (
    !isPlain(args, schemaOf(name, tools)) ||
    Object.values(args).some((argumentValue) => /^\\n|\\n$/.test(writeValue(argumentValue)))
  )
    return hermesCall(call);
  const argumentPairs = Object.entries(args).map(
    ([argumentName, argumentValue]) =>
      `<arg_key>${argumentName}</arg_key>\n` +
      `<arg_value>${frameValue(writeValue(argumentValue))}</arg_value>\n`,
  );
  return `<tool_call>${name}\n${argumentPairs.join("")}</tool_call>`;
}

const BEGIN_TOKEN = (tokenPart: string): string => `<｜tool▁${tokenPart}▁begin｜>`;
const END_TOKEN = (tokenPart: string): string => `<｜tool▁${tokenPart}▁end｜>`;
const deepSeek = (writeCall: (call: Written) => string) => (calls: readonly Written[]) => {
  const callBlocks = calls.map(
    (call) => `${BEGIN_TOKEN("call")}${writeCall(call)}${END_TOKEN("call")}`,
  );
  return `${BEGIN_TOKEN("calls")}${callBlocks.join("\n")}${END_TOKEN("calls")}`;
};

const DSML_MARK = "｜DSML｜";
function dsmlCall({ name, args }: Written): string {
  const canBeRaw = (valueText: string) =>
    !/<\/?[^\s<>]{0,30}(?:parameter|invoke|function_calls)/.test(valueText);
  const entries = Object.entries(args);
  const isAllRaw = entries.every(
    ([argumentName, argumentValue]) =>
      /^[\w.-]{1,100}$/.test(argumentName) && canBeRaw(writeValue(argumentValue)),
  );
  const parameters = entries.map(
    ([argumentName, argumentValue]) =>
      `<${DSML_MARK}parameter name="${argumentName}" ` +
      `string="${typeof argumentValue === "string"}">` +
      `${writeValue(argumentValue)}</${DSML_MARK}parameter>\n`,
  );
  return (
    `<${DSML_MARK}invoke name="${name}">\n` +
    `${isAllRaw ? parameters.join("") : `${escapeJson(args)}\n`}</${DSML_MARK}invoke>\n`
  );
}

/** A value as a Python literal. */
function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([fieldName, element]) => `${escapeJson(fieldName)}: ${pythonLiteral(element)}`)
      .join(", ")}}`;
  return escapeJson(value);
}
function pythonCalls(calls: readonly Written[]): string {
  const isIdentifier = (fieldName: string) => /^[A-Za-z_]\w{0,99}$/.test(fieldName);
  if (!calls.every(({ name, args }) => isIdentifier(name) && Object.keys(args).every(isIdentifier)))
    return (
      "<|python_start|>" +
      `${escapeJson(calls.map(({ name, args }) => ({ name, parameters: args })))}<|python_end|>`
    );
  const writeCall = ({ name, args }: Written) =>
    `${name}(${Object.entries(args)
      .map(([argumentName, argumentValue]) => `${argumentName}=${pythonLiteral(argumentValue)}`)
      .join(", ")})`;
  return `<|python_start|>[${calls.map(writeCall).join(", ")}]<|python_end|>`;
}

/**
 * The first format whose pattern matches the model's name is used. The last one matches any name.
 */
export const FORMATS: Format[] = [
  {
    name: "qwen-coder",
    models: /qwen-?_?3(\.\d)?[-_:.]?coder|qwen-?_?3\.[5-9]|nemotron-?3|mimo|seed-oss|step-?3\.5/i,
    calls: (calls, tools) => calls.map((call) => coderCall(call, tools)).join("\n"),
    result: response,
    tools: coderTools,
    how:
      "For each call write a block of this form, with nothing after the last one:\n%\n" +
      "Values stand as they are, without quotes or escapes; lists and objects as JSON. " +
      "If a value holds tags of these, " +
      "write all of the arguments as one JSON object in place of the parameters.",
  },
  {
    name: "deepseek-dsml",
    models: /deepseek[-_]?v?(3\.2|4)/i,
    calls: (calls) =>
      `<${DSML_MARK}function_calls>\n${calls.map(dsmlCall).join("")}</${DSML_MARK}function_calls>`,
    result: ({ text }) => `<function_results>\n<result>${text}</result>\n</function_results>`,
    tools: jsonLines,
    how:
      'To call tools, write one block of this form, with nothing after it:\n%\nstring="true" ' +
      'is for texts, which stand as they are; string="false" for anything else, as JSON.',
  },
  {
    name: "deepseek-v3",
    models: /deepseek[-_]?(r1|v3([-_:]0324|[-_:]\d+b|$))/i,
    calls: deepSeek(
      ({ name, args }) => `function<｜tool▁sep｜>${name}\n\`\`\`json\n${escapeJson(args)}\n\`\`\``,
    ),
    result: ({ text }) => `${BEGIN_TOKEN("output")}${text}${END_TOKEN("output")}`,
    tools: jsonLines,
    how: "To call tools, write one block of this form, with nothing after it:\n%",
  },
  {
    name: "deepseek",
    models: /deepseek|cogito/i,
    calls: deepSeek(({ name, args }) => `${name}<｜tool▁sep｜>${escapeJson(args)}`),
    result: ({ text }) => `${BEGIN_TOKEN("output")}${text}${END_TOKEN("output")}`,
    tools: jsonLines,
    how: "To call tools, write one block of this form, with nothing after it:\n%",
  },
  {
    name: "glm",
    models: /\bglm|chatglm|laguna/i,
    calls: (calls, tools) => calls.map((call) => glmCall(call, tools)).join("\n"),
    result: response,
    tools: jsonLines,
    how:
      "For each call write a block of this form, with nothing after the last one:\n%\n" +
      "Texts stand as they are; anything else as JSON.",
  },
  {
    name: "kimi",
    models: /kimi|moonshot/i,
    calls: (calls) =>
      `<|tool_calls_section_begin|>${calls.map(kimiCall).join("")}<|tool_calls_section_end|>`,
    result: ({ name, id, index, text }) => `## Return of ${formatKimiId(id, name, index)}\n${text}`,
    tools: asTools,
    how:
      "To call tools, write one section of this form, with nothing after it; " +
      "the number counts the calls from 0:\n%",
  },
  {
    name: "mistral",
    models: /mistral|mixtral|ministral|devstral|magistral|codestral|pixtral|voxtral/i,
    calls: (calls) =>
      `[TOOL_CALLS]${escapeJson(calls.map(({ name, args }) => ({ name, arguments: args })))}`,
    result: ({ text }) => `[TOOL_RESULTS]${JSON.stringify({ content: text })}[/TOOL_RESULTS]`,
    tools: (tools) => `[AVAILABLE_TOOLS][${tools.map(describeTool).join(", ")}][/AVAILABLE_TOOLS]`,
    how: "To call tools, write one list of this form, with nothing after it:\n%",
  },
  {
    name: "granite",
    models: /granite-?_?(3|8b|2b|20b|code)/i,
    calls: (calls) =>
      `<|tool_call|>${escapeJson(calls.map(({ name, args }) => ({ name, arguments: args })))}`,
    result: plainResult,
    tools: asTools,
    how: "To call tools, write one list of this form, with nothing after it:\n%",
  },
  {
    name: "pythonic",
    models: /llama-?_?4|llama-?_?3\.2[-_:](1|3)b|toolace|olmo-?3|lfm-?2/i,
    calls: pythonCalls,
    result: plainResult,
    tools: asTools,
    how:
      "To call tools, write one list of this form, with nothing after it, " +
      "arguments by name and values as Python writes them:\n%",
  },
  {
    name: "hermes",
    models: anyOf(
      /qwen|qwq|hermes|granite|smollm|falcon|longcat|ernie/i,
      /nemotron-(nano|h)|jamba|chatml|openchat|exaone/i,
    ),
    calls: (calls) => calls.map(hermesCall).join("\n"),
    result: response,
    tools: jsonLines,
    how:
      "For each call write a block of this form, one object in each, " +
      "with nothing after the last one:\n%",
  },
  {
    name: "llama",
    models: /llama|functionary/i,
    calls: (calls) =>
      calls
        .map(({ name, args }) => `<|python_tag|>${escapeJson({ name, parameters: args })}`)
        .join("\n"),
    result: plainResult,
    tools: asTools,
    how: "For each call write a line of this form, with nothing after the last one:\n%",
  },
  {
    name: "fenced",
    models: /(?:)/,
    calls: (calls) =>
      calls
        .map(
          ({ name, args }) => `\`\`\`tool_call\n${escapeJson({ name, arguments: args })}\n\`\`\``,
        )
        .join("\n"),
    result: plainResult,
    tools: asTools,
    how:
      "For each call write a fenced block of this form, one JSON object in each, " +
      "with nothing after the last one:\n%",
  },
];

const formatKimiId = (id: string, toolName: string, i: number): string =>
  /^functions\.[\w.-]+:\d+$/.test(id) ? id : `functions.${toolName}:${i}`;
const kimiCall = ({ id, name, args }: Written, i: number): string =>
  `<|tool_call_begin|>${formatKimiId(id, name, i)}` +
  `<|tool_call_argument_begin|>${escapeJson(args)}<|tool_call_end|>`;

export function formatFor(modelName: string): Format {
  const bareModel = modelName.slice(modelName.indexOf("/") + 1);
  return FORMATS.find(({ models }) => models.test(bareModel))!;
}

/** The part of the system prompt that describes the tools. */
export function wordsFor(format: Format, tools: readonly Tool[]): string {
  const sampleCall = format.calls(
    [{ id: "", name: SAMPLE_CALL.name, args: SAMPLE_CALL.arguments }],
    [],
  );
  return [
    "You can call tools. These are all there are, each with its parameters as a JSON Schema:",
    format.tools(tools),
    format.how.replace("%", () => sampleCall),
    "Say in a sentence what you do, if at all, before the calls. " +
      "Then stop: the results come with the next message, and are never yours to write. " +
      "Call a tool only when you need one; write no call as an example.",
  ].join("\n\n");
}

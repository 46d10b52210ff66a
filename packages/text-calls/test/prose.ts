// Texts that talk about calls, as READMEs, pages on chat templates, issues and test files do. None
// of them is a call, although each names an offered tool with arguments that fit.
const FENCE = "```";
const B = "｜";

/** A call of get_weather as each format writes it. */
const MARKUP: Record<string, string> = {
  hermes: '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>',
  coder: "<tool_call><function=get_weather><parameter=city>Oslo</parameter></function></tool_call>",
  bareCoder: "<function=get_weather><parameter=city>Oslo</parameter></function>",
  llama: '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}',
  mistral: '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}}]',
  mistralNew: '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}',
  deepseek: `<${B}tool▁calls▁begin${B}><${B}tool▁call▁begin${B}>get_weather<${B}tool▁sep${B}>{"city": "Oslo"}<${B}tool▁call▁end${B}><${B}tool▁calls▁end${B}>`,
  glm: "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
  kimi: '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>',
  granite: '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]',
  invoke: '<invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke>',
  json: '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
  pythonic: '[get_weather(city="Oslo")]',
  harmony: '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Oslo"}<|call|>',
};

/** What stands around it in a text that only talks about it. */
const AROUND: ((call: string) => string)[] = [
  (call) =>
    `The template writes a call so:\n\n${FENCE}\n${call}\n${FENCE}\n\nThe server turns it into \`tool_calls\`.`,
  (call) => `A model of this family writes \`${call}\` when it wants the weather, and stops there.`,
  (call) => `assert.deepEqual(parse('${call}'), [{ name: "get_weather" }]);`,
  (call) => `The raw output was "${call}", which the client showed as plain text.`,
  (call) =>
    `## Format\n\nFor example, a call looks like:\n\n${call}\n\nEach block holds exactly one object.`,
  (call) =>
    `1. The prompt lists tools.\n2. The model answers with ${call}, and the loop runs it.\n3. It goes on.`,
  (call) => `| format | sample |\n|---|---|\n| this one | \`${call}\` |\n| another | none |`,
  (call) => `<p>The model writes <code>${call}</code> and waits.</p>`,
];

const MADE = Object.values(MARKUP).flatMap((call) => AROUND.map((around) => around(call)));

const WRITTEN = [
  // what no mark stands in
  "To call a tool the model writes its name and its arguments. get_weather takes a city.",
  '`get_weather(city="Oslo")` is how you call it from Python.',
  "def get_weather(city):\n    return requests.get(URL, params={'city': city}).json()",
  "[get_weather](https://example.com/tools#weather) is documented there.",
  "[ ] get_weather\n[x] run_command\n[ ] write_file",
  '{"city": "Oslo", "forecast": "rain"}',
  '{"name": "get_weather", "description": "The weather of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}} is how a tool is declared.',
  '{"tools": [{"name": "get_weather"}, {"name": "run_command"}]}',
  '{"name": "unknown_tool", "arguments": {"city": "Oslo"}}',
  // marks that nothing follows
  "The opener is <tool_call> and the closer is </tool_call>.",
  "<tool_call>...</tool_call>",
  '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
  "<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n</function>",
  "[TOOL_CALLS] marks the beginning, [ARGS] the arguments, and [TOOL_RESULTS] the result.",
  "<|python_tag|>print('hello')",
  `<${B}tool▁calls▁begin${B}> opens the section, <${B}tool▁call▁begin${B}> each call.`,
  "<tool_call>name</tool_call> without any arguments is legal too.",
  '<invoke name="TOOL"><parameter name="KEY">VALUE</parameter></invoke>',
  "In harmony, <|channel|> is followed by analysis, commentary or final.",
  "<|tool_call|> is Granite's; <|tool_call> is Gemma's.",
  "Action: get_weather",
  "Action: the city council decided to act.\nAction Input: none was asked for.",
  ">>> get_weather('Oslo')\n'rain'",
  // in fences and in code, with more around it
  `Here is a test:\n\n${FENCE}ts\ntest("reads a call", () => {\n  const text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>';\n  equal(parse(text).length, 1);\n});\n${FENCE}\n`,
  `${FENCE}json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n${FENCE}\n\nThis is what the client sends to the tool.`,
  `The request:\n\n${FENCE}json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n${FENCE}`,
  `${FENCE}jinja\n{%- for tool_call in message.tool_calls %}\n<tool_call>\n{"name": "{{ tool_call.name }}", "arguments": {{ tool_call.arguments | tojson }}}\n</tool_call>\n{%- endfor %}\n${FENCE}`,
  `${FENCE}python\nprint(get_weather(city="Oslo"))\n${FENCE}\n\nThat prints the forecast.`,
  `${FENCE}json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n${FENCE}\n\nand\n\n${FENCE}json\n{"name": "run_command", "arguments": {"command": "ls"}}\n${FENCE}`,
  `~~~\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n~~~\n\nThe tildes fence it.`,
  `${FENCE}${FENCE[0]}md\n${FENCE}\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n${FENCE}\n${FENCE}${FENCE[0]}\nFour ticks fence three.`,
  `Run it with ${FENCE[0]}${FENCE[0]}<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>${FENCE[0]}${FENCE[0]} in the prompt.`,
  `&lt;tool_call&gt;{"name": "get_weather", "arguments": {"city": "Oslo"}}&lt;/tool_call&gt;`,
  // told as a story
  'With Llama you get {"name": "get_weather", "parameters": {"city": "Oslo"}} as plain text.',
  '[get_weather(city="Oslo")] is how Llama 4 writes it.',
  'get_weather{"city": "Oslo"} is what is left when the markers are skipped.',
  '<think>I could write <tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call> but need not.</think>It rains in Oslo.',
  'It rains. <think><tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call></think> Take a coat.',
  "“<function=get_weather><parameter=city>Oslo</parameter></function>”",
];

export const PROSE: string[] = [...WRITTEN, ...MADE];

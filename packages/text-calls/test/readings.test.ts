// What models write, format by format, with what they get wrong; and what is read from it.
import { deepEqual } from "node:assert/strict";
import { describe, test } from "node:test";
import { readReply, shown } from "./tools.ts";

/** What it is, the text, the calls, and the text (and the thinking) that is left. */
type Row = [what: string, text: string, calls: string[], left?: string, thinking?: string];
const STATUS = "kiln {}";
const DIM = 'lamp_dim {"level":1}';
const FENCE = "```";
const block = (text: string) => `<tool_call>${text}</tool_call>`;
const KILN = '{"name":"kiln","arguments":{}}';
const DIM_TEXT = '{"name":"lamp_dim","arguments":"{\\"level\\":1}"}';
const log = (text: string) => `log ${JSON.stringify({ text })}`;
const HOLM = 'tide {"port":"Holm"}';

const kimi = (id: string, of: string) =>
  `<|tool_call_begin|>${id}<|tool_call_argument_begin|>${of}<|tool_call_end|>`;
const k3 = (tag: string, inner: string) =>
  `<|open|>${tag}<|sep|>${inner}<|close|>${tag.split(" ")[0]}<|sep|>`;
const action = (name: string) =>
  `Action: ${FENCE}json\n[{"tool_name": "${name}", "parameters": {}}]\n${FENCE}`;
const [ANALYSIS, COMMENTARY] = ["<|channel|>analysis<|message|>", "<|channel|>commentary"];
const [TO_DIM, NEXT] = [`${COMMENTARY} to=functions.lamp_dim`, "<|end|><|start|>assistant"];
const LEVEL = '<|message|>{"level":1}<|call|>';
const SEARCH = `${COMMENTARY} to=browser.search<|message|>{"query":"x"}<|call|>`;
const parameter = ([name, value]: [string, string]) => `<parameter=${name}>${value}</parameter>`;
const coder = (name: string, args: Record<string, string>) =>
  `<function=${name}>${Object.entries(args).map(parameter).join("")}</function>`;
const CODER = "<function=lamp_dim>\n<parameter=level>1</parameter>\n</function>";
const invoke = (mark: string, tool: string, name: string, value: string) =>
  `<${mark}invoke name="${tool}"><${mark}parameter name="${name}">${value}</${mark}parameter></${mark}invoke>`;
const STEP = invoke("steptml:", "log", "text", "v");
const HOLM_JSON = '{"name": "tide", "parameters": {"port": "Holm"}}';
const ACTION = `<|START_ACTION|>[\n  {"tool_call_id": "0", "tool_name": "kiln", "parameters": {}}\n]<|END_ACTION|>`;
const [ID, DX] = ['<parameter name="id">007</parameter>', '<parameter name="dx">1.0</parameter>'];
const INVOKE = `<invoke name="move">\n${ID}\n${DX}\n</invoke>`;
const THINKS = `Hm. <think>${block(KILN)}</think> No.`;
const CLOSER = "</tool_call><tool_call>{";

const named = (name: string, inner: string) => `<tool_call name="${name}">${inner}</tool_call>`;
const HTML = "<div><p>1</p></div>\n<text>x</text>";

const TABLES: Record<string, Row[]> = {
  "tags named after the parameters (ipuaro)": [
    ["one", named("lamp_dim", "<level>1</level>"), [DIM]],
    ["on lines of their own", named("lamp_dim", "\n  <level>1</level>\n"), [DIM]],
    ["after words", `I dim it.\n${named("lamp_dim", "<level>1</level>")}`, [DIM], "I dim it."],
    ["two", named("kiln", "") + named("tide", "<port>Holm</port>"), [STATUS, HOLM]],
    ["no arguments", '<tool_call name="kiln"/>', [STATUS]],
    ["tags in a value", named("log", `<text>${HTML}</text>`), [log(HTML)]],
    ["JSON between them", named("lamp_dim", '{"level":1}'), [DIM]],
    ["cut off in a value", '<tool_call name="log"><text>half of', ["log broken"]],
    ["a tool that is none", named("nosuch", "<a>1</a>"), ['nosuch {"a":"1"}']],
  ],
  "Hermes and Qwen": [
    ["arguments as a string", block(DIM_TEXT), [DIM]],
    ["no arguments", '<tool_call>{"name":"kiln"}</tool_call>', [STATUS]],
    [
      "a brace that is missing",
      '<tool_call>{"name":"lamp_dim","arguments":{"level":1}</tool_call>',
      [DIM],
    ],
    ["a brace missing at the end", '<tool_call>{"name":"lamp_dim","arguments":{"level":1}', [DIM]],
    [
      "Python",
      block("{'name': 'move', 'arguments': {'id': 'a', 'fast': True,}}"),
      ['move {"id":"a","fast":true}'],
    ],
    [
      "line breaks in a string",
      block('{"name":"log","arguments":{"text":"a\n\tb"}}'),
      [log("a\n\tb")],
    ],
    [
      "escapes that are none",
      block(`{"name":"log","arguments":{"text":"it\\'s \\$5"}}`),
      [log("it's $5")],
    ],
    [
      "the closer in a string",
      block(`{"name":"log","arguments":{"text":"${CLOSER}"}}`),
      [log(CLOSER)],
    ],
    ["a name outside of the object", '<tool_call>lamp_dim\n{"level": 1}\n</tool_call>', [DIM]],
    [
      "cut in the arguments",
      '<tool_call>{"name":"log","arguments":{"text":"half of',
      ["log broken"],
    ],
    [
      "one that is not offered: the model is told",
      block('{"name":"launch","arguments":{}}'),
      ["launch {}"],
    ],
    [
      "what does not fit",
      block('{"name":"lamp_dim","arguments":{"level":"x"}}'),
      ['lamp_dim {"level":"x"}'],
    ],
  ],
  "Qwen3-Coder": [
    [
      "no end",
      "<function=move><parameter=id>a\n<parameter=dx>1</parameter></function>",
      ['move {"id":"a","dx":1}'],
    ],
    [
      "the block closes all",
      "<tool_call><function=lamp_dim><parameter=level>\n1\n</tool_call>",
      [DIM],
    ],
    [
      "name and value run together",
      block("<function=lamp_dim><parameter=level=1</parameter></function>"),
      [DIM],
    ],
    [
      "a Python object",
      coder("note", { title: "t", body: "{'a': None}" }),
      ['note {"title":"t","body":{"a":null}}'],
    ],
    [
      "one for a list",
      coder("lamp_dim", { level: "1", rooms: "attic" }),
      ['lamp_dim {"level":1,"rooms":["attic"]}'],
    ],
    ["a body of JSON", '<function=lamp_dim>{"level": 1}</function>', [DIM]],
    [
      "Seed",
      `<seed:think>dim it</seed:think>\n<seed:tool_call>\n${CODER}\n</seed:tool_call>`,
      [DIM],
      "",
      "dim it",
    ],
    [
      "MiniCPM",
      '<function name="log"><param name="text"><![CDATA[a <b>]]></param></function>',
      [log("a <b>")],
    ],
    [
      "no closing tags",
      "<tool_call>\n<function=log>\n<parameter=text>\na\n</parameter>\n",
      [log("a")],
    ],
  ],
  Llama: [
    [
      "the schema echoed",
      '{"name":"lamp_dim","parameters":{"level":{"type":"integer","value":"1"}}}',
      [DIM],
    ],
    ["a built-in call", '<|python_tag|>tide.call(port="Holm")', [HOLM]],
    ["Functionary 3.2", '>>>tide\n{"port": "Holm"}', [HOLM]],
    ["the opener eaten", 'tide{"port": "Holm"}</function>', [HOLM]],
    [
      "source code behind the tag is text",
      "<|python_tag|>import os\nprint()",
      [],
      "<|python_tag|>import os\nprint()",
    ],
    ["an answer that is an object", '{"name": "Ada", "age": 3}', [], '{"name": "Ada", "age": 3}'],
  ],
  Pythonic: [
    ["Llama 4's marks", "<|python_start|>[kiln()]<|python_end|>", [STATUS]],
    ["an assignment", "x = lamp_dim(level=1)", [DIM]],
    ["cut in a string", "[log(text='half", ["log broken"]],
    ["a list that is not closed", "[kiln(), lamp_dim(level=1)", [STATUS, DIM]],
    ["one positional argument", '[tide("Holm")]', [HOLM]],
    [
      "long strings, dictionaries, Python's words",
      `[note(title='''a\n"b"''', body={'x': (1, 2), 'y': None}, weight=-1.5)]`,
      ['note {"title":"a\\n\\"b\\"","body":{"x":[1,2],"y":null},"weight":-1.5}'],
    ],
    [
      "Olmo, a line each",
      "<function_calls>\nkiln()\nlamp_dim(level=1)\n</function_calls>",
      [STATUS, DIM],
    ],
    ["a name that is not offered", "[launch(a=1)]", [], "[launch(a=1)]"],
  ],
  Mistral: [
    ["[TOOL_CALLS] was skipped", 'lamp_dim[ARGS]{"level": 1}', [DIM]],
    ["the list is not closed", '[TOOL_CALLS][{"name":"kiln","arguments":{}}', [STATUS]],
    ["thinking", "[THINK]hm[/THINK]Well.[TOOL_CALLS]kiln[ARGS]{}", [STATUS], "Well.", "hm"],
  ],
  DeepSeek: [
    [
      "no first begin",
      `<｜tool▁calls▁begin｜>function<｜tool▁sep｜>kiln\n${FENCE}json\n{}\n${FENCE}`,
      [STATUS],
    ],
    [
      "all arguments under one key",
      invoke("｜DSML｜", "lamp_dim", 'arguments" string="false', '{"level": 1}'),
      [DIM],
    ],
    ["Step-3", `<｜tool_call_begin｜>function<｜tool_sep｜>${STEP}<｜tool_call_end｜>`, [log("v")]],
  ],
  GLM: [
    [
      "the first key's tag is missing",
      "<tool_call>lamp_dimlevel</arg_key><arg_value>1</arg_value></tool_call>",
      [DIM],
    ],
    [
      "no opening tag of a value",
      "<tool_call>lamp_dim<arg_key>level</arg_key>1</arg_value></tool_call>",
      [DIM],
    ],
    ["a word behind the tag", "<tool_call>is what it writes.", [], "<tool_call>is what it writes."],
  ],
  Kimi: [
    ["nothing between in the id", kimi("functionslamp_dim5", '{"level":1}'), [DIM]],
    [
      "the name in the object",
      kimi("call_1", '{"name":"lamp_dim","arguments":{"level":1}}'),
      [DIM],
    ],
    [
      "K3",
      k3(
        "tools",
        k3('call tool="lamp_dim" index="0"', k3('argument key="level" type="number"', "1")),
      ),
      [DIM],
    ],
  ],
  "Granite, Command, Phi, InternLM, xLAM, Apertus, GigaChat": [
    ["Command-R", `Plan: look.\n${action("kiln")}`, [STATUS], "Plan: look."],
    ["Command-R's tool for an answer", action("directly-answer"), [], action("directly-answer")],
    ["Command A", `<|START_THINKING|>need it<|END_THINKING|>${ACTION}`, [STATUS], "", "need it"],
    ["Phi", 'functools[{"name": "log", "arguments": {"text": "a]b"}}]', [log("a]b")]],
    ["InternLM", `Hm.<|action_start|> <|plugin|>\n${HOLM_JSON}<|action_end|>`, [HOLM], "Hm."],
    [
      "Apertus",
      '<|tools_prefix|>[{"lamp_dim": {"level": 1}}, {"kiln": {}}]<|tools_suffix|>',
      [DIM, STATUS],
    ],
  ],
  MiniMax: [
    [
      "M3",
      ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="lamp_dim">]<]minimax[>[<level>3]<]minimax[>[</level>]<]minimax[>[<rooms>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[</rooms>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      ['lamp_dim {"level":3,"rooms":["a"]}'],
    ],
  ],
  "gpt-oss": [
    [
      "as trained",
      `${ANALYSIS}Light.${NEXT}${TO_DIM} <|constrain|>json${LEVEL}`,
      [DIM],
      "",
      "Light.",
    ],
    [
      "only an answer",
      `${ANALYSIS}easy${NEXT}<|channel|>final<|message|>It is on.<|return|>`,
      [],
      "It is on.",
      "easy",
    ],
    [
      "tokens stripped",
      'analysisLight.assistantcommentary to=functions.lamp_dim json{"level":1}',
      [DIM],
      "",
      "Light.",
    ],
    ["a preamble", `${COMMENTARY}<|message|>I dim it.${NEXT}${TO_DIM}${LEVEL}`, [DIM], "I dim it."],
    ["a built-in tool that was not offered", SEARCH, [], SEARCH],
    ["cut", `${TO_DIM} <|constrain|>json<|message|>{"lev`, ["lamp_dim broken"]],
  ],
  Gemma: [
    [
      "raw strings",
      "<|tool_call>call:tide{port:Holm,day:3}<tool_call|>",
      ['tide {"port":"Holm","day":3}'],
    ],
    ["Python's way", '<|tool_call>call:tide(port="Holm")<tool_call|>', [HOLM]],
    [
      "a fence of tool_code",
      `${FENCE}tool_code\nprint(default_api.lamp_dim(level=1))\n${FENCE}`,
      [DIM],
    ],
  ],
  "Words that lead to a call": [
    ...[
      "The server returns 500, so I look at its log:",
      'They call it "kiln"',
      "Let me see what the client sends and how the server is called",
    ].map((left): Row => [left, `${left}\n${block(KILN)}`, [STATUS], left]),
  ],
  "Generic forms": [
    ["other tags for the block", `<tools>\n${KILN}\n</tools>`, [STATUS]],
    ["a block in a fence", `${FENCE}\n${block(KILN)}\n${FENCE}`, [STATUS]],
    [
      "MiniCPM's",
      `<|tool_call_start|>\n${FENCE}python\nlamp_dim(level=1)\n${FENCE}\n<|tool_call_end|>`,
      [DIM],
    ],
    ["tool_calls around", `{"tool_calls":[{"function":${DIM_TEXT}},${KILN}]}`, [DIM, STATUS]],
    ["tool_call around", `{"tool_call":${KILN}}`, [STATUS]],
    ["the name as the key", '{"lamp_dim": {"level": 1}}', [DIM]],
    [
      "ReAct",
      "Thought: first.\nAction: log\nAction Input: at nine\nObservation: ok",
      [log("at nine")],
      "first.",
    ],
    ["ReAct with JSON", 'Action: lamp_dim\nAction Input: {"level": 1}', [DIM]],
    [
      "thinking that never closes is",
      `<thought>I need it ${block(KILN)}`,
      [STATUS],
      "",
      "I need it",
    ],
    ["ReAct, none", "Action: None\nAction Input: None", [], "Action: None\nAction Input: None"],
    [
      "Anthropic's tags",
      `So.\n<function_calls>\n${INVOKE}\n</function_calls>`,
      ['move {"id":"007","dx":1}'],
      "So.",
    ],
    ["a broken attribute", '<invoke name="kiln verbose="no">\n</invoke>', [STATUS]],
    ["a doubled name", block('{"name":"lamp_dimlamp_dim","arguments":{"level":1}}'), [DIM]],
    ["thinking in the middle is not looked at", THINKS, [], THINKS],
  ],
};

for (const [family, rows] of Object.entries(TABLES))
  describe(family, () => {
    for (const [what, text, calls, left = "", thinking = ""] of rows)
      test(what, async () => {
        const reply = await readReply({ text });
        deepEqual(
          { calls: shown(reply), left: reply.text, thinking: reply.thinking },
          { calls, left, thinking },
        );
      });
  });

// What models write, format by format, with what they get wrong; and what is read from it.
import { deepEqual } from "node:assert/strict";
import { describe, test } from "node:test";
import { readReply, shown } from "./tools.ts";

/** What it is, the text, the calls, and the text (and the thinking) that is left. */
type Row = [what: string, text: string, calls: string[], left?: string, thinking?: string];
const STATUS = "kiln {}";
const DIM = 'lamp_dim {"level":1}';
const FENCE = "```";

const TABLES: Record<string, Row[]> = {
  "Hermes and Qwen": [
    [
      "two blocks, the last one unclosed",
      'I will check both.\n<tool_call>\n{"name": "tide", "arguments": {"port": "Ostmole", "day": 3}}\n</tool_call>\n<tool_call>\n{"name": "kiln", "arguments": {}}',
      ['tide {"port":"Ostmole","day":3}', STATUS],
      "I will check both.",
    ],
    ["parameters for arguments", '<tool_call>{"name":"lamp_dim","parameters":{"level":1}}</tool_call>', [DIM]],
    ["arguments as a string", '<tool_call>{"name":"lamp_dim","arguments":"{\\"level\\":1}"}</tool_call>', [DIM]],
    [
      "arguments encoded twice",
      `<tool_call>${JSON.stringify({ name: "lamp_dim", arguments: JSON.stringify('{"level":1}') })}</tool_call>`,
      [DIM],
    ],
    ["no arguments", '<tool_call>{"name":"kiln"}</tool_call>', [STATUS]],
    ["null arguments", '<tool_call>{"name":"kiln","arguments":null}</tool_call>', [STATUS]],
    [
      "two objects in a block",
      '<tool_call>\n{"name":"kiln","arguments":{}}\n{"name":"lamp_dim","arguments":{"level":1}}\n</tool_call>',
      [STATUS, DIM],
    ],
    ["the opener instead of the closer", '<tool_call>{"name":"kiln","arguments":{}}<tool_call>', [STATUS]],
    ["an extra brace", '<tool_call>{"name":"kiln","arguments":{}}}</tool_call>', [STATUS]],
    ["a brace that is missing", '<tool_call>{"name":"lamp_dim","arguments":{"level":1}</tool_call>', [DIM]],
    ["a brace missing at the end", '<tool_call>{"name":"lamp_dim","arguments":{"level":1}', [DIM]],
    [
      "single quotes, Python's words, a trailing comma",
      "<tool_call>{'name': 'move', 'arguments': {'id': 'a', 'fast': True,}}</tool_call>",
      ['move {"id":"a","fast":true}'],
    ],
    ["keys without quotes", '<tool_call>{name: "lamp_dim", arguments: {level: 1}}</tool_call>', [DIM]],
    [
      "curly quotes",
      "<tool_call>{“name”: “log”, “arguments”: {“text”: “a 'b' c”}}</tool_call>",
      [`log {"text":"a 'b' c"}`],
    ],
    [
      "line breaks in a string",
      '<tool_call>{"name":"log","arguments":{"text":"a\n\tb"}}</tool_call>',
      ['log {"text":"a\\n\\tb"}'],
    ],
    [
      "escapes that are none",
      `<tool_call>{"name":"log","arguments":{"text":"it\\'s \\$5"}}</tool_call>`,
      [`log {"text":"it's $5"}`],
    ],
    ["a fence inside", `<tool_call>\n${FENCE}json\n{"name":"kiln","arguments":{}}\n${FENCE}\n</tool_call>`, [STATUS]],
    [
      "the closer in a string",
      '<tool_call>{"name":"log","arguments":{"text":"</tool_call><tool_call>{"}}</tool_call>',
      ['log {"text":"</tool_call><tool_call>{"}'],
    ],
    [
      "an object around name and arguments",
      '<tool_call>{"type":"function","function":{"name":"lamp_dim","arguments":{"level":1}}}</tool_call>',
      [DIM],
    ],
    ["Granite's list", '<tool_call>[{"arguments":{"level":1},"name":"lamp_dim"}]', [DIM]],
    ["LongCat", '<longcat_tool_call>{"name":"kiln","arguments":{}}</longcat_tool_call>', [STATUS]],
    ["Nemotron", '<TOOLCALL>[{"name":"kiln","arguments":{}}]</TOOLCALL>', [STATUS]],
    ["Jamba", 'Now.\n<tool_calls>[{"name":"kiln","arguments":{}}]</tool_calls>', [STATUS], "Now."],
    ["a name outside of the object", '<tool_call>lamp_dim\n{"level": 1}\n</tool_call>', [DIM]],
    [
      "an invented result, and a call made on it",
      '<tool_call>{"name":"kiln","arguments":{}}</tool_call>\n<tool_response>900</tool_response>\n<tool_call>{"name":"lamp_dim","arguments":{"level":1}}</tool_call>',
      [STATUS],
    ],
    ["cut in the arguments", '<tool_call>{"name":"log","arguments":{"text":"half of', ["log broken"]],
    [
      "one that is not offered: the model is told",
      '<tool_call>{"name":"launch","arguments":{}}</tool_call>',
      ["launch {}"],
      "",
    ],
    [
      "arguments that do not fit: the model is told",
      '<tool_call>{"name":"lamp_dim","arguments":{"level":"high"}}</tool_call>',
      ['lamp_dim {"level":"high"}'],
      "",
    ],
    [
      "a good one beside one that does not fit",
      '<tool_call>{"name":"kiln","arguments":{}}</tool_call><tool_call>{"name":"launch","arguments":{"a":1}}</tool_call>',
      [STATUS, 'launch {"a":1}'],
    ],
    [
      "a bad one first",
      '<tool_call>{"name":"lamp_dim","arguments":{}}</tool_call><tool_call>{"name":"kiln","arguments":{}}</tool_call>',
      ["lamp_dim {}", STATUS],
    ],
  ],
  "Qwen3-Coder": [
    [
      "the opener is missing",
      "<function=move>\n<parameter=id>\nA-17\n</parameter>\n<parameter=dx>\n-4\n</parameter>\n<parameter=fast>\nTrue\n</parameter>\n</function>\n</tool_call>",
      ['move {"id":"A-17","dx":-4,"fast":true}'],
    ],
    [
      "as trained",
      'Going.\n\n<tool_call>\n<function=lamp_dim>\n<parameter=level>\n3\n</parameter>\n<parameter=rooms>\n["a"]\n</parameter>\n</function>\n</tool_call>',
      ['lamp_dim {"level":3,"rooms":["a"]}'],
      "Going.",
    ],
    [
      "several in one block",
      "<tool_call>\n<function=kiln>\n</function>\n<function=lamp_dim>\n<parameter=level>1</parameter>\n</function>\n</tool_call>",
      [STATUS, DIM],
    ],
    [
      "no closing tag of a parameter",
      "<tool_call><function=move><parameter=id>a\n<parameter=dx>1</parameter></function></tool_call>",
      ['move {"id":"a","dx":1}'],
    ],
    [
      "a parameter that the function closes",
      "<tool_call><function=lamp_dim><parameter=level>\n1\n</function></tool_call>",
      [DIM],
    ],
    ["the block closes all", "<tool_call><function=lamp_dim><parameter=level>\n1\n</tool_call>", [DIM]],
    [
      "name and value run together",
      "<tool_call><function=lamp_dim><parameter=level=1</parameter></function></tool_call>",
      [DIM],
    ],
    [
      "text with tags, quotes and entities stays as it is",
      '<function=log>\n<parameter=text>\n<b>"x" & 3 &lt; 4</b>\n\nend\n</parameter>\n</function>',
      ['log {"text":"<b>\\"x\\" & 3 &lt; 4</b>\\n\\nend"}'],
    ],
    [
      "a closing tag in the value",
      "<function=log>\n<parameter=text>\nit is </parameter> that closes\n</parameter>\n</function>",
      ['log {"text":"it is </parameter> that closes"}'],
    ],
    [
      "a text that looks like a number stays text",
      "<function=log><parameter=text>42</parameter></function>",
      ['log {"text":"42"}'],
    ],
    [
      "an object",
      '<function=note><parameter=title>t</parameter><parameter=body>{"a": [1, {"b": null}]}</parameter></function>',
      ['note {"title":"t","body":{"a":[1,{"b":null}]}}'],
    ],
    [
      "an object in Python's words",
      "<function=note><parameter=title>t</parameter><parameter=body>{'a': None}</parameter></function>",
      ['note {"title":"t","body":{"a":null}}'],
    ],
    [
      "one thing for a list of it",
      "<function=lamp_dim><parameter=level>1</parameter><parameter=rooms>attic</parameter></function>",
      ['lamp_dim {"level":1,"rooms":["attic"]}'],
    ],
    ["a body of JSON", '<function=lamp_dim>{"level": 1}</function>', [DIM]],
    [
      "Seed",
      "<seed:think>dim it</seed:think>\n<seed:tool_call>\n<function=lamp_dim>\n<parameter=level>1</parameter>\n</function>\n</seed:tool_call>",
      [DIM],
      "",
      "dim it",
    ],
    [
      "MiniCPM",
      '<function name="log"><param name="text"><![CDATA[a <b>]]></param></function>',
      ['log {"text":"a <b>"}'],
    ],
    ["cut in a value", "<tool_call>\n<function=log>\n<parameter=text>\nhalf of", ["log broken"]],
    ["cut in a tag", "<tool_call>\n<function=move>\n<parameter=id>\na\n</parameter>\n<param", ["move broken"]],
    [
      "the closing tags of function and block are missing",
      "<tool_call>\n<function=move>\n<parameter=id>\na\n</parameter>\n",
      ['move {"id":"a"}'],
    ],
  ],
  Llama: [
    [
      "texts for numbers and lists",
      '<|python_tag|>{"name": "lamp_dim", "parameters": {"level": "30", "rooms": "[\\"attic\\"]"}}',
      ['lamp_dim {"level":30,"rooms":["attic"]}'],
    ],
    ["without the tag", '{"name": "lamp_dim", "parameters": {"level": 1}}', [DIM]],
    [
      "several, with semicolons",
      '{"type":"function","name":"kiln","parameters":{}}; {"name":"lamp_dim","parameters":{"level":1}}',
      [STATUS, DIM],
    ],
    [
      "several, a line each",
      '{"name":"kiln","parameters":{}}\n{"name":"lamp_dim","parameters":{"level":1}}',
      [STATUS, DIM],
    ],
    ["an end mark that stayed", '{"name":"kiln","parameters":{}}<|eom_id|>', [STATUS]],
    ["function for name", '{"function": "lamp_dim", "parameters": {"level": 1}}', [DIM]],
    [
      "the schema echoed around a value",
      '{"name":"lamp_dim","parameters":{"level":{"type":"integer","value":"1"}}}',
      [DIM],
    ],
    ["a built-in call", '<|python_tag|>tide.call(port="Holm")', ['tide {"port":"Holm"}']],
    ["Functionary 3.1", '<function=tide>{"port": "Holm"}</function>', ['tide {"port":"Holm"}']],
    ["Functionary 3.2", '>>>tide\n{"port": "Holm"}', ['tide {"port":"Holm"}']],
    ["the opener eaten", 'tide{"port": "Holm"}</function>', ['tide {"port":"Holm"}']],
    [
      "source code behind the tag is text",
      "<|python_tag|>import os\nprint(1)",
      [],
      "<|python_tag|>import os\nprint(1)",
    ],
    ["an answer that is an object", '{"name": "Ada", "age": 3}', [], '{"name": "Ada", "age": 3}'],
  ],
  Pythonic: [
    [
      "two calls",
      `[tide(port='L\\'Anse', day=-1), lamp_dim(level=5, rooms=["hall", 'loft',],)]`,
      [`tide {"port":"L'Anse","day":-1}`, 'lamp_dim {"level":5,"rooms":["hall","loft"]}'],
    ],
    ["Llama 4's marks", "<|python_start|>[kiln()]<|python_end|>", [STATUS]],
    ["no brackets", "lamp_dim(level=1)", [DIM]],
    ["an assignment", "x = lamp_dim(level=1)", [DIM]],
    ["printed", "print(lamp_dim(level=1))", [DIM]],
    ["one positional argument", '[tide("Holm")]', ['tide {"port":"Holm"}']],
    ["brackets in strings", '[log(text="a) ] b")]', ['log {"text":"a) ] b"}']],
    [
      "long strings, dictionaries, Python's words",
      `[note(title='''a\n"b"''', body={'x': (1, 2), 'y': None}, weight=-1.5)]`,
      ['note {"title":"a\\n\\"b\\"","body":{"x":[1,2],"y":null},"weight":-1.5}'],
    ],
    ["Olmo, a line each", "<function_calls>\nkiln()\nlamp_dim(level=1)\n</function_calls>", [STATUS, DIM]],
    ["LFM2", "Sure.<|tool_call_start|>[kiln()]<|tool_call_end|>", [STATUS], "Sure."],
    ["LFM2 with JSON", '<|tool_call_start|>[{"name":"kiln","arguments":{}}]<|tool_call_end|>', [STATUS]],
    ["cut in a string", "[log(text='half", ["log broken"]],
    ["a list that is not closed", "[kiln(), lamp_dim(level=1)", [STATUS, DIM]],
    ["a name that is not offered", "[launch(a=1)]", [], "[launch(a=1)]"],
    ["a list of numbers", "[1, 2, 3]", [], "[1, 2, 3]"],
  ],
  Mistral: [
    [
      "names behind the mark",
      'On it.[TOOL_CALLS]lamp_dim[ARGS]{"level": 80, "rooms": []}[TOOL_CALLS]kiln[ARGS]{}',
      ['lamp_dim {"level":80,"rooms":[]}', STATUS],
      "On it.",
    ],
    [
      "a list, arguments as a string",
      '[TOOL_CALLS] [{"name":"log","arguments":"{\\"text\\":\\"ok\\"}","id":"q7Rt02LmZ"}]',
      ['log {"text":"ok"}'],
    ],
    ["an id of the call", '[TOOL_CALLS]lamp_dim[CALL_ID]q7Rt02LmZ[ARGS]{"level": 1}', [DIM]],
    ["[ARGS] was skipped", '[TOOL_CALLS]lamp_dim{"level": 1}', [DIM]],
    ["[TOOL_CALLS] was skipped", 'lamp_dim[ARGS]{"level": 1}', [DIM]],
    ["both were skipped", 'lamp_dim{"level":1}', [DIM]],
    ["the list is not closed", '[TOOL_CALLS][{"name":"kiln","arguments":{}}', [STATUS]],
    ["thinking", "[THINK]hm[/THINK]Well.[TOOL_CALLS]kiln[ARGS]{}", [STATUS], "Well.", "hm"],
    ["cut behind the name", "[TOOL_CALLS]lamp_dim[ARGS]", ["lamp_dim broken"]],
    ["cut in the arguments", '[TOOL_CALLS]lamp_dim[ARGS]{"lev', ["lamp_dim broken"]],
  ],
  DeepSeek: [
    [
      "V3",
      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tide\n${FENCE}json\n{"port": "Skerry", "day": 0}\n${FENCE}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
      ['tide {"port":"Skerry","day":0}'],
    ],
    [
      "V3.1, two",
      'Both.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>kiln<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>lamp_dim<｜tool▁sep｜>{"level":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      [STATUS, DIM],
      "Both.",
    ],
    [
      "plain bars and low lines",
      `<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>kiln\n${FENCE}json\n{}\n${FENCE}<|tool_call_end|>`,
      [STATUS],
    ],
    [
      "spaces",
      `<｜tool calls begin｜><｜tool call begin｜>function<｜tool sep｜>kiln\n${FENCE}json\n{}\n${FENCE}<｜tool call end｜>`,
      [STATUS],
    ],
    [
      "low lines with backslashes",
      "<｜tool\\_calls\\_begin｜><｜tool\\_call\\_begin｜>kiln<｜tool\\_sep｜>{}",
      [STATUS],
    ],
    [
      "the first begin dropped",
      `<｜tool▁calls▁begin｜>function<｜tool▁sep｜>kiln\n${FENCE}json\n{}\n${FENCE}`,
      [STATUS],
    ],
    ["a wrapper without begin", "<｜tool▁calls｜>kiln<｜tool▁sep｜>{}", [STATUS]],
    [
      "no fence",
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>kiln\n{}<｜tool▁call▁end｜>",
      [STATUS],
    ],
    [
      "DSML",
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="lamp_dim">\n<｜DSML｜parameter name="level" string="false">12</｜DSML｜parameter>\n<｜DSML｜parameter name="rooms" string="false">["12", "13b"]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
      ['lamp_dim {"level":12,"rooms":["12","13b"]}'],
    ],
    [
      "DSML, a text",
      '<｜DSML｜invoke name="log"><｜DSML｜parameter name="text" string="true">\n12\n</｜DSML｜parameter></｜DSML｜invoke>',
      ['log {"text":"\\n12\\n"}'],
    ],
    [
      "DSML with other bars, tags closed without it",
      'Yes.\n<|DSML|tool_calls><|DSML|invoke name="log"><|DSML|parameter name="text" string="true">a</parameter></invoke>',
      ['log {"text":"a"}'],
      "Yes.",
    ],
    [
      "all arguments under one key",
      '<｜DSML｜invoke name="lamp_dim"><｜DSML｜parameter name="arguments" string="false">{"level": 1}</｜DSML｜parameter></｜DSML｜invoke>',
      [DIM],
    ],
    ["a body of JSON", '<｜DSML｜invoke name="lamp_dim">{"level": 1}</｜DSML｜invoke>', [DIM]],
    [
      "Step-3",
      '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="log"><steptml:parameter name="text">v</steptml:parameter></steptml:invoke><｜tool_call_end｜>',
      ['log {"text":"v"}'],
    ],
    ["cut", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>lamp_dim<｜tool▁sep｜>{"level":', ["lamp_dim broken"]],
  ],
  GLM: [
    [
      "with line breaks",
      '<tool_call>log\n<arg_key>text</arg_key>\n<arg_value>3 < 4, so "fine"\nnext line</arg_value>\n</tool_call>',
      ['log {"text":"3 < 4, so \\"fine\\"\\nnext line"}'],
    ],
    [
      "without",
      'Ok<tool_call>lamp_dim<arg_key>level</arg_key><arg_value>3</arg_value><arg_key>rooms</arg_key><arg_value>["a"]</arg_value></tool_call>',
      ['lamp_dim {"level":3,"rooms":["a"]}'],
      "Ok",
    ],
    ["no arguments", "<tool_call>kiln</tool_call>", [STATUS]],
    [
      "no closing tag of a value",
      "<tool_call>move<arg_key>id</arg_key><arg_value>a<arg_key>dx</arg_key><arg_value>1</arg_value></tool_call>",
      ['move {"id":"a","dx":1}'],
    ],
    ["no opening tag of a value", "<tool_call>lamp_dim<arg_key>level</arg_key>1</arg_value></tool_call>", [DIM]],
    ["the first key's tag is missing", "<tool_call>lamp_dimlevel</arg_key><arg_value>1</arg_value></tool_call>", [DIM]],
    ["the same with a space", "<tool_call>lamp_dim level</arg_key><arg_value>1</arg_value></tool_call>", [DIM]],
    [
      "a second opener for the key's",
      "<tool_call>lamp_dim<tool_call>level</arg_key><arg_value>1</arg_value></tool_call>",
      [DIM],
    ],
    [
      "line breaks as two characters",
      "<tool_call>lamp_dim\\n<arg_key>level</arg_key>\\n<arg_value>1</arg_value>\\n</tool_call>",
      [DIM],
    ],
    [
      "the closing tag in a value",
      "<tool_call>log<arg_key>text</arg_key><arg_value>a </arg_value> b</arg_value></tool_call>",
      ['log {"text":"a </arg_value> b"}'],
    ],
    [
      "Hunyuan",
      "<tool_calls><tool_call>lamp_dim<tool_sep><arg_key>level</arg_key><arg_value>1</arg_value></tool_call></tool_calls>",
      [DIM],
    ],
    ["cut", "<tool_call>log<arg_key>text</arg_key><arg_value>half", ["log broken"]],
    ["a word behind the tag", "<tool_call>is what it writes.", [], "<tool_call>is what it writes."],
  ],
  Kimi: [
    [
      "K2",
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.move:4<|tool_call_argument_begin|>{"id": "B", "dy": 2}<|tool_call_end|><|tool_calls_section_end|>',
      ['move {"id":"B","dy":2}'],
    ],
    [
      "an id without its prefix",
      'Ok.<|tool_call_section_begin|><|tool_call_begin|>lamp_dim:0<|tool_call_argument_begin|>{"level":1}',
      [DIM],
      "Ok.",
    ],
    [
      "low lines in the id",
      '<|tool_call_begin|>functions_lamp_dim_1<|tool_call_argument_begin|>{"level":1}<|tool_call_end|>',
      [DIM],
    ],
    [
      "nothing between in the id",
      '<|tool_call_begin|>functionslamp_dim5<|tool_call_argument_begin|>{"level":1}<|tool_call_end|>',
      [DIM],
    ],
    [
      "the name in the object",
      '<|tool_call_begin|>call_1<|tool_call_argument_begin|>{"name":"lamp_dim","arguments":{"level":1}}<|tool_call_end|>',
      [DIM],
    ],
    ["the marks skipped", 'functions.lamp_dim:0{"level":1}functions.kiln:1{}', [DIM, STATUS]],
    [
      "K3",
      '<|open|>tools<|sep|><|open|>call tool="lamp_dim" index="0"<|sep|><|open|>argument key="level" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
      [DIM],
    ],
    ["cut", '<|tool_call_begin|>functions.lamp_dim:0<|tool_call_argument_begin|>{"le', ["lamp_dim broken"]],
  ],
  "Granite, Command, Phi, InternLM, xLAM, Apertus, GigaChat": [
    [
      "Granite",
      '<|tool_call|>[{"arguments": {"level": 1}, "name": "lamp_dim"}, {"name": "kiln", "arguments": {}}]',
      [DIM, STATUS],
    ],
    ["Granite without its mark", '[{"arguments": {"level": 1}, "name": "lamp_dim"}]', [DIM]],
    [
      "Granite 20B",
      '<function_call> {"name":"kiln","arguments":{}}\n<function_call> {"name":"lamp_dim","arguments":{"level":1}}',
      [STATUS, DIM],
    ],
    [
      "Command-R",
      `Plan: look.\nAction: ${FENCE}json\n[{"tool_name": "kiln", "parameters": {}}]\n${FENCE}`,
      [STATUS],
      "Plan: look.",
    ],
    [
      "Command-R's tool for an answer",
      `Action: ${FENCE}json\n[{"tool_name": "directly-answer", "parameters": {}}]\n${FENCE}`,
      [],
      `Action: ${FENCE}json\n[{"tool_name": "directly-answer", "parameters": {}}]\n${FENCE}`,
    ],
    [
      "Command A",
      '<|START_THINKING|>need the kiln<|END_THINKING|><|START_ACTION|>[\n  {"tool_call_id": "0", "tool_name": "kiln", "parameters": {}}\n]<|END_ACTION|>',
      [STATUS],
      "",
      "need the kiln",
    ],
    [
      "no comma between objects",
      '<|START_ACTION|>[{"tool_name":"kiln","parameters":{}} {"tool_name":"lamp_dim","parameters":{"level":1}}]<|END_ACTION|>',
      [STATUS, DIM],
    ],
    ["Phi", 'functools[{"name": "log", "arguments": {"text": "a]b"}}]', ['log {"text":"a]b"}']],
    ["Phi's tokens", '<|tool_calls|>[{"name":"kiln","arguments":{}}]<|/tool_calls|>', [STATUS]],
    [
      "InternLM",
      'Looking it up.<|action_start|> <|plugin|>\n{"name": "tide", "parameters": {"port": "Holm"}}<|action_end|>',
      ['tide {"port":"Holm"}'],
      "Looking it up.",
    ],
    ["xLAM", '[{"name": "move", "arguments": {"id": "Z9", "dx": 1, "dy": 0}}]', ['move {"id":"Z9","dx":1,"dy":0}']],
    ["an empty list", "[]", [], "[]"],
    ["Apertus", '<|tools_prefix|>[{"lamp_dim": {"level": 1}}, {"kiln": {}}]<|tools_suffix|>', [DIM, STATUS]],
    [
      "GigaChat",
      '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name":"kiln","arguments":{}}',
      [STATUS],
      "<|message_sep|>",
    ],
    [
      "Hunyuan",
      '<answer>One moment.<tool_calls>[{"name": "kiln", "arguments": {}}]</tool_calls></answer>',
      [STATUS],
      "One moment.",
    ],
  ],
  MiniMax: [
    [
      "M2",
      'Dim.\n<minimax:tool_call>\n<invoke name="lamp_dim">\n<parameter name="level">55</parameter>\n<parameter name="rooms">["study"]</parameter>\n</invoke>\n<invoke name=\'kiln\'>\n</invoke>\n</minimax:tool_call>',
      ['lamp_dim {"level":55,"rooms":["study"]}', STATUS],
      "Dim.",
    ],
    [
      "M1",
      '<tool_calls>\n{"name":"kiln","arguments":{}}\n{"name":"lamp_dim","arguments":{"level":1}}}\n</tool_calls>',
      [STATUS, DIM],
    ],
    [
      "M3",
      ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="lamp_dim">]<]minimax[>[<level>3]<]minimax[>[</level>]<]minimax[>[<rooms>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[</rooms>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      ['lamp_dim {"level":3,"rooms":["a"]}'],
    ],
    ["the first bracket lost", 'invoke name="lamp_dim">\n<parameter name="level">1</parameter>\n</invoke>', [DIM]],
  ],
  "gpt-oss": [
    [
      "as trained",
      '<|channel|>analysis<|message|>User wants light.<|end|><|start|>assistant<|channel|>commentary to=functions.lamp_dim <|constrain|>json<|message|>{"level":1}<|call|>',
      [DIM],
      "",
      "User wants light.",
    ],
    [
      "the recipient before the channel",
      '<|start|>assistant to=functions.lamp_dim<|channel|>commentary json<|message|>{"level":1}',
      [DIM],
    ],
    [
      "tokens stripped",
      'analysisUser wants light.assistantcommentary to=functions.lamp_dim json{"level":1}',
      [DIM],
      "",
      "User wants light.",
    ],
    ["tokens stripped, without thinking", 'commentary to=functions.lamp_dim json{"level":1}', [DIM]],
    [
      "a preamble",
      '<|channel|>commentary<|message|>I will dim it.<|end|><|start|>assistant<|channel|>commentary to=functions.lamp_dim<|message|>{"level":1}<|call|>',
      [DIM],
      "I will dim it.",
    ],
    [
      "only an answer",
      "<|channel|>analysis<|message|>easy<|end|><|start|>assistant<|channel|>final<|message|>It is on.<|return|>",
      [],
      "It is on.",
      "easy",
    ],
    [
      "a built-in tool that was not offered",
      '<|channel|>commentary to=browser.search<|message|>{"query":"x"}<|call|>',
      [],
      '<|channel|>commentary to=browser.search<|message|>{"query":"x"}<|call|>',
    ],
    ["cut", '<|channel|>commentary to=functions.lamp_dim <|constrain|>json<|message|>{"lev', ["lamp_dim broken"]],
  ],
  Gemma: [
    [
      "Gemma 4",
      '<|tool_call>call:log{text:<|"|>paid {3}, due<|"|>}<tool_call|><|tool_call>call:lamp_dim{level:9,rooms:[<|"|>bay<|"|>]}<tool_call|>',
      ['log {"text":"paid {3}, due"}', 'lamp_dim {"level":9,"rooms":["bay"]}'],
    ],
    [
      "FunctionGemma",
      "<start_function_call>call:log{text:<escape>a, b<escape>}<end_function_call>",
      ['log {"text":"a, b"}'],
    ],
    ["a turn's end for the closer", "<|tool_call>call:kiln{}<turn|>", [STATUS]],
    ["raw strings", "<|tool_call>call:tide{port:Holm,day:3}<tool_call|>", ['tide {"port":"Holm","day":3}']],
    ["a doubled name", "<|tool_call>call:kiln:kiln{}<tool_call|>", [STATUS]],
    ["Python's way", '<|tool_call>call:tide(port="Holm")<tool_call|>', ['tide {"port":"Holm"}']],
    ["the marks skipped", "call:lamp_dim{level:1}", [DIM]],
    ["a fence of tool_code", `${FENCE}tool_code\nprint(default_api.lamp_dim(level=1))\n${FENCE}`, [DIM]],
    [
      "thinking",
      "<|channel>thought\nlight\n<channel|>Sure.<|tool_call>call:kiln{}<tool_call|>",
      [STATUS],
      "Sure.",
      "light",
    ],
  ],
  "Words that lead to a call": [
    ...[
      "The server returns 500, so I look at its log:",
      "The parser expects a list. I'll check how the template is written:",
      'It is "ok".',
      'They call it "kiln"',
      "The model returns nothing here.",
      "For example the kiln. Let me look.",
      "1. Look at the kiln:",
      "**Looking:**",
      "Let me see what the client sends and how the server is called",
    ].map((left): Row => [left, `${left}\n<tool_call>{"name":"kiln","arguments":{}}</tool_call>`, [STATUS], left]),
    [
      "no line break",
      'They call it "kiln"<tool_call>{"name":"kiln","arguments":{}}</tool_call>',
      [STATUS],
      'They call it "kiln"',
    ],
    [
      "words behind it",
      'Let me look: <tool_call>{"name":"kiln","arguments":{}}</tool_call> and then I will tell you.',
      [STATUS],
      "Let me look:",
    ],
  ],
  "Generic forms": [
    ["other tags for the block", '<tools>\n{"name":"kiln","arguments":{}}\n</tools>', [STATUS]],
    [
      "one of them in a fence",
      `${FENCE}xml\n<response>\n{"name":"kiln","arguments":{}}\n</response>\n${FENCE}`,
      [STATUS],
    ],
    ["a block in a fence", `${FENCE}\n<tool_call>{"name":"kiln","arguments":{}}</tool_call>\n${FENCE}`, [STATUS]],
    ["lower case", '<toolcall>{"name":"kiln","arguments":{}}</toolcall>', [STATUS]],
    [
      "Functionary, words and a call",
      'all\nI will look.>>>tide\n{"port": "Holm"}',
      ['tide {"port":"Holm"}'],
      "I will look.",
    ],
    [
      "MiniCPM's Python in a fence",
      `<|tool_call_start|>\n${FENCE}python\nlamp_dim(level=1)\n${FENCE}\n<|tool_call_end|>`,
      [DIM],
    ],
    [
      "a fence that is the whole text",
      `${FENCE}json\n{"tool": "lamp_dim", "args": {'level': 40, "rooms": ["den",],}}\n${FENCE}`,
      ['lamp_dim {"level":40,"rooms":["den"]}'],
    ],
    [
      "tool_calls around",
      '{"tool_calls":[{"function":{"name":"lamp_dim","arguments":"{\\"level\\":1}"}},{"name":"kiln","arguments":{}}]}',
      [DIM, STATUS],
    ],
    ["tool_call around", '{"tool_call":{"name":"kiln","arguments":{}}}', [STATUS]],
    ["the name as the key", '{"lamp_dim": {"level": 1}}', [DIM]],
    [
      "ReAct",
      "Thought: the log comes first.\nAction: log\nAction Input: opened at nine\nObservation: ok",
      ['log {"text":"opened at nine"}'],
      "the log comes first.",
    ],
    ["ReAct with JSON", 'Action: lamp_dim\nAction Input: {"level": 1}', [DIM]],
    ["ReAct, a final answer", "Thought: done.\nFinal Answer: It is on.", [], "Thought: done.\nFinal Answer: It is on."],
    ["ReAct, none", "Action: None\nAction Input: None", [], "Action: None\nAction Input: None"],
    [
      "Anthropic's tags",
      'Moving.\n<function_calls>\n<invoke name="move">\n<parameter name="id">007</parameter>\n<parameter name="dx">1.0</parameter>\n</invoke>\n</function_calls>',
      ['move {"id":"007","dx":1}'],
      "Moving.",
    ],
    ["a namespace", '<x:function_calls><x:invoke name="kiln"></x:invoke></x:function_calls>', [STATUS]],
    ["a broken attribute", '<invoke name="kiln verbose="no">\n</invoke>', [STATUS]],
    [
      "a prefix and a suffix of the name",
      '<tool_call>{"name":"functions.lamp_dim:0","arguments":{"level":1}}</tool_call>',
      [DIM],
    ],
    ["another spelling of the name", '<tool_call>{"name":"lampDim","arguments":{"level":1}}</tool_call>', [DIM]],
    ["a doubled name", '<tool_call>{"name":"lamp_dimlamp_dim","arguments":{"level":1}}</tool_call>', [DIM]],
    [
      "thinking in the middle is not looked at",
      'Hm. <think><tool_call>{"name":"kiln","arguments":{}}</tool_call></think> No.',
      [],
      'Hm. <think><tool_call>{"name":"kiln","arguments":{}}</tool_call></think> No.',
    ],
    [
      "thinking that never closes is",
      '<thought>I need it <tool_call>{"name":"kiln","arguments":{}}</tool_call>',
      [STATUS],
      "",
      "I need it",
    ],
  ],
};

for (const [family, rows] of Object.entries(TABLES))
  describe(family, () => {
    for (const [what, text, calls, left = "", thinking = ""] of rows)
      test(what, async () => {
        const reply = await readReply({ text });
        deepEqual({ calls: shown(reply), left: reply.text, thinking: reply.thinking }, { calls, left, thinking });
      });
  });

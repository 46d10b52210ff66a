// The one table of what begins a call, and who reads it.

import * as special from "./special.ts";
import { closerOf, OPENERS } from "./thinking.ts";
import type { Reader } from "./types.ts";
import { readBlock, readFunction, readInvoke, readMarked } from "./xml.ts";

export interface Mark {
  marker: string; // a pattern without groups
  read?: Reader; // absent: it only opens a wrapper, or thinking
  worded?: true; // only where zz asked for it
  weak?: true; // only at the beginning of a line
}

const PREFIX = "[^\\s<>=\"'/]{0,30}?";
const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

export const MARKS: Mark[] = [
  // Hermes, Qwen, GLM, Granite 3.1, Hunyuan, Seed, LongCat: what follows the tag decides
  { marker: "<(?:longcat_|seed:)?tool_call>", read: readBlock },
  { marker: "<(?:tool_calls|TOOLCALL|function_call)>", read: readBlock },
  { marker: "<function_calls>", read: special.readLines },
  { marker: "<function(?:=|\\s{1,5}name\\s{0,5}=)", read: readFunction }, // Qwen3-Coder, Functionary 3.1, MiniCPM
  { marker: `<${PREFIX}invoke\\s{1,5}name\\s{0,5}=`, read: readInvoke }, // MiniMax M2, DeepSeek V3.2, Anthropic's, Step-3
  { marker: "^invoke name=", read: readInvoke },
  { marker: literal("]<]minimax[>[<tool_call>"), read: readMarked },
  // special tokens
  { marker: "<\\|python_(?:tag|start)\\|>", read: special.readPythonTag }, // Llama
  { marker: "<\\|tool_call_start\\|>|<\\|START_ACTION\\|>|<\\|tools_prefix\\|>", read: special.readList }, // LFM2, Command, Apertus
  { marker: "<\\|tool_calls?\\|>|<\\|action_start\\|>\\s{0,5}<\\|plugin\\|>", read: special.readList }, // Granite, Phi, InternLM
  { marker: "function call<\\|role_sep\\|>", read: special.readList }, // GigaChat
  { marker: "functools(?=\\s{0,5}\\[)", read: special.readList }, // Phi, Firefunction
  { marker: "\\[TOOL_CALLS\\]", read: special.readMistral },
  { marker: "\\[ARGS\\]", read: special.readArgs },
  { marker: "<\\|tool_call_begin\\|>", read: special.readCallBegin }, // Kimi
  { marker: "<[｜|]tool(?:[▁_ ]|\\\\_)calls?(?:(?:[▁_ ]|\\\\_)begin)?[｜|]>", read: special.readDeepSeek },
  { marker: "<\\|tool_calls?_section_begin\\|>" }, // Kimi
  { marker: "<\\|open\\|>tools<\\|sep\\|>" },
  { marker: "<\\|open\\|>call tool=", read: special.readKimi3 },
  { marker: "<\\|tool_call>|<start_function_call>", read: special.readGemma },
  { marker: "<[^\\s<>/]{1,20}(?:function_calls|tool_calls?)>" }, // of <invoke>, with a prefix
  { marker: "<\\|channel\\|>|<\\|start\\|>assistant", read: special.readHarmony }, // gpt-oss
  // plain words, at the beginning of a line
  { marker: "^>>>[A-Za-z_][\\w.-]{0,100}\\s{0,5}\\n", read: special.readFunctionary },
  { marker: "^Action:", read: special.readAction },
  { marker: "^```tool_call[ \\t]{0,10}\\r?\\n", read: special.readList, worded: true },
  { marker: OPENERS.map(literal).join("|") },
];

/** Finds any of them; the number of the group says which. */
export const ANY_MARK = new RegExp(MARKS.map(({ marker }) => `(${marker})`).join("|"), "gm");
/** What no text without a call holds, to see in one go that nothing is to be done. */
export const isThinking = (marker: string): boolean => OPENERS.includes(marker);
export { closerOf };

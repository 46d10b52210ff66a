// The table of marks that begin a call, each with its reader.

import * as special from "./special-tokens.ts";
import {
  readBlock,
  readFunction,
  readInvoke,
  readKimi3,
  readMarked,
  readNamedBlock,
} from "./tagged-calls.ts";
import { THINKING_MARKS } from "./thinking.ts";
import type { Reader } from "./types.ts";

export interface Mark {
  marker: string; // a pattern without groups
  hint: string; // a text without it does not match
  read?: Reader; // absent if the mark only opens a wrapper, or thinking
  worded?: true; // only if zz asked for calls in words
}

const NAME_PREFIX = "[^\\s<>=\"'/]{0,30}?";
const DS_REST = "(?:[▁_ ]|\\\\_)calls?(?:(?:[▁_ ]|\\\\_)begin)?[｜|]>";
const OPENER_HINTS = ["<think", "<|"];
const literal = (rawText: string): string => rawText.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

export const MARKS: Mark[] = [
  // Hermes, Qwen, GLM, Granite 3.1, Hunyuan, Seed, LongCat: what follows the tag decides
  { marker: "<(?:longcat_|seed:)?tool_call>", hint: "tool_call", read: readBlock },
  { marker: "<tool_call\\s{1,5}name\\s{0,5}=", hint: "tool_call", read: readNamedBlock }, // ipuaro
  { marker: "<tool_calls>", hint: "tool_call", read: readBlock },
  { marker: "<TOOLCALL>", hint: "TOOL", read: readBlock },
  { marker: "<toolcall>", hint: "<toolcall", read: readBlock },
  { marker: "<function_call>", hint: "<function", read: readBlock },
  { marker: "<function_calls>", hint: "<function", read: special.readLines },
  // Qwen3-Coder, Functionary 3.1, MiniCPM
  { marker: "<function(?:=|\\s{1,5}name\\s{0,5}=)", hint: "<function", read: readFunction },
  // MiniMax M2, DeepSeek V3.2, Anthropic's, Step-3
  { marker: `<${NAME_PREFIX}invoke\\s{1,5}name\\s{0,5}=`, hint: "invoke", read: readInvoke },
  { marker: "^invoke name=", hint: "invoke", read: readInvoke },
  { marker: literal("]<]minimax[>[<tool_call>"), hint: "minimax", read: readMarked },
  // special tokens
  { marker: "<\\|python_(?:tag|start)\\|>", hint: "<|", read: special.readPythonTag }, // Llama
  {
    marker: "<\\|tool_call_start\\|>|<\\|START_ACTION\\|>|<\\|tools_prefix\\|>",
    hint: "<|",
    read: special.readList,
  }, // LFM2, Command, Apertus
  {
    marker: "<\\|tool_calls?\\|>|<\\|action_start\\|>\\s{0,5}<\\|plugin\\|>",
    hint: "<|",
    read: special.readList,
  }, // Granite, Phi, InternLM
  { marker: "function call<\\|role_sep\\|>", hint: "<|", read: special.readList }, // GigaChat
  // Phi, Firefunction
  { marker: "functools(?=\\s{0,5}\\[)", hint: "functools", read: special.readList },
  { marker: "\\[TOOL_CALLS\\]", hint: "TOOL", read: special.readMistral },
  { marker: "\\[ARGS\\]", hint: "[ARGS]", read: special.readArgs },
  { marker: "<\\|tool_call_begin\\|>", hint: "<|", read: special.readCallBegin }, // Kimi
  ...["｜", "|"].map((tokenBar) => ({
    marker: literal(`<${tokenBar}tool`) + DS_REST,
    hint: tokenBar === "|" ? "<|" : `${tokenBar}tool`,
    read: special.readDeepSeek,
  })),
  { marker: "<\\|tool_calls?_section_begin\\|>", hint: "<|" }, // Kimi
  { marker: "<\\|open\\|>tools<\\|sep\\|>", hint: "<|" },
  { marker: "<\\|open\\|>call tool=", hint: "<|", read: readKimi3 },
  { marker: "<\\|tool_call>|<start_function_call>", hint: "_call>", read: special.readGemma },
  // around <invoke>, with a prefix
  { marker: "<[^\\s<>/]{1,20}(?:function_calls|tool_calls?)>", hint: "invoke" },
  // gpt-oss
  { marker: "<\\|channel\\|>|<\\|start\\|>assistant", hint: "<|", read: special.readHarmony },
  // plain words, at the beginning of a line
  {
    marker: ">>>[A-Za-z_][\\w.-]{0,100}\\s{0,5}\\n(?=\\s{0,5}\\{)",
    hint: ">>>",
    read: special.readFunctionary,
  },
  { marker: "^Action:", hint: "Action:", read: special.readAction },
  {
    marker: "^```tool_call[ \\t]{0,10}\\r?\\n",
    hint: "tool_call",
    read: special.readList,
    worded: true,
  },
  ...[...THINKING_MARKS.keys()].map((opener) => ({
    marker: literal(opener),
    hint: OPENER_HINTS.find((hint) => opener.startsWith(hint)) ?? opener,
  })),
];

/**
 * The marks that may occur in a text, and a pattern that finds them; the number of its group says
 * which.
 */
export function marksIn(replyText: string): { marks: Mark[]; pattern: RegExp } | undefined {
  const marks = MARKS.filter(({ hint }) => replyText.includes(hint));
  return marks.length
    ? { marks, pattern: new RegExp(marks.map(({ marker }) => `(${marker})`).join("|"), "gm") }
    : undefined;
}

// `node test/support/streams.ts NAME BYTES` reads a long answer over a wire, and prints the CPU time of each turn. It
// runs in its own process, since node:test tracks every promise, and so does the server: only reading is measured.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openChat } from "../../kernel/chat.ts";
import { createZz, runTurn } from "../../zz.ts";
import type { Flood } from "./fake/flood.ts";

const RUNS = 4;

// biome-ignore format: a list of words.
const WORDS = [
  "The parser reads the text once, ", "from its beginning to its end, and says", " what it found.\n\n", '  const name = "a\\n";\n',
  "  if (list[i] < 3 && map.key === `x`) {\n", "    return { a: [1, 2] };\n  }\n", "Each line that is left out ", "is told of, by number and name, ",
  "so that nobody has to look for it. ", "- **one** of the things to do is this:\n", "| a table | of two columns |\n", "and so on, until all of it was said. ",
];
const sse = (value: object, event?: string) => `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(value)}\n\n`;

const id = { id: "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012", object: "chat.completion.chunk", created: 1_763_000_000 };
const chunk = (delta: object, finish: string | null = null) =>
  sse({ ...id, model: "gpt-4o-mini-2024-07-18", system_fingerprint: "fp_560af6e559", choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] }); // biome-ignore format: one
const messages = (type: string, more: object = {}) => sse({ type, ...more }, type);
const responses = (type: string, more: object = {}) => sse({ type, sequence_number: 1_234, ...more }, type);
const item = { item_id: "msg_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b", output_index: 0, content_index: 0 };
const counts = { promptTokenCount: 61, candidatesTokenCount: 9, totalTokenCount: 70 };
const candidate = (part: object, more: object = {}) =>
  sse({ candidates: [{ content: { parts: [part], role: "model" }, index: 0, ...more }], usageMetadata: counts, modelVersion: "gemini-2.5-flash", responseId: "AbCdEfGhIjKlMnOpQrSt" }).replaceAll("\n", "\r\n"); // biome-ignore format: one
const line = (message: object, more: object = {}) =>
  `${JSON.stringify({ model: "m:latest", created_at: "2025-11-22T19:48:00.123456789Z", message: { role: "assistant", ...message }, done: false, ...more })}\n`; // biome-ignore format: one

interface Stream {
  model: string;
  head?: string;
  event(words: string): string;
  tail: string;
}
const CHAT = { model: "openai/m", tail: `${chunk({}, "stop")}data: [DONE]\n\n` };
const ANTHROPIC = {
  model: "anthropic/claude-sonnet-4-5",
  tail: messages("content_block_stop", { index: 0 }) + messages("message_delta", { delta: { stop_reason: "end_turn" } }) + messages("message_stop"), // biome-ignore format: one
};
const begun = (content_block: object) =>
  messages("message_start", { message: { usage: { input_tokens: 1, output_tokens: 1 } } }) +
  messages("content_block_start", { index: 0, content_block });
export const STREAMS: Record<string, Stream> = {
  "Chat Completions": { ...CHAT, event: (content) => chunk({ content }) },
  "Chat Completions, thinking": { ...CHAT, event: (words) => chunk({ content: null, reasoning_content: words }), tail: chunk({ content: "x" }) + CHAT.tail }, // biome-ignore format: one
  "Chat Completions, other letters": { ...CHAT, event: (words) => chunk({ content: `${words.slice(0, 9)} 漢字 🙂` }) },
  "Anthropic's Messages": { ...ANTHROPIC, head: begun({ type: "text", text: "" }), event: (text) => messages("content_block_delta", { index: 0, delta: { type: "text_delta", text } }) }, // biome-ignore format: one
  "Anthropic's Messages, thinking": { ...ANTHROPIC, head: begun({ type: "thinking", thinking: "" }), event: (thinking) => messages("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking } }), tail: messages("content_block_stop", { index: 0 }) + messages("content_block_start", { index: 1, content_block: { type: "text", text: "x" } }) + ANTHROPIC.tail }, // biome-ignore format: one
  "OpenAI's Responses": { model: "openai/gpt-5", event: (delta) => responses("response.output_text.delta", { ...item, delta, logprobs: [], obfuscation: "AbCdEfGh" }), tail: responses("response.completed", { response: { status: "completed", output: [] } }) }, // biome-ignore format: one
  "Gemini's generateContent": { model: "gemini/gemini-2.5-flash", event: (text) => candidate({ text }), tail: candidate({ text: "" }, { finishReason: "STOP" }) }, // biome-ignore format: one
  "Ollama's own API": { model: "ollama/m:latest", event: (content) => line({ content }), tail: line({ content: "" }, { done: true, done_reason: "stop" }) }, // biome-ignore format: one
};

/** The seconds of CPU that each turn took, after one that only loads what is loaded on first use. */
async function read({ model, head = "", event, tail }: Stream, bytes: number) {
  const home = mkdtempSync(join(tmpdir(), "zz-streams-"));
  const server = fork(join(import.meta.dirname, "fake", "flood.ts"));
  server.send({ head, events: WORDS.map(event), tail, bytes } satisfies Flood);
  const [port] = (await once(server, "message")) as [number];
  const baseUrl = `http://127.0.0.1:${port}${model.startsWith("openai") ? "/v1" : ""}`;
  const core = await createZz({ home, root: home, own: false, model, baseUrl, key: "k-12345678", save: false });
  const seconds: number[] = [];
  let said = 0;
  try {
    for (let i = 0; i <= RUNS; i++) {
      const chat = openChat(core, model);
      const before = process.cpuUsage();
      const { text, thinking = "" } = await runTurn(core, chat, "hi");
      const { user, system } = process.cpuUsage(before);
      said = Math.max(text.length, thinking.length);
      seconds.push((user + system) / 1e6);
    }
  } finally {
    server.kill();
    rmSync(home, { recursive: true, force: true });
  }
  return { said, seconds: seconds.slice(1) };
}

if (import.meta.main) {
  const [name = "", bytes] = process.argv.slice(2);
  console.log(JSON.stringify(await read(STREAMS[name]!, Number(bytes))));
  process.exit();
}

// Tries every wire against a server that others wrote, @copilotkit/aimock, which also fails now and then.
import { equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { openChat } from "../../kernel/chat.ts";
import type { Answer, Fault } from "../../kernel/contract.ts";
import { createZz, runTurn } from "../../zz.ts";
import type { Fake } from "./fake/http.ts";
import { lamps } from "./wires.ts";

export const MODELS = [
  "openai/gpt-4o-mini",
  "openai/gpt-5",
  "anthropic/claude-sonnet-4-5",
  "gemini/gemini-2.5-flash",
  "ollama/qwen3",
];
export const ANSWER = "It is a lamp.";
const CALL = { content: "I look.", reasoning: "how bright?", reasoningSignature: "c2ln", toolCalls: [{ name: "look", arguments: "{}" }] }; // biome-ignore format: one
const CHAOS = { dropRate: 0.1, malformedRate: 0.1, rateLimitRate: 0.05, disconnectRate: 0.1 };

/** Starts a server that answers each message of the person with a call, and each result with an answer. */
export async function started(model: string): Promise<{ mock: LLMock; fake: Fake; sent: () => any[] }> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  mock.on({ predicate: ({ messages }) => isResult(messages) }, { content: ANSWER });
  mock.on({ predicate: () => true }, CALL);
  await mock.start();
  const url = model.startsWith("openai") ? `${mock.url}/v1` : mock.url;
  const fake = { url, port: Number(new URL(mock.url).port), requests: [], close: async () => {} };
  return { mock, fake, sent: () => mock.getRequests().flatMap(({ body }) => (body ? [body] : [])) };
}

/** Whether a result came last; its images may follow it as a message of the person. */
const isResult = (messages: { role: string }[]): boolean =>
  messages.slice(messages.findLastIndex(({ role }) => role === "assistant")).some(({ role }) => role === "tool");

/** Has turns while about a third of the requests fail: each ends with an answer or a sentence, and nothing is lost. */
export async function conversation(model: string, turns: number): Promise<{ answered: number; failed: string[] }> {
  const { mock, fake } = await started(model);
  const home = mkdtempSync(join(tmpdir(), "zz-aimock-"));
  const tools = ["look", "lamp_dim"];
  const options = { model, baseUrl: fake.url, key: "k-12345678", save: false, options: { effort: "low" } };
  const core = await createZz({ home, root: home, own: false, plugins: [lamps], tools, ...options });
  const chat = openChat(core, model);
  mock.setChaos(CHAOS);
  let answered = 0;
  const failed: string[] = [];
  try {
    for (let i = 0; i < turns; i++) {
      const ended: Answer | Fault = await runTurn(core, chat, `turn ${i}`).catch((error) => error);
      equal(chat.phase, "idle");
      if (ended instanceof Error) {
        failed.push(ended.message);
        match(ended.message, /^[A-Z1].*[.!?]$/s);
        const { text = "" } = (ended as Fault).partial ?? {};
        if (text.trim())
          ok(
            chat.messages.some((one) => one.role === "assistant" && one.cut && one.text === text),
            text,
          );
        continue;
      }
      answered++;
      equal(ended.text, ANSWER);
    }
    const said = chat.messages.flatMap((one) => (one.role === "user" && !one.aside ? [one.text] : []));
    equal(said.length, turns, "all that the person said is there");
    const answers = chat.messages.filter((one) => one.role === "assistant" && one.text === ANSWER);
    ok(answers.length >= answered, "and all that was answered");
  } finally {
    await mock.stop();
    rmSync(home, { recursive: true, force: true });
  }
  return { answered, failed };
}

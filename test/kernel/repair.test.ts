// Any history, as a server gets to see it.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Call, Image, Message } from "../../kernel/contract.ts";
import { repairHistory } from "../../kernel/conversation/send-request.ts";
import { problems } from "../support/fake/openai.ts";
import { random } from "../support/runs.ts";

type Of<R> = Extract<Message, { role: R }>;
const user = (text: string, ...images: Image[]): Of<"user"> => ({
  role: "user",
  text,
  ...(images.length && { images }),
});
const called = (id: string): Call => ({ id, name: `tool_${id}`, args: {} });
const says = (text: string, ...ids: string[]): Of<"assistant"> => ({
  role: "assistant",
  text,
  ...(ids.length && { calls: ids.map(called) }),
});
const result = (id: string, text = `result of ${id}`): Of<"tool"> => ({
  role: "tool",
  id,
  name: `tool_${id}`,
  text,
});
const missing = (id: string): Of<"tool"> => ({ ...result(id, "[interrupted]"), failed: true });
const png: Image = { type: "image/png", base64: "AA==" };
const gif: Image = { type: "image/gif", base64: "BB==" };
const u = user("u");

// biome-ignore format: one case a row.
const ROWS: [string, Message[], Message[]][] = [
  ["leaves a talk in order as it is", [u, says("", "a", "b"), result("a"), result("b"), says("done"), user("v")], [u, says("", "a", "b"), result("a"), result("b"), says("done"), user("v")]],
  ["fills in the one missing result of two", [u, says("", "a", "b"), result("b")], [u, says("", "a", "b"), missing("a"), result("b")]],
  ["drops a result that has no call", [u, result("z"), says("done"), user("v")], [u, says("done"), user("v")]],
  ["drops a result that stands before its call", [u, result("a"), says("", "a")], [u, says("", "a"), missing("a")]],
  ["drops a result that comes a second time", [u, says("", "a"), result("a"), result("a", "again")], [u, says("", "a"), result("a")]],
  ["puts results in the order of their calls", [u, says("", "a", "b", "c"), result("c"), result("a"), result("b")], [u, says("", "a", "b", "c"), result("a"), result("b"), result("c")]],
  ["puts results before the person's words that stood between them", [u, says("", "a", "b"), result("b"), user("wait"), result("a"), user("go on")], [u, says("", "a", "b"), result("a"), result("b"), user("wait\n\ngo on")]],
  ["gives a later call of the same id its own result", [u, says("", "a"), result("a", "one"), says("", "a"), result("a", "two")], [u, says("", "a"), result("a", "one"), says("", "a"), result("a", "two")]],
  ["gives no earlier result to a later call of the same id", [u, says("", "a"), result("a", "one"), says("", "a")], [u, says("", "a"), result("a", "one"), says("", "a"), missing("a")]],
  ["merges the person's messages around an empty answer", [u, says(""), user("v")], [user("u\n\nv")]],
  ["merges two answers", [u, says("one"), says("two"), user("v")], [u, says("one\n\ntwo"), user("v")]],
  ["merges an answer into bare calls that follow it", [u, says("one"), says("", "a"), result("a")], [u, says("one", "a"), result("a")]],
  ["drops an answer of nothing but thinking", [u, { ...says(""), thinking: "hm" }, user("v")], [user("u\n\nv")]],
  ["drops empty words of the person", [u, says("one"), user(""), says("two"), user("v")], [u, says("one\n\ntwo"), user("v")]],
  ["keeps a message of nothing but an image", [user("", png)], [user("", png)]],
  ["merges images", [user("u", png), user("v", gif)], [user("u\n\nv", png, gif)]],
  ["keeps the images of a result", [u, says("", "a"), { ...result("a"), images: [png] }], [u, says("", "a"), { ...result("a"), images: [png] }]],
];
for (const [sentence, history, expected] of ROWS)
  test(`repair() ${sentence}`, () => {
    const before = structuredClone(history);
    deepEqual(repairHistory(history), expected);
    deepEqual(history, before, "the history itself is untouched");
  });

/** A history that begins and ends with the person; between the two anything may have happened. */
function history(seed: number): Message[] {
  const next = random(seed);
  const below = (most: number) => Math.floor(next() * most);
  const words = () => ["", "one", "two", "three\n"][below(4)]!;
  const ids = ["a", "b", "c", "d", "e"];
  const some = () => ids.filter(() => below(3) === 0).sort(() => below(3) - 1);
  const any = (): Message => {
    const kind = below(5);
    if (kind === 0) return user(words(), ...[png, gif].slice(0, below(8) === 0 ? 2 : 0));
    if (kind < 3) return result(ids[below(ids.length)]!, words());
    return says(words(), ...(below(2) ? some() : []));
  };
  return [u, ...Array.from({ length: below(14) }, any), user("last")];
}

/** As plugins/wires/messages.ts puts it on the wire. */
const wire = (message: Message) => {
  if (message.role === "tool")
    return { role: "tool", tool_call_id: message.id, content: message.text };
  if (message.role === "user") {
    const images = message.images?.map((image) => ({
      type: "image_url",
      image_url: { url: image.base64 },
    }));
    return {
      role: "user",
      content: images ? [{ type: "text", text: message.text }, ...images] : message.text,
    };
  }
  const function_ = ({ name, args }: Call) => ({ name, arguments: JSON.stringify(args) });
  const tool_calls = message.calls?.map((one) => ({ id: one.id, function: function_(one) }));
  return { role: "assistant", content: message.text || null, ...(tool_calls && { tool_calls }) };
};

test("repair() makes of 2,000 random histories what the strictest server accepts, once, and loses no word and no call", () => {
  const system = { role: "system", content: "s" };
  const text = (messages: Message[]) =>
    messages.flatMap(({ role, text }) => (role === "user" && text ? [text] : [])).join("\n\n");
  const calls = (messages: Message[]) =>
    messages.flatMap((one) => (one.role === "assistant" ? (one.calls ?? []) : []));
  let odd = 0;
  for (let seed = 1; seed <= 2_000; seed++) {
    const given = history(seed);
    const fixed = repairHistory(given);
    if (problems({ messages: [system, ...given.map(wire)] }).length) odd++;
    deepEqual(
      problems({ messages: [system, ...fixed.map(wire)] }),
      [],
      `seed ${seed}: ${JSON.stringify(given)}`,
    );
    deepEqual([text(fixed), calls(fixed)], [text(given), calls(given)], `seed ${seed}`);
    deepEqual(repairHistory(fixed), fixed, `seed ${seed}`);
  }
  equal(odd > 1_500, true, `only ${odd} of the histories had anything to repair`);
});

// What providers yield, and the one whole reply that comes of it.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Call, CallDelta, Delta, Fault, Finish } from "../../kernel/contract.ts";
import { collectReply, splitThinking } from "../../kernel/conversation/collect-reply.ts";
import { joinHalves } from "../../kernel/text/join-continuation.ts";

async function* from(deltas: Delta[], thrown?: Error): AsyncGenerator<Delta> {
  yield* deltas;
  if (thrown) throw thrown;
}

const text = (text: string): Delta => ({ text });
const thinking = (thinking: string): Delta => ({ thinking });
const call = (call: CallDelta): Delta => ({ call });
const usage = (input: number, output: number): Delta => ({ usage: { input, output } });
const finish = (finish: string): Delta => ({ finish });
const [stop, calls] = [finish("stop"), finish("tool_calls")];
const f = call({ index: 0, id: "a", name: "f", args: '{"x":1}' });

/** An id that the server did not send reads "made". */
const plain = (given: Call[], deltas: Delta[]): Call[] => {
  const sent = new Set(deltas.map((delta) => ("call" in delta ? delta.call.id : undefined)));
  const made = given.filter(({ id }) => !sent.has(id));
  for (const { id } of made) match(id, /^call_\w{8}$/);
  equal(new Set(given.map(({ id }) => id)).size, given.length, "two calls of one id");
  return given.map((one) => (made.includes(one) ? { ...one, id: "made" } : one));
};

const x1 = { x: 1 };
const one: Call[] = [{ id: "a", name: "f", args: x1 }];
const two: Call[] = [...one, { id: "b", name: "g", args: { y: 2 } }];
const made = (name: string, args: Record<string, unknown>): Call => ({ id: "made", name, args });

// [what holds, the deltas, the calls]; each stream ends with tool_calls.
// biome-ignore format: one case a row.
const CALLS: [string, CallDelta[] | Delta[], Call[]][] = [
  ["a call in pieces under index 0 is one call", [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, args: '{"x":' }, { index: 0, args: "1}" }], one],
  ["pieces without an index go to the call under way", [{ id: "a", name: "f" }, { args: '{"x":' }, { args: "1}" }], one],
  ["an index of null is a missing one", [{ index: null as never, id: "", name: "f", args: "{}" }, { index: null as never, id: "", name: "f", args: "{}" }], [made("f", {}), made("f", {})]],
  ["an id that turns empty or null is still the first", [{ index: 0, id: "a", name: "f", args: '{"x"' }, { index: 0, id: "", args: ":" }, { index: 0, id: null, args: "1}" }], one],
  ["a late id without an index is taken", [{ name: "f", args: "" }, { id: "a", args: '{"x":1}' }], one],
  ["a missing id is made", [{ index: 0, name: "f", args: '{"x":1}' }], [made("f", x1)]],
  ["the second of two equal ids is made anew", [{ index: 0, id: "a", name: "f", args: '{"x":1}' }, { index: 1, id: "a", name: "g", args: '{"y":2}' }], [one[0]!, made("g", { y: 2 })]],
  ["two calls interleaved by index stay apart", [{ index: 0, id: "a", name: "f" }, { index: 1, id: "b", name: "g" }, { index: 0, args: '{"x"' }, { index: 1, args: '{"y"' }, { index: 0, args: ":1}" }, { index: 1, args: ":2}" }], two],
  ["another id under the same index starts a call of the same name", [{ index: 0, id: "a", name: "f", args: '{"x":1}' }, { index: 0, id: "b", name: "f", args: '{"x":1}' }], [one[0]!, { ...one[0]!, id: "b" }]],
  ["whole calls under index 0 without ids are two by their names", [{ index: 0, name: "f", args: '{"x":1}' }, { index: 0, name: "g", args: '{"y":2}' }], [made("f", x1), made("g", { y: 2 })]],
  ["whole calls under index 0 without ids are two by their arguments", [{ index: 0, name: "f", args: '{"x":1}' }, { index: 0, name: "f", args: '{"x":2}' }], [made("f", x1), made("f", { x: 2 })]],
  ["whole calls without index and id are two, even if equal", [{ id: "", name: "f", args: "{}" }, { id: "", name: "f", args: "{}" }], [made("f", {}), made("f", {})]],
  ["calls without index or id and with nothing but names are two", [{ name: "f" }, { name: "g" }], [made("f", {}), made("g", {})]],
  ["a name resent whole is not appended", [{ index: 0, id: "a", name: "f", args: '{"x"' }, { index: 0, name: "f", args: ":" }, { index: 0, name: "f", args: "1}" }], one],
  ["an empty or null name does not wipe the name", [{ index: 0, id: "a", name: "f", args: '{"x":' }, { index: 0, name: "", args: "1" }, { index: 0, name: null, args: "}" }], one],
  ["arguments resent whole are taken once", [{ index: 0, id: "a", name: "f", args: '{"x":1}' }, { index: 0, args: '{"x":1}' }], one],
  ["arguments may be an object", [{ index: 0, id: "a", name: "f", args: { x: 1 } }], one],
  ["arguments may be JSON text twice over", [{ index: 0, id: "a", name: "f", args: JSON.stringify('{"x":1}') }], one],
  ["arguments of blanks are {}", [{ index: 0, id: "a", name: "f", args: " \n" }], [{ id: "a", name: "f", args: {} }]],
  ["of two equal values in a row the first is taken", [{ index: 0, id: "a", name: "f", args: '{"x":1}{"x": 1}' }], one],
  ["braces inside strings do not end a value", [{ index: 0, id: "a", name: "f", args: '{"x":"}{"}{"x":"}{"}' }], [{ id: "a", name: "f", args: { x: "}{" } }]],
  ["what must be sent back with a call is kept", [{ index: 0, id: "a", name: "f", args: '{"x":1}', extra: { google: { thought_signature: "s" } } }, { index: 0, args: "" }], [{ ...one[0]!, extra: { google: { thought_signature: "s" } } }]],
];
for (const [sentence, given, expected] of CALLS)
  test(`collect(): ${sentence}`, async () => {
    const deltas = given.map((one) => (isDelta(one) ? one : call(one)));
    const reply = await collectReply(from([...deltas, calls]));
    deepEqual(plain(reply.calls, deltas), expected);
    equal(reply.finish, "calls");
  });

function isDelta(one: CallDelta | Delta): one is Delta {
  return "call" in one;
}

const CUT =
  "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
const UNUSABLE =
  /^The arguments are not usable: .+\. Send the call again with a valid JSON object\.$/;
// biome-ignore format: one case a row.
const BROKEN: [string, CallDelta, string, string | RegExp][] = [
  ["arguments that are not JSON", { name: "f", args: "{x:1}" }, "tool_calls", UNUSABLE],
  ["arguments that end early", { name: "f", args: '{"x":' }, "tool_calls", UNUSABLE],
  ["arguments that are a number", { name: "f", args: 7 }, "tool_calls", /expected an object, got 7\./],
  ["two values in a row that differ", { name: "f", args: '{"x":1}{"x":2}' }, "tool_calls", UNUSABLE],
  ["a call without a name", { id: "a", args: '{"x":1}' }, "tool_calls", "The call names no tool. Send it again with a name."],
  ["a call of a name that is too long", { name: "f".repeat(500), args: "{}" }, "tool_calls", /its name has 500 characters, more than the \d+ /],
  ["a call cut in its arguments", { name: "f", args: '{"x":' }, "length", CUT],
  ["a call cut between two values", { name: "f", args: '{"x":1}{"x"' }, "length", CUT],
];
for (const [sentence, given, ended, broken] of BROKEN)
  test(`collect() marks ${sentence} as broken and does not throw`, async () => {
    const reply = await collectReply(from([call(given), finish(ended)]));
    equal(reply.calls.length, 1);
    if (typeof broken === "string") equal(reply.calls[0]!.broken, broken);
    else match(reply.calls[0]!.broken ?? "", broken);
    if (broken !== CUT && !given.name) return;
    deepEqual(reply.calls[0]!.args, {}, "what is broken has no arguments to run with");
  });

test("collect() leaves the whole one of two calls usable when the limit cut the second", async () => {
  const second = call({ index: 1, id: "b", name: "g", args: '{"y' });
  const reply = await collectReply(from([f, second, finish("length")]));
  deepEqual(reply.calls, [one[0], { id: "b", name: "g", args: {}, broken: CUT }]);
  equal(reply.finish, "length");
});

test("collect() drops a call of which nothing came but an index", async () => {
  const reply = await collectReply(
    from([text("hi"), call({ index: 0, id: "a", name: "", args: "" }), calls]),
  );
  deepEqual(reply, { text: "hi", thinking: "", calls: [], finish: "stop" });
});

// biome-ignore format: one case a row.
const FINISHES: [string, Delta[], Finish][] = [
  ["stop with calls is calls", [f, stop], "calls"],
  ["tool_calls without calls is stop", [text("hi"), calls], "stop"],
  ["model_context_window_exceeded is length", [text("hi"), finish("model_context_window_exceeded")], "length"],
  ["length with calls stays length", [f, finish("length")], "length"],
  ["an empty finish after one changes nothing", [text("hi"), finish("length"), finish("")], "length"],
  ["calls that come after the finish still count", [stop, f], "calls"],
];
for (const [sentence, deltas, expected] of FINISHES)
  test(`collect(): ${sentence}`, async () =>
    equal((await collectReply(from(deltas))).finish, expected));

// biome-ignore format: one case a row.
const USAGES: [string, Delta[], unknown][] = [
  ["after the finish is taken", [text("hi"), stop, usage(61, 9)], { input: 61, output: 9 }],
  ["with what a cache gave and took", [{ usage: { input: 61, output: 9, cached: 40, written: 10 } }, stop], { input: 61, output: 9, cached: 40, written: 10 }],
  ["of a cache, told before the rest, stays", [{ usage: { input: 61, output: 0, cached: 40 } }, usage(61, 9), stop], { input: 61, output: 9, cached: 40 }],
  ["on every delta is the last one, not the sum", [usage(61, 1), usage(61, 5), stop, usage(61, 9)], { input: 61, output: 9 }],
];
for (const [sentence, deltas, expected] of USAGES)
  test(`collect(): usage ${sentence}`, async () =>
    deepEqual((await collectReply(from(deltas))).usage, expected));

// biome-ignore format: one case a row.
const THOUGHTS: [string, Delta[], { text: string; thinking: string }][] = [
  ["joins pieces of thinking", [thinking("h"), thinking("m"), text("Hi")], { text: "Hi", thinking: "hm" }],
  ["finds tags that were cut into pieces", [text("<thi"), text("nk>hm</thi"), text("nk>Hi")], { text: "Hi", thinking: "hm" }],
  ["joins thinking fields and tags", [thinking("one"), text("<think>two</think>Hi")], { text: "Hi", thinking: "one\ntwo" }],
  ["takes a thought once that came as a field and in tags", [thinking("hm"), text("<think>hm</think>Hi")], { text: "Hi", thinking: "hm" }],
];
for (const [sentence, deltas, expected] of THOUGHTS)
  test(`collect() ${sentence}`, async () =>
    deepEqual(await collectReply(from([...deltas, stop])), {
      ...expected,
      calls: [],
      finish: "stop",
    }));

test("collect() shows what has come so far, thinking apart", async () => {
  const seen: string[] = [];
  await collectReply(from([thinking("hm"), text("Hel"), text("lo"), stop]), (text, hm) =>
    seen.push(`${hm}: ${text}`),
  );
  deepEqual(seen.slice(0, 3), ["hm: ", "hm: Hel", "hm: Hello"]);
});

const said = [thinking("hm"), text("Dimm")];
const partial = { text: "Dimm", thinking: "hm" };
const MID = "The model's server failed in mid-stream: ";
// biome-ignore format: one case a row.
const THROWS: [string, Delta[], string, boolean, { text: string; thinking: string }][] = [
  ["an error", [...said, { error: { error: { message: "backend gave up", type: "server_error" } } }], `${MID}backend gave up.`, true, partial],
  ["an error with a status of 400", [...said, { error: { error: { code: 400, message: "bad request" } } }], `${MID}bad request.`, false, partial],
  ["a finish of error", [...said, finish("error")], "The model's server gave up in mid-stream (error). Try again.", true, partial],
];
for (const [sentence, deltas, message, transient, partial] of THROWS)
  test(`collect() throws on ${sentence}${transient ? ", which may pass," : ""} and keeps what came`, () =>
    rejects(collectReply(from(deltas)), (error: Fault) => {
      deepEqual([error.message, error.transient, error.partial], [message, transient, partial]);
      return true;
    }));

test("collect() keeps what came when the provider itself throws", () =>
  rejects(collectReply(from(said, new TypeError("terminated"))), (error: Fault) => {
    ok(error instanceof TypeError);
    deepEqual(error.partial, partial);
    return true;
  }));

// biome-ignore format: one case a row.
const SPLITS: [string, string, string, string][] = [
  ["a block at the start", "<think>hm</think>Hi", "Hi", "hm"],
  ["two blocks at the start", "<think>one</think>\n<think>two</think>Hi", "Hi", "one\ntwo"],
  ["a block that never closes", "<think>hm, still", "", "hm, still"],
  ["all before a lone close", "hm\nso\n</think>\n\nHi", "Hi", "hm\nso"],
  ["a close in inline code", "Close it with `</think>` there.", "Close it with `</think>` there.", ""],
  ["a pair in the middle of a sentence", "The pair <think>x</think> marks it.", "The pair <think>x</think> marks it.", ""],
  ["a block, then a close in code", "<think>hm</think>Use `</think>`.", "Use `</think>`.", "hm"],
  ["a block closed twice", "<think>hm</think></think>Hi", "Hi", "hm"],
  ["text whose own blanks follow a block", "<think>hm</think>\n\nHi\n\n  there\n", "Hi\n\n  there\n", "hm"],
];
for (const [sentence, given, text, thinking] of SPLITS)
  test(`splitThinking() reads ${sentence}`, () =>
    deepEqual(splitThinking(given), { text, thinking }));

const overlap = "the lamp is dimmed to eight";
// biome-ignore format: one case a row.
const SEAMS: [string, string, string, string][] = [
  ["puts two texts together", "One, ", "two.", "One, two."],
  ["drops what the second repeats of the first's end", `Now ${overlap}`, `${overlap} and stays so.`, `Now ${overlap} and stays so.`],
  ["drops a second that says all of the first's end again", `Now ${overlap}`, overlap, `Now ${overlap}`],
  ["drops nothing that is only alike", `Now ${overlap}.`, "The lamp is on.", `Now ${overlap}.The lamp is on.`],
  ["keeps letters that a word has twice", "bana", "nas", "bananas"],
];
for (const [sentence, a, b, expected] of SEAMS)
  test(`seam() ${sentence}`, () => equal(joinHalves(a, b), expected));

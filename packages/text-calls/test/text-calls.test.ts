// The whole program with servers whose models write calls as text: what is sent, what runs, what
// the person sees.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Script } from "../../../test/support/fake/http.ts";
import { fakeOllama, say as sayOllama } from "../../../test/support/fake/ollama.ts";
import { call, delta, refuse, say } from "../../../test/support/fake/openai.ts";
import { asks } from "../../../test/support/having.ts";
import { place, zz } from "../../../test/support/run.ts";
import { HURRIED, PIXEL } from "../../../test/support/wires.ts";
import { readReply, shown } from "./tools.ts";

const CODE = "one();\ntwo();\n";
const coder = (name: string, args: Record<string, string>): string =>
  `<tool_call>\n<function=${name}>\n${Object.entries(args)
    .map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`)
    .join("")}</function>\n</tool_call>`;
const hermes = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

const project = (config?: object) => place({ "a.ts": CODE }, config);

const HOW = { clock: HURRIED };
async function ask(script: Script, { where = project(), model = "m", args = [] as string[] } = {}) {
  const { sent, ...ran } = await asks(
    where,
    script,
    ["--once", "-m", `openai/${model}`, ...args, "fix a.ts"],
    HOW,
  );
  return { ...ran, bodies: sent };
}

const PLAIN = [{ name: "qwen2.5:7b", capabilities: ["completion"] }];
async function askOllama(script: Script, { where = project(), args = [] as string[] } = {}) {
  const fake = await fakeOllama(script, PLAIN);
  after(fake.close);
  const flags = ["--once", "-m", "ollama/qwen2.5:7b", ...args, "what is in a.ts?"];
  const ran = await zz(where, flags, { env: { OLLAMA_HOST: fake.url } });
  return { ...ran, where, bodies: fake.requests.map(({ body }) => body) };
}
const words = (body: any): string => body.messages.map(({ content }: any) => content).join("\n");

describe("Calls written as text", { concurrency: 3 }, () => {
  test("a model that writes Qwen3-Coder's XML edits a file", async () => {
    const edit = coder("edit_file", {
      path: "a.ts",
      old_string: "two();",
      new_string: "2(); // </parameter> stays",
    });
    const script = [
      say(`I will look first.\n\n${coder("read_file", { path: "a.ts" })}`),
      say(edit),
      say("Done."),
    ];
    const how = { model: "qwen3-coder", args: ["--allow-write"] };
    const { code, stdout, stderr, where, bodies } = await ask(script, how);
    deepEqual([code, stdout], [0, "Done.\n"], stderr);
    equal(readFileSync(join(where.cwd, "a.ts"), "utf8"), "one();\n2(); // </parameter> stays\n");
    doesNotMatch(stdout + stderr, /<tool_call>|<function/);
    ok(bodies[0].tools.length > 5, "tools were offered natively");
    const sent = bodies[1].messages.find(({ tool_calls }: any) => tool_calls);
    deepEqual(
      [sent.content, sent.tool_calls[0].function.name],
      ["I will look first.", "read_file"],
    );
    const { message: saved } = where.sessions()[0]!.find(({ message }) => message?.calls);
    deepEqual(
      [saved.text, saved.calls[0].name, saved.calls[0].args.path],
      ["I will look first.", "read_file", "a.ts"],
    );
  });

  test("a call in thinking counts where there is no text", async () => {
    const reply = await readReply({ thinking: `I look. ${hermes("tide", { port: "a" })}` });
    deepEqual([reply.text, reply.thinking, shown(reply)], ["", "I look.", ['tide {"port":"a"}']]);
  });

  test("native calls win, and the text beside them stays text", async () => {
    const both = call(["read_file", { path: "a.ts" }]);
    both.body!.splice(1, 0, delta({ content: hermes("list_dir", {}) }));
    const { bodies } = await ask([both, say("Done.")]);
    const sent = bodies[1].messages.find(({ tool_calls }: any) => tool_calls);
    equal(sent.content, hermes("list_dir", {}));
    equal(sent.tool_calls.length, 1);
  });

  test("without tools, or with tool_choice none, nothing is looked for", async () => {
    const text = hermes("read_file", { path: "a.ts" });
    for (const args of [["--no-tools"], ["-o", "tool_choice", "none"]])
      equal((await ask([say(text)], { args })).stdout, `${text}\n`);
  });

  test("marks of thinking are taken out of the text", async () => {
    const { text, thinking } = await readReply({
      text: "[THINK]two lines[/THINK]It has two lines.",
    });
    deepEqual([text, thinking], ["It has two lines.", "two lines"]);
  });
});

describe("Tools offered in words", { concurrency: 3 }, () => {
  test("to a model of Ollama without the capability: its text call runs", async () => {
    const script = [
      sayOllama(`I read it.\n${hermes("read_file", { path: "a.ts" })}`),
      sayOllama("Two calls."),
    ];
    const { code, stdout, stderr, bodies } = await askOllama(script);
    deepEqual([code, stdout], [0, "Two calls.\n"], stderr);
    deepEqual([bodies[0].tools, bodies[1].tools], [undefined, undefined]);
    match(
      bodies[0].messages[0].content,
      /--- TOOL CALLS ---.*<tools>\n\{"type":"function".*"name":"read_file"/s,
    );
    match(bodies[0].messages[0].content, /<tool_call>\n\{"name":"tool_name","arguments"/);
    const [asked, result] = bodies[1].messages.slice(-2);
    deepEqual(asked, {
      role: "assistant",
      content: `I read it.\n${hermes("read_file", { path: "a.ts" })}`,
    });
    equal(result.role, "user");
    match(result.content, /^<tool_response>\n1\tone\(\);\n2\ttwo\(\);\n<\/tool_response>$/);
  });

  for (const [said, status] of [
    ["registry.ollama.ai/library/m does not support tools", 400],
    [
      "No endpoints found that support tool use. To learn more about provider routing, visit: https://a.b",
      404,
    ],
    ['"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400],
    ["tools param requires --jinja flag", 500],
  ] as const)
    test(`where the server refuses them: '${said.slice(0, 40)}'`, async () => {
      const script: Script = ({ body }) => {
        if (body.tools) return refuse(status, { error: { message: said } });
        const fenced =
          "```tool_call\n" + '{"name": "read_file", "arguments": {"path": "a.ts"}}\n```';
        return say(body.messages.length > 2 ? "Done." : fenced);
      };
      const { code, stdout, stderr, bodies } = await ask(script);
      deepEqual([code, stdout], [0, "Done.\n"], stderr);
      const native = bodies.filter(({ tools }) => tools).length;
      equal(bodies.length - native, 2);
      match(bodies.at(-1).messages.at(-1).content, /^Result of read_file:\n1\tone/);
    });

  test("another refusal is one", async () => {
    const no = refuse(400, { error: { message: "messages: too many tools in this plan" } });
    const { code, stderr, bodies } = await ask([no]);
    deepEqual([code, bodies.length], [1, 1]);
    match(stderr, /too many tools in this plan/);
  });

  test('"format": "text" always does, "native" never', async () => {
    const script = [say("Hi.")];
    const text = await ask(script, {
      where: project({ textCalls: { format: "text" } }),
      model: "mistral-nemo",
    });
    equal(text.bodies[0].tools, undefined);
    match(words(text.bodies[0]), /\[AVAILABLE_TOOLS\]/);
    const where = project({ textCalls: { format: "native" } });
    const { bodies } = await askOllama([sayOllama("Hi.")], { where });
    doesNotMatch(words(bodies[0]), /TOOL CALLS/);
  });

  test("a call in words that does not fit is told to the model", async () => {
    const how = { where: project({ textCalls: { format: "text" } }), model: "mistral-nemo" };
    const { bodies } = await ask([say("[TOOL_CALLS]read_file[ARGS]{}"), say("Oh.")], how);
    match(words(bodies[1]), /TOOL_RESULTS\]\{"content":"Cannot call 'read_file': .*path/);
  });

  for (const text of [
    'I look.\n{"name": "tide", "parameters": {"port": "a"}}',
    'I look.\n\n[tide(port="a")]',
    'I look.\n[{"name": "tide", "arguments": {"port": "a"}}]',
    'I look.\nfunctions.tide:0{"port": "a"}',
  ])
    test(`marks that the server leaves out are not missed: ${text}`, async () => {
      const reply = await readReply({ text }, { worded: true });
      deepEqual([reply.text, shown(reply)], ["I look.", ['tide {"port":"a"}']]);
    });

  test("the last request of a turn, without tools, has the calls so far as text too", async () => {
    const script = [sayOllama(hermes("read_file", { path: "a.ts" })), sayOllama("Done.")];
    const { bodies } = await askOllama(script, { args: ["--rounds", "1"] });
    equal(bodies.length, 2);
    ok(bodies[1].messages.every(({ role, tool_calls }: any) => role !== "tool" && !tool_calls));
    doesNotMatch(words(bodies[1]), /TOOL CALLS/);
  });

  test("several calls, one of which failed, and the images of a result", async () => {
    const where = project({ textCalls: { format: "text" } });
    writeFileSync(join(where.cwd, "b.png"), Buffer.from(PIXEL, "base64"));
    const calls = `${hermes("read_file", { path: "b.png" })}\n${hermes("read_file", { path: "gone.ts" })}`;
    const { bodies } = await ask([say(calls), say("Oh.")], { where, model: "qwen3" });
    const last = bodies[1].messages.at(-1);
    equal(last.role, "user");
    match(
      JSON.stringify(last.content),
      new RegExp(`Cannot read 'gone\\.ts'.*${PIXEL.slice(0, 20)}`),
    );
  });
});

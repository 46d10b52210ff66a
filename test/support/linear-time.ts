// What zz does with texts that a model, a server, a file or a plugin chose: each entry is given
// every text of this file, in a process that the parent may kill.
// `node test/support/linear-time.ts SIZE ENTRY...` prints which text it is at.

import { collectReply } from "../../kernel/conversation/collect-reply.ts";
import { fillTemplate, frontMatter } from "../../kernel/conversation/prompt-files.ts";
import { repairHistory } from "../../kernel/conversation/send-request.ts";
import { findTool } from "../../kernel/plugins/run-call.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { shortenName, unknown } from "../../kernel/text/did-you-mean.ts";
import { joinHalves } from "../../kernel/text/join-continuation.ts";
import { veil } from "../../kernel/text/secrets.ts";
import { clean, cleanRendered } from "../../kernel/text/show-safely.ts";
import { applyChange } from "../../packages/apply-patch/apply.ts";
import { parsePatch } from "../../packages/apply-patch/parse.ts";
import { redactor } from "../../packages/debug/redact.ts";
import { namesIn } from "../../packages/eval/names-in-answer.ts";
import { byWords } from "../../packages/memory/recall.ts";
import { summarise } from "../../packages/run-tests/read-results.ts";
import { parseSkill } from "../../packages/skills/front-matter.ts";
import { calledSkills } from "../../packages/skills/match.ts";
import { readSchema, shortForm } from "../../packages/structured/schema.ts";
import { scan } from "../../packages/symbols/scan.ts";
import { rescue } from "../../packages/text-calls/rescue.ts";
import { applyEdits } from "../../plugins/edit-file/cascade.ts";
import { createFinder } from "../../plugins/search/find-in-lines.ts";
import { compilePattern } from "../../plugins/search/pattern.ts";
import { patternFor } from "../../plugins/search/ripgrep.ts";
import { renderDiff } from "../../plugins/terminal/draw-diff.ts";
import { highlight } from "../../plugins/terminal/highlight.ts";
import { renderMarkdown } from "../../plugins/terminal/render-markdown.ts";
import * as format from "../../plugins/terminal/shorten-for-rows.ts";
import { themeOf } from "../../plugins/terminal/theme.ts";
import { weigh } from "../../plugins/window/count.ts";
import { overflow } from "../../plugins/window/overflow.ts";
import { codeBlocks, readJson } from "../../sdk/json-in-answers.ts";
import { harness } from "../../sdk/testing.ts";
import { RANDOM_TOOLS } from "./text-calls.ts";

const unit = (unit: string) => (size: number) =>
  unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
/** What is repeated, by the grammar in which it means something. */
const UNITS = Object.values({
  signs: `*¦[¦]¦\`¦>¦(¦)¦{¦}¦<¦!¦&¦_¦~¦#¦=¦:¦/¦\\¦"¦'¦$¦%¦@¦|¦-¦+¦.¦,¦a¦1¦\t`,
  "blanks and controls": ` ¦\n¦\r¦\r\n¦ \n¦\u0000¦\u00e9¦\u0301¦\ud83d\ude00¦\u202e¦\ud800¦\u001b¦\u001b[¦\u001b]8;;`,
  "globs and mentions": `{a,b}¦{a,¦[a¦[!¦[]¦**/¦*a¦?*¦a*b¦\\*¦..¦../¦a/¦//¦@a ¦@"¦@a:1-¦@(¦()`,
  "blocks of Markdown": `\`\`\`\n¦\`\`\`a\n¦\`a¦~~~\n¦> ¦>\n¦> > ¦- ¦- a\n¦  - ¦1. ¦1.\n¦# a\n¦a\n=\n¦---\n¦***\n`,
  "words of Markdown": `*a ¦**a¦_a¦a_¦a*¦*a*¦**a** ¦~~a¦[a](¦[a][¦[a]: b\n¦![¦![a](b¦](¦<a ¦<!--¦<![CDATA[¦<?¦&a¦&#¦&amp;`,
  "tables, links, escapes": `|a¦|a|b|\n¦|-|-|\n¦| a\n|-\n¦http://¦https://a.b/¦www.¦a@b¦a.b¦\\n¦\\\\¦\\"¦a\\\n¦  \n`,
  "thinking and JSON": `<think>¦</think>¦<think></think>¦<think>\n¦</thinking>¦{}¦{"a":¦[[¦{{¦"\\¦{"a":1}¦null`,
  "templates and front matter": `$1¦\${1:-¦\${@¦$@¦key: v\n¦key:\n¦- [¦key: [¦key: "¦key: >\n¦a: 'b¦"a" ¦'a' ¦a b ¦/a `,
  patches: `*** Update File: a\n¦*** Add File: a\n¦*** Begin Patch\n¦@@\n¦@@ a\n¦+a\n¦-a\n¦ a\n¦--- a\n+++ b\n¦--- a\n`,
  differences: `diff --git a/a b/a\n¦@@ -1 +1 @@\n¦\\ No newline\n¦index 0..1 1\n`,
  code: `(function(){¦a=>¦a?b:¦a<b,¦\`\${¦/*¦//a\n¦/a/¦class A{¦if(a){¦a;¦a(¦export * from 'a';\n¦import a from 'a';\n¦x=`,
  "more code": `-x¦[[a],¦<a>¦TODO: a\n¦/** @a */`,
  secrets: `key=abc12345¦Bearer a1¦sk-aaaaaaaaaaaaaaaaaaaa1¦TOKEN=a1 ¦password: a1\n¦a1b2c3d4e5f6¦://a:b@¦A_KEY=¦eyJa.`,
  "calls as JSON": `<tool_call>¦<tool_call>{¦<tool_call>[¦<tool_call>{"name":"run","arguments":{"text":"`,
  "calls with tags": `<tool_call>run<arg_key>text</arg_key><arg_value>¦<function=run>¦<function=run><parameter=text>`,
  "calls with parameters": `<parameter=text></parameter>x¦<invoke name="run">¦<invoke name="run"><parameter name="text">¦[TOOL_CALLS]`,
  "calls with marks": `[TOOL_CALLS]run[ARGS]{¦<|python_tag|>¦<|tool_call|>[¦<|channel|>analysis<|message|>`,
  "more marks": `<\uff5ctool\u2581calls\u2581begin\uff5c>¦<|tool_call_begin|>run<|tool_call_argument_begin|>{`,
  "calls with words": `<|tool_call>call:run{text:¦functools[¦Action: run\nAction Input: ¦run(¦run(text=¦[THINK]¦<|START_`,
  "calls of some models": `]<]minimax[>[<tool_call>¦to=functions.run {`,
  "places in answers": `a.ts:1:1\n¦\`a.b()\`¦src/a.ts ¦the function a ¦npm run a ¦lines 1-2 ¦no \`a\` ¦\u2716 a (1ms)\n¦not ok 1 - a\n`,
  "what tests print": `FAIL a\n¦at a (b:1:1)\n¦\u2139 tests 1\n`,
}).flatMap((row) => row.split("¦"));
const TEXTS: Record<string, (size: number) => string> = Object.fromEntries([
  ...[...new Set(UNITS)].map((one) => [`${JSON.stringify(one)} and again`, unit(one)] as const),
  ...["a", " ", "(", "[", "{", '"', "\n", "1"].map(
    (one) =>
      [`${JSON.stringify(one)} and again, then x`, (n: number) => `${unit(one)(n - 1)}x`] as const,
  ),
  ...["(", "[", "{", "<", "*", "`", "> "].map(
    (one) =>
      [`x, then ${JSON.stringify(one)} and again`, (n: number) => `x${unit(one)(n - 1)}`] as const,
  ),
  ["half opening, half closing", (n: number) => "(".repeat(n / 2) + ")".repeat(n / 2)],
  ["half opening, half closing brackets", (n: number) => "[".repeat(n / 2) + "]".repeat(n / 2)],
  ["half opening, half closing braces", (n: number) => "{".repeat(n / 2) + "}".repeat(n / 2)],
  ["lists in lists",
    (n: number) => Array.from({ length: Math.sqrt(n) }, (_, i) => `${" ".repeat(i)}- a\n`).join("")],
  ["lines that all differ",
    (n: number) => Array.from({ length: n / 8 }, (_, i) => `${i}`.padStart(7, "l")).join("\n")],
  [
    "lines that are nearly alike",
    (n: number) =>
      Array.from({ length: n / 40 }, (_, i) => `    const value = compute(${i}, value);`).join(
        "\n",
      ),
  ],
]); // biome-ignore format: a table

const numbered = (n: number) => Array.from({ length: n }, (_, i) => `x${i}`).join("\n");
const plain = (text: string) => text;
const paint = { removed: plain, added: plain, strong: plain, dim: plain };
const look = { width: 80, theme: themeOf("dark"), highlight };
async function* deltas(...all: any[]) {
  yield* all;
}
const collected = (finish: string, ...all: any[]) => collectReply(deltas(...all, { finish }));
const pieces = (text: string) => text.match(/.{1,20}/gs) ?? [];
const tools = new Map(
  ["read_file", "grep", "a"].map((name) => [
    name,
    { owner: "", value: { name, description: "", run: () => "" } },
  ]),
) as any;
const fits = (pattern: string) =>
  ["src/a.ts", "a".repeat(200), `${"a/".repeat(50)}b`].map(compilePattern(pattern));
const found = (text: string, query: string) =>
  createFinder(
    { query, regex: query.length > 1, ignoreCase: false },
    new AbortController().signal,
    CLOCK,
  ).find([text]);
const edited = (body: string, old_string: string, new_string: string) =>
  applyEdits(body, [{ old_string, new_string }]);
const patched = (text: string, patch: string) =>
  parsePatch(patch).map((change) => applyChange(text, change));
const rescued = (text: string, thinking = "", worded = false) =>
  rescue(
    { calls: [], finish: "stop", text, thinking },
    { tools: RANDOM_TOOLS, options: {}, worded },
  );
let zz: Awaited<ReturnType<typeof harness>> | undefined;
async function listed(ignore: string): Promise<unknown> {
  zz ??= await harness({ own: true });
  zz.write(".gitignore", ignore);
  zz.write("a.ts", "a");
  return zz.ctx.files.list();
}
/** What is done with a text; what throws has come to an end, too. */
export const ENTRIES: Record<string, (text: string, size: number) => (() => unknown)[]> = {
  "a tool's name": (text) => [
    () => findTool({ tools }, text),
    () => unknown("tool", text, ["read_file", "grep"]),
  ],
  "two answers as one": (text) =>
    [text, `x${text}`].flatMap((one) =>
      [text, `${text}x`].map((two) => () => joinHalves(one, two)),
    ),
  "clean()": (text) => [() => clean(text), () => cleanRendered(text)],
  "a template": (text) => [() => fillTemplate(text, "a b"), () => fillTemplate("$1 $@", text)],
  "the short form of a schema": (text) => [
    () => shortForm(text),
    () => shortForm(`a (${text}`),
    () => shortForm(`a: ${text}`),
    () => readSchema(`{"$ref": "#/${text}"}`, "/"),
  ],
  "what an answer holds": (text) => [
    () => codeBlocks(text),
    () => codeBlocks(`\`\`\`\n${text}`),
    () => readJson(text, { $schema: "", type: "null" }),
    () => readJson(`{"a": "${text}`, { $schema: "", type: "null" }),
  ],
  "front matter": (text) => [
    () => frontMatter(`---\n${text}\n---\nbody`),
    () => frontMatter(`---\n${text}`),
  ],
  "an answer of a model": (text) => [
    () => collected("stop", { text }),
    () => collected("stop", { thinking: text, text: `<think>${text}` }),
    () => collected("stop", ...pieces(text).map((text) => ({ text }))),
  ],
  "a call of a model": (text) => [
    () => collected("calls", { call: { name: text, args: text } }),
    () => collected("calls", { call: { id: text, name: "a", args: JSON.stringify({ a: text }) } }),
    () => collected("length", { call: { name: "a", args: `{"a":"${text}` } }),
    () =>
      collected("calls", ...pieces(text).map((args) => ({ call: { index: 0, name: "a", args } }))),
    () => collected("calls", ...pieces(text).map((args) => ({ call: { args } }))),
  ],
  "a history": (text, n) => [
    () => repairHistory(Array(n / 20).fill({ role: "user", text: text.slice(0, 10) })),
  ],
  "a glob": (text) => [() => fits(text), () => fits(`**/${text}`), () => fits(`${text}*/x`)],
  "a query of grep": (text) => [
    () => patternFor({ query: text, regex: true, ignoreCase: false }),
    () => patternFor({ query: text, regex: false, ignoreCase: true }),
  ],
  "a file that grep looks through": (text) =>
    ["x", "(a+)+$", "a.*b"].map((query) => () => found(text, query)),
  "a skill": (text) => [
    () => parseSkill(`---\n${text}\n---\nx`),
    () => parseSkill(`---\nname: "${text}\n---\n`),
    () => parseSkill(`---\ntriggers: [${text}\n---\n`),
    () => parseSkill(`---\na: >\n ${text}\n---\n`),
  ],
  "a skill's trigger": (text) => [
    () => calledSkills([{ name: "a", triggers: [text] }], "hello world"),
    () => calledSkills([{ name: "some-skill", triggers: ["some words here"] }], text),
    () => calledSkills([{ name: "some-skill", triggers: [text] }], text),
  ],
  "an edit": (text) => [
    () => edited(`x${text}y`, text, "new"),
    () => edited(text, `${text}z`, "new"),
    () => edited(text, `  ${text.slice(0, text.length / 2)} z`, "new"),
    () => edited(`${text}\nneedle here\n${text}`, "needle here", text),
    () => edited(`  if (a) {\n${text}\n`, `if (a) {\n${text.slice(0, 4_000)}`, text),
    () => edited(text, text, `${text}x`),
  ],
  "a patch": (text) => [
    () => patched(text, text),
    () => patched(text, `*** Begin Patch\n*** Update File: a\n${text}`),
    () => patched(text, `--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n${text}`),
    () =>
      patched(
        text,
        `*** Begin Patch\n*** Update File: a\n@@\n-${text.replaceAll("\n", "\n-")}\n+x\n*** End Patch`,
      ),
  ],
  Markdown: (text) => [() => renderMarkdown(text, look)],
  "a difference": (text, n) => [
    () =>
      renderDiff(
        { path: "a", before: text, after: text.replaceAll("a", "b").split("").reverse().join("") },
        paint,
      ),
    () => renderDiff({ path: "a", before: numbered(n / 8), after: text }, paint),
  ],
  "a line of the terminal": (text) => [
    () => [
      format.shortenToColumns(text),
      format.tail(text, 80),
      format.argumentsOf({ a: text, b: [text] }),
    ],
    () => [format.summary(text), format.foldRows(text, 80, 10)],
  ],
  "the text of code": (text) =>
    ["a.ts", "a.tsx", "a.js", "a.json", "a.yaml"].map((name) => () => scan(name, text)),
  "what an answer names": (text) => [() => namesIn(text)],
  "what is hidden in the log": (text) => [() => redactor({ veil } as never)(text)],
  "what tests print": (text) => [() => summarise({ exit: 1, stdout: text, stderr: text } as never)],
  "how long a text is": (text) => [
    () => weigh(text),
    () => overflow({ message: text, status: 400 }),
  ],
  "a question of recall": (text) => [
    () => byWords([{ name: "a", text, lines: text.split("\n") } as any], text),
  ],
  "a value and its shape": (text) => [() => shortenName(text)],
  "calls in the text of an answer": (text) => [
    ...[text, `<tool_call>${text}`, `<function=run><parameter=text>${text}`].map(
      (one) => () => rescued(one),
    ),
    () => rescued(text, "", true),
    () => rescued("", text),
  ],
  "a file of ignored names": (text) => [() => listed(text)],
};

if (import.meta.main) {
  const [, , size = "100000", ...names] = process.argv;
  for (const name of names)
    for (const [what, make] of Object.entries(TEXTS)) {
      console.log(`> ${name}: ${what}`);
      for (const act of ENTRIES[name]!(make(Number(size)), Number(size)))
        try {
          await act();
        } catch {}
    }
  process.exit(0);
}

// What zz does with texts that a model, a server, a file or a plugin chose: each entry is given every text of this
// file, in a process that the parent may kill. `node test/support/linear-time.ts SIZE ENTRY...` prints which text it is at.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const unit = (unit: string) => (size: number) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
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
export const TEXTS: Record<string, (size: number) => string> = Object.fromEntries([
  ...[...new Set(UNITS)].map((one) => [`${JSON.stringify(one)} and again`, unit(one)] as const),
  ...["a", " ", "(", "[", "{", '"', "\n", "1"].map(
    (one) => [`${JSON.stringify(one)} and again, then x`, (n: number) => `${unit(one)(n - 1)}x`] as const,
  ),
  ...["(", "[", "{", "<", "*", "`", "> "].map(
    (one) => [`x, then ${JSON.stringify(one)} and again`, (n: number) => `x${unit(one)(n - 1)}`] as const,
  ),
  ["half opening, half closing", (n: number) => "(".repeat(n / 2) + ")".repeat(n / 2)],
  ["half opening, half closing brackets", (n: number) => "[".repeat(n / 2) + "]".repeat(n / 2)],
  ["half opening, half closing braces", (n: number) => "{".repeat(n / 2) + "}".repeat(n / 2)],
  ["lists in lists", (n: number) => Array.from({ length: Math.sqrt(n) }, (_, i) => `${" ".repeat(i)}- a\n`).join("")],
  ["lines that all differ", (n: number) => Array.from({ length: n / 8 }, (_, i) => `${i}`.padStart(7, "l")).join("\n")],
  [
    "lines that are nearly alike",
    (n: number) => Array.from({ length: n / 40 }, (_, i) => `    const value = compute(${i}, value);`).join("\n"),
  ],
]);

export type Entry = (text: string, size: number) => unknown;
type Loader = () => Promise<Entry>;
const plain = (text: string) => text;
const paint = { removed: plain, added: plain, strong: plain, dim: plain };
const look = async () => ({ width: 80, theme: (await import("../../plugins/terminal/theme.ts")).theme("dark") });
async function* deltas(...all: any[]) {
  yield* all;
}
const tools = new Map(
  ["read_file", "grep", "a"].map((name) => [name, { owner: "", value: { name, description: "", run: () => "" } }]),
) as any;

export const ENTRIES: Record<string, Loader> = {
  "a tool's name": async () => {
    const { findTool } = await import("../../kernel/tools.ts");
    return (text) => findTool({ tools }, text);
  },
  "an unknown word": async () => {
    const { unknown } = await import("../../kernel/text.ts");
    return (text) => unknown("tool", text, ["read_file", "grep"]);
  },
  "two answers as one": async () => {
    const { joinHalves } = await import("../../kernel/seam.ts");
    return (text) => [
      joinHalves(text, text),
      joinHalves(text, `${text}x`),
      joinHalves(`${text}x`, text),
      joinHalves(`x${text}`, text),
    ];
  },
  "clean()": async () => {
    const { clean, cleanRendered } = await import("../../kernel/text.ts");
    return (text) => [clean(text), cleanRendered(text)];
  },
  "a template": async () => {
    const { fillTemplate } = await import("../../kernel/prompt.ts");
    return (text) => [fillTemplate(text, "a b"), fillTemplate("$1 $@", text), fillTemplate(text, text.slice(0, 100))];
  },
  "the short form of a schema": async () => {
    const { shortForm, readSchema } = await import("../../plugins/structured/schema.ts");
    const tried = (act: () => unknown) => {
      try {
        return act();
      } catch (error) {
        return error;
      }
    };
    return (text) => [
      tried(() => shortForm(text)),
      tried(() => shortForm(`a (${text}`)),
      tried(() => shortForm(`a: ${text}`)),
      tried(() => readSchema(`{"$ref": "#/${text}"}`, "/")),
    ];
  },
  "what an answer holds": async () => {
    const { codeBlocks, readJson } = await import("../../sdk/answer.ts");
    return async (text) => [
      codeBlocks(text),
      codeBlocks(`\`\`\`\n${text}`),
      await readJson(text, { $schema: "", type: "null" }),
      await readJson(`{"a": "${text}`, { $schema: "", type: "null" }),
    ];
  },
  "front matter": async () => {
    const { frontMatter } = await import("../../kernel/prompt.ts");
    return (text) => [frontMatter(text), frontMatter(`---\n${text}\n---\nbody`), frontMatter(`---\n${text}`)];
  },
  "a command's line": async () => {
    const { parseCommand } = await import("../../kernel/obey.ts");
    return (text) => [parseCommand(text), parseCommand(`/a ${text}`), parseCommand(`/${text}`)];
  },
  "an answer of a model": async () => {
    const { collect } = await import("../../kernel/stream.ts");
    return async (text) => [
      await collect(deltas({ text }, { finish: "stop" })),
      await collect(deltas({ thinking: text, text: `<think>${text}` }, { finish: "stop" })),
    ];
  },
  "a call of a model": async () => {
    const { collect } = await import("../../kernel/stream.ts");
    return async (text) => [
      await collect(deltas({ call: { name: text, args: text } }, { finish: "calls" })),
      await collect(deltas({ call: { id: text, name: "a", args: JSON.stringify({ a: text }) } }, { finish: "calls" })),
      await collect(deltas({ call: { name: "a", args: `{"a":"${text}` } }, { finish: "length" })),
    ];
  },
  "a call of a model, in pieces": async () => {
    const { collect } = await import("../../kernel/stream.ts");
    return async (text) => [
      await collect(
        deltas(...(text.match(/.{1,20}/gs) ?? []).map((args) => ({ call: { index: 0, name: "a", args } })), {
          finish: "calls",
        }),
      ).catch(() => 0),
      await collect(
        deltas(...(text.match(/.{1,20}/gs) ?? []).map((args) => ({ call: { args } })), { finish: "calls" }),
      ).catch(() => 0),
    ];
  },
  "an answer of a model, in pieces": async () => {
    const { collect } = await import("../../kernel/stream.ts");
    return async (text) =>
      collect(
        deltas(...(text.match(/.{1,20}/gs) ?? []).map((text) => ({ text })), { finish: "stop" }),
        (text, thinking) => text.length + thinking.length,
      );
  },
  "a history": async () => {
    const { repair } = await import("../../kernel/request.ts");
    return (text, n) => [
      repair(Array.from({ length: n / 20 }, () => ({ role: "user" as const, text: text.slice(0, 10) }))),
    ];
  },
  "a glob": async () => {
    const { matcher } = await import("../../plugins/search/pattern.ts");
    return (text, n) => {
      for (const pattern of [text, `**/${text}`, `${text}*/x`]) {
        try {
          const fits = matcher(pattern);
          for (const name of ["src/a.ts", "a".repeat(200), `${"a/".repeat(50)}b`]) fits(name);
        } catch {}
      }
      return n;
    };
  },
  "a query of grep": async () => {
    const { patternFor } = await import("../../plugins/search/ripgrep.ts");
    return (text) => [
      patternFor({ query: text, regex: true, ignoreCase: false }),
      patternFor({ query: text, regex: false, ignoreCase: true }),
    ];
  },
  "a file that grep looks through": async () => {
    const { finder } = await import("../../plugins/search/lines.ts");
    const { CLOCK } = await import("../../kernel/clock.ts");
    return async (text) => {
      const { signal } = new AbortController();
      for (const query of ["x", "(a+)+$", "a.*b"])
        await finder({ query, regex: query.length > 1, ignoreCase: false }, signal, CLOCK)
          .find([text])
          .catch(() => 0);
    };
  },
  "a skill": async () => {
    const { parseSkill } = await import("../../plugins/skills/front.ts");
    return (text) =>
      [
        `---\n${text}\n---\nx`,
        `---\nname: ${text}\n---\n`,
        `---\nname: "${text}\n---\n`,
        `---\ntriggers: [${text}\n---\n`,
        `---\na: >\n ${text}\n---\n`,
      ].map((one) => {
        try {
          return parseSkill(one);
        } catch (error) {
          return error;
        }
      });
  },
  "a skill's trigger": async () => {
    const { calledSkills } = await import("../../plugins/skills/match.ts");
    return (text) => [
      calledSkills([{ name: "a", triggers: [text] }], "hello world"),
      calledSkills([{ name: "some-skill", triggers: ["some words here"] }], text),
      calledSkills([{ name: "some-skill", triggers: [text] }], text),
    ];
  },
  "an edit's old_string": async () => {
    const { applyEdits } = await import("../../plugins/edit-file/cascade.ts");
    return (text) =>
      [
        [`x${text}y`, text],
        [text, `${text}z`],
        [text.slice(0, 5_000), text],
        [text, `  ${text.slice(0, text.length / 2)} z`],
      ].map(([body, old]) => {
        try {
          return applyEdits(body!, [{ old_string: old!, new_string: "new" }]);
        } catch (error) {
          return error;
        }
      });
  },
  "an edit's new_string": async () => {
    const { applyEdits } = await import("../../plugins/edit-file/cascade.ts");
    return (text) =>
      [
        [`${text}\nneedle here\n${text}`, "needle here", text],
        [`  if (a) {\n${text}\n`, `if (a) {\n${text.slice(0, 4_000)}`, text],
        [text, text, `${text}x`],
      ].map(([body, old, fresh]) => {
        try {
          return applyEdits(body!, [{ old_string: old!, new_string: fresh! }]);
        } catch (error) {
          return error;
        }
      });
  },
  "a patch": async () => {
    const { parsePatch } = await import("../../plugins/apply-patch/parse.ts");
    const { applyChange } = await import("../../plugins/apply-patch/apply.ts");
    return (text) =>
      [
        text,
        `*** Begin Patch\n*** Update File: a\n${text}`,
        `--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n${text}`,
        `*** Begin Patch\n*** Update File: a\n@@\n-${text.replaceAll("\n", "\n-")}\n+x\n*** End Patch`,
      ].map((one) => {
        try {
          return parsePatch(one).map((change) => applyChange(text, change));
        } catch (error) {
          return error;
        }
      });
  },
  Markdown: async () => {
    const { renderMarkdown } = await import("../../plugins/terminal/markdown.ts");
    const at = await look();
    return (text) => renderMarkdown(text, at);
  },
  "a difference": async () => {
    const { renderDiff } = await import("../../plugins/terminal/diff.ts");
    return (text) => [
      renderDiff({ path: "a", before: text, after: text.replaceAll("a", "b").split("").reverse().join("") }, paint),
      renderDiff(
        { path: "a", before: Array.from({ length: text.length / 8 }, (_, i) => `x${i}`).join("\n"), after: text },
        paint,
      ),
    ];
  },
  "a line of the terminal": async () => {
    const format = await import("../../plugins/terminal/format.ts");
    return (text) => [
      format.short(text),
      format.tail(text, 80),
      format.argumentsOf({ a: text, b: [text] }),
      format.summary(text),
      format.folded(text, 80, 10),
    ];
  },
  "the text of code": async () => {
    const { scan } = await import("../../plugins/symbols/scan.ts");
    return (text) => ["a.ts", "a.tsx", "a.js", "a.json", "a.yaml"].map((name) => scan(name, text));
  },
  "what an answer claims": async () => {
    const { claimsIn } = await import("../../plugins/eval/claims.ts");
    return (text) => claimsIn(text);
  },
  "what is hidden in the log": async () => {
    const { redactor } = await import("../../plugins/debug/redact.ts");
    const { veil } = await import("../../kernel/secrets.ts");
    return redactor({ veil } as never);
  },
  "what tests print": async () => {
    const { summarise } = await import("../../plugins/run-tests/read.ts");
    return (text) => summarise({ exit: 1, stdout: text, stderr: text } as never);
  },
  "how long a text is": async () => {
    const { weigh } = await import("../../plugins/window/count.ts");
    return (text) => weigh(text);
  },
  "a refusal for length": async () => {
    const { overflow } = await import("../../plugins/window/overflow.ts");
    return (text) => overflow({ message: text, status: 400 });
  },
  "a note to remember": async () => {
    const notes = await import("../../plugins/memory/notes.ts");
    return (text) => [
      notes.withNote(text, "t", "n"),
      notes.withNote("# a\n", text, text),
      notes.withIndexed(text, "a", text),
      notes.isBare(text),
    ];
  },
  "a question of recall": async () => {
    const { byWords } = await import("../../plugins/memory/recall.ts");
    return (text) => byWords([{ name: "a", text, lines: text.split("\n") } as any], text.slice(0, 10_000));
  },
  "a package to install": async () => {
    const { specOf } = await import("../../plugins/install/spec.ts");
    return (text) => {
      try {
        return specOf(text, "/tmp");
      } catch (error) {
        return error;
      }
    };
  },
  "a value and its shape": async () => {
    const { instead } = await import("../../kernel/shape.ts");
    const { short } = await import("../../kernel/text.ts");
    return (text) => [short(text), instead(text.slice(0, 1000), ["a", "b"])];
  },
  "keys typed": async () => {
    const { normalizePaste, openPasteReader, readInput } = await import("../../plugins/repl/pastes.ts");
    const { addLine, newDraft } = await import("../../plugins/repl/drafts.ts");
    const { clip } = await import("../../sdk/width.ts");
    const { CLOCK } = await import("../../kernel/clock.ts");
    const nothing = () => {};
    return (text) => [
      readInput(openPasteReader({ clock: CLOCK, onKeys: nothing, onPaste: nothing }), Buffer.from(text)),
      normalizePaste(text),
      text.split("\n").map((line) => [addLine(newDraft(), line), clip(normalizePaste(line), 80)]),
    ];
  },
  "calls in the text of an answer": async () => {
    const { rescue } = await import("../../plugins/text-calls/rescue.ts");
    const { RANDOM_TOOLS } = await import("./text-calls.ts");
    const none = { calls: [], finish: "stop" as const };
    return async (text) => {
      for (const one of [text, `<tool_call>${text}`, `<function=run><parameter=text>${text}`, `\n${text}`])
        for (const worded of [false, true])
          await rescue({ ...none, text: one, thinking: "" }, { tools: RANDOM_TOOLS, options: {}, worded });
      await rescue({ ...none, text: "", thinking: text }, { tools: RANDOM_TOOLS, options: {}, worded: false });
    };
  },
  "a file of ignored names": async () => {
    const { harness } = await import("../../sdk/testing.ts");
    const zz = await harness({ own: true });
    return async (text) => {
      zz.write(".gitignore", text);
      zz.write("a.ts", "a");
      return (await zz.ctx.files.list()).length;
    };
  },
};

if (import.meta.main) {
  const [, , size = "100000", ...names] = process.argv;
  const scratch = mkdtempSync(join(tmpdir(), "zz-linear-"));
  process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
  writeFileSync(join(scratch, "x"), "");
  for (const name of names) {
    console.log(`> ${name}`);
    const run = await ENTRIES[name]!();
    for (const [what, make] of Object.entries(TEXTS)) {
      const text = make(Number(size));
      console.log(`> ${name}: ${what}`);
      const before = process.cpuUsage();
      await run(text, Number(size));
      const { user, system } = process.cpuUsage(before);
      console.log(`< ${Math.round((user + system) / 1000)}`);
    }
  }
  process.exit(0);
}

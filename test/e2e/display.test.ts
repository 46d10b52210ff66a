// What a person sees during and after a turn: the live line, calls, thinking, the rendered answer, figures, the prompt.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, DONE, delta, say, stream, usage } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { ESC, repl } from "../support/repl.ts";
import { type Place, place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

/** A home with these settings. */
function having(settings: object): Place {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  return where;
}
function plugin(where: Place, source: string): string[] {
  const file = join(where.cwd, "own.ts");
  writeFileSync(file, `export default (zz) => { ${source} };`);
  return ["--plugin", file];
}
const THOUGHTS = [
  "First I look at the code.",
  "Then I weigh two ways.",
  "Third point.",
  "Fourth point.",
  "Fifth point.",
];
const thinks = (pause: number, text = "Thought over.") =>
  stream(
    ...THOUGHTS.flatMap((thought) => [delta({ reasoning_content: `${thought}\n` }), pause]),
    delta({ content: text }),
    delta({}, "stop"),
    usage(1200, 80),
    DONE,
  );

test("While the model thinks, one line tells for how long, how much, and the end of it; then it is gone", async (t) => {
  const term = await repl(t, { script: [thinks(400)] });
  term.type(`go${KEY.enter}`);
  await term.sees(/thinking · \d+\.\d s · \d+ tokens · .*I weigh two ways\.$/m);
  const screen = await term.sees("Thought over.");
  doesNotMatch(screen, /thinking · /);
});

for (const [thinking, sees, not] of [
  ["summary", /┆ First I look at the code\.\n┆ Then I weigh two ways\.\n┆ … 3 more rows/, /Fifth/],
  ["full", /┆ First I look[\s\S]*┆ Fifth point\./, /more rows/],
  ["off", /go\nThought over\./, /┆/],
] as const)
  test(`display.thinking ${thinking} decides how much of the thinking stays on the screen`, async (t) => {
    const term = await repl(t, { script: [thinks(5)], where: having({ display: { thinking } }) });
    const screen = await term.say("go", "Thought over.");
    match(screen, sees);
    doesNotMatch(screen, not);
  });

const SLOW_TOOL = `zz.tool({ name: "dig", description: "digs", params: { where: "string" }, async run({ where }, { progress }) {
  progress("a metre down"); await new Promise((soon) => setTimeout(soon, 700));
  if (where === "rock") throw new Error("Cannot dig 'rock': too hard."); return "found a coin\\nand more"; },
  render: ({ text }) => text.split("\\n")[0] + "!" });`;

test("All calls of a round are announced before any runs; each tells what came of it and how long it took", async (t) => {
  const where = place();
  const script = [call(["dig", { where: "sand" }], ["dig", { where: "rock" }]), say("Dug.")];
  const term = await repl(t, { where, script, args: plugin(where, SLOW_TOOL) });
  term.type(`go${KEY.enter}`);
  const early = await term.sees(/■ dig sand\n■ dig rock\n/);
  doesNotMatch(early, /[✓✗]/);
  await term.sees(/dig · \d+\.\d s · a metre down/);
  const late = await term.sees("Dug.");
  match(late, /✓ dig sand · found a coin! · \d+\.\d s\n✗ dig rock · Cannot dig 'rock': too hard\. · \d+\.\d s\n/);
});

for (const [display, sees, not] of [
  [{ calls: "results" }, /go\n✓ dig sand · found a coin! · \d+\.\d s\n✗ dig rock · Cannot dig 'rock': too hard\./, /■/],
  [{ calls: "failed" }, /go\n✗ dig rock · Cannot dig 'rock': too hard\. · \d+\.\d s\nDug\./, /■|✓/],
  [{ calls: "off" }, /go\nDug\./, /■|✓|✗/],
  [{ calls: "results", resultLines: 1 }, /✓ dig sand · found a coin! .* s\n {2}found a coin\n {2}and more\n✗ dig rock .*\n {2}Cannot dig 'rock'/, /more line/],
] as const) // biome-ignore format: a table
  test(`What is shown of calls: ${JSON.stringify(display)}`, async (t) => {
    const where = having({ display });
    const script = [call(["dig", { where: "sand" }], ["dig", { where: "rock" }]), say("Dug.")];
    const term = await repl(t, { where, script, args: plugin(where, SLOW_TOOL) });
    const screen = await term.say("go", "Dug.");
    match(screen, sees);
    doesNotMatch(screen, not);
  });

for (const [cols, rows] of [
  [80, 24],
  [40, 15],
] as const)
  test(`At ${cols}×${rows} display.resultLines and display.diffRows say how much is shown, and no row is too long`, async (t) => {
    const where = having({ display: { resultLines: 2, diffRows: 3 }, edit: { auto: true } });
    const content = Array.from({ length: 9 }, (_, i) => `line ${i + 1} ${"of many words ".repeat(9)}`).join("\n");
    writeFileSync(join(where.cwd, "a.txt"), content);
    const script = [
      call(["read_file", { path: "a.txt" }]),
      call(["create_file", { path: "b.txt", content: "1\n2\n3\n4\n5\n6\n" }]),
      say("Done."),
    ];
    const term = await repl(t, { where, cols, rows, script });
    const screen = await term.say("go", "Done.");
    match(screen, /✓ read_file .*\n {2}1 line 1 of .*…\n {2}2 line 2 of .*…\n {2}… 7 more lines: \/show shows all\n/);
    match(screen, /create b\.txt.*\n {4}1 \+ 1\n {4}2 \+ 2\n {2}… 4 more rows: \/changes N shows all\n✓ create_file/);
    for (const row of screen.split("\n")) ok(row.length <= cols, row);
  });

test("A project may not hide calls, nor the diffs of edits", async (t) => {
  const where = place();
  mkdirSync(join(where.cwd, ".zz"));
  const display = { calls: "off", diffRows: 1, resultLines: 0 };
  writeFileSync(join(where.cwd, ".zz", "zz.config.json"), JSON.stringify({ display }));
  const script = [call(["dig", { where: "sand" }]), say("Dug.")];
  const term = await repl(t, { where, script, args: plugin(where, SLOW_TOOL), cols: 200 });
  match(
    await term.say("go", "Dug."),
    /Cannot take display\.calls, display\.diffRows from '[\s\S]*■ dig sand\n✓ dig sand/,
  );
});

const ANSWER = [
  "# Result",
  "",
  "- a **bold** word and `code`",
  "  1. inner",
  "",
  "| name | what it is |",
  "|------|------------|",
  "| zz   | an agent that you can read in one sitting, from top to bottom |",
  "",
  "```ts",
  `const long = "${"x".repeat(60)}";`,
  "```",
  "",
  "See [the page](https://example.org/a) & more.",
].join("\n");

test("The answer is rendered: headings, lists with styles inside, tables that fit, code as it is, links", async (t) => {
  const term = await repl(t, { script: [say(ANSWER)], cols: 40 });
  const screen = await term.say("go", "more.");
  match(screen, /^# Result$/m);
  match(screen, /• a bold word and code/);
  match(screen, /^ {2,}1\. inner/m);
  ok(screen.split("\n").every((row) => row.length <= 40));
  doesNotMatch(screen, /\*\*|`|\|---/);
  match(screen, /https:\/\/example\.org\/a/);
  match(term.raw(), new RegExp(`${ESC}\\[1mbold`));
  match(term.raw(), new RegExp(`${ESC}\\[[\\d;]+mconst${ESC}`), "code has colours");
  ok(
    term
      .raw()
      .replace(/\x1b\[[\d;]*m/g, "")
      .includes(`const long = "${"x".repeat(60)}";`),
    "no break in the code",
  );
});

test("A light theme has other colours, none has none, and the layout stays", async (t) => {
  const colours = async (theme: string) => {
    const term = await repl(t, { script: [say(ANSWER)], where: having({ display: { theme } }) });
    match(await term.say("go", "more."), /• a bold word and code/);
    await term.sees(/›\s*$/);
    return new Set(term.raw().match(/\x1b\[[\d;]*m/g));
  };
  const [dark, light, none] = [await colours("dark"), await colours("light"), await colours("none")];
  ok(dark.has(`${ESC}[33m`) && !light.has(`${ESC}[33m`), "yellow cannot be read on white");
  equal(none.size, 0);
});

test("NO_COLOR: nothing that is written has a colour", async (t) => {
  const script = [call(["list_dir", {}]), thinks(2, ANSWER)];
  const term = await repl(t, { script, env: { NO_COLOR: "1" } });
  await term.say("go", "more.");
  await term.sees(/›\s*$/);
  doesNotMatch(term.raw(), /\x1b\[[\d;]*m/);
});

test("display.plain has words for signs, and nothing that moves", async (t) => {
  const where = having({ display: { plain: true } });
  const script = [call(["list_dir", {}], ["list_dir", { path: "none" }]), thinks(100)];
  const term = await repl(t, { where, script });
  await term.say("go", "Thought over.");
  const shown = await term.sees(/calls[\s\S]*›\s*$/);
  match(
    shown,
    /thinking\ncalls: list_dir\ncalls: list_dir none\n(failed|done): list_dir[\s\S]*(failed|done): list_dir[\s\S]*thinking\nthought for \d+\.\d s\nThought over\./,
  );
  doesNotMatch(term.raw(), /[⠋■✓✗┆]|\r\x1b\[K/u);
});

needs("git")(
  "After the answer one dim line: time, tokens, calls, context; the prompt tells project, branch and context",
  async (t) => {
    const where = place();
    mkdirSync(join(where.cwd, ".git"));
    writeFileSync(join(where.cwd, ".git", "HEAD"), "ref: refs/heads/feature/x\n");
    const script = [call(["list_dir", {}]), say("Seen.")];
    const term = await repl(t, { where, script, args: ["-m", "openai/n"] });
    await term.sees("project · feature/x ›");
    const screen = await term.say("go", /Seen\.\n[\s\S]*›\s*$/);
    match(screen, /Seen\.\n\d+\.\d s · 122 tokens in, 18 out · 1 call · context 1 % of 8,192\n/);
    match(screen, /project · feature\/x · 1 % ›\s*$/);
  },
);

test("display.stats false leaves the figures out", async (t) => {
  const term = await repl(t, { where: having({ display: { stats: false } }) });
  match(await term.say("go", /Good\.[\s\S]*›\s*$/), /Good\.\nproject ›\s*$/);
});

test("The prompt says less in a narrow window", async (t) => {
  const term = await repl(t, { cols: 30 });
  match(await term.say("go", /Good\.[\s\S]*›\s*$/), /^›\s*$/m);
});

test("A bell tells that a long turn has ended, and not a short one", async (t) => {
  const long = await repl(t, { script: [thinks(60)], where: having({ display: { bellAfter: 0.2 } }) });
  await long.say("go", /tokens in/);
  ok(long.raw().includes("\x07"));
  const short = await repl(t, { script: [thinks(1)] });
  await short.say("go", /tokens in/);
  ok(!short.raw().includes("\x07"));
});

test("display.reveal words shows an answer word by word, and any key shows all of it", async (t) => {
  const words = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ");
  const where = having({ display: { reveal: "words", wordsPerSecond: 50 } });
  const term = await repl(t, { where, script: [say(words)] });
  term.type(`go${KEY.enter}`);
  doesNotMatch(await term.sees("word5"), /word40/);
  term.type(" ");
  await term.sees("word59");
  await term.sees("tokens in");
});

test("A note that comes while a line is typed stands above it, and the line stays", async (t) => {
  const where = place();
  const later = `zz.on("answered", () => void 0); zz.command({ name: "later", description: "notes later", run: async (_, { note }) => void setTimeout(() => note("The kettle boils."), 300) });`;
  const term = await repl(t, { where, args: plugin(where, later) });
  term.type(`/later${KEY.enter}`);
  await sleep(100);
  term.type("half a sentence");
  await term.sees(/The kettle boils\.\nproject › half a sentence$/);
  term.type(` ends${KEY.enter}`);
  equal(await term.asked(), "half a sentence ends");
});

test("A question stays whole when the window is resized, and is answered after it", async (t) => {
  const where = place();
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { where, script });
  term.type(`go${KEY.enter}`);
  await term.sees("Allow?");
  term.resize(40, 20);
  await sleep(200);
  term.type("y");
  await term.sees("Written.");
  equal(readFileSync(join(where.cwd, "new.txt"), "utf8"), "x\n");
});

test("With its output in a pipe a question is answered as raw Markdown, without a colour", async (t) => {
  const shell = (zz: string) => `echo '›'; ${zz} --once go | cat > answer.md; echo ended`;
  const term = await repl(t, { script: [say(ANSWER)], shell });
  await term.sees("ended");
  equal(readFileSync(join(term.where.cwd, "answer.md"), "utf8"), `${ANSWER}\n`);
});

for (const [what, leave, code] of [
  ["Ctrl+D", KEY.ctrlD, 0],
  ["Ctrl+C twice", KEY.ctrlC + KEY.ctrlC, 130],
  ["/quit", `/quit${KEY.enter}`, 0],
  ["SIGTERM", `/end SIGTERM${KEY.enter}`, 143],
  ["a plugin that ends the process", `/end exit${KEY.enter}`, 7],
  ["an exception that nothing catches, and Ctrl+D", `/end throw${KEY.enter}${KEY.ctrlD}`, 0],
] as const)
  test(`The terminal is as it was after ${what}`, async (t) => {
    const where = place();
    const end = `zz.command({ name: "end", description: "ends", run(how) {
      if (how === "exit") setTimeout(() => process.exit(7)); else if (how === "throw") setTimeout(() => { throw new Error("lost"); });
      else process.kill(process.pid, how); } });`;
    const shell = (zz: string) => `stty -g > before; ${zz}; echo "left with $?"; stty -g > after`;
    const term = await repl(t, { where, shell, args: plugin(where, end) });
    for (const key of what === "Ctrl+C twice" ? [KEY.ctrlC, KEY.ctrlC] : [leave]) {
      term.type(key);
      await sleep(100);
    }
    await term.sees(`left with ${code}`);
    await term.exited;
    equal(readFileSync(join(where.cwd, "after"), "utf8"), readFileSync(join(where.cwd, "before"), "utf8"));
    ok(term.raw().includes(`${ESC}[?2004l`), "pastes are plain again");
  });

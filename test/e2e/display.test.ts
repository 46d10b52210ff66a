// What a person sees during and after a turn: the live line, calls, thinking, the rendered answer,
// figures, the prompt.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { call, DONE, delta, say, stream, usage } from "../support/fake/openai.ts";
import { ESC, type ReplOptions, repl, ticks } from "../support/repl.ts";
import { put } from "../support/repository.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";

/** A home with these settings of the display. */
const having = (display: object, more: object = {}) => place({}, { display, ...more });
const TOOLS = `zz.tool({ name: "dig", description: "digs", params: { where: "string" },
    run({ where }) { if (where === "rock") throw new Error("Cannot dig 'rock': too hard."); return "found a coin\\nand more"; },
    render: ({ text }) => text.split("\\n")[0] + "!" });
  zz.tool({ name: "slow", description: "digs", async run(_, { progress, io }) {
    progress("a metre down"); await io.clock.sleep(700); return "dug"; } });
  zz.command({ name: "later", description: "notes later", run: (_, { note, io }) => void io.clock.timer(300, () => note("The kettle boils.")) });`;
function open(t: TestContext, { where = place(), ...options }: ReplOptions = {}, source = TOOLS) {
  put(where.cwd, { "own.ts": `export default (zz) => { ${source} };` });
  return repl(t, { where, args: ["--plugin", "own.ts"], ...options });
}

const THOUGHTS = [
  "First I look.",
  "Then I weigh two ways.",
  "Third point.",
  "Fourth point.",
  "Fifth point.",
];
const thinks = (text = "Thought over.", hold: Promise<unknown> = Promise.resolve()) => {
  const thoughts = THOUGHTS.map((thought) => delta({ reasoning_content: `${thought}\n` }));
  return stream(
    ...thoughts,
    hold,
    delta({ content: text }),
    delta({}, "stop"),
    usage(1200, 80),
    DONE,
  );
};

test("While the model thinks, one line tells for how long, how much, and the end of it; then it is gone", async (t) => {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const clock = standingClock();
  const term = await repl(t, { script: [thinks("Thought over.", promise)], clock });
  term.type(`go${KEY.enter}`);
  await ticks(clock, term, /thinking · (\d\.\d s · )?\d+ tokens · .*Fifth point\.$/m);
  end();
  doesNotMatch(await term.sees("Thought over."), /thinking · /);
});

test("With display.live the end of an answer is shown while it comes, then all of it; with display.progress off neither", async (t) => {
  const LINES = Array.from({ length: 9 }, (_, i) => `Line ${i + 1}.`).join("\n\n");
  for (const display of [{ live: true }, { live: true, progress: false }]) {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const clock = standingClock();
    const body = [delta({ content: LINES }), promise, delta({}, "stop"), DONE];
    const term = await repl(t, { script: [stream(...body)], clock, where: having(display) });
    term.type(`go${KEY.enter}`);
    if (display.progress === undefined) {
      const shown = await ticks(clock, term, /thinking · [^\n]*\n[\s\S]*Line 9\./);
      doesNotMatch(shown, /Line 2\./, "only its end");
      match(shown, /Line 8\.\s+Line 9\./);
    } else {
      await term.asked();
      await clock.pass(1_000);
      doesNotMatch(await term.drawn(), /thinking|Line/);
    }
    end();
    const whole = await term.sees(/Line 9\.[\s\S]*›\s*$/);
    equal(whole.match(/Line \d/g)?.length, 9);
    doesNotMatch(whole, /thinking ·/);
  }
});

test("display.thinking decides how much of the thinking stays on the screen, and display.stats whether figures do", async (t) => {
  for (const [thinking, sees, not] of [
    ["summary", /┆ First I look\.\n┆ Then I weigh two ways\.\n┆ … 3 more rows/, /Fifth/],
    ["full", /┆ First I look[\s\S]*┆ Fifth point\./, /more rows/],
    ["off", /go\nThought over\.\n›/, /┆/],
  ] as const) {
    const where = having({ thinking, stats: thinking !== "off" });
    const term = await repl(t, { script: [thinks()], where, cols: 30 });
    const screen = await term.say("go", /Thought over\.[\s\S]*›\s*$/);
    match(screen, sees);
    doesNotMatch(screen, not);
  }
});

test("A call is one row: all of a round are there while one runs, and what came of each takes its place", async (t) => {
  const clock = standingClock();
  const script = [call(["slow", {}], ["dig", { where: "rock" }]), call(["slow", {}]), say("Dug.")];
  const term = await open(t, { script, clock });
  term.type(`go${KEY.enter}`);
  await clock.waits(700);
  await ticks(clock, term, /go\n■ slow\n✗ dig rock · Cannot dig 'rock': too hard\.\n\S slow$/);
  await clock.pass(700);
  await clock.waits(700);
  await ticks(clock, term, /✗ dig rock.*\n■ slow\n\S slow · a metre down$/);
  await clock.pass(700);
  const whole = await term.sees(
    /go\n✓ slow · dug\n✗ dig rock · Cannot dig 'rock': too hard\.\n✓ slow · dug\n[\s\S]*Dug\./,
  );
  doesNotMatch(whole, /■/);
});

const RESULTS =
  /go\n✓ dig sand · found a coin!.*\n {2}found a coin\n {2}and more\n✗ dig rock .*\n {2}Cannot dig 'rock'/;
test("display.calls decides what is shown of calls", async (t) => {
  for (const [display, sees, not] of [
    [{ calls: "failed" }, /go\n✗ dig rock · Cannot dig 'rock': too hard\.\nDug\./, /■|✓/],
    [{ calls: "off" }, /go\nDug\./, /■|✓|✗/],
    [{ calls: "results", resultLines: 1 }, RESULTS, /■|more line/],
  ] as const) {
    const script = [call(["dig", { where: "sand" }], ["dig", { where: "rock" }]), say("Dug.")];
    const term = await open(t, { where: having(display), script });
    const screen = await term.say("go", "Dug.");
    match(screen, sees);
    doesNotMatch(screen, not);
  }
});

test("A project may not hide calls, nor the diffs of edits", async (t) => {
  const where = place({
    ".zz/zz.config.json": { display: { calls: "off", diffRows: 1, resultLines: 0 } },
  });
  const script = [call(["dig", { where: "sand" }]), say("Dug.")];
  const shown = await (await open(t, { where, script, cols: 200 })).say("go", "Dug.");
  match(shown, /Cannot take display\.calls, display\.diffRows from '[\s\S]*✓ dig sand/);
});

const ANSWER = "# Result\n\n- a **bold** word and `code`";

test("NO_COLOR: nothing that is written has a colour; in a pipe an answer is raw Markdown", async (t) => {
  const script = [call(["list_dir", {}]), thinks(ANSWER)];
  const shell = (zz: string) =>
    `echo '›'; ${zz} --once go; ${zz} --once go | cat > answer.md; echo ended`;
  const term = await repl(t, { script, env: { NO_COLOR: "1" }, shell });
  await term.sees("ended");
  match(term.screen(), /^# Result$[\s\S]*• a bold word and code/m);
  doesNotMatch(term.raw(), /\x1b\[[\d;]*m/);
  equal(readFileSync(join(term.where.cwd, "answer.md"), "utf8"), `${ANSWER}\n`);
});

for (const [says, heading] of [
  ["rgb:ffff/ffff/ffff", 34],
  ["rgb:1e/1e/1e", 36],
  ["rgba:fa/fa/f5/ff", 34],
  ["nonsense", 36],
] as const)
  test(`A terminal that says it is ${says} gets the colours for it`, async (t) => {
    const term = await open(t, { script: [say("# Result")] });
    match(term.raw(), /\x1b\]11;\?\x1b\\/);
    await term.press(`\x1b]11;${says}\x07`);
    await term.say("go", /Result[\s\S]*›\s*$/);
    match(term.raw(), new RegExp(`\\x1b\\[${heading}m[^\\n]*Result`));
    doesNotMatch(term.screen(), /rgb|nonsense/);
  });

test("display.plain has words for signs, and nothing that moves", async (t) => {
  const clock = standingClock();
  const script = [call(["slow", {}], ["dig", { where: "rock" }]), thinks()];
  const term = await open(t, { where: having({ plain: true }), script, clock });
  term.type(`go${KEY.enter}`);
  await clock.waits(700);
  await clock.pass(700);
  match(
    await term.sees(/calls[\s\S]*›\s*$/),
    /thinking\ncalls: slow\ncalls: dig rock\ndone: slow[\s\S]*failed: dig[\s\S]*thinking\nthought( for \d+\.\d s)?\nThought over\./,
  );
  doesNotMatch(term.raw(), /[⠋■✓✗┆]|\r\x1b\[K/u);
});

test("After the answer one dim line: time, tokens, calls, context; the prompt tells project, branch and context", async (t) => {
  const where = place({ ".git/HEAD": "ref: refs/heads/feature/x\n" });
  const script = [call(["list_dir", {}]), say("Seen.")];
  const term = await repl(t, { where, script, args: ["-m", "openai/n"] });
  await term.sees("project · feature/x ›");
  const shown = await term.say("go", /Seen\.\n[\s\S]*project · feature\/x · 1 % ›\s*$/);
  match(shown, /Seen\.\n(\d+\.\d s · )?122 tokens in, 18 out · 1 call · context 1 % of 8,192\n/);
});

test("With display.bellAfter 0.2 a turn of 201 ms ends with a bell, one of 200 ms does not", async (t) => {
  for (const ms of [200, 201]) {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    const clock = standingClock();
    const term = await repl(t, {
      script: [thinks("Over.", promise)],
      where: having({ bellAfter: 0.2 }),
      clock,
    });
    term.type(`go${KEY.enter}`);
    await term.asked();
    await clock.pass(ms);
    end();
    await term.sees(/tokens in/);
    equal(term.raw().includes("\x07"), ms > 200);
  }
});

test("display.reveal words shows an answer word by word, and any key shows all of it", async (t) => {
  const clock = standingClock();
  const words = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ");
  const term = await repl(t, {
    where: having({ reveal: "words", wordsPerSecond: 50 }),
    script: [say(words)],
    clock,
  });
  term.type(`go${KEY.enter}`);
  await clock.waits(20);
  await clock.pass(100);
  doesNotMatch(await term.sees("word5"), /word6/);
  await term.press(" ");
  await clock.pass(20);
  await term.sees(/word59\s[\s\S]*tokens in/);
});

test("A note that comes while a line is typed stands above it, and the line stays", async (t) => {
  const clock = standingClock();
  const term = await open(t, { clock });
  await term.say("/later", /later\s+[^\n]*›$/);
  await term.hit("half a sentence", /› half a sentence$/);
  await clock.pass(300);
  await term.sees(/The kettle boils\.\nproject › half a sentence$/);
  term.type(` ends${KEY.enter}`);
  equal(await term.asked(), "half a sentence ends");
});

test("The terminal is as it was, however zz ends", async (t) => {
  const end = `zz.command({ name: "end", description: "ends", run(how) {
    if (how === "exit") setTimeout(() => process.exit(7)); else if (how === "throw") setTimeout(() => { throw new Error("lost"); });
    else process.kill(process.pid, how); } });`;
  const shell = (zz: string) => `stty -g > before; ${zz}; echo "left with $?"; stty -g > after`;
  for (const [leave, code] of [
    ["/end SIGTERM", 143],
    ["/end exit", 7],
    ["/end throw", 0],
  ] as const) {
    const term = await open(t, { shell }, end);
    term.type(leave + KEY.enter);
    if (code === 0) {
      await term.sees(/lost[\s\S]*›\s*$/);
      term.type(KEY.ctrlD);
    }
    await term.sees(`left with ${code}`);
    await term.exited;
    equal(
      readFileSync(join(term.where.cwd, "after"), "utf8"),
      readFileSync(join(term.where.cwd, "before"), "utf8"),
    );
    ok(term.raw().includes(`${ESC}[?2004l`), "pastes are plain again");
  }
});

describe("display.plain: nothing is drawn, coloured or drawn again", () => {
  const SCREENS: [what: string, keys: string[], sees: RegExp][] = [
    ["help", ["/help\r"], /\/quit/],
    ["tools", ["/tools\r"], /run_command/],
    ["models", ["/models\r"], /openai/],
    ["config", ["/config\r"], /display\.plain/],
    ["context", ["/context\r"], /About \d+ tokens/],
    ["plugins", ["/plugins\r"], /PLUGIN|plugin/],
    ["permissions", ["/permissions\r"], /read/],
    ["a question with a diff", ["go\r"], /wants to change[\s\S]*explains\)/],
    ["its keys", ["?"], /without a reason[\s\S]*explains\)/],
    ["a no with a reason", ["too long\r"], /Thought over\./],
    ["changes", ["/changes\r"], /[Nn]o/],
    ["tree", ["/tree\r"], /here: #\d+ go/],
    ["what a tool returned", ["/show 1\r"], /write_file a\.txt[\s\S]*too long/],
    ["a list to choose from", ["/choose\r"],
      /1\. ham\r\n2\. jam: sweet\r\n[\s\S]*Number or name, /],
    ["a choice that is none", ["9\r"], /There is no choice '9'\. Number or name, /],
    ["its choice", ["2\r"], /Chosen: jam/],
  ]; // biome-ignore format: a table
  // frames, rules, bars, arrows, dots, ticks, braille
  const DRAWN = /[\u2190-\u21ff\u2500-\u25ff\u2600-\u27bf\u2800-\u28ff]/u;
  // colours, and moves up a row; the line that is typed is edited in its own row
  const MOVES = /\x1b\[(?:[1-9][\d;]*m|\d*A|2J|\d+;\d+H)/;

  test("in every screen", async (t) => {
    const long = Array.from({ length: 8 }, (_, i) => `line ${i}\n`).join("");
    const script = [call(["write_file", { path: "a.txt", content: long }]), say("Thought over.")];
    const choose = `zz.command({ name: "choose", description: "asks", run: async (_, ctx) =>
      ctx.note("Chosen: " + await ctx.pick("Which?", ["ham", { name: "jam", description: "sweet" }])) });`;
    const term = await open(t, { where: having({ plain: true }), script }, TOOLS + choose);
    for (const [what, keys, sees] of SCREENS) {
      const from = term.raw().length;
      for (const key of keys) term.type(key);
      const shown = () => `It shows:\n${term.screen()}`;
      await waitFor(`${what}: ${sees}`, () => sees.test(term.raw().slice(from)), shown);
      const raw = term.raw().slice(from);
      doesNotMatch(raw, DRAWN, what);
      doesNotMatch(raw, MOVES, what);
    }
  });
});

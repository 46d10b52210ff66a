// /eval: what it takes for a claim, and, with the program itself and a model that plays a script, what it says of an answer.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { CLOCK } from "../../../kernel/clock.ts";
import { type Claim, claimsIn } from "../../../plugins/eval/claims.ts";
import type { Step } from "../../support/fake/http.ts";
import { fakeOpenAI, refuse, say, stream } from "../../support/fake/openai.ts";
import { having } from "../../support/having.ts";
import { repl } from "../../support/repl.ts";
import { type Place, zz } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";

// What is a claim

const claimed = ({ kind, name, line, end, about, symbol, path, sure, weak, soft }: Claim): string =>
  [
    `${kind} ${name}${line ? `:${line}${end ? `-${end}` : ""}` : ""}`,
    ...[about && "about", symbol && `with ${symbol}`, path && `of ${path}`, sure && "sure", weak && "weak", soft],
  ]
    .filter(Boolean)
    .join(" ");

const FENCE = "```";
const CLAIMS: [answer: string, claims: string][] = [
  ["See `src/a.ts`.", "path src/a.ts"],
  ["See [this](https://example.com/a.ts) and [that](#part).", ""],
  ["Look at https://example.com/src/a.ts:12 or nodejs.org/api/fs.html.", ""],
  ["Node.js, `vue.js`, `res.json`, `path/to/a.ts`, `foo.ts`, `<name>.ts`.", ""],
  ["Say `/eval`, `--once`, `@scope/pkg`, `node:fs`.", ""],
  ["On line 42 of `src/a.ts`.", "path src/a.ts:42"],
  ["In src/a.ts, lines 10–20, and `src/b.ts` (line 7).", "path src/a.ts:10-20; path src/b.ts:7"],
  ["`draw()` is defined at `src/a.ts:42`.", "symbol draw; path src/a.ts:42 with draw"],
  ["`draw()` is not in `src/a.ts`.", "symbol draw; path src/a.ts"],
  ["`RowTable`, `rowTable`, `row_table`, `M_X`.", "symbol RowTable; symbol rowTable; symbol row_table; symbol M_X"],
  ["`src/a.ts` says `const x = rows(1)`.", "path src/a.ts; quote const x = rows(1) of src/a.ts sure"],
  ["Run `npm run build`, npm run lint:all, or `yarn test`.", "command build; command lint:all; command test"],
  ["`npm run build -w other`", "command build elsewhere"],
  ["Add a `drawAll()` and create `src/new.ts`.", "symbol drawAll proposed; path src/new.ts proposed"],
  ["Add a case to `drawAll()` in `src/a.ts`.", "symbol drawAll; path src/a.ts with drawAll"],
  ["There is no `src/x.ts`, and `drawAll()` does not exist.", "path src/x.ts denied; symbol drawAll denied"],
  ["Do you have a `src/x.ts`?", "path src/x.ts asked"],
  [
    `\`a/a.ts\` currently reads:\n\n${FENCE}ts\nconst a = 1;\n${FENCE}`,
    "path a/a.ts; quote const a = 1; of a/a.ts sure",
  ],
  [`${FENCE}ts src/a.ts:3\nconst a = 1;\n${FENCE}`, "path src/a.ts:3; quote const a = 1;:3 of src/a.ts"],
  ["Plainly draw2(), `rows.draw(1)`, `A#b`, `A::c`.", "symbol draw2; symbol rows.draw; symbol A.b; symbol A.c"],
  ["I added `drawAll()` and created `src/new.ts`.", "symbol drawAll; path src/new.ts"],
];

describe("claimsIn() finds", () => {
  for (const [answer, claims] of CLAIMS)
    test(JSON.stringify(answer), () => equal(claimsIn(answer).claims.map(claimed).join("; "), claims));

  test("nothing in 200 kB of the pieces that claims are made of", () => {
    for (const piece of ["`", "](", "a.", "a+", "-a", "1.", "a/", "line 1 of ", "`` ` ", "\n- ", "```\n"])
      equal(claimsIn(piece.repeat(200_000 / piece.length)).claims.length, 0, piece);
  });
});

// What the program says

const TABLE = [
  "// A table.",
  "import { cell } from './cell.ts';",
  "",
  "export const MAX_ROWS = 100;",
  "",
  "export class RowTable {",
  "  rows: string[] = [];",
  "  addRow(row: string): void {",
  "    this.rows.push(row);",
  "  }",
  "}",
  "export function renderTable(table: RowTable): string {",
  "  return table.rows.slice(0, MAX_ROWS).map((row) => cell(row)).join('\\n');",
  "}",
  "",
];
const PROJECT: Record<string, string> = {
  "package.json": JSON.stringify({ scripts: { build: "true", "test:unit": "true" }, dependencies: { boxes: "1" } }),
  "node_modules/boxes/index.d.ts": "export declare function drawBox(width: number): string;\n",
  "src/table.ts": TABLE.join("\n"),
  "src/ui/cell.ts": "export const cell = (text: string) => text;\n",
  "src/load.py": "class Loader:\n    def load_rows(self, name):\n        return open(name)\n",
  "src/config.ts": 'export const file = "made-at-start.json";\n',
  "NOTES.md": "The old `paint_all` is gone.\n",
  ".env": "SECRET_TOKEN=very-secret-value\n",
};

/** However busy the machine is, there is time to look at all of these small projects. */
const clock = { ...CLOCK, now: () => 0 };

/** One answer, then a command on it, each a run of its own. */
async function evaluated(
  t: TestContext,
  answers: string[],
  command: string,
  { where = having(PROJECT), model = say("Nothing else.") }: { where?: Place; model?: Step } = {},
) {
  const fake = await fakeOpenAI([...answers.map((answer) => say(answer)), model]);
  t.after(fake.close);
  const flags = ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  for (const [i] of answers.entries())
    equal((await zz(where, [...flags, ...(i ? ["-c"] : []), "--once", `question ${i + 1}`], { clock })).code, 0);
  const ran = await zz(where, [...flags, "-c", "--once", command], { clock });
  return { ran, fake };
}

const MADE_UP =
  "The page is drawn by `renderPage()` in `src/pages.ts`. `renderTable()` is at `src/table.ts:3`; `MAX_ROWS` (src/table.ts:4) limits it.";

/** Each sentence is one of an answer; what is said of it is a row, of which this is the beginning. */
const SAID: [sentence: string, row: string][] = [
  ["`renderPage()` draws.", "✗ `renderPage`: nowhere in the project; nearest: renderTable, src/table.ts:12"],
  ["`RowTable.addRow` adds.", "✓ `RowTable.addRow`: src/table.ts:8"],
  ["`RowTable.dropRow()` drops.", "✗ `RowTable.dropRow`: `RowTable` (src/table.ts:6) has no `dropRow`"],

  ["`drawBox()` draws.", "✓ `drawBox`: of the package boxes"],
  ["`structuredClone()` and `JSON.parse()` copy.", "✓ `structuredClone`: JavaScript's own"],
  ["`SOME_VARIABLE` is read.", "? `SOME_VARIABLE`: nowhere in the project; it may be a variable of the environment"],
  ["`paint_all` paints.", "? `paint_all`: no code holds it, only NOTES.md:1"],
  ["Add a `sortRows()` to it.", "? `sortRows`: nowhere in the project; nearest: load_rows, src/load.py:2; the answer"],
  ["`src/tables.ts` holds it.", "✗ src/tables.ts: there is no such file; nearest: src/table.ts"],
  ["`./src/table.js` is imported.", "? ./src/table.js: it is not there, but src/table.ts is"],
  ["`made-at-start.json` is made.", "? made-at-start.json: it is not there, but src/config.ts:1 names it"],
  ["`.env` holds a token.", "? .env: reading it must be asked for"],
  ["`/etc/passwd.txt` and `~/a.ts` and `../x.ts` are there.", "? /etc/passwd.txt: it is outside the project"],
  ["There is no `src/none.ts`.", "? src/none.ts: there is no such file; the answer seems to say so"],
  ["`src/table.ts:4` limits it.", "✓ src/table.ts:4: `export const MAX_ROWS = 100;`"],
  ["`renderTable` (src/table.ts:3) renders.", "✗ src/table.ts:3: `renderTable` is at src/table.ts:12"],
  ["`cell` is called by the function `renderTable` at src/table.ts:13.", "✓ src/table.ts:13: `renderTable` is there"],
  ["`renderTable` is in `src/ui/cell.ts`.", "✗ src/ui/cell.ts: `renderTable` is not in it, but at src/table.ts:12"],
  ["`src/table.ts` says `const  MAX_ROWS = 200`.", "✗ `const MAX_ROWS = 200`: it stands nowhere like that; nearest: "],
  ["Run `npm run test:units`.", "✗ npm run test:units: no package.json has that script; nearest: test:unit"],
];

describe("/eval", () => {
  test("tells of each statement of an answer whether it holds", async (t) => {
    const { ran } = await evaluated(t, [SAID.map(([sentence]) => sentence).join("\n\n")], "/eval fast");
    equal(ran.code, 0, ran.stderr);
    const rows = ran.stderr.split("\n");
    for (const [sentence, row] of SAID) {
      const isSaid = rows.some((one) => one.startsWith(row));
      ok(isSaid, `${sentence}\nwants ${row}\n${ran.stderr}`);
    }
    const signs = rows.map((row) => row[0]!).filter((sign) => "✗?✓".includes(sign));
    match(signs.join(""), /^✗+\?+✓+$/); // first what does not hold, then what cannot be known
    match(ran.stderr, /The answer names \d+ things: \d+ do not hold, \d+ cannot be known, \d+ hold\./);
    doesNotMatch(ran.stderr, /very-secret-value/);
  });

  test("holds a quoted block against its file, line by line", async (t) => {
    const block = (said: string, ...code: string[]) => `${said}\n\n${FENCE}ts\n${code.join("\n")}\n${FENCE}\n`;
    const answer = [
      block("`src/table.ts` currently reads:", "export class RowTable {", "    rows:  string[] = [];", "    // …", "}"),
      block("`src/table.ts` is currently:", "export class RowTable {", "  dropRow(row: string): void {", "  }"),
      block("`src/ui/cell.ts` currently reads:", "export const cell = (text: number) => text;"),
      block("Change `src/config.ts` to:", "export const madeUp = 1;"),
    ].join("\n");
    const { ran } = await evaluated(t, [answer], "/eval fast");
    match(ran.stderr, /^✓ `export class RowTable \{ …`: src\/table\.ts:6$/m);
    const wrong = /^✗ `export class RowTable \{ …`: `dropRow\(row.* is not in it; nearest: src\/table\.ts:8 `addRow/m;
    match(ran.stderr, wrong);
    match(ran.stderr, /^✗ `export const cell.*nearest: src\/ui\/cell\.ts:1 `export const cell = \(text: string\)/m);
    doesNotMatch(ran.stderr, /madeUp/);
  });

  test("asks the model with the question, the answer and the evidence, and keeps nothing of it", async (t) => {
    const where = having(PROJECT);
    const { ran, fake } = await evaluated(t, [MADE_UP], "/eval", { where, model: say("- The page is made up.") });
    equal(ran.code, 0, ran.stderr);
    match(ran.stderr, /✗ `renderPage`[\s\S]*openai\/m says:\n- The page is made up\./);
    const { messages, tools, model } = fake.requests[1]!.body;
    equal(tools, undefined);
    equal(model, "m");
    match(messages[0].content, /You check an answer/);
    match(messages[1].content, /<question>\nquestion 1\n[\s\S]*<evidence>\nwrong: `renderPage`: nowhere[\s\S]*holds: /);
    const said = where.sessions()[0]!.flatMap(({ message }) => (message ? [message.text] : []));
    deepEqual(said, ["question 1", MADE_UP]);
    equal(ran.stdout, "");
    deepEqual(readdirSync(where.cwd).sort(), [".env", "NOTES.md", "node_modules", "package.json", "src"]);
    equal(readFileSync(join(where.cwd, "src/table.ts"), "utf8"), PROJECT["src/table.ts"]);
  });

  test("checks the Nth last answer", async (t) => {
    const { ran, fake } = await evaluated(t, ["`firstName()` is one.", "`secondName()` is two."], "/eval 2");
    match(ran.stderr, /✗ `firstName`/);
    doesNotMatch(ran.stderr, /secondName/);
    match(fake.requests[2]!.body.messages[1].content, /<question>\nquestion 1\n/);
  });

  for (const [about, answers, command, sentence, requests] of [
    ["without an answer", [], "/eval", /Cannot check an answer: there is none yet\./, 0],
    ["of an answer that there is not", ["One."], "/eval 3", /Cannot check answer 3: there is 1\. Use \/eval/, 1],
    ["of what it does not know", ["One."], "/eval all", /Cannot check 'all': use \/eval, \/eval N/, 1],
    ["of an answer that names nothing", ["It is so."], "/eval", /names nothing that could be[\s\S]*Nothing else\./, 2],
  ] as const)
    test(`${about} says so: ${command}`, async (t) => {
      const { ran, fake } = await evaluated(t, [...answers], command);
      match(ran.stderr, sentence);
      equal(fake.requests.length, requests);
      doesNotMatch(ran.stderr, / at .*\.(?:ts|js):\d+/);
    });

  test("has told what it found when the model fails, and says why in a sentence", async (t) => {
    const model = refuse(400, { error: { message: "no such engine" } });
    const { ran } = await evaluated(t, [MADE_UP], "/eval", { model });
    match(ran.stderr, /✗ `renderPage`[\s\S]*\n(?:zz: )?The model could not be asked about it: .*no such engine/);
    equal(ran.code, 1);
  });

  test("with 500 names says how many it left out", async (t) => {
    const names = Array.from({ length: 500 }, (_, i) => `\`renderPage${i}()\` is in \`src/page${i}.ts\`.`);
    const { ran } = await evaluated(t, [names.join(" ")], "/eval fast");
    match(ran.stderr, /The answer names 300 things: 300 do not hold\. 700 more were not looked up\./);
    match(ran.stderr, /\n✗ and 240 more\n/);
  });

  test("searches what it has not read, before it says that a name is nowhere", async (t) => {
    const where = having({ "zz.conf": `${"word ".repeat(210_000)}\nlateName = 1\n` }); // too large to be read
    const { ran } = await evaluated(t, ["`lateName()` is there, `noName()` is not so."], "/eval fast", { where });
    match(ran.stderr, /^✓ `lateName`: zz\.conf:2$/m);
    match(ran.stderr, /^✗ `noName`: nowhere in the project$/m);
  });
});

test("/eval at a terminal stops at Ctrl+C, and the prompt is there again", async (t) => {
  const it = await repl(t, {
    where: having(PROJECT),
    rows: 50,
    script: [say(MADE_UP), { ...stream(), ending: "hang" }],
  });
  await it.say("how is it drawn?", /0 calls[\s\S]*›/);
  it.type(`/eval${KEY.enter}`);
  await it.asked(2);
  it.type(KEY.ctrlC);
  await it.fake.requests[1]!.aborted;
  await it.sees(/✗ `renderPage`[\s\S]*Stopped\./);
  await it.leave();
});

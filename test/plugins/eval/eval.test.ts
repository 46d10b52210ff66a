// /eval: what it takes for a claim, and, with the program itself and a model that plays a script, what it says of an answer.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { CLOCK } from "../../../kernel/clock.ts";
import { type Claim, claimsIn } from "../../../plugins/eval/claims.ts";
import type { Step } from "../../support/fake/http.ts";
import { fakeOpenAI, refuse, say, stream } from "../../support/fake/openai.ts";
import { type Place, place, type Ran, zz } from "../../support/run.ts";
import { KEY, terminal } from "../../support/terminal.ts";
import { waitFor } from "../../support/wait.ts";

// What is a claim

const claimed = ({ kind, name, line, end, about, symbol, path, sure, weak, soft }: Claim): string =>
  [
    `${kind} ${name}${line ? `:${line}${end ? `-${end}` : ""}` : ""}`,
    ...(about ? ["about"] : []),
    ...(symbol ? [`with ${symbol}`] : []),
    ...(path ? [`of ${path}`] : []),
    ...(sure ? ["sure"] : []),
    ...(weak ? ["weak"] : []),
    ...(soft ? [soft] : []),
  ].join(" ");

const FENCE = "```";
const CLAIMS: [about: string, answer: string, claims: string[]][] = [
  ["a path in backticks", "See `src/a.ts`.", ["path src/a.ts"]],
  ["a path in a link", "See [the table](src/a.ts#L12-L20).", ["path src/a.ts:12-20"]],
  ["a link to elsewhere", "See [this](https://example.com/a.ts) and [that](#part).", []],
  ["an address in plain words", "Look at https://example.com/src/a.ts:12 or nodejs.org/api/fs.html.", []],
  ["a folder", "All of it is in `src/ui/`.", ["path src/ui/ weak"]],
  ["a file that has no extension", "The `Makefile` and `.gitignore`.", ["path Makefile", "path .gitignore"]],
  ["a library, an object, a placeholder", "Node.js, `vue.js`, `res.json`, `path/to/a.ts`, `foo.ts`, `<name>.ts`.", []],
  ["a command, a flag, a package, a branch", "Say `/eval`, `--once`, `@scope/pkg`, `node:fs`.", []],
  ["a column is no end", "See `src/a.ts:12:5`.", ["path src/a.ts:12"]],
  ["a line before the path", "On line 42 of `src/a.ts`.", ["path src/a.ts:42"]],
  [
    "a line after the path",
    "In src/a.ts, lines 10–20, and `src/b.ts` (line 7).",
    ["path src/a.ts:10-20", "path src/b.ts:7"],
  ],
  ["roughly a line", "In `src/a.ts` around line 40.", ["path src/a.ts:40 about"]],
  ["what is at a line", "`draw()` is defined at `src/a.ts:42`.", ["symbol draw", "path src/a.ts:42 with draw"]],
  ["what is at a line, behind it", "- src/a.ts:42: `draw()`", ["path src/a.ts:42 with draw", "symbol draw"]],
  ["what is in a file", "The function `draw` in `src/a.ts` does.", ["symbol draw", "path src/a.ts with draw"]],
  ["what is not in a file", "`draw()` is not in `src/a.ts`.", ["symbol draw", "path src/a.ts"]],
  ["a list of both", "Touch `src/a.ts`, `draw()`.", ["path src/a.ts", "symbol draw"]],
  [
    "a call",
    "Call `draw()`, `rows.draw(1, 2)` or plainly draw2().",
    ["symbol draw", "symbol rows.draw", "symbol draw2"],
  ],
  [
    "a member",
    "`Session.open`, `Session#close`, `Session::end`.",
    ["symbol Session.open", "symbol Session.close", "symbol Session.end"],
  ],
  [
    "CamelCase and snake_case",
    "`RowTable`, `rowTable`, `row_table`, `MAX_ROWS`.",
    ["symbol RowTable", "symbol rowTable", "symbol row_table", "symbol MAX_ROWS"],
  ],
  [
    "a function in plain words",
    "the function rowTable and the function rows, the function call",
    ["symbol rowTable", "symbol rows weak"],
  ],
  ["a declaration", "`class RowTable` and `const rows`", ["symbol RowTable", "symbol rows"]],
  ["code of several tokens", "`const x = rows(1)` is there.", ["quote const x = rows(1)"]],
  [
    "code that a file is said to hold",
    "`src/a.ts` says `const x = rows(1)`.",
    ["path src/a.ts", "quote const x = rows(1) of src/a.ts sure"],
  ],
  ["a shell command", "Run `git commit -m (x)` and `ls -l (y);`.", []],
  [
    "scripts",
    "Run `npm run build`, npm run lint:all, or `yarn test`.",
    ["command build", "command lint:all", "command test"],
  ],
  ["a script of another package", "`npm run build -w other`", ["command build elsewhere"]],
  ["scripts in a shell block", `${FENCE}sh\nnpm ci && npm run build\n${FENCE}`, ["command build"]],
  [
    "what is to be added",
    "Add a `drawAll()` and create `src/new.ts`.",
    ["symbol drawAll proposed", "path src/new.ts proposed"],
  ],
  [
    "where it is to be added",
    "Add a case to `drawAll()` in `src/a.ts`.",
    ["symbol drawAll", "path src/a.ts with drawAll"],
  ],
  ["what was added is there", "I added `drawAll()` and created `src/new.ts`.", ["symbol drawAll", "path src/new.ts"]],
  [
    "what is to be renamed, and to what",
    "Rename `oldName` to `newName`.",
    ["symbol oldName proposed", "symbol newName proposed"],
  ],
  [
    "a list of what is to be made",
    "You could create these:\n\n- `src/x.ts`\n- `src/y.ts`",
    ["path src/x.ts proposed", "path src/y.ts proposed"],
  ],
  ["what would be", "`drawAll()` would live in `src/x.ts`.", ["symbol drawAll proposed", "path src/x.ts proposed"]],
  [
    "what is said to be missing",
    "There is no `src/x.ts`, and `drawAll()` does not exist.",
    ["path src/x.ts denied", "symbol drawAll denied"],
  ],
  ["a question", "Do you have a `src/x.ts`?", ["path src/x.ts asked"]],
  ["what is said for certain once", "Is it `src/x.ts`? It is `src/x.ts`.", ["path src/x.ts"]],
  [
    "a block that is said to be from a file",
    `\`src/a.ts\` currently reads:\n\n${FENCE}ts\nconst a = 1;\n${FENCE}`,
    ["path src/a.ts", "quote const a = 1; of src/a.ts sure"],
  ],
  [
    "a block with its file beside the language",
    `${FENCE}ts src/a.ts:3\nconst a = 1;\n${FENCE}`,
    ["path src/a.ts:3", "quote const a = 1;:3 of src/a.ts"],
  ],
  [
    "a block with its file in a comment",
    `${FENCE}ts\n// src/a.ts\nconst a = 1;\n${FENCE}`,
    ["path src/a.ts", "quote const a = 1; of src/a.ts"],
  ],
  ["a block of no file", `${FENCE}ts\nmadeUp(1);\n${FENCE}`, []],
  [
    "a table, a heading, a quotation",
    "## `drawOne()`\n| `drawTwo()` |\n> `drawThree()`",
    ["symbol drawOne", "symbol drawTwo", "symbol drawThree"],
  ],
];

describe("claimsIn() finds", () => {
  for (const [about, answer, claims] of CLAIMS)
    test(`${about}: ${JSON.stringify(answer).slice(0, 70)}`, () =>
      deepEqual(claimsIn(answer).claims.map(claimed), claims));

  test("each thing once, and no more than it is asked for", () => {
    const { claims, left } = claimsIn("`a_b` `a_b` `c_d` `e_f`", 2);
    deepEqual([claims.map(({ name }) => name), left], [["a_b", "c_d"], 1]);
  });

  test("what the answer's own code defines", () =>
    ok(claimsIn(`${FENCE}ts\nfunction drawAll() {}\n${FENCE}`).defines.has("drawAll")));

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

function project(files = PROJECT): Place {
  const where = place();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    writeFileSync(join(where.cwd, name), text);
  }
  return where;
}

/** However busy the machine is, there is time to look at all of these small projects. */
const clock = { ...CLOCK, now: () => 0 };

type Asked = { ran: Ran; fake: Awaited<ReturnType<typeof fakeOpenAI>>; where: Place };
/** One answer, then a command on it, each a run of its own. */
async function evaluated(
  t: TestContext,
  answers: string[],
  command: string,
  more: { where?: Place; model?: Step; args?: string[] } = {},
): Promise<Asked> {
  const { where = project(), model = say("Nothing else."), args = [] } = more;
  const fake = await fakeOpenAI([...answers.map((answer) => say(answer)), model]);
  t.after(fake.close);
  const flags = ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  for (const [i] of answers.entries())
    equal((await zz(where, [...flags, ...(i ? ["-c"] : []), "--once", `question ${i + 1}`], { clock })).code, 0);
  const ran = await zz(where, [...flags, ...args, "-c", "--once", command], { clock });
  return { ran, fake, where };
}

const MADE_UP =
  "The page is drawn by `renderPage()` in `src/pages.ts`. `renderTable()` is at `src/table.ts:3`; `MAX_ROWS` (src/table.ts:4) limits it.";

/** Each sentence is one of an answer; what is said of it is a row, of which this is the beginning. undefined: there is none. */
const SAID: [sentence: string, row: string | undefined, why?: string][] = [
  ["`renderPage()` draws.", "✗ `renderPage`: nowhere in the project; nearest: renderTable, src/table.ts:12"],
  ["`RowTable.addRow` adds.", "✓ `RowTable.addRow`: src/table.ts:8"],
  ["`RowTable.dropRow()` drops.", "✗ `RowTable.dropRow`: `RowTable` (src/table.ts:6) has no `dropRow`"],
  ["`load_rows()` loads.", "✓ `load_rows`: src/load.py:2", "another language"],
  ["`load_cols()` loads.", "✗ `load_cols`: nowhere in the project; nearest: load_rows, src/load.py:2"],
  ["`drawBox()` draws.", "✓ `drawBox`: of the package boxes"],
  ["`structuredClone()` and `JSON.parse()` copy.", "✓ `structuredClone`: JavaScript's own"],
  ["`numpy.zeros_of()` makes zeros.", "? `numpy.zeros_of`: it is not of this project"],
  ["`SOME_VARIABLE` is read.", "? `SOME_VARIABLE`: nowhere in the project; it may be a variable of the environment"],
  ["`paint_all` paints.", "? `paint_all`: no code holds it, only NOTES.md:1"],
  [
    "Add a `sortRows()` to it.",
    "? `sortRows`: nowhere in the project; nearest: load_rows, src/load.py:2; the answer seems to propose it",
  ],
  ["`src/tables.ts` holds it.", "✗ src/tables.ts: there is no such file; nearest: src/table.ts"],
  ["`ui/cell.ts` holds cells.", "✓ ui/cell.ts: src/ui/cell.ts"],
  ["`src/ui/` holds the rest.", "✓ src/ui/: a folder"],
  ["`./src/table.js` is imported.", "? ./src/table.js: it is not there, but src/table.ts is"],
  ["`made-at-start.json` is made.", "? made-at-start.json: it is not there, but src/config.ts:1 names it"],
  ["`dist/main.js` is built.", "? dist/main.js: it is not there; it may be made by a run"],
  ["`.env` holds a token.", "? .env: reading it must be asked for"],
  ["`/etc/passwd.txt` and `~/a.ts` and `../x.ts` are there.", "? /etc/passwd.txt: it is outside the project"],
  ["There is no `src/none.ts`.", "? src/none.ts: there is no such file; the answer seems to say so"],
  ["`src/table.ts:400` is the end.", "✗ src/table.ts:400: it has 14 lines"],
  ["`src/table.ts:4` limits it.", "✓ src/table.ts:4: `export const MAX_ROWS = 100;`"],
  ["`renderTable` (src/table.ts:3) renders.", "✗ src/table.ts:3: `renderTable` is at src/table.ts:12"],
  [
    "`cell` is called by the function `renderTable` at src/table.ts:13.",
    "✓ src/table.ts:13: `renderTable` is there",
    "a line inside of it",
  ],
  ["`addRow` is around line 14 of `src/table.ts`.", "✓ src/table.ts:14: `addRow` is there", "roughly"],
  ["`renderTable` is in `src/ui/cell.ts`.", "✗ src/ui/cell.ts: `renderTable` is not in it, but at src/table.ts:12"],
  ["`src/table.ts` says `rows: string[] = []`.", "✓ `rows: string[] = []`: src/table.ts:7"],
  [
    "`src/table.ts` says `const  MAX_ROWS = 200`.",
    "✗ `const MAX_ROWS = 200`: it stands nowhere like that; nearest: src/table.ts:4 `export const MAX_ROWS = 100;`",
  ],
  ["You may say `nothing = like + (this - here)` then.", undefined, "code that may be an example"],
  ["Run `npm run build`.", "✓ npm run build: package.json"],
  ["Run `npm run test:units`.", "✗ npm run test:units: no package.json has that script; nearest: test:unit"],
];

describe("/eval", () => {
  test("tells of each statement of an answer whether it holds", async (t) => {
    const { ran } = await evaluated(t, [SAID.map(([sentence]) => sentence).join("\n\n")], "/eval fast");
    equal(ran.code, 0, ran.stderr);
    const rows = ran.stderr.split("\n");
    for (const [sentence, row, why = ""] of SAID) {
      if (row)
        ok(
          rows.some((one) => one.startsWith(row)),
          `${why} ${sentence}\nwants ${row}\n${ran.stderr}`,
        );
      else doesNotMatch(ran.stderr, new RegExp(/`([a-z.]+)/.exec(sentence)![1]!), why);
    }
    const signs = rows.map((row) => row[0]!).filter((sign) => "✗?✓".includes(sign));
    equal(
      signs.join("").replace(/✗+\?+✓+/, ""),
      "",
      `first what does not hold, then what cannot be known: ${signs.join("")}`,
    );
    match(ran.stderr, /The answer names \d+ things: \d+ do not hold, \d+ cannot be known, \d+ hold\./);
    doesNotMatch(ran.stderr, /very-secret-value/);
  });

  test("holds a quoted block against its file, line by line", async (t) => {
    const block = (said: string, ...code: string[]) => `${said}\n\n${FENCE}ts\n${code.join("\n")}\n${FENCE}\n`;
    const answer = [
      block("`src/table.ts` currently reads:", "export class RowTable {", "    rows:  string[] = [];", "    // …", "}"),
      block(
        "The end of `src/table.ts` is currently:",
        "export class RowTable {",
        "  dropRow(row: string): void {",
        "  }",
      ),
      block("`src/ui/cell.ts` currently reads:", "export const cell = (text: number) => text;"),
      block("Change `src/config.ts` to:", "export const madeUp = 1;"),
    ].join("\n");
    const { ran } = await evaluated(t, [answer], "/eval fast");
    match(ran.stderr, /^✓ `export class RowTable \{ …`: src\/table\.ts:6$/m);
    match(
      ran.stderr,
      /^✗ `export class RowTable \{ …`: `dropRow\(row: string\): void \{` is not in it; nearest: src\/table\.ts:8 `addRow\(row/m,
    );
    match(ran.stderr, /^✗ `export const cell.*nearest: src\/ui\/cell\.ts:1 `export const cell = \(text: string\)/m);
    doesNotMatch(ran.stderr, /madeUp/);
  });

  test("asks the model with the question, the answer and the evidence, and keeps nothing of it", async (t) => {
    const where = project();
    const { ran, fake } = await evaluated(t, [MADE_UP], "/eval", { where, model: say("- The page is made up.") });
    equal(ran.code, 0, ran.stderr);
    match(ran.stderr, /✗ `renderPage`[\s\S]*openai\/m says:\n- The page is made up\./);
    const { messages, tools, model } = fake.requests[1]!.body;
    equal(tools, undefined);
    equal(model, "m");
    match(messages[0].content, /You check an answer/);
    match(
      messages[1].content,
      /<question>\nquestion 1\n<\/question>[\s\S]*`src\/pages\.ts`[\s\S]*<evidence>\nwrong: `renderPage`: nowhere[\s\S]*holds: /,
    );
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
    [
      "of an answer that names nothing",
      ["It is so."],
      "/eval",
      /names nothing that could be looked up[\s\S]*Nothing else\./,
      2,
    ],
    ["that is to be fast", ["It is so."], "/eval fast", /names nothing that could be looked up/, 1],
  ] as const)
    test(`${about} says so: ${command}`, async (t) => {
      const { ran, fake } = await evaluated(t, [...answers], command);
      match(ran.stderr, sentence);
      equal(fake.requests.length, requests);
      doesNotMatch(ran.stderr, / at .*\.(?:ts|js):\d+/);
    });

  test("has told what it found when the model fails, and says why in a sentence", async (t) => {
    const { ran } = await evaluated(t, [MADE_UP], "/eval", {
      model: refuse(400, { error: { message: "no such engine" } }),
    });
    match(ran.stderr, /✗ `renderPage`[\s\S]*\n(?:zz: )?The model could not be asked about it: .*no such engine/);
    equal(ran.code, 1);
  });

  test("says that a model had nothing to say", async (t) => {
    const { ran } = await evaluated(t, [MADE_UP], "/eval", { model: say(" ") });
    match(ran.stderr, /The model had nothing to say about it\.|could not be asked about it: .*empty/);
  });

  test("with 500 names says how many it left out", async (t) => {
    const names = Array.from({ length: 500 }, (_, i) => `\`renderPage${i}()\` is in \`src/page${i}.ts\`.`);
    const { ran } = await evaluated(t, [names.join(" ")], "/eval fast");
    match(ran.stderr, /The answer names 300 things: 300 do not hold\. 700 more were not looked up\./);
    match(ran.stderr, /\n✗ and 240 more\n/);
  });

  test("searches what it has not read, before it says that a name is nowhere", async (t) => {
    const where = project({ "zz.conf": `${"word ".repeat(210_000)}\nlateName = 1\n` }); // too large to be read
    const { ran } = await evaluated(t, ["`lateName()` is there, `noName()` is not so."], "/eval fast", { where });
    match(ran.stderr, /^✓ `lateName`: zz\.conf:2$/m);
    match(ran.stderr, /^✗ `noName`: nowhere in the project$/m);
  });

  test("sends the model no more than it takes in", async (t) => {
    const answer = `It begins. ${"Some words that say little. ".repeat(2_000)}It ends.`;
    const { fake } = await evaluated(t, [answer], "/eval");
    const [, { content }] = fake.requests[1]!.body.messages;
    ok(content.length < 45_000, `${content.length}`);
    match(content, /It begins\.[\s\S]*characters are left out[\s\S]*It ends\./);
  });
});

// At a terminal

/** A conversation of one answer, and its /eval. */
async function talk(t: TestContext, then: Step, how: { env?: Record<string, string> } = {}) {
  const fake = await fakeOpenAI([say(MADE_UP), then]);
  t.after(fake.close);
  const term = terminal(project(), ["-m", "openai/m", "--base-url", fake.url, "--key", "x"], { rows: 50, ...how });
  await term.sees("›");
  term.type(`how is it drawn?${KEY.enter}`);
  await term.sees(/0 calls[\s\S]*›/);
  return { term, fake };
}

describe("/eval at a terminal", () => {
  test("catches a made-up function, a wrong line and a missing file, then asks the model", async (t) => {
    const { term, fake } = await talk(t, say("The page is made up."));
    term.type(`/eval${KEY.enter}`);
    const shown = await term.sees("The page is made up.");
    match(
      shown,
      /✗ `renderPage`: nowhere in the project; nearest: renderTable, src\/table\.ts:12\n✗ src\/pages\.ts: there is no such file\n✗ src\/table\.ts:3: `renderTable` is at src\/table\.ts:12\n✓ `renderTable`: src\/table\.ts:12\n✓ `MAX_ROWS`: src\/table\.ts:4\n✓ src\/table\.ts:4: `MAX_ROWS` is there\nopenai\/m says:\nThe page is made up\./,
    );
    equal(fake.requests.length, 2);
    term.type(KEY.ctrlD);
    equal(await term.exited, 0);
  });

  test("says words where signs are not wanted", async (t) => {
    const { term } = await talk(t, say("Seen."), { env: { TERM: "dumb" } });
    term.type(`/eval fast${KEY.enter}`);
    match(await term.sees("holds:"), /\nwrong: `renderPage`/);
    term.type(KEY.ctrlD);
    await term.exited;
  });

  test("stops at Ctrl+C, and the prompt is there again", async (t) => {
    const { term, fake } = await talk(t, { ...stream(), ending: "hang" });
    term.type(`/eval${KEY.enter}`);
    await waitFor("the question to the model", () => fake.requests.length > 1);
    term.type(KEY.ctrlC);
    await fake.requests[1]!.aborted;
    await term.sees(/✗ `renderPage`[\s\S]*Stopped\./);
    term.type(KEY.ctrlD);
    equal(await term.exited, 0);
  });
});

// /eval: what it takes for a name, and, with the program itself and a model that plays a script,
// what it says of an answer.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Step } from "../../../../test/support/fake/http.ts";
import { fakeOpenAI, refuse, say, stream } from "../../../../test/support/fake/openai.ts";
import { having } from "../../../../test/support/having.ts";
import { repl } from "../../../../test/support/repl.ts";
import { type Place, zz } from "../../../../test/support/run.ts";
import { KEY } from "../../../../test/support/terminal.ts";
import { type Named, namesIn } from "../../names-in-answer.ts";

// What is a name

const told = ({ kind, name, line, end, weak }: Named): string =>
  `${kind} ${name}${line ? `:${line}${end ? `-${end}` : ""}` : ""}${weak ? " weak" : ""}`;

const FENCE = "```";
const NAMES: [answer: string, names: string][] = [
  ["See `src/a.ts`.", "path src/a.ts"],
  ["See [this](https://example.com/a.ts) and [that](#part).", ""],
  ["Look at https://example.com/src/a.ts:12 or nodejs.org/api/fs.html, and/or Node.js.", ""],
  ["Say `/eval`, `--once`, `@scope/pkg`, `node:fs`, `it`.", ""],
  [
    "`zz.json` and `res.json`",
    "path zz.json weak; path res.json weak; symbol zz.json weak; symbol res.json weak",
  ],
  ["In src/a.ts, lines 10–20, and `src/b.ts` (line 7).", "path src/a.ts:10-20; path src/b.ts:7"],
  ["`draw()` is defined at `src/a.ts:42`.", "path src/a.ts:42; symbol draw"],
  [
    "`RowTable`, `rowTable`, `row_table`, `M_X`.",
    "symbol RowTable; symbol rowTable; symbol row_table; symbol M_X",
  ],
  [
    "Plainly draw2(), `rows.draw(1)`, `A#b`, `A::c`.",
    "path rows.draw weak; symbol rows.draw; symbol A.b; symbol A.c; symbol draw2",
  ],
  ["- `drawAll()`\n- **`src/new.ts`**", "symbol drawAll; path src/new.ts"],
  ["| a |\n|---|\n| `drawAll()` |", "symbol drawAll"],
  [`# \`drawAll()\`\n\n${FENCE}ts\nconst rowTable = "src/a.ts";\n${FENCE}`, "symbol drawAll"],
];

describe("namesIn() finds", () => {
  for (const [answer, names] of NAMES)
    test(JSON.stringify(answer), () => equal(namesIn(answer).names.map(told).join("; "), names));
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
  "package.json": JSON.stringify({ scripts: { build: "true", "test:unit": "true" } }),
  "src/table.ts": TABLE.join("\n"),
  "src/ui/cell.ts": "export const cell = (text: string) => text;\n",
  "src/load.py": "class Loader:\n    def load_rows(self, name):\n        return open(name)\n",
  "src/config.ts": 'export const file = "made-at-start.json";\n',
  "NOTES.md": "The old `paint_all` is gone.\n",
  ".env": "SECRET_TOKEN=very-secret-value\n",
};

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
    equal(
      (await zz(where, [...flags, ...(i ? ["-c"] : []), "--once", `question ${i + 1}`])).code,
      0,
    );
  const ran = await zz(where, [...flags, "-c", "--once", command]);
  return { ran, printed: ran.stdout + ran.stderr, fake };
}

const MADE_UP =
  "The page is drawn by `renderPage()` in `src/pages.ts`. `renderTable()` is at `src/table.ts:3`; `MAX_ROWS` (src/table.ts:4) limits it.";

/**
 * Each sentence is one of an answer; what is printed of it is a row, of which this is the beginning.
 */
const SAID: [sentence: string, row: string][] = [
  [
    "`renderPage()` draws.",
    "✗ `renderPage`: nowhere in the project; nearest: renderTable, src/table.ts:12",
  ],
  ["`RowTable.addRow` adds.", "✓ `RowTable.addRow`: src/table.ts:8"],
  ["`RowTable.dropRow()` drops.", "✗ `RowTable.dropRow`: nowhere in the project; nearest: "],
  ["`structuredClone()` copies.", "✓ `structuredClone`: JavaScript's own, or Node's"],
  ["`paint_all` paints.", "✓ `paint_all`: no definition of it, but NOTES.md:1 names it"],
  [
    "Add a `sortCells()` to it.",
    "? `sortCells`: nowhere in the project; the answer's own code has it",
  ],
  ["`src/tables.ts` holds it.", "✗ src/tables.ts: it is not there; nearest: src/table.ts"],
  ["`ui/cell` and `ui/cell.ts` are one.", "✓ ui/cell.ts: src/ui/cell.ts"],
  ["`.env.ts` and `./.env` hold a token.", "? ./.env: reading it must be asked for"],
  [
    "`/etc/passwd.txt` and `~/a.ts` and `../x.ts` are there.",
    "? /etc/passwd.txt: it is outside the project",
  ],
  ["`src/ui/` is a folder.", "✓ src/ui/: a folder"],
  ["`src/table.ts:4` limits it.", "✓ src/table.ts:4: `export const MAX_ROWS = 100;`"],
  ["`src/table.ts` (line 99) ends.", "✗ src/table.ts:99: it has 14 lines"],
];

describe("/eval", () => {
  test("tells of each name in an answer whether it was found", async (t) => {
    const code = `${FENCE}ts\nfunction sortCells() {}\n${FENCE}`;
    const answer = [...SAID.map(([sentence]) => sentence), code].join("\n\n");
    const { ran, printed } = await evaluated(t, [answer], "/eval fast");
    equal(ran.code, 0, printed);
    const rows = printed.split("\n");
    for (const [sentence, row] of SAID) {
      const isSaid = rows.some((one) => one.startsWith(row));
      ok(isSaid, `${sentence}\nwants ${row}\n${printed}`);
    }
    const signs = rows.map((row) => row[0]!).filter((sign) => "✗?✓".includes(sign));
    match(signs.join(""), /^✗+\?+✓+$/); // first what was not found, then what cannot be known
    match(
      printed,
      /Files and symbols that the answer names: \d+ not found, \d+ not known, \d+ found\./,
    );
    doesNotMatch(printed, /very-secret-value/);
  });

  test("asks the model with the question, the answer and the evidence, and keeps nothing of it", async (t) => {
    const where = having(PROJECT);
    const { ran, printed, fake } = await evaluated(t, [MADE_UP], "/eval", {
      where,
      model: say("- The page is made up."),
    });
    equal(ran.code, 0, printed);
    match(printed, /✗ `renderPage`[\s\S]*openai\/m says:\n- The page is made up\./);
    const { messages, tools, model } = fake.requests[1]!.body;
    equal(tools, undefined);
    equal(model, "m");
    match(messages[0].content, /You check an answer/);
    const asked =
      /<question>\nquestion 1\n[\s\S]*<evidence>[\s\S]*\nnot found: `renderPage`: nowhere[\s\S]*\nfound: /;
    match(messages[1].content, asked);
    const saved = where.sessions()[0]!.flatMap(({ message }) => (message ? [message.text] : []));
    deepEqual(saved, ["question 1", MADE_UP]);
    deepEqual(readdirSync(where.cwd).sort(), [".env", "NOTES.md", "package.json", "src"]);
    equal(readFileSync(join(where.cwd, "src/table.ts"), "utf8"), PROJECT["src/table.ts"]);
  });

  test("checks the Nth last answer", async (t) => {
    const { printed, fake } = await evaluated(
      t,
      ["`firstName()` is one.", "`secondName()` is two."],
      "/eval 2",
    );
    match(printed, /✗ `firstName`/);
    doesNotMatch(printed, /secondName/);
    match(fake.requests[2]!.body.messages[1].content, /<question>\nquestion 1\n/);
  });

  for (const [
    about,
    answers,
    command,
    sentence,
    requests,
  ] of /* biome-ignore format: one case a row */ [
    ["without an answer", [], "/eval", /Cannot check an answer: there is none yet\./, 0],
    ["of an answer that there is not", ["One."], "/eval 3", /Cannot check answer 3: there is 1\. Use \/eval/, 1],
    ["of what it does not know", ["One."], "/eval all", /Cannot check 'all': use \/eval, \/eval N/, 1],
    ["of an answer that names nothing", ["It is so."], "/eval", /names no file and no symbol that could be[\s\S]*Nothing else\./, 2],
  ] as const)
    test(`${about} says so: ${command}`, async (t) => {
      const { printed, fake } = await evaluated(t, [...answers], command);
      match(printed, sentence);
      equal(fake.requests.length, requests);
      doesNotMatch(printed, / at .*\.(?:ts|js):\d+/);
    });

  test("has told what it found when the model fails, and says why in a sentence", async (t) => {
    const model = refuse(400, { error: { message: "no such engine" } });
    const { ran, printed } = await evaluated(t, [MADE_UP], "/eval", { model });
    match(
      printed,
      /✗ `renderPage`[\s\S]*\n(?:zz: )?The model could not be asked about it: .*no such engine/,
    );
    equal(ran.code, 1);
  });

  test("with 500 names says how many it left out", async (t) => {
    const names = Array.from(
      { length: 500 },
      (_, i) => `\`renderPage${i}()\` is in \`src/page${i}.ts\`.`,
    );
    const { printed } = await evaluated(t, [names.join(" ")], "/eval fast");
    match(printed, /names: 300 not found\. 700 more were not looked up\./);
    match(printed, /\n✗ and 240 more\n/);
  });
});

test("/eval at a terminal stops at Ctrl+C, and the prompt is there again", async (t) => {
  const script = [say(MADE_UP), { ...stream(), ending: "hang" as const }];
  const it = await repl(t, { where: having(PROJECT), rows: 50, script });
  await it.say("how is it drawn?", /0 calls[\s\S]*›/);
  it.type(`/eval${KEY.enter}`);
  await it.asked(2);
  it.type(KEY.ctrlC);
  await it.fake.requests[1]!.aborted;
  await it.sees(/✗ `renderPage`[\s\S]*Stopped\./);
  await it.leave();
});

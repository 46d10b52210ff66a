// Nothing breaks within a word at the edge of the terminal: questions, notes, results, failures.
import { deepEqual, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, refuse, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { place, zz as run } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const PLUGIN = `export default (zz) => {
  zz.tool({ name: "ask_much", description: "asks", needs: () => ({ run: ["the quick brown fox jumps over the lazy dog while nobody else is looking"] }), run: () => "done" });
  zz.command({ name: "list", description: "lists", run: (_, { note }) => note("a list of several long words that go beyond the edge of the window\\n  and an indented row with words that also go beyond it") });
};`;
/** Words that a break could tear apart, as the screen would show their pieces. */
const WORDS =
  "quick brown jumps looking without reason several window indented message another explains question complete connection".split(
    " ",
  );

test("At 33 columns no word is torn apart", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "own.ts"), PLUGIN);
  const script = [
    call(["ask_much", {}]),
    say("Done."),
    refuse(400, { error: { message: "the model that was asked for is not one that this server has" } }),
  ];
  const zz = await repl(t, { where, cols: 33, rows: 15, script, args: ["--plugin", "own.ts"] });
  zz.type(`go${KEY.enter}`);
  await zz.sees(/Allow\?/);
  zz.type("?");
  await zz.sees(/without a\s+(┠ |┃ )?reason/);
  zz.type(KEY.enter);
  await zz.sees(/Done\.[\s\S]*›\s*$/);
  await zz.say("/list", /beyond it\n.*›\s*$/);
  zz.type(`fail${KEY.enter}`);
  const shown = await zz.sees(/\[S\]kip/);
  const rows = shown.split("\n");
  for (const [i, row] of rows.entries()) {
    ok(row.length <= 33, row);
    const next = (rows[i + 1] ?? "").replace(/^(┃ |┠ | {2})/, "");
    const [end, begin] = [/\S*$/.exec(row)![0], /^\S*/.exec(next)![0]];
    const torn = WORDS.find((word) => `${end}${begin}`.includes(word) && !end.includes(word) && !begin.includes(word));
    ok(!torn, `${torn}: ${row} | ${next}`);
  }
  match(shown, /\[a\]bort/);
});

test("Every parameter of zz's own tools says what it is", async () => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{ "tools": { "offer": "all" } }');
  const { stdout } = await run(where, ["--dry-run", "-m", "openai/m", "--key", "x", "hi"]);
  const { tools } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  const silent = tools.flatMap(({ function: { name, parameters } }: any) =>
    Object.entries<any>(parameters.properties).flatMap(([key, { description }]) =>
      description ? [] : `${name}.${key}`,
    ),
  );
  ok(tools.length > 30, stdout);
  deepEqual(silent, []);
});

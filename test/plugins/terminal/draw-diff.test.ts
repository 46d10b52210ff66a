// The head of a difference: what is done with which file, where in it, and what its lines do not
// tell.
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters as strip } from "node:util";
import type { Ctx, Difference, Zz } from "../../../kernel/contract.ts";
import { type Paint, renderDiff } from "../../../plugins/terminal/draw-diff.ts";
import { highlight } from "../../../plugins/terminal/highlight.ts";
import { themeOf } from "../../../plugins/terminal/theme.ts";
import { fc } from "../../support/property.ts";
import { runs } from "../../support/runs.ts";
import { harness } from "../../support/script.ts";

const same = (text: string): string => text;
const PLAIN: Paint = { removed: same, added: same, strong: same, dim: same };

const ROWS: [difference: Partial<Difference>, head: string][] = [
  [{ after: "one\ntwo\n" }, "create a · lines 1–2 · +2 −0"],
  [{ after: "" }, "create a · empty"],
  [{ after: "", note: "a folder" }, "create a · a folder"],
  [{ path: "a\nb\x1b[2J", after: "" }, "create a␊b␛[2J · empty"],
  [{ before: "" }, "delete a · empty"],
  [{ before: "one\n" }, "delete a · line 1 · +0 −1"],
  [{ before: "one\n", after: "one\n", note: "another mode: 644 to 755" },
    "edit a · another mode: 644 to 755"],
  [{ before: "", after: "one\n" }, "edit a · line 1 · +1 −0"],
]; // biome-ignore format: a table
for (const [difference, head] of ROWS)
  test(`the head of a difference: ${head}`, () =>
    equal(renderDiff({ path: "a", ...difference }, PLAIN).split("\n")[0], head));

const theme = themeOf("dark");
const { removed, added, changed: strong, dim } = theme;
const code = (text: string, path: string) => highlight(text, path.split(".")[1] ?? "", theme);
const COLOURED: Paint = { removed, added, strong, dim, code };

// [what, its file, before, after, the rows below the head, where g, r, m, y, / and i are green,
// red, magenta, yellow, their end and inverse]
// biome-ignore format: one case a row.
const COLOURS: [what: string, path: string, before: string, after: string, rows: string[]][] = [
  ["what comes and stays has the colours of its language", "a.ts", "let a;\n", "let a;\nlet b = 1;\n", ["    1   <m>let</> a;", "<g>    2 + </><m>let</> b = <y>1</>;"]],
  ["what goes is in one colour, and what differs is marked", "a.ts", "let b = 1;\n", "let b = 12;\n", ["<r>    1 - let b = <i>1</i>;</>", "<g>    1 + </><m>let</> b = <y><i>12</i><y></>;"]],
  ["another text is in the colour of its row", "a.lamp", "let b\n", "let c\n", ["<r>    1 - let <i>b</i></>", "<g>    1 + let <i>c</i></>"]],
];
const NAMES: Record<string, string> = {
  32: "g",
  31: "r",
  35: "m",
  33: "y",
  39: "/",
  7: "i",
  27: "/i",
};
for (const [what, path, before, after, rows] of COLOURS)
  test(`the colours of a difference: ${what}`, () => {
    const shown = renderDiff({ path, before, after }, COLOURED);
    const told = shown.replace(/\x1b\[(\d+)m/g, (_, one) => `<${NAMES[one] ?? one}>`);
    deepEqual(told.split("\n").slice(1), rows);
  });

test("colours change nothing of what is read, whatever the text", () => {
  const words = fc.constantFrom(
    "let ",
    "a",
    "\n",
    "/*",
    "*/",
    "'",
    "`${",
    "<b>",
    "日本",
    "\t",
    "// x\n",
  );
  const text = fc.array(words, { maxLength: 30 }).map((all) => all.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const difference = { path: "a.ts", before, after };
      equal(strip(renderDiff(difference, COLOURED)), renderDiff(difference, PLAIN));
    }),
    { numRuns: runs(150, 500) },
  );
});

test("a question about a folder and an empty file names them as such", async (t) => {
  const run = async (_: object, { files, root }: Ctx) => {
    const state = (path: string, mode: number) => ({
      path: `${root}/${path}`,
      bytes: Buffer.alloc(0),
      mode,
    });
    await files.apply([state("d", 0o040755), state("d/e", 0o100644)], "");
    return "Made.";
  };
  const makes = (zz: Zz) =>
    zz.tool({ name: "makes", description: "d", needs: () => ({ write: ["."] }), run });
  const zz = await harness(
    { own: true, plugins: [{ name: "makes", default: makes }], answer: async () => "y" },
    t,
  );
  await zz.call("makes", {});
  match(zz.questions.join("\n"), /^┃ create d · a folder\n┃ create d\/e · empty$/m);
});

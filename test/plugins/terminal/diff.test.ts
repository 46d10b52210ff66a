// The head of a difference: what is done with which file, where in it, and what its lines do not tell.
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Ctx, Difference, Zz } from "../../../kernel/contract.ts";
import { type Paint, renderDiff } from "../../../plugins/terminal/diff.ts";
import { harness } from "../../support/script.ts";

const same = (text: string): string => text;
const PLAIN: Paint = { removed: same, added: same, strong: same, dim: same };

const ROWS: [difference: Omit<Difference, "path">, head: string][] = [
  [{ after: "one\ntwo\n" }, "create a · lines 1–2 · +2 −0"],
  [{ after: "" }, "create a · empty"],
  [{ after: "", note: "a folder" }, "create a · a folder"],
  [{ before: "" }, "delete a · empty"],
  [{ before: "one\n" }, "delete a · line 1 · +0 −1"],
  [{ before: "one\n", after: "one\n", note: "another mode: 644 to 755" }, "edit a · another mode: 644 to 755"],
  [{ before: "", after: "one\n" }, "edit a · line 1 · +1 −0"],
];
for (const [difference, head] of ROWS)
  test(`the head of a difference: ${head}`, () =>
    equal(renderDiff({ path: "a", ...difference }, PLAIN).split("\n")[0], head));

test("a question about a folder and an empty file names them as such", async (t) => {
  const run = async (_: object, { files, root }: Ctx) => {
    const state = (path: string, mode: number) => ({ path: `${root}/${path}`, bytes: Buffer.alloc(0), mode });
    await files.apply([state("d", 0o040755), state("d/e", 0o100644)], "");
    return "Made.";
  };
  const makes = (zz: Zz) => zz.tool({ name: "makes", description: "d", needs: () => ({ write: ["."] }), run });
  const zz = await harness({ own: true, plugins: [{ name: "makes", default: makes }], answer: async () => "y" }, t);
  await zz.call("makes", {});
  match(zz.questions.join("\n"), /^┃ create d · a folder\n┃ create d\/e · empty$/m);
});

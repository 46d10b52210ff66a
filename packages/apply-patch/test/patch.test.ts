// Patches: what is read out of them, where they go, what they leave alone, and what is said when
// they do not fit.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createTwoFilesPatch, structuredPatch } from "diff";
import { temporaryFolder } from "../../../test/support/files.ts";
import { needs } from "../../../test/support/needs.ts";
import { fc } from "../../../test/support/property.ts";
import { shell, put as write } from "../../../test/support/repository.ts";
import { runs } from "../../../test/support/runs.ts";
import { applyChange } from "../apply.ts";
import { parsePatch } from "../parse.ts";

const RUNS = runs(100, 500);

type Texts = Record<string, string>;

/** All the changes of a patch, one after the other, to these files. */
function apply(files: Texts, patch: string): Texts {
  const now = new Map(Object.entries(files));
  for (const change of parsePatch(patch)) {
    const text = applyChange(now.get(change.path), change);
    if (text === undefined || change.to) now.delete(change.path);
    if (text !== undefined) now.set(change.to ?? change.path, text);
  }
  return Object.fromEntries(now);
}

/** The text of file x after a patch to it. */
const applyTo = (text: string, patch: string): string | undefined => apply({ x: text }, patch).x;

/** What it gives, or the sentence that it throws. */
function outcome<T>(give: () => T): T | string {
  try {
    return give();
  } catch (error) {
    return (error as Error).message;
  }
}

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const udiff = (...hunks: string[]): string => lines("--- a/x", "+++ b/x", ...hunks);
const begin = (...body: string[]): string =>
  lines("*** Begin Patch", "*** Update File: x", ...body, "*** End Patch");

const ABC = lines("a", "b", "c");
const ABCx = lines("a", "B", "c");
const TWICE = lines("one {", "  x = 1", "}", "two {", "  x = 1", "}");
const F = ["    def f(self):", "        return 1"];
const PY = lines("class A:", ...F, "", "class B:", ...F, "    def g(self):", "        return 1");
const FIVE = lines("1", "2", "3", "4", "5");
const BOM = "\uFEFF";

// [what, file x before, the patch, file x after or what the error says]
// biome-ignore format: one case a row.
const ROWS: [string, string, string, string | RegExp][] = [
  // form: unified
  ["timestamps after a tab", ABC, lines("--- x\t2024-01-01 10:00:00.000 +0100", "+++ x\t2024-01-02", "@@ -2 +2 @@", "-b", "+B"), ABCx],
  ["git's first line alone names the file", ABC, lines("diff --git a/x b/x", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), ABCx],
  ["a mail of git format-patch", ABC, lines("From 0123 Mon Sep 17 00:00:00 2001", "Subject: [PATCH] b", "---", " x | 2 +-", "", "diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c", "-- ", "2.39.5", ""), ABCx],
  ["two mails in one", ABC, lines("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -2 +2 @@", "-b", "+B", "-- ", "2.39.5", "", "From 0123456789 Mon Sep 17 00:00:00 2001", "Subject: [PATCH] c", "", "- and c", "---", " x | 2 +-", "diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -3 +3 @@", "-c", "+C", "-- ", "2.39.5"), lines("a", "B", "C")],
  ["a removed '- ' is no signature", lines("- ", "b"), udiff("@@ -7 +7 @@", "-- ", " b"), lines("b")],
  ["hunks out of order that meet", ABC, udiff("@@", "+new", " c", "@@", " a", "-b", "+B"), lines("a", "B", "new", "c")],
  ["hunks that share context", FIVE, udiff("@@", " 1", "-2", "+two", " 3", "@@", " 3", "-4", "+four", " 5"), lines("1", "two", "3", "four", "5")],
  ["a removed '-- x' is no header", lines("-- x", "b"), udiff("@@ -1,2 +1,1 @@", "--- x", " b"), lines("b")],
  ["'-- x' made '++ x' before the next @@ is no header", lines("-- x", "b", "c"), udiff("@@ -1 +1 @@", "--- x", "+++ y", "@@ -3 +3 @@", "-c", "+C"), lines("++ y", "b", "C")],

  // form: *** Begin Patch
  ["a unified diff in a Begin Patch", ABC, lines("*** Begin Patch", "--- a/x", "+++ b/x", "@@ -1,9 +1,9 @@", " a", "-b", "+B", "*** End Patch"), ABCx],
  ["without an @@", ABC, begin(" a", "-b", "+B", " c"), ABCx],
  ["without an end", ABC, lines("*** Begin Patch", "*** Update File: x", "@@", " a", "-b", "+B"), ABCx],
  ["words around it", ABC, `Now I change b.\n- with care\n${begin("@@", "-b", "+B")}Done:\n- b\n`, ABCx],
  ["End of File takes the last of two", TWICE, begin("@@", "-  x = 1", "+  x = 2", " }", "*** End of File"), TWICE.replace(/x = 1(?=\n}\n$)/, "x = 2")],
  ["End of File where the lines are elsewhere", ABC, begin("@@", " a", "+x", "*** End of File"), /its lines are at line 1, but not at the end of the file/],
  ["an @@ line tells two places apart", TWICE, begin("@@ two {", "-  x = 1", "+  x = 2"), TWICE.replace(/(two {\n {2}x = )1/, "$12")],
  ["an @@ line that stands in two blocks", PY, begin("@@ def f(self):", "-        return 1", "+        return 2"), /there 2 times, at lines 3, 7\./],
  ["an @@ line that is not in the file", PY, begin("@@ class C:", "-        return 1", "+        return 2"), /there is no line 'class C:'; nearest is line 1: 'class A:'/],
  ["an @@ line after the only place", TWICE, begin("@@ two {", " one {", "-  x = 1"), /its lines are at line 1, but not after 'two {'/],
  ["an @@ line and only added lines", TWICE, begin("@@ two {", "+  y = 1"), TWICE.replace("two {\n", "two {\n  y = 1\n")],
  ["only added lines and no place", ABC, begin("@@", "+d"), /it names no line of the file, so that its place is not known\. Nothing was changed\./],
  ["only added lines under a line that is there twice", TWICE, begin("@@ }", "+y"), /its @@ line is there 2 times/],

  // leniency: wrapping
  ["a fence that is not closed", ABC, `\`\`\`diff\n${udiff("@@ -2 +2 @@", "-b", "+B")}`, ABCx],
  ["two fences", FIVE, `\`\`\`diff\n${udiff("@@", "-1", "+one")}\`\`\`\nand\n\`\`\`diff\n${udiff("@@", "-5", "+five")}\`\`\`\n`, lines("one", "2", "3", "4", "five")],
  ["a fence that is not opened", ABC, `${udiff("@@ -9,9 +9,9 @@", "-b", "+B")}\`\`\`\n- and so on\n`, ABCx],
  ["a fence that is closed too soon", FIVE, `\`\`\`diff\n${udiff("@@", "-1", "+one")}\`\`\`\n${udiff("@@", "-5", "+five")}`, lines("one", "2", "3", "4", "five")],
  ["a fence in the file is content", lines("```", "b", "```"), udiff("@@ -1,3 +1,3 @@", " ```", "-b", "+B", " ```"), lines("```", "B", "```")],
  ["a heredoc in a command", ABC, `bash -lc "apply_patch <<'PATCH'\n${begin("@@", "-b", "+B")}PATCH\n"`, ABCx],
  ["two heredocs", ABC, `apply_patch <<'EOF'\n${begin("@@", "-b", "+B")}EOF\napply_patch <<'EOF'\n${begin("@@", "-c", "+C")}EOF\n`, /there is more of it after the line 'EOF'\. Nothing was changed\./],
  ["a heredoc in another folder", ABC, `cd src && apply_patch <<'EOF'\n${begin("@@", "-b", "+B")}EOF\n`, /changes the folder\. Nothing was changed\./],

  // leniency: numbers
  ["counts too large", ABC, udiff("@@ -1,30 +1,30 @@", " a", "-b", "+B", " c"), ABCx],
  ["a wrong start", ABC, udiff("@@ -70,3 +70,3 @@", " a", "-b", "+B", " c"), ABCx],
  ["a right start tells two places apart", TWICE, udiff("@@ -5 +5 @@", "-  x = 1", "+  x = 2"), TWICE.replace(/1(?=\n}\n$)/, "2")],
  ["a wrong start among two places", TWICE, udiff("@@ -4 +4 @@", "-  x = 1", "+  x = 2"), /^Cannot apply hunk 1 \(@@ -4 \+4 @@\) to 'x': its lines are there 2 times, at lines 2, 5\. Nothing was changed\. Add more/],
  ["one place fits to the space, the other but for it", lines("x ", "y", "x"), udiff("@@", "-x", "+X"), lines("x ", "y", "X")],

  // leniency: spaces
  ["a blank context line without its space", lines("a", "", "b"), udiff("@@ -1,3 +1,3 @@", " a", "", "-b", "+B"), lines("a", "", "B")],
  ["spaces at the end of a context line of the patch", ABC, udiff("@@ -1,2 +1,2 @@", " a  ", "-b\t", "+B"), ABCx],
  ["spaces at the end of a line of the file stay", lines("a  ", "b ", "c\t"), udiff("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), lines("a  ", "B", "c\t")],
  ["spaces at the start must be the same", lines("  a", "  b"), udiff("@@ -1,2 +1,2 @@", " a", "-b", "+B"), /does not hold its 2 lines\. [\s\S]*Nearest \(the same but for the spaces at the start\):\n1\t {2}a\n/],
  ["one wrong context line is not dropped", ABC, udiff("@@ -1,3 +1,3 @@", " a", "-b", "+B", " d"), /does not hold its 3 lines\. Looked for:\na\nb\nd\nNearest \(2 of 3 are the same, line 3 is the first that is not\):\n1\ta\n2\tb\n3\tc\nNothing was changed\./],

  // line ends, marks, the last line
  ["an LF patch on a CRLF file", "a\r\nb\r\nc\r\n", udiff("@@ -1,3 +1,4 @@", " a", "-b", "+B", "+B2", " c"), "a\r\nB\r\nB2\r\nc\r\n"],
  ["a CRLF patch on an LF file", ABC, udiff("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c").replaceAll("\n", "\r\n"), ABCx],
  ["CRLF made LF by the patch's own lines", "a\r\nb\r\n", udiff("@@ -1,2 +1,2 @@", " a\r", "-b\r", "+b"), "a\r\nb\n"],
  ["mixed ends: an added line takes its neighbour's", "a\nb\r\nc\n", udiff("@@ -2 +2,2 @@", " b", "+x"), "a\nb\r\nx\r\nc\n"],
  ["mixed ends: each new line takes its old one's", "a\r\nb\nc\n", udiff("@@ -1,2 +1,2 @@", "-a", "-b", "+A", "+B"), "A\r\nB\nc\n"],
  ["CRLF and no last newline: the new lines are CRLF", "x\r\nb", udiff("@@ -2 +2,2 @@", "-b", "\\ No newline at end of file", "+c", "+d", "\\ No newline at end of file"), "x\r\nc\r\nd"],
  ["no last newline stays when lines are added", "a\r\nb", begin("@@", " b", "+c", "+d"), "a\r\nb\r\nc\r\nd"],
  ["the last newline is taken away", ABC, udiff("@@ -3 +3 @@", "-c", "+c", "\\ No newline at end of file"), "a\nb\nc"],
  ["the last newline is set", "a\nb", udiff("@@ -2 +2 @@", "-b", "\\ No newline at end of file", "+b"), "a\nb\n"],
  ["no newline where the lines are not last", ABC, udiff("@@ -1 +1 @@", "-a", "+A", "\\ No newline at end of file"), /at line 1, but not at the end of the file/],
  ["a byte order mark stays", `${BOM}a\nb\n`, udiff("@@ -1,2 +1,2 @@", "-a", "+A", " b"), `${BOM}A\nb\n`],
  ["odd bytes elsewhere stay", "a\u2028\fz\v\nb\r\rc\n\x01d\n", udiff("@@ -3 +3 @@", "-\x01d", "+D"), "a\u2028\fz\v\nb\r\rc\nD\n"],

  // what is there already
  ["an addition that is there already", ABC, udiff("@@ -1,2 +1,3 @@", " a", "+b", " c"), ABC],
  ["what is there already under its @@ line", TWICE.replace(/1(?=\n}\n$)/, "2"), begin("@@ two {", "-  x = 1", "+  x = 2"), TWICE.replace(/1(?=\n}\n$)/, "2")],
  ["a removal at the edge leaves no trace, and is not taken for made", lines("a", "y"), udiff("@@", " a", "-x"), /does not hold its 2 lines/],
  ["two hunks, one there", lines("one", "2", "3", "4", "5"), udiff("@@ -1,2 +1,2 @@", "-1", "+one", " 2", "@@ -4,2 +4,2 @@", " 4", "-5", "+five"), /^Cannot apply the patch to 'x': hunk 1 \(@@ -1,2 \+1,2 @@\) is there already, at line 1; the others are not\. Nothing was changed\./],
  ["a new side that is there twice is not taken for it", lines("B", "a", "B"), udiff("@@ -1 +1 @@", "-b", "+B"), /does not hold its 1 line/],
  ["an old side that is there too is changed", lines("a", "b", "c", "a", "B", "c"), udiff("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), lines("a", "B", "c", "a", "B", "c")],

  // refusals
  ["nothing like a patch", ABC, "please change b", /^Cannot use the patch: it changes no file\. Nothing was changed\. Send a unified diff/],
  ["a hunk without a file", ABC, lines("@@ -2 +2 @@", "-b", "+B"), /it does not name the file\. Nothing was changed\. Put --- a\/FILE/],
  ["a part that there is not", ABC, begin("-b", "+B", "*** Rename File: y"), /'\*\*\* Rename File: y' stands where no such line can/],
  ["a line without a sign", ABC, udiff("@@ -1,3 +1,3 @@", "a", "-b", "+B"), /the line 'a' under '@@ -1,3 \+1,3 @@' begins with none of ' ', '\+' and '-'/],
  ["lines after a hunk that no hunk holds", ABC, udiff("@@ -1,1 +1,1 @@", "-a", "+A", "oh", "-b"), /the line 'oh'|'-b' stands outside of a hunk/],
  ["a hunk without a change", ABC, udiff("@@ -1,2 +1,2 @@", " a", " b"), /it adds and removes no line in 'x'/],
  ["two names for one change", ABC, lines("--- a/x", "+++ b/y", "@@ -2 +2 @@", "-b", "+B"), /two files for one change, 'x' and 'y'\. Nothing was changed\. To move the file, write "rename from x"/],
  ["a binary patch", ABC, lines("diff --git a/x b/x", "index 0..1 100644", "GIT binary patch", "literal 3"), /it is binary/],
  ["a mode alone", ABC, lines("diff --git a/x b/x", "old mode 100644", "new mode 100755"), /it changes only the mode of 'x'\. Nothing was changed\. Run chmod/],
  ["a symbolic link", ABC, lines("diff --git a/y b/y", "new file mode 120000", "--- /dev/null", "+++ b/y", "@@ -0,0 +1 @@", "+x"), /it changes a symbolic link/],
  ["a copy", ABC, lines("diff --git a/x b/y", "similarity index 100%", "copy from x", "copy to y"), /it copies a file/],
  ["a merge's diff", ABC, lines("--- a/x", "+++ b/x", "@@@ -1,3 -1,3 +1,3 @@@", "  a"), /it is the diff of a merge/],
  ["a NUL in the patch", ABC, udiff("@@ -2 +2 @@", "-b", "+\0"), /it holds bytes that are not text/],
  ["two hunks for one line", ABC, udiff("@@ -1,2 +1,2 @@", " a", "-b", "+B", "@@ -2,2 +2,2 @@", "-b", "+BB", " c"), /hunk 1 .* and hunk 2 .* both change line 2\. Nothing was changed\. Make one hunk of them\./],
  ["an empty file and lines to remove", "", udiff("@@", "-b", "+B"), /does not hold its 1 line\. Looked for:\nb\nThe file is empty\.\nNothing was changed\./],
  ["nothing is the same, but the words are near", lines("a", "let total = sum(items)", "z"), udiff("@@", "-const total = sum(rows)", "+x"), /Nearest:\n2\tlet total = sum\(items\)\n3\tz\n/],
  ["a new file that is there", ABC, lines("*** Add File: x", "+b"), /^Cannot add 'x': it exists already\. Nothing was changed\./],
  ["a new file with lines that are not added", ABC, lines("*** Add File: y", "+a", " b"), /in the new file 'y', ' b' is not added/],
  ["a removal that leaves lines", ABC, lines("--- a/x", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", "-b"), /^Cannot delete 'x': the patch leaves 1 line of it, the first is 'c'\. Nothing was changed\./],
];

describe("a patch to one file", () => {
  for (const [what, before, patch, expected] of ROWS)
    test(what, () => {
      const got = outcome(() => apply({ x: before }, patch));
      if (expected instanceof RegExp) {
        equal(typeof got, "string", JSON.stringify(got));
        match(got as string, expected);
        match(got as string, /Nothing was changed\. [A-Z].*\.$/);
      } else equal(typeof got === "string" ? got : got.x, expected);
    });
});

// [what, the files before, the patch, the files after]
// biome-ignore format: one case a row.
const FILES: [string, Texts, string, Texts][] = [
  ["Add File", {}, lines("*** Add File: d/n.txt", "+a", "+", "+b"), { "d/n.txt": "a\n\nb\n" }],
  ["Add File with an @@ and a blank line that lost its sign", {}, lines("*** Add File: n", "@@", "+a", "", "+b", "", "*** End Patch"), { n: "a\n\nb\n" }],
  ["a new file in a diff", {}, lines("diff --git a/n b/n", "new file mode 100644", "index 0000000..1234567", "--- /dev/null", "+++ b/n", "@@ -0,0 +1,2 @@", "+a", "+b"), { n: "a\nb\n" }],
  ["an empty new file in a diff", {}, lines("diff --git a/n b/n", "new file mode 100644", "index 0000000..e69de29"), { n: "" }],
  ["a file in a folder a", { "a/x": "a\n" }, lines("--- a/x", "+++ a/x", "@@", "-a", "+b"), { "a/x": "b\n" }],
  ["Delete File that shows what it removes", { x: ABC }, lines("*** Delete File: x", "-a", "-b", "-c"), {}],
  ["a removal in a diff", { x: ABC }, lines("diff --git a/x b/x", "deleted file mode 100644", "--- a/x", "+++ /dev/null", "@@ -1,3 +0,0 @@", "-a", "-b", "-c"), {}],
  ["Move to", { x: ABC }, lines("*** Update File: x", "*** Move to: y", "@@", "-b", "+B"), { y: ABCx }],
  ["a rename with edits", { x: ABC }, lines("diff --git a/x b/y", "similarity index 60%", "rename from x", "rename to y", "--- a/x", "+++ b/y", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), { y: ABCx }],
  ["a name with spaces", { "my file": ABC }, lines("diff --git a/my file b/my file", "--- a/my file\t", "+++ b/my file\t", "@@ -2 +2 @@", "-b", "+B"), { "my file": ABCx }],
  ["a name in git's quotes", { "ä\t.txt": ABC }, lines('diff --git "a/\\303\\244\\t.txt" "b/\\303\\244\\t.txt"', '--- "a/\\303\\244\\t.txt"', '+++ "b/\\303\\244\\t.txt"', "@@ -2 +2 @@", "-b", "+B"), { "ä\t.txt": ABCx }],
  ["many files in a Begin Patch", { x: ABC, y: FIVE, z: "z\n" }, lines("*** Begin Patch", "*** Update File: x", "@@", "-b", "+B", "*** Delete File: z", "*** Add File: n", "+n", "*** Update File: y", "*** Move to: w", "@@", "-1", "+one", "*** End Patch"), { x: ABCx, n: "n\n", w: FIVE.replace("1", "one") }],
  ["a file deleted and added", { x: ABC }, lines("*** Delete File: x", "*** Add File: x", "+new"), { x: "new\n" }],
  ["a file moved and another put in its place", { x: ABC }, lines("*** Update File: x", "*** Move to: y", "*** Add File: x", "+new"), { x: "new\n", y: ABC }],
];

describe("a patch to many files", () => {
  for (const [what, before, patch, expected] of FILES)
    test(what, () => deepEqual(apply(before, patch), expected));

  test("a mode beside a change is kept in mind, since no tool sets it", () => {
    const modes = ["old mode 100644", "new mode 100755"];
    const patch = lines("diff --git a/x b/x", ...modes, "--- a/x", "+++ b/x", "@@", "-b");
    equal(parsePatch(patch)[0]!.mode, "100755");
  });
});

// ── what holds for all texts ──

const WORDS = "|a|b|  b|c |-- a|++ a|@@ x|*** End Patch|\\ x|```|}|\t|diff --git a b|ä💡";
const word = fc.constantFrom(...WORDS.split("|"));
const end = fc.constantFrom("\n", "\n", "\n", "\r\n");
const textOf = (ends: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.boolean(), fc.array(fc.tuple(word, ends), { maxLength: 25 }), fc.boolean())
    .map(([mark, rows, newline]) => {
      const text = rows
        .map(([word, end], i) => word + (i < rows.length - 1 || newline ? end : ""))
        .join("");
      return mark && text ? BOM + text : text;
    });
const bytes = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", ""));
const anyText = fc.oneof(
  textOf(end),
  textOf(fc.constant("\n")),
  bytes.filter((text) => text.isWellFormed()),
);
const edits = fc.array(fc.tuple(fc.nat(30), fc.nat(2), fc.array(word, { maxLength: 2 })), {
  maxLength: 4,
});
const edited = fc.tuple(textOf(end), edits).map(([a, edits]): [string, string] => {
  const rows = a.split("\n");
  for (const [at, gone, put] of edits) rows.splice(at % (rows.length + 1), gone, ...put);
  return [a, rows.join("\n")];
});
/** A text, and one that came of it by a few edits. */
const pair = fc.oneof(fc.tuple(anyText, anyText), edited);

/** The hunks of a diff as a Begin Patch has them. */
function toBeginPatch(a: string, b: string, context: number): string {
  const { hunks } = structuredPatch("x", "x", a, b, "", "", { context });
  return begin(...hunks.flatMap(({ lines }) => ["@@", ...lines]));
}

/** Of patches. */
const PIECES =
  "*** Begin Patch|*** Update File: x|*** Add File: y|*** Delete File: x|*** Move to: z|*** End of File|*** End Patch|@@|" +
  "@@ -1,2 +1,2 @@|@@@ x|--- a/x|+++ b/x|+++ /dev/null| a|-b|+B|+||\\ No newline|diff --git a/x b/x|rename from x|" +
  "rename to y|new file mode 100755|```|apply_patch <<'EOF'|EOF|prose|-- |2.1";

const holds = <Given>(given: fc.Arbitrary<Given>, check: (given: Given) => void) =>
  fc.assert(fc.property(given, check), { numRuns: RUNS });

describe("for all texts A and B", () => {
  for (const context of [4, 1])
    test(`the diff from A to B makes B of A, with ${context} lines around`, () =>
      holds(pair, ([a, b]) => {
        if (a !== b)
          equal(applyTo(a, createTwoFilesPatch("a/x", "b/x", a, b, "", "", { context })), b);
      }));

  test("the same as a Begin Patch of hunks, or it says that there are more places", () => {
    let made = 0;
    holds(pair, ([a, b]) => {
      if (a === b || !a) return;
      const got = outcome(() => applyTo(a, toBeginPatch(a, b, 2)));
      if (got === b) made++;
      else match(String(got), /its lines are there \d+ times|it names no line of the file/);
    });
    ok(made > RUNS / 4, `only ${made} were made`);
  });

  test("any text for a patch is either read or refused in a sentence, soon", () => {
    const piece = fc.constantFrom(...PIECES.split("|"));
    holds(fc.array(fc.oneof(piece, fc.string()), { maxLength: 15 }), (parts) => {
      const got = outcome(() => apply({ x: ABC }, parts.join("\n")));
      if (typeof got === "string")
        match(got, /^Cannot [\s\S]+(\. |\n)Nothing was changed\. [A-Z].*\.$/);
    });
  });
});

// ── as git does it ──

describe("as git has it", () => {
  const test = needs("git");
  const source = readFileSync(
    join(import.meta.dirname, "..", "..", "..", "kernel", "contract.ts"),
    "utf8",
  );
  const folder = temporaryFolder("zz-patch-");
  test("a repository's diff with a rename, a new and a removed file, and odd names", () => {
    const repo = mkdtempSync(join(folder, "repo-"));
    const git = (words: string) => shell(repo, `git -c user.name=t -c user.email=t@t ${words}`);
    const before = {
      "old.ts": source.slice(0, 3_000),
      "gone.ts": ABC,
      "ä b.txt": ABC,
      empty: "",
      "stays.ts": ABC,
    };
    const changed = {
      "new.ts": before["old.ts"].replace("kernel", "KERNEL"),
      "ä b.txt": ABCx,
      empty: "full",
    };
    const after = { ...changed, "made\t.ts": FIVE, "void.ts": "", "stays.ts": ABC };
    write(repo, before);
    git("init -q; git add -A");
    git("commit -qm one");
    git("rm -rq .");
    write(repo, after);
    git("add -A");
    const patch = git("diff --cached -M");
    match(patch, /^rename from old\.ts$/m);
    deepEqual(apply(before, patch), after);
    git("commit -qm two");
    deepEqual(apply(before, git("format-patch -1 -M --stdout")), after, "the mail of it");
    deepEqual(apply(before, git("diff --no-prefix -M HEAD~1")), after, "without prefixes");
    deepEqual(apply(after, git("diff -M -R HEAD~1")), before, "backwards");
  });

  test("2,000 hunks in 20,000 lines, and 2,000 lines that are alike are applied", () => {
    const a = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
    const b = a.map((line, i) => (i % 10 === 5 ? `${line}!` : line));
    const hunks = b.flatMap((line, i) =>
      i % 10 === 5 ? ["@@", ` ${a[i - 1]}`, `-${a[i]}`, `+${line}`] : [],
    );
    equal(applyTo(lines(...a), udiff(...hunks)), lines(...b));
    const alike = udiff("@@", ...Array(2_000).fill(" x"), "-y", "+z");
    match(
      String(outcome(() => applyTo("x\n".repeat(50_000), alike))),
      /does not hold its 2001 lines/,
    );
    const wide = udiff(`@@ a${" ".repeat(1e6)}b`, `-${" ".repeat(1e6)}x`, "c");
    match(String(outcome(() => parsePatch(wide))), /the line 'c'/);
  });
});

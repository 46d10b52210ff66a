// How edit_file finds what it is told to replace: a table over texts, and what must hold for any
// text.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { applyEdits, type Edit } from "../../../plugins/edit-file/cascade.ts";
import { indexIn } from "../../../plugins/edit-file/file-text.ts";
import { tryTo } from "../../../sdk/text.ts";
import { fc } from "../../support/property.ts";
import { runs } from "../../support/runs.ts";

const RUNS = runs(150, 500);

type Pair = [old: string, fresh: string, all?: "all"];
/** The new text and how each place was matched, with its lines; or what the error says. */
type Row = [
  what: string,
  text: string,
  pairs: Pair | Pair[],
  expected: string | RegExp,
  ...places: string[],
];

const edits = (pairs: Pair | Pair[]): Edit[] =>
  ((typeof pairs[0] === "string" ? [pairs] : pairs) as Pair[]).map(
    ([old_string, new_string, all]) => {
      return { old_string, new_string, replace_all: all === "all" };
    },
  );

function rows(group: string, table: Row[]): void {
  for (const [what, text, pairs, expected, ...places] of table)
    test(`${group}: ${what}`, () => {
      if (expected instanceof RegExp)
        throws(() => applyEdits(text, edits(pairs)), { message: expected });
      else {
        const got = applyEdits(text, edits(pairs));
        const how = got.places.map(
          ({ edit, start, end, how }) => `${edit}: ${start}-${end} ${how}`,
        );
        deepEqual([JSON.stringify(got.text), how], [JSON.stringify(expected), places]);
      }
    });
}

const GO = "func main() {\n\tif ready {\n\t\tstart(1)\n\t}\n}\n";

// biome-ignore format: one case a row.
rows("exact", [
  ["a line", "a\nb\nc\n", ["b", "B"], "a\nB\nc\n", "1: 2-2 exact"],
  ["a newline that old_string has and new_string has not goes", "a\nb\nc\n", ["b\n", "B"], "a\nBc\n", "1: 2-2 exact"],
  ["before other ways: another line is the same but for its indentation", "  foo bar\nfoo bar\n  foo bar\n", ["\nfoo bar\n", "\nfoo baz\n"], "  foo bar\nfoo baz\n  foo bar\n", "1: 1-2 exact"],
  ["$& is text", "price = 1\n", ["price = 1", "price = $&"], "price = $&\n", "1: 1-1 exact"],
  ["overlapping places are two", "aaa\n", ["aa", "b"], /^old_string matches 2 places \(line 1\)\. Give more/],
  ["two places", "x\nfoo\ny\nfoo\n", ["foo", "bar"], /^old_string matches 2 places \(lines 2, 4\)\. Give more of the lines around .* or set replace_all\.$/],
  ["ten places, of which eight are listed", "foo\n".repeat(10), ["foo", "bar"], /^old_string matches 10 places \(lines 1, 2, 3, 4, 5, 6, 7, 8 …\)/],
  ["nothing to change", "a\n", ["a", "a"], /^nothing to change, since old_string and new_string are the same\.$/],
  ["an empty old_string", "a\n", ["", "b"], /^old_string is empty\. .*write_file .*create_file/],
  ["an empty old_string is an empty file's whole content", "", ["", "a\nb\n"], "a\nb\n", "1: 1-2 exact"],
]);

// biome-ignore format: one case a row.
rows("replace_all", [
  ["with every line end", "a\nb\r\na\r\nb\n", ["a\nb", "c\nd", "all"], "c\nd\r\nc\r\nd\n", "1: 1-2 exact", "1: 3-4 line ends"],
  ["with space at line ends", "foo (\n  bar  \nfoo (  \n  bar\n", ["foo (\n  bar\n", "x\n", "all"], "x\nx\n", "1: 1-1 trailing space", "1: 2-2 trailing space"],
  ["not with another indentation", "  foo bar\n  baz\n", ["foo bar\nbaz", "x", "all"], /^old_string was not found/],
]);

// biome-ignore format: one case a row.
rows("line ends", [
  ["LF for CRLF, from the middle of a line to the middle of another", "let a = f(1,\r\n  2);\r\n", ["f(1,\n  2)", "g(\n3)"], "let a = g(\r\n3);\r\n", "1: 1-2 line ends"],
  ["lines are joined without leaving half a CRLF", "a\r\nb\r\nc\r\n", ["\nb", "b"], "ab\r\nc\r\n", "1: 1-1 line ends"],
  ["mixed: the place's own go into it", "a\r\nb\r\nc\nd\ne\nf\n", ["a\nb", "a\nx\nb"], "a\r\nx\r\nb\r\nc\nd\ne\nf\n", "1: 1-3 line ends"],
  ["mixed in the place: two new lines end as the two that they replace", "a\r\nb\nc\r\nd\ne\r\n", ["b\nc\nd", "B\nC\nd"], "a\r\nB\nC\r\nd\ne\r\n", "1: 2-4 line ends"],
  ["mixed: the place with the line ends of old_string goes first", "a\nb\nx\r\na\r\nb\r\n", ["a\nb", "y"], "y\nx\r\na\r\nb\r\n", "1: 1-1 exact"],
  ["to CRLF, when nothing else is to change", "a\nb\nc\n", ["a\nb\n", "a\r\nb\r\n"], "a\r\nb\r\nc\n", "1: 1-2 exact"],
]);

// biome-ignore format: one case a row.
rows("BOM", [
  ["is not doubled", "\ufeffa\n", ["\ufeffa", "\ufeffb"], "\ufeffb\n", "1: 1-1 exact"],
]);

// biome-ignore format: one case a row.
rows("trailing space", [
  ["in the file", "foo  \nbar\t\nbaz\n", ["foo\nbar\nbaz", "foo\nx\nbaz"], "foo  \nx\nbaz\n", "1: 1-3 trailing space"],
  ["two places", "foo \nbar\nfoo\t\nbar\n", ["foo\nbar", "x"], /without regard to space at the ends of lines it matches 2 places \(lines 1, 3\)\. Copy/],
  ["no final newline, which old_string has", "foo\nbar", ["bar\n", "baz\n"], "foo\nbaz", "1: 2-2 trailing space"],
  ["a line of blanks after, in both", "  foo\n  bar\nend\n", ["\n  foo\n  bar\n  ", "\n  foo\n  x\n  "], "  foo\n  x\nend\n", "1: 1-2 trailing space"],
  ["a long run of blanks does not take long", `a${" ".repeat(200_000)}b\nfoo \nbar\n`, ["foo\nbar", "x"], `a${" ".repeat(200_000)}b\nx\n`, "1: 2-2 trailing space"],
]);

// biome-ignore format: one case a row.
rows("indentation", [
  ["too much", "foo {\n  bar\n}\n", ["    foo {\n      bar\n    }", "    foo {\n      baz\n    }"], "foo {\n  baz\n}\n", "1: 1-3 indentation"],
  ["more places than are counted", "    return value;\n".repeat(200), ["return value;\nreturn value;", "x"], /it matches at least 100 places \(lines 1, 2, 3, 4, 5, 6, 7, 8 …\)/],
  ["blank lines stay blank", "    foo1\n\n    bar1\n", ["foo1\n\nbar1", "foo1\n\nbar1\n\nbaz"], "    foo1\n\n    bar1\n\n    baz\n", "1: 1-5 indentation"],
  ["four spaces for a tab", GO, ["    if ready {\n        start(1)\n    }", "    if ready {\n        start(1)\n        log()\n    }"], GO.replace("(1)\n", "(1)\n\t\tlog()\n"), "1: 2-5 indentation"],
  ["a tab for four spaces, one line", "if a:\n    start()\n", ["\tstart()", "\tif b:\n\t\tstart()"], "if a:\n    if b:\n        start()\n", "1: 2-3 indentation"],
  ["three spaces are no tab", "\tfoo bar\n", ["   foo bar", "x"], /^old_string was not found/],
  ["new lines with less than is taken away", "foo1 {\n  bar1\n}\n", ["    foo1 {\n      bar1\n    }", "  foo1 {\n      bar2\n    }"], /^old_string was not found/],
  ["no new mixture of tabs and spaces", "\tfoo bar\n\tbaz bay\n", ["foo bar\nbaz bay", "foo bar\n  baz boo"], /^old_string was not found/],
]);

// biome-ignore format: one case a row.
rows("whitespace", [
  ["and the indentation is the file's", "    foo(a,  b);\n    bar();\n", ["foo(a, b);\nbar();", "foo(a, c);\nbar();"], "    foo(a, c);\n    bar();\n", "1: 1-2 whitespace"],
  ["four spaces where old_string has two", "if a:\n    foo()\n    bar()\n", ["if a:\n  foo()\n  bar()", "if a:\n  foo()\n  if b:\n    bar()"], "if a:\n    foo()\n    if b:\n        bar()\n", "1: 1-4 whitespace"],
  ["all flush left: a line takes the place of its like", "  if (a) {\n    foo();\n  }\n", ["if (a) {\nfoo();\n}", "if (a) {\nbar();\n}"], "  if (a) {\n    bar();\n  }\n", "1: 1-3 whitespace"],
  ["all flush left: where a line goes cannot be said", "  if (a) {\n    foo();\n  }\n", ["if (a) {\nfoo();\n}", "if (a) {\nfoo();\nbar();\n}"], /^old_string was not found/],
  ["too little", "a  b\n", ["a b", "x"], /^old_string was not found/],
]);

// biome-ignore format: one case a row.
rows("escapes", [
  ["line ends", "foo();\nbar();\n", ["foo();\\nbar();", "foo();\\nbaz();"], "foo();\nbaz();\n", "1: 1-2 escapes"],
  ["quotes", 'say("hello");\n', ['say(\\"hello\\");', 'say(\\"bye\\");'], 'say("bye");\n', "1: 1-1 escapes"],
  ["backslashes, once", 'print("a\\n")\nnext()\n', ['print(\\"a\\\\n\\")\\nnext()', 'print(\\"b\\\\n\\")\\nnext()'], 'print("b\\n")\nnext()\n', "1: 1-2 escapes"],
  ["new_string with both line ends and escaped ones", "foo();\nbar();\n", ["foo();\\nbar();", 'foo();\nprint("\\n");'], /^old_string was not found/],
  ["with another indentation too", "    foo();\n    bar();\n", ["foo();\\nbar();", "foo();\\nbaz();"], "    foo();\n    baz();\n", "1: 1-2 escapes"],
  ["too little", 'a = "\n', ['\\"', "x"], /^old_string was not found/],
  ["other backslashes stay", 'const re = /\\d/;\nsay("x");\n', ['const re = /\\d/;\\nsay(\\"x\\");', 'const re = /\\w/;\\nsay(\\"x\\");'], 'const re = /\\w/;\nsay("x");\n', "1: 1-2 escapes"],
]);

// biome-ignore format: one case a row.
rows("punctuation", [
  ["curly double quotes in the file", "say “hello there”\n", ['say "hello there"', 'say "bye"'], 'say "bye"\n', "1: 1-1 punctuation"],
  ["an ellipsis", "wait for it…\n", ["wait for it...", "done"], "done\n", "1: 1-1 punctuation"],
  ["lines that stay keep the file's own", "“one”\n“two”\n“three”\n", ['"one"\n"two"\n"three"', '"one"\n"2"\n"three"'], '“one”\n"2"\n“three”\n', "1: 1-3 punctuation"],
  ["two places", "say “hello”\nsay „hello“\n", ['say "hello"', "x"], /with other quotes, dashes or spaces it matches 2 places/],
]);

// biome-ignore format: one case a row.
rows("line numbers", [
  ["those of read_file, in their place", "a\nfoo\nbar\nfoo\nbar\n", ["2\tfoo\n3\tbar", "2\tfoo\n3\tbaz"], "a\nfoo\nbaz\nfoo\nbar\n", "1: 2-3 line numbers"],
  ["lines go", "a\nb\nc\n", ["2\tb\n", ""], "a\nc\n", "1: 2-1 line numbers"],
  ["new_string with some", "a\nfoo\nbar\n", ["2\tfoo\n3\tbar", "2\tfoo\nbaz"], /Its lines begin with line numbers, which the file does not hold: leave them out/],
]);

// biome-ignore format: one case a row.
rows("already there", [
  ["in one place", "let total = 2;\nx\n", ["let total = 1;", "let total = 2;"], "let total = 2;\nx\n", "1: 1-1 already"],
  ["in two places", "let total = 2;\nlet total = 2;\n", ["let total = 1;", "let total = 2;"], /^old_string was not found/],
  ["part of a longer word", "let totals = sums;\n", ["let total = 1", "let total"], /^old_string was not found/],
  ["what was added to old_string", "import one;\nimport two;\n", ["import one;", "import one;\nimport two;"], "import one;\nimport two;\n", "1: 1-2 already"],
  ["nor when it is elsewhere", "import one;\nx\nimport one;\nimport two;\nx\nimport three;\n", ["import three;", "import two;\nimport three;"], "import one;\nx\nimport one;\nimport two;\nx\nimport two;\nimport three;\n", "1: 6-7 exact"],
  ["an indentation that was set right stays", "    foo1\n    bar1\n", ["foo1\nbar1", "    foo1\n    bar1"], "    foo1\n    bar1\n", "1: 1-2 already"],
  ["together with another edit", "let total = 2;\nx\n", [["let total = 1;", "let total = 2;"], ["x", "y"]], "let total = 2;\ny\n", "1: 1-1 already", "2: 2-2 exact"],
]);

// biome-ignore format: one case a row.
rows("nothing that old_string does not name is taken", [
  ["by its first and last line, with dots", "start();\none();\ntwo();\nfinish();\n", ["start();\n...\nfinish();", "x"], /^old_string was not found/],
]);

// biome-ignore format: one case a row.
rows("several edits", [
  ["lines that go move the others", "a\nb\nc\n", [["c", "z"], ["a\n", ""]], "b\nz\n", "1: 2-2 exact", "2: 1-0 exact"],
  ["the second names what the first changed", "foo one\nbar\n", [["foo one", "foo two"], ["foo one\nbar", "x"]], /^edit 2 of 2 failed, so nothing was changed: old_string was not found \(0 places\)\. An edit before it changed that text/],
]);

// biome-ignore format: one case a row.
for (const [what, text, old, lines] of [
  ["a typo", "a\nb\nfunction dim(level) {\n  return level;\n}\nc\n", "function dmi(level) {", "2\tb\n3\tfunction dim(level) {\n4\t  return level;"],
  ["the likest of two", "let total = 1;\nx\nlet totals = 1;\n", "let totals = 5;", "2\tx\n3\tlet totals = 1;"],
  ["of a long one, where it differs", Array.from({ length: 30 }, (_, i) => `line number ${i + 1}\n`).join(""), Array.from({ length: 20 }, (_, i) => `line number ${i === 14 ? "x" : i + 3}`).join("\n"), Array.from({ length: 8 }, (_, i) => `${i + 15}\tline number ${i + 15}`).join("\n")],
  ["a line that is wide", `${"wide ".repeat(200)}\n`, "wide wide wide x".repeat(20), `1\t${"wide ".repeat(80)}…`],
] as const)
  test(`a miss shows the nearest lines: ${what}`, () =>
    throws(() => applyEdits(text, [{ old_string: old, new_string: "x" }]), { message: `old_string was not found (0 places). Nearest lines:\n${lines}` }));

for (const text of ["a\nb\nc\n", ""])
  test(`a miss without nearest lines: ${JSON.stringify(text)}`, () =>
    throws(() => applyEdits(text, [{ old_string: "zebra crossing", new_string: "x" }]), {
      message: "old_string was not found (0 places). No line is like it. Read the file again.",
    }));

const blank = fc.constantFrom("", "  ", "    ", "\t", "\t\t");
const code = fc.constantFrom(
  "foo(a, b);",
  "foo(a,  b);",
  "return “x”;",
  'return "x";',
  "}",
  "",
  "bar",
  "end",
  "é💡",
);
const line = fc.tuple(blank, code, fc.constantFrom("", "", " ")).map((parts) => parts.join(""));
const ending = fc.constantFrom("\n", "\n", "\n", "\r\n");
const body = fc
  .array(fc.tuple(line, ending), { maxLength: 12 })
  .map((lines) => lines.flat().join(""));
const parts = fc.tuple(fc.constantFrom("", "", "\ufeff"), body, fc.constantFrom("", "bar"));
const text = parts.map((parts) => parts.join(""));
const fresh = fc.array(line, { maxLength: 4 }).map((lines) => lines.join("\n"));
/** How a model would remember a line. */
const memory = fc.constantFrom(
  (one: string) => one,
  (one: string) => one.trimStart(),
  (one: string) => one.replaceAll("    ", "\t"),
  (one: string) => one.replace(/[“”]/g, '"').trimEnd(),
);
const piece = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 5 }), fc.constantFrom("", "\n"), memory);
const remembered = (whole: string) =>
  piece.map(([at, count, end, as]) => {
    const lines = whole.replace(/^\ufeff/, "").split(/\r?\n/);
    const some = lines.slice(at % lines.length, (at % lines.length) + count);
    return some.map((one) => as(one)).join("\n") + end;
  });
const breaks = (some: string): number => some.split("\n").length - 1;
/** What is gone from a text, between what is the same at both ends. */
function taken(before: string, after: string): string {
  let [head, tail] = [0, 0];
  while (head < before.length && before[head] === after[head]) head++;
  while (tail < before.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return before.slice(head, before.length - tail);
}
const lines = (whole: string): string[] => whole.match(/[^\n]*\n|[^\n]+/g) ?? [];
const given = text.chain((whole) => fc.tuple(fc.constant(whole), remembered(whole), fresh));

test("any edit leaves every line outside its place as it was, to the byte, and takes no more lines than it names", () => {
  let made = 0;
  const stays = fc.property(given, ([whole, old_string, new_string]) => {
    const got = tryTo(() => applyEdits(whole, [{ old_string, new_string }]));
    if (!got) return;
    made++;
    const [{ start, end, how }] = got.places as [(typeof got.places)[number]];
    const [before, after] = [whole, got.text].map((all) => lines(all.replace(/^\ufeff/, ""))) as [
      string[],
      string[],
    ];
    const head = start - 1;
    deepEqual(after.slice(0, head), before.slice(0, head));
    ok(breaks(taken(whole, got.text)) <= breaks(old_string), "line ends taken");
    // parts of lines, perhaps
    if (how === "exact" || how === "line ends" || how === "already") return;
    const tail = after.length - Math.max(end, head);
    deepEqual(after.slice(after.length - tail), before.slice(before.length - tail));
    ok(before.length - head - tail <= breaks(old_string.replace(/\n$/, "")) + 1, "lines taken");
  });
  fc.assert(stays, { numRuns: RUNS });
  ok(made > RUNS / 12, `${made} edits were made`);
});

test("an edit that failed half-way through several has changed nothing, and says which it was", () => {
  const zebra = { old_string: "zebra crossing", new_string: "x" };
  const message = /^edit [12] of 2 failed, so nothing was changed: /;
  const fails = fc.property(given, ([whole, old_string, new_string]) => {
    throws(() => applyEdits(whole, [{ old_string, new_string }, zebra]), { message });
  });
  fc.assert(fails);
});

const large = Array.from(
  { length: 20_000 },
  (_, i) => `    const value${i} = compute(${i * 7}); // a comment`,
);
const ALIKE = "    return value;\n";
for (const [what, whole, old_string, said] of [
  ["a line", large.join("\n"), 'const value15000 = compute(1, "nam 15000");', /15001\t/],
  ["lines, in one that is all alike", ALIKE.repeat(20_000), `${ALIKE.repeat(1_000)}x`,
    /Nearest lines:/],
  ["a line, in one of a single line", "abc ".repeat(300_000), "abd abd abd\nx", /./],
] as const) // biome-ignore format: a table
  test(`a miss in a large file comes to an end: ${what}`, () =>
    throws(() => applyEdits(whole, [{ old_string, new_string: "x" }]), { message: said }));

test("a long text, most of which stands there several times, is found where it begins", () => {
  const wanted = `${"aabaaac".repeat(700)}d`;
  equal(indexIn(`${"aabaaac".repeat(4_000)}d`, wanted, 1), 7 * 3_300);
});

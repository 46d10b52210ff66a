// Markdown in a terminal: nothing that can be read is lost, lines fit, styles end with their line,
// and it looks calm.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { stripVTControlCharacters as strip } from "node:util";
import { Marked } from "marked";
// @ts-expect-error: it has no types.
import { markedTerminal } from "marked-terminal";
import width from "string-width";
import { highlight } from "../../../plugins/terminal/highlight.ts";
import { isPlainLine } from "../../../plugins/terminal/plain-line.ts";
import { renderMarkdown } from "../../../plugins/terminal/render-markdown.ts";
import type { ThemeName } from "../../../plugins/terminal/styles.ts";
import { themeOf } from "../../../plugins/terminal/theme.ts";
import { fc } from "../../support/property.ts";
import { isAll, runs, some } from "../../support/runs.ts";

const require = createRequire(import.meta.url);
const examples: { markdown: string; html: string; number: number }[] =
  require("commonmark-spec").tests;
const { parseFragment } = require("parse5");

const [DARK, LIGHT, NONE] = [themeOf("dark"), themeOf("light"), themeOf("none")];
const plain = (markdown: string, columns = 80): string =>
  renderMarkdown(markdown, { width: columns, theme: NONE });
const dark = (markdown: string, columns = 80, links = false, parseTimeout?: number): string =>
  renderMarkdown(markdown, {
    width: columns,
    theme: DARK,
    highlight,
    links,
    ...(parseTimeout && { parseTimeout }),
  });
const lines = (...all: string[]): string => all.join("\n");

const RUNS = runs(150, 500);

type Node = { value?: string; content?: Node; childNodes?: Node[] };
const textOf = (node: Node): string =>
  node.value ?? ((node.content ?? node).childNodes ?? []).map(textOf).join("");
const tabs = (text: string): string => text.replaceAll("→", "\t");

/** Whether all of it is there, in its order, whatever else and whatever spaces are between. */
function shows(output: string, text: string): boolean {
  const wanted = text.replace(/\s/g, "");
  let at = 0;
  for (const character of strip(output))
    if (wanted.startsWith(character, at)) at += character.length;
  return at === wanted.length;
}

test("a plain line is what its rendering is, in colours and without", () => {
  const WORDS =
    "a I an x so The end? Yes! 3, 1 1. 1) - * _ a_b_c http: www.a.b a@b.c x: Good. (c) &amp; # > ~~ ` e.g. 2a [x] é |";
  const words = fc.constantFrom(...WORDS.split(" "));
  const marks = fc.string({
    unit: fc.constantFrom(..."aB1 .,;:'\"?!()-_*`#<>[]\\/&@=+~|$%^{}\n\té"),
  });
  let plainOnes = 0;
  const some = fc.array(words, { maxLength: 6 }).map((all) => all.join(" "));
  const line = fc.oneof(some, marks);
  fc.assert(
    fc.property(line, fc.integer({ min: 1, max: 40 }), (text, columns) => {
      if (!isPlainLine(text, columns)) return;
      plainOnes++;
      deepEqual([plain(text, columns), dark(text, columns, true)], [text, text]);
    }),
    { numRuns: RUNS },
  );
  ok(plainOnes > RUNS / 40, String(plainOnes));
  for (const text of [
    "1. one",
    "www.a.b",
    "a@b.c",
    "a  b",
    "a ",
    " a",
    "*a*",
    "http://a.b",
    "a\nb",
    "",
    "a.b",
  ])
    ok(!isPlainLine(text, 80), text);
});

describe("every example of a specification shows all of its text, at every width", () => {
  const all = [20, 40, 80].flatMap((columns) =>
    (["dark", "none"] as ThemeName[]).map((name) => ({ columns, name })),
  );
  const ways = isAll ? all : [all[0]!, all[3]!, all[5]!];
  const failing = (markdown: string, text: string) =>
    ways.filter(({ columns, name }) => {
      const output = renderMarkdown(markdown, { width: columns, theme: themeOf(name) });
      return (
        !shows(output, text) ||
        (name === "none" && output.includes("\x1b")) ||
        output.endsWith("\n")
      );
    });

  test("CommonMark 0.31.2", () => {
    equal(examples.length, 652);
    const texts = examples.map(({ html }) => textOf(parseFragment(tabs(html))));
    // the others are empty blocks, rules and images
    equal(texts.filter((text) => text.trim()).length, 596);
    for (const [i, { markdown, number }] of examples.entries())
      deepEqual(failing(tabs(markdown), texts[i]!), [], String(number));
  });

  // biome-ignore format: one example a row.
  const GFM: [string, string][] = [
    ["| abc | defghi |\n:-: | -----------:\nbar | baz", "abc defghi bar baz"],
    ["| f\\|oo  |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |", "f|oo b | az b | im"],
    ["| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar", "abc def bar baz bar bar"],
    ["| abc | def |\n| --- | --- |\n| bar |\n| bar | baz | boo |", "abc def bar bar baz"],
    ["- [x] foo\n  - [ ] bar\n  - [x] baz\n- [ ] bim", "[x] foo [ ] bar [x] baz [ ] bim"],
    ["~~Hi~~ Hello, ~there~ world!", "Hi Hello, there world!"],
    ["This ~~has a\n\nnew paragraph~~.", "This ~~has a new paragraph~~."],
    ["Visit www.commonmark.org.\n\nVisit www.commonmark.org/a.b.", "Visit www.commonmark.org. Visit www.commonmark.org/a.b."],
    ["http://commonmark.org\n\n(Visit https://encrypted.google.com/search?q=Markup+(business))", "http://commonmark.org (Visit https://encrypted.google.com/search?q=Markup+(business))"],
    ["<strong> <title> <style> <em>\n\n<blockquote>\n  <xmp> is disallowed.  <XMP> is also disallowed.\n</blockquote>", "<title> <style> <xmp> is disallowed. <XMP> is also disallowed."],
  ];
  test("GitHub's tables, tasks, struck text, bare addresses and refused HTML", () => {
    for (const [markdown, text] of GFM) deepEqual(failing(markdown, text), [], markdown);
  });
});

// [what, Markdown, columns, what is shown without colours]
// biome-ignore format: one case a row.
const SHOWN: [string, string, number, string][] = [
  ["one empty line between blocks, however many there were", "# A\nb\n\n\n\n---\n***\nc\n\n\n", 5, lines("# A", "", "b", "", "─────", "", "─────", "", "c")],
  ["the line ends of Windows", "a\r\nb\r\n\r\n- c\r\n- d\r\n", 80, lines("a b", "", "• c", "• d")],
  ["a paragraph is broken between words", "one two  three\nfour five", 10, lines("one two", "three four", "five")],
  ["a word that does not fit stays whole", "a https://example.com/long b", 10, lines("a", "https://example.com/long", "b")],
  ["no line begins with what closes", "你好世界。好", 8, lines("你好世", "界。好")],
  ["nor does one end with what opens", "好abc「好", 8, lines("好abc", "「好")],
  ["hard breaks of all three kinds", "a  \nb\\\nc<br>d", 80, lines("a", "b", "c", "d")],
  ["a loose list", "- a\n\n- b\n\n  c", 80, lines("• a", "", "• b", "", "  c")],
  ["numbers from the first one, their dots below one another", "9. a\n9. b\n   - c", 80, lines(" 9. a", "10. b", "    • c")],
  ["an item's lines hang", "1. one two three\n   - four five six", 10, lines("1. one two", "   three", "   • four", "     five", "     six")],
  ["tasks, with the box as their bullet", "- [ ] a\n- [x] b\n- c\n  1. [X] d", 80, lines("[ ] a", "[x] b", "• c", "  1. [x] d")],
  ["code is neither indented nor broken nor changed", "```ts\n  const  a = `x`;\n\n\tb &amp; c\n```", 10, lines("─── ts", "  const  a = `x`;", "", "\tb &amp; c", "───")],
  ["code in a list is set apart, at the left edge", "1. a\n   ```\n   b\n     c\n   ```\n2. d", 80, lines("1. a", "", "───", "b", "  c", "───", "", "2. d")],
  ["code in a quote has the quote's bar", "> ```\n> a\n> ```", 80, lines("│ ───", "│ a", "│ ───")],
  ["a table, with the sides of its columns", "| a | b | c |\n|---|:-:|--:|\n| 123 | 1234 | 12345 |\n| x | y | z |", 80, lines("a   │  b   │     c", "────┼──────┼──────", "123 │ 1234 │ 12345", "x   │  y   │     z")],
  ["a table that shrinks, its rows apart", "| a | what it means |\n|---|---|\n| 1 | one two three |\n| 2 | four |", 12, lines("a │ what it", "  │ means", "──┼─────────", "1 │ one two", "  │ three", "──┼─────────", "2 │ four")],
  ["a long word in a table is cut", "| a | b |\n|---|---|\n| 1 | 1234567890abcdefghij |", 16, lines("a │ b", "──┼─────────────", "1 │ 1234567890ab", "  │ cdefghij")],
  ["a table that has no room", "| one | two | three | four | five |\n|-|-|-|-|-|\n| a | b | c | d | e |\n| f | g | h | i | a longer one |", 14, lines("one: a", "two: b", "three: c", "four: d", "five: e", "───", "one: f", "two: g", "three: h", "four: i", "five: a longer", "one")],
  ["a link and where it leads", "[a *b*](http://x.y/z?a&amp;b \"t\")", 80, "a b (http://x.y/z?a&b)"],
  ["an image", "![a *b*](x.png) ![](y.png)", 80, "a b (x.png) y.png"],
  ["HTML as it was written", "<details>\n<b>a</b>\n</details>\n\nc <kbd>d</kbd> <!-- e -->", 80, lines("<details>", "<b>a</b>", "</details>", "", "c <kbd>d</kbd> <!-- e -->")],
  ["what would be commands in text", "a&#27;[31m&#x9d;&#8238;b `c` [d](http://e&#27;f)", 80, "a[31m\ufffdb c d (http://e&#27;f)"],
  ["control bytes", "a\x1b[31mb\x07\x9bc\n\n```\nd\x1be\n```", 80, lines("a[31mbc", "", "───", "de", "───")],
];
describe("what is shown", () => {
  for (const [what, markdown, columns, shown] of SHOWN)
    test(what, () => equal(plain(markdown, columns), shown));
});

// Why zz renders these itself, and wraps lines. Where marked-terminal does better one day, ours
// goes. [what, Markdown, what of it is wrong in 20 columns]
// biome-ignore format: one case a row.
const THEIRS: [string, string, RegExp][] = [
  ["a quote is wider than the width", "> one two three four five six", /^.{21}/m],
  ["an item is wider than the width", "- one two three four five six", /^.{21}/m],
  ["a list begins with 1", "9. a\n9. b", /1\. a/],
  ["a table does not shrink", "| a | what it means |\n|---|---|\n| 1 | one two three four |", /^.{21}/m],
  ["code is indented when it is copied", "```\na\n```", /^ {4}a/],
  ["a colon in the code of a table's head is another text", "| `a:b` |\n|---|\n| c |", /COLON/],
  ["a line break of HTML is shown as HTML", "a<br>b", /<br>/],
  ["the words of an image keep their marks", "![a *b*](c.png)", /\*b\*/],
  ["a box is shown twice", "- [x] a", /\[X\] {2}\[X\] a/],
  ["an address of mail is shown twice", "<a@b.c>", /a@b\.c \(mailto:a@b\.c\)/],
  ["characters that turn text around are kept", "`a\u202eb`", /\u202e/],
  ["a name of a character is shown as a name", "&eacute;", /&eacute;/],
  ["wide characters take one column", "你好世界你好世界你好世界你好世界", /^\S{16}/m],
  ["a long word is cut", "a https://example.com/long/path", /^a https/],
];
describe("what marked-terminal shows", () => {
  for (const [what, markdown, wrong] of THEIRS)
    test(what, () => {
      const marked = new Marked(markedTerminal({ width: 20, reflowText: true }));
      match(strip(marked.parse(markdown) as string), wrong);
    });
});

/** Styles by name instead of by code. */
const named = (text: string): string =>
  text
    .replace(/\x1b\[(\d+)m/g, (_, code) => `<${CODES[code] ?? code}>`)
    .replace(/\x1b\]8;;([^\x1b]*)\x1b\\/g, (_, href) => (href ? `<a ${href}>` : "</a>"));
const CODES: Record<string, string> = {
  1: "b",
  2: "dim",
  3: "i",
  4: "u",
  9: "s",
  22: "/b",
  23: "/i",
  24: "/u",
  29: "/s",
  39: "/c",
  31: "red",
  32: "green",
  33: "yellow",
  35: "magenta",
  36: "cyan",
  94: "blue",
};

// [what, Markdown, columns, links as such, what is shown]
// biome-ignore format: one case a row.
const STYLED: [string, string, number, boolean, string][] = [
  ["styles inside a tight item", "- **a** `b`", 80, false, "<cyan>•</c> <b>a</b> <yellow>b</c>"],
  ["a style over a line's end ends there and begins again", "**aa bb** c", 4, false, lines("<b>aa</b>", "<b>bb</b> c")],
  ["a style around another of its kind goes on after it", "# a `b` c", 80, false, "<dim>#</b> <b><u><cyan>a <yellow>b</c><cyan> c</c></u></b>"],
  ["none of it in a border", "| a | b |\n|-|-|\n| **c d** | e |", 5, false, lines("<b>a</b> <dim>│</b> <b>b</b>", "<dim>──┼──</b>", "<b>c</b> <dim>│</b> e", "<b>d</b> <dim>│</b>")],
  ["code in colours, each line by itself", "```js\n/* a\n\nb */ 1\n```", 80, false, lines("<dim>─── js</b>", "<dim>/* a</b>", "", "<dim>b */</b> <yellow>1</c>", "<dim>───</b>")],
  ["code in a language of another case and with more said", "```JS {1,2}\nlet\n```", 80, false, lines("<dim>─── JS {1,2}</b>", "<magenta>let</c>", "<dim>───</b>")],
  ["a link for terminals that have links", "[a b](https://x.y/ü?q)", 80, true, "<a https://x.y/%C3%BC?q><u><blue>a b</c></u></a>"],
  ["a text that hides another address", "[https://a.b](https://c.d)", 80, true, "<u><blue>https://a.b</c></u> <dim>(https://c.d)</b>"],
  ["a link that is no web address", "[a](b.md)", 80, true, "<u><blue>a</c></u> <dim>(b.md)</b>"],
  ["a link without them", "[a](https://b)", 80, false, "<u><blue>a</c></u> <dim>(https://b)</b>"],
];
describe("styles", () => {
  for (const [what, markdown, columns, links, shown] of STYLED)
    test(what, () => equal(named(dark(markdown, columns, links)), shown));

  test("a theme names every style, and none of them changes the text", () => {
    for (const each of [DARK, LIGHT, NONE])
      for (const paint of [each, each.syntax ?? {}].flatMap((part) => Object.values(part)))
        if (typeof paint === "function") equal(strip(paint("text")), "text");
    for (const [name, paint] of Object.entries(DARK))
      if (typeof paint === "function") ok(paint("x") !== "x", name);
    equal(NONE.strong("text"), "text");
    ok(LIGHT.code("x") !== DARK.code("x"));
  });

  test("a code block for others: colours where the language is known, the code where not", () => {
    equal(named(highlight("let a = 1", "js", DARK)), "<magenta>let</c> a = <yellow>1</c>");
    const long = `let ${"a".repeat(5_000)}`;
    const source = "<a b='c'>&amp; \u00e9 \t</a>\n\n\n";
    equal(strip(highlight(source, "html", DARK)), source);
    for (const language of ["nosuch", ""])
      equal(highlight("let a = 1", language, DARK), "let a = 1");
    equal(highlight(long, "js", DARK), long);
  });
});

/** Some Markdown: every construct, in one another, of words that are short. */
function someMarkdown(): fc.Arbitrary<string> {
  const word = fc.constantFrom("a", "word", "longer", "日本語", "🎉", "é", "&amp;", "10:30", "[x]");
  const span = fc.oneof(
    { weight: 3, arbitrary: word },
    ...["**", "*", "~~", "`", "_"].map((mark) => word.map((text) => `${mark}${text} b${mark}`)),
    word.map((text) => `***${text} c* d**`),
    word.map((text) => `[${text} **e**](/f)`),
  );
  const line = fc.array(span, { minLength: 1, maxLength: 12 }).map((spans) => spans.join(" "));
  const row = fc
    .array(line, { minLength: 3, maxLength: 3 })
    .map((cells) => `| ${cells.join(" | ")} |`);
  const rows = fc.array(row, { minLength: 1, maxLength: 3 });
  const table = rows.map((rows) => lines("| g | h | i |", "| :- | :-: | -: |", ...rows));
  const leaf = fc.oneof(
    line,
    line.map((text) => `## ${text}`),
    fc.constant("***"),
    table,
    line.map((text) => `- [ ] ${text}`),
    line.map((text) => `<b>${text}`),
  );
  const inside = (mark: string, rest: string) => (text: string) =>
    mark + text.replaceAll("\n", `\n${rest}`);
  return fc.letrec<{ block: string }>((tie) => ({
    block: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.array(tie("block"), { minLength: 1, maxLength: 3 }).map((blocks) => blocks.join("\n\n")),
      tie("block").map(inside("> ", "> ")),
      tie("block").map(inside("- ", "  ")),
      tie("block").map(inside("10. ", "    ")),
    ),
  })).block;
}

test("no line is wider than the width, none leaves a style open, none ends with a space, whatever the Markdown", () => {
  let seen = 0;
  fc.assert(
    fc.property(someMarkdown(), fc.integer({ min: 24, max: 90 }), (markdown, columns) => {
      const output = dark(markdown, columns, true);
      for (const line of output.split("\n")) {
        seen++;
        // which is never cut, so deep in a list it may stick out
        const oneWord = /^[\s│•\d.[\]x]*\S+$/.test(strip(line));
        ok(
          width(strip(line)) <= columns || (columns < 32 && oneWord),
          `${columns}: ${strip(line)}`,
        );
        deepEqual(openAfter(line), [], JSON.stringify(line));
        ok(!/\s$/.test(strip(line)), JSON.stringify(line));
      }
      // else they are the same
      const withoutLinks = output.includes("\x1b]8;") ? dark(markdown, columns) : output;
      equal(plain(markdown, columns), strip(withoutLinks));
    }),
    { numRuns: RUNS },
  );
  ok(seen > RUNS, `${seen} lines`);
});

/** What a terminal would still have switched on. */
function openAfter(line: string): string[] {
  const open = new Set<string>();
  for (const [, codes, href] of line.matchAll(/\x1b\[(\d+)m|\x1b\]8;;([^\x1b]*)\x1b\\/g)) {
    const code = Number(codes);
    if (href !== undefined) href ? open.add("link") : open.delete("link");
    else if ((code > 20 && code < 30) || code === 39) open.delete(String(code));
    else if (code < 3) open.add("22");
    else open.add(String(code < 10 ? code + 20 : 39));
  }
  return [...open];
}

describe("what nobody writes neither throws nor hangs, and is still shown", () => {
  const nested = (depth: number, mark: string) =>
    Array.from({ length: depth }, (_, i) => `${" ".repeat(i * 2)}${mark} x`).join("\n");
  // biome-ignore format: one case a row.
  const ODD: [what: string, markdown: string, text: string, isTooMuch?: number][] = [
    ["brackets", "[".repeat(50_000), "[".repeat(50_000)],
    ["quotes", `${">".repeat(20_000)} a`, "a"],
    ["emphasis that does not end", "*a ".repeat(20_000), "*a ".repeat(20_000)],
    ["emphasis in emphasis", `${"**a ".repeat(3_000)}${"b** ".repeat(3_000)}`, "a".repeat(3_000) + "b".repeat(3_000), 100],
    ["underscores", "a_".repeat(10_000), "a_".repeat(10_000)],
    ["lists in lists", nested(2_000, "-"), "x".repeat(2_000), 100],
    ["a table of many columns", `${"|a".repeat(2_000)}|\n${"|-".repeat(2_000)}|\n${"|b".repeat(2_000)}|`, "ab".repeat(2_000)],
    ["a line of code without end", `\`\`\`ini\n${"a".repeat(200_000)}`, "a".repeat(200_000)],
    ["code that is no code", `\`\`\`c\n${"word word\n".repeat(20_000)}`, "word".repeat(40_000)],
    ["a list of very many items", "- a\n".repeat(150_000), "a".repeat(150_000)],
    ["half a character", "a \ud83d b", "a b"],
  ];
  for (const [what, markdown, text, parseTimeout] of some(ODD, 2))
    test(what, () => {
      const output = dark(markdown, 40, false, parseTimeout);
      ok(shows(output, text), strip(output).slice(0, 200));
    });

  test("a run of text that is too much leaves the others alone", () => {
    const output = dark(
      `# Head\n\n${"**a ".repeat(5_000)}${"b** ".repeat(5_000)}\n\n- item`,
      40,
      false,
      100,
    );
    ok(
      named(output).startsWith("<dim>#</b> <b><u><cyan>Head</c></u></b>\n\n"),
      output.slice(0, 100),
    );
    ok(named(output).endsWith("\n\n<cyan>•</c> item"), output.slice(-100));
  });
});

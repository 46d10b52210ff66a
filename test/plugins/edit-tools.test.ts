// The tools that change files, as a model or a script calls them: what they answer, and what is on
// the disk then.
import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Asked, harness } from "../../sdk/testing.ts";
import { tryTo } from "../../sdk/text.ts";
import type { Tree } from "../support/repository.ts";
import { place, zz } from "../support/run.ts";
import { isAll } from "../support/runs.ts";

const CODE = "one();\ntwo();\nthree();\n";
const CRLF = "\ufeffone();\r\ntwo();\r\nthree();";
const LATIN1 = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]);
const a = (content: string | Buffer | null): Tree => ({ "a.ts": content });
type Row = [
  string,
  tool: string,
  args: object,
  before: Tree,
  says: string | RegExp,
  after?: Tree,
  code?: number,
];

// biome-ignore format: one case a row.
const ROWS: Row[] = [
  ["one edit", "edit_file", { path: "a.ts", old_string: "two()", new_string: "2()" }, a(CODE), "Edited a.ts: line 2 (exact).", a("one();\n2();\nthree();\n")],
  ["CRLF, a BOM and no final newline stay", "edit_file", { path: "a.ts", old_string: "one();\ntwo();", new_string: "one();\n2();\n3();" }, a(CRLF), "Edited a.ts: lines 1–3 (line ends).", a("\ufeffone();\r\n2();\r\n3();\r\nthree();")],
  ["one of several fails", "edit_file", { path: "a.ts", edits: [{ old_string: "one()", new_string: "1()" }, { old_string: "four()", new_string: "4()" }] }, a(CODE), /^Cannot edit 'a\.ts': edit 2 of 2 failed, so nothing was changed: old_string was not found \(0 places\)\./, a(CODE), 1],
  ["edits as JSON text", "edit_file", { path: "a.ts", edits: '[{"old_string":"one()","new_string":"1()"}]' }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["edits, and the rest filled in with nothing", "edit_file", { path: "a.ts", old_string: "", new_string: "", edits: [{ old_string: "one()", new_string: "1()" }] }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["a loose match is shown", "edit_file", { path: "a.ts", old_string: "one();\ntwo();", new_string: "one();\n2();" }, a("\tone();\n\ttwo();\n"), "Edited a.ts: lines 1–2 (indentation).\nold_string was matched with another indentation; lines 1–2 now read:\n1\t\tone();\n2\t\t2();", a("\tone();\n\t2();\n")],
  ["already there", "edit_file", { path: "a.ts", old_string: "something();", new_string: "one();\ntwo();" }, a(CODE), "Nothing to change: 'a.ts' has the new text already, at lines 1–2.", a(CODE)],
  ["no new_string is no wish to delete", "edit_file", { path: "a.ts", old_string: "two();" }, a(CODE), /^Cannot call 'edit_file': new_string must be a string, empty to delete\./, a(CODE), 2],
  ["no UTF-8", "edit_file", { path: "a.ts", old_string: "caf", new_string: "x" }, a(LATIN1), /^Cannot edit 'a\.ts': it is not UTF-8 text\./, a(LATIN1), 1],
  ["a file that is missing", "edit_file", { path: "b.ts", old_string: "a", new_string: "x" }, {}, /^Cannot read 'b\.ts': no such file/, { "b.ts": null }, 1],

  ["CRLF, a BOM and no final newline stay, by lines", "edit_lines", { path: "a.ts", start: 3, end: 3, content: "3();\n4();\n" }, a(CRLF), "Edited a.ts: line 3 became lines 3–4.", a("\ufeffone();\r\ntwo();\r\n3();\r\n4();")],
  ["mixed line ends stay", "edit_lines", { path: "a.ts", start: 2, end: 2, content: "x\ny" }, a("a\nb\r\nc\nd\n"), "Edited a.ts: line 2 became lines 2–3.", a("a\nx\r\ny\r\nc\nd\n")],
  ["a line after the last, which has no end", "edit_lines", { path: "a.ts", start: 2, end: 1, content: "b" }, a("a"), "Edited a.ts: inserted line 2.", a("a\nb")],
  ["lines go, by number", "edit_lines", { path: "a.ts", start: 2, end: 3, content: "" }, a(CODE), "Edited a.ts: deleted lines 2–3.", a("one();\n")],
  ["the same again", "edit_lines", { path: "a.ts", start: 1, end: 1, content: "one();" }, a(CODE), "Nothing to change: 'a.ts' reads like that already.", a(CODE)],
  ["a start past the end", "edit_lines", { path: "a.ts", start: 5, end: 5, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 5 is not there: it has 3 lines. To append, start at 4.", a(CODE), 1],
  ["an end past the end", "edit_lines", { path: "a.ts", start: 3, end: 4, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 4 is not there: it has 3 lines. End at 3.", a(CODE), 1],
  ["an end before the start", "edit_lines", { path: "a.ts", start: 3, end: 1, content: "x" }, a(CODE), /the end, 1, is before the start, 3\. To insert before a line, end one less\.$/, a(CODE), 1],
  ["line 0", "edit_lines", { path: "a.ts", start: 0, end: 1, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 0 is not there: lines count from 1.", a(CODE), 1],

  ["a new file, in a new folder", "write_file", { path: "new/a.ts", content: "a\nb\n" }, {}, "Created new/a.ts (2 lines).", { "new/a.ts": "a\nb\n" }],
  ["the same content but for what the file keeps", "write_file", { path: "a.ts", content: CODE }, a(CRLF), /^Nothing to change/, a(CRLF)],
  ["a new file, made", "create_file", { path: "b.ts", content: "b\n" }, {}, "Created b.ts (1 line).", { "b.ts": "b\n" }],
  ["a file that is there", "create_file", { path: "a.ts", content: "b\n" }, a(CODE), "Cannot create 'a.ts': it is already there. Use edit_file, or write_file to replace all of it.", a(CODE), 1],
  ["a file", "delete_file", { path: "a.ts" }, a(CODE), "Deleted a.ts.", a(null)],
  ["a folder", "delete_file", { path: "src" }, { "src/a.ts": CODE }, /^Cannot delete 'src': it is a folder\. Delete its files/, { "src/a.ts": CODE }, 1],
  ["a file that is missing", "delete_file", { path: "gone.ts" }, {}, /^Cannot .* 'gone\.ts': no such file/, {}, 1],
  ["a file, to a new folder", "move_file", { from: "a.ts", to: "new/b.ts" }, a(CODE), "Moved a.ts to new/b.ts.", { "a.ts": null, "new/b.ts": CODE }],
  ["over another file", "move_file", { from: "a.ts", to: "b.ts" }, { "a.ts": CODE, "b.ts": "b" }, /^Cannot move 'a\.ts' to 'b\.ts': 'b\.ts' is already there\./, { "a.ts": CODE, "b.ts": "b" }, 1],
  ["onto a folder", "move_file", { from: "a.ts", to: "src" }, { "a.ts": CODE, "src/b.ts": "b" }, /^Cannot move .*: 'src' is a folder\. Name the file in it too\.$/, a(CODE), 1],
];

describe("zz --call, with --allow-write", () => {
  for (const [what, tool, args, before, says, after = {}, code = 0] of ROWS)
    test(`${tool}: ${what}`, async () => {
      const where = place(before);
      const ran = await zz(where, ["--call", tool, JSON.stringify(args), "--allow-write"]);
      const said = (ran.stdout + ran.stderr).trimEnd();
      if (typeof says === "string") equal(said, says);
      else match(said, says);
      equal(ran.code, code, said);
      for (const [name, content] of Object.entries(after)) {
        const is = tryTo(() => readFileSync(join(where.cwd, name), "latin1"));
        equal(
          is,
          content === null ? undefined : Buffer.from(content as string).toString("latin1"),
          name,
        );
      }
    });

  test("edit_file: --json says where and how", async () => {
    const args = JSON.stringify({
      path: "a.ts",
      old_string: "one();\ntwo();",
      new_string: "one();",
    });
    const ran = await zz(place(a("\tone();\n\ttwo();\n")), [
      "--call",
      "edit_file",
      args,
      "--allow-write",
      "--json",
    ]);
    const places = [{ edit: 1, start: 1, end: 1, how: "indentation" }];
    deepEqual(JSON.parse(ran.stdout).data, { path: "a.ts", places });
  });
});

/** Rounds of several calls each: what came back of each call. */
async function rounds(t: TestContext, files: Record<string, string>, ...all: Asked[][]) {
  const script = [...all.map((calls) => ({ calls })), "done"];
  const it = await harness({ own: true, files, allow: { write: true, run: true }, script }, t);
  const said = (await it.ask("go")).results.map(({ text }) => text);
  return { said, it };
}

const TEN = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join("");
const READ: Asked = ["read_file", { path: "a.ts" }];
const lines = (start: number, end: number, content: string, path = "a.ts"): Asked => [
  "edit_lines",
  { path, start, end, content },
];
const text = (old_string: string, new_string: string): Asked => [
  "edit_file",
  { path: "a.ts", old_string, new_string },
];

for (const [tool, args] of [
  ["edit_file", { path: "a.ts", old_string: "two()", new_string: "2()" }],
  ["edit_lines", { path: "a.ts", start: 2, end: 2, content: "2();" }],
  ["write_file", { path: "a.ts", content: "one();\n2();\nthree();\n" }],
] as Asked[])
  test(`${tool}: a file that was not read in the conversation is not changed, however often it is tried`, async (t) => {
    const { said, it } = await rounds(
      t,
      { "a.ts": CODE },
      [[tool, args]],
      [[tool, args]],
      [READ],
      [[tool, args]],
    );
    for (const text of said.slice(0, 2))
      match(text, /was not read in this conversation\. Read it first\.$/);
    match(said[3]!, /^(Edited|Wrote) a\.ts/);
    equal(it.read("a.ts"), "one();\n2();\nthree();\n");
  });

test("write_file: a new file need not be read, and can be changed afterwards", async (t) => {
  const { said } = await rounds(
    t,
    {},
    [["write_file", { path: "a.ts", content: "one();\n" }]],
    [text("one", "1")],
  );
  deepEqual(said, ["Created a.ts (1 line).", "Edited a.ts: line 1 (exact)."]);
});

// biome-ignore format: one case a row.
const IN_ONE_ROUND: [what: string, calls: Asked[], last: string | RegExp, change: (text: string) => string][] = [
  ["below an edit that made the file longer", [lines(2, 2, "2\n2b\n2c"), lines(8, 8, "8")], "Edited a.ts: line 8, which this round's other edits had moved to line 10, became line 10.", (all) => all.replace("line 2", "2\n2b\n2c").replace("line 8", "8")],
  ["below an edit that made it shorter", [lines(2, 4, ""), lines(8, 9, "")], "Edited a.ts: deleted lines 8–9, which this round's other edits had moved to lines 5–6.", (all) => all.replace("line 2\nline 3\nline 4\n", "").replace("line 8\nline 9\n", "")],
  ["below what edit_file made longer", [text("line 2", "2\n2b"), lines(8, 8, "8")], /had moved to line 9, became line 9\.$/, (all) => all.replace("line 2", "2\n2b").replace("line 8", "8")],
  ["a line that the round changed", [lines(4, 6, "4\n5"), lines(6, 7, "x")], /^Cannot edit 'a\.ts': this round changed it .* Lines 2–7 of 9 now:\n2\tline 2\n3\tline 3\n4\t4\n5\t5\n6\tline 7\n7\tline 8\nSend the edit again/s, (all) => all.replace("line 4\nline 5\nline 6", "4\n5")],
  ["below what a command on a copy removed", [["run_command", { command: "sed -i 1d a.ts" }], lines(5, 5, "x")], /had moved to line 4, became line 4\.$/, (all) => all.replace("line 1\n", "").replace("line 5", "x")],
  ["one of several lines alike, of which one went", [["write_file", { path: "a.ts", content: "x\na\nx\nb\n" }], lines(1, 1, "y")], /^Cannot edit 'a\.ts': this round changed it/, () => "x\na\nx\nb\n"],
  ["after a command in the project itself changed the file", [["run_command", { command: "sed -i 1d a.ts", direct: true }], lines(5, 5, "x")], /^Cannot edit 'a\.ts': it changed since it was read/, (all) => all.replace("line 1\n", "")],
];

for (const [what, calls, last, change] of IN_ONE_ROUND)
  test(`edit_lines: the numbers are those that the model saw: ${what}`, async (t) => {
    const { said, it } = await rounds(t, { "a.ts": TEN }, [READ], calls);
    if (typeof last === "string") equal(said.at(-1), last);
    else match(said.at(-1)!, last);
    equal(it.read("a.ts"), change(TEN));
  });

test("edit_lines: a file that is first read in the same round shows its lines instead of being changed", async (t) => {
  const { said } = await rounds(t, { "a.ts": TEN }, [READ, lines(5, 5, "x")], [lines(5, 5, "x")]);
  match(said[1]!, /^Cannot edit 'a\.ts': this round changed it or read it .*5\tline 5/s);
  equal(said[2], "Edited a.ts: line 5 became line 5.");
});

test("edit_lines: only lines that were shown are changed, also after other edits moved them", async (t) => {
  const part: Asked = ["read_file", { path: "a.ts", start: 4, end: 6 }];
  const edits = [
    lines(9, 9, "x"),
    lines(5, 5, "5\n5b"),
    lines(7, 7, "6"),
    lines(8, 8, "x"),
    lines(8, 7, "y"),
  ];
  const { said } = await rounds(t, { "a.ts": TEN }, [part], ...edits.map((edit) => [edit]));
  deepEqual(said.slice(1), [
    "Cannot edit 'a.ts': line 9 was not read in this conversation. Read it first.",
    "Edited a.ts: line 5 became lines 5–6.",
    "Edited a.ts: line 7 became line 7.",
    "Cannot edit 'a.ts': line 8 was not read in this conversation. Read it first.",
    "Edited a.ts: inserted line 8.",
  ]);
});

test("write_file: a file is replaced only by one who saw all of it", async (t) => {
  const part: Asked = ["read_file", { path: "a.ts", start: 1, end: 6 }];
  const write: Asked = ["write_file", { path: "a.ts", content: "x\n" }];
  const rest: Asked = ["read_file", { path: "a.ts", start: 7 }];
  const { said } = await rounds(t, { "a.ts": TEN }, [part], [write], [rest], [write]);
  match(
    said[1]!,
    /^Cannot write 'a\.ts': line 7 of it was not read in this conversation\. Read all of it first/,
  );
  equal(said[3], "Wrote a.ts (1 line).");
});

const CLASS = "const a = 1;\n\nexport function wanted() {\n  return a;\n}\n\nwanted();\n";
// biome-ignore format: one case a row.
const SHOWS: [shows: Asked, edit: Asked, says: RegExp][] = [
  [["get_function", { name: "wanted" }], lines(4, 4, "  return 2;"), /^Edited a\.ts: line 4/],
  [["get_function", { name: "wanted" }], lines(7, 7, "x"), /line 7 was not read/],
  [["find_references", { symbol: "wanted" }], lines(7, 7, "x"), /^Edited a\.ts: line 7/],
  [["grep", { query: "wanted();", path: "a.ts" }], lines(1, 1, "x"), /line 1 was not read/],
  [["grep", { query: "nowhere", path: "a.ts" }], text("return a", "return 2"), /it was not read/],
];
// which loads TypeScript
for (const [shows, edit, says] of SHOWS.filter(([[tool]]) => isAll || tool !== "find_references"))
  test(`${edit[0]}: what ${shows[0]} showed counts as read: ${JSON.stringify([shows[1], edit[1]])}`, async (t) => {
    const { said } = await rounds(t, { "a.ts": CLASS }, [shows], [edit]);
    match(said[1]!, says);
  });

const PATCH = "*** Begin Patch\n*** Update File: a.ts\n@@\n line 4\n-line 5\n+5\n*** End Patch";
test("apply_patch: a file has to be read, as for the other edits", async (t) => {
  const patch: Asked = ["apply_patch", { patch: PATCH }];
  const { said } = await rounds(t, { "a.ts": TEN }, [patch], [READ], [patch]);
  equal(
    said[0],
    "Cannot patch 'a.ts': it was not read in this conversation. Nothing was changed. Read it first.",
  );
  match(said[2]!, /^Applied: edited a\.ts/);
});

const MAKE: Asked = ["create_file", { path: "a.ts", content: "new\n" }];
const ADD: Asked = [
  "apply_patch",
  { patch: "*** Begin Patch\n*** Add File: a.ts\n+new\n*** End Patch" },
];
// biome-ignore format: one case a row.
const GONE: [how: string, call: Asked, make: Asked][] = [
  ["delete_file", ["delete_file", { path: "a.ts" }], MAKE],
  ["move_file", ["move_file", { from: "a.ts", to: "b.ts" }], ["write_file", MAKE[1]]],
  ["a patch", ["apply_patch", { patch: "*** Begin Patch\n*** Delete File: a.ts\n*** End Patch" }], ADD],
];
for (const [how, call, make] of GONE)
  test(`a file that was read, and went with ${how}, can be made again`, async (t) => {
    const { said, it } = await rounds(t, { "a.ts": TEN }, [READ], [call], [make]);
    match(said.at(-1)!, /^(Created|Applied: created) a\.ts/);
    equal(it.read("a.ts"), "new\n");
  });

test("create_file: a file that undo or the person took away can be made again", async (t) => {
  const script = [{ call: MAKE }, "done", { call: MAKE }, "done", { call: MAKE }, "done"];
  const it = await harness({ own: true, allow: { write: true, run: true }, script }, t);
  const results = async () => (await it.ask("go")).results.map(({ text }) => text).join();
  const made = async () => equal(await results(), "Created a.ts (1 line).");
  await made();
  await it.ask("/undo");
  await made();
  rmSync(join(it.root, "a.ts"));
  await made();
  equal(it.read("a.ts"), "new\n");
});

test("move_file: what was shown of a file is known of it under its new name, and nothing more", async (t) => {
  const move: Asked = ["move_file", { from: "a.ts", to: "b.ts" }];
  const part: Asked = ["read_file", { path: "a.ts", start: 4, end: 6 }];
  const edits = [5, 9].map((at) => [lines(at, at, "x", "b.ts")]);
  const { said } = await rounds(t, { "a.ts": TEN }, [part], [move], ...edits);
  deepEqual(said.slice(2), [
    "Edited b.ts: line 5 became line 5.",
    "Cannot edit 'b.ts': line 9 was not read in this conversation. Read it first.",
  ]);
});

const NO = 'Refused: the person said no to write access to "a.ts".';
const TOGETHER = "Made with the first of these calls: see there.";
const edit = (path: string, old_string: string, new_string: string): Asked => [
  "edit_file",
  { path, old_string, new_string },
];
const three = text("three()", "3()");
// biome-ignore format: one case a row.
const FOLLOWING: [what: string, calls: Asked[], answers: string, said: (string | RegExp)[], after: string][] = [
  ["two edits", [text("one()", "1()"), three], "y", ["Edited a.ts, 2 edits: line 1 (exact), line 3 (exact).", TOGETHER], "1();\ntwo();\n3();\n"],
  ["three, one of what another wrote", [text("one()", "1()"), text("1()", "I()"), three], "y", [/^Edited a\.ts, 3 edits: /, TOGETHER, TOGETHER], "I();\ntwo();\n3();\n"],
  ["the path written in two ways", [text("one()", "1()"), edit("./a.ts", "three()", "3()")], "y", [/^Edited a\.ts, 2 edits: /, TOGETHER], "1();\ntwo();\n3();\n"],
  ["a list of edits and one more", [["edit_file", { path: "a.ts", edits: [{ old_string: "one()", new_string: "1()" }] }], three], "y", [/^Edited a\.ts, 2 edits: /, TOGETHER], "1();\ntwo();\n3();\n"],
  ["a no is for all of them", [text("one()", "1()"), three], "n", [NO, NO], CODE],
  ["one that does not fit leaves the others as they are alone", [text("one()", "1()"), text("four()", "4()"), three], "yy", ["Edited a.ts: line 1 (exact).", /^Cannot edit 'a\.ts': old_string was not found/, "Edited a.ts: line 3 (exact)."], "1();\ntwo();\n3();\n"],
  ["one that is not valid", [text("one()", "1()"), ["edit_file", { path: "a.ts", old_string: "two()" }], three], "yy", ["Edited a.ts: line 1 (exact).", /new_string must be a string/, "Edited a.ts: line 3 (exact)."], "1();\ntwo();\n3();\n"],
  ["another file between", [text("one()", "1()"), edit("b.ts", "b", "c"), three], "yyy", ["Edited a.ts: line 1 (exact).", "Edited b.ts: line 1 (exact).", "Edited a.ts: line 3 (exact)."], "1();\ntwo();\n3();\n"],
  ["a read between", [text("one()", "1()"), READ, three], "yy", ["Edited a.ts: line 1 (exact).", /1\(\)/, "Edited a.ts: line 3 (exact)."], "1();\ntwo();\n3();\n"],
];
for (const [what, calls, answers, said, after] of FOLLOWING)
  test(`edit_file: edits of one file that follow one another are one question: ${what}`, async (t) => {
    const left = [...answers];
    const answer = async (_: string, keys?: string) => (keys ? (left.shift() ?? "?") : "");
    const read: Asked = ["read_file", { path: "b.ts" }];
    const script = [{ calls: [READ, read] }, { calls }, "done"];
    const it = await harness(
      { own: true, files: { "a.ts": CODE, "b.ts": "b\n" }, answer, script },
      t,
    );
    const { results } = await it.ask("go");
    const texts = results.slice(2).map(({ text }) => text);
    for (const [i, expected] of said.entries())
      if (typeof expected === "string") equal(texts[i], expected);
      else match(texts[i]!, expected);
    equal(it.read("a.ts"), after);
    deepEqual(left, []);
    if (!answers.includes("y")) return;
    if (answers === "y") await it.ask("/undo");
    else await it.ask("/undo turn");
    equal(it.read("a.ts"), CODE);
  });

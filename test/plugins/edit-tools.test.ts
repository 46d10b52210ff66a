// The tools that change files, as a model or a script calls them: what they answer, and what is on the disk then.
import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { openChat } from "../../kernel/chat.ts";
import type { Message } from "../../kernel/contract.ts";
import { createZz, runTurn } from "../../zz.ts";
import { type Place, place, zz } from "../support/run.ts";

type Files = Record<string, string | Buffer | null>; // null: not there

function project(files: Files): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    if (name.endsWith("/")) mkdirSync(join(where.cwd, name), { recursive: true });
    else if (content !== null) writeFileSync(join(where.cwd, name), content);
  }
  return where;
}

function same(where: Place, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(where.cwd, name);
    if (content === null) equal(existsSync(file), false, `${name} is there`);
    else deepEqual(readFileSync(file).toString("latin1"), Buffer.from(content).toString("latin1"), name);
  }
}

const CODE = "one();\ntwo();\nthree();\n";
const CRLF = "\ufeffone();\r\ntwo();\r\nthree();";
const LATIN1 = Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]);
const a = (content: string | Buffer | null): Files => ({ "a.ts": content });
type Row = [
  what: string,
  tool: string,
  args: object,
  before: Files,
  says: string | RegExp,
  after?: Files,
  code?: number,
];

// biome-ignore format: one case a row.
const ROWS: Row[] = [
  ["one edit", "edit_file", { path: "a.ts", old_string: "two()", new_string: "2()" }, a(CODE), "Edited a.ts: line 2 (exact).", a("one();\n2();\nthree();\n")],
  ["CRLF, a BOM and no final newline stay", "edit_file", { path: "a.ts", old_string: "one();\ntwo();", new_string: "one();\n2();\n3();" }, a(CRLF), "Edited a.ts: lines 1–3 (line ends).", a("\ufeffone();\r\n2();\r\n3();\r\nthree();")],
  ["several edits", "edit_file", { path: "a.ts", edits: [{ old_string: "one()", new_string: "1()" }, { old_string: "three()", new_string: "3()" }] }, a(CODE), "Edited a.ts, 2 edits: line 1 (exact), line 3 (exact).", a("1();\ntwo();\n3();\n")],
  ["one of several fails", "edit_file", { path: "a.ts", edits: [{ old_string: "one()", new_string: "1()" }, { old_string: "four()", new_string: "4()" }] }, a(CODE), /^Cannot edit 'a\.ts': edit 2 of 2 failed, so nothing was changed: old_string was not found \(0 places\)\./, a(CODE), 1],
  ["edits as JSON text", "edit_file", { path: "a.ts", edits: '[{"old_string":"one()","new_string":"1()"}]' }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["edits as one object", "edit_file", { path: "a.ts", edits: { oldText: "one()", newText: "1()" } }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["edits, and the rest filled in with nothing", "edit_file", { path: "a.ts", old_string: "", new_string: "", edits: [{ search: "one()", replace: "1()" }] }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["other names for it all", "str_replace", { file_path: "a.ts", old_str: "one()", new_str: "1()" }, a(CODE), "Edited a.ts: line 1 (exact).", a("1();\ntwo();\nthree();\n")],
  ["all places", "edit_file", { path: "a.ts", old_string: "();", new_string: "(1);", replace_all: true }, a(CODE), "Edited a.ts: line 1 (exact), line 2 (exact), line 3 (exact).", a("one(1);\ntwo(1);\nthree(1);\n")],
  ["a loose match is shown", "edit_file", { path: "a.ts", old_string: "one();\ntwo();", new_string: "one();\n2();" }, a("\tone();\n\ttwo();\n"), "Edited a.ts: lines 1–2 (indentation).\nold_string was matched with another indentation; lines 1–2 now read:\n1\t\tone();\n2\t\t2();", a("\tone();\n\t2();\n")],
  ["lines go", "edit_file", { path: "a.ts", old_string: "two();\n", new_string: "" }, a(CODE), "Edited a.ts: lines taken out before line 2 (exact).", a("one();\nthree();\n")],
  ["already there", "edit_file", { path: "a.ts", old_string: "something();", new_string: "one();\ntwo();" }, a(CODE), "Already so: 'a.ts' has the new text at lines 1–2. Nothing was changed.", a(CODE)],
  ["a miss", "edit_file", { path: "a.ts", old_string: "tow();", new_string: "x" }, a("zero();\ntwo(1);\n"), /^Cannot edit 'a\.ts': old_string was not found \(0 places\)\. /, a("zero();\ntwo(1);\n"), 1],
  ["no new_string is no wish to delete", "edit_file", { path: "a.ts", old_string: "two();" }, a(CODE), /^Cannot call 'edit_file': new_string: must be string, empty to delete\./, a(CODE), 2],
  ["no edit at all", "edit_file", { path: "a.ts" }, a(CODE), /^Cannot call 'edit_file': old_string: must be string; new_string/, a(CODE), 2],
  ["edits that are none", "edit_file", { path: "a.ts", edits: "two" }, a(CODE), /^Cannot call 'edit_file': edits: must be a list/, a(CODE), 2],
  ["no UTF-8", "edit_file", { path: "a.ts", old_string: "caf", new_string: "x" }, a(LATIN1), /^Cannot edit 'a\.ts': it is not UTF-8 text\./, a(LATIN1), 1],
  ["a NUL", "edit_file", { path: "a.ts", old_string: "a", new_string: "x" }, a("a\0"), /^Cannot edit 'a\.ts': it is not UTF-8 text\./, a("a\0"), 1],
  ["a file that is missing", "edit_file", { path: "b.ts", old_string: "a", new_string: "x" }, {}, /^Cannot read 'b\.ts': no such file/, { "b.ts": null }, 1],

  ["a line", "edit_lines", { path: "a.ts", start: 2, end: 2, content: "2();" }, a(CODE), "Edited a.ts: line 2 became line 2.", a("one();\n2();\nthree();\n")],
  ["lines, ended or not", "edit_lines", { path: "a.ts", start: 1, end: 2, content: "1();\n" }, a(CODE), "Edited a.ts: lines 1–2 became line 1.", a("1();\nthree();\n")],
  ["CRLF, a BOM and no final newline stay, by lines", "edit_lines", { path: "a.ts", start: 3, end: 3, content: "3();\n4();\n" }, a(CRLF), "Edited a.ts: line 3 became lines 3–4.", a("\ufeffone();\r\ntwo();\r\n3();\r\n4();")],
  ["mixed line ends stay", "edit_lines", { path: "a.ts", start: 2, end: 2, content: "x\ny" }, a("a\nb\r\nc\nd\n"), "Edited a.ts: line 2 became lines 2–3.", a("a\nx\r\ny\r\nc\nd\n")],
  ["a line before the first", "edit_lines", { path: "a.ts", start: 1, end: 0, content: "zero();" }, a(CODE), "Edited a.ts: inserted line 1.", a(`zero();\n${CODE}`)],
  ["a line after the last", "edit_lines", { path: "a.ts", start: 4, end: 3, content: "four();" }, a(CODE), "Edited a.ts: inserted line 4.", a(`${CODE}four();\n`)],
  ["a line after the last, which has no end", "edit_lines", { path: "a.ts", start: 2, end: 1, content: "b" }, a("a"), "Edited a.ts: inserted line 2.", a("a\nb")],
  ["lines go, by number", "edit_lines", { path: "a.ts", start: 2, end: 3, content: "" }, a(CODE), "Edited a.ts: deleted lines 2–3.", a("one();\n")],
  ["the last line goes, and there is no newline still", "edit_lines", { path: "a.ts", start: 2, end: 2, content: "" }, a("a\nb"), "Edited a.ts: deleted line 2.", a("a")],
  ["a blank line", "edit_lines", { path: "a.ts", start: 2, end: 2, content: "\n" }, a(CODE), "Edited a.ts: line 2 became line 2.", a("one();\n\nthree();\n")],
  ["an empty file", "edit_lines", { path: "a.ts", start: 1, end: 1, content: "a\n" }, a(""), "Edited a.ts: line 1 became line 1.", a("a\n")],
  ["$& is text", "edit_lines", { path: "a.ts", start: 1, end: 1, content: "$&$1" }, a(CODE), "Edited a.ts: line 1 became line 1.", a("$&$1\ntwo();\nthree();\n")],
  ["the same again", "edit_lines", { path: "a.ts", start: 1, end: 1, content: "one();" }, a(CODE), "Already so: 'a.ts' reads like that. Nothing was changed.", a(CODE)],
  ["a start past the end", "edit_lines", { path: "a.ts", start: 5, end: 5, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 5 is not there: it has 3 lines. To append, start at 4.", a(CODE), 1],
  ["an end past the end", "edit_lines", { path: "a.ts", start: 3, end: 4, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 4 is not there: it has 3 lines. End at 3.", a(CODE), 1],
  ["an end before the start", "edit_lines", { path: "a.ts", start: 3, end: 1, content: "x" }, a(CODE), /the end, 1, is before the start, 3\. To insert before a line, end one less\.$/, a(CODE), 1],
  ["line 0", "edit_lines", { path: "a.ts", start: 0, end: 1, content: "x" }, a(CODE), "Cannot edit 'a.ts': line 0 is not there: lines count from 1.", a(CODE), 1],

  ["a new file, in a new folder", "write_file", { path: "new/a.ts", content: "a\nb\n" }, {}, "Created new/a.ts (2 lines).", { "new/a.ts": "a\nb\n" }],
  ["another content", "write_file", { path: "a.ts", contents: "x\n" }, a(CODE), "Wrote a.ts (1 line).", a("x\n")],
  ["the same content", "write_file", { path: "a.ts", content: CODE }, a(CODE), "Already so: 'a.ts' holds that. Nothing was changed.", a(CODE)],
  ["the same content but for what the file keeps", "write_file", { path: "a.ts", content: CODE }, a(CRLF), /^Already so/, a(CRLF)],
  ["a new file, made", "create_file", { path: "b.ts", content: "b\n" }, {}, "Created b.ts (1 line).", { "b.ts": "b\n" }],
  ["a file that is there", "create_file", { path: "a.ts", content: "b\n" }, a(CODE), "Cannot create 'a.ts': it is already there. Use edit_file, or write_file to replace all of it.", a(CODE), 1],
  ["a folder that is there", "create_file", { path: "src", content: "b\n" }, { "src/a.ts": CODE }, /^Cannot create 'src': it is already there\./, { "src/a.ts": CODE }, 1],
  ["a file", "delete_file", { path: "a.ts" }, a(CODE), "Deleted a.ts.", a(null)],
  ["a folder", "delete_file", { path: "src" }, { "src/a.ts": CODE }, /^Cannot delete 'src': it is a folder\. Delete its files/, { "src/a.ts": CODE }, 1],
  ["a file that is missing", "delete_file", { path: "gone.ts" }, {}, /^Cannot .* 'gone\.ts': no such file/, {}, 1],
  ["a file, to a new folder", "move_file", { source: "a.ts", destination: "new/b.ts" }, a(CODE), "Moved a.ts to new/b.ts.", { "a.ts": null, "new/b.ts": CODE }],
  ["over another file", "move_file", { from: "a.ts", to: "b.ts" }, { "a.ts": CODE, "b.ts": "b" }, /^Cannot move 'a\.ts' to 'b\.ts': 'b\.ts' is already there\./, { "a.ts": CODE, "b.ts": "b" }, 1],
  ["onto a folder", "move_file", { from: "a.ts", to: "src" }, { "a.ts": CODE, "src/b.ts": "b" }, /^Cannot move .*: 'src' is a folder\. Name the file in it too\.$/, a(CODE), 1],
  ["a folder", "move_file", { from: "src", to: "lib" }, { "src/b.ts": "b" }, /^Cannot move .*: 'src' is a folder\. Move its files/, { "src/b.ts": "b", lib: null }, 1],
  ["onto itself", "move_file", { from: "a.ts", to: "./a.ts" }, a(CODE), /both are the same file/, a(CODE), 1],
];

describe("zz --call, with --allow-write", { concurrency: 2 }, () => {
  for (const [what, tool, args, before, says, after = {}, code = 0] of ROWS)
    test(`${tool}: ${what}`, async () => {
      const where = project(before);
      const ran = await zz(where, ["--call", tool, JSON.stringify(args), "--allow-write"]);
      const said = (ran.stdout + ran.stderr).trimEnd();
      if (typeof says === "string") equal(said, says);
      else match(said, says);
      equal(ran.code, code, said);
      same(where, after);
    });

  test("edit_file: nothing is written without leave", async () => {
    const where = project(a(CODE));
    const args = JSON.stringify({ path: "a.ts", old_string: "two()", new_string: "2()" });
    const ran = await zz(where, ["--call", "edit_file", args]);
    deepEqual([ran.code, ran.stdout], [4, ""], ran.stderr);
    match(ran.stderr, /--allow-write/);
    same(where, a(CODE));
  });

  test("edit_file: --json says where and how", async () => {
    const args = JSON.stringify({ path: "a.ts", old_string: "one();\ntwo();", new_string: "one();" });
    const ran = await zz(project(a("\tone();\n\ttwo();\n")), ["--call", "edit_file", args, "--allow-write", "--json"]);
    deepEqual(JSON.parse(ran.stdout).data, {
      path: "a.ts",
      places: [{ edit: 1, start: 1, end: 1, how: "indentation" }],
    });
  });
});

/** These calls, one a round, as a model makes them in a conversation; what comes back to it. */
async function talk(where: Place, ...calls: [tool: string, args: object, before?: () => void][]): Promise<string[]> {
  const core = await createZz({ root: where.cwd, home: where.home, save: false, allow: { write: true } });
  let round = 0;
  const value = {
    name: "script",
    models: async () => [],
    async *chat() {
      const next = calls[round++];
      next?.[2]?.();
      if (next) yield { call: { id: `c${round}`, name: next[0], args: next[1] } };
      else yield { text: "done" };
      yield { finish: "stop" };
    },
  };
  core.providers.set("script", { owner: "test", value });
  const chat = openChat(core, "script/m");
  await runTurn(core, chat, "go");
  return chat.messages.flatMap((message: Message) => (message.role === "tool" ? [message.text] : []));
}

for (const [tool, args] of [
  ["edit_file", { path: "a.ts", old_string: "two()", new_string: "2()" }],
  ["edit_lines", { path: "a.ts", start: 2, end: 2, content: "2();" }],
  ["write_file", { path: "a.ts", content: "one();\n2();\nthree();\n" }],
] as const) {
  test(`${tool}: a file that was not read in the conversation is not changed, however often it is tried`, async () => {
    const where = project(a(CODE));
    for (const said of await talk(where, [tool, args], [tool, args]))
      match(said, /was not read in this conversation\. Read it first\.$/);
    same(where, a(CODE));
  });

  test(`${tool}: a file that was read is`, async () => {
    const where = project(a(CODE));
    match((await talk(where, ["read_file", { path: "a.ts" }], [tool, args]))[1]!, /^(Edited|Wrote) a\.ts/);
    same(where, a("one();\n2();\nthree();\n"));
  });
}

test("edit_lines: a file that changed since it was read is not changed", async () => {
  const where = project(a(CODE));
  const change = () => writeFileSync(join(where.cwd, "a.ts"), `zero();\n${CODE}`);
  const args = { path: "a.ts", start: 2, end: 2, content: "2();" };
  const [, said] = await talk(where, ["read_file", { path: "a.ts" }], ["edit_lines", args, change]);
  equal(
    said,
    "Cannot edit 'a.ts': it changed since it was read, so its line numbers may be others now. Read it again.",
  );
  same(where, a(`zero();\n${CODE}`));
});

test("write_file: a new file need not be read, and can be changed afterwards", async () => {
  const where = project({});
  const said = await talk(
    where,
    ["write_file", { path: "b.ts", content: "one();\ntwo();\n" }],
    ["edit_file", { path: "b.ts", old_string: "two", new_string: "2" }],
  );
  deepEqual(said, ["Created b.ts (2 lines).", "Edited b.ts: line 2 (exact)."]);
  same(where, { "b.ts": "one();\n2();\n" });
});

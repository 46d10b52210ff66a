// Names of files may hold any bytes: wherever zz shows them, the terminal obeys none.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { ESC, repl, TAB } from "../support/repl.ts";
import { place, zz } from "../support/run.ts";

const EVIL = [
  `zzq1${ESC}[45mpainted.ts`,
  `zzq2${ESC}]8;;http:__evil${ESC}\\link.ts`,
  `zzq3${ESC}[2Jwiped.ts`,
  "zzq4\u202egnp.exe.ts",
  "zzq5\u200bunseen.ts",
  `zzq6${ESC}]0;title\x07.ts`,
  "zzq7\x9b45mc1.ts",
  "zzq8line\nbreak.ts",
  "zzq9\x08\x08\x08back.ts",
  "zzq0\u2066isolate.ts",
];
const OBEYED =
  /\x1b\[45m|\x1b\]8;;http:__|\x1b\[2Jwiped|\u202e|\u200b|\x1b\]0;title|\x9b|\x08\x08\x08back|\u2066/;

const files = EVIL.map((name) => [name, "export const zeta = 1;\n"]);
const evil = () => place({ ...Object.fromEntries(files), [`zzqfolder${ESC}[45m/in.ts`]: "" });

test("In menus no name is obeyed", async (t) => {
  const zz = await repl(t, { where: evil(), rows: 40 });
  for (const [typed, shows] of [
    ["@zzq", /\n {2}\S*zzq/],
    ["\x15/add zzq", /\n {2}\S*zzq/],
    ["\x15@zzq1pain", /zzq8line/],
  ] as const) {
    await zz.hit(`${typed}${TAB}`, shows);
    for (let i = 0; i < 4; i++) await zz.press(TAB);
    await zz.drawn();
  }
  doesNotMatch(zz.raw(), OBEYED);
});

test("Files whose names are not UTF-8 are named as left out, in a repository and without git", async () => {
  for (const repository of [false, true]) {
    const where = place({ "real\ufffd.ts": "export const zeta = 1;\n" });
    if (repository) execFileSync("git", ["init", "-q", where.cwd]);
    const named = (hex: string) =>
      Buffer.concat([Buffer.from(`${where.cwd}/`), Buffer.from(hex, "hex")]);
    for (const hex of ["61ff2e7473", "62fe2e7473"])
      writeFileSync(named(hex), "export const zeta = 1;\n"); // a?.ts, b?.ts
    for (const [tool, args, row] of [
      ["grep", { query: "zeta" }, "[2 files not searched, for their names are not UTF-8]"],
      ["glob", { pattern: "a*" }, "[1 file of these cannot be opened, for its name is not UTF-8]"],
      ["list_dir", {}, "[2 files of these cannot be opened, for their names are not UTF-8]"],
      ["repo_map", {}, "[2 files not mapped, for their names are not UTF-8]"],
      ["glob", { pattern: "real*" }, "real\ufffd.ts"],
    ] as const) {
      const ran = await zz(where, ["--call", tool, JSON.stringify(args)]);
      equal(ran.stdout.trimEnd().split("\n").at(-1), row, `${tool} ${ran.stdout}${ran.stderr}`);
    }
  }
});

test("No name forges a row: not where changes, results and what was undone are listed", async () => {
  const where = place();
  const name = "a\n  9  turn 1  created  forged.ts\r\u001b[2K";
  const shown = "a␊  9  turn 1  created  forged.ts␍␛[2K";
  const call = async (tool: string, args: object) =>
    (await zz(where, ["-A", "--call", tool, JSON.stringify(args)])).stdout.trimEnd();
  equal(await call("write_file", { path: name, content: "x\n" }), `Created ${shown} (1 line).`);
  equal(
    await call("edit_file", { path: name, old_string: "x", new_string: "y" }),
    `Edited ${shown}: line 1 (exact).`,
  );
  equal(await call("move_file", { from: name, to: `${name}2` }), `Moved ${shown} to ${shown}2.`);
  equal(
    (await zz(where, ["--changes"])).stdout.split("\n").filter((row) => /^ {2}9/.test(row)).length,
    0,
  );
  match((await zz(where, ["--undo"])).stdout, /^Undid 2 changes: [^\n\x1b]*␊[^\n\x1b]*\n$/);
  equal((await call("list_dir", {})).split("\n").length, 1);
});

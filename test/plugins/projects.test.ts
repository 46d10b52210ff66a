// Other projects, as the settings name them: what the model reaches there, by which name, and what
// it does not.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Kind, Verdict } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import type { Options } from "../../kernel/instance.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { createZz } from "../../zz.ts";
import { having as placed } from "../support/having.ts";
import { needs } from "../support/needs.ts";
import { type Place, place, zz } from "../support/run.ts";

type Given = Record<string, { path: string; rights: string; about?: string }>;

/** A project, and beside it others with these files. */
function having(files: Record<string, string>, projects: (base: string) => unknown) {
  const where = place();
  const base = fs.realpathSync(dirname(where.cwd));
  placed(
    { "home/zz.config.json": { projects: projects(base) }, ...files },
    { ...where, cwd: base },
  );
  return { ...where, base };
}
const FILES = {
  "lib/src/a.ts": "export const a = 1;\n",
  "lib/.env": "K=open-sesame\n",
  "lib/.gitignore": "made.ts\n",
  "lib/src/made.ts": "",
  "ro/a.ts": "export const b = 1;\n",
  "ro/.env": "K=open-sesame\n",
  "far/secret": "open-sesame\n",
};
const BOTH = (base: string): Given => ({
  lib: { path: `${base}/lib`, rights: "write", about: "shared" },
  ro: { path: `${base}/ro`, rights: "read" },
});
const tool = (where: Place, name: string, args: unknown, ...flags: string[]) =>
  zz(where, ["--call", name, JSON.stringify(args), ...flags]);
const instance = ({ cwd: root, home }: Place, projects: Given, rules: Options = {}) =>
  createZz({ root, home, save: false, settings: { projects }, ...rules });
const at = (where: { base: string }, name: string): string =>
  fs.readFileSync(join(where.base, name), "utf8");

const LINKS = { "lib/out": "->../far", "lib/back": "->../project/own", alias: "->aliased" };
const FOLDERS = { "project/vendor/pinned/y": "", "project/own/y": "", "aliased/y": "" };
const there = having({ ...FILES, ...FOLDERS, ...LINKS }, BOTH);
const projects: Given = {
  ...BOTH(there.base),
  alias: { path: `${there.base}/alias`, rights: "read" },

  pinned: { path: `${there.base}/project/vendor/pinned`, rights: "read" },
  here: { path: `${there.base}/project`, rights: "read" },
  around: { path: there.base, rights: "read" },
};
const ALL: Options["allow"] = { read: true, write: true, run: true, net: true, env: true };
const { around, ...others } = projects;

// biome-ignore format: one case a row.
for (const [what, kind, name, verdict, rules = {}, named = others] of [
  ["reading by id", "read", "lib:src/a.ts", "allow"],
  ["a secret", "read", "lib:.env", "ask"],
  [
    "a folder that is denied, by path",
    "read",
    `${there.base}/lib/src/a.ts`,
    "deny",
    { deny: { read: ["lib:src"] } },
  ],
  ["out by a link", "read", "lib:out/secret", "ask"],
  ["a folder that is a link", "read", "alias:a.ts", "allow"],
  ["writing with -A", "write", "lib:src/a.ts", "ask", { allow: ALL }],
  ["writing where it is allowed", "write", "lib:src/a.ts", "allow", { allow: { write: ["lib:src"] } }],
  ["git's own files there", "write", "lib:.git/config", "ask", { allow: { write: ["lib:"] } }],
  ["writing out by a link", "write", "lib:out/x", "ask", { allow: { write: ["lib:"] } }],
  ["a rule for a link that leads here", "write", "own/x", "ask", { allow: { write: ["lib:back"] } }],
  ["writing here, where there is allowed", "write", "own/a.ts", "ask", { allow: { write: ["lib:"] } }],
  ["writing what is to be read", "write", "ro:a.ts", "deny"],
  ["writing it by path", "write", `${there.base}/ro/a.ts`, "deny"],
  ["writing it by way of a link", "write", "alias:a.ts", "deny"],
  ["a project in this one, to be read", "write", "vendor/pinned/x", "deny", { allow: ALL }],
  ["this one by its id", "write", "here:own/a.ts", "allow", { allow: { write: true } }],
  ["this one, when one around it is to be read", "write", "own/a.ts", "ask", {}, { around: around! }],
  ["beside this one, in one around it", "write", "../far/x", "deny", {}, { around: around! }],
] as [string, Kind, string, Verdict, Options?, Given?][])
  test(`judge() ${what}: ${kind} ${name.replace(there.base, "…")}: ${verdict}`, async () => {
    const core = await instance(there, named, rules);
    equal(createCtx(core, openChat(core, "x/y")).permissions.judge(kind, name).verdict, verdict);
  });

describe("tools", () => {
  for (const [name, args, stdout] of [
    ["read_file", { path: "lib:src/a.ts" }, "1\texport const a = 1;\n"],
    ["glob", { pattern: "**/*.ts", path: "lib:" }, "../lib/src/a.ts\n"],
    ["grep", { query: "const", path: "lib:" }, "../lib/src/a.ts:1: export const a = 1;\n"],
  ] as [string, object, string][])
    test(`${name} ${JSON.stringify(args)}, unasked`, async () => {
      const where = having(FILES, BOTH);
      const ran = await tool(where, name, args);
      deepEqual([ran.code, ran.stdout, ran.stderr], [0, stdout, ""]);
    });

  const patch = (name: string, line: string) =>
    `--- a/${name}\n+++ b/${name}\n@@ -1 +1 @@\n-${line}+x\n`;
  for (const [name, args, says] of [
    ["read_file", { path: "lib:../far/secret" },
      /requires read access to "lib:..\/far\/secret"; run again/],
    ["move_file", { from: "lib:src/a.ts", to: "ro:c.ts" },
      /"ro:c.ts" is denied: the settings let project 'ro' be/],
    ["apply_patch", { patch: patch("ro:a.ts", FILES["ro/a.ts"]) },
      /"ro:a.ts" is denied: the settings let project/],
  ] as [string, object, RegExp][]) // biome-ignore format: a table
    test(`${name} ${JSON.stringify(args)} is refused`, async () => {
      const where = having(FILES, BOTH);
      const { code, stderr } = await tool(
        where,
        name,
        args,
        ...(name === "read_file" ? [] : ["-A"]),
      );
      equal(code, 4);
      match(stderr, says);
      for (const [name, text] of Object.entries(FILES)) equal(at(where, name), text);
    });

  const [FILE, A] = ["lib/src/a.ts", FILES["lib/src/a.ts"]];
  for (const [name, args, flag, file, text] of [
    ["move_file", { from: "lib:src/a.ts", to: "a.ts" }, ".,lib:src", "project/a.ts", A],
    ["apply_patch", { patch: patch("lib:src/a.ts", A) }, "lib:", FILE, "x\n"],
  ] as [string, object, string, string, string][])
    test(`${name} ${JSON.stringify(args)} with --allow-write=${flag}; zz --undo takes it back`, async () => {
      const where = having(FILES, BOTH);
      const { code, stderr } = await tool(where, name, args, `--allow-write=${flag}`);
      equal(code, 0, stderr);
      equal(at(where, file), text);
      if (name === "apply_patch")
        match((await zz(where, ["--changes"])).stdout, / edited {3}lib:src\/a\.ts /);
      equal((await zz(where, ["--undo"])).code, 0);
      for (const [name, text] of Object.entries(FILES)) equal(at(where, name), text);
      deepEqual(fs.readdirSync(where.cwd), []);
    });

  test("A folder that is named and not there is told of, and made when a file is written in it", async () => {
    const where = having(FILES, (base) => ({ gone: { path: `${base}/gone`, rights: "write" } }));
    const { code, stderr } = await tool(where, "read_file", { path: "gone:x" });
    deepEqual(
      [code, stderr],
      [1, "Cannot read 'gone:x': no such file or folder. Check the path.\n"],
    );
    equal(
      (await tool(where, "create_file", { path: "gone:x", content: "x" }, "--allow-write=gone:"))
        .code,
      0,
    );
    equal(at(where, "gone/x"), "x");
    await zz(where, ["--undo"]);
    ok(!fs.existsSync(join(where.base, "gone")));
  });

  test("The question names the file by its project, shows the diff, and 'always' is for that file", async () => {
    const where = having(FILES, BOTH);
    const core = await instance(where, BOTH(where.base));
    const asked: string[] = [];
    core.ask = async (question, keys) => {
      if (keys) asked.push(question);
      return keys ? "A" : "";
    };
    const { call } = createCtx(core, openChat(core, "x/y"));
    for (const [old_string, new_string] of ["12", "23"])
      match(
        (await call("edit_file", { path: "lib:src/a.ts", old_string, new_string })).text,
        /^Edited lib:src\/a\.ts/,
      );
    await call("create_file", { path: "lib:b.ts", content: "" });
    equal(asked.length, 2);
    match(asked[0]!, /^┏ edit_file wants to change lib:src\/a\.ts\.\n/);
    match(asked[0]!, / - export const a = 1;\n[\s\S]* \+ export const a = 2;/);
  });

  test("A hostile project's link does not make another file of a name that was judged", async () => {
    const where = having(FILES, BOTH);
    fs.symlinkSync("../far/secret", join(where.cwd, "lib:a"));
    const { code, stdout } = await tool(where, "read_file", { path: "lib:a" });
    deepEqual([code, stdout], [4, ""]);
    equal((await tool(where, "run_command", { command: "cat lib:a" })).code, 4);
    fs.mkdirSync(join(where.cwd, "lib:src"));
    const file = join(where.base, "lib/src/a.ts");
    const args = { path: file, old_string: "1", new_string: "2" };
    const { stderr } = await tool(where, "edit_file", args, "--allow-write=.,lib:src");
    equal(
      stderr,
      `edit_file: Refused: requires write access to "${file}"; run again with --allow-write=${file}.\n`,
    );
  });

  needs("bwrap")("A command cannot write in a project in this one that is to be read", async () => {
    const where = having({ ...FILES, "project/vendor/x": "" }, (base) => ({
      vendor: { path: `${base}/project/vendor`, rights: "read" },
    }));
    const { stdout, stderr } = await tool(
      where,
      "run_command",
      { command: "touch a vendor/y" },
      "-A",
    );
    match(stdout + stderr, /vendor\/y.*Read-only/);
    deepEqual(
      [fs.readdirSync(join(where.cwd, "vendor")), fs.existsSync(join(where.cwd, "a"))],
      [["x"], true],
    );
  });
});

const LIB = { path: "/srv/lib", rights: "read" };
// biome-ignore format: one case a row.
for (const [what, given, says] of [
  ["a drive", { c: LIB }, /^Cannot use project 'c' in the settings: an id is two or more letters, digits/],
  ["a prototype's name", JSON.parse('{"__proto__":{"path":"/x","rights":"read"}}'), /in the settings: an id is/],
  ["no rights", { lib: { path: "/x" } }, /^Cannot use project 'lib' in the settings: it must be like \{ "path"/],
  ["a list", [LIB], /^Cannot use "projects" in the settings: they must be by id/],
] as [string, unknown, RegExp][])
  test(`At the start zz refuses ${what}`, async () => {
    const where = having({}, () => given);
    const { code, stdout, stderr } = await zz(where, ["--tools"]);
    deepEqual([code, stdout], [2, ""]);
    match(stderr, says);
  });

describe("the layer", () => {
  const layer = async (where: Place, how = {}) =>
    /^--- PROJECTS ---\n([\s\S]*?)\n--- END PROJECTS ---$/m.exec(
      (await zz(where, ["--prompt"], how)).stdout,
    )?.[1];

  test("is absent when there are none, or only the one that zz is in", async () => {
    equal(await layer(having({}, () => ({}))), undefined);
    equal(
      await layer(having({}, (base) => ({ own: { path: `${base}/project/`, rights: "read" } }))),
      undefined,
    );
  });

  test("names what is missing, what is no folder, and where ~ and links lead", async () => {
    const where = having(FILES, (base) => ({
      home: { path: "~/lib", rights: "write" },
      gone: { path: "~/gone", rights: "read", about: "moved\naway" },
      file: { path: `${base}/ro/a.ts`, rights: "read" },
      link: { path: `${base}/link`, rights: "read" },
    }));
    fs.symlinkSync("lib/src", join(where.base, "link"));
    const text = (await layer(where, { env: { HOME: where.base } })) ?? "";
    deepEqual(text.match(/^- .*/gm), [
      `- home: ${where.base}/lib (write)`,
      `- gone: ${where.base}/gone (read; missing: no such folder): moved away`,
      `- file: ${where.base}/ro/a.ts (read; missing: no such folder)`,
      `- link: ${where.base}/lib/src (read)`,
    ]);
  });

  test("a project's own settings name none", async () => {
    const where = having(
      { "project/zz.config.json": "", "project/.zz/zz.config.json": "" },
      () => ({}),
    );
    for (const name of ["zz.config.json", ".zz/zz.config.json"])
      fs.writeFileSync(
        join(where.cwd, name),
        JSON.stringify({ projects: { all: { path: "/", rights: "write" } } }),
      );
    equal(await layer(where), undefined);
    equal((await tool(where, "read_file", { path: "/etc/hosts" })).code, 4);
  });
});

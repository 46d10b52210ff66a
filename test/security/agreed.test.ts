// While a question stands, another program saves the file that it is about. A yes is for exactly
// what was shown: what was saved meanwhile is not lost, and not taken along unseen.
import { equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Harness, harness } from "../../sdk/testing.ts";
import { needs } from "../support/needs.ts";
import { INIT, shell } from "../support/repository.ts";
import { isAll, rare, some } from "../support/runs.ts";
import { viewTest } from "../support/view.ts";

const OLD = "export const one = 1;\n";
const THEIRS = "export const theirs = 3;\n";
const FILES = {
  "a.ts": OLD,
  "b.ts": 'import { one } from "./a.ts";\nexport const two = one;\n',
  "d.txt": "d\n",
};
const HOME = { "plugins/own.ts": "export default () => {};\n" };
const PATCH =
  "*** Begin Patch\n*** Update File: a.ts\n@@\n-export const one = 1;\n+export const one = 2;\n*** End Patch";
const PLUGIN = { name: "own", code: "export default () => {};\n// new\n" };

type Row = [what: string, call: (zz: Harness) => Promise<unknown>, file?: string];
const tool =
  (name: string, args: object): Row[1] =>
  (zz) =>
    zz.call(name, args);
const ROWS: Row[] = [
  ["write_file", tool("write_file", { path: "a.ts", content: "x\n" })],
  ["create_file", tool("create_file", { path: "new.ts", content: "x\n" }), "new.ts"],
  ["edit_file", tool("edit_file", { path: "a.ts", old_string: "one = 1", new_string: "one = 2" })],
  ["edit_lines", tool("edit_lines", { path: "a.ts", start: 1, end: 1, content: "x" })],
  ["delete_file", tool("delete_file", { path: "a.ts" })],
  ["move_file, the file", tool("move_file", { from: "a.ts", to: "c.ts" })],
  ["move_file, what comes to its new place", tool("move_file", { from: "d.txt", to: "c.txt" }),
    "c.txt"],
  ["apply_patch", tool("apply_patch", { patch: PATCH })],
  ["rename_symbol", tool("rename_symbol", { symbol: "one", to: "uno" })],
  ["rename_symbol, another file of it", tool("rename_symbol", { symbol: "one", to: "uno" }),
    "b.ts"],
  ["write_plugin", tool("write_plugin", PLUGIN), "../home/plugins/own.ts"],
  ["/undo of what has changed since", undo],
]; // biome-ignore format: a table
const ON_COPY: Row[] = [
  "sed -i s/1/2/ a.ts",
  "rm a.ts",
  "mv a.ts c.ts",
  "chmod 755 a.ts",
  "echo x > a.ts",
].map((command) => [command, tool("run_command", { command })]);

async function undo(zz: Harness) {
  await zz.ctx.files.write("a.ts", "x\n"); // it asks, too
  zz.write("a.ts", "y\n");
  return zz.command("/undo").catch((error: Error) => error.message);
}

/** A person who says yes to the first question; right before, somebody saves the file. */
async function saving(
  t: TestContext,
  file: string,
  meanwhile?: (root: string) => void,
  about = /./,
) {
  let asked = 0;
  const zz = await harness(
    {
      own: true,
      files: FILES,
      home: HOME,
      settings: { edit: { auto: false } },
      answer: async (question, keys) => {
        if (!about.test(question)) return "y";
        if (keys === undefined || asked++) return "n";
        if (meanwhile) meanwhile(zz.root);
        else {
          fs.mkdirSync(path.dirname(path.join(zz.root, file)), { recursive: true });
          fs.writeFileSync(path.join(zz.root, file), THEIRS);
        }
        return /\[m\/o|\[o\//.test(question) ? "o" : "y";
      },
    },
    t,
  );
  return zz;
}

describe("a file that is saved while a question about it stands is as it was saved", () => {
  for (const [rows, run] of [[ROWS, test] as const, [ON_COPY, viewTest] as const])
    for (const [what, call, file = "a.ts"] of rows)
      (/rename_symbol|write_plugin|^rm|chmod/.test(what) && !isAll ? rare : run)(
        what,
        async (t) => {
          const zz = await saving(t, file, undefined, call === undo ? /^Cannot undo/ : undefined);
          const said = JSON.stringify(await call(zz));
          ok(zz.questions.length > 0, said);
          equal(zz.read(file), THEIRS, said);
          match(
            said + zz.questions.slice(1).join(),
            /changed meanwhile|changed since|appeared meanwhile|already/,
          );
        },
      );
});

// What changes while the question stands → what the refusal names.
const COMMITS: [what: string, files: string[] | undefined, meanwhile: string, said: RegExp][] = [
  ["a requested file", ["a.ts"], "echo 3 > a.ts", /'a\.ts'/],
  ["its mode", ["a.ts"], "chmod 755 a.ts", /'a\.ts'/],
  ["that it is there", ["a.ts"], "rm a.ts", /'a\.ts'/],
  ["a link in its place", ["a.ts"], "rm a.ts; ln -s b.ts a.ts", /'a\.ts'/],
  ["a new file in a requested folder", ["."], "echo 3 > late.ts", /'late\.ts'/],
  ["what is staged", undefined, "echo 3 > b.ts; git add b.ts", /'b\.ts'/],
  ["the content of what is staged", undefined, "echo 3 > a.ts; git add a.ts", /'a\.ts'/],
  ["the branch", ["a.ts"], "git switch -qc other", /what the question says/],
  ["the commit before it", undefined, "git commit -qm Late --allow-empty --only",
    /the commit before it/],
  ["a hook that comes", ["a.ts"], "cp /bin/true .git/hooks/pre-commit", /what the question/],
]; // biome-ignore format: a table
async function begun(t: TestContext, meanwhile: (root: string) => void) {
  const zz = await saving(t, "", meanwhile);
  shell(
    zz.root,
    `${INIT}; git config user.name n; git config user.email e@x; git add .; git commit -qm Begin`,
  );
  return zz;
}
describe("git_commit commits exactly what was shown", () => {
  for (const [what, files, meanwhile, said] of some(COMMITS, 5))
    needs("git")(`not where ${what} changes while the question stands`, async (t) => {
      const zz = await begun(t, (root) => void shell(root, meanwhile));
      shell(zz.root, "echo 2 > a.ts; git add a.ts");
      const before = shell(zz.root, "git log --format=%s");
      const { text, failed } = await zz.call("git_commit", {
        message: "x",
        ...(files && { files }),
      });
      ok(failed, text);
      match(
        text,
        /^Cannot commit: .* changed while the question stood, so nothing was committed\. /,
      );
      match(text, said);
      ok(
        !shell(zz.root, "git log --format=%s").replace("Late\n", "").replace(before, ""),
        "nothing was committed",
      );
    });

  for (const files of some([undefined, ["a.ts"]], 2))
    needs("git")(`and says what a hook made of ${files ?? "what is staged"}`, async (t) => {
      const zz = await begun(t, () => {});
      shell(
        zz.root,
        "echo 2 > a.ts; git add a.ts; echo '#!/bin/sh\necho 3 > a.ts; git add a.ts' > .git/hooks/pre-commit",
      );
      const commit = () => zz.call("git_commit", { message: "x", ...(files && { files }) });
      shell(zz.root, "chmod +x .git/hooks/pre-commit");
      match(
        (await commit()).text,
        /^Committed .*\n\[Not as it was shown: 'a\.ts'\. A hook, or another program, changed it/,
      );
      equal(execFileSync("git", ["show", "HEAD:a.ts"], { cwd: zz.root, encoding: "utf8" }), "3\n");
    });
});

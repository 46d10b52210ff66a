// Whatever a command does on its copy of the project: after yes the project is what the command
// would have made of it, after no and after undo it is what it was. Compared with the same command
// on a plain copy, by a walk of the tree, names byte by byte.
import { deepEqual } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type Harness, harness } from "../../../../sdk/testing.ts";
import { fc } from "../../../support/property.ts";
import { runs } from "../../../support/runs.ts";
import { viewTest as test } from "../../../support/view.ts";
import { walk } from "../../../support/walk.ts";

const RUNS = runs(20, 20);

/** Files, folders, links and what git ignores; a repository in it; names that are no text. */
const SETUP = `mkdir -p src/deep empty ro dist node_modules/m sub; echo one > a; echo two > b; echo deep > src/deep/x; echo s > src/s
ln -s a link; ln -s src lonk; ln -s ../outside way-out; printf 'a\\0b' > bin; printf '#!/bin/sh\\n' > tool; chmod 755 tool
echo r > ro/r; chmod 444 ro/r; echo built > dist/old; mkdir dist/in; echo i > dist/in/i; echo m > node_modules/m/index.js
printf 'dist/\\nnode_modules/\\n' > .gitignore; echo u > $'caf\\xe9'; mkdir $'d\\xff'; echo n > $'d\\xff/new\\nline'
git init -q sub; echo g > sub/g; printf 'g\\n' > sub/.gitignore`;
const bash = (cwd: string, script: string) =>
  spawnSync("bash", ["-c", script], { cwd, encoding: "utf8" });

/** Without the rights of root, which no command in a sandbox has. */
const asInSandbox = (cwd: string, script: string) =>
  spawnSync("bwrap", ["--dev-bind", "/", "/", "--cap-drop", "ALL", "bash", "-c", script], {
    cwd,
    encoding: "utf8",
  });

const quote = (name: string): string =>
  `./$'${[...Buffer.from(name, "latin1")].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}'`;

const KNOWN =
  "a b src src/s src/deep src/deep/x n n/m n/m/o link link/q lonk lonk/s empty empty/e tool bin ro/r dist dist/old dist/n dist/in " +
  "dist/in/i node_modules node_modules/m node_modules/m/index.js node_modules/x/y .gitignore sub/g sub/h";
const byte = fc.integer({ min: 1, max: 255 }).filter((byte) => byte !== 0x2f);
const bytes = fc
  .array(byte, { minLength: 1, maxLength: 6 })
  .map((bytes) => Buffer.from(bytes).toString("latin1"));
const ANY_BYTE = bytes.filter((name) => !/^\.|^zz/i.test(name));
const STRANGE = ["caf\xe9", "d\xff", "d\xff/new\nline", "d\xff/x", "d\xff/y/z", "src/\xfe"];
const strange = fc.oneof(fc.constantFrom(...STRANGE), ANY_BYTE);
const name = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...KNOWN.split(" ")) },
  { weight: 2, arbitrary: strange },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("src/", "dist/", "new/"), ANY_BYTE)
      .map((parts) => parts.join("")),
  },
);
const at = name.map(quote);
const MODES =
  `chmod 700 § chmod 711 § chmod 755 § chmod 640 § chmod 000 § chmod 1777 § chmod a-w`.split(" § ");
const PRINTS = ["'\\1\\0\\2'", "'%70000s' x", "'no end'", "''", "'a\\r\\nb'"].map(
  (text) => `printf ${text} >`,
);
const op = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      "echo x >",
      "echo more >>",
      "mkdir -p",
      "rm -rf",
      "rmdir",
      "touch",
      "rm -f",
      "unlink",
    ),
    at,
  ),
  fc.tuple(
    fc.constantFrom("mv", "mv -T", "cp -r", "cp -a", "ln -s", "ln", "ln -sfn", "cp -P", "mv -T -f"),
    at,
    at,
  ),
  fc.tuple(fc.constantFrom(...MODES), at),
  fc.tuple(fc.constantFrom(...PRINTS), at),
  at.map((where) => ["rm -rf", where, "; mkdir -p", where, "; echo again >", `${where}/$'again'`]),
  at.map((where) => ["rm -rf", where, "; echo file >", where]),
  at.map((where) => ["rm -rf", where, "; ln -s a", where]),
);
const command = (ops: string[]): string => `bash -c '${ops.join("\n").replaceAll("'", "'\\''")}'`;

/** Both are made again from one tree. */
const clear = (roots: string[], tree?: string): void => {
  const empty = "chmod -R u+rwx .; find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +";
  bash(
    "/",
    roots
      .map((root) => `cd '${root}' && { ${empty}${tree ? `; cp -a '${tree}/.' .` : ""}; }`)
      .join("\n"),
  );
};

interface Stage {
  zz: Harness;
  plain: string;
  tree: string;
  was: Record<string, string>;
  said: { now: string; atQuestion?: Record<string, string> | undefined };
}
/** With `no`, the person first says no to the very same command. */
async function prove({ zz, plain, tree, was, said }: Stage, script: string, no: boolean) {
  clear([zz.root, plain], tree);
  // What a copy of a folder into itself comes to depends on the order in which a disk lists names.
  if (/into itself|subdirectory of itself/.test(asInSandbox(plain, script).stderr)) return;
  const expected = { ...walk(plain), "": was[""]! };
  said.now = "n";
  const asked = zz.questions.length;
  if (no) {
    const { text } = await zz.call("run_command", { command: script });
    deepEqual(walk(zz.root), was, `after no to ${script}: ${text}`);
  }
  said.now = "y";
  said.atQuestion = undefined;
  const kept = await zz.call("run_command", { command: script });
  deepEqual(walk(zz.root), expected, `after yes to ${script}: ${kept.text}`);
  const isChanged = JSON.stringify(expected) !== JSON.stringify(was);
  if (!isChanged)
    deepEqual(zz.questions.length, asked, `nothing changed, and it was asked for: ${script}`);
  else deepEqual(said.atQuestion, was, `while the question to ${script} stands`);
  if (isChanged) await zz.command("/undo");
  deepEqual(walk(zz.root), was, `after undo of ${script}: ${zz.notes.at(-1)}`);
}

test(`${RUNS} random commands: no, yes and undo hold`, {
  timeout: 180_000 + RUNS * 10_000,
}, async (t) => {
  const said: Stage["said"] = { now: "n" };
  const folder = (name: string) => fs.mkdtempSync(join(os.tmpdir(), name));
  const [plain, tree] = [folder("zz-plain-"), folder("zz-tree-")];
  bash(tree, SETUP);
  const make = async (): Promise<Stage> => {
    const answer = async (_: string, keys?: string) => {
      if (keys) said.atQuestion = walk(zz.root);
      return keys ? said.now : "";
    };
    const zz = await harness({ own: true, answer }, t);
    execFileSync("git", ["init", "-q", zz.root]);
    clear([zz.root], tree);
    return { zz, plain, tree, said, was: walk(zz.root) };
  };
  let stage = await make();
  t.after(() => {
    clear([plain, tree, ...(fs.existsSync(stage.zz.root) ? [stage.zz.root] : [])]);
    for (const folder of [plain, tree]) fs.rmSync(folder, { recursive: true, force: true });
  });
  let ran = 0;
  const line = op.map((words) => words.join(" "));
  const holds = fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), async (ops) => {
    if (++ran % 300 === 0) {
      clear([stage.zz.root]);
      stage = await make(); // a session of thousands of changes is another test
    }
    await prove(stage, command(ops), ran % 4 === 1);
  });
  await fc.assert(holds, { numRuns: RUNS });
});

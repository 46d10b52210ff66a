// Commands that lose files, where everything is allowed (-A) and nobody is asked: they run on a
// copy, so that /undo brings back every byte.
import { deepEqual, match, notDeepEqual } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { programs } from "../../kernel/system/other-programs.ts";
import { changesOnlyFiles } from "../../plugins/shell/files-only.ts";
import { judgeLine } from "../../plugins/shell/judge/judge-line.ts";
import { harness } from "../../sdk/testing.ts";
import { INIT, shell } from "../support/repository.ts";
import { some } from "../support/runs.ts";
import { viewTest } from "../support/view.ts";

const ALL = { read: true, write: true, run: true, net: true, env: true } as const;
const FILES = {
  "a.txt": "one\n",
  "b.txt": "two\n",
  "sub/c.txt": "three\n",
  "sub/old/d.txt": "four\n",
  "e.sh": "echo\n",
};

const FILES_ONLY =
  `rm a.txt § rm -f a.txt b.txt; ls § rm -r sub § mv a.txt b.txt § mv sub moved && ls § cp a.txt b.txt § ln -sf b.txt a.txt § > a.txt
: > a.txt § echo x > a.txt § cat b.txt > a.txt § echo x | tee a.txt § printf 'x' >| a.txt § sed -i s/one/x/ a.txt
sed -i.bak s/one/x/ a.txt && rm a.txt.bak § truncate -s0 a.txt § truncate --size 0 a.txt b.txt § shred -u a.txt
dd if=/dev/zero of=a.txt bs=1 count=4 status=none § find . -name '*.txt' -delete § find sub -type f -exec rm {} +
find . -name a.txt | xargs rm § cd sub && rm c.txt § rmdir sub/empty; rm -d sub/empty § chmod 600 a.txt § sort -o a.txt b.txt
install -m 644 b.txt a.txt § unlink a.txt § gzip a.txt § tar cf all.tar a.txt --remove-files § if true; then rm a.txt; fi § (rm a.txt)
{ rm a.txt && echo gone; } § awk '{ print > "b.txt" }' a.txt § timeout 5 rm a.txt § env X=1 rm a.txt § nice rm a.txt § rm -rf -- sub/old`.split(
    / § |\n/,
  );

/** Everything below a folder but .git, with modes and bytes. */
function treeOf(root: string, at = ""): Record<string, string> {
  const all: Record<string, string> = {};
  for (const entry of fs.readdirSync(join(root, at), { withFileTypes: true })) {
    const name = join(at, entry.name);
    const { mode } = fs.lstatSync(join(root, name));
    if (entry.name === ".git") continue;
    if (entry.isDirectory()) Object.assign(all, { [name]: `${mode}` }, treeOf(root, name));
    else
      all[name] =
        `${mode} ${entry.isSymbolicLink() ? fs.readlinkSync(join(root, name)) : fs.readFileSync(join(root, name), "latin1")}`;
  }
  return all;
}

async function project(t: TestContext) {
  const zz = await harness({ own: true, files: FILES, allow: ALL, answer: "nobody" }, t);
  fs.mkdirSync(join(zz.root, "sub/empty"));
  return zz;
}

describe("where everything is allowed, /undo brings back what it lost", () => {
  for (const command of some(FILES_ONLY, 7))
    viewTest(command, async (t) => {
      const zz = await project(t);
      const before = treeOf(zz.root);
      const { text } = await zz.call("run_command", { command });
      notDeepEqual(treeOf(zz.root), before, text);
      match(text, /^\[changed: .*\(kept\)\]$/m);
      await zz.command("/undo");
      deepEqual(treeOf(zz.root), before, text);
    });
});

const BY_GIT = `git rm -rf -q sub § git rm -q --cached a.txt; git rm -f -q b.txt § git checkout -- .
git checkout -q HEAD a.txt new.txt || git checkout -q HEAD a.txt § git restore a.txt § git stash § git stash -u && git stash drop
git checkout -q -f other § git switch -q --discard-changes other § git read-tree -u --reset HEAD § git checkout-index -f -a
git add a.txt; git checkout -q HEAD -- a.txt § git "checkout" . § git 'stash' § git \\⏎ checkout . § git -c a.b="x;y" checkout .
bash -c 'git check''out .' § echo . | xargs git checkout § ./x.sh § sh x.sh § git -c alias.z='checkout .' z § '/usr/bin/git' checkout . § git rm -r -q -f .`
  .split(/ § |\n/)
  .map((line) => line.replace("⏎", "\n"));
describe("of what git takes from the files of the project itself, /undo brings back what no commit has", () => {
  for (const command of some(BY_GIT, 4))
    viewTest(command, async (t) => {
      const zz = await project(t);
      shell(
        zz.root,
        `${INIT}; git config user.name n; git config user.email e@x; git add .; git commit -qm one; git branch other`,
      );
      for (const name of ["a.txt", "sub/c.txt"]) zz.write(name, "not committed\n");
      zz.write("new.txt", "new\n");
      zz.write("x.sh", "#!/bin/sh\ngit checkout .\n");
      fs.chmodSync(join(zz.root, "x.sh"), 0o755);
      const before = treeOf(zz.root);
      const { text } = await zz.call("run_command", { command });
      notDeepEqual(treeOf(zz.root), before, text);
      match(text, /^\[\/undo brings back: .*\]$/m);
      await zz.command("/undo");
      fs.mkdirSync(join(zz.root, "sub/empty"), { recursive: true }); // git has no empty folders
      deepEqual(treeOf(zz.root), before, text);
    });
});

test("lines that do more than change files run where they ran before", async () => {
  const find = programs("/tmp").find;
  const lists = { find, deny: [], except: [], hidden: [], env: {} };
  // biome-ignore format: a table
  const no = ["rsync -a a host:b", "rsync -ae ssh a b", "dd if=a.txt of=/dev/sda", "rm a.txt && npm test", "npm run clean", "./clean.sh", "node -e 1 > a.txt", "rm a.txt; curl x.com", "git rm a.txt", "ls", "find . -exec sh -c 'rm $0' {} \\;"];
  const yes = ["rsync -a --delete a/ b/", "dd if=/dev/zero of=a.txt", "sh -c 'rm a.txt'"];
  for (const line of [...yes, ...no])
    deepEqual(
      [line, changesOnlyFiles(await judgeLine(line, "/tmp", lists))],
      [line, yes.includes(line)],
    );
});

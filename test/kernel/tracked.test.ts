// Where zz does not ask git, what git tracks is listed all the same: its index is read, and nothing
// runs.
import { deepEqual } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { harness } from "../../sdk/testing.ts";
import { needs } from "../support/needs.ts";
import { INIT, shell } from "../support/repository.ts";

const TRACKED = `a.ts § build/deep/er/x.ts § build/x.ts § dist/Größe.ts § src/build/y.ts
  src/ignored/z.ts § target/a b.ts`.split(/ § |\n */);
const OTHERS = "build/made.js dist/made.js ignored/made.js src/new.ts coverage/made.js".split(" ");
const MAKE = `git add -f ${TRACKED.map((name) => `'${name}'`).join(" ")}; git -c user.name=n -c user.email=e@x commit -qm one`;

describe("the list of files without git", () => {
  for (const [version, more] of [
    [2, ""],
    [3, "git update-index --skip-worktree build/x.ts"],
    [4, ""],
  ] as const)
    needs("git")(
      `has what an index of version ${version} tracks, and of built files nothing else`,
      async (t) => {
        const zz = await harness({ own: true }, t);
        for (const name of [...TRACKED, ...OTHERS]) {
          fs.mkdirSync(join(zz.root, name, ".."), { recursive: true });
          fs.writeFileSync(join(zz.root, name), `${name}\n`);
        }
        fs.writeFileSync(join(zz.root, ".gitignore"), "ignored/\n");
        shell(zz.root, `${INIT}; ${MAKE}; git update-index --index-version ${version}; ${more}`);
        // zz asks no git that looks elsewhere
        fs.writeFileSync(join(zz.root, ".git/objects/info/alternates"), "/nowhere\n");
        deepEqual(await zz.ctx.files.list(), [".gitignore", ...TRACKED, "src/new.ts"].sort());
      },
    );

  needs("git")("is used where git would take minutes for the rules of .gitignore", async (t) => {
    const zz = await harness({ own: true, files: { "a.ts": "a", "build/x.ts": "x" } }, t);
    shell(zz.root, INIT);
    deepEqual(await zz.ctx.files.list(), ["a.ts", "build/x.ts"]);
    zz.write(".gitignore", "**/*a*a*a*a*a*b\n");
    deepEqual(await zz.ctx.files.list(), [".gitignore", "a.ts"]);
  });

  for (const [what, index] of [
    ["no index", undefined],
    ["an empty one", ""],
    ["one that is cut off", "DIRC\0\0\0\x02\0\0\0\x09abc"],
    ["one of a version to come", "DIRC\0\0\0\x07\0\0\0\x01"],
    ["one that counts too many", `DIRC\0\0\0\x02\xff\xff\xff\xff${"\0".repeat(300)}`],
  ] as const)
    needs("git")(`of a repository with ${what} is what .gitignore leaves`, async (t) => {
      const zz = await harness({ own: true, files: { "a.ts": "a", "build/x.ts": "x" } }, t);
      shell(zz.root, `${INIT}`);
      fs.mkdirSync(join(zz.root, ".git/objects/info"), { recursive: true });
      fs.writeFileSync(join(zz.root, ".git/objects/info/alternates"), "/nowhere\n");
      if (index !== undefined) fs.writeFileSync(join(zz.root, ".git/index"), index, "latin1");
      deepEqual(await zz.ctx.files.list(), ["a.ts"]);
    });
});

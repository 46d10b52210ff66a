// Readers that would follow links which their line does not name: no such option goes unasked, in any spelling.
import { deepEqual } from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { place, zz } from "../../support/run.ts";

const where = place();
const outside = join(where.home, "..", "outside");

before(() => {
  mkdirSync(outside);
  writeFileSync(join(outside, "hidden-name"), "hidden text\n");
  symlinkSync(outside, join(where.cwd, "link"));
  writeFileSync(join(where.cwd, "a"), "a\n");
});

const LINES = [
  ...[
    "ls -LR",
    "ls -RL",
    "ls -lLR",
    "ls -L -R .",
    "ls -1RLa",
    "ls -H",
    "ls -lHR",
    "ls -R --dereference",
    "ls -R --deref",
  ],
  ...[
    "ls -R --dereference-command-line-symlink-to-dir",
    "ls -R --dereference-com",
    "du -aL",
    "du -aD",
    "du -aH",
    "du -a --dereference",
  ],
  ...[
    "du -a --dereference-args",
    "tree -l",
    "tree -al",
    "grep -R text .",
    "grep -nR text",
    "grep --dereference-recursive text .",
  ],
  ...[
    "egrep -R text .",
    "fgrep -R text .",
    "rg -L text",
    "rg --follow text",
    "rg -nL text",
    "find -L .",
    "find -H .",
    "find . -follow",
  ],
  ...[
    "find -L . -name '*'",
    "ls -LR | head",
    "ls -LR; true",
    "env ls -LR",
    "nice ls -LR",
    "xargs ls -LR < a",
    "timeout 5 ls -LR",
  ],
  ...["bash -c 'ls -LR'", "cd . && ls -LR", "command ls -LR", "ls -R 'link/'", "ls */", "cat link/*"],
];

describe("a line that would follow links", () => {
  for (const sandbox of ["bubblewrap", "off"] as const)
    test(`never goes unasked ${sandbox === "off" ? "without" : "with"} a sandbox`, async () => {
      const config = join(where.home, "..", `${sandbox}.json`);
      writeFileSync(config, JSON.stringify(sandbox === "off" ? { shell: { sandbox } } : {}));
      const input = LINES.map((line) => JSON.stringify(line)).join("\n");
      const { stdout } = await zz(where, ["--config", config, "--judge", "-"], { input });
      const answers = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      deepEqual(
        answers.map(({ command }) => command),
        LINES,
      );
      deepEqual(
        answers.filter(({ way }) => way === "unasked").map(({ command }) => command),
        [],
      );
    });
});

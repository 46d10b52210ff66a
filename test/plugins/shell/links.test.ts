// Readers that would follow links which their line does not name: no such option goes unasked, in
// any spelling.
import { deepEqual } from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { place, zz } from "../../support/run.ts";

const where = place();
const outside = join(where.home, "..", "outside");

before(() => {
  mkdirSync(outside);
  writeFileSync(join(outside, "hidden-name"), "hidden text\n");
  symlinkSync(outside, join(where.cwd, "link"));
  writeFileSync(join(where.cwd, "a"), "a\n");
});

const LINES = `ls -LR § ls -H § ls -R --deref § du -aL § du -aD § tree -al § grep -nR text
  grep --dereference-recursive text . § rg -nL text § find -L . § find . -follow § xargs ls -LR < a
  bash -c 'ls -LR' § ls -R 'link/' § ls */ § cat link/*`.split(/ § |\n */);

for (const sandbox of ["bubblewrap", "off"] as const)
  test(`a line that would follow links never goes unasked ${sandbox === "off" ? "without" : "with"} a sandbox`, async () => {
    const config = join(where.home, "..", `${sandbox}.json`);
    writeFileSync(config, JSON.stringify(sandbox === "off" ? { shell: { sandbox } } : {}));
    const input = LINES.map((line) => JSON.stringify(line)).join("\n");
    const { stdout } = await zz(where, ["--config", config, "--judge", "-"], { input });
    const said = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const ways = said.map(({ command, way }) => [command, way === "unasked"]);
    const asked = LINES.map((line) => [line, false]);
    deepEqual(ways, asked);
  });

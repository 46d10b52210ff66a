// Where hardly a file can be opened, zz says so in a sentence, and nothing fails outside of a turn.
import { doesNotMatch, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { environment, place, WAYS } from "../../support/run.ts";

const [node, program] = WAYS.dist;
const CALLS = [
  ["run_command", { command: "git status" }],
  ["run_command", { command: "make" }],
  ["git_status", {}],
  ["grep", { pattern: "x" }],
] as const;

for (const most of [60, 50, 40, 34, 30, 26, 24])
  test(`with ${most} open files at most`, { skip: process.platform === "win32" }, () => {
    const where = place();
    writeFileSync(join(where.cwd, "a.txt"), "x\n");
    for (const [tool, args] of CALLS) {
      const line = `ulimit -n ${most}; exec "$@"`;
      const call = [node, program, "--call", tool, JSON.stringify(args)];
      const how = { cwd: where.cwd, env: environment(where, {}), encoding: "utf8" } as const;
      const { stdout, stderr, status } = spawnSync("sh", ["-c", line, "sh", ...call], how);
      const said = stdout + stderr;
      match(String(status), /^[0-4]$/, said);
      doesNotMatch(
        said,
        /outside of any turn|Cannot read properties|\bspawn \S* ?E[A-Z]+|\n {4}at /,
        `${most} ${tool}: ${said}`,
      );
    }
  });

// How often a person is asked: every command of the table, run by the real tool in a project where
// it makes sense, while the person who is asked says no.
import { equal, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { delimiter, join } from "node:path";
import { harness } from "../../../../sdk/testing.ts";
import { COMMANDS, furnishShop } from "../../../support/commands.ts";
import { needs } from "../../../support/needs.ts";
import { place, zz } from "../../../support/run.ts";
import { needsView } from "../../../support/view.ts";

const test = needsView("python3", "make");

type Way = "unasked" | "afterwards" | "beforehand";

test("of the commands that models run, few are asked for", { timeout: 30 * 60_000 }, async (t) => {
  const base = fs.realpathSync(fs.mkdtempSync(join(os.tmpdir(), "zz-asks-")));
  const { PATH: own, NODE_TEST_CONTEXT } = process.env;
  delete process.env.NODE_TEST_CONTEXT; // a project's own tests are none of these
  t.after(() => {
    Object.assign(process.env, { PATH: own, ...(NODE_TEST_CONTEXT && { NODE_TEST_CONTEXT }) });
    fs.rmSync(base, { recursive: true, force: true });
  });
  process.env.PATH = [join(base, "bin"), own].join(delimiter);
  const zz = await harness({ own: true }, t);
  furnishShop(zz.root, join(base, "bin"));
  const counts: Record<Way, number> = { unasked: 0, afterwards: 0, beforehand: 0 };
  const all = Object.values(COMMANDS).flat();
  for (const written of all) {
    const command = written.replaceAll("/PROJECT", zz.root);
    const before = zz.questions.length;
    const { refused } = await zz.call("run_command", { command, timeout_ms: 20_000 });
    const asked = zz.questions.slice(before).join("\n");
    ok(asked || !refused, `${command} is denied`);
    const moment = /It ran on a copy of the project/.test(asked) ? "afterwards" : "beforehand";
    counts[asked ? moment : "unasked"]++;
  }
  const told = `${all.length} commands: ${JSON.stringify(counts)}`;
  t.diagnostic(told);
  ok(counts.beforehand / all.length <= 0.1, told);
  ok((counts.beforehand + counts.afterwards) / all.length <= 0.25, told);
});

needs("git")("nor are most of them where there is no sandbox", async (t) => {
  const where = place({}, { shell: { sandbox: "off" } });
  furnishShop(where.cwd, join(where.home, "bin"));
  const all = Object.values(COMMANDS).flat();
  const input = all
    .map((line) => JSON.stringify(line.replaceAll("/PROJECT", where.cwd)))
    .join("\n");
  const { stdout } = await zz(where, ["--judge", "-"], { input });
  const ways = Array.from(stdout.trimEnd().split("\n"), (line) => JSON.parse(line).way as string);
  const asked = ways.filter((way) => way !== "unasked").length;
  const told = `${asked} of ${all.length} are asked for`;
  t.diagnostic(told);
  equal(ways.length, all.length);
  ok(asked / all.length <= 0.6, told);
});

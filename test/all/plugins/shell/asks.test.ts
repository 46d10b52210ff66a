// How often a person is asked: every command of the table, run by the real tool in a project where it makes sense, while whoever
// is asked says no. SHOW=1 prints which way each of them went.
import { equal, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { delimiter, join } from "node:path";
import { harness } from "../../../../sdk/testing.ts";
import { COMMANDS, furnishShop } from "../../../support/commands.ts";
import { needsView } from "../../../support/view.ts";

const viewTest = needsView("python3", "make");

type Way = "unasked" | "afterwards" | "beforehand" | "denied";

viewTest("of the commands that models run, few are asked for", { timeout: 30 * 60_000 }, async (t) => {
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
  const counts: Record<Way, number> = { unasked: 0, afterwards: 0, beforehand: 0, denied: 0 };
  let failed = 0;
  for (const [kind, commands] of Object.entries(COMMANDS).filter(([kind]) => kind.includes(process.env.ONLY ?? "")))
    for (const written of commands) {
      const command = written.replaceAll("/PROJECT", zz.root);
      const before = zz.questions.length;
      const { text, refused, failed: wrong } = await zz.call("run_command", { command, timeout_ms: 20_000 });
      const asked = zz.questions.slice(before).join("\n");
      const way: Way = !asked
        ? refused
          ? "denied"
          : "unasked"
        : /It ran on a copy of the project/.test(asked)
          ? "afterwards"
          : "beforehand";
      counts[way]++;
      if (wrong && !refused) failed++;
      if (process.env.SHOW) console.log(`${way.padEnd(10)} ${kind}: ${command.replaceAll("\n", "␊")}`);
      if (process.env.SHOW && way === "beforehand") console.log(`           ${asked.split("\n")[1]?.slice(0, 150)}`);
      if (process.env.SHOW && wrong && !refused) console.log(`           ${text.slice(0, 400).replaceAll("\n", "␊")}`);
    }
  const all = Object.values(counts).reduce((sum, one) => sum + one, 0);
  const share = (number: number) => `${((100 * number) / all).toFixed(1)} %`;
  const told = Object.entries(counts).map(([way, number]) => `${way} ${number} (${share(number)})`);
  t.diagnostic(`${all} commands: ${told.join(", ")}; ${failed} failed`);
  if (process.env.SHOW) console.log(told.join(", "), { all, failed });
  ok(all >= 100, `${all} commands`);
  equal(counts.denied, 0);
  ok(counts.beforehand / all <= 0.1, `asked beforehand: ${share(counts.beforehand)}`);
  ok(
    (counts.beforehand + counts.afterwards) / all <= 0.25,
    `asked in all: ${share(counts.beforehand + counts.afterwards)}`,
  );
});

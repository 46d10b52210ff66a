// One process checks the plugins of all instances: it starts with the first check, and ends with the last instance.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Ctx, Programs } from "../../../kernel/contract.ts";
import { openChecker } from "../../../plugins/writing/checker.ts";
import { place } from "../../support/run.ts";
import { kernel } from "../../support/script.ts";

test("instances share the process that checks, which ends with the last of them", async () => {
  const { cwd: root, home } = place();
  mkdirSync(home);
  const file = join(root, "a.ts");
  writeFileSync(file, 'import type { Zz } from "zz";\nexport default (zz: Zz) => zz.tol({});\n');
  const ctx: Ctx = (await kernel.createZz({ root, home, save: false })).ctx();
  const started: ChildProcess[] = [];
  const fork: Programs["fork"] = (...how) => {
    const child = ctx.programs.fork(...how);
    started.push(child);
    return child;
  };
  const [one, other] = [openChecker({ ...ctx.programs, fork }), openChecker({ ...ctx.programs, fork })];
  const problemsBy = async (checker: typeof one) => (await checker.check(file, ctx)).problems;
  const [first, second] = await Promise.all([problemsBy(one), problemsBy(other)]);
  match(first[0]!.message, /'tol'/);
  deepEqual(first, second);

  one.close();
  deepEqual(await problemsBy(other), first);
  equal(started.length, 1);

  const refused = rejects(problemsBy(other), /^Error: Cannot check/);
  const ended = new Promise((done) => started[0]!.once("close", done));
  other.close();
  await ended;
  await refused;

  const next = openChecker({ ...ctx.programs, fork });
  deepEqual(await problemsBy(next), first);
  equal(started.length, 2);
  next.close();
});

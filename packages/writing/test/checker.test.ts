// One process checks the plugins of all instances: it starts with the first check, and ends with
// the last instance, or when it has nothing to do. Another program stands in for the compiler, and
// says who it is.
import { deepEqual, equal, rejects } from "node:assert/strict";
import { type ChildProcess, fork as start } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Ctx, Programs } from "../../../kernel/contract.ts";
import { standingClock } from "../../../sdk/testing.ts";
import { place } from "../../../test/support/run.ts";
import { openChecker } from "../checker.ts";

const COMPILER = `process.on("message", ({ id, file }) => {
  if (file !== "hangs.ts") process.send({ id, checked: { problems: [], unread: [file + " by " + process.pid], untyped: [] } });
});
process.on("disconnect", () => process.exit());`;

function setting() {
  const file = join(place().cwd, "compiler.mjs");
  writeFileSync(file, COMPILER);
  const started: ChildProcess[] = [];
  const fork = () => {
    const child = start(file, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
    started.push(child);
    return child;
  };
  const clock = standingClock();
  const open = () => openChecker({ fork } as unknown as Programs, clock);
  after(() => started.forEach((child) => void child.kill("SIGKILL")));
  return { started, clock, open };
}
const by = { permissions: { compiler: () => ({}) } } as Pick<Ctx, "permissions">;
const unread = async (checker: ReturnType<typeof openChecker>, file = "a.ts") =>
  (await checker.check(file, by)).unread;

test("instances share the process that checks, which ends with the last of them", async () => {
  const { started, open } = setting();
  const [one, other] = [open(), open()];
  const [first, second] = await Promise.all([unread(one), unread(other)]);
  deepEqual(first, [`a.ts by ${started[0]!.pid}`]);
  deepEqual(first, second);
  one.close();
  deepEqual(await unread(other), first);
  equal(started.length, 1);

  const refused = rejects(
    unread(other),
    /^Error: Cannot check: the process for it ended\. Try again\./,
  );
  const ended = once(started[0]!, "close");
  other.close();
  await ended;
  await refused;

  const next = open();
  deepEqual(await unread(next), [`a.ts by ${started[1]!.pid}`]);
  next.close();
});

test("a check that takes too long ends the process, and so does half a minute without one", async () => {
  const { started, clock, open } = setting();
  const checker = open();
  const late = rejects(
    unread(checker, "hangs.ts"),
    /^Error: Cannot check 'hangs\.ts': it took longer than 60 s\./,
  );
  await clock.waits(60_000);
  await clock.pass(60_000);
  await late;
  await unread(checker);
  const ended = once(started[1]!, "close");
  await clock.pass(29_999);
  await unread(checker); // begins the half minute anew
  await clock.pass(29_999);
  equal(started[1]!.signalCode, null);
  await clock.pass(1);
  await ended;
  deepEqual(await unread(checker), [`a.ts by ${started[2]!.pid}`]);
  checker.close();
});

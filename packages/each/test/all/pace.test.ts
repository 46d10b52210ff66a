// One pace for all jobs of a run: however the answers come, a server never gets more than it takes.
import { test } from "node:test";
import { neverTooFast, SEEDS } from "../../../../test/support/paced.ts";
import { paceOf } from "../../pace.ts";

for (const chances of SEEDS)
  test(`jobs together never ask faster than the server takes, with chances ${chances.join(" of ")}`, () =>
    neverTooFast(paceOf, chances));

// What the code tools say of zz's own code.
import { match, ok } from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { countTokens } from "../../../packages/symbols/rank.ts";
import { place, ROOT } from "../../support/run.ts";

/** Of the plugins and the tests just one each: packages/symbols/test/all/references.test.ts asks
 * the same of the whole folder. */
const OWN = `package.json tsconfig.json zz.ts kernel sdk plugins/undo.ts test/support/script.ts
  test/support/script.ts`.split(/\s+/);
test("in zz's own code: who calls collectReply, the references of runTurn, a map of 1,000 tokens", async () => {
  const { home, cwd } = place();
  for (const name of OWN) cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  const { embed } = await import("../../../zz.ts");
  // one compiler, which is warm for the second question
  await using own = await embed({ home, root: cwd, model: "offline" });
  match(
    await own.ask("who calls collectReply?"),
    /^kernel\/conversation\/send-request\.ts:\d+: collectReply\(provider\.chat/m,
  );
  const { text: used } = await own.call("find_references", { symbol: "runTurn" });
  match(used, /^zz\.ts:\d+: export async function runTurn\(.*\[definition\]$/m);
  match(
    used,
    /^zz\.ts:\d+: return runScript\(argv, io, stop, \{ prepare, runTurn, sendQueued \}\);$/m,
  );
  const about = { query: "undo after a restart", tokens: 1_000 };
  const { text: map } = await own.call("repo_map", about);
  match(map, /^plugins\/undo\.ts:\d+: /m);
  ok(countTokens(map) <= 1_000, `${countTokens(map)}`);
});

// What zz must know of its own code, asked of the whole folder or of a part of it.
import { match, ok } from "node:assert/strict";
import { countTokens } from "../../packages/symbols/rank.ts";

export async function knowsOwnCode(folders: { home: string; root: string }): Promise<void> {
  const { embed } = await import("../../zz.ts");
  // one compiler, which is warm for the second question
  await using own = await embed({ ...folders, model: "offline" });
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
  const { text: map } = await own.call("repo_map", {
    query: "undo after a restart",
    tokens: 1_000,
  });
  match(map, /^plugins\/undo\.ts:\d+: /m);
  ok(countTokens(map) <= 1_000, `${countTokens(map)}`);
}

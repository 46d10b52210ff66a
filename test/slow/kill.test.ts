// The long form of test/e2e/kill-turn.test.ts, kill-write.test.ts and kill-effects.test.ts (a quarter as many): 200 moments each.
process.env.ZZ_KILLS ??= "200";
await import("../e2e/kill-turn.test.ts");
await import("../e2e/kill-write.test.ts");
await import("../e2e/kill-effects.test.ts");

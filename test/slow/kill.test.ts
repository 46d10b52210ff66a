// The long form of test/e2e/kill-turn.test.ts, kill-write.test.ts and kill-effects.test.ts (a quarter as many): 200 moments each, or 12.
process.env.ZZ_KILLS ??= process.env.ZZ_SHORT ? "12" : "200";
await import("../e2e/kill-turn.test.ts");
await import("../e2e/kill-write.test.ts");
await import("../e2e/kill-effects.test.ts");

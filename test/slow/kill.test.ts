// The long form of test/e2e/kill-turn.test.ts and kill-write.test.ts: 200 moments each, or 30.
process.env.ZZ_KILLS ??= process.env.ZZ_SHORT ? "12" : "200";
await import("../e2e/kill-turn.test.ts");
await import("../e2e/kill-write.test.ts");

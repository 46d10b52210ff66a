// The long form of test/e2e/kill-turn.test.ts and kill-write.test.ts: 200 moments each, or 60.
process.env.ZZ_KILLS ??= process.env.ZZ_SHORT ? "60" : "200";
await import("../e2e/kill-turn.test.ts");
await import("../e2e/kill-write.test.ts");

// The long form of test/e2e/kill.test.ts: 200 moments, or 60.
process.env.ZZ_KILLS ??= process.env.ZZ_SHORT ? "60" : "200";
await import("../e2e/kill.test.ts");

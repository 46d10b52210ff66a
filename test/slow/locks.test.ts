// The long form of the race for a lock in test/kernel/sessions.test.ts.
process.env.ZZ_RACES ??= "500";
await import("../kernel/sessions.test.ts");

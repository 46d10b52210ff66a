// Models by task: which model a server is asked for.
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { say } from "../support/fake/openai.ts";
import { having } from "../support/having.ts";
import { repl } from "../support/repl.ts";
import { zz } from "../support/run.ts";

test("A prompt file that names a task is answered by its model, and the next message by the conversation's", async (t) => {
  const where = having({
    "~/zz.config.json": { models: { code: "openai/coder", title: "openai/titler" } },
  });
  const zz = await repl(t, {
    where,
    script: [say("Reviewed."), say("“Price fix.”"), say("Good.")],
  });
  zz.type("/review src\r");
  await zz.sees("Reviewed.");
  await zz.asked(2);
  match(zz.screen(), /openai\/coder answers this: models\.code in the settings\./);
  await zz.say("hi");
  equal(zz.fake.requests.map(({ body }) => body.model).join(), "coder,titler,m");
  await zz.say("/sessions", /Price fix(?!\.)/);
  await zz.say("/status", /openai\/m; for code openai\/coder; for title[\s\S]*openai\/titler/);
  await zz.leave();
});

test("/model tells which models answer for tasks, also for one that only a plugin knows", async () => {
  const where = having({
    "~/zz.config.json": { models: { summary: "openai/small", plan: "openai/large" } },
  });
  const { stdout, stderr } = await zz(where, ["-m", "offline", "--once", "/model"]);
  match(stdout + stderr, /For other tasks: summary openai\/small, plan openai\/large\./);
  equal(/Unknown setting/.test(stderr), false);
});

// How much the model is to think, by what a server received.
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { say } from "../support/fake/openai.ts";
import { asks, having } from "../support/having.ts";
import { harness } from "../support/script.ts";

async function asked(args: string[], settings: object = {}) {
  const ran = await asks(having({ "~/zz.config.json": settings }), [say("x")], [...args, "hi"]);
  const [body] = ran.sent;
  return { ...ran, effort: body?.reasoning_effort ?? body?.reasoning?.effort };
}

test("nothing is said of it unless the person does: by the setting, and by --effort before it", async () => {
  equal((await asked([])).effort, undefined);
  equal((await asked([], { effort: { level: "low" } })).effort, "low");
  equal((await asked(["--effort", "high"], { effort: { level: "low" } })).effort, "high");
  const { code, stderr } = await asked(["--effort", "hihg"]);
  equal(code, 2);
  match(stderr, /^Cannot use effort 'hihg': .*Did you mean 'high'\?/m);
});

test("/effort: from now on, in this conversation, also after a restart", async (t) => {
  const zz = await harness(
    { plugins: [new URL("../../plugins/effort.ts", import.meta.url)], script: ["x"] },
    t,
  );
  deepEqual(await zz.command("/effort"), ["Effort: as the model's provider has it."]);
  deepEqual(await zz.command("/effort high"), ["Effort: high."]);
  await zz.ask("hi");
  await zz.restart();
  await zz.ask("again");
  const efforts = zz.requests.map(({ effort }) => effort);
  deepEqual(efforts, ["high", "high"]);
});

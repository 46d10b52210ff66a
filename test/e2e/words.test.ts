// The words with which zz tells a model what its tools take.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { place, zz as run } from "../support/run.ts";

test("Every parameter of zz's own tools says what it is", async () => {
  const args = ["--dry-run", "-m", "openai/m", "--key", "x", "hi"];
  const { stdout } = await run(place({}, { tools: { offer: "all" } }), args);
  const { tools } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  const silent = tools.flatMap(({ function: { name, parameters } }: any) =>
    Object.entries<any>(parameters.properties).flatMap(([key, { description }]) =>
      description ? [] : `${name}.${key}`,
    ),
  );
  ok(tools.length > 30, stdout);
  deepEqual(silent, []);
});

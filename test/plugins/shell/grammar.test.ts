// Bash's grammar in zz's own process.
import { deepEqual, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../support/run.ts";

test("V8's optimizer never compiles it, which would take 500 MB after some ten commands", () => {
  const grammar = pathToFileURL(join(ROOT, "plugins/shell/judge/bash-grammar.ts")).href;
  const script = `const { makeParser } = await import(${JSON.stringify(grammar)});
    const parser = await makeParser();
    for (let i = 0; i < 400; i++) {
      parser.parse("for i in a b; do echo $i | head -3; done").delete();
      await new Promise(setImmediate);
    }`;
  const args = ["--trace-wasm-compilation-times", "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const compiled = stdout.split("\n").filter((line) => line.startsWith("Compiled function"));
  ok(compiled.length, `${stdout}${stderr}`);
  deepEqual(
    compiled.filter((line) => !line.includes("Liftoff")),
    [],
  );
});

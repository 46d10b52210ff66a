// What `npm pack` puts into a package is all that a plugin's test takes.
import { equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { place, ROOT } from "../../support/run.ts";

const FILES = {
  "lamp.ts": `import type { Zz } from "zz";\nimport { z } from "zod";\nexport default (zz: Zz) => zz.tool({ name: "lamp", description: "d", params: z.object({}), run: () => "is on" });\n`,
  "lamp.test.ts": `import { equal } from "node:assert/strict";
import { test } from "node:test";
import { harness } from "zz/test";

test("the lamp is on", async (t) => {
  const zz = await harness({ plugins: [import.meta.resolve("./lamp.ts")], script: [{ call: ["lamp"] }] }, t);
  equal((await zz.ask("Is it on?")).text, "is on");
});
`,
};

test("A plugin's test runs beside a packed zz", () => {
  const pack = ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"];
  const told = JSON.parse(execFileSync("npm", pack, { cwd: ROOT, encoding: "utf8" }));
  const packed: string[] = Object.values<any>(told)[0].files.map(
    ({ path }: { path: string }) => path,
  );
  for (const file of ["dist/test.js", "dist/types/sdk/testing.d.ts"])
    ok(packed.includes(file), file);
  const { cwd } = place();
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text);
  for (const file of packed) {
    mkdirSync(dirname(join(cwd, "node_modules/zz", file)), { recursive: true });
    cpSync(join(ROOT, file), join(cwd, "node_modules/zz", file));
  }
  for (const name of ["zod", "typebox"])
    symlinkSync(join(ROOT, "node_modules", name), join(cwd, "node_modules", name));
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...env } = process.env;
  const ran = spawnSync(process.execPath, ["--test", "lamp.test.ts"], {
    cwd,
    env,
    encoding: "utf8",
  });
  equal(ran.status, 0, ran.stdout + ran.stderr);
  match(ran.stdout, /pass 1\n/);
});

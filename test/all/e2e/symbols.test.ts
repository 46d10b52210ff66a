// What the code tools say of zz's own code.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { knowsOwnCode } from "../../support/own-code.ts";
import { place, ROOT } from "../../support/run.ts";

/** Of the plugins and the tests just one each: packages/symbols/test/all/references.test.ts asks
 * the same of the whole folder. */
const OWN = `package.json tsconfig.json zz.ts kernel sdk plugins/undo.ts test/support/script.ts
  test/support/script.ts`.split(/\s+/);
test("in zz's own code: who calls collectReply, the references of runTurn, a map of 1,000 tokens", async () => {
  const { home, cwd } = place();
  for (const name of OWN) cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  await knowsOwnCode({ home, root: cwd });
});

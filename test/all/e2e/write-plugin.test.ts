// Plugins that are added while zz runs: the model's, asked for once and used at once; and what the
// type check reports.
import { equal, match } from "node:assert/strict";
import { mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { repl } from "../../support/repl.ts";
import { KEY } from "../../support/terminal.ts";

const lamp = (rest: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({ name: "lamp", description: "The lamp.", ${rest} });
`;

test("A plugin whose types do not fit is loaded all the same, and told once for each version of it", async (t) => {
  const { where, hit, sees, raw, leave, say } = await repl(t, { cols: 120, rows: 40 });
  const save = (text: string) => {
    const [made, file] = [join(where.cwd, "lamp.ts"), join(where.home, "plugins", "lamp.ts")];
    mkdirSync(join(where.home, "plugins"), { recursive: true });
    writeFileSync(made, text);
    utimesSync(made, 1_000_000_000, 1_000_000_000);
    renameSync(made, file);
  };
  save(lamp("run: () => 1"));
  await say("one", "Plugin 'lamp' loaded in");
  const shown = await sees("its types do not fit"); // they are checked at low priority
  match(
    shown,
    /lamp\.ts:2:\d+: Type 'number' is not assignable to type 'Awaitable<string \| Result>'/,
  );
  save(lamp("run: () => 1")); // the same version again
  await sees("Plugin 'lamp' reloaded in");
  await hit(`/plugin check lamp${KEY.enter}`, "1 error in 'lamp'.");
  equal(raw().split("its types do not fit").length, 2, "told once");
  // only untyped
  save(`export default (zz) => zz.tool({ name: "lamp", description: "d", run: () => "on" });\n`);
  await say("two", /reloaded in[\s\S]*Plugin 'lamp' reloaded in/);
  await hit(`/plugin check lamp${KEY.enter}`, "Parameter 'zz' implicitly has an 'any' type.");
  equal(raw().split("its types do not fit").length, 2);
  await leave();
});

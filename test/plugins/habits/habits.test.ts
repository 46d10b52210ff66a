// Calls in the shapes of other programs, through the turn loop: each is shown, judged and saved as zz's own, and does what it says.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Asked, harness } from "../../../sdk/testing.ts";
import "../../support/ripgrep.ts";
import { CALLS, FILES, READ, type Row } from "./calls.ts";

describe("Calls as other programs' models make them", () => {
  for (const [program, rows] of Map.groupBy(CALLS, ([program]) => program))
    test(`work here: ${program}`, async (t) => {
      let next: Asked[][] = [];
      const script = () => ({ calls: next.shift() ?? [], text: next.length ? "" : "done" });
      const it = await harness({ own: true, files: FILES, script: [script], answer: "yes" });
      t.after(() => it.close());
      for (const [, tool, given, expected] of rows)
        await t.test(`${tool} ${JSON.stringify(given)?.slice(0, 120)}`, async () => {
          for (const [name, content] of Object.entries({ "new.txt": null, ...FILES }))
            if (content === null) rmSync(join(it.root, name), { force: true });
            else it.write(name, content);
          const args = JSON.parse(JSON.stringify(given).replaceAll("ROOT", it.root));
          next = [READ.map((path) => ["read_file", { path }]), [[tool, args]]];
          const { results, calls } = await it.ask("go");
          await looksRight(expected, calls.slice(READ.length), results.slice(READ.length));
          for (const [name, content] of Object.entries(expected.files ?? {}))
            if (content === null) ok(!existsSync(join(it.root, name)), `${name} is there`);
            else equal(it.read(name), content, name);
        });
    });
});

type Got = { name: string; args: unknown }[];
async function looksRight(
  { to, says = "", not, failed }: Row[3],
  calls: Got,
  results: { text: string; failed?: boolean }[],
): Promise<void> {
  const text = results.map((one) => one.text).join("\n");
  const about = `${JSON.stringify(calls)}\n${text}`;
  deepEqual(calls.map(({ name }) => name).join(" "), to, about);
  equal(results.some((one) => one.failed) ? true : undefined, failed, about);
  if (typeof says === "string") ok(text.includes(says), about);
  else match(text, says, about);
  if (not) ok(!not.test(text), about);
}

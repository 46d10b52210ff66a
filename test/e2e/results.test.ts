// Results of calls: each names its call, in call order; a command's output is shown live, and in full afterwards.
import { doesNotMatch, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const SIZES = [
  [80, 24],
  [40, 15],
] as const;
const run = (command: string) => call(["run_command", { command }]);

for (const [cols, rows] of SIZES)
  test(`At ${cols}×${rows} a result names its file or its command, and what came of it`, async (t) => {
    const where = place();
    mkdirSync(join(where.cwd, "src"));
    writeFileSync(join(where.cwd, "src", "a.ts"), "one\ntwo\nthree\n");
    const script = [
      call(["read_file", { path: "src/a.ts" }]),
      run("printf 'a\\nb\\n'"),
      run("sh -c 'exit 3'"),
      call(["read_file", { path: "src/of/the/shop/prices.ts" }]),
      say("Done."),
    ];
    const zz = await repl(t, { where, cols, rows, script, args: ["--allow-run"] });
    zz.type(`go${KEY.enter}`);
    const shown = await zz.sees("Done.");
    match(shown, /^✓ read_file src\/a\.ts · 3 lines · \d\.\d s$/m);
    match(shown, /^✓ run_command printf.* · 2 lines · \d\.\d s$/m);
    match(shown, /^✗ run_command sh .*· exit 3/m);
    const why = /✗ read_file src\/\S+ · (Cannot read [^✗]*?) · \d\.\d s/.exec(shown.replace(/\s+/g, " "))?.[1];
    match(`${why}`, /^Cannot read 'src\/of\/the\/shop\/prices\.ts': no such file.*\.$/, shown); // not cut
    for (const row of shown.split("\n")) ok(row.length <= cols, row);
  });

const PARCEL = `export default (zz) => zz.tool({ name: "send_parcel", description: "sends", params: { to: "string", grams: "number" },
  also: { grams: ["weight"] },
  describe: ({ to, grams }) => \`\${grams} g to\\n\${to.toUpperCase()}\\x1b[31m\\u202e\`,
  run: () => "sent" });`;

for (const [cols, rows] of SIZES)
  test(`At ${cols}×${rows} a call is told in its tool's own words, cleaned and cut, and else by its arguments`, async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "own.ts"), PARCEL);
    const script = [
      call(["send_parcel", { to: "Bo", weight: 20 }]),
      call(["send_parcel", { to: "Anna ".repeat(30), grams: 5 }]),
      call(["send_parcel", { grams: 5 }]),
      say("Done."),
    ];
    const zz = await repl(t, { where, cols, rows, script, args: ["--plugin", join(where.cwd, "own.ts")] });
    zz.type(`go${KEY.enter}`);
    const shown = await zz.sees("Done.");
    match(shown, /^■ send_parcel 20 g to BO ?\[?3?1?m?$/m);
    match(shown, /^✓ send_parcel 20 g to B(O.*|…) · sent · \d\.\d s$/m);
    match(shown, /^■ send_parcel 5 g to ANNA ANNA.*…$/m);
    match(shown, /^✗ send_parcel 5 · .*/m);
    match(shown, /^■ send_parcel 5$/m);
    for (const row of shown.split("\n")) ok(row.length <= cols, row);
  });

const WHY = "no output · Nothing of it was kept: Cannot write 'a.ts': the disk is full. Make room, and run it again.";
const FULL = `export default (zz) => zz.tool({ name: "fill", description: "fills", params: { with: "string" },
  run: () => ({ text: "one\\ntwo", failed: true, data: {} }), render: () => ${JSON.stringify(WHY)} });`;

for (const [cols, rows] of SIZES)
  test(`At ${cols}×${rows} what a tool itself shows of a failure is shown whole`, async (t) => {
    const where = place();
    writeFileSync(join(where.cwd, "own.ts"), FULL);
    const script = [call(["fill", { with: "sand ".repeat(30) }]), say("Done.")];
    const zz = await repl(t, { where, cols, rows, script, args: ["--plugin", join(where.cwd, "own.ts")] });
    zz.type(`go${KEY.enter}`);
    const shown = await zz.sees("Done.");
    ok(shown.replace(/\s+/g, " ").includes(WHY), shown);
    for (const row of shown.split("\n")) ok(row.length <= cols, row);
  });

const SLOW = `export default (zz) => zz.tool({ name: "wait", description: "waits", params: { ms: "number" },
  needs: () => ({ read: ["."] }),
  async run({ ms }) { await new Promise((soon) => setTimeout(soon, ms)); return "waited " + ms; } });`;

test("Results are shown in call order, though the first ends last", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "own.ts"), SLOW);
  const script = [call(["wait", { ms: 600 }], ["wait", { ms: 1 }], ["wait", { ms: 300 }]), say("Done.")];
  const zz = await repl(t, { where, script, args: ["--plugin", join(where.cwd, "own.ts")] });
  zz.type(`go${KEY.enter}`);
  match(await zz.sees("Done."), /✓ wait 600 · .*\n✓ wait 1 · .*\n✓ wait 300 · .*\nDone\./);
});

test("A call's time and a turn's are without the person's own", async (t) => {
  const zz = await repl(t, { script: [run("touch made"), say("Done.")] });
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(6_000);
  zz.type("y");
  await zz.sees("Done.");
  const shown = await zz.sees(/^(\d+\.\d) s · \d+ tokens in/m);
  const [, ofCall] = /✓ run_command .* · (\d+\.\d) s$/m.exec(shown)!;
  const [, ofTurn] = /^(\d+\.\d) s · \d+ tokens in/m.exec(shown)!;
  const [, ofAll] = /\[exit code 0 · (\d+\.\d) s\]/.exec(zz.fake.requests.at(-1)!.body.messages.at(-1).content)!;
  ok(Number(ofCall) - Number(ofAll) < 6, `${ofCall} of a call with ${ofAll} of its own`);
  ok(Number(ofTurn) - Number(ofCall) < 6, `${ofTurn} of a turn`);
});

for (const [cols, rows] of SIZES)
  test(`At ${cols}×${rows} the last lines of a command are seen while it runs, and are gone afterwards`, async (t) => {
    const script = [run("for i in 1 2 3 4 5 6; do echo out-$i; done; sleep 2; echo over"), say("Done.")];
    const zz = await repl(t, { cols, rows, script, args: ["--allow-run"] });
    zz.type(`go${KEY.enter}`);
    await zz.sees(/run_command · \d\.\d s\n {2}out-3\n {2}out-4\n {2}out-5\n {2}out-6$/);
    const after = await zz.sees("Done.");
    doesNotMatch(after, /^ {2}out-/m);
    doesNotMatch(after, /out-1\n/);
  });

test("/show and Ctrl+O show all that a call gave, page by page", async (t) => {
  const script = [run("seq -f row-%g 60; echo the end"), call(["list_dir", {}]), say("Done.")];
  const where = place();
  writeFileSync(join(where.cwd, "a.txt"), "x");
  const zz = await repl(t, { where, rows: 15, cols: 40, script, args: ["--allow-run"] });
  await zz.say("/show", /Cannot show a result: no tool was called/);
  await zz.say("go", /Done\.[\s\S]*›\s*$/);
  zz.type("\x0f");
  await zz.sees(/■ list_dir[\s\S]*a\.txt[\s\S]*›\s*$/);
  zz.type(`/show 2${KEY.enter}`);
  await zz.sees(/■ run_command seq[\s\S]*row-10\n[\s\S]*─ 14\//);
  await sleep(300);
  for (let left = 40; left && !zz.screen().includes("Enter goes back"); left--) {
    zz.type(" ");
    await sleep(400); // a key that comes too early is dropped
  }
  for (let i = 1; i <= 60; i++) ok(zz.screen().includes(`\nrow-${i}\n`), `row-${i}`);
  await sleep(500);
  zz.type(KEY.enter);
  await zz.sees(/Enter goes back \n.*›\s*$/);
  await zz.say("/show 9", /Cannot show '9': say a number from 1\s+\(the\s+last\)\s+to\s+2\./);
});

test("/show has the whole of an output that was too long for the model", async (t) => {
  const zz = await repl(t, {
    script: [run("seq -f 'a rather long row %g' 5000"), say("Done.")],
    args: ["--allow-run"],
  });
  await zz.say("go", /Done\.[\s\S]*›\s*$/);
  ok(!zz.fake.requests.at(-1)!.body.messages.at(-1).content.includes("row 2500\n"));
  zz.type(`/show${KEY.enter}`);
  await zz.sees(/line 23 of 5\d\d\d/);
  match(zz.screen(), /✓ run_command .* · 5000 lines/);
  await sleep(300);
  for (let left = 20; left && !/›\s*$/.test(zz.screen()); left--) {
    zz.type("\x1b");
    await sleep(400);
  }
  await zz.sees(/›\s*$/);
});

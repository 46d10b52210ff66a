// Results of calls: each names its call, in call order; a command's output is shown live, and in
// full afterwards.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { call, say } from "../support/fake/openai.ts";
import { nobodyTypes, pressKey, type ReplOptions, repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const run = (command: string) => call(["run_command", { command }]);
const WHY =
  "no output · Nothing of it was kept: Cannot write 'a.ts': the disk is full. Make room, and run it again.";
const TOOLS = `export default (zz) => {
  zz.tool({ name: "send_parcel", description: "sends", params: { to: "string", grams: "number" }, also: { grams: ["weight"] },
    describe: ({ to, grams }) => \`\${grams} g to\\n\${to.toUpperCase()}\\x1b[31m\\u202e\`, run: () => "sent" });
  zz.tool({ name: "fill", description: "fills", params: { with: "string" },
    run: () => ({ text: "one\\ntwo", failed: true, data: {} }), render: () => ${JSON.stringify(WHY)} });
  zz.tool({ name: "wait", description: "waits", params: { ms: "number" }, needs: () => ({ read: ["."] }),
    async run({ ms }, { io }) { await io.clock.sleep(ms); return "waited " + ms; } });
};`;

function open(t: TestContext, { args = [], ...options }: ReplOptions) {
  const where = place({ "src/a.ts": "one\ntwo\nthree\n", "own.ts": TOOLS });
  return repl(t, { where, args: ["--plugin", "own.ts", ...args], ...options });
}

test("At 40×15 a result names its file, its command or its tool's own words, and what came of it, cleaned and cut", async (t) => {
  const script = [
    call(["read_file", { path: "src/a.ts" }]),
    run("printf 'a\\nb\\n'"),
    run("sh -c 'exit 3'"),
    call(["read_file", { path: "src/of/the/shop/prices.ts" }]),
    call(["send_parcel", { to: "Bo", weight: 20 }]),
    call(["send_parcel", { to: "Anna ".repeat(30), grams: 5 }]),
    call(["send_parcel", { grams: 5 }]),
    call(["fill", { with: "sand ".repeat(30) }]),
    say("Done."),
  ];
  const zz = await open(t, { cols: 40, rows: 15, script, args: ["--allow-run"] });
  const shown = await zz.say("go", "Done.");
  for (const row of [
    /^✓ read_file src\/a\.ts · 3 lines/m,
    /^✓ run_command printf.* · 2 lines/m,
    /^✗ run_command sh .*· exit 3/m,
    /^✓ send_parcel 20 g to B(O.*|…) · sent/m,
    /^✗ send_parcel 5 · .*/m,
  ])
    match(shown, row);
  const why = /✗ read_file src\/\S+ · (Cannot read [^✗✓]*?) ✓/.exec(
    shown.replace(/\s+/g, " "),
  )?.[1];
  // not cut
  match(`${why}`, /^Cannot read 'src\/of\/the\/shop\/prices\.ts': no such file.*\.$/, shown);
  ok(shown.replace(/\s+/g, " ").includes(WHY), shown);
  for (const row of shown.split("\n")) ok(row.length <= 40, row);
});

test("Results are shown in call order, though the first ends last", async (t) => {
  const clock = standingClock();
  const script = [
    call(["wait", { ms: 600 }], ["wait", { ms: 1 }], ["wait", { ms: 300 }]),
    say("Done."),
  ];
  const zz = await open(t, { script, clock });
  zz.type(`go${KEY.enter}`);
  for (const ms of [1, 300, 600]) await clock.waits(ms);
  await clock.pass(600);
  match(await zz.sees("Done."), /✓ wait 600.*\n✓ wait 1.*\n✓ wait 300.*\nDone\./);
});

test("A call's time and a turn's are without the person's own", async (t) => {
  const clock = standingClock();
  const zz = await open(t, { script: [run("touch made"), say("Done.")], clock });
  zz.type(`go${KEY.enter}`);
  await nobodyTypes(clock);
  await zz.sees("Allow?");
  await clock.pass(6_000);
  await pressKey(clock, zz, "y");
  match(await zz.sees(/tokens in/), /✓ run_command [^·]* · [^·]*\nDone\.\n\d+ tokens in/);
});

test("The last lines of a command are seen while it runs, and are gone afterwards", async (t) => {
  const loop = "for i in 1 2 3 4 5 6; do echo out-$i; done; until [ -e over ]; do sleep 0.01; done";
  const script = [run(loop), say("Done.")];
  const zz = await open(t, { cols: 40, rows: 15, script, args: ["--allow-run"] });
  await zz.say("go", /run_command( · \d+\.\d s)?\n {2}out-3\n {2}out-4\n {2}out-5\n {2}out-6$/);
  writeFileSync(join(zz.where.cwd, "over"), "");
  doesNotMatch(await zz.sees("Done."), /^ {2}out-|out-1\n/m);
});

test("/show and Ctrl+O show all that a call gave, page by page", async (t) => {
  const clock = standingClock();
  const script = [run("seq -f row-%g 60; echo the end"), call(["list_dir", {}]), say("Done.")];
  const zz = await open(t, { rows: 15, cols: 40, script, args: ["--allow-run"], clock });
  await zz.say("/show", /Cannot show a result: no tool was called/);
  await zz.say("go", /Done\.[\s\S]*›\s*$/);
  await zz.hit("\x0f", /■ list_dir[\s\S]*own\.ts[\s\S]*›\s*$/);
  zz.type(`/show 2${KEY.enter}`);
  await nobodyTypes(clock);
  await zz.sees(/■ run_command seq[\s\S]*row-10\n[\s\S]*─ 12\/64/);
  for (;;) {
    const page = /─ (\d+)\/64 /.exec(zz.screen())?.[1];
    if (!page) break;
    await nobodyTypes(clock);
    zz.type(" ");
    await zz.sees(new RegExp(`─ (?!${page}/)\\d+/64 |── \\d+ rows · Enter goes back`));
  }
  for (let i = 1; i <= 60; i++) ok(zz.screen().includes(`\nrow-${i}\n`), `row-${i}`);
  await nobodyTypes(clock);
  await zz.hit(KEY.enter, /Enter goes back \n.*›\s*$/);
  await zz.say("/show 9", /Cannot show '9': say a number from 1\s+\(the\s+last\)\s+to\s+2\./);
});

test("/show wraps a line with tabs once, at the columns where they end", async (t) => {
  const where = place({ "a.ts": "\treturn items.reduce((sum, item) => sum);\n" });
  const script = [call(["read_file", { path: "a.ts" }]), say("Done.")];
  const zz = await repl(t, { where, rows: 15, cols: 40, script });
  await zz.say("go", /Done\.[\s\S]*›\s*$/);
  await zz.say("/show", /^1 {15}return\nitems\.reduce\(\(sum, item\) => sum\);\n/m);
});

test("/show has the whole of an output that was too long for the model, and Escape leaves it", async (t) => {
  const clock = standingClock();
  const script = [run("seq -f 'a rather long row %g' 5000"), say("Done.")];
  const zz = await open(t, { script, args: ["--allow-run"], clock });
  await zz.say("go", /Done\.[\s\S]*›\s*$/);
  equal(zz.fake.requests.at(-1)!.body.messages.at(-1).content.includes("row 2500\n"), false);
  zz.type(`/show${KEY.enter}`);
  await nobodyTypes(clock);
  match(await zz.sees(/line 21 of 5\d\d\d/), /✓ run_command .* · 5000 lines/);
  await nobodyTypes(clock);
  await zz.press("\x1b");
  await clock.pass(50);
  await zz.sees(/›\s*$/);
});

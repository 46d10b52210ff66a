// A dialog of a user's own plugin: it takes the place of the prompt, and is checked when it is
// registered.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, zz } from "../support/run.ts";
import { terminal } from "../support/terminal.ts";

const DEFAULT_PROMPT = "›";
const WRITE = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Done.")];

/** zz at a terminal with a plugin whose default export has this body. */
async function atTerminal(
  t: TestContext,
  body: string,
  { script = [say("Good.")], args = [] as string[], files = {} } = {},
) {
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const where = place(files);
  const file = join(where.cwd, "own.ts");
  writeFileSync(file, `export default (zz) => { ${body} };`);
  const model = ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  const term = terminal(where, [...model, "--plugin", file, ...args]);
  const sent = () => fake.requests.map(({ body }) => body.messages.at(-1).content as string);
  return { ...term, where, sent };
}

const dialog = (talk: string) => `zz.dialog({ name: "own", async talk(host) { ${talk} } });`;

describe("a dialog of a plugin", { concurrency: 3 }, () => {
  test("takes the place of the prompt: its messages are answered, its commands obeyed, its exit code is zz's", async (t) => {
    const talk = `zz.io.stdout.write("my own dialog\\n"); await host.open();
      for (const line of ["one", "/cost", "two"]) await host.obey(line);
      return 7;`;
    const term = await atTerminal(t, dialog(talk), { script: [say("First."), say("Second.")] });
    equal(await term.exited, 7);
    match(term.screen(), /^my own dialog\n[\s\S]*First\.[\s\S]*tokens[\s\S]*Second\./);
    deepEqual(term.sent(), ["one", "two"]);
    ok(!term.screen().includes(DEFAULT_PROMPT));
    ok(!term.raw().includes("\x1b[?2004h"), "the keyboard of the prompt was not opened");
  });

  test("is asked in its own way once it says how", async (t) => {
    const talk = `host.meet({ ask: async (question, keys) => { zz.io.stdout.write("ASKED " + keys + "\\n"); return "y"; } });
      await host.open(); await host.obey("go"); return 0;`;
    const term = await atTerminal(t, dialog(talk), { script: WRITE });
    equal(await term.exited, 0);
    match(term.screen(), /ASKED y\w*n/);
    equal(readFileSync(join(term.where.cwd, "new.txt"), "utf8"), "x\n");
  });

  test("that says nothing of the person: what needs a yes is refused, and the turn goes on", async (t) => {
    const term = await atTerminal(
      t,
      dialog(`await host.open(); await host.obey("go"); return 0;`),
      { script: WRITE },
    );
    equal(await term.exited, 0);
    match(term.sent()[1]!, /^Refused: requires write access/);
    match(term.screen(), /Done\./);
    ok(!existsSync(join(term.where.cwd, "new.txt")));
  });

  test("is told before the words of the line what nobody has trusted", async (t) => {
    const more = { args: ["hello"], files: { ".zz/prompts/a.md": "x" } };
    const term = await atTerminal(t, dialog("await host.open(); return 0;"), more);
    equal(await term.exited, 0);
    match(term.screen(), /nobody has\s+trusted\s+\.zz\/prompts\/a\.md/);
  });

  test("without `person` leaves single answers as they are", async (t) => {
    const term = await atTerminal(t, dialog("return 7;"), { args: ["--once", "hello"] });
    equal(await term.exited, 0);
    match(term.screen(), /^Good\.$/m);
    ok(!term.screen().includes("Cannot load plugin"), term.screen());
  });

  test("that throws ends zz with its sentence", async (t) => {
    const term = await atTerminal(t, dialog(`throw new Error("Cannot talk: no line.");`));
    equal(await term.exited, 1);
    match(term.screen(), /Plugin 'own' failed in its dialog: Cannot talk: no line\./);
  });
});

test("/quit as the only message asks no model and does no harm", async (t) => {
  const fake = await fakeOpenAI([say("never")]);
  t.after(fake.close);
  const args = `-m openai/m --base-url ${fake.url} --key x --once /quit`.split(" ");
  const ran = await zz(place(), args);
  deepEqual([ran.code, ran.stdout, ran.stderr, fake.requests.length], [0, "", "", 0]);
});

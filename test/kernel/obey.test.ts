// What a plugin does never holds zz up for good and never ends it: it is stopped or cut off, named,
// and zz goes on.
import { deepEqual, doesNotMatch, equal, match, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Zz } from "zz";
import { harness, standingClock } from "zz/test";
import { errorMessage } from "../../kernel/text/secrets.ts";
import { place, zz as zzIn } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const never = () => new Promise<never>(() => {});
const command = (run: () => unknown, more = {}) => ({
  name: "odd",
  default: (zz: Zz) =>
    zz.command({ name: "it", description: "d", run: run as () => void, ...more }),
});

describe("what a command changes", () => {
  const plugin = (zz: Zz) => {
    zz.command({
      name: "gadget",
      description: "d",
      run: (_, { files }) => files.write("made.txt", "made\n"),
    });
    zz.command({ name: "both", description: "d", run: (_, { command }) => command("gadget") });
  };
  for (const typed of ["gadget", "both"])
    test(`is asked for, told and recorded in its name: /${typed}`, async (t) => {
      const zz = await harness({ plugins: [plugin], answer: "yes" }, t);
      await zz.command(typed);
      match(zz.questions.join("\n"), /^┏ \/gadget wants to change made\.txt\.$/m);
      const ctx = zz.ctx;
      const changes = ctx.files.changes().map(({ tool, path, did }) => `${tool} ${did} ${path}`);
      deepEqual(changes, ["/gadget created made.txt"]);
      await ctx.files.undo();
      equal(
        zz.events.flatMap((fact) => (fact.type === "changed" ? fact.tool : [])).join(),
        "/gadget",
      );
    });
});

describe("a command", () => {
  test("that never settles is left behind when it is stopped, and named", async (t) => {
    const clock = standingClock();
    let isRunning = false;
    const run = () => {
      isRunning = true;
      return never();
    };
    const zz = await harness({ plugins: [command(run)], clock }, t);
    const obeyed = zz.command("it");
    await waitFor("the command to run", () => isRunning);
    zz.stop();
    void clock.waits(2_000).then(() => clock.pass(2_000));
    await rejects(obeyed, { message: "Stopped.", exit: 130 } as object);
    deepEqual(zz.notes, ["'/it' of plugin 'odd' did not stop, and was left behind."]);
    equal((await zz.ask("hi")).text, "ok");
  });

  test("that heeds the signal has a moment to end in its own way", async (t) => {
    let isRunning = false;
    const clock = standingClock();
    const plugin = (zz: Zz) =>
      zz.command({
        name: "it",
        description: "d",
        run: (_, { signal, note }) =>
          new Promise<void>((done) => {
            signal.addEventListener("abort", () =>
              clock.timer(1_999, () => done(note("Tidied up."))),
            );
            isRunning = true;
          }),
      });
    const zz = await harness({ plugins: [plugin], clock }, t);
    const obeyed = zz.command("it");
    await waitFor("the command to run", () => isRunning);
    zz.stop();
    await clock.waits(1_999);
    await clock.pass(1_999);
    deepEqual(await obeyed, ["Tidied up."]);
  });

  const THROWN: [thrown: unknown, told: string][] = [
    [undefined, "It threw, and did not say what"],
    ["words", "words"],
    [Object.freeze(new Error("frozen")), "frozen"],
    [{}, "{}"],
  ];
  for (const [thrown, told] of THROWN)
    test(`that throws ${thrown} is told of, and the conversation goes on`, async (t) => {
      const zz = await harness({ plugins: [command(() => Promise.reject(thrown))] }, t);
      await rejects(zz.command("it"), (error) => errorMessage(error).includes(told));
      equal((await zz.ask("hi")).text, "ok");
    });
});

describe("a completion", () => {
  for (const [what, complete, why] of [
    [
      "that throws",
      () => Promise.reject(new Error("no list")),
      "Cannot complete '/it' of plugin 'odd': no list",
    ],
    ["that never settles", never, "Cannot complete '/it' of plugin 'odd': it took longer than 5 s"],
  ] as const)
    test(`${what} is named`, async (t) => {
      const clock = standingClock();
      const zz = await harness({ plugins: [command(() => {}, { complete })], clock }, t);
      const completed = zz.ctx.about.complete("it", "");
      const passed =
        complete === never ? clock.waits(5_000).then(() => clock.pass(5_000)) : undefined;
      await Promise.all([rejects(completed, { message: why }), passed]);
    });
});

describe("an answer whose wrapper of 'render'", () => {
  const WRAPPERS: [what: string, wrap: () => Promise<never>, told: RegExp][] = [
    ["throws", async () => { throw new TypeError("no colours"); }, /^The answer is shown as it came: no colours$/],
    ["is late", never, /^The answer is shown as it came: Plugin 'odd' was cut off in 'render': it took longer than 0\.1 s\./],
  ]; // biome-ignore format: a table
  for (const [what, wrap, told] of WRAPPERS)
    test(`${what} is shown as it came`, async (t) => {
      const clock = standingClock();
      const plugin = (zz: Zz) => zz.wrap("render", wrap, { limit: 100 });
      const zz = await harness(
        { plugins: [{ name: "odd", default: plugin }], script: ["The answer."], clock },
        t,
      );
      const asked = zz.ask("hi");
      if (what === "is late") await clock.waits(100);
      await clock.pass(100);
      const { text, notes } = await asked;
      equal(text, "The answer.");
      match(notes.join("\n"), told);
    });
});

describe("a provider's stream", () => {
  for (const thrown of [undefined, Object.freeze(new Error("frozen"))])
    test(`that throws ${thrown} is a failure with a sentence`, async (t) => {
      const plugin = (zz: Zz) =>
        zz.provider({
          name: "odd",
          models: async () => [],
          // biome-ignore lint/correctness/useYield: it throws
          async *chat() {
            throw thrown;
          },
        });
      const zz = await harness({ plugins: [plugin] }, t);
      await zz.chat.use("odd/m");
      await rejects(
        zz.ask("hi"),
        (error) => error instanceof Error && !/undefined|TypeError/.test(error.message),
      );
      equal(zz.chat.phase, "idle");
      await zz.chat.use("script/model");
      equal((await zz.ask("hi")).text, "ok");
    });
});

describe("a tool whose needs() or preview()", () => {
  for (const part of ["needs", "preview"])
    test(`never settles: ${part}() is stopped like a tool`, async (t) => {
      let isHanging = false;
      const hangs = () => {
        isHanging = true;
        return never();
      };
      const plugin = (zz: Zz) =>
        zz.tool({
          name: "it",
          description: "d",
          run: () => "ran",
          needs: part === "needs" ? hangs : () => ({ net: ["x.example"] }),
          preview: hangs,
        });
      const zz = await harness(
        { plugins: [plugin], script: [{ call: ["it"] }, "done"], answer: "yes" },
        t,
      );
      const asked = zz.ask("hi");
      await waitFor(`${part}()`, () => isHanging);
      zz.stop();
      await rejects(asked, { message: "Stopped." });
      doesNotMatch(zz.events.map(({ type }) => type).join(" "), /answered/);
    });
});

test("a prompt file whose name no command can have is named, and makes none", async () => {
  const where = place({}, {}, { "prompts/no good.md": "---\ndescription: d\n---\nx" });
  const { stderr } = await zzIn(where, ["--tools"]);
  equal(
    stderr,
    `Cannot make '/no good' of '${where.home}/prompts/no good.md': no command has such a name. Give it another name.\n`,
  );
});

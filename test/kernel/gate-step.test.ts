// The step "gate": a plugin's word on each call, after the rules'. It can only be stricter.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Judged, Needs, Ruling, Tool, Verdict, Zz } from "zz";
import { harness, type Setup, standingClock } from "zz/test";

type Wrap = Parameters<Zz["wrap"]>[1];
const [reads, makes] = [{ read: ["a.txt"] }, { run: ["make"] }];
const NEEDS: Record<string, Needs> = {
  pure: {},
  free: reads,
  open: makes,
  shut: { ...reads, run: ["secret"] },
};

/** A tool whose calls need what they are told to, and a wrapper around its judging. */
async function gated(t: TestContext, around: unknown, more: Setup = {}) {
  let ran = 0;
  const plugin = (zz: Zz) => {
    const needs = ({ what }: { what: string }) => NEEDS[what]!;
    zz.tool({
      name: "act",
      description: "d",
      params: { what: "string" },
      needs,
      run: () => `ran ${++ran}`,
    });
    zz.wrap("gate", around as Wrap as never);
  };
  const setup: Setup = { files: { "a.txt": "a" }, deny: { run: ["secret"] }, ...more };
  const zz = await harness({ ...setup, plugins: [{ name: "strict", default: plugin }] }, t);
  const act = async (what: string) => {
    const { text, refused = false } = await zz.call("act", { what });
    return {
      text,
      refused,
      asked: zz.questions.splice(0).filter((question) => question.startsWith("┏")),
    };
  };
  return { zz, act };
}
const saying = (ruling: unknown) => () => ruling;

describe("nothing that a wrapper does loosens a verdict", () => {
  const LOOSE: [what: string, around: unknown][] = [
    ["allows what next() gave", async (asked: Judged, next: (asked: Judged) => Promise<Ruling>) => ({ ...(await next(asked)), verdict: "allow" })],
    ["passes another call on", (asked: Judged, next: (asked: object) => Promise<Ruling>) => next({ ...asked, call: { name: "act", args: { what: "pure" } }, needs: {} })],
    ["empties the needs", (asked: Judged, next: (asked: object) => Promise<Ruling>) => {
      for (const list of Object.values(asked.needs)) list.length = 0;
      asked.needs.run = [{ name: "make", verdict: "allow", why: "" }];
      return next(asked);
    }],
    ["says that it only reads", (asked: Judged, next: (asked: object) => Promise<Ruling>) => next(Object.assign(asked, { kind: "read" }))],
  ]; // biome-ignore format: a table
  for (const [what, around] of LOOSE)
    test(`one that ${what}`, async (t) => {
      const { act } = await gated(t, around);
      for (const _ of [1, 2]) {
        const { text } = await act("shut");
        match(text, /^Refused: run access to "secret" is denied by --deny-run=secret\.$/);
        const open = await act("open");
        deepEqual([open.refused, open.asked.length], [true, 1]);
        equal(open.text, 'Refused: the person said no to run access to "make".');
      }
    });

  test("the arguments cannot be changed there", async (t) => {
    const { act } = await gated(t, (asked: any) => {
      asked.call.args.what = "pure";
      return { verdict: "allow" };
    });
    match((await act("free")).text, /^Refused: Cannot assign to read only property/);
  });

  const VERDICTS: Verdict[] = ["allow", "ask", "deny"];
  for (const [what, own] of Object.entries({
    pure: "allow",
    free: "allow",
    open: "ask",
    shut: "deny",
  } as const))
    for (const verdict of VERDICTS)
      test(`'${own}' of the rules and '${verdict}' of a plugin, for what is ${what}, come to the stricter`, async (t) => {
        const { act } = await gated(t, saying({ verdict }), { answer: "yes" });
        const { refused, asked } = await act(what);
        const stricter = VERDICTS[Math.max(VERDICTS.indexOf(own), VERDICTS.indexOf(verdict))];
        deepEqual([refused, asked.length], [stricter === "deny", stricter === "ask" ? 1 : 0]);
      });
});

describe("a stricter word", () => {
  const REFUSED: [what: string, around: unknown, text: string][] = [
    ["deny, with its reason", saying({ verdict: "deny", why: "Plan first." }), "Refused: Plan first."],
    ["deny, without a reason", saying({ verdict: "deny" }), "Refused: a plugin denied it."],
    ["a throw", () => Promise.reject(new Error("it broke")), "Refused: it broke."],
    ["nothing given back", () => undefined, "Refused: Plugin 'strict' gave nothing back in 'gate'. Its wrapper must return what next() gave."],
    ["a verdict that is none", saying({ verdict: "allowed" }), "Refused: a plugin's verdict was 'allowed', and not allow, ask or deny."],
  ]; // biome-ignore format: a table
  for (const [what, around, text] of REFUSED)
    test(`${what}, refuses the call, and the decision is told of`, async (t) => {
      const { zz, act } = await gated(t, around, { allow: { run: true } });
      deepEqual(await act("open"), { text, refused: true, asked: [] });
      const { kind, name, allowed } = zz.events.findLast((fact) => fact.type === "decided")!;
      deepEqual([kind, name, allowed], ["run", "make", false]);
    });

  test("a wrapper that hangs is cut off, and the call refused", async (t) => {
    const clock = standingClock();
    const plugin = (zz: Zz) => {
      zz.tool({ name: "it", description: "d", run: () => "ran" });
      zz.wrap("gate", () => new Promise<never>(() => {}), { limit: 30 });
    };
    const other = await harness({ plugins: [{ name: "slow", default: plugin }], clock }, t);
    const called = other.call("it");
    await clock.waits(30);
    await clock.pass(30);
    match(
      (await called).text,
      /^Refused: Plugin 'slow' was cut off in 'gate': it took longer than 0\.03 s\./,
    );
  });

  test("ask puts it to the person each time, whatever is allowed, with the reason and without a lasting yes", async (t) => {
    const around = saying({ verdict: "ask", why: "it costs money" });
    const { act } = await gated(t, around, {
      answer: async (_, keys) => (keys ? "y" : ""),
      allow: { run: ["make"] },
    });
    for (const [what, wish] of Object.entries({
      open: 'run "make"',
      free: "read a.txt",
      pure: 'run "act"',
    }))
      for (const time of [1, 2]) {
        const { text, asked } = await act(what);
        match(text, /^ran/);
        const question = `┏ act wants to ${wish}.\n┠ it costs money.\n┗ Allow? [y/n/?] (? explains) `;
        deepEqual(asked, [question], `${what} ${time}`);
      }
  });
});

describe("what a call does at most", () => {
  const tool = (more: Partial<Tool>): Tool => ({
    name: "it",
    description: "d",
    run: () => "ran",
    ...more,
  });
  const needing = (needs: Needs) => tool({ needs: () => needs });
  const looks = { name: "ls", verdict: "allow", why: "only reads" } as const;
  const KINDS: [what: string, tool: Tool, ofTool: string, ofCall: string][] = [
    ["a change of files", tool({ changes: true }), "change", "change"],
    ["a change of files that says that it only reads", tool({ changes: true, kind: "read" }), "change", "change"],
    ["reading", needing({ read: ["."] }), "run", "read"],
    ["writing, of one that says that it only reads", tool({ kind: "read", needs: () => ({ write: ["x"] }) }), "read", "change"],
    ["a command that only reads", needing({ run: [looks] }), "run", "read"],
    ["a host, of one that says that it only reads", tool({ kind: "read", needs: () => ({ net: ["x.example"] }) }), "read", "read"],
    ["a change that is not of files", tool({ kind: "change", needs: () => ({ env: ["X"] }) }), "change", "change"],
  ]; // biome-ignore format: a table
  for (const [what, tool, ofTool, ofCall] of KINDS)
    test(`${what} is '${ofCall}'`, async (t) => {
      const seen: string[] = [];
      const plugin = (zz: Zz) => {
        zz.tool(tool);
        zz.wrap("gate", (asked) => {
          seen.push(asked.kind);
          return { verdict: "deny" };
        });
      };
      const zz = await harness({ plugins: [plugin] }, t);
      await zz.call("it");
      deepEqual([zz.ctx.about.tools.map(({ kind }) => kind), seen], [[ofTool], [ofCall]]);
    });

  test("zz's own tools tell theirs, and a command its own", async (t) => {
    const seen: string[] = [];
    const plugin = (zz: Zz) =>
      zz.wrap("gate", (asked) => {
        seen.push(`${Object.values(asked.call.args)[0]}: ${asked.kind}`);
        return { verdict: "deny" };
      });
    const zz = await harness({ own: true, plugins: [plugin], files: { "a.txt": "a" } }, t);
    const of = (kind: string) =>
      zz.ctx.about.tools.flatMap((one) => (one.kind === kind ? [one.name] : []));
    deepEqual(of("run"), ["git_commit", "open_file", "run_command", "run_tests"]);
    const acts =
      /write|edit|set_env|delete|create|remember|forget|install|rename|update|move|patch|commit|run/;
    deepEqual(of("read").filter((name) => acts.test(name)), []); // biome-ignore format: short
    for (const command of ["ls -l", "cat a.txt", "npm install", "ls && make", "touch b"])
      await zz.call("run_command", { command });
    deepEqual(seen, [
      "ls -l: read",
      "cat a.txt: read",
      "npm install: run",
      "ls && make: run",
      "touch b: run",
    ]);
  });
});

// The prompt for a long time: random keys, pastes, sizes, questions, pickers, stops and
// suspensions, with a model that does all that models do. It answers until the end, writes nothing
// stray, and holds no more handles, listeners and processes than after its first turns.
// `ZZ_RUNS=6000 npm run fuzz -- test/all/e2e/soak.test.ts` goes on for half an hour.
import { deepEqual, doesNotMatch, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Step } from "../../support/fake/http.ts";
import { call, DONE, delta, refuse, say, stream } from "../../support/fake/openai.ts";
import { ESC, repl } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { random, runs, SEED } from "../../support/runs.ts";
import { waitFor } from "../../support/wait.ts";

const STEPS = runs(40, 60);
const SETTLED_EVERY = 10;
const next = random(SEED);
const below = (count: number): number => Math.floor(next() * count);
const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;

/** /figures N writes down what this process holds, once what is no longer used is gone. */
const FIGURES = `import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");
const listeners = (of) => Object.fromEntries(of.eventNames().map((name) => [String(name), of.listenerCount(name)]));
export default (zz) => zz.command({ name: "figures", description: "counts", run: async (n, ctx) => {
  await new Promise((done) => setTimeout(done, 50));
  gc();
  const resources = process.getActiveResourcesInfo().filter((one) => one !== "Timeout" && one !== "Immediate");
  const count = (list) => list.reduce((all, one) => ({ ...all, [one]: (all[one] ?? 0) + 1 }), {});
  const children = readFileSync("/proc/self/task/" + process.pid + "/children", "utf8").split(" ").filter(Boolean).length;
  const { heapUsed, rss } = process.memoryUsage();
  const listening = { process: listeners(process), stdin: listeners(process.stdin), stdout: listeners(process.stdout), stderr: listeners(process.stderr) };
  const figures = { n, heap: heapUsed / 1e6, rss: rss / 1e6, files: readdirSync("/proc/self/fd").length, children, resources: count(resources), listening };
  appendFileSync(String(process.env.FIGURES), JSON.stringify(figures) + "\\n");
  return { text: "" };
} });`;

const TEXT =
  "Some **words** with `code`, 日本語 and 🎉.\n\n- a list\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = 1;\n```\n";
const ANSWERS: (() => Step)[] = [
  () => say(TEXT.repeat(1 + below(5))),
  () => say("Good."),
  () =>
    stream(
      delta({ reasoning_content: "Let me think.\n" }),
      delta({ content: TEXT }),
      delta({}, "stop"),
      DONE,
    ),
  () =>
    call([
      "write_file",
      { path: `f${below(9)}.txt`, content: `${next()}\n`.repeat(1 + below(80)) },
    ]),
  () =>
    call(["edit_file", { path: "a.txt", old: "o", new: "oo" }], ["read_file", { path: "a.txt" }]),
  () =>
    call([
      "run_command",
      { command: pick(["ls -l", "seq 2000", `echo ${below(99)} > made`, "sleep 1", "false"]) },
    ]),
  () => call(["read_file", { path: "a.txt" }], ["list_dir", { path: "." }], ["nothing", {}]),
  () => ({ ...stream(delta({ content: "half of " })), ending: "cut" }),
  () => ({ ...stream(delta({ content: "half of " })), ending: "hang" }),
  () => ({ ...stream(), ending: "hang" }),
  () => refuse(400, { error: { message: "no" } }),
  () => refuse(500, "broken"),
];
const COMMANDS =
  "/help;/model;/models;/sessions;/tree;/changes;/undo;/redo;/cost;/context;/new;/tools;/plugins;/config;/permissions;/tasks;/status;/retry;/setup;/keys;/show".split(
    ";",
  );
const LETTERS = [..."abc def ghi é日🎉 '\"()[]{}`$\\~#-"];
const KEYS = [
  ...`A B C D H F Z 3~ 5~ 6~ 1;5C 1;5D 200~ I O <0;1;1M`.split(" ").map((key) => `${ESC}[${key}`),
  ..."\x01\x02\x05\x06\x07\x08\x09\x0b\x0c\x0e\x0f\x10\x12\x14\x15\x17\x19\x1f\x7f",
  ESC,
  `${ESC}b`,
  `${ESC}f`,
  `${ESC}\r`,
  "\t\t",
  " ",
  "\r",
];
const ENDS_PASTE = `${ESC}[201~`;
const STRAY =
  /outside of any turn|Something inside zz|MaxListeners|\(node:\d+\)|\[object Object\]|\bat \S+:\d+:\d+|Unhandled/;

test("the prompt answers after whatever was typed, and holds no more than before", {
  timeout: 86_400_000,
}, async (t) => {
  const where = place(
    { "a.txt": "one two\n".repeat(40) },
    { keys: { ctrlZ: "suspend" } },
    { "plugins/figures.ts": FIGURES },
  );
  const file = join(where.home, "figures.jsonl");
  const first = [call(["run_command", { command: "ls" }]), say("Good.")]; // whose pipes are kept
  const term = await repl(t, {
    where,
    process: true,
    cols: 100,
    rows: 30,
    env: { FIGURES: file, EDITOR: "true", VISUAL: "true" },
    script: () => first.shift() ?? pick(ANSWERS)(),
  });
  let [count, isOver] = [0, false];
  term.exited.then(() => (isOver = true));
  const written = () =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line))
      : [];

  const ACTIONS: (() => unknown)[] = [
    ...Array.from({ length: 6 }, () => () => term.type(`message ${below(1_000)}\r`)),
    () => term.type(Array.from({ length: below(40) }, () => pick(LETTERS)).join("")),
    () => term.type(Array.from({ length: below(12) }, () => pick(KEYS)).join("")),
    ...Array.from({ length: 3 }, () => () => term.type(pick([..."yyynneAfr?jkG "]))),
    () => term.type(`${ENDS_PASTE}${ESC}\x15${pick(COMMANDS)}\r`),
    () =>
      term.type(
        `${ENDS_PASTE}${ESC}[200~${"a line of a paste, which is long\n".repeat(pick([1, 50, 30_000]))}${ENDS_PASTE}`,
      ),
    () => isOver || term.resize(20 + below(150), 5 + below(50)),
    // also with this process busy
    () => spawn("sh", ["-c", `kill -STOP ${term.pty.pid}; sleep 0.3; kill -CONT ${term.pty.pid}`]),
    () => interrupt(),
    () => term.type("@a\t"),
  ];
  /** Twice within a second leaves. */
  let interrupted = 0;
  function interrupt(): void {
    if (performance.now() - interrupted > 1_500) term.type("\x03");
    interrupted = performance.now();
  }
  let [read, requests] = [0, 0];
  /** Leaves whatever is open, as a person would, and asks for the figures. */
  const last = () => term.raw().slice(-3_000).replaceAll(ESC, "␛");
  async function settle(): Promise<void> {
    ok(!isOver, `It ended:\n${last()}`);
    term.resize(100, 30);
    const n = String(++count);
    await waitFor(
      `figures ${n}`,
      async () => {
        ok(!isOver, `It ended:\n${last()}`);
        for (const key of [ENDS_PASTE, ESC, "", `\x15/figures ${n}`, "\r"]) {
          key ? term.type(key) : interrupt();
          await sleep(150);
        }
        for (let tries = 0; tries < 30 && written().at(-1)?.n !== n; tries++) await sleep(100);
        return written().at(-1)?.n === n;
      },
      () => `It wrote:\n${last()}`,
    );
    doesNotMatch(term.raw().slice(read), STRAY);
    read = Math.max(0, term.raw().length - 1_000);
    requests += term.fake.requests.splice(0).length; // each holds the whole conversation
  }
  term.type("go\r");
  await waitFor("the first command", () => term.fake.requests.length > 1);
  await settle();
  for (let i = 1; i <= STEPS; i++) {
    pick(ACTIONS)();
    await sleep(below(300));
    if (i % SETTLED_EVERY === 0) await settle();
    if (i % 200 === 0) t.diagnostic(JSON.stringify(written().at(-1)));
  }
  const all = written();
  const [early, late] = [all[Math.min(2, all.length - 2)], all.at(-1)];
  t.diagnostic(`${requests} requests; ${JSON.stringify({ early, late })}`);
  const counts = ({ children, files, resources, listening }: any): [string, number][] =>
    Object.entries({
      children,
      files,
      ...resources,
      ...Object.assign({}, ...Object.keys(listening).map((of) => prefixed(of, listening[of]))),
    });
  const before = new Map(counts(early));
  const more = counts(late).filter(
    ([name, count]) => count > (before.get(name) ?? 0) + (name === "files" ? 8 : 1),
  ); // the first picker keeps one
  deepEqual(more, [], JSON.stringify({ early, late }));
});

const prefixed = (of: string, listeners: Record<string, number>) =>
  Object.fromEntries(Object.entries(listeners).map(([name, count]) => [`${of} ${name}`, count]));

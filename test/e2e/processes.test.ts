// zz as a process of its own (each way to start it: test/kernel/loader.test.ts): signals, pipes
// that stay open or are closed early, a full disk, a folder that is gone.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import type { Script } from "../support/fake/http.ts";
import { askable, DONE, delta, say, stream } from "../support/fake/openai.ts";
import { environment, type Place, place, WAYS, zz } from "../support/run.ts";

async function server(script: Script) {
  const model = await askable(script);
  return { ...model, args: ["--once", ...model.args] };
}

/** A line of sh in which $ZZ is the built program. */
function shell(where: Place, line: string): Promise<{ stdout: string; stderr: string }> {
  const how = { cwd: where.cwd, env: environment(where, {}) };
  const script = line.replaceAll("$ZZ", quoted(WAYS.dist));
  return new Promise((done) =>
    execFile("sh", ["-c", script], how, (_, stdout, stderr) => done({ stdout, stderr })),
  );
}
const quoted = (args: readonly string[]) => args.map((arg) => `'${arg}'`).join(" ");

test("A pipe that stays open does not keep zz with --no-stdin, nor after its answer", async () => {
  const { args } = await server([say("x")]);
  equal((await zz(place(), [...args, "--no-stdin", "hi"], { way: "dist", input: null })).code, 0);
});

for (const [signal, code, half, format, again] of [
  ["SIGINT", 130, [], ["--json-lines"]],
  ["SIGTERM", 143, [delta({ content: "half" })], []],
  ["SIGINT", 130, [], [], "SIGTERM"],
] as const)
  test(`${signal}${again ? ` and ${again}` : ""} ${half.length ? "in mid-answer" : "before the answer"}: the request is closed, the message is saved, exit ${code}`, async () => {
    const where = place();
    let strike = () => {};
    const { args, requests } = await server(() => ({
      ...stream(...half),
      ending: "hang",
      sent: () => strike(),
    }));
    const ran = await zz(where, [...args, ...format], {
      input: "hi",
      started: (child) =>
        (strike = () => {
          child.kill(signal);
          // the system hands over two at once in any order
          if (again) void requests[0]!.aborted.then(() => child.kill(again));
        }),
    });
    await requests[0]!.aborted;
    deepEqual([ran.code, requests.length], [code, 1]);
    if (format.length) {
      const end = JSON.parse(ran.stdout.trimEnd().split("\n").at(-1)!);
      deepEqual([end.type, end.exit], ["error", code]);
    } else equal(ran.stdout, "");
    ok(!/^\s+at |Something/m.test(ran.stderr), ran.stderr);
    const saved = where.sessions()[0]!.find((entry) => entry.type === "message");
    deepEqual(saved.message, { role: "user", text: "hi" });
  });

test("A stdout that is closed early ends it quietly; one that is full is a sentence and exit 1", async () => {
  const text = Array.from({ length: 40_000 }, (_, i) => `line ${i}`).join("\n");
  const { args } = await server([stream(delta({ content: text }), delta({}, "stop"), DONE)]);
  const all = quoted([...args, "--no-stdin", "hi"]);
  const early = await shell(place(), `{ $ZZ ${all} --json-lines; echo "code $?" >&2; } | head -1`);
  match(early.stdout, /^\{"type":"started"/);
  equal(early.stderr, "code 0\n");
  const full = await shell(place(), `$ZZ ${all} >/dev/full; echo "code $?" >&2`);
  equal(full.stderr, "Cannot write the answer to 'stdout': the disk is full. Make room.\ncode 1\n");
});

test("A folder that is gone is a sentence", async () => {
  const line = "mkdir gone && cd gone && rmdir ../gone && $ZZ --once -m offline hi; echo $? >&2";
  const { stderr } = await shell(place(), line);
  equal(
    stderr,
    "Cannot work here: the folder is gone. Change to another, or name one with --cwd.\n2\n",
  );
});

test("A plugin that throws from a timer, or ends the process, is told of in a sentence", async () => {
  const hang = await server([{ ...stream(), ending: "hang" }]);
  for (const [code, exit, words] of [
    ["setTimeout(() => { throw new Error('stray') }, 1)", 1, /outside of any turn.*stray/],
    ["setTimeout(() => process.exit(0), 1)", 1, /ended it before there was an answer/],
    ["setTimeout(() => process.exit(3), 1)", 3, /ended it before there was an answer/],
  ] as const) {
    const where = place({ "bad.ts": `export default () => void ${code};` });
    const ran = await zz(where, [...hang.args, "--json", "--plugin", "bad.ts", "hi"], {
      way: "dist",
    });
    match(ran.stderr + ran.stdout, words);
    ok(!/^\s+at /m.test(ran.stderr), ran.stderr);
    const { type, exit: told } = JSON.parse(ran.stdout);
    deepEqual([type, told, ran.code], ["error", exit, exit]);
  }
});

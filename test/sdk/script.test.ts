// Scripts: zz --run, and programs that import zz.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import type { Script } from "../support/fake/http.ts";
import { askable, call, fakeOpenAI, refuse, say } from "../support/fake/openai.ts";
import { mains } from "../support/mains.ts";
import { type How, place, ROOT, WAYS, type Way, zz } from "../support/run.ts";
import { isAll } from "../support/runs.ts";

const HEAD = `import { zz } from "zz";\n`;

interface Words {
  flags?: string[];
  args?: string[];
  name?: string;
  again?: boolean;
}

/** Runs scripts one after the other in a few processes. */
const zzAgain = mains();

/** In a process of its own, for its way to start, what is piped in or how it ends; `again`: in one
 * that ran others before. */
async function running(source: string, script: Script, how: How & Words = {}) {
  const { flags = [], args = [], name = "it.ts", again = false, ...rest } = how;
  const where = place({ [name]: source, "a.txt": "content of a\n" });
  const model = await askable(script);
  const asks = [...model.args, ...flags, "--run", name, ...args];
  const ran = await (again ? zzAgain : zz)(where, asks, rest);
  const sent = model.requests.map((request) => request.body);
  return { ...ran, where, sent, said: sent.map(({ messages }) => messages.at(-1).content) };
}

describe("zz.ask", { concurrency: 2 }, () => {
  for (const way of isAll ? (Object.keys(WAYS) as Way[]) : (["dist"] as const))
    test(`gives the answer's text, by ${way}`, async () => {
      const ran = await running(
        `${HEAD}console.log("<" + (await zz.ask("hi")) + ">");`,
        [say("Hello.")],
        { way },
      );
      deepEqual([ran.stdout, ran.stderr, ran.code, ran.said], ["<Hello.>\n", "", 0, ["hi"]]);
    });

  /** What the expression gives, with JSON around it, and what the model got. */
  const gives = async (expression: string, ...answers: ReturnType<typeof say>[]) => {
    const imports = 'import { z } from "zod";\nimport { Type } from "typebox";\n';
    const ran = await running(
      `${HEAD}${imports}console.log(JSON.stringify(${expression}));`,
      answers,
      { again: true },
    );
    return { ...ran, gave: ran.stdout && JSON.parse(ran.stdout) };
  };

  for (const [name, schema] of [
    ["zod", "z.object({ n: z.number() })"],
    ["typebox", "Type.Object({ n: Type.Number() })"],
    ["the shorthand", '{ n: "number" }'],
    ["the short form", '"n float"'],
  ])
    test(`with a schema in ${name} gives data that fits it`, async () => {
      const { gave, said } = await gives(
        `(await zz.ask("count", { schema: ${schema} })).n + 1`,
        say('{"n": 41}'),
      );
      equal(gave, 42);
      match(said[0]!, /^count\n\nAnswer with JSON alone.*\n\{.*"n":\{"type":"number"\}/s);
    });

  test("says what does not fit, and asks again, at most twice", async () => {
    const count = '(await zz.ask("count", { schema: { n: "number" } })).n';
    const { gave, said } = await gives(count, say('{"n": "x"}'), say("no"), say('{"n": 3}'));
    equal(gave, 3);
    match(said[1]!, /^That does not fit: n must be a number\. Answer with JSON alone/);
    match(said[2]!, /^That does not fit: it is not JSON\./);
    const never = await gives(count, say("never"));
    deepEqual([never.stdout, never.code, never.sent.length], ["", 1, 3]);
    equal(
      never.stderr,
      "The answer does not fit the schema: it is not JSON. Ask for less, or another model.\n",
    );
  });

  test("offers just the tools that are named, or made in the script; the model's call runs", async () => {
    const price =
      '{ name: "price", description: "A price.", params: { of: "string" }, run: ({ of }) => of + " costs 3" }';
    const ask = `await zz.ask("how much", { tools: [${price}, "read_file"] })`;
    const { gave, sent, said } = await gives(ask, call(["price", { of: "tea" }]), say("Three."));
    deepEqual([gave, said[1]], ["Three.", "tea costs 3"]);
    deepEqual(sent[0].tools.map((tool: any) => tool.function.name).sort(), ["price", "read_file"]);
    ok(!sent[0].messages[0].content.includes("write_file"), "nor is it told of others");
  });

  test("with tools: false offers none; with system it is somebody else; with files they go along", async () => {
    const how =
      '{ tools: false, system: "You are a cat.", files: ["a.txt"], model: "openai/other" }';
    const { gave, sent, said } = await gives(`await zz.ask("hi, cat", ${how})`, say("Miaow."));
    deepEqual([gave, sent[0].tools, sent[0].model], ["Miaow.", undefined, "other"]);
    match(sent[0].messages[0].content, /^You are a cat\./);
    match(said[0]!, /--- FILE a\.txt ---\ncontent of a\n--- END FILE a\.txt ---\n\nhi, cat$/);
  });

  test("many at once, each for itself", async () => {
    const source = `${HEAD}console.log((await Promise.all([1, 2, 3, 4, 5].map((n) => zz.ask("say " + n)))).join());`;
    const ran = await running(source, ({ body }) => say(body.messages.at(-1).content.slice(4)), {
      again: true,
    });
    deepEqual([ran.stdout, ran.code], ["1,2,3,4,5\n", 0]);
    ok(ran.sent.every(({ messages }) => messages.length === 2));
  });

  test("stops by a signal", async () => {
    const hang = {
      headers: { "content-type": "text/event-stream" },
      body: [],
      ending: "hang" as const,
    };
    const stopped =
      'await zz.ask("hi", { signal: AbortSignal.timeout(100) }).catch(({ message }) => message)';
    equal((await gives(stopped, hang)).gave, "Stopped.");
  });
});

test("zz.chat: several turns, each with those before it, saved as one session", async () => {
  const source = `${HEAD}const chat = await zz.chat({ system: "Brief." });
console.log(await chat.ask("one"), await chat.ask("two"), chat.messages.length, chat.model, typeof chat.id);`;
  const ran = await running(source, [say("1"), say("2")], { again: true });
  deepEqual([ran.stdout, ran.code], ["1 2 4 openai/m string\n", 0]);
  const sent = ran.sent[1].messages.slice(1).map((message: any) => message.content);
  deepEqual(sent, ["one", "1", "two"]);
  equal(ran.where.sessions().length, 1);
});

test("zz.stdin of more than ZZ_STDIN_LIMIT megabytes throws", async () => {
  const source = `${HEAD}console.log(await zz.stdin().catch(({ message }) => message));`;
  const ran = await running(source, [say("x")], {
    input: "y\n".repeat(600),
    env: { ZZ_STDIN_LIMIT: "0.001" },
  });
  match(ran.stdout, /^Cannot take what comes on stdin: it is more than 0\.001 MB/);
});

test("zz.args and zz.stdin: what stood after the script, whatever it is, and what was piped in", async () => {
  const source = `${HEAD}console.log(JSON.stringify([zz.args, await zz.stdin(), await zz.stdin()]));`;
  const args = ["-m", "--json", "--", "a b", "--run", "-A"];
  const ran = await running(source, [say("x")], { args, input: "piped ünïcode\n" });
  deepEqual(JSON.parse(ran.stdout), [args, "piped ünïcode\n", "piped ünïcode\n"]);
});

describe("exit codes and permissions", { concurrency: 2 }, () => {
  const CODES: [name: string, source: string, script: Script, code: number, stderr: RegExp, flags?: string[]][] = [
    ["its own process.exit(0)", "process.exit(0);", [say("x")], 0, /^$/],
    ["1: the provider failed", `await zz.ask("hi");`, [refuse(400, '{"error":{"message":"no way"}}')], 1, /no way/],
    ["1: it throws a sentence", `throw new Error("Cannot go on: it rains.");`, [say("x")], 1, /^Cannot go on: it rains\.\n$/],
    ["1: a mistake, with its line", "const a: any = null;\na.b;", [say("x")], 1, /^Cannot run 'it\.ts' \(.*it\.ts:3\): Cannot read properties of null \(reading 'b'\)\n$/],
    ["1: a promise that nobody waits for", `Promise.reject(new Error("late"));`, [say("x")], 1, /^late\n$/],
    ["2: no such tool", `await zz.call("raed_file", {});`, [say("x")], 2, /no tool 'raed_file'\. Did you mean 'read_file'\?/],
    ["4: a call of the model was refused", `await zz.ask("hi");`, [call(["write_file", { path: "b.txt", content: "b" }]), say("x")], 4, /--allow-write=b\.txt/],
    ["4: a call of the script was refused", `const r = await zz.call("write_file", { path: "b.txt", content: "b" }); if (!r.refused) throw new Error("?");`, [say("x")], 4, /--allow-write=b\.txt/],
    ["0: the flag before --run allows it", `await zz.call("write_file", { path: "b.txt", content: "b" });`, [say("x")], 0, /^$/, ["--allow-write"]],
  ]; // biome-ignore format: a table
  for (const [name, source, script, code, stderr, flags = []] of CODES)
    test(name, async () => {
      const again = !/^its own|^1: a promise/.test(name); // how a process ends is theirs
      const ran = await running(HEAD + source, script, { flags, again });
      match(ran.stderr, stderr);
      equal(ran.code, code, ran.stderr);
      doesNotMatch(ran.stderr, /^\s+at /m);
    });

  test("what a script's call writes can be undone", async () => {
    const { where } = await running(
      `${HEAD}await zz.call("write_file", { path: "b.txt", content: "b" });`,
      [say("x")],
      { flags: ["--allow-write"], again: true },
    );
    ok(existsSync(join(where.cwd, "b.txt")));
    equal((await zz(where, ["--undo"])).code, 0);
    ok(!existsSync(join(where.cwd, "b.txt")));
  });
});

test("--run with words before it is refused, exit 2", async () => {
  const { stderr, code } = await zzAgain(place({ "it.ts": "" }), ["hello", "--run", "it.ts"]);
  match(stderr, /^Cannot use 'hello': words for a script stand after its name\.$/m);
  equal(code, 2);
});

test("Enums and what it imports of its own; what is not awaited is waited for", async () => {
  const source = `${HEAD}enum Color { Blue = "blue" }\nzz.ask("hi").then((text) => console.log(Color.Blue, text));`;
  const ran = await running(source, [say("Yes.")], { again: true });
  deepEqual([ran.stdout, ran.stderr, ran.code], ["blue Yes.\n", "", 0]);
});

test("A script is a program by its first line", {
  skip: process.platform === "win32" && "no such line",
}, async () => {
  const where = place();
  mkdirSync(join(where.cwd, "bin"));
  symlinkSync(join(ROOT, "dist", "zz.js"), join(where.cwd, "bin", "zz"));
  const file = join(where.cwd, "hello.ts");
  writeFileSync(file, `#!/usr/bin/env -S zz --run\n${HEAD}console.log("hello", zz.args[0]);\n`);
  chmodSync(file, 0o755);
  const path = [join(where.cwd, "bin"), join(process.execPath, ".."), process.env.PATH].join(":");
  const env = { ...process.env, PATH: path, ZZ_HOME: where.home };
  const { stdout, stderr } = spawnSync(file, ["you"], { env, encoding: "utf8" });
  deepEqual([stdout, stderr], ["hello you\n", ""]);
});

test("A program of one's own imports zz, with the home's settings, and is asked nothing", async (t) => {
  const where = place();
  const fake = await fakeOpenAI([say("From afar.")]);
  t.after(fake.close);
  for (const folder of [join(where.cwd, "node_modules"), where.home]) mkdirSync(folder);
  symlinkSync(ROOT, join(where.cwd, "node_modules", "zz"));
  const settings = { model: "openai/m", providers: { openai: { url: fake.url, key: "x" } } };
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  const write = 'zz.call("write_file", { path: "b.txt", content: "b" })';
  const source = `${HEAD}console.log(await zz.ask("hi"), (await ${write}).refused, zz.args);`;
  writeFileSync(join(where.cwd, "own.mts"), source);
  const how = { cwd: where.cwd, env: { ...process.env, ZZ_HOME: where.home } };
  const { stdout } = await promisify(execFile)(process.execPath, ["own.mts", "one"], how);
  equal(stdout, "From afar. true [ 'one' ]\n");
});

test("Ctrl-C ends the turn and the script, exit 130", async () => {
  const hang = {
    headers: { "content-type": "text/event-stream" },
    body: [],
    ending: "hang" as const,
  };
  let child: import("node:child_process").ChildProcess | undefined;
  const script: Script = () => {
    child!.kill("SIGINT");
    return hang;
  };
  const ran = await running(`${HEAD}await zz.ask("hi"); console.log("never");`, script, {
    started: (one) => void (child = one),
  });
  deepEqual([ran.stdout, ran.code], ["", 130]);
});

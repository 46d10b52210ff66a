// kill -9 at any moment of a turn: what was acknowledged is on the disk, and a server accepts the next request.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DONE, delta, fakeOpenAI, problems, stream, usage } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";

const KILLS = Number(process.env.ZZ_KILLS ?? 6); // test/slow/kill.test.ts does more
const PER_PLACE = 3; // kills in one folder, so that new sessions are killed too
const ROUNDS = 3;
const PAUSE = 22; // ms between pieces

let hurry = false; // answers at once the run that may finish
let answers = 0;
const server = await fakeOpenAI(({ body }) => {
  const n = ++answers; // each id and text is unique, so that it can be found on the disk
  const since = body.messages.slice(body.messages.findLastIndex((one: any) => one.role === "user"));
  const round = since.filter((one: any) => one.role === "assistant").length;
  if (hurry || round >= ROUNDS)
    return stream(...["answer ", PAUSE, `number ${n}`, PAUSE, "."].map(piece), delta({}, "stop"), usage(61, 9), DONE);
  const calls: [string, object][] = [
    ["list_dir", { path: [".", "src", "docs"][round] }],
    ["read_file", { path: ["a.txt", "src/b.txt", "missing.txt"][round] }],
  ];
  return stream(
    piece(`looking ${n}`),
    PAUSE,
    ...calls.flatMap(([name, args], index) => [
      delta({ tool_calls: [{ index, id: `call_${n}_${index}`, type: "function", function: { name, arguments: "" } }] }),
      PAUSE,
      delta({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
      PAUSE,
    ]),
    delta({}, "tool_calls"),
    usage(61, 9),
    DONE,
  );
});
after(() => server.close());
const piece = (one: string | number) => (typeof one === "number" ? one : delta({ content: one }));

interface Disk {
  /** By file name: the whole lines, as bytes, without a torn end. */
  files: Map<string, string>;
  messages: any[];
  news: string[]; // what the model was sent with a message
  torn: number;
}
function disk(where: Place): Disk {
  const found: Disk = { files: new Map(), messages: [], news: [], torn: 0 };
  const folder = join(where.home, "sessions");
  if (!fs.existsSync(folder)) return found;
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
    const text = fs.readFileSync(join(folder, name), "utf8");
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole !== text) found.torn++;
    found.files.set(name, whole);
    const [header, ...entries] = whole
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line)); // every whole line parses
    if (whole) equal(header.zz, 1);
    deepEqual(
      entries.map(({ id }) => id),
      entries.map((_, i) => i + 1),
      "each entry once, in order",
    );
    found.messages.push(...entries.flatMap(({ message }) => (message ? [message] : [])));
    for (const { news = {} } of entries) found.news.push(...(Object.values(news) as string[]));
  }
  return found;
}

/** What a server was sent but is not on the disk, except what repair() put in for an interrupted call. */
function missing(told: any[], { messages, news }: Disk): string[] {
  const users = [...news, ...messages.filter(({ role }) => role === "user").map(({ text }) => text)];
  const said = new Set(messages.filter(({ role }) => role === "assistant").map(({ text }) => text));
  const calls = new Set(messages.flatMap((message) => message.calls?.map(({ id }: any) => id) ?? []));
  const results = new Map(messages.filter(({ role }) => role === "tool").map(({ id, text }) => [id, text]));
  return told.flatMap((message) => {
    if (message.role === "user") return message.content.split("\n\n").filter((text: string) => !users.includes(text));
    if (message.role === "tool")
      return results.get(message.tool_call_id) === message.content || message.content === "[interrupted]"
        ? []
        : [`the result of ${message.tool_call_id}`];
    if (message.role !== "assistant") return [];
    const open = (message.tool_calls ?? []).map(({ id }: any) => id).filter((id: string) => !calls.has(id));
    return [...open, ...(message.content ?? "").split("\n\n").filter((text: string) => text && !said.has(text))];
  });
}

test(`after each of ${KILLS} kill -9 in mid-turn nothing acknowledged is lost and the next request is valid`, {
  timeout: 60_000 + KILLS * 3_000,
}, async (t) => {
  const counts = { killed: 0, torn: 0, interrupted: 0, lines: new Map<number, number>() };
  let where = place();
  const args = ["--once", "-c", "--base-url", server.url, "-m", "openai/m"];
  let { ms: wholeTurn } = await zz(where, [...args, "not killed"], { way: "dist" }); // how long a turn takes here
  for (let i = 0; i < KILLS; i++) {
    if (i % PER_PLACE === 0) {
      where = place();
      for (const name of ["src", "docs"]) fs.mkdirSync(join(where.cwd, name));
      for (const name of ["a.txt", "src/b.txt"]) fs.writeFileSync(join(where.cwd, name), `${name}\n`.repeat(40));
    }
    const before = disk(where);
    const first = server.requests.length;
    const run = (prompt: string, signal?: AbortSignal) => zz(where, [...args, prompt], signal && { signal });

    hurry = false;
    const moment = Math.round(wholeTurn * (0.1 + 0.9 * Math.random()));
    const blow = new AbortController();
    const running = run(`killed ${i}`, blow.signal);
    await sleep(moment);
    blow.abort();
    const killed = await running;
    if (killed.code === null) counts.killed++;
    else wholeTurn = Math.min(wholeTurn, killed.ms); // the machine was busier when it was measured

    const at = `kill ${i}, ${moment} ms`;
    const left = disk(where);
    counts.torn += left.torn;
    for (const [name, bytes] of before.files)
      ok(left.files.get(name)?.startsWith(bytes), `${at}: what was in ${name} before is still its beginning`);
    const told = server.requests.slice(first).flatMap(({ body }) => body.messages);
    deepEqual(missing(told, left), [], `${at}: what the server saw is on the disk`);
    if (killed.stdout)
      ok(
        left.messages.some(({ text }) => `${text}\n` === killed.stdout),
        `${at}: what the person saw is on the disk`,
      );
    const grown = left.messages.length - before.messages.length;
    counts.lines.set(grown, (counts.lines.get(grown) ?? 0) + 1);

    hurry = true;
    const second = server.requests.length;
    const next = await run(`next ${i}`);
    deepEqual([next.code, /^answer number \d+\.\n$/.test(next.stdout)], [0, true], `${at}: ${next.stderr}`);
    const [request, ...more] = server.requests.slice(second);
    deepEqual(more, []);
    deepEqual(problems(request!.body), [], `${at}: the next request is valid`);
    const texts = JSON.stringify(request!.body.messages);
    if (texts.includes("[interrupted]")) counts.interrupted++;
    for (const message of left.messages)
      if (message.text)
        ok(
          texts.includes(JSON.stringify(message.text).slice(1, -1)),
          `${at}: the next request tells of ${message.text}`,
        );
    const whole = disk(where);
    equal(whole.torn, 0, at);
    for (const [name, bytes] of left.files)
      ok(whole.files.get(name)?.startsWith(bytes), `${at}: going on kept ${name}`);
    ok(
      whole.messages.some(({ text }) => `${text}\n` === next.stdout),
      at,
    );
    deepEqual(
      fs.readdirSync(join(where.home, "sessions")).filter((name) => name.endsWith(".lock")),
      [],
      `${at}: the lock of the dead process is gone`,
    );
  }
  const spread = [...counts.lines].sort(([a], [b]) => a - b).map(([grown, times]) => `${grown}:${times}`);
  t.diagnostic(
    `${counts.killed} of ${KILLS} died in mid-turn, ${counts.torn} left a torn line, ${counts.interrupted} an unanswered call; messages saved before the kill, and how often: ${spread.join(" ")}`,
  );
  ok(counts.killed > KILLS / 2, "most were killed before they had finished");
  ok(counts.lines.size > Math.min(3, KILLS / 6), "at many different moments");
});

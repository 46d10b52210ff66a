// kill -9 in the middle of a turn: what was acknowledged is on the disk, and a server accepts the
// next request.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { askable, DONE, delta, problems, stream, usage } from "../../support/fake/openai.ts";
import { type Place, place, zz } from "../../support/run.ts";

const PER_PLACE = 3; // kills in one folder, so that new sessions are killed too
const ROUNDS = 3;
/** In which round of a turn it is killed, and after how many pieces of the answer. The last is the
 * end of the whole turn. */
const MOMENTS = [0, 1, 2, 3].flatMap((round) =>
  [0, 1, 3, 5, 7].map((pieces) => ({ round, pieces })),
);

// undefined: answers the run that may finish
let killed: { round: number; pieces: number; kill(): void } | undefined;
let answers = 0;
const server = await askable(({ body }) => {
  const n = ++answers; // each id and text is unique, so that it can be found on the disk
  const since = body.messages.slice(body.messages.findLastIndex((one: any) => one.role === "user"));
  const round = since.filter((one: any) => one.role === "assistant").length;
  const answer = !killed || round >= ROUNDS ? lastAnswer(n) : callsOf(n, round);
  if (!killed || killed.round !== round) return stream(...answer);
  return { ...stream(...answer.slice(0, killed.pieces)), ending: "hang", sent: killed.kill };
});

const lastAnswer = (n: number): string[] => [
  ...["answer ", `number ${n}`, "."].map((content) => delta({ content })),
  delta({}, "stop"),
  usage(61, 9),
  DONE,
];

function callsOf(n: number, round: number): string[] {
  const calls: [string, object][] = [
    ["list_dir", { path: [".", "src", "docs"][round] }],
    ["read_file", { path: ["a.txt", "src/b.txt", "missing.txt"][round] }],
  ];
  return [
    delta({ content: `looking ${n}` }),
    ...calls.flatMap(([name, args], index) => [
      delta({
        tool_calls: [
          { index, id: `call_${n}_${index}`, type: "function", function: { name, arguments: "" } },
        ],
      }),
      delta({ tool_calls: [{ index, function: { arguments: JSON.stringify(args) } }] }),
    ]),
    delta({}, "tool_calls"),
    usage(61, 9),
    DONE,
  ];
}

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
    const lines = whole.split("\n").slice(0, -1);
    const [header, ...entries] = lines.map((line) => JSON.parse(line)); // every whole line parses
    if (whole) equal(header.zz, 1);
    for (const [i, { id }] of entries.entries()) equal(id, i + 1, "each entry once, in order");
    found.messages.push(...entries.flatMap(({ message }) => (message ? [message] : [])));
    for (const { news = {} } of entries) found.news.push(...(Object.values(news) as string[]));
  }
  return found;
}

/** What a server was sent but is not on the disk, except what repair() put in for an interrupted
 * call. */
function missing(told: any[], { messages, news }: Disk): string[] {
  const users = [
    ...news,
    ...messages.filter(({ role }) => role === "user").map(({ text }) => text),
  ];
  const said = new Set(messages.filter(({ role }) => role === "assistant").map(({ text }) => text));
  const calls = new Set(
    messages.flatMap((message) => message.calls?.map(({ id }: any) => id) ?? []),
  );
  const results = new Map(
    messages.filter(({ role }) => role === "tool").map(({ id, text }) => [id, text]),
  );
  return told.flatMap((message) => {
    if (message.role === "user")
      return message.content.split("\n\n").filter((text: string) => !users.includes(text));
    if (message.role === "tool")
      return results.get(message.tool_call_id) === message.content ||
        message.content === "[interrupted]"
        ? []
        : [`the result of ${message.tool_call_id}`];
    if (message.role !== "assistant") return [];
    const open = (message.tool_calls ?? [])
      .map(({ id }: any) => id)
      .filter((id: string) => !calls.has(id));
    return [
      ...open,
      ...(message.content ?? "").split("\n\n").filter((text: string) => text && !said.has(text)),
    ];
  });
}

test("after a kill -9 at any piece of a turn nothing acknowledged is lost and the next request is valid", async () => {
  let where = place();
  const args = ["--once", "-c", ...server.args];
  for (const [i, moment] of MOMENTS.entries()) {
    if (i % PER_PLACE === 0) {
      where = place({
        "a.txt": "a.txt\n".repeat(40),
        "src/b.txt": "src/b.txt\n".repeat(40),
        "docs/c.txt": "",
      });
    }
    const before = disk(where);
    const first = server.requests.length;
    const blow = new AbortController();
    killed = { ...moment, kill: () => blow.abort() };
    const dead = await zz(where, [...args, `killed ${i}`], { signal: blow.signal });
    killed = undefined;

    const at = `round ${moment.round}, ${moment.pieces} pieces`;
    equal(dead.code, null, at);
    const left = disk(where);
    for (const [name, bytes] of before.files)
      ok(
        left.files.get(name)?.startsWith(bytes),
        `${at}: what was in ${name} before is still its beginning`,
      );
    const told = server.requests.slice(first).flatMap(({ body }) => body.messages);
    deepEqual(missing(told, left), [], `${at}: what the server saw is on the disk`);

    const second = server.requests.length;
    const next = await zz(where, [...args, `next ${i}`]);
    deepEqual(
      [next.code, /^answer number \d+\.\n$/.test(next.stdout)],
      [0, true],
      `${at}: ${next.stderr}`,
    );
    const [request, ...more] = server.requests.slice(second);
    deepEqual(more, []);
    deepEqual(problems(request!.body), [], `${at}: the next request is valid`);
    const texts = JSON.stringify(request!.body.messages);
    for (const { text } of left.messages)
      if (text)
        ok(
          texts.includes(JSON.stringify(text).slice(1, -1)),
          `${at}: the next request tells of ${text}`,
        );
    const whole = disk(where);
    equal(whole.torn, 0, at);
    for (const [name, bytes] of left.files)
      ok(whole.files.get(name)?.startsWith(bytes), `${at}: going on kept ${name}`);
    ok(whole.messages.map(({ text }) => `${text}\n`).includes(next.stdout), at);
    const locks = fs
      .readdirSync(join(where.home, "sessions"))
      .filter((name) => name.endsWith(".lock"));
    deepEqual(locks, [], `${at}: the lock of the dead process is gone`);
  }
});

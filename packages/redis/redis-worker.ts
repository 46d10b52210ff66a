// The thread that talks with the server, while zz waits for its answer, and renews the locks
// meanwhile.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Header } from "zz";
import { isGone } from "./lock-owner.ts";
import type { Answered, Asked, Kept, Options, Questions } from "./protocol.ts";
import { APPEND, HELD, OPEN, PUT_TEAM, RELEASE, REMOVE, RENEW } from "./scripts.ts";
import { nodeWith, openServer } from "./server.ts";

const { options, shared, port } = workerData as {
  options: Options;
  shared: Int32Array;
  port: MessagePort;
};
console.warn = () => {}; // the package's own words; what matters is thrown
const server = openServer(options);
const opened = new Map<string, Writing>();
interface Writing {
  token: string;
  lines: number;
  bytes: number;
  listed: Kept;
}

// braces: all in one slot, so that a script has them all
const key = (kind: string): string => `{${options.prefix}}:${kind}`;
const keysOf = (id: string) => [
  key(`lock:${id}`),
  key("writers"),
  key(`lines:${id}`),
  key("index"),
];
const lockMs = options.lockSeconds * 1_000;

const run = (script: string, id: string, ...given: (string | number)[]): Promise<string[]> =>
  server.ask(
    (client) =>
      client.eval(script, 5, ...keysOf(id), key("titles"), id, ...given) as Promise<string[]>,
  );

const answers: {
  [Q in keyof Questions]: (...given: Parameters<Questions[Q]>) => Promise<ReturnType<Questions[Q]>>;
} = {
  async reach() {
    const team = await server.ask((client) => client.hgetall(key("team")));
    return { news: server.news(), team };
  },
  async putTeam(files) {
    const fields = Object.entries(files).flat();
    await server.ask((client) => client.eval(PUT_TEAM, 1, key("team"), ...fields));
  },
  ids: () => server.ask((client) => client.hkeys(key("index"))),
  async list() {
    // sent at once, so that it is one way there and back
    const [sessions, titles, locks] = await server.ask((client) =>
      Promise.all([
        client.hvals(key("index")),
        client.hgetall(key("titles")),
        client.eval(HELD, 1, key("index"), key("lock:")) as Promise<string[]>,
      ]),
    );
    const held = pairs(locks).filter(([, lock]) => {
      const owner = ownerOf(lock);
      return owner !== options.owner && !isGone(owner);
    });
    return { sessions: `[${sessions}]`, titles, held: held.map(([id]) => id) };
  },
  async read(id) {
    const lines = await server.ask((client) => client.lrange(key(`lines:${id}`), 0, -1));
    return lines.map((line) => `${line}\n`).join("");
  },
  async open(id, isNew) {
    const token = await lock(id, isNew);
    const text = isNew ? "" : await answers.read(id);
    const lines = text.split("\n").slice(0, -1);
    const listed = lines.reduce(listedAfter, {} as Kept);
    opened.set(id, { token, lines: lines.length, bytes: Buffer.byteLength(text), listed });
    return text;
  },
  async append(id, lines) {
    const writing = opened.get(id);
    if (!writing) throw new Error(`Cannot save session '${id}': it is not open.`);
    const bytes = writing.bytes + lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    const changed = lines.reduce(listedAfter, writing.listed);
    const listed = { ...changed, used: new Date().toISOString(), bytes };
    const given = [
      writing.token,
      options.owner,
      lockMs,
      writing.lines,
      JSON.stringify(listed),
      ...lines,
    ];
    const [said, more = ""] = await run(APPEND, id, ...given);
    if (said === "OK")
      opened.set(id, { token: writing.token, lines: writing.lines + lines.length, bytes, listed });
    else throw new Error(`Cannot save session '${id}' in ${options.where}: ${whyNot(said!, more)}`);
  },
  async sync(id) {
    const { replicas, seconds } = options;
    if (replicas === 0 && !server.keepsByLog()) return "";
    const ms = seconds * 800; // before the question itself is over
    const writing = opened.get(id);
    const [isLogged, count] = await server.ask(async (client) => {
      // It waits for what this connection wrote, and a cut one was another: so write again.
      const renewal = [writing?.token ?? "", options.owner, lockMs];
      await client.eval(RENEW, 5, ...keysOf(id), key("titles"), id, ...renewal);
      const node = await nodeWith(client, key("writers"));
      if (!server.keepsByLog()) return [1, await node.wait(replicas, ms)];
      return node.call("WAITAOF", 1, replicas, ms) as Promise<number[]>;
    });
    if (isLogged! < 1) return `${options.where} has not written it to its disk in time`;
    return count! < replicas ? `${count} of ${replicas} replicas have it` : "";
  },
  async release(id) {
    const writing = opened.get(id);
    opened.delete(id);
    if (writing) await run(RELEASE, id, writing.token, options.owner);
  },
  async rename(id, title) {
    await server.ask((client) =>
      title ? client.hset(key("titles"), id, title) : client.hdel(key("titles"), id),
    );
  },
  async remove(id) {
    await run(REMOVE, id);
  },
  async quit() {
    server.quit();
  },
};

/**
 * A lock of a process that is gone from this machine, or of this very store before it was cut off,
 * is taken over at once.
 */
async function lock(id: string, isNew: boolean): Promise<string> {
  let gone = "";
  for (;;) {
    const [said, more = ""] = await run(OPEN, id, options.owner, lockMs, isNew ? 1 : 0, gone);
    if (said === "OK") return more;
    if (said === "NONE")
      throw new Error(
        `Cannot open session '${id}': it is not in ${options.where}. zz --sessions lists them.`,
      );
    if (said === "EXISTS")
      throw new Error(
        `Cannot open session '${id}': ${options.where} has one of that name already.`,
      );
    const owner = ownerOf(more);
    const isOurs = owner === options.owner && !opened.has(id);
    if (more !== gone && (isOurs || isGone(owner))) gone = more;
    else
      throw new Error(
        `Cannot open session '${id}': ${holderOf(more)} has it open. Go on there, close it, or use a copy with --fork.`,
      );
  }
}

const pairs = (flat: readonly string[]): [string, string][] =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[i * 2]!, flat[i * 2 + 1]!]);

const ownerOf = (lock: string): string => lock.slice(lock.indexOf(" ") + 1);
function holderOf(lock: string): string {
  const [machine, pid] = ownerOf(lock)
    .replace(/\/\d+ /, " ")
    .split(" ");
  return machine ? `another zz (process ${pid} on ${machine})` : "another zz";
}

function whyNot(said: string, more: string): string {
  if (said === "STALE" && !more) return "another zz went on with it, or it was deleted.";
  if (said === "STALE") return `${holderOf(more)} went on with it.`;
  return `the server has ${more} lines of it, and had more: it lost some.`;
}

/** What a list says of a session, after one more line: its model is that of the last answer. */
function listedAfter(listed: Kept, line: string): Kept {
  if (!Object.hasOwn(listed, "id")) return { ...(JSON.parse(line) as Header), used: "", bytes: 0 };
  const { failed: _, ...rest } = listed;
  const model = Array.from(
    line.matchAll(/"model":"([^"\\]+)"(,"ms":\d+|\}$)/g),
    ([, name]) => name!,
  ).at(-1);
  return {
    ...rest,
    ...(model && { model }),
    ...(/"type":"failed"\}$/.test(line) && { failed: true }),
  };
}

setInterval(() => {
  // the next entry says what is wrong
  for (const [id, { token }] of opened)
    run(RENEW, id, token, options.owner, lockMs).catch(() => {});
}, lockMs / 3);

async function answer({ question, given }: Asked): Promise<Answered> {
  try {
    return {
      value: await (answers[question] as (...given: unknown[]) => Promise<unknown>)(...given),
    };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

port.on("message", async (asked: Asked) => {
  port.postMessage(await answer(asked));
  Atomics.store(shared, 0, 1);
  Atomics.notify(shared, 0);
});
// What nobody waits for: its answer is a message like any other.
parentPort!.on("message", async (asked: Asked) => parentPort!.postMessage(await answer(asked)));

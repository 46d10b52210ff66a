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
const openSessions = new Map<string, Writing>();
interface Writing {
  token: string;
  lines: number;
  bytes: number;
  listed: Kept;
}

// braces: all in one slot, so that a script has them all
const keyNamed = (keyName: string): string => `{${options.prefix}}:${keyName}`;
const keysOf = (id: string) => [
  keyNamed(`lock:${id}`),
  keyNamed("writers"),
  keyNamed(`lines:${id}`),
  keyNamed("index"),
  keyNamed("titles"),
];
const lockMs = options.lockSeconds * 1_000;

const runScript = (
  script: string,
  id: string,
  ...scriptArgs: (string | number)[]
): Promise<string[]> =>
  server.ask(
    (client) => client.eval(script, 5, ...keysOf(id), id, ...scriptArgs) as Promise<string[]>,
  );

const answers: {
  [Q in keyof Questions]: (
    ...questionArgs: Parameters<Questions[Q]>
  ) => Promise<ReturnType<Questions[Q]>>;
} = {
  async reach() {
    const team = await server.ask((client) => client.hgetall(keyNamed("team")));
    return { news: server.news(), team };
  },
  async putTeam(teamFiles) {
    const hashFields = Object.entries(teamFiles).flat();
    await server.ask((client) => client.eval(PUT_TEAM, 1, keyNamed("team"), ...hashFields));
  },
  ids: () => server.ask((client) => client.hkeys(keyNamed("index"))),
  async list() {
    // sent at once, so that it is one way there and back
    const [sessions, titles, lockPairs] = await server.ask((client) =>
      Promise.all([
        client.hvals(keyNamed("index")),
        client.hgetall(keyNamed("titles")),
        client.eval(HELD, 1, keyNamed("index"), keyNamed("lock:")) as Promise<string[]>,
      ]),
    );
    const foreignLocks = pairsOf(lockPairs).filter(([, lockText]) => {
      const lockOwner = ownerOf(lockText);
      return lockOwner !== options.owner && !isGone(lockOwner);
    });
    return { sessions: `[${sessions}]`, titles, held: foreignLocks.map(([id]) => id) };
  },
  async read(id) {
    const storedLines = await server.ask((client) => client.lrange(keyNamed(`lines:${id}`), 0, -1));
    return storedLines.map((storedLine) => `${storedLine}\n`).join("");
  },
  async open(id, isNew) {
    const token = await takeLock(id, isNew);
    const sessionText = isNew ? "" : await answers.read(id);
    const sessionLines = sessionText.split("\n").slice(0, -1);
    const listed = sessionLines.reduce(listedAfter, {} as Kept);
    openSessions.set(id, {
      token,
      lines: sessionLines.length,
      bytes: Buffer.byteLength(sessionText),
      listed,
    });
    return sessionText;
  },
  async append(id, newLines) {
    const writing = openSessions.get(id);
    if (!writing) throw new Error(`Cannot save session '${id}': it is not open.`);
    const bytes =
      writing.bytes +
      newLines.reduce((byteSum, newLine) => byteSum + Buffer.byteLength(newLine) + 1, 0);
    const changed = newLines.reduce(listedAfter, writing.listed);
    const listed = { ...changed, used: new Date().toISOString(), bytes };
    const appendArgs = [
      writing.token,
      options.owner,
      lockMs,
      writing.lines,
      JSON.stringify(listed),
      ...newLines,
    ];
    const [outcome, lockOrCount = ""] = await runScript(APPEND, id, ...appendArgs);
    if (outcome === "OK")
      openSessions.set(id, {
        token: writing.token,
        lines: writing.lines + newLines.length,
        bytes,
        listed,
      });
    else
      throw new Error(
        `Cannot save session '${id}' in ${options.where}: ${appendProblem(outcome!, lockOrCount)}`,
      );
  },
  async sync(id) {
    const { replicas, seconds } = options;
    if (replicas === 0 && !server.keepsByLog()) return "";
    const waitLimitMs = seconds * 800; // before the question itself is over
    const writing = openSessions.get(id);
    const [isLogged, replicaCount] = await server.ask(async (client) => {
      // It waits for what this connection wrote, and a cut one was another: so write again.
      const renewal = [writing?.token ?? "", options.owner, lockMs];
      await client.eval(RENEW, 5, ...keysOf(id), id, ...renewal);
      const writingNode = await nodeWith(client, keyNamed("writers"));
      if (!server.keepsByLog()) return [1, await writingNode.wait(replicas, waitLimitMs)];
      return writingNode.call("WAITAOF", 1, replicas, waitLimitMs) as Promise<number[]>;
    });
    if (isLogged! < 1) return `${options.where} has not written it to its disk in time`;
    return replicaCount! < replicas ? `${replicaCount} of ${replicas} replicas have it` : "";
  },
  async release(id) {
    const writing = openSessions.get(id);
    openSessions.delete(id);
    if (writing) await runScript(RELEASE, id, writing.token, options.owner);
  },
  async rename(id, title) {
    await server.ask((client) =>
      title ? client.hset(keyNamed("titles"), id, title) : client.hdel(keyNamed("titles"), id),
    );
  },
  async remove(id) {
    await runScript(REMOVE, id);
  },
};

/**
 * A lock of a process that is gone from this machine, or of this very store before it was cut off,
 * is taken over at once.
 */
async function takeLock(id: string, isNew: boolean): Promise<string> {
  let staleLock = "";
  for (;;) {
    const [outcome, lockOrToken = ""] = await runScript(
      OPEN,
      id,
      options.owner,
      lockMs,
      isNew ? 1 : 0,
      staleLock,
    );
    if (outcome === "OK") return lockOrToken;
    if (outcome === "NONE")
      throw new Error(
        `Cannot open session '${id}': it is not in ${options.where}. zz --sessions lists them.`,
      );
    if (outcome === "EXISTS")
      throw new Error(
        `Cannot open session '${id}': ${options.where} has one of that name already.`,
      );
    const lockOwner = ownerOf(lockOrToken);
    const isOurOldLock = lockOwner === options.owner && !openSessions.has(id);
    if (lockOrToken !== staleLock && (isOurOldLock || isGone(lockOwner))) staleLock = lockOrToken;
    else
      throw new Error(
        `Cannot open session '${id}': ${holderOf(lockOrToken)} has it open. ` +
          "Go on there, or close it; --fork goes on in a copy.",
      );
  }
}

const pairsOf = (flatItems: readonly string[]): [string, string][] =>
  Array.from({ length: flatItems.length / 2 }, (_, i) => [
    flatItems[i * 2]!,
    flatItems[i * 2 + 1]!,
  ]);

const ownerOf = (lockText: string): string => lockText.slice(lockText.indexOf(" ") + 1);
function holderOf(lockText: string): string {
  const [machine, processId] = ownerOf(lockText)
    .replace(/\/\d+ /, " ")
    .split(" ");
  return machine ? `another zz (process ${processId} on ${machine})` : "another zz";
}

function appendProblem(outcome: string, lockOrCount: string): string {
  if (outcome === "STALE" && !lockOrCount) return "another zz went on with it, or it was deleted.";
  if (outcome === "STALE") return `${holderOf(lockOrCount)} went on with it.`;
  return `the server has ${lockOrCount} lines of it, and had more: it lost some.`;
}

/** What a list says of a session, after one more line: its model is that of the last answer. */
function listedAfter(listedBefore: Kept, sessionLine: string): Kept {
  if (!Object.hasOwn(listedBefore, "id"))
    return { ...(JSON.parse(sessionLine) as Header), used: "", bytes: 0 };
  const { failed: _, ...rest } = listedBefore;
  const model = Array.from(
    sessionLine.matchAll(/"model":"([^"\\]+)"(,"ms":\d+|\}$)/g),
    ([, modelName]) => modelName!,
  ).at(-1);
  return {
    ...rest,
    ...(model && { model }),
    ...(/"type":"failed"\}$/.test(sessionLine) && { failed: true }),
  };
}

setInterval(() => {
  // the next entry says what is wrong
  for (const [id, { token }] of openSessions)
    runScript(RENEW, id, token, options.owner, lockMs).catch(() => {});
}, lockMs / 3);

async function answerQuestion({ question, given }: Asked): Promise<Answered> {
  try {
    return {
      value: await (answers[question] as (...questionArgs: unknown[]) => Promise<unknown>)(
        ...given,
      ),
    };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

port.on("message", async (askedMessage: Asked) => {
  port.postMessage(await answerQuestion(askedMessage));
  Atomics.store(shared, 0, 1);
  Atomics.notify(shared, 0);
});
// What nobody waits for: its answer is a message like any other.
parentPort!.on("message", async (askedMessage: Asked) =>
  parentPort!.postMessage(await answerQuestion(askedMessage)),
);

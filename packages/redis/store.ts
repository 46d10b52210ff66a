// The store as zz asks it: each question waits for the thread that talks with the server, so that
// an entry is kept before anything acts on it.
import type { Listed, SessionStore } from "zz";
import { fileBeside } from "zz/text";
import { newOwner } from "./lock-owner.ts";
import type { Answered, Kept, Many, Options, Question, Questions, TeamFiles } from "./protocol.ts";

const THREAD_GRACE_MS = 5_000; // ms that the thread may take beyond what the server may

export interface RedisStore extends SessionStore {
  putTeam(teamFiles: TeamFiles): void;
}

/** `receive` gets what lies there of the team's, and gives what the person should know of it. */
export function openRedis(
  connectOptions: Omit<Options, "owner">,
  receive: (teamFiles: TeamFiles) => string[] = () => [],
): RedisStore {
  const { where } = connectOptions;
  const options: Options = { ...connectOptions, owner: newOwner() };
  let thread: ReturnType<typeof startThread> | undefined;
  const askThread = <Q extends Question>(
    question: Q,
    ...questionArgs: Parameters<Questions[Q]>
  ): ReturnType<Questions[Q]> =>
    (thread ??= startThread(options)).ask(question, questionArgs) as ReturnType<Questions[Q]>;
  const list = () => listedIn(askThread("list"));
  return {
    where,
    reach() {
      const { news, team } = askThread("reach");
      return [...news, ...receive(team)];
    },
    putTeam: (teamFiles) => askThread("putTeam", teamFiles),
    ids: () => askThread("ids"),
    list,
    *recent(projectRoot) {
      const projectSessions = list().filter((session) => session.root === projectRoot);
      for (const { id } of projectSessions.sort((a, b) => (a.used < b.used ? 1 : -1))) yield id;
    },
    read: (id) => Buffer.from(askThread("read", id)),
    open(id, isNew, warnPerson) {
      const storedLines = Buffer.from(askThread("open", id, isNew));
      let isWarned = false;
      const problem = (syncProblem: string) => `Session '${id}' may not be saved: ${syncProblem}.`;
      return {
        read: () => storedLines,
        append: (addedLines) => askThread("append", id, addedLines),
        async sync() {
          const syncProblem = await thread!.later("sync", [id]);
          if (syncProblem && !isWarned) warnPerson(problem(String(syncProblem)));
          isWarned ||= Boolean(syncProblem);
        },
        syncNow() {
          const syncProblem = askThread("sync", id);
          if (syncProblem) throw new Error(problem(syncProblem));
        },
        close() {
          try {
            askThread("release", id);
          } catch {} // it expires
        },
      };
    },
    rename: (id, newTitle) => askThread("rename", id, newTitle),
    remove: (id) => askThread("remove", id),
    close() {
      thread?.end();
      thread = undefined;
    },
  };
}

function listedIn({ sessions, titles, held }: Many): Listed[] {
  const heldIds = new Set(held);
  return (JSON.parse(sessions) as Kept[])
    .filter(({ failed }) => !failed)
    .map((session) => {
      session.title = titles[session.id] ?? session.title;
      if (heldIds.has(session.id)) session.held = true;
      return session;
    });
}

function startThread(options: Options) {
  const { MessageChannel, receiveMessageOnPort, Worker } =
    process.getBuiltinModule("node:worker_threads");
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const { port1: answerPort, port2 } = new MessageChannel();
  const worker = new Worker(fileBeside(import.meta.url, "redis-worker")!, {
    workerData: { options, shared, port: port2 },
    transferList: [port2],
    execArgv: ["--no-warnings"],
  });
  worker.unref();
  answerPort.unref();
  const waiting: ((answered: Answered) => void)[] = [];
  worker.on("message", (answered: Answered) => {
    waiting.shift()?.(answered);
    if (!waiting.length) worker.unref();
  });
  worker.on("error", (error) =>
    waiting.splice(0).forEach((settleAnswer) => void settleAnswer({ failed: error.message })),
  );
  const waitLimitMs = options.seconds * 2_000 + THREAD_GRACE_MS; // opening asks twice
  return {
    ask(question: Question, given: unknown[]): unknown {
      Atomics.store(shared, 0, 0);
      answerPort.postMessage({ question, given });
      if (Atomics.wait(shared, 0, 0, waitLimitMs) === "timed-out")
        throw new Error(`Cannot use the store ${options.where}: its thread does not answer.`);
      return resultOf(receiveMessageOnPort(answerPort)!.message);
    },
    later(question: Question, given: unknown[]): Promise<unknown> {
      worker.ref();
      worker.postMessage({ question, given });
      return new Promise<Answered>((resolve) => waiting.push(resolve)).then(resultOf);
    },
    end: () => void worker.terminate(),
  };
}

function resultOf({ value, failed }: Answered): unknown {
  if (failed !== undefined) throw new Error(failed);
  return value;
}

// The store as zz asks it: each question waits for the thread that talks with the server, so that
// an entry is kept before anything acts on it.
import type { Listed, SessionStore } from "zz";
import { fileBeside } from "zz/text";
import { newOwner } from "./lock-owner.ts";
import type { Answered, Kept, Many, Options, Question, Questions, TeamFiles } from "./protocol.ts";

const GRACE = 5_000; // ms that the thread may take beyond what the server may

export interface RedisStore extends SessionStore {
  putTeam(files: TeamFiles): void;
}

/** `receive` gets what lies there of the team's, and gives what the person should know of it. */
export function openRedis(
  given: Omit<Options, "owner">,
  receive: (files: TeamFiles) => string[] = () => [],
): RedisStore {
  const { where } = given;
  const options: Options = { ...given, owner: newOwner() };
  let thread: ReturnType<typeof startThread> | undefined;
  const ask = <Q extends Question>(
    question: Q,
    ...asked: Parameters<Questions[Q]>
  ): ReturnType<Questions[Q]> =>
    (thread ??= startThread(options)).ask(question, asked) as ReturnType<Questions[Q]>;
  const list = () => listedIn(ask("list"));
  return {
    where,
    reach() {
      const { news, team } = ask("reach");
      return [...news, ...receive(team)];
    },
    putTeam: (files) => ask("putTeam", files),
    ids: () => ask("ids"),
    list,
    *recent(root) {
      const fits = list().filter((session) => session.root === root);
      for (const { id } of fits.sort((a, b) => (a.used < b.used ? 1 : -1))) yield id;
    },
    read: (id) => Buffer.from(ask("read", id)),
    open(id, isNew, warn) {
      const lines = Buffer.from(ask("open", id, isNew));
      let isTold = false;
      const problem = (what: string) => `Session '${id}' may not be saved: ${what}.`;
      return {
        read: () => lines,
        append: (added) => ask("append", id, added),
        async sync() {
          const what = await thread!.later("sync", [id]);
          if (what && !isTold) warn(problem(String(what)));
          isTold ||= Boolean(what);
        },
        syncNow() {
          const what = ask("sync", id);
          if (what) throw new Error(problem(what));
        },
        close() {
          try {
            ask("release", id);
          } catch {} // it expires
        },
      };
    },
    rename: (id, title) => ask("rename", id, title),
    remove: (id) => ask("remove", id),
    close() {
      thread?.end();
      thread = undefined;
    },
  };
}

function listedIn({ sessions, titles, held }: Many): Listed[] {
  const isHeld = new Set(held);
  return (JSON.parse(sessions) as Kept[])
    .filter(({ failed }) => !failed)
    .map((session) => {
      session.title = titles[session.id] ?? session.title;
      if (isHeld.has(session.id)) session.held = true;
      return session;
    });
}

function startThread(options: Options) {
  const { MessageChannel, receiveMessageOnPort, Worker } =
    process.getBuiltinModule("node:worker_threads");
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(fileBeside(import.meta.url, "redis-worker")!, {
    workerData: { options, shared, port: port2 },
    transferList: [port2],
    execArgv: ["--no-warnings"],
  });
  worker.unref();
  port.unref();
  const waiting: ((answered: Answered) => void)[] = [];
  worker.on("message", (answered: Answered) => {
    waiting.shift()?.(answered);
    if (!waiting.length) worker.unref();
  });
  worker.on("error", (error) =>
    waiting.splice(0).forEach((tell) => void tell({ failed: error.message })),
  );
  const limit = options.seconds * 2_000 + GRACE; // opening asks twice
  return {
    ask(question: Question, given: unknown[]): unknown {
      Atomics.store(shared, 0, 0);
      port.postMessage({ question, given });
      if (Atomics.wait(shared, 0, 0, limit) === "timed-out")
        throw new Error(`Cannot use the store ${options.where}: its thread does not answer.`);
      return resultOf(receiveMessageOnPort(port)!.message);
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
